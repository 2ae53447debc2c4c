"""Completion: candidates, the scripts in the shells themselves where they are installed, and what is written where."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from tagline.cli.app import SHELLS, CommandLine
from tagline.cli.completion import install, script_for
from tagline.cli.foreign import TOOLS
from tagline.errors import InputError

from .commands import tagline


def candidates(*words: str) -> dict[str, str]:
    """What the last word may become, each with a line about it; an empty one stands for the name of a file."""
    items = ShellComplete(CommandLine(), {}, "tagline", "").get_completions(list(words[:-1]), words[-1])
    return {"" if item.type == "file" else item.value: item.help or "" for item in items}


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["in"], ["inspect", "info"]),
        (["crf_"], ["crf_learn", "crf_test"]),
        (["--v"], ["--version"]),
        (["tag", "--m"], ["--model", "--min-probability", "--marginals"]),
        (["tag", "-m", "x", "--o"], ["--output"]),
        (["train", "--no-d"], ["--no-date"]),
        (["info", "--"], ["--help"]),
        (["tag", "fi"], [""]),
        (["tag", "-m", ""], [""]),
        (["tag", "--ray", "fi"], [""]),
        (["tag", "-k", ""], []),
        (["tag", "--tokenizer", "w"], ["whitespace", "words"]),
        (["train", "--model", "tr"], ["transformer", "trigram"]),
        (["train", "--head", ""], ["crf", "softmax"]),
        (["train", "--model=tri"], ["trigram"]),
        (["--show-completion", ""], ["bash", "fish", "zsh"]),
        (["nothing", "--"], ["--version", "--install-completion", "--show-completion", "--help"]),
        (["crf_learn", "-"], [""]),
        (["crf_learn", "x"], [""]),
    ],
)
def test_what_a_word_may_become(words: list[str], names: list[str]) -> None:
    assert sorted(candidates(*words)) == sorted(names)


def test_all_commands_are_candidates_for_nothing() -> None:
    texts = candidates("")
    assert len(texts) > 15
    assert texts["train"] == "Train a model, from labelled sentences to a file."


def test_texts_have_one_line() -> None:
    """Shells read a candidate a line."""
    assert candidates("tag", "--tokenizer")["--tokenizer"].startswith("How text is cut")
    assert not any("\n" in text for text in candidates("tag", "--").values())


def test_words_are_completed_without_heavy_imports() -> None:
    code = (
        "import sys\nfrom tagline.cli import main\nsys.argv = ['tagline']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*sorted({'torch', 'sklearn', 'numpy', 'rich'} & set(sys.modules)))"
    )
    environment = {**os.environ, "_TAGLINE_COMPLETE": "bash_complete", "COMP_WORDS": "tagline in", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert sorted(done.stdout.split()) == ["plain,info", "plain,inspect"], done


# What each shell is told to complete the words, as it calls a script when somebody presses Tab.
CALLS = {
    "bash": 'COMP_WORDS=(tagline in); COMP_CWORD=1; _tagline_completion tagline; printf "%s\\n" "${COMPREPLY[@]}"\n',
    "zsh": "_describe() { print -l ${(P)3} }; words=(tagline in); CURRENT=2; _tagline_completion\n",
    "fish": 'complete -C "tagline in"\n',
}


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_complete_words(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "tagline").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tagline "$@"\n')
    (tmp_path / "tagline").chmod(0o755)
    stub = "compdef() { : }\n" if shell == "zsh" else ""  # what compinit brings
    (tmp_path / "script").write_text(stub + script_for(shell) + CALLS[shell])
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run([shell, tmp_path / "script"], capture_output=True, text=True, env=environment, check=False)
    names = [line.split("\t")[0].split(":")[0] for line in done.stdout.splitlines()]
    assert sorted(names) == ["info", "inspect"], done


def test_a_script_of_another_version_gets_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    from tagline.cli.completion import answer

    assert [answer("complete_bash"), answer("bash")] == [1, 1]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_installed_once(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    if shell != "fish":
        (tmp_path / f".{shell}rc").write_text("alias x=y")
    first, second = install(""), install(shell)
    assert first[0].read_text() == script_for(shell)
    assert second == first[:1]
    if shell != "fish":
        lines = (tmp_path / f".{shell}rc").read_text().splitlines()
        assert lines[0] == "alias x=y"
        assert len([line for line in lines if "completions" in line or "zfunc" in line]) == 1


def test_the_options_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert tagline("--show-completion", "bash").out == script_for("bash")
    done = tagline("--install-completion", "fish")
    assert (done.code, done.err.splitlines()[0]) == (0, f"wrote {tmp_path / '.config/fish/completions/tagline.fish'}")
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    with pytest.raises(InputError, match=r"^shell: .*'tcsh'"):
        script_for("")
    assert tagline("--show-completion").code == 1


@pytest.mark.parametrize("tool", list(TOOLS))
def test_a_shell_that_asks_runs_no_other_tool(tool: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tagline", tool, "template", "train", "model"],
        env={**os.environ, "_TAGLINE_COMPLETE": "bash"}, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    assert not list(tmp_path.iterdir())


def test_a_shell_that_is_not_known_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")
    for option in ("--install-completion", "--show-completion"):
        result = tagline(option, "powershell")
        assert result.code == 1
        assert "'powershell'" in result.err
    assert not list(tmp_path.iterdir())
