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
from tagline.readers.streams import read_stream
from tagline.readers.text import cut_by_script

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
    assert sentences(read_stream(path, "columns", cut_by_script, block=block)) == whole


@given(st.lists(st.text("ab 京.\r", max_size=6), min_size=1, max_size=6), st.integers(1, 20))
def test_text_in_blocks_is_the_text_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], block: int
) -> None:
    path = tmp_path_factory.mktemp("streams") / "a.txt"
    path.write_bytes("\n".join([*lines, "end"]).encode("utf-16"))
    batches = read_stream(path, "text", cut_by_script, encoding="utf-16", block=block)
    found = [one for batch in batches for one in batch.corpus]
    whole = read_text(path, encoding="utf-16")
    assert [one.text for one in found] == whole.texts
    assert [one.place for one in found] == [whole.place(b) for b in range(len(whole))]


def test_the_place_of_a_broken_line_in_a_later_block(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a b\n\n" * 50 + b"c\n\n")
    with pytest.raises(InputError, match=r"a.txt:101: expected 2 columns, got 1"):
        list(read_stream(path, "columns", cut_by_script, block=16))
    path.write_bytes(b"ok\n" * 50 + b"\xff\n")
    with pytest.raises(InputError, match=r"a.txt:51: expected UTF-8, got byte 0xff"):
        list(read_stream(path, "text", cut_by_script, block=16))
    path.write_bytes(b'{"text": "x"}\n' * 9 + b"[]\n")
    with pytest.raises(InputError, match=r"a.txt:10: expected"):
        list(read_stream(path, "jsonl", cut_by_script, block=16))


def test_a_file_that_ends_within_a_character(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("北京".encode("gb18030")[:-1])
    with pytest.raises(InputError, match=r"a.txt:1: expected gb18030 text, got byte 0xbe"):
        list(read_stream(path, "text", cut_by_script, encoding="gb18030"))


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
    batches = read_stream("-", "columns", cut_by_script)
    assert (next(batches).corpus.tokens, raw.taken) == ([["Anna", "sings"]], 2)
    assert (next(batches).corpus.tokens, raw.taken) == ([["Bob"]], 3)
    assert next(batches).corpus.tokens == [["Rome"]]
    raw = Trickle([b"In Ro", b"me.\n", b"Yes"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    batches = read_stream("-", "text", cut_by_script)
    assert (next(batches).corpus.texts, raw.taken) == (["In Rome."], 2)
    assert next(batches).corpus.texts == ["Yes"]
