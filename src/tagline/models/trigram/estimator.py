"""`TrigramTagger`: labels by trigrams, in the style of TnT (Brants, ANLP 2000).

A second-order hidden Markov model: Σ_t log p(s_t | s_(t−2), s_(t−1)) + log P(w_t | s_t), between sentence boundaries.
`fit` counts (`parameters`, `counts`, `tagline.features.suffixes`); the compiled core answers over the few candidates of
each token, exactly. `chains` gives the same distribution as chains over pairs of states, for all other questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from tagline.chain.lists import label_lists
from tagline.checks import random_generator
from tagline.errors import InputError
from tagline.models.answers import Answer, AnswerArrays, ChainModel, Labelling, PerSentence
from tagline.models.entities import Entity
from tagline.models.explanations import Explanation
from tagline.models.files import Packed, StoredModel, TrainingFacts
from tagline.models.known import KnownLabels
from tagline.models.labelled import match_lengths, prepare, read_labels
from tagline.models.ranking import Ranks, check_asked
from tagline.models.sentences import as_sentences, tokens_as_corpus, words_of
from tagline.models.trigram.chains import PairChain, pair_chain
from tagline.models.trigram.explaining import CandidateScores, explain_trigrams
from tagline.models.trigram.file import SavedTrigrams, pack, unpack
from tagline.models.trigram.inspection import TrigramSummary
from tagline.models.trigram.parameters import (
    LONGEST_ENDING,
    CandidateLists,
    TaggedCounts,
    TaggedWords,
    TrigramParameters,
    learn,
    tells_capitals,
)
from tagline.models.trigram.settings import TrigramSettings
from tagline.ragged import entries_of, row_offsets
from tagline.readers.corpus import Column
from tagline.settings import check_settings, documented
from tagline.storage import ModelFile
from tagline.training.iteration import Step
from tagline.training.run import Run
from tagline.types import BoolArray, Float64Array, IntArray

MOST_RANKS = 2**62  # labellings that the core can be asked for


@dataclass(frozen=True, eq=False)
class _Question:
    """Sentences as the compiled core takes them.

    Attributes:
        lists: candidates, and the same in the core.
        words: ``[N]``, the list of each token.
        offsets: ``[B + 1]``.
    """

    lists: CandidateLists
    core: Any
    words: NDArray[np.int32]
    offsets: IntArray

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.core, self.words, self.offsets


@documented
class TrigramTagger(TrigramSettings, StoredModel, ChainModel, BaseEstimator):  # type: ignore[misc]
    """A trigram tagger for words that have one tag each, such as parts of speech.

    Arguments:
        {settings}

    After `fit`: `labels_`, `parameters_`, `weights_` (λ1, λ2, λ3).

    >>> X = [["the", "cat", "sings"], ["a", "dog", "sees", "the", "cat"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V", "D", "N"]]
    >>> TrigramTagger().fit(X, y).predict([["the", "bat", "sings"]])
    [['D', 'N', 'V']]
    """

    kind: ClassVar[str] = "trigram"
    explains: ClassVar[bool] = True
    finds_spans: ClassVar[bool] = False
    _LEARNED: ClassVar[tuple[str, ...]] = ("parameters_", "training_")
    _TRAINED: ClassVar[Sequence[str]] = ("capitals", "rare", "longest_ending", "ratio")
    parameters_: TrigramParameters
    training_: TrainingFacts
    training_log_: ClassVar[tuple[()]] = ()

    def fit(self, X: Any, y: Any = None) -> TrigramTagger:
        """Learn from tagged sentences.

        Arguments:
            X: sentences: a `Corpus`, or lists of tokens.
            y: tags of each sentence; left out where X is a corpus with tags.
        """
        check_settings(self)
        run = Run(callbacks=self.callbacks)
        run.started = run.clock()
        X, y = as_sentences(X), as_sentences(y)
        corpus, labelled = tokens_as_corpus(X), read_labels(X, y)
        match_lengths(corpus.offsets, labelled)
        if (unknown := labelled.unknown()) is not None:
            place, label = unknown
            raise InputError(
                "{}: expected a tag, for a trigram tagger counts them, got {!r}; tagline.HMM and "
                "tagline.CRF learn from tags that are not known",
                place,
                label,
            )
        lesson = prepare(labelled, scheme=None)
        words, ids = _used(words_of(corpus))
        data = TaggedWords(words, ids, lesson.labelled.ids.astype(np.int64), corpus.offsets)
        counts = TaggedCounts.of(data, len(lesson.labels), bool(self.capitals) and tells_capitals(words))
        return self._learned(counts, lesson.labels, len(corpus), run, X, y)

    def _learned(
        self, counts: TaggedCounts, labels: Sequence[str], sentences: int, run: Run, X: Any, y: Any
    ) -> TrigramTagger:
        """Take over what counts show."""
        longest = min(int(self.longest_ending), LONGEST_ENDING)
        parameters = learn(counts, labels, rare=self.rare, longest=longest, ratio=float(self.ratio))
        self._become(parameters, TrainingFacts(sentences, 1, reason="counted"))
        metrics = {"active": len(self.parameters_.words), "evaluations": 1, "step": None}
        run.record(Step(1, math.nan, metrics=metrics), self._copied)
        self._record(X, y)
        return self

    def _copied(self) -> dict[str, NDArray[Any]]:
        return {name: array.copy() for name, array in self._packed()[1].items()}

    @property
    def labels_(self) -> list[str]:  # type: ignore[override]
        """The tags, sorted."""
        return list(self._fitted().labels)

    @property
    def weights_(self) -> Float64Array:
        """λ1, λ2, λ3: how much one tag, two and three count."""
        return self._fitted().weights

    def summary(self) -> TrigramSummary:
        """Return the model in a few numbers."""
        return TrigramSummary.of(self._fitted(), self.training_)

    def known_tokens(self) -> list[str]:
        """Return the words that the model has seen."""
        return self._fitted().words.names()

    def _fitted(self) -> TrigramParameters:
        check_is_fitted(self, "parameters_")
        self._refuse_changed()
        return self.parameters_

    def _become(self, parameters: TrigramParameters, training: TrainingFacts) -> None:
        """Take over what was learned."""
        self.parameters_, self.training_ = parameters, training
        self._keep_trained()

    def predict(self, X: Any, *, known: Any = None) -> list[list[str]]:  # type: ignore[override]
        """Return the most probable tags of each sentence.

        Arguments:
            X: sentences, as for `fit`.
            known: for each sentence a list with, for each token, its tag, a set of tags, or None where nothing is
                known; every answer keeps to it.
        """
        p = self._fitted()
        if known is None and (labellings := p.trigrams.tag(p.lists, p.lexicon, X, p.names)) is not None:
            return PerSentence(labellings)
        return PerSentence(self._best(self._question(X, known)))

    def _best(self, asked: _Question) -> list[list[str]]:
        p = self._fitted()
        states, _ = p.trigrams.best(*asked.arguments)
        return label_lists(states % len(p.labels), asked.offsets, p.labels)

    def answer(  # type: ignore[override]
        self,
        X: Any,
        *,
        marginals: bool = False,
        spans: bool = False,
        k_best: int = 0,
        min_probability: float = 0.0,
        known: Any = None,
    ) -> list[Answer]:
        """Answer several questions about sentences; see `ChainModel.answer`."""
        if spans:
            self.predict_spans(X)
        check_asked(k_best)
        if not (marginals or k_best):
            return [Answer(labels) for labels in self.predict(X, known=known)]
        asked = self._question(X, known)
        nodes: Any = self._nodes(asked) if marginals else repeat(None)
        ranked: Any = self._ranked(asked, Ranks(k_best, "k_best")) if k_best else repeat(None)
        return list(map(Answer, self._best(asked), nodes, repeat(None), ranked))

    def answer_arrays(  # type: ignore[override]
        self, X: Any, *, marginals: bool = False, spans: bool = False, min_probability: float = 0.0, known: Any = None
    ) -> AnswerArrays:
        """Answer about many sentences at once; see `ChainModel.answer_arrays`."""
        if spans:
            self.predict_spans(X)
        if not marginals:
            return super().answer_arrays(X, known=known)
        p, asked = self._fitted(), self._question(X, known)
        labels = p.trigrams.best(*asked.arguments)[0] % len(p.labels)
        nodes = np.concatenate([np.zeros((0, len(p.labels))), *self._nodes(asked)])
        return AnswerArrays(p.labels, asked.offsets, labels, nodes[np.arange(len(labels)), labels])

    def chains(self, X: Any, *, known: Any = None) -> Iterator[PairChain]:  # type: ignore[override]
        """Score sentences: a chain over pairs of states for each, with the same distribution over labellings.

        Arguments:
            X, known: as for `predict`.
        """
        p, asked = self._fitted(), self._question(X, known)
        for first, last in pairwise(asked.offsets.tolist()):
            yield pair_chain(p, asked.lists, asked.words[first:last])

    def explain(self, sentence: Any, *, known: Any = None) -> Explanation:  # type: ignore[override]
        """Say for each token of a sentence which probabilities made its label win over the runner-up.

        Each amount is a difference of two log probabilities: of the word given its label, and of a label given the two
        before it.

        Arguments:
            sentence: one, as in X.
            known: labels of this sentence that are known.
        """
        p, X = self._fitted(), as_sentences([sentence])
        asked = self._question(X, None if known is None else [known])
        states, _ = p.trigrams.best(*asked.arguments)
        scores = CandidateScores(p, asked.lists, asked.words)
        return explain_trigrams(p, scores, states, self._nodes(asked)[0], tokens_as_corpus(X).tokens[0])

    def marginal_arrays(self, X: Any, *, known: Any = None) -> list[NDArray[Any]]:  # type: ignore[override]
        """Return for each sentence the probabilities ``[T, L]``, tags in the order of `labels_`."""
        return self._nodes(self._question(X, known))

    def _nodes(self, asked: _Question) -> list[NDArray[Any]]:
        p = self._fitted()
        nodes = p.trigrams.posterior(*asked.arguments)[2]
        token, entry = _entries(asked.lists.offsets, asked.words)
        out = np.zeros((len(asked.words), len(p.labels)))
        out[token, asked.lists.states[entry] % len(p.labels)] = nodes
        return np.split(out, asked.offsets[1:-1]) if len(asked.offsets) > 1 else []

    def predict_k_best(self, X: Any, k: int = 5, *, known: Any = None) -> list[list[Labelling]]:  # type: ignore[override]
        """Return the k best labellings of each sentence, with their probabilities among all labellings."""
        ranks = Ranks(k)
        return self._ranked(self._question(X, known), ranks)

    def _ranked(self, asked: _Question, ranks: Ranks) -> list[list[Labelling]]:
        p = self._fitted()
        k = min(ranks.of_candidates(np.diff(asked.lists.offsets)[asked.words], asked.offsets), MOST_RANKS)
        log_z = p.trigrams.posterior(*asked.arguments)[0]
        out = []
        for z, (states, scores) in zip(log_z, p.trigrams.k_best(*asked.arguments, k), strict=True):
            names = [[p.names[state] for state in row] for row in states.tolist()]
            shares = np.exp(np.minimum(scores - z, 0)).tolist()
            out.append([Labelling(*fact) for fact in zip(names, shares, scores.tolist(), strict=True)])
        return out

    def predict_samples(  # type: ignore[override]
        self, X: Any, n: int = 1, *, seed: int | None = None, known: Any = None
    ) -> list[list[list[str]]]:
        """Draw n labellings of each sentence from the model's distribution."""
        draws, random = Ranks(n, "n", least=0), random_generator(seed)
        p, asked = self._fitted(), self._question(X, known)
        uniforms = random.random((draws.of_draws(asked.offsets), len(asked.words)))
        drawn = p.trigrams.sample(*asked.arguments, uniforms) % len(p.labels)  # [n, N]
        rows = [label_lists(labels, asked.offsets, p.labels) for labels in drawn]
        return [[row[b] for row in rows] for b in range(len(asked.offsets) - 1)]

    def log_likelihood(self, X: Any, y: Any = None) -> Float64Array:  # type: ignore[override]
        """Return log p(y | x) of each sentence; without y the log of the normaliser, log Z.

        log Z is log P(x) where every word is known; of an unknown word P(w) is left out.
        """
        p, X = self._fitted(), as_sentences(X)
        free: Float64Array = p.trigrams.posterior(*self._question(X, None).arguments)[0]
        if y is None:
            return free
        bound = p.trigrams.posterior(*self._question(X, y, strict=True).arguments, allow_no_path=True)[0]
        return np.asarray(bound - free, np.float64)

    def entropy(self, X: Any, *, known: Any = None) -> Float64Array:  # type: ignore[override]
        """Return the entropy of each sentence's labelling in nats: how unsure the model is."""
        entropy: Float64Array = self._fitted().trigrams.posterior(*self._question(X, known).arguments)[1]
        return entropy

    def predict_spans(self, X: Any, **inputs: Any) -> list[list[Entity]]:
        """Refuse: spans with their probabilities are what first-order models answer."""
        raise InputError(
            "predict_spans: expected a first-order model, got a trigram tagger, which tells the probability of tags "
            "and not of spans; use predict and tagline.readers.spans, or tagline.CRF"
        )

    def _question(self, X: Any, known: Any, *, strict: bool = False) -> _Question:
        """Number words, and keep the candidates that are allowed.

        Where none is left of a token's candidates, all allowed tags are equally probable; none is when `strict`.
        """
        p = self._fitted()
        corpus = tokens_as_corpus(as_sentences(X))
        column = words_of(corpus)
        words = p.lexicon.find(list(column.vocabulary))[column.ids]
        if known is None:
            return _Question(p.candidates, p.lists, words, corpus.offsets)
        allowed = KnownLabels(known, p.labels, len(corpus)).allowed(0, len(corpus), corpus.offsets)
        high = np.fromiter((word[:1].isupper() for word in column.vocabulary), np.bool_)[column.ids] & p.capitals
        lists = _restricted(p.candidates, words, allowed, None if strict else high)
        numbers = np.arange(len(words), dtype=np.int32)
        return _Question(lists, lists.core(p.counts.num_states), numbers, corpus.offsets)

    # Files.

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """Make the model of a file that was read; see `tagline.load`."""
        saved = unpack(file)
        out = cls()
        out._set(saved.settings)
        out._become(saved.parameters, saved.training)
        return out

    def _packed(self) -> Packed:
        return pack(SavedTrigrams(self._fitted(), self.training_, self._settings()))

    def _take(self, file: ModelFile) -> None:
        saved = unpack(file)
        self._become(saved.parameters, saved.training)


def _used(column: Column) -> tuple[list[str], IntArray]:
    """The strings that tokens have, and their numbers ``[N]``; part of a corpus shares the vocabulary of the whole."""
    used, ids = np.unique(column.ids, return_inverse=True)
    return [column.vocabulary[number] for number in used], ids.astype(np.int64)


def _entries(offsets: IntArray, words: NDArray[np.int32]) -> tuple[IntArray, IntArray]:
    """Token and place of each candidate of each token, in order."""
    token = np.repeat(np.arange(len(words)), offsets[words + 1] - offsets[words])
    return token, entries_of(offsets, words.astype(np.int64))


def _restricted(
    lists: CandidateLists, words: NDArray[np.int32], allowed: BoolArray, high: BoolArray | None
) -> CandidateLists:
    """A list for each token: its candidates that are allowed; where none is and `high` is given, all that are."""
    K = allowed.shape[1]
    token, entry = _entries(lists.offsets, words)
    possible = allowed[token, lists.states[entry] % K]
    token, states, scores = token[possible], lists.states[entry[possible]], lists.scores[entry[possible]]
    if high is not None:
        empty = np.flatnonzero(np.bincount(token, minlength=len(words)) == 0)
        more, tags = np.nonzero(allowed[empty])
        token = np.concatenate([token, empty[more]])
        order = np.argsort(token, kind="stable")
        states = np.concatenate([states, tags + K * high[empty[more]]])[order].astype(np.int32)
        scores, token = np.concatenate([scores, np.zeros(len(more), np.float32)])[order], token[order]
    return CandidateLists(row_offsets(token, len(words)), states, scores)
