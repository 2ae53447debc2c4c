"""The engine in plain PyTorch: any device, autograd and double backward, a Python loop over time.

    α_0 = start + e_0     α_t(j) = log Σ_i exp(α_(t-1)(i) + T(i, j)) + e_t(j)     log Z = log Σ_j exp(α(j) + end(j))

in the wide type of numbers (`types.wide`) and in the log domain with a maximum for each sum. So nothing overflows or
dies out, and a forbidden score passes on a gradient of exactly 0. Autograd keeps B·T·L² numbers. The other backends
are compared with this one, and second derivatives are always taken here.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from tagline.chain.tensors.types import TensorChain, not_empty, path_score, wide

NAME = "batched"
NO_LABEL = -1  # in rows of no sentence


@dataclass(frozen=True, eq=False)
class Padded:
    """A chain as a rectangle, in the wide type: emissions ``[B, T, L]``, 0 outside; T is at least 2."""

    rows: Tensor  # [B, T]
    inside: Tensor  # [B, T]
    emissions: Tensor
    transitions: Tensor  # [L, L] or [B, T, L, L]
    start: Tensor
    end: Tensor

    @property
    def num_steps(self) -> int:
        """T."""
        return self.rows.shape[1]

    def into(self, t: int) -> Tensor:
        """Transitions into step t, ``[L, L]`` or ``[B, L, L]``."""
        return self.transitions if self.transitions.dim() == 2 else self.transitions[:, t]

    def back(self, values: Tensor, num_rows: int, fill: float) -> Tensor:
        """Put values ``[B, T, …]`` back into rows ``[N, …]``, with `fill` in rows of no sentence."""
        out = torch.full((num_rows + 1, *values.shape[2:]), fill, dtype=values.dtype, device=values.device)
        targets = torch.where(self.inside, self.rows, num_rows)
        flat = values.reshape(targets.numel(), *values.shape[2:])  # flatten has no rule for is_grads_batched
        return out.index_copy(0, targets.flatten(), flat)[:num_rows]


def pad(c: TensorChain) -> Padded:
    """Lay the sentences of a chain side by side."""
    rows, inside = c.table()
    dtype = wide(c.emissions.device)
    emissions = torch.where(inside[:, :, None], _take(c.emissions, rows), 0.0).to(dtype)
    transitions = c.transitions
    if c.per_position:
        led_into = inside & (torch.arange(inside.shape[1], device=inside.device) > 0)
        transitions = torch.where(led_into[:, :, None, None], _take(transitions, rows), 0.0)
    return Padded(rows, inside, emissions, transitions.to(dtype), c.start.to(dtype), c.end.to(dtype))


def _take(values: Tensor, rows: Tensor) -> Tensor:
    return not_empty(values).index_select(0, rows.flatten()).reshape(*rows.shape, *values.shape[1:])


def log_sum(values: Tensor, dim: int) -> Tensor:
    """Compute log Σ exp along a dimension: −∞ for nothing but −∞, and then with a gradient of 0 instead of NaN."""
    top = values.detach().amax(dim, keepdim=True)
    top = torch.where(torch.isneginf(top), 0.0, top)
    total = (values - top).exp().sum(dim)
    positive = total > 0
    return torch.where(positive, torch.where(positive, total, 1.0).log() + top.squeeze(dim), -torch.inf)


def forward(p: Padded) -> list[Tensor]:
    """Compute log α at each step, ``[B, L]`` each; after its last token a sentence keeps its last."""
    alphas = [p.start + p.emissions[:, 0]]
    for t in range(1, p.num_steps):
        onward = log_sum(alphas[-1][:, :, None] + p.into(t), 1) + p.emissions[:, t]
        alphas.append(torch.where(p.inside[:, t, None], onward, alphas[-1]))
    return alphas


def backward(p: Padded) -> list[Tensor]:
    """Compute log β at each step, ``[B, L]`` each; at and after a sentence's last token it is the end."""
    betas = [p.end.expand(p.rows.shape[0], -1)]
    for t in range(p.num_steps - 1, 0, -1):
        onward = log_sum(p.into(t) + (p.emissions[:, t] + betas[-1])[:, None, :], 2)
        betas.append(torch.where(p.inside[:, t, None], onward, p.end))
    return betas[::-1]


def _log_z(p: Padded, alphas: list[Tensor]) -> Tensor:
    return torch.where(p.inside[:, 0], log_sum(alphas[-1] + p.end, 1), 0.0)


def _finite_log_z(p: Padded, alphas: list[Tensor]) -> Tensor:
    """log Z ``[B]``, with 0 in place of −∞: what is subtracted from −∞ does not matter, if it is a number."""
    log_z = _log_z(p, alphas)
    return torch.where(torch.isneginf(log_z), 0.0, log_z)


def log_partition(c: TensorChain) -> Tensor:
    """Compute log Z ``[B]``."""
    p = pad(c)
    return _log_z(p, forward(p))


def log_likelihood(c: TensorChain, labels: Tensor) -> Tensor:
    """Compute log p(labels) ``[B]``, for labels ``[N]``; −∞ where they are forbidden."""
    gold = path_score(c, labels)
    log_z = log_partition(c)
    return torch.where(torch.isneginf(gold), gold, gold - log_z)


def log_marginals(c: TensorChain) -> tuple[Padded, Tensor]:
    """Compute log P(y_t = j) as a table ``[B, T, L]``, −∞ for what is impossible."""
    p = pad(c)
    alphas = forward(p)
    log_z = _finite_log_z(p, alphas)[:, None, None]
    return p, torch.stack(alphas, 1) + torch.stack(backward(p), 1) - log_z


def marginals(c: TensorChain) -> Tensor:
    """Compute P(y_n = j) ``[N, L]``, with gradients."""
    p, table = log_marginals(c)
    return p.back(table.exp().to(c.emissions.dtype), c.num_rows, 0.0)


@torch.no_grad()
def gradients(c: TensorChain, labels: Tensor | None, weights: Tensor) -> tuple[Tensor, ...]:
    """Compute the gradients of Σ_b weights[b]·log Z_b, or with labels of Σ_b weights[b]·log p(labels of b).

    This is for where autograd cannot record: inside an operator.
    """
    p = pad(c.detach())
    path = None if labels is None else torch.where(p.inside, not_empty(labels)[p.rows], 0)
    alphas, betas = forward(p), backward(p)
    log_z = _finite_log_z(p, alphas)[:, None]
    nodes, edges = [], [torch.zeros_like(alphas[0][:, :, None] + p.into(0))]
    for t in range(p.num_steps):
        expected = (alphas[t] + betas[t] - log_z).exp()
        nodes.append(expected if path is None else one_hot(path[:, t], c.num_labels) - expected)
        if t > 0:
            onward = p.into(t) + (p.emissions[:, t] + betas[t] - log_z)[:, None, :]
            pairs = (alphas[t - 1][:, :, None] + onward).exp()
            if path is not None:
                before, after = (one_hot(path[:, step], c.num_labels) for step in (t - 1, t))
                pairs = before[:, :, None] * after[:, None, :] - pairs
            edges.append(pairs)
    factors = torch.where(p.inside, weights[:, None], 0.0)[:, :, None]  # [B, T, 1]
    by_label = torch.stack(nodes, 1) * factors
    by_pair = torch.stack(edges, 1) * factors[:, :, :, None]
    last = (c.lengths - 1).clamp(min=0)[:, None, None].expand(-1, 1, c.num_labels)
    results = (
        p.back(by_label, c.num_rows, 0.0),
        p.back(by_pair, c.num_rows, 0.0) if c.per_position else by_pair.sum((0, 1)),
        by_label[:, 0].sum(0),
        by_label.gather(1, last).sum((0, 1)),
    )
    return tuple(result.to(scores.dtype) for result, scores in zip(results, c.scores, strict=True))


@torch.no_grad()
def viterbi(c: TensorChain) -> tuple[Tensor, Tensor]:
    """Find the best labelling: labels ``[N]`` and scores ``[B]``.

    Of equals, the one that is smaller when read from the last label to the first.
    """
    p = pad(c.detach())
    best, pointers = p.start + p.emissions[:, 0], []
    itself = torch.arange(c.num_labels, device=best.device).expand_as(best)
    for t in range(1, p.num_steps):
        onward, came_from = (best[:, :, None] + p.into(t)).max(1)
        going = p.inside[:, t, None]
        best = torch.where(going, onward + p.emissions[:, t], best)
        pointers.append(torch.where(going, came_from, itself))
    scores, last = (best + p.end).max(1)
    path = [last]
    for came_from in reversed(pointers):
        path.append(came_from.gather(1, path[-1][:, None])[:, 0])
    labels = p.back(torch.stack(path[::-1], 1), c.num_rows, NO_LABEL)
    return labels, torch.where(p.inside[:, 0], scores, 0.0)
