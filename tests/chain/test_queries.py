"""What is wrong with a question to the engine: labels, random numbers, k, spans, rules, potentials."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tagline.chain import constrain, naive, sample_paths
from tagline.errors import InputError, TaglineError
from tagline.types import Chain

CHAIN = Chain(np.zeros((4, 3)), np.zeros((3, 3)), offsets=[0, 3, 4])

WRONG_LABELS: dict[str, tuple[Any, str]] = {
    "too few": ([0, 1, 2], r"labels: expected shape \[4\], one label a token, got \[3\]"),
    "by sentence": ([[0, 1, 2], [1]], r"labels: expected one flat array over all sentences, got sentences"),
    "a matrix": ([[0, 1, 2, 1]], r"labels: expected shape \[4\], one label a token, got \[1, 4\]"),
    "too large": ([0, 1, 3, 0], r"labels\[2\] \(sentence 0, token 2\): expected 0 to 2, got 3"),
    "negative": ([0, -1, 0, 0], r"labels\[1\] \(sentence 0, token 1\): expected 0 to 2, got -1"),
    "numbers with a point": ([0.0, 1.0, 2.0, 0.0], r"labels: expected integers, got dtype float64"),
    "booleans": ([True, False, True, True], r"labels: expected integers, got dtype bool"),
    "names": (["O", "B", "I", "O"], r"labels: expected integers, got dtype <U1"),
}


@pytest.mark.parametrize("name", WRONG_LABELS)
def test_wrong_labels(engine: ModuleType, name: str) -> None:
    labels, message = WRONG_LABELS[name]
    for question in (engine.score, engine.gradients):
        with pytest.raises(InputError, match=f"^{message}"):
            question(CHAIN, labels)


WRONG_UNIFORMS: dict[str, tuple[Any, str]] = {
    "flat": ([0.1, 0.2, 0.3, 0.4], r"uniforms: expected shape \[samples, 4\], got \[4\]"),
    "too few": (np.zeros((2, 3)), r"uniforms: expected shape \[samples, 4\], got \[2, 3\]"),
    "one": ([[0.1, 0.2, 1.0, 0.4]], r"uniforms\[0, 2\]: expected a number in \[0, 1\), got 1\.0"),
    "negative": ([[0.0] * 4, [0.1, -1e-9, 0.3, 0.4]], r"uniforms\[1, 1\]: expected a number in \[0, 1\), got -1e-09"),
    "NaN": ([[0.1, 0.2, 0.3, np.nan]], r"uniforms\[0, 3\]: expected a number in \[0, 1\), got nan"),
    "words": ([["a", "b", "c", "d"]], r"uniforms: expected "),
    "ragged": ([[0.1, 0.2, 0.3, 0.4], [0.1]], r"uniforms: expected "),
    "complex": (np.zeros((1, 4), complex), r"uniforms: expected "),
}


@pytest.mark.parametrize("name", WRONG_UNIFORMS)
def test_wrong_random_numbers(engine: ModuleType, name: str) -> None:
    uniforms, message = WRONG_UNIFORMS[name]
    with pytest.raises(InputError, match=f"^{message}"):
        engine.sample(CHAIN, uniforms)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "a whole number .*, got 0"),
        (-3, "a whole number .*, got -3"),
        (1.5, "a whole number .*, got 1.5"),
        ("2", "a whole"),
    ],
)
def test_wrong_k(engine: ModuleType, k: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^k: expected {message}"):
        engine.k_best(CHAIN, k)
    assert len(engine.k_best(CHAIN, np.int64(2))[0].labels) == 2


WRONG_SPANS: dict[str, tuple[Any, str]] = {
    "no such sentence": ([(0, 0, [0]), (2, 0, [0])], r"spans\[1\]: expected a sentence from 0 to 1, got 2"),
    "negative sentence": ([(-1, 0, [0])], r"spans\[0\]: expected a sentence from 0 to 1, got -1"),
    "past the end": (
        [(0, 2, [0, 1])],
        r"spans\[0\]: expected at least one token within the 3 of sentence 0, got tokens 2 to 3",
    ),
    "before the start": (
        [(0, -1, [0])],
        r"spans\[0\]: expected at least one token within the 3 .* got tokens -1 to -1",
    ),
    "no tokens": ([(1, 0, [])], r"spans\[0\]: expected at least one token within the 1 of sentence 1"),
    "label too large": ([(0, 0, [3])], r"spans\[0\]: expected labels from 0 to 2, got 3"),
    "negative label": ([(0, 0, [{0, -1}])], r"spans\[0\]: expected labels from 0 to 2, got -1"),
    "empty set": ([(0, 0, [0, []])], r"spans\[0\]: expected at least one label in each set, got an empty set"),
    "half a label": ([(0, 0, [0.5])], r"spans\[0\]: expected a label or a set of labels, got 0\.5"),
    "names": ([(0, 0, ["B"])], r"spans\[0\]: expected a label or a set of labels, got 'B'"),
    "not a triple": ([(0, 0)], r"spans\[0\]: expected \(sentence, first token, label sets\), got \(0, 0\)"),
    "one number": ([7], r"spans\[0\]: expected \(sentence, first token, label sets\), got 7"),
}


@pytest.mark.parametrize("name", WRONG_SPANS)
def test_wrong_spans(engine: ModuleType, name: str) -> None:
    spans, message = WRONG_SPANS[name]
    with pytest.raises(InputError, match=f"^{message}"):
        engine.span_probability(CHAIN, spans)


def test_no_spans(engine: ModuleType) -> None:
    assert engine.span_probability(CHAIN, []).shape == (0,)


WRONG_RULES: dict[str, tuple[dict[str, Any], str]] = {
    "scores for rules": (
        {"transitions": np.zeros((3, 3))},
        r"transitions: expected booleans \(True = allowed\), got dtype float64",
    ),
    "small matrix": (
        {"transitions": np.ones((2, 2), bool)},
        r"transitions: expected booleans of shape \[3, 3\], got shape \[2, 2\]",
    ),
    "rules for each position": (
        {"transitions": np.ones((4, 3, 3), bool)},
        r"transitions: expected booleans of shape \[3, 3\], got",
    ),
    "short start": ({"start": [True]}, r"start: expected booleans of shape \[3\], got shape \[1\]"),
    "names at the end": ({"end": ["a", "b", "c"]}, r"end: expected booleans \(True = allowed\), got dtype <U1"),
    "ragged rules": ({"transitions": [[True], [True, False]]}, r"transitions: expected "),
    "allowed for other tokens": (
        {"allowed": np.ones((3, 3), bool)},
        r"allowed: expected booleans of shape \[4, 3\], got shape \[3, 3\]",
    ),
    "allowed integers": (
        {"allowed": np.ones((4, 3), int)},
        r"allowed: expected booleans \(True = allowed\), got dtype int64",
    ),
    "too few sets": ({"allowed": [0, 1]}, r"allowed: expected 4 entries, one a token \(None = every label\), got 2"),
    "no such token": ({"allowed": {4: 0}}, r"allowed: expected tokens from 0 to 3, got 4"),
    "token by name": ({"allowed": {"first": 0}}, r"allowed: expected tokens "),
    "no such label": ({"allowed": {1: {0, 3}}}, r"allowed\[1\]: expected labels from 0 to 2, got 3"),
    "nothing allowed": (
        {"allowed": {1: set()}},
        r"allowed\[1\]: expected at least one label in each set, got an empty set",
    ),
    "allowed a number": ({"allowed": 3}, r"allowed: expected "),
    "known too short": (
        {"known": [0, 1]},
        r"known: expected integers of shape \[4\], negative where unknown, got int64 \[2\]",
    ),
    "known too large": (
        {"known": [0, 1, 3, -1]},
        r"known\[2\] \(sentence 0, token 2\): expected labels up to 2, got 3",
    ),
    "known with a point": (
        {"known": [0.0, 1.0, 1.0, -1.0]},
        r"known: expected integers of shape \[4\].*, got float64 \[4\]",
    ),
    "known by sentence": ({"known": [[0, 1, 2], [1]]}, r"known: expected "),
}


@pytest.mark.parametrize("name", WRONG_RULES)
def test_wrong_rules(name: str) -> None:
    rules, message = WRONG_RULES[name]
    with pytest.raises(InputError, match=f"^{message}"):
        constrain(CHAIN, **rules)


WRONG_POTENTIALS: dict[str, tuple[Any, str]] = {
    "flat": (np.ones((3, 3)), r"psi: expected shape \[tokens, labels, labels\], got \[3, 3\]"),
    "not square": (np.ones((2, 3, 2)), r"psi: expected shape \[tokens, labels, labels\], got \[2, 3, 2\]"),
    "no tokens": (np.ones((0, 3, 3)), r"psi: expected shape \[tokens, labels, labels\], got \[0, 3, 3\]"),
    "negative": (-np.ones((2, 2, 2)), r"psi: expected finite potentials of at least 0, got others; pass exp\(scores\)"),
    "NaN": (np.full((2, 2, 2), np.nan), r"psi: expected finite potentials of at least 0"),
    "infinite": (np.full((2, 2, 2), np.inf), r"psi: expected finite potentials of at least 0"),
    "all zero": (np.zeros((2, 2, 2)), r"Z: expected a positive number within float64, got 0\.0"),
}


@pytest.mark.parametrize("name", WRONG_POTENTIALS)
def test_wrong_potentials(name: str) -> None:
    psi, message = WRONG_POTENTIALS[name]
    for question in (naive.forward_linear, naive.backward_linear):
        with pytest.raises(InputError, match=f"^{message}"):
            question(psi)


@pytest.mark.parametrize("labels", [[0], [0, 1, 0, 1], [0, 2, 1], [0, -1, 1], [0.0, 1.0, 0.0]], ids=str)
def test_wrong_labels_of_potentials(labels: Any) -> None:
    """Three tokens, two labels: anything else would be an answer to another question."""
    psi = np.ones((3, 2, 2))
    for question in (naive.probability_linear, naive.gradient_linear):
        with pytest.raises(InputError, match="labels"):
            question(labels, psi)


def test_wrong_log_potentials() -> None:
    with pytest.raises(InputError, match=r"log_psi: expected shape \[tokens, labels, labels\], got \[4, 3\]"):
        naive.chain_from_log_potentials(np.zeros((4, 3)))


def test_every_error_is_one_family() -> None:
    assert issubclass(InputError, TaglineError)
    assert issubclass(InputError, ValueError)


WRONG_CALLS: dict[str, tuple[Any, str]] = {
    "no emissions": (lambda: Chain(None, [[0.0]]), r"emissions: expected "),  # type: ignore[arg-type]
    "no transitions": (lambda: Chain([[0.0]], None), r"transitions: expected "),  # type: ignore[arg-type]
    "transitions of sentences": (lambda: Chain.from_sentences([[[1.0, 2.0]]], 3.0), r"transitions: expected shape"),
    "no spans": (lambda: naive.span_probability(CHAIN, None), r"spans: expected a list"),  # type: ignore[arg-type]
    "half a sample": (lambda: sample_paths(CHAIN, 2.5), r"count: expected a whole number of 0 or more, got 2.5"),  # type: ignore[arg-type]
    "fewer than none": (lambda: sample_paths(CHAIN, -1), r"count: expected a whole number of 0 or more, got -1"),
    "weights of another size": (
        lambda: naive.parameter_gradients(
            [0, 1], [[1.0, 2.0], [0.0, 1.0]], [[1.0], [2.0]], np.zeros((2, 2)), [0.0, 0.0]
        ),
        r"W: expected as many columns as x \[2, 2\], got \[2, 1\]",
    ),
    "words for potentials": (lambda: naive.forward_linear([[["a"]]]), r"psi: expected numbers, got dtype <U1"),
    "ragged potentials": (lambda: naive.chain_from_log_potentials([[[1.0], [2.0, 3.0]]]), r"log_psi: expected "),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_calls(name: str) -> None:
    call, message = WRONG_CALLS[name]
    with pytest.raises(InputError, match=f"^{message}"):
        call()
