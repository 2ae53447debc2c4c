"""Which of several engines answers: named by the environment, for good, or inside a ``with`` block.

The engine on arrays and the engine on tensors each have one choice. An engine is a module of each room that has
questions (chains, second-order chains, segments, tensors): `Backends` holds those of one room by their names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from tagline.checks import check_choice


class Backends(dict[str, ModuleType]):
    """The modules of a room by the names of engines, each imported when it is first asked for."""

    def __init__(self, room: str) -> None:
        self.room = room

    def __missing__(self, name: str) -> ModuleType:
        module = self[name] = import_module(f"{self.room}.{name}")
        return module


class EngineChoice:
    """The name of the engine that answers.

    Arguments:
        what: is chosen, for messages.
        variable: of the environment, which is read once, when the choice is made for the first time.
        engines: their names.
        default: the name that counts where nothing else is said.
        require: raises where an engine is missing, given its name and who asked for it.
    """

    def __init__(
        self, what: str, variable: str, engines: Sequence[str], default: str, require: Callable[[str, str], None]
    ) -> None:
        self.what, self.engines, self._require = what, engines, require
        self.name = self._checked(os.environ.get(variable) or default, variable)

    def use(self, name: str) -> None:
        """Choose an engine from now on."""
        self.name = self._checked(name, self.what)

    @contextmanager
    def using(self, name: str) -> Iterator[None]:
        """Choose an engine inside a ``with`` block."""
        before = self.name
        self.use(name)
        try:
            yield
        finally:
            self.name = before

    def _checked(self, name: str, source: str) -> str:
        check_choice(source, name, self.engines)
        self._require(name, source)
        return name
