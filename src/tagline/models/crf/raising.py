"""From a first-order CRF to one of the second order: which triples have weights, and which labels are pruned.

The second order is trained from 0, as the first is: Σ −log p(y | x) + c1·|w|₁ + c2·|w|². Weights that have settled
without triples would have to be unlearned first: from there L-BFGS makes three to four times as many passes.

With `prune`, first-order probabilities decide which labels of each training token remain; those that the sentences are
labelled with always do. A model knows the sentences that it has learned from too well: it would leave fewer labels
there than elsewhere, and the second order would not learn to tell the others apart. So the sentences are dealt into
parts, and each is pruned by a model that has learned from the others (cross-fitting). p is then normalised over the
labellings that are left. Without `prune` those are all, and nothing is approximated.

The models that prune are a part of the run: its checkpoint has those that are done beside the state of the one that is
being trained, and afterwards the labels that they left, beside the state of the second order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagline.chain import constrain
from tagline.errors import TrainingError
from tagline.features.attributes import Features
from tagline.features.weights import Scorer, observed_triples
from tagline.messages import message
from tagline.models.crf.chains import feature_chains, take_sentences
from tagline.models.crf.frequencies import without_rare
from tagline.models.crf.parameters import Parameters
from tagline.models.crf.second_order import Pruner
from tagline.ragged import take_rows
from tagline.readers.rules import Rules
from tagline.training.algorithms import Settings, train
from tagline.training.choices import SGD, Auto
from tagline.training.iteration import Convergence
from tagline.training.likelihood import Targets
from tagline.training.run import DIVERGED, Run
from tagline.training.running.checkpoints import Checkpoint, State
from tagline.types import BoolArray, Float64Array, IntArray

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF


FOLDS = 2  # parts that are pruned by a model of the others
PRUNING = "pruning"  # the part of a checkpoint that these models have
PRUNING_PASSES = 10  # stochastic ones
SPARSE_PASSES = 40  # of a model that prunes where c1 > 0: an average of stochastic passes has hardly a weight that is 0


def raised(crf: CRF, start: Parameters, features: Features, targets: Targets) -> Parameters:
    """Return where the second order begins: the weights of the first order's start, and 0 for triples."""
    triples = observed_triples(targets.labels, features.offsets, len(start.labels))
    structure = replace(start.structure, triples=triples)
    if crf.min_feature_frequency > 0:
        structure = without_rare(structure, features, targets, crf.min_feature_frequency)
    assert structure.triples is not None
    weights = np.concatenate([start.weights, np.zeros(len(structure.triples))])
    return replace(start, structure=structure, weights=weights)


class FirstOrder:
    """The models that prune: they learn from the sentences, or from some of them, in a few stochastic passes.

    That is enough: on two corpora of parts of speech they leave as many labels, and lose as many right ones, as models
    that are trained to their optimum.

    Arguments:
        start: where they begin.
        rules: what both orders may not do.
        settings: of the second order; penalties, seed and precision are the same here.
        run: watches the second order; its clock and its checkpoint are those of these models, too.

    Attributes:
        ended: why no pass of the second order can follow: the time is over, or Ctrl-C came; None where one can.
    """

    def __init__(self, crf: CRF, start: Parameters, rules: Rules | None, settings: Settings, run: Run) -> None:
        self.start, self.rules, self.prune, self.run = start, rules, float(crf.prune or 0.0), run
        sparse = settings.c1 > 0
        algorithm = Auto(passes=PRUNING_PASSES) if sparse else SGD(passes=PRUNING_PASSES)
        self.settings = replace(settings, algorithm=algorithm)
        self.ended: str | None = None
        self.limits: dict[str, Any] = {
            "max_iterations": SPARSE_PASSES if sparse else None,
            "max_seconds": crf.max_seconds,
        }
        self.done: list[Float64Array] = []  # the weights of models that are trained
        self.before = self._kept_state()

    @property
    def checkpoint(self) -> Checkpoint:
        """Return the file of the run."""
        return self.run.checkpoint

    def _kept_state(self) -> State | None:
        """Return what the checkpoint that the run goes on from says of pruning."""
        return None if self.checkpoint.state is None else self.checkpoint.state.part(PRUNING)

    def trained(self, features: Features, targets: Targets) -> Float64Array:
        """Return weights that were learned from these sentences."""
        number, size = len(self.done), len(self.start.weights)
        if self.before is not None and number < self.before.value("done", int):
            self.done.append(self.before.array(f"weights {number}", np.float64, size))
            return self.done[-1]
        weights = np.asarray(self.start.weights, np.float64)
        if self.ended is not None:
            return weights
        arrays = {f"weights {k}": done for k, done in enumerate(self.done)}
        self.checkpoint.beside = {PRUNING: State({"done": number}, arrays)}
        run = Run(save_every=self.run.save_every, clock=self.run.clock, **self.limits)
        run.started, run.checkpoint = self.run.started, self.checkpoint
        never = Convergence(epsilon=0.0, delta=0.0)
        trained = train(self.start.structure, features, targets, self.rules, weights, self.settings, run, never)
        self.run.started = run.started
        if trained.reason.startswith(DIVERGED):
            raise TrainingError(
                "fit: expected an objective and weights that are finite, got others: the first-order model that "
                "prunes {}; scale the values of features, or raise c2",
                trained.reason,
            )
        if trained.reason in ("interrupted", "time budget"):
            self.ended = trained.reason
        else:
            self.done.append(trained.weights)
        learned: Float64Array = trained.weights
        return learned

    def prune_labels(
        self, second: Parameters, features: Features, targets: Targets
    ) -> tuple[Parameters, Targets, tuple[str, ...]]:
        """Return the second order with what prunes its sentences, what it learns from, and what pruning cost."""
        N, L = features.num_tokens, len(second.labels)
        if self.before is not None and "kept" in self.before.arrays:
            first = self.before.array("weights 0", np.float64, len(self.start.weights))
            bits = self.before.array("kept", np.uint8, (N * L + 7) // 8)
            kept, note = np.unpackbits(bits, count=N * L).reshape(N, L).astype(np.bool_), self.before.value("note", str)
        else:
            first, kept, note = self._cross_fitted(features, targets, L)
        if self.ended is None:
            state = State({"done": len(self.done), "note": note}, {"weights 0": first, "kept": np.packbits(kept)})
            self.checkpoint.beside = {PRUNING: state}
        else:
            second = replace(second, weights=np.concatenate([first, second.part("triples")]))
        return replace(second, pruner=first, prune=self.prune), replace(targets, kept=kept), (note,)

    def _cross_fitted(self, features: Features, targets: Targets, L: int) -> tuple[Float64Array, BoolArray, str]:
        """Return a model of all sentences, the labels ``[N, L]`` that models of others leave, and what that costs."""
        first = self.trained(features, targets)
        pruner = Pruner(self.prune)
        kept = np.zeros((features.num_tokens, L), np.bool_)
        part = np.arange(features.num_sentences) % min(FOLDS, max(1, features.num_sentences))
        for fold in np.unique(part):
            held, others = np.flatnonzero(part == fold), np.flatnonzero(part != fold)
            weights = self.trained(*_taken(features, targets, others)) if len(others) else first
            some, theirs = _taken(features, targets, held)
            scorer = Scorer(self.start.structure, weights, self.start.rules)
            kept[take_rows(features.offsets, held)[1]] = kept_labels(pruner, scorer, some, theirs)
        known = bool((targets.labels >= 0).all())
        note = message("second order: {}", pruner.report(L, known).in_words())
        if known:
            note = message("{}, which training keeps", note)
        return first, kept, note


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
