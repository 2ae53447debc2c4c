"""A feature CRF out of weights that another tool learned, or that were computed.

Training numbers features and finds weights; here both are given. The model answers, explains and saves like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tagline.errors import InputError
from tagline.features.templates.template import Template
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import Structure
from tagline.models.crf.extraction import Extraction, Way
from tagline.models.crf.parameters import Parameters
from tagline.ragged import row_offsets
from tagline.types import Float64Array, IntArray

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF


@dataclass(frozen=True, eq=False)
class FeatureWeights:
    """Weights of one kind: for each row of `keys` one weight, in any order.

    Attributes:
        keys: ``[W, 2]`` (attribute, label) or (previous, next), or ``[W, 3]`` (attribute, previous, next).
        weights: ``[W]``.
    """

    keys: IntArray
    weights: Float64Array

    def sorted(self, sizes: Sequence[int], place: str) -> FeatureWeights:
        """Check the keys against their sizes and bring them into ascending order; none may be there twice."""
        keys, weights = np.asarray(self.keys, np.int64).reshape(-1, len(sizes)), np.asarray(self.weights, np.float64)
        if weights.shape != (len(keys),):
            raise InputError("{}: expected a weight for each of {} keys, got {}", place, len(keys), weights.shape)
        if len(keys) and (keys.min() < 0 or (keys.max(axis=0) >= sizes).any()):
            raise InputError("{}: expected numbers below {}, got others", place, tuple(sizes))
        numbers: IntArray = np.asarray(np.ravel_multi_index(tuple(keys.T), tuple(sizes))).reshape(-1)
        if (numbers[1:] <= numbers[:-1]).any():
            order = np.argsort(numbers, kind="stable")
            keys, weights, numbers = keys[order], weights[order], numbers[order]
        if (numbers[1:] == numbers[:-1]).any():
            raise InputError("{}: expected each key once, got one twice", place)
        return FeatureWeights(keys, weights)


NONE_2, NONE_3 = (FeatureWeights(np.empty((0, width), np.int64), np.empty(0)) for width in (2, 3))


def crf_of_weights(
    labels: Sequence[str],
    names: Iterable[str],
    states: FeatureWeights,
    transitions: FeatureWeights = NONE_2,
    *,
    way: Way = None,
    edge_names: Iterable[str] = (),
    edges: FeatureWeights = NONE_3,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    scheme: str | None = None,
    reason: str,
) -> CRF:
    """Return the CRF that has these weights and no others; `reason` says where they come from, in its summary.

    The other arguments are those of `parameters_of_weights`.
    """
    parameters = parameters_of_weights(
        labels,
        names,
        states,
        transitions,
        way=way,
        edge_names=edge_names,
        edges=edges,
        start=start,
        end=end,
        scheme=scheme,
    )
    return crf_of_parameters(parameters, way, reason)


def crf_of_parameters(parameters: Parameters, way: Way, reason: str, kind: str = "crf") -> CRF:
    """Return the CRF that has these parameters, and gets its features in this way; or the MEMM or MaxEnt, by `kind`."""
    from tagline.models.crf.estimator import CRF
    from tagline.models.crf.fitting import FittedCRF
    from tagline.models.crf.memm import MEMM, MaxEnt
    from tagline.models.files import TrainingFacts

    structure = parameters.structure
    crf = {"crf": CRF, "memm": MEMM, "maxent": MaxEnt}[kind](
        way, scheme=parameters.scheme, start_end=structure.start or structure.end
    )
    crf._become(FittedCRF(parameters, Extraction(way), TrainingFacts(reason=reason), ()))
    return crf


def parameters_of_weights(
    labels: Sequence[str],
    names: Iterable[str],
    states: FeatureWeights,
    transitions: FeatureWeights = NONE_2,
    *,
    way: Way = None,
    edge_names: Iterable[str] = (),
    edges: FeatureWeights = NONE_3,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    scheme: str | None = None,
) -> Parameters:
    """Return parameters with these weights and no others.

    Arguments:
        labels: L names; their order decides between labellings of equal scores, and is kept.
        names: the state attributes; positions are numbers.
        states: weights by (attribute, label).
        transitions: weights by (previous, next).
        way: a template, a feature function, or None where sentences are features already.
        edge_names, edges: the same for weights by (attribute, previous, next).
        start, end: ``[L]``, weights of the first and the last label.
        scheme: whose rules hold; None for no rules.
    """
    L, vocabulary = len(labels), Vocabulary.of(names)
    edge_vocabulary = Vocabulary.of(edge_names)
    A, E = len(vocabulary), len(edge_vocabulary)
    states, transitions = states.sorted((A, L), "states"), transitions.sorted((L, L), "transitions")
    edges = edges.sorted((E, L, L), "edges")
    ends = [np.asarray(weights, np.float64) for weights in (start, end) if weights is not None]
    structure = Structure(
        L,
        row_offsets(states.keys[:, 0], A),
        states.keys[:, 1].astype(np.int32),
        transitions.keys.astype(np.int32),
        row_offsets(edges.keys[:, 0], E),
        edges.keys[:, 1:].astype(np.int32),
        start is not None,
        end is not None,
    )
    flat = np.concatenate([states.weights, transitions.weights, edges.weights, *ends])
    asked = isinstance(way, Template) and way.has_edges  # it looks edges up even where none has a weight
    return Parameters(tuple(labels), scheme, structure, flat, vocabulary, edge_vocabulary if E or asked else None)
