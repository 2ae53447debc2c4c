"""One step of the descent: loss, gradient, clipping, update; nothing in it waits for the device.

With n_p of the n sentences of a step in part p, and loss_p the mean over them, the gradient is that of

    Σ_p (n_p / n) · loss_p      = the mean over all n, however they are split over parts and processes.

A step whose loss or gradient is not finite changes no weight, and `Steps.check` finds it. Losses stay on the device
until they are asked for. With float16 the loss is scaled up, and steps whose gradient then overflows are left out.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.utils import clip_grad_norm_

from tagline.errors import InputError
from tagline.training.neural.averages import Average
from tagline.training.neural.optimisers import parameters_of, set_rate
from tagline.training.neural.processes import Processes
from tagline.training.neural.settings import Descent

Part = tuple[int, tuple[Any, ...]]
"""How many sentences, and what the network is called with."""


@dataclass(frozen=True)
class Totals:
    """Of the steps of an epoch so far.

    Attributes:
        loss: sum over the sentences.
        norms: sum of the gradient norms that were finite.
        counted: how many of those.
        bad: the first step that was not finite, from 1; 0 for none.
    """

    loss: float = 0.0
    norms: float = 0.0
    counted: int = 0
    bad: int = 0

    @property
    def gradient_norm(self) -> float:
        """The mean of the finite ones."""
        return self.norms / max(self.counted, 1)


class Steps:
    """The network, its optimiser, and what they have reached since the beginning of the epoch."""

    def __init__(
        self, module: Module, optimiser: torch.optim.Optimizer, descent: Descent, world: Processes, device: torch.device
    ) -> None:
        self.module, self.optimiser, self.world, self.device = module, optimiser, world, device
        self.precision = precision_of(descent.precision, device)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.precision == "float16")
        self._totals = Totals()
        self._waiting: list[tuple[int, int, Tensor, Tensor]] = []  # step, sentences, loss and norm, on the device
        self._parameters = list(parameters_of(optimiser))
        self.average = Average(self._parameters, descent.average)
        self._clip = float("inf") if descent.clip is None else descent.clip
        # Lengths differ from batch to batch: one graph for all of them.
        self._call: Callable[..., Tensor] = torch.compile(module, dynamic=True) if descent.compile else module

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
        losses = []
        for size, inputs in parts:
            with self._autocast():
                mean = self._call(*inputs)
            share = mean.to(torch.promote_types(mean.dtype, torch.float32)) * (size / count)
            self.scaler.scale(share).backward()  # type: ignore[no-untyped-call]
            losses.append(share.detach())
        if not losses:  # another process has them all; the scaler must have scaled something
            losses.append(self.scaler.scale(torch.zeros((), device=self.device)))
        loss = sum(losses[1:], losses[0])
        loss = self.world.add_up(self._parameters, loss)
        self.scaler.unscale_(self.optimiser)
        norm = clip_grad_norm_(self._parameters, self._clip)
        self._update(loss, norm)
        self._waiting.append((number, count, loss, norm))

    def _autocast(self) -> contextlib.AbstractContextManager[Any]:
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, getattr(torch, self.precision))

    def _update(self, loss: Tensor, norm: Tensor) -> None:
        if not self.scaler.is_enabled():
            both = loss + norm
            self.optimiser.found_inf = (both - both != 0).float()  # type: ignore[attr-defined]
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.average.update()

    def totals(self) -> Totals:
        """Return what was reached so far; waits for the device."""
        if self._waiting:
            steps, counts, *tensors = zip(*self._waiting, strict=True)
            losses, norms = (torch.stack(values).tolist() for values in tensors)
            for step, count, loss, norm in zip(steps, counts, losses, norms, strict=True):
                self._totals = self._added(step, count, loss, norm)
            self._waiting.clear()
        return self._totals

    def _added(self, step: int, count: int, loss: float, norm: float) -> Totals:
        """Return the totals with one more step; added one by one, the sums do not depend on when they are read."""
        now, finite = self._totals, math.isfinite(norm)
        good = math.isfinite(loss) and (finite or self.scaler.is_enabled())
        return Totals(
            now.loss + loss * count,
            now.norms + (norm if finite else 0.0),
            now.counted + finite,
            now.bad or (0 if good else step),
        )

    def check(self, epoch: int) -> Totals:
        """Return what was reached so far; raise where a step was not finite."""
        totals = self.totals()
        if totals.bad:
            raise InputError(
                "epoch {}, step {}: expected a finite loss and gradient, got NaN or infinity; lower "
                "learning_rate or clip, use precision='float32', or look for odd numbers in the embeddings",
                epoch,
                totals.bad,
            )
        return totals

    def reset(self, totals: Totals) -> None:
        """Go on from totals: those of a checkpoint, or none at the beginning of an epoch."""
        self._waiting.clear()
        self._totals = totals


def precision_of(precision: str, device: torch.device) -> str:
    """Return what "auto" means on a device."""
    if precision != "auto":
        return precision
    has = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bfloat16" if has else "float32"
