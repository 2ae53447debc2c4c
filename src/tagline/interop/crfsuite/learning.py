"""``crfsuite learn``: data in, a log and a model file of CRFsuite out.

Each file of data is a group; ``-g`` deals sentences out to groups anew, with the random numbers of the C library, so
that the groups are those of the program. Training is that of `tagline.interop.pycrfsuite`, and so is what it says.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, TextIO

from tagline import __version__
from tagline.errors import InputError
from tagline.interop import pycrfsuite
from tagline.interop.crfsuite.arguments import LEARN, Chosen, described, parse
from tagline.interop.crfsuite.data import LabelledItems, read_sentences
from tagline.interop.crfsuite.tagging import open_data
from tagline.readers.sources import name_of

ALGORITHMS = {  # as -a takes them, and as the log and the names of its files have them
    "lbfgs": "lbfgs",
    "l2sgd": "l2sgd",
    "ap": "averaged-perceptron",
    "averaged-perceptron": "averaged-perceptron",
    "pa": "passive-aggressive",
    "passive-aggressive": "passive-aggressive",
    "arow": "arow",
}
WHOLE = ("max_iterations", "num_memories", "period", "max_linesearch", "calibration.candidates", "type")
SWITCHES = ("feature.possible_states", "feature.possible_transitions", "error_sensitive", "averaging")

USAGE = """USAGE: crfsuite learn [OPTIONS] DATA1 [DATA2] ...
Train a model on labelled sentences; each file is a group, - is standard input.

OPTIONS:
"""


@dataclass(frozen=True)
class Grouped:
    """A sentence, and the group that it belongs to, from 0."""

    sentence: LabelledItems
    group: int


class CommandTrainer(pycrfsuite.Trainer):
    """A trainer that writes all it has to say to one stream."""

    log: TextIO = sys.stdout

    def message(self, message: str) -> None:
        """Write a message as it comes."""
        self.log.write(message)
        self.log.flush()


def learn(arguments: Sequence[str]) -> int:
    """Run ``crfsuite learn`` and return its exit code."""
    chosen = parse(arguments, LEARN, "crfsuite learn")
    if chosen.has("help"):
        sys.stdout.write(USAGE + described(LEARN))
        return 0
    trainer = _trainer(chosen)
    if chosen.has("help-params") or chosen.has("help-parameters"):
        sys.stdout.write(_parameters(trainer, _algorithm(chosen)))
        return 0
    if not chosen.files:
        raise InputError("crfsuite learn: expected files of data, got none; - is standard input")
    with _log(chosen) as log:
        trainer.log = log
        log.write(f"CRFSuite {pycrfsuite.CRFSUITE_VERSION}, by Tagline {__version__}\n\n")
        log.write(f"Start time of the training: {_now()}\n\n")
        sentences = _read_all(chosen.files, log)
        num_groups = len(chosen.files)
        if split := _count(chosen, "split"):
            sentences, num_groups = dealt_out(sentences, split), split
        _describe(sentences, num_groups, log)
        for grouped in sentences:
            trainer.append(grouped.sentence.items, grouped.sentence.labels, grouped.group)
        _train(trainer, chosen, num_groups, log)
        log.write(f"End time of the training: {_now()}\n\n")
    return 0


def _train(trainer: CommandTrainer, chosen: Chosen, num_groups: int, log: TextIO) -> None:
    holdout = _count(chosen, "holdout") - 1
    if not chosen.has("cross-validate"):
        if holdout >= num_groups:
            raise InputError(f"crfsuite learn: expected -e from 1 to {num_groups}, the groups, got {holdout + 1}")
        trainer.train(chosen.last("model"), holdout)
        return
    if num_groups < 2:
        raise InputError("crfsuite learn: expected several groups for -x, got one; pass more files, or -g N")
    for group in range(num_groups):
        log.write(f"===== Cross validation ({group + 1}/{num_groups}) =====\n")
        trainer.train("", group)
        log.write("\n")


def _algorithm(chosen: Chosen) -> str:
    name = chosen.last("algorithm", "lbfgs")
    if name not in ALGORITHMS:
        raise InputError(f"crfsuite learn: expected -a {', '.join(ALGORITHMS)}, got {name!r:.60}")
    return ALGORITHMS[name]


def _trainer(chosen: Chosen) -> CommandTrainer:
    """A trainer of the algorithm, with its parameters."""
    if (kind := chosen.last("type", "1d")) != "1d":
        raise InputError(f"crfsuite learn: expected -t 1d, the only graph, got {kind!r:.60}")
    trainer = CommandTrainer(_algorithm(chosen))
    for setting in chosen.values.get("set", ()):
        name, equals, value = setting.partition("=")
        if name not in trainer.params() or not equals:
            raise InputError(
                f"crfsuite learn: expected -p NAME=VALUE, NAME one of {', '.join(trainer.params())}, "
                f"got {setting!r:.60}"
            )
        trainer.set(name, _checked(name, value))
    return trainer


def _checked(name: str, text: str) -> str:
    """The text of a value, if it is of the kind of its parameter; crfsuite takes 0 for any other."""
    if name == "linesearch":
        return text
    try:
        number: float = int(text) if name in (*WHOLE, *SWITCHES) else float(text)
    except ValueError:
        wanted = "a whole number" if name in (*WHOLE, *SWITCHES) else "a number"
        raise InputError(f"crfsuite learn: expected {wanted} for -p {name}, got {text!r:.60}") from None
    return str(number)


def _parameters(trainer: CommandTrainer, algorithm: str) -> str:
    """Write each parameter with its type, its value and what it is for."""
    lines = [f"PARAMETERS for {algorithm} (crf1d):\n\n"]
    for name in trainer.params():
        value = trainer.get(name)
        kind = "string" if name == "linesearch" else "int" if name in (*WHOLE, *SWITCHES) else "float"
        shown = value if kind == "string" else f"{int(value)}" if kind == "int" else f"{value:f}"
        lines.append(f"{kind} {name} = {shown};\n{trainer.help(name)}\n\n")
    return "".join(lines)


@contextlib.contextmanager
def _log(chosen: Chosen) -> Iterator[TextIO]:
    """Where the log goes: standard output, or a file that is named by what is learned how."""
    if not chosen.has("log-to-file"):
        yield sys.stdout
        return
    parts = [chosen.last("logbase", "log.crfsuite"), _algorithm(chosen), *chosen.values.get("set", ())]
    with open("_".join(parts), "w", encoding="utf-8") as file:
        yield file


def _read_all(paths: Sequence[str], log: TextIO) -> list[Grouped]:
    log.write("Reading the data set(s)\n")
    sentences: list[Grouped] = []
    for group, path in enumerate(paths):
        log.write(f"[{group + 1}] {path}\n")
        begin, before = time.process_time(), len(sentences)
        with open_data(path) as lines:
            shown = _Meter(lines, log)
            sentences += [Grouped(sentence, group) for sentence in read_sentences(shown, name_of(path))]
        log.write(f"Number of instances: {len(sentences) - before}\n")
        log.write(f"Seconds required: {time.process_time() - begin:.3f}\n")
    log.write("\n")
    return sentences


class _Meter:
    """The lines of a file, and on the way ``0....1....2`` up to 10 as they are read."""

    def __init__(self, lines: IO[bytes], log: TextIO) -> None:
        self._lines, self._log = lines, log

    def __iter__(self) -> Iterator[bytes]:
        begin = 0
        size = 0
        if self._lines.seekable():
            begin = self._lines.tell()
            size = self._lines.seek(0, 2) - begin
            self._lines.seek(begin)
        done, shown = 0, 0
        self._log.write("0")
        for line in self._lines:
            yield line
            done += len(line)
            percent = min(100, 100 * done // size) if size else 0
            self._show(shown, percent)
            shown = max(shown, percent)
        self._show(shown, 100)
        self._log.write("\n")

    def _show(self, before: int, percent: int) -> None:
        marks = (f"{p // 10}" if p % 10 == 0 else "." for p in range(before + 1, percent + 1) if p % 2 == 0)
        self._log.write("".join(marks))


def dealt_out(sentences: Sequence[Grouped], num_groups: int) -> list[Grouped]:
    """Shuffle sentences as the program does, and give them to the groups in turn."""
    mixed, draws = list(sentences), library_random()
    for b in range(len(mixed)):
        other = next(draws) % len(mixed)
        mixed[b], mixed[other] = mixed[other], mixed[b]
    return [replace(grouped, group=b % num_groups) for b, grouped in enumerate(mixed)]


def library_random(seed: int = 1) -> Iterator[int]:
    """Yield what ``rand()`` of the GNU C library gives: r_i = r_{i−3} + r_{i−31} modulo 2³², without the lowest bit.

    >>> draws = library_random()
    >>> [next(draws) for _ in range(3)]
    [1804289383, 846930886, 1681692777]
    """
    values = [seed]
    for _ in range(30):
        values.append(16807 * values[-1] % 2147483647)
    values += values[:3]
    step = 0
    while True:
        values.append((values[-3] + values[-31]) % 2**32)
        del values[:-34]
        step += 1
        if step > 310:  # the first 310 are not given out
            yield values[-1] >> 1


def _describe(sentences: Sequence[Grouped], num_groups: int, log: TextIO) -> None:
    if not sentences:
        raise InputError("crfsuite learn: expected sentences, got none")
    rows = [grouped.sentence for grouped in sentences]
    attributes = {name for row in rows for item in row.items for name in item}
    log.write("Statistics the data set(s)\n")
    log.write(f"Number of data sets (groups): {num_groups}\n")
    log.write(f"Number of instances: {len(rows)}\n")
    log.write(f"Number of items: {sum(len(row.items) for row in rows)}\n")
    log.write(f"Number of attributes: {len(attributes)}\n")
    log.write(f"Number of labels: {len({label for row in rows for label in row.labels})}\n\n")


def _count(chosen: Chosen, name: str) -> int:
    """The value of an option that is a whole number of 1 or more; 0 where it was not given."""
    if not chosen.has(name):
        return 0
    text = chosen.last(name)
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"crfsuite learn: expected a whole number of 1 or more for --{name}, got {text!r:.60}")
    return int(text)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
