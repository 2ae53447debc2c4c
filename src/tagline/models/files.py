"""A model in one file: `save`, `size_`, pickle and copy, for every kind that says what lies in its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

from tagline import storage

Packed = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""The settings and the arrays of a file."""


class Stored:
    """The methods that keep a model."""

    _LEARNED: ClassVar[tuple[str, ...]]
    """Attributes that a file stands for; a fitted model has the first of them."""

    def save(self, path: storage.Path) -> None:
        """Write the model to one file, whole or not at all; `tagline.load` reads it."""
        storage.write(path, *self._packed())

    @property
    def size_(self) -> int:
        """The size of the model file in bytes."""
        return len(storage.dumps(*self._packed()))

    def _packed(self) -> Packed:
        """Say what lies in the file of this model."""
        raise NotImplementedError

    def _take(self, file: storage.ModelFile) -> None:
        """Take on what was learned, from a file; settings stay as they are."""
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        raise NotImplementedError

    def _set(self, settings: Mapping[str, Any]) -> None:
        """Take on the settings of a file, as far as this version knows them."""
        known = self._settings()
        for name, value in settings.items():
            if name in known:
                setattr(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy keep: of a fitted model the bytes of its file, everything else as it is."""
        state = dict(vars(self))
        if self._LEARNED[0] in state:
            state["_file"] = storage.dumps(*self._packed())
            for name in self._LEARNED:
                del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = dict(state)
        data = rest.pop("_file", None)
        self.__dict__.update(rest)
        if data is not None:
            self._take(storage.loads(data, source="<pickle>"))
