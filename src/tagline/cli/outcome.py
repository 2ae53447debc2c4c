"""How training went: the facts, and what is said about them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from tagline.cli.inspect import summary_of
from tagline.cli.progress import Done, duration, number_of
from tagline.cli.render import score_lines
from tagline.evaluation.report import Report
from tagline.features.templates import Template
from tagline.training.neural.journal import Epoch


@dataclass(frozen=True, eq=False)
class Training:
    """What was trained, and how it went.

    Attributes:
        path: of the model file.
        model: the estimator.
        sentences, tokens: learned from.
        template: of the features; None where the model has none.
        skipped: broken sentences that were left out.
        seconds: of the whole.
        dev: scores on the dev set.
        config: of a network, the path of its configuration.
    """

    path: str
    model: Any
    sentences: int
    tokens: int
    template: Template | None
    skipped: int
    seconds: float
    dev: Report | None
    config: str | None = None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.reason == "interrupted"

    @property
    def reason(self) -> str:
        """Why training stopped."""
        return str(self.model.training_.reason)

    @property
    def size(self) -> int:
        """Of the file, in bytes."""
        return os.path.getsize(self.path)

    @property
    def best_pass(self) -> Done | None:
        """The pass with the best dev score, whose weights are kept: by a network always, by a CRF with patience.

        Of several with that score a network keeps the last, a CRF the first.
        """
        scored = [one for one in getattr(self.model, "training_log_", ()) if one.dev_score is not None]
        sign = 1 if any(isinstance(one, Epoch) for one in scored) else -1
        return max(scored, key=lambda one: (one.dev_score or 0.0, sign * number_of(one)), default=None)

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain numbers, lists and strings."""
        summary = summary_of(self.model)
        best = self.best_pass
        return {
            "model": self.path,
            "bytes": self.size,
            "sentences": self.sentences,
            "tokens": self.tokens,
            "skipped": self.skipped,
            "template": None if self.template is None else self.template.source,
            **{key: value for key, value in summary.as_dict().items() if key not in ("features", "training")},
            "training": summary.training,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "config": self.config,
            "best_pass": None if best is None else number_of(best),
            "dev": None if self.dev is None else self.dev.as_dict(),
        }


def report_lines(done: Training) -> list[str]:
    """Say how training ended, how good the model is, and what to try next."""
    summary = summary_of(done.model)
    lines = [*summary.training.get("notes", ())]
    if done.reason == "counted":
        lines.append(f"counted, {duration(done.seconds)} in all")
    else:
        passes = len(done.model.training_log_)
        one, more = ("pass", "passes") if done.config is None else ("epoch", "epochs")
        count = f"{passes} {one if passes == 1 else more}"
        lines.append(f"stopped after {count}, {duration(done.seconds)} in all: {_reason(done)}")
    lines.append(summary.line())
    if done.dev is not None:
        lines += ["", *score_lines(done.dev), ""]
    lines.append(f"saved {done.path} ({done.size / 1e6:.1f} MB)")
    if done.config is not None:
        lines.append(f"saved {done.config}, its configuration")
    return [*lines, *_advice(done)]


def _reason(done: Training) -> str:
    best = done.best_pass
    words = {
        "patience": "the dev score no longer rises",
        "max_iterations": "--max-iterations is reached, before it had converged",
        "time budget": "--max-seconds are over, before it had converged",
        "interrupted": "interrupted; what was learned so far is kept",
        "passes": "all passes are made",
        "epochs": "all epochs are made",
    }.get(done.reason, done.reason)
    if best is not None and (isinstance(best, Epoch) or getattr(done.model, "patience", None) is not None):
        kind = "epoch" if isinstance(best, Epoch) else "pass"
        words += f"; {kind} {number_of(best)} is kept, dev {100 * (best.dev_score or 0.0):.2f}"
    return words


def _advice(done: Training) -> list[str]:
    commands = [
        (f"tagline tag -m {done.path} FILE", "tags a file"),
        (f"tagline inspect {done.path}", "shows what was learned"),
    ]
    if done.dev is None:
        why = "scores the model" if done.reason == "counted" else "scores each pass and keeps the best"
        commands.append(("tagline train … --dev FILE", why))
    width = max(len(command) for command, _ in commands)
    return ["next:", *(f"  {command:{width}}  {why}" for command, why in commands)]
