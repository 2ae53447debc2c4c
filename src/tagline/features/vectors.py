"""Word vectors as features: each number of a word's vector is the value of an attribute.

The template line ``U80:%v[-1,0]`` gives the token the attributes ``U80:0`` … ``U80:D-1``, whose values are the vector
of the word before, times a scale. Vectors are kept as float16, in memory as in files, so that 100,000 words of 50
numbers take 10 MB; a word without a vector takes that of its lower case, or gives no attribute, and so does padding.
`add_vectors` is the definition, for training; `VectorScorer` adds the same to emissions, once a distinct word.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tagline.checks import shown, shown_value
from tagline.errors import InputError
from tagline.features.attributes import Attributes, Expanded
from tagline.features.expansion import compact
from tagline.features.lexicons.embeddings import Embeddings, read_embeddings
from tagline.features.templates.lines import TemplateLine
from tagline.features.templates.macros import Derivation
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import Structure
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.types import FloatArray, IntArray

_LARGEST = 6e4  # of float16


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their scaled vectors.

    Attributes:
        words: V distinct ones.
        table: ``[V, D]``, float16.
        scale: that the table has been multiplied by.

    >>> vectors = WordVectors.of({"rome": [1, 2], "sings": [-2, 0]}, scale=0.5)
    >>> vectors.rows(["Rome", "runs"]).tolist(), vectors.table[0].tolist()
    ([0, -1], [0.5, 1.0])
    """

    words: tuple[str, ...]
    table: NDArray[np.float16]
    scale: float = 1.0

    def __post_init__(self) -> None:
        shape = np.shape(self.table)
        if len(shape) != 2 or shape[0] != len(self.words) or len(set(self.words)) != len(self.words) or not shape[1]:
            raise InputError(
                "vectors: expected distinct words and a row for each, got {} and {}", len(self.words), shape
            )
        if not all(isinstance(word, str) and word and "\n" not in word for word in self.words):
            raise InputError("vectors: expected words that are strings without line breaks, got others")
        if not np.isfinite(self.table).all():
            raise InputError("vectors: expected numbers of at most {:g} after scaling, got others", _LARGEST)

    @classmethod
    def of(cls, vectors: object, scale: float | None = None) -> WordVectors:
        """Return the vectors of a file, a mapping, or `Embeddings`, times a scale; without one, as they are."""
        if isinstance(vectors, WordVectors):
            if scale is None or scale == vectors.scale or not vectors.scale:
                return vectors
            numbers = vectors.table.astype(np.float32) * np.float32(scale / vectors.scale)
            return cls(vectors.words, np.clip(numbers, -_LARGEST, _LARGEST).astype(np.float16), float(scale))
        scale = 1.0 if scale is None else float(scale)
        if isinstance(vectors, Mapping):
            try:
                table = np.array([*vectors.values()], np.float32).reshape(len(vectors), -1)
            except (ValueError, TypeError) as error:
                raise InputError(
                    "vectors: expected as many numbers for each word, got others ({})", shown(str(error))
                ) from None
            vectors = Embeddings(tuple(map(str, vectors)), table)
        elif isinstance(vectors, str | os.PathLike):
            vectors = read_embeddings(vectors)
        if not isinstance(vectors, Embeddings):
            raise InputError("vectors: expected a file, a mapping or Embeddings, got {}", shown_value(vectors))
        scaled = np.clip(vectors.vectors * np.float32(scale), -_LARGEST, _LARGEST)
        return cls(vectors.words, scaled.astype(np.float16), scale)

    @property
    def size(self) -> int:
        """D."""
        return int(self.table.shape[1])

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def rows(self, words: Sequence[str | None]) -> IntArray:
        """Return the row of each word, or of its lower case; −1 where there is none."""
        numbers = self._numbers
        return np.array(
            [-1 if word is None else numbers.get(word, numbers.get(word.lower(), -1)) for word in words], np.int64
        )


def vector_names(lines: Sequence[TemplateLine], size: int) -> list[list[str]]:
    """Name the attributes of each line, ``[lines][D]``."""
    return [[f"{line.literals[0]}{d}{line.literals[1]}" for d in range(size)] for line in lines]


def add_vectors(
    expanded: Expanded, lines: Sequence[TemplateLine], vectors: WordVectors, corpus: Corpus, known: bool = False
) -> Expanded:
    """Add the attributes of vector lines to those of strings.

    Arguments:
        known: whether attributes that have no number yet are left out; otherwise they get one.
    """
    assert expanded.states is not None
    states, names = expanded.features.states, vector_names(lines, vectors.size)
    flat = [name for line in names for name in line]
    vocabulary = expanded.states if known else expanded.states.extended(flat)
    ids = vocabulary.find_all(flat).reshape(len(lines), -1)  # [lines, D]
    tokens, columns, rows = [], [], []
    for number, line in enumerate(lines):
        row = _rows_at(line, vectors, corpus)  # [N]
        token = np.flatnonzero(row >= 0)
        tokens.append(token)
        columns.append(np.full(len(token), number))
        rows.append(row[token])
    token, column, row = (np.concatenate(parts) for parts in (tokens, columns, rows))
    order = np.argsort(token, kind="stable")
    token, column, row = token[order], column[order], row[order]
    return replace(
        expanded,
        features=replace(expanded.features, states=_merged(states, token, ids[column], vectors.table[row])),
        states=vocabulary,
    )


def _rows_at(line: TemplateLine, vectors: WordVectors, corpus: Corpus) -> IntArray:
    """Return the row of the vector that a line gives each token, ``[N]``, −1 for none."""
    column = compact(_column(line, corpus))
    rows = _rows_of(line, vectors, column.vocabulary)[column.ids]
    place, inside = _places(line.macros[0].row, corpus.offsets)
    shifted = np.full(len(rows), -1)
    shifted[inside] = rows[place[inside]]
    return shifted


def _rows_of(line: TemplateLine, vectors: WordVectors, words: Sequence[str]) -> IntArray:
    """Return the row of the vector of each word."""
    return vectors.rows(replace(line.macros[0].derivation, command="x").of_all(words))


def _column(line: TemplateLine, corpus: Corpus) -> Column:
    columns = [column for name, column in corpus.columns.items() if name != TAG]
    return columns[line.macros[0].derivation.column]


def _places(shift: int, offsets: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the place so many tokens away from each token, and whether it is in its sentence."""
    lengths = np.diff(offsets)
    begins, ends = np.repeat(offsets[:-1], lengths), np.repeat(offsets[1:], lengths)
    place = np.arange(len(begins)) + shift
    return place, (place >= begins) & (place < ends)


def _merged(states: Attributes, token: IntArray, ids: NDArray[np.int32], values: NDArray[np.float16]) -> Attributes:
    """Put rows of attributes, of ascending tokens, behind those that the tokens have; ids below 0 are left out."""
    kept = ids >= 0
    added = np.bincount(np.repeat(token, ids.shape[1])[kept.ravel()], minlength=states.num_tokens)
    counts = np.diff(states.offsets)
    offsets = np.concatenate([[0], np.cumsum(counts + added)])
    is_new = np.ones(offsets[-1], np.bool_)
    is_new[np.repeat(offsets[:-1] - states.offsets[:-1], counts) + np.arange(len(states.ids))] = False
    merged_ids = np.empty(offsets[-1], np.int32)
    merged_values = np.ones(offsets[-1], np.float32)
    merged_ids[~is_new], merged_ids[is_new] = states.ids, ids[kept]
    if states.values is not None:
        merged_values[~is_new] = states.values
    merged_values[is_new] = values[kept]
    return Attributes(offsets, merged_ids, merged_values)


class VectorScorer:
    """What vectors add to emissions.

    Arguments:
        lines: the vector lines of a template.
        names, structure, weights: the attributes of a model, which of them have weights for which labels, and these.
    """

    def __init__(
        self,
        lines: Sequence[TemplateLine],
        vectors: WordVectors,
        names: Vocabulary,
        structure: Structure,
        weights: FloatArray,
    ) -> None:
        self._lines, self._vectors = lines, vectors
        L = structure.num_labels
        self._weights = np.zeros((len(lines), vectors.size, L), np.float32)
        for k, line in enumerate(vector_names(lines, vectors.size)):
            for d, number in enumerate(names.find_all(line).tolist()):
                if number >= 0:
                    begin, end = structure.state_offsets[number : number + 2]
                    self._weights[k, d, structure.state_labels[begin:end]] = weights[begin:end]

    def of_corpus(self, corpus: Corpus) -> VectorScores:
        """Score the distinct words of a corpus."""
        scores = []
        known: dict[Derivation, tuple[Column, IntArray, FloatArray]] = {}  # words, those with vectors, vectors
        for line, weights in zip(self._lines, self._weights, strict=True):
            derivation = line.macros[0].derivation
            if derivation not in known:
                column = compact(_column(line, corpus))
                rows = _rows_of(line, self._vectors, column.vocabulary)
                filled = np.flatnonzero(rows >= 0)
                known[derivation] = column, filled, self._vectors.table[rows[filled]].astype(np.float32)
            column, filled, vectors = known[derivation]
            table = np.zeros((len(column.vocabulary) + 1, weights.shape[1]), np.float32)  # [words + 1, L]
            table[filled] = vectors @ weights
            scores.append((line.macros[0].row, column.ids, table))
        return VectorScores(scores)


@dataclass(frozen=True, eq=False)
class VectorScores:
    """What vectors add to the emissions of one corpus: for each line its row, words ``[N]``, scores ``[words + 1, L]``.

    The last row of scores is 0, for places beyond a sentence.
    """

    lines: list[tuple[int, NDArray[np.int32], FloatArray]]

    def add_to(self, emissions: FloatArray, begin: int, offsets: IntArray) -> None:
        """Add them to a block of tokens, ``[N, L]``, that begins at a token of the corpus."""
        for row, words, scores in self.lines:
            here = words[begin : begin + len(emissions)]
            if row:
                place, inside = _places(row, offsets)
                here = np.where(inside, here[np.where(inside, place, 0)], len(scores) - 1)
            emissions += scores[here]
