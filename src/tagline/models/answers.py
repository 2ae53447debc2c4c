"""What every model can be asked, once it has scored sentences into chains: the same methods for HMM, CRF, neural CRFs.

A model gives its sentences as chains, a block of some thousand tokens at a time (`_chains`); whatever the engine
answers about a chain is turned into labels here. `answer` asks several questions about sentences that are scored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.chain.lists import named_rows
from tagline.checks import check_number, random_generator, shown_value
from tagline.errors import InputError
from tagline.evaluation.matching import rule_for_labels
from tagline.evaluation.report import Report, evaluate
from tagline.messages import message
from tagline.models.description import DescribedModel
from tagline.models.dev_score import score_facts
from tagline.models.entities import (
    Characters,
    Entity,
    FoundSpans,
    Reading,
    characters_of,
)
from tagline.models.known import KnownLabels, constrained
from tagline.models.labelled import LabelledTokens, check_sample_weight, match_lengths, read_labels
from tagline.models.questions import Questions
from tagline.models.ranking import Ranks, check_asked
from tagline.models.sentences import as_sentences, sized
from tagline.models.texts import TextModel
from tagline.ragged import offsets_of
from tagline.readers.detection import detect
from tagline.types import Chain, Float64Array, IntArray

MOST_TOKENS = 16_384  # scored at once: what the caches hold (a seventh faster than 65,536), and a bound on memory


@dataclass(frozen=True)
class Labelling:
    """One labelling of a sentence with its probability."""

    labels: list[str]
    probability: float
    score: float


class Answer(NamedTuple):
    """What was asked about one sentence; None where it was not asked.

    Attributes:
        labels: the most probable labelling, as names.
        marginals: ``[T, L]``, the probability of each label.
        entities: the spans of that labelling.
        k_best: the best labellings with their probabilities.
    """

    labels: list[str]
    marginals: NDArray[Any] | None = None
    entities: list[Entity] | None = None
    k_best: list[Labelling] | None = None


@dataclass(frozen=True, eq=False)
class AnswerArrays:
    """What was asked about the best labelling of B sentences, as arrays; None where it was not asked.

    Attributes:
        names: the L labels.
        offsets: ``[B + 1]``, where each sentence begins.
        labels: ``[N]``, numbers of names.
        probabilities: ``[N]``, of each of these labels.
        spans: the spans of the labelling.
    """

    names: tuple[str, ...]
    offsets: IntArray
    labels: IntArray
    probabilities: Float64Array | None = None
    spans: FoundSpans | None = None

    @cached_property
    def labellings(self) -> list[list[str]]:
        """The labels of each sentence, as names."""
        return named_rows(self.labels, self.offsets, self.names)


class PerSentence(list[Any]):
    """A list with an entry for each sentence that NumPy takes as one row of objects, whatever their lengths.

    scikit-learn joins the answers of a cross validation by ``numpy.concatenate``, which refuses plain ragged lists.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the entries as objects, ``[B]``."""
        out = np.empty(len(self), object)
        for b, entry in enumerate(self):
            out[b] = entry
        return out if dtype is None else out.astype(dtype)


class ChainModel(TextModel, DescribedModel):
    """Questions to a model that has been fitted."""

    _questions: type[Questions] = Questions

    def chains(self, X: Any, *, known: Any = None, **inputs: Any) -> Iterator[Chain]:
        """Score sentences: blocks of them as `Chain` over `labels_`, in their order.

        Memory holds one block, so that a corpus of any size can be asked about with `tagline.chain`.

        Arguments:
            X: sentences, as for `fit`.
            known: for each sentence a list with, for each token, its label, a set of labels, or None where nothing is
                known; all else is forbidden.
        """
        return self._scored(X, known=known, **inputs)

    def _scored(self, X: Any, *, known: Any = None, **inputs: Any) -> Iterator[Any]:
        """Score sentences for `_questions`, which all answers come from; see `chains`."""
        X = as_sentences(X)
        blocks = self._chains(X, **inputs)
        if known is None:
            return blocks
        return constrained(blocks, self._known(known, X, **inputs), self._names(), sized(X), self._questions.constrain)

    def _chains(self, X: Any, **inputs: Any) -> Iterator[Any]:
        """Score sentences, as `as_sentences` gives them, about `MOST_TOKENS` tokens at a time.

        The blocks are chains, unless a model has `_questions` of its own.
        """
        raise NotImplementedError

    def _known(self, known: Any, X: Any, **inputs: Any) -> Any:
        """What is known of each sentence, as `KnownLabels` takes it."""
        return known

    _finishes: bool = False  # whether `_finished` has something to do

    def _finished(self, X: Any, labellings: list[list[str]], known: Any = None) -> list[list[str]]:
        """What becomes of the best labellings before they are handed out; what is known stays as it is."""
        return labellings

    def answer(
        self,
        X: Any,
        *,
        marginals: bool = False,
        spans: bool = False,
        k_best: int = 0,
        min_probability: float = 0.0,
        known: Any = None,
        **inputs: Any,
    ) -> list[Answer]:
        """Answer several questions about sentences that are scored once.

        Arguments:
            X: sentences, as for `fit`.
            marginals: the probability of each label of each token.
            spans: the spans of the most probable labelling, with their probabilities.
            k_best: so many labellings with their probabilities; 0 for none.
            min_probability: spans that are less probable are left out.
            known: as for `chains`.
        """
        check_asked(k_best)
        if not (marginals or spans or k_best):
            rows = self.predict(X, known=known, **inputs)
            if not isinstance(rows, np.ndarray):  # of an HMM that was given all sentences as one array
                return [Answer([str(label) for label in row]) for row in rows]
        names = tuple(self._names())
        reading = self._reading(min_probability) if spans else None
        X, characters = _with_texts(X)
        answers: list[Answer] = []
        ranks = Ranks(k_best, "k_best") if k_best else None
        for chain in self._scored(X, known=known, **inputs):
            best = self._questions.viterbi(chain).labels
            labellings = named_rows(best, chain.offsets, names)
            nodes: Any = chain.split(self._questions.marginals(chain).nodes) if marginals else repeat(None)
            entities: Any = repeat(None)
            if reading is not None:
                spans_here = self._questions.probable_spans(chain, reading, min_probability, best)
                entities = spans_here.entities(chain.num_sentences, _shifted(characters, len(answers)))
            ranked: Any = repeat(None)
            if ranks is not None:
                ranked = _labellings(
                    names, self._questions.k_best(chain, ranks.of_chain(chain, self._questions.log_counts))
                )
            answers.extend(map(Answer, labellings, nodes, entities, ranked))
        if not self._finishes:
            return answers
        finished = self._finished(X, [answer.labels for answer in answers], known)
        return [answer._replace(labels=labels) for labels, answer in zip(finished, answers, strict=True)]

    def answer_arrays(
        self, X: Any, *, marginals: bool = False, spans: bool = False, min_probability: float = 0.0, **inputs: Any
    ) -> AnswerArrays:
        """Answer as `answer` does, for many sentences: arrays, and no object for each of them.

        Arguments:
            X: sentences, as for `fit`.
            marginals: the probability of each label of the labelling.
            spans: its spans, with their probabilities.
            min_probability: spans that are less probable are left out.
        """
        names = tuple(self._names())
        X = as_sentences(X) if self._finishes else X  # which reads them again
        if not (marginals or spans):
            return _numbered(names, self.predict(X, **inputs))
        reading = self._reading(min_probability) if spans else None
        labels, lengths, nodes, found, B = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [], [], 0
        for chain in self._scored(X, **inputs):
            labels.append(self._questions.viterbi(chain).labels)
            lengths.append(chain.lengths)
            if marginals:
                nodes.append(self._questions.marginals(chain).nodes)
            if reading is not None:
                found.append(self._questions.probable_spans(chain, reading, min_probability, labels[-1], B))
            B += chain.num_sentences
        answer = AnswerArrays(names, offsets_of(np.concatenate(lengths)), np.concatenate(labels))
        if self._finishes:
            answer = _numbered(names, self._finished(X, answer.labellings, inputs.get("known")))
        chances = None
        if marginals:
            every = np.concatenate([np.zeros((0, len(names))), *nodes])
            chances = every[np.arange(len(every)), answer.labels]
        return AnswerArrays(
            names,
            answer.offsets,
            answer.labels,
            chances,
            None if reading is None else FoundSpans.joined(found, reading.types),
        )

    def _note_dev(self, X: Any, y: Any, **inputs: Any) -> None:
        """Put the scores on the dev set among the facts of training, by the rule of its score after each pass."""
        rule = rule_for_labels(read_labels(X, y).labels, self._names())
        report = self.evaluate(X, y, rule=rule, **inputs)
        self.training_ = replace(self.training_, dev={**self.training_.dev, **score_facts(report)})

    def predict(self, X: Any, *, known: Any = None, **inputs: Any) -> list[list[str]]:
        """Return the most probable labelling of each sentence.

        Arguments:
            X: sentences, as for `fit`.
            known: for each sentence a list with, for each token, its label, a set of labels, or None where nothing is
                known; every answer keeps to it.
        """
        names = tuple(self.labels_)
        X = as_sentences(X) if self._finishes else X  # which reads them again
        labellings: list[list[str]] = []
        for chain in self._scored(X, known=known, **inputs):
            labellings += named_rows(self._questions.viterbi(chain).labels, chain.offsets, names)
        return PerSentence(self._finished(X, labellings, known) if self._finishes else labellings)

    def predict_single(self, x: Any, *, known: Any = None, **inputs: Any) -> list[str]:
        """Return the most probable labelling of one sentence."""
        return self.predict([x], **_wrapped(known=known, **inputs))[0]

    def predict_marginals(self, X: Any, *, known: Any = None, **inputs: Any) -> list[list[dict[str, float]]]:
        """Return for each token the probability of each label."""
        names, out = self.labels_, PerSentence()
        for nodes in self.marginal_arrays(X, known=known, **inputs):
            out.append([dict(zip(names, row, strict=True)) for row in nodes.tolist()])
        return out

    def predict_marginals_single(self, x: Any, *, known: Any = None, **inputs: Any) -> list[dict[str, float]]:
        """Return for each token of one sentence the probability of each label."""
        return self.predict_marginals([x], **_wrapped(known=known, **inputs))[0]

    def marginal_arrays(self, X: Any, *, known: Any = None, **inputs: Any) -> list[NDArray[Any]]:
        """Return for each sentence the probabilities ``[T, L]``, labels in the order of `labels_`."""
        chains = self._scored(X, known=known, **inputs)
        return [nodes for chain in chains for nodes in chain.split(self._questions.marginals(chain).nodes)]

    def predict_spans(
        self, X: Any, *, known: Any = None, min_probability: float = 0.0, **inputs: Any
    ) -> list[list[Entity]]:
        """Return the spans of the most probable labelling of each sentence, each with its exact probability.

        Labels are read by the model's tag scheme, or by the one whose letters they are in.

        Arguments:
            min_probability: spans that are less probable are left out.
        """
        reading = self._reading(min_probability)
        X, characters = _with_texts(X)
        out: list[list[Entity]] = []
        for chain in self._scored(X, known=known, **inputs):
            spans = self._questions.probable_spans(chain, reading, min_probability)
            out.extend(spans.entities(chain.num_sentences, _shifted(characters, len(out))))
        return out

    def _reading(self, min_probability: float) -> Reading:
        """How the labels make spans."""
        check_number("min_probability", min_probability, least=0, most=1, wanted=message("a number from 0 to 1"))
        return Reading.of(self._names(), self.scheme_name)

    def predict_k_best(self, X: Any, k: int = 5, *, known: Any = None, **inputs: Any) -> list[list[Labelling]]:
        """Return the k best labellings of each sentence, with their probabilities among all labellings."""
        ranks = Ranks(k)
        out: list[list[Labelling]] = []
        for chain in self._scored(X, known=known, **inputs):
            out.extend(
                _labellings(
                    self.labels_, self._questions.k_best(chain, ranks.of_chain(chain, self._questions.log_counts))
                )
            )
        return out

    def predict_samples(
        self, X: Any, n: int = 1, *, seed: int | None = None, known: Any = None, **inputs: Any
    ) -> list[list[list[str]]]:
        """Draw n labellings of each sentence from the model's distribution."""
        random, draws = random_generator(seed), Ranks(n, "n", least=0)
        names = tuple(self.labels_)
        out: list[list[list[str]]] = []
        for chain in self._scored(X, known=known, **inputs):
            drawn = self._questions.sample_paths(chain, draws.of_draws(chain.offsets), random)  # [n, N]
            rows = [named_rows(labels, chain.offsets, names) for labels in drawn]
            out.extend([row[b] for row in rows] for b in range(chain.num_sentences))
        return out

    def log_likelihood(self, X: Any, y: Any = None, **inputs: Any) -> Float64Array:
        """Return log p(y | x) of each sentence; without y the log of the normaliser, log Z."""
        X = as_sentences(X)
        parts = [np.zeros(0)]
        if y is None:
            parts += [self._questions.log_partition(chain) for chain in self._scored(X, **inputs)]
        else:
            rows = KnownLabels(self._known(y, X, **inputs), self._names(), sized(X), self._questions.constrain)
            for chain in self._scored(X, **inputs):
                of_y = self._questions.log_partition(rows.hold(chain), allow_no_path=True)
                parts.append(of_y - self._questions.log_partition(chain))
            rows.finish()
        return np.concatenate(parts)

    def entropy(self, X: Any, *, known: Any = None, **inputs: Any) -> Float64Array:
        """Return the entropy of each sentence's labelling in nats: how unsure the model is."""
        return np.concatenate(
            [np.zeros(0), *(self._questions.entropy(chain) for chain in self._scored(X, known=known, **inputs))]
        )

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, **inputs: Any) -> float:
        """Return the share of tokens with the right label, those with an unknown one left out.

        Arguments:
            X, y: sentences and labels, as for `fit`.
            sample_weight: how much the tokens of each sentence count, ``[B]``.
        """
        labelled, predicted = self._beside(X, y, inputs)
        sizes = check_sample_weight(sample_weight, len(predicted))
        gold = np.array([*labelled.labels, None], object)[labelled.ids]
        known = labelled.ids >= 0
        right = gold == np.array([label for row in predicted for label in row], object)
        weights = None if sizes is None else np.repeat(sizes, np.diff(labelled.offsets))[known]
        if not known.any() or (weights is not None and not weights.any()):
            return 0.0
        return float(np.average(right[known], weights=weights))

    def evaluate(
        self, X: Any, y: Any = None, *, rule: str | None = "auto", examples: int = 5, resamples: int = 0, **inputs: Any
    ) -> Report:
        """Predict and score in every way that applies: spans, tokens, mistakes.

        Arguments:
            X, y: sentences and labels, as for `fit`; every label must be known.
            rule: how spans are read and compared, as for `tagline.evaluation.evaluate_spans`. "auto" is conlleval's,
                by the model's tag scheme or the one that the labels are detected to be of; None for labels without
                spans.
            examples: how many of each kind of mistake are shown.
            resamples: draws for the interval of F1; 0 for no interval.
        """
        labelled, predicted = self._beside(X, y, inputs)
        if (unknown := labelled.unknown()) is not None:
            place, label = unknown
            raise InputError(
                "{}: expected a label to compare with, got {!r}; score leaves unknown labels out", place, label
            )
        gold = labelled.corpus()
        if rule is not None and not isinstance(rule, str):
            raise InputError("rule: expected a name such as auto or conlleval:IOB2, or None, got {}", shown_value(rule))
        if rule == "auto":
            name = self.scheme_name
            if name is None:
                detected = detect(gold).scheme
                name = None if detected is None else detected.name
            rule = None if name is None else f"conlleval:{name}"
        return evaluate(gold, predicted, rule, tokens=labelled.source, examples=examples, resamples=resamples)

    def _beside(self, X: Any, y: Any, inputs: Mapping[str, Any]) -> tuple[LabelledTokens, list[list[str]]]:
        """The labels that should be there, and those that are predicted."""
        X = as_sentences(X)
        labelled = read_labels(X, y)
        predicted = self.predict(X, **inputs)
        match_lengths(np.cumsum([0, *(len(row) for row in predicted)]), labelled)
        return labelled, predicted


def _with_texts(X: Any) -> tuple[Any, Characters]:
    """Sentences that can be read twice, and how the text of a span is found in them as they came."""
    sentences = list(X) if isinstance(X, Iterator) else X
    return as_sentences(sentences), characters_of(sentences)


def _shifted(characters: Characters, first: int) -> Characters:
    """The same for sentences that are numbered from `first` on."""
    return lambda b, start, end: characters(first + b, start, end)


def _numbered(names: tuple[str, ...], labellings: Sequence[Sequence[Any]]) -> AnswerArrays:
    """Labellings by the numbers of their labels."""
    numbers = {name: number for number, name in enumerate(names)}
    if strange := {str(label) for row in labellings for label in row} - numbers.keys():
        raise InputError(
            "the dictionary of this model: expected types that labels have, got one for {}; train anew "
            "without its phrases",
            min(strange),
        )
    labels = np.array([numbers[str(label)] for row in labellings for label in row], np.int64)
    return AnswerArrays(names, offsets_of([len(row) for row in labellings]), labels)


def _labellings(names: Sequence[Any], ranked: Iterable[Any]) -> list[list[Labelling]]:
    """The k best paths of each sentence, as names."""
    out = []
    for paths in ranked:
        labels = [[names[label] for label in row] for row in paths.labels.tolist()]
        facts = zip(labels, paths.probabilities.tolist(), paths.scores.tolist(), strict=True)
        out.append([Labelling(*fact) for fact in facts])
    return out


def _wrapped(**inputs: Any) -> dict[str, Any]:
    """What belongs to one sentence, as a list of one."""
    return {name: None if value is None else [value] for name, value in inputs.items()}
