"""`CRF`: the feature CRF, a scikit-learn estimator over the rooms above.

p(y | x) = exp(w · F(y, x)) / Z(x), with state features (attribute, label), transitions (label, label), edge features
(attribute, label, label) and start and end weights. `fit` numbers features and labels and hands them to `training`;
every question is answered by the chain engine (`answers`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence, Sized
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from tagline.chain import constrain
from tagline.errors import InputError
from tagline.features.attributes import Attributes, Features
from tagline.features.dictionaries import Dictionary
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import structure_of
from tagline.models.answers import MOST_TOKENS, SequenceModel, as_sentences, known_labels, pieces
from tagline.models.compilation import CompiledCorpus, scratch_folder
from tagline.models.development import DevSet
from tagline.models.explaining import Explanation, explain
from tagline.models.extraction import Extraction, Way, tokens_as_corpus
from tagline.models.fitting import some_sentences, take_sentences
from tagline.models.inspection import Inspection
from tagline.models.packing import Facts
from tagline.models.parameters import Parameters
from tagline.models.saving import Saving
from tagline.models.targets import (
    LabelledTokens,
    allowed_labels,
    check_sample_weight,
    chosen_pairs,
    complete_labels,
    match_lengths,
    numbered,
    read_labels,
    scheme_of,
    sentence_weights,
    settle,
    used_labels,
)
from tagline.readers.corpus import Corpus
from tagline.readers.roles import Rules, legal
from tagline.training.algorithms import Settings, train
from tagline.training.likelihood import Targets
from tagline.training.monitor import Callback, Monitor
from tagline.types import Chain

RATE = 0.1  # the first step size of partial_fit


class CRF(Saving, Inspection, SequenceModel, BaseEstimator):  # type: ignore[misc]
    """A linear-chain conditional random field with features.

    The objective is Σ over sentences of −log p(y | x), plus c1·|w|₁ + c2·|w|² (CRFsuite's convention; CRF++'s cost C is
    c2 = 1 / (2 C)).

    Arguments:
        features: a template (`Template`, the name of a ready-made set such as "english_ner", a path, or a text), a
            function sentence → features of each token, or None where X holds dicts or lists of strings already.
        algorithm: "auto" (stochastic passes, then L-BFGS; OWL-QN where c1 > 0), "lbfgs", "owlqn", "sgd", "gd", "iis"
            (iterative scaling), "ap" (averaged perceptron), "pa" (passive-aggressive), "arow".
        c1, c2: penalties. Where the algorithm has no such penalty, the default is not used, and a value other than it
            and 0 is an error.
        scheme: the tag scheme whose rules hold in training and decoding ("IOB2", "BIOES", …), "auto" to detect it,
            None for no rules.
        on_illegal: training labels that break the rules: "error", "repair", or "drop" the sentence.
        min_frequency: attributes that are rarer are left out.
        all_possible_states, all_possible_transitions: weights for pairs that the training data do not show, too.
        start_end: weights for the first and the last label of a sentence.
        edge_pairs: label pairs that edge attributes are crossed with: "observed", "all", or a list of pairs
            (label before, label).
        label_weights: how much sentences with a label count: a mapping, or "balanced". A sentence counts the mean
            weight of its labels.
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
    `objective_`, `notes_` (what was repaired or dropped), and those of `Inspection`. The log is not kept in files.

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
        edge_pairs: str | Sequence[tuple[str, str]] = "observed",
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
        edges_dev: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> CRF:
        """Learn weights from labelled sentences.

        Arguments:
            X: sentences: a `Corpus`, lists of tokens, or lists of features, as `features` says; or a `CompiledCorpus`.
            y: labels of each sentence; left out where X is a corpus with tags. None for an unknown label, a set for one
                of several.
            X_dev, y_dev: sentences to be scored after each pass.
            edges, edges_dev: edge attributes of each token, where X holds features.
            sample_weight: how much each sentence counts, ``[B]``.
        """
        before = self.parameters_ if self.warm_start and hasattr(self, "parameters_") else None
        dev = None
        if X_dev is not None or y_dev is not None:
            X_dev = as_sentences(X_dev)
            if X_dev is None or (y_dev is None and not isinstance(X_dev, Corpus)):
                raise InputError("X_dev, y_dev: expected both or neither, got one")
            dev = X_dev, y_dev, as_sentences(edges_dev)
        elif self.patience is not None:
            raise InputError("patience: expected a dev set to be patient with, got none; pass X_dev and y_dev")
        self._train(X, y, before, edges, sample_weight, dev)
        return self

    def partial_fit(self, X: Any, y: Any = None, *, edges: Any = None, sample_weight: ArrayLike | None = None) -> CRF:
        """Learn from more sentences, beginning at the weights of now: new labels and features are added.

        One stochastic pass over the sentences, or as many as `passes` says; no tolerance ends it earlier. The penalties
        count for the share that these sentences have in all that were learned from, so that a few of them do not
        push the rest aside.
        """
        self._train(X, y, getattr(self, "parameters_", None), edges, sample_weight, increment=True)
        return self

    def _train(
        self,
        X: Any,
        y: Any,
        before: Parameters | None,
        edges: Any,
        sample_weight: ArrayLike | None,
        dev: tuple[Any, Any, Any] | None = None,
        increment: bool = False,
    ) -> None:
        extraction = Extraction(self.features, self.hash_bits, self.dictionary)
        if isinstance(X, CompiledCorpus):
            X.check_use(extraction, fresh=before is None and y is None, min_frequency=self.min_frequency)
            labelled, features, states, edge_names = X.labelled, X.features, X.states, X.edges
        else:
            X, edges = as_sentences(X), as_sentences(edges)
            labelled = read_labels(X, y)
            features, states, edge_names = self._features(extraction, X, edges, before)
        match_lengths(features.bounds, labelled)
        sizes = check_sample_weight(sample_weight, features.num_sentences)
        scheme = scheme_of(labelled, self.scheme) if before is None or self.scheme != "auto" else before.scheme
        labels, rules = self._labels(labelled, before, scheme)
        labelled, kept, notes = settle(labelled, rules, scheme, labels, self.on_illegal)
        if sizes is not None:
            kept = kept[sizes[kept] > 0]  # what counts nothing shows nothing
        if not len(kept):
            raise InputError(f"y: expected sentences to learn from, got none; {notes[0] if notes else 'X is empty'}")
        features, labelled = take_sentences(features, labelled, kept)
        labels, rules = self._labels(labelled, before, scheme)  # of what is left and what was repaired
        start = self._start(extraction, features, labelled, labels, scheme, states, edge_names, before)
        weights = sentence_weights(None if sizes is None else sizes[kept], self.label_weights, labelled, labels)
        targets = Targets(numbered(labelled, labels), allowed_labels(labelled, labels), weights)
        seen = features.num_sentences + (self.training_.sentences if increment and before is not None else 0)
        settings = self._how(features.num_sentences, seen, before is not None, increment)
        scored = None if dev is None else DevSet(*dev, extraction, start)
        monitor = self._monitor(scored, increment)
        begin = np.asarray(start.weights, np.float64)
        with scratch_folder(X) as scratch:
            trained = train(start.structure, features, targets, rules, begin, settings, monitor, scratch)
        self.training_log_ = trained.history
        told = () if extraction.template is None else extraction.template.notes
        facts = Facts(seen, len(trained.history), trained.objective, trained.reason, (*told, *notes))
        self._become(replace(start, weights=trained.weights), extraction, facts)

    def _how(self, now: int, seen: int, warm: bool, increment: bool) -> Settings:
        """How to train on `now` of the `seen` sentences: as the estimator says, or one stretch more of a descent.

        A stretch goes on with the steps of a stochastic descent over all that was seen: η = η_0 / (1 + η_0·k·2·c2/B)
        after k of B sentences. A step size that is tried out on a few sentences would fit them and nothing else.
        """
        rest: dict[str, Any] = {"memory": self.memory, "seed": self.random_state, "precision": self.precision}
        if not increment:
            # Stochastic passes would lead away from where the last fit ended.
            passes = 0 if warm and self.algorithm == "auto" and self.passes is None else self.passes
            return Settings(self.algorithm, self.c1, self.c2, passes=passes, options=self.options, **rest)
        rate = RATE / (1 + RATE * 2 * self.c2 * (seen - now) / seen)
        options = {"rate": rate, **(self.options or {})} if self.algorithm == "sgd" else {"rate": rate}
        share = now / seen
        return Settings("sgd", share * self.c1, share * self.c2, passes=self.passes or 1, options=options, **rest)

    def _labels(
        self, labelled: LabelledTokens, before: Parameters | None, scheme: str | None
    ) -> tuple[list[str], Rules | None]:
        """All labels, sorted, and what the scheme forbids."""
        labels = complete_labels({*used_labels(labelled), *(before.labels if before else ())}, scheme)
        if not labels:
            raise InputError("y: expected at least one sentence with a known label, got none")
        if self.dictionary is not None and self.dictionary.priority != "feature" and scheme is None:
            raise InputError(
                f"dictionary: expected a tag scheme to write its matches in (priority {self.dictionary.priority!r}), "
                'got none; pass scheme="auto" or its name'
            )
        return labels, None if scheme is None else legal(labels, scheme)

    def _features(
        self, extraction: Extraction, X: Any, edges: Any, before: Parameters | None
    ) -> tuple[Features, Vocabulary | None, Vocabulary | None]:
        """Number the attributes of sentences; those of a model that is trained on keep their numbers."""
        if before is not None:
            bits = None if before.states is not None else before.structure.num_attributes.bit_length() - 1
            if bits != extraction.hash_bits:
                raise InputError(f"hash_bits: expected {bits}, as the model has it, got {extraction.hash_bits}")
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
        extraction: Extraction,
        features: Features,
        labelled: LabelledTokens,
        labels: list[str],
        scheme: str | None,
        states: Vocabulary | None,
        edges: Vocabulary | None,
        before: Parameters | None,
    ) -> Parameters:
        """Say which weights there are, 0 or those of before."""
        crossed = chosen_pairs(self.edge_pairs, labels)
        hashed = 0 if extraction.hash_bits is None else 1 << extraction.hash_bits
        template = extraction.template
        structure = structure_of(
            features,
            numbered(labelled, labels),
            len(labels),
            hashed if states is None else len(states),
            num_edges=(0 if features.edges is None else hashed) if edges is None else len(edges),
            all_states=self.all_possible_states or bool(labelled.sets),
            all_transitions=self.all_possible_transitions or bool(labelled.sets),
            edge_pairs="all" if labelled.sets and self.edge_pairs == "observed" else crossed,
            transitions=template is None or template.label_bigrams,
            start=self.start_end,
            end=self.start_end,
        )
        if before is not None:
            return before.grown(labels, scheme, structure, states, edges)
        return Parameters(tuple(labels), scheme, structure, np.zeros(structure.size), states, edges)

    def _monitor(self, dev: DevSet | None, increment: bool) -> Monitor:
        return Monitor(
            epsilon=0.0 if increment else self.epsilon,
            period=self.period,
            delta=0.0 if increment else self.delta,
            max_iterations=self.max_iterations,
            max_seconds=self.max_seconds,
            dev=dev,
            patience=None if increment else self.patience,
            callbacks=self.callbacks,
            report=(lambda done: print(done.line(), file=sys.stderr)) if self.verbose else None,
        )

    @property
    def labels_(self) -> list[str]:  # type: ignore[override]
        """The labels, sorted."""
        return list(self._fitted().labels)

    @property
    def objective_(self) -> float:
        """What training reached, with the penalties."""
        self._fitted()
        return self.training_.objective

    @property
    def stop_reason_(self) -> str:
        """Why training stopped, in words."""
        self._fitted()
        return self.training_.reason

    @property
    def notes_(self) -> list[str]:
        """What was repaired or dropped."""
        self._fitted()
        return list(self.training_.notes)

    @property
    def classes_(self) -> list[str]:
        """The labels, under the name that scikit-learn and sklearn-crfsuite use."""
        return self.labels_

    def predict(self, X: Any, *, known: Any = None, **inputs: Any) -> list[list[str]]:
        """Return the most probable labelling of each sentence.

        Arguments:
            X: sentences, as for `fit`.
            known: for each sentence a list with, for each token, its label, a set of labels, or None where nothing is
                known; every answer keeps to it.

        A dictionary of priority "under" adds its matches where the model says O.
        """
        X = as_sentences(X)
        found = super().predict(X, known=known, **inputs)
        dictionary = self._extraction.dictionary
        if dictionary is not None and dictionary.priority == "under" and found:
            filled = dictionary.fill(tokens_as_corpus(X), list(found), str(self.parameters_.scheme))
            found[:] = filled  # type: ignore[assignment]
        return found

    def _chains(self, X: Any, known: Any = None, *, edges: Any = None) -> Iterator[Chain]:  # type: ignore[override]
        p, X = self._fitted(), as_sentences(X)
        features = self._look_up(X, edges)
        allowed = known_labels(known, p.labels, features.bounds)
        dictionary = self._extraction.dictionary
        if dictionary is not None and dictionary.priority == "over" and features.num_tokens:
            bound = dictionary.allowed(tokens_as_corpus(X), p.labels, str(p.scheme))
            allowed = bound if allowed is None else allowed & bound
        most = MOST_TOKENS if features.edges is None else max(1, MOST_TOKENS // len(p.labels))
        for first, last in pieces(features.bounds, most):
            chain = self._scorer.chain(some_sentences(features, first, last))
            if allowed is not None:
                chain = constrain(chain, allowed=allowed[features.bounds[first] : features.bounds[last]])
            yield chain

    def _look_up(self, X: Any, edges: Any) -> Features:
        """The attributes of sentences that the model knows."""
        p = self.parameters_
        if isinstance(X, Sized) and not len(X):
            return Features(np.zeros(1, np.int64), Attributes(np.zeros(1, np.int64), np.zeros(0, np.int32)))
        features = self._extraction.look_up(X, (p.states, p.edges), as_sentences(edges)).features
        return features if len(p.structure.edge_pairs) else Features(features.bounds, features.states)

    def _fitted(self) -> Parameters:
        check_is_fitted(self, "parameters_")
        return self.parameters_

    def explain(self, sentence: Any, *, known: Any = None, edges: Any = None) -> Explanation:
        """Say for each token of a sentence which features and transitions made its label win over the runner-up.

        The runner-up is the label, other than the predicted one, with the best labelling through it.

        Arguments:
            sentence: one, as in X.
            known, edges: of this sentence.
        """
        p, X = self._fitted(), as_sentences([sentence])
        wrapped = None if known is None else [known], None if edges is None else [edges]
        features = self._look_up(X, wrapped[1])
        words = [str(t) for t in range(features.num_tokens)]
        if self._extraction.way is not None:
            words = tokens_as_corpus(X).tokens[0]
        chains = list(self._chains(X, wrapped[0], edges=wrapped[1]))
        return explain(p, chains[0], features, words)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # sentences are ragged
        tags.input_tags.string = True
        tags.target_tags.required = False  # a corpus brings its tags along
        return tags

    def _with(self, parameters: Parameters) -> CRF:
        """A copy with other weights."""
        out = type(self)()
        out.__dict__.update(vars(self))
        out._become(parameters, self._extraction, self.training_)
        return out

    def _settings(self) -> dict[str, Any]:
        """The estimator's parameters that may be plain data."""
        code = ("features", "dictionary", "callbacks")
        return {name: value for name, value in self.get_params(deep=False).items() if name not in code}
