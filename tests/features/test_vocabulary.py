"""Vocabularies against a dict, and against every way to damage their arrays."""

from __future__ import annotations

import copy
import pickle
import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tagline import compiled
from tagline.errors import InputError
from tagline.features import Vocabulary
from tagline.features import vocabulary as module

NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
SOME = ["U00:the", "U00:cat", "", "人民", "\0", "a\nb", "é" * 40, "U00:the/cat", "x" * 300]


@given(NAMES, NAMES)
def test_numbers_are_those_of_a_dict(names: list[str], others: list[str]) -> None:
    expected: dict[str, int] = {}
    for name in names:
        expected.setdefault(name, len(expected))
    vocabulary = Vocabulary.of(iter(names))
    assert len(vocabulary) == len(expected)
    assert vocabulary.names() == list(expected)
    assert [vocabulary[number] for number in range(len(vocabulary))] == list(expected)
    for name in [*names, *others]:
        assert vocabulary.find(name) == expected.get(name, -1)
        assert (name in vocabulary) == (name in expected)
    assert vocabulary.find_all(others).tolist() == [expected.get(name, -1) for name in others]


@given(NAMES)
def test_arrays_come_back(names: list[str]) -> None:
    vocabulary = Vocabulary.of(names)
    again = Vocabulary.from_arrays(vocabulary.arrays())
    assert again == vocabulary
    assert again.names() == vocabulary.names()
    assert again.find_all(names).tolist() == vocabulary.find_all(names).tolist()


@given(NAMES, NAMES)
def test_extended_adds_at_the_end(names: list[str], more: list[str]) -> None:
    before = Vocabulary.of(names)
    after = before.extended(more)
    assert after.names() == list(dict.fromkeys([*names, *more]))
    assert after == Vocabulary.of([*names, *more])
    assert before.names() == list(dict.fromkeys(names))


@given(NAMES, st.randoms(use_true_random=False))
def test_take_renumbers(names: list[str], random: object) -> None:
    vocabulary = Vocabulary.of(names)
    ids = list(range(len(vocabulary)))
    random.shuffle(ids)  # type: ignore[attr-defined]
    ids = ids[: len(ids) // 2 + 1]
    taken = vocabulary.take(ids)
    assert taken.names() == [vocabulary[number] for number in ids]
    assert taken.find_all(taken.names()).tolist() == list(range(len(taken)))


# The same hash, by a short vector of the lattice Σ d[i] · base^i ≡ 0 mod 2^61 − 1; only their bytes tell them apart.
COLLIDING = ("eafaakaajagaaa", "ajafbakcacalii")


def test_names_with_the_same_hash_are_told_apart() -> None:
    one, two = COLLIDING
    both = Vocabulary.of([one, "x", two, one])
    assert both.names() == [one, "x", two]
    assert both.find_all([two, one]).tolist() == [2, 0]
    assert Vocabulary.of([one]).find(two) == -1
    assert Vocabulary.from_arrays(both.arrays()) == both
    assert Vocabulary.of([one]).extended([two]).names() == [one, two]
    for prefix, suffix in (("U00:", ""), ("人", "/b")):
        assert len(Vocabulary.of([prefix + one + suffix, prefix + two + suffix])) == 2


def test_many_names_with_the_same_hash() -> None:
    """They fill one group of the index after the other."""
    names = ["".join(parts) for parts in product(COLLIDING, repeat=6)]
    vocabulary = Vocabulary.of(names[:-1])
    assert vocabulary.find_all(names).tolist() == [*range(len(names) - 1), -1]
    assert Vocabulary.from_arrays(vocabulary.arrays()).find_all(names[:-1]).tolist() == list(range(len(names) - 1))


def test_thousands_of_names() -> None:
    names = [f"U{k % 20:02}:{k * 7919 % 100_003}" for k in range(30_000)]
    vocabulary = Vocabulary.of(names)
    assert vocabulary.find_all(names).tolist() == list(range(30_000))
    assert (vocabulary.find_all(name + "x" for name in names) == -1).all()
    Vocabulary.from_arrays(vocabulary.arrays())


def test_a_name_costs_at_most_ten_bytes_more_than_its_text() -> None:
    arrays = Vocabulary.of(f"U{k % 20:02}:{k}" for k in range(33_855)).arrays()
    assert sum(arrays[name].nbytes for name in ("lengths", "slots", "marks")) <= 10 * 33_855


def test_lengths_take_the_smallest_type() -> None:
    for longest, kind in ((255, np.uint8), (256, np.uint16), (65_536, np.int32)):
        arrays = Vocabulary.of(["x" * longest, "y"]).arrays()
        assert arrays["lengths"].dtype == kind
        assert Vocabulary.from_arrays(arrays).find("y") == 1


def test_it_cannot_be_changed_and_can_be_pickled() -> None:
    vocabulary = Vocabulary.of(SOME)
    assert not any(part.flags.writeable for part in vocabulary.parts)
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary
    assert copy.deepcopy(vocabulary).names() == SOME
    arrays = {name: array.copy() for name, array in vocabulary.arrays().items()}
    Vocabulary.from_arrays(arrays)
    assert all(array.flags.writeable for array in arrays.values())


def test_repr_and_bounds() -> None:
    assert repr(Vocabulary.of([])) == "Vocabulary(0 names: )"
    assert repr(Vocabulary.of("abcd")) == "Vocabulary(4 names: 'a', 'b', 'c', …)"
    for number in (-1, 1):
        with pytest.raises(IndexError):
            Vocabulary.of("a")[number]


def test_mapped_arrays_are_used_as_they_lie(tmp_path: object) -> None:
    vocabulary = Vocabulary.of(SOME)
    mapped = {}
    for name, array in vocabulary.arrays().items():
        path = f"{tmp_path}/{name}.npy"
        np.save(path, array)
        mapped[name] = np.load(path, mmap_mode="r")
    again = Vocabulary.from_arrays(mapped)
    assert np.shares_memory(again.parts[0], mapped["bytes"])
    assert np.shares_memory(again.parts[2], mapped["slots"])
    assert again.names() == SOME


# --- errors -----------------------------------------------------------------------------------------------------------


def test_names_must_be_text() -> None:
    with pytest.raises(InputError, match=r"^names\[1\]: "):
        Vocabulary.of(["a", 1])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"^names: "):
        Vocabulary.of(["a\ud800"])
    vocabulary = Vocabulary.of(["a"])
    assert vocabulary.find_all(["\ud800", "a"]).tolist() == [-1, 0]


def test_too_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NAMES", 2)
    assert len(Vocabulary.of(["a", "b", "a"])) == 2
    with pytest.raises(InputError, match=r"^attributes: "):
        Vocabulary.of(["a", "b", "c"])


def test_take_checks_numbers() -> None:
    vocabulary = Vocabulary.of("abc")
    for wrong in ([3], [-1], [[0]]):
        with pytest.raises(InputError, match=r"^ids: "):
            vocabulary.take(wrong)
    with pytest.raises(InputError, match=r"^ids: "):
        vocabulary.take([1, 1])
    assert compiled.core is not None
    with pytest.raises(ValueError, match=r"^ids\[0\]: "):
        compiled.core.take_names(vocabulary.parts, np.array([3]))


def test_arrays_must_all_be_there_in_their_types() -> None:
    arrays = Vocabulary.of(SOME).arrays()
    for name in arrays:
        with pytest.raises(InputError, match=r"^vocabulary: "):
            Vocabulary.from_arrays({key: array for key, array in arrays.items() if key != name})
        with pytest.raises(InputError, match=r"^vocabulary: "):
            Vocabulary.from_arrays({**arrays, name: arrays[name].astype(np.float64)})
        with pytest.raises(InputError, match=r"^vocabulary: "):
            Vocabulary.from_arrays({**arrays, name: arrays[name][None]})


def damaged(name: str, array: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """The array cut, grown, and with each of its bits turned in turn."""
    changed = [
        array[:size] for size in {0, 1, len(array) // 2, len(array) - 8, len(array) - 1} if 0 <= size < len(array)
    ]
    changed += [np.concatenate([array, array[:1]]), np.concatenate([array, array[:8]]), array[::-1], array[::2]]
    for bit in range(8 * array.nbytes):
        copied = array.copy()
        copied.view(np.uint8)[bit // 8] ^= np.uint8(1 << bit % 8)
        changed.append(copied)
    return changed


@pytest.mark.parametrize("name", ["bytes", "lengths", "slots", "marks"])
@pytest.mark.parametrize("long", [False, True])
def test_damaged_arrays_are_refused_or_whole(name: str, long: bool) -> None:
    """Whatever is accepted is a vocabulary: each name once, found under its number, in valid text."""
    names = [*SOME[:-1], "y" * (300 if long else 3), *(f"U{k}" for k in range(20))]
    arrays = Vocabulary.of(names).arrays()
    refused = 0
    for array in damaged(name, arrays[name]):
        try:
            vocabulary = Vocabulary.from_arrays({**arrays, name: array})
        except InputError as error:
            refused += str(error).startswith("vocabulary") and ": expected " in str(error)
            continue
        listed = vocabulary.names()
        assert len(set(listed)) == len(listed)
        assert vocabulary.find_all(listed).tolist() == list(range(len(listed)))
        assert vocabulary.find("never") == -1
    assert refused > 8


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"bytes": np.frombuffer(b"\xc3\xa9b", np.uint8)}, r"^vocabulary lengths: "),
        ({"bytes": np.frombuffer(b"a\xffc", np.uint8)}, "bytes: "),
        ({"bytes": np.frombuffer(b"axc", np.uint8)}, r"^vocabulary slots: "),
        ({"bytes": np.frombuffer(b"aac", np.uint8)}, "names: "),
        ({"lengths": np.array([1, 1, 2], np.uint8)}, r"^vocabulary: "),
        ({"lengths": np.array([4, -2, 1], np.int32)}, "lengths: "),
        ({"slots": np.zeros(8, np.uint32)}, "marks: "),
        ({"slots": np.full(8, 4, np.uint32)}, "slots: "),
        ({"slots": np.zeros(12, np.uint32)}, r"^vocabulary: "),
        ({"slots": np.zeros(0, np.uint32), "marks": np.zeros(0, np.uint16)}, r"^vocabulary: "),
        ({"slots": np.ones(8, np.uint32), "marks": np.ones(8, np.uint16)}, "slots: "),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, NDArray[np.generic]], place: str) -> None:
    arrays = {**Vocabulary.of("abc").arrays(), **change}
    with pytest.raises(InputError, match=place):
        Vocabulary.from_arrays(arrays)


BAD_TEXTS = [
    b"\x80", b"\xc0\xaf", b"\xc1\xbf", b"\xc3", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xe4\xba", b"\xf0\x8f\xbf\xbf",
    b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"aaaaaaaa\xff", b"\xe4\xbaa", b"\xf0\x90\x80", b"aaaaaaa\xc3",
]  # fmt: skip


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_text_that_is_not_utf8_is_refused(text: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        text.decode()
    arrays = Vocabulary.of(["x" * len(text)]).arrays()
    with pytest.raises(InputError, match="bytes: "):
        Vocabulary.from_arrays({**arrays, "bytes": np.frombuffer(text, np.uint8)})


@given(st.binary(max_size=12))
def test_utf8_is_what_python_says(text: bytes) -> None:
    try:
        arrays = Vocabulary.of([text.decode()]).arrays()
    except UnicodeDecodeError:
        arrays = {**Vocabulary.of(["x" * len(text)]).arrays(), "bytes": np.frombuffer(text, np.uint8)}
        with pytest.raises(InputError, match="bytes: "):
            Vocabulary.from_arrays(arrays)
    else:
        assert Vocabulary.from_arrays(arrays)[0].encode() == text


def test_loading_is_fast() -> None:
    """338,551 names, those of CoNLL-2000, load in 25 ms; a fortieth of them on a busy machine in as much."""
    arrays = Vocabulary.of(f"U{k % 20:02}:word{k}" for k in range(8_463)).arrays()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        Vocabulary.from_arrays(arrays)
        times.append(time.perf_counter() - begin)
    assert min(times) < 0.025
