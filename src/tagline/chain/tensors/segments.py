"""Segment chains on tensors, in plain PyTorch: the recursions of `chain.segments.naive`, batched, with autograd.

Scores are padded, ``[B, T, D, L]``: entry ``[b, t, d, j]`` is of the segment of sentence b that ends with token t, has
d + 1 tokens and the label j; what lies behind a sentence's length or begins before it is never read. Each step is one
sum over lengths ``[B, D, L]`` and one over label pairs ``[B, L, L]``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tagline.chain.tensors.batched import log_sum


@dataclass(frozen=True, eq=False)
class TensorSegments:
    """Scores of B padded sentences.

    Attributes:
        scores: ``[B, T, D, L]``.
        transitions: ``[L, L]`` as ``[previous, next]``.
        start, end: ``[L]``.
        lengths: ``[B]``, tokens of each sentence.
    """

    scores: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor
    lengths: Tensor


def log_partition(chain: TensorSegments) -> Tensor:
    """Compute log Z, ``[B]``; 0 for an empty sentence, −∞ without a legal segmentation."""
    B, T, D, L = chain.scores.shape
    into = [chain.start.expand(B, L)]  # γ
    until = [chain.scores.new_zeros(B, L)]  # α, the first never read
    for t in range(T):
        most = min(D, t + 1)
        before = torch.stack(into[t + 1 - most :][::-1], 1)  # [B, most, L]
        until.append(log_sum(before + chain.scores[:, t, :most], 1))
        into.append(log_sum(until[-1][:, :, None] + chain.transitions, 1))
    at = torch.stack(until, 1)[torch.arange(B, device=chain.lengths.device), chain.lengths]  # [B, L]
    total = log_sum(at + chain.end, 1)
    return torch.where(chain.lengths > 0, total, torch.zeros_like(total))


def score(chain: TensorSegments, labels: Tensor, begins: Tensor) -> Tensor:
    """Sum the scores of segmentations, ``[B]``.

    Arguments:
        labels: ``[B, T]``, the label of the segment that each token lies in.
        begins: ``[B, T]``, whether a segment begins at the token.
    """
    B, T, _, _ = chain.scores.shape
    out = chain.scores.new_zeros(B)
    if not T:
        return out
    tokens = torch.arange(T, device=labels.device)
    inside = tokens < chain.lengths[:, None]  # [B, T]
    begins = begins & inside
    follows = torch.cat([begins[:, 1:], begins.new_zeros(B, 1)], 1) | (tokens == chain.lengths[:, None] - 1)
    first = torch.where(begins, tokens, torch.zeros_like(tokens)).cummax(1).values  # of each token's segment
    sentence, last = torch.nonzero(follows & inside, as_tuple=True)
    label = labels[sentence, last]
    out = out.index_add(0, sentence, chain.scores[sentence, last, last - first[sentence, last], label])
    row, token = torch.nonzero(begins & (tokens > 0), as_tuple=True)
    out = out.index_add(0, row, chain.transitions[labels[row, token - 1], labels[row, token]])
    some = torch.nonzero(chain.lengths > 0).squeeze(1)
    ends = chain.start[labels[some, 0]] + chain.end[labels[some, chain.lengths[some] - 1]]
    return out.index_add(0, some, ends)


def marginals(chain: TensorSegments) -> Tensor:
    """Compute the probability of each segment, ``[B, T, D, L]``: the gradient of log Z."""
    with torch.enable_grad():
        scores = chain.scores.detach().clone().requires_grad_()
        transitions, start, end = (part.detach() for part in (chain.transitions, chain.start, chain.end))
        total = log_partition(TensorSegments(scores, transitions, start, end, chain.lengths)).sum()
        if not scores.numel():
            return scores.detach()
        return torch.autograd.grad(total, scores)[0]


def viterbi(chain: TensorSegments) -> tuple[list[list[tuple[int, int, int]]], Tensor]:
    """Find the best segmentations: (first token, token after the last, label) each, and their scores ``[B]``.

    Among equals the one that is smaller when read from its end, by label, then by length.
    """
    B, T, D, L = chain.scores.shape
    scores = chain.scores.detach()
    into = [chain.start.detach().expand(B, L)]
    until = [scores.new_zeros(B, L)]
    sizes, previous = [], []
    for t in range(T):
        most = min(D, t + 1)
        best, size = (torch.stack(into[t + 1 - most :][::-1], 1) + scores[:, t, :most]).max(1)
        until.append(best)
        step, label = (best[:, :, None] + chain.transitions.detach()).max(1)
        into.append(step)
        sizes.append(size)
        previous.append(label)
    rows = torch.arange(B, device=chain.lengths.device)
    total, last = (torch.stack(until, 1)[rows, chain.lengths] + chain.end.detach()).max(1)
    size_table = torch.stack(sizes, 1).tolist() if T else []
    label_table = torch.stack(previous, 1).tolist() if T else []
    out = []
    for b, (length, label) in enumerate(zip(chain.lengths.tolist(), last.tolist(), strict=True)):
        segments, t = [], length
        while t:
            first = t - size_table[b][t - 1][label] - 1
            segments.append((first, t, label))
            label = label_table[b][first - 1][label] if first else label
            t = first
        out.append(segments[::-1])
    return out, torch.where(chain.lengths > 0, total, torch.zeros_like(total))
