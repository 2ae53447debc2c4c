"""No command writes over what it reads, under whatever name; a place that cannot be written is refused first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click
import pytest

import tagline as package
from tagline.cli.app import COMMANDS, command_named
from tagline.cli.arguments import Argument, Option
from tagline.errors import InputError, StorageError
from tagline.writing import check_apart

from .commands import line_of, tagline


@pytest.fixture
def home(folder: Path, model: Path, tmp_path: Path) -> Path:
    """Copies of a model m, a tagged file t, and a corpus c, with other names for each."""
    shutil.copy(model, tmp_path / "m")
    shutil.copy(folder / "train.txt", tmp_path / "c")
    (tmp_path / "t").write_text("Anna B-PER B-PER\n\nsings O O\n", encoding="utf-8")
    (tmp_path / "d").mkdir()
    for name in "mct":
        (tmp_path / f"{name}.link").symlink_to(name)
        os.link(tmp_path / name, tmp_path / f"{name}.hard")
        os.link(tmp_path / name, tmp_path / "d" / f"{name}.txt")
    return tmp_path


CALLS = (
    "cluster c -o c",
    "cluster t c -o c.link",
    "cluster c -o c.hard",
    "tag -m m t -o m",
    "tag -m m t -o m.link",
    "tag -m d/m.txt t m.hard -o d",
    "tag -m m t -o t.hard",
    "tag -m m c -o d",
    "inspect m --weights m",
    "inspect m --plot m.hard",
    "eval t --html t",
    "eval c t --html t.link",
    "eval t --compare c --html c",
    "eval t --train c --html c",
    "eval t --plot t",
    "convert-tags t t",
    "convert-tags t t.hard --to BIOES",
    "convert-model m m --to crfsuite",
    "export m -o m",
    "train c -o c.hard",
    "train c -o x --dev t --log t.link",
    "train c -o x --dictionary t,m --checkpoint m",
    "train c -o x --dictionary t,m --cache t",
    "train c -o m --teacher m.link",
    "tune c --dev t -o t.hard",
    "tune c --dev t -o x --folder c",
)


@pytest.mark.parametrize("words", CALLS)
def test_what_is_read_is_not_written(home: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert "is also read, as " in line_of(tagline(*words.split()))
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("words", ["inspect m --weights x --plot ./x", "train c -o x --log d/../x"])
def test_one_file_is_not_written_twice(home: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert "x is also written, as " in line_of(tagline(*words.split()))
    assert not (home / "x").exists()


def test_standard_input_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (home / "c").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        with pytest.raises(InputError, match=r"^-o: .*\bFILE\b"):
            check_apart({"FILE": "-"}, {"-o": home / "c.hard"})


def test_streams_and_folders_may_be_both(tmp_path: Path) -> None:
    check_apart({"FILES": ["/dev/null", tmp_path, None]}, {"-o": "/dev/null", "--plot": "-", "--folder": tmp_path})


def test_of_every_option_it_is_known_whether_it_names_files() -> None:
    """A new option that takes text is declared as `READ` or `WRITTEN`, or is put into one of these lists."""
    only_read = "describe.file explain.document serve.token_file"  # with no output beside them
    makes_its_own = "demo.keep train.scratch"  # folders for new files
    no_files = (
        "form tokenizer encoding comment shape url ray label label_weights scheme from_scheme to column improper model "
        "tag_column note host allow_host allow_origin log token sentence columns group covariance emission unknown "
        "smoothing head device algorithm on_illegal"
    )
    undeclared = {
        f"{name}.{parameter.name}"
        for name in COMMANDS
        for parameter in command_named(name).params
        if isinstance(parameter, Option | Argument) and parameter.type is click.STRING
        if not parameter.declared.file and parameter.name not in no_files.split()
    }
    assert undeclared == {*only_read.split(), *makes_its_own.split()}


@pytest.mark.parametrize("place", ["t2/", "none/m", "c/m", "d"])
@pytest.mark.parametrize("words", ["train c -o", "train c -o x --log", "train c -o x --checkpoint", "cluster c -o"])
def test_a_place_that_cannot_be_written_is_refused_first(
    home: Path, words: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    before = sorted(home.rglob("*"))
    message = line_of(tagline(*words.split(), place))
    assert message.startswith(("--output: ", "--log: ", "--checkpoint: "))
    assert sorted(home.rglob("*")) == before


def test_a_model_is_not_saved_as_a_file_where_a_folder_is_named(model: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="t6/: "):
        package.load(model).save(f"{tmp_path}/t6/")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file/m: "):
        package.load(model).save(tmp_path / "file" / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "words",
    [
        *("inspect m --plot none/x.png", "inspect m --weights x/", "eval t --html none/x", "convert-tags t none/x"),
        *("convert-model m d", "tag -m m c -o t/", "demo --keep t", "tune c --dev t -o x/"),
    ],
)
def test_no_command_begins_that_cannot_write(home: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    before = sorted(home.rglob("*"))
    assert line_of(tagline(*words.split())).startswith(("--", "TARGET: "))
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize(
    "words",
    [
        "crf_learn t c c",
        "crf_learn t c t",
        "crf_learn -C c ./c",
        "crf_test -m p c -o c",
        "crf_test -m p c -o c.hard",
        "crfsuite learn -m c c",
        "wapiti train -p t c c",
        "wapiti train -p t c t",
        "wapiti label -m p c c",
        "wapiti label -m p c p",
        "wapiti dump p p",
    ],
)
def test_commands_of_other_tools_neither(home: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    (home / "t").write_text("U00:%x[0,0]\n")
    (home / "p").write_text("a model of theirs")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert "is also read, as " in line_of(tagline(*words.split()))
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
