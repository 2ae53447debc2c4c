"""Attributes of whole segments: their string, shape, boundary words, dictionary entry, and how often they were seen.

A segment has the numbers of its attributes in compressed rows (`SegmentRows`). Names are kept for readers; what is
looked up are 64-bit keys, which are made for all segments of a corpus at once: the key of a string is a polynomial in
the hashes of its tokens. Of 10^7 segments against 10^5 known keys one is mistaken with a probability of 10^-7.

The lexicon counts how often each string was a segment of each label in the training sentences. A training sentence is
not counted for its own segments: else every string of it would be known, and no weight could learn what unknown ones
are like.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagline.chain.segments.types import ends_of, readable
from tagline.checks import is_listing, shown_value
from tagline.errors import InputError
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.templates.word_functions import shortshape
from tagline.models.semicrf.settings import KINDS, NAMED
from tagline.models.sentences import words_of
from tagline.ragged import row_offsets
from tagline.readers.corpus import Corpus
from tagline.types import BoolArray, Float64Array, IntArray

Keys = NDArray[np.uint64]

BUCKETS = 8
"""How often a string was seen: never, once, twice, up to 4, 8, 16, 64, more often."""
_LEAST = np.array([1, 2, 3, 5, 9, 17, 65])

_FACTOR, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_OUTSIDE = np.uint64(1)  # stands for the word beyond the end of a sentence


def check_kinds(place: str, kinds: object) -> None:
    """Raise unless a value names kinds of attributes."""
    named = tuple(kinds) if is_listing(kinds) else None
    if named is None or not all(isinstance(kind, str) and kind in KINDS for kind in named):
        raise InputError("{}: expected some of {}, got {}", place, ", ".join(KINDS), shown_value(kinds))


def check_dictionary(place: str, dictionary: object) -> None:
    """Raise unless a value is a dictionary whose matches are attributes, or None."""
    if dictionary is not None and (not isinstance(dictionary, Dictionary) or dictionary.priority != "feature"):
        raise InputError(
            '{}: expected a Dictionary of priority "feature" or None, got {}', place, shown_value(dictionary)
        )


@dataclass(frozen=True, eq=False)
class SegmentRows:
    """The attributes of segments; those that have none have no row.

    Attributes:
        places: ``[R]``, n·D + d of the segment that ends with token n and has d + 1 tokens, ascending.
        offsets: ``[R + 1]``, where the attributes of each begin.
        ids: ``[M]``, their numbers.
    """

    places: IntArray
    offsets: IntArray
    ids: NDArray[np.int32]

    def block(self, first: int, last: int) -> tuple[SegmentRows, slice]:
        """Return the rows with places from first to last − 1, counted from first, and which rows they are."""
        low, high = np.searchsorted(self.places, [first, last]).tolist()
        begin, end = self.offsets[low], self.offsets[high]
        rows = SegmentRows(self.places[low:high] - first, self.offsets[low : high + 1] - begin, self.ids[begin:end])
        return rows, slice(low, high)


@dataclass(frozen=True, eq=False)
class Lexicon:
    """How often strings were segments of each label.

    Attributes:
        keys: ``[S]``, ascending.
        counts: ``[S, L]``.
    """

    keys: Keys
    counts: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Gold:
    """The segments of training sentences: last token, tokens − 1 and label of each, ``[G]``."""

    last: IntArray
    sizes: IntArray
    labels: IntArray

    @classmethod
    def of(cls, labels: IntArray, begins: BoolArray, offsets: IntArray) -> Gold:
        """List the segments of a segmentation."""
        last = np.flatnonzero(ends_of(begins, offsets))
        return cls(last, last - np.flatnonzero(begins), labels[last])


@dataclass(frozen=True, eq=False)
class SegmentNames:
    """The attributes of segments that a model knows.

    Attributes:
        keys: ``[A]``, ascending.
        names: for readers, in the order of the keys.
    """

    keys: Keys
    names: tuple[str, ...]


class SegmentReader:
    """Makes the keys of all segments of a corpus.

    Arguments:
        corpus: sentences of words.
        max_length: D.
        kinds: of attributes.
        dictionary: whose matches are attributes.
    """

    def __init__(
        self, corpus: Corpus, max_length: int, kinds: Sequence[str], dictionary: Dictionary | None = None
    ) -> None:
        column = words_of(corpus)
        self.offsets, self.max_length, self.kinds = corpus.offsets, max_length, tuple(kinds)
        self._strings, self._ids = column.vocabulary, column.ids
        self._words = _hashes(column.vocabulary)[column.ids]
        self._shapes = (
            _hashes([shortshape(word) for word in column.vocabulary])[column.ids] if "shape" in kinds else None
        )
        self._readable = readable(corpus.offsets, max_length)  # [N, D]
        self._matches = None if dictionary is None else dictionary.match(corpus)

    def keys(self, kind: str) -> Iterator[tuple[int, IntArray, Keys]]:
        """Give for each length d + 1 the last tokens of its segments, and their keys."""
        if kind == "dictionary":
            yield from self._dictionary_keys()
            return
        values = self._shapes if kind == "shape" else self._words
        assert values is not None
        salt = _hashes([kind])[0]
        N, joined = len(values), values
        before, after = np.full((2, N + 1), _OUTSIDE)
        before[1:], after[:-1] = values, values
        edges = self.offsets
        before[edges[:-1]] = _OUTSIDE
        after[edges[1:]] = _OUTSIDE
        for d in range(min(self.max_length, N)):
            if d:
                joined = joined[:-1] * _FACTOR + values[d:]  # [N − d], segments that end at d, d + 1, …
            inside = self._readable[d:, d]
            last = np.flatnonzero(inside) + d
            if kind in ("string", "shape"):
                chosen = joined[inside]
            elif kind in ("first", "before"):
                chosen = (values if kind == "first" else before)[last - d]
            else:
                chosen = values[last] if kind == "last" else after[last + 1]
            yield d, last, _mixed(chosen + salt)

    def _dictionary_keys(self) -> Iterator[tuple[int, IntArray, Keys]]:
        if self._matches is None:
            return
        spans, base = self._matches, self.offsets
        salts = _mixed(_hashes([f"dictionary:{name}" for name in spans.labels]))
        sizes = spans.end - spans.start - 1
        for d in np.unique(sizes[sizes < self.max_length]).tolist():
            chosen = np.flatnonzero(sizes == d)
            last = (base[spans.sentence] + spans.end - 1)[chosen].astype(np.int64)
            yield d, last, salts[spans.label[chosen]]

    def name(self, kind: str, last: int, size: int) -> str:
        """Say what an attribute of a segment is, in words."""
        first = last - size
        if kind == "dictionary":
            assert self._matches is not None
            spans = self._matches
            at = np.flatnonzero(self.offsets[spans.sentence] + spans.end - 1 == last)[0]
            return f"dictionary:{spans.labels[spans.label[at]]}"
        sentence = int(np.searchsorted(self.offsets, last, side="right")) - 1
        begin, end = self.offsets[sentence], self.offsets[sentence + 1]
        tokens = {"first": (first, first + 1), "last": (last, last + 1), "before": (first - 1, first)}
        low, high = {**tokens, "after": (last + 1, last + 2)}.get(kind, (first, last + 1))
        if low < begin or high > end:
            return f"{kind}:"
        words = [self._strings[number] for number in self._ids[low:high].tolist()]
        return f"{kind}:{' '.join(map(shortshape, words) if kind == 'shape' else words)}"

    def names(self, gold: Gold, min_frequency: float) -> SegmentNames:
        """Choose the attributes that gold segments have often enough."""
        found: dict[int, str] = {}
        for kind in (*NAMED, "dictionary"):
            if kind in self.kinds or (kind == "dictionary" and self._matches is not None):
                for key, last, size in self._frequent(kind, gold, min_frequency):
                    found[key] = self.name(kind, last, size)
        ordered = sorted(found)
        return SegmentNames(np.array(ordered, np.uint64), tuple(found[key] for key in ordered))

    def _gold_keys(self, kind: str, gold: Gold) -> tuple[Keys, IntArray]:
        """The keys of gold segments, and which of them; not every segment has an attribute of every kind."""
        keys, which = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
        for d, last, made in self.keys(kind):
            segments = np.flatnonzero(gold.sizes == d)
            places = np.searchsorted(last, gold.last[segments])
            places[places == len(last)] = 0
            hit = last[places] == gold.last[segments] if len(last) else np.zeros(len(segments), bool)
            keys.append(made[places[hit]])
            which.append(segments[hit])
        return np.concatenate(keys), np.concatenate(which)

    def _frequent(self, kind: str, gold: Gold, min_frequency: float) -> Iterator[tuple[int, int, int]]:
        keys, which = self._gold_keys(kind, gold)
        distinct, first, counts = np.unique(keys, return_index=True, return_counts=True)
        often = counts >= min_frequency
        segments = which[first[often]]
        yield from zip(
            distinct[often].tolist(), gold.last[segments].tolist(), gold.sizes[segments].tolist(), strict=True
        )

    def rows(self, names: SegmentNames) -> SegmentRows:
        """Find the known attributes of all segments."""
        places, ids = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
        kinds = [kind for kind in NAMED if kind in self.kinds] + (["dictionary"] if self._matches is not None else [])
        for kind in kinds:
            for d, last, keys in self.keys(kind):
                numbers = _find(names.keys, keys)
                known = numbers >= 0
                places.append(last[known] * self.max_length + d)
                ids.append(numbers[known].astype(np.int32))
        place, number = np.concatenate(places), np.concatenate(ids)
        order = np.argsort(place, kind="stable")
        distinct, row = np.unique(place[order], return_inverse=True)
        return SegmentRows(distinct, row_offsets(row, len(distinct)), number[order])

    def lexicon(self, gold: Gold, num_labels: int) -> Lexicon:
        """Count the strings of gold segments."""
        keys, which = self._gold_keys("string", gold)
        distinct, row = np.unique(keys, return_inverse=True)
        counts = np.zeros((len(distinct), num_labels), np.int32)
        np.add.at(counts, (row, gold.labels[which]), 1)
        return Lexicon(distinct, counts)

    def seen(self, lexicon: Lexicon, own: Gold | None = None) -> NDArray[np.uint8]:
        """Say how often the string of each segment was one of each label, as a bucket: ``[N, D, L]``.

        Arguments:
            own: the gold segments of these sentences, where they are those that were counted; a sentence's own segments
                are not counted for it.
        """
        N, L = len(self._words), lexicon.counts.shape[1]
        out = np.zeros((N, self.max_length, L), np.uint8)
        sentence = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        mine = _OwnCounts(self, lexicon, own, sentence) if own is not None else None
        for d, last, keys in self.keys("string"):
            numbers = _find(lexicon.keys, keys)
            known = np.flatnonzero(numbers >= 0)
            counts = lexicon.counts[numbers[known]]
            if mine is not None:
                counts = counts - mine.of(sentence[last[known]], numbers[known])
            out[last[known], d] = np.searchsorted(_LEAST, counts, side="right")
        return out


class _OwnCounts:
    """How often each string is a gold segment of the sentence itself."""

    def __init__(self, reader: SegmentReader, lexicon: Lexicon, own: Gold, sentence: IntArray) -> None:
        keys, which = reader._gold_keys("string", own)
        numbers = _find(lexicon.keys, keys).astype(np.int64)
        self._width = len(lexicon.keys)
        pairs, row = np.unique(sentence[own.last[which]] * self._width + numbers, return_inverse=True)
        self._pairs = pairs
        self._counts = np.zeros((len(pairs) + 1, lexicon.counts.shape[1]), np.int32)
        np.add.at(self._counts, (row, own.labels[which]), 1)

    def of(self, sentences: IntArray, numbers: IntArray) -> NDArray[np.int32]:
        """Return ``[M, L]``."""
        wanted = sentences * self._width + numbers
        places = np.searchsorted(self._pairs, wanted)
        places[places == len(self._pairs)] = 0
        hit = self._pairs[places] == wanted if len(self._pairs) else np.zeros(len(wanted), bool)
        return self._counts[np.where(hit, places, len(self._pairs))]


def _find(keys: Keys, wanted: Keys) -> IntArray:
    """Return the number of each wanted key among ascending ones, −1 where it is not there."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    places = np.searchsorted(keys, wanted)
    places[places == len(keys)] = 0
    return np.where(keys[places] == wanted, places, -1)


def _hashes(strings: Sequence[str]) -> Keys:
    """Hash each string to 64 bits."""
    digests = (hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest() for text in strings)
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _mixed(values: Keys) -> Keys:
    """Spread the bits, so that sums and products of hashes are hashes."""
    values = (values ^ (values >> np.uint64(30))) * _MIX
    return np.asarray(values ^ (values >> np.uint64(31)))


def bucket_sums(codes: NDArray[np.uint8], amounts: Float64Array) -> Float64Array:
    """Sum amounts ``[N, D, L]`` by bucket, length and label: ``[BUCKETS, D, L]``."""
    _, D, L = codes.shape
    places = codes.reshape(-1, D * L) * np.int64(D * L) + np.arange(D * L)
    sums = np.bincount(places.ravel(), amounts.ravel(), minlength=BUCKETS * D * L)
    return sums.astype(np.float64).reshape(BUCKETS, D, L)
