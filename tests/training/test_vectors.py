"""The core's two passes over long vectors against their definition in NumPy, on odd sizes, with what is not to be read
poisoned by NaN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagline import compiled

core: Any = compiled.core
pytestmark = pytest.mark.skipif(core is None, reason="no compiled core")

SIZES = [0, 1, 2, 7, 511, 512, 513, 1000, 16384, 16385, 40_001]  # blocks are 512 long, tasks 16384
SLOTS = 5


@dataclass
class Case:
    weights: Any
    smooth: Any
    c1: Any
    c2: Any
    before: Any
    gradient_before: Any
    memory: Any
    diagonal: Any
    used: Any
    slot: int
    of_s: Any
    of_y: Any
    of_gradient: float
    step: float


def case(seed: int, n: int, dtype: str, strengths: str, diagonal: bool, used: list[int], slot: int) -> Case:
    random = np.random.default_rng(seed)
    weights, smooth, before, gradient_before = random.standard_normal((4, n))
    weights[random.random(n) < 0.4] = 0
    memory = np.full((2, SLOTS, n), np.nan, dtype)  # slots that are not in use are never read
    memory[:, used] = random.standard_normal((2, len(used), n))
    size = n if strengths == "each" else 1
    c1, c2 = random.random((2, size)) * (strengths != "none")
    c1[random.random(size) < 0.3] = 0
    diag = random.random(n) + 0.1 if diagonal else np.empty(0)
    of_s, of_y = random.standard_normal((2, len(used)))
    return Case(
        weights, smooth, c1, c2, before, gradient_before, memory, diag, np.array(used, np.int64), slot, of_s, of_y,
        float(random.standard_normal()), 0.7,
    )  # fmt: skip


@st.composite
def cases(draw: Any) -> Case:
    used = draw(st.lists(st.sampled_from(range(SLOTS)), unique=True, max_size=SLOTS - 1))
    slot = draw(st.sampled_from([-1, *(k for k in range(SLOTS) if k not in used)]))
    return case(
        draw(st.integers(0, 1000)),
        draw(st.sampled_from(SIZES)),
        draw(st.sampled_from(["float32", "float64"])),
        draw(st.sampled_from(["none", "one", "each"])),
        draw(st.booleans()),
        used,
        slot,
    )


def pseudo_gradient(w: Any, g: Any, c1: Any) -> Any:
    """The derivative to the side that descends, as Andrew & Gao write it; 0 where neither does."""
    right, left = g + c1, g - c1
    return np.select([w > 0, w < 0, right < 0, left > 0], [right, left, right, left], 0.0)


def measure(c: Case) -> tuple[Any, Any, Any, Any]:
    """Definition: (gradient, memory, sums, products)."""
    w, gradient, memory = c.weights, c.smooth + 2 * c.c2 * c.weights, c.memory.copy()
    p = pseudo_gradient(w, gradient, c.c1)
    s, y = w - c.before, gradient - c.gradient_before
    sums = [(c.c1 * np.abs(w)).sum(), (c.c2 * w * w).sum(), p @ p, w @ w, np.count_nonzero(w), s @ gradient, s @ s, 0.0]
    if c.slot < 0:
        return gradient, memory, [*sums[:5], 0, 0, 0], np.zeros((0, 4))
    memory[:, c.slot] = s, y
    y = memory[1, c.slot].astype(np.float64)
    sums[7] = y @ y
    D = c.diagonal if len(c.diagonal) else np.ones(len(w))
    rows = [(memory[0, r].astype(np.float64), memory[1, r].astype(np.float64)) for r in [*c.used, c.slot]]
    products = [[s_r @ y, s_r @ p, y_r @ (D * y), y_r @ (D * p)] for s_r, y_r in rows]
    return gradient, memory, sums, np.array(products)


def move(c: Case) -> tuple[Any, Any]:
    """Definition: (weights, sums)."""
    w, g = c.weights, c.smooth
    p = pseudo_gradient(w, g, c.c1)
    D = c.diagonal if len(c.diagonal) else np.ones(len(w))
    s, y = (c.memory[kind][c.used].astype(np.float64) for kind in (0, 1))
    d = c.of_s @ s + D * (c.of_gradient * p + c.of_y @ y)
    kink = np.broadcast_to(c.c1, w.shape) > 0
    d[kink & (d * p >= 0)] = 0
    to = w + c.step * d
    side = np.where(w != 0, np.sign(w), -np.sign(p))
    to[kink & (to * side <= 0)] = 0
    return to, [d @ p, p @ (to - w), d @ d]


def run_measure(c: Case) -> tuple[Any, Any, Any, Any]:
    gradient, memory = np.full(len(c.weights), np.nan), c.memory.copy()
    sums, products = core.measure_point(
        c.weights, c.smooth, c.c1, c.c2, c.before, c.gradient_before, memory, c.diagonal, c.used, c.slot, gradient
    )
    return gradient, memory, sums, products


def run_move(c: Case) -> tuple[Any, Any]:
    out = np.full(len(c.weights), np.nan)
    sums = core.move_point(
        c.weights, c.smooth, c.c1, c.memory, c.diagonal, c.used, c.of_s, c.of_y, c.of_gradient, c.step, out
    )
    return out, sums


@pytest.fixture(params=compiled.supported_cpus())
def _each_cpu(request: pytest.FixtureRequest) -> Iterator[None]:
    before = compiled.cpu()
    assert before is not None
    compiled.use_cpu(request.param)
    yield
    compiled.use_cpu(before)


def close(actual: Any, expected: Any, n: int) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12 * max(n, 1))


@pytest.mark.usefixtures("_each_cpu")
@settings(max_examples=50)
@given(cases())
def test_measure_is_its_definition(c: Case) -> None:
    n = len(c.weights)
    gradient, memory, sums, products = run_measure(c)
    expected = measure(c)
    np.testing.assert_allclose(gradient, expected[0], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(memory, expected[1], rtol=1e-6 if memory.dtype == np.float32 else 1e-14, atol=1e-14)
    close(sums, expected[2], n)
    assert products.shape == expected[3].shape
    # The remembered y may differ by one unit in the last place of float32 where the sum before it does.
    close(products, expected[3], n if memory.dtype == np.float64 else 100 * n)


@pytest.mark.usefixtures("_each_cpu")
@settings(max_examples=50)
@given(cases())
def test_move_is_its_definition(c: Case) -> None:
    out, sums = run_move(c)
    expected = move(c)
    np.testing.assert_allclose(out, expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(out == 0, expected[0] == 0)
    close(sums, expected[1], len(c.weights))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_bytes_for_any_number_of_threads(dtype: str) -> None:
    c = case(3, 100_003, dtype, "each", True, [2, 0, 3], 1)
    before, results = compiled.threads(), []
    try:
        for count in (1, 2, 5):
            compiled.set_threads(count)
            results.append([array.tobytes() for array in (*run_measure(c), *run_move(c))])
    finally:
        compiled.set_threads(before)
    assert results[0] == results[1] == results[2]


def test_nothing_else_is_changed() -> None:
    c = case(5, 1000, "float32", "each", True, [1, 4], 0)
    before = {name: np.copy(value) for name, value in vars(c).items()}
    core.measure_point(
        c.weights, c.smooth, c.c1, c.c2, c.before, c.gradient_before, c.memory, c.diagonal, c.used, 0, np.empty(1000)
    )
    before["memory"][:, 0] = c.memory[:, 0]  # the slot that was asked for
    run_move(c)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(c, name), value, err_msg=name)


def test_wrong_arguments_are_refused() -> None:
    c = case(1, 10, "float32", "one", True, [0, 1], 2)
    wrong = {
        "used\\[1\\]: ": replace(c, used=np.array([0, 2])),
        "used\\[0\\]: ": replace(c, used=np.array([5, 0])),
        "used: ": replace(c, used=np.array([0.0, 1.0])),
        "slot: ": replace(c, slot=5),
        "smooth: .*\\[9\\]": replace(c, smooth=c.smooth[:9]),
        "weights: ": replace(c, weights=c.weights.astype(np.float32)),
        "weights_before: ": replace(c, before=np.zeros(11)),
        "c1: ": replace(c, c1=np.zeros(2)),
        "diagonal: ": replace(c, diagonal=np.ones(3)),
        "memory: ": replace(c, memory=np.zeros((2, 5, 9), np.float32)),
        "smooth: .*C-contiguous": replace(c, smooth=np.zeros(20)[::2]),
    }
    for place, arguments in wrong.items():
        with pytest.raises(ValueError, match=place):
            run_measure(arguments)
    with pytest.raises(ValueError, match=r"^of_s: "):
        run_move(replace(c, of_s=np.zeros(3)))
    read_only = np.zeros(10)
    read_only.flags.writeable = False
    with pytest.raises(TypeError):
        core.measure_point(
            c.weights, c.smooth, c.c1, c.c2, c.before, c.gradient_before, c.memory, c.diagonal, c.used, 2, read_only
        )
