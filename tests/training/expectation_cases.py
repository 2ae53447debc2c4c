"""Models whose expected counts are known: by enumeration of all labellings, and by the naive engine."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagline.chain import naive
from tagline.chain.symbols import SymbolChain
from tagline.training.expectations import (
    Expectations,
    expectations,
    symbol_expectations,
)
from tagline.types import Chain

NEGATIVE = -np.inf


def log(values: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(values)


@dataclass(frozen=True)
class Model:
    """An HMM over symbols, and sentences of it, all as logarithms."""

    table: Any  # [V, K]
    ids: Any
    offsets: Any
    start: Any
    transitions: Any

    @property
    def rows(self) -> Any:
        return np.concatenate([self.table, np.zeros((1, self.table.shape[1]))])[self.ids]

    @property
    def moves(self) -> tuple[Any, Any, Any]:
        return self.offsets, self.start, self.transitions

    @property
    def chained(self) -> SymbolChain:
        return SymbolChain(self.table, self.ids, self.transitions, self.start, None, self.offsets)

    def in_every_way(self, allowed: Any = None) -> list[Expectations]:
        rows = self.rows if allowed is None else np.where(allowed, self.rows, NEGATIVE)
        return [
            expectations(rows, *self.moves),
            symbol_expectations(self.chained, allowed),
        ]


def distributions(rng: np.random.Generator, rows: int, columns: int, zeros: float, spread: float) -> Any:
    """Log probabilities; a share of them is 0, but for one in each row."""
    weights = np.exp(rng.normal(0, spread, (rows, columns)))
    gone = rng.random((rows, columns)) < zeros
    gone[np.arange(rows), rng.integers(0, columns, rows)] = False
    weights[gone] = 0
    return log(weights / weights.sum(axis=1, keepdims=True))


def make_model(
    rng: np.random.Generator,
    K: int,
    V: int,
    lengths: Any,
    *,
    zeros: float = 0.0,
    spread: float = 1.0,
    missing: float = 0.1,
) -> Model:
    """A model, and sequences that it drew: none of them is impossible."""
    start, transitions = distributions(rng, 1, K, zeros, spread)[0], distributions(rng, K, K, zeros, spread)
    table = np.ascontiguousarray(distributions(rng, K, V, zeros, spread).T)
    ids = []
    for length in lengths:
        state = -1
        for _ in range(length):
            state = rng.choice(K, p=np.exp(start if state < 0 else transitions[state]))
            symbol = rng.choice(V, p=np.exp(table[:, state]) / np.exp(table[:, state]).sum())
            ids.append(-1 if rng.random() < missing else symbol)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Model(table, np.array(ids, np.int64), offsets, start, transitions)


def enumerate_counts(rows: Any, offsets: Any, start: Any, transitions: Any) -> Expectations:
    """The definition: every path of every sequence, weighted by its probability."""
    N, K = rows.shape
    logs, first, pairs, nodes = [], np.zeros(K), np.zeros((K, K)), np.zeros((N, K))
    for begin, end in itertools.pairwise(offsets.tolist()):
        paths = list(itertools.product(range(K), repeat=end - begin))
        scores = [
            math.fsum(
                [start[path[0]] if path else 0.0]
                + [transitions[i, j] for i, j in itertools.pairwise(path)]
                + [rows[begin + t, j] for t, j in enumerate(path)]
            )
            if all(
                value > NEGATIVE
                for value in [
                    *[start[j] for j in path[:1]],
                    *[transitions[i, j] for i, j in itertools.pairwise(path)],
                    *[rows[begin + t, j] for t, j in enumerate(path)],
                ]
            )
            else NEGATIVE
            for path in paths
        ]
        top = max(scores)
        total = top + math.log(math.fsum(math.exp(score - top) for score in scores))
        logs.append(total)
        for path, score in zip(paths, scores, strict=True):
            share = math.exp(score - total)
            for t, j in enumerate(path):
                nodes[begin + t, j] += share
            for i, j in itertools.pairwise(path):
                pairs[i, j] += share
            if path:
                first[path[0]] += share
    return Expectations(np.array(logs), first, pairs, nodes=nodes)


def by_symbol(nodes: Any, ids: Any, V: int) -> Any:
    table = np.zeros((V + 1, nodes.shape[1]))
    np.add.at(table, ids, nodes)
    return table[:-1]


def check(counts: Expectations, wanted: Expectations, ids: Any = None, V: int = 0, rtol: float = 1e-11) -> None:
    close = {"rtol": rtol, "atol": 1e-12}
    np.testing.assert_allclose(counts.log_likelihood, wanted.log_likelihood, **close)
    np.testing.assert_allclose(counts.start, wanted.start, **close)
    np.testing.assert_allclose(counts.transitions, wanted.transitions, **close)
    if counts.nodes is not None:
        np.testing.assert_allclose(counts.nodes, wanted.nodes, **close)
    if counts.emissions is not None:
        np.testing.assert_allclose(counts.emissions, by_symbol(wanted.nodes, ids, V), **close)


def naive_counts(rows: Any, offsets: Any, start: Any, transitions: Any) -> Expectations:
    counts = naive.expected_counts(Chain(rows, transitions, start, None, offsets))
    return Expectations(counts.log_z, counts.start, np.asarray(counts.transitions), nodes=np.asarray(counts.emissions))


def parallel(step: float, T: int) -> Model:
    """Two states that never meet: symbol 0 speaks for the first, 1 for the second, which wins in the end."""
    ids = np.array([0] * (T * 2 // 5) + [1] * (T - T * 2 // 5))
    table = np.array([[0.0, -step], [-step, 0.0]])
    return Model(table, ids, np.array([0, T]), np.log([0.5, 0.5]), log(np.eye(2)))
