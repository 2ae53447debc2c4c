"""Training that runs away is an error that keeps what was learned before, and no file is lost to it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, InputError
from tagline.errors import TrainingError

from .corpora import items

X, Y = items()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("settings", "scale", "small"),
    [
        ({"algorithm": "sgd:rate=1e300"}, 1.0, 5000),
        ({"algorithm": "sgd:rate=1e300"}, 1.0, 0),
        ({"algorithm": "sgd:rate=0.1"}, 1e20, 0),
    ],
)
def test_a_crf_keeps_its_last_finite_weights(
    settings: dict[str, Any], scale: float, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagline.training.algorithms.SMALL", small)  # tokens: more are trained on in float32
    scaled = [[dict.fromkeys(token, scale) for token in sentence] for sentence in X]
    model = CRF(**settings)
    try:
        model.fit(scaled, Y)
    except TrainingError as error:
        assert "diverged in pass" in str(error)  # noqa: PT017 (what matters is the state behind it)
        assert model.stop_reason_.startswith("diverged")
    weights = model.parameters_.weights
    assert np.isfinite(weights).all()
    assert np.isfinite(model.log_likelihood(X)).all()


@pytest.mark.filterwarnings("ignore")
def test_a_rate_that_is_far_too_large_is_an_error(tmp_path: Path) -> None:
    good = CRF(c2=0.1).fit(X, Y)
    good.save(tmp_path / "m")
    with pytest.raises(TrainingError, match="training diverged in pass 1; the weights before it are kept"):
        CRF(algorithm="sgd:rate=1e300").fit(X, Y)
    assert tagline.load(tmp_path / "m").predict(X) == good.predict(X)


def test_numbers_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    model = CRF(c2=0.1).fit(X, Y)
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    for bad in (np.nan, np.inf, 1e300):  # the last is too large for float32
        weights = model.parameters_.weights.copy()
        weights[0] = bad
        broken = model.with_weights(model.weights_table())
        object.__setattr__(broken.parameters_, "weights", weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(InputError, match=r"^save: "):
                broken.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before


def test_a_network_that_runs_away_leaves_the_model_as_it_was() -> None:
    pytest.importorskip("torch")
    from .neural.cases import SMALL, people

    settings = {**SMALL, "warmup": 0.0, "schedule": "constant", "clip": 1e30, "batch_size": 100}
    for rate, epochs in ((1e20, 1), (1e30, 3)):
        model = tagline.BiLSTMCRF(**{**settings, "learning_rate": rate, "epochs": epochs})
        with pytest.raises((TrainingError, InputError), match=r"^(fit|emissions): "):
            model.fit(*people(0, 12))
        assert not hasattr(model, "network_")
