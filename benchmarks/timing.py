"""How the benchmarks here measure: contenders take turns in one process; a median is reported with its spread.

A sample repeats a call until it lasts long enough for the clock. Before each sample the idle workers of the rival
before must have gone to sleep (`settle`), and an untimed call fills the caches again.
The machine's own limits, for floors, are measured in the same run: `peak_flops` by a matrix product, `copy_bandwidth`
by copying an array far larger than the caches.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata

import numpy as np
from threadpoolctl import ThreadpoolController

import tagline

SETTLING_SECONDS = 0.5  # at most; one look at the process takes the second
LOOK_SECONDS = 0.008
SLOW_SECONDS = 0.25  # calls above it are not repeated to warm up
FEWEST_ROUNDS = 3
BUSY_CORES = 0.1
MATRIX_SIDE = 1024
COPIED_BYTES = 128 * 2**20


@dataclass(frozen=True)
class Contender:
    """Someone who does the work: ``call`` does it once, ``note`` says in what way."""

    name: str
    call: Callable[[], object]
    note: str = ""
    blas_threads: int = 1


@dataclass(frozen=True)
class Plan:
    """How long to measure: ``rounds`` samples of at least ``sample_seconds``, fewer where ``budget_seconds`` end."""

    rounds: int = 7
    sample_seconds: float = 0.02
    budget_seconds: float = 12.0


@dataclass(frozen=True)
class Timing:
    """Seconds a call in each sample, and how many calls made a sample."""

    samples: tuple[float, ...]
    calls: int

    @property
    def seconds(self) -> float:
        """The median."""
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        """Half the distance from the fastest to the slowest sample, as a share of the median."""
        return (max(self.samples) - min(self.samples)) / 2 / self.seconds


def take_turns(contenders: Sequence[Contender], plan: Plan) -> list[Timing]:
    """Time the contenders alternately (A B A B …), each as often as the plan and its own slowness allow."""
    once = [_once(contender) for contender in contenders]
    calls = [max(1, round(plan.sample_seconds / seconds + 0.5)) for seconds in once]
    rounds = [
        min(plan.rounds, max(FEWEST_ROUNDS, int(plan.budget_seconds / (seconds * count))))
        for seconds, count in zip(once, calls, strict=True)
    ]
    samples: list[list[float]] = [[] for _ in contenders]
    for turn in range(max(rounds)):
        for i, contender in enumerate(contenders):
            if turn < rounds[i]:
                samples[i].append(_sample(contender, calls[i], warm=once[i] < SLOW_SECONDS))
    return [Timing(tuple(taken), count) for taken, count in zip(samples, calls, strict=True)]


def fastest(variants: Sequence[Contender], plan: Plan) -> Contender:
    """Choose the variant whose calls are fastest, by one short sample each."""
    if len(variants) == 1:
        return variants[0]
    once = [_once(variant) for variant in variants]
    taken = [
        seconds if seconds > SLOW_SECONDS else _sample(variant, max(1, round(plan.sample_seconds / seconds)), warm=True)
        for variant, seconds in zip(variants, once, strict=True)
    ]
    return variants[int(np.argmin(taken))]


def _once(contender: Contender) -> float:
    """Seconds of one call, after a first one unless that was slow."""
    first = _sample(contender, 1, warm=False)
    return first if first > SLOW_SECONDS else _sample(contender, 1, warm=False)


def _sample(contender: Contender, calls: int, warm: bool) -> float:
    with blas_threads(contender.blas_threads):
        settle()
        if warm:
            contender.call()
        begin = time.perf_counter()
        for _ in range(calls):
            contender.call()
        return (time.perf_counter() - begin) / calls


def settle() -> None:
    """Wait until no thread of this process computes.

    OpenBLAS workers spin for 0.1 s after a product and OpenMP's for 10 ms; a call measured meanwhile shares a core with
    them, and on two cores its second thread gains nothing.
    """
    end = time.perf_counter() + SETTLING_SECONDS
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(LOOK_SECONDS)
        if time.process_time() - before < LOOK_SECONDS / 10:
            return


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Let NumPy's BLAS use so many threads."""
    with _controller().limit(limits=count, user_api="blas"):
        yield


def set_threads(count: int) -> None:
    """Let Tagline, and PyTorch where it is loaded, use so many threads; BLAS has `blas_threads`."""
    tagline.set_threads(count)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)


def peak_flops(threads: int) -> float:
    """Measure flops a second of a float32 matrix product, the best of several."""
    a = np.ones((MATRIX_SIDE, MATRIX_SIDE), np.float32)
    product = np.empty_like(a)
    with blas_threads(threads):
        seconds = _best(lambda: np.matmul(a, a, out=product))
    return 2 * MATRIX_SIDE**3 / seconds


def copy_bandwidth(threads: int) -> float:
    """Measure bytes a second, read and written, of copying an array in ``threads`` shares, the best of several."""
    source = np.ones(COPIED_BYTES // 4, np.float32)
    target = np.empty_like(source)
    shares = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        seconds = _best(lambda: list(pool.map(lambda share: np.copyto(*share), shares)))
    return 2 * COPIED_BYTES / seconds


def _best(call: Callable[[], object], runs: int = 9) -> float:
    settle()
    call()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def machine() -> str:
    """Name the processor and its cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores"


class Neighbours:
    """How much of the machine other processes take, from now on (where ``/proc/stat`` tells)."""

    def __init__(self) -> None:
        self._begin = self._clocks()

    def cores(self) -> float:
        """Cores that others kept busy on average; 0 where it cannot be known."""
        wall, all_together, own = (now - then for now, then in zip(self._clocks(), self._begin, strict=True))
        return max(0.0, all_together - own) / wall

    def __str__(self) -> str:
        verdict = "not an idle machine, run again" if self.cores() > BUSY_CORES else "idle enough"
        return f"other processes took {self.cores():.2f} cores during the run: {verdict}"

    @staticmethod
    def _clocks() -> tuple[float, float, float]:
        """Seconds of the wall clock, of all processors at work and of this process."""
        try:
            with open("/proc/stat", encoding="utf-8") as facts:
                user, nice, system, _, _, *others = (int(number) for number in facts.readline().split()[1:])
            busy = (user + nice + system + sum(others[:3])) / os.sysconf("SC_CLK_TCK")  # with interrupts and steal
        except OSError:
            busy = 0.0
        return time.perf_counter(), busy, time.process_time()


def versions(packages: Sequence[str]) -> str:
    """Name the Python, the BLAS and those of the packages that are installed, with their versions."""
    names = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            names.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    libraries = _controller().select(user_api="blas").info()
    blas = {
        " ".join([library["internal_api"], library["version"], library.get("architecture", "")])
        for library in libraries
    }
    return ", ".join([*names, *sorted(blas)])


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as facts:
            names = [line.partition(":")[2].strip() for line in facts if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
