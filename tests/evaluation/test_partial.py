"""The partial view and the error analysis against comparing every span with every other."""

from __future__ import annotations

import pytest
from hypothesis import given

from tagline.errors import InputError
from tagline.evaluation.mistakes import KINDS, FoundSpan, find_mistakes
from tagline.evaluation.partial import PartialScore, evaluate_partial
from tagline.evaluation.span_scores import evaluate_spans
from tagline.readers.corpus import Corpus

from .cases import TagLists, pairs
from .oracles import chunks

Chunk = tuple[int, int, str]

MATCHES = {
    "exact": lambda a, b: a == b,
    "boundary": lambda a, b: a[:2] == b[:2],
    "type": lambda a, b: overlap(a, b) and a[2] == b[2],
    "overlap": lambda a, b: overlap(a, b),
}


def overlap(a: Chunk, b: Chunk) -> bool:
    return bool(set(range(a[0], a[1])) & set(range(b[0], b[1])))


def kind(one: Chunk, others: set[Chunk]) -> str:
    """The class of a span, from the definition."""
    if one in others:
        return "correct"
    if any(one[:2] == other[:2] for other in others):
        return "type"
    near = [other for other in others if overlap(one, other)]
    if any(one[2] == other[2] for other in near):
        return "boundary"
    return "both" if near else "alone"


@given(pairs(letters="BI"))
def test_views_compare_every_span_with_every_other(pair: tuple[TagLists, TagLists]) -> None:
    sides = [[chunks(tags) for tags in side] for side in pair]
    found = dict(evaluate_partial(*pair))
    for name, match in MATCHES.items():
        matched_gold = sum(any(match(g, p) for p in ps) for gs, ps in zip(*sides, strict=True) for g in gs)
        matched_found = sum(any(match(g, p) for g in gs) for gs, ps in zip(*sides, strict=True) for p in ps)
        total = [sum(map(len, side)) for side in sides]
        assert found[name] == PartialScore(matched_found, total[1], matched_gold, total[0]), name
    overall = evaluate_spans(*pair).overall
    assert found["exact"].matched_found == found["exact"].matched_gold == overall.correct
    assert found["exact"].f1 == pytest.approx(overall.f1, abs=1e-15)


@given(pairs(letters="BI"))
def test_each_span_is_in_one_class(pair: tuple[TagLists, TagLists]) -> None:
    sides = [[chunks(tags) for tags in side] for side in pair]
    found = find_mistakes(*pair, examples=1000)
    gold = [kind(g, ps) for gs, ps in zip(*sides, strict=True) for g in gs]
    predicted = [kind(p, gs) for gs, ps in zip(*sides, strict=True) for p in ps]
    for counts, kinds, alone in ((found.gold, gold, "missed"), (found.predicted, predicted, "spurious")):
        assert counts == {name: kinds.count(name if name != alone else "alone") for name in counts}
        assert sum(counts.values()) == len(kinds)
    assert sum(count for *_, count in found.types) == found.gold["type"] == found.predicted["type"]
    for name in KINDS:
        side = found.predicted if name == "spurious" else found.gold
        assert len(found.examples[name]) == side[name]
        for example in found.examples[name]:
            b = example.sentence
            assert example.kind == name
            assert (example.gold is None) == (name == "spurious")
            assert (example.predicted is None) == (name == "missed")
            assert example.gold is None or tuple(example.gold) in sides[0][b]
            assert example.predicted is None or tuple(example.predicted) in sides[1][b]
            if example.gold and example.predicted:
                assert kind(example.gold, {example.predicted}) == name


GOLD = [["B-PER", "I-PER", "O", "B-LOC", "B-ORG", "O", "B-LOC"]]
GUESS = [["B-PER", "O", "B-ORG", "B-ORG", "B-LOC", "I-LOC", "O"]]
WORDS = [["Anna", "Berg", "sings", "Berlin", "Siemens", "in", "Rome"]]


def test_examples_in_words() -> None:
    found = find_mistakes(GOLD, GUESS, tokens=WORDS)
    assert found.gold == {"correct": 0, "type": 1, "boundary": 1, "both": 1, "missed": 1}
    assert found.predicted == {"correct": 0, "type": 1, "boundary": 1, "both": 1, "spurious": 1}
    assert found.types == (("LOC", "ORG", 1),)
    assert found.examples["boundary"][0].gold == FoundSpan(0, 2, "PER")
    assert found.text() == (
        "spans        gold  predicted\n"
        "correct         0          0\n"
        "type            1          1\n"
        "boundary        1          1\n"
        "both            1          1\n"
        "missed          1          –\n"
        "spurious        –          1\n"
        "type:\n"
        '  sentence 0: LOC "Berlin" found as ORG "Berlin"\n'
        "boundary:\n"
        '  sentence 0: PER "Anna Berg" found as PER "Anna"\n'
        "both:\n"
        '  sentence 0: ORG "Siemens" found as LOC "Siemens in"\n'
        "missed:\n"
        '  sentence 0: LOC "Rome" missed\n'
        "spurious:\n"
        '  sentence 0: ORG "sings" is nothing in gold\n'
    )


def test_tokens_come_from_a_corpus_and_examples_are_bounded() -> None:
    corpus = Corpus.from_sentences(zip(WORDS * 9, GOLD * 9, strict=True))
    found = find_mistakes(corpus, GUESS * 9, examples=2)
    assert [example.sentence for example in found.examples["missed"]] == [0, 1]
    assert found.examples["missed"][0].tokens == tuple(WORDS[0])
    assert found.gold["missed"] == 9
    assert find_mistakes(GOLD, GUESS).examples["missed"][0].text() == "sentence 0: LOC 6–7 missed"
    with pytest.raises(InputError, match=r"^tokens: "):
        find_mistakes(GOLD, GUESS, tokens=[["Anna"]])


def test_a_span_in_pieces_is_shown_with_its_first() -> None:
    found = find_mistakes([["B-A", "I-A", "I-A", "I-A"]], [["B-A", "O", "B-A", "B-A"]])
    assert (found.gold["boundary"], found.predicted["boundary"]) == (1, 3)
    assert found.examples["boundary"][0].predicted == FoundSpan(0, 1, "A")


def test_partial_text() -> None:
    assert evaluate_partial(GOLD, GUESS).text() == (
        "match      precision   recall      F1\n"
        "exact          0.00%    0.00%    0.00\n"
        "boundary      25.00%   25.00%   25.00\n"
        "type          25.00%   25.00%   25.00\n"
        "overlap       75.00%   75.00%   75.00\n"
    )
