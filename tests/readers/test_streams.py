"""Input in blocks: the same sentences whatever the size of a block, and never more than one block held."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.readers import read_columns, read_text
from tagline.readers.looks import Look, look_at, looks_like
from tagline.readers.raw_text import cut_by_script
from tagline.readers.streams import StreamFormat, read_stream

field = st.text("aä京\u3000\"'", min_size=1, max_size=3)
sentence = st.lists(st.tuples(field, field), min_size=1, max_size=4)
gap = st.sampled_from(["\n", "\n\n", " \t\n", "\r\n"])


def sentences(batches: Iterator) -> list[tuple[str, dict]]:
    return [(one.place, dict(one.columns)) for batch in batches for one in batch.corpus]


@given(st.lists(st.tuples(sentence, gap), min_size=1, max_size=5), st.integers(1, 40))
def test_columns_in_blocks_are_the_columns_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, parts: list, block: int
) -> None:
    text = "".join("".join(f"{a} {b}\n" for a, b in rows) + end for rows, end in parts)
    path = tmp_path_factory.mktemp("streams") / "a.txt"
    path.write_bytes(text.encode())
    whole = [(one.place, dict(one.columns)) for one in read_columns(path, label=None)]
    assert sentences(read_stream(path, StreamFormat("columns", block=block), cut_by_script)) == whole


@given(st.lists(st.text("ab 京.\r", max_size=6), min_size=1, max_size=6), st.integers(1, 20))
def test_text_in_blocks_is_the_text_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], block: int
) -> None:
    path = tmp_path_factory.mktemp("streams") / "a.txt"
    path.write_bytes("\n".join([*lines, "end"]).encode("utf-16"))
    batches = read_stream(path, StreamFormat("text", encoding="utf-16", block=block), cut_by_script)
    found = [one for batch in batches for one in batch.corpus]
    whole = read_text(path, encoding="utf-16")
    assert [one.text for one in found] == whole.texts
    assert [one.place for one in found] == [whole.place(b) for b in range(len(whole))]


def test_the_place_of_a_broken_line_in_a_later_block(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a b\n\n" * 50 + b"c\n\n")
    with pytest.raises(InputError, match=r"a\.txt:101: "):
        list(read_stream(path, StreamFormat("columns", block=16), cut_by_script))
    path.write_bytes(b"ok\n" * 50 + b"\xff\n")
    with pytest.raises(InputError, match=r"a\.txt:51: "):
        list(read_stream(path, StreamFormat("text", block=16), cut_by_script))
    path.write_bytes(b'{"text": "x"}\n' * 9 + b"[]\n")
    with pytest.raises(InputError, match=r"a\.txt:10: "):
        list(read_stream(path, StreamFormat("jsonl", block=16), cut_by_script))


def test_a_file_that_ends_within_a_character(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("北京".encode("gb18030")[:-1])
    with pytest.raises(InputError, match=r"a\.txt:1: "):
        list(read_stream(path, StreamFormat("text", encoding="gb18030"), cut_by_script))


class Trickle(io.RawIOBase):
    """A pipe into which somebody types: one piece a read, and it counts how many were taken."""

    def __init__(self, parts: list[bytes]) -> None:
        self.parts, self.taken = parts, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:
        if not self.parts:
            return 0
        piece = self.parts.pop(0)
        self.taken += 1
        buffer[: len(piece)] = piece
        return len(piece)


def test_standard_input_is_answered_as_soon_as_a_sentence_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = Trickle([b"Anna\nsings\n", b"\nB", b"ob\n\n", b"Rome\n"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    batches = read_stream("-", StreamFormat("columns"), cut_by_script)
    assert (next(batches).corpus.tokens, raw.taken) == ([["Anna", "sings"]], 2)
    assert (next(batches).corpus.tokens, raw.taken) == ([["Bob"]], 3)
    assert next(batches).corpus.tokens == [["Rome"]]
    raw = Trickle([b"In Ro", b"me.\n", b"Yes"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    batches = read_stream("-", StreamFormat("text"), cut_by_script)
    assert (next(batches).corpus.texts, raw.taken) == (["In Rome."], 2)
    assert next(batches).corpus.texts == ["Yes"]


# Broken sentences: what comes before them is read, and with `skip` what comes behind them, too.

BROKEN = {
    "columns": (b"a X\n\nb X\nc X\n\n%s\n\nd X\n\n", [b"c", b"c\xff X", b"c\0 X", b"c X\nd"], ["a", "b c", "d"]),
    "text": (b"a\nb c\n%s\nd\n", [b"c\xff"], ["a", "b c", "d"]),
    "jsonl": (
        b'{"tokens": ["a"]}\n{"tokens": ["b", "c"]}\n%s\n{"text": "d"}\n',
        [b"[]", b"{", b'{"text": "\xff"}', b'{"tokens": 5}'],
        ["a", "b c", "d"],
    ),
}


@pytest.mark.parametrize("block", [1, 10, 1 << 20])
@pytest.mark.parametrize("form", BROKEN)
def test_broken_sentences(tmp_path: Path, form: str, block: int) -> None:
    text, broken, truth = BROKEN[form]
    path = tmp_path / "a"
    for wrong in broken:
        path.write_bytes(text % wrong)
        told: list[str] = []
        layout = StreamFormat(form, block=block)
        parts = read_stream(path, layout, cut_by_script, skip=told.append)
        assert [" ".join(one.tokens) for part in parts for one in part.corpus] == truth, wrong
        line = text.count(b"\n", 0, text.index(b"%s")) + 1 + wrong.count(b"\n")
        assert [problem.split(": ")[0] for problem in told] == [f"{path}:{line}"]
        before: list[str] = []
        with pytest.raises(InputError, match=f"a:{line}: "):
            gather(read_stream(path, layout, cut_by_script), before)
        assert before == truth[:2]


def gather(parts: Iterator, found: list[str]) -> None:
    """Note sentences as they come."""
    for part in parts:
        found += [" ".join(one.tokens) for one in part.corpus]


# What nobody has said: columns or text.


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("John lives in New York.", "text"),
        ('He said "No."\nWhy did he?', "text"),
        ("John lives\nin New York\n\nBob", "unclear"),
        ("我爱北京。", "text"),
        ("John lives in New York", "unclear"),
        ("Hello world", "unclear"),
        ("Rome", "columns"),
        ("Rome\n\nAnna", "columns"),
        ("", "columns"),
        ("U.S.\nis\n.", "columns"),
        ("Anna NNP B-NP O", "columns"),
        (". . O", "columns"),
        ("北京 B-LOC", "columns"),
        ("a X\nb", "columns"),
        ("我\n爱\n北\n京", "columns"),
        ("the det\ncat nsubj\nsat root\n. punct\n\nit nsubj\n", "columns"),
        ("2024-05-03 12:44 ERROR login failed for anna", "unclear"),
        ("2024-05-03 12:44 ERROR login failed for anna\n" * 9, "unclear"),
        ("123 N Main St, Apt 4, Chicago, IL 60601", "unclear"),
        ("123 N Main St, Apt 4, Chicago, IL", "unclear"),
        ("Flight BA117 12-30", "unclear"),
        ("EU NNP B-ORG\nrejects VBZ O\nGerman JJ\ncall NN O\n. . O\nx NN O", "columns"),
    ],
)
def test_what_lines_look_like(text: str, truth: str) -> None:
    assert looks_like(text.split("\n")) == truth


@pytest.mark.parametrize(
    ("text", "columns", "look"),
    [
        ("Anna B-PER", 1, Look("columns")),
        ("Anna NNP I-NP O\n", 1, Look("columns")),
        ("Anna NNP", 1, Look("columns", sure=False)),
        ("Austin TX\n", 1, Look("columns", sure=False)),
        ("login failed\n" * 6, 1, Look("columns", sure=False)),
        ("a b c\nd e f\n\n" * 3, 1, Look("columns", sure=False)),
        ("a b c d e\n" * 6, 1, Look("unclear")),
        ("a\tb\tc\td\te\n" * 6, 1, Look("columns", sure=False)),
        ("Anna nnp", 2, Look("columns")),
        ("Anna nnp per", 2, Look("columns")),
        ("login failed for anna", 2, Look("unclear")),
        ("Anna nnp x O", 2, Look("columns")),
        ("She lives in Rome.\n" * 6, 2, Look("text")),
    ],
)
def test_a_guess_that_is_not_certain_says_so(text: str, columns: int, look: Look) -> None:
    assert look_at(text.split("\n"), columns=columns) == look


def test_characters_in_a_line_are_text_where_tokens_are_characters() -> None:
    assert looks_like(["我爱北京"], by_character=True) == "text"
    assert looks_like(["我爱北京"]) == "columns"


@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_a_text_that_nobody_announced(tmp_path: Path, block: int) -> None:
    path = tmp_path / "a.txt"
    path.write_text("John lives in New York.\nHe is fine.\n", encoding="utf-8")
    told: list[str] = []
    layout = StreamFormat("columns", sure=False, block=block)
    found = [s.tokens for part in read_stream(path, layout, cut_by_script, notice=told.append) for s in part.corpus]
    assert found == [["John", "lives", "in", "New", "York", "."], ["He", "is", "fine", "."]]
    assert len(told) == 1
    assert "a.txt: read as raw text, a sentence a line; say --format columns" in told[0]
    path.write_text("John lives in New York\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.txt:1: .*--format"):
        list(read_stream(path, layout, cut_by_script))
