"""Answers that would not fit into memory are refused before any of it is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tagline import Chain, InputError, chain, compiled
from tagline.chain import memory, second_order, segments
from tagline.chain.second_order import PairChain, SecondOrderChain, Triples
from tagline.chain.segments import SegmentChain

EVEN = Chain(np.zeros((40, 3)), np.zeros((3, 3)), offsets=[0, 20, 40])
TRIPLES = SecondOrderChain(EVEN, Triples.of(3, [[0, 1, 2]], [0.5]))
CUT = SegmentChain(np.zeros((40, 3, 2)), np.zeros((2, 2)), offsets=[0, 20, 40])

TOO_MUCH: dict[str, tuple[Callable[[], Any], str]] = {
    "k best": (lambda: chain.k_best(EVEN, 10**7), r"^k: .* GiB"),
    "k best of triples": (lambda: second_order.k_best(TRIPLES, 10**7), r"^k: .* GiB"),
    "k best of segments": (lambda: segments.k_best(CUT, 10**7), r"^k: .* GiB"),
    "samples": (lambda: chain.sample_paths(EVEN, 10**10), r"^count: .* GiB"),
    "samples of triples": (lambda: second_order.sample(TRIPLES, 10**10), r"^count: .* GiB"),
    "samples of segments": (lambda: segments.sample(CUT, 10**10), r"^count: .* GiB"),
    "numbers without an end": (lambda: second_order.sample(TRIPLES, 10**400), r"^count: .* GiB"),
}


@pytest.fixture(params=["naive", *(["native"] if compiled.core is not None else [])], autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[None]:
    with chain.using_engine(request.param):
        yield


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a megabyte."""
    monkeypatch.setattr(memory, "memory", lambda: 2**20)
    monkeypatch.setattr(second_order.dispatch, "memory", lambda: 2**20)


@pytest.mark.parametrize("question", TOO_MUCH)
def test_more_answers_than_memory_holds(question: str) -> None:
    ask, place = TOO_MUCH[question]
    with pytest.raises(InputError, match=place):
        ask()


@pytest.mark.usefixtures("little")
def test_tables_that_memory_does_not_hold() -> None:
    labels = 100
    wide = Chain(np.zeros((60, labels)), np.zeros((labels, labels)), offsets=[0, 20, 60])
    with pytest.raises(InputError, match=r"^marginals: .* GiB"):
        chain.marginals(wide, edges=True)
    assert chain.marginals(wide).nodes.shape == (60, labels)
    scored = SecondOrderChain(wide, Triples.of(labels, [[0, 1, 2]], [0.5]))
    told = r"^sentence 1: .* GiB" if chain.engine() == "native" else r"^labels: .* GiB"
    for ask in (second_order.viterbi, second_order.marginals, second_order.log_partition, second_order.entropy):
        with pytest.raises(InputError, match=told):
            ask(scored)
    with pytest.raises(InputError, match=r"^labels: .* GiB"):
        PairChain(scored, 1)


@pytest.mark.usefixtures("little")
def test_what_fits_is_answered() -> None:
    two = Chain(np.zeros((2, 3)), np.zeros((3, 3)))
    scored = SecondOrderChain(two, Triples.of(3, [[0, 1, 2]], [0.5]))
    assert len(chain.k_best(two, 10**400)[0].labels) == len(second_order.k_best(scored, 10**9)[0].labels) == 9
    many = np.full((60, 100), -np.inf)
    many[:, [0, 3]] = 0.0  # two labels are left to each token
    pruned = Chain(many, np.zeros((100, 100)), offsets=[0, 20, 60])
    free = second_order.log_partition(SecondOrderChain(pruned, Triples.of(100, [[0, 3, 1]], [0.5])))
    np.testing.assert_allclose(free, np.log(2) * np.array([20, 40]))
