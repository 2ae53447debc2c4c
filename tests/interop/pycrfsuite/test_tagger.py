"""`Tagger` and `ItemSequence` against python-crfsuite on the same files."""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path
from typing import Any

import pycrfsuite as theirs
import pytest

from tagline.interop import pycrfsuite as ours
from tests.interop.crfsuite.models import sentences, train
from tests.interop.pycrfsuite.libraries import BOTH, tagger_of


@pytest.fixture(scope="module", params=["lbfgs", "arow"])
def file(request: Any, tmp_path_factory: Any) -> bytes:
    """A file of python-crfsuite."""
    X, y = sentences(1, count=80)
    X = [[{name.replace("\n", "_"): value for name, value in item.items()} for item in items] for items in X]
    return train(tmp_path_factory.mktemp("crfsuite") / "m", X, y, request.param)


def inputs(seed: int) -> list[Any]:
    """Sentences in all forms that python-crfsuite takes."""
    X, _ = sentences(seed, count=60)
    forms: list[Any] = []
    for items in X:
        forms.append(items)
        forms.append([list(item) for item in items])
        forms.append([item.keys() for item in items])
        forms.append([{name.encode(): value for name, value in item.items()} for item in items])
        forms.append([{"w": {"x": dict(item), "y": list(item)}, "t": True, "s": "w1"} for item in items])
        forms.append([[*item, *item] for item in items])
    return [*forms, [], [{}], [[]]]


def test_labels_probabilities_and_marginals_are_the_same(file: bytes) -> None:
    expected, tagger = (tagger_of(library, file) for library in BOTH)
    assert tagger.labels() == expected.labels()
    draw = random.Random(0)
    for items in inputs(2):
        best = expected.tag(items)
        assert tagger.tag(items) == best == tagger.tag()
        drawn = [draw.choice(expected.labels()) for _ in best]
        for labels in (best, drawn):
            assert tagger.probability(labels) == pytest.approx(expected.probability(labels), rel=1e-9)
        for t in range(len(best)):
            for label in expected.labels():
                assert tagger.marginal(label, t) == pytest.approx(expected.marginal(label, t), abs=1e-12)


def test_prepared_sequences_and_many_sentences(file: bytes) -> None:
    tagger, X = tagger_of(ours, file), inputs(3)
    best = [tagger.tag(items) for items in X]
    assert tagger.tag_many(X) == best
    assert tagger.tag_many(iter([ours.ItemSequence(items) for items in X])) == best
    assert [tagger.tag(ours.ItemSequence(ours.ItemSequence(items))) for items in X] == best
    tagger.tag_many(X[:4])
    assert tagger.tag() == best[3]
    assert tagger.tag_many([]) == []


def test_sequences_are_read_as_there() -> None:
    for items in inputs(4):
        expected, sequence = (library.ItemSequence(items) for library in BOTH)
        assert sequence.items() == expected.items()
        assert len(sequence) == len(expected)
        assert repr(sequence) == repr(expected)


def test_info_and_dump_are_the_same(file: bytes, tmp_path: Path) -> None:
    expected, tagger = (tagger_of(library, file) for library in BOTH)
    assert vars(tagger.info()) == vars(expected.info())
    for name, of in (("theirs", expected), ("ours", tagger)):
        of.dump(str(tmp_path / name))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_a_dump_goes_to_stdout(file: bytes, capsys: Any) -> None:
    tagger_of(ours, file).dump()
    assert capsys.readouterr().out.startswith("FILEHEADER = {\n  magic: lCRF\n")


def test_dumps_are_read_back(file: bytes, tmp_path: Path) -> None:
    from tagline.interop.pycrfsuite._dumpparser import CRFsuiteDumpParser

    tagger, parser = tagger_of(ours, file), CRFsuiteDumpParser()
    tagger.dump(tmp_path / "dump")
    for line in (tmp_path / "dump").read_text(encoding="utf-8").split("\n"):
        parser.feed(line + "\n")
    read, info = vars(parser.result), vars(tagger.info())
    assert {name: len(table) for name, table in read.items()} == {name: len(table) for name, table in info.items()}
    assert read["transitions"] == info["transitions"]


CALLS: list[Any] = [
    lambda t: t.labels(),
    lambda t: t.set([["a"]]),
    lambda t: t.probability(["a"]),
    lambda t: t.marginal("a", 0),
    lambda t: t.info(),
    lambda t: t.dump(os.devnull),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_closed_tagger_says_so(file: bytes, call: Any) -> None:
    kinds = []
    for library in BOTH:
        tagger = library.Tagger()
        with tagger.open_inmemory(file) as opened:
            assert opened is tagger
        with pytest.raises((ValueError, RuntimeError)) as raised:
            call(tagger)
        kinds.append(isinstance(raised.value, ValueError))
    assert kinds[0] == kinds[1]


def test_questions_that_have_no_answer(file: bytes) -> None:
    tagger = tagger_of(ours, file)
    assert tagger.tag() == []
    assert tagger.probability([]) == tagger.marginal("O", 0) == 0.0
    tagger.set([["w1"], ["w2"]])
    for call, kind in (
        (lambda: tagger.probability(["O"]), ValueError),
        (lambda: tagger.probability(["O", "?"]), RuntimeError),
        (lambda: tagger.marginal("O", 2), ValueError),
        (lambda: tagger.marginal("?", 0), RuntimeError),
        (lambda: tagger.tag(["foo"]), ValueError),
        (lambda: tagger.tag("foo"), ValueError),
        (lambda: tagger.tag([[{"foo": 1.0}]]), ValueError),
        (lambda: tagger.tag_many([[["w1"]], 1]), ValueError),
        (lambda: tagger.tag_many(1), TypeError),
        (lambda: ours.Tagger().tag([["a"]]), ValueError),
    ):
        with pytest.raises(kind):
            call()
    assert tagger.tag([["w1"], ["w2"]]) == tagger_of(theirs, file).tag([["w1"], ["w2"]])


def test_features_whose_reading_asks_the_tagger_itself(file: bytes) -> None:
    tagger = tagger_of(ours, file)

    class Asking:
        def __float__(self) -> float:
            assert tagger.tag([["w3"]] * 50)
            return 1.5

    items = [{"w1": Asking(), "s1": 1.0}, {"w2": Asking()}]
    plain = [{"w1": 1.5, "s1": 1.0}, {"w2": 1.5}]
    assert tagger.tag(items) == tagger.tag(plain)
    assert len(tagger.tag()) == 2


def test_files_that_are_none(file: bytes, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        ours.Tagger().open(str(tmp_path / "nowhere"))
    for data in (b"", b"foo", b"lCRF", b"lCRFfoo" * 100, file[:-1], file[: len(file) // 2]):
        (tmp_path / "m").write_bytes(data)
        tagger = tagger_of(ours, file)
        with pytest.raises(ValueError, match="odel"):
            tagger.open(str(tmp_path / "m"))
        with pytest.raises(ValueError, match="odel"):
            tagger.open_inmemory(data)
        assert tagger.labels()  # of the model that was open before
    with pytest.raises(TypeError):
        ours.Tagger().open_inmemory("text")  # type: ignore[arg-type]


def test_nothing_is_pickled(file: bytes) -> None:
    for library in BOTH:
        for thing in (tagger_of(library, file), library.ItemSequence([["a"]])):
            with pytest.raises(TypeError):
                pickle.dumps(thing)
