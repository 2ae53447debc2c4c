"""Training on workers: CoNLL-2000 twenty times with changed words, the parts of a pass, and a model of many workers.

    python benchmarks/scale_training.py                      # all of it
    python benchmarks/scale_training.py --copies 4 --sizes 1000000

1. One evaluation of the objective: in this process with one and two threads, on one worker, on two. The gradients are
   compared, bit for bit, before anything is timed; contenders take turns. Beside the clock stand seconds of processors,
   which say what two free cores would do where this machine is busy.
2. The parts of a pass by the number of weights: sending and adding up sums of two workers, and the optimiser.
3. What follows for many workers at 10 Gbit/s, and the same by a simulation: the driver's own code, with threads for
   workers, whose answers come as late as computing and the driver's line would make them.
"""

from __future__ import annotations

import argparse
import os
import queue
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import tagline
from tagline import CRF, readers, scale
from tagline.models.crf.extraction import Extraction
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.scale.cluster import import_ray
from tagline.scale.crf import SharedLikelihood
from tagline.scale.holders import Sums
from tagline.scale.workers import STAR
from tagline.training.iteration import Convergence
from tagline.training.lanes import Branch, branches
from tagline.training.lbfgs import lbfgs
from tagline.training.run import Run

DATA = Path(os.environ.get("TAGLINE_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILES = 8
CHANGED = 4  # one word of so many is another in each copy
LINE = 10e9 / 8  # bytes a second
MEMORY = 10  # steps that L-BFGS remembers
SIMULATED = 3.0  # seconds of a simulated pass; all delays are shortened alike
OPTIMISING = 2e-8  # seconds of the optimiser for one weight, where it is not measured
ADDING = 1.5e-9  # seconds for adding up one weight of one worker: 24 bytes through memory


def write_copies(corpus: Corpus, copies: int, folder: Path) -> None:
    """Write the corpus so often, with changed words, into files of equal size."""
    words = corpus.columns[TOKEN]
    per_file = -(-copies // FILES)
    for number in range(copies):
        changed = tuple(
            f"{word}{number}" if number and hash_of(word) % CHANGED == number % CHANGED else word
            for word in words.vocabulary
        )
        copy = corpus.with_columns({**corpus.columns, TOKEN: Column(changed, words.ids)})
        readers.write(copy, folder / f"copy-{number:02}.txt")
    for first in range(0, copies, per_file):
        with open(folder / f"part-{first // per_file:02}.txt", "wb") as target:
            for number in range(first, min(first + per_file, copies)):
                path = folder / f"copy-{number:02}.txt"
                target.write(path.read_bytes())
                path.unlink()


def hash_of(word: str) -> int:
    """Return a number that is the same in every process."""
    return sum((n + 1) * ord(letter) for n, letter in enumerate(word))


def compare(copies: int, rounds: int) -> None:
    """Part 1."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        write_copies(readers.read(DATA / "conll2000" / "train.txt"), copies, folder)
        with open(folder / "whole.txt", "wb") as target:
            for path in sorted(folder.glob("part-*.txt")):
                target.write(path.read_bytes())
        crf = CRF("chunking", scheme="IOB2", on_illegal="repair")
        extraction = Extraction(crf.features)
        before = peak()
        shared = {}
        for workers in (1, 2):
            files = scale.corpus(f"{folder}/part-*.txt", workers=workers, scratch=folder / f"scratch-{workers}")
            shared[workers] = stack.enter_context(files.crf_lesson(crf, extraction)).likelihood
        size, after = shared[1].size, peak()
        alone = here(folder / "whole.txt", crf)
        weights = np.linspace(-0.1, 0.1, size)
        answers = [likelihood(weights) for likelihood in (alone, shared[1], shared[2])]
        for value, gradient in answers[1:]:
            assert value == answers[0][0]
            assert gradient.tobytes() == answers[0][1].tobytes()
        print(f"{alone.features.num_tokens:,} tokens, {size:,} weights; the same bits in this process and on workers")

        def threaded(count: int) -> Callable[[], object]:
            def call() -> object:
                tagline.set_threads(count)
                return alone(weights)

            return call

        calls: dict[str, Callable[[], object]] = {
            "1 thread": threaded(1),
            "2 threads": threaded(2),
            "1 worker": lambda: shared[1](weights),
            "2 workers": lambda: shared[2](weights),
        }
        clock, work = take_turns(calls, shared, rounds)
        for label in calls:
            spent = ", ".join(f"{seconds:.3f}" for seconds in work[label])
            print(f"{label:10} {clock[label]:8.3f} s by the clock; processors: {spent}")
        one, two = (sum(work["1 worker"]), max(work["2 workers"][1:]) + work["2 workers"][0])
        print(f"2 workers to 1, by the clock: {clock['1 worker'] / clock['2 workers']:.2f}")
        print(f"2 workers to 1, driver and the slower worker, by processors: {one / two:.2f}")
        print(f"2 workers to 2 threads, by the clock: {clock['2 threads'] / clock['2 workers']:.2f}")
        facts = [fact for workers in (1, 2) for fact in shared[workers]._workers.each("facts")]
        held = ", ".join(f"{fact['memory'] / 2**20:.0f} MB" for fact in facts)
        print(f"memory at most: driver {(after - before) / 2**20:+.0f} MB for two likelihoods; workers {held}")


def here(path: Path, crf: CRF) -> Any:
    """Return the likelihood of the same sentences in this process."""
    caught: list[Any] = []

    def run(likelihood: Any, start: Any, **_: Any) -> Any:
        caught.append(likelihood)
        raise StopIteration

    from tagline.training import algorithms

    kept = algorithms.ALGORITHMS["lbfgs"]
    algorithms.ALGORITHMS["lbfgs"] = algorithms.Algorithm(run, kept.uses, kept.proves)
    try:
        crf.set_params(algorithm="lbfgs").fit(readers.read(path))
    except StopIteration:
        pass
    finally:
        algorithms.ALGORITHMS["lbfgs"] = kept
    return caught[0]


def take_turns(
    calls: dict[str, Callable[[], object]], shared: dict[int, SharedLikelihood], rounds: int
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return medians: seconds by the clock, and of processors, this process first, then each worker."""
    clock: dict[str, list[float]] = {label: [] for label in calls}
    work: dict[str, list[list[float]]] = {label: [] for label in calls}
    for _ in range(rounds):
        for label, call in calls.items():
            workers = shared[int(label[0])]._workers if "worker" in label else None
            before = [] if workers is None else [fact["seconds"] for fact in workers.each("facts")]
            begun, own = time.perf_counter(), time.process_time()
            call()
            clock[label].append(time.perf_counter() - begun)
            spent = [time.process_time() - own]
            if workers is not None:
                later = [fact["seconds"] for fact in workers.each("facts")]
                spent += [end - start for start, end in zip(before, later, strict=True)]
            work[label].append(spent)
    medians = {label: [statistics.median(column) for column in zip(*rows, strict=True)] for label, rows in work.items()}
    return {label: statistics.median(times) for label, times in clock.items()}, medians


def peak() -> int:
    """Return the most bytes of memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# Part 2.


def parts_of_a_pass(size: int, rounds: int = 3, memory: int = MEMORY) -> tuple[float, float, float]:
    """Return seconds for sending weights to two workers and adding up their sums, and of the optimiser.

    The first are by the clock and of this process, the last of this process.
    """
    ray = import_ray("benchmark")

    class Echo:
        def sums(self, weights: Any) -> Any:
            return [Sums(branch, 0.0, None, weights * 1.0) for branch in branches(0, 1)]

    echoes = [ray.remote(num_cpus=0)(Echo).remote() for _ in range(2)]
    weights, times, own = np.full(size, 0.5), [], []
    for _ in range(rounds + 1):
        begun = time.process_time(), time.perf_counter()
        sent = ray.put(weights)
        total = np.zeros(size)
        for echo in echoes:
            total += ray.get(echo.sums.remote(sent))[0].entries
        times.append(time.perf_counter() - begun[1])
        own.append(time.process_time() - begun[0])
        del sent
    for echo in echoes:
        ray.kill(echo)
    spent = []

    def objective(w: Any) -> tuple[float, Any]:
        begun = time.process_time()
        out = float(w @ w) * 0.5, w - 1.0
        spent.append(time.process_time() - begun)
        return out[0] - float(w.sum()), out[1]

    passes = memory + 3
    begun = time.process_time()
    lbfgs(
        lambda w: objective(w * np.float64(1.0)),
        np.linspace(-1, 1, size),
        memory=memory,
        convergence=Convergence(epsilon=0, delta=0),
        run=Run(max_iterations=passes),
    )
    taken = time.process_time() - begun - sum(spent)
    return statistics.median(times[1:]), statistics.median(own[1:]), taken / max(len(spent), 1)


# Part 3.


def modelled(tokens_seconds: float, size: int, workers: int, add: float, optimise: float) -> float:
    """Return seconds of a pass: computing, the driver's line for every worker's sums, what is left to add, optimiser.

    The weights go out in a tree, from worker to worker: log2(W) times over a line. So do sums come in, where there are
    many workers: log2(W) times over a line and through memory. Those of a few come one after the other over the
    driver's line, and are added up while the next one comes.
    """
    over = 8 * size / LINE
    levels = max(1.0, np.log2(workers))
    into = workers * max(over, add) + min(over, add) if workers <= STAR else levels * (over + add)
    return tokens_seconds / workers + over * levels + into + optimise


class SlowWorkers:
    """What `SharedLikelihood` asks, with threads for workers: answers come when they would come over a network.

    Every worker has a line of its own, and so has the driver; a message takes both ends' lines.
    """

    def __init__(self, count: int, compute: float, size: int, add: float) -> None:
        self.count, self.compute, self.add, self.over = count, compute, add, 8 * size / LINE
        self.line = threading.Lock()  # the driver's

    def shared(self, value: Any) -> list[Any]:
        """Hand a value over."""
        return [value]

    def summed(self, method: str, *arguments: Any) -> Iterator[Sums]:
        """Give sums of one number each, as late as those of so many weights would be."""
        answers: queue.Queue[Sums] = queue.Queue()
        places: list[queue.Queue[Sums]] = [queue.Queue() for _ in range(self.count)]

        def work(worker: int) -> None:
            time.sleep(self.over * max(1.0, np.log2(self.count)) + self.compute / self.count)
            sums = Sums(Branch(worker), 1.0, None, np.ones(1))
            if self.count <= STAR:
                with self.line:
                    time.sleep(self.over)
                answers.put(sums)
                return
            step = 1
            while step < self.count and worker % (2 * step) == 0:
                right = places[worker + step].get()
                time.sleep(self.over + self.add)  # its way here, and the sum
                sums, step = sums.joined(right), 2 * step
            (answers if worker == 0 else places[worker]).put(sums)

        threads = [threading.Thread(target=work, args=(w,)) for w in range(self.count)]
        for thread in threads:
            thread.start()
        for _ in threads if self.count <= STAR else threads[:1]:
            answer = answers.get()
            if self.count <= STAR:
                time.sleep(self.add)
            yield answer
        for thread in threads:
            thread.join()


class _Plan:
    precision = "float32"

    class structure:  # noqa: N801 - stands for an object
        size = 1


def simulated(compute: float, size: int, workers: int, add: float, optimise: float) -> float:
    """Return seconds of a pass of the driver's own code, with delays in the place of computing, sending and adding."""
    likelihood = SharedLikelihood(SlowWorkers(workers, 0.0, 0, 0.0), _Plan(), 1, workers)  # type: ignore[arg-type]
    likelihood._workers = SlowWorkers(workers, compute, size, add)  # type: ignore[assignment]
    begun = time.perf_counter()
    value, _ = likelihood(np.zeros(1))
    assert value == workers
    time.sleep(optimise)
    return time.perf_counter() - begun


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--memory", type=int, default=MEMORY, help="steps that L-BFGS remembers")
    parser.add_argument("--tokens", type=float, default=1e9, help="of the corpus in part 3")
    parser.add_argument("--speed", type=float, default=1e6, help="tokens a second of one worker, in part 3")
    parser.add_argument("--parts", type=int, nargs="*", default=[1, 2, 3])
    options = parser.parse_args()
    ray = import_ray("benchmark")
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    measured: dict[int, tuple[float, float, float]] = {}
    if {1, 2} & {*options.parts}:
        most = max(options.sizes, default=0) if 2 in options.parts else 0
        store = max(500 * 2**20, 8 * most * 4)
        ray.init(num_cpus=4, object_store_memory=store, include_dashboard=False, log_to_driver=False)
    if 1 in options.parts:
        compare(options.copies, options.rounds)
    if 2 in options.parts:
        print("weights        reduce, 2 workers: clock, driver   optimiser")
        for size in options.sizes:
            measured[size] = parts_of_a_pass(size, memory=options.memory)
            clock, own, taken = measured[size]
            print(f"{size:<14,} {clock:17.3f} s {own:9.3f} s {taken:9.3f} s", flush=True)
    ray.shutdown()
    if 3 in options.parts:
        compute = options.tokens / options.speed
        print(f"a pass over {options.tokens:,.0f} tokens, {compute:,.0f} s on one worker: modelled, simulated")
        for size in options.sizes:
            add, optimise = ADDING * size, measured.get(size, (0.0, 0.0, OPTIMISING * size))[2]
            for workers in (1, 8, 64, 512):
                expected = modelled(compute, size, workers, add, optimise)
                share = SIMULATED / expected  # it runs in real time
                delays = compute * share, int(size * share), workers, add * share, optimise * share
                found = simulated(*delays) / share
                reduce = expected - compute / workers - optimise
                print(
                    f"{size:<14,} {workers:4} workers: {expected:9.2f} s {found:9.2f} s; "
                    f"reduction {100 * reduce / expected:.0f} %",
                    flush=True,
                )


if __name__ == "__main__":
    main()
