"""CRF++ templates: the language, its silent traps made loud, and a golden expansion."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.features.expansion import expand
from tagline.features.templates.template import Template
from tagline.readers import Corpus

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "golden.json").read_text(encoding="utf-8"))


def states(template: str, *columns: list[str]) -> list[list[str]]:
    return Template.parse(template).strings(columns)[0]


def edges(template: str, *columns: list[str]) -> list[list[str]]:
    return Template.parse(template).strings(columns)[1]


# --- the language ---------------------------------------------------------------------------------------------------


def test_golden_crfpp_templates() -> None:
    entry = GOLDEN["crfpp_templates"]
    words = [row[0] for row in entry["inputs"]["columns"]]
    for text in entry["inputs"]["templates"]:
        expected = entry["ref"][text]
        template = Template.parse(f"U\n{text}")
        of_states, of_edges = template.strings([words])
        if text == "B":
            assert template.label_bigrams
            assert of_edges == [[], [], []]
        elif text.startswith("B"):
            assert of_edges == [[] if string is None else [string] for string in expected]
        else:
            assert [row[1:] for row in of_states] == [[string] for string in expected]


def test_golden_counts_of_functions() -> None:
    entry = GOLDEN["crfpp_templates"]
    corpus = Corpus.from_sentences([([row[0] for row in entry["inputs"]["columns"]], entry["inputs"]["answer_tags"])])
    labels = len(set(entry["inputs"]["answer_tags"]))
    counts = entry["function_counts"]
    assert labels == counts["L"]
    for text, wanted in [
        ("U00:%x[-2,0]", counts["U00 (N=3)"]),
        ("U01:%x[-1,0]/%x[0,0]/%x[1,0]", counts["U01 (N=3)"]),
    ]:
        names = expand(Template.parse(text), corpus).states
        assert names is not None
        assert labels * len(names) == wanted
    names = expand(Template.parse("U\nB00:%x[-1,0]/%x[0,0]"), corpus).edges
    assert names is not None
    assert labels**2 * len(names) == counts["B00 (N=2: 人/民, 民/网)"]


def test_blanks_in_macros_are_named_with_the_remedy() -> None:
    """Textbooks print templates with blanks; CRF++ does not take them."""
    with pytest.raises(
        InputError,
        match=r"^<template>:1: ",
    ):
        Template.parse("U00:%x[-2, 0]")


def test_rows_are_relative_and_columns_absolute() -> None:
    assert states("U:%x[1,0]-%x[0,1]", ["a", "b"], ["x", "y"]) == [["U:b-x"], ["U:_B+1-y"]]


def test_padding_counts_from_the_border() -> None:
    assert states("U:%x[-2,0]|%x[3,0]", ["a", "b"]) == [["U:_B-2|_B+2"], ["U:_B-1|_B+3"]]


def test_ids_are_free_text_and_may_hold_anything() -> None:
    assert states("Unigram of # the word: %x[0,0] !", ["a"]) == [["Unigram of # the word: a !"]]
    assert states("U", ["a"]) == [["U"]]
    assert states("U%x[0,0]%x[0,0]", ["人"]) == [["U人人"]]


def test_comments_and_empty_lines_are_left_out() -> None:
    template = Template.parse("# U99:%x[0,9]\n\nU1:%x[0,0]#not a comment\n\n#\nB\n")
    assert [line.number for line in template.lines] == [3, 6]
    assert template.strings([["a"]])[0] == [["U1:a#not a comment"]]


def test_edges_begin_at_the_second_token() -> None:
    assert edges("U\nB1:%x[0,0]", ["a", "b", "c"]) == [[], ["B1:b"], ["B1:c"]]


def test_facts_about_a_template() -> None:
    template = Template.parse("U1:%x[0,0]/%x[-1,3]\nB\n", "name")
    assert (template.text, template.source) == ("U1:%x[0,0]/%x[-1,3]\nB\n", "name")
    assert (template.num_columns, template.label_bigrams, template.has_edges, template.is_crfpp) == (
        4,
        True,
        False,
        True,
    )
    template = Template.parse("U1\nB1:%x[0,0]")
    assert (template.num_columns, template.label_bigrams, template.has_edges) == (1, False, True)


def test_a_bigram_line_with_an_id_is_a_bigram_and_a_second_one_an_attribute() -> None:
    template = Template.parse("U\nB01\nB02")
    assert template.label_bigrams
    assert template.strings([["a", "b"]])[1] == [[], ["B02"]]
    assert template.notes == (
        '<template>:3: "B02" is a second label bigram, after line 2: its weights add to those of the first '
        "and cost time",
    )


def test_columns_may_be_named_or_not() -> None:
    template = Template.parse("U:%x[0,0]%x[0,1]")
    assert template.strings({"token": ["a"], "pos": ["b"]}) == template.strings([["a"], ["b"]])


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "template"
    path.write_bytes("\ufeffU1:%x[0,0]/人\r\nB\r\n".encode())
    template = Template.read(path)
    assert [line.text for line in template.lines] == ["U1:%x[0,0]/人", "B"]
    assert template.source == str(path)
    path.write_text("U\n\nX\n", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(f"{path}:3: ")):
        Template.read(path)
    path.write_bytes(b"U\xff")
    with pytest.raises(InputError, match=r"template:1: .*\b0xff\b"):
        Template.read(path)
    with pytest.raises(InputError, match="none: "):
        Template.read(tmp_path / "none")


def test_text_and_template_read_again_are_the_same() -> None:
    template = Template.parse("# a\nU1:%x[0,0]\n\nB\n")
    assert Template.parse(template.text) == template


def test_a_template_can_be_pickled_after_use() -> None:
    template = Template.parse('U1:%x[0,0:suffix2]/%t[0,0,"a"]\r\nB\r\n', "name")
    template.strings([["abc"]])
    again = pickle.loads(pickle.dumps(template))
    assert again == template
    assert again.strings([["abc"]]) == template.strings([["abc"]])


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "got"),
    [
        ("X00:%x[0,0]", '"X00:%x[0,0]"'),
        (" U00:%x[0,0]", '" U00:%x[0,0]"'),
        ("   ", '"   "'),
        ("u00:%x[0,0]", '"u00:%x[0,0]"'),
        ("*00:%x[0,0]", '"*00:%x[0,0]"'),
        ("U:%x[+1,0]", '"%x[+1,0]"'),
        ("U:%x[ -1,0]", '"%x[ -1,0]"'),
        ("U:%x[-1,0 ]", '"%x[-1,0 ]"'),
        ("U:%x[- 1,0]", '"%x[- 1,0]"'),
        ("U:%x[@1,0]", '"%x[@1,0]"'),
        ("U:%x[0]", '"%x[0]"'),
        ("U:%x[0,a]", '"%x[0,a]"'),
        ("U:%x[0,-1]", '"%x[0,-1]"'),
        ("U:%x[０,0]", '"%x[０,0]"'),
        ("U:%x[0,0", '"%x[0,0"'),
        ("U:%x", '"%x"'),
        ("U:%x(0,0)", '"%x(0,0)"'),
        ("U:100%", '"%"'),
        ("U:%y[0,0]", '"%y"'),
        ("U:%x[100,0]", "100"),
        ("U:%x[-100,0]", "-100"),
        ("U:%x[0,0:upper]", '"upper"'),
        ("U:%x[0,0:]", '""'),
        ("U:%x[0,0:prefix0]", '"prefix0"'),
        ('U:%x[0,0,"a"]', '"%x[0,0,"a"]"'),
        ("U:%t[0,0]", '"%t[0,0]"'),
        ('U:%t[0,0, "a"]', '"%t[0,0, "a"]"'),
        ('U:%m[0,0,"a]', '"%m[0,0,"a]"'),
        ('U:%m[0,0,"a"', '"%m[0,0,"a""'),
        ('U:%t[0,0,"("]', '"("'),
        (r'U:%t[0,0,"^\u"]', r'"^\u"'),
        (r'U:%t[0,0,"\a*"]', r'"\a*"'),
    ],
)
def test_errors_name_file_line_and_value(line: str, got: str) -> None:
    with pytest.raises(InputError, match=r"^my\.template:2: .*" + re.escape(got)):
        Template.parse(f"U00:%x[0,0]\n{line}", "my.template")


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_a_template_without_lines(text: str) -> None:
    with pytest.raises(InputError, match=r"^<template>: "):
        Template.parse(text)


def test_a_template_that_looks_at_no_word() -> None:
    with pytest.raises(InputError, match=r"^<template>: "):
        Template.parse("B\n")


def test_a_column_out_of_range() -> None:
    with pytest.raises(InputError, match=r"^t:2: "):
        Template.parse("U\nB:%x[0,1]", "t").strings([["a"]])


# --- notes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("U1:%x[0,0]\r\nB\r\n", "<template>:1: the carriage return at the end of 2 lines is left out"),
        ("U1:%x[0,0] \nB", '<template>:1: the blanks at the end of "U1:%x[0,0] " are part of each attribute'),
        ("U1:%x[0,0]\nB\t", '<template>:2: the blanks at the end of "B\t" are part'),
        (
            "U1:%x[0,0]\nU1:%x[1,0]",
            '<template>:2: "U1:%x[1,0]" shares weights with "U1:%x[0,0]" of line 1, wherever they give the same string',
        ),
        ("U1:%x[0,0]\nU1:%x[0,0]", '"U1:%x[0,0]" is also line 1: its attributes count twice'),
        ("U1:%x[9,0]", "<template>:1: rows beyond 8 are an extension, CRF++ itself rejects"),
        ("B1:%x[0,0]", "<template>: there is no U line"),
    ],
)
def test_notes_on_what_is_hardly_meant(text: str, note: str) -> None:
    template = Template.parse(text)
    assert len(template.notes) == 1
    assert template.notes[0].startswith(note) or note in template.notes[0]


def test_a_plain_template_has_no_notes() -> None:
    assert Template.parse("# x\nU00:%x[-8,0]\nU01:%x[8,0]/%x[0,1]\nU02:%x[0,0]/%x[0,1]\n\nB\n").notes == ()


def test_the_carriage_return_is_no_part_of_attributes() -> None:
    assert states("U1:%x[0,0]\r\nU2\r\n", ["a"]) == [["U1:a", "U2"]]


# --- extensions -------------------------------------------------------------------------------------------------------


def test_wapiti_patterns() -> None:
    words = ["Cat", "7up", "x"]
    assert states('U:%t[0,0,"^[A-Z]"]', words) == [["U:true"], ["U:false"], ["U:false"]]
    assert states('U:%m[0,0,"[a-z]+"]', words) == [["U:at"], ["U:up"], ["U:x"]]
    assert states('U:%m[0,0,"[0-9]"]/', words) == [["U:/"], ["U:7/"], ["U:/"]]
    assert states('U:%M[0,0,"[A-Z].*"]%X[0,0]%T[0,0,"C"]', words)[0] == ["U:catcattrue"]
    assert states(r'U:%t[0,0,"\""]', ['"', "a"]) == [["U:true"], ["U:false"]]
    assert states(r'U:%t[0,0,"\\"]', ["\\", "a"]) == [["U:true"], ["U:false"]]
    assert states('U:%t[0,0,"]"]', ["]", "a"]) == [["U:true"], ["U:false"]]
    assert states(r'U:%t[0,0,"[\u4e00-\u9fff]"]', ["人", "a"]) == [["U:true"], ["U:false"]]


def test_patterns_look_at_padding_and_small_letters_do_not() -> None:
    assert states('U:%t[-1,0,"B"]%m[1,0,"[0-9]"]%X[-1,0]', ["a"]) == [["U:true1_B-1"]]


def test_built_in_columns() -> None:
    words = ["Cats", "is"]
    assert states("U:%x[0,0:lower]/%x[0,0:suffix2]", words) == [["U:cats/ts"], ["U:is/is"]]
    assert states("U:%x[0,0:lower:prefix1]", words) == [["U:c"], ["U:i"]]
    assert states("U:%x[-1,0:prefix3]", words) == [["U:_B-1"], ["U:Cat"]]


def test_where_a_built_in_column_has_nothing_to_say_there_is_no_attribute() -> None:
    assert states("U0:%x[0,0]\nU1:%x[0,0:prefix3]/%x[0,0]", ["Cats", "is"]) == [["U0:Cats", "U1:Cat/Cats"], ["U0:is"]]
    assert states('U1:%t[0,0:prefix3,"x"]', ["Cats", "is"]) == [["U1:false"], []]


def test_extensions_are_not_crfpp() -> None:
    for line in ("U:%x[0,0:lower]", "U:%X[0,0]", 'U:%t[0,0,"a"]', "U:%x[9,0]"):
        assert not Template.parse(line).is_crfpp
    assert Template.parse("U:%x[8,0]").is_crfpp


# --- an independent reading of plain templates ---------------------------------------------------------------------

PLAIN = re.compile(r"%x\[(-?\d+),(\d+)\]")
LITERALS = st.text(st.characters(exclude_characters="%\n\r", exclude_categories=["Cs"]), max_size=4)
LINES = st.lists(st.tuples(LITERALS, st.integers(-3, 3), st.integers(0, 1)), max_size=4)


@given(LINES, LITERALS, st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), min_size=1, max_size=4))
def test_plain_templates_by_substitution(
    parts: list[tuple[str, int, int]], end: str, rows: list[tuple[str, str]]
) -> None:
    line = "U" + "".join(f"{literal}%x[{row},{column}]" for literal, row, column in parts) + end
    expected = []
    for token in range(len(rows)):

        def word(match: re.Match[str], token: int = token) -> str:
            place = token + int(match[1])
            if place < 0:
                return f"_B{place}"
            return f"_B+{place - len(rows) + 1}" if place >= len(rows) else rows[place][int(match[2])]

        expected.append([PLAIN.sub(word, line)])
    assert states(line, [row[0] for row in rows], [row[1] for row in rows]) == expected
