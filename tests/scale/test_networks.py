"""Networks through Ray Train have the numbers of torchrun, and go on after a lost process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline import load, scale
from tagline.errors import InputError
from tests.cli.commands import tagline

from .problems import write_shards

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow

SETTINGS: dict[str, Any] = {"epochs": 3, "hidden": 6, "batch_size": 8, "device": "cpu", "random_state": 3}
OPTIONS = ("--epochs", "3", "--hidden", "6", "--batch-size", "8", "--seed", "3", "--device", "cpu")


def arrays(model: Any) -> dict[str, Any]:
    return {name: value.numpy() for name, value in model.network_.tagger.state_dict().items()}


def run(*words: object) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TAGLINE_THREADS": "1"}
    subprocess.run([sys.executable, *map(str, words)], env=environment, check=True, capture_output=True)


def test_the_numbers_of_torchrun(tmp_path: Path) -> None:
    folder, outputs = tmp_path / "shards", [tmp_path / "torchrun", tmp_path / "ray"]
    folder.mkdir()
    write_shards(folder, sentences=120, files=2)
    several = ("-m", "torch.distributed.run", "--nproc-per-node", "2")
    run(*several, "-m", "tagline", "train", tmp_path / "whole.txt", "-o", outputs[0], "--model", "bilstm", *OPTIONS)
    scaled = ("--ray", "local", "--workers", "2")
    run("-m", "tagline", "train", folder, "-o", outputs[1], "--model", "bilstm", *OPTIONS, *scaled)
    expected, found = (arrays(load(output)) for output in outputs)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_a_lost_process(cluster: Any, tmp_path: Path) -> None:
    from tagline import BiLSTMCRF

    folder, mark = tmp_path / "shards", tmp_path / "mark"
    folder.mkdir()
    write_shards(folder, sentences=120, files=2)

    def lose(state: Any) -> None:
        """End the process after the second epoch, once."""
        if state.number == 2 and not mark.exists():
            mark.write_text("lost")
            os._exit(1)

    whole = scale.fit(BiLSTMCRF(**SETTINGS), scale.corpus(folder, workers=2))
    lost = scale.fit(
        BiLSTMCRF(**SETTINGS, callbacks=(lose,)), scale.corpus(folder, workers=2), checkpoint=tmp_path / "state"
    )
    assert mark.exists()
    found, expected = arrays(lost), arrays(whole)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
    assert whole.training_.sentences == 120


def test_epochs_are_told(cluster: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "shards", tmp_path / "model"
    folder.mkdir()
    write_shards(folder, sentences=60, files=2)
    words = ("train", folder, "-o", output, "--model", "bilstm", *OPTIONS, "--ray", "--workers", "1", "-v")
    done = tagline(*words)
    assert done.code == 0, done.err
    lines = [line.split() for line in done.err.splitlines()]
    assert [words[0] for words in lines if words[1:2] == ["loss"]] == ["1", "2", "3"], done.err
    assert load(output).callbacks == ()


def test_what_a_process_raises(cluster: Any, tmp_path: Path) -> None:
    from tagline import BiLSTMCRF

    write_shards(tmp_path, sentences=20, files=1)
    (tmp_path / "part-0.txt").write_text("Anna B-PER extra\nsings\n")
    with pytest.raises(InputError, match=r"node \S+: .*part-0.txt:2: expected 3 columns, got 1"):
        scale.fit(BiLSTMCRF(**SETTINGS), scale.corpus(f"{tmp_path}/part-*.txt", workers=2))
