"""Spans are those of conlleval, and in strict mode those of seqeval, on whatever tags are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval import scheme as seqeval_schemes

from tagline.errors import InputError
from tagline.readers.corpus import Column
from tagline.readers.spans import SpanArray, find_spans
from tests.profiles import examples
from tests.readers.span_oracle import LETTERS, Span, conlleval_counts, conlleval_spans

TYPES = ("X", "Y", "")


def tags_in(letters: str) -> st.SearchStrategy[str]:
    inside = [letter + (f"-{kind}" if kind else "") for letter in letters if letter != "O" for kind in TYPES]
    return st.sampled_from([*inside, *["O"] * (len(inside) // 4 + 1)])


def corpora(letters: str, longest: int = 12) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(st.lists(tags_in(letters), max_size=longest), max_size=6)


def spans_of(sentences: list[list[str]], rule: str) -> list[list[Span]]:
    found = read(sentences, rule)
    return found.to_lists(len(sentences))


def read(sentences: list[list[str]], rule: str) -> SpanArray:
    column = Column.of(tag for tags in sentences for tag in tags)
    return find_spans(column, np.cumsum([0, *map(len, sentences)]), rule)


def in_bioes(tags: list[str], name: str) -> list[str]:
    return [LETTERS[name][tag[0]] + tag[1:] for tag in tags]


@examples(1000)
@given(corpora("OBIE"))
def test_conlleval_reads_what_the_script_reads(sentences: list[list[str]]) -> None:
    assert spans_of(sentences, "conlleval") == [conlleval_spans(tags) for tags in sentences]


@examples(500)
@given(
    st.lists(st.lists(st.sampled_from([letter + kind for letter in "BIESULMW" for kind in ("-X", "-Y")] + ["O"] * 5)))
)
def test_conlleval_reads_letters_that_the_script_does_not_know(sentences: list[list[str]]) -> None:
    assert spans_of(sentences, "conlleval") == [conlleval_spans(tags) for tags in sentences]


@pytest.mark.parametrize("name", LETTERS)
@given(data=st.data())
def test_conlleval_in_the_letters_of_a_scheme(name: str, data: st.DataObject) -> None:
    sentences = data.draw(corpora("".join(LETTERS[name])))
    whole = "S" in LETTERS[name].values()
    expected = [conlleval_spans(in_bioes(tags, name), whole) for tags in sentences]
    assert spans_of(sentences, f"conlleval:{name}") == expected


@examples(500)
@given(st.lists(st.lists(st.tuples(tags_in("OBIE"), tags_in("OBIE")), max_size=8), max_size=4))
def test_matches_are_counted_as_the_script_counts(pairs: list[list[tuple[str, str]]]) -> None:
    gold, guess = ([[pair[side] for pair in sentence] for sentence in pairs] for side in (0, 1))
    golden, guessed = read(gold, "conlleval"), read(guess, "conlleval")
    correct, num_guessed, num_golden = conlleval_counts(gold, guess)
    assert (int(guessed.found_in(golden).sum()), len(guessed), len(golden)) == (correct, num_guessed, num_golden)
    assert int(golden.found_in(guessed).sum()) == correct


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-X E-X B-X E-X", [(0, 4, "X")]),  # the script's own: B after E of the same type starts nothing
        ("B-X E-X B-Y E-Y", [(0, 2, "X"), (2, 4, "Y")]),
        ("I-X I-X B-X I-Y", [(0, 2, "X"), (2, 3, "X"), (3, 4, "Y")]),
        ("B I O B B", [(0, 2, ""), (3, 4, ""), (4, 5, "")]),
        ("B I-X I", [(0, 1, ""), (1, 2, "X"), (2, 3, "")]),
        ("E E I E", [(0, 1, ""), (1, 2, ""), (2, 4, "")]),
        (". [ . [ [ .", [(1, 2, ""), (3, 4, ""), (4, 5, "")]),
        ("] . ]-X .", [(0, 1, ""), (2, 3, "X")]),
        ("] ] . [ [", [(0, 1, ""), (1, 2, ""), (3, 4, ""), (4, 5, "")]),
        ("] B-X [ B I", [(0, 1, ""), (1, 2, "X"), (2, 3, "")]),
        ("S-X S-X S-Y B-Y O", [(0, 2, "X"), (2, 4, "Y")]),
    ],
)
def test_conlleval_by_hand(tags: str, expected: list[Span]) -> None:
    assert spans_of([tags.split()], "conlleval") == [expected]


def test_bioes_said_aloud_parts_spans_that_touch() -> None:
    tags = ["B-X", "E-X", "B-X", "I-X", "E-X", "S-X", "S-X"]
    assert spans_of([tags], "conlleval:BIOES") == [[(0, 2, "X"), (2, 5, "X"), (5, 6, "X"), (6, 7, "X")]]


STRICT = {"IOB1": "IOB1", "IOB2": "IOB2", "IOE1": "IOE1", "IOE2": "IOE2", "BIOES": "IOBES", "BILOU": "BILOU"}


def seqeval_spans(tags: list[str], name: str) -> list[Span]:
    """The entities of seqeval's strict mode, whose name for no type is ``_``."""
    tokens = seqeval_schemes.Tokens(tags, getattr(seqeval_schemes, STRICT[name]))
    return [(entity.start, entity.end, entity.tag.replace("_", "")) for entity in tokens.entities]


@pytest.mark.parametrize("name", STRICT)
@examples(400)
@given(data=st.data())
def test_strict_reads_what_seqeval_reads(name: str, data: st.DataObject) -> None:
    sentences = data.draw(corpora("".join(LETTERS[name])))
    assert spans_of(sentences, f"strict:{name}") == [seqeval_spans(tags, name) for tags in sentences]


@pytest.mark.parametrize("name", STRICT)
def test_strict_reads_what_seqeval_reads_in_thousands_of_sentences(name: str) -> None:
    rng = np.random.default_rng(3)
    tags = ["O", *(f"{letter}-{kind}" for letter in LETTERS[name] if letter != "O" for kind in "XY")]
    sentences = [[tags[k] for k in rng.integers(len(tags), size=rng.integers(12))] for _ in range(3000)]
    assert spans_of(sentences, f"strict:{name}") == [seqeval_spans(sentence, name) for sentence in sentences]


@pytest.mark.parametrize("name", ["BMEWO", "BMES"])
@given(data=st.data())
def test_strict_in_other_letters(name: str, data: st.DataObject) -> None:
    sentences = data.draw(corpora("".join(LETTERS[name])))
    assert spans_of(sentences, f"strict:{name}") == [seqeval_spans(in_bioes(tags, name), "BIOES") for tags in sentences]


@given(corpora("OI"))
def test_strict_io_is_every_run_of_a_type(sentences: list[list[str]]) -> None:
    assert spans_of(sentences, "strict:IO") == spans_of(sentences, "conlleval:IO")


@pytest.mark.parametrize("rule", ["conlleval", "conlleval:IOB2", "strict:IOB2", "strict:BIOES"])
def test_empty_input(rule: str) -> None:
    for offsets in ([0], [0, 0], [0, 0, 0]):
        spans = find_spans(Column.of([]), np.array(offsets), rule)
        assert len(spans) == 0
        assert spans.to_lists(len(offsets) - 1) == [[]] * (len(offsets) - 1)
        assert spans.found_in(spans).tolist() == []


def test_types_of_the_arrays_and_labels_in_use_only() -> None:
    spans = read([["O", "B-X"], [], ["B-Y", "O", "B-X"]], "conlleval")
    assert [array.dtype for array in (spans.sentence, spans.start, spans.end, spans.label)] == ["i8", "i8", "i8", "i4"]
    assert spans.labels == ("X", "Y")
    assert spans.sentence.tolist() == [0, 2, 2]
    assert read([["O"]], "conlleval").labels == ()


def test_found_in_compares_names_not_numbers() -> None:
    one, other = read([["B-X", "B-Y", "B-Z"]], "conlleval"), read([["B-Y", "B-Y", "B-X"]], "conlleval")
    assert one.found_in(other).tolist() == [False, True, False]
    assert one.found_in(read([["O", "O", "O"]], "conlleval")).tolist() == [False] * 3
    assert read([[], ["B-X"]], "conlleval").found_in(read([["B-X"], []], "conlleval")).tolist() == [False]
    assert read([["B-X", "I-X"]], "conlleval").found_in(read([["B-X", "O"]], "conlleval")).tolist() == [False]


def test_the_column_is_left_alone() -> None:
    column, offsets = Column.of(["B-X", "I-Y"]), np.array([0, 2])
    column.ids.flags.writeable = offsets.flags.writeable = False
    assert len(find_spans(column, offsets, "conlleval")) == 2
    assert len(find_spans(column, offsets, "strict:IOB2")) == 1


@pytest.mark.parametrize("tag", ["NN", "PRP$", "BPER", "X-PER", "", "B-", "O-PER", "b-PER"])
@pytest.mark.parametrize("rule", ["conlleval", "conlleval:IOB2", "strict:IOB2"])
def test_other_tags_are_errors_with_their_place(tag: str, rule: str) -> None:
    name = "conlleval" if rule == "conlleval" else "IOB2"
    with pytest.raises(InputError, match=rf"^sentence 2, token 1: .*\b{name}\b") as error:
        read([["O", "O"], [], ["B-X", tag]], rule)
    assert f"{tag!r}" in str(error.value)


def test_a_strange_tag_that_no_token_has_is_no_error() -> None:
    assert len(find_spans(Column(("NN", "B-X"), np.array([1], np.int32)), np.array([0, 1]), "conlleval")) == 1


@pytest.mark.parametrize("rule", ["strict", "strict:", "conlleval:", "lenient", "", 3])
def test_wrong_rules(rule: object) -> None:
    with pytest.raises(InputError, match=r"^rule: "):
        find_spans(Column.of(["O"]), np.array([0, 1]), rule)  # type: ignore[arg-type]


@pytest.mark.parametrize("offsets", [[], [0], [0, 2], [1, 3], [0, 2, 1, 3], [0, 4], [[0, 3]]])
def test_wrong_offsets(offsets: list[int]) -> None:
    with pytest.raises(InputError, match=r"^offsets: "):
        find_spans(Column.of(["O", "B-X", "O"]), np.array(offsets), "conlleval")


def test_wrong_schemes_in_rules() -> None:
    with pytest.raises(InputError, match=r"^scheme: .*'IOB3'"):
        find_spans(Column.of(["O"]), np.array([0, 1]), "strict:IOB3")
