"""Several processes that train as one: torchrun, `accelerate launch`, or a process group that is there already.

All of them plan the same batches; each takes its part, and the gradients are added up in one message a step, so that
the processes hold the same weights all the time. The first one writes, scores and decides. Decisions travel over a
group of their own on the CPU (gloo), so that they never wait for a GPU.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import Module, Parameter

from tagline.errors import InputError
from tagline.types import IntArray

# As long as the first process may take to score the dev set while the others wait.
PATIENCE = timedelta(days=1)


@dataclass(frozen=True, eq=False)
class Processes:
    """This process among the others.

    Attributes:
        rank: its number; 0 writes, scores and decides.
        count: of processes.
        control: the group over which decisions travel; None where there is one process.
    """

    rank: int = 0
    count: int = 1
    control: dist.ProcessGroup | None = None

    @property
    def first(self) -> bool:
        """Whether this process writes, scores and decides."""
        return self.rank == 0

    def shares(self, batch: IntArray, accumulate: int) -> Iterator[IntArray]:
        """Yield what this process takes of a batch, in up to `accumulate` parts; neighbours in length are parted."""
        parts = accumulate * self.count
        for part in range(self.rank, parts, self.count):
            if len(share := batch[part::parts]):
                yield share

    def add_up(self, parameters: Sequence[Parameter], loss: Tensor) -> Tensor:
        """Replace gradients by their sums over the processes, and return the sum of the losses; one message."""
        if self.count == 1:
            return loss
        pieces = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in parameters]
        kind = torch.promote_types(pieces[0].dtype, torch.float32)  # the same in all processes
        flat = torch.cat([*(piece.reshape(-1).to(kind) for piece in pieces), loss.reshape(1).to(kind)])
        dist.all_reduce(flat)
        *sums, total = torch.split(flat, [*(piece.numel() for piece in pieces), 1])
        for parameter, part in zip(parameters, sums, strict=True):
            parameter.grad = part.view(parameter.shape).to(parameter.dtype)
        return total[0].clone()  # a view would keep all gradients in memory

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Return for each flag whether a process has raised it."""
        if self.control is None:
            return flags
        raised = torch.tensor(flags, dtype=torch.int32)
        dist.all_reduce(raised, dist.ReduceOp.MAX, group=self.control)
        return tuple(bool(flag) for flag in raised.tolist())

    def from_first(self, *numbers: float) -> tuple[float, ...]:
        """Return the numbers of the first process."""
        if self.control is None:
            return numbers
        values = torch.tensor(numbers, dtype=torch.float64)
        dist.broadcast(values, 0, group=self.control)
        return tuple(values.tolist())

    def gathered(self, row: Tensor) -> Tensor:
        """Return the rows ``[n]`` of all processes as ``[count, n]``, on the CPU."""
        if self.control is None:
            return row[None]
        rows = [torch.empty_like(row) for _ in range(self.count)]
        dist.all_gather(rows, row, group=self.control)
        return torch.stack(rows)

    def share_weights(self, module: Module) -> None:
        """Give every process the weights of the first, and the buffers, which a network may change as it runs."""
        if self.count > 1:
            for value in (*module.parameters(), *module.buffers()):
                dist.broadcast(value.detach(), 0)


@contextmanager
def joined(device: torch.device) -> Iterator[Processes]:
    """Find the other processes, by an existing group or by what torchrun set; this one is alone where there are none.

    Where there is no group yet, one is made, which lives as long as the process.

    Arguments:
        device: of the network; messages go by NCCL from a GPU and by gloo from a CPU.
    """
    count = os.environ.get("WORLD_SIZE", "1")
    if not dist.is_available() or (not dist.is_initialized() and count == "1"):
        yield Processes()
        return
    if not dist.is_initialized():
        missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
        if missing:
            raise InputError(
                "WORLD_SIZE: expected {} beside it, got none of them; start with torchrun, or unset it to "
                "train in one process",
                ", ".join(missing),
            )
        if device.type == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        atexit.register(_leave)
    control = dist.new_group(backend="gloo", timeout=PATIENCE) if dist.get_world_size() > 1 else None
    try:
        yield Processes(dist.get_rank(), dist.get_world_size(), control)
    finally:
        if control is not None:
            dist.destroy_process_group(control)


def are_several() -> bool:
    """Say whether more than one process trains, by an existing group or by what torchrun set."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_world_size() > 1
    return os.environ.get("WORLD_SIZE", "1") != "1"


def local_device() -> torch.device:
    """Return the device of this process: its own GPU where there are any, else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
