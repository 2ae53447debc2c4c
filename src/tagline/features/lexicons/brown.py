"""Brown clusters out of text: words that have like neighbours share a bit string, or its first bits.

The compiled core merges (``core/features/brown.h`` has the algorithm and its formula); here words and bigrams are
counted, and the order of merges becomes bit strings. Of the last merges, those of the C classes, the class with the
more frequent word takes 0, the other one 1.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.checks import check_whole, shown_value
from tagline.errors import InputError
from tagline.features.lexicons.clusters import Clusters
from tagline.messages import message
from tagline.readers.blocks import read_lines
from tagline.readers.sources import PathLike
from tagline.readers.tokenizers import tokenize
from tagline.types import IntArray

BLOCK = 1 << 21  # tokens whose bigrams are counted at once
BYTES_A_PAIR = 40  # of two classes, in the tables of the core
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 36  # bytes
STEPS = 100  # of the core between two calls of `progress`, each of a millisecond or so

Progress = Callable[[int, int], None]
"""Told how many steps are done, and how many there are."""


@dataclass(frozen=True, eq=False)
class BigramCounts:
    """Words by falling frequency, and their bigrams.

    Attributes:
        words: V of them; among equally frequent ones, that which comes first in the text is first.
        counts: ``[V]``.
        firsts, seconds, numbers: ``[M]``, the bigrams that occur, each once, and how often they do.
    """

    words: tuple[str, ...]
    counts: IntArray
    firsts: NDArray[np.int32]
    seconds: NDArray[np.int32]
    numbers: IntArray


def sentences_of(
    paths: Iterable[PathLike], tokenizer: str = "whitespace", encoding: str = "utf-8"
) -> Iterator[list[str]]:
    """Read texts with a sentence a line."""
    for path in paths:
        for _, line in read_lines(path, encoding):
            if tokenizer == "whitespace":
                yield line.split()
            else:
                yield [line[start:end] for start, end in tokenize(line, tokenizer)]


def count_bigrams(sentences: Iterable[Sequence[str]], min_count: int = 1) -> BigramCounts:
    """Count the words of sentences and their bigrams; those of words that are rarer are left out.

    >>> counts = count_bigrams([["a", "b", "a", "b"], ["b"]])
    >>> counts.words, counts.counts.tolist(), counts.firsts.tolist(), counts.seconds.tolist(), counts.numbers.tolist()
    (('b', 'a'), [3, 2], [0, 1], [1, 0], [1, 2])
    """
    check_whole("min_count", min_count, 1, wanted=message("1 or more"))
    numbers: dict[str, int] = {}
    totals: Counter[int] = Counter()
    blocks: list[tuple[IntArray, IntArray]] = []
    block: list[int] = []
    for sentence in sentences:
        if isinstance(sentence, str):
            raise InputError("sentences: expected lists of words, got a string, {}; split it", shown_value(sentence))
        block += [numbers.setdefault(word, len(numbers)) for word in sentence]
        block.append(-1)
        if len(block) >= BLOCK:
            blocks.append(_counted(block, totals))
            block = []
    blocks.append(_counted(block, totals))
    order = sorted((word for word in totals if totals[word] >= min_count), key=lambda word: (-totals[word], word))
    rank = np.full(len(numbers), -1, np.int64)
    rank[order] = np.arange(len(order))
    keys, counts = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    first, second = rank[keys >> 32], rank[keys & 0xFFFFFFFF]
    kept = (first >= 0) & (second >= 0)
    pairs, which = np.unique(first[kept] << 32 | second[kept], return_inverse=True)
    names = list(numbers)
    return BigramCounts(
        tuple(names[word] for word in order),
        np.array([totals[word] for word in order], np.int64),
        (pairs >> 32).astype(np.int32),
        (pairs & 0xFFFFFFFF).astype(np.int32),
        np.bincount(which, counts[kept], minlength=len(pairs)).astype(np.int64),
    )


def _counted(block: list[int], totals: Counter[int]) -> tuple[IntArray, IntArray]:
    """Count the words of a block into the totals; return its bigrams and their counts."""
    tokens = np.array(block, np.int64)
    words, counts = np.unique(tokens[tokens >= 0], return_counts=True)
    totals.update(dict(zip(words.tolist(), counts.tolist(), strict=True)))
    inside = (tokens[:-1] >= 0) & (tokens[1:] >= 0)
    keys, numbers = np.unique(tokens[:-1][inside] << 32 | tokens[1:][inside], return_counts=True)
    return keys, numbers.astype(np.int64)


def brown_merges(counts: BigramCounts, num_classes: int, progress: Progress | None = None) -> IntArray:
    """Return all V − 1 merges, ``[V − 1, 2]``: two classes by the numbers of their most frequent words."""
    check_whole("count", num_classes, 1, wanted=message("1 or more"))
    _check_memory(min(num_classes, len(counts.words)))
    core = compiled.require().Brown(counts.counts, counts.firsts, counts.seconds, counts.numbers, num_classes)
    V = len(counts.words)
    total, done, more = V + min(V, num_classes) - 1, 0, V > 0
    while more:
        more = core.run(STEPS)
        done = min(done + STEPS, total)
        if progress is not None:
            progress(done, total)
    return np.asarray(core.merges(), np.int64).reshape(-1, 2)


def _check_memory(classes: int) -> None:
    """Refuse tables of classes by classes that would take more than half of the memory."""
    taken, most = BYTES_A_PAIR * (classes + 1) ** 2, MEMORY // 2
    if taken > most:
        raise InputError(
            "count: expected up to {:,} clusters, whose tables fit into half of the memory, got {:,}, "
            "whose tables take {:.0f} GiB",
            math.isqrt(most // BYTES_A_PAIR) - 1,
            classes,
            taken / 2**30,
        )


def brown_clusters(
    sentences: Iterable[Sequence[str]], count: int, *, min_count: int = 1, progress: Progress | None = None
) -> Clusters:
    """Make Brown clusters of the words of sentences.

    Arguments:
        count: of classes.
        min_count: words that are rarer have no cluster.
        progress: called every hundred steps.

    >>> clusters = brown_clusters([["the", "cat", "sat"], ["the", "dog", "sat"], ["the", "dog", "ran"]], 3)
    >>> clusters.of("cat") == clusters.of("dog"), clusters.of("cat") == clusters.of("the")
    (True, False)
    """
    check_whole("count", count, 1, wanted=message("1 or more"))
    counts = count_bigrams(sentences, min_count)
    if not counts.words:
        raise InputError("text: expected words that occur at least {} times, got none", min_count)
    merges = brown_merges(counts, count, progress)
    bits = bits_of(merges, len(counts.words), count)
    totals = dict(zip(counts.words, counts.counts.tolist(), strict=True))
    return Clusters(dict(zip(counts.words, bits, strict=True)), totals)


def bits_of(merges: IntArray, num_words: int, num_classes: int) -> list[str]:
    """Return the bit string of each word, given all merges; "0" where there is one class only."""
    parents = list(range(num_words))
    early = max(0, num_words - num_classes)
    for one, other in merges[:early].tolist():
        parents[other] = one
    bits = [""] * num_words  # of first words
    members = {word: [word] for word in range(num_words) if parents[word] == word}
    for one, other in merges[early:].tolist():
        for bit, side in ("0", one), ("1", other):
            for word in members[side]:
                bits[word] = bit + bits[word]
        members[one] += members.pop(other)
    firsts = list(parents)
    for word in range(num_words):  # a class's first word is more frequent, so it is settled already
        firsts[word] = firsts[firsts[word]]
    return [bits[first] or "0" for first in firsts]
