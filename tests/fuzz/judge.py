"""What counts as a find: anything but an answer or one of Tagline's own errors, and anything that takes too much."""

from __future__ import annotations

import contextlib
import resource
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from tagline.errors import TaglineError
from tests.fuzz.doors.base import Door

MOST_SECONDS = 5.0  # of CPU time for one input; none here is larger than 64 KB
MOST_MEMORY = 1500  # MB that an input may take on top of what the process has
LONGEST_MESSAGE = 4000  # characters of an error


@dataclass(frozen=True)
class Find:
    """An input that a door does not take as it should.

    Attributes:
        door: its name.
        data: the input.
        what: one line: the exception and where it was raised, or crash, hang.
        details: a traceback, or what else is known.
    """

    door: str
    data: bytes
    what: str
    details: str = ""


def try_out(door: Door, data: bytes) -> tuple[bool, Find | None]:
    """Hand an input in; say whether it was taken, and what is wrong with how it was."""
    start, taken = time.perf_counter(), False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            door.use(data)
        taken = True
    except TaglineError as error:
        if len(str(error)) > LONGEST_MESSAGE:
            return False, Find(door.name, data, f"message of {type(error).__name__} {_place(error)}", str(error)[:2000])
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        what = f"{type(error).__name__} {_place(error)}"
        if isinstance(error, AssertionError):
            what = f"nonsense: {error!s:.40}"
        return False, Find(door.name, data, what, traceback.format_exc())
    if time.perf_counter() - start < MOST_SECONDS:
        return taken, None
    return taken, _slow(door, data)


def _slow(door: Door, data: bytes) -> Find | None:
    """Try an input once more that took long: on a machine with much to do only its own time counts."""
    start = time.process_time()
    with contextlib.suppress(TaglineError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        door.use(data)
    seconds = time.process_time() - start
    return Find(door.name, data, "slow", f"{seconds:.1f} seconds") if seconds > MOST_SECONDS else None


def _place(error: BaseException) -> str:
    """Where an exception comes from: the last line of the package itself, and the last line of all."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/tagline/" in frame.filename]
    lines = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in (*own[-1:], *frames[-1:])]
    return " in ".join(dict.fromkeys(lines))


def limit_memory(megabytes: int = MOST_MEMORY) -> None:
    """Let this process have so much more memory than it has now; what would take more is a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
