"""The likelihood of a feature CRF as an objective over flat weights: Σ_b weight_b · −log p(labels_b), no penalties.

Where `local` is set it is that of a maximum-entropy Markov model: p(labels) is the product of p(y_n | y_(n−1), x), each
normalised by itself over the labels that rules allow there, with the label before as the sentence has it.

A sentence whose labels are not all known contributes −log of the summed probability of the labellings that its sets
allow: log Z(rules) − log Z(rules and sets). The core does the work, in the
lanes of `training.lanes`, whose number does not depend on threads.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.errors import NoPathError
from tagline.features.attributes import Attributes, Features
from tagline.features.weights import Structure
from tagline.messages import message
from tagline.ragged import take_rows
from tagline.readers.rules import Rules
from tagline.training.lanes import lane_count, lane_offsets
from tagline.types import BoolArray, Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Targets:
    """What the sentences are labelled with.

    Attributes:
        labels: ``[N]``, int32; −1 where more than one label is allowed.
        allowed: ``[N, L]``, True where a label may stand; None where every label is known.
        weights: ``[B]``, how much each sentence counts; None where all count 1.
        surplus: ``[size]``, how much more often the labels show each weight than what is wanted, where that is not the
            labels themselves but what a teacher expects; None for nothing. Its product with the weights is added.
        kept: ``[N, L]``, the labels that pruning leaves to a second-order model, in Z and everywhere; None for all.
    """

    labels: NDArray[np.int32]
    allowed: BoolArray | None = None
    weights: Float64Array | None = None
    surplus: Float64Array | None = None
    kept: BoolArray | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """Some lanes of a corpus.

    Attributes:
        lanes: the first sentence of each lane, and the number of all, ``[lanes + 1]``.
        counts: how often each state attribute occurs in the whole corpus, ``[A]``; None where this is the whole.
        tokens: of the whole corpus, where there are counts.
    """

    lanes: IntArray
    counts: IntArray | None = None
    tokens: int = 0


class Likelihood:
    """Negative log-likelihood and gradient.

    Arguments:
        structure: which weights there are.
        features, targets: the labelled sentences.
        rules: transitions, starts and ends that are forbidden, in Z as in decoding.
        precision: "float32" for speed (sums are float64 all the same), "float64" for the last digits.
        scratch: a folder for what training reads in each pass; None to hold it in memory.
        local: whether each token is normalised by itself.
        part: how the sentences are cut where they are a part of a corpus, or not as usual; None for a whole one.
        bundles: whether attributes that come together often are added up once, as one.
    """

    def __init__(
        self,
        structure: Structure,
        features: Features,
        targets: Targets,
        rules: Rules | None = None,
        precision: str = "float32",
        scratch: Path | None = None,
        local: bool = False,
        part: Part | None = None,
        bundles: bool = True,
    ) -> None:
        core = compiled.require()
        self.structure, self.features, self.targets, self.rules = structure, features, targets, rules
        self.precision, self.local = precision, local
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
            local,
            structure.triples,
        )
        states, edges = features.states, features.edges
        if scratch is None:
            placed = layout.place(states.offsets, states.ids, states.values)
        else:
            placed = place_on_disk(layout, states, scratch)
        examples = core.Examples(
            layout,
            moves,
            features.offsets,
            placed,
            None if edges is None else (edges.offsets, edges.ids, edges.values),
            targets.labels,
            targets.allowed,
            targets.weights,
            targets.kept,
        )
        kind = core.Likelihood32 if precision == "float32" else core.Likelihood64
        cut = part or Part(lane_offsets(features.offsets, lane_count(features.num_tokens)))
        bundled = None
        if bundles and states.values is None:
            if (np.diff(cut.lanes) < 0).any() or cut.lanes[-1] != features.num_sentences:
                raise ValueError(message("lanes: expected to rise from 0 to {}", features.num_sentences))
            bundled = [
                bundle_lane(kind, layout, features, cut.lanes, lane, scratch) for lane in range(len(cut.lanes) - 1)
            ]
        self.core = kind(layout, moves, examples, cut.lanes, cut.counts, cut.tokens, bundled)

    @property
    def size(self) -> int:
        """How many weights there are."""
        return int(self.core.size)

    @property
    def convex(self) -> bool:
        """Whether all labels are known; where several are allowed, it is a difference of convex functions."""
        return bool((self.targets.labels >= 0).all())

    def __call__(self, weights: Float64Array, *, curvature: bool = False) -> tuple[float, Float64Array]:
        """Return the value and the gradient ``[size]``.

        Arguments:
            curvature: return about the diagonal of the Hessian in the place of the gradient.
        """
        try:
            value, gradient = self.core.evaluate(np.ascontiguousarray(weights, np.float64), curvature)
        except compiled.require().NoPath as error:
            raise NoPathError(
                "sentence {}: expected a labelling that rules and label sets allow, got none", error
            ) from None
        surplus = self.targets.surplus
        if surplus is None or curvature:
            return value, gradient
        return value + float(weights @ surplus), gradient + surplus

    def of_sentences(self, sentences: IntArray) -> Likelihood:
        """Return the likelihood of these sentences and their labels alone, held in memory."""
        bounds, tokens = take_rows(self.features.offsets, sentences)

        def taken(attributes: Attributes) -> Attributes:
            offsets, entries = take_rows(attributes.offsets, tokens)
            values = attributes.values
            return Attributes(offsets, attributes.ids[entries], None if values is None else values[entries])

        states, edges = self.features.states, self.features.edges
        allowed, weights, kept = self.targets.allowed, self.targets.weights, self.targets.kept
        return Likelihood(
            self.structure,
            Features(bounds, taken(states), None if edges is None else taken(edges)),
            Targets(
                self.targets.labels[tokens],
                None if allowed is None else allowed[tokens],
                None if weights is None else weights[sentences],
                kept=None if kept is None else kept[tokens],
            ),
            self.rules,
            self.precision,
            local=self.local,
        )

    def curvature(self, weights: Float64Array) -> Float64Array:
        """Return Σ value²·p (1 − p) for weights of states, Σ p for others: about the diagonal of the Hessian."""
        return self(weights, curvature=True)[1]


def bundle_lane(
    kind: Any, layout: Any, features: Features, lanes: IntArray, lane: int, scratch: Path | None
) -> tuple[Any, ...] | None:
    """Return what ``layout.bundle`` makes of one lane's tokens, in mapped files where there is a folder for them."""
    first, last = features.offsets[lanes[lane]], features.offsets[lanes[lane + 1]]
    offsets = features.states.offsets[first : last + 1]
    ids = np.ascontiguousarray(features.states.ids[offsets[0] : offsets[-1]])
    bundled: tuple[Any, ...] | None = layout.bundle(
        offsets - offsets[0], ids, kind.first_bundle(layout, len(lanes) - 1, lane)
    )
    if bundled is None or scratch is None:
        return bundled
    mapped = []
    for part, array in enumerate(bundled[:4]):  # those of tokens; there are few bundles
        path = scratch / f"bundled-{lane}-{part}"
        path.write_bytes(array.data)
        mapped.append(np.memmap(path, array.dtype, "r") if array.size else array)
    return *mapped, *bundled[4:]


def place_on_disk(layout: Any, attributes: Attributes, folder: Path, block: int = 1 << 18) -> tuple[Any, ...]:
    """Do what ``layout.place`` does, block by block, into mapped files: for data that memory does not hold."""
    kinds = (np.int64, np.uint32, np.float32, np.int64, np.uint32, np.float32)
    paths = [folder / f"placed-{part}" for part in range(6)]
    N = attributes.num_tokens
    totals = [0, 0]
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open(path, "wb")) for path in paths]
        for file in (files[0], files[3]):
            file.write(np.zeros(1, np.int64).data)
        for first in range(0, N, block):
            last = min(N, first + block)
            low, high = attributes.offsets[first], attributes.offsets[last]
            values = None if attributes.values is None else np.ascontiguousarray(attributes.values[low:high])
            placed = layout.place(attributes.offsets[first : last + 1] - low, attributes.ids[low:high], values)
            for part, (file, array) in enumerate(zip(files, placed, strict=True)):
                if part % 3 == 0:
                    file.write((array[1:] + totals[part // 3]).data)
                    totals[part // 3] += int(array[-1])
                elif array is not None:
                    file.write(array.data)
    mapped: list[Any] = []
    for part, (path, kind) in enumerate(zip(paths, kinds, strict=True)):
        if part % 3 == 2 and attributes.values is None:
            mapped.append(None)
        else:
            mapped.append(np.memmap(path, kind, "r") if path.stat().st_size else np.empty(0, kind))
    return tuple(mapped)
