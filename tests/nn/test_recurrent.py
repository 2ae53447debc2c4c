"""LSTMs whose weights are asked for by name: padded sentences against packed ones, and against those of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tagline.nn.batches import packed_order  # noqa: E402
from tagline.nn.bilstm import _packed  # noqa: E402
from tagline.nn.recurrent import OneWayLSTM, both_ways, weights_of  # noqa: E402

D, H = 6, 5


def close(found: Any, expected: Any) -> None:
    """Tensors of float64 within 1e-12 of the largest number of each: sums over tokens are added up in another order."""
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12 * max(1.0, float(other.abs().max())))


def slopes(lstm: nn.LSTM, tokens: Any, states: Any) -> list[Any]:
    """States, and the gradients of a sum that tells them apart."""
    weights = torch.linspace(-1, 1, states.numel(), device=states.device, dtype=states.dtype).view(states.shape)
    inputs = (tokens, *lstm.parameters())
    return [states.detach(), *torch.autograd.grad((states * weights).sum(), inputs, retain_graph=True)]


@pytest.mark.parametrize(("B", "T"), [(5, 9), (1, 1), (3, 2)])
def test_padding_never_matters(B: int, T: int) -> None:
    """One sentence is full and one empty."""
    torch.manual_seed(0)
    lstm = nn.LSTM(D, H, bidirectional=True).double()
    tokens = torch.randn(B, T, D, dtype=torch.float64, requires_grad=True)
    lengths = np.random.default_rng(0).integers(1, T + 1, B)
    lengths[0], lengths[-1] = T, T if B == 1 else 0
    cells, sizes = (torch.from_numpy(part) for part in packed_order(lengths))
    found = slopes(lstm, tokens, both_ways(weights_of(lstm), tokens, torch.from_numpy(lengths), True))
    close(found, slopes(lstm, tokens, _packed(lstm, tokens, cells, sizes)))


def test_one_way_equals_that_of_pytorch() -> None:
    torch.manual_seed(0)
    own, other = OneWayLSTM(D, H).double(), nn.LSTM(D, H, batch_first=True).double()
    other.load_state_dict(own.state_dict())
    tokens = torch.randn(3, 7, D, dtype=torch.float64, requires_grad=True)
    close(slopes(own, tokens, own(tokens)[0]), slopes(other, tokens, other(tokens)[0]))


def test_other_tensors_stand_for_the_weights() -> None:
    torch.manual_seed(0)
    lstm, tokens = OneWayLSTM(D, H), torch.randn(3, 7, D)
    before = [weight.data_ptr() for weight in lstm.parameters()]
    doubled = {name: 2 * weight.detach() for name, weight in lstm.named_parameters()}
    found = torch.func.functional_call(lstm, doubled, (tokens,))[0]
    with torch.no_grad():
        for weight in lstm.parameters():
            weight.mul_(2)
    close([found], [lstm(tokens)[0].detach()])
    assert [weight.data_ptr() for weight in lstm.parameters()] == before
