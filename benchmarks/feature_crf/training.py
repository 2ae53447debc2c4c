"""Training in the speed table: CoNLL-2000, ours and python-crfsuite's in the same run, in turns.

Groups: ``sparse`` (evaluation, iteration, to the optimum, end to end, memory), ``dense`` and ``pos44`` (evaluation and
iteration).
"""

from __future__ import annotations

import statistics
from typing import Any

from feature_crf import agreement
from feature_crf.bench import Bench
from feature_crf.cases import CASES, MARGIN, MEMORY, OPTIMUM
from feature_crf.children import Result
from feature_crf.tables import Row, both, median, seconds

CRFSUITE_MB = 205  # peak of the CRFsuite command line on the sparse case
MEMORY_BAR = 1.2
BARS = {"sparse": (7, 6), "dense": (8, 5), "pos": (8, None)}  # evaluation, iteration
OPTIMUM_BARS = {1: 12, 2: 18}
END_BAR = 15
SIZE_BAR = 0.5
SLACK = 1e-6  # relative, between the float32 objective that stops a run and its float64 check


def target_of(run: Bench, theirs: Result) -> float:
    """What is within 0.01 % of the optimum; in a quick run, of where the rival stopped."""
    return float((theirs["losses"][-1] if run.plan.quick else OPTIMUM) * (1 + MARGIN))


def sparse(run: Bench) -> list[Row]:
    """Evaluation, iteration, time to the optimum, end to end, memory: one training of the rival serves them all."""
    files: dict[str, Any] = {"train": run.train, "template": run.template}
    theirs, passes, ends, own = [], [], [], []
    ways: dict[int, list[Result]] = {1: [], run.plan.two: []}
    for turn in range(run.plan.rounds):
        theirs.append(run.child("rival.train", case="sparse", train=run.train, model=run.path("sparse.rival")))
        passes.append(_passes(run, "sparse"))
        target = target_of(run, theirs[0])
        if not turn:
            _check_sparse(run, passes[0], theirs[0])
        for threads, results in ways.items():
            results.append(run.child("ours.optimum", threads, **files, target=target))
            _reached(results[-1], target)
        ends.append(run.child("ours.end_to_end", run.plan.two, **files, model=run.path("sparse.ours"), target=target))
        _reached(ends[-1], target)
        own.append(run.child("ours.end_to_end", run.plan.two, **files, model=run.path("stopped.ours")))
    run.shared["target"] = target
    return [
        *_iteration_rows(run, "sparse", passes, theirs),
        *(_optimum_row(run, threads, results, theirs, target) for threads, results in ways.items()),
        *_end_rows(run, ends, own, theirs),
        *_size_rows(run, ends, theirs),
    ]


def _reached(ours: Result, target: float) -> None:
    agreement.require("objective reached", max(ours["objective"], target), target, SLACK)


def _check_sparse(run: Bench, ours: Result, theirs: Result) -> None:
    agreement.same_problem("sparse", ours, theirs)
    agreement.same_optimum(ours["tokens"], theirs["losses"][-1])
    labels = run.path("rival.labels")
    run.child("rival.tag_file", model=run.path("sparse.rival"), test=run.test, labels=labels, repeats=1)
    result = _with_rival(run, "sparse", theirs, test=run.test)
    agreement.same_labels(result["labels"], labels, agreement.SAME_LABELS)


def _with_rival(run: Bench, case: str, theirs: Result, **more: Any) -> Result:
    files: dict[str, Any] = {"train": run.train, "template": run.template, "model": run.path(f"{case}.rival")}
    result = run.child("agreement.with_rival", case=case, **files, **more)
    agreement.require(
        f"{case}: objective at the rival's weights", result["objective"], theirs["losses"][-1], agreement.SAME
    )
    return result


def _passes(run: Bench, case: str) -> Result:
    amounts = {"iterations": run.plan.iterations, "evaluations": run.plan.evaluations}
    return run.child("ours.passes", case=case, train=run.train, template=run.template, **amounts)


def dense(run: Bench) -> list[Row]:
    """Evaluation and iteration with weights for all pairs."""
    files: dict[str, Any] = {"train": run.train, "template": run.template}
    result = run.child("agreement.dense_and_sparse", **files)
    for name in ("value", "gradient"):
        agreement.require(f"dense against sparse, {name}", result[name], 0.0, absolute=agreement.SAME)
    return _few_iterations(run, "dense")


def pos(run: Bench) -> list[Row]:
    """Evaluation and iteration with 44 labels."""
    return _few_iterations(run, "pos")


def _few_iterations(run: Bench, case: str) -> list[Row]:
    theirs, passes = [], []
    more: dict[str, Any] = {"train": run.train, "model": run.path(f"{case}.rival"), "iterations": run.plan.iterations}
    for turn in range(run.plan.rounds):
        theirs.append(run.child("rival.train", case=case, **more))
        passes.append(_passes(run, case))
        if not turn:
            agreement.same_problem(case, passes[0], theirs[0])
            if not CASES[case].dense:
                _with_rival(run, case, theirs[0])
    peak, other = (statistics.median(taken["peak_mb"] for taken in side) for side in (passes, theirs))
    memory = Row(f"peak memory: {CASES[case].title}", f"{peak:.0f} MB", f"{other:.0f} MB", f"{other / peak:.1f}×")
    return [*_iteration_rows(run, case, passes, theirs), memory]


def _iteration_rows(run: Bench, case: str, ours: list[Result], theirs: list[Result]) -> list[Row]:
    iteration = statistics.median(statistics.median(taken["times"]) for taken in theirs)
    wall = statistics.median(statistics.median(taken["walls"]) for taken in theirs)
    rival = f"{seconds(iteration)} CPU, {seconds(wall)} wall an iteration"
    evaluations = median(median(taken["evaluations"]) for taken in ours)
    passes = median(median(taken["passes"]) for taken in ours)
    title, runs = CASES[case].title, f"medians of {run.plan.rounds} processes each; CPU of 1 thread"
    evaluation_bar, iteration_bar = BARS[case]
    bars = {} if iteration_bar is None else run.ratio(passes[0], iteration, iteration_bar)
    return [
        Row(
            f"evaluation: {title}",
            both(evaluations),
            rival,
            **run.ratio(evaluations[0], iteration, evaluation_bar),
            how=f"objective and gradient against its iteration; {runs}, {run.plan.evaluations} evaluations in each",
        ),
        Row(
            f"iteration: {title}",
            both(passes),
            rival,
            **(bars or {"ratio": f"{iteration / passes[0]:.1f}×"}),
            how=f"L-BFGS, memory {MEMORY}, optimiser included; {runs}",
        ),
    ]


def _until(theirs: Result, target: float) -> tuple[float, float, int]:
    """Seconds, of the log and of the wall, and iterations until the rival reaches a target; else all of them."""
    count = next((n for n, loss in enumerate(theirs["losses"], 1) if loss <= target), len(theirs["losses"]))
    return sum(theirs["times"][:count]), sum(theirs["walls"][:count]), count


def _optimum_row(run: Bench, threads: int, ours: list[Result], theirs: list[Result], target: float) -> Row:
    taken = median(result["taken"] for result in ours)
    rival = [_until(result, target) for result in theirs]
    log, wall = statistics.median(clock[0] for clock in rival), statistics.median(clock[1] for clock in rival)
    first = ours[0]
    return Row(
        f"to within 0.01 % of the optimum, {threads} thread{'s' * (threads != 1)}",
        both(taken),
        f"{seconds(log)} CPU, {seconds(wall)} wall ({rival[0][2]} iterations)",
        **run.ratio(taken[0] if threads == 1 else taken[1], log, OPTIMUM_BARS[1 if threads == 1 else 2]),
        how=f"from features in memory: our {'CPU' if threads == 1 else 'wall'} seconds against CPU seconds of its log; "
        f"{first['stochastic_passes']} + {first['batch_passes']} passes; objective {first['objective']:.3f}; "
        f"median of {len(ours)}",
    )


def _end_rows(run: Bench, ours: list[Result], own: list[Result], theirs: list[Result]) -> list[Row]:
    taken, stopped = median(result["taken"] for result in ours), median(result["taken"] for result in own)
    rival = median(result["whole"] for result in theirs)
    prepared = median(result["prepared"] for result in theirs)
    count = f"median of {len(ours)}"
    return [
        Row(
            "end to end: file to saved model, 2 threads",
            both(taken),
            both(rival),
            **run.ratio(taken[1], rival[1], END_BAR),
            how="wall; ours to 0.01 %, python-crfsuite at its defaults (c2 = 1) to its own stop; "
            f"its extraction in Python and appending take {seconds(prepared[1])} of it; {count}",
        ),
        Row(
            "end to end, to our own stop",
            both(stopped),
            both(rival),
            f"{rival[1] / stopped[1]:.1f}×",
            how=f"wall; objective {own[0]['objective']:.2f} against {theirs[0]['losses'][-1]:.2f}; {count}",
        ),
    ]


def _size_rows(run: Bench, ours: list[Result], theirs: list[Result]) -> list[Row]:
    peak = statistics.median(result["peak_mb"] for result in ours)
    rival = statistics.median(result["peak_mb"] for result in theirs)
    size, other = ours[0]["bytes"], theirs[0]["bytes"]
    return [
        Row(
            "peak memory of training: file to saved model",
            f"{peak:.0f} MB",
            f"{rival:.0f} MB",
            f"{rival / peak:.1f}×",
            f"≤ {MEMORY_BAR * CRFSUITE_MB:.0f} MB",
            run.judge(peak <= MEMORY_BAR * CRFSUITE_MB),
            f"over the imports; the bar is {MEMORY_BAR} × the {CRFSUITE_MB} MB of CRFsuite's command line",
        ),
        Row(
            "model file",
            f"{size / 1e6:.1f} MB",
            f"{other / 1e6:.1f} MB",
            f"{other / size:.1f}×",
            f"≤ {SIZE_BAR:g} of its size",
            run.judge(size <= SIZE_BAR * other),
        ),
    ]
