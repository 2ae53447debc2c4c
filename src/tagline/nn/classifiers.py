"""Checkpoints for token classification of the library transformers: an encoder with one linear layer on top.

    e = W h + b at each piece, a softmax over it: BertForTokenClassification and its kin

The heads here begin with that layer, too (`tagline.nn.heads`). So a checkpoint can be the start of a CRF
(`Classifier`), and an encoder with a CRF can be written as a checkpoint (`save_checkpoint`) that gives labels the same
scores. Where a kind of checkpoint has more than that layer on top (ModernBERT), only encoders are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tagline.errors import InputError
from tagline.features.subwords import PieceTable
from tagline.nn.library import library, quietly
from tagline.nn.transformer import TransformerEncoder

ENDING = "ForTokenClassification"
"""How the names of such architectures end."""


@dataclass(frozen=True, eq=False)
class Classifier:
    """The layer of a checkpoint that scores labels.

    Attributes:
        labels: L names, sorted.
        weight: ``[L, D]``, in their order.
        bias: ``[L]``.
    """

    labels: tuple[str, ...]
    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, model: Any) -> Classifier | None:
        """Take it from a model of the library; None where there is more on top of the encoder than one layer."""
        linear = linear_on_top(model)
        if linear is None:
            return None
        names = label_names(model.config.id2label, linear.out_features)
        order = sorted(range(len(names)), key=lambda number: names[number])
        bias = torch.zeros(len(names)) if linear.bias is None else linear.bias.detach()
        return cls(tuple(names[number] for number in order), linear.weight.detach()[order], bias[order])

    @torch.no_grad()
    def start(self, linear: nn.Linear, labels: Sequence[str]) -> int:
        """Give a layer the rows of those of its labels that are known here; say how many they are."""
        places = {label: number for number, label in enumerate(self.labels)}
        known = [number for number, label in enumerate(labels) if label in places]
        rows = [places[labels[number]] for number in known]
        linear.weight[known] = self.weight[rows].to(linear.weight)
        linear.bias[known] = self.bias[rows].to(linear.bias)
        return len(known)


def linear_on_top(model: Any) -> nn.Linear | None:
    """Return the linear layer that is all that a model has outside of its encoder; None where it has more or less."""
    encoder = f"{model.base_model_prefix}."
    outside = {name.rpartition(".")[0] for name, _ in model.named_parameters() if not name.startswith(encoder)}
    if len(outside) != 1 or model.base_model is model:
        return None
    layer = model.get_submodule(outside.pop())
    plain = isinstance(layer, nn.Linear) and layer.in_features == model.base_model.config.hidden_size
    return layer if plain else None


def label_names(names: dict[int, str], count: int) -> list[str]:
    """Return the names of labels by number, as config.json has them."""
    listed = [names.get(number) for number in range(count)]
    if len(names) != count or not all(isinstance(name, str) for name in listed) or len({*listed}) < count:
        shown = ", ".join(f"{number}: {name!r}" for number, name in [*names.items()][:4])
        raise InputError(
            "id2label of config.json: expected {} names, each once, got {}: {}, …", count, len(names), shown
        )
    return [str(name) for name in listed]


def save_checkpoint(
    folder: str, encoder: TransformerEncoder, linear: nn.Linear, labels: Sequence[str], table: PieceTable, **marks: str
) -> bool:
    """Write config.json, model.safetensors and the tokenizer's files; return whether the layer is among the weights.

    Arguments:
        folder: there, and empty.
        linear: the layer of labels ``[L, D]``.
        marks: further entries of config.json.
    """
    transformers = library()
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: k for k, label in enumerate(labels)}}
    fields = {**encoder.encoder_config(), **names, **marks}
    config = transformers.AutoConfig.for_model(fields.pop("model_type"), **fields)
    with torch.random.fork_rng(devices=[]):  # models draw weights before they are given any
        model: Any = transformers.AutoModelForTokenClassification.from_config(config, dtype=torch.float32)
        layer = linear_on_top(model)
        if layer is None:
            model = transformers.AutoModel.from_config(config, dtype=torch.float32)
    weights = {name: value.detach().cpu() for name, value in encoder.model.state_dict().items()}
    (model if layer is None else model.base_model).load_state_dict(weights, strict=False)  # but for the pooler
    if layer is not None:
        layer.load_state_dict({name: value.detach().cpu() for name, value in linear.state_dict().items()})
    with quietly():
        model.save_pretrained(folder)
    _fast_tokenizer(table).save_pretrained(folder)
    return layer is not None


def _fast_tokenizer(table: PieceTable) -> Any:
    """The tokenizer as the library has it; it asks for no segments, which some encoders do not take."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    made, window = Tokenizer.from_str(table.tokenizer_json()), table.window
    special = {"unk_token": table.unknown, "pad_token": window.padding}
    if window.before and window.after:
        special |= {"cls_token": window.before[0], "sep_token": window.after[-1]}
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_max_length=window.max_length,
        model_input_names=["input_ids", "attention_mask"],
        **{name: made.id_to_token(piece) for name, piece in special.items()},
    )
