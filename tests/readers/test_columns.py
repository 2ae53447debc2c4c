"""Column files: what is read, what is written back, what is said about broken ones; compiled and in Python alike."""

from __future__ import annotations

import gzip
import io
import logging
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import compiled, readers
from tagline.errors import InputError
from tagline.features.templates.template import Template
from tagline.readers import blocks, columns, compressed
from tagline.readers.columns import iter_columns, read_columns, write_columns
from tagline.readers.corpus import Corpus

TEXT = "EU NNP B-ORG\nrejects VBZ O\n\nPeter NNP B-PER\nBlackburn NNP I-PER\n"


@pytest.fixture(params=["compiled", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers, one after the other; where there is no core, the Python one twice."""
    if request.param == "python":
        monkeypatch.setattr(compiled, "core", None)


def save(folder: Path, content: str | bytes, name: str = "train.txt") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def contents(corpus: Corpus) -> list[dict[str, list[str]]]:
    return [dict(sentence.columns) for sentence in corpus]


@pytest.mark.usefixtures("parser")
class TestReading:
    def test_columns_and_places(self, tmp_path: Path) -> None:
        path = save(tmp_path, TEXT)
        corpus = read_columns(path)
        assert corpus.names == ["token", "1", "tag"]
        assert corpus.tokens == [["EU", "rejects"], ["Peter", "Blackburn"]]
        assert corpus.tags == [["B-ORG", "O"], ["B-PER", "I-PER"]]
        assert [sentence.place for sentence in corpus] == [f"{path}:1", f"{path}:4"]

    @pytest.mark.parametrize(
        "text",
        [
            TEXT.replace("\n", "\r\n"),
            "\ufeff" + TEXT,
            TEXT.replace(" ", "\t \t"),
            "\n\n" + TEXT + "\n \t\n\n",
            TEXT.removesuffix("\n"),
            TEXT.replace("\n\n", "\n \t \n"),
        ],
        ids=["crlf", "bom", "runs", "blank lines", "no last newline", "blanks on a blank line"],
    )
    def test_forms_of_one_text(self, tmp_path: Path, text: str) -> None:
        assert contents(read_columns(save(tmp_path, text))) == contents(read_columns(save(tmp_path, TEXT, "plain.txt")))

    def test_only_blank_and_tab_split(self, tmp_path: Path) -> None:
        corpus = read_columns(save(tmp_path, "\u3000 B\nab\u00a0c I\n"))
        assert corpus.tokens == [["\u3000", "ab\u00a0c"]]

    def test_names_and_label(self, tmp_path: Path) -> None:
        path = save(tmp_path, TEXT)
        assert read_columns(path, names=["word", "pos", "ner"]).names == ["word", "pos", "ner"]
        assert read_columns(path, label=1).names == ["token", "tag", "2"]
        assert read_columns(path, label=None).names == ["token", "1", "2"]
        with pytest.raises(InputError, match=r"train\.txt: .*\b2\b.*\b3\b"):
            read_columns(path, names=["a", "b"])
        with pytest.raises(InputError, match=r"train\.txt: .*\b5\b"):
            read_columns(path, label=5)

    def test_docstart_and_comments(self, tmp_path: Path) -> None:
        text = "# one\n-DOCSTART- -X- O\n\n" + TEXT + "# two\nx NN O\n"
        corpus = read_columns(save(tmp_path, text), comment="#", docstart=True)
        assert corpus.tokens == [["EU", "rejects"], ["Peter", "Blackburn", "x"]]

    def test_gzip_and_other_encodings(self, tmp_path: Path) -> None:
        text = "北京 B-LOC\n是 O\n"
        packed = save(tmp_path, gzip.compress(text.encode()), "train.txt.gz")
        chinese = save(tmp_path, text.encode("gb18030"), "gb.txt")
        assert read_columns(packed).tokens == read_columns(chinese, encoding="gb18030").tokens == [["北京", "是"]]

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
        assert read_columns("-").tags == [["B-ORG", "O"], ["B-PER", "I-PER"]]

    @pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
    def test_packed_files_and_pipes_are_read_in_pieces(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
    ) -> None:
        monkeypatch.setattr(columns, "PIECE_BYTES", size)
        text = "#c\n\n" + ("a X\nb\n\nd X\n\n" + TEXT.replace(" NNP", "").replace(" VBZ", "") + "\n") * 20
        whole = read_columns(save(tmp_path, text), comment="#", strict=False)
        packed = read_columns(save(tmp_path, gzip.compress(text.encode()), "t.gz"), comment="#", strict=False)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        for corpus in (packed, read_columns("-", comment="#", strict=False)):
            assert contents(corpus) == contents(whole)
            assert [s.place.split(":")[-1] for s in corpus] == [s.place.split(":")[-1] for s in whole]
            assert [line.split(":")[1] for line in corpus.problems] == [line.split(":")[1] for line in whole.problems]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        with pytest.raises(InputError, match=r"^<stdin>:4: "):
            read_columns("-", comment="#")

    def test_a_small_file_does_not_unpack_to_a_large_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(compressed, "FREE_BYTES", 1000)
        bomb = save(tmp_path, gzip.compress(b"a X\n\n" * 2_000_000), "bomb.gz")
        for read in (read_columns, readers.read_text, Template.read):
            with pytest.raises(InputError, match=r"bomb\.gz: "):
                read(bomb)
        text = save(tmp_path, gzip.compress("".join(f"{k} X\n\n" for k in range(10_000)).encode()), "text.gz")
        assert len(read_columns(text)) == 10_000

    def test_a_stream_without_an_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(blocks, "LONGEST", 1000)
        path = save(tmp_path, "a X\n" * 300)
        assert [len(corpus) for corpus in iter_columns(save(tmp_path, "a X\n\n" * 300, "good"), block_bytes=99)]
        with pytest.raises(InputError, match=r"train\.txt: "):
            list(iter_columns(path, block_bytes=99))

    @pytest.mark.parametrize("strict", [True, False])
    def test_text_is_no_table_of_many_columns(self, tmp_path: Path, strict: bool) -> None:
        path = save(tmp_path, "\n" + "word " * 50_000 + "\n")
        with pytest.raises(InputError, match=r"train\.txt:2: "):
            read_columns(path, strict=strict)
        wide = save(tmp_path, " ".join(map(str, range(4096))) + "\n", "wide")
        assert read_columns(wide).tags == [["4095"]]

    def test_very_long_lines(self, tmp_path: Path) -> None:
        word = "x" * 3_000_000
        assert read_columns(save(tmp_path, f"{word} A\ny B\n")).tokens == [[word, "y"]]

    def test_blocks_give_the_same_sentences(self, tmp_path: Path) -> None:
        path = save(tmp_path, TEXT * 1)
        big = save(tmp_path, (TEXT + "\n") * 200, "big.txt")
        for block in (1, 7, 64, 5000, 1 << 20):
            blocks = list(iter_columns(big, block_bytes=block))
            assert [row for corpus in blocks for row in contents(corpus)] == contents(read_columns(path)) * 200
            assert [s.place for corpus in blocks for s in corpus] == [s.place for s in read_columns(big)]

    @pytest.mark.parametrize(
        ("content", "place"),
        [
            ("a X\nb\n", r"train\.txt:2: "),
            ("a X\n\nb X Y\n", r"train\.txt:3: "),
            (b"a X\nb\0c Y\n", r"train\.txt:2: "),
            (b"a X\n\nb\xff Y\n", r"train\.txt:3: "),
            ("", r"train\.txt: .*sentences"),
            ("\n \n", r"train\.txt: .*sentences"),
            ("a X\n" + "w" * 200 + "\n", r"train\.txt:2: "),
        ],
        ids=["short", "long", "binary", "utf-8", "empty", "blank", "cut"],
    )
    def test_broken_files(self, tmp_path: Path, content: str | bytes, place: str) -> None:
        with pytest.raises(InputError, match=place):
            read_columns(save(tmp_path, content))

    def test_broken_sentences_can_be_skipped(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        path = save(tmp_path, "a X\nb\nc Y\n\nd X\n\ne\n\nf Y\ng X\n")
        with caplog.at_level(logging.WARNING, "tagline"):
            corpus = read_columns(path, strict=False)
        assert corpus.tokens == [["d"], ["f", "g"]]
        assert [problem.partition(":")[2][:1] for problem in map(str, corpus.problems)] == ["2", "7"]
        assert "skipped 2 broken sentences" in caplog.text
        assert [sentence.place for sentence in corpus] == [f"{path}:5", f"{path}:9"]
        assert [sentence.place for sentence in corpus[::-1]] == [f"{path}:9", f"{path}:5"]

    def test_a_stream_says_what_it_skipped(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        path = save(tmp_path, "a X\nb\n\nd X\n")
        assert [row for corpus in iter_columns(path, strict=False) for row in corpus.tokens] == [["d"]]
        assert "skipped 1 broken sentences" in caplog.text


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt: "):
        read_columns(tmp_path / "none.txt")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path}: ")):
        read_columns(tmp_path)
    with pytest.raises(InputError, match=r"train\.gz: .*gzip"):
        read_columns(save(tmp_path, "not gzip", "train.gz"))
    with pytest.raises(InputError, match=r"^encoding: .*'klingon'"):
        read_columns(save(tmp_path, TEXT), encoding="klingon")


FIELD = st.text(st.characters(codec="utf-8", exclude_characters=" \t\n\r\0"), min_size=1, max_size=4)
SENTENCES = st.lists(st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=4), min_size=1, max_size=5)


@given(sentences=SENTENCES)
def test_what_was_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, sentences: list) -> None:
    corpus = Corpus.from_sentences([([t for t, _ in s], [y for _, y in s]) for s in sentences])
    for name in ("out.txt", "out.txt.gz"):
        path = tmp_path_factory.mktemp("columns") / name
        write_columns(corpus, path)
        back = read_columns(path)
        assert back.tokens == corpus.tokens
        assert back.tags == corpus.tags
        assert list(path.parent.iterdir()) == [path]


LETTERS = st.text(st.sampled_from("ab \t\n\r#\u3000é"), max_size=60).map(lambda text: text.replace("b", "-DOCSTART-"))
# Words of about eight bytes, that differ in the first eight, behind them, or in their length; control characters.
WORDS = ["a", "abcdefg", "abcdefgh", "abcdefgi", "abcdefghi", "abcdefghj", "0123456789abcdef", "0123456789abcdeg"]
CONTROLS = [" ", " ", "\t", "\n", "\n", "\n\n", "\r", "\r\n", "\0", "\x0b", "\x1f", "\x7f", "é" * 4, "é" * 5, "#"]
CHUNKS = st.lists(st.sampled_from([*WORDS, *CONTROLS, "-DOCSTART-"]), max_size=40).map("".join)


@given(text=st.one_of(LETTERS, CHUNKS), most=st.sampled_from([1, 3, 99]), skip=st.booleans(), docstart=st.booleans())
def test_both_parsers_agree(text: str, most: int, skip: bool, docstart: bool) -> None:
    if compiled.core is None:
        return
    data = np.frombuffer(text.encode(), np.uint8)
    fast = compiled.core.parse_columns(data, 0, most, "#", docstart, skip)
    slow = columns._parse_in_python(data, 0, most, "#", docstart, skip)
    assert list(map(tuple, fast[3])) == slow[3]
    if skip or not slow[3]:
        assert fast[0].tolist() == slow[0].tolist()
        assert fast[1].tolist() == slow[1].tolist()
        for (words, ids), (slow_words, slow_ids) in zip(fast[2], slow[2], strict=True):
            fast_list, slow_list = words.split(b"\n"), slow_words.split(b"\n")
            assert [fast_list[k] for k in ids] == [slow_list[k] for k in slow_ids]
        assert fast[4:] == slow[4:]


def test_many_words_are_told_apart(tmp_path: Path) -> None:
    """Words with the same first eight bytes, of all lengths, more than the table begins with."""
    rng = np.random.default_rng(0)
    words = ["abcdefgh" * (k % 4) + f"{k:x}" for k in range(5_000)] + ["x" * k for k in range(1, 60)]
    chosen = [words[k] for k in rng.integers(0, len(words), 30_000)]
    column = read_columns(save(tmp_path, "".join(f"{word} O\n" for word in chosen))).columns["token"]
    assert column.strings == chosen
    assert column.vocabulary == tuple(dict.fromkeys(chosen))


@pytest.mark.parametrize("head", ["abcdefgh", "ABCDEFGH", "12345678", "x-------", "éééé"])
def test_words_that_begin_alike_and_meet_in_the_table(tmp_path: Path, head: str) -> None:
    words = [*(head + chr(c) for c in range(33, 127)), *(head + str(k) for k in range(10, 310)), head, head[:-1]]
    column = read_columns(save(tmp_path, "".join(f"{word} O\n" for word in words * 2))).columns["token"]
    assert column.strings == words * 2
    assert column.vocabulary == tuple(words)


def test_pieces_are_joined_in_order(tmp_path: Path) -> None:
    """Several megabytes, so that the core cuts the file: ids follow the first use, places the lines."""
    sentences = [f"w{n} A\nv{n % 7} B\n\n" for n in range(200_000)]
    corpus = read_columns(save(tmp_path, "".join(sentences)))
    assert len(corpus) == 200_000
    assert corpus.columns["token"].vocabulary[:3] == ("w0", "v0", "w1")
    assert corpus[150_000].tokens == ["w150000", f"v{150_000 % 7}"]
    assert corpus.place(199_999).endswith(":599998")


def test_fields_that_cannot_be_written(tmp_path: Path) -> None:
    for word in ("a b", "", "a\tb", "a\nb"):
        corpus = Corpus.from_sentences([(["x"], ["O"]), (["y", word], ["O", "O"])])
        with pytest.raises(InputError, match=r"^sentence 1: "):
            write_columns(corpus, tmp_path / "out.txt")
        assert not (tmp_path / "out.txt").exists()


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = save(tmp_path, "old X\n")
    corpus = Corpus.from_sentences([(["a"], ["O"])])
    with pytest.raises(InputError, match=r"train\.txt: .*'\\ud800'"):
        write_columns(Corpus.from_sentences([(["\ud800"], ["O"])]), path)
    assert path.read_text() == "old X\n"
    assert list(tmp_path.iterdir()) == [path]
    write_columns(corpus, path)
    assert path.read_text() == "a O\n\n"


def test_words_by_number_are_cut_into_lists() -> None:
    core = compiled.core
    if core is None:
        return
    words, numbers = ("O", "B-PER", "É"), np.array([2, 0, 0, 1])
    assert core.lists_of(words, numbers, np.array([0, 1, 1, 4])) == [["É"], [], ["O", "O", "B-PER"]]
    assert core.lists_of(words, numbers[:0], np.array([0])) == []
    assert core.lists_of((), numbers[:0], np.array([0, 0])) == [[]]
    for wrong in ([0, 3], [1, 4], [0, 5], [0, 3, 2, 4], []):
        with pytest.raises(ValueError, match=r"^offsets: "):
            core.lists_of(words, numbers, np.array(wrong, np.int64))
    for number in (3, -1):
        with pytest.raises(ValueError, match=r"^numbers: "):
            core.lists_of(words, np.array([number]), np.array([0, 1]))
