"""Objectives for `CRF.loss`: a chain and its labels in, one loss a sentence ``[B]`` out, with s(y) the score of y.

    nll               log Z − s(y*)
    LabelSmoothing    log Z − (1 − ε) s(y*) − ε · mean of s(y) over all legal y       (closed form)
    TokenSmoothing    (1 − ε) (log Z − s(y*)) + ε Σ_t (log Σ_k exp e_tk − mean_k e_tk)
    Hinge             max_y (s(y) + cost · wrong tokens) − s(y*)                      (structured SVM)
    SoftmaxMargin     log Σ_y exp(s(y) + cost · wrong tokens) − s(y*)
    Focal             −Σ_t (1 − p_t)^γ log p_t, p_t the marginal probability of the gold label
    ClassWeights      −Σ_t w(y*_t) log p(y*_t | y*_(t+1)); with all weights 1, nll
    EntropyWeight     another objective + weight · entropy of p(y | x)
    Distillation      KL(teacher's posterior ‖ p), exact over all labellings

Labels are ``[N]`` integers, or sets of labels ``[N, L]`` for `nll` (then log Z − log of the sum over labellings within
the sets). A loss is ∞ where the labels are forbidden. `Distillation` reads no labels and says so by
``needs_labels = False``.

References: Tsuboi et al. (2008), Gimpel & Smith (2010), Lannoy et al. (2012), Wang et al. (2021).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from tagline.chain import tensors
from tagline.chain.tensors import TensorChain, conditionals, path_score
from tagline.chain.tensors.batched import log_marginals, log_sum, pad
from tagline.chain.tensors.types import not_empty
from tagline.errors import InputError, NoPathError
from tagline.messages import message
from tagline.nn import checks

Objective = Callable[[TensorChain, Tensor], Tensor]
"""A loss: a chain and its labels ``[N]`` (or sets of labels ``[N, L]``) in, one number a sentence ``[B]`` out."""

UNLIKE_TEACHER = message("teacher: expected a chain of the same batch and mask")


def needs_labels(objective: Objective) -> bool:
    """Whether an objective reads labels, as all do that do not say otherwise."""
    return bool(getattr(objective, "needs_labels", True))


def check_needs_none(objective: Objective) -> None:
    """Raise for an objective that reads labels, where there are none."""
    if needs_labels(objective):
        name = getattr(objective, "__name__", type(objective).__name__)
        raise InputError(
            "tags: expected the labels that the objective {} reads, got None; Distillation takes none, also "
            "within EntropyWeight, and so does an objective of your own with an attribute needs_labels = False",
            name,
        )


def check_values(objective: Objective, c: TensorChain) -> None:
    """Let an objective that has values of its own look at them, for a chain."""
    if (check := getattr(objective, "check_values", None)) is not None:
        check(c)


def nll(c: TensorChain, labels: Tensor) -> Tensor:
    """Compute the negative log-likelihood of labels, or of all labellings within sets of labels."""
    if labels.dtype == torch.bool:
        within = replace(c, emissions=torch.where(labels, c.emissions, -torch.inf), free=False)
        log_z_within = tensors.log_partition(within)
        return _infinite(torch.isneginf(log_z_within), tensors.log_partition(c) - log_z_within)
    return -tensors.log_likelihood(c, labels)


@dataclass(frozen=True)
class LabelSmoothing:
    """The cross-entropy with a target that gives ε to all legal labellings evenly and 1 − ε to the gold one."""

    epsilon: float = 0.1

    def __call__(self, c: TensorChain, labels: Tensor) -> Tensor:
        """Compute log Z − (1 − ε) s(y*) − ε·mean, as nll + ε·(s(y*) − mean)."""
        _whole("LabelSmoothing", labels)
        likelihood, gold = nll(c, labels), path_score(c, labels)
        return _infinite(torch.isneginf(gold), likelihood + self.epsilon * (gold - conditionals.mean_score(c)))


@dataclass(frozen=True)
class TokenSmoothing:
    """The likelihood mixed with a uniform cross-entropy of each token's emissions by themselves."""

    epsilon: float = 0.1

    def __call__(self, c: TensorChain, labels: Tensor) -> Tensor:
        """Compute the mixture; forbidden labels have no part in a token's mean."""
        p = pad(c)
        legal = ~torch.isneginf(p.emissions)
        mean = torch.where(legal, p.emissions, 0.0).sum(2) / legal.sum(2).clamp(min=1)
        gaps = torch.where(p.inside, log_sum(p.emissions, 2) - mean, 0.0)
        likelihood = nll(c, labels)
        return _infinite(torch.isposinf(likelihood), (1 - self.epsilon) * likelihood + self.epsilon * gaps.sum(1))


@dataclass(frozen=True)
class Hinge:
    """The structured hinge loss: the gold labelling must win by `cost` for each token that another gets wrong."""

    cost: float = 1.0

    def __call__(self, c: TensorChain, labels: Tensor) -> Tensor:
        """Compute the gap to the best labelling of the cost-augmented chain."""
        _whole("Hinge", labels)
        harder = _with_cost(c, labels, self.cost)
        rival, _ = tensors.viterbi(harder.detach())
        best, gold = path_score(harder, rival.clamp(min=0)), path_score(c, labels)
        return _infinite(torch.isneginf(gold), best - gold)


@dataclass(frozen=True)
class SoftmaxMargin:
    """The likelihood of a chain in which wrong labels score `cost` more."""

    cost: float = 1.0

    def __call__(self, c: TensorChain, labels: Tensor) -> Tensor:
        """Compute log Z of the cost-augmented chain less the gold score, which it leaves as it is."""
        _whole("SoftmaxMargin", labels)
        return nll(_with_cost(c, labels, self.cost), labels)


@dataclass(frozen=True)
class Focal:
    """The focal loss on marginals: tokens that are nearly right count less."""

    gamma: float = 2.0

    def __call__(self, c: TensorChain, labels: Tensor) -> Tensor:
        """Compute −Σ (1 − p)^γ log p over the tokens of each sentence."""
        _whole("Focal", labels)
        p, table = log_marginals(c)
        path = torch.where(p.inside, not_empty(labels)[p.rows], 0)
        logs = torch.where(p.inside, table.gather(2, path[:, :, None])[:, :, 0], 0.0)
        forbidden = torch.isneginf(logs)
        logs = torch.where(forbidden, 0.0, logs)
        doubt = (-torch.expm1(logs)).clamp(min=torch.finfo(logs.dtype).tiny)
        never = forbidden.any(1) | torch.isneginf(path_score(c, labels))  # each label alone may be legal
        return _infinite(never, torch.where(p.inside, -(doubt**self.gamma) * logs, 0.0).sum(1))


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """The likelihood with a weight for each token, that of its gold label: ``weights [L]``."""

    weights: Tensor

    def __call__(self, c: TensorChain, labels: Tensor) -> Tensor:
        """Compute the weighted sum of the likelihood's factors."""
        _whole("ClassWeights", labels)
        if self.weights.shape != (c.num_labels,):
            raise InputError(
                "weights: expected shape [{}], one a label, got {}", c.num_labels, list(self.weights.shape)
            )
        path, terms = conditionals.factors(c, labels)
        forbidden = torch.isneginf(terms)
        terms = torch.where(forbidden, 0.0, terms)  # a weight of 0 times −∞ would be NaN
        return _infinite(forbidden.any(1), -(self.weights.to(terms)[path] * terms).sum(1))


@dataclass(frozen=True)
class EntropyWeight:
    """Another objective, and the entropy of the posterior times a weight: above 0 for certainty, below for doubt."""

    weight: float
    objective: Objective = nll

    @property
    def needs_labels(self) -> bool:
        """Whether the other objective reads labels."""
        return needs_labels(self.objective)

    def check_values(self, c: TensorChain) -> None:
        """Check what the other objective does."""
        check_values(self.objective, c)

    def __call__(self, c: TensorChain, labels: Tensor) -> Tensor:
        """Compute the sum."""
        return self.objective(c, labels) + self.weight * conditionals.entropy(c)


@dataclass(frozen=True, eq=False)
class Distillation:
    """The divergence of a student from a teacher's posterior over whole labellings; labels are not read.

    It is infinite where either has no legal labelling, or where the student forbids one that the teacher allows. A
    teacher with sentences of other lengths is an error where values are checked; elsewhere these sentences give NaN.

    Arguments:
        teacher: its scores for the same batch and mask (`CRF.chain`).
        temperature: both chains' scores are divided by it, and the result is multiplied by its square.
    """

    teacher: TensorChain
    temperature: float = 1.0
    needs_labels: ClassVar[bool] = False

    def __call__(self, c: TensorChain, labels: Tensor) -> Tensor:
        """Compute KL(teacher ‖ student)."""
        self._check_shapes(c)
        if self.teacher.emissions.shape != c.emissions.shape:
            raise InputError(
                "{}, emissions {}, got {}", UNLIKE_TEACHER, list(c.emissions.shape), list(self.teacher.emissions.shape)
            )
        student, teacher = (
            chain.with_scores(*(part / self.temperature for part in chain.scores))
            for chain in (c, self.teacher.detach())
        )
        value = conditionals.divergence(student, teacher) * self.temperature**2
        return torch.where(self.teacher.lengths == c.lengths, value, torch.nan)

    def _check_shapes(self, c: TensorChain) -> None:
        for name, ours, theirs in (
            (message("labels"), c.num_labels, self.teacher.num_labels),
            (message("sentences"), c.num_sentences, self.teacher.num_sentences),
        ):
            if ours != theirs:
                raise InputError("{}, {} {}, got {}", UNLIKE_TEACHER, ours, name, theirs)

    def check_values(self, c: TensorChain) -> None:
        """Raise for a teacher whose sentences have other lengths, or no legal labelling."""
        self._check_shapes(c)
        lengths = zip(c.lengths.tolist(), self.teacher.lengths.tolist(), strict=True)
        for sentence, (ours, theirs) in enumerate(lengths):
            if ours != theirs:
                raise InputError("{}, {} tokens in sentence {}, got {}", UNLIKE_TEACHER, ours, sentence, theirs)
        try:
            checks.check_legal(tensors.log_partition(self.teacher.detach()))
        except NoPathError as error:
            raise NoPathError("teacher: {}", error) from None


def _infinite(forbidden: Tensor, values: Tensor) -> Tensor:
    """Return the losses ``[B]``, ∞ with gradient 0 for sentences whose labels are forbidden."""
    return torch.where(forbidden, torch.inf, values)


def _with_cost(c: TensorChain, labels: Tensor, cost: float) -> TensorChain:
    right = labels[:, None] == torch.arange(c.num_labels, device=labels.device)
    return replace(c, emissions=torch.where(right, c.emissions, c.emissions + cost))


def _whole(name: str, labels: Tensor) -> None:
    if labels.dtype == torch.bool:
        raise InputError("{}: expected one label a token, got sets of labels; train on sets with nll", name)
