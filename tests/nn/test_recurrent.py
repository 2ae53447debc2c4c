"""Both directions of an LSTM: padded against packed, and replayed from CUDA graphs against packed on a GPU."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tagline.nn.batches import WordBatch, packed_order  # noqa: E402
from tagline.nn.bilstm import _packed  # noqa: E402
from tagline.nn.recurrent import GraphedLSTM, both_ways, weights_of  # noqa: E402

D, H = 6, 5
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA graphs need a GPU")


def close(found: Any, expected: Any) -> None:
    """Tensors of float64 within 1e-12 of the largest number of each: sums over tokens are added up in another order."""
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12 * max(1.0, float(other.abs().max())))


def lstm_on(device: str, dtype: Any = torch.float64) -> nn.LSTM:
    torch.manual_seed(0)
    return nn.LSTM(D, H, bidirectional=True).to(device, dtype)


def case(B: int, T: int, device: str, seed: int = 0, dtype: Any = torch.float64) -> tuple[Any, WordBatch]:
    """Tokens, and what `_packed` reads of a batch; one sentence is empty, one full."""
    torch.manual_seed(seed)
    lengths = np.random.default_rng(seed).integers(1, T + 1, B)
    lengths[0], lengths[-1] = T, lengths[-1] if B == 1 else 0
    cells, sizes = packed_order(lengths)
    none = torch.zeros(0, dtype=torch.int64)
    on_device = torch.from_numpy(cells).to(device), torch.from_numpy(lengths).to(device)
    batch = WordBatch(none, none, none, none, *on_device, torch.from_numpy(lengths), torch.from_numpy(sizes))
    return torch.randn(B, T, D, device=device, dtype=dtype, requires_grad=True), batch


def slopes(lstm: nn.LSTM, tokens: Any, states: Any) -> list[Any]:
    """States, and the gradients of a sum that tells them apart."""
    weights = torch.linspace(-1, 1, states.numel(), device=states.device, dtype=states.dtype).view(states.shape)
    inputs = (tokens, *lstm.parameters())
    return [states.detach(), *torch.autograd.grad((states * weights).sum(), inputs, retain_graph=True)]


def check(lstm: nn.LSTM, graphed: GraphedLSTM, tokens: Any, batch: WordBatch) -> None:
    assert graphed.answers(lstm, tokens)
    states = graphed(lstm, tokens, batch.device_lengths)
    expected = slopes(lstm, tokens, _packed(lstm, tokens, batch))
    for _ in range(2):  # the second backward pass replays the forward pass first
        close(slopes(lstm, tokens, states), expected)


@pytest.mark.parametrize(("B", "T"), [(5, 9), (1, 1), (3, 2)])
def test_padding_never_matters(B: int, T: int) -> None:
    lstm = lstm_on("cpu")
    tokens, batch = case(B, T, "cpu")
    found = slopes(lstm, tokens, both_ways(weights_of(lstm), tokens, batch.device_lengths, True))
    close(found, slopes(lstm, tokens, _packed(lstm, tokens, batch)))


def test_a_cpu_replays_nothing() -> None:
    assert not GraphedLSTM().answers(lstm_on("cpu"), torch.zeros(2, 3, D))


@on_gpu
def test_replays_equal_packed_sentences() -> None:
    lstm, graphed = lstm_on("cuda"), GraphedLSTM()
    for number, (B, T) in enumerate([(30, 45), (32, 48), (3, 1), (9, 17), (30, 45)]):  # the first two share a graph
        check(lstm, graphed, *case(B, T, "cuda", number))
    assert len(graphed._recordings) == 3


@on_gpu
def test_other_passes_before_the_backward_pass() -> None:
    lstm, graphed = lstm_on("cuda"), GraphedLSTM()
    cases = [case(12, 20, "cuda", 1), case(12, 20, "cuda", 2), case(5, 40, "cuda", 3)]
    states = [graphed(lstm, tokens, batch.device_lengths) for tokens, batch in cases]
    for (tokens, batch), found in zip(cases, states, strict=True):
        close(slopes(lstm, tokens, found), slopes(lstm, tokens, _packed(lstm, tokens, batch)))


@on_gpu
def test_gradients_add_up() -> None:
    lstm, graphed = lstm_on("cuda"), GraphedLSTM()
    cases = [case(8, 16, "cuda", 1), case(8, 16, "cuda", 2)]
    for tokens, batch in cases:
        graphed(lstm, tokens, batch.device_lengths).square().sum().backward()
    found = [weight.grad.clone() for weight in lstm.parameters()]
    lstm.zero_grad()
    for tokens, batch in cases:
        _packed(lstm, tokens, batch).square().sum().backward()
    close(found, [weight.grad for weight in lstm.parameters()])


@on_gpu
def test_weights_that_change_or_move() -> None:
    lstm, graphed = lstm_on("cuda"), GraphedLSTM()
    batch = case(12, 20, "cuda")
    check(lstm, graphed, *batch)
    with torch.no_grad():
        lstm.weight_hh_l0.add_(0.3)
    check(lstm, graphed, *batch)
    assert len(graphed._recordings) == 1
    lstm.cpu().cuda()
    check(lstm, graphed, *batch)


@on_gpu
def test_half_precision() -> None:
    lstm, graphed = lstm_on("cuda", torch.float32), GraphedLSTM()
    tokens, batch = case(12, 20, "cuda", dtype=torch.float32)
    with torch.autocast("cuda", torch.bfloat16):
        found = slopes(lstm, tokens, graphed(lstm, tokens, batch.device_lengths).float())
        expected = slopes(lstm, tokens, _packed(lstm, tokens, batch).float())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0.02, atol=0.05)


@on_gpu
def test_copies_record_their_own() -> None:
    graphed = GraphedLSTM()
    check(lstm_on("cuda"), graphed, *case(8, 16, "cuda"))
    for other in (copy.deepcopy(graphed), pickle.loads(pickle.dumps(graphed))):
        assert not other._recordings
        check(lstm_on("cuda"), other, *case(8, 16, "cuda"))
