"""Neural taggers through files, pickle and copy: nothing is lost, nothing runs, what is damaged is refused by name."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import resource
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.numpy import load_file  # noqa: E402

import tagline  # noqa: E402
from tagline import BiLSTMCRF, InputError, StorageError, TransformerCRF, storage  # noqa: E402
from tagline.errors import TaglineError  # noqa: E402
from tagline.features.lexicons.embeddings import Embeddings  # noqa: E402
from tagline.models.neural.tagger import NeuralTagger  # noqa: E402

from .cases import (  # noqa: E402
    SMALL,
    TINY,
    bilstm,
    encoder_folder,
    people,
    same_answers,
    same_weights,
    transformer,
    weights_of,
)

pytestmark = pytest.mark.usefixtures("one_thread")

KINDS = {
    "bilstm": bilstm,
    "softmax": lambda: bilstm(head="softmax"),
    "lstm": lambda: bilstm(characters="lstm", layers=2, case_dim=0, bigram_dim=2),
    "bert": lambda: transformer("bert"),
    "roberta": lambda: transformer("roberta", pooling="mean", head="softmax"),
}
X = [*people(3, 8)[0], [], ["zzz", "\ud83d", "北京"]]


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> NeuralTagger:
    if request.param in ("bert", "roberta"):
        pytest.importorskip("transformers")
    return KINDS[request.param]()


def test_a_file_keeps_everything(model: NeuralTagger, tmp_path: Path) -> None:
    path = tmp_path / "模型 β.tagline"
    model.save(path)
    loaded = tagline.load(path, device="cpu")
    assert type(loaded) is type(model)
    same_answers(model, loaded, X)
    assert loaded.get_params() == model.get_params()
    assert loaded.training_ == model.training_
    assert loaded.network_.plan == model.network_.plan
    assert loaded.stop_reason_ == "epochs"
    assert loaded.summary() == model.summary()
    assert not loaded.network_.tagger.training
    assert os.listdir(tmp_path) == [path.name]
    assert model.size_ == path.stat().st_size


def test_saving_twice_makes_the_same_bytes(model: NeuralTagger, tmp_path: Path) -> None:
    model.save(tmp_path / "one")
    tagline.load(tmp_path / "one").save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    tensors = load_file(tmp_path / "one")
    assert tensors["network.head.linear.weight"].shape[0] == len(model.labels_)


@pytest.mark.parametrize(
    "make",
    [
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: pickle.loads(pickle.dumps(model, protocol=2)),
        copy.copy,
        copy.deepcopy,
    ],
    ids=["pickle", "protocol 2", "copy", "deepcopy"],
)
def test_pickle_and_copy(model: NeuralTagger, make: Any) -> None:
    other = make(model)
    same_answers(model, other, X)
    assert other.get_params() == model.get_params()
    assert [done.line() for done in other.training_log_] == [done.line() for done in model.training_log_]
    assert other.network_.tagger is not model.network_.tagger


def test_joblib_leaves_no_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stream = io.BytesIO()
    joblib.dump(bilstm(), stream)
    for _ in range(2):
        stream.seek(0)
        same_answers(bilstm(), joblib.load(stream), X)
    assert [name for name in os.listdir(tmp_path) if not name.startswith("torchinductor")] == []


def test_a_pickle_holds_the_bytes_of_the_file(model: NeuralTagger, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    assert model.__getstate__()["_file"] == (tmp_path / "model").read_bytes()


def test_what_is_set_after_fit_does_not_change_the_network(tmp_path: Path) -> None:
    changed = copy.deepcopy(bilstm()).set_params(dropout=0.9, epochs=99, learning_rate=1.0, batch_size=1)
    changed.save(tmp_path / "model")
    for other in (tagline.load(tmp_path / "model", device="cpu"), copy.deepcopy(changed)):
        same_answers(bilstm(), other, X)
        assert other.get_params() == changed.get_params()


@pytest.mark.parametrize("settings", [{"hidden": 99}, {"head": "softmax"}, {"characters": None}, {"scheme": None}])
def test_what_would_need_another_network_is_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    changed, (name,) = copy.deepcopy(bilstm()).set_params(**settings), settings
    for question in (lambda: changed.predict(X), lambda: changed.save(tmp_path / "m"), lambda: copy.copy(changed)):
        with pytest.raises(InputError, match=f"^{name}: "):
            question()
    same_answers(changed.set_params(**{name: getattr(bilstm(), name)}), bilstm(), X)


def test_an_unfitted_estimator_is_pickled_as_it_is() -> None:
    model = BiLSTMCRF(hidden=3, callbacks=(print,))
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    with pytest.raises(AttributeError, match="not fitted"):
        model.save("nowhere")


def test_plain_settings_are_kept_and_code_is_not(tmp_path: Path) -> None:
    fitted = BiLSTMCRF(
        **{**SMALL, "epochs": np.int64(1)},
        label_weights={"B-PER": 2.0},
        max_seconds=1e9,
        callbacks=(lambda done: None,),
        verbose=False,
        warm_start=True,
    ).fit(*people())
    fitted.save(tmp_path / "model")
    loaded = tagline.load(tmp_path / "model")
    assert loaded.epochs == 1
    assert loaded.label_weights == {"B-PER": 2.0}
    assert loaded.warm_start
    assert loaded.callbacks == ()
    assert loaded.device == "auto"
    assert loaded.set_params(warm_start=False, device="cpu").fit(*people()).predict(X) == fitted.predict(X)


def test_where_word_vectors_came_from(tmp_path: Path) -> None:
    vectors = Embeddings(("anna", "rome"), np.eye(2, 3, dtype=np.float32))
    (tmp_path / "vectors.txt").write_text("anna 1 0 0\nrome 0 1 0\n")
    settings = {**SMALL, "epochs": 1}
    by_path, by_object = (BiLSTMCRF(one, **settings).fit(*people()) for one in (tmp_path / "vectors.txt", vectors))
    assert same_weights(by_path, by_object)
    by_path.save(tmp_path / "one")
    by_object.save(tmp_path / "two")
    one, two = (tagline.load(tmp_path / name, device="cpu") for name in ("one", "two"))
    assert one.embeddings == str(tmp_path / "vectors.txt")
    assert two.embeddings is None
    same_answers(one, two, X)
    assert copy.deepcopy(by_object).embeddings.words == vectors.words
    assert (tmp_path / "two").stat().st_size < 60_000
    again = one.set_params(warm_start=True)
    (tmp_path / "vectors.txt").unlink()
    again.fit(*people())  # goes on without the file
    with pytest.raises(InputError, match=r"vectors\.txt: "):
        again.set_params(warm_start=False).fit(*people())


def test_an_encoder_travels_with_the_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = shutil.copytree(encoder_folder("bert"), tmp_path / "encoder")
    fitted = TransformerCRF(folder, **{**TINY, "epochs": 2}, freeze=1, checkpointing=True).fit(*people())
    answers = fitted.predict(X)
    fitted.save(tmp_path / "model")
    shutil.rmtree(folder)
    loaded = tagline.load(tmp_path / "model", device="cpu")
    assert loaded.predict(X) == answers
    same_answers(fitted, loaded, X)
    assert loaded.encoder == str(folder)
    assert loaded.freeze == 1
    same_answers(loaded, pickle.loads(pickle.dumps(loaded)), X)
    embeddings = weights_of(loaded)["encoder.model.embeddings.word_embeddings.weight"]
    going_on = loaded.set_params(warm_start=True).fit(*people())
    np.testing.assert_array_equal(weights_of(going_on)["encoder.model.embeddings.word_embeddings.weight"], embeddings)
    assert not same_weights(going_on, fitted)
    with pytest.raises(InputError, match=r"^encoder .*: "):
        loaded.set_params(warm_start=False).fit(*people())


# Damage.


def test_a_device_that_is_not_there_is_no_damage(tmp_path: Path) -> None:
    bilstm().save(tmp_path / "model")
    with pytest.raises(InputError, match=r"^device: ") as caught:
        tagline.load(tmp_path / "model", device="cuda:77")
    assert not isinstance(caught.value, StorageError)


def test_files_of_others_are_refused(model: NeuralTagger, tmp_path: Path) -> None:
    config, arrays = model._packed()
    for change, place in (
        ({"version": 99}, r"broken: .*\b99\b"),
        ({"version": None}, r"broken: .*'version'"),
        ({"model": "gru"}, r"broken: .*'gru'"),
        ({"model": "crf"}, r"broken(: vocabulary)?: "),
        ({"model": "transformer" if model.kind == "bilstm" else "bilstm"}, r"broken(: vocabulary)?: "),
    ):
        storage.write(tmp_path / "broken", {**config, **change}, arrays)
        with pytest.raises(StorageError, match=place) as caught:
            tagline.load(tmp_path / "broken")
        assert "broken: " in str(caught.value)


def changed_plan(**change: Any) -> Any:
    return lambda config, arrays: config["network"].update(change)


def changed(**change: Any) -> Any:
    return lambda config, arrays: config.update(change)


def without(part: str, name: str) -> Any:
    def change(config: dict[str, Any], arrays: dict[str, Any]) -> None:
        del ({"config": config, "network": config["network"], "arrays": arrays}[part])[name]

    return change


def array(name: str, change: Any) -> Any:
    def apply(config: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = change(arrays.get(name))

    return apply


def with_nan(value: Any) -> Any:
    out = value.copy()
    out.flat[out.size // 2] = np.nan
    return out


LINEAR = "network.head.linear.weight"
PIECES = "network.encoder.model.embeddings.word_embeddings.weight"

ALL: dict[str, Any] = {
    "labels: a number": (changed(labels=["B-LOC", "B-PER", "I-LOC", "I-PER", 3]), "labels"),
    "labels: twice": (changed(labels=["B-LOC", "B-PER", "I-LOC", "O", "O"]), "labels"),
    "labels: none": (changed(labels=[]), "16384"),
    "labels: fewer": (changed(labels=["B-LOC", "B-PER", "I-LOC", "O"]), r"network.head.linear.bias' as float32 \[4\]"),
    "labels: many": (changed(labels=[f"B-{k}" for k in range(3000)]), r"linear.bias' as float32 \[3000\]"),
    "labels: very many": (changed(labels=[f"B-{k}" for k in range(16384)]), r"\blabels\b"),
    "labels: too many": (changed(labels=[f"B-{k}" for k in range(20000)]), "16384"),
    "labels: of no scheme": (changed(labels=["A", "B", "C", "D", "E"]), "IOB2"),
    "scheme: unknown": (changed(scheme="IOBX"), "scheme: "),
    "scheme: a number": (changed(scheme=3), "'scheme'"),
    "network: a list": (changed(network=[]), "'network'"),
    "settings": (changed(settings=None), "'settings'"),
    "training": (changed(training=[]), "'training'"),
    "training: objective": (changed(training={"objective": "low"}), "objective"),
    "head: odd": (changed_plan(head="x"), "head: "),
    "head: None": (changed_plan(head=None), r"\bhead\b.*None"),
    "head: missing": (without("network", "head"), r"\bhead\b"),
    "dropout": (changed_plan(dropout=1.5), "dropout: "),
    "dropout: a word": (changed_plan(dropout="half"), r"\bdropout\b.*'half'"),
    "smoothing": (changed_plan(smoothing=-1), "smoothing: "),
    "weights: NaN": (array(LINEAR, with_nan), r"head\.linear\.weight"),
    "weights: infinite": (array("network.head.linear.bias", lambda w: w + np.inf), r"head\.linear\.bias"),
    "weights: float64": (array(LINEAR, lambda w: w.astype(np.float64)), r"linear\.weight"),
    "weights: bits": (array(LINEAR, lambda w: w > 0), r"linear\.weight"),
    "weights: bias of float64": (array("network.head.linear.bias", lambda w: w.astype(np.float64)), r"linear\.bias"),
    "weights: cut": (array(LINEAR, lambda w: w[:, 1:]), r"linear\.weight"),
    "weights: flat": (array(LINEAR, np.ravel), r"linear\.weight"),
    "weights: missing": (without("arrays", LINEAR), "head.linear.weight"),
    "weights: bias missing": (without("arrays", "network.head.linear.bias"), "head.linear.bias"),
    "weights: more": (array("network.head.more", lambda w: np.zeros(3, np.float32)), r"head\.more"),
}  # fmt: skip

RANGES = ("word_dim", "char_dim", "char_size", "case_dim", "bigram_dim", "hidden", "layers")
LSTM: dict[str, Any] = {
    **ALL,
    **{f"{name}: {value}": (changed_plan(**{name: value}), f"{name}|weights: |layers")
       for name in RANGES for value in (-1, 10**9, 7, 2.0, "8", None, True)},
    **{f"{name}: missing": (without("network", name), name) for name in (*RANGES, "characters")},
    "characters": (changed_plan(characters="rnn"), "characters: "),
    "characters: other": (changed_plan(characters="lstm"), "weights: "),
    "characters: none": (changed_plan(characters=None), "weights: "),
    "head: other": (changed_plan(head="softmax"), r"head\.crf"),
    "freeze_words": (changed_plan(freeze_words=1), "freeze_words"),
    "embeddings": (changed_plan(embeddings=3), "embeddings"),
    "longest: 0": (changed_plan(longest=0), "10000"),
    "longest: huge": (changed_plan(longest=10**9), "10000"),
    "longest: a word": (changed_plan(longest="30"), "longest"),
    "lowercase": (changed_plan(lowercase=1), "lowercase"),
    "transitions: NaN": (array("network.head.crf.transitions", with_nan), r"head\.crf\.transitions"),
    "transitions: cut": (array("network.head.crf.transitions", lambda w: w[1:]), r"head\.crf\.transitions"),
    "words: fewer": (array("network.encoder.words.weight", lambda w: w[1:]), r"encoder\.words\.weight"),
    "vocabulary: missing": (without("arrays", "coder.words.slots"), "vocabulary: "),
    "vocabulary: cut": (array("coder.words.bytes", lambda b: b[1:]), "vocabulary"),
    "vocabulary: garbled": (array("coder.words.bytes", lambda b: b ^ 0x80), "vocabulary"),
    "vocabulary: lengths": (array("coder.characters.lengths", lambda n: n[:-1]), "vocabulary"),
    "vocabulary: slots": (array("coder.words.slots", lambda s: s + 10**6), "vocabulary"),
    "vocabulary: type": (array("coder.words.bytes", lambda b: b.astype(np.int64)), "vocabulary"),
}  # fmt: skip


def config_with(**change: Any) -> Any:
    return lambda config, arrays: config["network"]["config"].update(change)


def window(**change: Any) -> Any:
    return lambda config, arrays: config["network"]["pieces"].update(change)


def tokenizer(change: Any) -> Any:
    return array("coder.tokenizer", lambda b: np.frombuffer(change(b.tobytes()), np.uint8))


def tokenizer_with(change: Any) -> Any:
    def edit(text: bytes) -> bytes:
        fields = json.loads(text)
        change(fields)
        return json.dumps(fields).encode()

    return tokenizer(edit)


def tokenizer_model(**change: Any) -> Any:
    return tokenizer_with(lambda fields: fields["model"].update(change))


BERT: dict[str, Any] = {
    **ALL,
    "head: other": (changed_plan(head="softmax"), r"head\.crf"),
    "pooling": (changed_plan(pooling="last"), "pooling: "),
    "freeze": (changed_plan(freeze=99), "freeze: "),
    "freeze: a word": (changed_plan(freeze="some"), "freeze: "),
    "checkpointing": (changed_plan(checkpointing="yes"), "checkpointing"),
    "encoder": (changed_plan(encoder=None), "encoder"),
    "config: none": (changed_plan(config=None), "config"),
    "config: empty": (changed_plan(config={}), "encoder: "),
    "config: of nothing": (config_with(model_type="abacus"), "encoder: "),
    "config: of a T5": (changed_plan(config={"model_type": "t5"}), r"broken\.tagline: "),
    "config: odd type": (config_with(model_type=["bert"]), "encoder: "),
    "config: hidden_size": (config_with(hidden_size=32), "weights of the encoder: "),
    "config: huge": (config_with(hidden_size=2**20, intermediate_size=2**30), r"weights of the encoder|encoder: "),
    "config: huge vocabulary": (config_with(vocab_size=2**40), "weights of the encoder: "),
    "config: layers": (config_with(num_hidden_layers=3), "weights of the encoder: "),
    "config: very many layers": (config_with(num_hidden_layers=10**9), "num_hidden_layers"),
    "config: no layers": (config_with(num_hidden_layers=0), r"broken\.tagline: "),
    "config: heads": (config_with(num_attention_heads=3), "encoder: "),
    "config: a word": (config_with(hidden_size="16"), "encoder: "),
    "config: negative": (config_with(hidden_size=-16), r"encoder: |weights"),
    "config: activation": (config_with(hidden_act="tan"), "encoder: "),
    "config: positions": (config_with(max_position_embeddings=12), "weights of the encoder: "),
    "encoder: NaN": (array(PIECES, with_nan), r"word_embeddings\.weight"),
    "encoder: missing": (without("arrays", PIECES), r"broken\.tagline: "),
    "encoder: float16": (array(PIECES, lambda w: w.astype(np.float16)), "as torch.float32"),
    "encoder: cut": (array(PIECES, lambda w: w[1:]), "shape"),
    "pieces: missing": (without("network", "pieces"), "pieces of the network"),
    "pieces: less": (changed_plan(pieces={"unknown": 1}), "unknown, padding, max_length, stride of pieces"),
    "pieces: more": (window(code="import os"), "of pieces"),
    "pieces: unknown": (window(unknown=10**6), "unknown: "),
    "pieces: padding": (window(padding=-1), "padding: "),
    "pieces: too long": (window(max_length=49), "max_length: "),
    "pieces: too short": (window(max_length=2), "max_length: "),
    "pieces: a word": (window(max_length="48"), "max_length: "),
    "pieces: stride": (window(stride=-1), "stride: "),
    "tokenizer: missing": (without("arrays", "coder.tokenizer"), "a tokenizer as bytes"),
    "tokenizer: more": (array("coder.more", lambda b: np.zeros(3, np.uint8)), "tokenizer"),
    "tokenizer: numbers": (array("coder.tokenizer", lambda b: b.astype(np.int32)), "tokenizer"),
    "tokenizer: not UTF-8": (tokenizer(lambda text: b"\xff" + text), "tokenizer"),
    "tokenizer: cut": (tokenizer(lambda text: text[: len(text) // 2]), "tokenizer: "),
    "tokenizer: empty": (tokenizer(lambda text: b""), "tokenizer: "),
    "tokenizer: a list": (tokenizer(lambda text: b"[]"), "tokenizer: "),
    "tokenizer: deep": (tokenizer(lambda text: b"[" * 100_000), "tokenizer: "),
    "tokenizer: no model": (tokenizer_with(lambda fields: fields.pop("model")), "tokenizer: "),
    "tokenizer: odd model": (tokenizer_model(type="Abacus"), "tokenizer: "),
    "tokenizer: no words": (tokenizer_model(vocab={}), r"broken\.tagline: "),
    "tokenizer: huge pieces": (tokenizer_model(vocab={"[UNK]": 10**6, "a": 1}), r"broken\.tagline: "),
    "tokenizer: odd pieces": (tokenizer_model(vocab={"[UNK]": -4}), "tokenizer: "),
}  # fmt: skip


def check_damage(model: NeuralTagger, change: Any, message: str, path: Path) -> None:
    config, arrays = model._packed()
    config = json.loads(json.dumps(config))
    change(config, arrays)
    storage.write(path, config, arrays)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(StorageError, match=message) as caught:
        tagline.load(path)
    assert "broken.tagline: " in str(caught.value)
    if sys.platform == "linux":
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # KiB


@pytest.mark.parametrize("wrong", LSTM)
def test_whatever_a_file_of_a_bilstm_says_is_checked(wrong: str, tmp_path: Path) -> None:
    check_damage(bilstm(), *LSTM[wrong], tmp_path / "broken.tagline")


@pytest.mark.parametrize("wrong", BERT)
def test_whatever_a_file_of_a_transformer_says_is_checked(wrong: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    check_damage(transformer("bert"), *BERT[wrong], tmp_path / "broken.tagline")


def survives(data: bytes) -> bool:
    """Whether bytes are a model that answers; anything but an error of ours is a failure."""
    try:
        file = storage.loads(data, verify=False)
        if file.config.get("model") not in ("bilstm", "transformer"):
            return False
        kind = {"bilstm": BiLSTMCRF, "transformer": TransformerCRF}[file.config["model"]]
        loaded = kind.from_file(file, device="cpu")
        loaded.predict([["Anna", "x"], []])
    except TaglineError:
        return False
    return True


def header_of(data: bytes) -> int:
    return 8 + int.from_bytes(data[:8], "little")


@pytest.fixture(params=["bilstm", "bert"])
def written(request: pytest.FixtureRequest) -> bytes:
    if request.param == "bert":
        pytest.importorskip("transformers")
    return storage.dumps(*KINDS[request.param]()._packed())


def test_every_truncation_is_refused(written: bytes) -> None:
    assert survives(written)
    for size in (*range(0, 400, 7), *np.linspace(400, len(written) - 1, 60).astype(int).tolist()):
        assert not survives(written[:size]), size


def test_flipped_bits_are_refused_or_harmless(written: bytes) -> None:
    data, accepted = bytearray(written), 0
    places = np.random.default_rng(0).integers(0, header_of(written), 220).tolist()
    places += np.random.default_rng(1).integers(0, len(written), 80).tolist()
    for turn, place in enumerate(places):
        bit = 1 << turn % 8
        data[place] ^= bit
        accepted += survives(bytes(data))
        data[place] ^= bit
    assert 0 < accepted < len(places)


def test_changed_values_of_the_plan_are_refused_or_harmless(tmp_path: Path) -> None:
    """Whatever the file says of labels, rules, network, encoder and training takes other values."""
    pytest.importorskip("transformers")
    for fitted in (bilstm(), transformer("bert")):
        config, arrays = fitted._packed()
        for turn, place in enumerate(paths_of({**config, "settings": {}})):
            for value in ((None, -1, "x"), (10**12, [], True), (0.5, 0, {}))[turn % 3]:
                odd = json.loads(json.dumps(config))
                inner = odd
                for key in place[:-1]:
                    inner = inner[key]
                inner[place[-1]] = value
                survives(storage.dumps(odd, arrays))


def paths_of(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where there are values: those of dictionaries, and the first of lists."""
    inner = value.items() if isinstance(value, dict) else list(enumerate(value))[:1] if isinstance(value, list) else ()
    own = [place] if place else []
    return own + [found for key, part in inner for found in paths_of(part, (*place, key))]


def test_the_checksum_refuses_what_would_be_harmless(tmp_path: Path) -> None:
    data = bytearray(storage.dumps(*bilstm()._packed()))
    data[-100] ^= 1
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(StorageError, match=r"model: .*checksum"):
        tagline.load(tmp_path / "model")


def test_a_damaged_pickle_is_refused() -> None:
    state = bilstm().__getstate__()
    config, arrays = bilstm()._packed()
    config["network"]["hidden"] = 9
    with pytest.raises(StorageError, match=r"^<pickle>: weights: "):
        BiLSTMCRF().__setstate__({**state, "_file": storage.dumps(config, arrays)})
