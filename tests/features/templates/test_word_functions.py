"""Built-in columns: what they make of words, and that templates find every one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.features.templates import word_functions
from tagline.features.templates.macros import Derivation
from tagline.features.templates.template import Template

NAMES = [
    *(name for name in word_functions.names() if "…" not in name),
    *(f"{a}{k}" for a in ("prefix", "suffix") for k in range(1, 10)),
]


def value(name: str, word: str) -> str | None:
    function = word_functions.find(name)
    assert function is not None
    return function(word)


@pytest.mark.parametrize(
    ("name", "word", "expected"),
    [
        ("lower", "ROME", "rome"),
        ("lower", "ÄÖ", "äö"),
        ("nfkc", "Ａ１ｶ", "A1カ"),
        ("digits", "1996-08-22", "0000-00-00"),
        ("digits", "abc", "abc"),
        ("digits", "٣x", "0x"),
        ("shape", "McDonald's", "XxXxxxxx'x"),
        ("shape", "北京2008", "ccdddd"),
        ("shape", "", ""),
        ("shortshape", "McDonald's", "XxXx'x"),
        ("shortshape", "1,000.50", "d,d.d"),
        ("shortshape", "......", "."),
        ("case", "rome", "lower"),
        ("case", "Rome", "title"),
        ("case", "I", "title"),
        ("case", "USA", "upper"),
        ("case", "iPhone", "mixed"),
        ("case", "McDonald", "mixed"),
        ("case", "42", None),
        ("case", "北", None),
        ("case", "4Th", "title"),
        ("length", "abc", "3"),
        ("length", "a" * 10, "10"),
        ("length", "a" * 11, "10"),
        ("class", "北京", "han"),
        ("class", "三", "numeral"),
        ("class", "三月", "numeral+han"),
        ("class", "abc", "latin"),
        ("class", "Ａ", "latin"),
        ("class", "B2B", "latin+digit"),
        ("class", "７", "digit"),
        ("class", "。", "punctuation"),
        ("class", "+", "symbol"),
        ("class", "½", "symbol"),
        ("class", "\u3000", "space"),
        ("class", "ひらカナー", "hiragana+katakana"),
        ("class", "한", "hangul"),
        ("class", "Я", "cyrillic"),
        ("class", "λ", "greek"),
        ("class", "\ue000", "other"),
        ("class", "Ա", "letter"),
        ("prefix3", "cats", "cat"),
        ("prefix3", "cat", "cat"),
        ("prefix3", "ca", None),
        ("suffix2", "北京市", "京市"),
        ("suffix9", "a" * 9, "a" * 9),
        ("suffix9", "a" * 8, None),
    ],
)
def test_values(name: str, word: str, expected: str | None) -> None:
    assert value(name, word) == expected


@pytest.mark.parametrize("name", ["", "Lower", "prefix", "prefix0", "prefix10", "suffix1x", "class "])
def test_names_that_are_not_there(name: str) -> None:
    assert word_functions.find(name) is None


@pytest.mark.parametrize("name", NAMES)
def test_every_name_works_in_a_template(name: str) -> None:
    word = "Some-thing20 of Length"
    template = Template.parse(f"U:%x[0,0:{name}]")
    assert template.strings([[word]])[0] == [[f"U:{value(name, word)}"]]


@given(st.text(), st.sampled_from(NAMES))
def test_any_word_is_taken(word: str, name: str) -> None:
    result = value(name, word)
    assert result is None or isinstance(result, str)
    if name.startswith(("prefix", "suffix")):
        size = int(name[-1])
        assert result == (None if len(word) < size else word[:size] if name[0] == "p" else word[-size:])
    if name == "shape":
        assert result is not None
        assert len(result) == len(word)


@given(st.lists(st.text(st.one_of(st.sampled_from("aB1ΣσçİÄ٣北カ-\n"), st.characters()))), st.sampled_from(NAMES))
def test_many_words_at_once_are_the_same(words: list[str], name: str) -> None:
    assert word_functions.apply(name, words) == [value(name, word) for word in words]


DERIVATIONS = st.builds(
    Derivation,
    st.just(0),
    st.lists(st.sampled_from(NAMES), max_size=3).map(tuple),
    st.sampled_from("xtm"),
    st.booleans(),
    st.sampled_from(["[a-z]+", "^[A-Z]", "", "\\d"]),
)


@given(DERIVATIONS, st.lists(st.text(st.sampled_from("aBé1北"), max_size=5)))
def test_a_derivation_of_many_words_is_that_of_each(derivation: Derivation, words: list[str]) -> None:
    assert derivation.of_all(words) == [derivation.of(word) for word in words]


@given(st.text())
def test_digits_change_digits_alone(word: str) -> None:
    assert value("digits", word) == "".join("0" if letter.isdecimal() else letter for letter in word)
