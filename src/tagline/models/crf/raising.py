"""From a first-order CRF to one of the second order: its start, the triples that have weights, the labels that are left.

    1. The first-order model is trained. Its weights are where the second order begins, with 0 for the triples.
    2. With `prune`, its probabilities decide which labels of each training token remain; those that the sentences are
       labelled with always do.
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
from tagline.models.crf.chains import feature_chains
from tagline.models.crf.frequencies import without_rare
from tagline.models.crf.parameters import Parameters
from tagline.models.crf.second_order import Pruner
from tagline.readers.rules import Rules
from tagline.training.algorithms import Settings, train
from tagline.training.likelihood import Targets
from tagline.training.monitor import DIVERGED, Monitor
from tagline.types import BoolArray

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF


def raised(
    crf: CRF, start: Parameters, features: Features, targets: Targets, rules: Rules | None, settings: Settings
) -> tuple[Parameters, Targets, tuple[str, ...]]:
    """Train the first order; return where the second begins, what it learns from, and what pruning cost.

    Arguments:
        start: weights of the first order.
        features, targets, rules: what both learn from.
        settings: how the first is trained.
    """
    monitor = Monitor(
        epsilon=crf.epsilon if crf.tolerance is None else 0.0,
        period=crf.period,
        delta=crf.delta if crf.tolerance is None else 0.0,
        tolerance=crf.tolerance,
        max_iterations=crf.max_iterations,
        max_seconds=crf.max_seconds,
    )
    weights = np.asarray(start.weights, np.float64)
    first = train(start.structure, features, targets, rules, weights, settings, monitor)
    if first.reason == "interrupted":  # what was learned so far is no model of the second order
        raise KeyboardInterrupt
    if first.reason.startswith(DIVERGED):
        raise TrainingError(
            f"fit: expected an objective and weights that are finite, got others: the first-order model that a "
            f"second-order one begins with {first.reason}; scale the values of features, or raise c2"
        )
    triples = observed_triples(targets.labels, features.offsets, len(start.labels))
    structure = replace(start.structure, triples=triples)
    if crf.min_feature_frequency > 0:
        structure = without_rare(structure, features, targets, crf.min_feature_frequency)
    assert structure.triples is not None
    begun = np.concatenate([first.weights, np.zeros(len(structure.triples))])
    second = replace(start, structure=structure, weights=begun)
    if not crf.prune:
        return second, targets, ()
    pruner = Pruner(float(crf.prune))
    kept = kept_labels(pruner, Scorer(start.structure, first.weights, start.rules), features, targets)
    known = bool((targets.labels >= 0).all())
    note = f"second order: {pruner.report(len(start.labels), known)}" + ", which training keeps" * known
    second = replace(second, pruner=first.weights, prune=float(crf.prune))
    return second, replace(targets, kept=kept), (note,)


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
