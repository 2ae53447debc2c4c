"""Neural taggers on a GPU: every precision, `torch.compile`, explanations, files that move; these tests need a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tagline import BiLSTMCRF, TransformerCRF, load  # noqa: E402
from tagline.models.neural.tagger import NeuralTagger  # noqa: E402

from .cases import SMALL, TINY, encoder_folder, people, same_weights  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

X, Y = people()


def make(kind: str, **settings: Any) -> NeuralTagger:
    if kind == "bilstm":
        return BiLSTMCRF(**{**SMALL, "device": "cuda", **settings}).fit(X, Y)
    return TransformerCRF(encoder_folder("bert"), **{**TINY, "device": "cuda", **settings}).fit(X, Y)


KINDS = pytest.mark.parametrize("kind", ["bilstm", "transformer"])


@KINDS
@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_every_precision_learns(kind: str, head: str, precision: str) -> None:
    model = make(kind, precision=precision, head=head)
    assert model.network_.device.type == "cuda"
    losses = [epoch.loss for epoch in model.training_log_]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0] / 2
    assert model.score(X, Y) > 0.7


def test_training_equals_that_on_a_cpu() -> None:
    """Replayed losses and kernels against plain PyTorch; only the beginning is random, drawn on the CPU."""
    settings = {"epochs": 2, "smoothing": 0.1, "precision": "float32"}
    there, here = make("bilstm", **settings), make("bilstm", device="cpu", **settings)
    got, expected = ([epoch.loss for epoch in model.training_log_] for model in (there, here))
    np.testing.assert_allclose(got, expected, rtol=1e-3)


@KINDS
def test_twice_the_same_bits(kind: str) -> None:
    assert same_weights(make(kind, dropout=0.3, epochs=4), make(kind, dropout=0.3, epochs=4))


@KINDS
def test_files_move_between_devices(kind: str, tmp_path: Path) -> None:
    model = make(kind)
    model.save(tmp_path / "m.tagline")
    for device in ("cpu", "cuda"):
        other: Any = load(tmp_path / "m.tagline", device=device)
        assert other.network_.device.type == device
        assert other.predict(X) == model.predict(X)
        for one, two in zip(other.marginal_arrays(X), model.marginal_arrays(X), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-4)


@KINDS
def test_explanations_equal_those_on_a_cpu(kind: str, tmp_path: Path) -> None:
    model = make(kind)
    model.save(tmp_path / "m.tagline")
    other: Any = load(tmp_path / "m.tagline", device="cpu")
    words = ["Anna", "visits", "New", "York"]
    for one, two in zip(model.explain(words).tokens, other.explain(words).tokens, strict=True):
        assert (one.label, one.runner_up) == (two.label, two.runner_up)
        assert one.margin == pytest.approx(two.margin, abs=1e-3)
        amounts = [{term.name: term.amount for term in part.contributions} for part in (one, two)]
        assert amounts[0] == pytest.approx(amounts[1], abs=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the compiler
@KINDS
def test_compiled(kind: str) -> None:
    model = make(kind, compile=True)
    losses = [epoch.loss for epoch in model.training_log_]
    assert losses[-1] < losses[0] / 2
    assert model.score(X, Y) > 0.7
    if kind == "bilstm":  # nothing random
        np.testing.assert_allclose(losses[:4], [epoch.loss for epoch in make(kind).training_log_[:4]], rtol=1e-2)
