"""Segment chains on the compiled core: threads over sentences, float64 in the log domain.

k best and samples are answered by `naive`, for which `dispatch` cares.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tagline import _core
from tagline.chain.native import call_core
from tagline.chain.segments.types import Segmentation, SegmentChain, SegmentCounts
from tagline.types import Float64Array

_Arrays = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def _arrays(chain: SegmentChain) -> _Arrays:
    return chain.scores, chain.transitions, chain.start, chain.end, chain.offsets


def log_partition(chain: SegmentChain, *, allow_no_path: bool = False) -> Float64Array:
    """Compute log Z."""
    return call_core(_core.segment_log_partition, *_arrays(chain), allow_no_path)


def expected_counts(chain: SegmentChain) -> SegmentCounts:
    """Compute how often each score is used on average."""
    return SegmentCounts(*call_core(_core.segment_counts, *_arrays(chain), None))


def entropy(chain: SegmentChain) -> Float64Array:
    """Compute the entropy of p(segmentation | sentence)."""
    return call_core(_core.segment_entropy, *_arrays(chain))


def viterbi(chain: SegmentChain) -> Segmentation:
    """Find the best segmentation."""
    return Segmentation(*call_core(_core.segment_viterbi, *_arrays(chain)))
