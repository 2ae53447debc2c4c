"""What only a process of its own shows: pipes, closed pipes, Ctrl-C, what help loads."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import tagline as package
from tagline.cli.signals import Ended, raise_on_signals
from tagline.datasets import make_entities
from tagline.readers import write_columns

PLAIN = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "NO_COLOR")}


def start(*words: object) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tagline", *map(str, words)]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=PLAIN, bufsize=0)


def test_a_conversation_through_pipes_and_a_closed_one(model: Path) -> None:
    """Each sentence is answered before the next one comes; then nobody reads, and the command ends without a word."""
    with start("tag", "-m", model) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for word in (b"Rome", b"Anna"):
            process.stdin.write(word + b"\n\n")
            assert process.stdout.readline().startswith(word + b"\t")
            assert process.stdout.readline() == b"\n"
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            for _ in range(100):
                process.stdin.write(b"Rome\n\n" * 1000)
        assert process.wait(timeout=30) == 1
        assert process.stderr.read() == b""


def test_ctrl_c_saves_what_was_learned(tmp_path: Path) -> None:
    write_columns(make_entities(1500), tmp_path / "train.txt")
    path = tmp_path / "m.tagline"
    words = ["train", tmp_path / "train.txt", "-o", path, "-v", "--algorithm", "auto:delta=0,epsilon=0"]
    with start(*words) as process:
        assert process.stderr is not None
        lines = [process.stderr.readline()]
        while b"evaluations" not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
        assert process.wait(timeout=30) == 130
    assert "interrupted; what was learned so far is kept" in said
    assert f"saved {path}" in said
    assert "Traceback" not in said
    assert package.load(path).training_.reason == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_half_file(model: Path, tmp_path: Path, number: int) -> None:
    with start("tag", "-m", model, "-o", tmp_path / "out.txt") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"Rome\n\n")
        end = time.monotonic() + 60
        while not list(tmp_path.iterdir()):
            assert time.monotonic() < end
            time.sleep(0.01)
        assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
        process.send_signal(number)
        assert process.wait(timeout=30) == -number
        assert process.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers = {signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_IGN}
    before = {number: signal.getsignal(number) for number in handlers}
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        raise_on_signals()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        with pytest.raises(Ended) as ended:
            signal.raise_signal(signal.SIGTERM)
        assert ended.value.number == signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL  # a second one does not wait
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("words", [["tag"], ["inspect"], ["--help"], ["convert-tags"]])
def test_standard_output_that_is_full_is_named(model: Path, folder: Path, words: list[str]) -> None:
    words += {"tag": ["-m", str(model)], "inspect": [str(model)], "convert-tags": [str(folder / "dev.txt")]}.get(
        words[0], []
    )
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tagline", *words],
            input=b"Rome\n",
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env=PLAIN,
        )
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("tagline: standard output: ")
    assert "No space left on device" in line


def test_ctrl_c_before_anything_is_learned(tmp_path: Path) -> None:
    path = tmp_path / "m.tagline"
    path.write_text("precious")
    with start("train", "-", "-o", path) as process:  # waits for its input
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"Anna B-PER\n")
        end = time.monotonic() + 60
        while fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)) != bytes(4):  # until it has taken all
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        said = process.stderr.read().decode()
    assert said == f"interrupted, nothing was saved: {path} was not written\n"
    assert path.read_text() == "precious"


def test_an_error_is_one_line(model: Path) -> None:
    with start("tag", "-m", model, "nowhere.txt") as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert err == b"tagline: nowhere.txt: expected a file, got none of that name; check the path\n"


def test_the_demo_needs_the_base_package_only_and_writes_utf_8_anywhere() -> None:
    code = (
        "import sys\nfrom tagline.cli import main\nsys.argv = ['tagline', 'demo']\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "print(*sorted({'torch', 'matplotlib'} & set(sys.modules)), file=sys.stderr)"
    )
    locale = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env={**PLAIN, **locale})
    assert done.stderr.split() == []
    assert "[LOC 温州 0." in done.stdout.decode()


def test_help_of_the_commands_loads_no_numpy() -> None:
    code = (
        "import sys\nfrom tagline.cli import main\n"
        "for command in ('train', 'tag', 'inspect', 'explain', 'demo'):\n"
        "    sys.argv = ['tagline', command, '--help']\n"
        "    try:\n        main()\n    except SystemExit as stop:\n        assert not stop.code\n"
        "print(*sorted({'torch', 'sklearn', 'numpy', 'scipy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=PLAIN)
    assert done.stderr.split() == []
    assert done.stdout.count("Example") == 4
