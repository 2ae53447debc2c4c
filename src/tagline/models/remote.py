"""Labelled sentences that other processes read and hold: what `fit` takes in the place of sentences.

A model that can be learned from sums asks for them here and never sees a sentence. `tagline.scale` has the processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tagline.readers.corpus import Corpus
from tagline.readers.rules import Rules
from tagline.readers.tabular import Table
from tagline.training.running.progress import Reporter
from tagline.types import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class RemoteLesson:
    """What a feature CRF is trained with.

    Attributes:
        start: labels, names and weights, all 0, as a CRF has them (`Parameters`).
        likelihood: what an algorithm asks for objective and gradient; it has what `training.likelihood.Likelihood` has
            for algorithms that know no single sentence.
        sentences, tokens: how many there are.
        notes: what was repaired or dropped.
    """

    start: Any
    likelihood: Any
    sentences: int
    tokens: int
    notes: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class SeriesWanted:
    """What is read of files without labels.

    Attributes:
        family: of the emissions that are to be learned.
        group: the column of tables that says which sentence a row belongs to; None for one sentence a table.
    """

    family: str
    group: str | None = None


class RemoteSeries(ABC):
    """Observations without labels that other processes hold.

    Attributes:
        sentences, tokens: how many there are.
        columns: of tables, that are observed; none where words of sentences are.
        symbols: what is observed, by number, where emissions are categorical; else None.
        counts: ``[V]``, how often each symbol occurs; None where there are none.
        present: observations that are not missing altogether.
        whole: whether no number is missing.
        fingerprint: of all observations.
    """

    sentences: int
    tokens: int
    columns: tuple[str, ...]
    symbols: tuple[Any, ...] | None
    counts: IntArray | None
    present: int
    whole: bool
    fingerprint: str

    @abstractmethod
    def rows(self, numbers: IntArray) -> Any:
        """Return some of the observations that are present, by their numbers among these, ascending."""

    @abstractmethod
    def observations(self) -> Any:
        """Return all observations."""

    @abstractmethod
    def summed(self, question: str, *arguments: Any) -> tuple[float, Float64Array]:
        """Ask every lane, and add up the answers."""


class RemoteCorpus(ABC):
    """Sentences that lie elsewhere.

    Attributes:
        num_tokens: N, once they were read.
        fingerprint: of sentences and labels, once they were read; empty before.
        columns: of tables, those to learn from; none for all of them.
        reporter: hears how training elsewhere goes; None for the model's own.
    """

    num_tokens: int = 0
    fingerprint: str = ""
    columns: tuple[str, ...] = ()
    reporter: Reporter | None = None

    @property
    @abstractmethod
    def labelled(self) -> bool:
        """Whether the sentences have labels."""

    @abstractmethod
    def series(self, wanted: SeriesWanted, algorithm: str) -> AbstractContextManager[RemoteSeries]:
        """Have observations without labels read and held as long as an HMM is trained by this algorithm."""

    @abstractmethod
    def crf_lesson(self, crf: Any, extraction: Any) -> AbstractContextManager[RemoteLesson]:
        """Have the sentences read and held as long as a CRF is trained.

        Arguments:
            crf: the estimator, for its settings.
            extraction: its way to features.
        """

    @abstractmethod
    def fit_network(self, model: Any, arguments: dict[str, Any], tell: Reporter) -> Any:
        """Train a network in the other processes; return the estimator as it came back, fitted.

        Arguments:
            model: an estimator, not fitted.
            arguments: of its `fit`.
            tell: hears of epochs and batches, unless the corpus has a reporter.
        """

    @abstractmethod
    def tally(self, scheme: str | None, on_illegal: str, *, grams: bool = False) -> Tally:
        """Have words and labels counted, and trigrams of labels where they are asked for."""

    @abstractmethod
    def sample_table(self) -> Table:
        """Return the first table, where there are tables."""

    @abstractmethod
    def sample(self) -> Corpus:
        """Return sentences that are like the others, to choose settings by."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many sentences there are, once they were read; 0 before."""
