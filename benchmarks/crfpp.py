"""`tagline crf_learn` and `crf_test` against CRF++'s own programs: the same files in, the same answers out, timed.

The programs are those of ``TAGLINE_PEERS`` (``../shared/peers/bin`` beside the repository), the corpora those of
``TAGLINE_DATA``. Before a time is printed, both must agree: crf_test to the byte on each other's models, and our
objective may not be above theirs. Times are seconds of the processor: of the whole command, the interpreter included,
and of training as both programs print it. Each command has two threads, the sides take turns, medians are shown.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import timing
from feature_crf.corpora import find

PEERS = Path(os.environ.get("TAGLINE_PEERS") or Path(__file__).parents[1] / ".." / "shared" / "peers" / "bin").resolve()
OURS = [sys.executable, "-c", "from tagline.cli import main; main()"]
SIDES = {"CRF++": lambda name: [str(PEERS / name)], "tagline": lambda name: [*OURS, name]}
THREADS = "-p2"


@dataclass(frozen=True)
class Run:
    """A command that has ended: seconds of the processor, and what it printed."""

    seconds: float
    output: bytes

    @property
    def objective(self) -> float:
        """The last one of a log."""
        return float(re.findall(rb"obj=([0-9.]+)", self.output)[-1])

    @property
    def training(self) -> float:
        """Seconds from the features to the model file, as the log says."""
        return float(re.findall(rb"Done!([0-9.]+) s", self.output)[-1])

    @property
    def iterations(self) -> int:
        """How many there were."""
        return self.output.count(b"iter=")


def run(side: str, name: str, *arguments: str | Path) -> Run:
    """Run a command of one side."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*SIDES[side](name), *map(str, arguments)], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout)


def check(folder: Path, template: Path, train: Path, test: Path) -> None:
    """End the run where the two do not agree."""
    learned = {side: run(side, "crf_learn", THREADS, template, train, folder / side) for side in SIDES}
    if learned["tagline"].objective > learned["CRF++"].objective:
        sys.exit(f"objective: expected at most {learned['CRF++'].objective}, got {learned['tagline'].objective}")
    for model in SIDES:
        outputs = [run(side, "crf_test", "-v2", "-m", folder / model, test).output for side in SIDES]
        if outputs[0] != outputs[1]:
            sys.exit(f"crf_test -v2 on the model of {model}: expected the same bytes, got others")


def shown(what: str, theirs: list[float], ours: list[float]) -> str:
    """Write a row of the table."""
    a, b = statistics.median(theirs), statistics.median(ours)
    return f"{what:44} {a:10.3f} {b:10.3f} {a / b:9.1f}×"


def learn_to_the_end(folder: Path, template: Path, train: Path, samples: int) -> None:
    """Time crf_learn with its defaults."""
    runs: dict[str, list[Run]] = {side: [] for side in SIDES}
    for _ in range(samples):
        for side in SIDES:
            runs[side].append(run(side, "crf_learn", THREADS, template, train, folder / side))
    theirs, ours = runs["CRF++"], runs["tagline"]
    name = train.parent.name
    print(shown(f"{name}: command", [one.seconds for one in theirs], [one.seconds for one in ours]))
    print(shown(f"{name}: features to model", [one.training for one in theirs], [one.training for one in ours]))
    print(
        f"  objective {theirs[0].objective:.5f} after {theirs[0].iterations - 1} iterations, "
        f"ours {ours[0].objective:.5f} after {ours[0].iterations - 1}"
    )


def iteration(folder: Path, template: Path, train: Path, samples: int) -> None:
    """Time an iteration: what the further ones of a longer run cost."""
    counts = {"CRF++": (2, 5), "tagline": (8, 28)}
    seconds: dict[str, list[float]] = {side: [] for side in SIDES}
    for _ in range(samples):
        for side, (few, more) in counts.items():
            times = [
                run(side, "crf_learn", THREADS, "-m", str(count), template, train, folder / side).seconds
                for count in (few, more)
            ]
            seconds[side].append((times[1] - times[0]) / (more - few))
    print(shown(f"{train.parent.name}: an iteration", seconds["CRF++"], seconds["tagline"]))


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--iteration", action="store_true", help="time an iteration on CoNLL-2000, too (minutes)")
    given = parser.parse_args()
    if not (PEERS / "crf_learn").exists():
        sys.exit(f"{PEERS}: expected crf_learn and crf_test, got neither; set TAGLINE_PEERS")
    print(timing.machine())
    print(f"{'seconds of the processor, two threads':44} {'CRF++':>10} {'tagline':>10} {'ratio':>10}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for corpus in ("crfpp_chunking", "crfpp_JapaneseNE"):
            files = [find(f"{corpus}/{file}") for file in ("template", "train.txt", "test.txt")]
            check(folder, *files)
            learn_to_the_end(folder, files[0], files[1], given.samples)
        if given.iteration:
            template, train = find("crfpp_chunking/template"), find("conll2000/train.txt")
            iteration(folder, template, train, max(1, given.samples // 2))


if __name__ == "__main__":
    main()
