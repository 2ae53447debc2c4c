"""Neighbouring sentences as context: where documents begin, and which tokens around a sentence are read with it.

A sentence that is short leaves most of an encoder's window empty. With context, the tokens before and after it in its
document stand there, too. They are read and never scored: batches hold places of the sentence's own words alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.models.sentences import words_of
from tagline.readers.corpus import Corpus
from tagline.readers.sources import shown_value
from tagline.types import IntArray

MARKER = "-DOCSTART-"
"""A token that begins a sentence, and with it a document, in the files of CoNLL-2003."""


def documents_of(corpus: Corpus, documents: Any = None, name: str = "documents") -> IntArray | None:
    """Return the number of each sentence's document, ``[B]``; None where nothing says where documents begin.

    Arguments:
        documents: how many sentences each document has, in order; when left out, sentences that begin with `MARKER`
            begin one.
        name: of the argument, for messages.

    >>> corpus = Corpus.from_sentences([([word], ["O"]) for word in ("-DOCSTART-", "Rain", "-DOCSTART-", "Snow")])
    >>> documents_of(corpus).tolist(), documents_of(corpus, [1, 3]).tolist()
    ([0, 0, 1, 1], [0, 1, 1, 1])
    """
    B = len(corpus)
    if documents is not None:
        try:
            counts = np.asarray(documents)
        except ValueError:  # rows of unequal length
            counts = np.zeros(0, object)
        whole = counts.ndim == 1 and (counts.dtype.kind in "iu" or not counts.size)
        if not whole or (counts < 0).any() or int(counts.sum()) != B:
            raise InputError(
                f"{name}: expected how many sentences each document has, {B} in all, got {shown_value(documents)}"
            )
        return np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    words = words_of(corpus)
    if MARKER not in words.vocabulary:
        return None
    filled = np.diff(corpus.offsets) > 0
    begins = np.zeros(B, bool)
    begins[filled] = words.ids[corpus.offsets[:-1][filled]] == words.vocabulary.index(MARKER)
    numbers: IntArray = np.maximum(np.cumsum(begins) - 1, 0)
    return numbers


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
