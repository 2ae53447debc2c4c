"""Which backend answers for tensors: the compiled core on the CPU, Triton on a GPU, plain PyTorch anywhere else.

Backends are modules: `native` (the compiled core), `fused` (Triton), `batched` (plain PyTorch). ``"auto"`` chooses
`native` for CPU tensors where the core is built, `fused` for CUDA tensors where Triton is installed, and `batched`
otherwise. ``TAGLINE_TENSOR_ENGINE``, `use_tensor_engine` or `using_tensor_engine` name one for all calls. A chain that
does not fit the kernels of `fused` goes to `batched`, and so does everything inside a transform of `torch.func`.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from importlib.util import find_spec
from types import ModuleType

import torch
from torch import Tensor
from torch.autograd import forward_ad

from tagline import compiled
from tagline.chain.choice import Backends, EngineChoice
from tagline.chain.tensors import batched
from tagline.chain.tensors.types import TensorChain
from tagline.errors import InputError

INTERPRETED = ("1", "true", "on", "yes", "y")  # values of TRITON_INTERPRET
TENSOR_ENGINES = ("auto", "native", "fused", "batched")


def _require(name: str, source: str) -> None:
    if name == "native":
        compiled.require()
    if name == "fused" and not _has_triton():
        raise InputError('{}: expected Triton for the engine "fused", got none; pip install triton', source)


_TRITON = find_spec("triton") is not None


def _has_triton() -> bool:
    return _TRITON


_backends = Backends("tagline.chain.tensors")
_choice = EngineChoice("tensor engine", "TAGLINE_TENSOR_ENGINE", TENSOR_ENGINES, "auto", _require)


def tensor_engine() -> str:
    """Name the choice that holds: "auto", "native", "fused" or "batched".

    >>> from tagline import nn
    >>> nn.tensor_engine() in ("auto", "native", "fused", "batched")
    True
    """
    return _choice.name


def use_tensor_engine(name: str) -> None:
    """Choose the backend for every call on tensors from now on.

    >>> from tagline import nn
    >>> before = nn.tensor_engine()
    >>> nn.use_tensor_engine("batched")
    >>> nn.tensor_engine()
    'batched'
    >>> nn.use_tensor_engine(before)
    """
    _choice.use(name)


def using_tensor_engine(name: str) -> AbstractContextManager[None]:
    """Choose the backend for the calls on tensors inside a ``with`` block.

    >>> with using_tensor_engine("batched"):
    ...     tensor_engine()
    'batched'
    """
    return _choice.using(name)


def transforming(values: Tensor | None = None) -> bool:
    """Whether a transform of `torch.func` (vmap, grad, jvp …) or forward-mode differentiation is under way.

    Tensors then stand for others and have no memory of their own, so that plain PyTorch alone can answer, and their
    values cannot be asked for. Autograd's ``is_grads_batched`` shows only in the tensors themselves: `values`.
    """
    if torch.compiler.is_compiling():
        return False
    if torch._C._functorch.peek_interpreter_stack() is not None or forward_ad._current_level >= 0:
        return True
    return values is not None and torch._C._functorch.is_legacy_batchedtensor(values)


def backend(c: TensorChain) -> ModuleType:
    """Return the module that answers for a chain."""
    if transforming():
        return batched
    name, device = _choice.name, c.emissions.device.type
    if name == "auto" and device == "cpu":
        name = "batched" if compiled.core is None else "native"
    elif name == "auto":
        name = "fused" if device == "cuda" and _has_triton() else "batched"
    if name == "native" and device != "cpu":
        raise InputError('tensor engine "native": expected tensors on the CPU, got some on {}; use "auto"', device)
    chosen = _backends[name]
    if name == "fused":
        if not chosen.fits(c):
            return batched
        _require_device(device)
    return chosen


def _require_device(device: str) -> None:
    """Say where the kernels of `fused` run."""
    if device != "cuda" and os.environ.get("TRITON_INTERPRET", "").lower() not in INTERPRETED:
        raise InputError(
            'tensor engine "fused": expected tensors on a GPU, got some on {}; move them with '
            '.to("cuda"), or use "auto" (for Triton\'s slow interpreter on the CPU, set TRITON_INTERPRET=1 '
            "before Python starts)",
            device,
        )


def compiled_backend(c: TensorChain) -> ModuleType | None:
    """Return the backend on the compiled core where it answers and no gradient is wanted, None elsewhere."""
    if c.needs_gradient:
        return None
    chosen = backend(c)
    return chosen if chosen.NAME == "native" else None


def fused_for(device: torch.device) -> bool:
    """Whether the kernels of `fused` answer for tensors on a device, where no transform is under way."""
    if transforming():
        return False
    name = _choice.name
    if name == "fused":
        _require_device(device.type)
        return True
    return name == "auto" and device.type == "cuda" and _has_triton()


def permuted(mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
    """Return what `fused.permuted` does; None where Triton is not to answer."""
    answers = mask.is_cuda and not torch.compiler.is_compiling() and fused_for(mask.device)
    return _backends["fused"].permuted(mask) if answers else None
