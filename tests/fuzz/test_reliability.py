"""The short forms of the machines in this folder; `make reliability` runs the long ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tagline import compiled
from tagline.chain import naive

from . import disks, endurance, random_chains, threads

pytestmark = pytest.mark.skipif(sys.platform != "linux" or compiled.core is None, reason="needs Linux and the core")


COMMANDS = ("a_full_disk_for_commands", "a_target_that_may_not_be_written", "an_input_that_vanishes")  # processes


def test_random_chains_agree_with_enumeration() -> None:
    for number in range(4):
        assert random_chains.check_batch(3, number, random_chains.engines(), 100).problems == []


@pytest.mark.parametrize("question", ["log_partition", "viterbi", "sample", "k_best"])
def test_a_wrong_engine_is_found(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(naive, question)

    def wrong(*arguments: Any, **options: Any) -> Any:
        answer = right(*arguments, **options)
        if question == "log_partition":
            return answer + 1e-3
        if question == "k_best":
            return answer[::-1]
        if question == "sample":
            return answer[:, ::-1]
        return type(answer)(answer.labels, answer.scores + 1e-3)

    monkeypatch.setattr(naive, question, wrong)
    assert len(random_chains.check_batch(3, 1, ["naive"], 60).problems) == 1


def test_threads_get_the_answers_of_one() -> None:
    assert threads.work(threads=4, rounds=2, seed=1, sentences=20) == []


def test_children_of_a_fork_answer() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.threads", "forks", "--threads", "2", "--forks", "8", "--sentences", "60"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 forks" in done.stdout


def test_killed_runs_leave_whole_files() -> None:
    """In a process of its own: children are forked from one that has no threads."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.kills", "--kills", "2", "--only", "compile"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compile: 2 kills" in done.stdout


@pytest.mark.parametrize("name", [name for name in disks.CHECKS if name not in COMMANDS])
def test_disks(name: str, tmp_path: Path) -> None:
    disks.CHECKS[name](tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_disks_for_commands(name: str, tmp_path: Path) -> None:
    disks.CHECKS[name](tmp_path)


def test_memory_is_flat() -> None:
    for course in endurance.fits(12):
        assert course.growth < endurance.GROWTH, course
