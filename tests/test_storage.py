"""The model file: what goes in comes out, safetensors' own reader agrees, and no broken file does harm."""

from __future__ import annotations

import json
import os
import pickle
import re
import resource
import stat
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from tagline import storage
from tagline.errors import InputError, StorageError, TaglineError
from tagline.storage import ALIGNMENT, dumps, loads, read, write
from tests.profiles import examples

DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
SMALL: dict[str, Any] = {
    "config": {"labels": ["O", "人名"], "c2": 0.5, "on": True},
    "tensors": {
        "weights": np.array([1.5, -2.0], np.float32),
        "名": np.arange(3, dtype=np.int64),
        "on": np.array([True, False]),
    },
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
some_arrays = st.sampled_from(DTYPES).flatmap(
    lambda code: arrays.arrays(code, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9))
)
some_tensors = st.dictionaries(texts.filter(lambda name: not name.startswith("_")), some_arrays, max_size=5)


def same(left: NDArray[Any], right: NDArray[Any]) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and data, by the book."""
    length = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def made(header: object, data: bytes = b"", *, length: int | None = None) -> bytes:
    """A file with this header, as an attacker makes it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def ours(**tensors: object) -> dict[str, object]:
    """A header that says it is ours, without a checksum."""
    return {"__metadata__": {"format": "tagline", "version": "1", "tagline": "{}"}, **tensors}


def entry(dtype: object = "U8", shape: object = (0,), offsets: object = (0, 0)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


# Round trips.


@given(st.dictionaries(texts, json_values, max_size=4), some_tensors)
def test_what_goes_in_comes_out(config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
    before = {name: array.copy() for name, array in tensors.items()}
    data = dumps(config, tensors)
    back = loads(data)
    assert back.config == config
    assert list(back.tensors) == list(tensors)
    assert all(same(array, tensors[name]) for name, array in back.tensors.items())
    assert all(same(array, tensors[name]) for name, array in before.items())
    assert dumps(config, tensors) == data


@given(some_tensors)
def test_safetensors_reads_the_same(tensors: dict[str, NDArray[Any]]) -> None:
    loaded = safetensors.numpy.load(dumps({"a": "é"}, tensors))
    assert {name for name in loaded if not name.startswith("_pad")} == set(tensors)
    assert all(same(loaded[name], array) for name, array in tensors.items())


@given(some_tensors)
def test_every_array_begins_at_a_multiple_of_64_bytes(tensors: dict[str, NDArray[Any]]) -> None:
    data = dumps({}, tensors)
    header, rest = parts(data)
    assert (len(data) - len(rest)) % ALIGNMENT == 0
    for name, place in header.items():
        if name in tensors:
            assert place["data_offsets"][0] % ALIGNMENT == 0
        elif name != "__metadata__":
            assert place["dtype"] == "U8"
            assert not any(rest[slice(*place["data_offsets"])])


def test_a_file_is_mapped_and_cannot_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "model.tagline"
    write(path, **SMALL)
    assert path.read_bytes() == dumps(**SMALL)
    model = read(path)
    assert model.config == SMALL["config"]
    assert model.version == 1
    for name, array in model.tensors.items():
        assert same(array, SMALL["tensors"][name])
        assert array.ctypes.data % ALIGNMENT == 0
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    if sys.platform == "linux":
        assert f"{path}\n" in Path("/proc/self/maps").read_text()
    write(path, {}, {})  # the old file lives on where it is mapped
    assert same(model.tensors["weights"], SMALL["tensors"]["weights"])


def test_the_library_opens_the_file_and_finds_our_settings(tmp_path: Path) -> None:
    path = tmp_path / "model.tagline"
    write(path, **SMALL)
    with safetensors.safe_open(path, "numpy") as opened:
        metadata = opened.metadata()
    assert metadata["format"] == "tagline"
    assert metadata["version"] == "1"
    assert json.loads(metadata["tagline"]) == SMALL["config"]
    zeroed = path.read_bytes().replace(metadata["checksum"].encode(), b"0" * 8)
    assert metadata["checksum"] == f"{zlib.crc32(zeroed):08x}"


@given(some_tensors)
def test_we_read_what_safetensors_writes(tensors: dict[str, NDArray[Any]]) -> None:
    metadata = {"format": "tagline", "version": "1", "tagline": '{"a": 1}'}
    back = loads(safetensors.numpy.save(dict(tensors), metadata))
    assert back.config == {"a": 1}
    assert back.tensors.keys() == tensors.keys()
    assert all(same(array, tensors[name]) for name, array in back.tensors.items())


def test_arrays_that_are_not_plain_are_stored_plainly() -> None:
    square = np.arange(6, dtype=np.float64).reshape(2, 3)
    tensors = {
        "turned": square.T,
        "every other": square[:, ::2],
        "big-endian": square.astype(">f8"),
        "one": square[0, 1],
    }
    back = loads(dumps({}, tensors)).tensors
    for name, array in tensors.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].flags.c_contiguous
    assert back["big-endian"].dtype == np.float64


def test_unaligned_bytes_give_aligned_arrays() -> None:
    data = b"x" + dumps(**SMALL)
    back = loads(memoryview(data)[1:])
    assert same(back.tensors["名"], SMALL["tensors"]["名"])
    assert all(array.flags.aligned and not array.flags.writeable for array in back.tensors.values())


def test_arrays_from_bytes_that_can_change_are_read_only() -> None:
    assert not any(array.flags.writeable for array in loads(bytearray(dumps(**SMALL))).tensors.values())


def test_settings_and_arrays_are_asked_for_with_their_types() -> None:
    model = loads(dumps(**SMALL), source="m.tagline")
    assert model.setting("labels", list) == ["O", "人名"]
    assert model.tensor("weights", np.float32, None) is model.tensors["weights"]
    assert model.tensor("weights", "f4", 2) is model.tensors["weights"]
    for ask, place in [
        (lambda: model.setting("c1", float), r"^m\.tagline: .*'c1'"),
        (lambda: model.setting("on", int), r"^m\.tagline: .*'on'"),
        (lambda: model.setting("c2", int), r"^m\.tagline: .*'c2'"),
        (lambda: model.tensor("w", "f4", None), r"^m\.tagline: .*'w'"),
        (lambda: model.tensor("weights", "f8", 2), r"^m\.tagline: .*'weights'"),
        (lambda: model.tensor("weights", "f4", 3), r"^m\.tagline: .*'weights'"),
        (lambda: model.tensor("weights", "f4", 2, None), r"^m\.tagline: .*'weights'"),
    ]:
        with pytest.raises(StorageError, match=place):
            ask()


# What cannot be stored.


@pytest.mark.parametrize(
    ("config", "tensors", "place"),
    [
        ({"a": float("nan")}, {}, r"^config: "),
        ({"a": {1, 2}}, {}, r"^config: "),
        ({"a": [{"b": ({1: 2},)}]}, {}, r"^config: .*strings"),
        ({"a": "\ud800"}, {}, r"^config and names: .*\\ud800"),
        ({}, {"\ud800": np.zeros(1)}, r"^config and names: .*\\ud800"),
        ({}, {"a": np.zeros(2, "c16")}, r"^tensor 'a': .*complex128"),
        ({}, {"a": np.array(["x"])}, r"^tensor 'a': .*<U1"),
        ({}, {"a": np.array([object()])}, r"^tensor 'a': "),
        ({}, {"_pad1": np.zeros(1)}, r"^tensors: .*'_pad1'"),
        ({}, {"__metadata__": np.zeros(1)}, r"^tensors: .*'__metadata__'"),
        ({}, {1: np.zeros(1)}, r"^tensors: .*\b1\b"),
        ({}, {str(n): np.zeros(0) for n in range(10_001)}, r"^tensors: .*\b10001\b"),
    ],
)
def test_what_cannot_be_stored_is_named(config: dict[str, Any], tensors: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        dumps(config, tensors)


def test_a_header_beyond_the_cap_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LARGEST_HEADER", 1000)
    with pytest.raises(InputError, match=r"^config: .* bytes"):
        dumps({"a": "x" * 1000}, {})


def test_settings_that_would_fill_the_memory_are_refused_unparsed() -> None:
    """A header of empty lists takes thirty times its bytes once it is parsed."""
    with pytest.raises(InputError, match=r"^config: "):
        dumps({"a": [[]] * 200_000}, {})
    good = dumps({"a": "x" * 600_000}, {})
    with pytest.raises(StorageError, match=r"^<bytes>: .*header"):
        loads(good.replace(b"x" * 600_000, b"[]" * 300_000), verify=False)


# Writing: all or nothing.


def test_a_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    usual, path = tmp_path / "usual", tmp_path / "model"
    usual.write_bytes(b"")
    write(path, {}, {})
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    path.chmod(0o640)
    write(path, **SMALL)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    write(link, **SMALL)
    assert link.is_symlink()
    assert read(target).config == read(link).config == SMALL["config"]


@pytest.mark.parametrize("moment", ["open", "fsync", "replace"])
def test_a_failing_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "model"
    write(path, {"old": True}, {})
    with monkeypatch.context() as patched:
        patched.setattr(os, moment, fail)
        with pytest.raises(StorageError, match="model: "):
            write(path, **SMALL)
    assert read(path).config == {"old": True}
    assert os.listdir(tmp_path) == ["model"]


def test_an_interrupt_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "model", **SMALL)
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written_are_errors(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="none/model: "):
        write(tmp_path / "none" / "model", **SMALL)
    with pytest.raises(StorageError, match=re.escape(f"{tmp_path}: ")):
        write(tmp_path, **SMALL)
    with pytest.raises(StorageError, match=r"^/dev/full: "):
        write("/dev/full", **SMALL)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path, usual = tmp_path / "model", resource.getrlimit(resource.RLIMIT_FSIZE)
    write(path, {"old": True}, {})
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, usual[1]))
    try:
        with pytest.raises(StorageError, match=re.escape(f"{path}: ")):
            write(path, {}, {"a": np.zeros(10_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert read(path).config == {"old": True}
    assert os.listdir(tmp_path) == ["model"]


def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    write(tmp_path / "model", **SMALL)
    monkeypatch.setattr(storage.mmap, "mmap", refuse)
    with pytest.raises(StorageError, match="model: "):
        read(tmp_path / "model")


# Reading what is not a model file.


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"lCRF\x00\x10\x00\x00FOMC\x64\x00\x00\x00", "CRFsuite"),
        (struct.pack("<IIdI", 100, 0, 1.0, 7), r"CRF\+\+"),
        (b"version: 100\ncost-factor: 1\n", r"CRF\+\+ .*tagline convert-model"),
        (b"#mdl#2#0\n#rdr#1/1/0\n", "Wapiti .*tagline convert-model"),
        (pickle.dumps({"weights": [1.0, 2.0]}), "pickle"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "gzip"),
        (b"PK\x03\x04\x14\x00\x00\x00\x08\x00", "gzip"),
        (b"The quick brown fox", r"\b19\b"),
        (b"lCRF", r"\b4\b"),
        (safetensors.numpy.save({"a": np.zeros(3)}), "safetensors"),
        (safetensors.numpy.save({"a": np.zeros(3)}, {"format": "pt"}), "safetensors"),
    ],
)
def test_other_files_are_recognised(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(data)
    with pytest.raises(StorageError, match=f"other: .*{message}") as caught:
        read(path)
    assert isinstance(caught.value, TaglineError)
    assert isinstance(caught.value, ValueError)


def test_missing_empty_and_odd_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="none: "):
        read(tmp_path / "none")
    with pytest.raises(StorageError, match=re.escape(f"{tmp_path}: ")):
        read(tmp_path)
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(StorageError, match="empty: "):
        read(tmp_path / "empty")
    os.mkfifo(tmp_path / "pipe")  # must not block
    with pytest.raises(StorageError, match="pipe: "):
        read(tmp_path / "pipe")
    with pytest.raises(StorageError, match=r"^<bytes>: .*\b0\b"):
        loads(b"")


def test_a_newer_format_asks_for_an_upgrade_whatever_else_it_holds() -> None:
    header = {"__metadata__": {"format": "tagline", "version": "3", "settings": "…"}, "a": {"dtype": "F4", "blocks": 2}}
    with pytest.raises(
        StorageError,
        match=r"^<bytes>: .*\b3\b",
    ):
        loads(made(header))


def test_an_older_format_is_read() -> None:
    header = ours()
    header["__metadata__"] = {"format": "tagline", "version": "0", "tagline": "{}"}
    assert loads(made(header)).version == 0


# Damage.


def test_a_file_cut_anywhere_is_an_error(tmp_path: Path) -> None:
    data, path = dumps(**SMALL), tmp_path / "cut"
    for length in range(len(data)):
        place = r"^<bytes>: " if length > 8 else rf"^<bytes>: .*\b{length}\b"
        with pytest.raises(StorageError, match=place):
            loads(data[:length])
    path.write_bytes(data[:-1])
    with pytest.raises(StorageError, match=r"cut: .*\b192\b.*\b191\b"):
        read(path)
    with pytest.raises(StorageError, match=r"^<bytes>: .*\b192\b.*\b193\b"):
        loads(data + b"\0")


def test_a_flipped_bit_is_found_wherever_it_is() -> None:
    data, missed = dumps(**SMALL), []
    for position in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        try:
            back = loads(damaged)
        except StorageError:
            continue
        missed.append(position // 8)
        assert back.config == SMALL["config"]
        assert list(back.tensors) == list(SMALL["tensors"])
        assert all(same(array, SMALL["tensors"][name]) for name, array in back.tensors.items())
    word = data.index(b'"checksum"') + 1  # a file without that word is one without a checksum
    assert set(missed) <= set(range(word, word + len("checksum")))


def test_the_checksum_is_compared_only_when_asked() -> None:
    data = bytearray(dumps(**SMALL))
    data[-192] ^= 1
    with pytest.raises(StorageError, match=r"^<bytes>: .*'[0-9a-f]{8}'.*'[0-9a-f]{8}'"):
        loads(data)
    assert loads(data, verify=False).tensors["weights"][0] != 1.5


def test_without_the_checksum_damage_is_harmless() -> None:
    """Whatever the bytes are: an error, or arrays that can be read to their ends."""
    data = dumps(**SMALL)
    for position in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        try:
            back = loads(damaged, verify=False)
        except StorageError:
            continue
        assert sum(array.nbytes for array in back.tensors.values()) <= len(data)
        for array in back.tensors.values():
            array.tobytes()


@given(st.binary(max_size=200), st.booleans())
def test_random_bytes_are_errors(noise: bytes, framed: bool) -> None:
    with pytest.raises(StorageError):
        loads(made(b"{" + noise) if framed else noise)


mutations = st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255), st.integers(0, 3)), min_size=1, max_size=6)


@given(mutations)
@examples(300)
def test_edited_files_are_harmless(edits: list[tuple[int, int, int]]) -> None:
    data = bytearray(dumps(**SMALL))
    for where, what, kind in edits:
        where %= len(data)
        data[where : where + (kind > 0)] = bytes([what]) * (kind > 1 or kind == 0)
    try:
        back = loads(data, verify=False)
    except StorageError:
        return
    for array in back.tensors.values():
        array.tobytes()


# Hostile headers.

KiB = bytes(1024)

HOSTILE = {
    "a length beyond the cap": (made(b"{}", length=16_000_001), r"^m\.tagline: "),
    "the largest length": (made(b"{}", length=2**64 - 1), r"^m\.tagline: "),
    "a length beyond the file": (
        made(b"{}", length=15_999_999),
        r"^m\.tagline: .*header",
    ),
    "not JSON": (made(b"{oops"), r"^m\.tagline: header: .*line 1 column 2"),
    "not UTF-8": (made(b'{"\xff": 1}'), r"header: .*UTF-8"),
    "half a pair": (made(b'{"a": "\\uD800"}'), r"^m\.tagline: header: .*surrogates"),
    "nested deeply": (
        made(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        r"^m\.tagline: header: ",
    ),
    "NaN": (made(b'{"a": NaN}'), r"^m\.tagline: header: .*'NaN'"),
    "an infinite number": (made(b'{"a": 1e999}'), r"^m\.tagline: header: .*'1e999'"),
    "a number of many digits": (made(b'{"a": ' + b"9" * 5000 + b"}"), r"^m\.tagline: header: .*\b4300\b"),
    "a key twice": (made(b'{"a": 1, "a": 2}'), r"^m\.tagline: header: .*'a'"),
    "a key twice inside": (made(b'{"a": {"shape": 1, "shape": 2}}'), r"^m\.tagline: header: .*'shape'"),
    "metadata of another type": (made({"__metadata__": ["tagline"]}), r"^m\.tagline: .*safetensors"),
    "no version": (
        made({"__metadata__": {"format": "tagline", "tagline": "{}"}}),
        r"^m\.tagline: .*None",
    ),
    "an odd version": (
        made({"__metadata__": {"format": "tagline", "version": "-1"}}),
        r"^m\.tagline: .*'-1'",
    ),
    "no settings": (
        made({"__metadata__": {"format": "tagline", "version": "1"}}),
        r"^m\.tagline: .*'tagline'",
    ),
    "settings that are a list": (
        made({"__metadata__": {"format": "tagline", "version": "1", "tagline": "[]"}}),
        "settings: ",
    ),
    "settings with NaN": (
        made({"__metadata__": {"format": "tagline", "version": "1", "tagline": '{"c2": NaN}'}}),
        r"settings: .*'NaN'",
    ),
    "a checksum of another type": (
        made({"__metadata__": {"format": "tagline", "version": "1", "tagline": "{}", "checksum": 7}}),
        r"^m\.tagline: .*'[0-9a-f]{8}'",
    ),
    "100,000 tensors": (
        made(ours(**{str(n): entry() for n in range(100_000)})),
        r"^m\.tagline: .*\b100000\b",
    ),
    "an entry that is a list": (made(ours(a=[1])), r"tensor 'a': .*data_offsets"),
    "an entry without offsets": (
        made(ours(a={"dtype": "U8", "shape": [0]})),
        r"^m\.tagline: tensor 'a': .*data_offsets",
    ),
    "an entry with more": (made(ours(a={**entry(), "b": 1})), r"^m\.tagline: tensor 'a': .*data_offsets"),
    "an unknown dtype": (made(ours(a=entry("F4"))), r"tensor 'a': .*'F4'"),
    "a dtype that is a list": (made(ours(a=entry(["F32"]))), r"^m\.tagline: tensor 'a': .*'F32'"),
    "a shape that is a number": (made(ours(a=entry(shape=3))), r"^m\.tagline: tensor 'a': .*\b3\b"),
    "a negative length": (made(ours(a=entry(shape=[-1, -1])), KiB), r"^m\.tagline: tensor 'a': .*\[-1, -1\]"),
    "a length with a point": (made(ours(a=entry(shape=[1.0])), KiB), r"^m\.tagline: tensor 'a': .*\[1\.0\]"),
    "a length that is true": (made(ours(a=entry(shape=[True])), KiB), r"^m\.tagline: tensor 'a': .*\[True\]"),
    "33 axes": (made(ours(a=entry(shape=[1] * 33, offsets=[0, 1])), b"x"), r"^m\.tagline: tensor 'a': "),
    "a product that wraps to 4": (
        made(ours(a=entry("U8", [2**62 + 1, 4], [0, 4])), b"abcd"),
        r"^m\.tagline: tensor 'a': .*\[4611686018427387905, 4\]",
    ),
    "a product that wraps to 0": (
        made(ours(a=entry("F32", [2**32, 2**32]))),
        r"^m\.tagline: tensor 'a': .*\[4294967296, 4294967296\]",
    ),
    "a large product times 0": (made(ours(a=entry("F32", [2**62, 2**62, 0]))), r"^m\.tagline: tensor 'a': "),
    "a length beyond int64": (
        made(ours(a=entry(shape=[2**63, 0]))),
        r"^m\.tagline: tensor 'a': .*\[9223372036854775808, 0\]",
    ),
    "a size unlike the shape": (
        made(ours(a=entry("F32", [3], [0, 13])), bytes(13)),
        r"^m\.tagline: tensor 'a': .*data_offsets",
    ),
    "offsets that fall": (
        made(ours(a=entry(shape=[2], offsets=[2, 0])), KiB),
        r"^m\.tagline: tensor 'a': .*data_offsets",
    ),
    "negative offsets": (
        made(ours(a=entry(shape=[2], offsets=[-2, 0])), KiB),
        r"^m\.tagline: tensor 'a': .*data_offsets",
    ),
    "three offsets": (
        made(ours(a=entry(shape=[2], offsets=[0, 1, 2])), KiB),
        r"^m\.tagline: tensor 'a': .*data_offsets",
    ),
    "offsets with a point": (
        made(ours(a=entry(shape=[2], offsets=[0, 2.0])), KiB),
        r"^m\.tagline: tensor 'a': .*data_offsets",
    ),
    "a gap": (
        made(ours(a=entry(shape=[2], offsets=[0, 2]), b=entry(shape=[2], offsets=[3, 5])), bytes(5)),
        r"^m\.tagline: .*\b2\b.*\b3\b",
    ),
    "a gap at the start": (made(ours(a=entry(shape=[2], offsets=[1, 3])), bytes(3)), r"^m\.tagline: .*\b0\b.*\b1\b"),
    "an overlap": (
        made(ours(a=entry(shape=[2], offsets=[0, 2]), b=entry(shape=[2], offsets=[1, 3])), bytes(3)),
        r"^m\.tagline: .*\b2\b.*\b1\b",
    ),
    "two of one place": (
        made(ours(a=entry(shape=[2], offsets=[0, 2]), b=entry(shape=[2], offsets=[0, 2])), bytes(2)),
        r"^m\.tagline: .*\b2\b.*\b0\b",
    ),
    "an array beyond the end": (
        made(ours(a=entry("U8", [2**40], [0, 2**40])), KiB),
        r"^m\.tagline: .*\b1099511627776\b.*\b1024\b",
    ),
    "bytes after the end": (made(ours(a=entry(shape=[2], offsets=[0, 2])), bytes(3)), r"^m\.tagline: .*\b3\b"),
    "a truth of 2": (
        made(ours(a=entry("BOOL", [2], [0, 2])), b"\x01\x02"),
        r"^m\.tagline: .*'a'",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_header_is_a_clear_error(case: str) -> None:
    data, place = HOSTILE[case]
    with pytest.raises(StorageError, match=place) as caught:
        loads(data, source="m.tagline")
    assert str(caught.value).startswith("m.tagline")
    assert "; " in str(caught.value)
    assert len(str(caught.value)) < 400


def test_long_names_are_cut_in_messages() -> None:
    with pytest.raises(StorageError) as caught:
        loads(made(ours(**{"x" * 10_000: 1})))
    assert len(str(caught.value)) < 300


def test_harmless_oddities_are_read() -> None:
    """Blanks around the JSON's own marks, names in any order, empty arrays of any shape."""
    header = json.dumps(
        ours(b=entry("U8", [1], [1, 2]), a=entry("U8", [], [0, 1]), e=entry("F32", [0, 5], [2, 2])), indent=1
    ).encode()
    back = loads(made(header, b"xy"))
    assert {name: array.tobytes() for name, array in back.tensors.items()} == {"a": b"x", "b": b"y", "e": b""}
    assert back.tensors["e"].shape == (0, 5)
