"""Fixed tables of a module: neither learned nor saved, and not at the mercy of how the module was built.

A buffer that is not in the state dict keeps its values only while the module stays on devices with memory. A module
that is built on the meta device and then filled from a state dict (`torch.nn.Module.to_empty`, `from_pretrained` of
transformers 5) would have whatever its memory holds in such a buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tagline.chain.tensors.dispatch import transforming


class Constant:
    """An array that is copied to each device on which it is used.

    Copies are never dropped, so that CUDA graphs may read them; pickles and deep copies of modules leave them out.
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = np.array(values)
        self._copies: dict[torch.device, Tensor] = {}
        self.on(torch.device("cpu"))

    def __reduce__(self) -> tuple[type[Constant], tuple[NDArray[Any]]]:
        """Keep the array."""
        return Constant, (self.values,)

    def on(self, device: torch.device) -> Tensor:
        """Return the array as a tensor on a device."""
        copy = self._copies.get(device)
        return self._copied(device) if copy is None else copy

    def _copied(self, device: torch.device) -> Tensor:
        if torch.compiler.is_compiling() or transforming():  # the tensor stands for others, and ends with the trace
            return torch.from_numpy(self.values).to(device)
        with torch.inference_mode(False):  # a tensor made in that mode could not be saved for a backward pass
            copy = torch.from_numpy(self.values).to(device)
        if type(copy) is Tensor:  # not a fake one
            self._copies[device] = copy
        return copy


class ConstantModule(nn.Module):
    """A module with parameters whose attributes may be a `Constant`."""

    def _place_constants(self) -> None:
        """Copy constants to where the parameters are: a compiled graph that finds no copy makes one in every call."""
        device = next(self.parameters()).device
        for value in vars(self).values():
            if isinstance(value, Constant):
                value.on(device)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Change or move the parameters, and follow them."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._place_constants()
        return self
