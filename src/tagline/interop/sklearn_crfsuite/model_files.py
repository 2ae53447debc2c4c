"""The file that a `CRF` of sklearn-crfsuite keeps its model in: a named one, or a temporary one that goes into pickles.

`FileResource` has the attributes of theirs, so that the state of one is the state of the other: a pickle of
sklearn-crfsuite, unpickled with our module in its place, is a model here.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any

from tagline.messages import message

DATA = "__FILE_RESOURCE_DATA__"  # where the state of a pickle has the bytes of the file


class FileResource:
    """A file by name, or a temporary one that is deleted with the object.

    Arguments:
        filename: None for a temporary file, whose `name` is None until `ensure_name`.
        keep_tempfiles: leave temporary files where they are.
        suffix, prefix: of the name of a temporary file.
    """

    name: str | None

    def __init__(
        self, filename: str | None = None, keep_tempfiles: bool = False, suffix: str = "", prefix: str = ""
    ) -> None:
        self.name = filename
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self.suffix = suffix
        self.prefix = prefix

    def ensure_name(self) -> None:
        """Make a temporary file where there is none yet."""
        if self.name is not None:
            return
        if not self.auto:
            raise ValueError(message("File name is not provided"))
        self.fd, self.name = tempfile.mkstemp(self.suffix, self.prefix)

    def cleanup(self) -> None:
        """Delete the file if it is a temporary one that need not be kept."""
        if self.keep_tempfiles or not self.auto or self.name is None:
            return
        with contextlib.suppress(OSError):  # somebody else has deleted it
            os.close(self.fd)
            os.unlink(self.name)
        self.name = None

    def refresh(self) -> None:
        """Begin with a new temporary file; a named one stays."""
        self.cleanup()
        self.ensure_name()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter may be gone by half
            self.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle keeps: the bytes of a temporary file instead of its name."""
        state = self.__dict__.copy()
        if self.auto and self.name is not None:
            with contextlib.suppress(OSError), open(self.name, "rb") as file:
                state[DATA] = file.read()
            state["name"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        data = state.pop(DATA, None)
        self.__dict__.update(state)
        if data is None:
            return
        self.ensure_name()
        assert self.name is not None
        with open(self.name, "wb") as file:
            file.write(data)
