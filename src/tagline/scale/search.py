"""Searching settings: random draws and successive halving, by scikit-learn on this machine or by Ray Tune.

All draws are trained for a few passes; the better third goes on for three times as many, and so on. On this machine
`HalvingRandomSearchCV` decides and joblib runs the trials; on Ray it is Tune's asynchronous halving (ASHA; Li et al., A
System for Massively Parallel Hyperparameter Tuning, MLSys 2020), which does not wait for the slowest trial of a round.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tagline.errors import InputError
from tagline.messages import message
from tagline.scale.cluster import connected, import_ray, plain_error
from tagline.scale.trials import Record, Study, is_compiled, prepare, run_trial

FACTOR = 3  # of the trials of a round, one of so many goes on, with so many times the passes
MOST_HALVINGS = 2  # the first round must last long enough to say something
SHARED = ("template", "min_frequency", "hash_bits")  # settings that what is compiled depends on
RETRIES = 3  # of a trial whose node is lost


@dataclass(frozen=True)
class SearchResult:
    """What a search has found.

    Attributes:
        records: of all trials, those of the last round first, the best first in each.
        rounds: the passes of each round.
    """

    records: Sequence[Record]
    rounds: Sequence[int]

    @property
    def best(self) -> Record:
        """The best trial of the last round."""
        return self.records[0]


def rounds_of(trials: int, passes: int) -> list[int]:
    """Return the passes of each round of a search.

    >>> rounds_of(40, 90), rounds_of(5, 100), rounds_of(2, 90), rounds_of(40, 1)
    ([10, 30, 90], [33, 99], [90], [1])
    """
    halvings = min(MOST_HALVINGS, int(math.log(max(1, trials), FACTOR) + 1e-9))
    while passes // FACTOR**halvings < 1:
        halvings -= 1
    return [passes // FACTOR**halvings * FACTOR**n for n in range(halvings + 1)]


def search(
    study: Study,
    draws: Sequence[Mapping[str, Any]],
    passes: int,
    *,
    workers: int | None = None,
    ray: bool = False,
    address: str | None = None,
    notice: Callable[[str], None] | None = None,
) -> SearchResult:
    """Try settings and rank them; the folder of the study keeps what was found, and the models of the last round.

    Arguments:
        draws: settings to try.
        passes: of the last round.
        workers: trials at once; as many as there are processors when left out.
        ray, address: work on Ray, at an address as `connected` takes it.
        notice: told what people should know.
    """

    def key(draw: Mapping[str, Any]) -> tuple[Any, ...]:
        """What must be the same for two trials to be prepared by one of them, be it the first or the last."""
        return is_compiled(study, draw), *(draw.get(name) for name in SHARED)

    rounds = rounds_of(len(draws), passes)
    study.begin()
    for draw in {key(draw): draw for draw in draws}.values():
        prepare(study, draw)
    if ray:
        _on_ray(study, draws, rounds, workers, address, notice)
    else:
        _here(study, draws, rounds, workers)
    records = [record for draw in draws for n in rounds if (record := study.record(draw, n)) is not None]
    ranked = sorted(records, key=lambda record: (-record.passes, math.isnan(record.score), -record.score))
    if not ranked or math.isnan(ranked[0].score):
        reason = ranked[0].error if ranked else message("no trial was run")
        raise InputError("tune: expected a trial that can be trained, got none; the first one: {}", reason)
    return SearchResult(ranked, rounds)


def _here(study: Study, draws: Sequence[Mapping[str, Any]], rounds: Sequence[int], workers: int | None) -> None:
    """Let scikit-learn halve, and joblib run the trials in processes."""
    from sklearn.experimental import enable_halving_search_cv  # type: ignore[import-untyped]  # noqa: F401
    from sklearn.model_selection import HalvingRandomSearchCV  # type: ignore[import-untyped]

    from tagline.scale.estimating import TrialEstimator

    halving = HalvingRandomSearchCV(
        TrialEstimator(study, last=rounds[-1]),
        {"settings": list(draws)},
        n_candidates=len(draws),
        resource="passes",
        min_resources=rounds[0],
        max_resources=rounds[-1],
        factor=FACTOR,
        cv=[([0], [1])],  # the sentences are the study's
        refit=False,
        n_jobs=workers or os.cpu_count() or 1,
        random_state=0,
        return_train_score=False,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(non-finite|All-NaN).*")  # trials that failed have their records
        halving.fit([[0], [0]], [0, 0])


def _on_ray(
    study: Study,
    draws: Sequence[Mapping[str, Any]],
    rounds: Sequence[int],
    workers: int | None,
    address: str | None,
    notice: Callable[[str], None] | None,
) -> None:
    """Let Ray Tune place, halve and retry the trials."""
    os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    with connected(address, cpus=workers) as cluster:
        tune = import_ray("tune --ray", "ray.tune")
        schedulers = import_ray("tune --ray", "ray.tune.schedulers")

        def trial(config: dict[str, Any]) -> None:
            for passes in rounds:
                record = run_trial(study, config["settings"], passes, keep=passes == rounds[-1])
                score = -1.0 if math.isnan(record.score) else record.score
                tune.report({"score": score, "passes": passes})

        halving = schedulers.ASHAScheduler(
            time_attr="passes", max_t=rounds[-1], grace_period=rounds[0], reduction_factor=FACTOR, brackets=1
        )
        tuner = tune.Tuner(
            tune.with_resources(trial, {"cpu": 1}),
            param_space={"settings": tune.grid_search([dict(draw) for draw in draws])},
            tune_config=tune.TuneConfig(
                metric="score",
                mode="max",
                scheduler=halving,
                max_concurrent_trials=workers or cluster.cpus,
                reuse_actors=True,  # a process is started once a worker, not once a trial
            ),
            run_config=tune.RunConfig(
                name="ray",
                storage_path=os.path.abspath(study.folder),
                verbose=0,
                failure_config=tune.FailureConfig(max_failures=RETRIES),
            ),
        )
        results = tuner.fit()
        for line in cluster.spilled():
            if notice is not None:
                notice(line)
        if results.errors:
            raise plain_error(results.errors[0], "tune --ray")
