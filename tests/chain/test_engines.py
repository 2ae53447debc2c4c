"""The compiled engine against the definition at real sizes, for each instruction set."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tagline import compiled
from tagline.chain import constrain, naive
from tagline.types import Chain

from .cases import Case, assert_close, log_z_tolerance, path_gap, probability_tolerance, random_chain, rounding

NATIVE = [f"native-{variant}" for variant in compiled.supported_cpus()]
LABELS = [1, 2, 3, 7, 9, 16, 17, 22, 33, 45, 64, 65, 128, 130]
LENGTHS = [7, 0, 1, 30, 2, 1, 16, 0, 3, 2, 5, 45]
KINDS: dict[str, dict[str, Any]] = {
    "free": {},
    "forbidden": {"forbidden": 0.2},
    "per position": {"per_position": True, "forbidden": 0.05},
    "integers": {"kind": "integers", "forbidden": 0.1},
    "huge": {"kind": "huge reals"},
}

native_only = pytest.mark.parametrize("engine", NATIVE, indirect=True)


@cache
def case_of(kind: str, num_labels: int, dtype: str) -> Case:
    rng = np.random.default_rng(num_labels)
    return random_chain(rng, num_labels, LENGTHS, dtype=dtype, **KINDS[kind])


@cache
def definition_of(kind: str, num_labels: int, dtype: str) -> dict[str, Any]:
    """What the definition answers, worked out once for all instruction sets."""
    case = case_of(kind, num_labels, dtype)
    return {
        "score": naive.score(case.chain, case.labels),
        "forward": naive.forward(case.chain),
        "backward": naive.backward(case.chain),
        "marginals": naive.marginals(case.chain, edges=True),
        "counts": naive.expected_counts(case.chain),
        "gradients": naive.gradients(case.chain, case.labels),
        "entropy": naive.entropy(case.chain),
        "viterbi": naive.viterbi(case.chain),
        "sample": naive.sample(case.chain, uniforms_of(case.chain)),
        "spans": naive.span_probability(case.chain, spans_of(case.chain)),
    }


def uniforms_of(chain: Chain) -> Any:
    return np.random.default_rng(1).random((3, chain.num_tokens))


def spans_of(chain: Chain) -> list[Any]:
    return [(3, 4, [range(0, chain.num_labels, 2)] * 3), (11, 40, [0, {0, chain.num_labels - 1}]), (2, 0, [0])]


@pytest.fixture(params=[(kind, L) for kind in KINDS for L in LABELS if kind != "per position" or L <= 65], ids=str)
def sized(request: pytest.FixtureRequest, dtype: str) -> tuple[Case, dict[str, Any]]:
    return case_of(*request.param, dtype), definition_of(*request.param, dtype)


@native_only
def test_sums_equal_the_definition(engine: ModuleType, sized: tuple[Case, dict[str, Any]]) -> None:
    case, truth = sized
    chain, log_z = case.chain, truth["marginals"].log_z
    bar, logs = probability_tolerance(engine, chain), log_z_tolerance(engine, chain, log_z)
    assert_close(engine.score(chain, case.labels), truth["score"], rounding(chain), "score")
    assert_close(engine.log_partition(chain), log_z, logs, "log Z")
    assert_close(engine.forward(chain), truth["forward"], rounding(chain), "forward")
    assert_close(engine.backward(chain), truth["backward"], rounding(chain), "backward")
    found = engine.marginals(chain, edges=True)
    assert_close(found.nodes, truth["marginals"].nodes, bar, "nodes")
    assert_close(found.edges, truth["marginals"].edges, bar, "edges")
    assert_close(found.log_z, log_z, logs, "log Z of marginals")
    assert_close(engine.entropy(chain), truth["entropy"], 64 * rounding(chain), "entropy")
    for name, result in (
        ("counts", engine.expected_counts(chain)),
        ("gradients", engine.gradients(chain, case.labels)),
    ):
        assert_close(result.emissions, truth[name].emissions, bar, f"{name} of emissions")
        assert_close(result.transitions, truth[name].transitions, len(LENGTHS) * bar, f"{name} of transitions")
        assert_close(result.start, truth[name].start, len(LENGTHS) * bar, f"{name} of start")
        assert_close(result.end, truth[name].end, len(LENGTHS) * bar, f"{name} of end")
    assert_close(engine.gradients(chain, case.labels).log_likelihood, truth["gradients"].log_likelihood, 2 * logs)


@native_only
def test_choices_equal_the_definition(engine: ModuleType, sized: tuple[Case, dict[str, Any]]) -> None:
    case, truth = sized
    chain, best = case.chain, engine.viterbi(case.chain)
    if case.exact:
        assert best.labels.tolist() == truth["viterbi"].labels.tolist()
        assert best.scores.tolist() == truth["viterbi"].scores.tolist()
    assert_close(best.scores, naive.score(chain, best.labels), rounding(chain))
    assert (best.scores >= truth["viterbi"].scores - path_gap(engine, chain) - rounding(chain)).all()
    nodes = truth["marginals"].nodes
    chosen = nodes[np.arange(len(nodes)), engine.max_marginal(chain)]
    assert (chosen >= nodes.max(axis=1) - 2 * probability_tolerance(engine, chain)).all()
    assert (engine.sample(chain, uniforms_of(chain)) == truth["sample"]).all()
    assert_close(engine.span_probability(chain, spans_of(chain)), truth["spans"], 4 * rounding(chain))


@cache
def ranked_by_definition(kind: str, num_labels: int, dtype: str) -> tuple[Chain, Any]:
    lengths = [4, 0, 1, 8, 2]
    chain = random_chain(np.random.default_rng(2), num_labels, lengths, dtype=dtype, **KINDS[kind]).chain
    return chain, naive.k_best(chain, 6)


@native_only
@pytest.mark.parametrize("num_labels", [1, 2, 7, 9, 17, 33, 65])
@pytest.mark.parametrize("kind", ["free", "integers", "per position"])
def test_k_best_equals_the_definition(engine: ModuleType, dtype: str, kind: str, num_labels: int) -> None:
    chain, ranked = ranked_by_definition(kind, num_labels, dtype)
    for found, truth in zip(engine.k_best(chain, 6), ranked, strict=True):
        assert found.labels.tolist() == truth.labels.tolist()
        assert_close(found.scores, truth.scores, rounding(chain))
        assert_close(found.probabilities, truth.probabilities, rounding(chain))


@native_only
def test_k_best_of_a_long_sentence_begins_with_the_best_path(engine: ModuleType) -> None:
    chain = random_chain(np.random.default_rng(3), 9, [8192]).chain
    ranked, best = engine.k_best(chain, 10)[0], engine.viterbi(chain)
    assert ranked.labels[0].tolist() == best.labels.tolist()
    assert_close(ranked.scores, [naive.score(chain, labels)[0] for labels in ranked.labels], rounding(chain))
    assert (np.diff(ranked.scores) <= 0).all()
    assert len(np.unique(ranked.labels, axis=0)) == 10


@native_only
def test_the_first_of_k_best_is_the_best_path_in_float32(engine: ModuleType) -> None:
    """Two labellings within 1e-6 of each other, 60 times."""
    for seed in range(60):
        emissions = np.random.default_rng(seed).normal(0, 2, (100, 2)).astype(np.float32)
        totals = emissions.astype(np.float64).sum(axis=0)
        tie = np.array([totals[1] - totals[0], 0.0], np.float32)
        free = Chain(emissions, np.zeros((2, 2), np.float32), end=tie)
        chain = constrain(free, transitions=np.eye(2, dtype=np.bool_))
        assert engine.k_best(chain, 1)[0].labels[0].tolist() == engine.viterbi(chain).labels.tolist()


@native_only
def test_types_of_the_results(engine: ModuleType, dtype: str) -> None:
    case = random_chain(np.random.default_rng(4), 3, [3, 2], dtype=dtype, per_position=True)
    chain = case.chain
    posterior, counts = engine.marginals(chain, edges=True), engine.expected_counts(chain)
    gradients, best = engine.gradients(chain, case.labels), engine.viterbi(chain)
    for own in (posterior.nodes, posterior.edges, counts.emissions, gradients.emissions):
        assert own.dtype == dtype
    doubles = [posterior.log_z, counts.start, counts.end, counts.log_z, gradients.start, gradients.end]
    doubles += [gradients.log_likelihood, best.scores, engine.forward(chain), engine.backward(chain)]
    doubles += [engine.score(chain, case.labels), engine.log_partition(chain), engine.entropy(chain)]
    doubles += [engine.k_best(chain, 2)[0].scores, engine.span_probability(chain, [(0, 0, [1])])]
    assert {array.dtype for array in doubles} == {np.dtype(np.float64)}
    whole = [best.labels, engine.max_marginal(chain), engine.sample(chain, np.zeros((2, 5)))]
    assert {array.dtype for array in whole} == {np.dtype(np.int64)}
