"""The long form: workers try inputs, one process each, and are watched; what they find is written to a folder.

An input is a function of the door, the seed and its number, so a worker only notes the number before it tries the
input: if it crashes or hangs, the watcher makes the input again, writes it down, and the next worker goes on behind.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fuzz.doors import door_named
from tests.fuzz.doors.base import Door
from tests.fuzz.judge import Find, limit_memory, try_out

START = 900.0  # seconds until the first input, on a machine with much to do
HANG = 60.0  # seconds for one input: a loaded machine is slow, and inputs are small
MOST_ALIKE = 3  # finds of one kind that are written out
SIZE = struct.calcsize("<qqq")  # of a journal: number of the input, how many were taken, finds


def input_of(door: Door, seed: int, number: int) -> bytes:
    """Return one of the inputs of a campaign."""
    return door.draw(Random(f"{door.name} {seed} {number}"))


def keep(find: Find, folder: Path) -> Path:
    """Write a find to a folder: the input, and beside it what happened and how to see it again."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{find.door}-{hashlib.sha256(find.data).hexdigest()[:12]}"
    path.write_bytes(find.data)
    again = f"python -m tests.fuzz --replay {path}"
    path.with_name(path.name + ".txt").write_text(f"{find.what}\n{again}\n\n{find.details}\n", errors="replace")
    return path


def work(
    name: str, seed: int, first: int, last: int, seconds: float, journal: Path, finds: Path, limited: bool
) -> None:
    """Try inputs first … last − 1 for so many seconds; the journal says how far it is."""
    with tempfile.TemporaryDirectory(dir=shared_memory()) as scratch, journal.open("r+b") as stream:
        door = door_named(name)(Path(scratch))
        notes = mmap.mmap(stream.fileno(), SIZE)
        if limited:
            limit_memory()
        seen: Counter[str] = Counter()
        until = time.monotonic() + seconds
        taken = found = 0
        for number in range(first, last):
            notes[:] = struct.pack("<qqq", number, taken, found)
            if not number % 64 and time.monotonic() > until:
                last = number
                break
            accepted, find = try_out(door, input_of(door, seed, number))
            taken += accepted
            if find is not None:
                found += 1
                seen[find.what] += 1
                if seen[find.what] <= MOST_ALIKE:
                    path = keep(find, finds)
                    print(f"{name}: {find.what} ({path})", flush=True)
        notes[:] = struct.pack("<qqq", last, taken, found)


@dataclass
class Progress:
    """How far a door is."""

    name: str
    done: int = 0
    taken: int = 0
    finds: int = 0
    crashes: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        rate = self.done / self.seconds if self.seconds else 0.0
        share = 100 * self.taken / self.done if self.done else 0.0
        return (
            f"{self.name:14} {self.done:>11,} inputs {rate:>8,.0f}/s {share:5.1f} % taken "
            f"{self.finds:>5} finds {self.crashes:>3} crashes"
        )


@dataclass
class Campaign:
    """One door after the other.

    Attributes:
        seed: of all inputs.
        count: inputs of each door.
        seconds: for each door at most.
        finds: the folder for finds.
        first: number of the first input, to go on behind an earlier campaign.
        limited: whether memory is limited; AddressSanitizer takes terabytes of addresses.
        hang: seconds after which an input is taken to hang.
    """

    seed: int
    count: int
    seconds: float
    finds: Path
    first: int = 0
    limited: bool = True
    hang: float = HANG
    done: list[Progress] = field(default_factory=list)

    def run(self, name: str) -> Progress:
        """Try a door."""
        progress = Progress(name)
        number, last = self.first, self.first + self.count
        with tempfile.TemporaryDirectory() as folder:
            while number < last and progress.seconds < self.seconds:
                journal = Path(folder) / "journal"
                journal.write_bytes(struct.pack("<qqq", -1, 0, 0))
                status, output, seconds = self._watch(name, number, last, self.seconds - progress.seconds, journal)
                progress.seconds += seconds
                reached, taken, found = struct.unpack("<qqq", journal.read_bytes())
                if reached < 0:
                    raise RuntimeError(f"{name}: the worker did not begin:\n{output}")
                progress.taken += taken
                progress.finds += found
                if status:
                    self._crashed(name, reached, status, output)
                    progress.crashes += 1
                    progress.finds += 1
                    reached += 1
                progress.done += reached - number
                number = reached
                if not status:
                    break
        self.done.append(progress)
        return progress

    def _watch(self, name: str, first: int, last: int, seconds: float, journal: Path) -> tuple[int, str, float]:
        """Run a worker to its end; one that hangs is killed. Return status, errors, how long it tried inputs."""
        job = [name, str(self.seed), str(first), str(last), str(seconds), str(journal), str(self.finds)]
        limited = ["--unlimited"] if not self.limited else []
        errors = journal.with_name("errors")
        with errors.open("wb") as stream:
            worker = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz", *limited, "--work", *job], stdin=subprocess.DEVNULL, stderr=stream
            )
            begin = before = journal.read_bytes()
            begun = since = time.monotonic()
            while worker.poll() is None:
                time.sleep(0.2)
                now = journal.read_bytes()
                if before == begin != now:
                    begun = time.monotonic()
                if now != before:
                    before, since = now, time.monotonic()
                elif time.monotonic() - since > (limit := self.hang if now != begin else START):
                    worker.send_signal(signal.SIGKILL)
                    worker.wait()
                    return -signal.SIGKILL, f"no answer within {limit:.0f} seconds", time.monotonic() - begun
        return worker.returncode, errors.read_text(errors="replace")[-20_000:], time.monotonic() - begun

    def _crashed(self, name: str, number: int, status: int, output: str) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            data = input_of(door_named(name)(Path(scratch)), self.seed, number)
        path = keep(Find(name, data, f"crash: exit status {status}", output), self.finds)
        print(f"{name}: crash at input {number}, exit status {status} ({path})", flush=True)


def shared_memory() -> str | None:
    """A folder that lies in memory, where the system has one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
