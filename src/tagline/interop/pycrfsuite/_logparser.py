"""CRFsuite's training log, taken message by message: `Trainer.logparser`, and what its hooks are called by.

A log has five parts. What a message means depends on its own words, and for a few of them on the part it stands in:

    part         ends with                         the event
    greeting     "Feature generation"              start, at the very first message
    features     "Seconds required: …"             featgen_progress for each dot, featgen_end
    settings     the head of the first iteration   prepared, or prepare_error
    iterations   "Storing the model"               iteration at each empty line, then optimization_end
    storing      an empty line                     end
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

_ITERATION = re.compile(r"\*+ (?:Iteration|Epoch) #(\d+) \*+")
_LABEL = re.compile(r" {4}(?P<label>.+): \((?P<counts>[\d, ]+)\) \((?P<shares>[\d.*, ]+)\)\s*")
_DOTS = frozenset(("", ".", *map(str, range(11))))  # what is printed while features are counted

# The words before a colon, the key of an iteration, and what the text behind it becomes.
_FACTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "Loss": ("loss", float),
    "Feature norm": ("feature_norm", float),
    "Error norm": ("error_norm", float),
    "Active features": ("active_features", int),
    "Line search trials": ("linesearch_trials", int),
    "Line search step": ("linesearch_step", float),
    "Seconds required for this iteration": ("time", float),
}
_ACCURACIES = {"Item accuracy": "item_accuracy", "Instance accuracy": "instance_accuracy"}
_AVERAGES = "Macro-average precision, recall, F1"


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
        state: the part of the log that the next message belongs to; None before the first.
        featgen_percent, featgen_num_features, featgen_seconds, training_seconds, storing_seconds: as the log says.
        iterations: one dict each: num, loss, feature_norm, time, scores …; `last_iteration` is the last.
        log: all messages.
        events: (name, first message, message after the last) of what has happened.
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2  # the first thing printed is 0
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The newest of `iterations`; None before there is one."""
        return self.iterations[-1] if self.iterations else None

    @property
    def last_log(self) -> str:
        """The messages of the last event."""
        _, first, after = self.events[-1]
        return "".join(self.log[first:after])

    def feed(self, line: str) -> str | None:
        """Take a message; return what has happened with it, if anything has."""
        self.log.append(line)
        if self.state is None:
            self.state = "greeting"
            self._greeting(line)
            return self._happened("start", 0)
        event: str | None = getattr(self, f"_{self.state}")(line)
        return event and self._happened(event, self.events[-1][2])

    def _happened(self, event: str, first: int) -> str:
        # These two are noticed by the first message of what comes behind them.
        late = event in ("prepared", "optimization_end")
        self.events.append((event, first, len(self.log) - late))
        return event

    # One method for each part: the event that a message brings, or None.

    def _greeting(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "features"

    def _features(self, line: str) -> str | None:
        if line in _DOTS:
            self.featgen_percent += 2
            return "featgen_progress"
        name, value = _fact(line)
        if name == "Number of features":
            self.featgen_num_features = int(value)
        if name != "Seconds required":
            return None
        self.featgen_seconds, self.state = float(value), "settings"
        return "featgen_end"

    def _settings(self, line: str) -> str | None:
        if self._opens(line):
            return "prepared"
        if "terminated with error" not in line:
            return None
        self.state = "iterations"
        return "prepare_error"

    def _iterations(self, line: str) -> str | None:
        name, value = _fact(line)
        if name == "Total seconds required for training":
            self.training_seconds = float(value)
        if line.startswith("Storing the model"):
            self.state = "storing"
            return "optimization_end"
        self._opens(line)
        return None

    def _iteration(self, line: str) -> str | None:
        if line == "\n":
            self.state = "iterations"
            return "iteration"
        self.iterations[-1].update(_facts_of(line))
        if (found := _LABEL.fullmatch(line)) is not None:
            self.iterations[-1]["scores"][found["label"]] = _score(found["counts"], found["shares"])
        return None

    def _storing(self, line: str) -> str | None:
        name, value = _fact(line)
        if name == "Seconds required":
            self.storing_seconds = float(value)
        return "end" if line == "\n" else None

    def _opens(self, line: str) -> bool:
        """Begin an iteration where the message is the head of one."""
        head = _ITERATION.match(line)
        if head is not None:
            self.iterations.append({"num": int(head[1]), "scores": {}})
            self.state = "iteration"
        return head is not None


def _fact(line: str) -> tuple[str, str]:
    """What stands before the last colon of a message, and behind it up to a blank."""
    name, _, value = line.strip().rpartition(": ")
    return name, value


def _facts_of(line: str) -> Iterator[tuple[str, Any]]:
    """Keys and values that a message of an iteration brings."""
    name, value = _fact(line)
    if name in _FACTS:
        key, kind = _FACTS[name]
        yield key, kind(value.split()[0])
    elif name == _AVERAGES:
        yield from zip(("avg_precision", "avg_recall", "avg_f1"), _numbers(value), strict=True)
    elif name in _ACCURACIES:
        right, total = (int(part) for part in value.partition(" (")[0].split(" / "))
        accuracy = Fraction(right, total) if total else Fraction(0)  # a holdout group may be empty
        yield _ACCURACIES[name], accuracy
        yield f"{_ACCURACIES[name]}_float", float(accuracy)


def _numbers(text: str) -> list[float | None]:
    """Numbers between brackets and commas; asterisks stand where there is none."""
    return [None if "*" in part else float(part) for part in text.strip("() \n").split(", ")]


def _score(counts: str, shares: str) -> LabelScore:
    match, model, reference = (int(part) for part in counts.split(", "))
    return LabelScore(match, model, reference, *_numbers(shares))
