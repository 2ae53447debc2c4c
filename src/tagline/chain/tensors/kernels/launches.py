"""Launches that are prepared once and then cost little: kernels in their order, and the memory that they share.

Triton looks at every argument of every launch to find the compiled kernel, which takes longer than most of our kernels
run. For one size of batch it always finds the same one. So the first run of a `Recipe` goes through Triton, and those
after it hand addresses to the compiled kernels themselves. In Triton's interpreter, and with a Triton whose inner
interface is not known here, every run goes through Triton.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor
from triton.runtime import driver

ALIGNMENT = 256
KNOWN = triton.__version__.split(".")[:2] in (["3", "6"], ["3", "7"])


class Part(NamedTuple):
    """Numbers of one type within a block of memory."""

    dtype: torch.dtype
    count: int


class Layout:
    """Parts that lie in one block of memory, each where any kernel can read it in whole lines."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self.names, self.parts = tuple(parts), tuple(parts.values())
        room = [-(-part.count * part.dtype.itemsize // ALIGNMENT) * ALIGNMENT for part in self.parts]
        *self.offsets, self.size = accumulate(room, initial=0)

    def allocate(self, device: torch.device) -> Tensor:
        """Return a block of memory."""
        return torch.empty(self.size, dtype=torch.uint8, device=device)

    def addresses(self, block: Tensor) -> list[int]:
        """Return where the parts of a block begin."""
        base = block.data_ptr()
        return [base + offset for offset in self.offsets]

    def tensors(self, block: Tensor) -> list[Tensor]:
        """Return the parts of a block."""
        return [
            block[offset : offset + part.count * part.dtype.itemsize].view(part.dtype)
            for offset, part in zip(self.offsets, self.parts, strict=True)
        ]


class Launch:
    """One kernel on one grid.

    Arguments:
        kernel: of Triton.
        grid: how many programs, along up to three axes.
        pointers: the names of its first arguments.
        numbers: its other arguments.
        options: of the compiler.
    """

    def __init__(self, kernel: Any, grid: tuple[int, ...], pointers: str, *numbers: int, **options: int) -> None:
        self.kernel, self.grid, self.pointers, self.options = kernel, grid, pointers.split(), options
        self.numbers = numbers
        self.pick: itemgetter[Any]
        self._run: Any = None

    def through_triton(self, tensors: Sequence[Tensor]) -> bool:
        """Launch with tensors; return whether `at` can launch it from now on."""
        compiled = self.kernel[self.grid](*self.pick(tensors), *self.numbers, **self.options)
        if KNOWN and compiled is not None:
            self._run = compiled.run
            self._before = *self.grid, *(1,) * (3 - len(self.grid))
            self._after = compiled.function, compiled.packed_metadata, None, None, None
        return self._run is not None

    def at(self, addresses: Sequence[int], stream: int) -> None:
        """Launch with addresses."""
        self._run(*self._before, stream, *self._after, *self.pick(addresses), *self.numbers)


class Recipe:
    """Launches in their order.

    Whoever keeps one must use it for one size of batch, on one device, with tensors of the same types that begin at
    multiples of 16 bytes or not just as those of the first run did: Triton compiles for that.

    Arguments:
        inputs: the names of the tensors that `run` is given.
        layouts: of the blocks of memory that it is given.
        launches: which name inputs and parts of layouts.
    """

    def __init__(self, inputs: str, layouts: Sequence[Layout], launches: Sequence[Launch]) -> None:
        self.layouts, self.launches, self.prepared = tuple(layouts), tuple(launches), False
        names = [*inputs.split(), *(name for layout in layouts for name in layout.names)]
        places = {name: place for place, name in enumerate(names)}
        for launch in self.launches:
            wanted = [places[name] for name in launch.pointers]
            # Of one place alone it would not return a tuple.
            launch.pick = itemgetter(*wanted) if len(wanted) > 1 else itemgetter(slice(wanted[0], wanted[0] + 1))

    def run(self, inputs: Sequence[Tensor], blocks: Sequence[Tensor]) -> None:
        """Launch everything on the current stream of the device that the tensors are on."""
        device = inputs[0].device
        if device.type == "cuda" and device.index != torch.cuda.current_device():
            with torch.cuda.device(device):
                return self.run(inputs, blocks)
        pairs = zip(self.layouts, blocks, strict=True)
        if not self.prepared:
            tensors = [*inputs, *(part for layout, block in pairs for part in layout.tensors(block))]
            known = [launch.through_triton(tensors) for launch in self.launches]
            self.prepared = all(known)
            return None
        addresses = [tensor.data_ptr() for tensor in inputs]
        for layout, block in pairs:
            addresses += layout.addresses(block)
        stream = driver.active.get_current_stream(device.index)
        for launch in self.launches:
            launch.at(addresses, stream)
        return None


def signature(tensors: Sequence[Tensor]) -> tuple[Any, ...]:
    """Return what Triton compiles for: the type of each tensor, and whether it begins at a multiple of 16 bytes."""
    return tuple([(tensor.dtype, not tensor.data_ptr() & 15) for tensor in tensors])
