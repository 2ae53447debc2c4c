"""The recursions in plain PyTorch, in the part of Python that `torch.jit.script` compiles: batch first, by mask."""

import torch
from torch import Tensor

from tagline.nn.scripted import best, compact


def log_likelihood(emissions: Tensor, tags: Tensor, counts: Tensor, parts: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Compute log p of tags ``[B, T]``; `parts` are transitions, start and end: ``[B]``."""
    transitions, start, end = parts
    moved, path, inside = compact(emissions, tags, counts)
    weights = inside.to(emissions.dtype)
    nodes = torch.where(inside, moved.gather(2, path.unsqueeze(2)).squeeze(2), torch.zeros_like(weights))
    edges = transitions[path[:, :-1], path[:, 1:]] * weights[:, 1:]
    last = path.gather(1, (inside.sum(1) - 1).unsqueeze(1)).squeeze(1)
    gold = start[path[:, 0]] + nodes.sum(1) + edges.sum(1) + end[last]
    alpha = start + moved[:, 0]
    for t in range(1, moved.size(1)):
        onward = torch.logsumexp(alpha.unsqueeze(2) + transitions, 1) + moved[:, t]
        alpha = torch.where(inside[:, t].unsqueeze(1), onward, alpha)
    return gold - torch.logsumexp(alpha + end, 1)


def decode(emissions: Tensor, counts: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> list[list[int]]:
    """Find the best tags of each sentence."""
    table, inside, _ = best(emissions, counts, transitions, start, end)
    lengths: list[int] = inside.sum(1).tolist()
    paths: list[list[int]] = []
    for b in range(len(lengths)):
        labels: list[int] = table[b, : lengths[b]].tolist()
        paths.append(labels)
    return paths
