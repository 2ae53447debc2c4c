"""What the public API is: every public name with its signature, as lines of text.

``python -m tests.api`` (or ``make api``) writes them to ``tests/api.txt``; ``tests/test_api.py`` compares.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

SNAPSHOT = Path(__file__).parent / "api.txt"
MODULES = ("", "chain", "datasets", "evaluation", "features", "nn", "plots", "readers", "scale")


def signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    return re.sub(r" at 0x[0-9a-f]+>", ">", str(inspect.Signature(plain)))


def members(name: str, owner: type) -> Iterator[str]:
    """Yield the public methods and properties of a class that are ours."""
    for member in sorted(dir(owner)):
        value = inspect.getattr_static(owner, member)
        if member.startswith("_"):
            continue
        home = next(base for base in owner.__mro__ if member in vars(base))
        if not home.__module__.startswith("tagline"):
            continue
        if isinstance(value, staticmethod | classmethod) or inspect.isfunction(value):
            yield f"{name}.{member}{signature(getattr(owner, member))}"
        else:
            yield f"{name}.{member}"


def describe(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield f"{name}: module"
    elif isinstance(value, type):
        yield f"{name}{signature(value)}: class"
        yield from members(name, value)
    elif callable(value):
        yield f"{name}{signature(value)}"
    else:
        yield name


def lines() -> list[str]:
    """List the API, module by module, name by name."""
    found: list[str] = []
    for module in MODULES:
        home = f"tagline.{module}".rstrip(".")
        room = import_module(home)
        for name in sorted(room.__all__):
            found.extend(describe(f"{home}.{name}", getattr(room, name)))
    return found


if __name__ == "__main__":
    SNAPSHOT.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
