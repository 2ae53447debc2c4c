"""The one door for hard constraints on segments: a chain in, the same with −∞ where something is forbidden out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tagline.chain.constrain import constrain as constrain_tokens
from tagline.chain.segments.types import SegmentChain
from tagline.checks import as_array
from tagline.errors import InputError
from tagline.ragged import first_entries
from tagline.types import BoolArray, Chain, LabelSet, sealed


def constrain(
    chain: SegmentChain,
    *,
    transitions: ArrayLike | None = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    allowed: ArrayLike | Mapping[int, LabelSet] | Sequence[LabelSet | None] | None = None,
    known: ArrayLike | None = None,
    longest: ArrayLike | None = None,
    boundaries: ArrayLike | None = None,
) -> SegmentChain:
    """Return a chain in which everything that is not allowed scores −∞.

    Arguments:
        transitions, start, end, allowed, known: as for `tagline.chain.constrain`; the label of a token is that of the
            segment that it lies in.
        longest: ``[L]``, tokens of the longest segment of each label: 1 for an "outside" of single tokens.
        boundaries: ``[N]``, integers: 1 where a segment must begin, 0 where none may, −1 where nothing is known.

    >>> import numpy as np
    >>> from tagline.chain import segments
    >>> free = SegmentChain(np.zeros((3, 3, 1)), [[0.0]])  # four ways to cut three tokens
    >>> bound = constrain(free, boundaries=[-1, 1, -1])  # the second token begins a segment: two ways are left
    >>> np.exp(segments.log_partition(free)).round(9).tolist(), np.exp(segments.log_partition(bound)).round(9).tolist()
    ([4.0], [2.0])
    """
    N, D, L = chain.scores.shape
    rest = constrain_tokens(
        Chain(sealed(np.zeros((N, L))), chain.transitions, chain.start, chain.end, chain.offsets),
        transitions=transitions,
        start=start,
        end=end,
        allowed=allowed,
        known=known,
    )
    scores = chain.scores
    legal = ~np.isneginf(rest.emissions)  # [N, L]
    if not legal.all():
        scores = np.where(inside_all(legal, D), scores, -np.inf)
    if longest is not None:
        most = _integers("longest", longest, L)
        scores = np.where(np.arange(D)[:, None] < most, scores, -np.inf)
    if boundaries is not None:
        uncut = _uncut(_integers("boundaries", boundaries, N), D, first_entries(chain.offsets))
        scores = np.where(uncut[:, :, None], scores, -np.inf)
    return SegmentChain(scores, rest.transitions, rest.start, rest.end, chain.offsets)


def inside_all(legal: BoolArray, max_length: int) -> BoolArray:
    """Say of which segments all tokens are legal, ``[N, …]`` to ``[N, D, …]``; False beyond the first token of all."""
    N = len(legal)
    out = np.zeros((N, max_length, *legal.shape[1:]), np.bool_)
    out[:, 0] = legal
    for d in range(1, min(max_length, N)):
        out[d:, d] = out[d:, d - 1] & legal[:-d]
    return out


def _uncut(boundaries: np.ndarray, max_length: int, first: BoolArray) -> BoolArray:
    """Segments that begin where they may, and in which none must begin, ``[N, D]``; `first` marks first tokens."""
    N = len(boundaries)
    out = np.zeros((N, max_length), np.bool_)
    whole = np.ones(N, np.bool_)  # no segment must begin at a later token of it
    for d in range(min(max_length, N)):
        out[d:, d] = whole[d:] & (boundaries[: N - d] != 0)
        whole[d:] &= boundaries[: N - d] != 1
    ends = np.append((boundaries[1:] != 0) | first[1:], True)  # the next one may begin, or the sentence ends
    return out & ends[:, None] if N else out


def _integers(name: str, values: ArrayLike, size: int) -> np.ndarray:
    numbers = as_array(name, values)
    if numbers.shape != (size,) or (numbers.size and numbers.dtype.kind not in "iu"):
        raise InputError(
            "{}: expected integers of shape [{}], got {} {}", name, size, numbers.dtype, list(numbers.shape)
        )
    return numbers
