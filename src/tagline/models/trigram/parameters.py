"""What a trigram tagger has learned, and how: from counted words and tags to lists of candidates and trigrams.

A state is a tag, or a tag of a word with a capital (K + tag). Words have a list of candidate states each, with
log P(word | state); so have the endings of rare words, by which the tags of unknown words are guessed, and no ending at
all. The lists are numbered: words, endings of words in small letters, endings of words with a capital, no ending
(small, capital).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.features.suffixes import LabelShares, endings, joined, likely
from tagline.features.vocabulary import Vocabulary
from tagline.models.trigram.counts import TrigramCounts
from tagline.ragged import row_offsets
from tagline.types import BoolArray, Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """States that a token may have, list after list.

    Attributes:
        offsets: ``[W + 1]``.
        states: ``[M]``, ascending in each list.
        scores: ``[M]``, log P(word | state) up to a constant for each list.
    """

    offsets: IntArray
    states: NDArray[np.int32]
    scores: NDArray[np.float32]

    def core(self, num_states: int) -> Any:
        """Give them to the compiled core."""
        return compiled.require().Candidates(self.offsets, self.states, self.scores, num_states)


LONGEST_ENDING = 2**31 - 1  # characters


@dataclass(frozen=True, eq=False)
class TrigramParameters:
    """The learned part of a trigram tagger.

    Attributes:
        labels: K tags, sorted.
        capitals: whether states tell words with a capital from others; there are 2 K then, else K.
        counts: of trigrams of states.
        weights: λ1, λ2, λ3.
        words: the known ones.
        endings: of rare words, in small letters and with a capital.
        longest: characters of an ending.
        candidates: a list for each word, each ending, and for no ending.
    """

    labels: tuple[str, ...]
    capitals: bool
    counts: TrigramCounts
    weights: Float64Array
    words: Vocabulary
    endings: tuple[Vocabulary, Vocabulary]
    longest: int
    candidates: CandidateLists

    @cached_property
    def log_table(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Log p(c | a, b): a table, and the row of each (a, b) in it."""
        return self.counts.table(self.weights)

    @cached_property
    def trigrams(self) -> Any:
        """Log p(c | a, b) in the compiled core."""
        return compiled.require().Trigrams(*self.log_table)

    @cached_property
    def lists(self) -> Any:
        """The candidates in the compiled core."""
        return self.candidates.core(self.counts.num_states)

    @cached_property
    def lexicon(self) -> Any:
        """Words and endings in the compiled core."""
        return compiled.require().Lexicon(self.words.parts, *(names.parts for names in self.endings), self.longest)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tag of each state."""
        return self.labels * (1 + self.capitals)


@dataclass(frozen=True, eq=False)
class TaggedWords:
    """Sentences to learn from.

    Attributes:
        words: V distinct strings.
        ids: ``[N]``, the word of each token.
        tags: ``[N]``, numbers below K.
        offsets: ``[B + 1]``.
    """

    words: Sequence[str]
    ids: IntArray
    tags: IntArray
    offsets: IntArray


@dataclass(frozen=True, eq=False)
class TaggedCounts:
    """Sentences to learn from, counted: all that is learned from them.

    Attributes:
        words: V distinct strings.
        pairs: how often words have tags.
        grams: trigrams of tags, or of states that tell words with a capital from others, 2 K of them.
    """

    words: Sequence[str]
    pairs: Pairs
    grams: TrigramCounts

    @classmethod
    def of(cls, data: TaggedWords, K: int, capitals: bool) -> TaggedCounts:
        """Count; with `capitals` states tell words with a capital from others."""
        shift = K * (begin_high(data.words) & capitals)
        grams = TrigramCounts.of(data.tags + shift[data.ids], data.offsets, K * (1 + capitals))
        return cls(data.words, Pairs.of(data, K), grams)


def begin_high(words: Sequence[str]) -> BoolArray:
    """Say of each word whether it begins with a capital, ``[V]``."""
    return np.fromiter((word[:1].isupper() for word in words), np.bool_, len(words))


def tells_capitals(words: Sequence[str]) -> bool:
    """Say whether some words begin with a capital and some do not."""
    high = begin_high(words)
    return bool(high.any() and not high.all())


@dataclass(frozen=True, eq=False)
class Pairs:
    """How often words have tags: E distinct pairs, ascending.

    Attributes:
        words, tags, counts: ``[E]``.
        num_words, num_tags: V, K.
    """

    words: IntArray
    tags: IntArray
    counts: IntArray
    num_words: int
    num_tags: int

    @classmethod
    def of(cls, data: TaggedWords, K: int) -> Pairs:
        keys, counts = np.unique(data.ids * K + data.tags, return_counts=True)
        return cls(keys // K, keys % K, counts.astype(np.int64), len(data.words), K)

    def totals(self) -> IntArray:
        """Tokens of each word, ``[V]``."""
        return np.bincount(self.words, self.counts, self.num_words).astype(np.int64)

    def shares(self, tokens: IntArray, ratio: float) -> LabelShares:
        """The probable tags of each word, and the share of it in the ``[E]`` tokens of that tag."""
        most = np.zeros(self.num_words, np.int64)
        np.maximum.at(most, self.words, self.counts)
        probable = self.counts * ratio >= most[self.words]
        offsets = row_offsets(self.words[probable], self.num_words)
        return LabelShares(offsets, self.tags[probable], self.counts[probable] / tokens[probable])

    def matrix(self, chosen: BoolArray) -> Float64Array:
        """The counts of some words, ``[·, K]``."""
        rows, entries = np.cumsum(chosen) - 1, chosen[self.words]
        out = np.zeros((int(chosen.sum()), self.num_tags))
        out[rows[self.words[entries]], self.tags[entries]] = self.counts[entries]
        return out


def learn(data: TaggedCounts, labels: Sequence[str], *, rare: int, longest: int, ratio: float) -> TrigramParameters:
    """Make probabilities of counts; see `TrigramTagger` for the arguments."""
    K, pairs, counts = len(labels), data.pairs, data.grams
    high, capitals = begin_high(data.words), counts.num_states > K
    shift = K * (high & capitals)  # [V]
    states = pairs.tags + shift[pairs.words]  # [E]
    known = pairs.shares(np.bincount(states, pairs.counts).astype(np.int64)[states], ratio)
    prior = np.bincount(pairs.tags, pairs.counts, K).astype(np.int64) / pairs.counts.sum()
    seldom = pairs.totals() <= rare
    guessed = []
    for capital in (False, True):
        chosen = seldom & (high == capital)
        shown = chosen if chosen.any() else seldom  # nothing is known of such words: take the others
        words = [data.words[w] for w in np.flatnonzero(shown).tolist()]
        guessed.append(endings(words, pairs.matrix(shown), prior, longest, ratio))
    (small, _), (capital_endings, _) = guessed
    return TrigramParameters(
        tuple(labels),
        capitals,
        counts,
        counts.weights(),
        Vocabulary.of(data.words),
        (small, capital_endings),
        longest,
        _candidates(known, [shares for _, shares in guessed], prior, ratio, shift, K * capitals),
    )


def _candidates(
    known: LabelShares, guessed: list[LabelShares], prior: Float64Array, ratio: float, shift: IntArray, high: int
) -> CandidateLists:
    """All lists: of words P(w | s), of endings and none P(t | ending) / P(t)."""
    none = LabelShares.of(prior[None], likely(prior[None], ratio))
    inverted = [
        LabelShares(part.offsets, part.labels, part.shares / prior[part.labels]) for part in [*guessed, none, none]
    ]
    lists = joined([known, *inverted])
    sizes = [len(part.offsets) - 1 for part in guessed]
    shifts = np.concatenate([shift, np.repeat([0, high, 0, high], [*sizes, 1, 1])])
    states = lists.labels + np.repeat(shifts, np.diff(lists.offsets))
    return CandidateLists(lists.offsets, states.astype(np.int32), np.log(lists.shares).astype(np.float32))
