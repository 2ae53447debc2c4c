"""Further questions about tensors on a chain: k best, samples, entropy, spans.

Where the compiled core answers and no gradient is wanted, `native` does; otherwise plain PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tagline.chain import batched, conditionals, tensor_dispatch
from tagline.chain.checks import as_span_arrays
from tagline.chain.tensors import TensorChain, wide
from tagline.types import BoolArray, Chain, SpanQuery


def k_best(c: TensorChain, k: int) -> tuple[Tensor, Tensor]:
    """Find the k best labellings: tags ``[K, N]``, scores ``[K, B]`` with −∞ where there are no more."""
    if not tensor_dispatch.on_core(c):
        return _k_best(c.detach(), k)
    from tagline.chain import hosted, native

    packed = hosted.pack(c)
    chain = Chain(*packed.arrays)
    tags = np.full((k, chain.num_tokens), batched.NONE, np.int64)
    scores = np.full((k, chain.num_sentences), -np.inf)
    for b, ranked in enumerate(native.k_best(chain, k)):
        tags[: len(ranked.scores), chain.offsets[b] : chain.offsets[b + 1]] = ranked.labels
        scores[: len(ranked.scores), b] = ranked.scores
    rows = [packed.put(row, batched.NONE) for row in tags]
    return torch.stack(rows), torch.from_numpy(scores)


@torch.no_grad()
def _k_best(c: TensorChain, k: int) -> tuple[Tensor, Tensor]:
    p = batched.pad(c)
    B, L = p.rows.shape[0], c.num_labels
    best = torch.full((B, L, k), -torch.inf, dtype=p.emissions.dtype, device=p.rows.device)
    best[:, :, 0] = p.start + p.emissions[:, 0]
    itself = torch.arange(L * k, device=p.rows.device).view(L, k)
    pointers = []  # [B, L, k]: label·k + rank at the step before
    for t in range(1, p.num_steps):
        moves = p.into(t).expand(B, L, L)
        ways = (best[:, :, :, None] + moves[:, :, None, :]).flatten(1, 2).transpose(1, 2)  # [B, L, L·k]
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
    tags = torch.stack([p.back(table[:, rank], c.num_rows, batched.NONE) for rank in range(k)])
    empty = torch.arange(k, device=scores.device) > 0  # an empty sequence has one labelling
    scores = torch.where(p.inside[:, :1], scores, torch.where(empty, -torch.inf, 0.0).to(scores))
    return tags, scores.T


def sample(c: TensorChain, uniforms: Tensor) -> Tensor:
    """Draw labellings ``[S, N]`` by numbers ``[S, N]`` in [0, 1)."""
    if not tensor_dispatch.on_core(c):
        return conditionals.sample(c, uniforms)
    from tagline.chain import hosted, native

    packed = hosted.pack(c)
    found = native.sample(Chain(*packed.arrays), np.ascontiguousarray(packed.take(uniforms.T).T))
    rows = [packed.put(row, batched.NONE) for row in found]
    return torch.stack(rows) if rows else c.first.new_empty((0, c.num_rows))


def entropy(c: TensorChain) -> Tensor:
    """Compute the entropy of p(y | x) in nats, ``[B]``, with gradients."""
    if not tensor_dispatch.on_core(c):
        return conditionals.entropy(c)
    from tagline.chain import hosted, native

    return torch.from_numpy(native.entropy(Chain(*hosted.pack(c).arrays)))


def span_probability(c: TensorChain, spans: Sequence[SpanQuery]) -> Tensor:
    """Compute P(labels of spans lie in sets), one number a span, with gradients."""
    lengths = c.lengths.cpu().numpy()
    L, total = c.num_labels, int(lengths.sum())
    shape = Chain(np.zeros((total, L)), np.zeros((L, L)), offsets=np.concatenate([[0], np.cumsum(lengths)]))
    queries = as_span_arrays(shape, spans)
    if not queries:
        return torch.zeros(0, dtype=wide(c.emissions.device), device=c.emissions.device)
    if tensor_dispatch.on_core(c):
        from tagline.chain import hosted, native

        return torch.from_numpy(native.span_probability(Chain(*hosted.pack(c).arrays), spans))
    return _span_probability(c, queries)


def _span_probability(c: TensorChain, queries: list[tuple[int, int, BoolArray]]) -> Tensor:
    """exp(log Z within the sets − log Z), each query as a sequence of its own."""
    device, M = c.emissions.device, len(queries)
    which = torch.tensor([b for b, _, _ in queries], device=device)
    T = max(1, min(c.longest, c.num_rows))
    allowed = np.ones((M, T, c.num_labels), np.bool_)
    for m, (_, begin, sets) in enumerate(queries):
        allowed[m, begin : begin + len(sets)] = sets
    rows = (c.first[which, None] + torch.arange(T, device=device)).clamp(max=c.num_rows - 1)
    emissions = c.emissions.index_select(0, rows.flatten())
    emissions = torch.where(torch.from_numpy(allowed).to(device).flatten(0, 1), emissions, -torch.inf)
    moves = c.transitions.index_select(0, rows.flatten()) if c.per_position else c.transitions
    first = torch.arange(M, device=device) * T
    inside = TensorChain(emissions, first, c.lengths[which], T, moves, c.start, c.end)
    return (batched.log_partition(inside) - batched.log_partition(c)[which]).exp()
