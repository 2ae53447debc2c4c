"""Span scores against the script's definition, against seqeval's strict mode, and the promises of the door."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given

from tagline.errors import InputError
from tagline.evaluation import rule_for_labels
from tagline.evaluation.scores import Score
from tagline.evaluation.span_scores import correct_spans, evaluate_spans
from tagline.readers.corpus import Column, Corpus
from tagline.readers.schemes import convert, repair

from .cases import TagLists, pairs, random_pair
from .oracles import Tally, chunks

GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG"]]
GUESS = [["B-PER", "I-PER", "O", "B-ORG"], ["B-ORG", "I-ORG"]]


@given(pairs(letters="BIE"))
def test_text_is_that_of_the_script(pair: tuple[TagLists, TagLists]) -> None:
    assert evaluate_spans(*pair, "conlleval").text() == Tally().run(*pair).text()


@pytest.mark.parametrize("letters", ["BI", "IE", "BIE", "BIES", "BILU", "BMEW"])
def test_text_is_that_of_the_script_on_many_sequences(letters: str) -> None:
    pair = random_pair(seed=1, sentences=3_000, letters=letters, types=("A", "B-1", "long name of a type!"))
    expected = Tally().run(*pair)
    found = evaluate_spans(*pair, "conlleval")
    assert found.text() == expected.text()
    assert 0 < found.overall.correct < found.overall.gold  # the draw is neither all right nor all wrong


@given(pairs(letters="BIE"))
def test_counts_are_set_intersections(pair: tuple[TagLists, TagLists]) -> None:
    gold, predicted = ([chunks(tags) for tags in side] for side in pair)
    correct = sum(len(one & two) for one, two in zip(gold, predicted, strict=True))
    found = evaluate_spans(*pair, "conlleval").overall
    assert found == Score(correct, sum(map(len, predicted)), sum(map(len, gold)))
    assert correct_spans(*pair, "conlleval").sum() == correct


@pytest.mark.parametrize("scheme", ["BIOES", "BILOU", "BMES"])
def test_a_proper_sequence_scores_as_it_does_in_iob2(scheme: str) -> None:
    pair = [
        convert(repair(side, "IOB2").tags, "IOB2", "IOB2") for side in random_pair(seed=4, sentences=300, letters="BI")
    ]
    found = evaluate_spans(*(convert(side, "IOB2", scheme) for side in pair))
    assert found.rule == f"conlleval:{scheme}"
    expected = evaluate_spans(*pair)
    assert (found.by_type, expected.rule) == (expected.by_type, "conlleval")
    assert 0 < found.overall.correct < found.overall.gold


def test_touching_spans_stay_two_whether_or_not_an_s_occurs() -> None:
    tags = [["B-X", "E-X", "B-X", "E-X"]]
    assert evaluate_spans(tags, tags).overall == Score(2, 2, 2)
    assert evaluate_spans(tags, tags).rule == "conlleval:BIOES"
    more = [*tags, ["S-X"]]
    assert evaluate_spans(more, more).overall == Score(3, 3, 3)
    assert evaluate_spans(tags, tags, "conlleval").overall == Score(1, 1, 1)  # the script, to the letter
    assert evaluate_spans(more, more, "conlleval").overall == Score(2, 2, 2)


@given(pairs(letters="BIES"))
def test_a_sentence_adds_its_own_spans_only(pair: tuple[TagLists, TagLists]) -> None:
    """Whatever letters it brings: the rule is that of the scheme, and no accident of the data."""
    gold, predicted = pair
    alone = evaluate_spans([*gold, ["O"]], [*predicted, ["O"]]).overall
    for tag in ("S-LOC", "B-LOC", "E-LOC"):
        more = evaluate_spans([*gold, [tag]], [*predicted, [tag]]).overall
        assert more == Score(alone.correct + 1, alone.found + 1, alone.gold + 1)


@pytest.mark.parametrize(
    ("tags", "rule"),
    [
        (["B-X", "I-X"], "conlleval"),
        (["I-X", "E-X"], "conlleval"),
        (["B-X", "E-X"], "conlleval:BIOES"),
        (["U-X", "O"], "conlleval:BILOU"),
        (["[", "B-X", "E-X"], "conlleval"),  # brackets are the script's alone
        (["B", "E-X"], "conlleval:BIOES"),
        (["O"], "conlleval"),
    ],
)
def test_the_rule_is_that_of_the_scheme(tags: list[str], rule: str) -> None:
    assert evaluate_spans([tags], [tags]).rule == rule


@pytest.mark.parametrize("tag", ["S", "U", "L", "M", "W"])
def test_the_script_cannot_read_its_unknown_letters_without_a_type(tag: str) -> None:
    with pytest.raises(InputError, match=r"^rule conlleval: "):
        evaluate_spans([[tag]], [["O"]], "conlleval")


@pytest.mark.parametrize(
    ("scheme", "letters"),
    [("IOB1", "BI"), ("IOB2", "BI"), ("IOE1", "IE"), ("IOE2", "IE"), ("IOBES", "BIES"), ("BILOU", "BILU")],
)
def test_strict_rules_are_those_of_seqeval(scheme: str, letters: str) -> None:
    from seqeval import scheme as seqeval

    gold, predicted = random_pair(seed=2, sentences=3_000, letters=letters)
    found = evaluate_spans(gold, predicted, f"strict:{scheme}")
    one, two = (seqeval.Entities(side, getattr(seqeval, scheme)) for side in (gold, predicted))
    for name, score in found.by_type.items():
        mine, theirs = one.filter(name), two.filter(name)
        assert score == Score(len(mine & theirs), len(theirs), len(mine)), name
    assert set(found.by_type) == one.unique_tags | two.unique_tags
    assert 0 < found.overall.correct < found.overall.found


def test_scores_are_those_of_seqeval() -> None:
    from seqeval import metrics
    from seqeval.scheme import IOB2

    pair = random_pair(seed=3, sentences=500, letters="BI")
    found = evaluate_spans(*pair, "strict:IOB2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for average, f1 in (("micro", found.f1), ("macro", found.macro_f1)):
            assert f1 == pytest.approx(metrics.f1_score(*pair, mode="strict", scheme=IOB2, average=average), abs=1e-12)
        assert found.accuracy == metrics.accuracy_score(*pair)


def test_every_kind_of_input_gives_the_same() -> None:
    offsets = np.array([0, 4, 6])
    tags = Column.of(tag for sentence in GOLD for tag in sentence)
    guesses = Column.of(tag for sentence in GUESS for tag in sentence)
    words = [[f"w{n}" for n in range(len(sentence))] for sentence in GOLD]
    corpus = Corpus.from_sentences(zip(words, GOLD, strict=True))
    expected = evaluate_spans(GOLD, GUESS)
    assert expected.overall == Score(1, 3, 3)
    assert evaluate_spans(tags, guesses, offsets=offsets) == expected
    assert evaluate_spans(corpus, Corpus.from_sentences(zip(words, GUESS, strict=True))) == expected
    assert evaluate_spans(corpus, guesses) == expected
    assert evaluate_spans(tags, GUESS) == expected
    assert evaluate_spans(tuple(map(tuple, GOLD)), [np.array(tags) for tags in GUESS]) == expected  # type: ignore[arg-type]
    # As one sentence B-LOC is followed by O, and by B-ORG in the guess: nothing runs over.
    assert evaluate_spans(tags, guesses).overall == Score(1, 3, 3)


def test_sentences_keep_spans_apart() -> None:
    assert evaluate_spans([["B-A"], ["I-A"]], [["B-A"], ["I-A"]]).overall == Score(2, 2, 2)
    assert evaluate_spans([["B-A", "I-A"]], [["B-A", "I-A"]]).overall == Score(1, 1, 1)


def test_nothing_to_score() -> None:
    empty = evaluate_spans([], [])
    assert (empty.f1, empty.precision, empty.recall, empty.accuracy, empty.macro_f1) == (0, 0, 0, 0, 0)
    assert empty.text() == "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
    outside = evaluate_spans([["O", "O"]], [["O", "O"]])
    assert outside.text().splitlines()[1] == "accuracy: 100.00%; precision:   0.00%; recall:   0.00%; FB1:   0.00"
    assert evaluate_spans([["B-A"]], [["O"]]).by_type == {"A": Score(0, 0, 1)}
    assert evaluate_spans([["O"]], [["B-A"]]).by_type == {"A": Score(0, 1, 0)}


def test_untyped_phrases_are_printed_as_the_script_does() -> None:
    lines = evaluate_spans([["B", "I", "O"]], [["B", "I", "O"]]).text().splitlines()
    assert lines[2:] == ["                 : precision: 100.00%; recall: 100.00%; FB1: 100.00  1"] * 2


def test_names_are_padded_by_bytes_as_the_script_does() -> None:
    line = evaluate_spans([["B-地名"]], [["B-地名"]]).text(by_type=True).splitlines()[2]
    assert line.startswith(" " * 11 + "地名: precision: 100.00%")
    assert len(evaluate_spans(GOLD, GUESS).text(by_type=False).splitlines()) == 2


@pytest.mark.parametrize(
    ("gold", "predicted", "place"),
    [
        (
            [["O"], ["O", "O"]],
            [["O"], ["O"]],
            r"^sentence 1: ",
        ),
        ([["O"], ["O"]], [["O"]], r"^predicted: .*sentence 1"),
        ([["O"]], [["O"], ["O"]], r"^predicted: .*sentence 1"),
        ([["O"], ["O", "O"]], [["O", "O"]], r"^predicted: .*sentence 0"),
        (
            ["O", "O"],
            ["O", "O"],
            r"^gold, sentence 0: ",
        ),
        ([["O"]], [[3]], r"^predicted: "),
        ([["O"]], [[["O"]]], r"^predicted: "),
        ("O", [["O"]], r"^gold: "),
        ([["NOUN"]], [["O"]], r"^labels: .*'NOUN'"),
    ],
)
def test_wrong_input_is_named(gold: TagLists, predicted: TagLists, place: str) -> None:
    with pytest.raises(InputError, match=place):
        evaluate_spans(gold, predicted)


def test_a_corpus_names_its_line() -> None:
    tags = {"token": Column.of("abc"), "tag": Column.of("OOO")}
    gold = Corpus(tags, [0, 1, 3], source="gold.txt", lines=[1, 3])
    with pytest.raises(InputError, match=r"^gold\.txt:3: "):
        evaluate_spans(gold, [["O"], ["O"]])
    with pytest.raises(InputError, match=r"^predicted: "):
        evaluate_spans(gold, Column.of("OO"))
    with pytest.raises(InputError, match=r"^offsets: "):
        evaluate_spans(Column.of("OOO"), Column.of("OOO"), offsets=[0, 2])


def test_rules_are_carried_and_checked() -> None:
    assert evaluate_spans(GOLD, GUESS, "strict:IOB2").rule == "strict:IOB2"
    with pytest.raises(InputError, match=r"^rule: "):
        evaluate_spans(GOLD, GUESS, "lenient")


def test_arguments_are_left_as_they_were() -> None:
    column, offsets = Column.of(["B-A", "O"]), np.array([0, 1, 2])
    before = column.ids.copy()
    evaluate_spans(column, column, offsets=offsets)
    np.testing.assert_array_equal(column.ids, before)
    np.testing.assert_array_equal(offsets, [0, 1, 2])


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        ((["O", "B-PER"], ["O", "I-PER"]), "conlleval:IOB2"),
        ((["B-PER", "I-PER", "O"], ["S-PER", "E-PER"]), "conlleval:BIOES"),
        ((["B", "M", "E", "S"],), "conlleval:BMES-words"),
        ((["O"], ["O"]), "conlleval:IOB2"),
        ((["NN", "VB"], ["NN"]), None),
        ((["O", "B-PER"], ["NN"]), None),
        (([], []), None),
    ],
)
def test_the_rule_that_suits_labels(labels: tuple[list[str], ...], rule: str | None) -> None:
    assert rule_for_labels(*labels) == rule
