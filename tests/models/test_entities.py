"""Entities and their probabilities, against all labellings of small chains, read by the readers' string oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.chain import ENGINES, constrain, marginals, span_probability, using_engine, viterbi
from tagline.errors import InputError, NoPathError
from tagline.evaluation import correct_spans, reliability
from tagline.models import entities
from tagline.models.answers import ChainModel
from tagline.models.crf.estimator import CRF
from tagline.models.entities import Entity, PlacedSpan, Reading, span_probabilities
from tagline.ragged import offsets_of
from tagline.readers.corpus import Corpus
from tagline.readers.raw_text import corpus_of_texts
from tagline.readers.rules import SCHEMES, legal
from tagline.types import Chain, Float64Array, IntArray
from tests.chain.cases import random_chain
from tests.chain.enumeration import AllPaths, enumerate_chain
from tests.readers.span_oracle import LETTERS, conlleval_spans, cut

# As few types and tokens as show every pair of roles, of the same and of different types.
LABELS = {
    "IO": ["I-a", "O", "I-b"],
    "IOB1": ["O", "B-a", "I-a", "B-b", "I-b"],
    "IOB2": ["B-a", "B-b", "I-a", "I-b", "O"],
    "IOE1": ["I-a", "E-a", "O", "I-b", "E-b"],
    "IOE2": ["O", "E-a", "I-a", "I-b", "E-b"],
    "BIOES": ["B-a", "O", "I-a", "E-a", "S-a", "B-b", "E-b"],
    "BILOU": ["O", "B-a", "I-a", "L-a", "U-a", "I-b"],
    "BMEWO": ["O", "B-a", "M-a", "E-a", "W-a", "E-b"],
    "BMES": ["O", "B-a", "M-a", "E-a", "S-a", "S-b"],
    "BMES-words": ["B", "M", "E", "S"],
}
UNTYPED = {"IO": ["O", "I"], "IOB2": ["I", "O", "B"], "IOE1": ["O", "I", "E"], "BIOES": ["O", "B", "I", "E", "S"]}
TOLERANCE = 1e-9


def oracle_spans(labels: Sequence[str], path: IntArray, name: str) -> list[tuple[int, int, str]]:
    letters = LETTERS["BMES" if name == "BMES-words" else name]
    tags = []
    for number in path:
        letter, kind = cut(labels[number])
        tags.append(f"{letters[letter]}-{kind}" if kind else letters[letter])
    return conlleval_spans(tags, whole=SCHEMES[name].family == "BIOES")


def all_spans(chain: Chain, labels: Sequence[str]) -> list[PlacedSpan]:
    kinds = sorted({cut(label)[1] for label in labels if label != "O"})
    return [
        (b, start, end, kind)
        for b, T in enumerate(chain.lengths.tolist())
        for start in range(T)
        for end in range(start + 1, T + 1)
        for kind in kinds
    ]


def enumerated(chain: Chain, labels: Sequence[str], name: str) -> dict[PlacedSpan, float]:
    """Σ over labellings that have the span, for each span that any labelling has."""
    sums: dict[PlacedSpan, float] = {}
    for b, every in enumerate(enumerate_chain(chain)):
        for path, p in zip(every.paths, every.probabilities.tolist(), strict=True):
            for span in oracle_spans(labels, path, name) if p else ():
                sums[b, *span] = sums.get((b, *span), 0.0) + p
    return sums


def check(chain: Chain, labels: Sequence[str], name: str) -> None:
    spans = all_spans(chain, labels)
    expected = enumerated(chain, labels, name)
    assert set(expected) <= set(spans)
    for engine in ENGINES:
        with using_engine(engine):
            found = span_probabilities(chain, labels, name, spans)
        np.testing.assert_allclose(found, [expected.get(span, 0.0) for span in spans], rtol=0, atol=TOLERANCE)


def obeying(chain: Chain, labels: Sequence[str], name: str) -> Chain:
    rules = legal(labels, name)
    return constrain(chain, transitions=rules.transitions, start=rules.start, end=rules.end)


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("rules", [False, True], ids=["free", "rules"])
def test_every_span_of_every_scheme(name: str, rules: bool, dtype: str) -> None:
    assert set(LABELS) == set(SCHEMES)
    labels = LABELS[name]
    longest = 5 if len(labels) < 7 else 4
    chain = random_chain(np.random.default_rng(7), len(labels), [longest, 0, 1, 2], dtype=dtype).chain
    check(obeying(chain, labels, name) if rules else chain, labels, name)


@pytest.mark.parametrize("name", UNTYPED)
def test_tags_without_types(name: str) -> None:
    """O has no type either, and is never part of a span."""
    chain = random_chain(np.random.default_rng(5), len(UNTYPED[name]), [4, 1]).chain
    check(chain, UNTYPED[name], name)


def test_labels_of_one_type_under_two_separators() -> None:
    labels = ["O", "B-a", "B_a", "I-a", "I_a"]
    chain = random_chain(np.random.default_rng(3), 5, [3]).chain
    spans = all_spans(chain, labels)
    joined = [label.replace("_", "-") for label in labels]
    expected = enumerated(chain, joined, "IOB2")
    found = span_probabilities(chain, labels, "IOB2", all_spans(chain, joined))
    np.testing.assert_allclose(found, [expected[span] for span in spans if span[3] == "a"], rtol=0, atol=TOLERANCE)


@given(
    name=st.sampled_from(sorted(LABELS)),
    lengths=st.lists(st.integers(0, 3), max_size=3),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["integers", "reals", "wide", "huge", "huge reals", "zeros"]),
    forbidden=st.sampled_from([0.0, 0.4]),
    per_position=st.booleans(),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_every_span_of_any_chain(
    name: str, lengths: list[int], seed: int, kind: str, forbidden: float, per_position: bool, dtype: str
) -> None:
    chain = random_chain(
        np.random.default_rng(seed),
        len(LABELS[name]),
        lengths,
        kind=kind,
        dtype=dtype,
        forbidden=forbidden,
        per_position=per_position,
    ).chain
    check(chain, LABELS[name], name)


def test_every_engine_gives_the_same(engine: ModuleType) -> None:
    chain = random_chain(np.random.default_rng(1), 5, [3, 0, 2], forbidden=0.2).chain
    with using_engine(engine.__name__.rpartition(".")[2]):
        check(chain, LABELS["IOB1"], "IOB1")


@pytest.mark.parametrize("name", ["IOB2", "IOE1", "BILOU", "BMES-words"])
@pytest.mark.parametrize("per_position", [False, True])
def test_spans_over_a_token_sum_to_its_marginals(name: str, per_position: bool) -> None:
    """A token is in one span of a type at most, and in one just where its label has the type: longer sentences."""
    labels = LABELS[name]
    chain = random_chain(np.random.default_rng(11), len(labels), [14, 1, 9], per_position=per_position).chain
    spans = all_spans(chain, labels)
    p = span_probabilities(chain, labels, name, spans)
    nodes = marginals(chain).nodes
    for kind in {cut(label)[1] for label in labels if label != "O"}:
        cover = np.zeros(chain.num_tokens)
        for (b, start, end, this), probability in zip(spans, p, strict=True):
            if this == kind:
                cover[chain.offsets[b] + start : chain.offsets[b] + end] += probability
        of_kind = [label != "O" and cut(label)[1] == kind for label in labels]
        np.testing.assert_allclose(cover, nodes[:, of_kind].sum(axis=1), rtol=0, atol=TOLERANCE)


def test_proper_bioes_is_one_query_to_the_engine() -> None:
    labels = LABELS["BIOES"]
    chain = obeying(random_chain(np.random.default_rng(2), len(labels), [9, 6]).chain, labels, "BIOES")
    first, inner, last, alone = (labels.index(f"{letter}-a") for letter in "BIES")
    queries = [
        (0, 2, [first, inner, inner, last]),
        (1, 0, [alone]),
        (1, 4, [first, last]),
        (0, 0, [first, *[inner] * 7, last]),
    ]
    spans = [(b, start, start + len(sets), "a") for b, start, sets in queries]
    expected = span_probability(chain, queries)
    np.testing.assert_allclose(span_probabilities(chain, labels, "BIOES", spans), expected, rtol=0, atol=TOLERANCE)


def test_work_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = random_chain(np.random.default_rng(4), 5, [5, 3, 4]).chain
    spans = all_spans(chain, LABELS["IOB2"])
    whole = span_probabilities(chain, LABELS["IOB2"], "IOB2", spans)
    for cells in (1, 50):
        monkeypatch.setattr(entities, "MOST_CELLS", cells)
        assert span_probabilities(chain, LABELS["IOB2"], "IOB2", spans).tolist() == whole.tolist()


CHAIN = Chain(np.zeros((4, 3)), np.zeros((3, 3)), offsets=[0, 3, 4])
IOB = ["O", "B-a", "I-a"]

WRONG_SPANS: dict[str, Any] = {
    "no such sentence": (2, 0, 1, "a"),
    "negative sentence": (-1, 0, 1, "a"),
    "past the end": (1, 0, 2, "a"),
    "before the start": (0, -1, 1, "a"),
    "no tokens": (0, 1, 1, "a"),
    "no such type": (0, 0, 1, "b"),
    "too short": (0, 1, "a"),
}


@pytest.mark.parametrize("case", WRONG_SPANS)
def test_wrong_spans(case: str) -> None:
    with pytest.raises(InputError, match=r"^spans\[1\]: "):
        span_probabilities(CHAIN, IOB, "IOB2", [(0, 0, 1, "a"), WRONG_SPANS[case]])


def test_wrong_labels() -> None:
    with pytest.raises(InputError, match=r"^labels: "):
        span_probabilities(CHAIN, ["O", "B-a"], "IOB2", [])
    with pytest.raises(InputError, match=r"^labels\[1\]: "):
        span_probabilities(CHAIN, IOB, "IO", [])
    with pytest.raises(InputError, match=r"^labels: .*'NN'"):
        span_probabilities(CHAIN, ["NN", "VB", "DT"], None, [])


def test_a_sentence_without_a_path_is_named() -> None:
    chain = Chain([[0.0] * 3, [-np.inf] * 3], np.zeros((3, 3)), offsets=[0, 1, 2])
    assert span_probabilities(chain, IOB, "IOB2", [(0, 0, 1, "a")]).tolist() == pytest.approx([2 / 3])
    with pytest.raises(NoPathError, match=r"^sentence 1: "):
        span_probabilities(chain, IOB, "IOB2", [(0, 0, 1, "a"), (1, 0, 1, "a")])


def test_no_spans() -> None:
    assert span_probabilities(CHAIN, IOB, None, []).shape == (0,)
    everything_outside = Chain(np.zeros((2, 1)), np.zeros((1, 1)))
    assert span_probabilities(everything_outside, ["O"], None, []).shape == (0,)
    assert Reading.of(["O"]).types == ()


@pytest.mark.parametrize("name", LABELS)
def test_letters_tell_how_to_read(name: str) -> None:
    """Schemes that share their letters are read in the same way, so that labels alone are enough."""
    told, found = Reading.of(LABELS[name], name), Reading.of(LABELS[name])
    assert found.continues.tolist() == told.continues.tolist()
    assert found.members.tolist() == told.members.tolist()


class Fixed(ChainModel):
    """A model whose scores are given, a chain for each two sentences."""

    kind: ClassVar[str] = "fixed"

    def __init__(self, labels: list[str], scored: list[Chain]) -> None:
        self.labels_, self.scored = labels, scored

    def _chains(self, X: Any, **inputs: Any) -> Iterator[Chain]:
        assert not inputs
        return iter(self.scored)


TEXTS = ["Anna  Bell, Rome", "", "so", "O Bo!", "Ann Lee"]


def fixed_model() -> tuple[Fixed, Corpus]:
    corpus = corpus_of_texts(TEXTS)
    rng, chains = np.random.default_rng(5), []
    for first, last in ((0, 2), (2, 4), (4, 5)):
        lengths = corpus.lengths[first:last].tolist()
        chains.append(random_chain(rng, 5, lengths).chain)
    return Fixed(LABELS["IOB2"], chains), corpus


def test_predicted_spans_are_those_of_the_best_labelling() -> None:
    model, corpus = fixed_model()
    predicted = model.predict(corpus)
    found = model.predict_spans(corpus)
    assert [[(e.start, e.end, e.type) for e in row] for row in found] == [conlleval_spans(tags) for tags in predicted]
    assert sum(map(len, found)) > 4
    expected: dict[PlacedSpan, float] = {}
    done = 0
    for chain in model.scored:
        expected |= {(done + b, *rest): p for (b, *rest), p in enumerated(chain, model.labels_, "IOB2").items()}  # type: ignore[misc]
        done += chain.num_sentences
    for b, row in enumerate(found):
        for e in row:
            assert e.probability == pytest.approx(expected[b, e.start, e.end, e.type], abs=TOLERANCE)


@pytest.mark.parametrize(
    "given_as", [lambda corpus: corpus, list, iter], ids=["a corpus", "a list of sentences", "a generator"]
)
def test_texts_are_kept(given_as: Callable[[Corpus], Any]) -> None:
    model, corpus = fixed_model()
    found = model.predict_spans(given_as(corpus))
    for b, row in enumerate(found):
        for e in row:
            spans = corpus[b].spans
            assert spans is not None
            assert (e.char_start, e.char_end) == (spans[e.start][0], spans[e.end - 1][1])
            assert e.text == TEXTS[b][e.char_start : e.char_end]
    assert any(e.end - e.start > 1 for row in found for e in row)


@pytest.mark.parametrize("given_as", [lambda corpus: corpus, list], ids=["a corpus", "a list of sentences"])
def test_tokens_alone_have_no_text(given_as: Callable[[Corpus], Any]) -> None:
    model, corpus = fixed_model()
    for X in (given_as(Corpus(corpus.columns, corpus.offsets)), corpus.tokens):
        found = [e for row in model.predict_spans(X) for e in row]
        assert found
        assert all((e.text, e.char_start, e.char_end) == (None, None, None) for e in found)


def test_improbable_spans_are_left_out() -> None:
    model, corpus = fixed_model()
    everything = model.predict_spans(corpus)
    limit = sorted(e.probability for row in everything for e in row)[2]
    kept = model.predict_spans(corpus, min_probability=limit)
    assert kept == [[e for e in row if e.probability >= limit] for row in everything]
    for wrong in (-0.1, 1.5, float("nan")):
        with pytest.raises(InputError, match=r"^min_probability: "):
            model.predict_spans(corpus, min_probability=wrong)


def test_known_labels_make_a_span_certain() -> None:
    model, corpus = fixed_model()
    known: list[list[str | None] | None] = [None] * 4 + [["B-b", "I-b"]]
    assert model.predict_spans(corpus, known=known)[4] == [Entity(0, 2, "b", 1.0, "Ann Lee", 0, 7)]


def test_labels_without_spans_are_refused() -> None:
    model = Fixed(["DT", "NN", "O"], [])
    with pytest.raises(
        InputError,
        match=r"^labels: .*predict_marginals",
    ):
        model.predict_spans([])


def test_probabilities_go_with_the_calibration_of_spans() -> None:
    model, corpus = fixed_model()
    predicted = model.predict(corpus)
    gold = [["O"] * len(tags) if b % 2 else tags for b, tags in enumerate(predicted)]
    confidence = [e.probability for row in model.predict_spans(corpus) for e in row]
    found = reliability(confidence, correct_spans(gold, predicted), bins=1)
    assert found.num_answers == len(confidence)
    assert found.confidence.tolist() == pytest.approx([float(np.mean(confidence))])


SENTENCES = [["Anna", "Bell", "sings"], ["in", "Rome"], ["Rome", "sings", "in", "Bell"], ["Anna"]]
TAGS = [["B-PER", "I-PER", "O"], ["O", "B-LOC"], ["B-LOC", "O", "O", "B-PER"], ["B-PER"]]


@pytest.mark.parametrize(("scheme", "used"), [(None, None), ("auto", "IOB2"), ("IOB2", "IOB2")])
def test_a_feature_crf(scheme: str | None, used: str | None) -> None:
    X = [[{"word": word} for word in words] for words in SENTENCES]
    model = CRF(c2=0.5, scheme=scheme).fit(X, TAGS)
    assert model.scheme_name == used
    chains = list(model.chains(X))
    assert len(chains) == 1
    expected = enumerated(chains[0], model.labels_, "IOB2")
    found = model.predict_spans(X)
    assert [[(e.start, e.end, e.type) for e in row] for row in found] == [conlleval_spans(tags) for tags in TAGS]
    for b, row in enumerate(found):
        for e in row:
            assert 0.2 < e.probability < 1
            assert e.probability == pytest.approx(expected[b, e.start, e.end, e.type], abs=TOLERANCE)


def best_spans(every: AllPaths, labels: Sequence[str], name: str) -> list[tuple[int, int, str]]:
    return oracle_spans(labels, every.paths[every.ranking[0]], name)


@pytest.mark.parametrize("name", LABELS)
def test_spans_of_the_best_labelling_by_each_scheme(name: str) -> None:
    labels = LABELS[name]
    chain = random_chain(np.random.default_rng(6), len(labels), [4, 3, 3]).chain
    reading = Reading.of(labels, name)
    found = reading.spans(viterbi(chain).labels, chain.offsets).to_lists(3)
    assert found == [best_spans(every, labels, name) for every in enumerate_chain(chain)]


@pytest.mark.parametrize("name", LABELS)
@given(data=st.data())
def test_the_core_finds_the_spans_of_any_labels(name: str, data: st.DataObject) -> None:
    """Whether the scheme allows them or not, and in sentences of any length."""
    reading = Reading.of(LABELS[name], name)
    rows = data.draw(st.lists(st.lists(st.integers(0, len(LABELS[name]) - 1), max_size=6), max_size=4))
    labels, offsets = np.array([n for row in rows for n in row], np.int64), offsets_of([len(row) for row in rows])
    spans = reading.spans(labels, offsets)
    expected = [spans.sentence, spans.start, spans.end, spans.numbered(reading.types)]
    with using_engine("native"):
        np.testing.assert_array_equal(reading.placed(labels, offsets), expected)
    with using_engine("naive"):
        np.testing.assert_array_equal(reading.placed(labels, offsets), expected)


def test_labels_that_there_are_not_are_refused() -> None:
    reading, offsets = Reading.of(IOB), np.array([0, 2])
    for labels in ([0, 3], [-1, 0]):
        with using_engine("native"), pytest.raises(ValueError, match=r"^labels: "):
            reading.placed(np.array(labels), offsets)


def test_a_long_span_in_a_long_sentence() -> None:
    """2,000 tokens, certain and even: no underflow, no drift."""
    T = 2000
    even = Chain(np.zeros((T, 2)), np.zeros((2, 2)))  # every labelling has the probability 2^-T
    p: Float64Array = span_probabilities(even, ["O", "I"], "IO", [(0, 0, 20, ""), (0, 990, 1001, ""), (0, 0, T, "")])
    np.testing.assert_allclose(p[:2], [2.0**-21, 2.0**-13], rtol=1e-9, atol=0)
    assert p[2] == pytest.approx(0.0, abs=1e-300)
    sure = Chain(np.tile([0.0, 50.0], (T, 1)), np.zeros((2, 2)))
    assert span_probabilities(sure, ["O", "I"], "IO", [(0, 0, T, "")])[0] == pytest.approx(1.0, abs=TOLERANCE)
