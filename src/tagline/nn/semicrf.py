"""The semi-CRF layer: scores of segments in, losses, segmentations and probabilities out; plain PyTorch."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from tagline.chain.tensors import segments
from tagline.chain.tensors.segments import TensorSegments
from tagline.checks import as_array, as_whole, check_choice
from tagline.errors import InputError, NoPathError
from tagline.messages import message
from tagline.nn.checks import FLOATS, check_lengths, check_not_traced, check_numbers, looks
from tagline.nn.constants import Constant, ConstantModule
from tagline.nn.parameters import LARGEST_INITIAL

REDUCTIONS = ("mean", "sum", "none")


class SemiCRF(ConstantModule):
    """A conditional random field over segments, on top of a network.

    Arguments:
        num_labels: of segments.
        max_length: tokens of the longest segment.
        longest: ``[labels]``, the longest segment of each label, where it is shorter: 1 for an "outside" of single
            tokens.

    All methods take ``scores [batch, tokens, lengths, labels]``, where entry ``[b, t, d, j]`` is of the segment that
    ends with token t, has d + 1 tokens and the label j, and ``lengths [batch]``, all tokens when left out. A score of
    −∞ forbids. The layer adds transitions between the labels of neighbouring segments, start and end.

    >>> layer = SemiCRF(2, max_length=3)
    >>> scores = torch.zeros(1, 4, 3, 2)
    >>> labels, begins = torch.tensor([[0, 0, 1, 1]]), torch.tensor([[True, False, True, False]])
    >>> bool(layer.loss(scores, labels, begins) > 0)
    True
    >>> [segment[:2] for segment in layer.decode(scores + 5 * torch.eye(3)[1][:, None])[0]]  # two tokens each
    [(0, 2), (2, 4)]
    """

    def __init__(self, num_labels: int, max_length: int, *, longest: ArrayLike | None = None) -> None:
        super().__init__()
        self.num_labels = as_whole("num_labels", num_labels, 1)
        self.max_length = as_whole("max_length", max_length, 1)
        L = self.num_labels
        self.transitions = nn.Parameter(torch.empty(L, L))
        self.start = nn.Parameter(torch.empty(L))
        self.end = nn.Parameter(torch.empty(L))
        most = as_array("longest", [self.max_length] * L if longest is None else longest)
        if most.shape != (L,) or most.dtype.kind not in "iu" or (most < 1).any():
            raise InputError("longest: expected {} whole numbers of 1 or more, one a label, got {!r:.60}", L, longest)
        self._too_long = Constant(np.arange(self.max_length)[:, None] >= most)
        self._place_constants()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw every parameter anew, uniformly from −0.1 to 0.1."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -LARGEST_INITIAL, LARGEST_INITIAL)

    def extra_repr(self) -> str:
        """Name the sizes."""
        return f"num_labels={self.num_labels}, max_length={self.max_length}"

    def _chain(self, scores: Tensor, lengths: Tensor | None) -> TensorSegments:
        check_not_traced(message("torch.export can write its log_partition, for sentences of one length"))
        wanted = (self.max_length, self.num_labels)
        if scores.ndim != 4 or scores.shape[2:] != wanted:
            raise InputError(
                "scores: expected shape [batch, tokens, {}, {}], got {}", wanted[0], wanted[1], list(scores.shape)
            )
        if scores.dtype not in FLOATS:
            raise InputError("scores: expected floating-point numbers, got {}", scores.dtype)
        B, T = scores.shape[:2]
        if lengths is not None:
            check_lengths(lengths, scores, looks(scores.device, False))
        sizes = torch.full((B,), T, device=scores.device) if lengths is None else lengths.to(scores.device).long()
        tokens = torch.arange(T, device=scores.device)
        padding = tokens >= sizes[:, None]  # [B, T]
        outside = torch.arange(self.max_length, device=scores.device) > tokens[:, None]  # [T, D], begins too early
        scores = scores.masked_fill((padding[:, :, None] | outside)[..., None], 0.0)  # never read, whatever is there
        if looks(scores.device, False):
            check_numbers("scores", scores.float() if scores.dtype == torch.bfloat16 else scores)  # NumPy has none
        scores = scores.masked_fill(self._too_long.on(scores.device), -torch.inf)
        transitions, start, end = (part.to(scores.dtype) for part in (self.transitions, self.start, self.end))
        return TensorSegments(scores, transitions, start, end, sizes)

    def log_partition(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Compute log Z, ``[batch]``."""
        return segments.log_partition(self._chain(scores, lengths))

    def forward(self, scores: Tensor, labels: Tensor, begins: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Compute the log-likelihood of segmentations, ``[batch]``; −∞ for one that is forbidden.

        A sentence without any legal segmentation is an error.

        Arguments:
            labels: ``[batch, tokens]``, the label of the segment that each token lies in.
            begins: booleans ``[batch, tokens]``, whether a segment begins at the token.
        """
        chain = self._chain(scores, lengths)
        self._check(chain, labels, begins)
        log_z = segments.log_partition(chain)
        if looks(scores.device, False):
            _check_alive(log_z)
        return segments.score(chain, labels, begins) - log_z

    def loss(
        self, scores: Tensor, labels: Tensor, begins: Tensor, lengths: Tensor | None = None, reduction: str = "mean"
    ) -> Tensor:
        """Compute the negative log-likelihood, as its mean over sentences, its sum, or one number a sentence."""
        check_choice("reduction", reduction, REDUCTIONS)
        losses: Tensor = -self(scores, labels, begins, lengths)
        if reduction == "none":
            return losses
        return losses.sum() / max(len(losses), 1) if reduction == "mean" else losses.sum()

    def decode(self, scores: Tensor, lengths: Tensor | None = None) -> list[list[tuple[int, int, int]]]:
        """Find the best segmentation of each sentence: (first token, token after the last, label) each."""
        ways, best = segments.viterbi(self._chain(scores, lengths))
        _check_alive(best)
        return ways

    def marginals(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Compute the probability of each segment, ``[batch, tokens, lengths, labels]``; no gradient flows through."""
        return segments.marginals(self._chain(scores, lengths))

    def _check(self, chain: TensorSegments, labels: Tensor, begins: Tensor) -> None:
        B, T = chain.scores.shape[:2]
        if labels.shape != (B, T) or labels.is_floating_point() or labels.dtype == torch.bool:
            raise InputError("labels: expected integers [{}, {}], got {} {}", B, T, labels.dtype, list(labels.shape))
        if begins.shape != (B, T) or begins.dtype != torch.bool:
            raise InputError("begins: expected booleans [{}, {}], got {} {}", B, T, begins.dtype, list(begins.shape))
        tokens = torch.arange(T, device=labels.device)
        inside = tokens < chain.lengths[:, None]
        if bool((((labels < 0) | (labels >= self.num_labels)) & inside).any()):
            raise InputError("labels: expected 0 to {} inside sentences, got others", self.num_labels - 1)
        if T and bool((~begins[:, 0] & inside[:, 0]).any()):
            raise InputError("begins: expected True at the first token of each sentence, got False")
        first = torch.where(begins, tokens, torch.zeros_like(tokens)).cummax(1).values if T else tokens.expand(B, 0)
        if bool(((tokens - first >= self.max_length) & inside).any()):
            raise InputError("begins: expected segments of up to {} tokens, got longer ones", self.max_length)
        if T and bool((labels.gather(1, first) != labels)[inside].any()):
            raise InputError("labels: expected one label for all tokens of a segment, got several")


def _check_alive(best: Tensor) -> None:
    """Raise where a sentence has no legal segmentation, ``[B]``."""
    dead = torch.nonzero(torch.isneginf(best))
    if len(dead):
        raise NoPathError("sentence {}: expected at least one legal segmentation, got none", int(dead[0]))
