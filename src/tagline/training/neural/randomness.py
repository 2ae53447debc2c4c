"""Random numbers of a run: seeded at its start and stored in checkpoints; the caller's own are left as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor


@contextmanager
def seeded(seed: int, rank: int, device: torch.device) -> Iterator[None]:
    """Seed PyTorch's random numbers, differently in each process, and put the caller's back at the end."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(int(np.random.SeedSequence((seed, rank)).generate_state(1)[0]))
        yield


def order_of(seed: int, epoch: int) -> np.random.Generator:
    """Return the generator that draws the order of an epoch: the same in all processes, whatever came before."""
    return np.random.default_rng((seed, epoch))


def state(device: torch.device) -> Tensor:
    """Return the state of the generators that a network draws from: uint8 ``[n]``, the CPU's first."""
    parts = [torch.get_rng_state()]
    if device.type == "cuda":
        parts.append(torch.cuda.get_rng_state(device))
    return torch.cat(parts)


def restore(saved: Tensor, device: torch.device) -> None:
    """Put the generators back to a state."""
    size = len(torch.get_rng_state())
    torch.set_rng_state(saved[:size].clone())  # PyTorch 2.13 crashes on a view that does not begin at its storage
    if device.type == "cuda":
        torch.cuda.set_rng_state(saved[size:].clone(), device)
