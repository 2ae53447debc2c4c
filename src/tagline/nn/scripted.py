"""Viterbi in plain PyTorch, in the part of Python that `torch.jit.script` compiles: batch first, by mask.

A scripted loop runs for as many tokens as a batch has, in a trace too, where a loop of Python is unrolled for those of
the example.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor


def compact(emissions: Tensor, tags: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Move the tokens that count to the front of each sentence."""
    order = (~counts).long().argsort(dim=1, stable=True)
    moved = emissions.gather(1, order.unsqueeze(2).expand_as(emissions))
    lengths = counts.sum(1)
    inside = torch.arange(counts.size(1), device=counts.device) < lengths.unsqueeze(1)
    return moved, torch.where(inside, tags.gather(1, order), torch.zeros_like(tags)), inside


def best(
    emissions: Tensor, counts: Tensor, transitions: Tensor, start: Tensor, end: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Find the best labels of the tokens that count, moved to the front ``[B, T]``, which these are, and scores."""
    moved, _, inside = compact(emissions, counts.long(), counts)
    so_far = start + moved[:, 0]
    pointers: list[Tensor] = []
    for t in range(1, moved.size(1)):
        onward, came_from = (so_far.unsqueeze(2) + transitions).max(1)
        so_far = torch.where(inside[:, t].unsqueeze(1), onward + moved[:, t], so_far)
        pointers.append(came_from)
    scores, label = (so_far + end).max(1)
    path = [label]
    for step in range(len(pointers)):
        t = len(pointers) - 1 - step
        before = pointers[t].gather(1, label.unsqueeze(1)).squeeze(1)
        label = torch.where(inside[:, t + 1], before, label)
        path.append(label)
    return torch.stack(path, 1).flip([1]), inside, scores


def decode(
    emissions: Tensor, counts: Tensor, transitions: Tensor, start: Tensor, end: Tensor, pad_tag: int
) -> tuple[Tensor, Tensor]:
    """Find the best labels ``[B, T]``, `pad_tag` where a token does not count, and scores ``[B]``."""
    labels, _, scores = best(emissions.to(transitions.dtype), counts, transitions, start, end)
    places = (counts.long().cumsum(1) - 1).clamp(min=0)
    padded = torch.where(counts, labels.gather(1, places), torch.full_like(labels, pad_tag))
    return padded, torch.where(counts.any(1), scores, torch.zeros_like(scores))


@cache
def compiled(function: Any) -> Any:
    """Compile a function of this kind, so that a trace calls it instead of unrolling it."""
    return torch.jit.script(function)
