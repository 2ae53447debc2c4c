"""One contract for all backends on tensors: values and gradients against the definition, on awkward batches."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tagline.chain import naive  # noqa: E402
from tagline.chain.tensors import TensorChain, batched, path_score  # noqa: E402
from tagline.types import Chain  # noqa: E402

from .golden import GOLDEN, assert_golden  # noqa: E402
from .tensor_cases import BACKENDS, Engine, TensorCase, host, load, make  # noqa: E402

TOLERANCES = {"float64": 1e-10, "float32": 2e-6}

CASES = {
    "ragged": {"num_labels": 3, "lengths": (5, 0, 2, 1, 7)},
    "packed": {"num_labels": 4, "lengths": (3, 6, 1), "gaps": False},
    "one token each": {"num_labels": 5, "lengths": (1, 1, 1)},
    "one label": {"num_labels": 1, "lengths": (4, 1, 0)},
    "forbidden": {"num_labels": 5, "lengths": (6, 1, 9, 0), "forbidden": 0.4},
    "nearly all forbidden": {"num_labels": 4, "lengths": (11, 3), "forbidden": 0.9},
    "by position": {"num_labels": 3, "lengths": (4, 0, 1, 6), "per_position": True},
    "by position, forbidden": {"num_labels": 3, "lengths": (4, 0, 1, 6), "per_position": True, "forbidden": 0.4},
    "wide scores": {"num_labels": 6, "lengths": (13, 2), "scale": 40.0},
    "17 labels": {"num_labels": 17, "lengths": (20, 33, 1)},
    "33 labels": {"num_labels": 33, "lengths": (5, 12)},
    "300 labels": {"num_labels": 300, "lengths": (3, 1, 4)},
    "long": {"num_labels": 7, "lengths": (600, 30)},
    "all empty": {"num_labels": 3, "lengths": (0, 0)},
    "no sentence": {"num_labels": 3, "lengths": ()},
}


INTERPRETED = not torch.cuda.is_available()
SLOW = (
    "fused-long-",
    "test_log_likelihood[fused-300",
    "test_log_partition[fused-300",
    "test_without_gradients[fused-300",
    "fused-300 labels-float32-un",
)


@pytest.fixture(autouse=True)
def patience(request: pytest.FixtureRequest) -> None:
    """Leave what takes Triton's interpreter over ten seconds to a GPU; test_fused has smaller cases of the same."""
    if INTERPRETED and any(part in request.node.name for part in SLOW):
        pytest.skip("needs a GPU: too slow in Triton's interpreter")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> tuple[Engine, Any]:
    return load(request.param)


@pytest.fixture(params=("float64", "float32"))
def dtype(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, dtype: str) -> TensorCase:
    return case_named(request.param, dtype)


@cache
def case_named(name: str, dtype: str) -> TensorCase:
    return make(**CASES[name], seed=7, dtype=dtype)


@cache
def log_partition(case: TensorCase) -> Any:
    return naive.log_partition(case.chain)


def close(actual: Any, expected: Any, dtype: str, size: float = 1.0) -> None:
    bar = TOLERANCES[dtype] * max(1.0, size)
    np.testing.assert_allclose(np.asarray(actual, np.float64), expected, rtol=TOLERANCES[dtype], atol=bar)


def size_of(case: TensorCase) -> float:
    """How large sums of scores may get: what the rounding of float32 input sums is relative to."""
    return float(max(1.0, np.abs(log_partition(case)).max(initial=0.0)))


def gradients(value: Any, c: TensorChain, weights: Any) -> list[Any]:
    found = torch.autograd.grad((value * weights).sum(), c.scores, materialize_grads=True)
    return [host(part) for part in found]


def weights_for(case: TensorCase, device: Any, even: bool) -> Any:
    B = case.chain.num_sentences
    given = np.ones(B) if even else np.random.default_rng(1).normal(0, 1, B)
    return torch.tensor(given, device=device)


@cache
def expected_gradients(case: TensorCase, even: bool, gold: bool) -> list[Any]:
    """Σ_b w_b · gradient of sentence b alone, from the definition."""
    weights = weights_for(case, "cpu", even)
    chain = case.chain
    totals: list[Any] = [
        np.zeros(np.shape(part)) for part in (chain.emissions, chain.transitions, chain.start, chain.end)
    ]
    for b, weight in enumerate(host(weights)):
        tokens = slice(chain.offsets[b], chain.offsets[b + 1])
        transitions = chain.transitions[tokens] if chain.per_position else chain.transitions
        alone = Chain(chain.emissions[tokens], transitions, chain.start, chain.end)
        found = naive.gradients(alone, case.labels[tokens]) if gold else naive.expected_counts(alone)
        totals[0][tokens] += weight * found.emissions
        if chain.per_position:
            totals[1][tokens] += weight * found.transitions
        else:
            totals[1] += weight * found.transitions
        totals[2] += weight * found.start
        totals[3] += weight * found.end
    totals[0] = case.spread(totals[0], 0.0)
    totals[1] = case.spread(totals[1], 0.0) if chain.per_position else totals[1]
    return totals


@pytest.mark.parametrize("even", [True, False], ids=["even weights", "uneven weights"])
def test_log_partition(backend: Any, case: TensorCase, dtype: str, even: bool) -> None:
    engine, device = backend
    c, weights = case.tensors(device), weights_for(case, device, even)
    value = engine.log_partition(c)
    assert value.dtype == torch.float64
    close(host(value), log_partition(case), dtype, size_of(case))
    found = gradients(value, c, weights)
    for part, expected in zip(found, expected_gradients(case, even, gold=False), strict=True):
        assert np.isfinite(part).all()
        close(part, expected, dtype, len(case.labels) if part.ndim < 2 or part.shape[0] == part.shape[1] else 1.0)


@pytest.mark.parametrize("even", [True, False], ids=["even weights", "uneven weights"])
def test_log_likelihood(backend: Any, case: TensorCase, dtype: str, even: bool) -> None:
    engine, device = backend
    c, weights = case.tensors(device), weights_for(case, device, even)
    value = engine.log_likelihood(c, case.gold(device))
    expected = naive.score(case.chain, case.labels) - log_partition(case)
    close(host(value), expected, dtype, size_of(case))
    found = gradients(value, c, weights)
    for part, wanted in zip(found, expected_gradients(case, even, gold=True), strict=True):
        close(part, wanted, dtype, len(case.labels) if part.ndim < 2 or part.shape[0] == part.shape[1] else 1.0)
    for part, scores in zip(found, c.scores, strict=True):
        assert (part[np.isneginf(host(scores))] == 0).all()


@pytest.mark.parametrize("gold", [False, True])
def test_gradients_without_autograd(case: TensorCase, dtype: str, gold: bool) -> None:
    c = case.tensors(torch.device("cpu"), gradients=False)
    found = batched.gradients(c, case.gold("cpu") if gold else None, weights_for(case, "cpu", False))
    for part, expected in zip(found, expected_gradients(case, False, gold), strict=True):
        close(host(part), expected, dtype, len(case.labels) if part.ndim < 2 or part.shape[0] == part.shape[1] else 1.0)


def test_without_gradients(backend: Any, case: TensorCase, dtype: str) -> None:
    engine, device = backend
    c = case.tensors(device, gradients=False)
    log_z = log_partition(case)
    close(host(engine.log_partition(c)), log_z, dtype, size_of(case))
    value = engine.log_likelihood(c, case.gold(device))
    close(host(value), naive.score(case.chain, case.labels) - log_z, dtype, size_of(case))
    assert not value.requires_grad


def test_marginals(backend: Any, case: TensorCase, dtype: str) -> None:
    engine, device = backend
    found = engine.marginals(case.tensors(device, gradients=False))
    assert found.dtype == getattr(torch, dtype)
    close(host(found), case.spread(np.asarray(naive.marginals(case.chain).nodes), 0.0), dtype)


def test_viterbi(backend: Any, case: TensorCase, dtype: str) -> None:
    engine, device = backend
    labels, scores = engine.viterbi(case.tensors(device, gradients=False))
    assert labels.dtype == torch.int64
    outside = np.setdiff1d(np.arange(case.num_rows), case.rows)
    assert (host(labels)[outside] == -1).all()
    best = naive.viterbi(case.chain)
    close(host(scores), best.scores, dtype, size_of(case))
    path = host(labels)[case.rows]
    close(naive.score(case.chain, path), best.scores, dtype, size_of(case))
    if dtype == "float64":
        assert (path == best.labels).all()


def test_ties_go_to_the_smaller_label_from_the_right(backend: Any) -> None:
    engine, device = backend
    case = make(3, (4, 2), scale=0.0)
    labels, _ = engine.viterbi(case.tensors(device, gradients=False))
    assert host(labels)[case.rows].tolist() == naive.viterbi(case.chain).labels.tolist() == [0] * 6


def test_path_score(backend: Any, case: TensorCase, dtype: str) -> None:
    _, device = backend
    c = case.tensors(device)
    value = path_score(c, case.gold(device))
    close(host(value), naive.score(case.chain, case.labels), dtype, size_of(case))
    if case.num_rows and case.chain.num_sentences:
        assert all(np.isfinite(part).all() for part in gradients(value, c, torch.ones_like(value)))


def test_long_sentences_keep_their_digits(backend: Any) -> None:
    """Marginals within 1e-6 at 8192 tokens in float32, and a likelihood whose two parts nearly cancel."""
    engine, device = backend
    lengths = {"native": 8192, "batched": 1024, "fused": 128 if INTERPRETED else 8192}
    case = make(5, (lengths[engine.module.NAME],), dtype="float32", scale=3.0)
    found = host(engine.marginals(case.tensors(device, gradients=False)))
    np.testing.assert_allclose(found[case.rows], naive.marginals(case.chain).nodes, rtol=0, atol=1e-6)
    best = naive.viterbi(case.chain).labels
    value = engine.log_likelihood(case.tensors(device), torch.tensor(case.spread(best, 0), device=device))
    expected = naive.score(case.chain, best) - log_partition(case)
    drift = 1e-7 * len(case.rows) if engine.module.NAME == "fused" else 0.0  # of exponentials in float32
    np.testing.assert_allclose(host(value), expected, rtol=1e-6, atol=drift)


def test_labels_that_do_not_mix(backend: Any) -> None:
    """Two labels that never follow each other: mass that dies out for 100 tokens decides at the end."""
    engine, device = backend
    T = 100
    emissions = np.zeros((T, 2), np.float32)
    emissions[: T // 2, 0], emissions[T // 2 :, 1] = 3.0, 3.6
    apart = np.array([[0, -np.inf], [-np.inf, 0]], np.float32)
    chain = Chain(emissions, apart)
    case = TensorCase(chain, np.ones(T, np.int64), np.arange(T), T)
    c = case.tensors(device)
    value = engine.log_partition(c)
    np.testing.assert_allclose(host(value), naive.log_partition(chain), rtol=1e-6)
    found = gradients(value, c, torch.ones_like(value))
    np.testing.assert_allclose(found[0], naive.marginals(chain).nodes, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["log_partition", "log_likelihood"])
@pytest.mark.parametrize("per_position", [False, True])
def test_second_derivatives(backend: Any, name: str, per_position: bool) -> None:
    engine, device = backend
    case = make(3, (3, 0, 1, 2), per_position=per_position, forbidden=0.0)
    c, labels = case.tensors(device), case.gold(device)
    inside = torch.zeros(case.num_rows, dtype=torch.bool, device=device)
    inside[torch.tensor(case.rows, device=device)] = True

    def value(*scores: Any) -> Any:
        emissions = torch.where(inside[:, None], scores[0], torch.nan)
        chain = c.with_scores(emissions, *scores[1:])
        return engine.log_partition(chain) if name == "log_partition" else engine.log_likelihood(chain, labels)

    inputs = [torch.nan_to_num(part.detach()).requires_grad_() for part in c.scores]
    assert torch.autograd.gradcheck(value, inputs)
    assert torch.autograd.gradgradcheck(value, inputs)


def test_second_derivatives_at_forbidden_scores_are_numbers(backend: Any) -> None:
    engine, device = backend
    case = make(4, (5, 2, 1), forbidden=0.5)
    c = case.tensors(device)
    value = engine.log_likelihood(c, case.gold(device))
    first = torch.autograd.grad(value.sum(), c.scores, create_graph=True)
    second = torch.autograd.grad(sum((part * part).sum() for part in first), c.scores)
    for part, scores in zip(second, c.scores, strict=True):
        assert np.isfinite(host(part)).all()
        assert (host(part)[np.isneginf(host(scores))] == 0).all()


def test_forbidden_labels_have_no_gradient() -> None:
    """Plain PyTorch, which cannot raise on a device: log p = −∞, and 0 at what is forbidden."""
    case = make(3, (4, 2), forbidden=0.6, seed=2)
    c = case.tensors(torch.device("cpu"))
    score = path_score(c, torch.zeros(case.num_rows, dtype=torch.int64))
    assert np.isneginf(host(score)).any()
    assert (
        host(batched.log_likelihood(c, torch.zeros(case.num_rows, dtype=torch.int64)))[np.isneginf(host(score))]
        == -np.inf
    ).all()
    for part, scores in zip(gradients(score, c, torch.ones_like(score)), c.scores, strict=True):
        assert (part[np.isneginf(host(scores))] == 0).all()


def test_golden_padded_batch(backend: Any, dtype: str) -> None:
    engine, device = backend
    inputs, ref = GOLDEN["doc003_padded_batch"]["inputs"], GOLDEN["doc003_padded_batch"]["ref"]
    padded = np.array(inputs["emissions(batch,seq,tag)"], dtype)
    B, T, L = padded.shape
    names = ("transitions[from][to]", "start_transitions", "end_transitions")
    scores = [padded.reshape(B * T, L), *(np.array(inputs[name], dtype) for name in names)]
    parts = [torch.tensor(part, device=device, requires_grad=True) for part in scores]
    lengths = torch.tensor(inputs["lengths"], device=device)
    c = TensorChain(parts[0], torch.arange(B, device=device) * T, lengths, T, *parts[1:])
    labels = torch.tensor(inputs["tags"], device=device).flatten()
    rows = ref["per_sequence"]
    assert_golden(host(engine.log_partition(c)), [row["log_Z"] for row in rows], dtype)
    value = engine.log_likelihood(c, labels)
    assert_golden(-host(value), [row["nll"] for row in rows], dtype)
    found = [-part for part in gradients(value, c, torch.ones_like(value))]
    slopes = ref["grad_of_SUM_nll"]
    assert_golden(found[0].reshape(B, T, L), slopes["emissions"], dtype)
    for part, name in zip(found[1:], ("transitions[from][to]", "start", "end"), strict=True):
        assert_golden(part, slopes[name], dtype)
    nodes = host(engine.marginals(c.detach())).reshape(B, T, L)
    best, scored = engine.viterbi(c.detach())
    assert_golden(host(scored), [row["best_score"] for row in rows], dtype)
    for b, row in enumerate(rows):
        assert_golden(nodes[b, : row["length"]], row["node_marginals"], dtype)
        assert host(best).reshape(B, T)[b, : row["length"]].tolist() == row["best_path"]
