"""The layer on every backend: what runs here, Triton's kernels in its interpreter where there is no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch

from tagline.nn import using_tensor_engine
from tests.chain.tensor_cases import BACKENDS, load


@pytest.fixture(params=BACKENDS)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each backend in turn, with new tensors on its device; in float32, which all of them answer for."""
    _, device = load(request.param)
    with using_tensor_engine(request.param), torch.device(device) if device.type == "cuda" else nullcontext():
        yield str(request.param)
