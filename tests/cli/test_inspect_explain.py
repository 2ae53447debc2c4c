"""tagline inspect and explain: what Python says of the same model, as text and as JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tagline.models.crf.estimator import CRF

from .commands import line_of, tagline


def test_inspect_shows_the_heaviest(model: Path, loaded: CRF) -> None:
    out = tagline("inspect", model, "--top", 2).out
    assert out.startswith("labels      9: B-DATE B-LOC ")
    assert "reason      max_iterations" in out
    for label in loaded.labels_:
        for one in loaded.top_features(2, label):
            assert f"{one.weight:+10.4f}  {one.attribute}\n" in out
    first = loaded.top_transitions(1)[0]
    assert f"transitions most liked\n{first.weight:+10.4f}  {first.previous} → {first.label}\n" in out
    last = loaded.top_transitions(1, lowest=True)[0]
    assert f"transitions least liked\n{last.weight:+10.4f}  {last.previous} → {last.label}\n" in out


def test_inspect_as_json_and_one_label(model: Path, loaded: CRF) -> None:
    facts = json.loads(tagline("inspect", model, "--json", "--label", "B-PER", "--top", 3).out)
    assert facts["labels"] == loaded.labels_
    assert facts["training"]["sentences"] == 150
    assert list(facts["top_features"]) == ["B-PER"]
    assert [one["attribute"] for one in facts["top_features"]["B-PER"]] == [
        one.attribute for one in loaded.top_features(3, "B-PER")
    ]
    assert len(facts["top_transitions"]) == len(facts["lowest_transitions"]) == 3


def test_inspect_writes_weights_and_a_picture(model: Path, loaded: CRF, tmp_path: Path) -> None:
    done = tagline("inspect", model, "--top", 0, "--weights", tmp_path / "w.csv", "--plot", tmp_path / "t.png")
    assert f"wrote {tmp_path / 'w.csv'}\nwrote {tmp_path / 't.png'}\n" in done.err
    with open(tmp_path / "w.csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.reader(file))) == 1 + len(loaded.weights_table())
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--label FOO", "--label: "),
        ("--top -1", "--top: "),
    ],
)
def test_inspect_refuses(model: Path, words: str, message: str) -> None:
    assert line_of(tagline("inspect", model, *words.split())).startswith(message)


def test_explain_adds_up_and_says_what_lines_mean(model: Path, loaded: CRF) -> None:
    text = "Carol Mills lives in Rome."
    why = loaded.explain(["Carol", "Mills", "lives", "in", "Rome", "."])
    out = tagline("explain", "-m", model, text, "--most", 3).out
    assert out == why.text(3)
    tokens = "".join(token.text(3) for token in why.tokens)
    assert out.startswith(tokens)
    legend = out.removeprefix(tokens).splitlines()
    assert legend == why.legend(3) == loaded.legend(why, 3)
    shown = {one.name.split(":")[0] for token in why.tokens for one in token.contributions[:3] if one.name}
    assert {line.split("  ")[0] for line in legend} == shown
    only = tagline("explain", "-m", model, text, "--most", 3, "--token", "Rome").out
    assert only.startswith(why.tokens[4].text(3))
    assert only == tagline("explain", "-m", model, text, "--most", 3, "--token", 4).out
    assert tagline("explain", "-m", model, "-", "--most", 3, input=f"{text}\n").out == out
    item = json.loads(tagline("explain", "-m", model, text, "--json").out)
    for token in item["tokens"]:
        assert token["margin"] == pytest.approx(sum(one["amount"] for one in token["contributions"]))


def test_explain_with_columns(chunker: Path) -> None:
    out = tagline("explain", "-m", chunker, "the/DT c/d/NN", "--token", "c/d").out
    assert out.startswith("c/d  I-NP ")
    assert "column 1 of the token" in out
    assert line_of(tagline("explain", "-m", chunker, "the/DT cat")).startswith("sentence: ")


def test_explain_refuses(model: Path) -> None:
    assert line_of(tagline("explain", "-m", model, " ")).startswith("sentence: ")
    assert line_of(tagline("explain", "-m", model, "Rome", "--most", -1)).startswith("--most: ")
    assert "got 'Paris'; it has: Rome ." in line_of(tagline("explain", "-m", model, "Rome.", "--token", "Paris"))
    assert "got '2'" in line_of(tagline("explain", "-m", model, "Rome.", "--token", 2))
