"""Pieces of words against the tokenizers themselves; batches and windows against loops."""

from __future__ import annotations

import pickle
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("tokenizers")

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tagline import InputError
from tagline.features.subwords import LONGEST_WORD, PieceBatch, Pieces, PieceTable, Window
from tagline.readers.corpus import Column

from .piece_cases import DROPPED, KINDS, ODD, WORDS, random_words, table, text

TABLES = {kind: table(kind) for kind in KINDS}


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def batch_of(subject: PieceTable, sentences: list[list[str]], **options: Any) -> PieceBatch:
    column = Column.of(word for sentence in sentences for word in sentence)
    bounds = np.cumsum([0, *map(len, sentences)])
    return subject.pieces(column.vocabulary).batch([column.ids[a:z] for a, z in pairwise(bounds)], **options)


def whole_sentence(subject: PieceTable, words: list[str]) -> tuple[list[int], list[int]]:
    """The tokenizer's own answer for a sentence: pieces, and the word of each, −1 for special ones."""
    found = Tokenizer.from_str(subject.tokenizer_json()).encode(words, is_pretokenized=True)
    return found.ids, [-1 if number is None else number for number in found.word_ids]


@given(st.lists(st.sampled_from(WORDS) | st.text("aeinrstZ1-ü北.", min_size=1, max_size=8), max_size=12))
def test_sentences_are_cut_as_the_tokenizer_cuts_them_whole(words: list[str]) -> None:
    for subject in TABLES.values():
        batch = batch_of(subject, [words])
        ids, owners = whole_sentence(subject, words)
        assert batch.input_ids.tolist() == [ids]
        assert batch.words.tolist() == [owners]
        assert batch.first.tolist() == [[owners.index(t) for t in range(len(words))]]
        assert batch.widths.tolist() == [len(ids)]
        assert batch.attention_mask.all()


def test_prefix_blanks_truncation_and_padding_are_set() -> None:
    assert TABLES["bytes_bpe"].strings(TABLES["bytes_bpe"].pieces(["the"]).ids)[0][0] == "Ġ"
    assert TABLES["unigram"].strings(TABLES["unigram"].pieces(["the"]).ids)[0][0] == "▁"
    words = random_words(0, 30)
    assert TABLES["wordpiece"].pieces(words).offsets[-1] > 30  # the tokenizer was saved with truncation to 8


@pytest.mark.parametrize("words", [[word] for word in ODD] + [ODD, ["", "a", ""]])
def test_every_word_has_a_piece(kind: str, words: list[str]) -> None:
    subject = TABLES[kind]
    batch = batch_of(subject, [words])
    oracle = Tokenizer.from_str(subject.tokenizer_json())
    expected = []
    for word in words:
        alone = oracle.encode([word.replace("\ud83d", "\ufffd")], is_pretokenized=True, add_special_tokens=False).ids
        expected.append(alone[:LONGEST_WORD] or [subject.unknown])
    got = [batch.input_ids[batch.words == t].tolist() for t in range(len(words))]
    assert got == expected
    assert batch.input_ids.ravel()[batch.first[0]].tolist() == [pieces[0] for pieces in expected]


def test_pieces_are_counted(kind: str) -> None:
    assert TABLES[kind].num_pieces == Tokenizer.from_str(text(kind)).get_vocab_size()


def test_words_that_are_dropped_exist() -> None:
    pieces = TABLES["wordpiece"].pieces(DROPPED)
    assert pieces.ids.tolist() == [1] * len(DROPPED)


def loops(subject: PieceTable, sentences: list[list[str]]) -> None:
    """Check a batch by its definition."""
    batch = batch_of(subject, sentences)
    window, S = subject.window, batch.input_ids.shape[1]
    assert window.max_length >= S
    assert batch.lengths.tolist() == list(map(len, sentences))
    w = 0
    for b, sentence in enumerate(sentences):
        pieces = [subject.pieces([word]).ids.tolist() for word in sentence]
        assert batch.first[b, len(sentence) :].tolist() == [0] * (batch.first.shape[1] - len(sentence))
        windows = [w]
        seen: set[int] = set()
        while True:
            owners = batch.words[w]
            held = sorted(set(owners[owners >= 0].tolist()))
            row = [*window.before, *(piece for t in held for piece in pieces[t]), *window.after]
            assert batch.input_ids[w].tolist() == row + [window.padding] * (S - len(row))
            assert batch.widths[w] == len(row)
            assert held == list(range(held[0], held[-1] + 1)) if held else not sentence
            seen |= set(held)
            w += 1
            if not sentence or held[-1] == len(sentence) - 1:
                break
            windows.append(w)
        assert seen == set(range(len(sentence)))
        for t in range(len(sentence)):
            assert batch.first[b, t] == best_place(batch, windows, t, len(sentence))
    assert w == len(batch.input_ids)


def best_place(batch: PieceBatch, windows: list[int], t: int, T: int) -> int:
    """Where word t of T stands in the window with the most context on its poorer side."""
    found = []
    for w in windows:
        owners = batch.words[w].tolist()
        if t in owners:
            left = np.inf if 0 in owners else sum(0 <= one < t for one in owners)
            right = np.inf if T - 1 in owners else sum(one > t for one in owners)
            found.append((min(left, right), -w, owners.index(t)))
    _, w, place = max(found)
    return -w * batch.input_ids.shape[1] + place


@given(
    st.sampled_from(sorted(KINDS)),
    st.lists(st.integers(0, 60), max_size=4),
    st.integers(3, 40),
    st.integers(0, 12),
    st.integers(0, 9),
)
def test_windows_against_loops(kind: str, lengths: list[int], most: int, stride: int, seed: int) -> None:
    subject = table(kind, max_length=most, stride=stride)
    loops(subject, [random_words(seed + n, length) for n, length in enumerate(lengths)])


@given(st.lists(st.integers(1, 32), min_size=1, max_size=80), st.integers(1, 200), st.integers(0, 60))
def test_cuts_cover_and_give_context(sizes: list[int], room: int, stride: int) -> None:
    window = Window((7,), (8,), 0, room + 2, stride)
    counts = np.minimum(sizes, window.longest_word)
    cuts = window.cuts(counts)
    ends = np.concatenate([[0], np.cumsum(counts)])
    assert cuts[0][0] == 0
    assert cuts[-1][1] == len(sizes)
    assert all(ends[end] - ends[begin] <= room for begin, end in cuts)
    assert all(a < c <= b < d for (a, b), (c, d) in pairwise(cuts))
    assert len(cuts) == 1 or ends[-1] > room
    assert len(cuts) == 1 or ends[-1] - ends[cuts[-1][0] - 1] > room  # the last one is full
    context = min(stride, room // 4)
    for t, size in enumerate(counts):
        best = max(
            min(
                np.inf if begin == 0 else ends[t] - ends[begin],
                np.inf if end == len(sizes) else ends[end] - ends[t + 1],
            )
            for begin, end in cuts
            if begin <= t < end
        )
        assert best >= context - size / 2


def test_long_documents_are_quick() -> None:
    subject = table("wordpiece", max_length=512)
    batch = batch_of(subject, [random_words(1, 20000)])
    assert len(batch.input_ids) > 50
    assert batch.first.shape == (1, 20000)
    assert len(np.unique(batch.first)) == 20000


def test_nothing_to_read(kind: str) -> None:
    subject = TABLES[kind]
    nothing = batch_of(subject, [])
    assert nothing.input_ids.shape == (0, 0)
    assert nothing.first.shape == (0, 0)
    empty = batch_of(subject, [[], []])
    assert empty.input_ids.tolist() == [[*subject.window.before, *subject.window.after]] * 2
    assert empty.first.shape == (2, 0)


def test_columns_are_a_multiple() -> None:
    subject = table("wordpiece", max_length=20)
    sentences = [["q"] * 5, ["q"] * 3]
    plain, padded = batch_of(subject, sentences), batch_of(subject, sentences, multiple=8)
    assert plain.input_ids.shape == (2, 7)
    assert padded.input_ids.shape == (2, 8)
    assert padded.widths.tolist() == plain.widths.tolist() == [7, 5]
    assert batch_of(subject, [["q"] * 16], multiple=8).input_ids.shape == (1, 20)  # and not 24
    loops(subject, sentences)


def test_arguments_stay_as_they_are() -> None:
    pieces = table("wordpiece", max_length=8, stride=1).pieces(WORDS)
    before = pieces.ids.copy(), pieces.offsets.copy()
    sentences = [np.arange(len(WORDS), dtype=np.int32)]
    pieces.batch(sentences)
    assert (pieces.ids == before[0]).all()
    assert (pieces.offsets == before[1]).all()
    assert sentences[0].tolist() == list(range(len(WORDS)))


def test_words_that_are_one_piece(kind: str) -> None:
    subject = TABLES[kind]
    found = subject.whole_words()
    cut = subject.pieces(list(found))
    assert cut.ids.tolist() == list(found.values())
    assert kind == "unigram" or {"wordpiece": "the", "bytes_bpe": "in"}[kind] in found
    outside = {subject.unknown, subject.window.padding, *subject.window.before, *subject.window.after}
    assert not outside & {*found.values()}
    assert not any(word.startswith(("##", "Ġ", "▁", "[", "<")) for word in found)


def test_sentence_pieces_that_are_words() -> None:
    made = Tokenizer(models.Unigram([("<unk>", 0.0), ("▁", -3.0), ("▁in", -1.0), ("i", -2.0), ("n", -2.0)], 0))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    assert PieceTable(made.to_str(), unknown=0, padding=0).whole_words() == {"in": 2}


def test_made_again(kind: str) -> None:
    subject = table(kind, max_length=40, stride=5)
    again = PieceTable(subject.tokenizer_json(), **subject.settings())
    through = pickle.loads(pickle.dumps(subject))
    assert again.settings() == subject.settings() == through.settings()
    assert vars(again.window) == vars(subject.window)
    for other in (again, through):
        assert same(other.pieces([*WORDS, *ODD]), subject.pieces([*WORDS, *ODD]))


def same(one: Pieces, other: Pieces) -> bool:
    return one.ids.tolist() == other.ids.tolist() and one.offsets.tolist() == other.offsets.tolist()


def test_merges_are_not_dropped_at_random() -> None:
    text = TABLES["bytes_bpe"].tokenizer_json().replace('"dropout": null', '"dropout": 0.9')
    text = text.replace('"dropout":null', '"dropout":0.9')
    assert "0.9" in text
    assert same(PieceTable(text, unknown=3, padding=1).pieces(WORDS), TABLES["bytes_bpe"].pieces(WORDS))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"model": {"type": "Best"}}', "null"])
def test_no_tokenizer(text: str) -> None:
    with pytest.raises(InputError, match=r"^tokenizer: .*tokenizer\.json"):
        PieceTable(text, unknown=0, padding=0)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"unknown": -1}, r"^unknown: "),
        ({"padding": 10**6}, r"^padding: "),
        ({"padding": True}, r"^padding: "),
        ({"max_length": 2}, r"^max_length: "),
        ({"max_length": "512"}, r"^max_length: .*'512'"),
        ({"stride": -1}, r"^stride: "),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        PieceTable(text("wordpiece"), **{"unknown": 1, "padding": 0, **settings})


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r"pip install 'tagline\[transformers\]'"):
        PieceTable("{}", unknown=0, padding=0)
