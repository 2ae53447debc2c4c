"""Which settings a search tries: a space, from a TOML file or the usual one of a kind of model, and draws from it.

A file has a key for each setting, at the top or in a table named for the kind (``[crf]``). A list is a choice; a table
``{low = 0.01, high = 10, log = true}`` is a range, of whole numbers where both ends are whole and `log` is left out;
anything else is fixed.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.models.registry import Kind
from tagline.readers.sources import read_bytes

DIGITS = 3  # of numbers that are drawn: more say nothing


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`; with `log` each power of ten is as likely as the next."""

    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        """Whether numbers are whole."""
        return isinstance(self.low, int) and isinstance(self.high, int) and not self.log

    def rvs(self, random_state: Any) -> float:
        """Draw a number, as scikit-learn's samplers ask for it."""
        if self.whole:
            return int(random_state.randint(self.low, self.high + 1))
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        value = float(random_state.uniform(low, high))
        return float(f"{math.exp(value) if self.log else value:.{DIGITS}g}")


Space = Mapping[str, Range | list[Any]]

FIXED = ("max_iterations", "epochs", "patience", "cache", "checkpoint", "resume", "save_every", "log", "tensorboard")


def usual_space(kind: Kind) -> Space:
    """Return what is tried of a kind where nobody says: what its settings declare."""
    space = {name: _domain(entry.setting.tune) for name, entry in kind.options.items() if entry.setting.tune}
    if not space:
        raise InputError("--space: expected a file for --model {}, which has no usual space, got none", kind.name)
    return space


def _domain(declared: Any) -> Range | list[Any]:
    return Range(**declared) if isinstance(declared, dict) else declared


def read_space(path: str, kind: Kind) -> Space:
    """Read a space; each setting must be one that `tagline train` has for the kind, with values that it takes."""
    try:
        values = tomllib.loads(read_bytes(path).tobytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("{}: expected TOML, got: {}", path, error) from None
    if isinstance(values.get(kind.name), dict):
        values = values[kind.name]
    if not values:
        raise InputError("{}: expected settings to try, got none; for instance c2 = [0.1, 1.0]", path)
    return {name: _checked(path, kind, name, value) for name, value in values.items()}


def _checked(path: str, kind: Kind, name: str, value: Any) -> Range | list[Any]:
    if name not in kind.options:
        raise InputError(
            "{}: expected a setting of --model {} ({}), got {}", path, kind.name, ", ".join(kind.options), name
        )
    if name in FIXED:
        raise InputError(
            "{}: expected a setting that trials do not fix themselves, got {}; --passes says how long they run",
            path,
            name,
        )
    domain = _range(path, name, value) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    if domain == []:
        raise InputError("{}: expected values to choose from for {}, got none", path, name)
    for number in (domain.low, domain.high) if isinstance(domain, Range) else domain:
        kind.options[name].read(number, f"{path}, {name}")
    return domain if isinstance(domain, Range) else [_whole_path(value) for value in domain]


def _whole_path(value: Any) -> Any:
    """Return the whole path of a file, such as a template: workers have other working folders."""
    return os.path.abspath(value) if isinstance(value, str) and os.path.exists(value) else value


def _range(path: str, name: str, value: Mapping[str, Any]) -> Range:
    numbers = [value.get(end) for end in ("low", "high")]
    usable = set(value) <= {"low", "high", "log"} and all(type(number) in (int, float) for number in numbers)
    if not usable or not isinstance(value.get("log", False), bool):
        raise InputError("{}: expected low, high and perhaps log for {}, got {}", path, name, shown_value(dict(value)))
    low, high, log = value["low"], value["high"], value.get("log", False)
    if not low < high or not (math.isfinite(low) and math.isfinite(high)) or (log and low <= 0):
        above = " above 0" if log else ""
        raise InputError("{}: expected low < high{} for {}, got {} and {}", path, above, name, low, high)
    return Range(low, high, log)


def draws(space: Space, count: int, seed: int) -> list[dict[str, Any]]:
    """Draw settings to try; fewer where a space of lists alone has not so many."""
    from sklearn.model_selection import ParameterGrid, ParameterSampler  # type: ignore[import-untyped]

    finite = not any(isinstance(domain, Range) for domain in space.values())
    most = len(ParameterGrid(dict(space))) if finite else count
    return list(ParameterSampler(dict(space), min(count, most), random_state=seed))
