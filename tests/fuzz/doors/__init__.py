"""The doors by name; a door whose packages are missing is left out."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from tests.fuzz.doors.base import Door

_MODULES = ("texts", "files", "networks", "chains", "values")


def doors() -> dict[str, type[Door]]:
    """Return the doors that can be tried here."""
    out: dict[str, type[Door]] = {}
    for name in _MODULES:
        for door in import_module(f"tests.fuzz.doors.{name}").DOORS:
            if all(find_spec(package) is not None for package in door.needs):
                out[door.name] = door
    return out
