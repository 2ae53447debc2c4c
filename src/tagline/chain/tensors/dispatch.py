"""Which backend answers for tensors: the compiled core on the CPU, Triton on a GPU, plain PyTorch anywhere else.

``"auto"`` is that choice: `hosted` for CPU tensors where the core is built; `fused` for CUDA tensors where Triton is
installed and `fused.fits` the chain; `batched` otherwise. ``TAGLINE_TENSOR_ENGINE``, `use_tensor_engine` or
`using_tensor_engine` name one for all calls: ``"native"``, ``"fused"`` or ``"batched"``. Whatever the choice,
gradients of marginals are taken in plain PyTorch, and inside a graph of `torch.compile` the backend is one operator.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import torch
from torch import Tensor

from tagline import compiled
from tagline.chain import batched, traced
from tagline.chain.tensors import TensorChain
from tagline.errors import InputError

TENSOR_ENGINES = ("auto", "native", "fused", "batched")


def _known(name: str, source: str) -> str:
    if name not in TENSOR_ENGINES:
        raise InputError(f"{source}: expected one of {', '.join(TENSOR_ENGINES)}, got {name!r}")
    if name == "native":
        compiled.require()
    if name == "fused" and not _has_triton():
        raise InputError(f'{source}: expected Triton for the engine "fused", got none; pip install triton')
    return name


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


@cache
def _module(name: str) -> ModuleType:
    return import_module(f"tagline.chain.{name}")


_chosen: str | None = None


def tensor_engine() -> str:
    """Name the choice that holds: "auto", "native", "fused" or "batched"."""
    if _chosen is not None:
        return _chosen
    return _known(os.environ.get("TAGLINE_TENSOR_ENGINE") or "auto", "TAGLINE_TENSOR_ENGINE")


def use_tensor_engine(name: str) -> None:
    """Choose the backend for every call on tensors from now on."""
    global _chosen
    _chosen = _known(name, "tensor engine")


@contextmanager
def using_tensor_engine(name: str) -> Iterator[None]:
    """Choose the backend for the calls on tensors inside a ``with`` block.

    >>> with using_tensor_engine("batched"):
    ...     tensor_engine()
    'batched'
    """
    global _chosen
    before = _chosen
    use_tensor_engine(name)
    try:
        yield
    finally:
        _chosen = before


def backend(c: TensorChain) -> ModuleType:
    """Return the module that answers for a chain."""
    name, device = tensor_engine(), c.emissions.device.type
    if name == "auto":
        if device == "cpu":
            return batched if compiled.core is None else _module("hosted")
        fits = device == "cuda" and _has_triton() and _module("fused").fits(c)
        return _module("fused") if fits else batched
    if name == "native":
        if device != "cpu":
            raise InputError(f'tensor engine "native": expected tensors on the CPU, got some on {device}; use "auto"')
        return _module("hosted")
    return _module(name)


def permuted(kept: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
    """Return what `fused.permuted` does; None where Triton is not to answer."""
    mine = kept.is_cuda and tensor_engine() in ("auto", "fused") and _has_triton()
    return _module("fused").permuted(kept) if mine and not torch.compiler.is_compiling() else None


def on_core(c: TensorChain) -> bool:
    """Whether the compiled core answers, and no gradient is wanted."""
    return not c.needs_gradient and backend(c).__name__.endswith("hosted")


traced.ask(backend)


def _asked(c: TensorChain) -> ModuleType:
    return traced if torch.compiler.is_compiling() else backend(c)


def log_partition(c: TensorChain) -> Tensor:
    """Compute log Z ``[B]``."""
    return _asked(c).log_partition(c)  # type: ignore[no-any-return]


def log_likelihood(c: TensorChain, tags: Tensor) -> Tensor:
    """Compute log p(tags) ``[B]``, for tags ``[N]``."""
    return _asked(c).log_likelihood(c, tags)  # type: ignore[no-any-return]


def marginals(c: TensorChain) -> Tensor:
    """Compute P(y_n = j) ``[N, L]``."""
    chosen = batched if c.needs_gradient else _asked(c)
    return chosen.marginals(c)  # type: ignore[no-any-return]


def viterbi(c: TensorChain) -> tuple[Tensor, Tensor]:
    """Find the best labelling: tags ``[N]`` and scores ``[B]``."""
    return _asked(c).viterbi(c)  # type: ignore[no-any-return]
