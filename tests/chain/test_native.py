"""The compiled engine at work: the same bytes for any number of threads, signals, settings."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import FrameType, ModuleType
from typing import Any

import numpy as np
import pytest

from tagline import compiled
from tagline.chain import constrain
from tagline.errors import InputError, NoPathError
from tagline.types import Chain

from .cases import Case, random_chain
from .test_dispatch import run

NATIVE = [f"native-{variant}" for variant in compiled.supported_cpus()]

native_only = pytest.mark.parametrize("engine", NATIVE, indirect=True)

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


@cache
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
def test_the_first_sentence_without_a_path_is_named(
    engine: ModuleType, dtype: str, threads: Callable[[int], None]
) -> None:
    chain = crowd(dtype, 22).chain
    dead = [b for b in (250, 31, 100) if chain.lengths[b] > 0]
    tight = constrain(chain, start=np.arange(22) != 3, allowed={int(chain.offsets[b]): 3 for b in dead})
    for count in (1, 3):
        threads(count)
        for question in (engine.log_partition, engine.marginals, engine.viterbi, engine.entropy):
            with pytest.raises(NoPathError, match=f"^sentence {min(dead)}: "):
                question(tight)
    log_z = engine.log_partition(tight, allow_no_path=True)
    assert np.flatnonzero(np.isneginf(log_z)).tolist() == sorted(dead)


@native_only
def test_questions_from_several_threads_at_once(engine: ModuleType, dtype: str) -> None:
    case = crowd(dtype, 22)
    alone = {name: [part.tobytes() for part in ask(engine, case)] for name, ask in EVERYTHING.items()}
    with ThreadPoolExecutor(4) as pool:
        asked = [(name, pool.submit(EVERYTHING[name], engine, case)) for _ in range(3) for name in EVERYTHING]
        for name, answer in asked:
            assert [part.tobytes() for part in answer.result()] == alone[name], name


class AlarmError(Exception):
    """Raised by the handler of a signal."""


def busy_chain(length: int | None) -> Chain:
    """60,000 tokens in sentences of this length, or in one; a tenth of them where the core is slow (sanitizers)."""
    from tagline.chain import native

    rng = np.random.default_rng(8)
    emissions, transitions = rng.normal(size=(60_000, 128)), rng.normal(size=(128, 128))
    began = time.perf_counter()
    native.entropy(Chain(emissions[:6_000], transitions))
    tokens = 6_000 if time.perf_counter() - began > 0.5 else 60_000
    return Chain(emissions[:tokens], transitions, offsets=np.arange(0, tokens + 1, length or tokens))


@pytest.mark.parametrize("length", [None, 60], ids=["one long sentence", "many sentences"])
def test_a_signal_is_answered_inside_a_long_call(length: int | None) -> None:
    from tagline.chain import native

    chain = busy_chain(length)

    def ring(number: int, frame: FrameType | None) -> None:
        raise AlarmError

    native.entropy(chain)
    began = time.perf_counter()
    truth = native.entropy(chain)
    full = time.perf_counter() - began
    before = signal.signal(signal.SIGALRM, ring)
    taken = []
    try:
        while len(taken) < 3 and (not taken or taken[-1] >= full / 2):  # a busy machine gets three chances
            began = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, full / 10)
            with pytest.raises(AlarmError):
                native.entropy(chain)
            taken.append(time.perf_counter() - began)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert min(taken) < full / 2, "an unanswered signal waits for the end of the call"
    assert native.entropy(chain).tobytes() == truth.tobytes(), "and the engine goes on as before"


def test_the_environment_chooses_the_instruction_set_and_the_threads() -> None:
    code = "from tagline import compiled; print(compiled.cpu(), compiled.threads())"
    for variant in compiled.supported_cpus():
        assert run(code, TAGLINE_CPU=variant, TAGLINE_THREADS="3").stdout == f"{variant} 3\n"
    assert run(code).stdout.split()[0] == compiled.supported_cpus()[-1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TAGLINE_CPU", "v9"),
        ("TAGLINE_THREADS", "many"),
        ("TAGLINE_THREADS", "0"),
        ("TAGLINE_THREADS", "-1"),
    ],
)
def test_wrong_settings_in_the_environment(name: str, value: str) -> None:
    done = run("import tagline.chain", **{name: value})
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert f"InputError: {name}: " in last


def test_an_unknown_instruction_set_is_refused() -> None:
    before = compiled.cpu()
    with pytest.raises(InputError, match=r"^cpu: .*'z80'"):
        compiled.use_cpu("z80")
    assert compiled.cpu() == before
