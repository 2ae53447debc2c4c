"""Phrases as a trie over word numbers, and the longest of them at every position of a corpus at once.

The trie is two arrays, so that a step down is one binary search for all positions that are still alive: a corpus takes
as many steps as its longest match has words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tagline.types import IntArray

UNKNOWN = -1
"""The number of a word that no phrase has, and the type of a node where no phrase ends."""

_WORD_BITS = 31  # a key is a node and a word


def edge_key(node: int, word: int) -> int:
    """Return one number for the edge that leaves a node by a word."""
    return node << _WORD_BITS | word


@dataclass(frozen=True, eq=False)
class Trie:
    """Words on the edges, types on some of the nodes; node 0 is the root.

    Attributes:
        keys: ``[E]``, sorted; node and word of each edge in one number.
        children: ``[E]``, the node that each edge leads to.
        types: ``[E + 1]``, the type of the phrase that ends at a node, −1 where none does.
        roots: ``[words]``, the node that a word leads to from the root, 0 where none does.
    """

    keys: IntArray
    children: IntArray
    types: IntArray
    roots: IntArray

    @classmethod
    def of(cls, edges: Mapping[int, int], type_of: Mapping[int, int]) -> Trie:
        """Build from the children by `edge_key`, nodes from 1, and the types of the nodes where phrases end."""
        keys = np.fromiter(edges.keys(), np.int64, len(edges))
        order = np.argsort(keys)
        children = np.fromiter(edges.values(), np.int64, len(edges))[order]
        types = np.full(len(edges) + 1, UNKNOWN, np.int64)
        types[np.fromiter(type_of.keys(), np.int64)] = np.fromiter(type_of.values(), np.int64)
        keys = keys[order]
        words = keys & (1 << _WORD_BITS) - 1
        roots = np.zeros(1 + int(words.max(initial=0)), np.int64)
        at_root = keys >> _WORD_BITS == 0
        roots[words[at_root]] = children[at_root]
        return cls(keys, children, types, roots)

    def edges(self) -> list[tuple[int, int]]:
        """Return (parent, word) of each node from 1 on; a parent's number is smaller than its children's."""
        keys = self.keys[np.argsort(self.children)]
        return list(zip((keys >> _WORD_BITS).tolist(), (keys & (1 << _WORD_BITS) - 1).tolist(), strict=True))

    def longest(self, words: IntArray, offsets: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return start, length and type of the longest phrase at each position where one begins, by rising start."""
        N = len(words)
        node = np.where(words == UNKNOWN, 0, self.roots[words])
        start = np.flatnonzero(node)
        node = node[start]
        stop = np.repeat(offsets[1:], np.diff(offsets))  # [N], the end of each token's sentence
        length, kind = np.zeros(N, np.int64), np.full(N, UNKNOWN, np.int64)
        depth = 1
        while len(start):
            ends = self.types[node] != UNKNOWN
            length[start[ends]], kind[start[ends]] = depth, self.types[node[ends]]
            alive = start + depth < stop[start]
            start, node = start[alive], node[alive]
            key = node << _WORD_BITS | words[start + depth]  # −1, which no edge has, where the word is unknown
            edge = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
            alive = self.keys[edge] == key
            start, node = start[alive], self.children[edge[alive]]
            depth += 1
        begins = np.flatnonzero(length)
        return begins, length[begins], kind[begins]


def leftmost(start: IntArray, end: IntArray) -> IntArray:
    """Choose matches, which are sorted by start, from left to right: each that begins behind the last one chosen."""
    chosen, free = [], 0
    for number, (first, last) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        if first >= free:
            chosen.append(number)
            free = last
    return np.array(chosen, np.int64)
