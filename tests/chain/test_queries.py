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
    "too few": ([0, 1, 2], "labels: "),
    "by sentence": ([[0, 1, 2], [1]], "labels: "),
    "a matrix": ([[0, 1, 2, 1]], "labels: "),
    "too large": ([0, 1, 3, 0], r"labels\[2\] \(sentence 0, token 2\): "),
    "negative": ([0, -1, 0, 0], r"labels\[1\] \(sentence 0, token 1\): "),
    "numbers with a point": ([0.0, 1.0, 2.0, 0.0], "labels: "),
    "booleans": ([True, False, True, True], "labels: "),
    "names": (["O", "B", "I", "O"], "labels: "),
}


@pytest.mark.parametrize("name", WRONG_LABELS)
def test_wrong_labels(engine: ModuleType, name: str) -> None:
    labels, place = WRONG_LABELS[name]
    for question in (engine.score, engine.gradients):
        with pytest.raises(InputError, match=f"^{place}"):
            question(CHAIN, labels)


WRONG_UNIFORMS: dict[str, tuple[Any, str]] = {
    "flat": ([0.1, 0.2, 0.3, 0.4], "uniforms: "),
    "too few": (np.zeros((2, 3)), "uniforms: "),
    "one": ([[0.1, 0.2, 1.0, 0.4]], r"uniforms\[0, 2\]: "),
    "negative": ([[0.0] * 4, [0.1, -1e-9, 0.3, 0.4]], r"uniforms\[1, 1\]: "),
    "NaN": ([[0.1, 0.2, 0.3, np.nan]], r"uniforms\[0, 3\]: "),
    "words": ([["a", "b", "c", "d"]], "uniforms: "),
    "ragged": ([[0.1, 0.2, 0.3, 0.4], [0.1]], "uniforms: "),
    "complex": (np.zeros((1, 4), complex), "uniforms: "),
}


@pytest.mark.parametrize("name", WRONG_UNIFORMS)
def test_wrong_random_numbers(engine: ModuleType, name: str) -> None:
    uniforms, place = WRONG_UNIFORMS[name]
    with pytest.raises(InputError, match=f"^{place}"):
        engine.sample(CHAIN, uniforms)


@pytest.mark.parametrize("k", [0, -3, 1.5, "2"])
def test_wrong_k(engine: ModuleType, k: Any) -> None:
    with pytest.raises(InputError, match=r"^k: "):
        engine.k_best(CHAIN, k)
    assert len(engine.k_best(CHAIN, np.int64(2))[0].labels) == 2


WRONG_SPANS: dict[str, tuple[Any, str]] = {
    "no such sentence": ([(0, 0, [0]), (2, 0, [0])], r"spans\[1\]: "),
    "negative sentence": ([(-1, 0, [0])], r"spans\[0\]: "),
    "past the end": (
        [(0, 2, [0, 1])],
        r"spans\[0\]: ",
    ),
    "before the start": (
        [(0, -1, [0])],
        r"spans\[0\]: ",
    ),
    "no tokens": ([(1, 0, [])], r"spans\[0\]: "),
    "label too large": ([(0, 0, [3])], r"spans\[0\]: "),
    "negative label": ([(0, 0, [{0, -1}])], r"spans\[0\]: "),
    "empty set": ([(0, 0, [0, []])], r"spans\[0\]: "),
    "half a label": ([(0, 0, [0.5])], r"spans\[0\]: "),
    "names": ([(0, 0, ["B"])], r"spans\[0\]: "),
    "not a triple": ([(0, 0)], r"spans\[0\]: "),
    "one number": ([7], r"spans\[0\]: "),
}


@pytest.mark.parametrize("name", WRONG_SPANS)
def test_wrong_spans(engine: ModuleType, name: str) -> None:
    spans, place = WRONG_SPANS[name]
    with pytest.raises(InputError, match=f"^{place}"):
        engine.span_probability(CHAIN, spans)


def test_no_spans(engine: ModuleType) -> None:
    assert engine.span_probability(CHAIN, []).shape == (0,)


WRONG_RULES: dict[str, tuple[dict[str, Any], str]] = {
    "scores for rules": (
        {"transitions": np.zeros((3, 3))},
        "transitions: ",
    ),
    "small matrix": (
        {"transitions": np.ones((2, 2), bool)},
        "transitions: ",
    ),
    "rules for each position": (
        {"transitions": np.ones((4, 3, 3), bool)},
        "transitions: ",
    ),
    "short start": ({"start": [True]}, "start: "),
    "names at the end": ({"end": ["a", "b", "c"]}, "end: "),
    "ragged rules": ({"transitions": [[True], [True, False]]}, "transitions: "),
    "allowed for other tokens": (
        {"allowed": np.ones((3, 3), bool)},
        "allowed: ",
    ),
    "allowed integers": (
        {"allowed": np.ones((4, 3), int)},
        "allowed: ",
    ),
    "too few sets": ({"allowed": [0, 1]}, "allowed: "),
    "no such token": ({"allowed": {4: 0}}, "allowed: "),
    "token by name": ({"allowed": {"first": 0}}, "allowed: "),
    "no such label": ({"allowed": {1: {0, 3}}}, r"allowed\[1\]: "),
    "nothing allowed": (
        {"allowed": {1: set()}},
        r"allowed\[1\]: ",
    ),
    "allowed a number": ({"allowed": 3}, "allowed: "),
    "known too short": (
        {"known": [0, 1]},
        "known: ",
    ),
    "known too large": (
        {"known": [0, 1, 3, -1]},
        r"known\[2\] \(sentence 0, token 2\): ",
    ),
    "known with a point": (
        {"known": [0.0, 1.0, 1.0, -1.0]},
        "known: ",
    ),
    "known by sentence": ({"known": [[0, 1, 2], [1]]}, "known: "),
}


@pytest.mark.parametrize("name", WRONG_RULES)
def test_wrong_rules(name: str) -> None:
    rules, place = WRONG_RULES[name]
    with pytest.raises(InputError, match=f"^{place}"):
        constrain(CHAIN, **rules)


WRONG_POTENTIALS: dict[str, tuple[Any, str]] = {
    "flat": (np.ones((3, 3)), "psi: "),
    "not square": (np.ones((2, 3, 2)), "psi: "),
    "no tokens": (np.ones((0, 3, 3)), "psi: "),
    "negative": (-np.ones((2, 2, 2)), "psi: "),
    "NaN": (np.full((2, 2, 2), np.nan), "psi: "),
    "infinite": (np.full((2, 2, 2), np.inf), "psi: "),
    "all zero": (np.zeros((2, 2, 2)), "Z: "),
}


@pytest.mark.parametrize("name", WRONG_POTENTIALS)
def test_wrong_potentials(name: str) -> None:
    psi, place = WRONG_POTENTIALS[name]
    for question in (naive.forward_linear, naive.backward_linear):
        with pytest.raises(InputError, match=f"^{place}"):
            question(psi)


@pytest.mark.parametrize("labels", [[0], [0, 1, 0, 1], [0, 2, 1], [0, -1, 1], [0.0, 1.0, 0.0]], ids=str)
def test_wrong_labels_of_potentials(labels: Any) -> None:
    """Three tokens, two labels: anything else would be an answer to another question."""
    psi = np.ones((3, 2, 2))
    for question in (naive.probability_linear, naive.gradient_linear):
        with pytest.raises(InputError, match=r"^labels(\[\d\])?: "):
            question(labels, psi)


def test_wrong_log_potentials() -> None:
    with pytest.raises(InputError, match=r"^log_psi: "):
        naive.chain_from_log_potentials(np.zeros((4, 3)))


def test_every_error_is_one_family() -> None:
    assert issubclass(InputError, TaglineError)
    assert issubclass(InputError, ValueError)


WRONG_CALLS: dict[str, tuple[Any, str]] = {
    "no emissions": (lambda: Chain(None, [[0.0]]), "emissions: "),  # type: ignore[arg-type]
    "no transitions": (lambda: Chain([[0.0]], None), "transitions: "),  # type: ignore[arg-type]
    "transitions of sentences": (lambda: Chain.from_sentences([[[1.0, 2.0]]], 3.0), "transitions: "),
    "no spans": (lambda: naive.span_probability(CHAIN, None), "spans: "),  # type: ignore[arg-type]
    "half a sample": (lambda: sample_paths(CHAIN, 2.5), "count: "),  # type: ignore[arg-type]
    "fewer than none": (lambda: sample_paths(CHAIN, -1), "count: "),
    "weights of another size": (
        lambda: naive.parameter_gradients(
            [0, 1], [[1.0, 2.0], [0.0, 1.0]], [[1.0], [2.0]], np.zeros((2, 2)), [0.0, 0.0]
        ),
        "W: ",
    ),
    "words for potentials": (lambda: naive.forward_linear([[["a"]]]), "psi: "),
    "ragged potentials": (lambda: naive.chain_from_log_potentials([[[1.0], [2.0, 3.0]]]), "log_psi: "),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_calls(name: str) -> None:
    call, place = WRONG_CALLS[name]
    with pytest.raises(InputError, match=f"^{place}"):
        call()
