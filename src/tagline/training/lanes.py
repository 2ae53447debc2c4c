"""How a sum over the sentences of a corpus is cut, so that its bits depend on the corpus alone.

Sentences are spread over lanes, a power of two of them. Each lane is added up sentence by sentence; then the lanes are
added up in pairs, the pairs in pairs, and so on: a tree. Which thread or process adds up which branch of that tree does
not change a bit. `Likelihood` and the core follow this, and so do workers that hold some of the lanes each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagline.types import IntArray

LANE_TOKENS = 75_000  # of a lane, at least: a lane costs time to be added up
FEW_LANES = 8  # beyond so many, lanes are longer
LONGER = 4  # times


def lane_count(tokens: int) -> int:
    """Return over how many lanes a corpus is spread.

    >>> [lane_count(tokens) for tokens in (1_000, 200_000, 1_000_000, 5_000_000, 50_000_000)]
    [1, 2, 8, 16, 128]
    """
    few = min(tokens // LANE_TOKENS, FEW_LANES)
    return 1 << (max(few, tokens // (LANE_TOKENS * LONGER), 1).bit_length() - 1)


def lane_targets(tokens: int, count: int) -> IntArray:
    """Return how many tokens must stand before each lane, at least, ``[count + 1]``."""
    return np.array([-(-tokens * k // count) for k in range(count + 1)], np.int64)


def lane_offsets(offsets: IntArray, count: int) -> IntArray:
    """Return the first sentence of each lane, and the number of all, ``[count + 1]``; a lane may be empty.

    >>> lane_offsets(np.array([0, 4, 5, 9, 12]), 2).tolist()
    [0, 3, 4]
    """
    cuts = np.searchsorted(offsets, lane_targets(int(offsets[-1]), count)).astype(np.int64)
    cuts[-1] = len(offsets) - 1
    return cuts


@dataclass(frozen=True, order=True)
class Branch:
    """Lanes `first` to `first + count − 1`, a branch of the tree: `count` is a power of two that divides `first`."""

    first: int
    count: int = 1

    @property
    def parent(self) -> Branch:
        """The branch that this one and its neighbour make."""
        count = 2 * self.count
        return Branch(self.first // count * count, count)


def branches(first: int, last: int) -> Iterator[Branch]:
    """Cut lanes `first` to `last − 1` into as few branches as there can be.

    >>> [(branch.first, branch.count) for branch in branches(3, 8)]
    [(3, 1), (4, 4)]
    """
    while first < last:
        count = first & -first or 1 << (last - first).bit_length()
        while first + count > last:
            count //= 2
        yield Branch(first, count)
        first += count


class Tree:
    """Adds up the sums of branches, in whatever order they come; the sum of all lanes is there when all have come.

    Arguments:
        count: of all lanes.

    >>> tree = Tree(4)
    >>> for branch, value in ((Branch(2, 2), 7.0), (Branch(1), 2.0), (Branch(0), 1.0)):
    ...     tree.add(branch, (value, np.array([value])))
    >>> tree.total
    (10.0, array([10.]))
    """

    def __init__(self, count: int) -> None:
        self._whole = Branch(0, count)
        self._sums: dict[Branch, Any] = {}

    def add(self, branch: Branch, sums: Iterable[Any]) -> None:
        """Add a branch's numbers and arrays; arrays may be changed afterwards."""
        parts = tuple(sums)
        while branch != self._whole:
            parent = branch.parent
            is_left = branch.first == parent.first
            neighbour = Branch(branch.first + branch.count if is_left else parent.first, branch.count)
            if neighbour not in self._sums:
                break
            others = self._sums.pop(neighbour)
            left, right = (parts, others) if is_left else (others, parts)
            parts, branch = tuple(_sum(a, b) for a, b in zip(left, right, strict=True)), parent
        self._sums[branch] = parts

    @property
    def total(self) -> tuple[Any, ...]:
        """The sums over all lanes."""
        total: tuple[Any, ...] = self._sums[self._whole]
        return total


def _sum(left: Any, right: Any) -> Any:
    if isinstance(left, np.ndarray) and left.flags.writeable:
        left += right  # in place: these are as long as the weights
        return left
    return left + right
