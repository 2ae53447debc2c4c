"""Neighbouring sentences as context: read, never scored, and never those of another document."""

from typing import Any

import numpy as np
import pytest
import torch

from tagline import BiLSTMCRF, InputError, TransformerCRF
from tagline.models.files import loads
from tagline.models.neural.contexts import with_neighbours
from tests.features.piece_cases import random_words, table
from tests.models.neural.cases import SMALL, TINY, encoder_folder, people, transformer

WORDS = [["Anna", "sings"], ["Bob"], [], ["Rain", "falls", "here"], ["Anna"], ["Bob", "runs"]]


def emissions(model: TransformerCRF, X: list[list[str]], **inputs: Any) -> np.ndarray:
    return np.concatenate([chain.emissions for chain in model.chains(X, **inputs)])


def with_context(context: int) -> TransformerCRF:
    """The weights of a network that was trained without, which reads context now."""
    model = loads(transformer().to_bytes(), device="cpu")
    assert isinstance(model, TransformerCRF)
    return model.set_params(context=context)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_read_is_the_definition(seed):
    """Token by token: sides grow in turns of what is left, within the document, the context and the room."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 6, rng.integers(1, 12))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    sizes = rng.integers(1, 4, offsets[-1])
    documents = np.cumsum(rng.random(len(lengths)) < 0.3)
    context, room = int(rng.integers(1, 12)), int(rng.integers(4, 30))
    begin, end = with_neighbours(sizes, offsets, documents, context, room)
    for b in range(len(lengths)):
        first, last = offsets[b], offsets[b + 1]
        mates = np.flatnonzero(documents == documents[b])
        low, high = offsets[mates[0]], offsets[mates[-1] + 1]
        assert max(low, first - context) <= begin[b] <= first
        assert last <= end[b] <= min(high, last + context)
        own, whole = sizes[first:last].sum(), sizes[begin[b] : end[b]].sum()
        assert whole <= max(room, own)
        # One token more does not fit on either side, or there is none.
        if begin[b] > max(low, first - context) and end[b] < min(high, last + context):
            assert whole + min(sizes[begin[b] - 1], sizes[end[b]]) > room or whole + sizes[end[b]] > room
        elif end[b] < min(high, last + context):
            assert whole + sizes[end[b]] > room


@pytest.mark.parametrize("seed", range(5))
def test_a_narrowed_batch_has_the_places_of_the_own_words_alone(seed):
    rng = np.random.default_rng(seed)
    pieces = table("wordpiece").pieces(random_words(seed, 40))
    rows = [rng.integers(0, 40, rng.integers(1, 9)) for _ in range(6)]
    before = np.array([rng.integers(0, len(row)) for row in rows])
    lengths = np.array([rng.integers(0, len(row) - cut + 1) for row, cut in zip(rows, before, strict=True)])
    whole = pieces.batch(rows)
    part = whole.narrowed(before, lengths)
    assert part.lengths.tolist() == lengths.tolist()
    np.testing.assert_array_equal(part.input_ids, whole.input_ids)
    for b in range(len(rows)):
        for t in range(lengths[b]):
            assert part.first[b, t] == whole.first[b, before[b] + t]
        assert not part.first[b, lengths[b] :].any()
    for w in range(len(whole.words)):
        b = whole.sentences[w]
        for word, own in zip(whole.words[w], part.words[w], strict=True):
            inside = before[b] <= word < before[b] + lengths[b]
            assert own == (word - before[b] if inside else -1)


def test_context_is_read_and_not_scored():
    """The scores of a sentence are those that its words have in the middle of the longer sentence."""
    model, alone = with_context(10), transformer()
    got = emissions(model, WORDS, documents=[4, 2])
    flat = [word for row in WORDS[:4] for word in row]
    whole = emissions(alone, [flat])
    np.testing.assert_allclose(got[: len(flat)], whole, atol=1e-5)  # every sentence of it reads the same window
    rest = emissions(alone, [["Anna", "Bob", "runs"]])
    np.testing.assert_allclose(got[len(flat) :], rest, atol=1e-5)
    assert [len(row) for row in model.predict(WORDS, documents=[4, 2])] == [len(row) for row in WORDS]


def test_documents_are_not_crossed():
    model = with_context(10)
    other = [["Snow", "lies"], ["Eve"], [], ["Wind", "blows", "there"], *WORDS[4:]]
    ours, theirs = emissions(model, WORDS, documents=[4, 2]), emissions(model, other, documents=[4, 2])
    np.testing.assert_array_equal(ours[6:], theirs[6:])
    assert np.abs(ours[:6] - theirs[:6]).max() > 1e-3
    joined = emissions(model, WORDS, documents=[6])
    assert np.abs(joined[6:] - ours[6:]).max() > 1e-3


def test_without_documents_sentences_stand_alone_and_that_is_said(caplog):
    np.testing.assert_array_equal(emissions(with_context(10), WORDS), emissions(transformer(), WORDS))
    assert "each sentence is read alone" in caplog.text
    caplog.clear()
    each = emissions(with_context(10), WORDS, documents=[1] * 6)
    assert not caplog.text
    np.testing.assert_allclose(each, emissions(transformer(), WORDS), atol=1e-6)


def test_markers_begin_documents():
    X = [["-DOCSTART-"], ["Anna", "sings"], ["-DOCSTART-"], ["Bob", "runs"]]
    model = with_context(10)
    np.testing.assert_array_equal(emissions(model, X), emissions(model, X, documents=[2, 2]))
    before = [["Eve", "left"], *X]  # what comes before the first marker is a document of its own
    np.testing.assert_array_equal(emissions(model, before), emissions(model, before, documents=[1, 2, 2]))


def test_no_context_is_what_it_was():
    X, y = people()
    plain = TransformerCRF(encoder_folder("bert"), **{**TINY, "epochs": 2}).fit(X, y)
    zero = TransformerCRF(encoder_folder("bert"), **{**TINY, "epochs": 2}, context=0).fit(X, y)
    for one, other in zip(plain.network_.tagger.parameters(), zero.network_.tagger.parameters(), strict=True):
        assert torch.equal(one, other)


def test_training_with_context_learns_what_only_context_tells():
    """The label of a word is told by the sentence before it."""
    X, y = [], []
    rng = np.random.default_rng(0)
    for _ in range(60):
        hot = bool(rng.integers(2))
        X += [["Rain" if hot else "Anna"], ["falls", "here"]]
        y += [["O"], ["A" if hot else "B", "O"]]
    how = {**TINY, "epochs": 15, "scheme": None}
    seen = TransformerCRF(encoder_folder("bert"), **how, context=4).fit(X, y, documents=[2] * 60)
    blind = TransformerCRF(encoder_folder("bert"), **how).fit(X, y)
    assert seen.score(X, y, documents=[2] * 60) == 1.0
    assert blind.score(X, y) < 0.9
    again = loads(seen.to_bytes(), device="cpu")
    assert again.context == 4
    assert again.predict(X, documents=[2] * 60) == y


def test_dropped_sentences_keep_documents_in_place():
    X, y = people()
    weights = np.ones(len(X))
    weights[[0, 3]] = 0
    documents = [2, len(X) - 2]
    how = {**TINY, "epochs": 1}
    some = TransformerCRF(encoder_folder("bert"), **how, context=5).fit(
        X, y, documents=documents, sample_weight=weights
    )
    kept = [b for b in range(len(X)) if weights[b]]
    few = TransformerCRF(encoder_folder("bert"), **how, context=5).fit(
        [X[b] for b in kept], [y[b] for b in kept], documents=[1, len(kept) - 1], sample_weight=np.ones(len(kept))
    )
    for one, other in zip(some.network_.tagger.parameters(), few.network_.tagger.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_dev_set_has_documents_of_its_own():
    X, y = people()
    model = TransformerCRF(encoder_folder("bert"), **{**TINY, "epochs": 2}, context=5)
    model.fit(X, y, documents=[len(X)], X_dev=X[:4], y_dev=y[:4], documents_dev=[2, 2])
    assert model.training_log_[-1].dev_score is not None


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "context": ({"context": -1}, {}, r"^context: "),
    "no documents": (
        {"context": 5},
        {},
        r"^documents: ",
    ),
    "no context": ({}, {"documents": [16]}, r"^documents: "),
    "sum": ({"context": 5}, {"documents": [1, 2]}, r"^documents: "),
    "floats": ({"context": 5}, {"documents": [1.0] * 16}, r"^documents: "),
    "ragged": ({"context": 5}, {"documents": [[1], [2, 3]]}, r"^documents: "),
    "dev": (
        {"context": 5},
        {"documents": "all", "X_dev": [["Anna"]], "y_dev": [["PER"]]},
        r"^documents_dev: ",
    ),
}


@pytest.mark.parametrize(("settings", "how", "place"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_meant_is_refused(settings, how, place):
    X, y = people()
    given = {**how, "documents": [len(X)]} if how.get("documents") == "all" else how
    with pytest.raises(InputError, match=place):
        TransformerCRF(encoder_folder("bert"), **TINY, **settings).fit(X, y, **given)


def test_a_bilstm_reads_no_context():
    X, y = people()
    with pytest.raises(InputError, match=r"^documents: "):
        BiLSTMCRF(**SMALL).fit(X, y, documents=[len(X)])
