"""How training went: the facts, and what is said about them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tagline.cli.render import score_lines
from tagline.evaluation.report import Report
from tagline.messages import message
from tagline.models.contract import Model, Summary
from tagline.models.recipes import Recipe
from tagline.models.views import reason_in_words
from tagline.training.running.progress import duration


@dataclass(frozen=True, eq=False)
class Training:
    """What was trained, and how it went.

    Attributes:
        path: of the model file.
        model: the estimator.
        data: what it learned from.
        recipe: how it was trained.
        seconds: of the whole.
        dev: scores on the dev set.
        config: of a network, the path of its configuration.
    """

    path: str
    model: Model
    data: Any
    recipe: Recipe
    seconds: float
    dev: Report | None
    config: str | None = None

    @cached_property
    def summary(self) -> Summary:
        """The model in a few numbers."""
        return self.model.summary()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.reason == "interrupted"

    @property
    def reason(self) -> str:
        """Why training stopped."""
        return str(self.summary.training["reason"])

    @property
    def size(self) -> int:
        """Of the file, in bytes."""
        return os.path.getsize(self.path)

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain numbers, lists and strings."""
        summary, best = self.summary, self.model.best_pass_
        return {
            "model": self.path,
            "bytes": self.size,
            "sentences": len(self.data),
            "tokens": int(self.data.num_tokens),
            "skipped": len(self.recipe.problems),
            "template": self.recipe.template,
            **{key: value for key, value in summary.as_dict().items() if key not in ("features", "training")},
            "training": summary.training,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "config": self.config,
            "best_pass": None if best is None else best.number,
            "dev": None if self.dev is None else self.dev.as_dict(),
        }


def report_lines(done: Training) -> list[str]:
    """Say how training ended, how good the model is, and what to try next."""
    summary = done.summary
    lines: list[str] = [*summary.training.get("notes", ())]
    if done.reason == "counted":
        lines.append(message("counted, {} in all", duration(done.seconds)))
    else:
        passes = len(done.model.training_log_)
        noun, took = done.recipe.noun if passes == 1 else done.recipe.plural, duration(done.seconds)
        lines.append(message("stopped after {} {}, {} in all: {}", passes, noun, took, _reason(done)))
    lines.append(summary.line())
    if done.dev is not None:
        lines += ["", *score_lines(done.dev), ""]
    lines.append(message("saved {} ({:.1f} MB)", done.path, done.size / 1e6))
    if done.config is not None:
        lines.append(message("saved {}, its configuration", done.config))
    return [*lines, *_advice(done)]


def _reason(done: Training) -> str:
    words = {
        "patience": message("the dev score no longer rises"),
        "max_iterations": message("--max-iterations is reached, before it had converged"),
        "time budget": message("--max-seconds are over, before it had converged"),
        "interrupted": message("interrupted; what was learned so far is kept"),
        "passes": message("all passes are made"),
        "epochs": message("all epochs are made"),
    }.get(done.reason) or reason_in_words(done.reason)
    if (best := done.model.kept_pass_) is not None:
        return message(
            "{}; {} {} is kept, dev {:.2f}", words, message(best.noun), best.number, 100 * (best.dev_score or 0.0)
        )
    return words


def _advice(done: Training) -> list[str]:
    commands = [
        (f"tagline tag -m {done.path} FILE", message("tags a file")),
        (f"tagline inspect {done.path}", message("shows what was learned")),
    ]
    if done.dev is None:
        why = (
            message("scores the model") if done.reason == "counted" else message("scores each pass and keeps the best")
        )
        commands.append(("tagline train … --dev FILE", why))
    width = max(len(command) for command, _ in commands)
    return [message("next:"), *(f"  {command:{width}}  {why}" for command, why in commands)]
