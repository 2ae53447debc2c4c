"""What `tagline eval` calls: files in, the script's lines out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tagline.cli.commands.eval import save_html, save_plots, show
from tagline.errors import InputError
from tagline.evaluation.label_files import evaluate_files, read_pair

from .cases import random_pair
from .oracles import Tally

BOTH = "Anna NN B-PER B-PER\nBerg NN I-PER O\n\nRome NN B-LOC I-LOC\n"
GOLD = "Anna B-PER\nBerg I-PER\n\nRome B-LOC\n"
GUESS = "Anna B-PER\nBerg O\n\nRome I-LOC\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("both", BOTH), ("gold", GOLD), ("guess", GUESS)):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def test_one_file_or_two(folder: Path) -> None:
    one = evaluate_files(folder / "both.txt")
    two = evaluate_files(folder / "gold.txt", folder / "guess.txt")
    assert one.as_dict() == two.as_dict()
    assert one.spans is not None
    assert (one.spans.overall.correct, one.spans.overall.found, one.spans.overall.gold) == (1, 2, 2)
    assert one.mistakes is not None
    assert one.mistakes.examples["boundary"][0].tokens == ("Anna", "Berg")


def test_stdout_is_what_the_script_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, guess = random_pair(seed=9, sentences=300, letters="BIE")
    sentences = (
        "".join(f"w x {g} {p}\n" for g, p in zip(*tags, strict=True)) for tags in zip(gold, guess, strict=True)
    )
    (tmp_path / "out.txt").write_text("\n".join(sentences), encoding="utf-8")
    show(evaluate_files(tmp_path / "out.txt", script=True))
    printed = capsys.readouterr()
    assert printed.out == Tally().run(gold, guess).text()
    assert printed.err == "rule: conlleval\n"
    show(evaluate_files(tmp_path / "out.txt"))
    assert capsys.readouterr().err == "rule: conlleval:BIOES\n"
    with pytest.raises(InputError, match=r"^--conlleval: .*--strict"):
        evaluate_files(tmp_path / "out.txt", script=True, strict=True)
    with pytest.raises(InputError, match=r"^--conlleval: .*--scheme"):
        evaluate_files(tmp_path / "out.txt", script=True, scheme="BIOES")


@pytest.mark.parametrize(
    "text",
    [
        "Anna B-PER\nsings O\n",
        "Anna NNP B-PER\nsings VB O\nhere RB O\n",
        "the DT\ncat NN\nsat VB\non IN\na DT\nmat NN\n",
        "O B-LOC\nhave O\npity O\n" + "word O\n" * 30,
    ],
)
def test_a_file_without_predictions_is_refused(tmp_path: Path, text: str) -> None:
    """Tokens are no gold labels for tags."""
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    for rest in ({}, {"tokens_only": True}, {"script": True}):
        with pytest.raises(InputError, match=r"a\.txt: "):
            evaluate_files(tmp_path / "a.txt", **rest)
    evaluate_files(tmp_path / "a.txt", tmp_path / "a.txt")


def test_labels_without_tokens_are_scored(tmp_path: Path) -> None:
    for text in ("B-PER B-PER\nO O\n", "B-PER O\nI-PER O\n", "NN VB\nVB NN\n", "A B\n"):
        (tmp_path / "a.txt").write_text(text, encoding="utf-8")
        assert evaluate_files(tmp_path / "a.txt").tokens is not None


def test_json_lines_that_were_tagged_are_scored(tmp_path: Path) -> None:
    line = {"text": "Anna sings", "tokens": ["Anna", "sings"], "gold_tags": ["B-PER", "O"], "tags": ["B-PER", "O"]}
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert evaluate_files(tmp_path / "a.jsonl").spans is not None
    for gold in (None, ["O"], 3):
        (tmp_path / "a.jsonl").write_text(json.dumps({**line, "gold_tags": gold}) + "\n", encoding="utf-8")
        with pytest.raises(InputError, match=r"a\.jsonl: .*gold_tags"):
            evaluate_files(tmp_path / "a.jsonl")
    evaluate_files(tmp_path / "a.jsonl", tmp_path / "a.jsonl")


def test_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "both.txt"
    strict = evaluate_files(path, strict=True)
    assert strict.spans is not None
    assert (strict.spans.rule, strict.spans.overall.found) == ("strict:IOB2", 1)
    named = evaluate_files(path, scheme="IOB1", strict=True)
    assert named.spans is not None
    assert named.spans.rule == "strict:IOB1"
    lenient = evaluate_files(path, scheme="BIO")
    assert lenient.spans is not None
    assert lenient.spans.rule == "conlleval:BIO"
    show(strict, by_type=False)
    assert len(capsys.readouterr().out.splitlines()) == 2
    show(strict, as_json=True)
    assert json.loads(capsys.readouterr().out) == strict.as_dict()
    show(strict, details=True)
    assert capsys.readouterr().out == strict.text()
    show(evaluate_files(path, tokens_only=True))
    assert "Tokens\n------\n" in capsys.readouterr().out


def test_comparison(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluate_files(folder / "both.txt", compare=folder / "gold.txt", resamples=100)
    assert found.comparison is not None
    assert (found.comparison.first, found.comparison.second) == (0.5, 1)
    show(found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("f1: 50.00, 95% interval")
    assert lines[-1].startswith("f1: 50.00 and 100.00, difference +50.00, p = ")


def test_pictures_and_page(folder: Path) -> None:
    report = evaluate_files(folder / "both.txt")
    paths = save_plots(report, folder / "new" / "plots")
    assert [path.name for path in paths] == ["confusion.png", "types.png"]
    assert all(path.stat().st_size > 1000 for path in paths)
    save_html(report, folder / "page.html", "Results")
    assert "<h1>Results</h1>" in (folder / "page.html").read_text(encoding="utf-8")


def test_files_of_tags_alone(tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text("B-A B-A\nO B-A\n", encoding="utf-8")
    found = evaluate_files(tmp_path / "pairs.txt").spans
    assert found is not None
    assert (found.overall.correct, found.overall.found, found.overall.gold) == (1, 2, 1)
    for name, text in (("gold", "B-A\nO\n"), ("guess", "B-A\nB-A\n")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    assert evaluate_files(tmp_path / "gold.txt", tmp_path / "guess.txt").spans == found


def test_files_that_do_not_fit(folder: Path) -> None:
    other = folder / "other.txt"
    other.write_text("Anna B-PER\nBerg O\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"^predicted: .*gold\.txt:4\b"):
        evaluate_files(folder / "gold.txt", other)
    other.write_text("Anna B-PER\n\nRome O\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"gold\.txt:1: "):
        evaluate_files(folder / "gold.txt", other)
    other.write_text(GUESS.replace("Rome", "Oslo"), encoding="utf-8")
    with pytest.raises(InputError, match=r"other\.txt:4, token 0: .*gold.txt"):
        evaluate_files(folder / "gold.txt", other)
    other.write_text("Anna\nBerg\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"other\.txt: .*labels"):
        read_pair(other, None)
    other.write_text("Anna NN NN\nin IN IN\nRome B-LOC B-LOC\n", encoding="utf-8")
    for strict in (False, True):
        with pytest.raises(InputError, match=r"^labels: "):
            evaluate_files(other, strict=strict)
    other.write_text("Anna NN NN\nsees VB NN\nin IN IN\n", encoding="utf-8")
    for strict in (False, True):
        report = evaluate_files(other, strict=strict)
        assert report.spans is None
        assert report.tokens.accuracy == pytest.approx(2 / 3)
    other.write_text("Li B-NAME B-NAME\nMing E-NAME E-NAME\n\nX S-CONT O\n", encoding="utf-8")
    report = evaluate_files(other)
    assert report.spans is not None
    assert report.spans.rule == "conlleval:BIOES"
    other.write_text("Li B-NAME B-NAME\nMing M-NAME M-NAME\nWu E-NAME E-NAME\nX S-CONT S-CONT\n", encoding="utf-8")
    report = evaluate_files(other)
    assert report.spans is not None
    assert report.spans.rule == "conlleval:BMES"
