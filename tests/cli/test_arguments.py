"""Words of the command line: how options and arguments are read, what is refused, what help shows."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from typing import Annotated, Any

import click
import pytest

from tagline.cli.app import COMMANDS, CommandLine, command_named
from tagline.cli.arguments import Argument, Named, Option, argument, command_of, option
from tagline.cli.foreign import TOOLS
from tagline.cli.usage import show_help, wrapped
from tagline.messages import cells, use

from .commands import tagline

seen: dict[str, Any] = {}


def probe(
    named: Named,
    first: Annotated[str, argument(help="A word.")],
    others: Annotated[list[str] | None, argument(help="Words.")] = None,
    size: Annotated[int, option("-k", "--size", help="A size.")] = 3,
    share: Annotated[float | None, option(help="A share.")] = None,
    text: Annotated[str, option("-t", "--text", help="A text.")] = "",
    note: Annotated[list[str] | None, option(help="Notes.")] = None,
    quiet: Annotated[bool, option("-q", "--quiet", help="A switch.")] = False,
    date: Annotated[bool, option("--date/--no-date", help="A pair.")] = True,
    insecure: Annotated[bool, option(help="Another pair.")] = False,
    port: Annotated[int, option(between=(0, 9), help="A range.")] = 8,
    ray: Annotated[str | None, option("--ray", help="A place.", alone=re.compile(r"\w+:\d+"))] = None,
) -> None:
    """Note what a command gets."""
    seen.clear()
    seen.update(locals())


PROBE = command_of("probe", probe)
USUAL = {
    **{"first": "a", "others": None, "size": 3, "share": None, "text": "", "note": None},
    **{"quiet": False, "date": True, "insecure": False, "port": 8, "ray": None},
}


def run(*words: str) -> None:
    """Call the function with what words say."""
    with PROBE.make_context("probe", list(words)) as context:
        PROBE.invoke(context)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("a", {}),
        ("a b -k 5 c", {"others": ["b", "c"], "size": 5}),
        ("-k5 a --size=6 b", {"others": ["b"], "size": 6}),
        ("-qk5 a", {"quiet": True, "size": 5}),
        ("-qk -5 a", {"quiet": True, "size": -5}),
        ("a --size -5 --share -1e3", {"size": -5, "share": -1000.0}),
        ("a --share inf", {"share": float("inf")}),
        ("a --text --quiet -t --", {"text": "--"}),
        ("a --text=", {"text": ""}),
        ("a -t=x", {"text": "=x"}),
        ("a --text=x=y", {"text": "x=y"}),
        ("-- -a -q", {"first": "-a", "others": ["-q"]}),
        ("-q - -- --", {"quiet": True, "first": "-", "others": ["--"]}),
        ("a --note x --note=y", {"note": ["x", "y"]}),
        ("a --no-date --insecure", {"date": False, "insecure": True}),
        ("a --no-date --date --insecure --no-insecure", {}),
        ("a --ray", {"ray": ""}),
        ("--ray a", {"ray": ""}),
        ("--ray host:1 a", {"ray": "host:1"}),
        ("--ray --ray=x a", {"ray": "x"}),
        ("a --port 9", {"port": 9}),
    ],
)
def test_words_become_values(words: str, values: dict[str, Any]) -> None:
    run(*words.split(" "))
    named = seen.pop("named")
    assert seen == {**USUAL, **values}
    assert set(values) - {"first", "others"} <= set(named)


def test_a_command_knows_what_stands_on_the_command_line() -> None:
    run("--text", "", "a", "--no-insecure", "-k3")
    assert seen["named"] == ("text", "insecure", "size")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("", ["FIRST"]),
        ("a --siz 5", ["--siz", "--size"]),
        ("a --Quiet", ["--Quiet", "--quiet"]),
        ("a --xyz", ["--xyz"]),
        ("a --quie", ["--quie", "--quiet"]),
        ("a -qx", ["-x"]),
        ("a -z", ["-z"]),
        ("a -k", ["-k"]),
        ("a --text", ["--text"]),
        ("a --quiet=1", ["--quiet"]),
        ("a --no-date=1", ["--no-date"]),
        ("a -q-", ["--"]),
        ("a --size five", ["--size", "'five'", "integer"]),
        ("a -k 1.5", ["--size", "'1.5'", "integer"]),
        ("a --share x", ["--share", "'x'", "float"]),
        ("a --port 10", ["--port", "10", "0<=x<=9"]),
        ("a --port=-1", ["--port", "-1", "0<=x<=9"]),
    ],
)
def test_wrong_words_are_named(words: str, parts: list[str]) -> None:
    with pytest.raises(click.UsageError) as error:
        run(*words.split())
    assert all(part in error.value.format_message() for part in parts)
    assert error.value.ctx is not None
    assert error.value.ctx.command is PROBE


def test_help_is_asked_for_before_values_are_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    seen.clear()
    for words in (["--help"], ["--size", "five", "--help"]):
        with pytest.raises(click.exceptions.Exit):
            run(*words)
        assert "--size NUMBER" in capsys.readouterr().out
    assert not seen
    run("a", "--text", "--help")
    assert seen["text"] == "--help"


@pytest.mark.parametrize(
    ("words", "command", "parts"),
    [
        (["trian"], "tagline", ["trian", "'train'"]),
        (["crf_lern"], "tagline", ["crf_lern", "'crf_learn'"]),
        (["--nothing"], "tagline", ["--nothing"]),
        (["--"], "tagline", ["command"]),
        (["train", "x"], "tagline train", ["--output"]),
        (["describe", "a", "b", "c"], "tagline describe", ["b c"]),
        (["describe", "a", "\x9b"], "tagline describe", [r"\u009b"]),
        (["serve", "-m", "x", "--port", "70000"], "tagline serve", ["--port", "70000", "65535"]),
        (["tag", "\x1b[31m", "--\x9b"], "tagline tag", ["9b"]),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_who_knows_more(words: list[str], command: str, parts: list[str]) -> None:
    done = tagline(*words)
    usage, said, more = done.err.splitlines()
    assert (done.code, done.out) == (2, "")
    assert usage.startswith(f"Usage: {command} [OPTIONS]")
    assert said.startswith(f"{command}: ")
    assert all(part in said for part in parts)
    assert "\x9b" not in done.err
    assert more.endswith(f"'{command} --help' for help.")


def test_no_words_at_all_show_help() -> None:
    done = tagline()
    assert (done.code, done.out, done.err) == (2, tagline("--help").out, "")
    assert tagline("--version", "anything").out.startswith("tagline ")
    assert tagline("--", "info").code == 0


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("columns", [40, 80, 131])
def test_help_has_everything_and_keeps_its_width(language: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    use(language)
    try:
        for name in COMMANDS:
            command, shown = command_named(name), tagline(name, "--help").out
            panels = re.split("\n(?:Arguments:|Options:|参数：|选项：)\n", shown, maxsplit=1)[1]
            assert max(map(cells, panels.splitlines())) <= columns, name
            listed = [parameter for parameter in command.params if isinstance(parameter, Option)]
            flags = [flag for parameter in listed for flag in (*parameter.opts, *parameter.secondary_opts)]
            assert "--help" in flags
            assert all(re.search(rf"[ ,]{flag}[ ,\n]", shown) for flag in flags)
            for parameter in command.params:
                if isinstance(parameter, Argument):
                    assert f"  {parameter.human_readable_name}" in shown
        listing = tagline("--help").out
        assert all(re.search(rf"^  {name}\b", listing, re.MULTILINE) for name in (*COMMANDS, *TOOLS))
        assert max(map(cells, listing.splitlines())) <= columns
    finally:
        use("en")


def test_help_says_defaults_and_what_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = tagline("train", "--help").out
    assert re.search(r"-o, --output TEXT +The model to write. \[required\]", shown)
    assert re.search(r"--model TEXT +What to train: one of the models below. \[default: crf\]", shown)
    assert "[default: date]" in shown
    assert re.search(r"--unknown TEXT +Words that an HMM never saw: smooth, or error. +\[default: smooth\]", shown)
    assert "[0 to 65535] [default: 8000]" in tagline("demo", "--help").out
    assert re.search(r"-k, --k-best NUMBER +So many.*\[default: 0\]", tagline("tag", "--help").out)
    assert "--insecure / --no-insecure" in tagline("serve", "--help").out


def test_examples_are_shown_as_they_stand() -> None:
    assert "\n    tagline export model.tagline -o model-onnx && python model-onnx/run.py < words.txt\n" in (
        tagline("export", "--help").out
    )


def help_on_a_terminal(**environment: str) -> str:
    ours, theirs = pty.openpty()
    home = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TAGLINE_LANG", "COLUMNS")}
    command = [sys.executable, "-m", "tagline", "info", "--help"]
    with subprocess.Popen(command, stdout=theirs, env={**home, "TERM": "xterm", **environment}) as process:
        os.close(theirs)
        assert process.wait(timeout=60) == 0
    text = os.read(ours, 10_000).decode()
    os.close(ours)
    return text


def test_colours_are_for_terminals_that_want_them() -> None:
    assert "\x1b[1mOptions:\x1b[0m" in help_on_a_terminal()
    assert "\x1b" not in help_on_a_terminal(NO_COLOR="1") + help_on_a_terminal(TERM="dumb")
    assert "\x1b" not in tagline("info", "--help").out


def test_help_without_a_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with click.Context(CommandLine(), info_name="tagline") as context:
        show_help(context)


def test_lines_are_broken_where_they_may_be() -> None:
    assert wrapped("", 10) == [""]
    assert wrapped("of --max-iterations x", 18) == ["of", "--max-iterations x"]
    assert wrapped("http://127.0.0.1:8000/x y", 10) == ["http://127", ".0.0.1:800", "0/x y"]
    assert wrapped("令牌取自 TOKEN。其他", 12) == ["令牌取自", "TOKEN。其他"]


@pytest.mark.parametrize("words", [["--help"], ["tag", "--help"]])
def test_a_reader_that_has_seen_enough(words: list[str]) -> None:
    """The pipe has no reader any more when the command writes."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "tagline", *words]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
