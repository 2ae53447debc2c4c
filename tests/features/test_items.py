"""Python features: against a plain flattening of the objects, and against python-crfsuite's own."""

from __future__ import annotations

import re
import sys
from collections import Counter, OrderedDict, UserDict
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.features.attributes import Attributes, Expanded
from tagline.features.items import items_to_features
from tagline.features.vocabulary import Vocabulary

Pairs = list[tuple[str, float]]

TEXT = st.text(st.sampled_from("ab:é中𝄞 "), max_size=3) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-1e30, 1e30)
STRINGS = st.lists(TEXT, max_size=4) | st.sets(TEXT, max_size=4)
NESTED = st.recursive(TEXT | NUMBERS | STRINGS, lambda values: st.dictionaries(TEXT, values, max_size=3), max_leaves=5)
ITEMS = st.dictionaries(TEXT, NESTED, max_size=4) | STRINGS | STRINGS.map(tuple) | STRINGS.map(frozenset)
DATA = st.lists(st.lists(ITEMS, max_size=3), max_size=3)


def flattened(item: Any, prefix: str = "") -> Pairs:
    """The definition: names joined with colons."""
    if not isinstance(item, dict):
        strings = sorted(item, key=str.encode) if isinstance(item, set | frozenset) else item
        return [(prefix + string, 1.0) for string in strings]
    pairs: Pairs = []
    for key, value in item.items():
        if isinstance(value, str):
            pairs.append((f"{prefix}{key}:{value}", 1.0))
        elif isinstance(value, dict | list | tuple | set | frozenset):
            pairs += flattened(value, f"{prefix}{key}:")
        else:
            pairs.append((prefix + key, float(value)))
    return pairs


def listed(attributes: Attributes, names: Vocabulary | None) -> list[Pairs]:
    """The pairs of each token, by name."""
    assert names is not None
    values = np.ones(len(attributes.ids)) if attributes.values is None else attributes.values
    pairs = [(names[number], float(value)) for number, value in zip(attributes.ids, values, strict=True)]
    return [pairs[first:last] for first, last in zip(attributes.offsets[:-1], attributes.offsets[1:], strict=True)]


def rounded(tokens: list[Pairs]) -> list[Pairs]:
    return [[(name, float(np.float32(value))) for name, value in pairs] for pairs in tokens]


def states(expanded: Expanded) -> list[Pairs]:
    return listed(expanded.features.states, expanded.states)


@given(DATA)
def test_names_and_values_as_defined(X: list[list[Any]]) -> None:
    found = items_to_features(X)
    tokens = [flattened(item) for sentence in X for item in sentence]
    assert states(found) == rounded(tokens)
    assert found.features.offsets.tolist() == np.cumsum([0, *map(len, X)]).tolist()
    assert found.states is not None
    assert found.states.names() == list(dict.fromkeys(name for pairs in tokens for name, _ in pairs))
    rows = found.features.states
    assert (rows.ids.dtype, rows.offsets.dtype, found.features.offsets.dtype) == (np.int32, np.int64, np.int64)
    all_ones = all(value == 1 for pairs in rounded(tokens) for _, value in pairs)
    assert (rows.values is None) == all_ones
    assert rows.values is None or rows.values.dtype == np.float32
    assert (found.features.edges, found.edges) == (None, None)


def test_keys_that_change_from_token_to_token() -> None:
    """What is kept of a key's place is not taken for another key there, however alike the two are."""
    keys = ["a", "b", "é", "ab", "ba", "a:", ":", "", "aé", *"cdefg"]
    tokens = [{keys[(t + k * step) % len(keys)]: "x" for k in range(3)} for step in (1, 2, 5) for t in range(len(keys))]
    wide = [{f"{first}{k}": "x" for k in range(100)} for first in "pqp"]
    found = items_to_features([[*tokens, *wide, *tokens]])
    assert states(found) == [flattened(item) for item in (*tokens, *wide, *tokens)]


@given(DATA)
def test_as_python_crfsuite_reads_them(X: list[list[Any]]) -> None:
    """Its `items` shows the last of equal names; a NUL ends its names."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    expected = [item for sentence in X for item in pycrfsuite.ItemSequence(sentence).items()]
    for pairs, theirs in zip(states(items_to_features(X)), expected, strict=True):
        if not any("\0" in name for name, _ in pairs):
            assert dict(pairs) == {name: float(np.float32(value)) for name, value in theirs.items()}


def test_a_name_twice_counts_twice_as_in_crfsuite(tmp_path: Any) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")

    def weights(item: Any) -> dict[Any, float]:
        trainer = pycrfsuite.Trainer(verbose=False)
        for labels in ("AB", "BA"):
            trainer.append([item, ["b"]], list(labels))
        trainer.append([item], ["A"])
        trainer.train(str(tmp_path / "model"))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(tmp_path / "model"))
        return dict(tagger.info().state_features)

    assert weights(["a", "a"]) == weights({"a": 2.0}) != weights({"a": 1.0})
    assert states(items_to_features([[["a", "a"]]])) == [[("a", 1), ("a", 1)]]


@given(DATA, DATA)
def test_locked_look_up(X: list[list[Any]], other: list[list[Any]]) -> None:
    """Unknown names are left out, known ones keep their numbers, the vocabulary stays."""
    names = items_to_features(X).states
    assert names is not None
    found = items_to_features(other, vocabularies=(names, None))
    assert found.states is names
    tokens = rounded([flattened(item) for sentence in other for item in sentence])
    assert states(found) == [[pair for pair in pairs if pair[0] in set(names.names())] for pairs in tokens]
    same = items_to_features(X, vocabularies=(names, None)).features.states
    built = items_to_features(X).features.states
    np.testing.assert_array_equal(same.ids, built.ids)
    np.testing.assert_array_equal(same.offsets, built.offsets)


@given(DATA, st.sampled_from([0.5, 1, 2, 3]))
def test_minimum_frequency(X: list[list[Any]], least: float) -> None:
    """Values are added up by name; what is kept is numbered anew, in the order of first use."""
    tokens = rounded([flattened(item) for sentence in X for item in sentence])
    totals: dict[str, float] = {}
    for name, value in (pair for pairs in tokens for pair in pairs):
        totals[name] = totals.get(name, 0) + value
    found = items_to_features(X, min_frequency=least)
    assert states(found) == [[pair for pair in pairs if totals[pair[0]] >= least] for pairs in tokens]
    assert found.states is not None
    assert found.states.names() == [name for name, total in totals.items() if total >= least]
    kept = [value for pairs in states(found) for _, value in pairs]
    assert (found.features.states.values is None) == all(value == 1 for value in kept)


def hash_of(name: str) -> int:
    """As core/features/names/vocabulary.h writes it down."""
    value = 0
    for byte in name.encode():
        value = (value * 0x137F8DE3C6A24B95 + byte + 1) % (2**61 - 1)
    value = value * 0x9E3779B97F4A7C15 % 2**64
    value ^= value >> 32
    value = value * 0xD6E8FEB86659FD93 % 2**64
    return value ^ value >> 32


@given(DATA, st.integers(1, 30))
def test_hashed_names(X: list[list[Any]], bits: int) -> None:
    found = items_to_features(X, hash_bits=bits)
    expected = [hash_of(name) % 2**bits for sentence in X for item in sentence for name, _ in flattened(item)]
    assert found.features.states.ids.tolist() == expected
    assert found.states is None


@pytest.mark.parametrize("size", range(42))
def test_hashes_of_names_of_any_length(size: int) -> None:
    """Every byte in every place of eight, with something else before and behind."""
    text = "".join(map(chr, range(1, 128))) + "äöü人民éßñ" * 6
    names = [text[at : at + size] for at in range(len(text) - size)]
    found = items_to_features([[[name] for name in names]], hash_bits=30)
    assert found.features.states.ids.tolist() == [hash_of(name) % 2**30 for name in names]


@given(DATA, st.data())
def test_edges(X: list[list[Any]], data: st.DataObject) -> None:
    edges = [[data.draw(STRINGS) for _ in sentence] for sentence in X]
    found = items_to_features(X, edges)
    assert found.features.edges is not None
    assert listed(found.features.edges, found.edges) == [flattened(item) for row in edges for item in row]
    assert states(found) == states(items_to_features(X))
    again = items_to_features(X, edges, (found.states, found.edges))
    assert again.features.edges is not None
    np.testing.assert_array_equal(again.features.edges.ids, found.features.edges.ids)
    hashed = items_to_features(X, edges, hash_bits=8)
    assert hashed.features.edges is not None
    assert hashed.edges is None


def one(item: Any) -> Pairs:
    return states(items_to_features([[item]]))[0]


class Number:
    """Knows its value as a float only when asked."""

    def __float__(self) -> float:
        return 2.5


def test_other_kinds_of_objects() -> None:
    assert one({"a": np.float32(1.5), "b": np.int64(3), "c": np.bool_(True), "d": np.array(2.0)}) == [
        ("a", 1.5),
        ("b", 3),
        ("c", 1),
        ("d", 2),
    ]
    assert one({"x": "y", "a": Number()}) == [("x:y", 1), ("a", 2.5)]
    assert one(OrderedDict(a=Counter("xxy"))) == [("a:x", 2), ("a:y", 1)]
    assert one(UserDict(a=1.5)) == one(MappingProxyType({"a": 1.5})) == [("a", 1.5)]
    assert one(iter(["a", "b"])) == one(np.array(["a", "b"])) == [("a", 1), ("b", 1)]
    assert one({"k": np.array(["a", "b"]), "m": UserDict(x=UserDict(y="z"))}) == [
        ("k:a", 1),
        ("k:b", 1),
        ("m:x:y:z", 1),
    ]
    assert one({b"a": b"b"}) == one([b"a:b"]) == one({"a": "b"})
    assert one({"a": 10**20}) == [("a", float(np.float32(1e20)))]
    assert one(type("Strings", (set,), {})(["b", "a"])) == [("a", 1), ("b", 1)]
    assert one({"a": {"x": "é"}, "b": {"x": "é"}}) == [("a:x:é", 1), ("b:x:é", 1)]


def test_generators_all_the_way_down() -> None:
    def sentences() -> Iterator[Iterator[Iterator[str]]]:
        for _ in range(2):
            yield (iter(["a", "b"]) for _ in range(3))

    found = items_to_features(sentences(), sentences())
    assert found.features.offsets.tolist() == [0, 3, 6]
    assert found.features.states.ids.tolist() == [0, 1] * 6


def test_an_error_of_a_generator_is_not_hidden() -> None:
    def broken() -> Iterator[list[list[str]]]:
        yield [["a"]]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        items_to_features(broken())


def test_nothing() -> None:
    for X in ([], [[]], [[[]]], [[{}, []], []], [[{"a": {}, "b": [], "c": set()}]]):
        found = items_to_features(X)  # type: ignore[arg-type]
        assert (len(found.features.states.ids), found.features.states.values) == (0, None)
        assert found.states is not None
        assert len(found.states) == 0
        assert found.features.num_tokens == sum(map(len, X))


class Vandal:
    """Empties containers when it is asked for its number."""

    def __init__(self, *containers: Any) -> None:
        self.containers = containers

    def __float__(self) -> float:
        for container in self.containers:
            container.clear()
        return 1.0


@pytest.mark.parametrize("size", [1, 3, 200])
def test_objects_that_change_while_they_are_read(size: int) -> None:
    """The token is read as it was; later tokens are gone with their list."""
    item: dict[str, Any] = {f"key {k}": f"value {k}" for k in range(size)}
    item["strings"] = [f"string {k}" for k in range(size)]
    item["inner"] = {f"key {k}": k for k in range(size)}
    expected = flattened(item)
    sentence = [item, *(["a", "b"] for _ in range(size))]
    item["vandal"] = Vandal(item, item["strings"], item["inner"], sentence)
    expected += [("vandal", 1.0), *((f"later {k}:{k}", 1.0) for k in range(size))]
    item |= {f"later {k}": str(k) for k in range(size)}
    found = items_to_features([sentence, [["c"]]])
    assert states(found) == [expected, [("c", 1)]]
    assert not item
    assert found.features.offsets.tolist() == [0, 1, 2]


def test_objects_are_given_back() -> None:
    """Neither the strings nor their containers are kept alive."""
    string = "".join(["a", "long", "string"])
    X: Any = [[[string, "b"], {string: string, "n": Number()}, {string}, (string,), {"k": {string: [string]}}]]
    before = [sys.getrefcount(object_) for object_ in (string, X[0], X[0][0], X[0][1], X[0][2])]
    for _ in range(3):
        items_to_features(X)
        with pytest.raises(InputError):
            items_to_features([*X, [[string], [string, 3]]])
    assert [sys.getrefcount(object_) for object_ in (string, X[0], X[0][0], X[0][1], X[0][2])] == before


WRONG_ITEM = "expected a dict or a list of strings, got "


@pytest.mark.parametrize(
    ("X", "place"),
    [
        ("ab", "X: "),
        ({"a": "b"}, "X: "),
        (3, "X: "),
        ([[["a"]], {"a": "b"}], "sentence 1: "),
        (["ab"], "sentence 0: "),
        ([None], "sentence 0: "),
        ([["a", "b"]], "sentence 0, token 0: "),
        ([[], [["a"], None]], "sentence 1, token 1: "),
        ([[3.5]], "sentence 0, token 0: "),
        ([[b"a"]], "sentence 0, token 0: "),
        ([[["a", 3]]], "sentence 0, token 0: "),
        ([[{"a"}, {1, "a"}]], "sentence 0, token 1: "),
        ([[{1: "a"}]], "sentence 0, token 0: "),
        ([[{"a": {2: "a"}}]], 'sentence 0, token 0, attribute "a:": '),
        ([[{"a": None}]], 'sentence 0, token 0, attribute "a": '),
        ([[{"a": {"b": None}}]], 'attribute "a:b": '),
        ([[{"a": 1j}]], 'attribute "a": '),
        ([[{"a": ["b", ["c"]]}]], 'sentence 0, token 0, attribute "a:": '),
        ([[{"a": float("nan")}]], 'attribute "a": '),
        ([[{"a": {"b": float("-inf")}}]], 'attribute "a:b": '),
        ([[{"a": 1e39}]], 'attribute "a": '),
        ([[{"a": -(10**400)}]], 'attribute "a": '),
        ([[{"a": np.float32("inf")}]], 'attribute "a": '),
        ([[["a", "\ud800"]]], "sentence 0, token 0: "),
        ([[{"\udfff": 1}]], "sentence 0, token 0: "),
        ([[{"a": b"\xff"}]], "sentence 0, token 0: "),
    ],
)
def test_wrong_items(X: Any, place: str) -> None:
    with pytest.raises(InputError, match=re.escape(place)):
        items_to_features(X)
    if place.startswith("sentence"):
        with pytest.raises(InputError, match=re.escape(f"edges of {place}")):
            items_to_features([[["a"]]] * 2, X)


def test_no_bottom() -> None:
    item: dict[str, Any] = {}
    item["a"] = item
    with pytest.raises(InputError, match=r"^sentence 0, token 0: "):
        items_to_features([[item]])
    deep: Any = "x"
    for _ in range(31):
        deep = {"a": deep}
    assert one(deep) == [("a:" * 31 + "x", 1)]


def test_long_objects_are_cut_in_messages() -> None:
    with pytest.raises(InputError, match=r"^sentence 0, token 0: ") as caught:
        items_to_features([["中" * 1000]])
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("edges", "place"),
    [
        ([], "edges: "),
        ([[["a"]], []], "edges of sentence 1: "),
        ("ab", "edges: "),
    ],
)
def test_edges_of_another_shape(edges: Any, place: str) -> None:
    with pytest.raises(InputError, match=re.escape(place)):
        items_to_features([[["a"]], [["a"], ["b"]]], edges)


NAMES = Vocabulary.of(["a"])


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"hash_bits": 0}, "hash_bits: "),
        ({"hash_bits": 31}, "hash_bits: "),
        ({"hash_bits": True}, "hash_bits: "),
        ({"min_frequency": "2"}, "min_frequency: "),
        ({"min_frequency": float("nan")}, "min_frequency: "),
        (
            {"min_frequency": 2, "hash_bits": 4},
            "min_frequency: ",
        ),
        ({"min_frequency": 2, "vocabularies": (NAMES, None)}, "min_frequency: "),
        ({"vocabularies": NAMES}, "vocabularies: "),
        ({"vocabularies": (["a"], None)}, "vocabularies: "),
        ({"vocabularies": (None, None)}, "vocabularies: "),
        ({"vocabularies": (NAMES, None), "hash_bits": 4}, "hash_bits: "),
        ({"vocabularies": (NAMES, None), "edges": [[["a"]]]}, "edges: "),
    ],
)
def test_wrong_options(options: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=re.escape(place)):
        items_to_features([[["a"]]], **options)
