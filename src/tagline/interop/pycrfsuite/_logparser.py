"""CRFsuite's training log, taken message by message: `Trainer.logparser`, and what its hooks are called by.

Feature generation … 0....1.… Number of features … Seconds required     start, featgen_progress, featgen_end
the settings of the algorithm                                            prepared, or prepare_error
***** Iteration #1 ***** … an empty line                                 iteration, for each
Storing the model …                                                      optimization_end, end
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
_NUMBERS: tuple[tuple[str, re.Pattern[str], Callable[[str], float]], ...] = tuple(
    (key, re.compile(f"{words}: ({digits})"), kind)
    for key, words, digits, kind in (
        ("loss", "Loss", r"\d+\.\d+", float),
        ("feature_norm", "Feature norm", r"\d+\.\d+", float),
        ("error_norm", "Error norm", r"\d+\.\d+", float),
        ("active_features", "Active features", r"\d+", int),
        ("linesearch_trials", "Line search trials", r"\d+", int),
        ("linesearch_step", "Line search step", r"\d+\.\d+", float),
        ("time", "Seconds required for this iteration", r"\d+\.\d+", float),
    )
)
_AVERAGES = re.compile(r"Macro-average precision, recall, F1: \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_SCORES = re.compile(r"\s{4}(.+): \((\d+), (\d+), (\d+)\) \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
_NO_SCORES = re.compile(r"\s{4}(.+): \((\d+), (\d+), (\d+)\) \(\*{6}, \*{6}, \*{6}\)")


class LabelScore(NamedTuple):
    """How well a label was found in the holdout group; no precision, recall and F1 where it does not occur there."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainLogParser:
    """Reads a training log.

    Attributes:
        state: which part of the log comes next; None before the first message.
        featgen_percent, featgen_num_features, featgen_seconds, training_seconds, storing_seconds: as the log says.
        iterations: one dict each: num, loss, feature_norm, time, scores …; `last_iteration` is the last.
        log: all messages.
        events: (name, first message, message after the last) of what has happened.
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Take a message; return what has happened with it, if anything has."""
        self.log.append(line)
        if self.state is None:
            self.state = "STARTING"
            self.handle_STARTING(line)
            self.events.append(("start", 0, len(self.log)))
            return "start"
        event: str | None = getattr(self, f"handle_{self.state}")(line)
        if event is not None:
            # These two are known by the first message of what follows.
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, self.events[-1][2], end))
        return event

    @property
    def last_log(self) -> str:
        """The messages of the last event."""
        _, begin, end = self.events[-1]
        return "".join(self.log[begin:end])

    def handle_STARTING(self, line: str) -> None:
        """Wait for the generation of features."""
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"

    def handle_FEATGEN(self, line: str) -> str | None:
        """Count its progress until it has ended."""
        if line in "0123456789.10":
            self.featgen_percent += 2
            return "featgen_progress"
        if found := re.match(r"Number of features: (\d+)", line):
            self.featgen_num_features = int(found[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds = float(found[1])
            self.state = "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def handle_AFTER_FEATGEN(self, line: str) -> str | None:
        """Wait for the first iteration."""
        if _HEAD.match(line):
            self.state = "ITERATION"
            self.handle_ITERATION(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def handle_ITERATION(self, line: str) -> str | None:
        """Take a line of an iteration; an empty one ends it."""
        if found := _HEAD.match(line):
            self.last_iteration = {"num": int(found[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
        elif line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        elif self.last_iteration is not None:
            _take(line, self.last_iteration)
        return None

    def handle_AFTER_ITERATION(self, line: str) -> str | None:
        """Wait for the next iteration, or for the end."""
        if _HEAD.match(line):
            self.state = "ITERATION"
            return self.handle_ITERATION(line)
        if found := re.match(r"Total seconds required for training: (\d+\.\d+)", line):
            self.training_seconds = float(found[1])
        if line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def handle_STORING(self, line: str) -> str | None:
        """Wait until the file is written."""
        if line == "\n":
            return "end"
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return None


def _take(line: str, iteration: dict[str, Any]) -> None:
    for key, pattern, kind in _NUMBERS:
        if found := pattern.match(line):
            iteration[key] = kind(found[1])
    if found := _AVERAGES.match(line):
        for key, text in zip(("avg_precision", "avg_recall", "avg_f1"), found.groups(), strict=True):
            iteration[key] = float(text)
    elif found := _ACCURACY.match(line):
        # A holdout group may be empty.
        accuracy = Fraction(int(found[2]), int(found[3])) if int(found[3]) else Fraction(0)
        key = f"{found[1].lower()}_accuracy"
        iteration[key], iteration[f"{key}_float"] = accuracy, float(accuracy)
    elif found := _SCORES.match(line):
        match, model, ref = map(int, found.group(2, 3, 4))
        iteration["scores"][found[1]] = LabelScore(match, model, ref, *map(float, found.group(5, 6, 7)))
    elif found := _NO_SCORES.match(line):
        match, model, ref = map(int, found.group(2, 3, 4))
        iteration["scores"][found[1]] = LabelScore(match, model, ref, None, None, None)
