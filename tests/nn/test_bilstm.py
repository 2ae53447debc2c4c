"""The BiLSTM encoder and its parts, against plain PyTorch run word by word and sentence by sentence."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence  # noqa: E402

from tagline.errors import InputError  # noqa: E402
from tagline.nn import bilstm  # noqa: E402
from tagline.nn.batches import packed_order  # noqa: E402
from tagline.nn.bilstm import BiLSTMEncoder  # noqa: E402
from tagline.nn.characters import CharacterCNN, CharacterLSTM  # noqa: E402
from tagline.nn.dropout import VariationalDropout, WordDropout  # noqa: E402

from .encoder_cases import SENTENCES, TABLE, batch_of, encoder_of  # noqa: E402

CLOSE: Any = {"rtol": 1e-6, "atol": 1e-6}


def slow_characters(reader: Any, row: Any) -> Any:
    """The vector of one word, its characters without padding."""
    letters = reader.vectors.weight[[int(number) for number in row if number]]  # [C, dim]
    if not len(letters):
        return torch.zeros(reader.size)
    if isinstance(reader, CharacterCNN):
        found = []
        for convolution in reader.filters:
            width = convolution.kernel_size[0]
            before = (width - 1) // 2
            for weight, bias in zip(convolution.weight, convolution.bias, strict=True):  # [dim, width]
                best = torch.tensor(0.0)
                for t in range(len(letters)):
                    value = bias
                    for k in range(width):
                        if 0 <= t + k - before < len(letters):
                            value = value + weight[:, k] @ letters[t + k - before]
                    best = torch.maximum(best, value)
                found.append(best)
        return torch.stack(found)
    ends = [
        lstm(part[None])[0][0, -1] for lstm, part in ((reader.forwards, letters), (reader.backwards, letters.flip(0)))
    ]
    return torch.cat(ends)


def slow_encode(encoder: BiLSTMEncoder, sentence: list[str]) -> Any:
    """The vectors ``[T, size]`` of one sentence: word by word, then an LSTM over it alone, without packing."""
    rows = []
    for word in sentence:
        form = TABLE.forms([word])
        parts = [encoder.words.weight[int(form.words[0])]]
        if encoder.cases is not None:
            parts.append(encoder.cases.weight[int(form.cases[0])])
        if encoder.characters is not None:
            parts.append(slow_characters(encoder.characters, form.characters[0]))
        rows.append(torch.cat(parts))
    if not rows:
        return torch.zeros(0, encoder.size)
    states = torch.stack(rows)
    for lstm in encoder.layers:
        zeros = torch.zeros(2, lstm.hidden_size)
        states, _ = lstm(states, (zeros, zeros))
    return states


# Batches


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(lambda lengths: min(lengths) > 0))
def test_packed_order_is_that_of_pytorch(lengths: list[int]) -> None:
    B, T = len(lengths), max(lengths)
    cells = torch.arange(B * T).view(B, T)
    wanted = pack_padded_sequence(cells, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
    found, sizes = packed_order(np.array(lengths))
    assert sizes.tolist() == wanted.batch_sizes.tolist()
    assert [sorted(step) for step in np.split(found, np.cumsum(sizes)[:-1])] == [
        sorted(step) for step in np.split(wanted.data.numpy(), np.cumsum(sizes)[:-1])
    ]
    owners = [[int(cell) // T for cell in step] for step in np.split(found, np.cumsum(sizes)[:-1])]
    for before, after in pairwise(owners):  # a sentence keeps its place until it ends
        assert before[: len(after)] == after


def test_a_batch_and_its_copies() -> None:
    batch = batch_of(SENTENCES)
    assert batch.size == 5
    assert batch.lengths.tolist() == batch.device_lengths.tolist() == [2, 6, 0, 1, 3]
    assert all(part.dtype == torch.int64 for part in vars(batch).values())
    there = batch.to("meta")
    assert there.forms.device.type == there.device_lengths.device.type == "meta"
    assert there.lengths.device.type == there.step_sizes.device.type == "cpu"


# Characters


@pytest.mark.parametrize(
    "reader",
    [
        lambda: CharacterCNN(9, 4, 6),
        lambda: CharacterCNN(9, 4, 7, (1, 2, 3, 4)),
        lambda: CharacterCNN(9, 4, 2, (6,)),
        lambda: CharacterLSTM(9, 4, 3),
    ],
)
def test_characters_word_by_word(reader: Any) -> None:
    torch.manual_seed(1)
    module = reader()
    words = torch.tensor([[2, 3, 4, 8, 1], [5, 0, 0, 0, 0], [0, 0, 0, 0, 0], [6, 7, 0, 0, 0]])
    found = module(words)
    wanted = torch.stack([slow_characters(module, row) for row in words])
    assert found.shape == (4, module.size)
    torch.testing.assert_close(found, wanted, **CLOSE)
    torch.testing.assert_close(module(nn.functional.pad(words, (0, 4))), found, **CLOSE)
    weights = torch.randn_like(found)
    parameters = list(module.parameters())
    mine, theirs = (torch.autograd.grad((out * weights).sum(), parameters) for out in (found, wanted))
    torch.testing.assert_close(mine, theirs, **CLOSE)
    assert (mine[0][0] == 0).all()  # padding learns nothing


def test_the_character_lstm_is_a_bidirectional_one() -> None:
    torch.manual_seed(2)
    ours, plain = CharacterLSTM(9, 4, 3), nn.LSTM(4, 3, bidirectional=True, batch_first=True)
    for name, value in plain.named_parameters():
        half = ours.backwards if name.endswith("_reverse") else ours.forwards
        value.data.copy_(getattr(half, name.removesuffix("_reverse")))
    word = torch.tensor([[2, 5, 3, 8]])
    _, (last, _) = plain(ours.vectors(word))
    torch.testing.assert_close(ours(word)[0], last[:, 0].flatten(), **CLOSE)


# Dropout


def test_variational_dropout() -> None:
    torch.manual_seed(0)
    values = torch.ones(200, 3, 50)
    noisy = VariationalDropout(0.25)(values)
    assert (noisy == noisy[:, :1]).all()
    assert {round(number, 5) for number in noisy.unique().tolist()} == {0.0, round(4 / 3, 5)}
    assert abs(float(noisy.mean()) - 1) < 0.02
    assert (noisy[0] != noisy[1]).any()
    assert VariationalDropout(0.25).eval()(values) is values
    assert VariationalDropout(0)(values) is values
    assert VariationalDropout(0.5)(torch.zeros(2, 0, 3)).shape == (2, 0, 3)


def test_word_dropout() -> None:
    torch.manual_seed(0)
    words = torch.tensor([*[0] * 50, *[5] * 10_000])
    noisy = WordDropout(0.2)(words)
    assert noisy[:50].tolist() == [0] * 50
    assert set(noisy[50:].tolist()) == {1, 5}
    assert abs(float((noisy == 1).float().mean()) - 0.2) < 0.02
    assert WordDropout(0.2).eval()(words) is words


# The encoder


@pytest.fixture(params=["packed", "padded"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How sentences of different lengths are read."""
    monkeypatch.setattr(bilstm, "MOST_PADDING", 0 if request.param == "packed" else np.inf)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("characters", ["cnn", "lstm", None])
@pytest.mark.parametrize("options", [{}, {"layers": 3}, {"case_dim": 0}])
def test_sentence_by_sentence(characters: str | None, options: Any) -> None:
    encoder = encoder_of(characters=characters, **options).eval()
    found = encoder(batch_of(SENTENCES))
    wanted = [slow_encode(encoder, sentence) for sentence in SENTENCES]
    assert found.shape == (5, 6, encoder.size)
    assert encoder.size == 14
    for row, states in zip(found, wanted, strict=True):
        torch.testing.assert_close(row[: len(states)], states, **CLOSE)
        assert (row[len(states) :] == 0).all()
    weights = [torch.randn_like(states) for states in wanted]
    ours = sum((row[: len(w)] * w).sum() for row, w in zip(found, weights, strict=True))
    theirs = sum((row * w).sum() for row, w in zip(wanted, weights, strict=True))
    parameters = list(encoder.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(ours, parameters), torch.autograd.grad(theirs, parameters), rtol=1e-5, atol=1e-5
    )


@pytest.mark.usefixtures("way")
@given(st.permutations(range(5)), st.integers(1, 5))
def test_neighbours_do_not_matter(order: list[int], count: int) -> None:
    encoder = encoder_of(layers=2).eval()
    chosen = [SENTENCES[k] for k in order[:count]]
    with torch.no_grad():
        together = encoder(batch_of(chosen))
        for row, sentence in zip(together, chosen, strict=True):
            torch.testing.assert_close(row[: len(sentence)], encoder(batch_of([sentence]))[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("sentences", [[], [[]], [[], []]])
@pytest.mark.parametrize("characters", ["cnn", "lstm"])
def test_batches_without_tokens(sentences: Any, characters: str) -> None:
    assert encoder_of(characters=characters)(batch_of(sentences)).shape == (len(sentences), 0, 14)


def test_unknown_words_and_characters() -> None:
    encoder = encoder_of(characters=None, case_dim=0).eval()
    found = encoder(batch_of([["qq", "zz", "\u5317"]]))
    torch.testing.assert_close(found[0], slow_encode(encoder, ["??"] * 3), **CLOSE)
    assert torch.isfinite(encoder_of()(batch_of([["", "", "\U0001f600"]]))).all()


def test_dropped_words_are_unknown_in_their_pairs_too() -> None:
    encoder = encoder_of(bigram_dim=3, word_dropout=0.999, characters=None, case_dim=0).train()
    torch.manual_seed(0)
    batch = batch_of([["the", "cat"]])
    encoder.embed(batch).sum().backward()
    assert encoder.words.weight.grad.any(1).nonzero().flatten().tolist() == [1]
    unknown = [(bilstm.PRIME + follows) % bilstm.BIGRAMS for follows in (1, 0)]
    assert sorted(encoder.bigrams.weight.grad.any(1).nonzero().flatten().tolist()) == sorted(unknown)


def test_dropout_is_one_mask_a_sentence() -> None:
    """With dropout on inputs only half of the features differ from 0, the same at all tokens of a sentence."""
    encoder = encoder_of(dropout=0.5)
    torch.manual_seed(3)
    outcome = encoder(batch_of([["a"] * 6, ["a"] * 4]))
    gone = (outcome == 0).float()
    for row, length in ((gone[0], 6), (gone[1], 4)):
        assert (row[:length] == row[0]).all()
        assert 0 < float(row[0].mean()) < 1
    same = encoder.eval()(batch_of([["a"] * 6]))
    torch.testing.assert_close(same, encoder(batch_of([["a"] * 6])), rtol=0, atol=0)


def test_the_same_seed_is_the_same_encoder() -> None:
    first, second = encoder_of(4), encoder_of(4)
    torch.testing.assert_close(first.state_dict(), second.state_dict(), rtol=0, atol=0)
    batch = batch_of(SENTENCES)
    for module in (first, second):
        torch.manual_seed(9)
        module.found = module(batch)
    torch.testing.assert_close(first.found, second.found, rtol=0, atol=0)


def test_vectors_are_copied_and_may_be_frozen() -> None:
    vectors = torch.randn(TABLE.num_words, 3)
    before = vectors.clone()
    encoder = encoder_of(vectors=vectors, freeze_words=True)
    assert encoder.words.weight.shape == vectors.shape
    assert not encoder.words.weight.requires_grad
    assert encoder_of(vectors=vectors).words.weight.requires_grad
    with torch.no_grad():
        encoder.words.weight += 1
    assert (vectors == before).all()
    encoder(batch_of(SENTENCES)).sum().backward()
    assert encoder.words.weight.grad is None


def test_forget_gates_begin_open() -> None:
    lstm = encoder_of().layers[0]
    assert lstm.bias_ih_l0.view(4, 7)[1].tolist() == [1.0] * 7
    assert lstm.bias_hh_l0_reverse.tolist() == [0.0] * 28
    gate = lstm.weight_hh_l0[7:14]
    torch.testing.assert_close(gate @ gate.T, torch.eye(7), **CLOSE)


def test_copies_and_state() -> None:
    encoder = encoder_of(5, layers=2).eval()
    batch = batch_of(SENTENCES)
    other = encoder_of(6, layers=2).eval()
    other.load_state_dict(encoder.state_dict())
    for twin in (copy.deepcopy(encoder), other):
        torch.testing.assert_close(twin(batch), encoder(batch), rtol=0, atol=0)


@pytest.mark.usefixtures("way")
def test_bfloat16() -> None:
    encoder = encoder_of().eval()
    batch = batch_of(SENTENCES)
    with torch.autocast("cpu", torch.bfloat16):
        found = encoder(batch)
    torch.testing.assert_close(found.float(), encoder(batch), rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"characters": "rnn"}, r"^characters: .*'cnn'"),
        ({"characters": "lstm", "char_size": 5}, r"^char_size: "),
        ({"hidden": 0}, r"^hidden: "),
        ({"layers": 1.5}, r"^layers: "),
        ({"dropout": 1.0}, r"^dropout: "),
        ({"word_dropout": -0.1}, r"^word_dropout: "),
        ({"vectors": torch.zeros(3, 4)}, r"^vectors: "),
    ],
)
def test_wrong_settings(options: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        encoder_of(**options)


def test_wrong_filters() -> None:
    with pytest.raises(InputError, match=r"^widths: "):
        CharacterCNN(9, 4, 6, ())
    with pytest.raises(InputError, match=r"^widths: "):
        CharacterCNN(9, 4, 1, (2, 3))
