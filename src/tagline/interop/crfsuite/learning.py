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

import numpy as np

from tagline import __version__
from tagline.errors import InputError, TrainingError
from tagline.interop import pycrfsuite
from tagline.interop.crfsuite.arguments import LEARN, Chosen, described, parse
from tagline.interop.crfsuite.data import LabelledItems, read_sentences
from tagline.interop.crfsuite.tagging import open_data
from tagline.interop.pycrfsuite.online import shuffles
from tagline.interop.pycrfsuite.training_parameters import ALGORITHMS as PARAMETERS
from tagline.readers.sources import name_of
from tagline.writing import check_apart

ALGORITHMS = {  # as -a takes them, and as the log and the names of its files have them
    "lbfgs": "lbfgs",
    "l2sgd": "l2sgd",
    "ap": "averaged-perceptron",
    "averaged-perceptron": "averaged-perceptron",
    "pa": "passive-aggressive",
    "passive-aggressive": "passive-aggressive",
    "arow": "arow",
}

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
    check_apart({"data": chosen.files}, {"--model": chosen.last("model")})
    pycrfsuite.seed()  # a program begins with the same random numbers each time
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
            sentence = grouped.sentence
            trainer.append(sentence.items, sentence.labels, grouped.group, weight=sentence.weight)
        try:
            _train(trainer, chosen, num_groups, log)
        except pycrfsuite.CRFSuiteError as error:
            raise TrainingError("crfsuite learn: expected training to end, got an error: {}", error) from None
        log.write(f"End time of the training: {_now()}\n\n")
    return 0


def _train(trainer: CommandTrainer, chosen: Chosen, num_groups: int, log: TextIO) -> None:
    holdout = _count(chosen, "holdout") - 1
    if not chosen.has("cross-validate"):
        if holdout >= num_groups:
            raise InputError("crfsuite learn: expected -e from 1 to {}, the groups, got {}", num_groups, holdout + 1)
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
        raise InputError("crfsuite learn: expected -a {}, got {!r:.60}", ", ".join(ALGORITHMS), name)
    return ALGORITHMS[name]


def _trainer(chosen: Chosen) -> CommandTrainer:
    """A trainer of the algorithm, with its parameters."""
    if (kind := chosen.last("type", "1d")) != "1d":
        raise InputError("crfsuite learn: expected -t 1d, the only graph, got {!r:.60}", kind)
    trainer = CommandTrainer(_algorithm(chosen))
    for setting in chosen.values.get("set", ()):
        name, equals, value = setting.partition("=")
        if name not in trainer.params() or not equals:
            raise InputError(
                "crfsuite learn: expected -p NAME=VALUE, NAME one of {}, got {!r:.60}",
                ", ".join(trainer.params()),
                setting,
            )
        trainer.set(name, value)
    return trainer


def _parameters(trainer: CommandTrainer, algorithm: str) -> str:
    """Write each parameter with its type, its value and what it is for."""
    lines = [f"PARAMETERS for {algorithm} (crf1d):\n\n"]
    for name, parameter in PARAMETERS[algorithm].items():
        kind = {int: "int", float: "float", str: "string"}[parameter.kind]
        value = parameter.kind(trainer.get(name))
        lines.append(f"{kind} {name} = {f'{value:f}' if kind == 'float' else value};\n{parameter.help}\n\n")
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
    order = shuffles.shuffled(np.arange(len(sentences)))
    return [replace(sentences[b], group=place % num_groups) for place, b in enumerate(order.tolist())]


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
        raise InputError("crfsuite learn: expected a whole number of 1 or more for --{}, got {!r:.60}", name, text)
    return int(text)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
