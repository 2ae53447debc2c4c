"""The posterior of a chain read from right to left, as a Markov chain, in plain PyTorch with gradients.

    p(y) = p(y_last) · ∏_t p(y_(t-1) | y_t)        p(y_(t-1) = i | y_t = j) ∝ exp(α_(t-1)(i) + T(i, j))

Sums along this chain have terms of one sign, so nothing cancels: entropy, divergence from another posterior, expected
scores of another chain. Samples are drawn along it, and the likelihood of labels falls into one factor a token.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tagline.chain.tensors.batched import NO_LABEL, Padded, forward, log_sum, pad
from tagline.chain.tensors.types import TensorChain, not_empty


def _normalised(weights: Tensor, dim: int) -> Tensor:
    """Log-probabilities along a dimension; −∞ all along where every weight is."""
    total = log_sum(weights, dim).unsqueeze(dim)
    return weights - torch.where(torch.isneginf(total), 0.0, total)


def _from_right(p: Padded, alphas: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Return log p(y_last) ``[B, L]`` and for t = 1 … T − 1 log p(y_(t-1) = i | y_t = j) ``[B, L, L]``."""
    steps = [_normalised(alphas[t - 1][:, :, None] + p.into(t), 1) for t in range(1, p.num_steps)]
    return _normalised(alphas[-1] + p.end, 1), steps


def _finite(values: Tensor) -> Tensor:
    """Put 0 in place of −∞, where the probability is 0."""
    return torch.where(torch.isneginf(values), 0.0, values)


def _expected(p: Padded, last: Tensor, steps: list[Tensor], at_first: Tensor, costs: list[Tensor]) -> Tensor:
    """Sum the costs that the posterior meets on average, ``[B]``.

    `at_first` ``[B, L]`` is met by the first label, ``costs[t - 1]`` ``[B, L, L]`` by the pair at t - 1 and t, and
    ``costs[T - 1]`` ``[B, L]`` by the last label.
    """
    so_far = at_first
    for t, (step, cost) in enumerate(zip(steps, costs[:-1], strict=True), start=1):
        onward = _weighted(step.exp(), so_far[:, :, None] + cost).sum(1)
        so_far = torch.where(p.inside[:, t, None], onward, so_far)
    total = _weighted(last.exp(), so_far + costs[-1]).sum(1)
    return torch.where(p.inside[:, 0], total, 0.0)


def _weighted(probabilities: Tensor, costs: Tensor) -> Tensor:
    """Multiply; an infinite cost of what never happens is 0."""
    return torch.where(probabilities > 0, probabilities * costs, 0.0)


def _no_path(p: Padded, last: Tensor) -> Tensor:
    """Which sentences ``[B]`` have no legal labelling, given log p(y_last)."""
    return p.inside[:, 0] & torch.isneginf(last).all(1)


def entropy(c: TensorChain) -> Tensor:
    """Compute −Σ p(y) log p(y) in nats, ``[B]``; 0 without a legal labelling."""
    p = pad(c)
    last, steps = _from_right(p, forward(p))
    costs = [-_finite(part) for part in (*steps, last)]
    return _expected(p, last, steps, torch.zeros_like(last), costs)


def divergence(c: TensorChain, other: TensorChain) -> Tensor:
    """Compute KL(other ‖ c) = Σ q(y) (log q(y) − log p(y)), ``[B]``, for q of `other` and p of `c`.

    ∞ where q allows what p forbids, and where either has no legal labelling.
    """
    p, q = pad(c), pad(other)
    last, steps = _from_right(q, forward(q))
    own_last, own_steps = _from_right(p, forward(p))
    costs = [_gap(theirs, ours) for theirs, ours in zip((*steps, last), (*own_steps, own_last), strict=True)]
    total = _expected(q, last, steps, torch.zeros_like(last), costs)
    return torch.where(_no_path(p, own_last) | _no_path(q, last), torch.inf, total)


def _gap(theirs: Tensor, ours: Tensor) -> Tensor:
    never = torch.isneginf(theirs)
    return torch.where(never, 0.0, _finite(theirs) - torch.where(never, 0.0, ours))


def expected_score(c: TensorChain, other: TensorChain) -> Tensor:
    """Compute Σ q(y) score(y), ``[B]``, for q of `other` and the scores of `c`; what q never uses is left out."""
    p, q = pad(c), pad(other)
    last, steps = _from_right(q, forward(q))
    first, *emitted = (_finite(row) for row in p.emissions.unbind(1))
    costs = [_finite(p.into(t)) + row[:, None, :] for t, row in enumerate(emitted, start=1)]
    shape = (last.shape[0], c.num_labels, c.num_labels)
    costs = [cost.expand(shape) for cost in costs]
    return _expected(q, last, steps, _finite(p.start) + first, [*costs, _finite(p.end).expand_as(last)])


def mean_score(c: TensorChain) -> Tensor:
    """Compute the mean of the scores of all legal labellings, ``[B]``.

    Where nothing is forbidden it is mean(start) + Σ_t mean(e_t) + Σ_t mean(T) + mean(end).
    """
    if not c.free:
        even = (torch.where(torch.isneginf(part.detach()), -torch.inf, 0.0).to(part) for part in c.scores)
        return expected_score(c, c.with_scores(*even))
    p = pad(c)
    later = p.inside[:, 1:]
    transitions = p.transitions.mean((-2, -1)) if c.per_position else p.transitions.mean().expand(p.rows.shape)
    inner = p.emissions.mean(2).sum(1) + torch.where(later, transitions[:, 1:], 0.0).sum(1)
    return torch.where(p.inside[:, 0], p.start.mean() + inner + p.end.mean(), 0.0)


def factors(c: TensorChain, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Split log p(labels) into one term a token: labels and terms as tables ``[B, T]``, 0 outside.

    The term of a token is log p(its label | the label after it), of the last one log p(its label).
    """
    p = pad(c)
    last, steps = _from_right(p, forward(p))
    path = torch.where(p.inside, not_empty(labels)[p.rows], 0)
    final = (c.lengths - 1).clamp(min=0)
    columns = []
    for t in range(p.num_steps):
        ending = last.gather(1, path[:, t : t + 1])[:, 0]
        if t < len(steps):
            column = steps[t].gather(2, path[:, None, t + 1 : t + 2].expand(-1, c.num_labels, -1))[:, :, 0]  # [B, L]
            inner = column.gather(1, path[:, t : t + 1])[:, 0]
            ending = torch.where(final == t, ending, torch.where(p.inside[:, t], inner, 0.0))
        columns.append(torch.where(p.inside[:, t], ending, 0.0))
    return path, torch.stack(columns, 1)


@torch.no_grad()
def sample(c: TensorChain, uniforms: Tensor) -> Tensor:
    """Draw labellings ``[S, N]`` by numbers ``[S, N]`` in [0, 1): the last label first, by inverting distributions."""
    p = pad(c.detach())
    alphas = forward(p)
    B, S = p.rows.shape[0], uniforms.shape[0]
    numbers = not_empty(uniforms.T)[p.rows].movedim(2, 0)  # [S, B, T]
    final = c.lengths - 1
    onward = p.end.expand(S, B, -1)
    path: list[Tensor] = []
    for t in range(p.num_steps - 1, -1, -1):
        if path:
            into = p.into(t + 1).expand(B, -1, -1).transpose(1, 2)  # [B, next, previous]
            after = into[torch.arange(B, device=into.device), path[-1]]  # [S, B, previous]
            onward = torch.where((final == t)[:, None], p.end, after)
        path.append(_invert(alphas[t] + onward, numbers[:, :, t]))
    table = torch.stack(path[::-1], 2)  # [S, B, T]
    samples = [p.back(labels, c.num_rows, NO_LABEL) for labels in table]
    return torch.stack(samples) if samples else c.first.new_empty((0, c.num_rows))


def _invert(weights: Tensor, u: Tensor) -> Tensor:
    top = weights.amax(-1, keepdim=True)
    cumulative = (weights - torch.where(torch.isneginf(top), 0.0, top)).exp().cumsum(-1)
    total = cumulative[..., -1:]
    label = (cumulative <= u[..., None] * total).sum(-1)
    return torch.minimum(label, (cumulative < total).sum(-1))  # never past the last label that is possible
