"""Words and labels of all shards, counted by a task a shard and added up here: sums of whole numbers have one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagline.models.hmm.counting import count_states
from tagline.models.labelled import read_labels
from tagline.models.sentences import words_of
from tagline.models.trigram.counts import TrigramCounts
from tagline.models.trigram.parameters import begin_high
from tagline.readers.rules import Rules
from tagline.readers.training_files import LabelledFiles
from tagline.scale.cluster import import_ray
from tagline.scale.crf import Overview, Setting
from tagline.scale.shards import Shard, read_shard
from tagline.scale.surveys import Settlement
from tagline.types import IntArray


@dataclass(frozen=True, eq=False)
class Tally:
    """Words and labels, counted.

    Attributes:
        labels: K of them, sorted.
        scheme, rules: the tag scheme and what it allows; None for no rules.
        sentences: that were counted.
        words: V of them, in the order of their first use.
        start, seen: ``[K]``, how many sentences begin with each label, and how many tokens have it.
        pairs: ``[K, K]``, how often labels follow each other.
        word_ids, word_labels, word_counts: ``[E]``, distinct pairs of word and label, ascending, and their counts.
        grams: trigrams of states, where they were asked for: labels, and K further ones for words with a capital.
        notes: what was repaired or dropped.
    """

    labels: tuple[str, ...]
    scheme: str | None
    rules: Rules | None
    sentences: int
    words: tuple[str, ...]
    start: IntArray
    seen: IntArray
    pairs: IntArray
    word_ids: IntArray
    word_labels: IntArray
    word_counts: IntArray
    grams: tuple[IntArray, IntArray] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ShardTally:
    """What a shard shows, by the numbers of the labels of all and of its own words; see `Tally`."""

    words: list[str]
    start: IntArray
    seen: IntArray
    pairs: IntArray
    keys: IntArray  # word · K + label, ascending
    counts: IntArray
    grams: TrigramCounts | None


def tally_shard(shard: Shard, files: LabelledFiles, settlement: Settlement, grams: bool) -> ShardTally:
    """Count the words and labels of a shard."""
    whole = read_shard(shard, files)
    corpus = settlement.applied(whole)
    column, K = words_of(whole), len(settlement.labels)
    used = np.unique(column.ids)  # words of sentences that were dropped are words, too
    words = [column.vocabulary[number] for number in used]
    ids = np.searchsorted(used, words_of(corpus).ids)
    labels = read_labels(corpus, None).over(settlement.labels).ids.astype(np.int64)
    start, pairs = count_states(labels, corpus.offsets, K)
    keys, counts = np.unique(ids * K + labels, return_counts=True)
    states = labels + K * begin_high(words)[ids]
    return ShardTally(
        words,
        start.astype(np.int64),
        np.bincount(labels, minlength=K),
        pairs.astype(np.int64),
        keys,
        counts.astype(np.int64),
        TrigramCounts.of(states, corpus.offsets, 2 * K) if grams else None,
    )


def tally_all(setting: Setting, overview: Overview, grams: bool) -> Tally:
    """Count the words and labels of all shards."""
    ray = import_ray(setting.place)
    task = ray.remote(num_cpus=1, max_retries=3)(tally_shard)
    asked = [task.remote(shard, setting.files, overview.settlement, grams) for shard in setting.shards]
    return _added([ray.get(answer) for answer in asked], overview)


def _added(parts: Sequence[ShardTally], overview: Overview) -> Tally:
    settlement = overview.settlement
    K = len(settlement.labels)
    numbers: dict[str, int] = {}
    keys = []
    for part in parts:
        table = np.array([numbers.setdefault(word, len(numbers)) for word in part.words], np.int64)
        keys.append(table[part.keys // K] * K + part.keys % K)
    distinct, places = np.unique(np.concatenate(keys), return_inverse=True)
    counts = np.zeros(len(distinct), np.int64)
    np.add.at(counts, places, np.concatenate([part.counts for part in parts]))
    grams = None
    shown = [part.grams for part in parts if part.grams is not None]
    if shown:
        joined = TrigramCounts.added(shown, 2 * K, [np.arange(2 * K + 1)] * len(shown))
        grams = joined.grams.astype(np.int64), joined.counts
    return Tally(
        settlement.labels,
        settlement.scheme,
        settlement.rules,
        overview.sentences,
        tuple(numbers),
        np.sum([part.start for part in parts], axis=0),
        np.sum([part.seen for part in parts], axis=0),
        np.sum([part.pairs for part in parts], axis=0),
        distinct // K,
        distinct % K,
        counts,
        grams,
        overview.notes,
    )
