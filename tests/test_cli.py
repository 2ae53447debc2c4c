"""The command line: help, version, demo, and kind answers to wrong words."""

from __future__ import annotations

import os
import subprocess
import sys

import tagline


def tagline_command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tagline", *words],
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_version() -> None:
    done = tagline_command("--version")
    assert (done.returncode, done.stdout) == (0, f"tagline {tagline.__version__}\n")


def test_help_lists_the_commands() -> None:
    done = tagline_command("--help")
    assert done.returncode == 0
    for word in ("demo", "info", "--version"):
        assert word in done.stdout


def test_demo_shows_the_worked_example() -> None:
    done = tagline_command("demo")
    assert done.returncode == 0, done.stderr
    for shown in ("1 2 1   score 4.3", "0.2824", "0.1893", "0.1713", "0.6597", "0.5245", "by itself: 1 1 1"):
        assert shown in done.stdout


def test_info_names_the_engine() -> None:
    assert "engine   naive" in tagline_command("info", TAGLINE_ENGINE="naive").stdout


def test_an_unknown_command_is_named() -> None:
    done = tagline_command("trian")
    assert done.returncode == 2
    assert "trian" in done.stderr


def test_a_wrong_setting_gives_one_line_and_no_traceback() -> None:
    done = tagline_command("info", TAGLINE_ENGINE="fast")
    assert done.returncode == 1
    assert "TAGLINE_ENGINE: expected one of native, naive, got 'fast'" in done.stderr
    assert "Traceback" not in done.stderr
