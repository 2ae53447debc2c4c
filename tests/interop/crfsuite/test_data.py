"""CRFsuite's data: fields, escapes, values, weights; and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import InputError
from tagline.interop.crfsuite.data import LabelledItems, read_sentences, split_field


def read(text: str) -> list[LabelledItems]:
    return list(read_sentences(text.encode().splitlines(keepends=True), "data"))


def escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(":", "\\:")


NAMES = st.text(st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(names=st.lists(st.tuples(NAMES, st.none() | st.floats(-9, 9)), max_size=5))
def test_names_and_values_come_back(names: list[tuple[str, float | None]]) -> None:
    fields = [escaped(name) + ("" if value is None else f":{value!r}") for name, value in names]
    item = read("\t".join(["N", *fields]) + "\n")[0].items[0]
    expected: dict[str, float] = {}
    for name, value in names:
        expected[name] = expected.get(name, 0.0) + (1.0 if value is None else value)
    counted = item if isinstance(item, dict) else {name: float(item.count(name)) for name in item}
    assert counted == expected


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("a", ("a", None)),
        ("a:2", ("a", "2")),
        ("a:", ("a", "")),
        (":2", ("", "2")),
        (r"a\:b", ("a:b", None)),
        (r"a\\:2", ("a\\", "2")),
        (r"a\b:2", (r"a\b", "2")),
        ("a\\", ("a\\", None)),
    ],
)
def test_fields(field: str, expected: tuple[str, str | None]) -> None:
    assert split_field(field) == expected


def test_sentences_weights_and_places() -> None:
    text = "\n\n@weight:0.5\nN\ta\tb:2\nV\n\n\nN\ta:\r\n\r\nX\ta\ta"
    first, second, third = read(text)
    assert (first.labels, first.items, first.weight, first.line) == (["N", "V"], [{"a": 1.0, "b": 2.0}, []], 0.5, 3)
    assert (second.labels, second.items, second.weight) == (["N"], [{"a": 1.0}], 1.0)
    assert third.items == [["a", "a"]]
    assert read("") == read("\n\n") == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("N\ta\nV\ta:x\n", r"^data:2: .*'a:x'"),
        ("N\ta:nan\n", r"^data:1: .*'a:nan'"),
        ("N\tw=12:30:15\n", r"^data:1: .*'w=12:30:15'"),
        ("B:1\ta\n", r"^data:1: .*'B:1'"),
        ("\t\t\n", r"^data:1: .*attributes"),
        ("@wait:1\nN\ta\n", r"^data:1: .*'@wait'"),
        ("@weight\nN\ta\n", r"^data:1: .*'@weight'"),
        ("@weight:-1\nN\ta\n", r"^data:1: .*-1"),
        ("N\ta\n@weight:2\nV\ta\n", r"^data:2: "),
    ],
)
def test_what_crfsuite_takes_for_something_else_is_refused(text: str, place: str) -> None:
    with pytest.raises(InputError, match=place):
        read(text)


def test_other_encodings_are_named() -> None:
    with pytest.raises(InputError, match=r"^data:2: "):
        list(read_sentences([b"N\ta\n", b"N\t\xe9\n"], "data"))
