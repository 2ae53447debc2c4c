"""The kernels' own paths: chunks, blocks, pointers, flags. On a GPU, or in Triton's interpreter on the CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from tagline.chain import naive, traced  # noqa: E402
from tagline.chain.tensors import TensorChain  # noqa: E402

from .tensor_cases import TensorCase, host, load, make  # noqa: E402


@pytest.fixture
def fused() -> tuple[Any, Any]:
    return load("fused")


@pytest.fixture
def short_chunks(fused: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Sequences of 10 rows are long, chunks are of 8 steps."""
    monkeypatch.setattr(fused[0], "LONG", 10)
    monkeypatch.setattr(fused[0], "STEPS", 8)
    return fused


def check(backend: tuple[Any, Any], case: TensorCase, repeats: int = 1) -> None:
    """Values, marginals, gradients and the best labelling against the definition."""
    module, device = backend
    chain = case.chain
    best = naive.viterbi(chain)
    tensors = case.tensors(device)
    tags = torch.tensor(case.spread(best.labels, 0), device=device)
    value = module.log_likelihood(tensors, tags)
    expected = naive.score(chain, best.labels) - naive.log_partition(chain)
    np.testing.assert_allclose(host(value), expected, rtol=1e-6, atol=1e-5)
    wanted, counts = naive.gradients(chain, best.labels), naive.expected_counts(chain)
    for _ in range(repeats):
        found = [host(part) for part in torch.autograd.grad(value.sum(), tensors.scores, retain_graph=True)]
        np.testing.assert_allclose(found[0][case.rows], wanted.emissions, rtol=0, atol=1e-6)
        outside = np.setdiff1d(np.arange(len(found[0])), case.rows)
        assert not found[0][outside].any()
        for part, name in zip(found[1:], ("transitions", "start", "end"), strict=True):
            # The difference of two counts, each good to some units of float32.
            most = 1.5e-6 * (1 + getattr(counts, name))
            assert (abs(part - getattr(wanted, name)) <= most).all(), name
    labels, scores = module.viterbi(case.tensors(device, gradients=False))
    np.testing.assert_array_equal(host(labels)[case.rows], best.labels)
    np.testing.assert_allclose(host(scores), best.scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("lengths", [(60,), (8, 9, 10, 17, 1, 0), (65, 16)])
@pytest.mark.parametrize("num_labels", [2, 17])
def test_chunks(short_chunks: tuple[Any, Any], lengths: tuple[int, ...], num_labels: int) -> None:
    check(short_chunks, make(num_labels, lengths, seed=3, dtype="float32"))


def test_chunks_leave_forbidden_transitions_to_the_sweep(short_chunks: tuple[Any, Any]) -> None:
    check(short_chunks, make(4, (30, 12), seed=5, dtype="float32", forbidden=0.4))


@pytest.mark.parametrize("forbidden", [0.0, 0.3])
def test_more_labels_than_registers_hold(fused: tuple[Any, Any], forbidden: float) -> None:
    check(fused, make(130, (3, 1, 0), seed=1, dtype="float32", forbidden=forbidden))


def test_a_wider_tile(fused: tuple[Any, Any]) -> None:
    check(fused, make(40, (4, 1, 7), seed=1, dtype="float32", forbidden=0.3))


def test_the_way_back_without_pointers(fused: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused[0], "POINTED", 0)
    check(fused, make(5, (9, 1, 0, 6), seed=2, dtype="float32"))


def test_scores_too_far_apart_are_redone(fused: tuple[Any, Any]) -> None:
    """Twice: the second backward pass finds what the first has left in the states."""
    check(fused, make(4, (7, 3), seed=4, dtype="float32", scale=60.0), repeats=2)


def test_labels_that_do_not_mix_and_matter_again(fused: tuple[Any, Any]) -> None:
    """Two labels without a way across, 3 nats a token apart, first in favour of one, then of the other."""
    module, device = fused
    T = 100
    emissions = torch.zeros(T, 2, device=device)
    emissions[: T // 2, 0] = 3.0
    emissions[T // 2 :, 1] = 3.6
    never = -torch.inf
    moves = torch.tensor([[0.0, never], [never, 0.0]], device=device)
    zero = torch.zeros(2, device=device)
    first, lengths = torch.zeros(1, dtype=torch.int64, device=device), torch.full((1,), T, device=device)
    chain = TensorChain(emissions, first, lengths, T, moves, zero, zero)
    np.testing.assert_allclose(host(module.log_partition(chain)), [np.logaddexp(150.0, 180.0)], rtol=1e-6)
    np.testing.assert_allclose(host(module.marginals(chain))[:, 1], 1.0, rtol=1e-6)


def test_no_legal_path(fused: tuple[Any, Any]) -> None:
    module, device = fused
    case = make(3, (4, 2), seed=0, dtype="float32")
    tensors = case.tensors(device)
    shut = tensors.with_scores(tensors.emissions, torch.full_like(tensors.transitions, -torch.inf), *tensors.scores[2:])
    value = module.log_partition(shut)
    assert np.isneginf(host(value)).all()
    (gradient,) = torch.autograd.grad(value.sum(), tensors.emissions)
    assert np.isfinite(host(gradient)).all()


def test_memory_that_is_not_contiguous(fused: tuple[Any, Any]) -> None:
    """A layer that counts by cumulative sums hands over lengths that are a column of a table."""
    module, device = fused
    tensors = make(4, (5, 3, 6), seed=2, dtype="float32").tensors(device, gradients=False)
    expected = host(module.log_partition(tensors))
    spaced = torch.stack([tensors.lengths, tensors.lengths + 9], 1)[:, 0]
    moved = tensors.with_scores(tensors.emissions, tensors.transitions.T.contiguous().T, *tensors.scores[2:])
    found = module.log_partition(replace(moved, lengths=spaced))
    np.testing.assert_array_equal(host(found), expected)
    tags, _ = module.viterbi(replace(moved, lengths=spaced))
    np.testing.assert_array_equal(host(tags), host(module.viterbi(tensors)[0]))


def test_marginals_to_a_few_units(fused: tuple[Any, Any]) -> None:
    """Exponentials with the hardware's errors would miss this."""
    module, device = fused
    case = make(2, (400,), seed=9, dtype="float32", scale=4.0)
    found = host(module.marginals(case.tensors(device, gradients=False)))
    np.testing.assert_allclose(found[case.rows], naive.marginals(case.chain).nodes, rtol=0, atol=3e-7)


def test_twice_the_same_bits(fused: tuple[Any, Any]) -> None:
    module, device = fused
    case = make(9, (12, 5, 8), seed=0, dtype="float32")

    def gradients() -> list[Any]:
        tensors = case.tensors(device)
        return [host(part) for part in torch.autograd.grad(module.log_partition(tensors).sum(), tensors.scores)]

    for one, other in zip(gradients(), gradients(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_operator_that_is_traced_owns_what_it_returns(
    fused: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernels write the gradients of transitions, start and end into one tensor."""
    module, device = fused
    monkeypatch.setattr(traced, "_backend", lambda c: module)
    c = make(3, (4, 2), seed=1, dtype="float32").tensors(device, gradients=False)
    weights = torch.ones(2, dtype=torch.float64, device=device)
    found = traced._gradients(weights, c.emissions, c.first, c.lengths, c.longest, *c.scores[1:], None)
    assert len({part.untyped_storage().data_ptr() for part in found}) == 4


@pytest.mark.parametrize(("B", "T"), [(0, 5), (3, 0), (4, 6), (2, 1030)])
def test_tokens_that_a_mask_keeps_come_first(fused: tuple[Any, Any], B: int, T: int) -> None:
    module, device = fused
    kept = np.random.default_rng(B).random((T, B)).T < 0.6  # not contiguous
    kept[:1], kept[1:2] = True, False
    first, lengths, rows, slots = (host(part) for part in module.permuted(torch.tensor(kept, device=device)))
    np.testing.assert_array_equal(first, np.arange(B) * T)
    np.testing.assert_array_equal(lengths, kept.sum(1))
    expected = np.argsort(~kept, axis=1, kind="stable") + first[:, None]
    np.testing.assert_array_equal(rows, expected.ravel())
    np.testing.assert_array_equal(slots[rows], np.arange(B * T))
