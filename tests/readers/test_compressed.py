"""Packed sources: Zstandard and Parquet give what the plain file gives; damaged ones are refused."""

from __future__ import annotations

import base64
import json
import sys
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest

from tagline import InputError, readers
from tagline.readers import compressed
from tagline.readers.parquet_pages import groups_of, sizes_of
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
        assert compressed.position_of(stream) == path.stat().st_size
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
        assert compressed.position_of(stream) == path.stat().st_size
    assert readers.read(path).tags == [row["tags"] for row in ROWS]


@pytest.mark.parametrize("ending", ["zst", "parquet"])
def test_damaged_files_are_refused(tmp_path: Path, lines: bytes, ending: str) -> None:
    path = tmp_path / f"a.jsonl.{ending}"
    write_zst(path, lines) if ending == "zst" else parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    whole = path.read_bytes()
    for damaged in (whole[:-20], b"no such thing\n" * 10, whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=f"{path}: "), open_source(path) as stream:
            stream.read()


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "FREE_BYTES", 1000)
    path = tmp_path / "a.zst"
    write_zst(path, b" " * 10_000_000)
    with pytest.raises(InputError, match=r"a\.zst: .* bytes"), open_source(path) as stream:
        stream.read()


def bomb(kind: str) -> pyarrow.Table:
    if kind == "values":  # one sentence
        tokens = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(10**6, np.int32)), pyarrow.array(["a"]))
        return pyarrow.table({"tokens": pyarrow.ListArray.from_arrays([0, 10**6], tokens.dictionary_decode())})
    if kind == "letters":  # one long string, in each row
        numbers = pyarrow.array(np.zeros(2000, np.int32))
        return pyarrow.table({"text": pyarrow.DictionaryArray.from_arrays(numbers, pyarrow.array(["a" * 10**5]))})
    return pyarrow.table({f"{number:0>5000}": pyarrow.nulls(3000, pyarrow.string()) for number in range(5)})


@pytest.mark.parametrize("kind", ["values", "letters", "names"])
def test_a_bomb_of_parquet_is_refused_before_it_takes_memory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "FREE_BYTES", 2_000_000)
    path = tmp_path / "a.parquet"
    parquet.write_table(bomb(kind), path, compression="zstd")
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"a\.parquet: .* bytes"), open_source(path) as stream:
            list(iter(lambda: stream.read(1 << 16), b""))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000


def test_the_pages_are_asked_not_the_metadata_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed, "FREE_BYTES", 2_000_000)
    path = tmp_path / "a.parquet"
    parquet.write_table(bomb("values"), path, compression="zstd")
    data = path.read_bytes()
    foot = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    assert data.count(b"\x80\x89\x7a", foot) > 0  # 1,000,000
    path.write_bytes(data[:foot] + data[foot:].replace(b"\x80\x89\x7a", b"\x82\x80\x00"))  # 1
    with pytest.raises(InputError, match=r"a\.parquet: .* bytes"), open_source(path) as stream:
        stream.read()
    path.write_bytes(data[:4] + b"\xff" * 20 + data[24:])
    with pytest.raises(InputError, match=r"a\.parquet: .* bytes"), open_source(path) as stream:
        stream.read()


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("statistics", [True, False])
def test_headers_of_pages_have_all_values(version: str, statistics: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = [{"tokens": [f"{'long' * 2000}{row}"] * (row % 5), "n": row, "x": row * 0.5} for row in range(500)]
    settings = {"data_page_version": version, "write_statistics": statistics, "write_page_index": statistics}
    parquet.write_table(
        pyarrow.Table.from_pylist(rows), path, dictionary_pagesize_limit=9000, data_page_size=9000, **settings
    )
    with path.open("rb") as file:
        facts = parquet.read_metadata(path)
        for number in range(3):
            column = facts.row_group(0).column(number)
            values, size = sizes_of(file.fileno(), groups_of(file.fileno())[0][number])
            assert values == column.num_values
            assert 0 < size <= column.total_uncompressed_size
    with open_source(path) as stream:
        assert [json.loads(line) for line in stream.read().splitlines()] == rows


def test_rows_of_all_types_are_those_of_pyarrow(tmp_path: Path) -> None:
    rows = [
        {"tokens": ["a", None], "m": [["b"], None], "s": {"x": "c", "y": [1]}, "n": 3, "b": b"\xff", "t": "d"},
        {"tokens": None, "m": [], "s": None, "n": None, "b": None, "t": None},
    ]
    words = pyarrow.table(
        {
            "map": pyarrow.array([[("k", "v")], None], pyarrow.map_(pyarrow.string(), pyarrow.string())),
            "two": pyarrow.array([["a", "b"], None], pyarrow.list_(pyarrow.string(), 2)),
            "large": pyarrow.array([["a"], None], pyarrow.large_list(pyarrow.large_string())),
            "coded": pyarrow.array(["a", "a"]).dictionary_encode(),
            "view": pyarrow.array(["a", None], pyarrow.string_view()),
        }
    )
    table = pyarrow.Table.from_pylist(rows)
    for name in words.column_names:
        table = table.append_column(name, words[name])
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path, row_group_size=1)
    with open_source(path) as stream:
        lines = stream.read().decode()
    assert lines == "".join(json.dumps(row, default=str) + "\n" for row in table.to_pylist())


def test_long_rows_are_made_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagline.readers.parquet.BATCH_BYTES", 1000)
    rows = [{"tokens": [f"{row}-{place}" for place in range(row % 30)]} for row in range(3000)]
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, dictionary_pagesize_limit=500, row_group_size=1700)
    with open_source(path) as stream:
        assert [json.loads(line) for line in stream.read().splitlines()] == rows


def test_without_pyarrow_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.zst").write_bytes(b"")
    with pytest.raises(InputError, match=r"a\.zst: .*pip install pyarrow"):
        open_source(tmp_path / "a.zst").__enter__()


def test_these_are_only_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.zst: .*\.gz\b"), open_target(tmp_path / "a.zst"):
        pass


ABORTED = (
    "eNp1VMtO21AQHT+SUitCgHStaylCbLCQGmioGgRVWFyHhKIGClYhwKYKYAWUxE7tkAgWtOqKBd9R9SO67jf0S7rohs5cmyS8LMvjeZxzZubK"
    "3hbuItPZKTutsnEGUwA6AAjfr5ONPC8i6wZtT0PrBEcqmjOfnC2vT7mDIGwyYHmWzzHOJliapbNL6pxOWK4T0+QklhEi1cukyNx+vQUtdf37"
    "8hoAxQ1mVJkqxRVME9s0m85hPGGDOaXJlabkIX0jfqqK8QS89xS8x5XeQ7gm4dZNAXg6Oj712nWmQ0Hl6W7Q9PwIKdPVIhYWdK63zqIuU4Fl"
    "Zqf4C6/ltT2/OwvVLKVVrrSxWK3m4uKXTe/ic6/eOveQDxHANYwk1eirPCWzScQ0rKxVtCHLMlYB0hPWctKAFL0TY2By85+Ct32j2GOPN2zl"
    "cBVAPQLOrULR3LJsY9yq4LAmyowKKO1hj9QbkhvmlXll/1Tt7+rovh+zGsgK1hJt8XnSeMAB7Q/N/qaNnsNztBWIec2/mmnYY2jAyvKMcN2P"
    "tXfxGfE/2mu6FhuOEGJHxNcHIfrCaYiKEA1RasiYgwWb9FISYkMGhlbEr6XlgV9aQ1Jyy25FBiVJWZbuDEDyeSR9qn8VUCsUW3NlfeM+vyP7"
    "k3zimPzWke9e1Gt7l6JM+JW3Cd5xXFl0MMSLAfSkXYlOaruUkXrY1G4i9Z7mlh0OQRXZdCxdHlLRKpzwcL8p/G2S/nQ372Y8b//+vCWJX5f6"
    "6yvhYa1wiVNujOrjip7QLyf6/Qf6cmmdk/W97p3v3MuvrgKf6dTDL+ded/6405mvh2HQn+l5YXQW+DNvlhbyC4tWET+Z+IZf+EvZxt/XfxZy"
    "+Qo="
)
"""A damaged file whose metadata end the process where PyArrow reads them."""


def test_damaged_metadata_of_a_column_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    path.write_bytes(zlib.decompress(base64.b64decode(ABORTED)))
    with pytest.raises(InputError, match=r"damaged\.parquet: "):
        readers.read(path)
