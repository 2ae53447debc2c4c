"""Ctrl-C ends a long question about a single sentence, of every order."""

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
MANY = 20_000_000  # labellings, which would take minutes


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
