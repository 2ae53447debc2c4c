"""Neighbouring sentences as context: which tokens around a sentence are read with it.

A sentence that is short leaves most of an encoder's window empty. With context, the tokens before and after it in its
document stand there, too. They are read and never scored: batches hold places of the sentence's own words alone.
"""

from __future__ import annotations

import numpy as np

from tagline.types import IntArray


def with_neighbours(
    sizes: IntArray, offsets: IntArray, documents: IntArray, context: int, room: int
) -> tuple[IntArray, IntArray]:
    """Return the first token and the end of what is read of each sentence, ``[B]`` each.

    Arguments:
        sizes: pieces of each token, ``[N]``.
        offsets: where sentences begin, ``[B + 1]``.
        documents: the number of each sentence's document, ``[B]``, ascending.
        context: tokens on each side, at most.
        room: pieces of a window. Both sides share what a sentence leaves; one that leaves nothing stands alone.
    """
    ends = np.concatenate([[0], np.cumsum(sizes)])  # pieces before each token
    first, last = offsets[:-1], offsets[1:]
    borders = np.flatnonzero(np.diff(documents, prepend=-1, append=-1))  # sentences that begin a document, and B
    place = np.searchsorted(borders, np.arange(len(documents)), "right")
    low = np.maximum(offsets[borders[place - 1]], first - context)
    high = np.minimum(offsets[borders[place]], last + context)
    spare = np.maximum(room - (ends[last] - ends[first]), 0)
    before, after = ends[first] - ends[low], ends[high] - ends[last]  # pieces that there are
    left = np.minimum(before, np.maximum(spare // 2, spare - after))
    begin = np.searchsorted(ends, ends[first] - left, "left")
    right = np.minimum(after, spare - (ends[first] - ends[begin]))
    end = np.searchsorted(ends, ends[last] + right, "right") - 1
    # Tokens have a piece at least, so that no two ends are equal and both searches are exact.
    return begin.astype(np.int64), end.astype(np.int64)
