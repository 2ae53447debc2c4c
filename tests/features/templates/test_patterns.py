"""Patterns: the matches of Python's `re.search`, in time that grows only with the length of the word."""

from __future__ import annotations

import inspect
import pickle
import re
import sys
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tagline import compiled
from tagline.errors import InputError
from tagline.features.expressions import automata, character_sets
from tagline.features.expressions.patterns import Pattern
from tagline.features.expressions.syntax import parse
from tagline.features.expressions.trees import BacktrackingError, ExpressionError, SizeError
from tagline.features.templates.template import Template
from tests.profiles import examples

Spans = list[tuple[int, int] | None]
Find = Callable[[Pattern, Sequence[str]], Spans]


def find_plain(pattern: Pattern, words: Sequence[str]) -> Spans:
    return [automata.search(pattern.program, word) for word in words]


def find_compiled(pattern: Pattern, words: Sequence[str]) -> Spans:
    assert compiled.core is not None
    return pattern.find(words)


both = pytest.mark.parametrize("find", [find_compiled, find_plain], ids=["core", "plain"])


def spans_of_re(text: str, words: Sequence[str]) -> Spans:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = re.compile(text).search
    return [match.span() if (match := search(word)) else None for word in words]


# --- random patterns against re -----------------------------------------------------------------------------------

ATOMS = [
    *(
        "a",
        "b",
        "A",
        ".",
        "1",
        "_",
        "é",
        r"\n",
        r"\x61",
        "[ab]",
        "[^a]",
        "[a-c]",
        r"[^\W\d]",
        r"[^b\d]",
        "[]a]",
        "[a-]",
    ),
    *(r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", "()", "(|a)", "(a|)", "(?:|ab|a)"),
    *("(?:^)", "(?:$)", r"(?:\b)", r"(?:\B)", r"(?:\A)", r"(?:\Z)"),
]
COUNTS = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{,3}", "{1,}", "{2,}", "{2,3}", "{0}", "{,}"]
OPENINGS = ["(", "(?:", "(?i:", "(?s:", "(?m:", "(?-i:", "(?i-s:", "(?# a comment)(?:", "(?x: "]


def larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(parts, min_size=2, max_size=3).map("".join),
        st.builds(lambda opening, all_of: opening + "|".join(all_of) + ")", st.sampled_from(OPENINGS), st.lists(parts)),
        st.builds("(?:{}){}{}".format, parts, st.sampled_from(COUNTS), st.sampled_from(["", "?"])),
    )


FLAGS = st.sampled_from(["", "", "", "(?i)", "(?s)", "(?m)", "(?a)", "(?im)", "(?#)(?s)(?i)", "(?x)"])
PATTERNS = st.builds(str.__add__, FLAGS, st.recursive(st.sampled_from(ATOMS), larger, max_leaves=12))
WORDS = st.lists(st.text("aaabbbcAB1_ \néÉ人", min_size=1, max_size=7), min_size=12, max_size=12)
SIGNS = st.lists(
    st.sampled_from(
        [*"aabcA1-^$.|()[]{}*+?,\\ #", "(?", "(?:", "(?i", "(?x)", "(?P<", "[^", r"\d", r"\x", "61", r"\0", "{1", "(?#"]
    ),
    min_size=1,
    max_size=9,
).map("".join)


@examples(200)
@given(PATTERNS, WORDS)
def test_random_patterns_match_as_in_re(text: str, words: list[str]) -> None:
    expected = spans_of_re(text, words)
    pattern = Pattern.of(text)
    assert find_compiled(pattern, words) == expected
    assert find_plain(pattern, words) == expected


@examples(200)
@given(SIGNS, WORDS)
def test_random_texts_are_read_as_in_re(text: str, words: list[str]) -> None:
    """What re takes is taken, but for what needs backtracking; what re refuses is refused."""
    try:
        expected = spans_of_re(text, words)
    except re.error:
        with pytest.raises(ExpressionError):
            parse(text)
        return
    try:
        pattern = Pattern.of(text)
    except BacktrackingError:
        assume(False)
    assert find_compiled(pattern, words) == expected


@both
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("(a*)*", "aab"),
        ("(a*)+", "b"),
        ("(|a)+", "aa"),
        ("(|a)*b", "aab"),
        ("(?:|[xa])*(?:a|b)", "xab"),  # a turn that takes nothing ends the repetition, wherever it stands
        ("(|ab|a){0,2}(?:b|$)", "aba"),
        ("(|ab|a){1,2}?(?:b|$)", "aba"),
        ("(?:(?:|a)*?b?)*c", "aabac"),
        ("(?:b*?)*(?:b|$)", "bbcab"),
        ("a(?:bc)?", "abab"),  # the leftmost match, though a later one ends first
        (r"(?:\ba)+$", "ab-a"),  # places are asked anew behind characters that are skipped
        ("^a|b", "cb"),
        ("^a|^b", "cb"),
        (r"\b^b|\Aa", "cb"),
        ("[a人]b", "b人b"),
        ("(?:a|ab)(?:c|bcd)", "abcd"),  # the first way, not the longest
        ("a{2}{", "aa{"),
        ("x*", "aaa"),
        ("", ""),
        ("$", "a\n"),
        (r"\Z", "a\n"),
        (r"\b", ""),
        ("(?m)^b$", "a\nb\nc"),
        (r"[\]\-\\]+", "a]-\\"),
        (r"\N{GREEK SMALL LETTER ALPHA}\u03b2\U0001F600\07", "αβ\U0001f600\a"),
        (r"\141\0", "a\0"),
        ("(?P<one>a)(?P<two>b)", "ab"),
        ("(?x) a b # c \n [ ] ", "ab "),
        ("\ud800+", "a\ud800\ud800"),
    ],
)
def test_matches(find: Find, text: str, word: str) -> None:
    assert find(Pattern.of(text), [word]) == spans_of_re(text, [word])


def test_widths_of_words() -> None:
    """Python holds characters in 1, 2 or 4 bytes."""
    words = ["xa1", "éa1", "人a1", "\U0001f600a1", "", "1a"]
    assert find_compiled(Pattern.of("a1$"), words) == find_plain(Pattern.of("a1$"), words) == spans_of_re("a1$", words)
    assert find_compiled(Pattern.of("[é人\U0001f600]"), words) == [None, (0, 1), (0, 1), (0, 1), None, None]


# --- classes and cases over all of Unicode --------------------------------------------------------------------------


def members(text: str) -> list[int]:
    (bounds,) = Pattern.of(text).program.sets
    return [code for first, behind in character_sets.ranges_of(bounds) for code in range(first, behind)]


EVERY = np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
CASED = "".join(c for c in EVERY[:0x20000] if c.lower() != c or c.upper() != c)


@pytest.mark.parametrize(
    "text",
    [
        *(r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"(?a)\w", r"(?a)\D", r"(?a)\s", ".", "(?s).", r"[^\W\d_]"),
        *(r"[\Wé]", r"(?i)[^\Wé]", r"(?i)[\dk\u1e9e]", "(?i)[^a-z]", "(?i)[A-_]", "(?ia)[k-s]", r"[^\s\S]"),
        "(?i)[\0-\U0010ffff]",
    ],
)
def test_every_character_is_in_the_set_where_re_has_it(text: str) -> None:
    (bounds,) = Pattern.of(text).program.sets
    assert character_sets.ranges_of(bounds) == [run.span() for run in re.finditer(text + "+", EVERY)]


def test_every_letter_is_its_other_cases_as_in_re() -> None:
    assert len(CASED) > 2500
    for letter in CASED:
        found = re.findall(f"(?i){letter}", CASED)
        assert [chr(code) for code in members(f"(?i){letter}")] == found, letter


def test_characters_without_cases_are_only_themselves() -> None:
    cased = {*CASED}
    for first in range(0, 0x110000, 1024):
        block = [c for c in EVERY[first : first + 1024] if c not in cased]
        text = "(?i)[" + "".join(rf"\U{a:08x}-\U{b - 1:08x}" for a, b in runs_of(block)) + "]"
        assert [chr(code) for code in members(text)] == re.findall(text, CASED + "".join(block)) == block


def runs_of(letters: list[str]) -> list[tuple[int, int]]:
    return character_sets.ranges_of(character_sets.of_ranges((ord(c), ord(c) + 1) for c in letters))


@examples(30)
@given(st.integers(0, 0xFFFF), st.integers(0, 300), st.booleans())
def test_ranges_without_regard_to_case(first: int, length: int, negated: bool) -> None:
    text = f"(?i)[{'^' * negated}\\u{first:04x}-\\u{min(first + length, 0xFFFF):04x}]"
    inside = {*members(text)}
    assert [letter for letter in CASED if ord(letter) in inside] == re.findall(text, CASED)


# --- time and size ----------------------------------------------------------------------------------------------------

EXPONENTIAL = ["(a+)+$", "(a|aa)+$", "(a|a)*b", "(.*)*x", "(a*)*c", "((a?){5}){5}c", "(?:(?:(?:a?)*)*)*c", "(a|b|ab)*c"]


@both
@pytest.mark.parametrize("text", EXPONENTIAL)
def test_patterns_that_take_for_ever_with_backtracking(find: Find, text: str) -> None:
    """The bound is a hundred times what a slow machine needs; with backtracking 100 characters take years."""
    word = "a" * 10_000 + "d"
    began = time.process_time()
    assert find(Pattern.of(text), [word]) == [None]
    assert time.process_time() - began < 60


def test_steps_grow_with_the_length_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain search asks for a state or a set at most once for each state and place."""
    steps = 0

    def contains(bounds: character_sets.Bounds, code: int) -> bool:
        nonlocal steps
        steps += 1
        return character_sets.contains(bounds, code)

    monkeypatch.setattr(automata, "contains", contains)
    for text in EXPONENTIAL:
        pattern, steps = Pattern.of(text), 0
        automata.search(pattern.program, "a" * 100 + "d")
        assert 0 < steps <= 101 * len(pattern.program.states), text


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("a" * 10_001, "10000 characters and 100 groups in one another"),
        ("(" * 101 + ")" * 101, "10000 characters and 100 groups in one another"),
        ("a{5000}b{5000}", "10000 states with repetition written out"),
        ("(?:a{100}){100}", "10000 states with repetition written out"),
        ("(?:" * 50 + "a?" + "){3}" * 50, "10000 states with repetition written out"),
        ("".join(rf"[\w{chr(code)}]" for code in range(0x2000, 0x2100)), "50000 ranges of characters"),
    ],
)
def test_limits(text: str, limit: str) -> None:
    began = time.process_time()
    with pytest.raises(SizeError, match=f"^{limit}$"):
        Pattern.of(text)
    assert time.process_time() - began < 20
    with pytest.raises(InputError, match=r"^t:1: "):
        Template.parse(f'U:%t[0,0,"{text}"]', "t")


@both
def test_within_the_limits(find: Find) -> None:
    deep = "(" * 100 + "a" + ")*" * 100
    assert find(Pattern.of(deep), ["aab"]) == [(0, 2)]
    assert find(Pattern.of("a{100,200}"), ["a" * 201, "a" * 99]) == [(0, 200), None]
    assert find_compiled(Pattern.of("a{1000,5000}"), ["a" * 5001, "a" * 999]) == [(0, 5000), None]
    assert len(Pattern.of("(?:" * 100 + "a?" + ")*" * 100).program.states) < 6000
    assert find(Pattern.of("(?:(?:){10000}){10000}(?:(?:\\b){9999}){9999}b"), ["b"]) == [(0, 1)]
    assert len(Pattern.of(r"[\wa]" * 2000).program.sets) == 1


def test_groups_where_the_stack_is_almost_full() -> None:
    def call(depth: int) -> Pattern:
        return call(depth - 1) if depth else Pattern.of("(" * 99 + "a" + ")*" * 99)

    with pytest.raises(SizeError, match="recursion"):
        call(sys.getrecursionlimit() - len(inspect.stack()) - 100)


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        (r"(a)\1", "a backreference at character 4"),
        (r"(?P<n>a)(?P=n)", "a backreference at character 9"),
        ("b(?=a)", "a lookahead at character 2"),
        ("(?!a)", "a lookahead at character 1"),
        ("(?<=a)b", "a lookbehind at character 1"),
        ("a(?<!a)b", "a lookbehind at character 2"),
        ("(?>a)", "an atomic group at character 1"),
        ("(a)?(?(1)b|c)", "a condition at character 5"),
        ("a*+", "possessive repetition at character 2"),
        ("a{2,3}+", "possessive repetition at character 2"),
    ],
)
def test_what_needs_backtracking_is_refused_by_name(text: str, construct: str) -> None:
    re.compile(text)
    with pytest.raises(BacktrackingError, match=f"^{construct}$"):
        Pattern.of(text)
    with pytest.raises(InputError) as caught:
        Template.parse(f'U0\nU1:%m[0,0,"{text}"]', "my.txt")
    assert str(caught.value).startswith("my.txt:2: ")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a(b", "a ( without its ) at character 2"),
        ("a)", "a ) without its ( at character 2"),
        ("[a", "a [ without its ] at character 1"),
        ("a**", "nothing that * can repeat at character 3"),
        ("^*", "nothing that * can repeat at character 2"),
        ("{2}", "nothing that { can repeat at character 1"),
        ("a{3,2}", "a count that falls at character 2"),
        ("a{10001}", "a count above 10000 at character 2"),
        ("a{99999999999999999999}", "a count above 10000 at character 2"),
        ("a(?i)", "flags for all that are not at the start at character 2"),
        ("(?L)", "an unknown group, (?L at character 1"),
        ("(?i-i:a)", "flags that exclude one another at character 3"),
        ("(?P<1>a)", 'a group with the name "1" at character 1'),
        ("(?P<n>a)(?P<n>b)", 'a second group with the name "n" at character 9'),
        ("(?P<n", "the name of a group without > at character 5"),
        ("(?#", "a comment without ) at character 1"),
        ("[b-a]", "a range of characters that does not rise at character 3"),
        (r"[\d-a]", "a range of characters that does not rise at character 4"),
        (r"\q", r"an unknown escape, \q at character 1"),
        ("\\", "an unknown escape, \\ at character 1"),
        (r"\x4", r"\x without the 2 digits of a character at character 1"),
        (r"\U00110000", r"\U without the 8 digits of a character at character 1"),
        (r"\N{none}", r"\N without the name of a character in braces, 'none', at character 1"),
        (r"\777", r"\777 that is no octal number up to 377 at character 1"),
    ],
)
def test_errors_name_the_place(text: str, wrong: str) -> None:
    with pytest.raises(ExpressionError, match=f"^{re.escape(wrong)}$"):
        Pattern.of(text)


# --- the door ---------------------------------------------------------------------------------------------------------


def test_texts_and_answers() -> None:
    pattern = Pattern.of("[0-9]+")
    words = ["747s", None, "no", "7"]
    assert pattern.texts(words) == ["747", None, "", "7"]
    assert pattern.answers(words) == ["true", None, "false", "true"]
    assert pattern.texts([]) == pattern.answers([]) == pattern.find([]) == []


def test_without_the_compiled_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "core", None)
    pattern = Pattern(automata.build(parse("[0-9]+")))
    words = ["747s", None, "no", "7"]
    assert pattern.texts(words) == ["747", None, "", "7"]
    assert pattern.answers(words) == ["true", None, "false", "true"]
    assert pattern.find(["no", "a12"]) == [None, (1, 3)]
    Pattern.of.cache_clear()
    template = Template.parse('U:%t[0,0,"^[A-Z]"]%m[-1,0,"[a-z]+$"]')
    assert template.strings([["Cat", "up"]]) == ([["U:true"], ["U:falseat"]], [[], []])
    Pattern.of.cache_clear()


def test_a_template_is_pickled_after_its_patterns_were_used() -> None:
    template = Template.parse('U:%m[0,0,"a+"]')
    assert template.strings([["baa"]])[0] == [["U:aa"]]
    assert pickle.loads(pickle.dumps(template)).strings([["baa"]])[0] == [["U:aa"]]


def arrays(states: list[tuple[int, int, int]], first: int = 0, bounds: Sequence[int] = (97, 98)) -> tuple[object, ...]:
    return (
        np.array(states, np.int32).reshape(-1, 3),
        first,
        np.array(bounds, np.uint32),
        np.array([0, len(bounds)]),
        np.array([], np.uint32),
    )


@pytest.mark.parametrize(
    ("program", "place"),
    [
        (arrays([(4, 0, 0)]), "states[0]: "),
        (arrays([(-1, 0, 0)]), "states[0]: "),
        (arrays([(0, 0, 0), (1, 1, 0)]), "states[1]: "),
        (arrays([(0, 0, 0), (1, 0, 2)]), "states[1]: "),
        (arrays([(0, 0, 0), (2, -1, 0)]), "states[1]: "),
        (arrays([(0, 0, 0), (3, 9, 0)]), "states[1]: "),
        (arrays([(0, 0, 0)], 1), "first: "),
        (arrays([], 0), "first: "),
        (arrays([(0, 0, 0)], 0, [97]), "bounds: "),
        (arrays([(0, 0, 0)], 0, [98, 97]), "bounds: "),
    ],
)
def test_the_core_checks_programs(program: tuple[object, ...], place: str) -> None:
    assert compiled.core is not None
    with pytest.raises(ValueError, match=re.escape(place)):
        compiled.core.Pattern(*program)


def test_the_core_checks_words_and_needs_no_program_that_ends() -> None:
    assert compiled.core is not None
    endless = compiled.core.Pattern(*arrays([(2, 0, 1), (2, 1, 0)]))
    assert endless.find(["aa", ""]).tolist() == [-1, -1, -1, -1]
    with pytest.raises(TypeError, match=r"^words\[1\]: "):
        endless.find(["a", b"a"])
