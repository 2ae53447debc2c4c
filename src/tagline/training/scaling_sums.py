"""What iterative scaling asks of a training set: expected features, split by how many features there are in all.

f#(x, y) = Σ_k f_k(x, y) is the number of features that a labelling has in all. `LabellingSums` takes sentences whose
features are known as numbers, and splits by f# itself, which varies from labelling to labelling: by a dynamic program
where all counts are whole numbers, by enumeration otherwise. `SentenceSums` takes a feature CRF's `Likelihood`, and
splits by a bound on f# for each sentence, which costs one gradient (algorithm T of Lafferty et al. 2001).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tagline.errors import InputError
from tagline.features.attributes import Attributes
from tagline.features.functions import FunctionValues
from tagline.training.likelihood import Likelihood
from tagline.types import Float64Array, IntArray

MOST_LABELLINGS = 100_000  # to enumerate, of one sentence
MOST_GROUPS = 8  # of sentences; each needs a vector of all weights. More of them save few passes


class KnownFeatures(Protocol):
    """Labelled sentences whose features are known as numbers; `FeatureFunctions.likelihood` makes them."""

    @property
    def values(self) -> Sequence[FunctionValues]:
        """Of each sentence."""
        ...

    @property
    def observed(self) -> Float64Array:
        """Σ_b f_k(x_b, y_b), ``[K]``."""
        ...


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """Expectations at some weights.

    Attributes:
        totals: ``[M]``, values of f# or bounds on it.
        features: ``[M, K]``, Σ P(y | x)·f_k(x, y) over the labellings, or sentences, with that total.
        log_z: Σ_b log Z(x_b).
    """

    totals: Float64Array
    features: Float64Array
    log_z: float


class LabellingSums:
    """Sums by the f# of each labelling.

    Arguments:
        labelled: the sentences; no feature is ever negative.
    """

    def __init__(self, labelled: KnownFeatures) -> None:
        self.observed = labelled.observed
        # Sentences with the same features are worked on once.
        keys = [(values.states.tobytes(), values.transitions.tobytes()) for values in labelled.values]
        distinct = dict(zip(keys, labelled.values, strict=True))
        self._sentences = [(distinct[key], count) for key, count in Counter(keys).items()]
        self._check()

    def at(self, weights: Float64Array) -> FeatureSums:
        """Compute the expectations at weights ``[K]``."""
        sums = [(by_total(values, weights), count) for values, count in self._sentences]
        return FeatureSums(
            np.concatenate([np.zeros(0), *(part.totals for part, _ in sums)]),
            np.concatenate([np.zeros((0, len(weights))), *(count * part.features for part, count in sums)]),
            float(sum(count * part.log_z for part, count in sums)),
        )

    def _check(self) -> None:
        for values, _ in self._sentences:
            T, L, K = values.states.shape
            for name, part in (("state", values.states), ("transition", values.transitions)):
                if (part < 0).any():
                    k = int(np.nonzero((part < 0).reshape(-1, K).any(axis=0))[0][0])
                    raise InputError(
                        "feature {}: expected {} values of 0 or more, got {:g}; improved iterative "
                        "scaling takes no others, lbfgs does",
                        k,
                        name,
                        part[..., k].min(),
                    )
            if L**T > MOST_LABELLINGS and not _whole(_counts(values)):
                raise InputError(
                    "features: expected whole numbers for {} tokens and {} labels, got fractions; with those "
                    "all labellings are enumerated, at most {:,} a sentence",
                    T,
                    L,
                    MOST_LABELLINGS,
                )


class SentenceSums:
    """Sums by a bound on the f# of each sentence: all its attributes, transitions and ends.

    Sentences with about as many features share the largest of their bounds, so that there are few groups.

    Arguments:
        likelihood: of sentences whose labels are all known; no attribute has a negative value.
    """

    def __init__(self, likelihood: Likelihood) -> None:
        if likelihood.targets.allowed is not None:
            raise InputError("y: expected every label to be known for iis, got unknown ones; use another algorithm")
        most = _most_features(likelihood)
        groups = np.array_split(np.argsort(most, kind="stable"), min(MOST_GROUPS, max(len(most), 1)))
        self._groups = [likelihood.of_sentences(np.sort(group)) for group in groups]
        self._totals = np.array([most[group].max(initial=0) for group in groups])
        self._observed = np.array([group.core.observed() for group in self._groups])  # [M, K]
        self.observed: Float64Array = self._observed.sum(axis=0)

    def at(self, weights: Float64Array) -> FeatureSums:
        """Compute the expectations at weights ``[K]``: the gradient of each group is expected − observed."""
        evaluated = [group(weights) for group in self._groups]
        features = np.array([gradient for _, gradient in evaluated]) + self._observed
        loss = sum(value for value, _ in evaluated)
        # What is 0 but for rounding must not be negative.
        return FeatureSums(self._totals, np.maximum(features, 0), loss + float(weights @ self.observed))


def _most_features(likelihood: Likelihood) -> Float64Array:
    """Return the most features that a labelling of each sentence can have, ``[B]``."""
    features, structure = likelihood.features, likelihood.structure
    begins, ends = features.offsets[:-1], features.offsets[1:]
    inner = np.minimum(begins + 1, ends)  # transitions and edge attributes lead into all tokens but the first
    most = _value_sums(features.states, begins, ends) + (ends - inner)
    if features.edges is not None:
        most += _value_sums(features.edges, inner, ends)
    return np.where(ends > begins, most + structure.start + structure.end, 0.0)


def _value_sums(attributes: Attributes, begins: IntArray, ends: IntArray) -> Float64Array:
    """Add up the values of the attributes of tokens ``begins[b]`` to ``ends[b] - 1``."""
    first, last = attributes.offsets[begins], attributes.offsets[ends]
    if attributes.values is None:
        return (last - first).astype(np.float64)
    if len(attributes.values) and attributes.values.min() < 0:
        raise InputError(
            "X: expected attributes with values of 0 or more for iis, got {:g}; use another algorithm",
            attributes.values.min(),
        )
    sums: Float64Array = np.concatenate([[0.0], np.cumsum(attributes.values, dtype=np.float64)])
    return np.asarray(sums[last] - sums[first], np.float64)


def by_total(values: FunctionValues, weights: Float64Array) -> FeatureSums:
    """Sum P(y | x)·f(x, y) over the labellings of a sentence, for each value of f#."""
    if len(values.states) == 0:
        return FeatureSums(np.zeros(0), np.zeros((0, len(weights))), 0.0)
    counts = _counts(values)
    if _whole(counts):
        return _by_program(values, counts.astype(np.int64), weights)
    return _by_enumeration(values, weights)


def _counts(values: FunctionValues) -> Float64Array:
    """What each token adds to f#, ``[T, L, L]`` as [token, previous, label]; the first ignores its previous label."""
    return np.asarray(values.states.sum(axis=2)[:, None, :] + values.transitions.sum(axis=3), np.float64)


def _whole(counts: Float64Array) -> bool:
    return bool(np.array_equal(counts, np.round(counts)))


def _by_program(values: FunctionValues, counts: IntArray, weights: Float64Array) -> FeatureSums:
    """Go from left to right with α = Σ exp(score) and φ = Σ exp(score)·f for each last label and each total so far.

    Both are scaled to Σ α = 1 at each token.
    """
    T, L, K = values.states.shape
    scores = (values.states @ weights)[:, None, :] + values.transitions @ weights  # [T, L, L]
    most = int(counts.max(axis=(1, 2)).sum())
    alpha, phi = np.zeros((L, most + 1)), np.zeros((L, most + 1, K))
    log_z = float(scores[0, 0].max())
    for j in range(L):
        alpha[j, counts[0, 0, j]] = np.exp(scores[0, 0, j] - log_z)
        phi[j, counts[0, 0, j]] = np.exp(scores[0, 0, j] - log_z) * values.states[0, j]
    for t in range(1, T):
        before, features = (alpha, phi), values.states[t][None] + values.transitions[t]  # [L, L, K]
        alpha, phi = np.zeros_like(alpha), np.zeros_like(phi)
        top = float(scores[t].max())
        for i in range(L):
            for j in range(L):
                ways = np.exp(scores[t, i, j] - top) * before[0][i, : most + 1 - counts[t, i, j]]
                carried = np.exp(scores[t, i, j] - top) * before[1][i, : most + 1 - counts[t, i, j]]
                alpha[j, counts[t, i, j] :] += ways
                phi[j, counts[t, i, j] :] += carried + ways[:, None] * features[i, j]
        scale = alpha.sum()
        alpha, phi = alpha / scale, phi / scale
        log_z += top + float(np.log(scale))
    mass = alpha.sum()  # 1, but for a sentence of one token
    return FeatureSums(np.arange(most + 1.0), phi.sum(axis=0) / mass, log_z + float(np.log(mass)))


def _by_enumeration(values: FunctionValues, weights: Float64Array) -> FeatureSums:
    T, L, _ = values.states.shape
    paths = np.stack(np.unravel_index(np.arange(L**T), (L,) * T), axis=1)  # [P, T]
    features = values.states[np.arange(T), paths].sum(axis=1)  # [P, K]
    features += values.transitions[np.arange(1, T), paths[:, :-1], paths[:, 1:]].sum(axis=1)
    scores = features @ weights
    top = scores.max()
    log_z = float(top + np.log(np.exp(scores - top).sum()))
    return FeatureSums(features.sum(axis=1), np.exp(scores - log_z)[:, None] * features, log_z)
