"""Training that goes on with new sentences alone: a warning names the labels that will be forgotten."""

from __future__ import annotations

import warnings

import pytest

from tagline import CRF
from tagline.errors import DataWarning

OLD = [["Anna", "saw", "Rome"]] * 10, [["B-PER", "O", "B-LOC"]] * 10
NEW = [["today", "is", "Monday"]] * 10, [["O", "O", "B-DATE"]] * 10


def test_labels_that_new_sentences_lack_are_named() -> None:
    crf = CRF("U00:%x[0,0]\n", scheme="IOB2", warm_start=True).fit(*OLD)
    with pytest.warns(DataWarning, match=r"^y: .*warm_start") as heard:
        crf.fit(*NEW)
    assert [warning.filename for warning in heard] == [__file__]


def test_training_that_keeps_the_labels_is_silent() -> None:
    both = [*OLD[0], *NEW[0]], [*OLD[1], *NEW[1]]
    unsure = [["O", "O", "B-DATE"]] * 9 + [[None, None, "B-DATE"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF("U00:%x[0,0]\n", scheme="IOB2", warm_start=True).fit(*OLD).fit(*both)
        CRF("U00:%x[0,0]\n", scheme="IOB2", warm_start=True).fit(*OLD).fit(NEW[0], unsure)
        CRF("U00:%x[0,0]\n", scheme="IOB2", warm_start=True).fit(OLD[0], [["B-PER", "I-PER", "O"]] * 10).fit(
            OLD[0], [["B-PER", "O", "O"]] * 10
        )
        CRF("U00:%x[0,0]\n", scheme="IOB2").fit(*OLD).fit(*NEW)  # a new model
        CRF("U00:%x[0,0]\n", scheme="IOB2", warm_start=True).fit(*OLD).partial_fit(*NEW)
