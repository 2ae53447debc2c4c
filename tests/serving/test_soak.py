"""Mixed load on a service."""

from __future__ import annotations

import pytest

from .soak import soak


@pytest.mark.parametrize("seconds", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_mixed_load(seconds: int) -> None:
    run = soak(seconds, swap=seconds / 10)
    assert run.wrong == []
    assert run.counts["/v1/tag 200"] > 5 * seconds
    assert run.counts["/v1/tag 413"] > seconds / 6
    assert run.counts["/v1/tag 401"] > seconds / 6
    assert run.counts["quitters"] > seconds / 6
    if seconds >= 60:  # before that, memory has not settled
        assert run.growth() < 0.05
