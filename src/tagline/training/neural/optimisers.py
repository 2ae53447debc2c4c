"""From parameter groups to an optimiser of PyTorch whose whole update is one fused operation.

Groups carry a ``rate``, by which the learning rate is multiplied, and may carry their own ``weight_decay``. A fused
update can be called off by a flag that stays on the device, ``found_inf``, as `GradScaler` does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.nn import Parameter

from tagline.errors import InputError
from tagline.training.neural.settings import Descent


def optimiser_of(groups: Sequence[Mapping[str, Any]], descent: Descent) -> torch.optim.Optimizer:
    """Make the optimiser; parameters that want no gradient are left out.

    Arguments:
        groups: ``{"params": …, "rate": 1.0, "weight_decay": …}``; rate and weight decay may be left out. Other
            entries are kept as they are.
    """
    complete = [_group(number, group, descent) for number, group in enumerate(groups)]
    trained = [group for group in complete if group["params"]]
    if not trained:
        raise InputError("groups: expected parameters that want a gradient, got none; not everything can be frozen")
    parameters = [parameter for group in trained for parameter in group["params"]]
    if len({id(parameter) for parameter in parameters}) < len(parameters):
        raise InputError("groups: expected each parameter in one group, got one of them twice")
    if descent.optimizer == "adamw":
        return torch.optim.AdamW(trained, lr=descent.learning_rate, fused=True)
    momentum = descent.momentum
    optimiser = torch.optim.SGD(trained, lr=descent.learning_rate, momentum=momentum, fused=True)
    if momentum:
        # Without a buffer, PyTorch's first fused step leaves garbage in a new one where the update is called off.
        for parameter in parameters:
            optimiser.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    return optimiser


def _group(number: int, group: Mapping[str, Any], descent: Descent) -> dict[str, Any]:
    rate = group.get("rate", 1.0)
    if not (math.isfinite(rate) and rate >= 0):
        name = group.get("name", number)
        raise InputError("groups: expected a rate of 0 or more, got {} for the group {!r}", rate, name)
    wanted = [parameter for parameter in group["params"] if parameter.requires_grad]
    return {"weight_decay": descent.weight_decay, **group, "rate": rate, "params": wanted}


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of every group: the rate × its own."""
    for group in optimiser.param_groups:
        group["lr"] = rate * group["rate"]


def parameters_of(optimiser: torch.optim.Optimizer) -> Iterator[Parameter]:
    """Yield what the optimiser updates."""
    for group in optimiser.param_groups:
        yield from group["params"]
