"""Packed sources: Zstandard and Parquet give what the plain file gives; damaged ones are refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tagline import InputError, readers
from tagline.readers import packing
from tagline.readers.sources import open_source, open_target

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

ROWS = [
    {"tokens": ["Anna", "sings", "\u5317\u4eac"], "tags": ["B-PER", "O", "B-LOC"]},
    {"tokens": ["x"], "tags": ["O"]},
] * 1500


def write_zst(path: Path, data: bytes) -> None:
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.CompressedOutputStream(file, "zstd") as stream:
        stream.write(data)


@pytest.fixture
def lines() -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()


def test_zstandard_gives_the_bytes_of_the_plain_file(tmp_path: Path, lines: bytes) -> None:
    path = tmp_path / "a.jsonl.zst"
    write_zst(path, lines)
    with open_source(path) as stream:
        assert stream.read(10) == lines[:10]
        assert stream.read() == lines[10:]
        assert packing.position_of(stream) == path.stat().st_size
    assert readers.read(path).tags[:2] == [["B-PER", "O", "B-LOC"], ["O"]]


def test_two_frames_are_one_stream(tmp_path: Path) -> None:
    first, second = tmp_path / "first.zst", tmp_path / "second.zst"
    write_zst(first, b"a\n")
    write_zst(second, b"b\n")
    first.write_bytes(first.read_bytes() + second.read_bytes())
    with open_source(first) as stream:
        assert stream.read() == b"a\nb\n"


def test_rows_of_parquet_are_json_lines(tmp_path: Path, lines: bytes) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path, row_group_size=700)
    with open_source(path) as stream:
        assert stream.read() == lines
        assert packing.position_of(stream) == path.stat().st_size
    assert readers.read(path).tags == [row["tags"] for row in ROWS]


@pytest.mark.parametrize("ending", ["zst", "parquet"])
def test_damaged_files_are_refused(tmp_path: Path, lines: bytes, ending: str) -> None:
    path = tmp_path / f"a.jsonl.{ending}"
    write_zst(path, lines) if ending == "zst" else parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    whole = path.read_bytes()
    for damaged in (whole[:-20], b"no such thing\n" * 10, whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=f"{path}: expected .* got something else"), open_source(path) as stream:
            stream.read()


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "FREE_BYTES", 1000)
    path = tmp_path / "a.zst"
    write_zst(path, b" " * 10_000_000)
    with pytest.raises(InputError, match="unpacks to more than"), open_source(path) as stream:
        stream.read()


def test_without_pyarrow_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.zst").write_bytes(b"")
    with pytest.raises(InputError, match="expected pyarrow to be installed, got none; pip install pyarrow"):
        open_source(tmp_path / "a.zst").__enter__()


def test_these_are_only_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a plain file or \.gz to write"), open_target(tmp_path / "a.zst"):
        pass
