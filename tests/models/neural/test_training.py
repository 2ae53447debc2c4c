"""Training BiLSTMCRF: seeds, the dev set, when training stops, half precision."""

from __future__ import annotations

import copy
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tagline  # noqa: E402
from tagline import BiLSTMCRF, Corpus  # noqa: E402
from tagline.errors import InputError  # noqa: E402
from tagline.models.neural import network as networks  # noqa: E402
from tagline.training.iteration import Step  # noqa: E402
from tagline.training.running.progress import Budget, Silent  # noqa: E402

from ..corpora import tagged  # noqa: E402
from .cases import (  # noqa: E402
    LABELS,
    SHORT,
    SMALL,
    STILL,
    bilstm,
    people,
    same_weights,
    weights_of,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def test_seeds() -> None:
    again, other = BiLSTMCRF(**SMALL).fit(*people()), BiLSTMCRF(**SMALL, random_state=1).fit(*people())
    assert same_weights(again, bilstm())
    assert [done.loss for done in again.training_log_] == [done.loss for done in bilstm().training_log_]
    assert not same_weights(other, bilstm())
    one, two = (weights_of(BiLSTMCRF(**STILL, random_state=seed).fit(*SHORT)) for seed in (0, 1))
    assert np.abs(one["head.linear.weight"] - two["head.linear.weight"]).max() > 0.1  # where they begin
    noisy = {**SMALL, "dropout": 0.5, "epochs": 2}
    assert same_weights(BiLSTMCRF(**noisy).fit(*people()), BiLSTMCRF(**noisy).fit(*people()))
    big = BiLSTMCRF(**{**SMALL, "epochs": 1, "random_state": 2**70}).fit(*SHORT)
    assert big.predict(SHORT[0])


def test_random_numbers_of_others_are_left_alone() -> None:
    torch.manual_seed(5)
    np.random.seed(5)
    before = torch.get_rng_state().clone(), np.random.get_state()[1].copy()
    model = BiLSTMCRF(**{**SMALL, "dropout": 0.3, "epochs": 2}).fit(*SHORT)
    model.predict(SHORT[0])
    model.explain(SHORT[0][0])
    copy.deepcopy(model)
    assert torch.equal(torch.get_rng_state(), before[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])
    assert torch.is_grad_enabled()


def test_fitting_twice_forgets_the_first_time() -> None:
    model = BiLSTMCRF(**SMALL).fit([["x"]], [["Q"]])
    assert same_weights(model.fit(*people()), bilstm())
    assert model.labels_ == LABELS


def test_a_dev_set_and_patience_keep_the_best_weights() -> None:
    X, y = people(0, 12)
    dev = people(50, 30)
    seen: list[tuple[float, Any]] = []
    settings = {**SMALL, "epochs": 40, "learning_rate": 0.1, "schedule": "constant", "patience": 4}
    model = BiLSTMCRF(**settings)
    held: list[Any] = []
    original = networks.Network.chains

    def watched(self: Any, *args: Any, **more: Any) -> Any:  # the weights that were scored
        held.append({name: value.detach().numpy().copy() for name, value in self.tagger.state_dict().items()})
        assert not self.tagger.training
        return original(self, *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networks.Network, "chains", watched)
        model.set_params(callbacks=(lambda done: seen.append((done.dev_score, held[-1])),))  # type: ignore[func-returns-value]
        model.fit(X, y, X_dev=dev[0], y_dev=dev[1])
    scores = [score for score, _ in seen]
    best = int(np.argmax(scores))
    assert model.stop_reason_ == "patience"
    assert len(seen) == best + 1 + 4
    last = max(number for number, score in enumerate(scores) if score == scores[best])  # of equals
    assert same_weights(model, seen[last][1])
    assert not same_weights(model, seen[0][1])
    assert model.evaluate(*dev).spans.f1 == pytest.approx(scores[best])
    assert [done.dev_score for done in model.training_log_] == scores
    corpus = Corpus.from_sentences(list(zip(*dev, strict=True)))
    assert same_weights(BiLSTMCRF(**settings).fit(X, y, X_dev=corpus), model)


def test_a_dev_set_without_spans_is_scored_by_labels() -> None:
    X, y = tagged(0, 20)
    dev = tagged(8, 20)
    model = BiLSTMCRF(**{**SMALL, "epochs": 2}).fit(X, y, X_dev=[*dev[0], ["cat"], []], y_dev=[*dev[1], ["new"], []])
    best = max(model.training_log_, key=lambda done: done.dev_score)
    total = sum(map(len, dev[1]))
    assert best.dev_score == pytest.approx(model.score(*dev) * total / (total + 1))
    none = BiLSTMCRF(**{**SMALL, "epochs": 1}).fit(X, y, X_dev=dev[0], y_dev=[["new"] * len(row) for row in dev[1]])
    assert none.training_log_[0].dev_score == 0.0
    with pytest.raises(InputError, match=r"^y_dev: "):
        BiLSTMCRF(**SMALL).fit(X, y, X_dev=[["cat"]], y_dev=[[None]])
    for half in ({"X_dev": X}, {"y_dev": y}):
        with pytest.raises(InputError, match=r"^X_dev, y_dev: "):
            BiLSTMCRF(**SMALL).fit(X, y, **half)


def test_when_to_stop(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    X, y = people()
    assert BiLSTMCRF(**SMALL, max_seconds=0).fit(X, y).stop_reason_ == "time budget"
    stopped = BiLSTMCRF(**SMALL, callbacks=(lambda done: done.epoch == 3,)).fit(X, y)
    assert stopped.stop_reason_ == "callback"
    assert len(stopped.training_log_) == stopped.training_.passes == 3
    assert capfd.readouterr() == ("", "")
    told = Told()
    model = BiLSTMCRF(**{**SMALL, "epochs": 2}, verbose=True).fit(X, y, log=tmp_path / "log.jsonl")
    other = copy.copy(model).fit(X, y, progress=told)
    assert told.budget == Budget(2, None)
    assert told.passes == [(done.number, done.objective) for done in other.training_log_]
    with pytest.raises(InputError, match=r"^progress: "):
        other.fit(X, y, progress=print)  # type: ignore[arg-type]
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == [done.line() for done in model.training_log_]
    assert told.steps[-1][:2] == (3, 3)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "epoch", "epoch", "end"]
    assert lines[0]["labels"] == LABELS
    assert lines[0]["model"] == "bilstm"


def test_ctrl_c_keeps_a_usable_model() -> None:
    def press(done: Any) -> None:
        if done.epoch == 5:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    model = BiLSTMCRF(**{**SMALL, "epochs": 1000}, warmup=0.0, callbacks=(press,)).fit(*people())
    assert signal.getsignal(signal.SIGINT) is before
    assert model.stop_reason_ == "interrupted"
    assert len(model.training_log_) == 5
    assert model.score(*people()) > 0.8
    assert not model.network_.tagger.training


class Told(Silent):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, float]] = []
        self.passes: list[tuple[int, float]] = []

    def passed(self, done: Step) -> None:
        self.passes.append((done.number, done.objective))

    def stepped(self, done: int, total: int, loss: float) -> None:
        self.steps.append((done, total, loss))


SCRIPT = """
import sys
import torch
from tagline import BiLSTMCRF
from tagline.training.running.progress import Silent
torch.set_num_threads(1)
X, y = [["Anna", "sings"], ["Bob", "runs"]] * 8, [["N", "V"], ["N", "V"]] * 8
class Begun(Silent):
    told = False
    def stepped(self, done, total, loss):
        if loss < 0.1 and not self.told:
            self.told = True
            print("begun", flush=True)
sizes = {"hidden": 8, "word_dim": 8, "char_size": 8, "dropout": 0.0, "device": "cpu"}
model = BiLSTMCRF(**sizes, learning_rate=0.01, epochs=10**6, warmup=0.0).fit(X, y, progress=Begun())
model.save(sys.argv[1])
print(model.stop_reason_, model.predict([["Bob", "sings"]]))
"""


def test_ctrl_c_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "model"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert err == ""
    assert out == "interrupted [['N', 'V']]\n"
    assert process.returncode == 0
    assert tagline.load(path).predict([["Bob", "sings"]]) == [["N", "V"]]


def test_a_dev_set_must_have_tokens_and_should_have_known_labels() -> None:
    X, y = people()
    for nothing in ([], [[]]):
        with pytest.raises(InputError, match=r"^X_dev: "):
            BiLSTMCRF(**SMALL).fit(X, y, X_dev=nothing, y_dev=nothing)
    model = BiLSTMCRF(**STILL).fit(X, y, X_dev=[["Anna", "sings"]], y_dev=[["NN", "VB"]])
    assert model.notes_[-1].endswith("training data lack, and misses them: NN, VB")


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_on_a_cpu(precision: str) -> None:
    X, y = people()
    model = BiLSTMCRF(**SMALL, precision=precision).fit(X, y)
    assert model.score(X, y) > 0.7
    with torch.autocast("cpu", getattr(torch, precision)):
        assert len(model.predict(X)) == len(X)
