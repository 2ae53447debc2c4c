"""Where models come from: dates, fingerprints, logs and notes in their files; what differs between two."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, HMM, MEMM, Corpus, MaxEnt, SemiCRF, TrigramTagger, storage
from tagline.errors import InputError, StorageError
from tagline.models import provenance
from tagline.models.comparison import compare
from tagline.models.provenance import compact_log, fingerprint, log_line
from tagline.training.iteration import Step

WORDS, LABELS = [["Anna", "sings"], ["Bob", "and", "Anna"]] * 4, [["N", "V"], ["N", "C", "N"]] * 4
TAGS = [["B-N", "O"], ["B-N", "O", "B-N"]] * 4  # for a model of segments
CORPUS = Corpus.from_sentences(list(zip(WORDS, LABELS, strict=True)))
TEMPLATE = "U0:%x[0,0]\nB\n"


def crf(**settings: Any) -> CRF:
    return CRF(TEMPLATE, max_iterations=5, **settings)


MODELS = {
    "crf": crf,
    "memm": partial(MEMM, TEMPLATE, max_iterations=5),
    "maxent": partial(MaxEnt, TEMPLATE, max_iterations=5),
    "semicrf": partial(SemiCRF, TEMPLATE, scheme="IOB2", max_iterations=5),
    "hmm": HMM,
    "trigram": TrigramTagger,
}


@pytest.mark.parametrize("kind", MODELS)
def test_files_say_where_a_model_comes_from(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    labels = TAGS if kind == "semicrf" else LABELS
    model: Any = MODELS[kind]().fit(Corpus.from_sentences(list(zip(WORDS, labels, strict=True))))
    model.save(tmp_path / "m", notes={"who": "Anna", "year": 2026})
    for other in (model, tagline.load(tmp_path / "m")):
        facts = other.summary().training
        assert facts["date"] == "1970-01-02T00:00:00Z"
        assert (facts["sentences"], facts["tokens"]) == (8, 20)
        assert facts["fingerprint"] == fingerprint(WORDS, labels)
        assert facts["user"] == other.user_notes_ == {"who": "Anna", "year": "2026"}
        assert len(facts.get("log", [])) == len([] if kind in ("hmm", "trigram") else model.training_log_)
        shown = other.summary().text()
        assert "date        1970-01-02T00:00:00Z" in shown
        assert "note        who: Anna" in shown
        assert f"corpus      {facts['fingerprint']}" in shown
    assert tagline.load(tmp_path / "m").training_ == model.training_


def test_two_runs_make_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / name for name in "abcd"]
    for day, dated, plain in zip("12", paths[:2], paths[2:], strict=True):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", f"{day}00000")
        model = crf().fit(CORPUS)
        model.save(dated)
        model.save(plain, date=False)
    assert paths[0].read_bytes() != paths[1].read_bytes()
    assert paths[2].read_bytes() == paths[3].read_bytes()
    assert "date" not in tagline.load(paths[2]).summary().training


def test_the_time_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    for odd in ("", "x", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", odd)
        assert provenance.now() == ""
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert provenance.now().startswith("20")


def test_the_same_sentences_have_the_same_fingerprint() -> None:
    one = fingerprint(CORPUS)
    assert fingerprint(WORDS, LABELS) == one == fingerprint(CORPUS, LABELS)
    assert crf().fit(WORDS, LABELS).training_.fingerprint == one
    assert crf().fit(iter(WORDS), iter(LABELS)).training_.fingerprint == one  # read once
    other = [
        (WORDS[::-1], LABELS[::-1]),
        (WORDS, [["N", "N"], *LABELS[1:]]),
        ([["Anna", "sings", "Bob"], ["and", "Anna"], *WORDS[2:]], LABELS),
        (WORDS[:-1], LABELS[:-1]),
    ]
    assert len({one, *(fingerprint(X, y) for X, y in other)}) == 5
    assert len({fingerprint(np.arange(4)), fingerprint(np.arange(4.0)), fingerprint(np.arange(4), None, [2, 2])}) == 3


def test_fingerprints_do_not_depend_on_the_process() -> None:
    code = (
        "from tagline.models.provenance import fingerprint\n"
        "items = [[{'w': 'a', 'n': 0.5}, {'x', 'y', 'z', 'u', 'v'}, ['b', 'c']]] * 2\n"
        "print(fingerprint(items, [['A', {'B', 'C', 'D', 'E'}, None]] * 2))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_env(PYTHONHASHSEED=seed))
        for seed in ("1", "2")
    ]
    assert len(runs[0].stdout.strip()) == 16, runs[0].stderr
    assert runs[0].stdout == runs[1].stdout


def _env(**more: str) -> dict[str, str]:
    import os

    return {**os.environ, **more}


def test_more_sentences_add_to_the_facts() -> None:
    model = crf().fit(WORDS[:2], LABELS[:2])
    first = model.training_
    model.partial_fit(WORDS[2:], LABELS[2:])
    assert (model.training_.sentences, model.training_.tokens) == (8, 20)
    assert model.training_.fingerprint == fingerprint(WORDS[2:], LABELS[2:], before=first.fingerprint)


def test_logs_are_short() -> None:
    passes = [Step(n, 1000.0 / n, dev_score=0.5 if n < 1000 else 0.25) for n in range(1, 1201)]
    log = compact_log(passes)
    assert len(log) <= provenance.MOST_PASSES + 1
    assert log[0] == (1, 1000.0, 0.5)
    assert log[-1] == (1200, 0.8333333, 0.25)
    assert log_line(log) == "1200 passes, objective 1000 → 0.833333, dev 0.5000 → 0.2500, best 0.5000 after pass 1"
    assert compact_log([Step(1, float("nan"))]) == ((1, None, None),)


def test_a_dev_set_is_in_the_log(tmp_path: Path) -> None:
    model = crf().fit(CORPUS, X_dev=CORPUS)
    model.save(tmp_path / "m")
    facts = tagline.load(tmp_path / "m").summary().training
    assert facts["dev"]["score"] == model.best_pass_.dev_score
    assert [row[2] for row in facts["log"]] == [done.dev_score for done in model.training_log_]


def test_dev_scores_are_kept_by_type(tmp_path: Path) -> None:
    held = Corpus.from_sentences(
        [(["Anna", "sings", "in", "Rome"], ["B-PER", "O", "O", "B-LOC"]), (["Oslo"], ["B-PER"])]
    )
    model = crf(scheme="IOB2").fit(
        [["Anna", "sees", "Rome"], ["Oslo"]], [["B-PER", "O", "B-LOC"], ["B-LOC"]], X_dev=held
    )
    model.save(tmp_path / "m")
    facts, spans = tagline.load(tmp_path / "m").summary().training, model.evaluate(held).spans
    assert spans is not None
    assert facts["dev"]["f1"] == spans.f1 == model.best_pass_.dev_score
    assert facts["dev"]["types"] == {
        name: {"precision": score.precision, "recall": score.recall, "f1": score.f1, "gold": score.gold}
        for name, score in spans.by_type.items()
    }
    assert set(facts["dev"]["types"]) == {"LOC", "PER"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("log", [[1, 2]]), ("log", [["x", 1, 1]]), ("log", 5), ("user", []), ("date", 3), ("dev", "x"), ("tokens", "y")]
    + [
        ("dev", value) for value in ({"f1": "x"}, {"types": 3}, {"types": {"LOC": 0.5}}, {"types": {"LOC": {"f1": []}}})
    ],
)
def test_facts_of_files_are_checked(name: str, value: Any, tmp_path: Path) -> None:
    config, arrays = crf().fit(CORPUS)._packed()
    config["training"][name] = value
    storage.write(tmp_path / "m", config, arrays)
    with pytest.raises(StorageError, match="m: "):
        tagline.load(tmp_path / "m")


@pytest.mark.parametrize("notes", [{1: "a"}, {"": "a"}, ["a"], "a=b"])
def test_notes_that_cannot_be_meant(notes: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^notes: "):
        crf().fit(CORPUS).save(tmp_path / "m", notes=notes)


# Two models.


def test_what_differs() -> None:
    first, second = crf().fit(CORPUS), crf(c2=0.1).fit(WORDS[:2], [["N", "V"], ["N", "X", "N"]])
    found = compare(first, second, ("a", "b"), top=3)
    assert found.labels == (("C",), ("X",))
    settings = {change.name: (change.first, change.second) for change in found.settings}
    assert settings == {"c2": (1.0, 0.1)}
    facts = {change.name: (change.first, change.second) for change in found.facts}
    assert facts["sentences"] == (8, 2)
    assert facts["fingerprint"] == (first.training_.fingerprint, second.training_.fingerprint)
    assert len(found.weights) == 3
    sizes = [abs((change.first or 0.0) - (change.second or 0.0)) for change in found.weights]
    rows = [
        {(row.kind, row.attribute, row.previous, row.label): row.weight for row in m.weights_table()}
        for m in (first, second)
    ]
    largest = sorted(
        (abs(rows[0].get(key, 0.0) - rows[1].get(key, 0.0)) for key in {**rows[0], **rows[1]}), reverse=True
    )
    np.testing.assert_allclose(sizes, largest[:3])
    text = found.text()
    assert "  only in the first: C\n" in text
    assert "c2  1 → 0.1" in text
    assert json.loads(json.dumps(found.as_dict()))["unit"] == "weights"


def test_nothing_differs() -> None:
    found = compare(crf().fit(CORPUS), crf().fit(CORPUS))
    assert found.same
    assert found.text().endswith("no difference\n")


def test_models_of_two_kinds_and_of_numbers() -> None:
    found = compare(crf().fit(CORPUS), HMM().fit(CORPUS))
    assert found.unit == "arrays"
    assert found.facts[0].name == "kind"
    X = np.array([0.0, 1.0, 5.0, 6.0, 0.5, 5.5])
    calm, wild = (HMM(2, emission="gaussian", max_iterations=n).fit(X) for n in (1, 20))
    found = compare(calm, wild)
    assert found.unit == "arrays"
    assert "emission.covars" in [change.name for change in found.weights]


def test_fingerprint_of_arrays() -> None:
    numbers = np.arange(12).reshape(6, 2)
    prints = [fingerprint(X) for X in (numbers, numbers.copy(order="F"), np.repeat(numbers, 2, axis=0)[::2])]
    assert len(set(prints)) == 1
    others = [numbers.T, numbers.astype(np.int32), numbers + (numbers == 11), numbers[:0], numbers.astype(object)]
    assert len({prints[0], *map(fingerprint, others)}) == 6
