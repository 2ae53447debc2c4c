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

from .problems import write_shards

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow

SETTINGS: dict[str, Any] = {"epochs": 3, "hidden": 6, "batch_size": 8, "device": "cpu", "random_state": 3}
OPTIONS = ("--epochs", "3", "--hidden", "6", "--batch-size", "8", "--seed", "3", "--device", "cpu")


class LosesItself:
    """Ends its process in the second epoch, once."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __call__(self, state: Any) -> None:
        if state.number == 2 and int(os.environ.get("RANK", "0")) == 1 and not self.mark.exists():
            self.mark.write_text("lost")
            os._exit(1)


def arrays(model: Any) -> dict[str, Any]:
    return {name: value.numpy() for name, value in model.network_.tagger.state_dict().items()}


@pytest.fixture
def by_torchrun(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path / "shards"
    folder.mkdir()
    write_shards(folder, sentences=120, files=2)
    output = tmp_path / "torchrun.tagline"
    words = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "tagline", "train", tmp_path / "whole.txt"]
    command = [sys.executable, *words, "-o", output, "--model", "bilstm", *OPTIONS]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TAGLINE_THREADS": "1"}
    subprocess.run(list(map(str, command)), env=environment, check=True, capture_output=True)
    return folder, arrays(load(output))


def test_the_numbers_of_torchrun(cluster: Any, by_torchrun: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    from tagline import BiLSTMCRF

    folder, expected = by_torchrun
    fitted = BiLSTMCRF(**SETTINGS, scheme="auto", on_illegal="repair").fit(scale.corpus(folder, workers=2))
    mark, file = tmp_path / "mark", tmp_path / "state"
    lost = BiLSTMCRF(**SETTINGS, scheme="auto", on_illegal="repair", callbacks=(LosesItself(mark),)).fit(
        scale.corpus(folder, workers=2), checkpoint=file
    )
    assert mark.exists()
    for model in (fitted, lost):
        found = arrays(model)
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array)
    assert fitted.training_.sentences == 120


def test_what_a_process_raises(cluster: Any, tmp_path: Path) -> None:
    from tagline import BiLSTMCRF

    write_shards(tmp_path, sentences=20, files=1)
    (tmp_path / "part-0.txt").write_text("Anna B-PER extra\nsings\n")
    with pytest.raises(InputError, match=r"node \S+: .*part-0.txt:2: expected 3 columns, got 1"):
        BiLSTMCRF(**SETTINGS).fit(scale.corpus(f"{tmp_path}/part-*.txt", workers=2))
