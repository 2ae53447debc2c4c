"""The semi-CRF layer against the definition in NumPy, its gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tagline import InputError, NoPathError
from tagline.chain import segments as engine
from tagline.chain.segments import SegmentChain, naive
from tagline.nn import SemiCRF
from tagline.ragged import offsets_of

LENGTHS = [4, 0, 5, 1]
T, D, L = 5, 3, 2


def layer_and_scores(longest: list[int] | None = None) -> tuple[SemiCRF, torch.Tensor]:
    torch.manual_seed(3)
    layer = SemiCRF(L, D, longest=longest).double()
    for parameter in layer.parameters():
        parameter.data.normal_()
    scores = torch.randn(len(LENGTHS), T, D, L, dtype=torch.float64)
    scores[2, 1, 0, 1] = -torch.inf
    return layer, scores


def as_numpy(layer: SemiCRF, scores: torch.Tensor) -> SegmentChain:
    """The same sentences without padding."""
    rows = [scores[b, :length].detach().numpy() for b, length in enumerate(LENGTHS)]
    parts = (part.detach().numpy() for part in (layer.transitions, layer.start, layer.end))
    return SegmentChain(np.concatenate(rows), *parts, offsets_of(LENGTHS))


def padded(values: np.ndarray) -> torch.Tensor:
    out = torch.zeros((len(LENGTHS), T), dtype=torch.bool if values.dtype == bool else torch.int64)
    for b, (first, length) in enumerate(zip(offsets_of(LENGTHS), LENGTHS, strict=False)):
        out[b, :length] = torch.from_numpy(values[first : first + length])
    return out


@pytest.mark.parametrize("longest", [None, [3, 1]])
def test_answers_are_those_of_the_definition(longest: list[int] | None) -> None:
    layer, scores = layer_and_scores(longest)
    lengths = torch.tensor(LENGTHS)
    plain = as_numpy(layer, scores)
    if longest is not None:
        plain = engine.constrain(plain, longest=longest)
    np.testing.assert_allclose(layer.log_partition(scores, lengths).detach(), naive.log_partition(plain), rtol=1e-12)
    counts = naive.expected_counts(plain)
    probabilities = layer.marginals(scores, lengths)
    rows = [probabilities[b, :length] for b, length in enumerate(LENGTHS)]
    np.testing.assert_allclose(torch.cat(rows), counts.segments, rtol=0, atol=1e-12)
    best = naive.viterbi(plain)
    assert layer.decode(scores, lengths) == best.segments(plain.offsets)
    labels, begins = padded(best.labels), padded(best.begins)
    expected = engine.score(plain, best.labels, best.begins) - naive.log_partition(plain)
    np.testing.assert_allclose(layer(scores, labels, begins, lengths).detach(), expected, rtol=0, atol=1e-12)
    losses = layer.loss(scores, labels, begins, lengths, reduction="none").detach()
    np.testing.assert_allclose(losses, -expected, rtol=0, atol=1e-12)
    assert layer.loss(scores, labels, begins, lengths).item() == pytest.approx(-expected.mean())
    assert layer.loss(scores, labels, begins, lengths, "sum").item() == pytest.approx(-expected.sum())


def test_gradients_are_slopes_and_those_of_the_definition() -> None:
    layer, scores = layer_and_scores()
    scores = scores.nan_to_num(neginf=-3.0).requires_grad_()
    lengths = torch.tensor(LENGTHS)
    plain = as_numpy(layer, scores)
    best = naive.viterbi(plain)
    labels, begins = padded(best.labels), padded(best.begins)

    def loss(values: torch.Tensor, *parts: torch.Tensor) -> torch.Tensor:
        layer.transitions.data, layer.start.data, layer.end.data = (part.data for part in parts)
        names = dict(zip(("transitions", "start", "end"), parts, strict=True))
        return torch.func.functional_call(layer, names, (values, labels, begins, lengths)).sum()

    parts = [part.detach().clone().requires_grad_() for part in (layer.transitions, layer.start, layer.end)]
    assert torch.autograd.gradcheck(loss, (scores, *parts))
    gradients = torch.autograd.grad(loss(scores, *parts), [scores, *parts])
    expected = engine.gradients(plain, best.labels, best.begins)
    rows = torch.cat([gradients[0][b, :length] for b, length in enumerate(LENGTHS)])
    np.testing.assert_allclose(rows, expected.segments, rtol=0, atol=1e-12)
    for ours, theirs in zip(gradients[1:], (expected.transitions, expected.start, expected.end), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_forbidden_scores_have_no_gradient() -> None:
    layer, scores = layer_and_scores([2, 1])
    scores.requires_grad_()
    layer.log_partition(scores, torch.tensor(LENGTHS)).sum().backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()
    assert float(scores.grad[2, 1, 0, 1]) == 0.0
    assert float(scores.grad[:, :, 1:, 1].abs().sum()) == 0.0
    with pytest.raises(NoPathError, match=r"^sentence 0: "):
        layer.decode(torch.full((1, 2, D, L), -torch.inf, dtype=torch.float64))


def test_empty_batches_and_errors() -> None:
    layer = SemiCRF(L, D)
    assert layer.decode(torch.zeros(0, 3, D, L)) == []
    assert layer.decode(torch.zeros(2, 0, D, L)) == [[], []]
    assert layer.log_partition(torch.zeros(2, 0, D, L)).tolist() == [0.0, 0.0]
    scores, labels = torch.zeros(1, 4, D, L), torch.zeros(1, 4, dtype=torch.int64)
    begins = torch.tensor([[True, False, True, False]])
    cases = [
        (lambda: layer.decode(torch.zeros(1, 4, D, 3)), r"^scores: "),
        (lambda: layer.decode(scores, torch.tensor([5])), r"^lengths: "),
        (lambda: layer.decode(scores, torch.tensor([2.5])), r"^lengths: "),
        (lambda: layer.decode(scores.long()), r"^scores: "),
        (lambda: layer.decode(scores * torch.nan), r"^scores: "),
        (lambda: layer.loss(scores + torch.inf, labels, begins), r"^scores: "),
        (lambda: layer.loss(scores - torch.inf, labels, begins), r"^sentence 0: "),
        (lambda: SemiCRF(L, D, longest="ab"), r"^longest: "),
        (lambda: layer.loss(scores, labels, begins, reduction="all"), r"^reduction: "),
        (lambda: layer.loss(scores, labels.float(), begins), r"^labels: "),
        (lambda: layer.loss(scores, labels + 2, begins), r"^labels: "),
        (lambda: layer.loss(scores, labels, labels), r"^begins: "),
        (lambda: layer.loss(scores, labels, ~begins), r"^begins: "),
        (
            lambda: layer.loss(scores, labels, begins & False | torch.eye(4, dtype=torch.bool)[:1]),
            r"^begins: ",
        ),
        (lambda: layer.loss(scores, torch.tensor([[0, 1, 0, 0]]), begins), r"^labels: "),
        (lambda: SemiCRF(L, D, longest=[1]), r"^longest: "),
    ]
    for ask, place in cases:
        with pytest.raises((InputError, NoPathError), match=place):
            ask()
    assert layer.loss(scores[:0], labels[:0], begins[:0]).tolist() == 0.0
    for dtype in (torch.bfloat16, torch.float16):
        assert layer.log_partition(scores.to(dtype)).dtype == dtype


def test_nothing_is_read_outside_of_sentences() -> None:
    layer, scores = layer_and_scores()
    lengths = torch.tensor(LENGTHS)
    tokens = torch.arange(scores.shape[1])
    outside = (tokens >= lengths[:, None])[:, :, None] | (torch.arange(D) > tokens[:, None])
    poisoned = scores.masked_fill(outside[..., None], torch.nan).requires_grad_()
    layer.log_partition(poisoned, lengths).sum().backward()
    assert poisoned.grad is not None
    parts = [poisoned.grad, *(part.grad for part in layer.parameters())]
    assert all(bool(torch.isfinite(part).all()) for part in parts)
    assert float(poisoned.grad[outside].abs().sum()) == 0.0
    assert torch.equal(layer.marginals(poisoned, lengths), poisoned.grad)
    assert layer.decode(poisoned, lengths) == layer.decode(scores, lengths)
