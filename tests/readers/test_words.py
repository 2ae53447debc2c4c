"""Segmented text: characters and the tags of their words, in and out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.readers import Corpus, corpus_of_words, read, read_words, write_words
from tagline.readers.looks import is_segmented
from tagline.readers.schemes import detect
from tagline.readers.training_files import LabelledFiles, check_labels
from tagline.readers.words import words_of_sentences

LINES = "中国 人民 站 起来 。\n\n　2008　年 ABC\t啊 \n"


def test_characters_and_the_tags_of_words(tmp_path: Path) -> None:
    path = tmp_path / "a.seg"
    path.write_text(LINES, encoding="utf-8")
    corpus = read_words(path)
    assert ["".join(tokens) for tokens in corpus.tokens] == ["中国人民站起来。", "2008年ABC啊"] == corpus.texts
    assert ["".join(tags) for tags in corpus.tags] == ["BEBESBES", "BMMESBMES"]
    assert [corpus.place(b) for b in (0, 1)] == [f"{path}:1", f"{path}:3"]
    assert corpus[1].spans == tuple((n, n + 1) for n in range(9))
    scheme = detect(corpus).scheme
    assert scheme is not None
    assert scheme.name == "BMES-words"
    assert "words      9, 1.89 characters on average" in corpus.describe().text()


@given(st.lists(st.lists(st.text("中国人民ab1", min_size=1, max_size=4), min_size=1), min_size=1))
def test_words_come_back(sentences: list[list[str]]) -> None:
    """Through tags and back, for any lengths."""
    corpus = corpus_of_words("  ".join(words) for words in sentences)
    assert words_of_sentences(corpus) == sentences


def test_written_and_read(tmp_path: Path) -> None:
    corpus = corpus_of_words(["中国 人民", "好"])
    write_words(corpus, tmp_path / "a.seg.gz")
    assert gzip.decompress((tmp_path / "a.seg.gz").read_bytes()).decode() == "中国 人民\n好\n"
    assert read(tmp_path / "a.seg.gz", "words").tags == corpus.tags
    tokens = Corpus.from_sentences([{"token": ["New", "York"]}])
    write_words(tokens, tmp_path / "b.seg")
    assert (tmp_path / "b.seg").read_text() == "New York\n", "without tags each token is a word"
    with pytest.raises(InputError, match=r"^sentence 0: "):
        write_words(Corpus.from_sentences([{"token": ["New York"]}]), tmp_path / "c.seg")
    with pytest.raises(InputError, match=r"^label 'NN': "):
        write_words(Corpus.from_sentences([(["a"], ["NN"])]), tmp_path / "c.seg")


def test_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "a.seg").write_text(" \n\n")
    with pytest.raises(InputError, match=r"a\.seg: .*sentences"):
        read_words(tmp_path / "a.seg")
    assert len(corpus_of_words([])) == 0


def test_columns_that_are_segmented_text_name_the_option(tmp_path: Path) -> None:
    path = tmp_path / "icwb.txt"
    path.write_text(LINES, encoding="utf-8")
    with pytest.raises(InputError, match=r"icwb\.txt:3: .*--format"):
        LabelledFiles().read(str(path))
    corpus = LabelledFiles(form="words").read(str(path))
    assert corpus.names == ["token", "tag"]
    path.write_text("中国 人民 。\n我 爱 。\n" * 30, encoding="utf-8")
    with pytest.raises(InputError, match=r"icwb\.txt: .*'。'.*--format words"):
        check_labels(LabelledFiles().read(str(path)))


def test_what_is_not_segmented() -> None:
    for lines in (["中 B-LOC", "国 I-LOC"], ["中国人民站起来。"], ["John lives here ."], ["中 丨 O", "国 囗 O"], []):
        assert not is_segmented(lines), lines
