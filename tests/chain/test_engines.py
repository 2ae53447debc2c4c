"""The compiled engine against the definition at real sizes, its number types, threads, interrupts and settings."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from types import FrameType, ModuleType
from typing import Any

import numpy as np
import pytest

from tagline import compiled
from tagline.chain import naive
from tagline.errors import InputError
from tagline.types import Chain

from .cases import Case, assert_close, log_z_tolerance, path_gap, probability_tolerance, random_chain, rounding
from .test_dispatch import run

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


@lru_cache(maxsize=None)
def case_of(kind: str, num_labels: int, dtype: str) -> Case:
    rng = np.random.default_rng(num_labels)
    return random_chain(rng, num_labels, LENGTHS, dtype=dtype, **KINDS[kind])


@lru_cache(maxsize=None)
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
    }


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
    for name, result in (("counts", engine.expected_counts(chain)), ("gradients", engine.gradients(chain, case.labels))):
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
    uniforms = np.random.default_rng(1).random((3, chain.num_tokens))
    assert (engine.sample(chain, uniforms) == naive.sample(chain, uniforms)).all()
    spans = [(3, 4, [range(0, chain.num_labels, 2)] * 3), (11, 40, [0, {0, chain.num_labels - 1}]), (2, 0, [0])]
    assert_close(engine.span_probability(chain, spans), naive.span_probability(chain, spans), 4 * rounding(chain))


@native_only
@pytest.mark.parametrize("num_labels", [1, 2, 7, 9, 17, 33, 65])
@pytest.mark.parametrize("kind", ["free", "integers", "per position"])
def test_k_best_equals_the_definition(engine: ModuleType, dtype: str, kind: str, num_labels: int) -> None:
    lengths = [4, 0, 1, 8, 2]
    chain = random_chain(np.random.default_rng(2), num_labels, lengths, dtype=dtype, **KINDS[kind]).chain
    for found, truth in zip(engine.k_best(chain, 6), naive.k_best(chain, 6), strict=True):
        assert found.labels.tolist() == truth.labels.tolist()
        assert_close(found.scores, truth.scores, rounding(chain))
        assert_close(found.probabilities, truth.probabilities, rounding(chain))


@native_only
def test_k_best_of_a_long_sentence_begins_with_the_best_path(engine: ModuleType) -> None:
    chain = random_chain(np.random.default_rng(3), 9, [8192]).chain
    ranked, best = engine.k_best(chain, 10)[0], engine.viterbi(chain)
    assert ranked.labels[0].tolist() == best.labels.tolist()
    assert_close(ranked.scores, [naive.score(chain, labels)[0] for labels in ranked.labels], rounding(chain))
    assert (np.diff(ranked.scores) <= 0).all() and len(np.unique(ranked.labels, axis=0)) == 10


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


EVERYTHING: dict[str, Callable[[ModuleType, Case], list[Any]]] = {
    "log_partition": lambda engine, case: [engine.log_partition(case.chain)],
    "tables": lambda engine, case: [engine.forward(case.chain), engine.backward(case.chain)],
    "marginals": lambda engine, case: list(vars(engine.marginals(case.chain, edges=True)).values()),
    "viterbi": lambda engine, case: list(vars(engine.viterbi(case.chain)).values()),
    "k_best": lambda engine, case: [part for one in engine.k_best(case.chain, 3) for part in vars(one).values()],
    "sample": lambda engine, case: [
        engine.sample(case.chain, np.random.default_rng(5).random((2, case.chain.num_tokens)))
    ],
    "entropy": lambda engine, case: [engine.entropy(case.chain), engine.max_marginal(case.chain)],
    "expected_counts": lambda engine, case: list(vars(engine.expected_counts(case.chain)).values()),
    "gradients": lambda engine, case: list(vars(engine.gradients(case.chain, case.labels)).values()),
}


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = compiled.threads()
    yield compiled.set_threads
    compiled.set_threads(before)


@lru_cache(maxsize=None)
def crowd(dtype: str, num_labels: int) -> Case:
    """300 sentences, some of them flagged by the guards."""
    rng = np.random.default_rng(6)
    return random_chain(rng, num_labels, rng.integers(0, 40, 300).tolist(), dtype=dtype, forbidden=0.15)


@native_only
@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.parametrize("num_labels", [5, 22])
def test_any_number_of_threads_gives_the_same_bytes(
    engine: ModuleType, dtype: str, name: str, num_labels: int, threads: Callable[[int], None]
) -> None:
    answers = []
    for count in (1, 2, 3, 1):
        threads(count)
        assert compiled.threads() == count
        answers.append([part.tobytes() for part in EVERYTHING[name](engine, crowd(dtype, num_labels))])
    assert answers[0] == answers[1] == answers[2] == answers[3]


@native_only
def test_the_order_of_sentences_does_not_matter(engine: ModuleType, dtype: str) -> None:
    chain = crowd(dtype, 22).chain
    order = np.random.default_rng(7).permutation(chain.num_sentences)
    parts = chain.split(chain.emissions)
    mixed = Chain.from_sentences([parts[b] for b in order], chain.transitions, chain.start, chain.end)
    before, after = engine.marginals(chain), engine.marginals(mixed)
    assert after.log_z.tobytes() == before.log_z[order].tobytes()
    nodes = chain.split(before.nodes)
    assert after.nodes.tobytes() == np.concatenate([nodes[b] for b in order]).tobytes()


@native_only
def test_questions_from_several_threads_at_once(engine: ModuleType, dtype: str) -> None:
    case = crowd(dtype, 22)
    alone = {name: [part.tobytes() for part in ask(engine, case)] for name, ask in EVERYTHING.items()}
    with ThreadPoolExecutor(4) as pool:
        asked = [(name, pool.submit(EVERYTHING[name], engine, case)) for _ in range(3) for name in EVERYTHING]
        for name, answer in asked:
            assert [part.tobytes() for part in answer.result()] == alone[name], name


class Alarm(Exception):
    """Raised by the handler of a signal."""


@pytest.mark.parametrize("lengths", [[60_000], [60] * 1000], ids=["one long sentence", "many sentences"])
def test_a_signal_is_answered_inside_a_long_call(lengths: list[int]) -> None:
    from tagline.chain import native

    rng = np.random.default_rng(8)
    chain = Chain(rng.normal(size=(60_000, 128)), rng.normal(size=(128, 128)), offsets=np.cumsum([0, *lengths]))

    def ring(number: int, frame: FrameType | None) -> None:
        raise Alarm

    began = time.perf_counter()
    truth = native.entropy(chain)
    full = time.perf_counter() - began
    before = signal.signal(signal.SIGALRM, ring)
    try:
        began = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, full / 10)
        with pytest.raises(Alarm):
            native.entropy(chain)
        taken = time.perf_counter() - began
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert taken < full / 2
    assert native.entropy(chain).tobytes() == truth.tobytes(), "and the engine goes on as before"


def test_the_environment_chooses_the_instruction_set_and_the_threads() -> None:
    code = "from tagline import compiled; print(compiled.cpu(), compiled.threads())"
    for variant in compiled.supported_cpus():
        assert run(code, TAGLINE_CPU=variant, TAGLINE_THREADS="3").stdout == f"{variant} 3\n"
    assert run(code).stdout.split()[0] == compiled.supported_cpus()[-1]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("TAGLINE_CPU", "v9", "TAGLINE_CPU: expected one of .* on this processor, got 'v9'"),
        ("TAGLINE_THREADS", "many", "TAGLINE_THREADS: expected a whole number, got 'many'"),
        ("TAGLINE_THREADS", "0", "TAGLINE_THREADS: expected 1 to 1024, got 0"),
        ("TAGLINE_THREADS", "-1", "TAGLINE_THREADS: expected a whole number, got '-1'"),
    ],
)
def test_wrong_settings_in_the_environment(name: str, value: str, message: str) -> None:
    done = run("import tagline", **{name: value})
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert re.search(f"InputError: {message}$", last)


def test_an_unknown_instruction_set_is_refused() -> None:
    before = compiled.cpu()
    with pytest.raises(InputError, match=r"^cpu: expected one of .* on this processor, got 'z80'"):
        compiled.use_cpu("z80")
    assert compiled.cpu() == before
