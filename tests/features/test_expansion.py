"""The compiled expansion against `Template.strings`, the definition: new, known and hashed, for any threads."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import compiled
from tagline.errors import InputError
from tagline.features import Attributes, Expanded, Vocabulary
from tagline.features import expansion as module
from tagline.features.expansion import expand
from tagline.features.templates.template import Template
from tagline.readers import Corpus
from tagline.readers.corpus import TAG, Column
from tests.features.test_vocabulary import COLLIDING

WORDS = ["a", "b", "a/b", "/", "_B-1", "_B+1", "%x[0,0]", "人", "民网", "é", "Cat", "cat7", "", "a" * 20, "\u0130x"]
MACROS = [
    *(f"%x[{row},{column}]" for row in (-2, -1, 0, 1, 3) for column in (0, 1)),
    "%x[0,0:lower]",
    "%x[-1,0:prefix2]",
    "%x[1,1:shape]",
    "%X[0,1]",
    '%t[-1,0,"[a-c]"]',
    '%m[0,1,"[a-z]+"]',
    '%M[1,0,"[A-Z].*"]',
]
SENTENCES = st.lists(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), max_size=6), max_size=8)


@st.composite
def templates(draw: st.DrawFn) -> Template:
    lines = []
    for kind in draw(st.lists(st.sampled_from("UUUB"), min_size=1, max_size=6)):
        macros = draw(st.lists(st.sampled_from(MACROS), max_size=4))
        identity = draw(st.sampled_from(["", "0:", "1:", "人:"]))
        lines.append(kind + identity + draw(st.sampled_from(["", "/"])).join(macros))
    return Template.parse("\n".join(["U", *lines]))


def corpus_of(sentences: list[list[tuple[str, str]]]) -> Corpus:
    """Two columns and a tag between them, which templates do not count."""
    rows = [row for sentence in sentences for row in sentence]
    columns = {
        "token": Column.of(row[0] for row in rows),
        TAG: Column.of("O" for _ in rows),
        "other": Column.of(row[1] for row in rows),
    }
    return Corpus(columns, np.cumsum([0, *map(len, sentences)]))


def strings(template: Template, corpus: Corpus) -> tuple[list[list[str]], list[list[str]]]:
    """The attributes of all tokens by the definition: of states, of edges."""
    states, edges = [], []
    for sentence in corpus:
        columns = [words for name, words in sentence.columns.items() if name != TAG]
        of_states, of_edges = template.strings(columns)
        states += of_states
        edges += of_edges
    return states, edges


def rows_of(attributes: Attributes) -> list[list[int]]:
    assert attributes.ids.dtype == np.int32
    assert attributes.offsets.dtype == np.int64
    assert attributes.offsets[0] == 0
    assert attributes.offsets[-1] == len(attributes.ids)
    return [
        attributes.ids[first:last].tolist()
        for first, last in zip(attributes.offsets[:-1], attributes.offsets[1:], strict=True)
    ]


def check_new(rows: list[list[str]], attributes: Attributes | None, names: Vocabulary | None, least: int) -> None:
    if attributes is None:
        assert not any(rows)
        assert names is None
        return
    counts = Counter(text for row in rows for text in row)
    numbers: dict[str, int] = {}
    expected = [
        [numbers.setdefault(text, len(numbers)) for text in row if counts[text] >= least] for row in rows
    ]  # order of first use
    assert names is not None
    assert names.names() == list(numbers)
    assert rows_of(attributes) == expected
    Vocabulary.from_arrays(names.arrays())  # what was built passes as what was stored


def check_known(rows: list[list[str]], attributes: Attributes | None, names: Vocabulary | None) -> None:
    if attributes is None:
        return
    assert names is not None
    numbers = {name: number for number, name in enumerate(names)}
    assert rows_of(attributes) == [[numbers[text] for text in row if text in numbers] for row in rows]


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    before = compiled.threads()
    yield
    compiled.set_threads(before)


@given(templates(), SENTENCES, st.integers(0, 3))
def test_new_attributes_are_those_of_the_definition(
    template: Template, sentences: list[list[tuple[str, str]]], least: int
) -> None:
    corpus = corpus_of(sentences)
    states, edges = strings(template, corpus)
    expanded = expand(template, corpus, min_frequency=least)
    np.testing.assert_array_equal(expanded.features.offsets, corpus.offsets)
    check_new(states, expanded.features.states, expanded.states, least)
    check_new(edges, expanded.features.edges, expanded.edges, least)


@given(templates(), SENTENCES, SENTENCES)
def test_known_attributes_are_found_and_others_left_out(
    template: Template, sentences: list[list[tuple[str, str]]], others: list[list[tuple[str, str]]]
) -> None:
    before = expand(template, corpus_of(sentences))
    assert before.states is not None
    corpus = corpus_of(others)
    states, edges = strings(template, corpus)
    expanded = expand(template, corpus, (before.states, before.edges))
    assert expanded.states is before.states
    assert expanded.edges is before.edges
    check_known(states, expanded.features.states, before.states)
    check_known(edges, expanded.features.edges, before.edges)


@given(templates(), SENTENCES, st.integers(1, 30))
def test_hashed_attributes_depend_on_their_strings_alone(
    template: Template, sentences: list[list[tuple[str, str]]], bits: int
) -> None:
    corpus = corpus_of(sentences)
    expanded = expand(template, corpus, hash_bits=bits)
    assert expanded.states is None
    assert expanded.edges is None
    numbers: dict[str, int] = {}
    for rows, attributes in zip(
        strings(template, corpus), (expanded.features.states, expanded.features.edges), strict=True
    ):
        if attributes is None:
            continue
        found = rows_of(attributes)
        assert [len(row) for row in found] == [len(row) for row in rows]
        assert 0 <= min(attributes.ids, default=0) <= max(attributes.ids, default=0) < 1 << bits
        for row, ids in zip(rows, found, strict=True):
            for text, number in zip(row, ids, strict=True):
                assert numbers.setdefault(text, number) == number


def test_hashes_are_the_written_formula() -> None:
    corpus = Corpus.from_sentences([{"token": ["人民", "x"]}])
    ids = expand(Template.parse("U:%x[0,0]/%x[1,0]"), corpus, hash_bits=30).features.states.ids
    assert ids.tolist() == [_hash(text.encode()) % 2**30 for text in ("U:人民/x", "U:x/_B+1")]


def _hash(text: bytes) -> int:
    value = 0
    for byte in text:
        value = (value * 0x137F8DE3C6A24B95 + byte + 1) % (2**61 - 1)
    value = value * 0x9E3779B97F4A7C15 % 2**64
    value ^= value >> 32
    value = value * 0xD6E8FEB86659FD93 % 2**64
    return value ^ value >> 32


def test_attributes_with_the_same_hash_are_told_apart() -> None:
    """Words that collide: attributes are numbered and found by their strings, not by their hashes."""
    one, two = COLLIDING
    template = Template.parse("U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]")
    corpus = Corpus.from_sentences([{"token": [one, two, one, two, "x"]}])
    rows = strings(template, corpus)[0]
    expanded = expand(template, corpus)
    check_new(rows, expanded.features.states, expanded.states, 1)
    hashed = expand(template, corpus, hash_bits=30).features.states.ids
    assert hashed[0] == hashed[2]  # U0 of the first and the second word: they do collide
    for known in (rows[0], rows[1], [*rows[0], *rows[1]], [*rows[1], *rows[0]]):
        names = Vocabulary.of(known)
        check_known(rows, expand(template, corpus, (names, None)).features.states, names)


def test_long_words_compose_to_the_hash_of_the_whole() -> None:
    """Names hashed as a whole are found by the hashes of their pieces, whatever the lengths of these."""
    words = ["x" * length for length in (1, 7, 8, 9, 15, 16, 17, 255, 256, 257, 511, 512, 513, 66_000)]
    template = Template.parse("U0:%x[0,0]/%x[1,0]\nU" + "y" * 300 + "%x[0,0]")
    corpus = Corpus.from_sentences([{"token": words}])
    rows = strings(template, corpus)[0]
    names = Vocabulary.of(text for row in rows for text in row)
    assert expand(template, corpus, (names, None)).features.states.ids.tolist() == list(range(len(names)))


def test_many_attributes_with_the_same_hash() -> None:
    words = ["".join(parts) for parts in product(COLLIDING, repeat=5)]
    template = Template.parse("U0:%x[0,0]/%x[1,0]\nU1:%x[0,0]")
    corpus = Corpus.from_sentences([{"token": words}])
    rows = strings(template, corpus)[0]
    expanded = expand(template, corpus)
    check_new(rows, expanded.features.states, expanded.states, 1)
    names = Vocabulary.of(text for row in rows[3:] for text in row)
    check_known(rows, expand(template, corpus, (names, None)).features.states, names)


def big_corpus(tokens: int, words: int, seed: int = 0) -> Corpus:
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, tokens, tokens // 12))
    columns = {
        "token": Column(tuple(f"w{k}" for k in range(words)), (words * rng.random(tokens) ** 3).astype(np.int32)),
        "pos": Column(tuple(f"P{k}" for k in range(20)), rng.integers(0, 20, tokens).astype(np.int32)),
    }
    return Corpus(columns, [0, *cuts, tokens])


BIG = Template.parse(
    "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU1:%x[0,0]/%x[1,0]\nU3:%x[-2,1]/%x[-1,1]/%x[0,1]\nU4:%x[0,0:suffix2]\n"
    "U5:%x[-2,0]%x[-1,0]%x[0,0]%x[1,0]%x[2,0]%x[3,0]\nU0:%x[1,0]\nB0:%x[0,1]/%x[-1,1]\nB1\nB2"
)


@pytest.mark.parametrize("least", [1, 3])
def test_many_tokens_and_any_threads_give_the_same(least: int) -> None:
    corpus = big_corpus(9_000, 3_000)
    states, edges = strings(BIG, corpus)
    known = expand(BIG, corpus[: len(corpus) // 2])
    assert known.states is not None
    for count in (1, 2, 5):
        compiled.set_threads(count)
        expanded = expand(BIG, corpus, min_frequency=least)
        check_new(states, expanded.features.states, expanded.states, least)
        check_new(edges, expanded.features.edges, expanded.edges, least)
        found = expand(BIG, corpus, (known.states, known.edges))
        check_known(states, found.features.states, known.states)
        check_known(edges, found.features.edges, known.edges)


SHARED = Template.parse(
    "\n".join(
        [
            *(f"U{row}:%x[{row},0]/%x[{row + 1},0]" for row in (-3, -1, 0, 2)),
            "U:%x[1,0]/%x[2,0]|\nU:%x[1,0]%x[2,0]\nU:%x[1,0]/%x[3,0]\nU:%x[2,0]/%x[1,0]",  # other bodies
            *(f"U{row}:%x[{row},1]" for row in (4, 0, -5)),
            *(f"U%x[{row},1]/%x[{row},0:lower]" for row in (-1, 1)),
            "Ua\nUb",
            *(f'B{row}:%m[{row},1,"P1."]' for row in (-1, 0, 3)),  # no attribute where the pattern is not found
        ]
    )
)


@pytest.mark.parametrize("tokens", [3, 40, 3_000])
def test_templates_with_the_same_words_at_other_rows(tokens: int) -> None:
    """They share keys, also past the ends of sentences that are shorter than the rows reach."""
    corpus = big_corpus(tokens, 1 + tokens // 3)
    states, edges = strings(SHARED, corpus)
    some = [text for row in states for text in row][::3]  # of the templates of a body some know a word, others do not
    names = Vocabulary.of(dict.fromkeys(some)), Vocabulary.of(dict.fromkeys(text for row in edges for text in row))
    for count in (1, 2):
        compiled.set_threads(count)
        expanded = expand(SHARED, corpus)
        check_new(states, expanded.features.states, expanded.states, 1)
        check_new(edges, expanded.features.edges, expanded.edges, 1)
        found = expand(SHARED, corpus, names)
        check_known(states, found.features.states, names[0])
        check_known(edges, found.features.edges, names[1])
        hashed = expand(SHARED, corpus, hash_bits=30).features.states
        assert rows_of(hashed) == [[_hash(text.encode()) % 2**30 for text in row] for row in states]


def test_memory_that_is_used_again_holds_nothing_old() -> None:
    """Rows of more than a megabyte leave their memory to the next: smaller, larger and as large, while others live."""
    template = Template.parse("\n".join(f"U{k}:%x[0,0]" for k in range(30)))
    kept = []
    for tokens in (20_000, 12_000, 20_000, 30_000, 3_000, 30_000):
        corpus = big_corpus(tokens, 50, seed=tokens)
        ids = expand(template, corpus).features.states.ids
        kept.append((ids, ids.copy()) if tokens > 20_000 else (ids.copy(), ids))
        assert len(ids) == 30 * tokens
        words = corpus.columns["token"]
        first = {number: n for n, number in reversed(list(enumerate(words.ids.tolist())))}
        order = {number: k for k, number in enumerate(sorted(first, key=first.__getitem__))}
        expected = 30 * np.array([order[number] for number in words.ids.tolist()])[:, None] + np.arange(30)
        np.testing.assert_array_equal(ids.reshape(tokens, 30), expected)
        del ids
    for ids, copy in kept:
        np.testing.assert_array_equal(ids, copy)


def test_a_slice_of_a_corpus_needs_its_own_words_only() -> None:
    corpus = big_corpus(9_000, 3_000)
    part = corpus[100:103]
    expanded = expand(BIG, part)
    states, edges = strings(BIG, part)
    check_new(states, expanded.features.states, expanded.states, 1)
    check_new(edges, expanded.features.edges, expanded.edges, 1)


def test_keys_wider_than_64_bits() -> None:
    """Nine macros over 3,000 words take 108 bits: the first ones are numbered on the way."""
    template = Template.parse("U:" + "/".join(f"%x[{row},0]" for row in range(-4, 5)) + "\nB:" + "%x[0,0]" * 12)
    corpus = big_corpus(5_000, 3_000)
    states, edges = strings(template, corpus)
    for count in (1, 3):
        compiled.set_threads(count)
        expanded = expand(template, corpus)
        check_new(states, expanded.features.states, expanded.states, 1)
        check_new(edges, expanded.features.edges, expanded.edges, 1)
        assert expanded.states is not None
        found = expand(template, corpus, (expanded.states, expanded.edges))
        check_known(states, found.features.states, expanded.states)
        check_known(edges, found.features.edges, expanded.edges)


def test_no_sentences_and_empty_sentences() -> None:
    template = Template.parse("U0:%x[0,0]\nB0:%x[0,0]")
    for bounds in ([0], [0, 0, 0]):
        corpus = Corpus({"token": Column((), np.empty(0, np.int32))}, bounds)
        expanded = expand(template, corpus)
        assert rows_of(expanded.features.states) == []
        assert expanded.states is not None
        assert len(expanded.states) == 0
        known = expand(template, corpus, (expanded.states, expanded.edges))
        assert known.features.num_sentences == len(bounds) - 1


def test_the_same_word_twice_in_a_vocabulary_is_one_word() -> None:
    corpus = Corpus({"token": Column(("a", "a"), np.array([0, 1], np.int32))})
    expanded = expand(Template.parse("U:%x[0,0]"), corpus)
    assert expanded.states is not None
    assert expanded.states.names() == ["U:a"]
    assert expanded.features.states.ids.tolist() == [0, 0]


def test_arguments_are_not_changed() -> None:
    corpus = big_corpus(500, 40)
    before = {name: column.ids.copy() for name, column in corpus.columns.items()}
    expand(BIG, corpus)
    for name, ids in before.items():
        np.testing.assert_array_equal(corpus.columns[name].ids, ids)


def test_too_many_names_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NAMES", 3)
    corpus = Corpus.from_sentences([{"token": ["a", "b", "c"]}])
    assert len(_states(expand(Template.parse("U:%x[0,0]"), corpus))) == 3
    with pytest.raises(InputError, match=r"^attributes: "):
        expand(Template.parse("U:%x[0,0]\nU"), corpus)


def _states(expanded: Expanded) -> Vocabulary:
    assert expanded.states is not None
    return expanded.states


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"min_frequency": -1}, r"^min_frequency: "),
        ({"hash_bits": 0}, r"^hash_bits: "),
        ({"hash_bits": 31}, r"^hash_bits: "),
        ({"hash_bits": 4, "min_frequency": 2}, r"^min_frequency: "),
        ({"vocabularies": (Vocabulary.of([]), None)}, r"^vocabularies: "),
        (
            {"vocabularies": (Vocabulary.of([]), Vocabulary.of([])), "min_frequency": 2},
            r"^min_frequency: ",
        ),
        (
            {"vocabularies": (Vocabulary.of([]), Vocabulary.of([])), "hash_bits": 2},
            r"^hash_bits: ",
        ),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, int], place: str) -> None:
    with pytest.raises(InputError, match=place):
        expand(Template.parse("U:%x[0,0]\nB:%x[0,0]"), Corpus.from_sentences([{"token": ["a"]}]), **options)  # type: ignore[arg-type]


def test_a_column_that_is_not_there_is_named() -> None:
    template = Template.parse("U0:%x[0,0]\nU1:%x[0,2]", "my.template")
    place = "my.template:2: "
    with pytest.raises(InputError, match=re.escape(place)):
        expand(template, Corpus.from_sentences([{"token": ["a"], "pos": ["b"], "tag": ["c"]}]))


def test_lone_surrogates_are_an_error() -> None:
    with pytest.raises(InputError, match=r"^words: "):
        expand(Template.parse("U:%x[0,0]"), Corpus.from_sentences([{"token": ["\ud800"]}]))


def test_numbers_outside_the_vocabulary_are_an_error() -> None:
    for number in (1, -1):
        corpus = Corpus({"token": Column(("a",), np.array([number], np.int32))})
        with pytest.raises(InputError, match=r"^ids: "):
            expand(Template.parse("U:%x[0,0]"), corpus)


def test_the_binding_refuses_what_would_crash() -> None:
    assert compiled.core is not None
    ids, bounds = np.zeros(2, np.int32), np.array([0, 2])
    source = (("a",), ids, ("_B-1",), (), True)
    good = ([source], [(["U", ""], [(0, -1)])], bounds, False, None, 0, 1, 10)
    compiled.core.expand(*good)
    for place, wrong in [
        (1, [(["U"], [(0, 0)])]),
        (1, [(["U", ""], [(1, 0)])]),
        (1, [(["U", ""], [(0, -2)])]),
        (1, [(["U", ""], [(0, 1)])]),
        (0, [(("a",), np.ones(2, np.int32), ("_B-1",), (), True)]),
        (0, [(("a",), np.full(2, -1, np.int32), ("_B-1",), (), False)]),
        (2, np.array([0, 3])),
        (2, np.array([1, 2])),
        (2, np.array([0, 2, 1, 2])),
        (2, np.empty(0, np.int64)),
        (5, 31),
    ]:
        with pytest.raises(ValueError, match=r"^(bounds|literals|macros|ids|hash_bits): "):
            compiled.core.expand(*(wrong if k == place else argument for k, argument in enumerate(good)))


def test_ctrl_c_is_answered() -> None:
    template = Template.parse("\n".join(f"U{k}:%x[{k % 5 - 2},0]/%x[0,0]/%x[1,0]/%x[{k % 7},0]" for k in range(40)))
    corpus = big_corpus(60_000, 60_000)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.15, lambda: signal.pthread_kill(main, signal.SIGINT))
    begin = time.perf_counter()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            while time.perf_counter() - begin < 30:
                expand(template, corpus)
    finally:
        timer.cancel()
    assert time.perf_counter() - begin < 10
