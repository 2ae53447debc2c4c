"""`CRF`: the feature CRF, a scikit-learn estimator over the rooms above.

p(y | x) = exp(w · F(y, x)) / Z(x), with state features (attribute, label), transitions (label, label), edge features
(attribute, label, label) and start and end weights. `fit` numbers features and labels and hands them to `training`;
every question is answered by the chain engine (`answers`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tagline.chain import constrain
from tagline.errors import InputError
from tagline.features.attributes import Features
from tagline.features.dictionaries import Dictionary
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import Scorer, structure_of
from tagline.models.answers import MOST_TOKENS, SequenceModel, known_labels, pieces
from tagline.models.development import DevSet
from tagline.models.extraction import Extraction, Way, as_template
from tagline.models.fitting import Settings, some_sentences, take_sentences, train
from tagline.models.parameters import Parameters
from tagline.models.targets import (
    LabelledTokens,
    allowed_labels,
    complete_labels,
    match_lengths,
    numbered,
    read_labels,
    scheme_of,
    sentence_weights,
    settle,
)
from tagline.readers.adapters import is_foreign
from tagline.readers.corpus import Corpus
from tagline.readers.roles import legal
from tagline.training.likelihood import Targets
from tagline.training.monitor import Callback, Monitor
from tagline.types import Chain


class CRF(SequenceModel, BaseEstimator):
    """A linear-chain conditional random field with features.

    The objective is Σ over sentences of −log p(y | x), plus c1·|w|₁ + c2·|w|² (CRFsuite's convention; CRF++'s cost C is
    c2 = 1 / (2 C)).

    Arguments:
        features: a template (`Template`, the name of a ready-made set such as "english_ner", a path, or a text), a
            function sentence → features of each token, or None where X holds dicts or lists of strings already.
        algorithm: "auto" (stochastic passes, then L-BFGS; OWL-QN where c1 > 0), "lbfgs", "owlqn", "sgd", "gd", "ap"
            (averaged perceptron), "pa" (passive-aggressive), "arow".
        c1, c2: penalties.
        scheme: the tag scheme whose rules hold in training and decoding ("IOB2", "BIOES", …), "auto" to detect it,
            None for no rules.
        on_illegal: training labels that break the rules: "error", "repair", or "drop" the sentence.
        min_frequency: attributes that are rarer are left out.
        all_possible_states, all_possible_transitions: weights for pairs that the training data do not show, too.
        start_end: weights for the first and the last label of a sentence.
        edge_pairs: label pairs that edge attributes are crossed with: "observed" or "all".
        label_weights: how much sentences with a label count: a mapping, or "balanced". A sentence counts the mean weight
            of its labels.
        hash_bits: number attributes by so many bits of their hash and keep no names.
        dictionary: phrases and their types, used as their priority says.
        max_iterations, max_seconds: limits; None for none.
        epsilon, period, delta: when training has converged, as in CRFsuite.
        patience: stop after so many passes without a better score on the dev set, and keep the best weights.
        memory: steps that L-BFGS remembers.
        passes: of stochastic and online algorithms.
        options: further arguments of the algorithm, by name.
        precision: "float32", "float64", or "auto": float64 for up to 5,000 tokens.
        warm_start: begin `fit` from the weights of the last one; new labels and features are added to them.
        random_state: seed of stochastic algorithms.
        verbose: True prints a line a pass to stderr.
        callbacks: called with (pass, weights) after each pass; True stops.

    After `fit`: `labels_`, `parameters_` (weights and names), `training_log_` (one `Pass` each), `stop_reason_`,
    `objective_`, `notes_` (what was repaired or dropped).

    >>> X = [[{"word": "Anna"}, {"word": "sings"}], [{"word": "Bob"}, {"word": "sings"}]]
    >>> CRF(c2=0.1).fit(X, [["N", "V"], ["N", "V"]]).predict([[{"word": "Bob"}, {"word": "runs"}]])
    [['N', 'V']]
    """

    def __init__(
        self,
        features: Way = None,
        *,
        algorithm: str = "auto",
        c1: float = 0.0,
        c2: float = 1.0,
        scheme: str | None = None,
        on_illegal: str = "error",
        min_frequency: float = 0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        start_end: bool = False,
        edge_pairs: str = "observed",
        label_weights: Any = None,
        hash_bits: int | None = None,
        dictionary: Dictionary | None = None,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        epsilon: float = 1e-5,
        period: int = 10,
        delta: float = 1e-5,
        patience: int | None = None,
        memory: int = 10,
        passes: int | None = None,
        options: dict[str, Any] | None = None,
        precision: str = "auto",
        warm_start: bool = False,
        random_state: int = 0,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.features = features
        self.algorithm = algorithm
        self.c1 = c1
        self.c2 = c2
        self.scheme = scheme
        self.on_illegal = on_illegal
        self.min_frequency = min_frequency
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.start_end = start_end
        self.edge_pairs = edge_pairs
        self.label_weights = label_weights
        self.hash_bits = hash_bits
        self.dictionary = dictionary
        self.max_iterations = max_iterations
        self.max_seconds = max_seconds
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.patience = patience
        self.memory = memory
        self.passes = passes
        self.options = options
        self.precision = precision
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_dev: Any = None,
        y_dev: Any = None,
        edges: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> CRF:
        """Learn weights from labelled sentences.

        Arguments:
            X: sentences: a `Corpus`, lists of tokens, or lists of features, as `features` says.
            y: labels of each sentence; left out where X is a corpus with tags. None for an unknown label, a set for one
                of several.
            X_dev, y_dev: sentences to be scored after each pass.
            edges: edge attributes of each token, where X holds features.
            sample_weight: how much each sentence counts, ``[B]``.
        """
        before = self.parameters_ if self.warm_start and hasattr(self, "parameters_") else None
        return self._train(X, y, before, X_dev=X_dev, y_dev=y_dev, edges=edges, sample_weight=sample_weight)

    def partial_fit(self, X: Any, y: Any = None, *, edges: Any = None, sample_weight: ArrayLike | None = None) -> CRF:
        """Learn from more sentences, beginning at the weights of now: new labels and features are added.

        One stochastic pass over the sentences, or as many as `passes` says; no tolerance ends it earlier.
        """
        before = getattr(self, "parameters_", None)
        return self._train(X, y, before, edges=edges, sample_weight=sample_weight, increment=True)

    def _train(
        self,
        X: Any,
        y: Any,
        before: Parameters | None,
        *,
        X_dev: Any = None,
        y_dev: Any = None,
        edges: Any = None,
        sample_weight: ArrayLike | None = None,
        increment: bool = False,
    ) -> CRF:
        if (X_dev is None) != (y_dev is None) and not isinstance(X_dev, Corpus):
            raise InputError("X_dev, y_dev: expected both or neither, got one")
        extraction = Extraction(self.features, self.hash_bits, self.dictionary)
        X, edges = _kept(X), _kept(edges)
        labelled = read_labels(X, y)
        features, states, edge_names = self._features(extraction, X, edges, before)
        match_lengths(features.bounds, labelled)
        scheme = scheme_of(labelled, self.scheme) if before is None or self.scheme != "auto" else before.scheme
        labels = complete_labels({*labelled.labels, *(before.labels if before else ())}, scheme)
        rules = None if scheme is None else legal(labels, scheme)
        labelled, kept, notes = settle(labelled, rules, scheme, labels, self.on_illegal)
        features, labelled = take_sentences(features, labelled, kept)
        start = self._start(features, labelled, labels, scheme, states, edge_names, before)
        weights = sentence_weights(
            None if sample_weight is None else np.asarray(sample_weight)[kept], self.label_weights, labelled, labels
        )
        targets = Targets(numbered(labelled, labels), allowed_labels(labelled, labels), weights)
        monitor = self._monitor(X_dev, y_dev, extraction, start, increment)
        settings = Settings(
            "sgd" if increment else self.algorithm,
            self.c1,
            self.c2,
            self.memory,
            (self.passes or 1) if increment else self.passes,
            self.random_state,
            self.precision,
            None if increment else self.options,
        )
        trained = train(start.structure, features, targets, rules, start.weights, settings, monitor)
        self.notes_ = notes
        self.training_log_, self.stop_reason_, self.objective_ = trained.history, trained.reason, trained.objective
        self._become(replace(start, weights=trained.weights), extraction)
        return self

    def _features(
        self, extraction: Extraction, X: Any, edges: Any, before: Parameters | None
    ) -> tuple[Features, Vocabulary | None, Vocabulary | None]:
        """Number the attributes of sentences; those of a model that is trained on keep their numbers."""
        built = extraction.build(X, edges, self.min_frequency)
        if before is None or before.states is None:
            return built.features, built.states, built.edges
        states = before.states.extended(built.states or ())
        edge_names = before.edges
        if built.edges is not None:
            edge_names = built.edges if before.edges is None else before.edges.extended(built.edges)
        found = extraction.look_up(X, (states, edge_names), edges)
        return found.features, states, edge_names

    def _start(
        self,
        features: Features,
        labelled: LabelledTokens,
        labels: list[str],
        scheme: str | None,
        states: Vocabulary | None,
        edges: Vocabulary | None,
        before: Parameters | None,
    ) -> Parameters:
        """Say which weights there are, 0 or those of before."""
        if self.edge_pairs not in ("observed", "all"):
            raise InputError(f'edge_pairs: expected "observed" or "all", got {self.edge_pairs!r}')
        hashed = 0 if self.hash_bits is None else 1 << self.hash_bits
        template = as_template(self.features)
        structure = structure_of(
            features,
            numbered(labelled, labels),
            len(labels),
            hashed if states is None else len(states),
            num_edges=(0 if features.edges is None else hashed) if edges is None else len(edges),
            all_states=self.all_possible_states or bool(labelled.sets),
            all_transitions=self.all_possible_transitions or bool(labelled.sets),
            all_edges=self.edge_pairs == "all" or bool(labelled.sets),
            transitions=template is None or template.label_bigrams,
            start=self.start_end,
            end=self.start_end,
        )
        if before is not None:
            return before.grown(labels, scheme, structure, states, edges)
        return Parameters(tuple(labels), scheme, structure, np.zeros(structure.size), states, edges)

    def _monitor(self, X_dev: Any, y_dev: Any, extraction: Extraction, start: Parameters, increment: bool) -> Monitor:
        dev = None if X_dev is None else DevSet(X_dev, y_dev, extraction, start)
        return Monitor(
            epsilon=0.0 if increment else self.epsilon,
            period=self.period,
            delta=0.0 if increment else self.delta,
            max_iterations=self.max_iterations,
            max_seconds=self.max_seconds,
            dev=dev,
            patience=self.patience,
            callbacks=self.callbacks,
            report=(lambda done: print(done.line(), file=sys.stderr)) if self.verbose else None,
        )

    def _become(self, parameters: Parameters, extraction: Extraction) -> None:
        """Take on learned parameters."""
        self.parameters_ = parameters
        self._extraction = extraction
        self._scorer = Scorer(parameters.structure, parameters.weights, parameters.rules)

    @property
    def labels_(self) -> list[str]:  # type: ignore[override]
        """The labels, sorted."""
        check_is_fitted(self, "parameters_")
        return list(self.parameters_.labels)

    @property
    def classes_(self) -> list[str]:
        """The labels, under the name that scikit-learn and sklearn-crfsuite use."""
        return self.labels_

    def _chains(self, X: Any, known: Any = None, *, edges: Any = None) -> Iterator[Chain]:
        check_is_fitted(self, "parameters_")
        p = self.parameters_
        features = self._extraction.look_up(_kept(X), (p.states, p.edges), _kept(edges)).features
        if p.edges is None and self.hash_bits is None and features.edges is not None:
            features = Features(features.bounds, features.states)
        allowed = known_labels(known, p.labels, features.bounds)
        most = MOST_TOKENS if features.edges is None else max(1, MOST_TOKENS // len(p.labels))
        for first, last in pieces(features.bounds, most):
            chain = self._scorer.chain(some_sentences(features, first, last))
            if allowed is not None:
                chain = constrain(chain, allowed=allowed[features.bounds[first] : features.bounds[last]])
            yield chain

    def score(self, X: Any, y: Any = None, **inputs: Any) -> float:
        """Return the share of tokens with the right label."""
        labelled = read_labels(X, y)
        predicted = self.predict(X, **inputs)
        if [len(row) for row in predicted] != np.diff(labelled.bounds).tolist():
            raise InputError("y: expected one label a token of X, got another number")
        gold = [labelled.labels[number] if number >= 0 else None for number in labelled.ids]
        flat = [label for row in predicted for label in row]
        pairs = [(a, b) for a, b in zip(gold, flat, strict=True) if a is not None]
        return sum(a == b for a, b in pairs) / max(len(pairs), 1)


def _kept(X: Any) -> Any:
    """A generator can be read once: keep what it gives."""
    if X is None or isinstance(X, Corpus) or is_foreign(X) or not isinstance(X, Iterator):
        return X
    return list(X)
