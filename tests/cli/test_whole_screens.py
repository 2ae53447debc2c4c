"""Under TAGLINE_LANG=zh whole screens are Chinese: no run of English words but data, names and commands."""

from __future__ import annotations

import gettext
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tagline.cli import use_language
from tagline.datasets import make_entities
from tagline.messages import language, use
from tagline.readers import write_columns

from .commands import tagline

CHINESE = re.compile("[\u4e00-\u9fff]")
RUN = re.compile(r"(?:\b[A-Za-z]{2,}\b[,;:]? ){2}[A-Za-z]{2,}\b")  # three words of English
# What stays as it is: commands, options and their values, file names, quoted data, names of kinds and algorithms.
MARKED = re.compile(r"\[[A-Z]{3,4} ")
KEPT = re.compile(
    r"(?m)^ *(?:tagline|echo|pip|python) .*$|tagline [a-z][a-z_-]*(?: [^\s，。；：）]+)*|--?[\w-]+(?:[ =][\w./:-]+)?"
    r"|[\w./-]*/[\w./-]+|\b[\w-]+\.(?:txt|tagline|jsonl|toml|gz|csv|tsv|svg|html|conllu|seg)\b|\"[^\"]*\"|'[^']*'"
    r"|\b[a-z0-9_-]+(?:[、,/|] ?[a-z0-9_-]+)+\b|[A-Z][A-Za-z+]*(?: [A-Z][A-Za-z+]*)+|\b[A-Z_]{3,}\b"
)


def english(text: str) -> list[str]:
    """Lines with runs of English words; sentences with their entities in brackets are data."""
    return [line for line in text.splitlines() if RUN.search(KEPT.sub("·", line)) and not MARKED.search(line)]


def test_english_is_noticed() -> None:
    for line in ("x.txt: expected a file, got none of that name", "wrote it to a file", "labels  4: every label may"):
        assert english(f"已写入\n{line}\n") == [line]
    assert not english(
        "请给出 -m model.tagline；tagline tag -m MODEL FILE | tagline eval -\n  [PER Anna] sings in it\n"
    )


@pytest.fixture(scope="module")
def chinese() -> Iterator[None]:
    """The command line in Chinese, click's own texts, too."""
    before, languages = language(), os.environ.get("LANGUAGE")
    use_language("zh")
    yield
    use(before)
    gettext.textdomain("messages")
    os.environ.pop("LANGUAGE") if languages is None else os.environ.__setitem__("LANGUAGE", languages)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and models."""
    folder = tmp_path_factory.mktemp("screens")
    write_columns(make_entities(60, language="en"), folder / "train.txt")
    write_columns(make_entities(20, language="en", split="test"), folder / "test.txt")
    (folder / "broken.txt").write_text("Anna B-PER\nsings O extra\n\n", encoding="utf-8")
    (folder / "text.txt").write_text("Anna sings in Rome.\n", encoding="utf-8")
    (folder / "empty.txt").write_text("", encoding="utf-8")
    (folder / "series.csv").write_text("a,b\n" + "".join(f"{n % 7},{n % 3}.5\n" for n in range(60)), encoding="utf-8")
    before = Path.cwd()
    os.chdir(folder)
    tagline("train", "train.txt", "-o", "m.tagline", "--max-iterations", "5", "--dev", "test.txt")
    tagline("train", "train.txt", "-o", "h.tagline", "--model", "hmm")
    tagline("train", "train.txt", "-o", "tri.tagline", "--model", "trigram")
    os.chdir(before)
    return folder


HELP = [
    (name, "--help") for name in ("train", "tag", "inspect", "explain", "export", "serve", "demo", "doctor", "info")
]
HELP += [(name, "--help") for name in ("tune", "describe", "eval", "cluster", "convert-tags", "convert-model")]
SCREENS: list[tuple[str, ...]] = [
    ("--help",),
    *HELP,
    ("train", "train.txt", "-o", "again.tagline", "--max-iterations", "5", "--dev", "test.txt", "-v"),
    ("train", "train.txt", "-o", "semi.tagline", "--model", "semicrf", "--max-iterations", "3"),
    ("train", "train.txt", "-o", "tri.tagline", "--model", "trigram"),
    ("train", "series.csv", "-o", "series.tagline", "--model", "hmm", "--states", "2"),
    ("tag", "-m", "m.tagline", "text.txt", "-o", "text.out"),
    ("eval", "test.txt", "test.txt"),
    ("eval", "test.txt", "test.txt", "--details", "--resamples", "20"),
    ("describe", "train.txt"),
    ("cluster", "train.txt", "-o", "c.txt", "--clusters", "4"),
    ("convert-tags", "train.txt", "x.txt", "--to", "BIOES"),
    ("convert-model", "h.tagline", "h2.tagline", "--to", "tagline"),
    ("inspect", "m.tagline"),
    ("inspect", "h.tagline"),
    ("inspect", "tri.tagline"),
    ("inspect", "m.tagline", "h.tagline"),
    ("explain", "-m", "m.tagline", "Anna sings in Rome ."),
    ("explain", "-m", "h.tagline", "Anna sings in Rome ."),
    ("doctor",),
    ("info",),
    ("demo",),
]
MISTAKES: list[tuple[str, ...]] = [
    (),
    ("trian",),
    ("train",),
    ("train", "--modell", "x"),
    ("train", "train.txt", "-o", "x.tagline", "--memory", "3"),
    ("train", "train.txt", "-o", "x.tagline", "--c2", "much"),
    ("train", "train.txt", "-o", "x.tagline", "--c2", "-1"),
    ("train", "train.txt", "-o", "x.tagline", "--algorithm", "newton"),
    ("train", "train.txt", "-o", "x.tagline", "--model", "hmm", "--c2", "1"),
    ("train", "train.txt", "-o", "nowhere/x.tagline"),
    ("train", "broken.txt", "-o", "x.tagline"),
    ("train", "text.txt", "-o", "x.tagline"),
    ("train", "empty.txt", "-o", "x.tagline"),
    ("train", "missing.txt", "-o", "x.tagline"),
    ("train", "train.txt", "-o", "train.txt"),
    ("train", "train.txt", "-o", "x.tagline", "--prune", "0.1"),
    ("tag", "-m", "missing.tagline", "text.txt"),
    ("tag", "-m", "train.txt", "text.txt"),
    ("tag", "-m", "m.tagline", "broken.txt", "--format", "columns", "--k-best", "-1"),
    ("tag", "text.txt"),
    ("eval", "text.txt"),
    ("eval", "broken.txt"),
    ("inspect", "m.tagline", "--label", "X"),
    ("explain", "-m", "m.tagline", "Anna", "--token", "Berta"),
    ("convert-tags", "train.txt", "x.txt", "--to", "XYZ"),
    ("convert-model", "train.txt", "x.tagline", "--to", "wapiti"),
    ("convert-model", "m.tagline", "x.crfsuite", "--to", "crfsuite"),
    ("serve", "-m", "missing.tagline"),
    ("tune", "train.txt", "--dev", "test.txt", "-o", "x.tagline", "--trials", "0"),
]


@pytest.mark.parametrize("words", SCREENS, ids=" ".join)
def test_screens_are_whole(words: tuple[str, ...], home: Path, chinese: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    done = tagline(*words)
    assert done.code == 0, done.err
    assert not english(done.out + done.err)
    assert CHINESE.search(done.out + done.err)


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistakes_are_told_in_chinese(
    words: tuple[str, ...], home: Path, chinese: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    done = tagline(*words)
    assert done.code in (1, 2)
    assert not english(done.out + done.err)
    assert CHINESE.search(done.out + done.err)


def test_files_and_json_do_not_depend_on_the_language(
    home: Path, chinese: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    asked = [("describe", "train.txt"), ("inspect", "m.tagline"), ("explain", "-m", "m.tagline", "Anna sings")]
    made = {}
    for name in ("en", "zh"):
        use(name)
        done = tagline(
            "train", "train.txt", "-o", f"{name}.tagline", "--order", "2", "--prune", "0.01", "--stages", "1"
        )
        assert done.code == 0, done.err
        made[name] = [Path(f"{name}.tagline").read_bytes(), *(tagline(*words, "--json").out for words in asked)]
    assert made["en"] == made["zh"]
