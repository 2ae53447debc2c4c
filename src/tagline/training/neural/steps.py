"""One step of the descent: loss, gradient, clipping, update; nothing in it waits for the device.

With n_p of the n sentences of a step in part p, and loss_p the mean over them, the gradient is that of

    Σ_p (n_p / n) · loss_p      = the mean over all n, however they are split over parts and processes.

A step whose loss or gradient is not finite changes no weight; the first one is written down on the device, to be found
by `Steps.check`. With float16 the loss is scaled up, and steps whose gradient overflows by that are left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.utils import clip_grad_norm_

from tagline.errors import InputError
from tagline.training.neural.optimisers import parameters_of, set_rate
from tagline.training.neural.processes import Processes
from tagline.training.neural.settings import Descent

Part = tuple[int, tuple[Any, ...]]
"""Sentences and what the network is called with."""


@dataclass(frozen=True)
class Totals:
    """Of the steps of an epoch so far: the sum of the losses of its sentences, and the mean gradient norm."""

    loss: float
    gradient_norm: float


class Steps:
    """The network, its optimiser, and what they have done since the beginning of the epoch.

    Attributes:
        sums: float64 ``[4]`` on the device: losses of sentences, gradient norms, how many of those, and the first
            step that was not finite (from 1; 0 for none).
    """

    def __init__(
        self, module: Module, optimiser: torch.optim.Optimizer, descent: Descent, world: Processes, device: torch.device
    ) -> None:
        self.module, self.optimiser, self.world, self.device = module, optimiser, world, device
        self.precision = precision_of(descent.precision, device)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.precision == "float16")
        self.sums: Tensor
        self.clear()
        self._parameters = list(parameters_of(optimiser))
        self._clip = float("inf") if descent.clip is None else descent.clip
        # Lengths differ from batch to batch: one graph for all of them.
        self._call: Callable[..., Tensor] = torch.compile(module, dynamic=True) if descent.compile else module

    def clear(self) -> None:
        """Begin a new epoch."""
        precise = torch.float32 if self.device.type == "mps" else torch.float64
        self.sums = torch.zeros(4, dtype=precise, device=self.device)

    def take(self, parts: Iterable[Part], count: int, rate: float, number: int) -> None:
        """Make one step.

        Arguments:
            parts: what this process takes of the batch.
            count: sentences of the whole batch, over all parts and processes.
            rate: the learning rate.
            number: of the step in its epoch, from 1.
        """
        set_rate(self.optimiser, rate)
        self.optimiser.zero_grad(set_to_none=True)
        loss = torch.zeros((), device=self.device)
        for size, inputs in parts:
            with self._autocast():
                mean = self._call(*inputs)
            share = mean.to(torch.promote_types(mean.dtype, torch.float32)) * (size / count)
            self.scaler.scale(share).backward()  # type: ignore[no-untyped-call]
            loss = loss + share.detach()
        loss = self.world.add_up(self._parameters, loss)
        self.scaler.unscale_(self.optimiser)
        norm = clip_grad_norm_(self._parameters, self._clip)
        self._update(loss, norm)
        self._note(loss, norm, count, number)

    def _autocast(self) -> contextlib.AbstractContextManager[Any]:
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, getattr(torch, self.precision))

    def _update(self, loss: Tensor, norm: Tensor) -> None:
        if not self.scaler.is_enabled():
            self.optimiser.found_inf = (~torch.isfinite(loss + norm)).float()  # type: ignore[attr-defined]
        self.scaler.step(self.optimiser)
        self.scaler.update()

    def _note(self, loss: Tensor, norm: Tensor, count: int, number: int) -> None:
        finite, before = torch.isfinite(norm), self.sums[3]
        good = torch.isfinite(loss) if self.scaler.is_enabled() else torch.isfinite(loss + norm)
        found = (loss * count, torch.where(finite, norm, 0.0), finite)
        self.sums[:3] += torch.stack([value.to(self.sums.dtype) for value in found])
        self.sums[3] = torch.where(good | (before > 0), before, number)

    def loss(self) -> float:
        """Return the sum of the losses so far; waits for the device."""
        return float(self.sums[0])

    def check(self, epoch: int) -> Totals:
        """Return what was reached so far; waits for the device. Raises where a step was not finite."""
        loss, norms, steps, bad = self.sums.tolist()
        if bad:
            raise InputError(
                f"epoch {epoch}, step {bad:.0f}: expected a finite loss and gradient, got NaN or infinity; lower "
                "learning_rate or clip, use precision='float32', or look for odd numbers in the embeddings"
            )
        return Totals(loss, norms / max(steps, 1))


def precision_of(precision: str, device: torch.device) -> str:
    """Return what "auto" means on a device."""
    if precision != "auto":
        return precision
    has = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bfloat16" if has else "float32"
