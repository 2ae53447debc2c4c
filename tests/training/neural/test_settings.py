"""Settings are checked when they are made; the learning rate follows its schedule."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.training.neural.schedules import factor, rate_of
from tagline.training.neural.settings import SCHEDULES, Descent


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("epochs", 0, "epochs: "),
        ("epochs", 2.0, "epochs: "),
        ("batch_size", True, "batch_size: "),
        ("max_tokens", 0, "max_tokens: "),
        ("accumulate", 0, "accumulate: "),
        ("patience", 0, "patience: "),
        ("seed", -1, "seed: "),
        ("optimizer", "adam", "optimizer: "),
        ("schedule", "step", "schedule: "),
        ("precision", "half", "precision: "),
        ("learning_rate", 0.0, "learning_rate: "),
        ("learning_rate", math.nan, "learning_rate: "),
        ("learning_rate", "fast", "learning_rate: "),
        ("learning_rate", math.inf, "learning_rate: "),
        ("momentum", 1.0, "momentum: "),
        ("weight_decay", -0.1, "weight_decay: "),
        ("warmup", 1.1, "warmup: "),
        ("clip", 0, "clip: "),
        ("max_seconds", -1, "max_seconds: "),
        ("compile", 1, "compile: "),
    ],
)
def test_bad_settings(name: str, value: object, place: str) -> None:
    with pytest.raises(InputError) as error:
        Descent(**{name: value})  # type: ignore[arg-type]
    assert str(error.value).startswith(place)


def test_settings_need_no_torch() -> None:
    code = "import sys, tagline.training.neural.settings; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_factors() -> None:
    def factors(schedule: str, warmup: float = 0.0) -> list[float]:
        return [round(factor(schedule, done, 4, warmup), 6) for done in (0, 0.5, 1, 2, 3, 4)]

    assert factors("constant") == [1, 1, 1, 1, 1, 1]
    assert factors("linear") == [1, 0.875, 0.75, 0.5, 0.25, 0]
    assert factors("linear", 0.25) == [0, 0.5, 1, 0.666667, 0.333333, 0]
    assert factors("cosine", 0.5) == [0, 0.25, 0.5, 1, 0.5, 0]
    assert factors("constant", 1.0) == [0, 0.125, 0.25, 0.5, 0.75, 1]
    assert factors("inverse") == [1, 1, round(1 / 1.05, 6), round(1 / 1.1, 6), round(1 / 1.15, 6), round(1 / 1.2, 6)]


def test_rates_are_taken_in_the_middle_of_steps() -> None:
    descent = Descent(epochs=2, learning_rate=8.0, schedule="linear")
    rates = [rate_of(descent, epoch, step, 2) for epoch in (1, 2) for step in (0, 1)]
    assert rates == [7.0, 5.0, 3.0, 1.0]


@given(
    st.sampled_from(SCHEDULES),
    st.integers(1, 50),
    st.floats(0, 1),
    st.lists(st.integers(1, 30), min_size=1, max_size=9),
)
def test_rates_stay_within_bounds_rise_and_then_fall(
    schedule: str, epochs: int, warmup: float, sizes: list[int]
) -> None:
    descent = Descent(epochs=max(epochs, len(sizes)), learning_rate=1.0, warmup=warmup, schedule=schedule)
    rates = [rate_of(descent, epoch, step, size) for epoch, size in enumerate(sizes, 1) for step in range(size)]
    assert all(0 < rate <= 1 for rate in rates)
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
