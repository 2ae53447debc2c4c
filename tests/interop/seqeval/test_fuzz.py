"""Every score and every report of seqeval, on random labels: equal to the bit and to the byte, warnings included."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import seqeval.metrics as theirs
import seqeval.metrics.sequence_labeling as their_default
import seqeval.metrics.v1 as their_strict
import seqeval.scheme as their_schemes

import tagline.interop.seqeval.metrics as ours
import tagline.interop.seqeval.metrics.sequence_labeling as our_default
import tagline.interop.seqeval.metrics.v1 as our_strict
import tagline.interop.seqeval.scheme as our_schemes
from tagline.evaluation import evaluate_spans
from tests.interop.seqeval.draws import LETTERS, TYPES, TagLists, alike, draw_pair, outcome

AVERAGES = (None, "micro", "macro", "weighted")


def questions(rng: random.Random, suffix: bool, strict: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names of functions with their arguments."""
    shared = {"suffix": suffix, "zero_division": rng.choice(["warn", 0, 1]), "mode": "strict" if strict else None}
    digits = rng.choice([0, 1, 2, 3, 4, 6, 14])
    yield "classification_report", {**shared, "digits": digits}
    yield "classification_report", {**shared, "output_dict": True}
    for average in AVERAGES:
        for name in ("f1_score", "precision_score", "recall_score"):
            yield name, {**shared, "average": average}


def check(seed: int, strict: bool) -> int:
    """Compare all answers for one draw; return how many reports were compared as text."""
    rng = random.Random(seed)
    scheme = rng.choice(list(LETTERS))
    letters = LETTERS[scheme] + rng.choice([""] * 9 + ["S", "E", "U", "M", "X", "."])
    suffix = rng.random() < 0.3
    pair = draw_pair(rng, letters, rng.choice(TYPES), suffix)
    named = rng.choice([scheme, None])
    mine, yours = (getattr(module, named) if named else None for module in (our_schemes, their_schemes))
    texts = 0
    for name, settings in questions(rng, suffix, strict):
        found = outcome(getattr(ours, name), *pair, scheme=mine, **settings)
        expected = outcome(getattr(theirs, name), *pair, scheme=yours, **settings)
        assert alike(found[0], expected[0]), (name, settings, named, pair, found[0], expected[0])
        assert found[1:] == expected[1:], (name, settings, named, pair)
        texts += isinstance(expected[0], str)
    return texts


@pytest.mark.parametrize("strict", [False, True])
def test_scores_and_reports(strict: bool) -> None:
    texts = sum(check(seed, strict) for seed in range(100))
    assert texts > 50  # the others are errors on both sides


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
def test_scores_and_reports_of_many_draws(strict: bool) -> None:
    assert sum(check(seed, strict) for seed in range(1_000, 7_000)) > 3_000


@pytest.mark.parametrize("beta", [0.0, 0.5, 2.0, float("inf")])
@pytest.mark.parametrize("average", AVERAGES)
def test_every_beta(beta: float, average: str | None) -> None:
    rng = random.Random(1)
    settings: dict[str, Any] = {"average": average, "beta": beta}
    for _ in range(20):
        pair = draw_pair(rng, "IB", ["A", "B"], False)
        found = outcome(our_default.precision_recall_fscore_support, *pair, **settings)
        expected = outcome(their_default.precision_recall_fscore_support, *pair, **settings)
        assert alike(found[:2], expected[:2])
        found = outcome(our_strict.precision_recall_fscore_support, *pair, scheme=our_schemes.IOB2, **settings)
        expected = outcome(their_strict.precision_recall_fscore_support, *pair, scheme=their_schemes.IOB2, **settings)
        assert alike(found[:2], expected[:2])


def entities_of(schemes: Any, name: str, labels: TagLists, suffix: bool) -> list[Any]:
    rows = schemes.Entities(labels, getattr(schemes, name), suffix).entities
    return [[entity.to_tuple() for entity in row] for row in rows]


def entities_of_each(schemes: Any, name: str, labels: TagLists, suffix: bool) -> list[Any]:
    rows = (schemes.Tokens(row, getattr(schemes, name), suffix, sent_id=b) for b, row in enumerate(labels))
    return [[entity.to_tuple() for entity in row.entities] for row in rows]


@pytest.mark.parametrize("letters", ["IB", "IE", "IBES", "BILU", "X.BO"])
def test_chunks_and_entities(letters: str) -> None:
    rng = random.Random(2)
    for draw in range(100):
        suffix = draw % 3 == 0
        labels, _ = draw_pair(rng, letters, rng.choice(TYPES), suffix)
        for seq in (labels, labels[0]):
            found, expected = (outcome(module.get_entities, seq, suffix) for module in (our_default, their_default))
            assert alike(found[0], expected[0])
            assert found[2] == expected[2]
        for name in LETTERS:
            expected = outcome(entities_of, their_schemes, name, labels, suffix)
            for question in (entities_of, entities_of_each):
                found = outcome(question, our_schemes, name, labels, suffix)
                assert alike(found[0], expected[0]), (name, labels)


@pytest.mark.parametrize("letters", ["IB", "IE", "IBES", "BILU", "S", "U", "X", "I"])
def test_the_scheme_that_is_detected(letters: str) -> None:
    rng = random.Random(4)
    for _ in range(50):
        labels, _ = draw_pair(rng, letters, ["A", ""], False)
        found, expected = (outcome(module.auto_detect, labels)[0] for module in (our_schemes, their_schemes))
        if isinstance(expected, Exception):
            assert alike(found, expected)
        else:
            assert found.__name__ == expected.__name__


def test_labels_of_tokens() -> None:
    rng = random.Random(3)
    for _ in range(200):
        pair = draw_pair(rng, "IB", ["A", "B"], False)
        for name in ("accuracy_score", "performance_measure"):
            found, expected = (outcome(getattr(module, name), *pair) for module in (ours, theirs))
            assert alike(found[0], expected[0])


@pytest.mark.parametrize(("rule", "mode"), [("conlleval:BIOES", None), ("strict:BIOES", "strict")])
def test_the_rules_of_evaluate_spans_are_the_modes_of_seqeval(rule: str, mode: str | None) -> None:
    rng = random.Random(6)
    for _ in range(50):
        pair = draw_pair(rng, "IBES", ["A", "B"], False)
        expected = outcome(theirs.f1_score, *pair, mode=mode, scheme=their_schemes.IOBES, average="micro")[0]
        assert evaluate_spans(*pair, rule).f1 == pytest.approx(expected, rel=1e-12)
