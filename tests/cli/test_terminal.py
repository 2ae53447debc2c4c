"""Control characters: shown as escapes to people and on terminals, unchanged in data; streams that are closed."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tagline.cli import speech
from tagline.errors import InputError, TaglineError, visible

from .commands import line_of, tagline

RED = "\x1b[31mRome\x9b\u202e"
SHOWN = r"\u001b[31mRome\u009b\u202e"


@pytest.mark.parametrize("unseen", [*"\x00\x07\r\x1b\x7f\x85\u2028\u202e\u2066\ud800"])
def test_what_commands_a_terminal_is_shown(unseen: str) -> None:
    assert visible(f"a{unseen}b") == f"a\\u{ord(unseen):04x}b"


def test_what_is_text_stays() -> None:
    text = "Zoë\t北京\n👩\u200d🔬 \u3000 ﷺ"  # a joined emoji is text
    assert visible(text) == text


def test_errors_show_what_they_quote() -> None:
    assert str(InputError(f"x: got {RED}")) == f"x: got {SHOWN}"
    assert issubclass(InputError, TaglineError)


def test_a_line_break_in_what_is_quoted_does_not_break_a_message() -> None:
    assert str(InputError("a\nb.template: no such file")) == r"a\nb.template: no such file"


class TestWordsForPeople:
    def test_describe_inspect_and_explain(self, folder: Path, tmp_path: Path) -> None:
        text = (folder / "train.txt").read_text(encoding="utf-8") + f"{RED} B-{RED}\n"
        (tmp_path / "red.txt").write_text(text, encoding="utf-8")
        path = tmp_path / "red.tagline"
        train = tagline("train", tmp_path / "red.txt", "-o", path, "--max-iterations", 3)
        describe, inspect = tagline("describe", tmp_path / "red.txt"), tagline("inspect", path)
        explain = tagline("explain", "-m", path, "--tokenizer", "whitespace", f"Anna {RED}")
        for done in (train, describe, inspect, explain):
            assert done.code == 0, done.err
            assert "\x1b" not in done.out + done.err
        assert SHOWN in describe.out
        assert SHOWN in inspect.out
        assert SHOWN in explain.out

    def test_quoted_lines(self, folder: Path, model: Path) -> None:
        (folder / "broken.txt").write_text(f"Anna X\n{RED}\n", encoding="utf-8")
        assert SHOWN in line_of(tagline("tag", "-m", model, "--format", "columns", folder / "broken.txt"))


class TestData:
    def test_columns_and_json_lines_are_unchanged(self, model: Path) -> None:
        done = tagline("tag", "-m", model, input=f"{RED}\nAnna\n")
        assert done.out.startswith(f"{RED}\t")
        assert RED[1:] in tagline("tag", "-m", model, "--as", "jsonl", input=f"{RED}\n").out

    def test_on_a_terminal_they_are_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ours, theirs = pty.openpty()
        with open(theirs, "w", encoding="utf-8") as terminal:
            monkeypatch.setattr(sys, "stdout", terminal)
            speech.put(f"{RED}\tB-LOC\n")
            assert os.read(ours, 1000).decode() == f"{SHOWN}\tB-LOC\r\n"
        os.close(ours)


@pytest.mark.parametrize(
    ("closed", "message"),
    [
        ("<&-", "<stdin>: "),
        (">&-", "standard output: "),
    ],
)
def test_closed_streams(model: Path, closed: str, message: str) -> None:
    command = f'echo Anna | "{sys.executable}" -m tagline tag -m "{model}" {closed}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
