"""Words to emissions, for a template whose attributes are numbered: what `expand` and `Scorer.emissions` do, in one.

Most lines of a template look at one word. What they add to the tokens around it is summed once for each distinct word:
a row of L numbers for each row of the template, so that a token's emission is the sum of about five such rows and of
the weights of the lines that look at several words. Those are looked up in the compiled core, which remembers what it
has found (``core/training/word_scores.h``). Words are kept from call to call; once they are many, all are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.features.expansion import compact, derived, expand_sources, paddings, sources_of, unicode_words
from tagline.features.macros import Derivation
from tagline.features.templates import Line, Template
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import Scorer
from tagline.ragged import blocks_of
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.types import FloatArray, IntArray

MOST_BYTES = 1 << 26  # of sums
MOST_WORDS = 1 << 18  # of a column

Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class NumberedTemplate:
    """A template, the numbers of its state attributes, and their weights.

    Attributes:
        template: its U lines are scored.
        scorer: the weights.
        names: the attributes; None where they are hashed.
        hash_bits: as for `expand`.
    """

    template: Template
    scorer: Scorer
    names: Vocabulary | None
    hash_bits: int | None = None

    def sums(self, lines: Sequence[Line], taken: dict[Derivation, tuple[str | None, ...]], count: int) -> FloatArray:
        """Sum the weights of lines that look at one word, given what they take from so many words: ``[V, L]``."""
        rows, skeletons = sources_of(lines)
        places = np.arange(count + 1, dtype=np.int64)
        ids = places[:-1].astype(np.int32)
        sources = [(taken[derivation], ids, (), (), True) for derivation in rows]
        options = {"hash_bits": self.hash_bits or 0, "min_count": 1}
        states, _ = expand_sources(sources, skeletons, places, self.names, False, options)
        sums: FloatArray = self.scorer.states.emissions(states.offsets, states.ids, None)
        return sums


class WordScorer:
    """Sentences of words in, emissions out.

    Threads may share it: a call takes the words that are known with it, and whoever comes meanwhile begins anew.
    """

    def __init__(self, numbered: NumberedTemplate) -> None:
        self._numbered = numbered
        self._idle: list[_Words] = []

    def blocks(self, corpus: Corpus, most_tokens: int) -> Iterator[tuple[FloatArray, IntArray]]:
        """Score a corpus, so many tokens at once: emissions ``[N, L]`` of a block, and the offsets of its sentences."""
        template = self._numbered.template
        table = {name: column for name, column in corpus.columns.items() if name != TAG}
        template.check_columns(list(table))
        columns = [compact(column) for column in table.values()][: max(1, template.num_columns)]
        words = self._idle.pop() if self._idle else _Words(self._numbered)
        known = [np.full(len(column.vocabulary), -1, np.int32) for column in columns]  # by number in the corpus
        for first, last in blocks_of(corpus.offsets, most_tokens):
            if words.full:
                words, known = _Words(self._numbered), [np.full_like(numbers, -1) for numbers in known]
            begin, end = int(corpus.offsets[first]), int(corpus.offsets[last])
            offsets = corpus.offsets[first : last + 1] - begin
            numbers = [words.number(c, column, column.ids[begin:end], known[c]) for c, column in enumerate(columns)]
            yield words.core.emissions(numbers, offsets), offsets
        if not self._idle:
            self._idle.append(words)


@dataclass(frozen=True)
class _Window:
    """The lines that look at one word of a column, by the row where it stands; in the lines the row is 0."""

    column: int
    lines: dict[int, tuple[Line, ...]]

    @classmethod
    def of(cls, column: int, lines: Sequence[Line]) -> _Window:
        rows: dict[int, list[Line]] = {}
        for line in lines:
            if line.macros[0].derivation.column == column:
                here = tuple(replace(macro, row=0) for macro in line.macros)
                rows.setdefault(line.macros[0].row, []).append(replace(line, macros=here))
        return cls(column, {row: tuple(rows[row]) for row in sorted(rows)})

    @property
    def derivations(self) -> set[Derivation]:
        """What the lines take from a word."""
        return {macro.derivation for lines in self.lines.values() for line in lines for macro in line.macros}


def _is_of_one_word(line: Line) -> bool:
    return len({(macro.row, macro.derivation.column) for macro in line.macros}) == 1


class _Words:
    """The words that are known, with their sums; for one caller at a time."""

    def __init__(self, numbered: NumberedTemplate) -> None:
        compiled.require()
        assert compiled.core is not None
        self._numbered = numbered
        lines, names = numbered.template.states, numbered.names
        alone = [line for line in lines if _is_of_one_word(line)]
        self._windows = [_Window.of(column, alone) for column in range(max(1, numbered.template.num_columns))]
        rows, skeletons = sources_of(line for line in lines if not _is_of_one_word(line))
        for derivation, reach in list(rows.items()):  # and the words as they are: by them the core finds several at once
            rows.setdefault(Derivation(derivation.column), []).extend(reach)
        self._sources = list(rows)
        sources = [
            (
                derivation.column,
                *(tuple(map(derivation.of_padding, part)) for part in paddings(reach)),
                derivation.is_plain,
                derivation.is_fine,
            )
            for derivation, reach in rows.items()
        ]
        self.core: Any = compiled.core.WordScores(
            numbered.scorer.states,
            None if names is None else names.parts,
            numbered.hash_bits or 0,
            [list(window.lines) for window in self._windows],
            sources,
            skeletons,
        )
        self._count = [0] * len(self._windows)
        for window in self._windows:
            self._add_paddings(window)

    @property
    def full(self) -> bool:
        """Whether so many words are known that one should begin anew."""
        row = 4 * self._numbered.scorer.structure.num_labels
        size = sum(row * len(window.lines) * count for window, count in zip(self._windows, self._count, strict=True))
        return size > MOST_BYTES or max(self._count) > MOST_WORDS

    def number(self, c: int, column: Column, ids: Numbers, known: Numbers) -> Numbers:
        """Return the numbers of words here, given those in a column; `known` maps one to the other, and is filled."""
        numbers = known[ids]
        unknown = np.unique(ids[numbers < 0])
        if not len(unknown):
            return numbers
        with unicode_words():
            known[unknown] = found = self.core.find(c, column.vocabulary, unknown)
            if (found < 0).any():
                self._add_words(c, [column.vocabulary[number] for number in unknown[found < 0].tolist()])
                known[unknown] = self.core.find(c, column.vocabulary, unknown)
        return known[ids]

    def _add_words(self, c: int, words: Sequence[str]) -> None:
        names = tuple(dict.fromkeys(words))
        window = self._windows[c]
        sources = [derivation for derivation in self._sources if derivation.column == c]
        taken = {derivation: derived(derivation, names) for derivation in {*window.derivations, *sources}}
        self._add(window, names, taken, [taken[derivation] for derivation in sources], len(names))

    def _add_paddings(self, window: _Window) -> None:
        names = [name for part in paddings(window.lines) for name in part]
        taken = {derivation: tuple(map(derivation.of_padding, names)) for derivation in window.derivations}
        here = [derivation for derivation in self._sources if derivation.column == window.column]
        self._add(window, (), taken, [tuple(map(derivation.of_padding, names)) for derivation in here], len(names))

    def _add(
        self,
        window: _Window,
        names: tuple[str, ...],
        taken: dict[Derivation, tuple[str | None, ...]],
        sources: list[tuple[str | None, ...]],
        count: int,
    ) -> None:
        L = self._numbered.scorer.structure.num_labels
        sums = np.empty((count, len(window.lines), L), np.float32)
        for place, lines in enumerate(window.lines.values()):
            sums[:, place] = self._numbered.sums(lines, taken, count)
        self.core.add(window.column, names, sums, sources)
        self._count[window.column] += count
