"""TorchScript: the decoder answers as the layer does, for any batch; what a trace would get wrong is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tagline import InputError  # noqa: E402
from tagline.interop import torchcrf  # noqa: E402
from tagline.nn import CRF, SemiCRF  # noqa: E402
from tagline.nn.export import ViterbiDecoder  # noqa: E402
from tagline.readers.schemes import legal  # noqa: E402

LABELS = ["O", "B-X", "I-X", "B-Y"]
L = len(LABELS)
SIZES = [(2, 7), (1, 5), (6, 3), (1, 1), (4, 40)]

pytestmark = [  # PyTorch's own, about itself
    pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]


def batch(B: int, T: int) -> tuple[Any, Any]:
    torch.manual_seed(100 * B + T)
    return torch.randn(B, T, L), torch.rand(B, T) < 0.6


class Network(torch.nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, crf: CRF) -> None:
        super().__init__()
        self.linear, self.decoder = torch.nn.Linear(L, L), ViterbiDecoder(crf)

    def forward(self, emissions: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        answer: tuple[torch.Tensor, torch.Tensor] = self.decoder(self.linear(emissions), mask)
        return answer


def traced(network: Any) -> Any:
    return torch.jit.trace(network, batch(3, 5))


@pytest.fixture(scope="module", params=[traced, torch.jit.script])
def pair(request: pytest.FixtureRequest) -> tuple[CRF, Network, Any]:
    torch.manual_seed(1)
    crf = CRF(L, constraints=legal(LABELS, "IOB2"))
    network = Network(crf)
    return crf, network, request.param(network)


@pytest.mark.parametrize("size", SIZES)
def test_a_network_and_its_decoder(pair: Any, size: tuple[int, int]) -> None:
    crf, network, compiled = pair
    emissions, mask = batch(*size)
    emissions = torch.where(mask[:, :, None], emissions, torch.nan)
    expected = crf.decode(network.linear(emissions), mask, pad_tag=-1)
    tags, scores = compiled(emissions, mask)
    assert torch.equal(tags, expected.tags)
    torch.testing.assert_close(scores, expected.scores)


METHODS: dict[str, Callable[[CRF, Any], Any]] = {
    "forward": lambda crf, e: crf(e, torch.zeros(2, 3, dtype=torch.int64)),
    "loss": lambda crf, e: crf.loss(e, torch.zeros(2, 3, dtype=torch.int64)),
    "log_partition": lambda crf, e: crf.log_partition(e),
    "marginals": lambda crf, e: crf.marginals(e),
    "decode": lambda crf, e: crf.decode(e, pad_tag=-1).tags,
    "decode into lists": lambda crf, e: torch.tensor(crf.decode(e)),
    "k_best": lambda crf, e: crf.k_best(e, 2).tags,
    "sample": lambda crf, e: crf.sample(e, 2),
    "entropy": lambda crf, e: crf.entropy(e),
    "span_probability": lambda crf, e: crf.span_probability(e, [(0, 0, [1])]),
    "chain": lambda crf, e: crf.chain(e).emissions,
}


@pytest.mark.parametrize("method", METHODS)
def test_the_layer_refuses(method: str) -> None:
    crf, example = CRF(L), torch.randn(2, 3, L)
    with pytest.raises(InputError, match=r"torch\.jit\.trace .*ViterbiDecoder"):
        torch.jit.trace(lambda emissions: METHODS[method](crf, emissions), (example,))
    METHODS[method](crf, example)


def test_segments_refuse() -> None:
    layer, example = SemiCRF(L, 2), torch.randn(2, 3, 2, L)
    for ask in (lambda scores: layer.log_partition(scores), lambda scores: layer.marginals(scores)):
        with pytest.raises(InputError, match=r"torch\.jit\.trace"):
            torch.jit.trace(ask, (example,))


def test_the_exporter_that_traces_refuses(tmp_path: Any) -> None:
    class Decoding(torch.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.crf = CRF(L)

        def forward(self, emissions: Any) -> Any:
            return self.crf.decode(emissions, pad_tag=-1).tags

    pytest.importorskip("onnx")
    with pytest.raises(InputError, match="ViterbiDecoder"):
        torch.onnx.export(Decoding(), (torch.randn(2, 3, L),), str(tmp_path / "x.onnx"), dynamo=False)


@pytest.mark.parametrize("T", [2, 3, 6])
def test_the_likelihood_of_pytorch_crf_s_interface(T: int) -> None:
    torch.manual_seed(2)
    crf = torchcrf.CRF(L, batch_first=True)
    tags = torch.zeros(2, 3, dtype=torch.int64)
    trace = torch.jit.trace(crf, (torch.randn(2, 3, L), tags))
    emissions, tags = torch.randn(4, T, L), torch.randint(0, L, (4, T))
    torch.testing.assert_close(trace(emissions, tags), crf(emissions, tags))


def test_lists_of_pytorch_crf_s_interface() -> None:
    crf, example = torchcrf.CRF(L), torch.randn(3, 2, L)
    for ask in (lambda e: torch.tensor(crf.decode(e)), lambda e: crf._compute_normalizer(e, torch.ones(3, 2))):
        with pytest.raises(InputError, match=r"torch\.jit\.trace .*torch\.jit\.script"):
            torch.jit.trace(ask, (example,))
