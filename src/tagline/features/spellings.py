"""Words as a neural tagger reads them: numbers for each distinct spelling, then batches of sentences.

A spelling is read three ways: as a word that is known or not (looked up as it is, in lower case, with its digits as 0,
then with both), by its case, and by its characters. All of it is worked out once for each distinct spelling, so that a
batch only points to rows; within a batch, each distinct spelling is there once. Number 0 pads and 1 is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.checks import as_whole
from tagline.features.templates import word_functions
from tagline.features.vocabulary import Vocabulary
from tagline.readers.corpus import Column
from tagline.types import IntArray

PADDING, UNKNOWN, KNOWN = 0, 1, 2
"""The number that pads, that of what is unknown, and the first of what is known."""

CASES = ("lower", "title", "upper", "mixed", "number", "letters and digits", "other")
NUM_CASES = len(CASES) + 1
"""Padding is one of them, 0; a spelling's case is the place in `CASES` plus one."""

Characters = NDArray[np.int32]

_UNCASED = str.maketrans("cd", "--")


@dataclass(frozen=True, eq=False)
class FormTable:
    """Which words and characters a model knows.

    Attributes:
        words: the known words; those of the training corpus come first.
        characters: the known characters.
        lowercase: whether a word that is unknown as it is spelt is looked up in lower case.
        longest: how many characters of a spelling are read; of longer ones, the first half and the last half.

    >>> table = FormTable.learn(Column.of(["Rome", "in", "1996"]))
    >>> table.words.names(), table.forms(["ROME", "1871", "Paris"]).words.tolist()
    (['rome', 'in', '0000'], [2, 4, 1])
    """

    words: Vocabulary
    characters: Vocabulary
    lowercase: bool = True
    longest: int = 30

    @classmethod
    def learn(
        cls,
        column: Column,
        *,
        min_frequency: int = 1,
        extra: Sequence[str] = (),
        lowercase: bool = True,
        longest: int = 30,
    ) -> FormTable:
        """Take the words and characters of a training corpus.

        A word that is in `extra`, as it is or changed, goes by that name; others in lower case with digits as 0.

        Arguments:
            min_frequency: how often a word must occur to be known; those of `extra` always are.
            extra: more words to know, such as those of a file of word vectors.
        """
        least, read = as_whole("min_frequency", min_frequency, 1), as_whole("longest", longest, 1)
        more = Vocabulary.of(extra)
        counts = np.bincount(column.ids, minlength=len(column.vocabulary))
        used = [column.vocabulary[v] for v in np.flatnonzero(counts)]
        rows = _find(more, used, lowercase).tolist()
        names = [more[row] if row >= 0 else name for row, name in zip(rows, _plainest(used, lowercase), strict=True)]
        totals: dict[str, int] = {}
        for name, count in zip(names, counts[counts > 0].tolist(), strict=True):
            totals[name] = totals.get(name, 0) + count
        frequent = [name for name, total in totals.items() if total >= least]
        letters = dict.fromkeys(letter for word in used for letter in word)
        return cls(Vocabulary.of(frequent).extended(more), Vocabulary.of(letters), lowercase, read)

    @property
    def num_words(self) -> int:
        """How many numbers words have, with padding and the unknown word."""
        return len(self.words) + KNOWN

    @property
    def num_characters(self) -> int:
        """How many numbers characters have, with padding and the unknown character."""
        return len(self.characters) + KNOWN

    def forms(self, vocabulary: Sequence[str]) -> Forms:
        """Read V distinct spellings, such as the vocabulary of a corpus' column."""
        cases: dict[str, int] = {}
        shapes = word_functions.apply("shape", vocabulary)
        return Forms(
            words=_find(self.words, vocabulary, self.lowercase) + KNOWN,
            cases=np.array([_case(str(shape), cases) for shape in shapes], np.int64),
            characters=self._characters(vocabulary),
        )

    def _characters(self, vocabulary: Sequence[str]) -> Characters:
        """Return the numbers of the characters that are read, ``[V, C]`` with C at least 1."""
        tail = self.longest // 2
        head = self.longest - tail
        read = [word if len(word) <= self.longest else word[:head] + word[len(word) - tail :] for word in vocabulary]
        lengths = np.fromiter(map(len, read), np.int64, len(read))
        codes = np.frombuffer("".join(read).encode("utf-32-le", "surrogatepass"), "<u4")
        distinct, places = np.unique(codes, return_inverse=True)
        numbers = self.characters.find_all(map(chr, distinct.tolist())) + KNOWN
        table = np.zeros((len(read), max(1, lengths.max(initial=0))), np.int32)
        table[_inside(lengths, table.shape[1])] = numbers[places]
        return table


@dataclass(frozen=True, eq=False)
class Forms:
    """V distinct spellings as numbers.

    Attributes:
        words: ``[V]``.
        cases: ``[V]``, below `NUM_CASES`.
        characters: ``[V, C]``, 0 after a spelling's last character.
    """

    words: IntArray
    cases: IntArray
    characters: Characters

    def batch(self, ids: Sequence[NDArray[Any]]) -> FormBatch:
        """Lay out sentences, each given by which of the V spellings its tokens are."""
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        tokens = np.concatenate([np.zeros(0, np.int64), *ids])
        distinct, places = np.unique(tokens, return_inverse=True)
        forms = np.zeros((len(ids), int(lengths.max(initial=0))), np.int64)
        forms[_inside(lengths, forms.shape[1])] = places + 1
        characters = self.characters[distinct]
        width = max(1, int((characters != PADDING).any(0).sum()))
        return FormBatch(
            forms,
            np.append(PADDING, self.words[distinct]),
            np.append(PADDING, self.cases[distinct]),
            np.concatenate([np.zeros((1, width), np.int32), characters[:, :width]]),
            lengths,
        )


@dataclass(frozen=True, eq=False)
class FormBatch:
    """B sentences over U distinct spellings, of which row 0 is padding.

    Attributes:
        forms: ``[B, T]``, the spelling of each token, 0 after the last one of a sentence.
        words, cases: ``[U]``.
        characters: ``[U, C]``.
        lengths: ``[B]``, 0 allowed.
    """

    forms: IntArray
    words: IntArray
    cases: IntArray
    characters: Characters
    lengths: IntArray


def _inside(lengths: IntArray, width: int) -> NDArray[np.bool_]:
    return np.asarray(np.arange(width) < lengths[:, None])


def _find(vocabulary: Vocabulary, words: Sequence[str], lowercase: bool) -> IntArray:
    """Return the number of each word, −1 where it is unknown in each of its spellings."""
    numbers = vocabulary.find_all(words).astype(np.int64)
    for changes in (("lower",), ("digits",), ("lower", "digits")) if lowercase else (("digits",),):
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            numbers[missing] = vocabulary.find_all(_changed([words[v] for v in missing.tolist()], changes))
    return numbers


def _plainest(words: Sequence[str], lowercase: bool) -> list[str]:
    return _changed(words, ("lower", "digits") if lowercase else ("digits",))


def _changed(words: Sequence[str], changes: Iterable[str]) -> list[str]:
    for change in changes:
        words = [str(word) for word in word_functions.apply(change, words)]
    return list(words)


def _case(shape: str, known: dict[str, int]) -> int:
    """Return the case of a spelling by its shape, in which X, x, c are letters and d is a digit."""
    if shape not in known:
        if "d" in shape:
            name = "letters and digits" if {*shape} & {*"Xxc"} else "number"
        else:
            name = word_functions.case(shape.translate(_UNCASED)) or "other"
        known[shape] = CASES.index(name) + 1
    return known[shape]
