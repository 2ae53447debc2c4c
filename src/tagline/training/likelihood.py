"""The likelihood of a feature CRF as an objective over flat weights: Σ_b weight_b · −log p(labels_b), without penalties.

A sentence whose labels are not all known counts −log of the summed probability of the labellings that its sets allow:
log Z(rules) − log Z(rules and sets). The work is done in the core, in lanes whose number does not depend on threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.errors import NoPathError
from tagline.features.attributes import Features
from tagline.features.weights import Structure
from tagline.readers.roles import Rules
from tagline.types import BoolArray, Float64Array


@dataclass(frozen=True, eq=False)
class Targets:
    """What the sentences are labelled with.

    Attributes:
        labels: ``[N]``, int32; −1 where more than one label is allowed.
        allowed: ``[N, L]``, True where a label may stand; None where every label is known.
        weights: ``[B]``, how much each sentence counts; None where all count 1.
    """

    labels: NDArray[np.int32]
    allowed: BoolArray | None = None
    weights: Float64Array | None = None


class Likelihood:
    """Negative log-likelihood and gradient.

    Arguments:
        structure: which weights there are.
        features, targets: the labelled sentences.
        rules: transitions, starts and ends that are forbidden, in Z as in decoding.
        precision: "float32" for speed (sums are float64 all the same), "float64" for the last digits.
    """

    def __init__(
        self,
        structure: Structure,
        features: Features,
        targets: Targets,
        rules: Rules | None = None,
        precision: str = "float32",
    ) -> None:
        compiled.require()
        core = compiled.core
        assert core is not None
        self.structure = structure
        self.precision = precision
        self.num_sentences = features.num_sentences
        layout = core.Layout(structure.num_labels, structure.state_offsets, structure.state_labels)
        moves = core.Moves(
            structure.num_labels,
            structure.transitions,
            structure.edge_offsets,
            structure.edge_pairs,
            structure.start,
            structure.end,
            None if rules is None else rules.transitions,
            None if rules is None else rules.start,
            None if rules is None else rules.end,
        )
        states, edges = features.states, features.edges
        examples = core.Examples(
            layout,
            moves,
            features.bounds,
            layout.place(states.offsets, states.ids, states.values),
            None if edges is None else (edges.offsets, edges.ids, edges.values),
            targets.labels,
            targets.allowed,
            targets.weights,
        )
        self.core = (core.Likelihood32 if precision == "float32" else core.Likelihood64)(layout, moves, examples)

    @property
    def size(self) -> int:
        """How many weights there are."""
        return int(self.core.size)

    def __call__(self, weights: Float64Array) -> tuple[float, Float64Array]:
        """Return the value and the gradient ``[size]``."""
        value, gradient = self._evaluate(weights, False)
        return value, gradient

    def curvature(self, weights: Float64Array) -> Float64Array:
        """Return Σ p (1 − p) for each weight, which bounds the diagonal of the Hessian of 0/1 features."""
        return self._evaluate(weights, True)[1]

    def _evaluate(self, weights: Float64Array, curvature: bool) -> tuple[float, Float64Array]:
        assert compiled.core is not None
        try:
            value, gradient = self.core.evaluate(np.ascontiguousarray(weights, np.float64), curvature)
        except compiled.core.NoPath as error:
            raise NoPathError(f"sentence {error}: expected a labelling that rules and label sets allow, got none") from None
        return value, gradient
