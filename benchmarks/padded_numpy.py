"""The rival in NumPy: exact inference on a padded batch whose padding is cut away, as fast as NumPy lets it be.

Sentences are sorted by falling length, so the ones alive at step t are the first ``A_t`` of them, and the batch is one
block ``[L, A_t]`` for each step, one after the other in a single buffer. Measured choices, on 1,000 chains:

- Labels come first, so that inner loops run over sentences: Viterbi takes 1 ms at L = 9, and 9 to 12 ms the other way.
- log Z and marginals live in exp space, ``exp(transitions).T @ alpha`` by BLAS; columns are rescaled as seldom as
  float32 allows (the largest scores tell how often), which takes a third off log Z at L = 22.
- Viterbi takes the maximum over blocks of 16 next labels, and finds its back-pointers again on the way back: N·L
  work where stored ones take N·L².

There is no −∞ and no guard in it: scores stay within about ±60. Results keep the layout; `ragged` undoes it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain as joined
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagline import Chain

Array = NDArray[Any]
Result = TypeVar("Result")

NEXT_LABELS = 16  # in one max-plus call; within 5 % of the best of 4, 8, 16 and L, for every L measured
LARGEST_LOG = 60.0  # float32 ends at e^88


@dataclass(frozen=True, eq=False)
class Gold:
    """Where the given labels lie: ``cells [N]`` in the emissions, ``pairs [N - B]`` in the transitions, both flat.

    ``columns`` and ``pair_columns`` say to which column each belongs; ``first`` and ``last [B]`` are labels.
    """

    cells: Array
    columns: Array
    pairs: Array
    pair_columns: Array
    first: Array
    last: Array


@dataclass(frozen=True, eq=False)
class Block:
    """A batch by steps.

    ``emissions [N·L]`` holds a ``[L, A_t]`` for each step; ``active [T + 1]`` the A_t, which never rise and end with 0;
    ``order [B]`` the sentence of the chain in each column.
    """

    emissions: Array
    transitions: Array
    start: Array
    end: Array
    order: Array
    active: list[int]
    gold: Gold

    def steps(self, flat: Array) -> list[Array]:
        """Cut a buffer like the emissions into its views ``[L, A_t]``."""
        views, here, L = [], 0, len(self.start)
        for alive in self.active[:-1]:
            views.append(flat[here : here + L * alive].reshape(L, alive))
            here += L * alive
        return views

    def ending(self, t: int) -> slice:
        """The columns whose last token is at step t."""
        return slice(self.active[t + 1], self.active[t])


@dataclass(frozen=True, eq=False)
class BlockGradients:
    """Gradients of Σ log p(gold), ``emissions`` by steps, and log p ``[B]`` in the order of the columns."""

    emissions: list[Array]
    transitions: Array
    start: Array
    end: Array
    log_likelihood: Array


def pack(chain: Chain, gold: Array, sentences: Array | None = None) -> Block:
    """Lay a ragged chain (or only some of its sentences) out by steps."""
    chosen = np.arange(chain.num_sentences) if sentences is None else sentences
    chosen = chosen[chain.lengths[chosen] > 0]
    order = chosen[np.argsort(-chain.lengths[chosen], kind="stable")]
    lengths = chain.lengths[order]
    active = [int((lengths > t).sum()) for t in range(lengths[0] + 1)]
    rows = _rows(chain, order, active)
    flat = np.concatenate([chain.emissions[row].T.ravel() for row in rows])
    labels = _gold([gold[row] for row in rows], lengths, chain.num_labels)
    return Block(flat, chain.transitions, chain.start, chain.end, order, active, labels)


def ragged(chain: Chain, block: Block, values: list[Array], into: Array) -> Array:
    """Write values by steps, ``[..., A_t]``, into an array over the tokens ``[N, ...]`` of the chain, and return it."""
    for row, value in zip(_rows(chain, block.order, block.active), values, strict=True):
        into[row] = value.T
    return into


def log_partition(block: Block) -> Array:
    """Compute log Z of each column, ``[B]``."""
    return _forward(block, _interval(block), None)


def marginals(block: Block) -> tuple[list[Array], Array]:
    """Compute P(y_t = j) by steps, and log Z ``[B]``."""
    nodes, _, log_z = _posterior(block, with_edges=False)
    return block.steps(nodes), log_z


def gradients(block: Block) -> BlockGradients:
    """Compute the gradient of Σ log p(gold): observed uses of each score less expected ones."""
    nodes, edges, log_z = _posterior(block, with_edges=True)
    np.negative(nodes, out=nodes)
    nodes[block.gold.cells] += 1
    L, steps = len(block.start), block.steps(nodes)
    last = np.concatenate([steps[t][:, block.ending(t)] for t in range(len(steps))], axis=1)  # [L, B]
    observed = np.bincount(block.gold.pairs, minlength=L * L).reshape(L, L)
    likelihood = _gold_scores(block) - log_z
    return BlockGradients(steps, observed - edges, steps[0].sum(axis=1), last.sum(axis=1), likelihood)


def viterbi(block: Block) -> tuple[list[Array], Array]:
    """Find the best label of each column by steps, and the score of each path ``[B]``."""
    deltas = block.steps(_max_plus(block))
    scores = np.empty(len(block.order), block.end.dtype)
    labels = [np.empty(0, np.int64)] * len(deltas)
    from_next = block.transitions.T.copy()  # [next, previous]
    for t in range(len(deltas) - 1, -1, -1):
        onward = np.empty((block.active[t], len(block.end)), block.end.dtype)  # [A_t, L]
        if t + 1 < len(deltas):
            np.take(from_next, labels[t + 1], axis=0, out=onward[: block.active[t + 1]], mode="clip")
        onward[block.ending(t)] = block.end
        onward += deltas[t].T
        labels[t] = onward.argmax(axis=1)
        scores[block.ending(t)] = onward[block.ending(t)].max(axis=1)
    return labels, scores


def decode(chain: Chain, block: Block) -> list[list[int]]:
    """Find the best labels of each sentence as lists, in the order of the columns."""
    flat = ragged(chain, block, viterbi(block)[0], np.empty(chain.num_tokens, np.int64)).tolist()
    bounds = chain.offsets.tolist()
    return [flat[bounds[b] : bounds[b + 1]] for b in block.order.tolist()]


def _rows(chain: Chain, order: Array, active: list[int]) -> list[Array]:
    """The tokens of the chain at each step, ``[A_t]``."""
    first = chain.offsets[order]
    return [first[:alive] + t for t, alive in enumerate(active[:-1])]


def _gold(labels: list[Array], lengths: Array, L: int) -> Gold:
    sizes = np.array([len(y) for y in labels])
    begins = L * (np.cumsum(sizes) - sizes)  # where each step begins in the flat emissions
    columns = [np.arange(size) for size in sizes]
    cells = [begin + y * len(y) + column for begin, y, column in zip(begins, labels, columns, strict=True)]
    pairs = [before[: len(y)] * L + y for before, y in pairwise(labels)]
    none = np.empty(0, np.int64)
    last = np.array([labels[length - 1][column] for column, length in enumerate(lengths)])
    flat = [np.concatenate([none, *parts]) for parts in (cells, columns, pairs, columns[1:])]
    return Gold(flat[0], flat[1], flat[2], flat[3], labels[0], last)


def _max_plus(block: Block) -> Array:
    """The best score of a beginning by its last label: delta_t(j) = max_i (delta_(t-1)(i) + T(i, j)) + e_t(j)."""
    L, emissions = len(block.start), block.steps(block.emissions)
    flat = np.empty_like(block.emissions)
    deltas = block.steps(flat)
    np.add(emissions[0], block.start[:, None], out=deltas[0])
    room = np.empty(L * min(L, NEXT_LABELS) * block.active[0], flat.dtype)
    for t in range(1, len(emissions)):
        before = deltas[t - 1][:, None, : block.active[t]]  # [L, 1, A_t]
        for j in range(0, L, NEXT_LABELS):
            scores = block.transitions[:, j : j + NEXT_LABELS, None]  # [L, next, 1]
            pairs = room[: scores.size * block.active[t]].reshape(L, scores.shape[1], -1)
            np.add(before, scores, out=pairs)
            np.maximum.reduce(pairs, axis=0, out=deltas[t][j : j + NEXT_LABELS])
        deltas[t] += emissions[t]
    return flat


def _interval(block: Block) -> int:
    """After how many steps columns must be rescaled: one step moves their largest entry by e^±growth at most."""
    largest = max(float(block.emissions.max()), -float(block.emissions.min()))
    growth = largest + float(np.abs(block.transitions).max()) + np.log(len(block.start))
    return max(1, int(LARGEST_LOG // growth))


def _forward(block: Block, interval: int, keep: list[tuple[Array, Array]] | None) -> Array:
    """Run alpha through the steps and return log Z; ``keep`` takes alpha (columns up to a factor) and e^emissions."""
    into = np.exp(block.transitions).T.copy()
    alpha = np.exp(block.start)[:, None]
    logs = np.zeros(len(block.order))
    last = np.empty((len(block.start), len(block.order)), block.start.dtype)
    for t, emissions in enumerate(block.steps(block.emissions)):
        weights = np.exp(emissions)  # here, where it stays in the cache
        alpha = into @ alpha[:, : block.active[t]] if t else alpha
        alpha = np.multiply(alpha, weights, out=alpha if t else None)
        if t % interval == interval - 1:
            largest = alpha.max(axis=0)
            alpha /= largest
            logs[: block.active[t]] += np.log(largest)
        if block.active[t + 1] < block.active[t]:
            last[:, block.ending(t)] = alpha[:, block.ending(t)]
        if keep is not None:
            keep.append((alpha, weights))
    logs += np.log(np.exp(block.end) @ last)
    return logs


def _posterior(block: Block, with_edges: bool) -> tuple[Array, Array, Array]:
    """Node marginals (flat), edge marginals summed ``[L, L]`` (zeros unless asked for) and log Z ``[B]``."""
    interval, columns = _interval(block), list[tuple[Array, Array]]()
    log_z = _forward(block, interval, columns)
    flat = np.empty_like(block.emissions)
    nodes, back, final = block.steps(flat), np.exp(block.transitions), np.exp(block.end)[:, None]
    edges, ones, ahead = np.zeros_like(back), np.ones_like(block.end), nodes[-1][:, :0]
    for t in range(len(nodes) - 1, -1, -1):
        (alpha, weights), alive = columns[t], block.active[t + 1]
        beta = np.empty_like(weights)
        beta[:, alive:] = final
        np.matmul(back, ahead, out=beta[:, :alive])
        np.multiply(alpha, beta, out=nodes[t])
        total = ones @ nodes[t]  # [A_t], the factor between alpha · beta and a probability
        nodes[t] /= total
        if with_edges and alive:
            ahead /= total[:alive]
            edges += alpha[:, :alive] @ ahead.T
        if t % interval == 0:
            beta /= beta.max(axis=0)
        ahead = np.multiply(beta, weights, out=beta)  # what the step before looks ahead to
    return flat, edges * back, log_z


def _gold_scores(block: Block) -> Array:
    gold, B = block.gold, len(block.order)
    inner = np.bincount(gold.columns, block.emissions[gold.cells], B)
    inner += np.bincount(gold.pair_columns, block.transitions.ravel()[gold.pairs], B)
    return inner + block.start[gold.first] + block.end[gold.last]


class NumpyRival:
    """The whole batch, or ``parts`` equal shares of it in as many Python threads (NumPy lets go of the GIL)."""

    def __init__(self, chain: Chain, gold: Array, parts: int = 1) -> None:
        self.chain = chain
        longest_first = np.argsort(-chain.lengths, kind="stable")
        self.blocks = [pack(chain, gold, longest_first[part::parts]) for part in range(parts)]
        self._pool = ThreadPoolExecutor(parts)

    def each(self, work: Callable[[Block], Result]) -> list[Result]:
        """Do the work on every share at once."""
        if len(self.blocks) == 1:
            return [work(self.blocks[0])]
        return list(self._pool.map(work, self.blocks))

    def gradients(self) -> tuple[list[BlockGradients], tuple[Array, ...]]:
        """Gradients of each share; those of transitions, start and end also summed."""
        shares = self.each(gradients)
        names = ("transitions", "start", "end")
        return shares, tuple(np.sum([getattr(share, name) for share in shares], axis=0) for name in names)

    def decode(self) -> list[list[int]]:
        """Best labels as lists, in the order of the shares' columns."""
        return list(joined.from_iterable(self.each(lambda block: decode(self.chain, block))))
