"""What travels between a PyTorch layer and the backends: scores on a batch of chains, as tensors.

Tokens lie in rows, as in `tagline.types.Chain`, but there may be rows between two sentences: a padded batch
``[B, T, L]`` is the view ``[B·T, L]`` with ``first = 0, T, 2T, …``, and packed sentences cost nothing more. Rows that
belong to no sentence are never read (they may hold NaN) and get gradient 0. A score of −∞ forbids, with gradient 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tagline import compiled

WeightedGradients = Callable[[Tensor], tuple[Tensor, ...]]
"""Weights ``[B]`` of the sentences in; the gradients of emissions, transitions, start and end, summed so, out."""


@dataclass(frozen=True, eq=False)
class TensorChain:
    """Scores on a batch of linear chains, as tensors on one device; shapes and types are trusted.

    Attributes:
        emissions: ``[N, L]``, float32 or float64, contiguous.
        first: ``[B]`` int64, the row of each sentence's first token; its tokens lie in consecutive rows.
        lengths: ``[B]`` int64, 0 allowed.
        longest: no length is above it; known without asking the device.
        transitions: ``[L, L]`` as ``[previous, next]``; or ``[N, L, L]``, leading into each row (that of a first
            token is never read).
        start, end: ``[L]``.
        free: True where it is known that no score is −∞, because the values were looked at.
    """

    emissions: Tensor
    first: Tensor
    lengths: Tensor
    longest: int
    transitions: Tensor
    start: Tensor
    end: Tensor
    free: bool = False

    @property
    def num_rows(self) -> int:
        """N."""
        return self.emissions.shape[0]

    @property
    def num_labels(self) -> int:
        """L."""
        return self.emissions.shape[1]

    @property
    def num_sentences(self) -> int:
        """B."""
        return self.first.shape[0]

    @property
    def per_position(self) -> bool:
        """Whether the transitions are ``[N, L, L]``."""
        return self.transitions.dim() == 3

    @property
    def scores(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What gradients are taken of: emissions, transitions, start, end."""
        return self.emissions, self.transitions, self.start, self.end

    @property
    def needs_gradient(self) -> bool:
        """Whether autograd is recording and any score asks for it."""
        return torch.is_grad_enabled() and any(part.requires_grad for part in self.scores)

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The scores of a chain on the CPU, as arrays over the same memory."""
        return as_array(self.emissions), as_array(self.transitions), as_array(self.start), as_array(self.end)

    @cached_property
    def runs(self) -> Any:
        """Where the sentences of a chain on the CPU lie, as the compiled core takes it."""
        return compiled.require().Runs(as_array(self.first), as_array(self.lengths), self.emissions.shape[0])

    def with_scores(self, emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> TensorChain:
        """Return the same sentences with other scores."""
        return replace(self, emissions=emissions, transitions=transitions, start=start, end=end)

    def detach(self) -> TensorChain:
        """Return the chain without its history."""
        return self.with_scores(*(part.detach() for part in self.scores))

    def table(self) -> tuple[Tensor, Tensor]:
        """Return the rows ``[B, T]`` of each sentence's tokens, and which of them are inside.

        T is at least 2, so that every score is used, if only with gradient 0. Entries outside point to some row that
        exists (where N is at least 1).
        """
        N = self.emissions.shape[0]
        steps = torch.arange(max(2, min(self.longest, N)), device=self.first.device)
        rows = (self.first[:, None] + steps).clamp(max=max(0, N - 1))
        return rows, steps < self.lengths[:, None]

    def inside(self) -> Tensor:
        """Return which rows ``[N]`` belong to a sentence."""
        (rows, inside), N = self.table(), self.emissions.shape[0]
        belongs = torch.zeros(N + 1, dtype=torch.bool, device=self.first.device)
        return belongs.index_fill(0, torch.where(inside, rows, N).flatten(), True)[:-1]


def as_array(values: Tensor) -> NDArray[Any]:
    """Return a tensor on the CPU as a contiguous array, over the same memory where it is contiguous."""
    return np.ascontiguousarray((values.detach() if values.requires_grad else values).numpy())


def wide(device: torch.device) -> torch.dtype:
    """Return float64, or float32 on a device that has nothing wider."""
    return torch.float32 if device.type == "mps" else torch.float64


def path_score(c: TensorChain, labels: Tensor) -> Tensor:
    """Sum the scores along labels ``[N]`` for each sentence, ``[B]``, with gradients; −∞ where they are forbidden."""
    rows, inside = c.table()
    path = torch.where(inside, not_empty(labels)[rows], 0)  # [B, T]
    nodes = not_empty(c.emissions)[rows, path]
    if c.per_position:
        edges = not_empty(c.transitions)[rows[:, 1:], path[:, :-1], path[:, 1:]]
    else:
        edges = c.transitions[path[:, :-1], path[:, 1:]]
    last = path.gather(1, (c.lengths - 1).clamp(min=0)[:, None])[:, 0]
    has_tokens = inside[:, :1]
    total = _sum_inside(nodes, inside)
    for scores, counted in (
        (edges, inside[:, 1:]),
        (c.start[path[:, :1]], has_tokens),
        (c.end[last][:, None], has_tokens),
    ):
        total = total + _sum_inside(scores, counted)
    return total


def not_empty(values: Tensor) -> Tensor:
    """Return the rows, or one row of 0 where there are none, for tables that must point somewhere."""
    return values if values.shape[0] else torch.cat([values, values.new_zeros(1, *values.shape[1:])])


def _sum_inside(scores: Tensor, inside: Tensor) -> Tensor:
    """Sum those of scores ``[B, n]`` that are inside, in the wide type; a forbidden score passes no gradient on."""
    scores = torch.where(torch.isneginf(scores), scores.detach(), scores)
    return torch.where(inside, scores, 0.0).to(wide(scores.device)).sum(1)
