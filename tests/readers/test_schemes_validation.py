"""Improper tags: found where they are, repaired by policy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.readers.corpus import Column, Corpus
from tagline.readers.schemes import convert, legal, repair, scheme, spans_to_tags, tags_to_spans, validate
from tests.readers.span_oracle import LETTERS, conlleval_spans, written


def labels_of(name: str) -> list[str]:
    return ["O", *(f"{letter}-{kind}" for letter in LETTERS[name] if letter != "O" for kind in "XY")]


def read_as_conlleval(tags: list[str], name: str) -> list[tuple[int, int, str]]:
    in_bioes = [LETTERS[name][tag[0]] + tag[1:] for tag in tags]
    return conlleval_spans(in_bioes, whole="S" in LETTERS[name].values())


@pytest.mark.parametrize("name", LETTERS)
@given(data=st.data())
def test_violations_are_where_the_rules_are_broken(name: str, data: st.DataObject) -> None:
    labels = labels_of(name)
    rules = legal(labels, name)
    sentences = data.draw(st.lists(st.lists(st.integers(0, len(labels) - 1), max_size=6), max_size=4))
    expected = []
    for b, path in enumerate(sentences):
        for token, label in enumerate(path):
            is_wrong = [
                token == 0 and not rules.start[label],
                token > 0 and not rules.transitions[path[token - 1], label],
                token == len(path) - 1 and not rules.end[label],
            ]
            previous = labels[path[token - 1]] if token else None
            expected += [(b, token, labels[label], previous)] * sum(is_wrong)
    found = validate([[labels[k] for k in path] for path in sentences], name)
    assert [(item.sentence, item.token, item.tag, item.previous) for item in found] == expected


@pytest.mark.parametrize(
    ("name", "tags", "messages"),
    [
        ("IOB2", "I-X", ["0: expected O or B-<type> at the start of a sentence, got 'I-X'"]),
        ("IOB2", "O I-X", ["1: expected O or B-<type> after 'O', got 'I-X'"]),
        ("IOB2", "B-X I-Y", ["1: expected O, B-<type> or I-X after 'B-X', got 'I-Y'"]),
        ("IOB2", "B I-Y", ["1: expected O, B-<type> or I after 'B', got 'I-Y'"]),
        ("IOB2", "NN I-X", ["0: expected a tag of IOB2 (O, B-<type>, I-<type>), got 'NN'"]),
        ("IOB1", "O B-X", ["1: expected O or I-<type> after 'O', got 'B-X'"]),
        ("IOE1", "I-X E-X", ["1: expected O or I-<type> at the end of a sentence, got 'E-X'"]),
        ("BILOU", "B-X", ["0: expected O, L-<type> or U-<type> at the end of a sentence, got 'B-X'"]),
        ("BILOU", "B-X O", ["1: expected I-X or L-X after 'B-X', got 'O'"]),
        (
            "BIOES",
            "O I-X",
            [
                "1: expected O, B-<type> or S-<type> after 'O', got 'I-X'",
                "1: expected O, E-<type> or S-<type> at the end of a sentence, got 'I-X'",
            ],
        ),
        ("BMES-words", "B S", ["1: expected M or E after 'B', got 'S'"]),
        ("BMES-words", "S M E", ["1: expected B or S after 'S', got 'M'"]),
    ],
)
def test_messages(name: str, tags: str, messages: list[str]) -> None:
    assert [str(item) for item in validate(tags.split(), name)] == [f"sentence 0, token {text}" for text in messages]


def test_places_in_a_file() -> None:
    column = Column.of(["O", "B-X", "I-Y"])
    corpus = Corpus({"tag": column}, [0, 1, 3], source="train.txt", lines=[1, 3])
    (found,) = validate(corpus, "IOB2")
    assert (found.place, found.sentence, found.token) == ("train.txt:3, token 1", 1, 1)
    with pytest.raises(InputError, match=r"^train\.txt:3, token 1: "):
        repair(corpus, "IOB2", "raise")


@pytest.mark.parametrize("name", LETTERS)
@given(data=st.data())
def test_conlleval_repair_keeps_the_spans_that_conlleval_reads(name: str, data: st.DataObject) -> None:
    tags = data.draw(st.lists(st.sampled_from(labels_of(name)), max_size=7))
    result = repair([tags], name)
    spans = read_as_conlleval(tags, name)
    assert result.tags == [written(spans, len(tags), name)]
    assert validate(result.tags, name) == []
    assert result.violations == validate([tags], name)
    assert result.changed == sum(a != b for a, b in zip(tags, result.tags[0], strict=True))
    assert bool(result.changed) == bool(result.violations)
    assert result.dropped == 0
    assert tags_to_spans(tags, name, repair="conlleval") == spans


@pytest.mark.parametrize("name", LETTERS)
@given(data=st.data())
def test_discarding_keeps_the_spans_that_were_written_properly(name: str, data: st.DataObject) -> None:
    tags = data.draw(st.lists(st.sampled_from(labels_of(name)), max_size=7))
    spans = read_as_conlleval(tags, name)
    proper = written(spans, len(tags), name)
    kept = [span for span in spans if tags[span[0] : span[1]] == proper[span[0] : span[1]]]
    result = repair([tags], name, "discard")
    assert result.tags == [written(kept, len(tags), name)]
    assert result.dropped == len(spans) - len(kept)
    assert validate(result.tags, name) == []
    assert tags_to_spans(tags, name, repair="discard") == kept


@pytest.mark.parametrize(
    ("name", "tags", "expected"),
    [
        ("IOB2", "O I-X I-X B-Y", "O O O B-Y"),
        ("IOB2", "B-X I-Y I-Y", "B-X O O"),
        ("BIOES", "B-X I-X O S-Y", "O O O S-Y"),
        ("BIOES", "B-X E-X E-X", "B-X E-X O"),
        ("IOE2", "I-X O I-Y E-Y", "O O I-Y E-Y"),
    ],
)
def test_discard_by_hand(name: str, tags: str, expected: str) -> None:
    assert repair(tags.split(), name, "discard").tags == expected.split()


def test_raise_names_the_first_and_counts_the_others() -> None:
    with pytest.raises(InputError) as error:
        convert([["O"], ["I-X", "O", "I-X"]], "IOB2", "BIOES")
    assert str(error.value) == (
        "sentence 1, token 0: expected O or B-<type> at the start of a sentence, got 'I-X' (and 1 more); "
        "repair='conlleval' reads such tags, repair='discard' drops them"
    )
    assert repair([["B-X"]], "IOB2", "raise").tags == [["B-X"]]


@pytest.mark.parametrize("policy", ["conlleval", "discard", "raise"])
def test_tags_of_no_scheme_are_errors_under_every_policy(policy: str) -> None:
    with pytest.raises(InputError, match=r"^sentence 1, token 1: "):
        repair([["I-X"], ["O", "PRP$"]], "IOB2", policy)


def test_wrong_policy() -> None:
    for tags in (["O"], ["I-X"]):
        with pytest.raises(InputError, match=r"^repair: .*'fix'"):
            repair(tags, "IOB2", "fix")


def test_summary_and_forms() -> None:
    corpus = Corpus.from_sentences([(["a", "b"], ["I-X", "O"])])
    corpus.columns["tag"].ids.flags.writeable = False
    result = repair(corpus, "IOB2", "discard")
    assert result.tags.tags == [["O", "O"]]
    assert corpus.tags == [["I-X", "O"]]
    assert result.summary == (
        "1 violations, 1 tags changed, 1 spans dropped; the first: sentence 0, token 0: expected O or B-<type> at the "
        "start of a sentence, got 'I-X'"
    )
    assert repair(["O"], "IOB2").summary == "no violations"


def test_underscores_survive_repair() -> None:
    assert repair(["I_X", "I_X", "B_Y"], "IOB2").tags == ["B_X", "I_X", "B_Y"]
    assert repair(["I_X", "I_X", "B_Y"], "IOB2", "discard").tags == ["O", "O", "B_Y"]


def test_mixed_separators_do_not_make_a_span_improper() -> None:
    assert repair(["B_X", "I-X", "O", "I-X"], "IOB2", "discard").tags == ["B-X", "I-X", "O", "O"]


def test_words_repair() -> None:
    assert repair(list("BSMEB"), "BMES-words").tags == list("SSBES")
    with pytest.raises(InputError, match=r"^sentence 0, token 0: "):
        repair(list("BSMEB"), "BMES-words", "discard")


@pytest.mark.parametrize("name", LETTERS)
def test_no_violations_means_that_writing_gives_the_same(name: str) -> None:
    for tags in product(labels_of(name), repeat=2):
        spans = tags_to_spans(list(tags), name, repair="conlleval")
        assert (not validate(list(tags), name)) == (spans_to_tags(spans, 2, scheme(name)) == list(tags))


def test_large_input_in_one_call() -> None:
    ids = np.random.default_rng(3).integers(0, 5, size=200_000).astype(np.int32)
    corpus = Corpus({"tag": Column(tuple(labels_of("IOB2")), ids)}, np.arange(0, 200_001, 20))
    assert not validate(repair(corpus, "IOB2").tags, "IOB2")
