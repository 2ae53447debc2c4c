"""One mistyped tag: which, where and of which scheme, before a model is trained without its rules."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from tagline import CRF, HMM, Corpus, readers
from tagline.errors import DataWarning
from tagline.readers.schemes import detect

X = [["Anna", "saw", "Rome"]] * 20
Y = [["B-PER", "O", "B-LOC"]] * 20
WRONG = [*Y[:-1], ["B-PER", "Q", "B-LOC"]]


@pytest.mark.parametrize("estimator", [CRF("U00:%x[0,0]", scheme="auto"), HMM(scheme="auto")], ids=["crf", "hmm"])
def test_it_is_said_once_where_fit_was_called(estimator: Any) -> None:
    with pytest.warns(DataWarning, match=r"^y\[19\]\[1\]: ") as heard:
        assert estimator.fit(X, WRONG).scheme_name is None
    assert [warning.filename for warning in heard] == [__file__]


@pytest.mark.parametrize("tag", ["Q", "B_", "b-PER", "O-PER"])
def test_the_place_is_of_the_file(tag: str, tmp_path: Path) -> None:
    rows = [list(row) for row in Y]
    rows[7][2], rows[9][0] = tag, tag
    readers.write_columns(Corpus.from_sentences(list(zip(X, rows, strict=True))), tmp_path / "train.txt")
    found = readers.read(tmp_path / "train.txt")
    detection = detect(found)
    assert detection.scheme is None
    assert detection.stray is not None
    assert (detection.stray.scheme.name, detection.stray.tag, detection.stray.count) == ("IOB2", tag, 2)
    assert detection.stray.place == f"{tmp_path / 'train.txt'}:29, token 2"
    with pytest.warns(DataWarning, match=r"train\.txt:29, token 2: .*\b1\b"):
        CRF("U00:%x[0,0]", scheme="auto").fit(found)


def test_parts_of_speech_are_no_mistakes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for tags in (["DET", "NOUN", "VERB"], ["B-PER", "NOUN", "O"]):
            assert CRF("U00:%x[0,0]", scheme="auto").fit(X, [tags] * 20).scheme_name is None
