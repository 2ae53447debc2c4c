"""TransformerCRF: what a pretrained encoder with a CRF learns and answers, with tiny random encoders."""

from __future__ import annotations

import copy
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tagline import Corpus, TransformerCRF  # noqa: E402
from tagline import chain as engine  # noqa: E402
from tagline.errors import InputError  # noqa: E402
from tagline.models.neural import network as networks  # noqa: E402

from .cases import (  # noqa: E402
    LABELS,
    TINY,
    check_against_enumeration,
    check_against_the_engine,
    check_explanation,
    encoder_folder,
    people,
    same_weights,
    scores_of,
    transformer,
    weights_of,
)

pytestmark = pytest.mark.usefixtures("one_thread")

ODD = [["Anna"], ["zzz", "Quux", "北京", "😀"], ["\ud83d", "a\udc00b", "", " ", "\x00", "\ufe0f"], ["x" * 500, "[SEP]"]]
LONG = ["New", "York"] * 20  # more pieces than the encoder has positions for
STILL = {**TINY, "epochs": 1, "learning_rate": 1e-12, "weight_decay": 0.0}

MODELS = {
    "bert": lambda: transformer("bert"),
    "bert mean softmax": lambda: transformer("bert", pooling="mean", head="softmax"),
    "roberta": lambda: transformer("roberta", epochs=20),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> TransformerCRF:
    return MODELS[request.param]()


def quiet(folder: Any = None, **settings: Any) -> TransformerCRF:
    """One whose own dropout is off, so that the loss can be worked out from outside."""
    return TransformerCRF(calm() if folder is None else folder, **{**STILL, **settings})


def calm() -> str:
    """The BERT without dropout."""
    folder = Path(encoder_folder("bert") + "-calm")
    if not folder.exists():
        shutil.copytree(encoder_folder("bert"), folder)
        config = json.loads((folder / "config.json").read_text())
        config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


@pytest.fixture(scope="module", autouse=True)
def _tidy() -> Any:
    yield
    shutil.rmtree(encoder_folder("bert") + "-calm", ignore_errors=True)


def test_it_learns(model: TransformerCRF) -> None:
    assert model.labels_ == LABELS
    assert model.scheme_name == "IOB2"
    assert model.score(*people()) > 0.95
    assert model.training_log_[-1].loss < 0.5 * model.training_log_[0].loss
    assert model.summary().kind == "transformer"
    assert model.stop_reason_ == "epochs"


def test_answers_are_the_engines_about_each_sentence_alone(model: TransformerCRF) -> None:
    check_against_the_engine(model, [*people(3, 8)[0], [], *ODD, LONG, []])


def test_answers_are_those_of_enumeration(model: TransformerCRF) -> None:
    check_against_enumeration(model, ["Anna"])
    check_against_enumeration(model, ["peacekeepers", "in", "York"])


def test_company_does_not_matter(model: TransformerCRF, monkeypatch: pytest.MonkeyPatch) -> None:
    X = [*people(3, 12)[0], [], *ODD, LONG]
    alone = [model.marginal_arrays([words])[0] for words in X]
    for batch_size, most in ((1, 8192), (3, 8192), (None, 8192), (None, 24)):
        monkeypatch.setattr(networks, "PADDED", most)
        for mine, theirs in zip(model.marginal_arrays(X, batch_size=batch_size), alone, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-6)


def test_a_long_sentence_is_one_chain(model: TransformerCRF) -> None:
    """Windows of an encoder end where the sentence does not: rules and transitions hold across their borders."""
    words = ["in", *LONG, "Anna"] * 3
    (coded,) = [model.network_.coder.read(Corpus.from_sentences([{"token": words}]))]
    batch = coded.batch(np.zeros(1, np.int64), torch.device("cpu"))
    assert len(batch.input_ids) > 3
    assert batch.input_ids.shape[1] <= 48
    chains = list(model.chains([words]))
    assert [chain.offsets.tolist() for chain in chains] == [[0, len(words)]]
    found = model.predict([words])[0]
    assert len(found) == len(words)
    pairs = zip(["O", *found[:-1]], found, strict=True)
    assert all(not tag.startswith("I-") or before[1:] == tag[1:] for before, tag in pairs)
    ends = model.predict([words], known=[[*[None] * (len(words) - 1), "I-PER"]])[0]
    assert ends[-2][1:] == "-PER"  # what is known at the end binds what comes before
    assert model.predict_marginals([words], known=[["O"] * len(words)])[0][50]["O"] == pytest.approx(1.0)


def test_long_sentences_are_trained_on() -> None:
    X, y = people(0, 6)
    X, y = [sum(X, []) * 3, *X], [sum(y, []) * 3, *y]  # noqa: RUF017
    assert len(X[0]) > 48
    model = TransformerCRF(encoder_folder("bert"), **{**TINY, "epochs": 8}, max_length=16).fit(X, y)
    assert model.network_.coder.table.window.max_length == 16  # type: ignore[attr-defined]
    assert model.training_.sentences == 7
    assert model.training_log_[-1].loss < model.training_log_[0].loss


def test_nothing_and_empty_sentences(model: TransformerCRF) -> None:
    assert model.predict([]) == []
    assert model.predict([[], ["Anna"], []])[::2] == [[], []]
    assert model.predict([[]]) == [[]]
    assert model.log_likelihood([[]], [[]]).tolist() == [0.0]
    assert model.explain([]).tokens == ()
    for words in ODD:
        assert [len(row) for row in model.predict([words])] == [len(words)]


def test_spans_and_evaluation(model: TransformerCRF) -> None:
    X, y = people()
    assert model.evaluate(X, y).spans.f1 > 0.9
    found = model.predict_spans([["Carla", "Bruni", "sees", "Rome"]])[0]
    assert all(0 < one.probability <= 1 for one in found)
    assert model.predict_spans([[]]) == [[]]


def test_the_loss_is_that_of_all_labellings() -> None:
    X = [["Anna", "sees", "Rome"], ["in", "New", "York"], ["Bob"]]
    y: list[list[Any]] = [["B-PER", "O", "B-LOC"], ["O", "B-LOC", "I-LOC"], ["B-PER"]]
    model = quiet().fit(X, y, sample_weight=[1.0, 3.0, 0.5])
    assert model.training_log_[0].loss == pytest.approx(
        float((-model.log_likelihood(X, y) * [1.0, 3.0, 0.5]).mean()), abs=2e-5
    )
    holes = [["B-PER", None, {"B-LOC", "O"}], ["O", None, "I-LOC"], [None]]
    partial = quiet(scheme="IOB2").fit(X, holes)
    expected = []
    for words, row in zip(X, holes, strict=True):
        scores = scores_of(partial, words)
        kept = [
            s
            for path, s in scores.items()
            if all(k is None or a in (k if isinstance(k, set) else {k}) for a, k in zip(path, row, strict=True))
        ]
        expected.append(np.logaddexp.reduce(list(scores.values())) - np.logaddexp.reduce(kept))
    assert partial.training_log_[0].loss == pytest.approx(np.mean(expected), abs=2e-5)


def test_seeds() -> None:
    model = transformer("bert")
    state = torch.get_rng_state()
    again = TransformerCRF(encoder_folder("bert"), **TINY).fit(*people())
    assert torch.equal(torch.get_rng_state(), state)
    assert same_weights(again, model)
    assert not same_weights(TransformerCRF(encoder_folder("bert"), **TINY, random_state=1).fit(*people()), model)


def test_rates_and_freezing() -> None:
    X, y = people(0, 8)
    fitted = {
        freeze: TransformerCRF(encoder_folder("bert"), **{**TINY, "epochs": 1}, freeze=freeze).fit(X, y)
        for freeze in (0, 1, 2, "all")
    }
    before = weights_of(quiet(encoder_folder("bert")).fit(X, y))

    def moved(freeze: Any, part: str) -> bool:
        after = weights_of(fitted[freeze])
        return any(not np.allclose(after[name], before[name], atol=1e-7) for name in after if name.startswith(part))

    parts = ("encoder.model.embeddings", "encoder.model.encoder.layer.0", "encoder.model.encoder.layer.1", "head")
    assert [moved(0, part) for part in parts] == [True, True, True, True]
    assert [moved(1, part) for part in parts] == [False, True, True, True]
    assert [moved(2, part) for part in parts] == [False, False, True, True]
    assert [moved("all", part) for part in parts] == [False, False, False, True]
    rates = TransformerCRF(head_rate=3.0)._rates(fitted[0].network_.tagger)
    assert rates == {"head.linear": 3.0, "head.crf": 30.0}


def test_warm_start_thaws_what_was_frozen() -> None:
    X, y = people(0, 8)
    model = TransformerCRF(encoder_folder("bert"), **{**TINY, "epochs": 2}, freeze="all", warm_start=True).fit(X, y)
    first, loss = weights_of(model), model.training_log_[-1].loss
    model.set_params(freeze=0).fit(X, y)
    name = "encoder.model.encoder.layer.0.attention.self.query.weight"
    assert not np.array_equal(weights_of(model)[name], first[name])
    assert model.training_log_[-1].loss < loss
    for settings, place in (
        ({"encoder": encoder_folder("roberta")}, r"^encoder: "),
        ({"pooling": "mean"}, r"^pooling: .*'first'"),
        ({"max_length": 20}, r"^max_length: "),
        ({"head": "softmax"}, r"^head: .*'crf'"),
    ):
        with pytest.raises(InputError, match=place):
            copy.deepcopy(model).set_params(**settings).fit(X, y)


class StopError(Exception):
    """Ends a run from a callback, as a crash would."""


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    X, y = people(0, 12)
    settings = {**TINY, "epochs": 3, "dropout": 0.2}

    def crash(done: Any) -> None:
        if done.epoch == 2:
            raise StopError

    whole = TransformerCRF(encoder_folder("bert"), **settings).fit(X, y, X_dev=X[:3], y_dev=y[:3])
    with pytest.raises(StopError):
        TransformerCRF(encoder_folder("bert"), **settings, callbacks=(crash,)).fit(
            X, y, X_dev=X[:3], y_dev=y[:3], checkpoint=tmp_path / "run"
        )
    again = {"X_dev": X[:3], "y_dev": y[:3], "checkpoint": tmp_path / "run", "resume": True}
    for change, place in (
        ({"head_rate": 2.0}, "rate of head.(crf|linear) was 10?.0 and is 20?.0"),
        ({"freeze": 1}, "freeze was 0 and is 1"),
        ({"encoder": encoder_folder("roberta")}, "encoder was '"),
        ({"pooling": "mean"}, "pooling was 'first' and is 'mean'"),
    ):
        with pytest.raises(InputError, match=place):
            TransformerCRF(**{"encoder": encoder_folder("bert"), **settings, **change}).fit(X, y, **again)
    resumed = TransformerCRF(encoder_folder("bert"), **settings).fit(X, y, **again)
    assert same_weights(resumed, whole)


@pytest.mark.parametrize("words", [["Anna"], ["peacekeepers", "in", "York"]], ids=" ".join)
def test_explanations_add_up(model: TransformerCRF, words: list[str]) -> None:
    check_explanation(model, words)


def test_explanations_of_long_sentences() -> None:
    model, words = transformer("bert"), LONG[:26]
    found = model.explain(words)
    assert found.labels == model.predict([words])[0]
    (chain,) = model.chains([words])
    allowed = np.ones(chain.emissions.shape, bool)
    allowed[20, model.labels_.index(found.labels[20])] = False
    best, rival = engine.viterbi(chain), engine.viterbi(engine.constrain(chain, allowed=allowed))
    assert found.tokens[20].margin == pytest.approx(float(best.scores[0] - rival.scores[0]), abs=1e-4)
    assert {term.name for term in found.tokens[20].contributions if term.kind == "input"} == {"New", "York"}


WRONG: dict[str, Any] = {
    "encoder: None": ({"encoder": None}, "encoder: expected a folder or a name on the Hugging Face hub, .* got None"),
    "encoder: a number": ({"encoder": 3}, "encoder: expected a folder .* got 3"),
    "encoder: an empty folder": ({"encoder": "."}, r"encoder \.: expected an encoder that loads, got"),
    "pooling": ({"pooling": "last"}, "pooling: expected one of first, mean, got 'last'"),
    "max_length": ({"max_length": 49}, "max_length: expected up to 48 pieces"),
    "max_length: short": ({"max_length": 2}, "max_length: expected 3 pieces or more"),
    "stride": ({"stride": -1}, "stride: expected 0 pieces of context or more"),
    "freeze": ({"freeze": 4}, r'freeze: expected 0 to 3 lower layers, or "all", got 4'),
    "freeze: a word": ({"freeze": "some"}, "freeze: expected"),
    "head_rate": ({"head_rate": "much"}, "head_rate: expected a number above 0, got 'much'"),
    "head_rate: infinite": ({"head_rate": float("inf")}, "head_rate: expected"),
    "dropout": ({"dropout": 1.0}, "dropout: expected a probability from 0 to below 1"),
    "dropout: a word": ({"dropout": "x"}, "dropout: expected a probability"),
    "smoothing": ({"smoothing": 2}, "smoothing: expected a probability"),
    "head": ({"head": "x"}, "head: expected one of crf, softmax, got 'x'"),
    "device": ({"device": "cuda:77"}, "device: expected"),
    "epochs": ({"epochs": 0}, "epochs: expected"),
    "random_state": ({"random_state": "x"}, "random_state: expected"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_settings_are_named_before_training(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, place = WRONG[wrong]
    monkeypatch.chdir(tmp_path)
    fitted = TransformerCRF(**{"encoder": encoder_folder("bert"), **TINY, **settings})
    with pytest.raises(InputError, match=place):
        fitted.fit(*people(), checkpoint="run")
    assert os.listdir(tmp_path) == []


def test_what_is_given_is_not_changed(tmp_path: Path) -> None:
    folder = shutil.copytree(encoder_folder("bert"), tmp_path / "encoder")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    model = TransformerCRF(folder, **{**TINY, "epochs": np.int64(1), "head_rate": np.float32(1.0)})
    parameters, (X, y) = model.get_params(), people(0, 4)
    before = copy.deepcopy((X, y))
    model.fit(X, y)
    assert (X, y) == before
    assert all(model.get_params()[name] is value for name, value in parameters.items())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    copy.deepcopy(model)
