"""Files of word vectors, against a plain loop over lines."""

from __future__ import annotations

import gzip
import logging
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.features.lexicons import embeddings
from tagline.features.lexicons.embeddings import Embeddings, read_embeddings
from tagline.features.vocabulary import Vocabulary

DATA = Path(os.environ.get("TAGLINE_DATA") or Path(__file__).parents[4] / "shared" / "data")


@pytest.fixture
def write(tmp_path: Path):
    def writer(text: str | bytes, name: str = "vectors.txt") -> Path:
        data = text.encode() if isinstance(text, str) else text
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return writer


LINES = "the 0.5 -1 2e-1\nof 1 2 3\n"


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz", "vectors.vec"])
@pytest.mark.parametrize("header", ["", "2 3\n", "\ufeff", "\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\n\n"])
def test_the_usual_files(write, name: str, header: str, end: str) -> None:
    found = read_embeddings(write((header + LINES).replace("\n", end), name))
    assert found.words == ("the", "of")
    assert found.vectors.dtype == np.float32
    np.testing.assert_array_equal(found.vectors, np.array([[0.5, -1, 0.2], [1, 2, 3]], np.float32))
    assert found.size == 3


def test_no_newline_at_the_end_and_tabs(write) -> None:
    found = read_embeddings(write("a\t1\t2\nb  3 4"))
    assert found.words == ("a", "b")
    assert found.vectors.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("header", ["", "6 2\n"])
def test_odd_words(write, header: str) -> None:
    words = [".", ". . .", "new york", "a\u00a0b", "\u0085", "\u2028", "5", "Windows 95", "\u3000"]
    found = read_embeddings(write(header.replace("6", "9") + "".join(f"{word} 1.5 2.5\n" for word in words)))
    assert found.words == tuple(words)
    assert (found.vectors == [1.5, 2.5]).all()


def test_a_first_word_with_blanks(write) -> None:
    assert read_embeddings(write("new york 1 2\nx 3 4\n")).words == ("new york", "x")


def test_vectors_of_one_number(write) -> None:
    assert read_embeddings(write("a 1\nb 2\n")).vectors.tolist() == [[1], [2]]
    assert read_embeddings(write("1 1\n5 2\n")).words == ("5",)  # a header
    assert read_embeddings(write("7 3\n8 2\n")).words == ("7", "8")  # no header: the next line has not 3 numbers


def test_the_first_of_duplicates_counts(write) -> None:
    found = read_embeddings(write("a 1 2\nb 3 4\na 5 6\n"))
    assert found.words == ("a", "b")
    assert found.vectors.tolist() == [[1, 2], [3, 4]]


def test_only_wanted_words(write) -> None:
    path = write("a 1 2\nb 3 x\nc 5 6\n")
    found = read_embeddings(path, {"c", "a", "z"})
    assert found.words == ("a", "c")
    assert found.vectors.tolist() == [[1, 2], [5, 6]]
    assert read_embeddings(path, Vocabulary.of(["c"])).words == ("c",)
    assert read_embeddings(path, []).vectors.shape == (0, 2)


def test_words_that_are_not_utf8(write, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tagline"):
        found = read_embeddings(write(b"a 1 2\n\xff\xfe 3 4\nb 5 6\n"))
    assert found.words == ("a", "b")
    assert "left out 1 words that are not UTF-8" in caplog.text


def test_a_header_that_says_another_number(write, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tagline"):
        assert len(read_embeddings(write("5 2\na 1 2\nb 5 6\n")).words) == 2
    assert "expected 5 words, as its first line says, got 2" in caplog.text


@pytest.mark.parametrize("block", [16, 1 << 20])
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", r"vectors\.txt: "),
        ("\n \n", r"vectors\.txt: "),
        ("100 50\n", r"vectors\.txt: "),
        ("just words\n", r"vectors\.txt:1: "),
        ("word\n", r"vectors\.txt:1: "),
        ("a 1 2\nb 3\n", r"vectors\.txt:2: "),
        ("a 1 2\n\n 3 4\n", r"vectors\.txt:3: "),
        ("a 1 2\nb .5 3 4\n", r"vectors\.txt:2: "),
        ("2 2\na 1 2\nb .5 3 4\n", r"vectors\.txt:3: "),
        ("a 1 2 3\nb  4 5\nc 6 7\t8 9\n", r"vectors\.txt:2: "),
        ("a 1 2\nb 3 x\n", r"vectors\.txt:2: "),
        ("a 1 2\nb 3 4\nc nan 4\n", r"vectors\.txt:3: "),
        ("a 1 2\nb 3 -inf\n", r"vectors\.txt:2: "),
        ("a 1 2\nb 3 1e39\n", r"vectors\.txt:2: "),
        ("a 1 2\nb 3 4,5\n", r"vectors\.txt:2: "),
        ("a 1 2\nnew york 4\n", r"vectors\.txt:2: "),
    ],
)
def test_what_is_wrong(write, monkeypatch: pytest.MonkeyPatch, text: str, place: str, block: int) -> None:
    monkeypatch.setattr(embeddings, "BLOCK", block)
    with pytest.raises(InputError, match=place):
        read_embeddings(write(text))


def test_files_that_are_none(write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt: "):
        read_embeddings(tmp_path / "none.txt")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path}: ")):
        read_embeddings(tmp_path)
    with pytest.raises(InputError, match=r"plain\.txt\.gz: .*gzip"):
        read_embeddings(write(LINES).rename(tmp_path / "plain.txt.gz"))
    packed = gzip.compress(os.urandom(4000))
    for name, broken in (("cut", packed[:2000]), ("bad", packed[:20] + b"\xff" * 40 + packed[60:])):
        path = tmp_path / f"{name}.gz"
        path.write_bytes(broken)
        with pytest.raises(InputError, match=f"{name}.gz: "):
            read_embeddings(path)
    monkeypatch.setattr(embeddings, "LONGEST_LINE", 100)
    monkeypatch.setattr(embeddings, "BLOCK", 64)
    with pytest.raises(InputError, match=r"long\.txt:1: "):
        read_embeddings(write(b"x" * 200, "long.txt"))


def test_binary_word2vec(write) -> None:
    data = b"2 3\nthe " + np.array([1, 2, 3], np.float32).tobytes() + b"of " + bytes(12)
    with pytest.raises(InputError, match=r"vectors\.txt:2: "):
        read_embeddings(write(data))


def test_progress(write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "BLOCK", 40)
    for name in ("vectors.txt", "vectors.txt.gz"):
        path = write("".join(f"w{k} 1 2\n" for k in range(20)), name)
        seen: list[tuple[int, int]] = []
        read_embeddings(path, progress=lambda done, total, seen=seen: seen.append((done, total)))
        assert seen == sorted(seen)
        assert {total for _, total in seen} == {path.stat().st_size}
        assert seen[-1][0] == path.stat().st_size


NUMBERS = st.floats(-1e6, 1e6, width=32)


@given(
    st.lists(
        st.tuples(st.text("ab é1.", min_size=1, max_size=4), st.lists(NUMBERS, min_size=2, max_size=2)), max_size=9
    ),
    st.sampled_from([7, 33, 1 << 20]),
)
def test_by_a_loop_over_lines(tmp_path_factory, rows: list[tuple[str, list[float]]], block: int) -> None:
    rows = [("the", [0.5, 1.5]), *((word.strip() or "x", numbers) for word, numbers in rows)]
    rows = [(word if not embeddings._DECIMAL.fullmatch(word.split()[-1].encode()) else "x", n) for word, n in rows]
    path = tmp_path_factory.mktemp("e") / "v.txt"
    path.write_bytes("".join(f"{word} {a!r} {b!r}\n" for word, (a, b) in rows).encode())
    before, embeddings.BLOCK = embeddings.BLOCK, block
    try:
        found = read_embeddings(path)
    finally:
        embeddings.BLOCK = before
    wanted: dict[str, list[float]] = {}
    for word, numbers in rows:
        wanted.setdefault(word, numbers)
    assert found.words == tuple(wanted)
    np.testing.assert_array_equal(found.vectors, np.array(list(wanted.values()), np.float32))


def test_the_table_of_a_model() -> None:
    given = Embeddings(("rome", "Anna", "the"), np.arange(12, dtype=np.float32).reshape(3, 4))
    words = Vocabulary.of(["Rome", "anna", "the", "zzz"])
    table = given.table(words, np.random.default_rng(0))
    assert table.shape == (6, 4)
    assert table.dtype == np.float32
    assert table[0].tolist() == [0, 0, 0, 0]
    np.testing.assert_array_equal(table[1], given.vectors.mean(0))
    np.testing.assert_array_equal(table[[2, 4]], given.vectors[[0, 2]])
    assert not any((row == given.vectors).all(1).any() for row in table[[3, 5]])  # Anna's vector is not anna's
    many = given.table(Vocabulary.of(map(str, range(5000))), np.random.default_rng(0))
    np.testing.assert_allclose(many.std(), given.vectors.std(), rtol=0.05)
    with pytest.raises(InputError, match=r"^embeddings: "):
        Embeddings((), np.zeros((0, 4), np.float32)).table(words, np.random.default_rng(0))
    np.testing.assert_array_equal(table, given.table(words, np.random.default_rng(0)))


def test_glove() -> None:
    path = DATA / "embeddings" / "glove.6B.50d.top100k.txt.gz"
    if not path.exists():
        pytest.skip("no GloVe vectors; set TAGLINE_DATA")
    started = time.process_time()
    found = read_embeddings(path)
    assert time.process_time() - started < 6  # 3 s on an idle machine
    assert found.vectors.shape == (100_000, 50)
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for k, line in enumerate(lines):
            if k % 997 == 0:
                word, *numbers = line.rstrip("\n").split(" ")
                assert found.words[k] == word
                np.testing.assert_array_equal(found.vectors[k], np.array(numbers, np.float32))


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (("a", "b"), np.zeros((1, 3)), r"distinct words and a row for each, got 2 and \(1, 3\)"),
        (("a", "a"), np.zeros((2, 3)), "distinct words"),
        (("a",), np.zeros(3), "distinct words"),
        (("a",), np.full((1, 3), np.nan), "got larger ones or NaN"),
        (("a",), np.full((1, 3), 1e38), "numbers of at most 1e"),
    ],
)
def test_embeddings_of_ones_own_are_checked(words: Any, vectors: Any, message: str) -> None:
    with pytest.raises(InputError, match=r"^Embeddings: "):
        Embeddings(words, vectors)
