"""Hidden states that are learned on workers are those that are learned in this process, bit for bit."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline import HMM, load, readers, scale
from tagline.errors import InputError
from tagline.scale.series import SeriesHolder
from tagline.training import lanes
from tests.cli.commands import tagline

LANE = 40  # tokens: eight lanes
FAR = 1e9


@pytest.fixture(autouse=True)
def short_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LANE_TOKENS", LANE)


def write_tables(folder: Path, family: str, files: int = 3) -> tuple[Any, list[int]]:
    """Write tables with a column of groups; return all rows, and the lengths of the groups."""
    rng = np.random.default_rng(0)
    rows, lengths = [], []
    for k in range(files):
        lines = ["day,a,b" if family != "categorical" else "day,a"]
        for day in range(4):
            T = int(rng.integers(20, 60))
            state = np.cumsum(rng.random(T) < 0.1) % 2
            if family == "gaussian":
                X = rng.normal(size=(T, 2)) + 3 * state[:, None]
            elif family == "categorical":
                X = rng.integers(0, 6, (T, 1)) + 3 * state[:, None]
            else:
                X = rng.poisson(1 + 4 * state[:, None], (T, 2)) if family == "poisson" else rng.integers(0, 2, (T, 2))
            lines += [",".join([f"{k}-{day}", *map(repr, row)]) for row in X.tolist()]
            rows.append(X)
            lengths.append(T)
        (folder / f"part-{k}.csv").write_text("\n".join(lines) + "\n")
    return np.concatenate(rows), lengths


def bits(hmm: HMM) -> tuple[Any, ...]:
    p = hmm.parameters_
    arrays = [p.start, p.transitions, *(p.emission.arrays()[name] for name in p.emission.parameters)]
    return [array.tobytes() for array in arrays], hmm.objective_, len(hmm.training_log_), hmm.stop_reason_


@pytest.mark.parametrize(
    "family",
    [
        "categorical",
        "gaussian",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("poisson", "bernoulli", "multinomial")),
    ],
)
def test_the_bits_of_one_process(cluster: Any, tmp_path: Path, family: str) -> None:
    X, lengths = write_tables(tmp_path, family)
    settings: dict[str, Any] = {"emission": family, "max_iterations": 6, "n_init": 2}
    alone = HMM(2, **settings).fit(X[:, 0] if family == "categorical" else X, lengths=lengths)
    for workers in (1, 2):
        shared = scale.fit(HMM(2, **settings), scale.corpus(tmp_path, workers=workers), groups="day")
        assert bits(shared) == bits(alone)
    assert shared.training_.sentences == 12
    assert shared.training_.tokens == len(X)
    assert shared.parameters_.layout.columns == (("a",) if family == "categorical" else ("a", "b"))


class Here:
    """Stands for `Workers`: holders in this process."""

    def __init__(self, jobs: list[Any], place: str, holder: Any) -> None:
        self.actors = [holder(job) for job in jobs]

    def shared(self, value: Any) -> list[Any]:
        return [value]

    def summed(self, method: str, *arguments: Any) -> Any:
        for actor in self.actors:
            yield from getattr(actor, method)(*arguments)

    def close(self) -> None:
        """Nothing to end."""


@pytest.mark.parametrize(
    "workers", [pytest.param(3, marks=pytest.mark.slow), 4, pytest.param(8, marks=pytest.mark.slow)]
)
def test_any_number_of_workers(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    X, lengths = write_tables(tmp_path, "gaussian")
    monkeypatch.setattr("tagline.scale.series.Workers", Here)
    shared = scale.fit(
        HMM(2, emission="gaussian", max_iterations=4), scale.corpus(tmp_path, workers=workers), groups="day"
    )
    assert bits(shared) == bits(HMM(2, emission="gaussian", max_iterations=4).fit(X, lengths=lengths))


@pytest.mark.slow
def test_viterbi_training_revived_states_and_words(cluster: Any, tmp_path: Path) -> None:
    words = [[str(word) for word in np.random.default_rng(b).choice(9, 12)] for b in range(30)]
    for k in range(2):
        text = "\n\n".join("\n".join(sentence) for sentence in words[15 * k : 15 * k + 15])
        (tmp_path / f"part-{k}.txt").write_text(text + "\n")
    for algorithm in ("em", "viterbi"):
        alone = HMM(4, algorithm=algorithm, max_iterations=30).fit(words)
        shared = scale.fit(HMM(4, algorithm=algorithm, max_iterations=30), scale.corpus(tmp_path, workers=2))
        assert bits(shared) == bits(alone)
    assert shared.parameters_.symbols.values == alone.parameters_.symbols.values
    assert shared.predict(words[:3]) == alone.predict(words[:3])


@pytest.mark.slow
def test_means_that_move_far(cluster: Any, tmp_path: Path) -> None:
    """Sums around the first means lose digits; workers are asked for others."""
    X, lengths = write_tables(tmp_path, "gaussian")
    for path in tmp_path.glob("*.csv"):
        table = readers.tabular.read_csv(path)
        columns = (table[name] for name in ("day", "a", "b"))
        rows = [f"{day},{a + FAR:.17g},{b + FAR:.17g}" for day, a, b in zip(*columns, strict=True)]
        path.write_text("\n".join(["day,a,b", *rows]) + "\n")
    X = X + FAR
    alone = HMM(2, emission="gaussian", max_iterations=4).fit(X, lengths=lengths)
    shared = scale.fit(HMM(2, emission="gaussian", max_iterations=4), scale.corpus(tmp_path, workers=2), groups="day")
    assert bits(shared) == bits(alone)


def test_a_worker_that_dies_changes_nothing(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, lengths = write_tables(tmp_path, "gaussian")
    mark = tmp_path.parent / f"{tmp_path.name}-died"

    class Mortal(SeriesHolder):
        def answer(self, question: str, *arguments: Any) -> Any:
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().answer(question, *arguments)

    monkeypatch.setattr("tagline.scale.series.SeriesHolder", Mortal)
    shared = scale.fit(HMM(2, emission="gaussian"), scale.corpus(tmp_path, workers=2), groups="day")
    assert mark.exists()
    assert bits(shared) == bits(HMM(2, emission="gaussian").fit(X, lengths=lengths))


def test_a_run_goes_on(cluster: Any, tmp_path: Path) -> None:
    write_tables(tmp_path, "poisson")
    settings: dict[str, Any] = {"emission": "poisson", "tolerance": 0.0}
    whole = scale.fit(HMM(2, **settings, max_iterations=8), scale.corpus(tmp_path, workers=2), groups="day")
    run: dict[str, Any] = {"groups": "day", "checkpoint": tmp_path.parent / f"{tmp_path.name}.run", "save_every": 0}
    scale.fit(HMM(2, **settings, max_iterations=3), scale.corpus(tmp_path, workers=2), **run)
    resumed = scale.fit(HMM(2, **settings, max_iterations=8), scale.corpus(tmp_path, workers=1), **run, resume=True)
    assert bits(resumed) == bits(whole)


def test_the_command_line(cluster: Any, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    X, lengths = write_tables(folder, "gaussian")
    options = ["--model", "hmm", "--states", "2", "--group", "day", "--max-iterations", "5", "--no-date", "-q"]
    shared = tmp_path / "shared.tagline"
    done = tagline("train", f"{folder}/*.csv", "-o", shared, *options, "--ray", "--workers", 2)
    assert done.code == 0, done.err
    alone = HMM(2, emission="gaussian", max_iterations=5).fit(X, lengths=lengths)
    loaded = load(shared)
    assert loaded.start_.tobytes() == alone.start_.tobytes()
    assert loaded.means_.tobytes() == alone.means_.tobytes()
    assert loaded.parameters_.layout.groups == "day"


def test_what_cannot_be_learned_from_sums_is_refused(cluster: Any, tmp_path: Path) -> None:
    write_tables(tmp_path, "gaussian")
    for settings in ({"covariance": "full"}, {"algorithm": "viterbi"}, {"tied": [0, 0]}):
        with pytest.raises(InputError, match="expected one that learns from sums"):
            scale.fit(HMM(2, emission="gaussian", **settings), scale.corpus(tmp_path, workers=2), groups="day")
    with pytest.raises(InputError, match="n_states"):
        scale.fit(HMM(emission="gaussian"), scale.corpus(tmp_path, workers=2))
    (tmp_path / "part-2.csv").write_text("day,a\n1,2\n")
    with pytest.raises(InputError, match=r"part-2.csv: expected the columns a, b of .*part-0.csv, got a"):
        scale.fit(HMM(2, emission="gaussian"), scale.corpus(tmp_path, workers=2), groups="day")
    (tmp_path / "part-0.csv").write_text("day,a\n1,x\n")
    (tmp_path / "part-1.csv").write_text("day,a\n1,2\n")
    with pytest.raises(InputError, match="expected symbols of one type in all files"):
        scale.fit(HMM(2), scale.corpus(tmp_path, workers=2), groups="day")
