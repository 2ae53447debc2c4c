"""Ctrl-C as a request: noted, and honoured after the step that is under way."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType

SOON = 1.0  # seconds in which a second Ctrl-C is taken for the first


class Interrupts:
    """While it is entered, Ctrl-C is noted; another one, a second later or more, raises `KeyboardInterrupt` as usual.

    Only Python's own handler is replaced: a program that ignores or handles Ctrl-C itself goes on doing so. Outside the
    main thread nothing changes, since signals never arrive there.
    """

    def __init__(self) -> None:
        self.noted = False
        self._replaced = False
        self._when = 0.0

    def __enter__(self) -> Interrupts:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._replaced = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._replaced:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.noted and now - self._when >= SOON:
            raise KeyboardInterrupt
        if not self.noted:
            self.noted, self._when = True, now
