"""Chains for the backends on tensors: a `Chain` with scores of its own for NumPy, the same as a `TensorChain`.

Rows of no sentence lie before, between and after the sentences. They hold NaN, and so does all that is never read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tagline import compiled
from tagline.chain import tensors
from tagline.chain.tensors import TensorChain
from tagline.types import Chain

BACKENDS = ("native", "batched", "fused")
# Many seconds in Triton's interpreter: for a GPU, and for make test-long.
SLOW_HERE = () if torch.cuda.is_available() else pytest.mark.slow


class Engine:
    """The questions of `tagline.chain.tensors`, answered by one backend."""

    def __init__(self, name: str) -> None:
        self.module = import_module(f"tagline.chain.tensors.{name}")

    def __getattr__(self, question: str) -> Any:
        def ask(*arguments: Any) -> Any:
            with tensors.using_tensor_engine(self.module.NAME):
                return getattr(tensors, question)(*arguments)

        return ask


def load(name: str) -> tuple[Engine, torch.device]:
    """A backend and the device that it is tested on, or a reason to skip."""
    cuda = torch.cuda.is_available()
    if name == "native" and compiled.core is None:
        pytest.skip("the compiled core is missing")
    if name == "fused":
        if find_spec("triton") is None:
            pytest.skip("Triton is missing: pip install triton")
        if not cuda and os.environ.get("TRITON_INTERPRET") != "1":
            pytest.skip("no GPU; TRITON_INTERPRET=1 runs the kernels on the CPU")
    return Engine(name), torch.device("cuda" if cuda and name != "native" else "cpu")


@dataclass(frozen=True, eq=False)
class TensorCase:
    """A chain, a legal labelling ``[N]`` of it, and where its tokens lie among ``num_rows`` rows."""

    chain: Chain
    labels: np.ndarray[Any, np.dtype[np.int64]]
    rows: np.ndarray[Any, np.dtype[np.int64]]
    num_rows: int

    def tensors(self, device: torch.device, gradients: bool = True) -> TensorChain:
        """The chain as tensors, NaN in rows of no sentence."""
        chain = self.chain
        emissions = self.spread(chain.emissions, np.nan)
        transitions = np.array(chain.transitions)
        if chain.per_position:
            transitions[chain.offsets[:-1][chain.lengths > 0]] = np.nan
            transitions = self.spread(transitions, np.nan)
        arrays = (emissions, transitions, chain.start, chain.end)
        scores, *others = (torch.tensor(part, device=device).requires_grad_(gradients) for part in arrays)
        places = np.append(self.rows, self.num_rows)[np.minimum(chain.offsets[:-1], len(self.rows))]
        first, lengths = (torch.tensor(part, device=device) for part in (places, chain.lengths))
        return TensorChain(scores, first, lengths, int(max(chain.lengths, default=0)), *others)

    def gold(self, device: torch.device) -> Tensor:
        """The labelling in rows, −1 in those of no sentence."""
        return torch.tensor(self.spread(self.labels, -1), device=device)

    def spread(self, values: np.ndarray[Any, Any], fill: float) -> np.ndarray[Any, Any]:
        """Values of tokens in rows."""
        out = np.full((self.num_rows, *values.shape[1:]), fill, values.dtype)
        out[self.rows] = values
        return out


def make(
    num_labels: int,
    lengths: Sequence[int],
    *,
    seed: int = 0,
    dtype: str = "float64",
    forbidden: float = 0.0,
    per_position: bool = False,
    scale: float = 2.0,
    gaps: bool = True,
) -> TensorCase:
    """Draw a chain, and forbid a share of its scores without forbidding one random labelling."""
    rng = np.random.default_rng(seed)
    L, offsets = num_labels, np.cumsum([0, *lengths])
    N = int(offsets[-1])
    labels = rng.integers(0, L, N)
    firsts, lasts = offsets[:-1][np.diff(offsets) > 0], offsets[1:][np.diff(offsets) > 0] - 1
    inner = np.setdiff1d(np.arange(N), firsts)
    step = (labels[inner - 1], labels[inner])
    shapes = {"emissions": (N, L), "transitions": (N, L, L) if per_position else (L, L), "start": (L,), "end": (L,)}
    used: dict[str, Any] = {
        "emissions": (np.arange(N), labels),
        "transitions": (inner, *step) if per_position else step,
        "start": (labels[firsts],),
        "end": (labels[lasts],),
    }
    scores = {}
    for name, shape in shapes.items():
        gone = rng.random(shape) < forbidden
        gone[used[name]] = False
        scores[name] = np.where(gone, -np.inf, rng.normal(0, scale, shape)).astype(dtype)
    room = rng.integers(0, 3, len(lengths) + 1) if gaps else np.zeros(len(lengths) + 1, np.int64)
    rows = np.arange(N) + np.repeat(np.cumsum(room)[:-1], np.diff(offsets))
    return TensorCase(Chain(**scores, offsets=offsets), labels, rows, N + int(room.sum()))


def host(values: Tensor) -> np.ndarray[Any, Any]:
    """A tensor as an array."""
    return values.detach().cpu().numpy()
