"""Further questions about tensors on a chain: k best, samples, entropy, spans.

`native` answers where the compiled core does and no gradient is wanted; otherwise plain PyTorch answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tagline.chain.checks import as_span_arrays
from tagline.chain.tensors import batched, conditionals
from tagline.chain.tensors.dispatch import compiled_backend, transforming
from tagline.chain.tensors.types import TensorChain, wide
from tagline.errors import InputError
from tagline.ragged import offsets_of
from tagline.types import BoolArray, Chain, IntArray, SpanQuery


def k_best(c: TensorChain, k: int) -> tuple[Tensor, Tensor]:
    """Find the k best labellings: labels ``[K, N]``, scores ``[K, B]`` with −∞ where there are no more."""
    native = compiled_backend(c)
    return _k_best(c.detach(), k) if native is None else native.k_best(c, k)


@torch.no_grad()
def _k_best(c: TensorChain, k: int) -> tuple[Tensor, Tensor]:
    p = batched.pad(c)
    B, L = p.rows.shape[0], c.num_labels
    first = (p.start + p.emissions[:, 0])[:, :, None]
    best = torch.cat([first, torch.full_like(first, -torch.inf).expand(B, L, k - 1)], 2)  # [B, L, k]
    itself = torch.arange(L * k, device=p.rows.device).view(L, k)
    pointers = []  # [B, L, k]: label·k + rank at the step before
    for t in range(1, p.num_steps):
        into = p.into(t).expand(B, L, L)
        ways = (best[:, :, :, None] + into[:, :, None, :]).flatten(1, 2).transpose(1, 2)  # [B, L, L·k]
        onward, came_from = ways.sort(dim=2, descending=True, stable=True)
        going = p.inside[:, t, None, None]
        best = torch.where(going, onward[:, :, :k] + p.emissions[:, t, :, None], best)
        pointers.append(torch.where(going, came_from[:, :, :k], itself))
    scores, state = (best + p.end[:, None]).flatten(1).sort(dim=1, descending=True, stable=True)
    scores, state = scores[:, :k], state[:, :k]
    path = [state // k]
    for came_from in reversed(pointers):
        state = came_from.flatten(1).gather(1, state)
        path.append(state // k)
    table = torch.stack(path[::-1], 2)  # [B, k, T]
    labels = torch.stack([p.back(table[:, rank], c.num_rows, batched.NO_LABEL) for rank in range(k)])
    empty = torch.arange(k, device=scores.device) > 0  # an empty sentence has one labelling
    scores = torch.where(p.inside[:, :1], scores, torch.where(empty, -torch.inf, 0.0).to(scores))
    return labels, scores.T


def sample(c: TensorChain, uniforms: Tensor) -> Tensor:
    """Draw labellings ``[S, N]`` by numbers ``[S, N]`` in [0, 1)."""
    native = compiled_backend(c)
    return conditionals.sample(c, uniforms) if native is None else native.sample(c, uniforms)


def entropy(c: TensorChain) -> Tensor:
    """Compute the entropy of p(y | x) in nats, ``[B]``, with gradients.

    Without a legal labelling it is 0 in plain PyTorch, and an error in the compiled core.
    """
    native = compiled_backend(c)
    return conditionals.entropy(c) if native is None else native.entropy(c)


def span_probability(c: TensorChain, spans: Sequence[SpanQuery]) -> Tensor:
    """Compute the probability that the labels of spans lie in sets, one number a span, with gradients.

    Without a legal labelling it is 0 in plain PyTorch, and an error in the compiled core.
    """
    lengths = _known_lengths(c)
    L, total = c.num_labels, int(lengths.sum())
    shape = Chain(np.zeros((total, L)), np.zeros((L, L)), offsets=offsets_of(lengths))
    queries = as_span_arrays(shape, spans)
    if not queries:
        return torch.zeros(0, dtype=wide(c.emissions.device), device=c.emissions.device)
    native = compiled_backend(c)
    return _span_probability(c, queries) if native is None else native.span_probability(c, spans)


def _known_lengths(c: TensorChain) -> IntArray:
    if not transforming():
        return c.lengths.cpu().numpy()
    try:
        return np.array([int(length) for length in c.lengths], np.int64)
    except RuntimeError:
        raise InputError(
            "span_probability: expected the same mask for all that vmap goes over, got one for each; ask about them "
            "without vmap, as sentences of one batch"
        ) from None


def _span_probability(c: TensorChain, queries: list[tuple[int, int, BoolArray]]) -> Tensor:
    """Compute exp(log Z within the sets − log Z), with each query as a sentence of its own."""
    device, M = c.emissions.device, len(queries)
    which = torch.tensor([b for b, _, _ in queries], device=device)
    T = max(1, min(c.longest, c.num_rows))
    allowed = np.ones((M, T, c.num_labels), np.bool_)
    for m, (_, begin, sets) in enumerate(queries):
        allowed[m, begin : begin + len(sets)] = sets
    rows = (c.first[which, None] + torch.arange(T, device=device)).clamp(max=c.num_rows - 1)
    emissions = c.emissions.index_select(0, rows.flatten())
    emissions = torch.where(torch.from_numpy(allowed).to(device).flatten(0, 1), emissions, -torch.inf)
    transitions = c.transitions.index_select(0, rows.flatten()) if c.per_position else c.transitions
    first = torch.arange(M, device=device) * T
    inside = TensorChain(emissions, first, c.lengths[which], T, transitions, c.start, c.end)
    log_z = batched.log_partition(c)[which]
    return (batched.log_partition(inside) - torch.where(torch.isneginf(log_z), 0.0, log_z)).exp()
