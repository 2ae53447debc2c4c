"""Threads of PyTorch sleep while they wait, if Tagline loads PyTorch: on a busy machine that is the speed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tagline import compiled

# A stand-in that says what OpenMP would read, and is not there after all.
STAND_IN = "import os\nprint(os.environ.get('OMP_WAIT_POLICY'))\nraise ImportError('a stand-in')\n"


@pytest.mark.parametrize(
    ("line", "policy"),
    [
        ("import tagline.nn", None),
        ("import tagline.nn", "ACTIVE"),
        ("from tagline import BiLSTMCRF", None),
        ("import tagline.interop.torchcrf", None),
    ],
)
def test_the_policy_is_set_before_torch_is_loaded(line: str, policy: str | None, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(STAND_IN)
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    if policy is not None:
        environment["OMP_WAIT_POLICY"] = policy
    code = f"try:\n    {line}\nexcept ImportError as error:\n    assert 'stand-in' in str(error), error"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:1] == [policy or "PASSIVE"], "what the user set stays"


def test_torch_that_is_loaded_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setitem(sys.modules, "torch", sys)
    assert not compiled.let_torch_wait()
    assert "OMP_WAIT_POLICY" not in os.environ
    monkeypatch.delitem(sys.modules, "torch")
    assert compiled.let_torch_wait()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"


def test_where_torch_was_there_first_a_team_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from tagline.training.neural.waiting import NAME, let_threads_sleep

    def teams() -> int:
        return sum(thread.name == NAME for thread in threading.enumerate())

    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    let_threads_sleep()
    assert teams() == 0, "one thread waits for nobody"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    let_threads_sleep()
    assert teams() == 0, "what the user set stays"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    let_threads_sleep()
    let_threads_sleep()
    assert teams() == 1
