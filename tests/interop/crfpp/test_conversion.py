"""Models of CRF++ as ours, and ours as theirs: the same labels, labellings and probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline.errors import InputError, StorageError
from tagline.interop.crfpp import binary_model, text_model
from tagline.interop.crfpp.column_file import read_all
from tagline.interop.formats import read_model, recognise, write_model
from tagline.readers import Corpus
from tests.interop.crfpp.peers import FIXTURES, TEMPLATES, column_text, files, needs_crfpp, theirs


def corpus_of(path: Path) -> Corpus:
    return read_all(path.read_text(), path.name).corpus(2)


def probabilities_of(output: bytes, L: int) -> tuple[list[str], np.ndarray]:
    """Labels and probabilities of all labels in the output of ``crf_test -v2``."""
    rows = [line.split("\t") for line in output.decode().split("\n") if line and not line.startswith("# ")]
    labels = [row[-L - 1].rpartition("/")[0] for row in rows]
    return labels, np.array([[float(cell.rpartition("/")[2]) for cell in row[-L:]] for row in rows])


def check_same(model: Any, output: bytes, corpus: Corpus) -> None:
    labels, expected = probabilities_of(output, len(model.labels_))
    assert [label for sentence in model.predict(corpus) for label in sentence] == labels
    marginals = [[[token[name] for name in model.labels_] for token in s] for s in model.predict_marginals(corpus)]
    np.testing.assert_allclose(np.concatenate(marginals), expected, rtol=0, atol=1e-6)  # six decimals are printed


def test_the_model_of_the_fixture_answers_as_crf_test_does() -> None:
    model = read_model(FIXTURES / "model")
    expected = (FIXTURES / "output.txt").read_text().split("\n\n")
    best = [part.split("\n") for part in expected if part.startswith("# 0 ")]
    shown = [[line.split("\t")[3].partition("/")[0] for line in lines[1:]] for lines in best]
    assert model.predict(corpus_of(FIXTURES / "test.txt")) == shown


def test_files_are_told_apart_by_their_content() -> None:
    assert recognise((FIXTURES / "model").read_bytes()[:4096]) == "crfpp"
    assert recognise((FIXTURES / "model.txt").read_bytes()[:4096]) == "crfpp-text"


@needs_crfpp
@pytest.mark.parametrize("name", TEMPLATES)
def test_their_models_give_the_same_here(tmp_path: Path, name: str) -> None:
    template, train, test = files(tmp_path, TEMPLATES[name])
    theirs("crf_learn", "-t", "-m20", template, train, tmp_path / "m")
    output = theirs("crf_test", "-v2", "-m", tmp_path / "m", test)
    for path in (tmp_path / "m", tmp_path / "m.txt"):
        check_same(read_model(path), output, corpus_of(test))


@needs_crfpp
@pytest.mark.parametrize("format", ["crfpp", "crfpp-text"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_models_that_we_write_are_read_by_crf_test(tmp_path: Path, name: str, format: str) -> None:
    template, train, test = files(tmp_path, TEMPLATES[name])
    model = tagline.CRF(template.read_text(), c2=0.5, min_frequency=2, scheme=None).fit(labelled(train))
    write_model(model, tmp_path / "w", format)
    target = tmp_path / "w"
    if format == "crfpp-text":
        target = tmp_path / "converted"
        theirs("crf_learn", "-C", tmp_path / "w", target)
    check_same(model, theirs("crf_test", "-v2", "-m", target, test), corpus_of(test))
    check_same(read_model(tmp_path / "w"), theirs("crf_test", "-v2", "-m", target, test), corpus_of(test))


@needs_crfpp
def test_a_second_time_makes_no_difference(tmp_path: Path) -> None:
    template, train, test = files(tmp_path, TEMPLATES["edges"])
    theirs("crf_learn", "-m20", template, train, tmp_path / "m")
    write_model(read_model(tmp_path / "m"), tmp_path / "w", "crfpp")
    arguments = ("-v2", "-n4")
    assert theirs("crf_test", *arguments, "-m", tmp_path / "w", test) == theirs(
        "crf_test", *arguments, "-m", tmp_path / "m", test
    )


def labelled(path: Path) -> Corpus:
    """Training sentences by CRF++'s rules."""
    columns = read_all(path.read_text(), path.name).corpus(3)
    table = dict(zip(("token", "1", "tag"), columns.columns.values(), strict=True))
    return Corpus(table, columns.offsets)


def fitted(features: Any = "U00:%x[0,0]\nB", **settings: Any) -> tagline.CRF:
    return tagline.CRF(features, max_iterations=3, **settings).fit([["a", "b"], ["a"]], [["X", "Y"], ["X"]])


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (lambda: fitted(lambda sentence: [[word] for word in sentence]), r"^model: .*features"),
        (lambda: fitted("U00:%x[0,0:lower]\nB"), r"^model: .*an extension in 'U00:%x\[0,0:lower\]'"),
        (lambda: fitted("U00:%x[9,0]\nB"), r"^model: .*an extension in 'U00:%x\[9,0\]'"),
        (lambda: fitted(hash_bits=8), r"^model: "),
        (lambda: fitted(start_end=True), r"^model: .*sentences"),
        (
            lambda: tagline.CRF("U00:%x[0,0]", scheme="IOB2").fit([["a", "b"]], [["B-X", "I-X"]]),
            r"^model: .*those of IOB2",
        ),
        (lambda: tagline.CRF("U00:%x[0,0]").fit([["a", "b"]], [["X Y", "Z"]]), r"^model: .*'X Y'"),
        (lambda: tagline.CRF("U00:%x[0,0]").fit([["a\nb", "b"]], [["X", "Z"]]), r"^model: .*'U00:a\\nb'"),
    ],
)
def test_what_crfpp_cannot_hold_is_refused_with_a_reason(model: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        binary_model.write_crf(model())


def test_another_encoding_is_named(tmp_path: Path) -> None:
    data = (FIXTURES / "model.txt").read_bytes().replace("桥".encode(), "桥".encode("gb18030"))
    with pytest.raises(StorageError, match=r"^model\.txt: "):
        text_model.read_crf(data, "model.txt")


def test_the_sentences_of_these_tests_have_all_kinds_of_lines() -> None:
    drawn = column_text(1)
    assert "\tx y z\n" in drawn
    assert "\n \n" in drawn
