"""The numbers that CRF++ gives to feature strings: where the weights of each begin.

Strings are numbered as they are first seen, sentence by sentence: those of U lines, token by token, then those of B
lines from the second token on. A U string takes L numbers, a B string L². Where rare strings are left out (``-f``), the
rest is numbered in the order of the strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagline.features.attributes import Attributes, Expanded
from tagline.features.templates.template import Template
from tagline.types import IntArray


@dataclass(frozen=True, eq=False)
class Numbers:
    """Where the weights of each feature string begin.

    Attributes:
        names: of the U strings, those of the B strings with macros, the plain B line; a string each.
        states, edges: ``[A]`` and ``[E]``.
        bigram: of the plain B line; None without one.
        size: how many weights there are.
    """

    names: list[str]
    states: IntArray
    edges: IntArray
    bigram: int | None
    size: int

    def sorted(self, encoding: str) -> tuple[tuple[bytes, ...], NDArray[np.int32]]:
        """Return the strings, ascending, and the number of each."""
        numbers = [*self.states.tolist(), *self.edges.tolist(), *(() if self.bigram is None else (self.bigram,))]
        pairs = sorted(zip((name.encode(encoding) for name in self.names), numbers, strict=True))
        return tuple(name for name, _ in pairs), np.array([number for _, number in pairs], np.int32)


def numbers_of(expanded: Expanded, template: Template, bigram: str | None, L: int, by_name: bool = False) -> Numbers:
    """Number the feature strings of training sentences.

    Arguments:
        expanded: strings and where they occur, numbered in the order of their first use.
        template: whose strings they are.
        bigram: the plain B line, where it counts.
        L: how many labels there are.
        by_name: number them in the order of the strings.
    """
    states = list(expanded.states or ())
    edges = list(expanded.edges or ())
    names = [*states, *edges, *(() if bigram is None else (bigram,))]
    widths = np.full(len(names), L, np.int64)
    widths[len(states) :] = L * L
    order = _by_name(names) if by_name else _by_use(expanded, template, bigram)
    begins = np.empty(len(names), np.int64)
    begins[order] = np.cumsum(widths[order]) - widths[order]
    A, E = len(states), len(edges)
    plain = None if bigram is None else int(begins[-1])
    return Numbers(names, begins[:A], begins[A : A + E], plain, int(widths.sum()))


def _by_name(names: Sequence[str]) -> IntArray:
    return np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)


def _by_use(expanded: Expanded, template: Template, bigram: str | None) -> IntArray:
    """The positions of the names in the order of their first use."""
    offsets = expanded.features.offsets
    A, E = len(expanded.states or ()), len(expanded.edges or ())
    sentences = [_first_sentences(expanded.features.states, offsets, A)]
    ranks = [np.arange(A, dtype=np.float64)]
    if expanded.features.edges is not None:
        sentences.append(_first_sentences(expanded.features.edges, offsets, E))
        ranks.append(np.arange(E, dtype=np.float64))
    if bigram is not None:
        longer = int(np.flatnonzero(np.diff(offsets) > 1)[0])  # the first sentence with a second token
        sentences.append(np.array([longer]))
        ranks.append(np.array([_strings_before(expanded, template, bigram, int(offsets[longer]) + 1) - 0.5]))
    is_edge = np.arange(A + E + (bigram is not None)) >= A
    return np.lexsort((np.concatenate(ranks), is_edge, np.concatenate(sentences)))


def _first_sentences(attributes: Attributes, offsets: IntArray, count: int) -> IntArray:
    """The sentence in which each attribute is first used: numbers rise with first uses."""
    if not count:
        return np.empty(0, np.int64)
    known = np.maximum.accumulate(np.concatenate([[0], attributes.ids.astype(np.int64) + 1]))
    ends = known[attributes.offsets[offsets[1:]]]  # [B], attributes known at the end of each sentence
    return np.searchsorted(ends, np.arange(count), side="right").astype(np.int64)


def _strings_before(expanded: Expanded, template: Template, bigram: str, token: int) -> int:
    """How many B strings are new at the first token that has any, before the plain line has its turn."""
    edges = expanded.features.edges
    if edges is None:
        return 0
    lines = [line for line in template.lines if line.is_edge]
    turn = next(k for k, line in enumerate(lines) if line.text == bigram)
    begin = int(edges.offsets[token])
    return len(np.unique(edges.ids[begin : begin + turn]))
