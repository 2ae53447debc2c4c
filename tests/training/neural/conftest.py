"""One thread for networks this small: where others use the cores, threads that wait for one another cost seconds."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _small(one_thread: None) -> None:
    """Every test here asks for it."""
