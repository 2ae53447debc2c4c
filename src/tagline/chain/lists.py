"""Labels as lists: what the engine answers in one array ``[N]``, cut into a Python list for each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tagline import compiled
from tagline.errors import InputError
from tagline.types import IntArray


def label_lists(labels: IntArray, offsets: IntArray, names: Sequence[Any] | None = None) -> list[list[Any]]:
    """Return the labels ``[N]`` of each sentence as a list, by their names where there are some.

    >>> from tagline import Chain, chain
    >>> two = Chain([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]], [[0.0, 0.0]] * 2, offsets=[0, 2, 3])
    >>> best = chain.viterbi(two).labels
    >>> chain.label_lists(best, two.offsets), chain.label_lists(best, two.offsets, ["O", "B"])
    ([[0, 1], [0]], [['O', 'B'], ['O']])
    """
    labels, offsets = np.asarray(labels), np.ascontiguousarray(offsets, np.int64)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError("labels: expected whole numbers [N], got {} {}", labels.dtype, list(labels.shape))
    if (
        offsets.ndim != 1
        or not len(offsets)
        or offsets[0]
        or offsets[-1] != len(labels)
        or (np.diff(offsets) < 0).any()
    ):
        raise InputError(
            "offsets: expected [B + 1] numbers that rise from 0 to {}, got {}", len(labels), list(offsets[:8])
        )
    words = tuple(names) if names is not None else tuple(range(int(labels.max(initial=-1)) + 1))
    if len(labels) and not 0 <= labels.min() <= labels.max() < len(words):
        raise InputError("labels: expected 0 to {}, got {} to {}", len(words) - 1, labels.min(), labels.max())
    return named_rows(labels, offsets, words)


def named_rows(labels: IntArray, offsets: IntArray, words: tuple[Any, ...]) -> list[list[Any]]:
    """Do what `label_lists` does, for what the engine has answered, without looking at it first."""
    if compiled.core is not None:
        rows: list[list[Any]] = compiled.core.lists_of(words, np.ascontiguousarray(labels, np.int64), offsets)
        return rows
    flat = [words[label] for label in labels.tolist()]
    return [flat[first:last] for first, last in pairwise(offsets.tolist())]
