"""Words to emissions, for a template whose attributes are numbered: what `expand` and `Scorer.emissions` do, in one.

Most lines of a template look at one word. What they add to the tokens around it is summed once for each distinct word:
a row of L numbers for each row of the template, so that a token's emission is the sum of about five such rows and of
the weights of the lines that look at several words. Those are looked up in the compiled core, which remembers what it
has found (``core/scoring/word_scores.h``). Words are kept from call to call; once they are many, all are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.features.expansion import Skeleton, compact, unicode_words
from tagline.features.templates.lines import TemplateLine
from tagline.features.templates.macros import Derivation
from tagline.features.templates.template import Template
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

    @property
    def suits(self) -> bool:
        """Whether rows say where its lines look, and weights are summed in float32: otherwise `expand` is the way."""
        placed = any(macro.has_places for line in self.template.states for macro in line.macros)
        return not placed and not self.scorer.is_exact

    @property
    def num_columns(self) -> int:
        """How many columns are looked at, at least one."""
        return max(1, self.template.num_columns)


class WordScorer:
    """Sentences of words in, emissions out.

    Threads may share it: a call takes the words that are known with it, and whoever comes meanwhile begins anew.
    """

    def __init__(self, numbered: NumberedTemplate) -> None:
        self._numbered = numbered
        self._idle: list[_Words] = []

    def blocks(self, corpus: Corpus, most_tokens: int) -> Iterator[tuple[FloatArray, IntArray]]:
        """Score a corpus, so many tokens at once: emissions ``[N, L]`` of a block, and the offsets of its sentences."""
        table = {name: column for name, column in corpus.columns.items() if name != TAG}
        self._numbered.template.check_columns(list(table))
        columns = [compact(column) for column in table.values()][: self._numbered.num_columns]
        try:
            words = self._idle.pop()
        except IndexError:  # a question before would not do: another thread may take them in between
            words = _Words(self._numbered)
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


class _Words:
    """The words that are known, with their sums; for one caller at a time."""

    def __init__(self, numbered: NumberedTemplate) -> None:
        lines, names, columns = numbered.template.states, numbered.names, range(numbered.num_columns)
        # Lines that look at one word, by its column.
        alone: list[list[TemplateLine]] = [[] for _ in columns]
        for line in filter(_is_of_one_word, lines):
            alone[line.macros[0].derivation.column].append(line)
        rows, skeletons = _skeletons(line for line in lines if not _is_of_one_word(line))
        # And the words as they are, by which the core finds several lines at once.
        for derivation, reach in list(rows.items()):
            rows.setdefault(Derivation(derivation.column), []).extend(reach)
        looked_at = dict.fromkeys(macro.derivation for each in alone for line in each for macro in line.macros)
        self._derivations = [*dict.fromkeys([*looked_at, *rows])]
        numbers = {derivation: number for number, derivation in enumerate(self._derivations)}
        self.core: Any = compiled.require().WordScores(
            numbered.scorer.states,
            None if names is None else names.parts,
            numbered.hash_bits or 0,
            [(derivation.column, derivation.steps) for derivation in self._derivations],
            [_alone(each, numbers) for each in alone],
            [
                (
                    numbers[derivation],
                    tuple(derivation.of_padding(-k) for k in range(1, 1 - min(reach))),
                    tuple(derivation.of_padding(k) for k in range(1, 1 + max(reach))),
                    derivation.is_fine,
                )
                for derivation, reach in rows.items()
            ],
            skeletons,
        )
        windows = [[line.macros[0].row for line in each] for each in alone]
        self._bytes = [4 * numbered.scorer.structure.num_labels * len(set(window)) for window in windows]  # of a word
        self._count = [0 for _ in columns]
        for column, window in enumerate(windows):
            before, behind = min([0, *window]), max([0, *window])
            if distances := [*range(-1, before - 1, -1), *range(1, behind + 1)]:
                self.core.add(column, (), [tuple(map(taken.of_padding, distances)) for taken in self._derivations])

    @property
    def full(self) -> bool:
        """Whether so many words are known that one should begin anew."""
        size = sum(count * size for count, size in zip(self._count, self._bytes, strict=True))
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
                words = dict.fromkeys(column.vocabulary[number] for number in unknown[found < 0].tolist())
                simple = [word for word in words if word and word.isascii()]
                self._add(c, simple, by_core=True)
                self._add(c, [word for word in words if not word or not word.isascii()], by_core=False)
                known[unknown] = self.core.find(c, column.vocabulary, unknown)
        return known[ids]

    def _add(self, c: int, words: list[str], by_core: bool) -> None:
        """Add new words; those of ASCII may be left to the functions of the core."""
        if not words:
            return
        taken: list[tuple[str | None, ...] | None] = []
        for derivation in self._derivations:
            left = derivation.column != c or (by_core and derivation.steps is not None)
            taken.append(None if left else tuple(derivation.of_all(words)))
        self.core.add(c, tuple(words), taken)
        self._count[c] += len(words)


def _skeletons(lines: Iterable[TemplateLine]) -> tuple[dict[Derivation, list[int]], list[Skeleton]]:
    """Lines as the core takes them, and what they take from columns, with the rows that they take it from."""
    rows: dict[Derivation, list[int]] = {}
    skeletons = []
    for line in lines:
        for macro in line.macros:
            rows.setdefault(macro.derivation, [0]).append(macro.row)
        numbers = {derivation: number for number, derivation in enumerate(rows)}
        skeletons.append((line.literals, [(numbers[macro.derivation], macro.row) for macro in line.macros]))
    return rows, skeletons


def _is_of_one_word(line: TemplateLine) -> bool:
    return len({(macro.row, macro.derivation.column) for macro in line.macros}) == 1


def _alone(
    lines: Sequence[TemplateLine], numbers: dict[Derivation, int]
) -> tuple[list[int], list[Skeleton], list[int]]:
    """Lines that look at one word as the core takes them: their derivations, the lines with row 0, their rows."""
    here = [replace(line, macros=tuple(replace(macro, row=0) for macro in line.macros)) for line in lines]
    rows, skeletons = _skeletons(here)
    return [numbers[derivation] for derivation in rows], skeletons, [line.macros[0].row for line in lines]
