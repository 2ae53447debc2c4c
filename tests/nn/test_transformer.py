"""The transformer encoder against the models it is made of, called window by window and without padding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import transformers  # noqa: E402

from tagline import InputError  # noqa: E402
from tagline.nn import transformer  # noqa: E402
from tagline.nn.subword_batches import SubwordBatch  # noqa: E402
from tagline.nn.transformer import TransformerEncoder  # noqa: E402

from .transformer_cases import ENCODERS, batch_of, make, pieces_for, sentences_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


# Decorators of this library's module are older than our warnings are strict.
OLD = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


@pytest.fixture(params=[pytest.param(key, marks=[OLD] if "deberta" in key else []) for key in sorted(ENCODERS)])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def by_hand(model: Any, batch: SubwordBatch, pooling: str) -> list[Any]:
    """Vectors of the words of each sentence, from windows that go through the model alone, without padding."""
    S = batch.input_ids.shape[1]
    hidden = []
    for ids, mask in zip(batch.input_ids, batch.attention_mask, strict=True):
        with torch.no_grad():
            hidden.append(model(input_ids=ids[mask][None]).last_hidden_state[0])
    found = []
    for first, length in zip(batch.first.tolist(), batch.lengths.tolist(), strict=True):
        rows = []
        for t, spot in enumerate(first[:length]):
            w, s = divmod(spot, S)
            places = [place for place, word in enumerate(batch.words[w].tolist()) if word == t]
            assert places[0] == s
            rows.append(hidden[w][s] if pooling == "first" else hidden[w][places].mean(0))
        found.append(torch.stack(rows) if rows else torch.zeros(0, 16))
    return found


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_vectors_of_words(name: str, pooling: Any) -> None:
    model = make(name)
    encoder = TransformerEncoder(model, pooling=pooling).eval()
    batch = batch_of(pieces_for(name, stride=4), sentences_of(5, 0, 60, 1, 12))
    assert len(batch.input_ids) > 5  # some sentence needs windows
    got = encoder(batch)
    assert got.shape == (5, 60, encoder.size)
    for vectors, expected in zip(got, by_hand(model, batch, pooling), strict=True):
        torch.testing.assert_close(vectors[: len(expected)], expected, rtol=1e-4, atol=2e-5)
        assert not vectors[len(expected) :].any()


def test_padding_and_company_do_not_matter(name: str) -> None:
    encoder = TransformerEncoder(make(name), pooling="mean").eval()
    sentences = sentences_of(7, 3, 11, 20)
    subject = pieces_for(name)
    together = encoder(batch_of(subject, sentences, multiple=8))
    for b, sentence in enumerate(sentences):
        alone = encoder(batch_of(subject, [sentence]))[0]
        torch.testing.assert_close(together[b, : len(sentence)], alone, rtol=1e-4, atol=2e-5)


def test_windows_are_exact_where_attention_is_local() -> None:
    """An encoder that sees 6 pieces to each side cannot tell windows with more context from the whole."""
    sizes = {**ENCODERS["modernbert"][1], "local_attention": 4, "layer_types": ["sliding_attention"] * 3}
    encoder = TransformerEncoder(make("modernbert", sizes=sizes)).eval()
    sentences = sentences_of(60, 5, 100)
    tables = [pieces_for("modernbert", max_length=900)]
    tables += [pieces_for("modernbert", max_length=64, stride=stride) for stride in (14, 0)]
    with torch.no_grad():
        whole, close, far = (encoder(batch_of(table, sentences)) for table in tables)
    torch.testing.assert_close(close, whole, rtol=1e-4, atol=2e-5)
    assert float((far - whole).abs().max()) > 0.01


def test_nothing_to_read(name: str) -> None:
    encoder = TransformerEncoder(make(name))
    subject = pieces_for(name)
    assert encoder(batch_of(subject, [])).shape == (0, 0, 16)
    assert encoder(batch_of(subject, [[], []])).shape == (2, 0, 16)


def test_many_windows_go_through_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = TransformerEncoder(make("bert")).eval()
    batch = batch_of(pieces_for("bert"), sentences_of(200))
    rows = []
    encoder.model.encoder.register_forward_pre_hook(lambda module, given: rows.append(len(given[0])))
    with torch.inference_mode():
        whole = encoder(batch)
        monkeypatch.setattr(transformer, "_MOST_PIECES", 100)
        parts = encoder(batch)
    assert rows[0] == len(batch.input_ids)
    assert set(rows[1:-1]) == {2}
    torch.testing.assert_close(parts, whole, rtol=1e-5, atol=1e-5)


def test_a_full_mask_is_what_the_library_makes(name: str) -> None:
    model = make(name)
    batch = batch_of(pieces_for(name), sentences_of(5, 9))
    assert not batch.attention_mask.all()
    seen: list[Any] = []
    model.register_forward_pre_hook(lambda module, _, given: seen.append(given["attention_mask"]), with_kwargs=True)
    with torch.no_grad():
        encoder = TransformerEncoder(model).eval()
        got = encoder._hidden(encoder.embed(batch), batch.attention_mask)
        plain = model(input_ids=batch.input_ids, attention_mask=batch.attention_mask.long()).last_hidden_state
    assert seen[0].dim() == (4 if name in transformer._TAKE_FULL_MASKS else 2)
    torch.testing.assert_close(got[batch.attention_mask], plain[batch.attention_mask], rtol=1e-5, atol=1e-5)


def test_no_waiting_for_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in a step asks a tensor for its truth, which on a GPU would wait."""
    encoder = TransformerEncoder(make("bert"), pooling="mean")
    batch = batch_of(pieces_for("bert"), sentences_of(5, 9))

    def refused(self: Any, *_: Any) -> Any:
        raise AssertionError("a step asked for the value of a tensor")

    for method in ("__bool__", "item", "tolist", "__int__", "__float__", "nonzero"):
        monkeypatch.setattr(torch.Tensor, method, refused)
    encoder(batch).sum().backward()


def test_gradients_reach_every_parameter(name: str) -> None:
    encoder = TransformerEncoder(make(name), dropout=0.0).eval()
    vectors = encoder(batch_of(pieces_for(name), sentences_of(5, 9)))
    (vectors * torch.randn(vectors.shape)).sum().backward()
    left = [key for key, parameter in encoder.named_parameters() if parameter.grad is None]
    assert left == []


def test_checkpointing_changes_nothing_but_memory(name: str) -> None:
    if name in ("albert", "mpnet"):
        with pytest.raises(InputError, match=r"^checkpointing: "):
            TransformerEncoder(make(name), checkpointing=True)
        return
    gradients = []
    for checkpointing in (False, True):
        encoder = TransformerEncoder(make(name), dropout=0.0, checkpointing=checkpointing)
        torch.manual_seed(1)
        encoder(batch_of(pieces_for(name), sentences_of(5, 9))).square().sum().backward()
        gradients.append([parameter.grad for parameter in encoder.parameters()])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("freeze", [0, 1, 2, 4, "all"])
def test_lower_layers_stay(freeze: Any) -> None:
    encoder = TransformerEncoder(make("bert"), freeze=freeze)
    trained = {key.removeprefix("model.") for key, one in encoder.named_parameters() if one.requires_grad}
    every = {key.removeprefix("model.") for key, _ in encoder.named_parameters()}
    count = 4 if freeze == "all" else freeze
    fixed = tuple(["embeddings.", "encoder.layer.0.", "encoder.layer.1.", "encoder.layer.2."][:count])
    assert trained == {key for key in every if not key.startswith(fixed)}
    assert encoder.training
    assert encoder.model.training == (count < 4)
    vectors = encoder(batch_of(pieces_for("bert"), sentences_of(4)))
    assert vectors.requires_grad == (count < 4)
    assert not encoder.eval().model.training


@pytest.mark.parametrize("freeze", [-1, 5, True, "none", 1.0])
def test_freezing_out_of_range(freeze: Any) -> None:
    with pytest.raises(InputError, match=r"^freeze: "):
        TransformerEncoder(make("bert"), freeze=freeze)


def test_dropout_of_vectors() -> None:
    encoder = TransformerEncoder(make("bert"), dropout=0.5, freeze="all")
    batch = batch_of(pieces_for("bert"), sentences_of(30))
    assert 0.4 < float((encoder(batch) == 0).float().mean()) < 0.6
    assert float((encoder.eval()(batch) == 0).float().mean()) == 0


# Made again from its parts.


def test_made_again(name: str) -> None:
    encoder = TransformerEncoder(make(name, seed=5), pooling="mean").eval()
    config = json.loads(json.dumps(encoder.encoder_config()))
    state = {key: value.numpy().copy() for key, value in encoder.state_dict().items()}
    for value in state.values():
        value.flags.writeable = False
    before = torch.get_rng_state()
    again = TransformerEncoder.from_parts(config, state, pooling="mean").eval()
    assert torch.equal(torch.get_rng_state(), before)
    batch = batch_of(pieces_for(name), sentences_of(5, 60))
    assert torch.equal(again(batch), encoder(batch))
    assert again.encoder_config() == encoder.encoder_config()
    shapes = {key: value.shape for key, value in TransformerEncoder.from_parts(config).state_dict().items()}
    assert shapes == {key: value.shape for key, value in encoder.state_dict().items()}


def test_a_configuration_holds_neither_paths_nor_code(tmp_path: Path) -> None:
    model = make("bert")
    model.config.auto_map = {"AutoModel": "evil--code.Model"}
    model.config._name_or_path = str(tmp_path)
    text = json.dumps(TransformerEncoder(model).encoder_config())
    assert "evil" not in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"model_type": "best"}, r"^encoder: .*'best'"),
        ({"model_type": None}, r"^encoder: "),
        ({"model_type": ["bert"]}, r"^encoder: "),
        ({"hidden_size": 10**9}, r"^weights of the encoder: .*\b1000000000"),
        ({"vocab_size": 10**12}, r"^weights of the encoder: .*\b1000000000000"),
        ({"num_hidden_layers": 10**9}, r"^encoder: .*num_hidden_layers"),
        ({"num_hidden_layers": 4}, r"^weights of the encoder: .*layer\.3"),
        ({"num_hidden_layers": 2}, r"^weights of the encoder: .*layer\.2"),
        ({"hidden_size": "large"}, r"^encoder: .*'bert'"),
        ({"num_attention_heads": 3}, r"^encoder: .*'bert'"),
    ],
)
def test_parts_that_do_not_fit(change: dict[str, Any], place: str) -> None:
    encoder = TransformerEncoder(make("bert"))
    with pytest.raises(InputError, match=place):
        TransformerEncoder.from_parts({**encoder.encoder_config(), **change}, encoder.state_dict())


@pytest.mark.parametrize(
    ("kind", "change", "grown"),
    [
        ("esm", {"position_embedding_type": "rotary"}, {"max_position_embeddings": 500_000_000}),
        ("gpt_bigcode", {"n_embd": 8, "n_layer": 1, "n_head": 2}, {"n_positions": 40_000}),  # a square of them
    ],
)
def test_tables_that_are_in_no_weights(
    kind: str, change: dict[str, Any], grown: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are refused while the encoder is an outline without memory."""
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = {"model_type": kind, **small, "vocab_size": 20, "pad_token_id": 0, **change}
    encoder = TransformerEncoder.from_parts({**config, **dict.fromkeys(grown, 40)})
    config, state = encoder.encoder_config(), encoder.state_dict()
    again = TransformerEncoder.from_parts(config, state)
    for found, expected in zip(again.buffers(), encoder.buffers(), strict=True):
        assert torch.equal(found, expected)
    build = transformer._model_of
    monkeypatch.setattr(transformer, "_model_of", lambda *parts: build(*parts) if _on_meta() else pytest.fail("built"))
    size = max(grown.values())
    state = {name: torch.zeros(size, 8) if value.shape[0] == 40 else value for name, value in state.items()}
    with pytest.raises(InputError, match=r"^encoder: .* bytes"):
        TransformerEncoder.from_parts({**config, **grown}, state)


def _on_meta() -> bool:
    return bool(torch.empty(0).is_meta)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "detr", "backbone": "somebody/code", "use_pretrained_backbone": True},
        {"model_type": "bert", "Backbone": "somebody/code"},
        {"model_type": "layoutlmv3", "vision_config": {"model_type": "detr"}},
        {"model_type": "bert", "parts": {"more": {"model_type": "vitmatte"}}},
    ],
)
def test_configurations_that_would_ask_for_files(config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers.AutoModel, "from_config", None)
    with pytest.raises(InputError, match=r"^encoder: "):
        TransformerEncoder.from_parts(config)


def test_a_configuration_does_not_say_what_computes() -> None:
    config = {**TransformerEncoder(make("bert")).encoder_config(), "attn_implementation": "somebody/kernel"}
    config |= {"_attn_implementation": "somebody/kernel", "experts_implementation": "somebody/kernel"}
    made = TransformerEncoder.from_parts({**config, "quantization_config": {"quant_method": "awq"}})
    assert made.model.config._attn_implementation in ("sdpa", "eager")
    assert "somebody" not in json.dumps(made.encoder_config())


def test_layers_in_several_lists() -> None:
    config = transformers.XLMConfig(vocab_size=60, emb_dim=8, n_layers=3, n_heads=2, max_position_embeddings=40)
    encoder = TransformerEncoder(transformers.XLMModel(config), freeze=2)
    for name, part in encoder.model.named_parameters():
        lists, _, rest = name.partition(".")
        inside = lists in ("attentions", "layer_norm1", "ffns", "layer_norm2")
        assert part.requires_grad == (inside and int(rest.partition(".")[0]) > 0), name


def test_encoders_only() -> None:
    config = {"model_type": "t5", "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2, "vocab_size": 9}
    with pytest.raises(InputError, match=r"^encoder: .*\bt5"):
        TransformerEncoder.from_parts(config)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"pooling": "last"}, r"^pooling: .*'last'"),
        ({"dropout": 1.0}, r"^dropout: "),
    ],
)
def test_settings_out_of_range(settings: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        TransformerEncoder(make("bert"), **settings)


def test_tokenizer_and_encoder_must_fit(name: str) -> None:
    encoder = TransformerEncoder(make(name))
    encoder.check(pieces_for(name))
    assert encoder.max_length == 40
    with pytest.raises(InputError, match=r"^max_length: "):
        encoder.check(pieces_for(name, max_length=41))
    encoder.model.resize_token_embeddings(50)
    with pytest.raises(InputError, match=r"^tokenizer: "):
        encoder.check(pieces_for(name))


def test_numpy_weights_are_not_changed() -> None:
    encoder = TransformerEncoder(make("bert"))
    state = {key: value.numpy().copy() for key, value in encoder.state_dict().items()}
    again = TransformerEncoder.from_parts(encoder.encoder_config(), state)
    with torch.no_grad():
        for parameter in again.parameters():
            parameter.zero_()
    assert all(np.array_equal(state[key], value.numpy()) for key, value in encoder.state_dict().items())


# What explanations ask for.


def test_amounts_by_word() -> None:
    encoder = TransformerEncoder(make("bert"))
    batch = batch_of(pieces_for("bert"), sentences_of(5, 0, 60))
    values = torch.randn(*batch.input_ids.shape, 3)
    got = encoder.by_word(values, batch)
    expected = torch.zeros(3, 60)
    for w, b in enumerate(batch.sentences.tolist()):
        for s, t in enumerate(batch.words[w].tolist()):
            if t >= 0:
                expected[b, t] += values[w, s].sum()
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)
    assert encoder.by_word(torch.zeros(1, 2, 3), batch_of(pieces_for("bert"), [[]])).shape == (1, 0)


# Batches.


def test_batches_move() -> None:
    batch = batch_of(pieces_for("bert"), sentences_of(5, 9))
    moved = batch.to("meta")
    assert batch.size == moved.size == 2
    assert moved.lengths.device.type == "cpu"
    assert moved.lengths.tolist() == batch.device_lengths.tolist() == [5, 9]
    assert {one.device.type for key, one in vars(moved).items() if key != "lengths"} == {"meta"}
    assert {one.dtype for key, one in vars(batch).items() if key != "attention_mask"} == {torch.int64}
