"""Ctrl-C ends a long question about a single sentence, of every order; short tasks that last are handed over."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from tagline import Chain, chain, compiled
from tagline.chain import second_order
from tagline.chain.second_order import SecondOrderChain, Triples

pytestmark = pytest.mark.skipif(compiled.core is None, reason="the compiled core answers")
MANY = 1_000_000  # labellings


def sentence(T: int, L: int) -> Chain:
    rng = np.random.default_rng(0)
    return Chain(rng.normal(0, 2, (T, L)), rng.normal(0, 2, (L, L)))


def with_triples(first: Chain) -> SecondOrderChain:
    L = first.num_labels
    every = np.stack(np.unravel_index(np.arange(L**3), (L, L, L)), axis=1)
    return SecondOrderChain(first, Triples.of(L, every, np.random.default_rng(1).normal(0, 1, L**3)))


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda: chain.k_best(sentence(20, 8), MANY), id="first order"),
        pytest.param(lambda: second_order.k_best(with_triples(sentence(20, 8)), MANY), id="second order"),
        pytest.param(lambda: chain.k_best(sentence(3000, 300), 2), id="first order, many labels"),
        pytest.param(lambda: second_order.k_best(with_triples(sentence(600, 60)), 2), id="second order, many labels"),
    ],
)
def test_ctrl_c_ends_a_ranking(ask: Callable[[], object]) -> None:
    def asking() -> None:
        for _ in range(1000):
            ask()

    timer = threading.Timer(0.5, _thread.interrupt_main)
    begun = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        asking()
    assert time.perf_counter() - begun < 30
    timer.join()


def test_tasks_that_outlast_the_callers_moment() -> None:
    """Scores too wide for exp space take some hundred times as long, so the caller hands most tasks to a thread."""
    rng = np.random.default_rng(2)
    T, L, B = 30, 40, 400
    wide = Chain(rng.normal(0, 1000, (B * T, L)), rng.normal(0, 1000, (L, L)), offsets=np.arange(B + 1) * T)
    few = [0, 1, B - 1]
    parts = [Chain(wide.emissions[b * T : (b + 1) * T], wide.transitions) for b in few]
    before = compiled.threads()
    try:
        answers = []
        for threads in (1, 2, 3, 1):
            compiled.set_threads(threads)
            answers.append(chain.log_partition(wide))
    finally:
        compiled.set_threads(before)
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])
        np.testing.assert_allclose(answer[few], [chain.naive.log_partition(part)[0] for part in parts], rtol=1e-12)
