"""Small second-order chains, and what they should answer: by enumeration of all labellings and by dense pair states."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tagline import compiled
from tagline.types import Chain

INF = float("inf")


@dataclass(frozen=True, eq=False)
class Case:
    """A model over S states, lists of candidates, and sentences.

    Attributes:
        table, rows: log p(c | a, b) = table[rows[a, b], c].
        lists: (states, scores) of each word.
        sentences: words each.
    """

    table: NDArray[np.float32]
    rows: NDArray[np.int32]
    lists: tuple[tuple[list[int], list[float]], ...]
    sentences: tuple[list[int], ...]

    @property
    def num_states(self) -> int:
        return self.table.shape[1] - 1

    def core(self) -> tuple[Any, tuple[Any, ...]]:
        """The model, and the arguments that every question takes."""
        assert compiled.core is not None
        offsets = np.cumsum([0, *(len(states) for states, _ in self.lists)], dtype=np.int64)
        states = np.array([state for some, _ in self.lists for state in some], np.int32)
        scores = np.array([score for _, some in self.lists for score in some], np.float32)
        candidates = compiled.core.Candidates(offsets, states, scores, self.num_states)
        words = np.array([word for sentence in self.sentences for word in sentence], np.int32)
        bounds = np.cumsum([0, *map(len, self.sentences)], dtype=np.int64)
        return compiled.core.Trigrams(self.table, self.rows), (candidates, words, bounds)

    def move(self, a: int, b: int, c: int) -> float:
        return float(self.table[self.rows[a, b], c])

    def score(self, sentence: list[int], path: tuple[int, ...]) -> float:
        """The definition, summed in its order."""
        S = self.num_states
        line = [S, S, *path, S]
        total = 0.0
        for t, word in enumerate(sentence):
            states, scores = self.lists[word]
            total += self.move(*line[t : t + 3])
            total += scores[states.index(path[t])]
        return total + self.move(*line[-3:])

    def labellings(self, sentence: list[int]) -> list[tuple[float, tuple[int, ...]]]:
        """All that are possible, best first; equal ones by the smaller state from the end backwards."""
        if not sentence:
            return [(0.0, ())]
        paths = product(*(self.lists[word][0] for word in sentence))
        found = [(self.score(sentence, path), path) for path in paths]
        return sorted((one for one in found if one[0] > -INF), key=lambda one: (-one[0], one[1][::-1]))

    def chain(self) -> Chain:
        """The same as a first-order chain over all pairs of states."""
        S, width = self.num_states, self.num_states + 1
        pairs = list(product(range(width), repeat=2))
        moves = np.full((len(pairs), len(pairs)), -INF)
        for i, (a, b) in enumerate(pairs):
            for j, (same, c) in enumerate(pairs):
                if b == same:
                    moves[i, j] = self.move(a, b, c)
        start = np.array([self.move(S, S, c) if b == S else -INF for b, c in pairs])
        end = np.array([self.move(a, b, S) for a, b in pairs])
        rows = []
        for sentence in self.sentences:
            emitted = np.full((len(sentence), len(pairs)), -INF)
            for t, word in enumerate(sentence):
                for state, score in zip(*self.lists[word], strict=True):
                    emitted[t, [pair for pair, (_, c) in enumerate(pairs) if c == state]] = score
            rows.append(emitted)
        return Chain.from_sentences(rows, moves, start, end)


@st.composite
def cases(draw: st.DrawFn, whole: bool = False, most_states: int = 4, impossible: bool = True) -> Case:
    """Draw a case.

    Arguments:
        whole: scores are small whole numbers, so that many labellings are equal.
        impossible: some scores may be −∞.
    """
    S = draw(st.integers(1, most_states))
    R = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))

    def scores(*shape: int) -> NDArray[np.float32]:
        values = rng.integers(-2, 1, shape) if whole else rng.normal(scale=3, size=shape)
        values = np.where(rng.random(shape) < 0.1, -INF, values) if impossible else values
        return np.asarray(values, np.float32)

    words = draw(st.integers(1, 4))
    lists = []
    for _ in range(words):
        count = int(rng.integers(0 if impossible else 1, S + 1))
        lists.append((sorted(rng.choice(S, count, replace=False).tolist()), scores(count).tolist()))
    lengths = draw(st.lists(st.integers(0, 5), min_size=0, max_size=4))
    sentences = tuple(rng.integers(0, words, length).tolist() for length in lengths)
    return Case(scores(R, S + 1), rng.integers(0, R, (S + 1, S + 1)).astype(np.int32), tuple(lists), sentences)
