"""SIGTERM and SIGHUP end a command as Ctrl-C does: what was begun is put away, and no half file stays behind.

A second signal ends it at once.
"""

from __future__ import annotations

import signal
from types import FrameType

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(BaseException):
    """Raised where a signal came; not an `Exception`, so that nothing on the way takes it for a failure.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def raise_on_signals() -> None:
    """Let signals that would end the process raise `Ended`; those that are ignored, as by nohup, stay so."""
    for number in _SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    for other in _SIGNALS:
        if signal.getsignal(other) is _end:
            signal.signal(other, signal.SIG_DFL)
    raise Ended(number)
