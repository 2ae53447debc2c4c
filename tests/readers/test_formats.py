"""JSON lines, CoNLL-U, raw text, other people's containers: round trips and broken input."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.evaluation import evaluate_spans
from tagline.readers import (
    Corpus,
    as_corpus,
    read,
    read_conllu,
    read_jsonl,
    read_text,
    tokenize,
    write,
    write_columns,
    write_conllu,
)
from tagline.readers.jsonl import write_jsonl
from tagline.readers.raw_text import write_text
from tagline.readers.schemes import convert, detect


def save(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_jsonl_of_tokens(tmp_path: Path) -> None:
    path = save(
        tmp_path, "a.jsonl", '{"tokens": ["Anna", "sings"], "tags": ["B-PER", "O"]}\n\n{"tokens": [], "tags": []}\n'
    )
    corpus = read(path)
    assert corpus.tags == [["B-PER", "O"], []]
    assert corpus.place(1) == f"{path}:3"
    write(corpus, tmp_path / "b.jsonl")
    assert read(tmp_path / "b.jsonl").tokens == corpus.tokens


def test_jsonl_of_character_spans(tmp_path: Path) -> None:
    path = save(tmp_path, "a.jsonl", '{"text": "我爱北京。", "spans": [[2, 4, "LOC"]]}\n')
    corpus = read_jsonl(path, tokenizer="characters", scheme="BIOES")
    assert corpus.tags == [["O", "O", "B-LOC", "E-LOC", "O"]]
    assert corpus[0].spans == ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5))
    write_jsonl(corpus, tmp_path / "b.jsonl", form="spans", scheme="BIOES")
    assert read_jsonl(tmp_path / "b.jsonl", tokenizer="characters", scheme="BIOES").tags == corpus.tags


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("{tokens}", r"a\.jsonl:1: "),
        ('{"words": ["a"]}', r'a\.jsonl:1: .*"\{"words": \["a"\]\}"'),
        ('{"tokens": ["a"], "tags": []}', r'a\.jsonl:1: .*"\[\]"'),
        ('{"text": "Anna", "spans": [[0, 9, "PER"]]}', r"a\.jsonl:1: .*\[0, 9, 'PER'\]"),
        ('{"text": "Anna", "spans": [[0, 2, "PER"]]}', r"a\.jsonl:1: .*tokens"),
        ('{"text": "Anna", "spans": [7]}', r"a\.jsonl:1: .*\b7\b"),
    ],
)
def test_broken_jsonl(tmp_path: Path, caplog: pytest.LogCaptureFixture, line: str, place: str) -> None:
    path = save(tmp_path, "a.jsonl", line + '\n{"tokens": ["a"]}\n')
    with pytest.raises(InputError, match=place):
        read_jsonl(path)
    lenient = read_jsonl(path, strict=False)
    assert lenient.tokens == [["a"]]
    assert len(lenient.problems) == 1
    assert "a.jsonl: skipped 1 broken sentences" in caplog.text


CONLLU = """# text = It's late.
1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_
1\tIt\tit\tPRON\tPRP\t_\t3\tnsubj\t_\t_
2\t's\tbe\tAUX\tVBZ\t_\t3\tcop\t_\t_
2.1\tx\tx\tX\tX\t_\t_\t_\t_\t_
3\tlate\tlate\tADJ\tJJ\t_\t0\troot\t_\t_

"""


def test_conllu(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = save(tmp_path, "a.conllu", CONLLU)
    assert read(path).tags == [["PRON", "AUX", "ADJ"]]
    corpus = read_conllu(path, tag="xpos")
    assert corpus.tags == [["PRP", "VBZ", "JJ"]]
    assert corpus.place(0) == f"{path}:2"
    write_conllu(corpus, tmp_path / "b.conllu")
    back = read_conllu(tmp_path / "b.conllu", tag="xpos")
    assert [dict(s.columns) for s in back] == [dict(s.columns) for s in corpus]
    with pytest.raises(InputError, match=r"c\.conllu:1: "):
        read_conllu(save(tmp_path, "c.conllu", "1 It it\n"))
    lenient = read_conllu(save(tmp_path, "d.conllu", "1 It it\n\n" + CONLLU), strict=False)
    assert lenient.tokens == corpus.tokens
    assert len(lenient.problems) == 1
    assert "d.conllu: skipped 1 broken sentences" in caplog.text
    with pytest.raises(InputError, match=r"^tag: .*'pos'"):
        read_conllu(path, tag="pos")


def test_raw_text(tmp_path: Path) -> None:
    path = save(tmp_path, "a.txt", "Anna's cat, well-fed.\r\n\n北京 很大\n")
    corpus = read_text(path)
    assert corpus.tokens == [["Anna's", "cat", ",", "well-fed", "."], [], ["北京", "很大"]]
    for sentence in corpus:
        assert sentence.text is not None
        assert [sentence.text[a:b] for a, b in sentence.spans or ()] == sentence.tokens
    assert read_text(path, "characters").tokens[2] == ["北", "京", "很", "大"]
    assert read_text(path, "whitespace").tokens[0] == ["Anna's", "cat,", "well-fed."]
    write_text(corpus, tmp_path / "b.txt")
    assert read_text(tmp_path / "b.txt").tokens == corpus.tokens
    with pytest.raises(InputError, match=r"^tokenizer: .*'bytes'"):
        tokenize("x", "bytes")


def test_unknown_format() -> None:
    with pytest.raises(InputError, match=r"^format: .*'xml'"):
        read("a.txt", "xml")


class Frame(dict[str, list[Any]]):
    """What a data frame offers, as far as it is used."""

    iloc = None

    @property
    def columns(self) -> list[str]:
        return list(self)


def test_data_frames() -> None:
    frame = Frame(sentence=[7, 7, 9], word=["a", "b", "c"], tag=["O", "B-X", "O"])
    corpus = as_corpus(frame)
    assert (corpus.tokens, corpus.tags) == ([["a", "b"], ["c"]], [["O", "B-X"], ["O"]])
    with pytest.raises(InputError, match=r"^sentence: "):
        as_corpus(Frame(sentence=[7, 9, 7], word=["a", "b", "c"]))
    with pytest.raises(InputError, match=r"^data frame: .*tokens="):
        as_corpus(Frame(word=["a"]))


class Dataset(dict[str, list[Any]]):
    """What a Hugging Face dataset offers, as far as it is used."""

    features: dict[str, Any]

    @property
    def column_names(self) -> list[str]:
        return list(self)


def test_datasets() -> None:
    data = Dataset(tokens=[["Anna", "sings"], ["Hi"]], ner_tags=[[1, 0], [0]])
    data.features = {"ner_tags": SimpleNamespace(feature=SimpleNamespace(names=["O", "B-PER"]))}
    assert as_corpus(data).tags == [["B-PER", "O"], ["O"]]
    with pytest.raises(InputError, match=r"^tokens: .*ner_tags"):
        as_corpus(data, tokens="words")


def test_they_are_taken_where_a_corpus_is() -> None:
    frame = Frame(sentence=[7, 7, 9], word=["a", "b", "c"], tag=["B-X", "I-X", "O"])
    assert evaluate_spans(frame, [["B-X", "I-X"], ["O"]]).f1 == 1
    found = detect(frame)
    assert found.scheme is not None
    assert found.scheme.name == "IOB2"
    assert convert(frame, "IOB2", "BIOES").tags == [["B-X", "E-X"], ["O"]]


def test_plain_lists_and_nonsense() -> None:
    corpus = as_corpus([(["a"], ["O"])])
    assert as_corpus(corpus) is corpus
    for wrong in ("a b c", 7, np.float64(1)):
        with pytest.raises(InputError, match=r"^corpus: "):
            as_corpus(wrong)


@pytest.mark.parametrize("write", [write_columns, write_conllu])
def test_what_cannot_be_read_back_is_refused_with_its_place(write: Any, tmp_path: Path) -> None:
    empty = Corpus.from_sentences([{"token": ["a"], "tag": ["A"]}, {"token": [], "tag": []}])
    with pytest.raises(InputError, match=r"^sentence 1: "):
        write(empty, tmp_path / "f")
    for word in ("a\tb", "a\nb", ""):
        corpus = Corpus.from_sentences([{"token": ["x"], "tag": ["A"]}, {"token": ["y", word], "tag": ["A", "B"]}])
        with pytest.raises(InputError, match=r"^sentence 1: "):
            write(corpus, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_json_lines_take_little_more_than_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"tokens": ["one", "of", "these", "words"], "tags": ["O", "O", "O", "O"]}\n' * 20_000)
    tracemalloc.start()
    try:
        corpus = read_jsonl(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert corpus.num_tokens == 80_000
    assert peak < 20_000 * 500
