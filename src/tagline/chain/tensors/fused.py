"""The engine for tensors on a GPU: Triton kernels (`kernels`), in exponentials with exact rescaling.

Forward: prepare scores, sweep in both directions, put log Z together. Backward: gradients are counts, each row
normalised by itself, transitions by one matrix product. Nothing waits for the host: what depends on values (forbidden
transitions, scores too far apart for float32) is decided on the device, where such sentences are redone in float64.
`recipes` says which kernels run. Chains are answered here as by every backend; padded batches, which `masked` asks
about, are read where they lie.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from tagline.chain.tensors import recipes
from tagline.chain.tensors.batched import NO_LABEL
from tagline.chain.tensors.kernels.launches import signature
from tagline.chain.tensors.recipes import MOST_LABELS, Ordering, Size
from tagline.chain.tensors.types import TensorChain, WeightedGradients

NAME = "fused"
DIVISORS = {"sum": 0, "mean": 1, "token_mean": 2}  # of `scores.reduce`


def fits(c: TensorChain) -> bool:
    """Whether the kernels answer for this chain: float32, one matrix of transitions, not too many labels."""
    return c.emissions.dtype == torch.float32 and not c.per_position and c.num_labels <= MOST_LABELS


def _solid(c: TensorChain) -> TensorChain:
    """The chain without history, its memory as the kernels read it."""
    parts = (part.detach().contiguous() for part in c.scores)
    return replace(c.with_scores(*parts), first=c.first.contiguous(), lengths=c.lengths.contiguous())


def _size(c: TensorChain, labelled: bool) -> Size:
    return Size(c.num_sentences, c.num_rows, c.num_labels, c.longest, False, labelled)


def _where(tensors: tuple[Tensor, ...]) -> Any:
    """What else a recipe depends on: the device, the types of tensors, and how they lie."""
    return tensors[0].device, signature(tensors)


def _padded_size(emissions: Tensor, labelled: bool) -> Size:
    B, T, L = emissions.shape
    return Size(B, B * T, L, T, True, labelled)


def padded_loss(
    scores: tuple[Tensor, ...],
    counts: Tensor | None,
    tags: Tensor,
    ordering: Ordering,
    reduction: str,
    with_gradients: bool,
) -> tuple[tuple[Tensor, ...], Tensor]:
    """Compute the negative log-likelihood of tags, and the gradients of the scores; `masked` has the arguments.

    Also return what `padded_gradients` needs.
    """
    emissions = scores[0]
    inputs = (*scores, tags if counts is None else counts, tags)
    loss = torch.empty((), dtype=emissions.dtype, device=emissions.device)
    slopes = [torch.empty_like(part) for part in scores] if with_gradients else []
    size = _padded_size(emissions, True)
    recipe = recipes.loss(size, ordering, DIVISORS[reduction], with_gradients, _where(inputs))
    kept, working = (layout.allocate(emissions.device) for layout in recipe.layouts)
    recipe.run((*inputs, loss, *slopes), (kept, working))
    return (loss, *slopes), kept


def padded_gradients(scores: tuple[Tensor, ...], kept: Tensor, slope: Tensor) -> tuple[Tensor, ...]:
    """Compute the gradients of the scores from what `padded_loss` kept and the gradient of the loss."""
    inputs = (*scores, slope)
    slopes = tuple([torch.empty_like(part) for part in scores])
    recipe = recipes.loss_gradients(_padded_size(scores[0], True), _where(inputs))
    recipe.run((*inputs, *slopes), (kept, recipe.layouts[1].allocate(kept.device)))
    return slopes


def padded_best(
    scores: tuple[Tensor, ...], counts: Tensor | None, ordering: Ordering, pad: int
) -> tuple[Tensor, Tensor]:
    """Find the best tags ``[B, T]``, `pad` where tokens do not count, and their scores ``[B]``."""
    emissions = scores[0]
    size = _padded_size(emissions, False)
    tags = torch.empty(size.B, size.longest, dtype=torch.int64, device=emissions.device)
    totals = torch.empty(size.B, dtype=emissions.dtype, device=emissions.device)
    inputs = (*scores, tags if counts is None else counts, tags)
    recipe = recipes.best_labels(size, ordering, pad, _where(inputs))
    recipe.run((*inputs, totals, tags), (recipe.layouts[0].allocate(emissions.device),))
    return tags, totals


class _Sweep:
    """Both sweeps over a chain, kept for the gradients."""

    def __init__(self, c: TensorChain, labels: Tensor | None):
        c = _solid(c)
        self.size = _size(c, labels is not None)
        self.inputs = (*c.scores, c.first, c.lengths, c.first if labels is None else labels.contiguous())

    def run(self) -> Tensor:
        """Sweep; return log p(labels) ``[B]``, or log Z where there are no labels."""
        emissions = self.inputs[0]
        value = torch.empty(self.size.B, dtype=torch.float64, device=emissions.device)
        if self.size.B:
            recipe = recipes.sweep(self.size, _where(self.inputs))
            kept, working = (layout.allocate(emissions.device) for layout in recipe.layouts)
            recipe.run((*self.inputs, value), (kept, working))
            self.kept = kept
        return value

    def gradients(self, weights: Tensor, edges: bool = True) -> tuple[Tensor, ...]:
        """Return the gradients of emissions and, with `edges`, of transitions, start, end."""
        if not self.size.B:
            return tuple(torch.zeros_like(part) for part in self.inputs[:4])
        weights = weights.contiguous()
        inputs = (*self.inputs, weights)
        recipe = recipes.gradients(self.size, edges, _where(inputs))
        slopes = tuple(torch.empty_like(part) for part in self.inputs[: 4 if edges else 1])
        written = slopes if edges else slopes * 4
        recipe.run((*inputs, *written), (self.kept, recipe.layouts[1].allocate(weights.device)))
        return slopes


def evaluate(c: TensorChain, labels: Tensor | None, with_gradients: bool) -> tuple[Tensor, WeightedGradients]:
    """Compute log Z ``[B]``, or with labels ``[N]`` log p(labels), and how to get their gradients.

    log Z is −∞ where there is no legal path, log p where the labels are forbidden.
    """
    sweep = _Sweep(c, labels)
    return sweep.run(), sweep.gradients


def marginals(c: TensorChain) -> Tensor:
    """Compute P(y_n = j) ``[N, L]``, without gradients."""
    sweep = _Sweep(c, None)
    return sweep.gradients(torch.ones_like(sweep.run()), edges=False)[0]


@torch.no_grad()
def viterbi(c: TensorChain) -> tuple[Tensor, Tensor]:
    """Find the best labelling: labels ``[N]`` and scores ``[B]``."""
    c = _solid(c)
    size, device = _size(c, False), c.emissions.device
    labels = torch.full((size.N,), NO_LABEL, device=device)
    totals = torch.empty(size.B, device=device, dtype=torch.float64)
    if size.B:
        inputs = (*c.scores, c.first, c.lengths, labels)
        recipe = recipes.best_labels(size, None, 0, _where(inputs))
        recipe.run((*inputs, totals), (recipe.layouts[0].allocate(device),))
    return labels, totals


def permuted(mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Move the tokens where a mask ``[B, T]`` is on to the front of their sentences.

    Returns:
        The first row and the length of each sentence ``[B]``, the token ``b·T + t`` in each row and the row of each
        token ``[B·T]``.
    """
    B, T = mask.shape
    first, lengths = (torch.zeros(B, dtype=torch.int64, device=mask.device) for _ in range(2))
    rows, slots = (torch.empty(B * T, dtype=torch.int32, device=mask.device) for _ in range(2))
    if B * T:
        mask = mask.contiguous().view(torch.uint8)
        recipe = recipes.places(Size(B, B * T, 1, T, True, False), _where((mask,)))
        recipe.run((mask, mask, first, lengths, rows, slots), ())
    return first, lengths, rows, slots
