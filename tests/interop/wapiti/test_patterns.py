"""Wapiti's patterns: its own observations, read from a model that it wrote, against ours, to the byte."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.features.expansion import expand
from tagline.features.expressions.byte_expressions import ByteExpression
from tagline.features.expressions.byte_text import bytes_of, text_of
from tagline.features.expressions.trees import ExpressionError
from tagline.features.templates.template import Template
from tagline.features.templates.wording import in_words
from tagline.readers import Corpus
from tests.interop.wapiti.program import needs_wapiti, wapiti

WORDS = ["Anna", "ab", "aab", "747s", "Ärger", "北京", "U.S.A.", "a", "B2B", "-", "abab", "xAa", "é", "1996-08", "aé"]


def template(text: str) -> Template:
    return Template.parse(text, "patterns", "wapiti")


def states(text: str, *columns: list[str]) -> list[list[str]]:
    return template(text).strings(columns)[0]


def ours(text: str, sentences: list[list[str]]) -> set[bytes]:
    """All observations, those of b lines at first tokens too, for Wapiti makes them although no weight is used."""
    parsed, names = template(text), set()
    for words in sentences:
        for token in range(len(words)):
            names |= {line.expand([words], token) for line in parsed.lines}
    return {bytes_of(name) for name in names if name is not None}


def theirs(text: str, sentences: list[list[str]], folder: Path) -> set[bytes]:
    """The observations of a model that Wapiti made of the words."""
    (folder / "patterns").write_text(text, encoding="utf-8")
    rows = "\n".join("".join(f"{word} L{n % 2}\n" for n, word in enumerate(words)) for words in sentences)
    model, _ = wapiti("train", "-p", folder / "patterns", "-i", 1, text=rows.encode())
    quarks = model.split(b"#qrk#")[2].split(b"\n", 1)
    names, rest = set(), quarks[1]
    for _ in range(int(quarks[0])):
        size, rest = rest.split(b":", 1)
        names.add(rest[: int(size)])
        rest = rest[int(size) + 2 :]
    return names


# --- the language ---------------------------------------------------------------------------------------------------


def test_lines_comments_and_blanks() -> None:
    parsed = template("# all\n\n*   # both\nU:w=%x[ 0,0] \t# the word\nb:c=%X[+1, 0]\r\n")
    assert [(line.text, line.is_edge) for line in parsed.lines] == [
        ("*", False),
        ("*", True),
        ("u:w=%x[ 0,0]", False),
        ("b:c=%X[+1, 0]", True),
    ]
    assert parsed.label_bigrams
    assert parsed.has_edges
    assert parsed.strings([["The", "CAT"]]) == (
        [["*", "u:w=The"], ["*", "u:w=CAT"]],
        [[], ["b:c=_x+1"]],
    )


def test_padding_has_four_names() -> None:
    assert states("u%x[-6,0]", ["a", "b"]) == [["u_x-#"], ["u_x-#"]]
    assert states("u%x[-2,0]/%x[4,0]/%x[5,0]", ["a"]) == [["u_x-2/_x+4/_x+#"]]


def test_absolute_rows() -> None:
    words = ["a", "b", "c"]
    assert states("u%x[@1,0]%x[@-1,0]%x[@0,0]%x[@4,0]%x[@-4,0]", words) == [["uac_x-1_x+1_x-1"]] * 3


def test_numbers_are_those_of_c() -> None:
    assert states("u%x[0x1,0]%x[01,0]%x[-0,0]", ["a", "b"]) == [["ubba"], ["u_x+1_x+1b"]]
    with pytest.raises(InputError, match=r"^patterns:1: "):
        template("u%x[08,0]")


def test_capitals_are_lowered_in_ascii_only() -> None:
    assert states('u%X[0,0]%M[0,0,"^.*$"]', ["ÄA"]) == [["uÄaÄa"]]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("x", r'^patterns:1: .*"x"'),
        (" u", r'^patterns:1: .*" u"'),
        ("", r"^patterns: "),
        ("u%y[0,0]", r'^patterns:1: .*"%y"'),
        ("u%x[0]", r"^patterns:1: "),
        ("u%x[0,0", r'^patterns:1: .*"%x\[0,0"'),
        ("u%x[0,-1]", r"^patterns:1: "),
        ("u%m[0,0]", r"^patterns:1: "),
        ('u%m[0,0,"a', r"^patterns:1: "),
        ('u%t[0,0,"a**"]', r"^patterns:1: "),
        ('u%t[0,0,"^*"]', r"^patterns:1: "),
        ("u%x[100,0]", r"^patterns:1: .*\b100\b"),
        ("u%x[0,99999]", r"^patterns:1: .*\b99999\b"),
        ('u%t[0,0,"' + "a" * 1001 + '"]', r"^patterns:1: "),
    ],
)
def test_what_is_wrong_is_named(text: str, place: str) -> None:
    with pytest.raises(InputError, match=place):
        template(text)


def test_a_line_that_is_there_twice_is_noted() -> None:
    assert template("u%x[0,0]\nb\nU%x[0,0]").notes == (
        'patterns:3: "u%x[0,0]" is also line 1: its attributes count twice',
    )


def test_patterns_travel_with_their_dialect() -> None:
    parsed = template('*\nu:%m[@-1,0,"a*"]')
    again = pickle.loads(pickle.dumps(parsed))
    assert again == parsed
    assert [in_words(line) for line in parsed.lines[1:]] == [
        "the label alone",
        '"a*" in the token 1 from the end of the sentence',
    ]
    with pytest.raises(InputError, match=r"^dialect: .*'mallet'"):
        Template.parse("u", dialect="mallet")


def test_half_characters() -> None:
    (names,) = states('u%m[0,0,"^."]', ["北"])
    assert [bytes_of(name) for name in names] == [b"u\xe5"]
    with pytest.raises(InputError, match=r'^"\^\." in "北": '):
        states('u%m[0,0,"^."]%m[0,0,".$"]', ["北"])
    assert states('u%m[0,0,"^."]%m[0,0,".$"]', ["ab"]) == [["uab"]]


@given(st.binary(max_size=12))
def test_any_bytes_come_back(data: bytes) -> None:
    assert bytes_of(text_of(data)) == data
    assert text_of(data).encode().decode() == text_of(data)


# --- the expressions ------------------------------------------------------------------------------------------------


def by_hand(expression: str, word: bytes) -> tuple[int, int] | None:
    """Match as Wapiti's documentation tells it, by trying: the star takes few, the question mark takes one first."""

    def members(atom: str) -> re.Pattern[bytes]:
        kinds = {"d": "[0-9]", "a": "[A-Za-z]", "u": "[A-Z]", "l": "[a-z]", "w": "[A-Za-z0-9]", "s": r"\s"}
        if atom == ".":
            return re.compile(b".", re.DOTALL)
        if atom[0] == "\\" and atom[1].lower() in kinds:
            inside = kinds[atom[1].lower()].encode()
            return re.compile(inside if atom[1].islower() else b"(?!" + inside + b").", re.DOTALL)
        return re.compile(re.escape(atom[-1].encode()))

    bound = expression.startswith("^")
    atoms = re.findall(r"(\\.|[^\\])([*?]?)", expression[bound:].removesuffix("$"))
    at_end = expression.endswith("$")

    def match(rest: list[tuple[str, str]], at: int, count: int) -> tuple[bool, int]:
        if not rest:
            return not at_end or at == len(word), count
        (atom, often), later = rest[0], rest[1:]
        fits = at < len(word) and members(atom).match(word, at) is not None
        if often == "*":
            found, reached = match(later, at, count)
            if found:
                return True, reached
            return match(rest, at + 1, count + 1) if fits else (False, count + 1)
        if often == "?" and fits:
            found, reached = match(later, at + 1, count + 1)
            if found:
                return True, reached
            return match(later, at, reached - 1)
        if often == "?":
            return match(later, at, count)
        return match(later, at + 1, count + 1) if fits else (False, count + 1)

    for begin in range(1 if bound else len(word) + 1):
        found, count = match(atoms, begin, 0)
        if found:
            return begin, count
    return None


ATOMS = st.sampled_from(["a", "b", ".", r"\d", r"\u", r"\A", r"\.", "A", r"\W"])
EXPRESSIONS = st.builds(
    lambda start, atoms, end: start + "".join(atom + often for atom, often in atoms) + end,
    st.sampled_from(["", "^"]),
    st.lists(st.tuples(ATOMS, st.sampled_from(["", "*", "?"])), max_size=5),
    st.sampled_from(["", "$"]),
)


@given(EXPRESSIONS, st.lists(st.text("abA1.é", max_size=7), min_size=1, max_size=4))
def test_matches_are_those_of_the_definition(expression: str, words: list[str]) -> None:
    compiled = ByteExpression.of(expression)
    expected = [by_hand(expression, word.encode()) for word in words]
    assert compiled.find(words) == expected
    assert [compiled._search(word.encode()) for word in words] == expected
    if not compiled.may_overrun:
        ends = [sum(place) <= len(word.encode()) for word, place in zip(words, expected, strict=True) if place]
        assert all(ends)


def test_a_hostile_expression_takes_no_longer() -> None:
    word = "a" * 5000
    assert ByteExpression.of("a*" * 30 + "b").find([word]) == [None]
    assert ByteExpression.of("a?" * 60 + "b").find([word + "b"]) is not None
    with pytest.raises(ExpressionError, match=r"\b2$"):
        ByteExpression.of("a\\")


# --- the real program -----------------------------------------------------------------------------------------------

LINES = [
    "*",
    'u:m=%m[0,0,"\\d*"]',
    'u:m=%m[0,0,"\\d*$"]',
    'u:o=%m[0,0,"a?ab"]-tail',
    '*:o=%m[0,0,"\\u?\\u$"]%x[1,0]%m[-1,0,"b?b"]!',
    'U:p=%m[0,0,"^.?.?"]/%M[ 0,0,".?.?$"]',
    'u:t=%t[-1,0,"^\\u\\u*$"]%T[+1,0,"\\p"]',
    "b:x=%X[@1,0]/%x[@-1,0]",
    "u:far=%x[-5,0]%x[0x5,0]",
    'u:q=%m[0,0,"\\""]%t[0,0,"\\\\"]|',
    'u:e=%m[0,0,""]%m[0,0,"^$"]%t[0,0,"$"].',
    'u:é=%m[0,0,"é*"]/%m[0,0,"京"]',
    'u:w=%m[0,0,"\\W\\W*"]/%m[0,0,"\\L"]/%m[0,0,"\\s"]',
]


@needs_wapiti
def test_observations_are_those_of_wapiti(tmp_path: Path) -> None:
    sentences = [WORDS, WORDS[::-1], ["ab"], ["Ab", '"q"', "\\"], ["_x-1", "x"]]
    text = "\n".join(LINES)
    assert ours(text, sentences) == theirs(text, sentences, tmp_path)


@needs_wapiti
@given(
    expressions=st.lists(EXPRESSIONS, min_size=1, max_size=8),
    sentences=st.lists(
        st.lists(st.text("abA1.é", min_size=1, max_size=6), min_size=1, max_size=4), min_size=1, max_size=4
    ),
)
def test_drawn_expressions_are_those_of_wapiti(
    expressions: list[str], sentences: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = "\n".join(f'u{n}:%m[{n % 3 - 1},0,"{re}"]:%t[0,0,"{re}"]' for n, re in enumerate(expressions))
    assert ours(text, sentences) == theirs(text, sentences, tmp_path_factory.mktemp("wapiti"))


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=6), max_size=4))
def test_the_core_expands_as_the_definition_says(sentences: list[list[str]]) -> None:
    parsed = template("\n".join(LINES))
    corpus = Corpus.from_sentences([{"token": words} for words in sentences])
    expanded = expand(parsed, corpus)
    features = expanded.features
    assert expanded.states is not None
    assert expanded.edges is not None
    assert features.edges is not None
    for names, attributes, part in (
        (expanded.states, features.states, 0),
        (expanded.edges, features.edges, 1),
    ):
        rows = [
            sorted(names[k] for k in attributes.ids[first:last])
            for first, last in zip(attributes.offsets[:-1], attributes.offsets[1:], strict=True)
        ]
        expected = [sorted(row) for words in sentences for row in parsed.strings([words])[part]]
        assert rows == expected
    looked_up = expand(parsed, corpus, (expanded.states, expanded.edges)).features
    np.testing.assert_array_equal(looked_up.states.ids, features.states.ids)
