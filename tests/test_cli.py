"""The command line: help, version, reading and scoring, and kind answers to wrong words. Models: tests/cli."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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
    for word in ("train", "tag", "inspect", "explain", "export", "demo", "info", "--version"):
        assert word in done.stdout


def test_info_names_the_engine() -> None:
    assert "engine   naive" in tagline_command("info", TAGLINE_ENGINE="naive").stdout


def test_an_unknown_command_is_named() -> None:
    done = tagline_command("trian")
    assert done.returncode == 2
    assert "trian" in done.stderr


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("TAGLINE_ENGINE", "TAGLINE_ENGINE: "),
        ("TAGLINE_CPU", "TAGLINE_CPU: "),
        ("TAGLINE_THREADS", "TAGLINE_THREADS: "),
    ],
)
def test_a_wrong_setting_gives_one_line_and_no_traceback(variable: str, message: str) -> None:
    done = tagline_command("info", **{variable: "fast"})
    assert done.returncode == 1
    assert done.stderr.startswith(f"tagline: {message}")
    assert done.stderr.count("\n") == 1


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text(PAIR, encoding="utf-8")
    done = tagline_command("eval", str(path), "--plot", str(path / "folder"))
    assert done.returncode == 1
    assert f"tagline: {path / 'folder'}: Not a directory" in done.stderr
    assert "Traceback" not in done.stderr


PAIR = "EU NNP B-ORG B-ORG\nrejects VBZ O O\n\nPeter NNP B-PER B-PER\nBlackburn NNP I-PER O\n"


def test_eval_prints_what_conlleval_prints(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text(PAIR, encoding="utf-8")
    done = tagline_command("eval", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "processed 4 tokens with 2 phrases; found: 2 phrases; correct: 1.\n"
        "accuracy:  75.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00\n"
        "              ORG: precision: 100.00%; recall: 100.00%; FB1: 100.00  1\n"
        "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1\n"
    )
    assert done.stderr == "rule: conlleval\n"
    strict = json.loads(tagline_command("eval", str(path), "--strict", "--json").stdout)
    assert strict["spans"]["rule"] == "strict:IOB2"


def test_eval_reads_by_the_scheme_or_as_the_script(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("".join(f"w {tag} {tag}\n" for tag in ("B-X", "E-X", "B-X", "E-X")), encoding="utf-8")
    done = tagline_command("eval", str(path))
    assert "with 2 phrases" in done.stdout
    assert done.stderr == "rule: conlleval:BIOES\n"
    script = tagline_command("eval", str(path), "--conlleval")
    assert "with 1 phrases" in script.stdout
    assert script.stderr == "rule: conlleval\n"
    assert "--strict" in tagline_command("eval", str(path), "--conlleval", "--strict").stderr


def test_eval_writes_a_page_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(PAIR, encoding="utf-8")
    done = tagline_command("eval", str(tmp_path / "out.txt"), "--html", str(tmp_path / "out.html"), "--overall")
    assert done.returncode == 0, done.stderr
    assert "PER" not in done.stdout
    assert "<html" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_describe_and_convert(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("EU B-ORG\nsays O\n\nPeter B-PER\nBlackburn I-PER\n", encoding="utf-8")
    assert "entities   2" in tagline_command("describe", str(path)).stdout
    assert json.loads(tagline_command("describe", str(path), "--json").stdout)["scheme"] == "IOB2"
    done = tagline_command("convert-tags", str(path), "--to", "BIOES")
    assert done.stdout == "EU S-ORG\nsays O\n\nPeter B-PER\nBlackburn E-PER\n\n"
    assert "source scheme IOB2" in done.stderr


def test_a_broken_file_gives_its_place_and_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "broken.txt"
    path.write_text("EU B-ORG\nsays\n\nhi O\n", encoding="utf-8")
    for words in (["describe", str(path)], ["eval", str(path)], ["convert-tags", str(path)]):
        done = tagline_command(*words)
        assert done.returncode == 1
        assert "broken.txt:2: " in done.stderr
        assert "Traceback" not in done.stderr
    lenient = tagline_command("describe", str(path), "--lenient")
    assert "sentences  1" in lenient.stdout
    assert "skipped: " in lenient.stderr


def test_ctrl_c_ends_a_command_without_a_traceback() -> None:
    """The command waits for standard input, which never comes."""
    words = [sys.executable, "-m", "tagline", "describe", "-"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write("EU B-ORG\n")
        process.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=3)
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=30)
        assert process.stderr is not None
        said = process.stderr.read()
    assert code == 130
    assert "Traceback" not in said


def test_parts_of_speech_are_scored_by_tokens(tmp_path: Path) -> None:
    (tmp_path / "pos.txt").write_text("the DT DT\ndog NN VB\nin IN IN\n\n", encoding="utf-8")
    for options in ((), ("--strict",)):
        done = tagline_command("eval", str(tmp_path / "pos.txt"), *options)
        assert done.returncode == 0, done.stderr
        assert "the tags are of no tag scheme and mark no spans: tokens are scored" in done.stderr
        assert "66.67" in done.stdout
    done = tagline_command("eval", str(tmp_path / "pos.txt"), "--tokens")
    assert done.stderr == ""


# What there is on this machine.


def test_doctor() -> None:
    done = tagline_command("doctor", TAGLINE_THREADS="1")
    assert done.returncode == 0, done
    for words in ("engine   ", "threads  1 ", "python   3.", "numpy", "  TAGLINE_THREADS=1\n", "no problem found\n"):
        assert words in done.stdout


def test_doctor_names_what_is_wrong() -> None:
    done = tagline_command("doctor", "--json", TAGLINE_THREADS="many")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["problems"] == ["TAGLINE_THREADS: expected a whole number, got 'many'"]
    assert found["threads"] is None
    assert found["packages"]["numpy"]


def test_doctor_looks_at_every_extra() -> None:
    from tagline.cli import health

    project = Path(__file__).parent.parent / "pyproject.toml"
    extras = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(health.EXTRAS) == set(extras) - {"bench", "docs", "dev"}
    for name, packages in health.EXTRAS.items():
        needed = {re.split(r"[\[<>=;]", text)[0] for text in extras[name]}
        assert set(packages) <= needed, name


def test_doctor_without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    from tagline.cli import health

    monkeypatch.setattr(health, "_version", lambda name: None if name in ("torch", "matplotlib") else "1.0")
    monkeypatch.setattr("tagline.compiled.core", None)
    found = health.examine()
    assert found.extras == {"torch": "pip install 'tagline[torch]'", "plot": "pip install 'tagline[plot]'"}
    assert found.problems[0].startswith("core: the compiled core is missing")
    shown = found.text()
    assert re.search(r"  matplotlib +not installed\n", shown)
    assert "problem: core: " in shown
    assert "no compiled core" in shown


def test_doctor_and_a_broken_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    from tagline.cli import health

    monkeypatch.setitem(sys.modules, "torch", None)  # importing it fails
    monkeypatch.setattr(health, "_version", lambda name: "1.0")
    assert health.examine(gpu=False).problems == ()
    (problem,) = health.examine().problems
    assert problem.startswith("torch: ")  # what is missing, in words of Python or ours
    assert problem.endswith("; install it again")
