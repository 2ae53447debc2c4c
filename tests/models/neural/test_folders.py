"""Folders of the library transformers: what `save_pretrained` writes, and checkpoints as the start of a tagger."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import tagline  # noqa: E402
from tagline import InputError, StorageError, TransformerCRF  # noqa: E402
from tagline.nn.classifiers import Classifier  # noqa: E402
from tests.features.piece_cases import KINDS, text  # noqa: E402
from tests.nn.transformer_cases import ENCODERS  # noqa: E402

from .cases import (  # noqa: E402
    LABELS,
    TINY,
    check_against_enumeration,
    emissions_of,
    encoder_folder,
    people,
    same_answers,
    transformer,
    weights_of,
)

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ["Anna", "sees", "Carla", "Bruni", "in", "keepers", "1996"]
FILES = ["config.json", "model.safetensors", "tagline.safetensors", "tokenizer.json", "tokenizer_config.json"]
NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]  # of a checkpoint: not sorted


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger as a folder."""
    place = tmp_path_factory.mktemp("folder") / "saved"
    transformer().save_pretrained(place)
    return place


def checkpoint(place: Path, kind: str = "bert", names: Any = NAMES) -> Path:
    """A checkpoint for token classification as the library writes it, whose labels are all likely somewhere."""
    source = encoder_folder(kind)
    torch.manual_seed(3)
    labels = {"id2label": dict(enumerate(names)), "label2id": {name: k for k, name in enumerate(names)}}
    model = transformers.AutoModelForTokenClassification.from_pretrained(source, **labels)
    torch.nn.init.normal_(model.classifier.weight, 0, 1)
    torch.nn.init.normal_(model.classifier.bias, 0, 0.1)
    model.save_pretrained(place)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that nobody here trained."""
    return checkpoint(tmp_path_factory.mktemp("start"))


def logits_of(place: Any, words: list[str]) -> tuple[Any, Any]:
    """What the library gives at the first piece of each word ``[T, L]``, and the names of the labels."""
    model = transformers.AutoModelForTokenClassification.from_pretrained(place).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    told = {"return_offsets_mapping": True, "return_special_tokens_mask": True}
    pieces = tokenizer(" " + " ".join(words), return_tensors="pt", **told)
    places = pieces.pop("offset_mapping")[0, :, 0] - 1000 * pieces.pop("special_tokens_mask")[0]
    begins = np.cumsum([0, *(len(word) + 1 for word in words)])  # with the blank before each word
    first = [int((places >= begin).nonzero()[0]) for begin in begins[:-1]]
    if model.config.model_type == "distilbert":
        pieces.pop("token_type_ids", None)
    with torch.no_grad():
        return model(**pieces).logits[0, first].numpy(), model.config.id2label


# What we write.


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("bert", {}), ("roberta", {}), ("bert", {"head": "softmax"}), ("bert", {"pooling": "mean", "scheme": None})],
)
def test_a_folder_gives_the_same_answers(tmp_path: Path, kind: str, settings: dict[str, Any]) -> None:
    model = transformer(kind, **settings)
    model.save_pretrained(tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == FILES
    again = TransformerCRF.from_pretrained(tmp_path / "new", device="cpu")
    same_answers(model, again, [*people()[0], WORDS, ["x" * 500, "[SEP]"], []])
    assert again.get_params() | {"device": "cpu"} == model.get_params() | {"device": "cpu"}
    assert again.training_ == model.training_
    again.save_pretrained(tmp_path / "again")
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "new" / name).read_bytes(), name


def test_load_takes_a_folder(folder: Path) -> None:
    same_answers(transformer(), tagline.load(folder, device="cpu"), [WORDS])  # type: ignore[arg-type]
    with pytest.raises(StorageError, match=r"saved/tagline\.safetensors: "):
        tagline.load(folder / "tagline.safetensors")


def test_the_library_gives_our_emissions(folder: Path) -> None:
    logits, names = logits_of(folder, WORDS)
    assert [names[k] for k in range(len(names))] == transformer().labels_
    np.testing.assert_allclose(logits, emissions_of(transformer(), WORDS), rtol=0, atol=2e-6)
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["BertForTokenClassification"]
    assert config["label2id"] == {label: k for k, label in enumerate(LABELS)}
    assert "tagline-encoder-" not in (folder / "config.json").read_text()  # no path of whoever trained it


def test_the_pipeline_of_the_library_runs_on_it(folder: Path) -> None:
    pipe = transformers.pipeline("token-classification", model=str(folder), device="cpu")
    found = pipe("anna sees rome")
    assert {piece["entity"] for piece in found} <= {*LABELS}


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # DeBERTa's
@pytest.mark.parametrize("name", [*ENCODERS])
def test_every_kind_of_encoder(tmp_path: Path, name: str) -> None:
    """Also ModernBERT, which has more than a layer on top: its folder holds the encoder, and our file the layer."""
    from tokenizers import Tokenizer

    kind, sizes = ENCODERS[name]
    _, unknown, padding = KINDS[kind]
    pieces = Tokenizer.from_str(text(kind))
    special = {"unk_token": pieces.id_to_token(unknown), "pad_token": pieces.id_to_token(padding)}
    transformers.PreTrainedTokenizerFast(tokenizer_object=pieces, **special).save_pretrained(tmp_path)
    torch.manual_seed(0)
    transformers.AutoModel.from_config(transformers.AutoConfig.for_model(name, **sizes)).save_pretrained(tmp_path)
    model = TransformerCRF(tmp_path, epochs=1, device="cpu", stride=4).fit(*people(sentences=3))
    model.save_pretrained(tmp_path / "saved")
    same_answers(model, TransformerCRF.from_pretrained(tmp_path / "saved", device="cpu"), [WORDS])
    if name == "modernbert":
        assert json.loads((tmp_path / "saved" / "config.json").read_text())["architectures"] == ["ModernBertModel"]
        return
    logits, _ = logits_of(tmp_path / "saved", WORDS)
    np.testing.assert_allclose(logits, emissions_of(model, WORDS), rtol=0, atol=5e-6)


def test_weights_that_the_library_trained_further_count(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "tuned")
    theirs = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "tuned")
    with torch.no_grad():
        theirs.classifier.bias += torch.arange(5.0)
    theirs.save_pretrained(tmp_path / "tuned")
    tuned = TransformerCRF.from_pretrained(tmp_path / "tuned", device="cpu")
    expected = emissions_of(transformer(), WORDS) + np.arange(5, dtype=np.float32)
    np.testing.assert_allclose(emissions_of(tuned, WORDS), expected, rtol=0, atol=2e-6)
    np.testing.assert_array_equal(
        tuned.network_.tagger.head.scores()[0], transformer().network_.tagger.head.scores()[0]
    )


def test_a_folder_that_is_there_keeps_its_other_files(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    transformer().save_pretrained(tmp_path)
    transformer().save_pretrained(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "README.md"])
    with pytest.raises(InputError, match=r"README\.md: "):
        transformer().save_pretrained(tmp_path / "README.md")
    with pytest.raises(StorageError, match="none/here: "):
        transformer().save_pretrained(tmp_path / "none" / "here")


def test_the_screen_and_the_random_numbers_stay_as_they_are(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = torch.random.get_rng_state()
    transformer().save_pretrained(tmp_path / "saved")
    TransformerCRF.from_pretrained(tmp_path / "saved")
    assert torch.equal(torch.random.get_rng_state(), before)
    assert capfd.readouterr() == ("", "")


# Checkpoints of others.


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_a_checkpoint_gives_the_labels_of_its_classifier(tmp_path: Path, kind: str) -> None:
    place = checkpoint(tmp_path, kind)
    model = TransformerCRF.from_pretrained(place, device="cpu")
    assert model.labels_ == sorted(NAMES)
    assert model.scheme_name is None
    sentences = [WORDS, *people(sentences=8)[0]]
    best = []
    for words in sentences:
        logits, names = logits_of(place, words)
        best.append([names[int(k)] for k in logits.argmax(1)])
        order = [NAMES.index(label) for label in model.labels_]
        np.testing.assert_allclose(emissions_of(model, words), logits[:, order], rtol=0, atol=2e-6)
        p = torch.from_numpy(logits).softmax(1).numpy()[:, order]
        np.testing.assert_allclose(model.marginal_arrays([words])[0], p, rtol=0, atol=2e-6)
    assert model.predict(sentences) == best
    assert len({label for row in best for label in row}) > 2
    check_against_enumeration(model, ["Anna", "in", "Rome"])


def test_the_rules_of_a_scheme_can_be_asked_for(start: Path) -> None:
    free = TransformerCRF.from_pretrained(start, device="cpu")
    bound = TransformerCRF.from_pretrained(start, scheme="IOB2", device="cpu")
    assert bound.scheme_name == "IOB2"
    check_against_enumeration(bound, ["Anna", "in", "Rome"])
    X = people()[0]
    broken = [row for row in free.predict(X) if row[0].startswith("I-")]
    assert broken
    assert not [row for row in bound.predict(X) if row[0].startswith("I-")]
    np.testing.assert_array_equal(emissions_of(free, WORDS), emissions_of(bound, WORDS))


def test_a_started_tagger_is_a_model_like_any_other(start: Path, tmp_path: Path) -> None:
    model = TransformerCRF.from_pretrained(start, device="cpu")
    model.save(tmp_path / "m.tagline")
    same_answers(model, tagline.load(tmp_path / "m.tagline", device="cpu"), [WORDS])  # type: ignore[arg-type]
    model.save_pretrained(tmp_path / "folder")
    same_answers(model, TransformerCRF.from_pretrained(tmp_path / "folder", device="cpu"), [WORDS])
    assert "sentences   0" in model.summary().text()


def test_training_goes_on_from_a_checkpoint(start: Path) -> None:
    model = TransformerCRF.from_pretrained(start, **{**TINY, "epochs": 1, "learning_rate": 1e-9})
    before = weights_of(model)
    X, y = people()
    model.fit(X, y)
    for name, value in weights_of(model).items():
        np.testing.assert_allclose(value, before[name], rtol=0, atol=1e-6)
    model.set_params(epochs=12, learning_rate=5e-3).fit(X, y)
    assert model.score(X, y) > 0.95
    with pytest.raises(InputError, match=r"^y: .*warm_start"):
        model.fit([["Acme"]], [["B-ORG"]])


def test_an_encoder_with_a_classifier_begins_with_its_rows(start: Path) -> None:
    still = {**TINY, "epochs": 1, "learning_rate": 1e-12, "weight_decay": 0.0}
    X, y = [["Anna", "at", "Acme"]], [["B-PER", "O", "B-ORG"]]
    model = TransformerCRF(start, **still).fit(X, y)
    theirs = transformers.AutoModelForTokenClassification.from_pretrained(start).classifier
    linear = model.network_.tagger.head.linear
    for label in ("B-PER", "O"):
        mine, yours = model.labels_.index(label), NAMES.index(label)
        np.testing.assert_allclose(linear.weight[mine].detach(), theirs.weight[yours].detach(), rtol=0, atol=1e-6)
        np.testing.assert_allclose(linear.bias[mine].detach(), theirs.bias[yours].detach(), rtol=0, atol=1e-6)
    rows = theirs.weight.detach().numpy()
    new = linear.weight[model.labels_.index("B-ORG")].detach().numpy()
    assert np.abs(rows - new).max(1).min() > 0.1  # none of theirs


def test_the_classifier_of_a_model_is_found() -> None:
    sizes = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    bert = transformers.BertConfig(**sizes, intermediate_size=8, id2label={0: "b", 1: "a"}, label2id={"b": 0, "a": 1})
    model = transformers.BertForTokenClassification(bert)
    found = Classifier.of(model)
    assert found is not None
    assert found.labels == ("a", "b")
    torch.testing.assert_close(found.weight, model.classifier.weight.detach()[[1, 0]], rtol=0, atol=0)
    linear = torch.nn.Linear(8, 3)
    assert found.start(linear, ["b", "c", "d"]) == 1
    torch.testing.assert_close(linear.weight[0].detach(), model.classifier.weight.detach()[0], rtol=0, atol=0)
    assert Classifier.of(transformers.BertModel(bert)) is None


# What is refused.


def changed(source: Path, place: Path, **entries: Any) -> Path:
    """A copy of a folder with other entries in config.json."""
    shutil.copytree(source, place)
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**config, **entries}))
    return place


def test_folders_of_other_things(tmp_path: Path, start: Path, folder: Path) -> None:
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (encoder_folder("bert"), {}, r"tagline-encoder-\w+: "),
        (tmp_path, {}, r"^encoder .*: "),
        (start / "config.json", {}, r"^encoder .*config\.json: "),
        (start, {"scheme": "auto"}, r"^scheme: "),
        (start, {"scheme": "XY"}, r"^scheme: "),
        (start, {"pool": "mean"}, r"^pool: .*'mean'"),
        (folder, {"pool": "mean"}, r"^pool: .*'mean'"),
        (start, {"epochs": -1}, r"^epochs: "),
        (start, {"device": "abacus"}, r"^device: "),
        (7, {}, r"^path: "),
        (changed(start, tmp_path / "twice", id2label=dict.fromkeys(range(5), "O")), {}, r"^id2label of config\.json: "),
        (changed(start, tmp_path / "few", id2label={0: "O", 1: "X"}), {}, r"^encoder .*few: "),
    ]
    for place, settings, message in refused:
        with pytest.raises(InputError, match=message):
            TransformerCRF.from_pretrained(place, **settings)


def test_parts_that_do_not_belong_together(tmp_path: Path, start: Path, folder: Path) -> None:
    other = changed(folder, tmp_path / "names", id2label={k: f"L{k}" for k in range(5)})
    with pytest.raises(StorageError, match=r"names: .*tagline\.safetensors"):
        TransformerCRF.from_pretrained(other)
    alone = tmp_path / "alone"
    shutil.copytree(folder, alone)
    (alone / "tagline.safetensors").unlink()
    with pytest.raises(InputError, match=r"alone: .*tagline.safetensors"):
        TransformerCRF.from_pretrained(alone)
    shutil.copy(folder / "tagline.safetensors", alone)
    shutil.copy(start / "model.safetensors", alone)  # of the same shapes: another network, and a sound one
    assert TransformerCRF.from_pretrained(alone).labels_ == LABELS
    small = changed(folder, tmp_path / "small", num_hidden_layers=1)
    with pytest.raises((StorageError, InputError), match=r"small/tagline\.safetensors: weights of the encoder: "):
        TransformerCRF.from_pretrained(small)
    transformer().save(alone / "tagline.safetensors")
    with pytest.raises(StorageError, match=r"alone/tagline\.safetensors: .*'transformer'"):
        TransformerCRF.from_pretrained(alone)


def test_damaged_files_are_refused(tmp_path: Path, folder: Path) -> None:
    place = tmp_path / "damaged"
    shutil.copytree(folder, place)
    random = np.random.default_rng(0)
    for name in FILES[:3]:
        good = (folder / name).read_bytes()
        cuts = [good[: int(length)] for length in random.integers(0, len(good), 6)]
        if name == "tagline.safetensors":
            for bit in random.integers(0, 8 * len(good), 20):
                flipped = bytearray(good)
                flipped[bit // 8] ^= 1 << bit % 8
                cuts.append(bytes(flipped))
        for bad in cuts:
            (place / name).write_bytes(bad)
            with pytest.raises((StorageError, InputError)):
                TransformerCRF.from_pretrained(place)
        (place / name).write_bytes(good)
    TransformerCRF.from_pretrained(place)


def test_before_fitting_there_is_nothing_to_save(tmp_path: Path) -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        TransformerCRF(encoder_folder("bert")).save_pretrained(tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_name_on_the_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was downloaded before, or is there now: the library's loaders and the hub's are asked by name."""
    import huggingface_hub

    for owner in (transformers.AutoConfig, transformers.AutoModelForTokenClassification):
        load = owner.from_pretrained

        def by_name(place: str, *, load: Any = load, **options: Any) -> Any:
            return load(folder if place == "somebody/some" else place, **options)

        monkeypatch.setattr(owner, "from_pretrained", by_name)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda place, name: str(folder / name))
    same_answers(transformer(), TransformerCRF.from_pretrained("somebody/some", device="cpu"), [WORDS])

    def nothing(place: str, name: str) -> str:
        raise OSError("no connection\nand more")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", nothing)
    with pytest.raises(InputError, match=r"^somebody/some: .*tagline\.safetensors"):
        TransformerCRF.from_pretrained("somebody/some")
