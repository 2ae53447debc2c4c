r"""Patterns of macros: regular expressions that are searched in words in time that grows only with their length.

A pattern travels inside a model file and meets words of any text, so it must not be able to take for ever, as
``(a+)+$`` does in Python's `re`. Three stages: `syntax` reads it into a tree of `expressions`, `automata` makes a
program of states of the tree, and the compiled core searches words for it, or `automata.search` where there is no core.
A match is that of `re.search`.

Why not `re`: ``^(a+)+$`` takes it 0.4 s on 24 letters and twice as long with each further one, here 1.5 µs; ordinary
patterns take 1.5 to 9 times as long as with `re`, about 1 µs a word (`benchmarks/own_parts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tagline import compiled
from tagline.features.expressions import automata
from tagline.features.expressions.character_sets import category
from tagline.features.expressions.syntax import parse
from tagline.features.expressions.trees import SizeError
from tagline.messages import message
from tagline.ragged import offsets_of

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
        try:
            return Pattern(automata.build(parse(text)))
        except RecursionError:
            raise SizeError(message("as many groups in one another as Python's recursion limit allows")) from None

    def find(self, words: Sequence[str]) -> list[tuple[int, int] | None]:
        """Return where the match in each word begins and ends; None where there is none."""
        if self._compiled is None:
            return [self._search(word) for word in words]
        places = self._compiled.find([*words]).reshape(-1, 2).tolist()
        return [(begin, end) if begin >= 0 else None for begin, end in places]

    def texts(self, words: Sequence[str | None]) -> list[str | None]:
        """Return the text that is matched in each word, empty where there is no match; None where there is no word."""
        if self._compiled is not None:
            texts: list[str | None] = self._compiled.texts([*words])
            return texts
        return [None if word is None else word[slice(*self._search(word) or (0, 0))] for word in words]

    def answers(self, words: Sequence[str | None]) -> list[str | None]:
        """Say ``true`` or ``false`` of each word, whether there is a match in it; None where there is no word."""
        if self._compiled is not None:
            answers: list[str | None] = self._compiled.answers([*words])
            return answers
        return [None if word is None else "true" if self._search(word) else "false" for word in words]

    def _search(self, word: str) -> tuple[int, int] | None:
        return automata.search(self.program, word)

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
            np.array(category("w", False) if asked & _NEED_LETTERS else (), np.uint32),
        )
