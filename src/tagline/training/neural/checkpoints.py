"""A run in one file, from which it goes on as if it had never stopped: our model file's format, written atomically.

    weights/NAME, best/NAME    the network now, and where its dev score was best
    optimiser/NUMBER/NAME      the state of each parameter
    mean/NUMBER                its running mean, where one is kept
    generators                 uint8 [processes, n], states of random numbers

The settings hold where the run stands, its history, and the facts that a resumed run must share.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module
from torch.optim import SGD, AdamW

from tagline.errors import StorageError
from tagline.storage import ModelFile, Path, write
from tagline.training.neural import randomness
from tagline.training.neural.journal import Epoch
from tagline.training.neural.optimisers import parameters_of
from tagline.training.neural.settings import Descent
from tagline.training.neural.steps import Steps, Totals
from tagline.training.running.checkpoints import DAMAGED, KIND, check_facts, entries_of, opened, written
from tagline.types import IntArray

_NUMBER = re.compile("[0-9]{1,9}")


@dataclass(frozen=True, eq=False)
class Best:
    """Weights that scored best, on the CPU."""

    epoch: int
    score: float
    weights: dict[str, Tensor]


@dataclass(eq=False)
class Standing:
    """Where a run stands: `step` steps of `epoch` are done, in `training` seconds; the whole run took `seconds`."""

    epoch: int = 1
    step: int = 0
    seconds: float = 0.0
    training: float = 0.0
    history: list[Epoch] = field(default_factory=list)
    best: Best | None = None


def save(path: Path, facts: Mapping[str, Any], standing: Standing, steps: Steps, generators: Tensor) -> None:
    """Write a checkpoint; it replaces an older one only when it is complete."""
    best = standing.best
    config = {
        "model": KIND,
        "facts": dict(facts),
        **{name: getattr(standing, name) for name in ("epoch", "step", "seconds", "training")},
        "history": [{name: written(value) for name, value in asdict(epoch).items()} for epoch in standing.history],
        "best": None if best is None else {"epoch": best.epoch, "score": best.score},
        "scaler": steps.scaler.state_dict(),
        "totals": asdict(steps.totals()),
        "updates": steps.average.updates,
    }
    tensors = {f"weights/{name}": value for name, value in weights_of(steps.module).items()}
    tensors |= {f"best/{name}": value for name, value in (best.weights if best else {}).items()}
    for number, state in steps.optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser/{number}/{name}": value for name, value in state.items() if value is not None}
    tensors |= {f"mean/{number}": value for number, value in enumerate(steps.average.mean)}
    tensors["generators"] = generators
    write(path, config, {name: _stored(value) for name, value in tensors.items()})


def load(path: Path, facts: Mapping[str, Any], steps: Steps) -> Standing:
    """Put network, optimiser and random numbers back to a checkpoint, and return where the run stands.

    The network is not changed unless the whole file fits. A file of other settings or data is an error that says what
    differs.
    """
    file = opened(path)
    check_facts(file.source, file.setting("facts", dict), facts)
    standing = _standing(file, facts, steps.module)
    totals, states, scaler = _totals(file), _optimiser_state(file, steps), file.setting("scaler", dict)
    mean = [_restored(file, f"mean/{number}", like) for number, like in enumerate(steps.average.mean)]
    updates = _counted(file, file.setting("updates", int), "updates of the mean")
    _restore_generators(file, steps)
    for tensor, value in zip(steps.average.mean, mean, strict=True):
        tensor.copy_(value)
    steps.average.updates = updates
    put(steps.module, _weights(file, "weights", steps.module))
    steps.optimiser.load_state_dict({"state": states, "param_groups": steps.optimiser.state_dict()["param_groups"]})
    steps.reset(totals)
    if scaler:
        steps.scaler.load_state_dict(scaler)
    return standing


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


def _standing(file: ModelFile, facts: Mapping[str, Any], module: Module) -> Standing:
    epoch = _counted(file, file.setting("epoch", int), "the epoch", 1, facts["epochs"] + 1)
    step = _counted(file, file.setting("step", int), "the step", 0, facts["sentences"])
    history = _history(file, epoch - 1)
    best = None
    if file.config.get("best") is not None:
        stored = ModelFile(file.setting("best", dict), {}, source=file.source)
        number = _counted(file, stored.setting("epoch", int), "the best epoch", 1, epoch - 1)
        best = Best(number, stored.setting("score", float), _weights(file, "best", module))
    seconds, training = (max(file.setting(name, float), 0.0) for name in ("seconds", "training"))
    return Standing(epoch, step, seconds, training, history, best)


def _history(file: ModelFile, count: int) -> list[Epoch]:
    """The epochs that are done, one after the other."""
    rows = file.setting("history", list)
    if not all(isinstance(row, dict) for row in rows) or len(rows) != count:
        raise _damaged(file, f"{count} epochs in the history", f"{len(rows)} entries")
    return list(entries_of(Epoch, rows, file.source))


def _counted(file: ModelFile, number: int, what: str, least: int = 0, most: int = 2**62) -> int:
    """The number, where it is within limits."""
    if not least <= number <= most:
        raise _damaged(file, f"{least} to {most} as {what}", f"{number!r:.60}")
    return number


def _damaged(file: ModelFile, expected: str, got: str) -> StorageError:
    return StorageError(f"{file.source}: expected {expected}, got {got}; {DAMAGED}")


def _totals(file: ModelFile) -> Totals:
    stored = ModelFile(file.setting("totals", dict), {}, source=file.source)
    counted = _counted(file, stored.setting("counted", int), "steps that were counted")
    return Totals(stored.setting("loss", float), stored.setting("norms", float), counted)


def _weights(file: ModelFile, group: str, module: Module) -> dict[str, Tensor]:
    return {name: _restored(file, f"{group}/{name}", value) for name, value in weights_of(module).items()}


def _restore_generators(file: ModelFile, steps: Steps) -> None:
    rows = file.tensor("generators", "uint8", steps.world.count, len(randomness.state(steps.device)))
    try:
        randomness.restore(torch.from_numpy(rows[steps.world.rank].copy()), steps.device)
    except RuntimeError as error:
        raise StorageError(f"{file.source}: expected states of generators, got: {error}; {DAMAGED}") from None


def _optimiser_state(file: ModelFile, steps: Steps) -> dict[int, dict[str, Tensor]]:
    """Return the state of each parameter by its number: the counter ``step``, and tensors of the parameter's shape."""
    parameters = list(parameters_of(steps.optimiser))
    states: dict[int, dict[str, Tensor]] = {}
    for name in file.tensors:
        group, _, rest = name.partition("/")
        if group == "optimiser":
            number, _, key = rest.partition("/")
            if not (_NUMBER.fullmatch(number) and int(number) < len(parameters)):
                raise _damaged(file, f"{len(parameters)} parameters", f"{name!r:.60}")
            like = torch.zeros(()) if key == "step" else parameters[int(number)]
            states.setdefault(int(number), {})[key] = _restored(file, name, like)
    wanted = {"step", "exp_avg", "exp_avg_sq"} if isinstance(steps.optimiser, AdamW) else {"momentum_buffer"}
    for place, state in states.items():
        if set(state) != wanted or not state.get("step", torch.ones(())) >= 0:
            raise _damaged(file, f"{', '.join(sorted(wanted))} of parameter {place}", ", ".join(sorted(state))[:60])
    if isinstance(steps.optimiser, SGD) and steps.optimiser.defaults["momentum"] and len(states) < len(parameters):
        raise _damaged(file, f"the momentum of {len(parameters)} parameters", f"{len(states)}")
    return states


def _stored(value: Tensor) -> NDArray[Any]:
    """Return a tensor as a file has it: bfloat16 by its bits, since NumPy has no such type."""
    plain = value.detach().cpu()
    array: NDArray[Any] = (plain.view(torch.int16) if plain.dtype == torch.bfloat16 else plain).numpy()
    return array


def _restored(file: ModelFile, name: str, like: Tensor) -> Tensor:
    """Return a tensor of a file, on the CPU, which must have the dtype and shape of `like`."""
    dtype = _stored(torch.empty(0, dtype=like.dtype)).dtype
    value = torch.from_numpy(file.tensor(name, dtype, *like.shape).copy())
    return value.view(torch.bfloat16) if like.dtype == torch.bfloat16 else value
