"""`random_state=None` in every model that draws: another run each time, whose seed is kept to repeat it."""

from typing import Any

import numpy as np
import pytest

from tagline import CRF, HMM, InputError
from tagline.models.files import loads

X = [["Anna", "sings", "in", "Oslo"], ["Bob", "runs"], ["Rain", "falls", "in", "Rome"]] * 4
Y = [["N", "V", "P", "N"], ["N", "V"], ["N", "V", "P", "N"]] * 4


def crf(seed: Any) -> CRF:
    return CRF("U00:%x[0,0]\nB", algorithm="sgd:passes=2", random_state=seed).fit(X, Y)


def hmm(seed: Any) -> HMM:
    return HMM(2, max_iterations=3, random_state=seed).fit([[0, 1, 2, 0, 1], [2, 2, 1], [0, 0, 1, 2]])


def bilstm(seed: Any) -> Any:
    pytest.importorskip("torch")
    from tagline import BiLSTMCRF

    return BiLSTMCRF(hidden=4, word_dim=4, epochs=2, device="cpu", random_state=seed).fit(X, Y)


MODELS = {"crf": crf, "hmm": hmm, "bilstm": bilstm}


def learned(model: Any) -> bytes:
    arrays = model._packed()[1]
    return b"".join(np.ascontiguousarray(arrays[name]).tobytes() for name in sorted(arrays))


@pytest.mark.parametrize("fit", MODELS.values(), ids=MODELS)
def test_none_draws_a_seed_and_keeps_it(fit):
    first, second = fit(None), fit(None)
    assert first.training_.seed != second.training_.seed
    assert learned(first) != learned(second)
    again = fit(first.training_.seed)
    assert learned(again) == learned(first)
    assert again.training_.seed == 0
    assert first.random_state is None
    stored = loads(first.to_bytes())
    assert stored.training_.seed == first.training_.seed
    assert stored.random_state is None
    assert str(first.training_.seed) in first.summary().text()


@pytest.mark.parametrize("fit", MODELS.values(), ids=MODELS)
def test_a_number_is_not_written_down_twice(fit):
    assert "seed" not in fit(3).training_.as_dict()


@pytest.mark.parametrize("fit", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize(
    "wrong", [np.random.RandomState(0), np.random.default_rng(0)], ids=["RandomState", "Generator"]
)
def test_a_generator_is_refused_with_advice(fit, wrong):
    with pytest.raises(InputError, match=f"^random_state: .* {type(wrong).__name__} "):
        fit(wrong)


def test_a_run_without_a_seed_is_resumed_with_the_one_it_drew(tmp_path):
    path, settings = tmp_path / "run", {"algorithm": "sgd:passes=6"}
    CRF("U00:%x[0,0]\nB", **settings, max_iterations=2, random_state=None).fit(X, Y, checkpoint=path, save_every=0)
    with pytest.raises(InputError, match=r"run: .*seed") as error:
        CRF("U00:%x[0,0]\nB", **settings, random_state=None).fit(X, Y, checkpoint=path, resume=True)
    seed = int(str(error.value).split("seed was ")[1].split()[0])
    whole = CRF("U00:%x[0,0]\nB", **settings, random_state=seed).fit(X, Y)
    resumed = CRF("U00:%x[0,0]\nB", **settings, random_state=seed).fit(X, Y, checkpoint=path, resume=True)
    assert learned(resumed) == learned(whole)


def test_an_hmm_that_goes_on_names_no_seed_that_it_did_not_begin_with(tmp_path):
    path, series = tmp_path / "run", [[0, 1, 2, 0, 1], [2, 2, 1], [0, 0, 1, 2]]
    HMM(2, max_iterations=2, random_state=None).fit(series, checkpoint=path, save_every=0)
    resumed = HMM(2, max_iterations=4, random_state=None).fit(series, checkpoint=path, resume=True)
    assert resumed.training_.seed == 0


def test_several_processes_want_a_number(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match=r"^random_state: "):
        bilstm(None)
