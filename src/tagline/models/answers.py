"""What every model can be asked, once it has scored sentences into chains: the same methods for HMM, CRF, neural CRFs.

A model has `labels_` and gives its sentences as chains, a few thousand tokens at a time (`_chains`); whatever the
engine answers about a chain is turned into labels here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline import chain as engine
from tagline import compiled
from tagline.errors import InputError
from tagline.evaluation.report import Report, evaluate
from tagline.models.entities import Entity, Reading, characters_of, find_entities
from tagline.models.labelled import LabelledTokens, check_sample_weight, match_lengths, read_labels
from tagline.readers.adapters import as_corpus, is_foreign
from tagline.readers.corpus import TAG, Column, Corpus, Sentence
from tagline.readers.detection import detect
from tagline.types import BoolArray, Chain, Float64Array, IntArray

MOST_TOKENS = 16_384  # scored at once: what the caches hold (a seventh faster than 65,536), and a bound on memory


@dataclass(frozen=True)
class Labelling:
    """One labelling of a sentence with its probability."""

    labels: list[str]
    probability: float
    score: float


class Answers(list[Any]):
    """A list with an entry for each sentence that NumPy takes as one row of objects, whatever their lengths.

    scikit-learn joins the answers of a cross validation by ``numpy.concatenate``, which refuses plain ragged lists.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the entries as objects, ``[B]``."""
        out = np.empty(len(self), object)
        for b, entry in enumerate(self):
            out[b] = entry
        return out if dtype is None else out.astype(dtype)


class SequenceModel:
    """Questions to a model that has been fitted."""

    labels_: list[str]

    @property
    def scheme_name(self) -> str | None:
        """The tag scheme whose rules hold; None for no rules."""
        return getattr(getattr(self, "parameters_", None), "scheme", None)

    def _chains(self, X: Any, known: Any = None, **inputs: Any) -> Iterator[Chain]:
        raise NotImplementedError

    def predict(self, X: Any, *, known: Any = None, **inputs: Any) -> list[list[str]]:
        """Return the most probable labelling of each sentence.

        Arguments:
            X: sentences, as for `fit`.
            known: for each sentence a list with, for each token, its label, a set of labels, or None where nothing is
                known; every answer keeps to it.
        """
        out: list[list[str]] = Answers()
        for chain in self._chains(X, known, **inputs):
            out.extend(self._names(engine.viterbi(chain).labels, chain.offsets))
        return out

    def predict_single(self, x: Any, *, known: Any = None, **inputs: Any) -> list[str]:
        """Return the most probable labelling of one sentence."""
        return self.predict([x], **_wrapped(known=known, **inputs))[0]

    def predict_marginals(self, X: Any, *, known: Any = None, **inputs: Any) -> list[list[dict[str, float]]]:
        """Return for each token the probability of each label."""
        out: list[list[dict[str, float]]] = Answers()
        names = self.labels_
        for chain in self._chains(X, known, **inputs):
            for nodes in chain.split(engine.marginals(chain).nodes):
                out.append([dict(zip(names, row, strict=True)) for row in nodes.tolist()])
        return out

    def predict_marginals_single(self, x: Any, *, known: Any = None, **inputs: Any) -> list[dict[str, float]]:
        """Return for each token of one sentence the probability of each label."""
        return self.predict_marginals([x], **_wrapped(known=known, **inputs))[0]

    def marginal_arrays(self, X: Any, *, known: Any = None, **inputs: Any) -> list[NDArray[Any]]:
        """Return for each sentence the probabilities ``[T, L]``, labels in the order of `labels_`."""
        chains = self._chains(X, known, **inputs)
        return [nodes for chain in chains for nodes in chain.split(engine.marginals(chain).nodes)]

    def predict_spans(
        self, X: Any, *, known: Any = None, min_probability: float = 0.0, **inputs: Any
    ) -> list[list[Entity]]:
        """Return the spans of the most probable labelling of each sentence, each with its exact probability.

        Labels are read by the model's tag scheme, or by the one whose letters they are in.

        Arguments:
            min_probability: spans that are less probable are left out.
        """
        if not 0 <= min_probability <= 1:
            raise InputError(f"min_probability: expected a number from 0 to 1, got {min_probability!r}")
        reading = Reading.of(self.labels_, self.scheme_name)
        sentences = list(X) if isinstance(X, Iterator) else X  # read twice: for the scores and for the texts
        characters = characters_of(sentences)
        out: list[list[Entity]] = []
        for chain in self._chains(sentences, known, **inputs):
            out.extend(find_entities(chain, reading, characters, len(out), min_probability))
        return out

    def predict_k_best(self, X: Any, k: int = 5, *, known: Any = None, **inputs: Any) -> list[list[Labelling]]:
        """Return the k best labellings of each sentence, with their probabilities among all labellings."""
        out, names = [], self.labels_
        for chain in self._chains(X, known, **inputs):
            for ranked in engine.k_best(chain, k):
                paths = [[names[label] for label in row] for row in ranked.labels.tolist()]
                facts = zip(paths, ranked.probabilities.tolist(), ranked.scores.tolist(), strict=True)
                out.append([Labelling(*one) for one in facts])
        return out

    def predict_samples(
        self, X: Any, n: int = 1, *, seed: int | None = None, known: Any = None, **inputs: Any
    ) -> list[list[list[str]]]:
        """Draw n labellings of each sentence from the model's distribution."""
        random = np.random.default_rng(seed)
        out: list[list[list[str]]] = []
        for chain in self._chains(X, known, **inputs):
            drawn = engine.sample_paths(chain, n, random)  # [n, N]
            rows = [self._names(labels, chain.offsets) for labels in drawn]
            out.extend([row[b] for row in rows] for b in range(chain.num_sentences))
        return out

    def log_likelihood(self, X: Any, y: Any = None, **inputs: Any) -> Float64Array:
        """Return log p(y | x) of each sentence; without y the log of the normaliser, log Z."""
        if y is None:
            parts = [engine.log_partition(chain) for chain in self._chains(X, **inputs)]
            return np.concatenate(parts) if parts else np.zeros(0)
        free = [engine.log_partition(chain) for chain in self._chains(X, **inputs)]
        bound = [engine.log_partition(chain, allow_no_path=True) for chain in self._chains(X, y, **inputs)]
        return np.concatenate(bound) - np.concatenate(free) if free else np.zeros(0)

    def entropy(self, X: Any, *, known: Any = None, **inputs: Any) -> Float64Array:
        """Return the entropy of each sentence's labelling in nats: how unsure the model is."""
        parts = [engine.entropy(chain) for chain in self._chains(X, known, **inputs)]
        return np.concatenate(parts) if parts else np.zeros(0)

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
        each = None if sizes is None else np.repeat(sizes, np.diff(labelled.bounds))[known]
        if not known.any() or (each is not None and not each.any()):
            return 0.0
        return float(np.average(right[known], weights=each))

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
        if labelled.sets:
            n = min(labelled.sets)
            b = int(np.searchsorted(labelled.bounds, n, side="right")) - 1
            raise InputError(
                f"y[{b}][{n - labelled.bounds[b]}]: expected a label to compare with, got {labelled.sets[n]!r}; score "
                "leaves unknown labels out"
            )
        gold = Corpus({TAG: Column(labelled.labels, labelled.ids)}, labelled.bounds)
        if rule == "auto":
            name = self.scheme_name
            if name is None:
                found = detect(gold).scheme
                name = None if found is None else found.name
            rule = None if name is None else f"conlleval:{name}"
        words = labelled.source.tokens if labelled.source is not None else None
        return evaluate(gold, predicted, rule, tokens=words, examples=examples, resamples=resamples)

    def _beside(self, X: Any, y: Any, inputs: Mapping[str, Any]) -> tuple[LabelledTokens, list[list[str]]]:
        """The labels that should be there, and those that are predicted."""
        X = as_sentences(X)
        labelled = read_labels(X, y)
        predicted = self.predict(X, **inputs)
        match_lengths(np.cumsum([0, *(len(row) for row in predicted)]), labelled)
        return labelled, predicted

    def _names(self, labels: IntArray, offsets: IntArray) -> list[list[str]]:
        if compiled.core is not None:
            found: list[list[str]] = compiled.core.lists_of(
                tuple(self.labels_), np.ascontiguousarray(labels, np.int64), offsets
            )
            return found
        names = np.array(self.labels_, object)[labels].tolist()
        return [names[first:last] for first, last in pairwise(offsets.tolist())]


def _wrapped(**inputs: Any) -> dict[str, Any]:
    """What belongs to one sentence, as a list of one."""
    return {name: None if value is None else [value] for name, value in inputs.items()}


def as_sentences(X: Any) -> Any:
    """Sentences that can be read more than once, and carry their tags where they have any.

    A generator is read, a data set or data frame and a list of `Sentence` become a corpus; all else is as it was.
    """
    if is_foreign(X):
        return as_corpus(X)
    if isinstance(X, Iterator):
        X = list(X)
    if isinstance(X, list) and any(isinstance(x, Iterator) for x in X):
        X = [list(x) if isinstance(x, Iterator) else x for x in X]
    if isinstance(X, list) and X and all(isinstance(x, Sentence) for x in X):
        return Corpus.from_sentences(X)
    return X


def pieces(bounds: IntArray, most: int = MOST_TOKENS) -> list[tuple[int, int]]:
    """Cut sentences into runs of about `most` tokens: (first, last + 1) each."""
    cuts = [0]
    B = len(bounds) - 1
    while cuts[-1] < B:
        reach = int(np.searchsorted(bounds, bounds[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(B, max(reach, cuts[-1] + 1)))
    return list(pairwise(cuts))


def known_labels(known: Any, labels: Sequence[str], bounds: IntArray) -> BoolArray | None:
    """Booleans ``[N, L]`` from what is known of each token; None where nothing is."""
    if known is None:
        return None
    numbers = {label: number for number, label in enumerate(labels)}
    rows = list(known)
    if len(rows) != len(bounds) - 1:
        raise InputError(f"known: expected one list for each of {len(bounds) - 1} sentences, got {len(rows)}")
    allowed = np.ones((int(bounds[-1]), len(labels)), bool)
    for b, row in enumerate(rows):
        if row is None:
            continue
        T = int(bounds[b + 1] - bounds[b])
        if isinstance(row, str) or not isinstance(row, Iterable) or len(row := list(row)) != T:
            raise InputError(f"known[{b}]: expected a list of {T} entries, one a token, got {row!r}")
        for t, some in enumerate(row):
            if some is None:
                continue
            chosen = {some} if isinstance(some, str) else set(some)
            strange = chosen - numbers.keys()
            if strange or not chosen:
                raise InputError(
                    f"known[{b}][{t}]: expected labels among {', '.join(labels)}, got {some!r}; None where nothing is "
                    "known"
                )
            allowed[bounds[b] + t] = False
            allowed[bounds[b] + t, [numbers[label] for label in chosen]] = True
    return allowed
