"""Tagging in the speed table, ours and python-crfsuite's in turns.

Groups: ``tagging`` (file in, labels out; loading a model), ``items`` (features that are Python objects already).
"""

from __future__ import annotations

from typing import Any

from feature_crf import agreement
from feature_crf.bench import Bench
from feature_crf.children import Result
from feature_crf.tables import Row, both, median
from feature_crf.tables import speed as tokens_per_second
from feature_crf.training import target_of

TAGGING_BAR, ITEMS_BAR = 12, 2
LOAD_SECONDS = 0.05
LOADS = 5


def _models(run: Bench) -> tuple[str, str]:
    """Return the models of both sides, trained now where the group ``sparse`` has not left them."""
    ours, theirs = run.path("sparse.ours"), run.path("sparse.rival")
    if "target" not in run.shared:
        run.shared["target"] = target_of(run, run.child("rival.train", case="sparse", train=run.train, model=theirs))
        files = {"train": run.train, "template": run.template, "model": ours}
        run.child("ours.end_to_end", run.plan.two, **files, target=run.shared["target"])
    return ours, theirs


def _taken(run: Bench, measure: str, models: dict[str, str]) -> tuple[dict[str, list[Result]], float, int]:
    """Let both sides tag in turns; return what they took, the share of labels that are the same, and N."""
    taken: dict[str, list[Result]] = {side: [] for side in models}
    labels = {side: run.path(f"{side}.labels") for side in models}
    for _turn in range(run.plan.rounds):
        for side, model in models.items():
            amounts: dict[str, Any] = {"labels": labels[side], "repeats": run.plan.evaluations}
            taken[side].append(run.child(f"{side}.{measure}", model=model, test=run.test, **amounts))
    return taken, agreement.same_labels(labels["ours"], labels["rival"]), taken["ours"][0]["tokens"]


def tagging(run: Bench) -> list[Row]:
    """File in, labels out; and loading the model."""
    ours, theirs = _models(run)
    models = {"rival": theirs, "ours": ours}
    taken, share, tokens = _taken(run, "tag_file", models)
    loads: dict[str, list[Result]] = {side: [] for side in models}
    for _turn in range(LOADS):
        for side, model in models.items():
            loads[side].append(run.child(f"{side}.load", model=model))
    mine, other = (median(median(result["taken"]) for result in taken[side]) for side in ("ours", "rival"))
    loaded, opened = (median(result["taken"][0] for result in loads[side]) for side in ("ours", "rival"))
    return [
        Row(
            "tagging: file in, labels out, 1 thread",
            tokens_per_second(tokens, mine),
            tokens_per_second(tokens, other),
            **run.ratio(mine[0], other[0], TAGGING_BAR),
            how=f"CPU; extraction included, in Python for python-crfsuite; {share:.2%} of the labels the same; "
            f"medians of {run.plan.rounds} processes each, {run.plan.evaluations} runs in each",
        ),
        Row(
            "loading the model",
            both(loaded),
            both(opened),
            "",
            f"≤ {1e3 * LOAD_SECONDS:.0f} ms",
            run.judge(loaded[1] <= LOAD_SECONDS),
            f"wall, in a fresh process; median of {LOADS}",
        ),
    ]


def items(run: Bench) -> list[Row]:
    """Tagging features that are Python objects already."""
    _, theirs = _models(run)
    ours = run.path("items.ours")
    fitted = run.child("ours.from_items", run.plan.two, train=run.train, model=ours, target=run.shared["target"])
    taken, share, tokens = _taken(run, "tag_items", {"rival": theirs, "ours": ours})
    rows = []
    for kind, title in (("lists", "lists of 19 strings"), ("dicts", "dicts of 19 strings")):
        mine, other = (median(median(result["taken"][kind]) for result in taken[side]) for side in ("ours", "rival"))
        rows.append(
            Row(
                f"predict on ready Python features: {title}",
                tokens_per_second(tokens, mine),
                tokens_per_second(tokens, other),
                **run.ratio(mine[0], other[0], ITEMS_BAR),
                how=f"CPU of 1 thread; {share:.2%} of the labels the same; medians of {run.plan.rounds} processes each",
            )
        )
    other = median(median(result["taken"]["ready"]) for result in taken["rival"])
    rows.append(Row("the same as ItemSequence, ready", "", tokens_per_second(tokens, other), how="for comparison"))
    rows.append(Row("fit on lists of 19 strings, 2 threads", both(fitted["taken"]), how="to 0.01 %, saving included"))
    return rows
