"""Which of several engines answers: named by the environment, for good, or inside a ``with`` block.

The engine on arrays and the engine on tensors each have one choice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tagline.checks import check_choice


class EngineChoice:
    """The name of the engine that answers.

    Arguments:
        what: is chosen, for messages.
        variable: of the environment, which counts until a choice is made.
        engines: their names.
        default: the name that counts where nothing else is said.
        require: raises where an engine is missing, given its name and who asked for it.
    """

    def __init__(
        self, what: str, variable: str, engines: Sequence[str], default: str, require: Callable[[str, str], None]
    ) -> None:
        self.what, self.variable, self.engines, self.default = what, variable, engines, default
        self._require = require
        self._chosen: str | None = None

    @property
    def name(self) -> str:
        """The name of the engine that answers."""
        if self._chosen is not None:
            return self._chosen
        return self._checked(os.environ.get(self.variable) or self.default, self.variable)

    def use(self, name: str) -> None:
        """Choose an engine from now on."""
        self._chosen = self._checked(name, self.what)

    @contextmanager
    def using(self, name: str) -> Iterator[None]:
        """Choose an engine inside a ``with`` block."""
        before = self._chosen
        self.use(name)
        try:
            yield
        finally:
            self._chosen = before

    def _checked(self, name: str, source: str) -> str:
        check_choice(source, name, self.engines)
        self._require(name, source)
        return name
