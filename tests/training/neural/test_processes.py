"""What only processes of their own show: kill −9, Ctrl-C, and two of them that train as one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tagline.errors import InputError
from tagline.training.neural.loop import train
from tagline.training.neural.processes import Processes, local_device

from .toys import ToyTask, close, same, weights
from .worker import COUNT, DESCENT

TESTS = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
PLAIN = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}


def loaded(path: Path, prefix: str = "") -> dict[str, Any]:
    with np.load(path) as file:
        return {name.removeprefix(prefix): file[name] for name in file.files if name.startswith(prefix)}


def test_kill_9_at_any_moment_and_ctrl_c(tmp_path: Path) -> None:
    """A run takes 44 steps of 10 ms and more, each with a checkpoint; kills fall into steps, scoring and writing."""
    command = [sys.executable, "-m", "training.neural.worker", "disturbed", str(tmp_path)]
    said = subprocess.run(command, env=PLAIN, capture_output=True, text=True, check=True, timeout=60).stdout
    stood = [tuple(map(int, line.split())) for line in said.splitlines()]
    assert stood == sorted(stood)
    assert len(set(stood)) >= 3
    whole = ToyTask(COUNT)
    done = train(whole, DESCENT)
    losses = [epoch.loss for epoch in done.history]

    killed = loaded(tmp_path / "killed.npz")
    assert (str(killed.pop("reason")), int(killed.pop("best_epoch"))) == ("epochs", done.best)
    assert killed.pop("losses").tolist() == losses
    assert same(killed, weights(whole))

    interrupted = loaded(tmp_path / "interrupted.npz")
    assert str(interrupted.pop("reason")) == "interrupted"
    early_losses = interrupted.pop("losses").tolist()
    assert len(early_losses) < DESCENT.epochs
    assert early_losses == losses[: len(early_losses)]
    best = int(interrupted.pop("best_epoch"))
    if early_losses:
        early = ToyTask(COUNT)
        assert train(early, DESCENT, callbacks=[lambda epoch: epoch.epoch == best]).best == best
        assert same(interrupted, weights(early))


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    worker = ["-m", "training.neural.worker", "together", str(tmp_path)]
    with subprocess.Popen([*torchrun, *worker], env=PLAIN, stderr=subprocess.PIPE, text=True) as process:
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.terminate()  # ends those that it started, too
    assert process.returncode == 0, said
    alone = ToyTask(COUNT, dropout=0.0, dtype=torch.float64)
    expected = train(alone, replace(DESCENT, batch_size=2 * DESCENT.batch_size))
    results = [tmp_path / f"weights{rank}.npz" for rank in (0, 1)]
    for path in results:
        assert close(loaded(path, "plain/"), weights(alone))
        values = loaded(path)
        for name in ("loss", "gradient_norm"):
            assert values[name].tolist() == pytest.approx([getattr(x, name) for x in expected.history], rel=1e-9)
        assert values["reasons"].tolist() == ["callback", "epochs"]
        assert same(loaded(path, "whole/"), loaded(path, "halves/"))
    assert same(loaded(results[0], "whole/"), loaded(results[1], "whole/"))
    assert int(loaded(results[1])["seen"]) < len(alone.seen)  # the dev set is scored by the first only
    events = [json.loads(line)["event"] for line in (tmp_path / "log").read_text().splitlines()]
    assert events == ["start", "epoch", "epoch", "epoch", "epoch", "end"]


def test_shares_are_dealt_out_evenly() -> None:
    batch = np.arange(7)
    shares = [[list(map(int, share)) for share in Processes(rank, 2).shares(batch, 2)] for rank in (0, 1)]
    assert shares == [[[0, 4], [2, 6]], [[1, 5], [3]]]
    assert [list(Processes(rank, 3).shares(batch[:2], 1)) for rank in (2,)] == [[]]


def test_half_of_what_torchrun_sets_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match=r"^WORLD_SIZE: "):
        train(ToyTask(), DESCENT)
    assert local_device().type == ("cuda" if torch.cuda.is_available() else "cpu")
