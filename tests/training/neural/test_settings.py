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
        ("epochs", 0, "epochs: expected a whole number of 1 or more, got 0"),
        ("epochs", 2.0, "epochs: expected a whole number of 1 or more, got 2.0"),
        ("batch_size", True, "batch_size: expected a whole number of 1 or more, got True"),
        ("max_tokens", 0, "max_tokens: expected a whole number of 1 or more, or None, got 0"),
        ("accumulate", 0, "accumulate: expected a whole number of 1 or more, got 0"),
        ("patience", 0, "patience: expected a whole number of 1 or more, or None, got 0"),
        ("seed", -1, "seed: expected a whole number of 0 or more, got -1"),
        ("optimizer", "adam", "optimizer: expected one of adamw, sgd, got 'adam'"),
        ("schedule", "step", "schedule: expected one of linear, cosine, constant, inverse, got 'step'"),
        ("precision", "half", "precision: expected one of auto, float32, bfloat16, float16, got 'half'"),
        ("learning_rate", 0.0, "learning_rate: expected a number above 0, got 0.0"),
        ("learning_rate", math.nan, "learning_rate: expected a number above 0, got nan"),
        ("learning_rate", "fast", "learning_rate: expected a number above 0, got 'fast'"),
        ("learning_rate", math.inf, "learning_rate: expected a number above 0, got inf"),
        ("momentum", 1.0, "momentum: expected a number of at least 0 and below 1, got 1.0"),
        ("weight_decay", -0.1, "weight_decay: expected a number of 0 or more, got -0.1"),
        ("warmup", 1.1, "warmup: expected a number of at least 0 and of at most 1, got 1.1"),
        ("clip", 0, "clip: expected a number above 0, got 0"),
        ("max_seconds", -1, "max_seconds: expected a number of 0 or more, or None, got -1"),
        ("compile", 1, "compile: expected True or False, got 1"),
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
