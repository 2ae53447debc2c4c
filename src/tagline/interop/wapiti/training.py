"""Training as ``wapiti train`` does it: its objective, its reports, its ways to stop, by our algorithms.

Each observation has a weight for every label, or every pair of labels, whether the data show it or not. The objective

    Σ −log p(y | x) + ρ1·|w|₁ + ρ2/2·|w|²

has the p(y | x) of a CRF, of an MEMM or, token by token, of a maximum-entropy model. It is convex, so whichever
algorithm is asked for, `tagline.training` finds the same optimum. Training stops before that when the error rate, or
the objective, has changed by less than ``--stopeps`` over a window of passes, as Wapiti does.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import FrameType

import numpy as np

from tagline.chain import viterbi
from tagline.errors import InputError
from tagline.features.attributes import Expanded, Features
from tagline.features.expansion import expand
from tagline.features.items import items_to_features
from tagline.features.local_scores import LocalScorer
from tagline.features.templates.template import Template
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import Scorer, Structure, structure_of
from tagline.interop.wapiti.conversion import bigram_of, template_of
from tagline.interop.wapiti.input_lines import InputBlock, corpus_of, observations_of
from tagline.interop.wapiti.options import Options
from tagline.interop.wapiti.text import Keys, WapitiModel, make_model
from tagline.models.crf.chains import feature_chains
from tagline.training.algorithms import Settings, train
from tagline.training.choices import Auto
from tagline.training.iteration import Convergence
from tagline.training.likelihood import Targets
from tagline.training.run import Run
from tagline.training.running.callbacks import TrainingState
from tagline.types import Float64Array, IntArray

Tell = Callable[[str], None]
Vocabularies = tuple[Vocabulary, Vocabulary | None]

EPSILON = 1e-5  # of the gradient, where Wapiti's l-bfgs stops, too


@dataclass(frozen=True, eq=False)
class NumberedSentences:
    """Labelled sentences with numbered observations.

    Attributes:
        patterns: the template; None where words are observations.
        labels: in the order of their first use.
        features: the observations of each token.
        targets: ``[N]``, numbers of labels; −1 for labels that are not among them.
        names: of state and edge attributes.
        type: of the model, "maxent", "memm" or "crf".
    """

    patterns: Template | None
    labels: tuple[str, ...]
    features: Features
    targets: IntArray
    names: Vocabularies
    type: str

    @property
    def chained(self) -> bool:
        """Whether a label depends on the label before."""
        return self.type != "maxent"

    def usable(self, features: Features) -> Features:
        """Return the observations that the model has weights for: a maxent model leaves out those of pairs."""
        return features if self.chained else Features(features.offsets, features.states)

    @cached_property
    def bigram(self) -> str | None:
        """The observation that is the plain pair of labels."""
        return None if self.patterns is None else bigram_of(self.patterns)

    @cached_property
    def observations(self) -> dict[str, int]:
        """The numbers of all observations: those of labels, then those of pairs that are not there, the plain pair."""
        states, edges = self.names
        listed = [*states.names(), *([] if edges is None else edges.names())]
        plain = [] if self.bigram is None else [self.bigram]
        return {name: k for k, name in enumerate(dict.fromkeys([*listed, *plain]))}


def number_sentences(block: InputBlock, options: Options, before: WapitiModel | None) -> NumberedSentences:
    """Number labels and observations; a model that is trained on keeps its own, and gets others only with patterns."""
    patterns = _patterns(options, before)
    rows, given = block.words(labelled=True)
    assert given is not None
    labels = tuple(dict.fromkeys(given)) if before is None else before.labels
    if before is None:
        built = _expanded(block, rows, patterns, None)
    else:
        known = _vocabularies(before, patterns)
        if options.pattern is not None:
            new = _expanded(block, rows, patterns, None)
            known = known[0].extended(new.states or ()), _extended(known[1], new.edges)
        built = _expanded(block, rows, patterns, known)
    numbers = {label: k for k, label in enumerate(labels)}
    targets = np.array([numbers.get(label, -1) for label in given], np.int64)
    if (targets < 0).any():
        line = int(np.flatnonzero(targets < 0)[0])
        raise InputError(
            "{}: expected a label of the model that is trained on ({}), got {!r:.60}; leave -m out for a new model",
            block.place(line),
            ", ".join(labels),
            given[line],
        )
    assert built.states is not None
    _check_names(patterns, built.edges)
    type = options.type if before is None else before.type
    return NumberedSentences(patterns, labels, built.features, targets, (built.states, built.edges), type)


def _patterns(options: Options, before: WapitiModel | None) -> Template | None:
    """The patterns of the model that is trained on, and those of the file behind them."""
    texts = [] if before is None or not before.patterns else ["\n".join(before.patterns) + "\n"]
    if options.pattern is None:
        return None if before is None else template_of(before, options.model)
    read = Template.read(options.pattern, "wapiti")
    return Template.parse("".join([*texts, read.text]), read.source, "wapiti") if texts else read


def _vocabularies(model: WapitiModel, patterns: Template | None) -> Vocabularies:
    bigram = None if patterns is None else bigram_of(patterns)
    states = [name for name, has in zip(model.observations, model.has_states, strict=True) if has]
    edges = [name for name, has in zip(model.observations, model.has_edges, strict=True) if has and name != bigram]
    return Vocabulary.of(states), Vocabulary.of(edges)


def _extended(known: Vocabulary | None, new: Vocabulary | None) -> Vocabulary | None:
    return known if new is None else new if known is None else known.extended(new)


def _expanded(
    block: InputBlock, rows: list[list[str]], patterns: Template | None, known: Vocabularies | None
) -> Expanded:
    if patterns is not None:
        return expand(patterns, corpus_of(block, rows, patterns), known)
    states, edges = observations_of(block, rows)
    with_edges = known is not None or any(row for sentence in edges for row in sentence)
    return items_to_features(states, edges if with_edges else None, known)


def _check_names(patterns: Template | None, edges: Vocabulary | None) -> None:
    bigram = None if patterns is None else bigram_of(patterns)
    if bigram is not None and edges is not None and bigram in edges:
        raise InputError(
            "patterns: expected no other that gives {!r}, which all pairs of labels have, got one; leave one out",
            bigram,
        )


def evaluate(numbered: NumberedSentences, block: InputBlock) -> tuple[Features, IntArray]:
    """Return the observations of other sentences that sentences of training have, and their labels."""
    rows, given = block.words(labelled=True)
    assert given is not None
    numbers = {label: k for k, label in enumerate(numbered.labels)}
    built = _expanded(block, rows, numbered.patterns, numbered.names)
    return built.features, np.array([numbers.get(label, -1) for label in given], np.int64)


def structure(numbered: NumberedSentences) -> Structure:
    """Give a weight to each observation with each label, or pair of labels; a maxent model has none of pairs."""
    states, edges = numbered.names
    return structure_of(
        numbered.usable(numbered.features),
        numbered.targets.astype(np.int32),
        len(numbered.labels),
        len(states),
        num_edges=0 if edges is None else len(edges),
        all_states=True,
        all_transitions=True,
        edge_pairs="all",
        transitions=numbered.chained and numbered.patterns is not None and numbered.patterns.label_bigrams,
    )


def learn(
    numbered: NumberedSentences,
    options: Options,
    before: WapitiModel | None,
    dev: tuple[Features, IntArray] | None,
    tell: Tell,
) -> WapitiModel:
    """Find the weights."""
    layout = structure(numbered)
    tell(f"    nb labels:   {len(numbered.labels)}\n    nb blocks:   {len(numbered.observations)}\n")
    names, keys = _keys(numbered, layout)
    empty = make_model((), numbered.labels, names, keys, np.zeros(layout.size), numbered.type)
    tell(f"    nb features: {empty.offsets[-1]}\n")
    tell(f"* Train the model with {_algorithm(options)}\n")
    features, targets = dev or (numbered.features, numbered.targets)
    is_local = numbered.type == "memm"
    scorer = (LocalScorer if is_local else Scorer)(layout, np.zeros(layout.size))
    progress = ProgressReport(scorer, (numbered.usable(features), targets), options, tell)
    rho2 = 0.0 if options.algo == "sgd-l1" else options.rho2  # it has no such penalty
    passes = None if before is None else 0  # stochastic ones would lead away from the model that is trained on
    settings = Settings(Auto(memory=options.histsz, passes=passes), options.rho1, rho2 / 2, local=is_local)
    run = Run(max_iterations=options.maxiter or None, callbacks=[progress.passed])
    with _stopping():
        trained = train(
            layout,
            numbered.usable(numbered.features),
            Targets(numbered.targets.astype(np.int32)),
            None,
            _start(layout, numbered, before),
            settings,
            run,
            Convergence(EPSILON, period=0, delta=0.0),
        )
    tell(f"    stopped: {progress.reason or trained.reason}\n")
    return _model(numbered, layout, np.asarray(trained.weights, np.float64))


def _algorithm(options: Options) -> str:
    ours = "OWL-QN" if options.rho1 else "stochastic passes, then L-BFGS"
    return f"{options.algo} (Tagline: {ours}; the objective and its optimum are the same)"


class ProgressReport:
    """Tells of each pass in Wapiti's manner, and decides by its windows when to stop."""

    def __init__(self, scorer: Scorer, sentences: tuple[Features, IntArray], options: Options, tell: Tell) -> None:
        self._features, self._targets = sentences
        self._scorer = scorer
        self._options, self._tell = options, tell
        self._errors: list[float] = []
        self._objectives: list[float] = []
        self._seconds = 0.0
        self.reason = ""

    def passed(self, state: TrainingState) -> bool:
        """Tell of a pass; True ends training."""
        weights = state.weights()
        tokens, sentences = self._error_rates(weights)
        noisy = math.isnan(state.gradient_norm)
        objective = f"{state.objective:<10.2f}"
        spent, self._seconds = state.seconds - self._seconds, state.seconds
        self._tell(
            f"  [{state.pass_:4d}] obj={objective} act={np.count_nonzero(weights):<8d} "
            f"err={tokens:5.2f}%/{sentences:5.2f}% time={spent:.2f}s/{state.seconds:.2f}s\n"
        )
        self._errors = [] if noisy else [*self._errors, tokens]
        self._objectives = [] if noisy else [*self._objectives, state.objective]
        return self._is_steady()

    def _is_steady(self) -> bool:
        window, objective_window, least = self._options.stopwin, self._options.objwin, self._options.stopeps
        errors, objectives = self._errors[-window:] if window else [], self._objectives
        if window and len(self._errors) >= window and max(errors) - min(errors) < least:
            self.reason = f"the error rate changed by less than {least:g} in {window} passes"
        elif objective_window and len(objectives) > objective_window:
            old = objectives[-objective_window]
            if abs(old - objectives[-1]) < least * abs(old):
                self.reason = f"the objective changed by less than {least:g} of it in {objective_window} passes"
        return bool(self.reason)

    def _error_rates(self, weights: Float64Array) -> tuple[float, float]:
        """Return how many of a hundred tokens, and of a hundred sentences, have another label."""
        chains = feature_chains(self._scorer.with_weights(weights), self._features)
        found = np.concatenate([viterbi(chain).labels for chain in chains])
        wrong = found != self._targets
        begins = self._features.offsets[:-1]
        return 100 * float(wrong.mean()), 100 * float(np.logical_or.reduceat(wrong, begins).mean())


@contextmanager
def _stopping() -> Iterator[None]:
    """Let the first signal end training, with the weights of then; a second one ends the program."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    signals = (signal.SIGINT, signal.SIGTERM)
    try:
        before = {number: signal.signal(number, stop) for number in signals}
    except ValueError:  # not the main thread
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# Weights, flat as training has them, and by Wapiti's keys.


def _keys(numbered: NumberedSentences, layout: Structure) -> tuple[list[str], Keys]:
    """Return the names of observations, and the keys of the weights."""
    states, edges = numbered.names
    L, numbers = len(numbered.labels), numbered.observations
    of_edges = np.array([numbers[name] for name in edges or ()], np.int64)
    plain = [] if numbered.bigram is None else [numbers[numbered.bigram]]
    rows = np.concatenate(
        [np.repeat(plain, len(layout.transitions)), np.repeat(of_edges, np.diff(layout.edge_offsets))]
    )
    observations = np.concatenate([np.repeat(np.arange(len(states)), L), rows.astype(np.int64)])
    pairs = np.concatenate([layout.transitions, layout.edge_pairs]).astype(np.int64)
    places = np.concatenate([layout.state_labels.astype(np.int64), pairs[:, 0] * L + pairs[:, 1]])
    return list(numbers), (observations, places, np.arange(len(places)) >= len(layout.state_labels))


def _start(layout: Structure, numbered: NumberedSentences, before: WapitiModel | None) -> Float64Array:
    """Return the weights to begin with: 0, or those of the model that is trained on."""
    weights = np.zeros(layout.size)
    if before is None:
        return weights
    names, keys = _keys(numbered, layout)
    bare = make_model((), numbered.labels, names, keys, np.zeros(layout.size), numbered.type)
    ours = bare.numbers_of(keys)
    numbers = {name: k for k, name in enumerate(names)}
    observations, places, of_pair = before.keys()
    renumbered = np.array([numbers.get(name, -1) for name in before.observations], np.int64)[observations]
    kept = (renumbered >= 0) & (numbered.chained | ~of_pair)
    theirs = bare.numbers_of((renumbered[kept], places[kept], of_pair[kept]))
    order = np.argsort(ours)
    weights[order[np.searchsorted(ours, theirs, sorter=order)]] = before.weights[kept]
    return weights


def _model(numbered: NumberedSentences, layout: Structure, weights: Float64Array) -> WapitiModel:
    names, keys = _keys(numbered, layout)
    lines = () if numbered.patterns is None else numbered.patterns.lines
    patterns = dict.fromkeys((line.number, line.text) for line in lines)
    return make_model([text for _, text in patterns], numbered.labels, names, keys, weights, numbered.type)
