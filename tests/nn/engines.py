"""The layer on every backend: what runs here, Triton's kernels in its interpreter where there is no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch

from tagline.nn import losses, using_tensor_engine
from tests.chain.tensor_cases import BACKENDS, load


@pytest.fixture(params=BACKENDS)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each backend in turn, with new tensors on its device; in float32, which all of them answer for."""
    _, device = load(request.param)
    with using_tensor_engine(request.param), torch.device(device) if device.type == "cuda" else nullcontext():
        yield str(request.param)


def objectives(class_weights: list[float]) -> list[Any]:
    """Every loss that reads labels, with these weights of three labels where it takes some."""
    return [
        losses.nll,
        losses.LabelSmoothing(0.1),
        losses.TokenSmoothing(0.1),
        losses.Hinge(),
        losses.SoftmaxMargin(),
        losses.Focal(),
        losses.ClassWeights(torch.tensor(class_weights)),
        losses.EntropyWeight(0.1),
    ]


def name_of(objective: Any) -> str:
    """What a case is called after its loss."""
    return str(getattr(objective, "__name__", type(objective).__name__))
