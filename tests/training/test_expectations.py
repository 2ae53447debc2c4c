"""Expected counts against enumeration of all labellings and against the naive engine; Baum–Welch by them."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tagline
from tagline import compiled
from tagline.chain import naive, symbols, using_engine
from tagline.chain.symbols import SymbolChain
from tagline.errors import InputError, NoPathError
from tagline.training.expectation_maximisation import climb
from tagline.training.expectations import (
    Expectations,
    best_expectations,
    best_symbol_expectations,
    expectations,
    gaussian_expectations,
    symbol_expectations,
)
from tagline.types import Chain

NEGATIVE = -np.inf


@pytest.fixture(params=[*compiled.supported_cpus(), "naive"])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every engine, the compiled one once for each instruction set."""
    if request.param == "naive":
        with using_engine("naive"):
            yield request.param
        return
    before = compiled.cpu()
    compiled.use_cpu(request.param)
    yield request.param
    compiled.use_cpu(before)


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


@given(data=st.data())
def test_counts_are_those_of_all_paths(engine, data):
    K = data.draw(st.integers(1, 4), label="states")
    V = data.draw(st.integers(1, 4), label="symbols")
    lengths = data.draw(st.lists(st.integers(0, 4), max_size=6), label="lengths")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    zeros = data.draw(st.sampled_from([0.0, 0.4, 0.8]), label="zeros")
    spread = data.draw(st.sampled_from([0.0, 1.0, 10.0, 200.0]), label="spread")
    model = make_model(rng, K, V, lengths, zeros=zeros, spread=spread)
    wanted = enumerate_counts(model.rows, *model.moves)
    for counts in model.in_every_way():
        check(counts, wanted, model.ids, V)


@given(data=st.data())
def test_counts_keep_to_the_states_that_are_allowed(engine, data):
    K = data.draw(st.integers(1, 4), label="states")
    lengths = data.draw(st.lists(st.integers(0, 4), max_size=5), label="lengths")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    model = make_model(rng, K, 3, lengths)
    allowed = rng.random((len(model.ids), K)) < 0.6
    allowed[np.arange(len(allowed)), rng.integers(0, K, len(allowed))] = True
    wanted = enumerate_counts(np.where(allowed, model.rows, NEGATIVE), *model.moves)
    for counts in model.in_every_way(allowed):
        check(counts, wanted, model.ids, 3)
        if counts.nodes is not None:
            assert (counts.nodes[~allowed] == 0).all()


@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 16, 17, 24, 33, 50, 65])
@pytest.mark.parametrize("zeros", [0.0, 0.5])
def test_counts_are_those_of_the_naive_engine(engine, K, zeros):
    rng = np.random.default_rng(K)
    model = make_model(rng, K, 11, [0, 1, 30, 2, 70, 1, 9, 0, 13, 5, 129, 4, 4], zeros=zeros)
    wanted = naive_counts(model.rows, *model.moves)
    for counts in model.in_every_way():
        check(counts, wanted, model.ids, 11)
        np.testing.assert_allclose(counts.start.sum(), 11)
        np.testing.assert_allclose(counts.transitions.sum(), len(model.ids) - 11)
        assert (counts.transitions[model.transitions == NEGATIVE] == 0).all()


@pytest.mark.parametrize("D", [1, 2, 5])
@pytest.mark.parametrize("K", [1, 3, 10, 33])
def test_moments_of_vectors(engine, K, D):
    rng = np.random.default_rng(K + D)
    model = make_model(rng, K, 1, [5, 0, 1, 90, 17, 2], zeros=0.3)
    means, variances = rng.normal(0, 3, (K, D)), rng.uniform(0.1, 4, (K, D))
    X = rng.normal(0, 3, (len(model.ids), D))
    away = X[:, None] - means
    rows = -0.5 * (away**2 / variances + np.log(2 * np.pi * variances)).sum(axis=2)
    wanted = naive_counts(rows, *model.moves)
    counts = gaussian_expectations(X, means, variances, *model.moves)
    check(counts, wanted)
    np.testing.assert_allclose(counts.moments.mass, wanted.nodes.sum(axis=0), rtol=1e-11, atol=1e-12)
    for power, sums in ((1, counts.moments.first), (2, counts.moments.second)):
        products = np.einsum("nk,nkd->kd", wanted.nodes, away**power)
        np.testing.assert_allclose(sums, products, rtol=1e-9, atol=1e-10)


def test_vectors_far_from_the_origin_lose_no_digits():
    model = make_model(np.random.default_rng(0), 2, 1, [40] * 5)
    X = 1e9 + np.random.default_rng(1).integers(-8, 9, (200, 1)).astype(float)
    means, variances = np.array([[1e9 - 2.0], [1e9 + 3.0]]), np.array([[4.0], [2.0]])
    near = gaussian_expectations(X - 1e9, means - 1e9, variances, *model.moves)
    far = gaussian_expectations(X, means, variances, *model.moves)
    np.testing.assert_array_equal(far.log_likelihood, near.log_likelihood)
    np.testing.assert_array_equal(far.moments.second, near.moments.second)


# Numbers that leave the range of float64.


def parallel(step: float, T: int) -> Model:
    """Two states that never meet: symbol 0 speaks for the first, 1 for the second, which wins in the end."""
    ids = np.array([0] * (T * 2 // 5) + [1] * (T - T * 2 // 5))
    table = np.array([[0.0, -step], [-step, 0.0]])
    return Model(table, ids, np.array([0, T]), np.log([0.5, 0.5]), log(np.eye(2)))


@pytest.mark.parametrize(
    ("step", "T"),
    [(3.0, 100), (8.0, 205), (8.0, 215), (8.0, 220), (8.0, 225), (8.0, 300), (8.0, 3000), (60.0, 50), (600.0, 10)],
)
def test_states_that_do_not_mix(engine, step, T):
    """From 8 × 216 on the winner falls below the smallest number that is kept, by less than would show otherwise."""
    model = parallel(step, T)
    front = T * 2 // 5
    ends = np.array([step * (T - front), step * front])  # what each state loses
    total = math.log(0.5) + np.logaddexp(-ends[0], -ends[1])
    for counts in model.in_every_way():
        np.testing.assert_allclose(counts.log_likelihood, [total], rtol=1e-13)
        np.testing.assert_allclose(counts.transitions, np.diag([0.0, T - 1]), atol=1e-9)


@pytest.mark.parametrize("tiny", [1e-60, 1e-130, 1e-250, 1e-290, 1e-310])
@pytest.mark.parametrize("zeros", [False, True])
def test_parameters_that_em_has_driven_towards_zero(engine, tiny, zeros):
    rng = np.random.default_rng(3)
    moves = np.full((4, 4), tiny)
    np.fill_diagonal(moves, 1.0)
    moves[0, 1] = moves[1, 2] = moves[2, 3] = moves[3, 0] = 0.1
    if zeros:
        moves[0, 2] = 0.0
    table = np.where(rng.random((6, 4)) < 0.4, tiny, rng.random((6, 4)))
    table[:4] += 0.5 * np.eye(4)
    model = Model(log(table), rng.integers(0, 6, 400), np.array([0, 150, 151, 400]), log(np.full(4, 0.25)), log(moves))
    wanted = naive_counts(model.rows, *model.moves)
    for counts in model.in_every_way():
        check(counts, wanted, model.ids, 6, rtol=1e-9)


@pytest.mark.parametrize("tiny", [1e-120, 1e-200, 1e-290])
def test_faint_states_cost_no_more_than_others(tiny):
    """States that sink without mattering are not left to the log domain, which takes 70 times as long here."""
    rng = np.random.default_rng(4)
    ids = np.cumsum(rng.integers(0, 2, 20_000)) % 8  # a walk that stays or goes on
    offsets = np.arange(0, 20_001, 100)
    near = np.eye(8, dtype=bool) | np.roll(np.eye(8, dtype=bool), 1, axis=1)
    seconds = []
    for rest in (0.01, tiny):
        moves = np.where(near, 0.5, rest)
        moves[0, 4] = 0.0
        model = Model(np.log(np.where(np.eye(8), 0.9, rest)), ids, offsets, np.full(8, -2.0), log(moves))
        taken = []
        for _ in range(3):
            begin = time.process_time()
            counts = symbol_expectations(model.chained)
            taken.append(time.process_time() - begin)
        seconds.append(min(taken))
        check(counts, naive_counts(model.rows, *model.moves), ids, 8, rtol=1e-9)
    assert seconds[1] < 10 * seconds[0]


def narrow_states(rng, width, moves, N=300, K=4):
    """A walk between Gaussians so narrow that an observation of one lies thousands of nats from the others."""
    states = np.cumsum(rng.integers(0, 2, N)) % K
    means, variances = 10.0 * np.arange(K)[:, None], np.full((K, 1), width**2)
    X = means[states] + width * rng.normal(size=(N, 1))
    rows = -0.5 * ((X - means[:, 0]) ** 2 / variances[:, 0] + np.log(2 * np.pi * variances[:, 0]))
    return X, means, variances, rows, (np.arange(0, N + 1, 100), np.log(np.full(K, 1 / K)), log(moves))


@pytest.mark.parametrize("width", [1.0, 0.27, 0.1])
@pytest.mark.parametrize("rest", [0.01, 1e-80, 1e-250, 0.0])
def test_emissions_beyond_the_range_of_exponentials(engine, width, rest):
    """Where all else is forbidden or as good as that, the best paths go through them."""
    near = np.eye(4, dtype=bool) | np.roll(np.eye(4, dtype=bool), 1, axis=1)
    moves = np.where(near, 0.4, rest)
    X, means, variances, rows, chained = narrow_states(np.random.default_rng(5), width, moves)
    for shift in (0.0, 7.0):  # observations of the last hundred that no state is near to, and that jump back
        X[200:] -= shift
        rows = -0.5 * ((X - means[:, 0]) ** 2 / variances[:, 0] + np.log(2 * np.pi * variances[:, 0]))
        X[250], rows[250] = X[10], rows[10]
        wanted = naive_counts(rows, *chained)
        counts = expectations(rows, *chained)
        check(counts, wanted, rtol=1e-9)
        np.testing.assert_allclose(counts.nodes, wanted.nodes, rtol=0, atol=1e-9)
        moments = gaussian_expectations(X, means, variances, *chained)
        check(moments, wanted, rtol=1e-9)
        np.testing.assert_allclose(moments.moments.mass, wanted.nodes.sum(axis=0), rtol=0, atol=1e-8)


def test_states_that_do_not_mix_keep_emissions_beyond_the_range(engine):
    """Each state explains one half of a sentence: the sum is over two paths, both through such emissions."""
    X = np.array([[0.0]] * 5 + [[10.0]] * 5)
    means, variances = np.array([[0.0], [10.0]]), np.array([[0.01], [0.011]])
    counts = gaussian_expectations(X, means, variances, np.array([0, 10]), np.log([0.5, 0.5]), log(np.eye(2)))
    losses = [5 * 100 / (2 * 0.01), 5 * 100 / (2 * 0.011)]
    paths = [-loss - 5 * math.log(2 * math.pi * variance) for loss, variance in zip(losses, (0.01, 0.011), strict=True)]
    np.testing.assert_allclose(counts.log_likelihood, [math.log(0.5) + np.logaddexp(*paths)], rtol=1e-13)
    np.testing.assert_allclose(counts.transitions, np.diag([0.0, 9.0]), atol=1e-9)


@pytest.mark.parametrize("moments", [True, False])
def test_narrow_states_cost_no_more_than_wide_ones(moments):
    seconds = []
    for width in (4.0, 0.05):
        X, means, variances, rows, chained = narrow_states(
            np.random.default_rng(6), width, np.full((8, 8), 1 / 8), 20_000, 8
        )
        taken = []
        for _ in range(3):
            begin = time.process_time()
            if moments:
                gaussian_expectations(X, means, variances, *chained)
            else:
                expectations(rows, *chained)
            taken.append(time.process_time() - begin)
        seconds.append(min(taken))
    assert seconds[1] < 10 * seconds[0]


def test_unreachable_states_may_explain_the_future_ever_so_well(engine):
    """State 1 cannot be reached, and β grows out of range there."""
    rows = np.tile([-8.0, 0.0], (2000, 1))
    start, moves = log(np.array([1.0, 0.0])), log(np.eye(2))
    counts = expectations(rows, np.array([0, 2000]), start, moves)
    np.testing.assert_allclose(counts.log_likelihood, [-16000.0])
    np.testing.assert_allclose(counts.nodes, np.tile([1.0, 0.0], (2000, 1)), atol=1e-12)
    np.testing.assert_allclose(counts.transitions, [[1999.0, 0.0], [0.0, 0.0]], rtol=1e-12)


@pytest.mark.parametrize("shift", [-1e5, -3000.0, 700.0, 1e6])
def test_a_constant_for_each_token_changes_the_likelihood_alone(engine, shift):
    model = make_model(np.random.default_rng(5), 5, 7, [40, 3])
    shifts = shift * np.linspace(0.5, 1, 43)
    plain, moved = expectations(model.rows, *model.moves), expectations(model.rows + shifts[:, None], *model.moves)
    np.testing.assert_allclose(moved.nodes, plain.nodes, atol=1e-9)
    np.testing.assert_allclose(moved.transitions, plain.transitions, atol=1e-8)
    np.testing.assert_allclose(
        moved.log_likelihood, plain.log_likelihood + np.add.reduceat(shifts, [0, 40]), rtol=1e-12
    )


def test_long_sequences_keep_their_digits(engine):
    if engine == "naive":
        pytest.skip("the reference")
    model = make_model(np.random.default_rng(6), 6, 9, [6000, 2500])
    wanted = naive_counts(model.rows, *model.moves)
    for counts in model.in_every_way():
        check(counts, wanted, model.ids, 9, rtol=1e-9)
        if counts.nodes is not None:
            np.testing.assert_allclose(counts.nodes.sum(axis=1), 1, atol=1e-10)


# Batches, threads, doors.


def test_more_symbols_than_tokens(engine):
    model = make_model(np.random.default_rng(7), 3, 4000, [30] * 20)
    check(model.in_every_way()[1], naive_counts(model.rows, *model.moves), model.ids, 4000)


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_nothing_at_all(engine, lengths):
    model = make_model(np.random.default_rng(0), 3, 2, lengths)
    for counts in [*model.in_every_way(), gaussian_expectations(np.zeros((0, 2)), *np.ones((2, 3, 2)), *model.moves)]:
        np.testing.assert_array_equal(counts.log_likelihood, np.zeros(len(lengths)))
        assert not counts.start.any()
        assert not counts.transitions.any()


def everything(model: Model) -> list[Any]:
    several = model.in_every_way()
    X = np.stack([np.sin(np.arange(len(model.ids))), np.cos(np.arange(len(model.ids)))], axis=1)
    K = len(model.start)
    means = np.linspace(-1, 1, 2 * K).reshape(K, 2)
    by_moments = gaussian_expectations(X, means, np.ones((K, 2)), *model.moves)
    best = symbols.viterbi(model.chained)
    parts = [part for counts in [*several, by_moments] for part in vars(counts).values()]
    return [*[part for part in parts if isinstance(part, np.ndarray)], *vars(by_moments.moments).values(), best.labels]


def test_the_same_bytes_for_any_number_of_threads():
    rng = np.random.default_rng(8)
    model = make_model(rng, 10, 12, rng.integers(0, 60, 300))
    before = tagline.threads()
    results = []
    for count in (1, 2, 3, 7):
        tagline.set_threads(count)
        results.append([part.tobytes() for part in everything(model)])
    tagline.set_threads(before)
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("zeros", [0.0, 0.5])
def test_a_sequence_does_not_depend_on_its_company(zeros):
    rng = np.random.default_rng(9)
    model = make_model(rng, 11, 5, rng.integers(0, 30, 40), zeros=zeros)
    together = expectations(model.rows, *model.moves)
    for b, (first, last) in enumerate(itertools.pairwise(model.offsets)):
        alone = expectations(model.rows[first:last], np.array([0, last - first]), model.start, model.transitions)
        assert alone.log_likelihood[0] == together.log_likelihood[b]
        assert alone.nodes.tobytes() == together.nodes[first:last].tobytes()


def test_the_arrays_of_the_caller_stay_as_they_are(engine):
    model = make_model(np.random.default_rng(10), 3, 4, [5, 6])
    allowed = np.ones((11, 3), bool)
    X, means, variances = np.ones((11, 2)), np.zeros((3, 2)), np.ones((3, 2))
    given_arrays = [model.table, model.ids, *model.moves, allowed, X, means, variances]
    before = [array.copy() for array in given_arrays]
    for array in given_arrays:
        array.flags.writeable = False
    model.in_every_way(allowed)
    best_symbol_expectations(model.chained, allowed)
    gaussian_expectations(X, means, variances, *model.moves)
    for array, copy in zip(given_arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_strided_arrays_are_taken():
    model = make_model(np.random.default_rng(11), 4, 6, [7, 8])
    wanted = expectations(model.rows, *model.moves)
    counts = expectations(
        np.asfortranarray(model.rows), model.offsets, model.start, np.asfortranarray(model.transitions)
    )
    np.testing.assert_array_equal(counts.nodes, wanted.nodes)
    spread = np.repeat(model.table, 2, axis=0)[::2]
    other = symbol_expectations(replace(model, table=spread).chained)
    np.testing.assert_allclose(other.transitions, wanted.transitions, rtol=1e-12)


def test_impossible_observations_are_named(engine):
    table = log(np.array([[1.0, 1.0], [0.0, 0.0]]))
    ids, offsets = np.array([0, 0, 1, 0]), np.array([0, 1, 3, 4])
    model = Model(table, ids, offsets, np.log([0.5, 0.5]), np.log([[0.5, 0.5], [0.5, 0.5]]))
    with pytest.raises(NoPathError, match="1: expected"):
        expectations(model.rows, *model.moves)
    with pytest.raises(NoPathError, match="1: expected"):
        symbol_expectations(model.chained)
    with pytest.raises(NoPathError, match="1: expected"):
        best_symbol_expectations(model.chained)


def test_the_message_about_impossible_observations():
    rows = np.full((2, 2), NEGATIVE)
    with pytest.raises(NoPathError) as caught:
        expectations(rows, np.array([0, 0, 2]), np.zeros(2), np.zeros((2, 2)))
    assert str(caught.value) == (
        "sentence 1: expected observations that some path of states explains, got probability 0; "
        "smooth the emissions or allow more transitions"
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("K", [2, 9])
def test_what_is_no_score_is_refused(K, bad):
    rows = np.zeros((40, K))
    rows[33, K - 1] = bad
    offsets, start, moves = np.array([0, 30, 40]), np.zeros(K), np.zeros((K, K))
    with pytest.raises(InputError, match=r"emissions: expected finite scores or -inf, got NaN or \+inf in sequence 1"):
        expectations(rows, offsets, start, moves)
    with pytest.raises(InputError, match="log_start: expected finite"):
        expectations(np.zeros((40, K)), offsets, np.full(K, bad), moves)
    with pytest.raises(InputError, match="log_transitions: expected finite"):
        expectations(np.zeros((40, K)), offsets, start, np.full((K, K), bad))
    with pytest.raises(InputError, match="table: expected finite"):
        symbol_expectations(SymbolChain(rows, np.zeros(40, np.int64), moves, start, None, offsets))
    with pytest.raises(InputError, match=r"sequence 1|sentence 1"):
        gaussian_expectations(rows, np.zeros((2, K)), np.ones((2, K)), offsets, np.zeros(2), np.zeros((2, 2)))


@pytest.mark.parametrize("bad", [-2, 4, 2**40])
def test_symbols_beyond_the_table_are_refused(bad):
    ids = np.array([0, 3, bad])
    with pytest.raises(InputError, match=rf"ids\[2\]: expected -1 to 3, got {bad}"):
        symbol_expectations(SymbolChain(np.zeros((4, 2)), ids, np.zeros((2, 2)), np.zeros(2), None, np.array([0, 3])))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": np.array([0, 4])}, "offsets: expected to run from 0 to 3"),
        ({"offsets": np.array([0, 2, 1, 3])}, r"offsets\[2\]: expected no fall"),
        ({"start": np.zeros(3)}, r"start: expected float64 \[2\]"),
        ({"transitions": np.zeros((2, 3))}, r"transitions: expected float64 \[2, 2\]"),
        ({"allowed": np.ones((3, 3), bool)}, r"allowed: expected bool8 \[3, 2\]"),
    ],
)
def test_shapes_are_checked(change, message):
    arrays = {
        "table": np.zeros((4, 2)),
        "ids": np.zeros(3, np.int64),
        "transitions": np.zeros((2, 2)),
        "start": np.zeros(2),
        "end": None,
        "offsets": np.array([0, 3]),
        "allowed": None,
        **change,
    }
    allowed = arrays.pop("allowed")
    with pytest.raises(InputError, match=message):
        symbol_expectations(SymbolChain(**arrays), allowed)


# The best path alone.


@given(data=st.data())
def test_counts_of_the_best_path(engine, data):
    K = data.draw(st.integers(1, 3), label="states")
    lengths = data.draw(st.lists(st.integers(0, 4), max_size=4), label="lengths")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    model = make_model(rng, K, 3, lengths, zeros=data.draw(st.sampled_from([0.0, 0.5]), label="zeros"))
    allowed = data.draw(st.sampled_from([None, np.ones((len(model.ids), K), bool)]), label="allowed")
    hard, by_symbols = (
        best_expectations(model.rows, *model.moves),
        best_symbol_expectations(model.chained, allowed),
    )
    best = naive.viterbi(Chain(model.rows, model.transitions, model.start, None, model.offsets))
    nodes = np.zeros((len(model.ids), K))
    nodes[np.arange(len(nodes)), best.labels] = 1
    start, pairs = np.zeros(K), np.zeros((K, K))
    for first, last in itertools.pairwise(model.offsets.tolist()):
        path = best.labels[first:last].tolist()
        start[path[:1]] += 1
        for i, j in itertools.pairwise(path):
            pairs[i, j] += 1
    for counts in (hard, by_symbols):
        np.testing.assert_allclose(counts.log_likelihood, best.scores, rtol=1e-12)
        np.testing.assert_array_equal(counts.start, start)
        np.testing.assert_array_equal(counts.transitions, pairs)
    np.testing.assert_array_equal(hard.nodes, nodes)
    np.testing.assert_array_equal(by_symbols.emissions, by_symbol(nodes, model.ids, 3))


@pytest.mark.parametrize("K", [1, 5, 10, 17, 50])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_chains_of_symbols_answer_as_chains(engine, K, zeros):
    model = make_model(np.random.default_rng(K), K, 9, [0, 1, 40, 3, 17, 90, 2], zeros=zeros)
    end = np.where(np.arange(K) < max(1, K - 1), 0.0, -0.5)
    chain = SymbolChain(model.table, model.ids, model.transitions, model.start, end, model.offsets)
    plain = Chain(model.rows, model.transitions, model.start, end, model.offsets)
    np.testing.assert_allclose(symbols.log_partition(chain), naive.log_partition(plain), rtol=1e-12, atol=1e-12)
    best, wanted = symbols.viterbi(chain), naive.viterbi(plain)
    np.testing.assert_array_equal(best.labels, wanted.labels)
    np.testing.assert_allclose(best.scores, wanted.scores, rtol=1e-12)


def test_impossible_symbols_have_log_partition_minus_infinity(engine):
    table = log(np.array([[1.0, 1.0], [0.0, 0.0]]))
    chain = SymbolChain(table, np.array([0, 1]), np.zeros((2, 2)), np.zeros(2), None, np.array([0, 1, 1, 2]))
    np.testing.assert_allclose(symbols.log_partition(chain), [math.log(2), 0.0, NEGATIVE])


@pytest.mark.parametrize(("step", "T"), [(3.0, 100), (8.0, 3000)])
def test_chains_of_symbols_that_do_not_mix(engine, step, T):
    model = parallel(step, T)
    chain = model.chained
    np.testing.assert_allclose(symbols.log_partition(chain), [math.log(0.5) - step * (T * 2 // 5)], rtol=1e-12)


def test_baum_welch_rises_at_every_step():
    model = make_model(np.random.default_rng(12), 4, 6, [50] * 10, missing=0.0)

    def step(p: tuple[Any, Any, Any]) -> tuple[float, tuple[Any, Any, Any]]:
        start, moves, emitted = p
        counts = symbol_expectations(
            Model(log(emitted.T).copy(), model.ids, model.offsets, log(start), log(moves)).chained
        )
        parts = counts.start, counts.transitions, counts.emissions.T
        return counts.log_likelihood.sum(), tuple(part / part.sum(axis=-1, keepdims=True) for part in parts)

    rng = np.random.default_rng(13)
    begin = (rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), 4), rng.dirichlet(np.ones(6), 4))
    history = climb(step, begin, max_iterations=300, tolerance=-np.inf).history
    gains = np.diff([done.objective for done in history])
    assert len(history) == 300
    assert (gains >= -1e-10 * abs(history[-1].objective)).all()
    assert history[-1].objective > history[0].objective + 10
