"""The encoding of a text: UTF-8, or GB18030 where it can hardly be anything else."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from tagline.datasets import make_entities
from tagline.errors import InputError
from tagline.readers import read_columns, read_jsonl, read_text, read_words
from tagline.readers.blocks import read_blocks
from tagline.readers.encodings import guess

CHINESE = "中国人民银行今天在北京宣布，从明年一月起下调存款准备金率。\n"
TRADITIONAL = "中國人民銀行今天在北京宣佈，從明年一月起下調存款準備金率。\n"
JAPANESE = "東京都は今日、新しい計画を発表しました。私はこれを見ています。\n"
KOREAN = "한국은행은 오늘 서울에서 기준금리를 인하한다고 발표하였다. 이것은 다음 달부터 시행된다.\n"
RUSSIAN = "Сегодня в Москве было объявлено о новом плане, который начнётся в январе.\n"
GERMAN = "Müller fährt übermorgen über die Straße nach Köln. Größe: äöüß.\n"

OTHERS = [
    (TRADITIONAL, "big5"),
    (JAPANESE, "euc_jp"),
    (JAPANESE, "shift_jis"),
    (KOREAN, "euc_kr"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8_r"),
    (GERMAN, "latin-1"),
    (GERMAN, "cp1252"),
]


@pytest.mark.parametrize("cut", range(12))
def test_chinese_is_found_wherever_the_sample_ends(cut: int) -> None:
    data = (CHINESE * 3).encode("gb18030")
    assert guess(data[: len(data) - cut]) == "gb18030"
    data = (CHINESE * 3).encode()
    assert guess(data[: len(data) - cut]) == "utf-8"


def test_generated_sentences_are_found() -> None:
    """Names and dates, few words between them."""
    texts = make_entities(40, language="zh").texts or []
    assert [guess("".join(texts[n : n + 4]).encode("gb18030")) for n in range(0, 40, 4)] == ["gb18030"] * 10


@pytest.mark.parametrize(("text", "encoding"), OTHERS, ids=[name for _, name in OTHERS])
def test_other_encodings_are_left_to_their_users(text: str, encoding: str) -> None:
    assert guess(text.encode(encoding)) == "utf-8"
    assert guess((text * 50).encode(encoding)) == "utf-8"


def test_a_broken_byte_of_utf8_is_no_other_encoding(tmp_path: Path) -> None:
    data = (CHINESE * 20).encode()
    for byte in (b"\xff", b"\xa1", b"\xe4"):
        assert guess(data[:301] + byte + data[301:]) == "utf-8"
    (tmp_path / "a.txt").write_bytes(b"\xe4\xb8\xad O\n\xff O\n")
    with pytest.raises(InputError, match=r"a\.txt:2: .*encoding="):
        read_columns(tmp_path / "a.txt", encoding="auto")


def test_all_readers(tmp_path: Path) -> None:
    columns = "".join(f"{sign} O\n" for sign in CHINESE.strip())
    (tmp_path / "a.txt").write_bytes(columns.encode("gb18030"))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(columns.encode("gb18030")))
    (tmp_path / "a.seg").write_bytes(CHINESE.replace("，", " ， ").encode("gb18030"))
    (tmp_path / "a.jsonl").write_bytes(f'{{"tokens": ["{CHINESE.strip()}"], "tags": ["O"]}}\n'.encode("gb18030"))
    for name in ("a.txt", "a.txt.gz"):
        assert "".join(read_columns(tmp_path / name, encoding="auto").tokens[0]) == CHINESE.strip()
        with pytest.raises(InputError, match=r"a\.txt(\.gz)?:1: .*gb18030"):
            read_columns(tmp_path / name)
    assert "".join(read_words(tmp_path / "a.seg", encoding="auto").tokens[0]) == CHINESE.strip()
    assert read_jsonl(tmp_path / "a.jsonl", encoding="auto").tokens == [[CHINESE.strip()]]
    assert read_text(tmp_path / "a.seg", "characters", encoding="auto")[0].tokens[:2] == ["中", "国"]


def test_utf8_with_auto_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\ufeffAnna B-PER\n中 O\n", encoding="utf-8")
    assert read_columns(tmp_path / "a.txt", encoding="auto").tokens == [["Anna", "中"]]
    (tmp_path / "b.txt").write_text("Anna B-PER\n", encoding="utf-8")
    assert read_columns(tmp_path / "b.txt", encoding="auto").tokens == [["Anna"]]


def test_a_pipe_whose_first_blocks_are_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first block that is not ASCII decides; a character may be cut between blocks, and lines are counted."""
    data = b"Anna O\n" * 5 + "".join(f"{sign} O\n" for sign in CHINESE.strip()).encode("gb18030")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert b"".join(read_blocks("-", "auto", 60)).decode() == data.decode("gb18030")
    broken = b"a\n" * 30 + CHINESE.encode("gb18030") + b"\n\xff\xff\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(broken)))
    with pytest.raises(InputError, match=r"^<stdin>:33: "):
        list(read_blocks("-", "auto", 60))
