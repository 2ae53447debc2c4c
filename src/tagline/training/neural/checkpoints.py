"""Networks in a checkpoint: from tensors to the arrays of a `State` and back.

weights/NAME, best/NAME    the network now, and where its dev score was best
optimiser/NUMBER/NAME      the state of each parameter
mean/NUMBER                its running mean, where one is kept
generators                 uint8 [processes, n], states of random numbers
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module
from torch.optim import SGD, AdamW

from tagline.errors import StorageError
from tagline.messages import message
from tagline.training.neural import randomness
from tagline.training.neural.optimisers import parameters_of
from tagline.training.neural.settings import Descent
from tagline.training.neural.steps import Steps, Totals
from tagline.training.running.checkpoints import DAMAGED, State
from tagline.types import IntArray

_NUMBER = re.compile("[0-9]{1,9}")


def network_state(steps: Steps) -> State:
    """Return network, optimiser, running mean, random numbers and what the epoch has reached; all processes call it."""
    tensors = {f"weights/{name}": value for name, value in weights_of(steps.module).items()}
    for number, state in steps.optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser/{number}/{name}": value for name, value in state.items() if value is not None}
    tensors |= {f"mean/{number}": value for number, value in enumerate(steps.average.mean)}
    tensors["generators"] = steps.world.gathered(randomness.state(steps.device))
    values = {"scaler": steps.scaler.state_dict(), "totals": asdict(steps.totals()), "updates": steps.average.updates}
    return State(values, {name: stored(value) for name, value in tensors.items()})


def restore_network(state: State, steps: Steps) -> None:
    """Put everything back; the network is not changed unless all of it fits."""
    totals, states, scaler = _totals(state), _optimiser_state(state, steps), state.value("scaler", dict)
    mean = [_restored(state, f"mean/{number}", like) for number, like in enumerate(steps.average.mean)]
    updates = counted(state, "updates")
    weights = restored_weights(state, "weights/", steps.module)
    _restore_generators(state, steps)
    for tensor, value in zip(steps.average.mean, mean, strict=True):
        tensor.copy_(value)
    steps.average.updates = updates
    put(steps.module, weights)
    steps.optimiser.load_state_dict({"state": states, "param_groups": steps.optimiser.state_dict()["param_groups"]})
    steps.reset(totals)
    if scaler:
        steps.scaler.load_state_dict(scaler)


def facts_of(lengths: IntArray, descent: Descent, steps: Steps) -> dict[str, Any]:
    """Return what must be the same for a run to be resumed; when to stop need not be."""
    settings = {name: value for name, value in asdict(descent).items() if name not in ("patience", "max_seconds")}
    sizes = np.ascontiguousarray(lengths, np.int64)
    shapes = {name: (list(value.shape), str(value.dtype)) for name, value in weights_of(steps.module).items()}
    return {
        **settings,
        "precision": steps.precision,
        "device": steps.device.type,
        "processes": steps.world.count,
        "sentences": len(sizes),
        "tokens": int(sizes.sum()),
        "lengths": f"{zlib.crc32(sizes.tobytes()):08x}",
        "weights": sum(value.numel() for value in weights_of(steps.module).values()),
        "shapes": f"{zlib.crc32(json.dumps(shapes).encode()):08x}",
    }


def weights_of(module: Module) -> dict[str, Tensor]:
    """Return parameters and buffers by name; they share memory with the network."""
    return {name: value for name, value in module.state_dict().items() if isinstance(value, Tensor)}


def copy_of(module: Module) -> dict[str, Tensor]:
    """Return a copy of the weights on the CPU, where memory is plenty."""
    return {name: value.detach().to("cpu", copy=True) for name, value in weights_of(module).items()}


def put(module: Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights into a network."""
    with torch.no_grad():
        for name, value in weights_of(module).items():
            value.copy_(weights[name])


def restored_weights(state: State, prefix: str, module: Module) -> dict[str, Tensor]:
    """Return the weights that stand under a prefix, on the CPU."""
    return {name: _restored(state, f"{prefix}{name}", value) for name, value in weights_of(module).items()}


def counted(state: State, name: str, least: int = 0, most: int = 2**62) -> int:
    """Return a whole number, where it is within limits."""
    number: int = state.value(name, int)
    if not least <= number <= most:
        raise _damaged(state, message("{} to {} as {}", least, most, name), f"{number!r:.60}")
    return number


def _damaged(state: State, expected: str, got: str) -> StorageError:
    return StorageError("{}: expected {}, got {}; {}", state.source, expected, got, DAMAGED)


def _totals(state: State) -> Totals:
    totals = State(state.value("totals", dict), source=state.source)
    return Totals(totals.value("loss", float), totals.value("norms", float), counted(totals, "counted"))


def _restore_generators(state: State, steps: Steps) -> None:
    rows = state.array("generators", "uint8", steps.world.count, len(randomness.state(steps.device)))
    try:
        randomness.restore(torch.from_numpy(rows[steps.world.rank].copy()), steps.device)
    except RuntimeError as error:
        raise StorageError("{}: expected states of generators, got: {}; {}", state.source, error, DAMAGED) from None


def _optimiser_state(state: State, steps: Steps) -> dict[int, dict[str, Tensor]]:
    """Return the state of each parameter by its number: the counter ``step``, and tensors of the parameter's shape."""
    parameters = list(parameters_of(steps.optimiser))
    states: dict[int, dict[str, Tensor]] = {}
    for name in state.arrays:
        group, _, rest = name.partition("/")
        if group == "optimiser":
            number, _, key = rest.partition("/")
            if not (_NUMBER.fullmatch(number) and int(number) < len(parameters)):
                raise _damaged(state, message("{} parameters", len(parameters)), f"{name!r:.60}")
            like = torch.zeros(()) if key == "step" else parameters[int(number)]
            states.setdefault(int(number), {})[key] = _restored(state, name, like)
    wanted = {"step", "exp_avg", "exp_avg_sq"} if isinstance(steps.optimiser, AdamW) else {"momentum_buffer"}
    for place, entries in states.items():
        if set(entries) != wanted or not entries.get("step", torch.ones(())) >= 0:
            raise _damaged(
                state,
                message("{} of parameter {}", ", ".join(sorted(wanted)), place),
                ", ".join(sorted(entries))[:60],
            )
    if isinstance(steps.optimiser, SGD) and steps.optimiser.defaults["momentum"] and len(states) < len(parameters):
        raise _damaged(
            state,
            message("the momentum of {} parameters", len(parameters)),
            f"{len(states)}",
        )
    return states


def stored(value: Tensor) -> NDArray[Any]:
    """Return a tensor as a file has it: bfloat16 by its bits, since NumPy has no such type."""
    plain = value.detach().cpu()
    array: NDArray[Any] = (plain.view(torch.int16) if plain.dtype == torch.bfloat16 else plain).numpy()
    return array


def _restored(state: State, name: str, like: Tensor) -> Tensor:
    """Return a tensor of a file, on the CPU, which must have the dtype and shape of `like`."""
    dtype = stored(torch.empty(0, dtype=like.dtype)).dtype
    value = torch.from_numpy(state.array(name, dtype, *like.shape))
    return value.view(torch.bfloat16) if like.dtype == torch.bfloat16 else value
