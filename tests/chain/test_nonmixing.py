"""Labels that do not mix: weight that sinks below the smallest number for a while and decides in the end.

Each sentence has two groups of labels with no way across. The truth is worked out for each group by itself, where
nothing sinks: Z is the sum of the groups' Z, and a marginal is the group's share times the marginal inside it.
A recursion that only rescales answers with the loser's sum: 120.0 for 180.0 and 105.0 for 122.5 in float32, −1526 for
−1119 in float64; a test shows that it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
import pytest

from tagline.chain import constrain
from tagline.types import Chain, Float64Array, IntArray

from .cases import assert_close, log_z_tolerance, path_gap, rounding
from .scaled import Scaled, best_score, exact_score, solve_scaled

BIOES = ["B-P", "I-P", "E-P", "B-Q", "I-Q", "E-Q", "S-P", "S-Q", "O"]


@dataclass(frozen=True, eq=False)
class Apart:
    """A chain whose labels fall into groups that never meet; `winner` holds most of Z."""

    chain: Chain
    groups: list[list[int]]
    winner: list[int]
    log_z: float  # to about four digits


Place = Callable[[Float64Array], Float64Array]


def alone(scores: Float64Array) -> Float64Array:
    return scores


def at_the_front(scores: Float64Array) -> Float64Array:
    """As many tokens again that say nothing, behind: a recursion that meets another half way has met all of it."""
    return np.concatenate([scores, np.zeros_like(scores)])


def at_the_back(scores: Float64Array) -> Float64Array:
    return np.concatenate([np.zeros_like(scores), scores])


def two_labels(step: float, place: Place, dtype: str) -> Apart:
    """100 tokens, cross transitions forbidden: label 0 gains at the first 40 tokens, label 1 at the last 60."""
    early = np.arange(100) < 40
    emissions = place(step * np.stack([early, ~early], axis=1))
    free = Chain(emissions.astype(dtype), np.zeros((2, 2), dtype))
    return Apart(constrain(free, transitions=np.eye(2, dtype=np.bool_)), [[0], [1]], [1], 60 * step)


def two_labels_backwards(step: float, place: Place, dtype: str) -> Apart:
    """The same for β: label 1 gains at the first 60 tokens, label 0 at the last 40."""
    return two_labels(step, lambda scores: place(scores[::-1]), dtype)


def forced_end(step: float, place: Place, dtype: str) -> Apart:
    """Label 0 gains at each of 100 tokens and may not end the sentence."""
    emissions = place(np.tile([step, 0.0], (100, 1))).astype(dtype)
    rules = {"transitions": np.eye(2, dtype=np.bool_), "end": [False, True]}
    return Apart(constrain(Chain(emissions, np.zeros((2, 2), dtype)), **rules), [[1]], [1], 0.0)


def forced_start(step: float, place: Place, dtype: str) -> Apart:
    """The same seen from the end: β meets it first."""
    emissions = place(np.tile([step, 0.0], (100, 1))).astype(dtype)
    rules = {"transitions": np.eye(2, dtype=np.bool_), "start": [False, True]}
    return Apart(constrain(Chain(emissions, np.zeros((2, 2), dtype)), **rules), [[1]], [1], 0.0)


def one_entity(step: float, place: Place, dtype: str) -> Apart:
    """72 tokens that are one BIOES entity of unknown type: 30 tokens speak for P, then 35 for Q."""
    own = np.zeros((72, len(BIOES)))
    for j, name in enumerate(BIOES):
        own[:30, j] = step * name.endswith("P")
        own[37:, j] = step * name.endswith("Q")
    inside = {("B", "I"), ("B", "E"), ("I", "I"), ("I", "E")}
    within = [[(a[0], b[0]) in inside and a[-1] == b[-1] for b in BIOES] for a in BIOES]
    between = [[a[0] in "ESO" and b[0] in "BSO" for b in BIOES] for a in BIOES]
    allowed: dict[int, set[int]] = {n: {1, 4} for n in range(1, 71)}
    allowed |= {0: {0, 3}, 71: {2, 5}}
    free = Chain(place(own).astype(dtype), np.zeros((len(BIOES), len(BIOES)), dtype))
    tight = constrain(free, transitions=np.logical_or(within, between), allowed=allowed)
    return Apart(tight, [[0, 1, 2], [3, 4, 5]], [3, 4, 5], 35 * step)


def two_gaussian_chains(step: float, place: Place, dtype: str) -> Apart:
    """Two HMMs of two Gaussian states side by side, 140 observations: 58 near the first, then 82 near the second."""
    rng = np.random.default_rng(4)
    means = np.array([0.0, 0.5, step, step + 0.5])
    observed = np.where(np.arange(140) < 58, 0.25, step + 0.25) + rng.normal(0, 1, 140)
    density = place(-0.5 * np.log(2 * np.pi) - 0.5 * (observed[:, None] - means) ** 2)
    with np.errstate(divide="ignore"):
        transitions = np.log(np.kron(np.eye(2), [[0.7, 0.3], [0.4, 0.6]]))
    chain = Chain(density.astype(dtype), transitions.astype(dtype), np.full(4, np.log(0.25), dtype))
    return Apart(chain, [[0, 1], [2, 3]], [2, 3], -1119.0)


MAKERS: dict[str, tuple[Callable[[float, Place, str], Apart], list[float]]] = {
    "two labels": (two_labels, [3.0, 30.0]),
    "two labels backwards": (two_labels_backwards, [3.0, 30.0]),
    "forced end": (forced_end, [3.0, 30.0]),
    "forced start": (forced_start, [3.0, 30.0]),
    "one entity": (one_entity, [3.5, 35.0]),
    "two Gaussian chains": (two_gaussian_chains, [5.725]),
}
CASES = {
    f"{name}, {step} nats, {place.__name__}": (make, step, place)
    for name, (make, steps) in MAKERS.items()
    for step in steps
    for place in ((alone,) if make is one_entity else (alone, at_the_front, at_the_back))
}


@cache
def case_of(name: str, dtype: str) -> Apart:
    make, step, place = CASES[name]
    return make(step, place, dtype)


@pytest.fixture(params=CASES)
def apart(request: pytest.FixtureRequest, dtype: str) -> Apart:
    return case_of(request.param, dtype)


def only(chain: Chain, group: list[int]) -> Chain:
    """The chain with the labels of one group."""
    return Chain(
        chain.emissions[:, group], chain.transitions[np.ix_(group, group)], chain.start[group], chain.end[group]
    )


@cache
def solve_apart(apart: Apart) -> Scaled:
    """Solve each group alone and put the answers together; once for all engines."""
    parts = [solve_scaled(only(apart.chain, group)) for group in apart.groups]
    log_z = float(np.logaddexp.reduce([part.log_z for part in parts]))
    shape, L = apart.chain.emissions.shape, apart.chain.num_labels
    nodes, log_alpha, log_beta = np.zeros(shape), np.full(shape, np.nan), np.full(shape, np.nan)
    transitions = np.zeros((L, L))
    for group, part in zip(apart.groups, parts, strict=True):
        share = np.exp(part.log_z - log_z)
        nodes[:, group] = share * part.nodes
        transitions[np.ix_(group, group)] = share * part.transitions
        log_alpha[:, group], log_beta[:, group] = part.log_alpha, part.log_beta
    return Scaled(nodes, transitions, log_alpha, log_beta, log_z)


def small(apart: Apart) -> float:
    """How far a probability may be off."""
    return 1e-6 if apart.chain.emissions.dtype == np.float32 else 1e-10


def rescaled_log_z(chain: Chain) -> float:
    """The recursion without a guard: linear space in the chain's own type, each row divided by its largest entry."""
    total, row = 0.0, np.exp(chain.start)
    potentials = np.exp(chain.transitions)
    for t, emission in enumerate(chain.emissions):
        row = (row if t == 0 else row @ potentials) * np.exp(emission - emission.max())
        total += float(emission.max()) + float(np.log(row.max()))
        row = row / row.max()
    return total + float(np.log(np.sum(row * np.exp(chain.end))))


@pytest.mark.parametrize(
    ("name", "dtype", "wrong"),
    [("two labels", "float32", 120.0), ("one entity", "float32", 105.0), ("two Gaussian chains", "float64", -1526)],
)
def test_rescaling_alone_answers_with_the_loser(name: str, dtype: str, wrong: float) -> None:
    """Were it not so, the cases below would prove nothing."""
    make, steps = MAKERS[name]
    assert abs(rescaled_log_z(make(steps[0], alone, dtype).chain) - wrong) < 0.5


def test_log_z(engine: ModuleType, apart: Apart) -> None:
    truth = solve_apart(apart)
    assert abs(truth.log_z - apart.log_z) <= 2e-4 * max(1.0, abs(apart.log_z)), "the case is what it says it is"
    bar = log_z_tolerance(engine, apart.chain, [truth.log_z])
    assert_close(engine.log_partition(apart.chain), [truth.log_z], bar)
    assert_close(engine.marginals(apart.chain).log_z, [truth.log_z], bar)


def test_tables(engine: ModuleType, apart: Apart) -> None:
    truth = solve_apart(apart)
    known = ~np.isnan(truth.log_alpha)  # labels outside every group end nowhere
    assert_close(engine.forward(apart.chain)[known], truth.log_alpha[known], rounding(apart.chain))
    assert_close(engine.backward(apart.chain)[known], truth.log_beta[known], rounding(apart.chain))


def test_marginals(engine: ModuleType, apart: Apart) -> None:
    truth = solve_apart(apart)
    bar = small(apart)
    found = engine.marginals(apart.chain, edges=True)
    assert_close(found.nodes, truth.nodes, bar)
    assert_close(found.edges.astype(np.float64).sum(axis=0), truth.transitions, bar * len(found.edges))
    assert_close(engine.expected_counts(apart.chain).transitions, truth.transitions, bar * len(found.edges))
    chosen = truth.nodes[np.arange(len(truth.nodes)), engine.max_marginal(apart.chain)]
    assert (chosen >= truth.nodes.max(axis=1) - 2 * bar).all()
    assert_close(found.nodes[:, apart.winner].sum(axis=1), np.ones(len(found.nodes)), 2e-6)


@cache
def solve_winner(apart: Apart) -> tuple[Chain, Scaled]:
    """The chain of the winning group, and its answers."""
    own = only(apart.chain, apart.winner)
    return own, solve_scaled(own)


@cache
def labellings_of_groups(apart: Apart) -> list[IntArray]:
    """The best labelling inside each group, by the group's own marginals."""
    inside = [solve_scaled(only(apart.chain, group)) for group in apart.groups]
    return [np.array(group)[own.nodes.argmax(axis=1)] for group, own in zip(apart.groups, inside, strict=True)]


def test_gradients(engine: ModuleType, apart: Apart) -> None:
    truth = solve_apart(apart)
    bar = small(apart)
    logs = 2 * log_z_tolerance(engine, apart.chain, [truth.log_z])
    for gold in labellings_of_groups(apart):
        found = engine.gradients(apart.chain, gold)
        assert_close(found.log_likelihood, [exact_score(apart.chain, gold) - truth.log_z], logs)
        assert_close(found.emissions, np.eye(apart.chain.num_labels)[gold] - truth.nodes, bar)
        observed: Float64Array = np.zeros(truth.transitions.shape)
        np.add.at(observed, (gold[:-1], gold[1:]), 1)
        assert_close(found.transitions, observed - truth.transitions, bar * len(gold))
        assert_close(found.start, np.eye(apart.chain.num_labels)[gold[0]] - truth.nodes[0], bar)
        assert_close(found.end, np.eye(apart.chain.num_labels)[gold[-1]] - truth.nodes[-1], bar)


def test_decisions(engine: ModuleType, apart: Apart) -> None:
    """Best path, samples, spans and entropy live in the winning group."""
    T = apart.chain.num_tokens
    best = engine.viterbi(apart.chain)
    assert set(best.labels.tolist()) <= set(apart.winner)
    assert_close(best.scores, [exact_score(apart.chain, best.labels)], rounding(apart.chain))
    assert best.scores[0] >= best_score(apart.chain) - path_gap(engine, apart.chain)
    draws = engine.sample(apart.chain, np.random.default_rng(1).random((3, T)))
    assert set(draws.ravel().tolist()) <= set(apart.winner)
    spans = [(0, 0, [apart.winner]), (0, T // 2, [apart.winner] * 2), (0, 0, [apart.winner] * T)]
    assert_close(engine.span_probability(apart.chain, spans), np.ones(3), 1e-6)
    own, inside = solve_winner(apart)
    mean = sum(
        float(np.sum(uses * np.where(np.isfinite(scores), scores, 0)))
        for uses, scores in (
            (inside.nodes, own.emissions),
            (inside.transitions, own.transitions),
            (inside.nodes[0], own.start),
            (inside.nodes[-1], own.end),
        )
    )
    # the other group's share is e^-17.5 or less
    assert_close(engine.entropy(apart.chain), [inside.log_z - mean], 1e-6 * T)
