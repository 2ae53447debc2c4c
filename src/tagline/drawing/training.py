"""The training curve of a model: the objective after each pass, and the dev score where there is a dev set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tagline.drawing.figures import BLUE, ORANGE, Path, axes_for, finish
from tagline.errors import InputError

SIZE = (6.0, 3.6)  # inches


def plot_training(log: Sequence[Any], path: Path | None = None, *, ax: Any = None) -> Any:
    """Draw what each pass reached; see `plot_training` of models.

    Arguments:
        log: one entry a pass (`tagline.training.iteration.Step`), at least one.
        path, ax: as of all figures.
    """
    if not log:
        raise InputError(
            "training_log_: expected at least one pass to draw, got none; a model that was counted or loaded has no log"
        )
    axes = axes_for(ax, path, *SIZE)
    numbers = [done.number for done in log]
    objective = [done.objective if math.isfinite(done.objective) else math.nan for done in log]
    label, marker = "loss" if log[0].noun == "epoch" else "objective", "." if len(log) == 1 else None
    axes.plot(numbers, objective, color=BLUE, marker=marker, label=label)
    axes.set_xlabel(log[0].noun)
    axes.set_ylabel(label, color=BLUE)
    scored = [(done.number, 100 * done.dev_score) for done in log if done.dev_score is not None]
    if not scored:
        return finish(axes, path)
    right = axes.twinx()
    right.plot(*zip(*scored, strict=True), color=ORANGE, marker=marker, label="dev score")
    right.set_ylabel("dev score", color=ORANGE)
    best = max(scored, key=lambda point: point[1])
    right.plot(*best, color=ORANGE, marker="o", linestyle="none")
    right.annotate(f"{best[1]:.2f}", best, textcoords="offset points", xytext=(0, -12), ha="center", color=ORANGE)
    return finish(axes, path, right)
