"""What a search has found, for people: a table of trials, which settings mattered, and a picture of that.

The share of a setting is that of the variance of the scores which lies between groups of its values (η², the
correlation ratio): 0 where the setting tells nothing of the score, 1 where it tells all. Only trials of the first round
are compared: all settings were drawn for it, and all had as many passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tagline.drawing.figures import BLUE, ORANGE, kind_of, new_figure, write_figure
from tagline.readers.sources import open_target
from tagline.scale.search import SearchResult
from tagline.scale.trials import Record

GROUPS = 4  # that numbers are put into, as many trials each
ENOUGH = 8  # trials, so that shares say something


def first_round(found: SearchResult) -> list[Record]:
    """Return the trials of the first round that could be scored."""
    return [record for record in found.records if record.passes == found.rounds[0] and not math.isnan(record.score)]


def shares(found: SearchResult) -> dict[str, float]:
    """Return what share of the differences each setting explains, the largest first; settings that vary."""
    records = first_round(found)
    scores = np.array([record.score for record in records])
    total = ((scores - scores.mean()) ** 2).sum() if len(scores) else 0.0
    out = {}
    for name in records[0].settings if records else ():
        values = [record.settings[name] for record in records]
        if len(set(map(str, values))) > 1 and total > 0:
            groups = _groups(values)
            between = sum(
                (groups == group).sum() * (scores[groups == group].mean() - scores.mean()) ** 2
                for group in np.unique(groups)
            )
            out[name] = float(between / total)
    return dict(sorted(out.items(), key=lambda item: -item[1]))


def _groups(values: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Number the values: few different ones by themselves, many numbers in groups of about one size."""
    distinct = sorted(set(values), key=lambda value: (str(type(value)), value))
    if len(distinct) <= GROUPS or any(isinstance(value, str) for value in distinct):
        return np.array([distinct.index(value) for value in values], np.int64)
    ranks = np.argsort(np.argsort(np.array(values, float), kind="stable"), kind="stable")
    return np.asarray(ranks * GROUPS // len(values), np.int64)


def table(found: SearchResult, most: int | None = None) -> list[str]:
    """Return the trials as lines with tabs between the columns: score, passes, seconds, settings."""
    names = list(found.best.settings)
    lines = ["\t".join(("score", "passes", "seconds", *names))]
    for record in found.records[:most]:
        score = "failed" if math.isnan(record.score) else f"{100 * record.score:.2f}"
        values = [str(record.settings.get(name, "")) for name in names]
        lines.append("\t".join((score, str(record.passes), f"{record.seconds:.1f}", *values)))
    return lines


def write_table(found: SearchResult, path: str) -> None:
    """Write all trials as a table with tabs."""
    with open_target(path) as stream:
        stream.writelines(f"{line}\n".encode() for line in table(found))


def draw(found: SearchResult, path: str) -> None:
    """Draw the scores of the first round over each setting, those that matter most first."""
    explained, records = shares(found), first_round(found)
    figure = new_figure(3.2 * max(1, len(explained)), 3.2, own=True)
    axes = figure.subplots(1, max(1, len(explained)), sharey=True, squeeze=False)[0]
    scores = [100 * record.score for record in records]
    for ax, (name, share) in zip(axes, explained.items(), strict=False):
        values = [record.settings[name] for record in records]
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        places = values if numbers else [str(value) for value in values]
        ax.scatter(places, scores, s=14, color=BLUE, alpha=0.7)
        if found.best.settings in [record.settings for record in records]:
            best = found.best.settings[name]
            ax.axvline(best if numbers else str(best), color=ORANGE, linewidth=1)
        if numbers and min(values) > 0 and max(values) / min(values) > 50:
            ax.set_xscale("log")
        ax.set_title(f"{name}: {100 * share:.0f} %" if len(records) >= ENOUGH else name, fontsize=10)
    axes[0].set_ylabel(f"score after {found.rounds[0]} passes")
    with open_target(path) as stream:
        write_figure(figure, stream, kind_of(path))
