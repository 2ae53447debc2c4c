"""The engine for tensors on the CPU: the compiled core reads them in place, with threads over sentences.

Gradients are marginals. They are computed with the value in one pass, and weighted when the backward pass comes. A
sentence without a legal path and forbidden labels raise where a gradient is wanted; NaN must be kept out by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tagline import _core, ragged
from tagline.chain import native
from tagline.chain.checks import forbidden_gold
from tagline.chain.native import call_core
from tagline.chain.tensors.batched import NO_LABEL
from tagline.chain.tensors.types import TensorChain, WeightedGradients, as_array
from tagline.types import Chain, IntArray, SpanQuery

NAME = "native"
EDGE_BYTES = 1 << 26  # of pair probabilities at a time, where sentences weigh differently


@dataclass(frozen=True, eq=False)
class CoreArrays:
    """The arrays that the core reads, and where their rows come from."""

    arrays: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], IntArray]
    runs: Any

    @property
    def offsets(self) -> IntArray:
        """Where the sentences begin, ``[B + 1]``."""
        return self.arrays[4]

    def chain(self) -> Chain:
        """Return the same scores for the engine on arrays."""
        return Chain(*self.arrays)

    def put(self, values: NDArray[Any], fill: float) -> Tensor:
        """Put values of tokens into rows ``[N, …]``, with `fill` elsewhere."""
        return torch.from_numpy(values if self.runs.dense else self.runs.put(values, fill))

    def take(self, values: Tensor) -> NDArray[Any]:
        """Return those values of rows ``[N, …]`` that belong to tokens."""
        array = as_array(values)
        return array if self.runs.dense else self.runs.pack(array)


def pack(c: TensorChain) -> CoreArrays:
    """Return arrays without copying; where there are rows between the sentences, those inside are copied together."""
    emissions, transitions, start, end = c.arrays
    if not c.runs.dense:
        emissions = c.runs.pack(emissions)
        transitions = c.runs.pack(transitions) if c.per_position else transitions
    return CoreArrays((emissions, transitions, start, end, c.runs.offsets), c.runs)


def evaluate(c: TensorChain, labels: Tensor | None, with_gradients: bool) -> tuple[Tensor, WeightedGradients]:
    """Compute log Z ``[B]``, or with labels ``[N]`` log p(labels), and how to get their gradients.

    Without gradients log Z is −∞ for a sentence without a legal path.
    """
    core = pack(c)
    gold = None if labels is None else core.take(labels)
    counts: tuple[NDArray[Any], ...] = ()
    if with_gradients:
        if gold is None:
            counts = call_core(_core.expected_counts, *core.arrays)
        else:
            counts = call_core(_core.gradients, *core.arrays, gold)
        value = counts[4]
    elif gold is None:
        value = _core.log_partition(*core.arrays, True)
    else:
        log_z = call_core(_core.log_partition, *core.arrays, False)
        value = _core.score(*core.arrays, gold) - log_z
    if gold is not None and (forbidden := value == -np.inf).any():
        raise forbidden_gold(int(forbidden.argmax()))

    return torch.from_numpy(value), partial(_weighted, c, core, counts, gold)


def _weighted(
    c: TensorChain, core: CoreArrays, counts: tuple[NDArray[Any], ...], gold: IntArray | None, of_sentences: Tensor
) -> tuple[Tensor, ...]:
    """Sum each sentence's gradient times its weight, given the counts of all sentences together."""
    nodes, edges, *ends, _ = counts
    weights, per_position = as_array(of_sentences), edges.ndim == 3
    if len(weights) == 0 or (weights == weights[0]).all():
        weight = weights[0] if len(weights) else 0.0
        parts = [edges if per_position else edges * weight, *(part * weight for part in ends)]
    else:
        parts = list(_uneven(core, per_position, edges, nodes, weights, gold))
    if per_position:
        parts[0] = core.runs.spread(edges, weights)
    slopes = (core.runs.spread(nodes, weights), *parts)
    return tuple(torch.from_numpy(slope).to(scores.dtype) for slope, scores in zip(slopes, c.scores, strict=True))


def _uneven(
    core: CoreArrays,
    per_position: bool,
    edges: NDArray[Any],
    nodes: NDArray[Any],
    weights: NDArray[Any],
    gold: IntArray | None,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Compute transition, start and end gradients where sentences weigh differently."""
    offsets = core.offsets
    filled = np.diff(offsets) > 0
    first, last = offsets[:-1][filled], offsets[1:][filled] - 1
    start, end = (weights[filled] @ nodes[places].astype(np.float64) for places in (first, last))
    if per_position:
        return edges, start, end
    expected = _expected_pairs(core, weights)
    if gold is None:
        return expected, start, end
    total = 0.0 - expected
    into = np.flatnonzero(~ragged.first_entries(offsets))
    np.add.at(total, (gold[into - 1], gold[into]), np.repeat(weights, np.diff(offsets))[into])
    return total, start, end


def _expected_pairs(core: CoreArrays, weights: NDArray[Any]) -> NDArray[Any]:
    """Sum the expected pairs of labels ``[L, L]`` of each sentence times its weight, some sentences at a time."""
    emissions, transitions, start, end, offsets = core.arrays
    lengths = np.diff(offsets)
    L = emissions.shape[1]
    total = np.zeros((L, L))
    step = max(1, EDGE_BYTES // (8 * L * L * max(1, int(lengths.max(initial=1)))))
    for b in range(0, len(lengths), step):
        block = slice(b, min(b + step, len(lengths)))
        tokens = slice(offsets[block.start], offsets[block.stop])
        own_offsets = offsets[block.start : block.stop + 1] - tokens.start
        _, pairs, _ = call_core(_core.marginals, emissions[tokens], transitions, start, end, own_offsets, True)
        assert pairs is not None
        total += np.tensordot(np.repeat(weights[block], lengths[block]), pairs, 1)
    return total


def marginals(c: TensorChain) -> Tensor:
    """Compute P(y_n = j) ``[N, L]``, without gradients."""
    core = pack(c)
    return core.put(call_core(_core.marginals, *core.arrays, False)[0], 0.0)


def viterbi(c: TensorChain) -> tuple[Tensor, Tensor]:
    """Find the best labelling: labels ``[N]`` and scores ``[B]``."""
    core = pack(c)
    labels, scores = call_core(_core.viterbi, *core.arrays)
    return core.put(labels, NO_LABEL), torch.from_numpy(scores)


def k_best(c: TensorChain, k: int) -> tuple[Tensor, Tensor]:
    """Find the k best labellings: labels ``[K, N]``, scores ``[K, B]`` with −∞ where there are no more."""
    core = pack(c)
    chain = core.chain()
    labels = np.full((k, chain.num_tokens), NO_LABEL, np.int64)
    scores = np.full((k, chain.num_sentences), -np.inf)
    for b, ranked in enumerate(native.k_best(chain, k)):
        labels[: len(ranked.scores), chain.offsets[b] : chain.offsets[b + 1]] = ranked.labels
        scores[: len(ranked.scores), b] = ranked.scores
    return torch.stack([core.put(row, NO_LABEL) for row in labels]), torch.from_numpy(scores)


def sample(c: TensorChain, uniforms: Tensor) -> Tensor:
    """Draw labellings ``[S, N]`` by numbers ``[S, N]`` in [0, 1)."""
    core = pack(c)
    labels = native.sample(core.chain(), np.ascontiguousarray(core.take(uniforms.T).T))
    rows = [core.put(row, NO_LABEL) for row in labels]
    return torch.stack(rows) if rows else c.first.new_empty((0, c.num_rows))


def entropy(c: TensorChain) -> Tensor:
    """Compute the entropy of p(y | x) in nats, ``[B]``."""
    return torch.from_numpy(native.entropy(pack(c).chain()))


def span_probability(c: TensorChain, spans: Sequence[SpanQuery]) -> Tensor:
    """Compute the probability that the labels of spans lie in sets, one number a span."""
    return torch.from_numpy(native.span_probability(pack(c).chain(), spans))
