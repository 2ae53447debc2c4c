"""The kernels' own paths: chunks, blocks, pointers, flags. On a GPU, or in Triton's interpreter on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from tagline.chain import naive  # noqa: E402
from tagline.chain.tensors import TensorChain, operators, recipes, using_tensor_engine  # noqa: E402

from .tensor_cases import SLOW_HERE, Engine, TensorCase, host, load, make  # noqa: E402


@pytest.fixture
def fused() -> Iterator[tuple[Engine, Any]]:
    """The kernels; recipes are forgotten, as tests change the limits that they follow."""
    recipes.forget()
    yield load("fused")
    recipes.forget()


@pytest.fixture
def short_chunks(fused: tuple[Engine, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[Engine, Any]:
    """Sentences of 10 rows are long, chunks are of 8 steps."""
    for name, value in (("LONG", 10), ("LONG_BEST", 10), ("STEPS", 8), ("STEPS_BEST", 8)):
        monkeypatch.setattr(recipes, name, value)
    return fused


def check(backend: tuple[Engine, Any], case: TensorCase, repeats: int = 1) -> None:
    """Values, marginals, gradients and the best labelling against the definition."""
    engine, device = backend
    chain = case.chain
    best = naive.viterbi(chain)
    tensors = case.tensors(device)
    gold = torch.tensor(case.spread(best.labels, 0), device=device)
    value = engine.log_likelihood(tensors, gold)
    expected = naive.score(chain, best.labels) - naive.log_partition(chain)
    np.testing.assert_allclose(host(value), expected, rtol=1e-6, atol=1e-5)
    wanted, counts = naive.gradients(chain, best.labels), naive.expected_counts(chain)
    for _ in range(repeats):
        gradients = [host(part) for part in torch.autograd.grad(value.sum(), tensors.scores, retain_graph=True)]
        np.testing.assert_allclose(gradients[0][case.rows], wanted.emissions, rtol=0, atol=1e-6)
        outside = np.setdiff1d(np.arange(len(gradients[0])), case.rows)
        assert not gradients[0][outside].any()
        for part, name in zip(gradients[1:], ("transitions", "start", "end"), strict=True):
            # The difference of two counts, each good to some units of float32.
            most = 1.5e-6 * (1 + getattr(counts, name))
            assert (abs(part - getattr(wanted, name)) <= most).all(), name
    labels, scores = engine.viterbi(case.tensors(device, gradients=False))
    np.testing.assert_array_equal(host(labels)[case.rows], best.labels)
    np.testing.assert_allclose(host(scores), best.scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("lengths", [(60,), (8, 9, 10, 17, 1, 0), (65, 16)])
@pytest.mark.parametrize("num_labels", [2, pytest.param(17, marks=SLOW_HERE)])
def test_chunks(short_chunks: tuple[Engine, Any], lengths: tuple[int, ...], num_labels: int) -> None:
    check(short_chunks, make(num_labels, lengths, seed=3, dtype="float32"))


def test_chunks_leave_forbidden_transitions_to_the_sweep(short_chunks: tuple[Engine, Any]) -> None:
    check(short_chunks, make(4, (30, 12), seed=5, dtype="float32", forbidden=0.4))


@pytest.mark.parametrize(
    ("forbidden", "streamed"),
    [(0.0, 0), (0.3, 128), *(pytest.param(*case, marks=SLOW_HERE) for case in [(0.0, 128), (0.3, 0), (0.97, 0)])],
)
def test_more_labels_than_registers_hold(
    fused: tuple[Engine, Any], monkeypatch: pytest.MonkeyPatch, forbidden: float, streamed: int
) -> None:
    monkeypatch.setattr(recipes, "STREAMED", streamed)
    check(fused, make(130, (3, 1, 0), seed=1, dtype="float32", forbidden=forbidden))


def test_many_labels_with_whole_blocks_forbidden(fused: tuple[Engine, Any]) -> None:
    """Two halves of the labels that lead to one another only, so that most blocks of the matrix are empty."""
    case = make(150, (6, 2), seed=2, dtype="float32")
    halves = np.arange(150) < 80
    transitions = np.where(halves[:, None] != halves, case.chain.transitions, -np.inf)
    chain = replace(case.chain, transitions=transitions.astype(np.float32))
    check(fused, replace(case, chain=chain))


@pytest.mark.parametrize("num_labels", [pytest.param(140, marks=SLOW_HERE)])
def test_many_labels_that_do_not_mix(fused: tuple[Engine, Any], num_labels: int) -> None:
    """Mass that fades in float32 and matters again in the end: flagged, and done anew in float64."""
    case = make(num_labels, (30,), seed=2, dtype="float32", scale=0.1)
    halves = np.arange(num_labels) < 70
    emissions, end = case.chain.emissions.copy(), case.chain.end.copy()
    emissions[:, halves] -= 3
    end[halves] += 80
    transitions = np.where(halves[:, None] == halves, case.chain.transitions, -np.inf)
    chain = replace(case.chain, emissions=emissions, transitions=transitions.astype(np.float32), end=end)
    check(fused, replace(case, chain=chain))


def test_a_wider_tile(fused: tuple[Engine, Any]) -> None:
    check(fused, make(40, (4, 1, 7), seed=1, dtype="float32", forbidden=0.3))


def test_the_way_back_without_pointers(fused: tuple[Engine, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "POINTED", 0)
    check(fused, make(5, (9, 1, 0, 6), seed=2, dtype="float32"))


def test_scores_too_far_apart_are_redone(fused: tuple[Engine, Any]) -> None:
    """Twice: the second backward pass finds what the first has left in the states."""
    check(fused, make(4, (7, 3), seed=4, dtype="float32", scale=60.0), repeats=2)


def test_labels_that_do_not_mix_and_matter_again(fused: tuple[Engine, Any]) -> None:
    """Two labels without a way across, 3 nats a token apart, first in favour of one, then of the other."""
    engine, device = fused
    T = 100
    emissions = torch.zeros(T, 2, device=device)
    emissions[: T // 2, 0] = 3.0
    emissions[T // 2 :, 1] = 3.6
    never = -torch.inf
    apart = torch.tensor([[0.0, never], [never, 0.0]], device=device)
    zero = torch.zeros(2, device=device)
    first, lengths = torch.zeros(1, dtype=torch.int64, device=device), torch.full((1,), T, device=device)
    chain = TensorChain(emissions, first, lengths, T, apart, zero, zero)
    np.testing.assert_allclose(host(engine.log_partition(chain)), [np.logaddexp(150.0, 180.0)], rtol=1e-6)
    np.testing.assert_allclose(host(engine.marginals(chain))[:, 1], 1.0, rtol=1e-6)


def test_no_legal_path(fused: tuple[Engine, Any]) -> None:
    engine, device = fused
    case = make(3, (4, 2), seed=0, dtype="float32")
    tensors = case.tensors(device)
    shut = tensors.with_scores(tensors.emissions, torch.full_like(tensors.transitions, -torch.inf), *tensors.scores[2:])
    value = engine.log_partition(shut)
    assert np.isneginf(host(value)).all()
    (gradient,) = torch.autograd.grad(value.sum(), tensors.emissions)
    assert np.isfinite(host(gradient)).all()


def test_memory_that_is_not_contiguous(fused: tuple[Engine, Any]) -> None:
    """A layer that counts by cumulative sums hands over lengths that are a column of a table."""
    engine, device = fused
    tensors = make(4, (5, 3, 6), seed=2, dtype="float32").tensors(device, gradients=False)
    expected = host(engine.log_partition(tensors))
    spaced = torch.stack([tensors.lengths, tensors.lengths + 9], 1)[:, 0]
    turned = tensors.with_scores(tensors.emissions, tensors.transitions.T.contiguous().T, *tensors.scores[2:])
    log_z = engine.log_partition(replace(turned, lengths=spaced))
    np.testing.assert_array_equal(host(log_z), expected)
    labels, _ = engine.viterbi(replace(turned, lengths=spaced))
    np.testing.assert_array_equal(host(labels), host(engine.viterbi(tensors)[0]))


def test_marginals_to_a_few_units(fused: tuple[Engine, Any]) -> None:
    """Exponentials with the hardware's errors would miss this."""
    engine, device = fused
    case = make(2, (400,), seed=9, dtype="float32", scale=4.0)
    nodes = host(engine.marginals(case.tensors(device, gradients=False)))
    np.testing.assert_allclose(nodes[case.rows], naive.marginals(case.chain).nodes, rtol=0, atol=3e-7)


def test_twice_the_same_bits(fused: tuple[Engine, Any]) -> None:
    engine, device = fused
    case = make(9, (12, 5, 8), seed=0, dtype="float32")

    def gradients() -> list[Any]:
        tensors = case.tensors(device)
        return [host(part) for part in torch.autograd.grad(engine.log_partition(tensors).sum(), tensors.scores)]

    for one, other in zip(gradients(), gradients(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_operator_that_is_traced_owns_what_it_returns(fused: tuple[Engine, Any]) -> None:
    """The kernels write the gradients of transitions, start and end into one tensor."""
    _, device = fused
    c = make(3, (4, 2), seed=1, dtype="float32").tensors(device, gradients=False)
    weights = torch.ones(2, dtype=torch.float64, device=device)
    with using_tensor_engine("fused"):
        gradients = operators._traced_gradients(*operators._loose(c), None, weights)
    assert len({part.untyped_storage().data_ptr() for part in gradients}) == 4


@pytest.mark.parametrize(("B", "T"), [(0, 5), (3, 0), (4, 6), (2, 1030)])
def test_tokens_where_a_mask_is_on_come_first(fused: tuple[Engine, Any], B: int, T: int) -> None:
    engine, device = fused
    mask = np.random.default_rng(B).random((T, B)).T < 0.6  # not contiguous
    mask[:1], mask[1:2] = True, False
    first, lengths, rows, slots = (host(part) for part in engine.module.permuted(torch.tensor(mask, device=device)))
    np.testing.assert_array_equal(first, np.arange(B) * T)
    np.testing.assert_array_equal(lengths, mask.sum(1))
    expected = np.argsort(~mask, axis=1, kind="stable") + first[:, None]
    np.testing.assert_array_equal(rows, expected.ravel())
    np.testing.assert_array_equal(slots[rows], np.arange(B * T))
