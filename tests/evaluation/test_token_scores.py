"""Token scores against counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given

from tagline.evaluation.scores import Score
from tagline.evaluation.token_scores import evaluate_tokens

from .cases import TagLists, pairs


@given(pairs())
def test_scores_are_counts(pair: tuple[TagLists, TagLists]) -> None:
    gold, predicted = ([tag for sentence in side for tag in sentence] for side in pair)
    found = evaluate_tokens(*pair)
    both = Counter(zip(gold, predicted, strict=True))
    for label, score in found.by_label.items():
        assert score == Score(both[label, label], predicted.count(label), gold.count(label))
    assert found.labels == tuple(sorted({*gold, *predicted}))
    assert found.confusion.sum() == found.num_tokens == len(gold)
    for i, one in enumerate(found.labels):
        for j, other in enumerate(found.labels):
            assert found.confusion[i, j] == both[one, other]
    right = sum(one == two for one, two in zip(gold, predicted, strict=True))
    assert found.accuracy == (right / len(gold) if gold else 0)
    wrong = {key: count for key, count in both.items() if key[0] != key[1]}
    assert {(one, two): count for one, two, count in found.confusions(100)} == wrong
    assert [count for *_, count in found.confusions(100)] == sorted(wrong.values(), reverse=True)


def test_parts_of_speech_keep_their_letters() -> None:
    found = evaluate_tokens([["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]])
    assert found.labels == ("DET", "NOUN", "VERB")
    np.testing.assert_array_equal(found.confusion, [[1, 0, 0], [0, 0, 1], [0, 0, 1]])
    assert found.macro_f1 == pytest.approx((1 + 0 + 2 / 3) / 3, abs=1e-15)
    assert found.text() == (
        "3 tokens; accuracy: 66.67%; macro F1: 55.56\n"
        "label  precision   recall      F1  support\n"
        "DET      100.00%  100.00%  100.00        1\n"
        "NOUN       0.00%    0.00%    0.00        1\n"
        "VERB      50.00%  100.00%   66.67        1\n"
    )
