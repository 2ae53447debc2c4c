"""A minute of mixed load on a service."""

from __future__ import annotations

from .soak import soak


def test_a_minute_of_mixed_load() -> None:
    run = soak(60, swap=6)
    assert run.wrong == []
    assert run.counts["/v1/tag 200"] > 300
    assert run.counts["/v1/tag 413"] > 10
    assert run.counts["/v1/tag 401"] > 10
    assert run.counts["quitters"] > 10
    assert run.growth() < 0.05
