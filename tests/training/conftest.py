"""Fixtures of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tagline import compiled
from tagline.chain import using_engine


@pytest.fixture(params=[*compiled.supported_cpus(), "naive"])
def variant(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every variant, the compiled one once for each instruction set."""
    if request.param == "naive":
        with using_engine("naive"):
            yield request.param
        return
    before = compiled.cpu()
    compiled.use_cpu(request.param)
    yield request.param
    compiled.use_cpu(before)
