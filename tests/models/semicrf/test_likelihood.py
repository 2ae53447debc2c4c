"""The objective of a semi-CRF against the definition of its score, and its gradient against finite differences."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tagline import Dictionary
from tagline.chain.segments.types import listed
from tagline.models.crf.extraction import Extraction
from tagline.models.semicrf import fitting
from tagline.models.semicrf.attributes import KINDS
from tagline.models.semicrf.estimator import SemiCRF
from tagline.models.semicrf.likelihood import SegmentLikelihood, Targets
from tagline.models.semicrf.parameters import Weights
from tests.chain.segments.enumeration import segmentations

X = [["in", "New", "York", "City"], ["New", "York", "City", "wins"], ["York"], ["Ann", "Lee", "Ann", "Lee"]]
Y = [
    ["O", "B-LOC", "I-LOC", "I-LOC"],
    ["B-LOC", "I-LOC", "I-LOC", "O"],
    ["B-LOC"],
    ["B-PER", "I-PER", "B-PER", "I-PER"],
]
PARTIAL: list[list[Any]] = [["O", None, None, "I-LOC"], Y[1], [{"B-LOC", "O"}], [None, "I-PER", None, None]]
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]\n"


def made(y: Any, weights: Any = None, **settings: Any) -> tuple[SegmentLikelihood, fitting._Data]:
    """The likelihood of `X`, made as `fit` does."""
    model = SemiCRF(TEMPLATE, scheme="IOB2", max_length=3, **settings)
    data = fitting._read(model, Extraction(model.features), X, y, weights)
    labels, begins, known = fitting._segmentation(data)
    start, numbered, gold = fitting._start(model, data, labels, begins, known, 3)
    layout = Weights(start.tables, fitting._kept(data, numbered, gold, start))
    targets = Targets(labels, begins, data.lesson.allowed, data.lesson.weights)
    return SegmentLikelihood(data.tags, layout, numbered, targets), data


CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "all": (Y, None, {}),
    "weighed": (Y, [1.0, 0.5, 2.0, 0.25], {}),
    "partial": (PARTIAL, None, {}),
    "partial, weighed": (PARTIAL, [1.0, 0.5, 2.0, 0.25], {}),
    "few": (Y, None, {"segment_features": ("string",)}),
    "dictionary": (Y, None, {"dictionary": Dictionary({"New York": "LOC", "Lee": "PER"})}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_is_the_slope(case: str) -> None:
    likelihood, _ = made(CASES[case][0], CASES[case][1], **CASES[case][2])
    rng = np.random.default_rng(1)
    at, step = rng.normal(0, 0.5, likelihood.size), 1e-5
    gradient = likelihood(at)[1]
    for k in rng.permutation(likelihood.size)[:60]:
        change = np.zeros(likelihood.size)
        change[k] = step
        slope = (likelihood(at + change)[0] - likelihood(at - change)[0]) / (2 * step)
        assert gradient[k] == pytest.approx(slope, abs=2e-8)
    assert (likelihood.curvature(at) >= 0).all()


def attributes_of(words: list[str], first: int, last: int) -> list[str]:
    """The named attributes of a segment, from their description."""
    text = words[first:last]
    shape = ["Xx" if word[0].isupper() else "x" for word in text]
    before, after = words[first - 1] if first else "", words[last] if last < len(words) else ""
    return [
        f"string:{' '.join(text)}",
        f"shape:{' '.join(shape)}",
        f"before:{before}",
        f"after:{after}",
        f"first:{text[0]}",
        f"last:{text[-1]}",
    ]


def strings_elsewhere(b: int, text: list[str], kind: str) -> int:
    """How often a string is a segment of a type in the other sentences."""
    count = 0
    for other, (words, tags) in enumerate(zip(X, Y, strict=True)):
        starts = [t for t, tag in enumerate(tags) if tag[0] != "I"] + [len(tags)]
        for low, high in itertools.pairwise(starts):
            count += other != b and words[low:high] == text and (tags[low][2:] or "O") == kind
    return count


@pytest.mark.parametrize("partial", [False, True])
def test_the_value_is_the_definition(partial: bool) -> None:
    """Every segmentation is enumerated and scored by names: attributes, lexicon, lengths, transitions."""
    likelihood, data = made(PARTIAL if partial else Y, segment_features=KINDS)
    assert (likelihood.targets.allowed is not None) == partial
    tags, rng = data.tags, np.random.default_rng(2)
    at = rng.normal(0, 0.5, likelihood.size)
    tables = likelihood.weights.tables(at)
    start = fitting._start(SemiCRF(TEMPLATE, scheme="IOB2"), data, *fitting._segmentation(data), 3)[0]
    names = {name: number for number, name in enumerate(start.names.names)}
    total = 0.0
    for b, words in enumerate(X):
        scores, legal = [], []
        for way in segmentations(len(words), 3, tags.num_types):
            if any(tags.types[label] == "O" and last - first > 1 for first, last, label in way):
                continue
            labels, begins = np.zeros(len(words), np.int64), np.zeros(len(words), bool)
            for first, last, label in way:
                labels[first:last], begins[first] = label, True
            row = tags.tags(labels, begins, np.array([0, len(words)]))
            value = tables.start[way[0][2]] + tables.end[way[-1][2]]
            value += sum(tables.transitions[x[2], y[2]] for x, y in itertools.pairwise(way))
            for n, word in enumerate(words):
                for name in (f"U00:{word}", f"U01:{words[n - 1] if n else '_B-1'}"):
                    value += tables.states[list(data.states).index(name), row[n]]
            for first, last, label in way:
                value += tables.length[last - first - 1, label]
                for name in attributes_of(words, first, last):
                    value += tables.segments[names[name], label] if name in names else 0.0
                seen = likelihood.numbered.seen
                assert seen is not None
                bucket = seen[data.corpus.offsets[b] + last - 1, last - first - 1, label]
                if not partial:
                    assert bucket == strings_elsewhere(b, words[first:last], tags.types[label])  # up to 2: as they are
                value += tables.lexicon[bucket, last - first - 1, label]
            scores.append(float(value))
            written = [tags.labels[number] for number in row]
            wanted = (PARTIAL if partial else Y)[b]
            legal.append(
                all(
                    w is None or tag in ({w} if isinstance(w, str) else w)
                    for tag, w in zip(written, wanted, strict=True)
                )
            )
            assert tuple(listed(labels, begins)) == way
        total += np.logaddexp.reduce(scores) - np.logaddexp.reduce(np.array(scores)[legal])
    assert likelihood(at)[0] == pytest.approx(total, rel=1e-10)
