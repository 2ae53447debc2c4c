"""kill -9 at random moments: of training, saving, tagging into a file, converting a file, compiling a corpus.

    python -m tests.fuzz.kills --kills 100 --seed 1 [--only crf save …]

Each job runs as a command does, in a child that is killed after a random part of the time that it takes. What was there
before is then there whole, or the new file is complete; the same job, run again, ends as if nothing had happened; and
then there is no file that does not belong there. Children are forked from a process that has loaded everything and
started no thread, so that a kill falls into the work, not into the imports.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import tagline
from tagline import storage
from tagline.cli import main as run_command
from tagline.datasets import make_entities
from tagline.readers import write_columns

HANGS = 300  # seconds


@dataclass(frozen=True, eq=False)
class Job:
    """Something to kill.

    Attributes:
        run: what a child does, inside a folder of its own.
        product: the file that it makes; None for one that grows while the job runs.
        again: what is run after the kill, where that is not `run`.
        files: all that may lie in the folder at the end, besides what was there at first.
    """

    run: Callable[[], object]
    product: str
    files: frozenset[str]
    again: Callable[[], object] | None = None
    grows: bool = False


def command(*words: object) -> Callable[[], object]:
    """A command of tagline, as a process runs it."""

    def run() -> None:
        sys.argv = ["tagline", *map(str, words)]
        run_command()

    return run


def tag_into_a_file() -> None:
    """What a shell does for `tagline tag … > out.txt`."""
    number = os.open("out.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(number, 1)
    command("tag", "-m", "model.tagline", "corpus.txt")()


def save_again_and_again() -> None:
    """Replace a file by the first model and by the second, in turn."""
    models = [tagline.load("first.tagline"), tagline.load("second.tagline")]
    for number in range(30):
        models[number % 2].save("saved.tagline")


def compile_and_train() -> None:
    """Compile a corpus and train on it."""
    corpus = tagline.compile_corpus("corpus.txt", "corpus.compiled", "english_ner")
    tagline.CRF("english_ner", max_iterations=5).fit(corpus).save("compiled.tagline")


TRAIN = ("train", "corpus.txt", "-q", "-o")
NETWORK = (*TRAIN, "net.tagline", "--config", "small.toml", "--device", "cpu", "--checkpoint", "state", "--resume")
SMALL = """
[bilstm]
epochs = 5
hidden = 6
word_dim = 8
char_dim = 4
char_size = 6
"""

JOBS = {
    "crf": Job(command(*TRAIN, "m.tagline", "--max-iterations", 15), "m.tagline", frozenset()),
    "hmm": Job(command(*TRAIN, "m.tagline", "--model", "hmm"), "m.tagline", frozenset()),
    "bilstm": Job(command(*NETWORK), "net.tagline", frozenset({"net.tagline", "net.toml", "state"})),
    "save": Job(save_again_and_again, "saved.tagline", frozenset({"saved.tagline"})),
    "tag": Job(tag_into_a_file, "out.txt", frozenset({"out.txt"}), grows=True),
    "convert": Job(command("convert-tags", "corpus.txt", "tags.txt"), "tags.txt", frozenset({"tags.txt"})),
    "cache": Job(
        command(*TRAIN, "m.tagline", "--max-iterations", 5, "--cache", "cache"), "m.tagline", frozenset({"cache"})
    ),
    "compile": Job(compile_and_train, "compiled.tagline", frozenset({"corpus.compiled", "compiled.tagline"})),
}


@dataclass
class Tally:
    """What happened to one job."""

    killed: int = 0
    finished: int = 0  # before they could be killed
    leftovers: int = 0  # kills after which something lay there that the next run removed
    old: int = 0
    new: int = 0
    problems: list[str] = field(default_factory=list)


def child(folder: Path, work: Callable[[], object]) -> int:
    """Start a child that does some work in a folder; return its process id."""
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        os.chdir(folder)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(os.open(f"{folder}.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
        work()
        code = 0
    except SystemExit as stop:
        if isinstance(stop.code, str):
            os.write(2, stop.code.encode())
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException as error:
        os.write(2, repr(error).encode())
    finally:
        os._exit(code)


def finish(process: int, seconds: float | None = None) -> int | None:
    """Wait so long for a child, then kill it; return its exit status, None where it was killed."""
    end = time.monotonic() + (HANGS if seconds is None else seconds)
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if seconds is None:
        raise AssertionError(f"hung for {HANGS} s")
    return None if code == -signal.SIGKILL else code


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def same_model(path: Path, data: bytes) -> bool:
    """Whether a file holds what `data` does; of models the arrays, for times of training are in the settings."""
    if path.suffix != ".tagline":
        return path.read_bytes() == data
    mine, other = storage.read(path, mapped=False).tensors, storage.loads(data).tensors
    return mine.keys() == other.keys() and all(np.array_equal(mine[name], other[name]) for name in mine)


def kill(job: Job, start: Path, count: int, rng: np.random.Generator) -> Tally:
    """Kill a job so many times."""
    tally = Tally()
    expected, seconds = reference(job, start)
    known = {path.name for path in start.iterdir()} | job.files
    while tally.killed < count and len(tally.problems) < 10:
        folder = start.parent / "work"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)
        code = finish(child(folder, job.run), float(rng.random()) * seconds)
        if code is not None:
            tally.finished += 1
            seconds *= 0.98  # the machine has become faster
        else:
            tally.killed += 1
        where = f"kill {tally.killed}"
        tally.problems += [f"{where}: {problem}" for problem in after_kill(job, start, folder, expected, tally)]
        tally.leftovers += bool(strays(folder, known))
        if (code := finish(child(folder, job.again or job.run))) != 0:
            said = Path(f"{folder}.err").read_text(errors="replace")
            tally.problems.append(f"{where}: the next run ended with {code}: {said[-300:]}")
        elif not same_model(folder / job.product, expected[job.product]):
            tally.problems.append(f"{where}: the next run made another {job.product}")
        if found := strays(folder, known):
            tally.problems.append(f"{where}: after the next run there is {', '.join(sorted(found))}")
    return tally


def reference(job: Job, start: Path) -> tuple[dict[str, bytes], float]:
    """What a run makes that nobody kills, and the seconds that it takes."""
    folder = start.parent / "whole"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(start, folder)
    begin = time.monotonic()
    if (code := finish(child(folder, job.run))) != 0:
        raise AssertionError(f"a run that nobody kills ended with {code}: {Path(f'{folder}.err').read_text()}")
    return contents(folder), time.monotonic() - begin


def strays(folder: Path, known: set[str]) -> list[str]:
    """Files and folders that do not belong there, in the folder and in the cache."""
    found = [path.name for path in folder.iterdir() if path.name not in known]
    return found + [path.name for path in folder.glob("cache/*") if path.suffix != ".compiled"]


def after_kill(job: Job, start: Path, folder: Path, expected: dict[str, bytes], tally: Tally) -> list[str]:
    """What is wrong with the files that a killed run leaves."""
    path, old, new = folder / job.product, start / job.product, expected[job.product]
    problems = [
        f"{name} has changed"
        for name, data in contents(start).items()
        if name != job.product and (folder / name).read_bytes() != data
    ]
    if job.grows:
        if path.exists() and not new.startswith(path.read_bytes()):
            problems.append(f"{job.product} is not the beginning of the answers")
    elif not path.exists():
        tally.old += 1
        if old.exists():
            problems.append(f"{job.product} is gone")
    elif old.exists() and path.read_bytes() == old.read_bytes():
        tally.old += 1
    elif job.run is save_again_and_again:
        tally.new += 1
        if path.read_bytes() not in (expected["first.tagline"], expected["second.tagline"]):
            problems.append(f"{job.product} is neither model")
    elif same_model(path, new):
        tally.new += 1
    else:
        problems.append(f"{job.product} is neither the old file nor the new one")
    return problems


def prepare(folder: Path, sentences: int, seed: int) -> None:
    """Write a corpus, and models that lie there before a job begins."""
    write_columns(make_entities(sentences, seed=seed), folder / "corpus.txt")
    (folder / "small.toml").write_text(SMALL)

    def models() -> None:
        for name, iterations in (("first", 3), ("second", 8), ("model", 8), ("m", 2)):
            path = f"{name}.tagline"
            tagline.CRF("english_ner", max_iterations=iterations).fit(tagline.readers.read("corpus.txt")).save(path)

    if finish(child(folder, models)) != 0:
        raise AssertionError(Path(f"{folder}.err").read_text())


def kill_jobs(names: list[str], count: int, seed: int, sentences: int = 30) -> dict[str, Tally]:
    """Kill each job so many times."""
    tallies = {}
    with tempfile.TemporaryDirectory() as home:
        start = Path(home) / "start"
        start.mkdir()
        prepare(start, sentences, seed)
        for number, name in enumerate(names):
            warm_up(JOBS[name], start)
            tallies[name] = kill(JOBS[name], start, count, np.random.default_rng([seed, number]))
    return tallies


def warm_up(job: Job, start: Path) -> None:
    """Do a job here once, so that children find everything imported; what is so small starts no thread."""
    folder, home = start.parent / "warm", Path.cwd()
    shutil.copytree(start, folder, dirs_exist_ok=True)
    sys.stdout.flush()
    streams = [os.dup(1), os.dup(2)]
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.chdir(folder)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        job.run()
    except SystemExit:
        pass
    finally:
        os.chdir(home)
        for number, stream in enumerate(streams, start=1):
            os.dup2(stream, number)
            os.close(stream)
        os.close(quiet)
    shutil.rmtree(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="of each job")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=list(JOBS), default=list(JOBS))
    options = parser.parse_args()
    tagline.set_threads(1)
    if "bilstm" in options.only:
        import torch

        torch.set_num_threads(1)
    wrong = 0
    for name in options.only:
        begin = time.monotonic()
        tally = kill_jobs([name], options.kills, options.seed)[name]
        for problem in tally.problems:
            print(f"{name}: {problem}")
        wrong += len(tally.problems)
        print(
            f"{name}: {tally.killed} kills, seed {options.seed} ({tally.old} left the old file, {tally.new} the new "
            f"one, {tally.leftovers} leftovers that the next run removed; {tally.finished} runs ended first): "
            f"{len(tally.problems)} problems, {time.monotonic() - begin:.0f} s",
            flush=True,
        )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
