"""Runs of a CRF and an HMM that go on from a checkpoint: to the same bits, after kill −9, never from another run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, HMM, TrainingState, storage
from tagline.errors import InputError, StorageError

WORDS = ("Anna", "Bob", "sings", "runs", "in", "Rome", "today", "the", "cat")
TAGS = ("N", "N", "V", "V", "P", "N", "A", "D", "N")


class CrashError(Exception):
    """Ends a run from a callback, as a crash would."""


def crash(at: int) -> Any:
    def callback(state: TrainingState) -> None:
        if state.pass_ == at:
            raise CrashError

    return callback


def sentences(count: int = 60, seed: int = 3) -> tuple[list[list[dict[str, str]]], list[list[str]]]:
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        ids = random.integers(len(WORDS), size=random.integers(1, 9))
        X.append([{"word": WORDS[k], "before": WORDS[j]} for j, k in zip(np.roll(ids, 1), ids, strict=True)])
        y.append([TAGS[k] if random.random() < 0.9 else "N" for k in ids])
    return X, y


def series(kind: str, seed: int = 5) -> list[Any]:
    random = np.random.default_rng(seed)
    if kind == "categorical":
        return [random.integers(6, size=random.integers(2, 20)).tolist() for _ in range(12)]
    return [random.normal(random.integers(3), 1.0, size=(int(random.integers(2, 20)), 2)) for _ in range(12)]


# Every algorithm, and where it crashes: `auto` in its first algorithm and in its second.
CRFS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "auto": ({"c2": 0.1, "max_iterations": 30}, (2, 4, 11, 14)),
    "auto, c1": ({"c1": 0.3, "c2": 0.1, "max_iterations": 30}, (3, 14)),
    "lbfgs": ({"algorithm": "lbfgs", "c2": 0.1, "max_iterations": 25}, (2, 9, 20)),
    "owlqn": ({"algorithm": "owlqn", "c1": 0.3, "max_iterations": 25}, (2, 14)),
    "gd": ({"algorithm": "gd", "c2": 0.1, "max_iterations": 9}, (5,)),
    "iis": ({"algorithm": "iis", "c2": 0.1, "max_iterations": 6}, (4,)),
    "sgd": ({"algorithm": "sgd:passes=8", "c2": 0.1}, (2, 7)),
    "sgd, c1": ({"algorithm": "sgd:passes=8", "c1": 0.5, "c2": 0.5}, (3, 7)),
    "ap": ({"algorithm": "ap:passes=7"}, (2, 6)),
    "pa": ({"algorithm": "pa:passes=7"}, (4,)),
    "arow": ({"algorithm": "arow:passes=7"}, (4,)),
}
STATISTICS = ("iteration", "objective", "gradient_norm", "active", "evaluations", "dev_score", "step")


def same_history(one: Any, other: Any) -> bool:
    rows = [[[getattr(done, name) for name in STATISTICS] for done in model.training_log_] for model in (one, other)]
    return repr(rows[0]) == repr(rows[1])


@pytest.mark.parametrize(
    ("name", "precision"),
    [*[(name, "float32") for name in CRFS], *[(name, "float64") for name in ("auto", "sgd, c1", "arow")]],
)
def test_a_crf_goes_on_to_the_same_bits(
    name: str, precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if precision == "float32":  # as for more tokens
        monkeypatch.setattr("tagline.training.algorithms.SMALL", 0)
    settings, places = CRFS[name]
    settings = {**settings, "start_end": True, "random_state": 4}
    X, y = sentences()
    whole = CRF(**settings).fit(X, y)
    for at in places:
        path = tmp_path / f"run{at}"
        with pytest.raises(CrashError):
            CRF(**settings, callbacks=[crash(at)]).fit(X, y, checkpoint=path, save_every=0)
        again = CRF(**settings).fit(X, y, checkpoint=path, resume=True)
        assert again.parameters_.weights.tobytes() == whole.parameters_.weights.tobytes()
        assert same_history(again, whole)
        assert (again.stop_reason_, again.objective_) == (whole.stop_reason_, whole.objective_)
        third = CRF(**settings, callbacks=[crash(1), crash(at)]).fit(X, y, checkpoint=path, resume=True)
        assert third.parameters_.weights.tobytes() == whole.parameters_.weights.tobytes(), "a finished run is finished"
        assert third.stop_reason_ == whole.stop_reason_


def test_patience_goes_on_with_what_it_knew(tmp_path: Path) -> None:
    X, y = sentences()
    dev = {"X_dev": X[:9], "y_dev": y[:9]}
    settings = {"algorithm": "sgd:passes=40", "c2": 0.01, "patience": 4, "random_state": 1}
    whole = CRF(**settings).fit(X, y, **dev)
    assert whole.stop_reason_ == "patience"
    last = len(whole.training_log_)
    with pytest.raises(CrashError):
        CRF(**settings, callbacks=[crash(last - 1)]).fit(X, y, **dev, checkpoint=tmp_path / "run", save_every=0)
    again = CRF(**settings).fit(X, y, **dev, checkpoint=tmp_path / "run", resume=True)
    assert again.parameters_.weights.tobytes() == whole.parameters_.weights.tobytes()
    assert (again.stop_reason_, len(again.training_log_)) == ("patience", last)
    assert same_history(again, whole)


HMMS: dict[str, dict[str, Any]] = {
    "symbols": {"n_states": 3},
    "several starts": {"n_states": 3, "n_init": 3},
    "states that die": {"n_states": 9, "n_init": 2, "emission": "gaussian", "tolerance": 0.5},
    "gaussians": {"n_states": 3, "emission": "gaussian", "covariance": "full"},
    "mixtures": {"n_states": 2, "n_components": 2, "emission": "mixture"},
    "best paths": {"n_states": 3, "algorithm": "viterbi"},
}


@pytest.mark.parametrize("name", HMMS)
def test_an_hmm_goes_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    settings = {"max_iterations": 12, "tolerance": 1e-9, "random_state": 2, **HMMS[name]}
    X = series("real" if "emission" in settings else "categorical")
    told: list[TrainingState] = []
    whole = HMM(**settings, callbacks=[told.append]).fit(X)
    for at in {1, 2, len(told) // 2, len(told) - 1}:
        count = 0

        def after(state: TrainingState, at: int = at) -> None:
            nonlocal count
            count += 1
            if count == at + 1:
                raise CrashError

        path = tmp_path / f"run{at}"
        with pytest.raises(CrashError):
            HMM(**settings, callbacks=[after]).fit(X, checkpoint=path, save_every=0)
        again = HMM(**settings).fit(X, checkpoint=path, resume=True)
        assert again.start_.tobytes() == whole.start_.tobytes()
        assert again.transitions_.tobytes() == whole.transitions_.tobytes()
        for part, array in whole.emission_.arrays().items():
            assert np.asarray(again.emission_.arrays()[part]).tobytes() == np.asarray(array).tobytes()
        assert (again.stop_reason_, again.objective_) == (whole.stop_reason_, whole.objective_)
        assert same_history(again, whole)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints of a CRF and an HMM that were stopped after two passes."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.raises(CrashError):
        CRF(c2=0.1, callbacks=[crash(3)]).fit(*sentences(), checkpoint=folder / "crf", save_every=0)
    with pytest.raises(CrashError):
        HMM(3, callbacks=[crash(3)]).fit(series("categorical"), checkpoint=folder / "hmm", save_every=0)
    return folder


OTHERS: dict[str, Any] = {
    "words": lambda X, y: ([[{**token, "word": "x"} for token in row] for row in X], y, {}, r"\bwords\b"),
    "tags": lambda X, y: (X, [["N"] * len(row) for row in y], {}, r"\blabels\b"),
    "one tag": lambda X, y: (X, [*y[:-1], ["V"] * len(y[-1])], {}, r"\btags\b"),
    "sentences": lambda X, y: (X[:-1], y[:-1], {}, r"\bsentences .*60.* 59"),
    "c2": lambda X, y: (X, y, {"c2": 1.0}, r"\bc2 .*0\.1.* 1\.0"),
    "algorithm": lambda X, y: (X, y, {"algorithm": "sgd"}, r"\balgorithm .*'auto'.* 'sgd'"),
    "seed": lambda X, y: (X, y, {"random_state": 7}, r"\bseed .*0.* 7"),
    "limit": lambda X, y: (X, y, {"max_iterations": 8}, r"max_iterations.* 12 .* 4\b"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_crf_does_not_go_on_with_something_else(name: str, stopped: Path) -> None:
    X, y, settings, message = OTHERS[name](*sentences())
    before = (stopped / "crf").read_bytes()
    with pytest.raises(InputError, match=f"crf: .*{message}"):
        CRF(**{"c2": 0.1, **settings}).fit(X, y, checkpoint=stopped / "crf", resume=True)
    assert (stopped / "crf").read_bytes() == before


def test_an_hmm_does_not_go_on_with_something_else(stopped: Path) -> None:
    for settings, X, place in (
        ({"n_states": 4}, series("categorical"), r"hmm: .*n_states"),
        ({"random_state": 9}, series("categorical"), r"hmm: .*random_state"),
        ({}, series("categorical", seed=6), r"hmm: .*\btokens\b"),
        ({}, [[5 - value for value in row] for row in series("categorical")], r"hmm: .*\bobservations\b"),
    ):
        with pytest.raises(InputError, match=place):
            HMM(**{"n_states": 3, **settings}).fit(X, checkpoint=stopped / "hmm", resume=True)
    with pytest.raises(InputError, match=r"hmm: .*'hmm'"):
        CRF().fit(*sentences(), checkpoint=stopped / "hmm", resume=True)


def test_when_to_stop_may_differ(stopped: Path, tmp_path: Path) -> None:
    (tmp_path / "hmm").write_bytes((stopped / "hmm").read_bytes())
    more = HMM(3, max_iterations=7, tolerance=-np.inf)
    assert len(more.fit(series("categorical"), checkpoint=tmp_path / "hmm", resume=True).training_log_) == 7


def test_files_that_are_no_checkpoints(stopped: Path, tmp_path: Path) -> None:
    X, y = sentences()
    with pytest.raises(InputError, match=r"^checkpoint: "):
        CRF().fit(X, y, resume=True)
    with pytest.raises(InputError, match=r"^save_every: "):
        HMM(2).fit(series("categorical"), checkpoint=tmp_path / "run", save_every=-1)
    model = CRF(max_iterations=2).fit(X, y)
    model.save(tmp_path / "model")
    with pytest.raises(StorageError, match=r"model: .*'crf'"):
        CRF().fit(X, y, checkpoint=tmp_path / "model", resume=True)
    with pytest.raises(InputError, match="model: "):
        CRF().fit(X, y, checkpoint=tmp_path / "model")
    with pytest.raises(StorageError, match="crf: "):
        tagline.load(stopped / "crf")
    with pytest.raises(StorageError, match="none/run: "):
        CRF(max_iterations=2).fit(X, y, checkpoint=tmp_path / "none" / "run")


def test_a_checkpoint_of_an_older_form_is_refused(stopped: Path, tmp_path: Path) -> None:
    for kind, fit in (
        ("crf", lambda path: CRF(c2=0.1).fit(*sentences(), checkpoint=path, resume=True)),
        ("hmm", lambda path: HMM(3).fit(series("categorical"), checkpoint=path, resume=True)),
    ):
        file = storage.read(stopped / kind)
        config = {name: value for name, value in file.config.items() if name != "form"}
        storage.write(tmp_path / kind, config, file.tensors)
        with pytest.raises(StorageError, match=f"{kind}: expected a training checkpoint of this version .* start anew"):
            fit(tmp_path / kind)


def test_damaged_checkpoints_are_our_errors(stopped: Path, tmp_path: Path) -> None:
    """Whatever is taken out of a checkpoint, or of another kind in it, is a `StorageError`, and no model is made."""
    for kind, fit in (
        ("crf", lambda path: CRF(c2=0.1).fit(*sentences(), checkpoint=path, resume=True)),
        ("hmm", lambda path: HMM(3).fit(series("categorical"), checkpoint=path, resume=True)),
    ):
        file = storage.read(stopped / kind)
        path = tmp_path / kind
        for name in file.tensors:
            for array in (None, np.zeros(3, np.uint8)):
                arrays = {**file.tensors, name: array} if array is not None else dict(file.tensors)
                if array is None:
                    del arrays[name]
                storage.write(path, dict(file.config), arrays)
                with pytest.raises(StorageError):
                    fit(path)
        for name in file.config["state"]:
            state = {**file.config["state"], name: [1]}
            storage.write(path, {**file.config, "state": state}, file.tensors)
            with pytest.raises(StorageError):
                fit(path)
        path.write_bytes((stopped / kind).read_bytes()[:-7])
        with pytest.raises(StorageError):
            fit(path)


def test_checkpoints_are_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[Any] = []
    monkeypatch.setattr("tagline.training.running.checkpoints.write", lambda *all: writes.append(all))
    CRF(algorithm="lbfgs", max_iterations=6).fit(*sentences(), checkpoint=tmp_path / "run", save_every=3600)
    assert len(writes) == 2, "after the first pass and at the end"


def test_the_log_has_a_line_a_pass(tmp_path: Path) -> None:
    crf = CRF(max_iterations=3, algorithm="lbfgs").fit(*sentences(), log=tmp_path / "log")
    hmm = HMM(2, max_iterations=2, tolerance=-np.inf).fit(series("categorical"), log=tmp_path / "log")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", *["pass"] * 3, "end", "start", *["pass"] * 2, "end"]
    assert [line["objective"] for line in lines[1:4]] == [done.objective for done in crf.training_log_]
    assert (lines[4]["reason"], lines[8]["reason"]) == (crf.stop_reason_, hmm.stop_reason_)
    assert (lines[0]["model"], lines[0]["sentences"], lines[0]["resumed"]) == ("crf", 60, None)


KILLED = """
import os, signal, sys, time
from pathlib import Path
import numpy as np
from models.test_resuming import CRF, HMM, sentences, series

X, y = sentences(3000)
rows = series("categorical") * 60
ALL = {
    "lbfgs": lambda **files: CRF(algorithm="lbfgs", c2=0.1, max_iterations=40).fit(X, y, **files).parameters_.weights,
    "owlqn": lambda **files: CRF(algorithm="owlqn", c1=0.2, max_iterations=40).fit(X, y, **files).parameters_.weights,
    "sgd": lambda **files: CRF(algorithm="sgd:passes=30", c2=0.1).fit(X, y, **files).parameters_.weights,
    "ap": lambda **files: CRF(algorithm="ap:passes=30").fit(X, y, **files).parameters_.weights,
    "hmm": lambda **files: HMM(8, max_iterations=60, tolerance=-np.inf).fit(rows, **files).transitions_,
}
folder = Path(sys.argv[1])

def child(name, **files):
    if pid := os.fork():
        return pid
    np.save(folder / f"{name}{len(files)}.npy", ALL[name](**files))
    os._exit(0)

for number, name in enumerate(ALL):
    path = folder / name
    os.waitpid(child(name), 0)
    kills = 0
    for pause in (0.0, 0.03, 0.01):
        before = path.stat().st_mtime_ns if path.exists() else None
        pid = child(name, checkpoint=path, save_every=0, resume=True)
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            if path.exists() and path.stat().st_mtime_ns != before:
                time.sleep(pause)
                os.kill(pid, signal.SIGKILL)
                kills += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
                break
            time.sleep(0.0005)
    os.waitpid(child(name, checkpoint=path, save_every=0, resume=True), 0)
    one, other = (np.load(folder / f"{name}{count}.npy") for count in (0, 3))
    print(name, kills, one.tobytes() == other.tobytes(), flush=True)
"""


def test_kill_9_in_mid_training(tmp_path: Path) -> None:
    """The same bytes as an uninterrupted run, whatever moment a run is killed at; at least one kill came in mid-run."""
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [name for name, _, _ in lines] == ["lbfgs", "owlqn", "sgd", "ap", "hmm"]
    assert all(int(kills) >= 1 and same == "True" for _, kills, same in lines), done.stdout


def test_a_disk_that_is_full_from_the_first_checkpoint_on_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise StorageError("run: no room")

    monkeypatch.setattr("tagline.training.running.checkpoints.write", full)
    X, y = sentences()
    model = CRF(max_iterations=3).fit(X, y, checkpoint=tmp_path / "run", save_every=0)
    assert len(model.training_log_) == 3
    assert "run: no room; training goes on without it" in caplog.text
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_first_pass(tmp_path: Path) -> None:
    X, y = sentences()
    (tmp_path / "file").touch()
    for place in (tmp_path, f"{tmp_path}/run/", tmp_path / "none" / "run", tmp_path / "file" / "run"):
        with pytest.raises(StorageError):
            CRF(callbacks=[crash(1)]).fit(X, y, checkpoint=place)
