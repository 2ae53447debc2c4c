"""The training curve of a model: the objective after each pass, and the dev score where there is a dev set.

matplotlib (extra ``plot``) is imported when the curve is drawn; a new figure is made by hand, without windows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from typing import Any

from tagline.errors import InputError
from tagline.evaluation.plots import MissingPlotExtraError
from tagline.writing import open_new

OBJECTIVE, SCORE = "#4c78a8", "#f58518"
SIZE, DPI = (6.0, 3.6), 150


def plot_training(log: Sequence[Any], ax: Any = None, path: str | PathLike[str] | None = None) -> Any:
    """Draw what each pass reached; see `plot_training` of models.

    Arguments:
        log: one entry a pass (`tagline.training.callbacks.Progress`), at least one.
        ax: axes to draw on; new ones when left out.
        path: a file for the picture, PNG; not with `ax`, whose figure is the caller's.
    """
    if not log:
        raise InputError(
            "training_log_: expected at least one pass to draw, got none; a model that was counted or loaded has no log"
        )
    if ax is not None and path is not None:
        raise InputError("ax, path: expected one of them, got both; save the figure of the axes yourself")
    axes = _axes() if ax is None else ax
    numbers = [done.number for done in log]
    objective = [done.objective if math.isfinite(done.objective) else math.nan for done in log]
    label = "loss" if log[0].noun == "epoch" else "objective"
    axes.plot(numbers, objective, color=OBJECTIVE, marker="." if len(log) == 1 else None, label=label)
    axes.set_xlabel(log[0].noun)
    axes.set_ylabel(label, color=OBJECTIVE)
    scored = [(done.number, 100 * done.dev_score) for done in log if done.dev_score is not None]
    if scored:
        right = axes.twinx()
        right.plot(*zip(*scored, strict=True), color=SCORE, marker="." if len(log) == 1 else None, label="dev score")
        right.set_ylabel("dev score", color=SCORE)
        best = max(scored, key=lambda point: point[1])
        right.plot(*best, color=SCORE, marker="o", linestyle="none")
        right.annotate(f"{best[1]:.2f}", best, textcoords="offset points", xytext=(0, -12), ha="center", color=SCORE)
    if path is not None:
        with open_new(path) as stream:
            axes.figure.savefig(stream, format="png", dpi=DPI)
    return axes


def _axes() -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingPlotExtraError(
            f"plots: expected matplotlib, got no module {error.name}; install it with: pip install 'tagline[plot]'"
        ) from None
    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()
