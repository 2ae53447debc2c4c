"""The doors by name; a door whose packages are missing is left out."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from tests.fuzz.doors.base import Door

NAMES = {
    "texts": "columns jsonl conllu text tags templates toml vectors dictionaries subwords",
    "files": "crf memm semicrf crf-items hmm hmm-vectors trigram compiled",
    "runs": "runs",
    "networks": "bilstm transformer checkpoint",
    "chains": "chain",
    "foreign": "pickles parquet conversions",
    "requests": "requests",
    "values": "questions settings arguments",
}
"""Which module has which doors: a worker imports that of its own door alone."""


def door_named(name: str) -> type[Door]:
    """Return a door by its name; that of the module `broken` is for tests of the fuzzer itself."""
    module = next((module for module, names in NAMES.items() if name in names.split()), "broken")
    return {door.name: door for door in import_module(f"tests.fuzz.doors.{module}").DOORS}[name]


def doors() -> dict[str, type[Door]]:
    """Return the doors that can be tried here."""
    known = {name: door_named(name) for names in NAMES.values() for name in names.split()}
    return {name: door for name, door in known.items() if all(find_spec(package) is not None for package in door.needs)}
