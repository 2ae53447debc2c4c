"""Segmented text on the command line: trained on, tagged, written with blanks, coloured, scored."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from .commands import line_of, tagline

TRAIN = (
    "中国 人民 站 起来 了 。\n我 爱 北京 天安门 。\n他 在 上海 工作 ， 很 开心 。\n我们 去 北京 大学 学习 中文 。\n" * 3
)
TEST = "我 在 北京 学习 。\n\n中国 人民 去 南京 。\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    (folder / "train.seg").write_text(TRAIN, encoding="utf-8")
    (folder / "test.seg").write_text(TEST, encoding="utf-8")
    done = tagline("train", folder / "train.seg", "-o", folder / "m.tagline", "--format", "words", "--c2", "0.1")
    assert done.code == 0, done.err
    assert "template segmentation" in done.err
    return folder


def test_tagged_as_words(home: Path) -> None:
    done = tagline("tag", "-m", home / "m.tagline", home / "test.seg", "--format", "words", "--as", "words")
    assert done.out.replace(" ", "") == TEST.replace(" ", "").replace("\n\n", "\n")
    assert "北京" in done.out.split()
    raw = tagline("tag", "-m", home / "m.tagline", "--as", "words", input="我爱北京天安门。\n")
    assert raw.out == "我 爱 北京 天安门 。\n"


def test_scores_of_words(home: Path) -> None:
    """One line for the words, without the empty type; unknown words apart."""
    tagged = tagline("tag", "-m", home / "m.tagline", home / "test.seg", "--format", "words")
    done = tagline("eval", "-", "--train", home / "train.seg", input=tagged.out)
    assert re.fullmatch(r"10 words; found: \d+; .*F1: [\d.]+\nrecall of 1 words that are not .*; of 9 .*%\n", done.out)
    assert done.err == f"{home / 'train.seg'}: 22 distinct words\nrule: words, both ends right\n"
    (home / "out.seg").write_text("我 在 北京 学习 。\n中国 人民 去 南 京 。\n", encoding="utf-8")
    two = ("eval", home / "test.seg", home / "out.seg", "--format", "words", "--train", home / "train.seg")
    assert tagline(*two).out == (
        "10 words; found: 11; correct: 9; precision: 81.82%; recall: 90.00%; F1: 85.71\n"
        "recall of 1 words that are not in the training text: 0.00%; of 9 that are: 100.00%\n"
    )
    facts = json.loads(tagline(*two, "--json").out)["words"]
    assert (facts["correct"], facts["oov_recall"], facts["iv_recall"]) == (9, 0.0, 1.0)
    assert "Words\n-----\n10 words" in tagline(*two, "--details").out
    page = home / "report.html"
    assert tagline(*two, "--html", page).code == 0
    assert "recall of 1 words" in page.read_text()


def test_the_training_text_may_be_columns(home: Path) -> None:
    (home / "train.txt").write_text("南 B\n京 E\n人 S\n", encoding="utf-8")
    two = ("eval", home / "test.seg", home / "test.seg", "--format", "words", "--train", home / "train.txt")
    assert "recall of 9 words that are not in the training text: 100.00%; of 1 that are" in tagline(*two).out


def test_dev_scores_have_one_line(home: Path) -> None:
    train = ("train", home / "train.seg", "-o", home / "dev.tagline", "--format", "words", "--max-iterations", "3")
    done = tagline(*train, "--dev", home / "test.seg")
    assert re.search(r"gold\nwords +[\d.]+ +[\d.]+ +[\d.]+ +10\n\n", done.err), done.err


def test_a_page_with_two_colours_in_turn(home: Path) -> None:
    page = tagline("tag", "-m", home / "m.tagline", "--format", "text", "--as", "html", input="我爱北京<天安门。\n").out
    colours = re.findall(r'<mark style="background:(#\w+)"[^>]*>[^<]*</mark>', page)
    assert len(colours) > 3
    assert all(first != second for first, second in pairwise(colours))
    assert len(set(colours)) == 2
    assert "&lt;" in page


def test_refused(home: Path) -> None:
    assert "second file" in line_of(tagline("eval", home / "test.seg", "--format", "words"))
    assert "format: " in line_of(tagline("eval", home / "test.seg", "--format", "x"))
    columns = line_of(tagline("eval", home / "test.seg", home / "test.seg"))
    assert columns.endswith(
        "this looks like segmented text, a sentence a line with blanks between words: say --format words"
    )
    (home / "ner.txt").write_text("中 B-LOC B-LOC\n国 I-LOC O\n", encoding="utf-8")
    typed = tagline("eval", home / "ner.txt", "--train", home / "train.seg")
    assert "training_words: " in typed.err
    (home / "other.seg").write_text("我 在 东京 学习 。\n中国 人民 去 南京 。\n", encoding="utf-8")
    other = tagline("eval", home / "test.seg", home / "other.seg", "--format", "words")
    assert "'北'" in other.err


def test_gb18030_is_read_with_a_note(home: Path) -> None:
    """Trained and tagged as the same text in UTF-8; the note comes once for each file."""
    for name in ("train", "test"):
        (home / f"{name}.gb").write_bytes((home / f"{name}.seg").read_bytes().decode().encode("gb18030"))
    train = ("train", home / "train.gb", "-o", home / "gb.tagline", "--format", "words", "--c2", "0.1")
    done = tagline(*train, "--dev", home / "test.gb")
    assert done.code == 0, done.err
    for name in ("train", "test"):
        note = f"{home / name}.gb: read as gb18030; --encoding says otherwise\n"
        assert done.err.count(note) == 1
    tag = ("tag", "-m", home / "gb.tagline", "--format", "words", "--as", "words")
    utf8, gb = tagline(*tag, home / "test.seg"), tagline(*tag, home / "test.gb")
    assert utf8.out == gb.out
    assert "read as" not in utf8.err
    stdin = tagline(*tag, input=(home / "test.gb").read_bytes())
    assert stdin.out == gb.out
    assert "<stdin>: read as gb18030" in stdin.err
    wrong = tagline(*tag, home / "test.gb", "--encoding", "utf-8")
    assert "UTF-8" in wrong.err
    assert "10 words" in tagline("eval", home / "test.gb", home / "test.seg", "--format", "words").out
    assert "words      10" in tagline("describe", home / "test.gb", "--format", "words").out


def test_text_is_neither_described_nor_scored_in_silence(tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text("Anna Smith lives in Rome.\n", encoding="utf-8")
    assert "say --format text where each line is a sentence" in tagline("describe", tmp_path / "raw.txt").err
    assert "raw.txt: this looks like text" in line_of(tagline("eval", tmp_path / "raw.txt"))
