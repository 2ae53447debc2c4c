"""Files with labelled sentences: which column is learned, which are features."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagline.errors import InputError
from tagline.readers import write_conllu, write_jsonl
from tagline.readers.corpus import Corpus
from tagline.readers.training_files import LabelledFiles, check_labels


def test_the_column_to_learn(tmp_path: Path) -> None:
    """The columns before it are features, the one behind it is not."""
    two = tmp_path / "two.txt"
    two.write_text("the DT B-NP\ncat NN I-NP\nsat VBD O\n\n")
    corpus = LabelledFiles(tag_column="1").read(str(two))
    assert corpus.names == ["token", "tag"]
    assert corpus.tags[0] == ["DT", "NN", "VBD"]
    assert LabelledFiles(tag_column="tag").read(str(two)).names == ["token", "1", "tag"]
    (tmp_path / "four.txt").write_text("Rome NNP B-NP B-LOC\n")
    corpus = LabelledFiles(tag_column="1").read(str(tmp_path / "four.txt"))
    assert (corpus.names, corpus.tags) == (["token", "tag"], [["NNP"]])


def test_json_lines_and_conllu(tmp_path: Path) -> None:
    corpus = Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])])
    write_jsonl(corpus, tmp_path / "a.jsonl")
    assert LabelledFiles().read(str(tmp_path / "a.jsonl")).tags == corpus.tags
    (tmp_path / "b.jsonl").write_text('{"text": "北京好", "spans": [[0, 2, "LOC"]]}\n', encoding="utf-8")
    assert LabelledFiles(tokenizer="characters").read(str(tmp_path / "b.jsonl")).tags == [["B-LOC", "I-LOC", "O"]]
    write_conllu(Corpus.from_sentences([{"token": ["Anna"], "upos": ["PROPN"]}]), tmp_path / "c.conllu")
    read = LabelledFiles().read(str(tmp_path / "c.conllu"))
    assert read.names == ["token", "lemma", "tag"], "the tag itself is no feature"
    assert read.tags == [["PROPN"]]


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Rome B-LOC\n")
    for wrong in ("9", "0", "token", "pos"):
        place = r"^tag_column: "
        with pytest.raises(InputError, match=place):
            LabelledFiles(tag_column=wrong).read(str(path))
    with pytest.raises(InputError, match=r"a\.txt: .*sentences"):
        LabelledFiles(form="text").read(str(path))
    path.write_text("Rome\n")
    with pytest.raises(InputError, match=r"a\.txt: .*\btoken\b"):
        LabelledFiles().read(str(path))


def test_tags_that_can_be_none(tmp_path: Path) -> None:
    """Segmented text, a wrong column: both trained in silence."""

    def reading(text: str, **options: str) -> None:
        (tmp_path / "a.txt").write_text(text, encoding="utf-8")
        check_labels(LabelledFiles(**options).read(str(tmp_path / "a.txt")))

    with pytest.raises(InputError, match=r"a\.txt: .*'。'"):
        reading("中国 人民 。\n" * 3)
    with pytest.raises(InputError, match=r"a\.txt: .*--tag-column"):
        reading("a O\nb O\n")
    with pytest.raises(InputError, match=r"a\.txt: .*--tag-column"):
        reading("".join(f"w{k} X t{k}\n" for k in range(100)))
    reading("".join(f"w{k} X t{k % 9}\n" for k in range(100)))
