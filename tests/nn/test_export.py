"""Exported decoding, by `torch.export` and by onnxruntime, equal to the layer's own for any batch and length."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tagline.nn import CRF  # noqa: E402
from tagline.nn.export import DYNAMIC_SHAPES, ViterbiDecoder, export_onnx  # noqa: E402
from tagline.readers.schemes import legal  # noqa: E402

LABELS = ["O", "B-X", "I-X", "B-Y"]
SIZES = [(2, 7), (1, 5), (6, 3), (1, 1), (4, 40)]


@pytest.fixture(scope="module")
def crf() -> Any:
    torch.manual_seed(1)
    return CRF(len(LABELS), constraints=legal(LABELS, "IOB2"))


def batch(B: int, T: int) -> tuple[Any, Any]:
    torch.manual_seed(100 * B + T)
    return torch.randn(B, T, len(LABELS)), torch.rand(B, T) < 0.6


@pytest.fixture(scope="module")
def program(crf: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, about itself
        return torch.export.export(ViterbiDecoder(crf), batch(3, 5), dynamic_shapes=DYNAMIC_SHAPES).module()


@pytest.fixture(scope="module")
def session(crf: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    runtime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime onnxscript")
    pytest.importorskip("onnxscript", reason="pip install onnxscript")
    path: Path = tmp_path_factory.mktemp("onnx") / "decoder.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        export_onnx(crf, path)
    return runtime.InferenceSession(str(path))


class Network(torch.nn.Module):  # type: ignore[name-defined,misc]
    """Words in, labels out, with weights that want gradients."""

    def __init__(self, crf: Any) -> None:
        super().__init__()
        self.words, self.decoder = torch.nn.Embedding(20, len(LABELS)), ViterbiDecoder(crf)

    def forward(self, words: Any, mask: Any) -> Any:
        return self.decoder(self.words(words), mask)


def test_a_network_and_its_decoder(crf: Any, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime onnxscript")
    pytest.importorskip("onnxscript", reason="pip install onnxscript")
    torch.manual_seed(2)
    network, path = Network(crf), str(tmp_path / "network.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = torch.zeros(3, 5, dtype=torch.int64), batch(3, 5)[1]
        torch.onnx.export(network, example, dynamic_shapes=DYNAMIC_SHAPES, dynamo=True, verbose=False).save(path)
    session = runtime.InferenceSession(path)
    for size in SIZES:
        words, (_, mask) = torch.randint(20, size), batch(*size)
        tags, _ = session.run(None, {"words": words.numpy(), "mask": mask.numpy()})
        assert (tags == crf.decode(network.words(words), mask, pad_tag=-1).tags.numpy()).all()


@pytest.mark.parametrize("size", SIZES)
def test_torch_export(crf: Any, program: Any, size: tuple[int, int]) -> None:
    emissions, mask = batch(*size)
    expected = crf.decode(emissions, mask, pad_tag=-1)
    tags, scores = program(emissions, mask)
    assert torch.equal(tags, expected.tags)
    torch.testing.assert_close(scores, expected.scores)


@pytest.mark.parametrize("size", SIZES)
def test_onnx(crf: Any, session: Any, size: tuple[int, int]) -> None:
    emissions, mask = batch(*size)
    expected = crf.decode(emissions, mask, pad_tag=-1)
    tags, scores = session.run(None, {"emissions": emissions.numpy(), "mask": mask.numpy()})
    assert (tags == expected.tags.numpy()).all()
    np.testing.assert_allclose(scores, expected.scores, rtol=1e-5, atol=1e-5)


def test_poisoned_padding_and_empty_rows(crf: Any, program: Any) -> None:
    emissions, mask = batch(3, 5)
    mask[1] = False
    expected = crf.decode(emissions, mask, pad_tag=-1)
    tags, scores = program(torch.where(mask[:, :, None], emissions, torch.nan), mask)
    assert torch.equal(tags, expected.tags)
    torch.testing.assert_close(scores, expected.scores)
