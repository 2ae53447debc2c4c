r"""Patterns of macros: regular expressions that are searched in words in time that grows only with their length.

A pattern travels inside a model file and meets words of any text, so it must not be able to take for ever, as
``(a+)+$`` does in Python's `re`. Three stages: `expressions` reads it into a tree, `automata` makes a program of states
of the tree, and the compiled core searches words for it, or `automata.search` where there is no core. A match is that of
`re.search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tagline import compiled
from tagline.features import automata
from tagline.features.characters import category
from tagline.features.expressions import parse
from tagline.ragged import offsets_of
from tagline.types import IntArray

_NEED_LETTERS = {automata.PLACES.index("boundary"), automata.PLACES.index("inside")}


class Pattern:
    """A regular expression; `of` makes one.

    >>> Pattern.of("[0-9]+").texts(["747s", "no"])
    ['747', '']
    """

    def __init__(self, program: automata.Program) -> None:
        self.program = program

    @staticmethod
    @lru_cache(maxsize=256)
    def of(text: str) -> Pattern:
        """Read an expression; raise ExpressionError or SizeError where it is none."""
        return Pattern(automata.build(parse(text)))

    def find(self, words: Sequence[str]) -> IntArray:
        """Find the match in each word: where it begins and ends, ``[n, 2]``, −1 where there is none."""
        if self._compiled is not None:
            return np.asarray(self._compiled.find(tuple(words)), np.int64)
        spans = [automata.search(self.program, word) or (-1, -1) for word in words]
        return np.array(spans, np.int64).reshape(-1, 2)

    def texts(self, words: Sequence[str]) -> list[str]:
        """Return the text that it matches in each word, empty where there is none."""
        begins, ends = self.find(words).T.tolist()
        return [word[begin:end] if begin >= 0 else "" for word, begin, end in zip(words, begins, ends, strict=True)]

    def answers(self, words: Sequence[str]) -> list[str]:
        """Tell of each word, by ``true`` or ``false``, whether there is a match in it."""
        return ["true" if begin >= 0 else "false" for begin in self.find(words)[:, 0].tolist()]

    @cached_property
    def _compiled(self) -> Any:
        if compiled.core is None:
            return None
        program = self.program
        asked = {one for kind, one, _ in program.states if kind == automata.ASK}
        return compiled.core.Pattern(
            np.array(program.states, np.int32),
            program.first,
            np.array([bound for bounds in program.sets for bound in bounds], np.uint32),
            offsets_of([len(bounds) for bounds in program.sets]),
            np.array(category("w") if asked & _NEED_LETTERS else (), np.uint32),
        )
