"""Feature functions: document 001's example through them, and every answer against enumeration of all labellings."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from tagline import chain as engine
from tagline.errors import InputError
from tagline.features.functions import FeatureFunctions, StateFeature, TransitionFeature
from tests.chain.golden import GOLDEN, assert_golden

WORKED: Any = GOLDEN["doc001_worked_example"]
OPTIMUM: Any = GOLDEN["doc001_training_optimum"]


def transition(before: int, after: int, *positions: int) -> Callable[[int, int, Any, int], bool]:
    return lambda previous, label, x, i: previous == before and label == after and i in positions


def state(value: int, *positions: int) -> Callable[[int, Any, int], bool]:
    return lambda label, x, i: label == value and i in positions


# As document 001 writes them: labels 1 and 2, positions from 1.
FUNCTIONS = [
    transition(1, 2, 2, 3),
    transition(1, 1, 2),
    transition(2, 1, 3),
    transition(2, 1, 2),
    transition(2, 2, 3),
    state(1, 1),
    state(2, 1, 2),
    state(1, 2, 3),
    state(2, 3),
]
WEIGHTS = [*WORKED["inputs"]["lambda"].values(), *WORKED["inputs"]["mu"].values()]
X = ("x1", "x2", "x3")
MODEL = FeatureFunctions(list(zip(FUNCTIONS, WEIGHTS, strict=True)), labels=[1, 2], first=1)


def test_doc001_worked_example() -> None:
    ref, chain = WORKED["ref"], MODEL.chain(X)
    best = engine.viterbi(chain)
    assert [MODEL.labels[label] for label in best.labels] == WORKED["doc_printed"]["best_path"] == [1, 2, 1]
    assert_golden(best.scores, [WORKED["doc_printed"]["best_score"]])
    assert_golden(engine.log_partition(chain), [ref["log_Z"]])
    assert_golden(np.exp(engine.log_partition(chain)), [ref["Z"]])
    posterior = engine.marginals(chain, edges=True)
    assert_golden(posterior.nodes, ref["node_marginals[pos][label]"])
    assert posterior.edges is not None
    assert_golden(posterior.edges[1:], ref["edge_marginals[pos2,pos3][from][to]"])
    assert_golden(engine.forward(chain), ref["log_alpha"])
    assert_golden(engine.backward(chain), ref["log_beta"])
    assert_golden(engine.entropy(chain), [ref["entropy_nats"]])
    assert_golden(MODEL.expected_counts(X), ref["expected_global_features"])


@pytest.mark.parametrize("path", WORKED["ref"]["paths"], ids=lambda path: "".join(map(str, path["y"])))
def test_doc001_paths(path: dict[str, Any]) -> None:
    assert MODEL.feature_counts(X, path["y"]).tolist() == path["global_feature_vector"]
    assert_golden(MODEL.score(X, path["y"]), path["score"])
    log_p = MODEL.score(X, path["y"]) - engine.log_partition(MODEL.chain(X))[0]
    assert_golden(np.exp(log_p), path["prob"])


def test_doc001_gradient_of_the_best_path() -> None:
    ref = WORKED["ref"]
    value, gradient = MODEL.likelihood([X], [ref["best_path"]])(MODEL.weights)
    assert_golden(value, -np.log(ref["best_prob"]))
    assert_golden(-gradient, ref["grad_loglik_of_best_path_wrt_w = F(y*)-E[F]"])


def test_doc001_positions_from_0() -> None:
    """The same functions with positions shifted say the same."""
    shifted = [
        (TransitionFeature(lambda p, y, x, i, f=f: f(p, y, x, i + 1), w, "t"))
        if k < 5
        else (StateFeature(lambda y, x, i, f=f: f(y, x, i + 1), w, "s"))
        for k, (f, w) in enumerate(zip(FUNCTIONS, WEIGHTS, strict=True))
    ]
    one, other = FeatureFunctions(shifted, [1, 2]).chain(X), MODEL.chain(X)
    np.testing.assert_array_equal(one.emissions, other.emissions)
    np.testing.assert_array_equal(one.transitions, other.transitions)


def test_doc001_training_optimum() -> None:
    """The objective's optimum is the golden one, with and without the penalty."""
    counts = OPTIMUM["inputs"]["counts"]
    labellings = [[int(letter) for letter in path] for path, count in counts.items() for _ in range(count)]
    objective = MODEL.likelihood([X] * len(labellings), labellings)
    assert objective.size == 9

    def penalised(w: Any) -> tuple[float, Any]:
        value, gradient = objective(w)
        return value + 0.5 * w @ w, gradient + w

    ref = OPTIMUM["ref"]["L2 (maximise loglik - 0.5*||w||^2)"]
    found = minimize(penalised, np.zeros(9), jac=True, method="L-BFGS-B", options={"gtol": 1e-10, "ftol": 0})
    np.testing.assert_allclose(found.x, ref["w"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.fun, -ref["objective"], rtol=1e-9)
    free = minimize(objective, np.zeros(9), jac=True, method="L-BFGS-B", options={"gtol": 1e-10, "ftol": 0})
    model = MODEL.with_weights(free.x)
    log_z = engine.log_partition(model.chain(X))[0]
    for path, p in OPTIMUM["ref"]["MLE (no regulariser)"]["path_probs"].items():
        np.testing.assert_allclose(np.exp(model.score(X, [int(c) for c in path]) - log_z), p, rtol=0, atol=1e-6)


def tables(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape))
    numbers = draw(st.lists(st.integers(-8, 8), min_size=size, max_size=size))
    return np.array(numbers).reshape(shape) / 4


@st.composite
def models(draw: st.DrawFn) -> tuple[FeatureFunctions, list[list[int]], int]:
    """Functions that look up random tables by token, sentences of tokens 0 to 2, and the first position."""
    L, first = draw(st.integers(1, 3)), draw(st.integers(0, 1))
    functions: list[Any] = []
    for weight in draw(st.lists(st.integers(-4, 4), min_size=1, max_size=4)):
        if draw(st.booleans()):
            table = tables(draw, (3, L))
            functions.append((lambda y, x, i, at=table: at[x[i - first], y], weight / 2))
        else:
            table = tables(draw, (3, L, L))
            functions.append((lambda p, y, x, i, at=table: at[x[i - first], p, y], weight / 2))
    sentences = draw(st.lists(st.lists(st.integers(0, 2), max_size=4), max_size=3))
    return FeatureFunctions(functions, range(L), first=first), sentences, first


def by_definition(model: FeatureFunctions, x: list[int], y: tuple[int, ...], first: int) -> np.ndarray:
    """F(y, x) with positions as the functions count them."""
    counts = []
    for feature in model.features:
        if isinstance(feature, StateFeature):
            counts.append(sum(feature.function(y[t], x, t + first) for t in range(len(x))))
        else:
            counts.append(sum(feature.function(y[t - 1], y[t], x, t + first) for t in range(1, len(x))))
    return np.array(counts, float)


@given(models())
def test_against_enumeration(case: tuple[FeatureFunctions, list[list[int]], int]) -> None:
    model, sentences, first = case
    log_z = engine.log_partition(model.chain(*sentences))
    for b, x in enumerate(sentences):
        paths = list(product(model.labels, repeat=len(x)))
        features = np.array([by_definition(model, x, y, first) for y in paths])  # [paths, K]
        scores = features @ model.weights
        np.testing.assert_allclose(log_z[b], np.log(np.exp(scores).sum()), rtol=1e-12, atol=1e-12)
        p = np.exp(scores) / np.exp(scores).sum()
        np.testing.assert_allclose(model.expected_counts(x), p @ features, rtol=1e-9, atol=1e-12)
        for y, counts, score in zip(paths, features, scores, strict=True):
            np.testing.assert_allclose(model.feature_counts(x, y), counts, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(model.score(x, y), score, rtol=1e-12, atol=1e-12)


@given(models(), st.randoms(use_true_random=False))
def test_the_gradient_is_that_of_the_value(case: tuple[FeatureFunctions, list[list[int]], int], random: Any) -> None:
    model, sentences, _ = case
    objective = model.likelihood(sentences, [[random.choice(model.labels) for _ in x] for x in sentences])
    w = model.weights
    value, gradient = objective(w)
    assert value >= -1e-9  # p ≤ 1
    for k in range(objective.size):
        step = 1e-5 * np.eye(objective.size)[k]
        slope = (objective(w + step)[0] - objective(w - step)[0]) / 2e-5
        np.testing.assert_allclose(gradient[k], slope, rtol=1e-6, atol=1e-6)


def test_empty_sentences_and_none() -> None:
    assert MODEL.chain().num_sentences == 0
    assert MODEL.chain([], X, []).lengths.tolist() == [0, 3, 0]
    assert MODEL.score([], []) == 0
    assert MODEL.expected_counts([]).tolist() == [0] * 9
    assert MODEL.likelihood([], [])(MODEL.weights)[0] == 0


def s(label: Any, x: Any, i: int) -> Any:
    return label == "A"


def broken(label: Any, x: Any, i: int) -> Any:
    return x[i + 1] == label


@pytest.mark.parametrize(
    ("functions", "labels", "place"),
    [
        ([], "AB", "functions: "),
        ([(s, 1)], [], "labels: "),
        ([(s, 1)], "AA", "labels: "),
        ([s], "AB", "functions[0]: "),
        ([(s, 1), (1, s)], "AB", "functions[1]: "),
        ([(s, "1")], "AB", "s (functions[0]): "),
        ([(s, float("nan"))], "AB", "s (functions[0]): "),
        ([(lambda x: 1, 1)], "AB", "lambda (functions[0]): "),
        ([(lambda *a: 1, 1)], "AB", "lambda (functions[0]): "),
    ],
)
def test_wrong_functions(functions: Any, labels: Any, place: str) -> None:
    with pytest.raises(InputError, match=re.escape(place)):
        FeatureFunctions(functions, labels)


@pytest.mark.parametrize(
    ("function", "place"),
    [
        (lambda y, x, i: "1", "x, position 0, label 'A': "),
        (lambda y, x, i: None, "lambda (functions[0]): x, position 0, label 'A': "),
        (lambda y, x, i: np.inf, "lambda (functions[0]): x, position 0, label 'A': "),
        (lambda p, y, x, i: np.nan, "lambda (functions[0]): x, position 1, labels 'A', 'A': "),
        (broken, "broken (functions[0]): x, position 1, label 'A': "),
    ],
)
def test_wrong_values(function: Any, place: str) -> None:
    with pytest.raises(InputError, match=re.escape(place)) as caught:
        FeatureFunctions([(function, 1)], "AB").values("AB")
    if function is broken:
        assert isinstance(caught.value.__cause__, IndexError)


def test_wrong_sentences_and_labels() -> None:
    model = FeatureFunctions([(s, 1)], "AB")
    with pytest.raises(InputError, match=r"^sentence 1: "):
        model.chain("A", 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^lambda \(functions\[0\]\): sentence 1, position 0, label 'A': "):
        FeatureFunctions([(lambda y, x, i: x[i] / 2, 1)], "AB").chain([1], ["a"])
    with pytest.raises(InputError, match=r"^y: "):
        model.score("xx", "A")
    with pytest.raises(InputError, match=r"^y, position 1: "):
        model.score("xx", "AC")
    with pytest.raises(InputError, match=r"^labels of sentence 1, position 0: "):
        model.likelihood(["x", "x"], ["A", "C"])
    with pytest.raises(InputError, match=r"^labellings: "):
        model.likelihood(["x", "x"], ["A"])
    with pytest.raises(InputError, match=r"^weights: "):
        model.with_weights([1, 2])
    with pytest.raises(InputError, match=r"^first: "):
        FeatureFunctions([(s, 1)], "AB", first=2)


def test_kinds_of_functions() -> None:
    """Defaults do not count, wrappers say what arguments do not, NumPy's truth values are numbers."""
    model = FeatureFunctions(
        [
            (lambda y, x, i, word="a": x[i] == word, 1),
            StateFeature(lambda *a: np.bool_(True), 2, "any"),
            TransitionFeature(lambda *a: 1, 3, "move"),
        ],
        labels=["A"],
    )
    assert [type(feature) for feature in model.features] == [StateFeature, StateFeature, TransitionFeature]
    assert model.feature_counts(["a", "b"], ["A", "A"]).tolist() == [1, 2, 1]
    assert model.score(["a", "b"], ["A", "A"]) == 1 + 4 + 3
    assert model.with_weights([1, 1, 1]).score(["a", "b"], ["A", "A"]) == 4
    assert model.weights.tolist() == [1, 2, 3]
