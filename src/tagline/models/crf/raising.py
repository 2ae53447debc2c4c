"""From a first-order CRF to one of the second order: where it begins, which triples have weights, what is pruned.

1. The first-order model is trained. Its weights are where the second order begins, with 0 for the triples.
2. With `prune`, first-order probabilities decide which labels of each training token remain; those that the sentences
   are labelled with always do. A model knows the sentences that it has learned from too well: it would leave fewer
   labels there than elsewhere, and the second order would not learn to tell the others apart. So the sentences are
   dealt into parts, and each is pruned by a model that has learned from the others (cross-fitting).
3. The second order is trained on what remains: Σ −log p(y | x) + c1·|w|₁ + c2·|w|², where p is normalised over the
   labellings that are left. Without `prune` those are all, and nothing is approximated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagline.chain import constrain
from tagline.errors import TrainingError
from tagline.features.attributes import Features
from tagline.features.weights import Scorer, observed_triples
from tagline.models.crf.chains import feature_chains, take_sentences
from tagline.models.crf.frequencies import without_rare
from tagline.models.crf.parameters import Parameters
from tagline.models.crf.second_order import Pruner
from tagline.ragged import take_rows
from tagline.readers.rules import Rules
from tagline.training.algorithms import Settings, train
from tagline.training.likelihood import Targets
from tagline.training.monitor import DIVERGED, Monitor
from tagline.types import BoolArray, Float64Array, IntArray

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF


FOLDS = 2  # parts that are pruned by a model of the others


def raised(
    crf: CRF, start: Parameters, features: Features, targets: Targets, rules: Rules | None, settings: Settings
) -> tuple[Parameters, Targets, tuple[str, ...]]:
    """Train the first order; return where the second begins, what it learns from, and what pruning cost.

    Arguments:
        start: weights of the first order.
        features, targets, rules: what both learn from.
        settings: how the first is trained.
    """

    def first_order(features: Features, targets: Targets) -> Float64Array:
        weights = np.asarray(start.weights, np.float64)
        trained = train(start.structure, features, targets, rules, weights, settings, _monitor(crf))
        if trained.reason == "interrupted":  # what was learned so far is no model of the second order
            raise KeyboardInterrupt
        if trained.reason.startswith(DIVERGED):
            raise TrainingError(
                "fit: expected an objective and weights that are finite, got others: the first-order model that a "
                f"second-order one begins with {trained.reason}; scale the values of features, or raise c2"
            )
        return trained.weights

    first = first_order(features, targets)
    triples = observed_triples(targets.labels, features.offsets, len(start.labels))
    structure = replace(start.structure, triples=triples)
    if crf.min_feature_frequency > 0:
        structure = without_rare(structure, features, targets, crf.min_feature_frequency)
    assert structure.triples is not None
    second = replace(start, structure=structure, weights=np.concatenate([first, np.zeros(len(structure.triples))]))
    if not crf.prune:
        return second, targets, ()
    pruner, prune = Pruner(float(crf.prune)), float(crf.prune)
    kept = np.zeros((features.num_tokens, len(start.labels)), np.bool_)
    part = np.arange(features.num_sentences) % min(FOLDS, max(1, features.num_sentences))
    for fold in np.unique(part):
        held, others = np.flatnonzero(part == fold), np.flatnonzero(part != fold)
        weights = first_order(*_taken(features, targets, others)) if len(others) else first
        some, theirs = _taken(features, targets, held)
        scorer = Scorer(start.structure, weights, start.rules)
        kept[take_rows(features.offsets, held)[1]] = kept_labels(pruner, scorer, some, theirs)
    known = bool((targets.labels >= 0).all())
    note = f"second order: {pruner.report(len(start.labels), known)}" + ", which training keeps" * known
    return replace(second, pruner=first, prune=prune), replace(targets, kept=kept), (note,)


def _monitor(crf: CRF) -> Monitor:
    return Monitor(
        epsilon=crf.epsilon if crf.tolerance is None else 0.0,
        period=crf.period,
        delta=crf.delta if crf.tolerance is None else 0.0,
        tolerance=crf.tolerance,
        max_iterations=crf.max_iterations,
        max_seconds=crf.max_seconds,
    )


def _taken(features: Features, targets: Targets, sentences: IntArray) -> tuple[Features, Targets]:
    """Return these sentences with their labels alone."""
    tokens = take_rows(features.offsets, sentences)[1]
    allowed, weights = targets.allowed, targets.weights
    return take_sentences(features, sentences), Targets(
        targets.labels[tokens],
        None if allowed is None else allowed[tokens],
        None if weights is None else weights[sentences],
    )


def kept_labels(pruner: Pruner, scorer: Scorer, features: Features, targets: Targets | None = None) -> BoolArray:
    """Return the labels ``[N, L]`` that a first-order model leaves; with targets, those that they allow, too.

    Where a token may have several labels, what is allowed is looked at by itself: of that, too, the probable ones stay.
    """
    parts, done = [np.zeros((0, scorer.structure.num_labels), np.bool_)], 0
    for chain in feature_chains(scorer, features):
        left = pruner.allowed(chain)
        if targets is not None:
            here = slice(done, done + chain.num_tokens)
            gold = targets.labels[here]
            known = np.flatnonzero(gold >= 0)
            pruner.gold_pruned += int((~left[known, gold[known]]).sum())
            if targets.allowed is not None:
                left |= Pruner(pruner.threshold).allowed(constrain(chain, allowed=targets.allowed[here]))
            left[known, gold[known]] = True
        parts.append(left)
        done += chain.num_tokens
    return np.concatenate(parts)
