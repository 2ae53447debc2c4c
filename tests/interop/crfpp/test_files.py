"""CRF++'s files: what it writes is read and written again to the byte, what we write it reads; damage is refused."""

from __future__ import annotations

import contextlib
import random
import struct
import subprocess
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tagline.errors import InputError, StorageError
from tagline.interop.crfpp import binary_model, double_array, text_model
from tagline.interop.crfpp.model import CRFPPModel
from tests.interop.crfpp.peers import FIXTURES, PROGRAMS, TEMPLATES, files, needs_crfpp, theirs

FILES = [(binary_model, "model"), (text_model, "model.txt")]


@pytest.mark.parametrize(("form", "name"), FILES)
def test_a_file_is_written_again_to_the_byte(form: ModuleType, name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    assert form.write_model(form.read_model(data, name)) == data


def test_text_and_binary_files_hold_the_same() -> None:
    model = text_model.read_model((FIXTURES / "model.txt").read_bytes(), "model.txt")
    assert binary_model.write_model(model) == (FIXTURES / "model").read_bytes()
    assert model.labels == (b"B", b"I", b"O")
    assert model.xsize == 2
    assert model.keys == tuple(sorted(model.keys))
    assert "U00:桥".encode() in model.keys


@needs_crfpp
@pytest.mark.parametrize("options", [(), ("-f2",), ("-a", "CRF-L1")], ids=["plain", "frequent", "sparse"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_files_of_all_kinds_of_templates(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    template, train, _ = files(tmp_path, TEMPLATES[name])
    theirs("crf_learn", "-t", "-m5", *options, template, train, tmp_path / "m")
    data, written = (tmp_path / "m").read_bytes(), (tmp_path / "m.txt").read_bytes()
    assert binary_model.write_model(binary_model.read_model(data, "m")) == data
    assert text_model.write_model(text_model.read_model(written, "m.txt")) == written
    assert binary_model.write_model(text_model.read_model(written, "m.txt")) == data


@needs_crfpp
def test_crf_learn_converts_what_we_write(tmp_path: Path) -> None:
    model = binary_model.read_model((FIXTURES / "model").read_bytes(), "model")
    (tmp_path / "m.txt").write_bytes(text_model.write_model(model))
    theirs("crf_learn", "-C", tmp_path / "m.txt", tmp_path / "m")
    again = binary_model.read_model((tmp_path / "m").read_bytes(), "m")
    assert (again.keys, again.labels, again.template) == (model.keys, model.labels, model.template)
    np.testing.assert_array_equal(again.weights, model.weights)


@pytest.mark.parametrize(
    "keys",
    [[], [b"U"], [b"a", b"ab", b"abc"], [bytes([k]) * 3 for k in range(1, 256)], [b"U" + b"x" * 70_000]],
    ids=["none", "one", "prefixes", "all bytes", "long"],
)
def test_a_double_array_lists_the_keys_it_was_built_of(keys: list[bytes]) -> None:
    values = list(range(0, 7 * len(keys), 7))
    found = double_array.read(double_array.build(keys, values))
    assert found is not None
    assert found[0] == keys
    assert found[1].tolist() == values


def test_a_double_array_is_searched_as_darts_does() -> None:
    """The definition: from base b, byte c leads to unit b + c + 1 if its check is b."""
    draw = random.Random(0)
    keys = sorted({bytes(draw.choices(range(1, 256), k=draw.randint(1, 6))) for _ in range(2000)})
    units = np.frombuffer(double_array.build(keys, range(len(keys))), "<i4").reshape(-1, 2)

    def search(key: bytes) -> int:
        base = int(units[0, 0])
        for byte in key:
            if units[base + byte + 1, 1] != base:
                return -1
            base = int(units[base + byte + 1, 0])
        return -int(units[base, 0]) - 1 if units[base, 1] == base and units[base, 0] < 0 else -1

    assert [search(key) for key in keys] == list(range(len(keys)))
    others = {key + b"\x07" for key in keys} | {key[:-1] for key in keys if len(key) > 1}
    assert all(search(key) == -1 for key in others - set(keys))


@pytest.mark.parametrize("keys", [[b"b", b"a"], [b"a", b"a"]])
def test_keys_out_of_order_are_refused(keys: list[bytes]) -> None:
    with pytest.raises(InputError, match=r"^double array: keys: "):
        double_array.build(keys, [0, 1])


def test_a_trie_that_runs_in_a_circle_is_refused() -> None:
    units = np.zeros((600, 2), np.int32)
    units[0, 0] = 1
    units[1 + 98] = 1, 1  # from base 1 byte 97 leads to a unit whose base is 1 again
    assert double_array.read(units.astype("<i4").tobytes()) is None


@pytest.mark.parametrize(("form", "name"), FILES)
def test_every_truncation_is_an_error_or_harmless(form: ModuleType, name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    read = 0
    for size in range(len(data)):
        with contextlib.suppress(StorageError):
            form.read_model(data[:size], name)
            read += 1
    assert read <= 20  # the last digits of the last weight of a text file


@pytest.mark.parametrize(("form", "name"), FILES)
def test_flipped_bits_give_a_model_or_an_error(form: ModuleType, name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    draw, outcomes = random.Random(0), set()
    for _ in range(2000):
        damaged = bytearray(data)
        for _ in range(draw.randint(1, 3)):
            place = draw.randrange(40) if draw.random() < 0.2 else draw.randrange(len(damaged))
            damaged[place] ^= 1 << draw.randrange(8)
        outcomes.add(_outcome(form, bytes(damaged), name))
    assert outcomes == {"read", "refused"}


def _outcome(form: ModuleType, data: bytes, name: str) -> str:
    try:
        form.read_crf(data, name).predict([[("the", "DT"), ("heron", "NN")]])
    except StorageError as error:
        return "refused" if name in str(error) and "expected" in str(error) else str(error)
    return "read"


def test_huge_counts_ask_for_no_memory() -> None:
    data = (FIXTURES / "model").read_bytes()
    for place in (16, 24, 28):  # weights, double array, labels
        for number in (2**31 - 1, 2**32 - 1, 2**20):
            with pytest.raises(StorageError, match=r"^m: "):
                binary_model.read_model(data[:place] + struct.pack("<I", number) + data[place + 4 :], "m")


def test_the_error_names_the_file_and_what_to_do() -> None:
    with pytest.raises(StorageError, match=r"^m: "):
        binary_model.read_model(b"\x64\0\0\0", "m")
    with pytest.raises(StorageError, match=r"^m: "):
        binary_model.read_model(b"\xff" + (FIXTURES / "model").read_bytes()[1:], "m")


def test_a_line_break_cannot_be_written_as_text() -> None:
    model = CRFPPModel((b"O",), (b"U",), (b"U\n",), np.zeros(1, np.int32), np.zeros(1), 1)
    with pytest.raises(InputError, match=r"^model: "):
        text_model.write_model(model)


@needs_crfpp
def test_crfpp_refuses_a_model_of_another_version(tmp_path: Path) -> None:
    """The check of the version is theirs, too."""
    (tmp_path / "m").write_bytes(b"\xff\xff" + (FIXTURES / "model").read_bytes()[2:])
    done = subprocess.run([PROGRAMS / "crf_test", "-m", tmp_path / "m", FIXTURES / "test.txt"], capture_output=True)
    assert done.returncode != 0
