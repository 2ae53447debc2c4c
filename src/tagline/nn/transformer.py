"""A pretrained transformer as an encoder of words: pieces in, one vector a word out.

    SubwordBatch ──▶ encoder over windows [W, S, D] ──▶ first piece, or mean of the pieces, of each word [B, T, D]

Vectors of special pieces are dropped here, and the windows of a long sentence are joined again, so that what follows (a
CRF) runs over the words of the whole sentence once. An encoder is stored as its configuration and its weights and
made again from both (`TransformerEncoder.from_parts`); no code comes from files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tagline.checks import as_whole, check_choice
from tagline.errors import InputError
from tagline.features.subwords import PieceTable
from tagline.messages import message
from tagline.nn.dropout import check_probability
from tagline.nn.subword_batches import SubwordBatch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

POOLINGS = ("first", "mean")

# Encoders that take a mask as attention wants it, [W, 1, S, S]. Given [W, S], the library asks the device whether
# anything is masked at all, and a training step waits for the answer.
_TAKE_FULL_MASKS = frozenset({"albert", "bert", "camembert", "distilbert", "electra", "roberta", "xlm-roberta"})

# Pieces that go through the encoder at a time where no gradient is kept: a book is tagged in bounded memory.
_MOST_PIECES = 32768


# Bytes of tables that are in no weights, such as the numbers of positions, besides as many as the weights take.
_MOST_IN_TABLES = 64 << 20


class TransformerEncoder(nn.Module):
    """Vectors of words from a transformer of the library transformers.

    Arguments:
        model: BERT, RoBERTa, DistilBERT, MPNet, ELECTRA, XLM-R, ALBERT…; a layer on top of [CLS] is taken off.
        pooling: "first" or "mean", of the pieces of a word.
        dropout: of the vectors, in training.
        freeze: how many of the lower layers keep their weights: 0 none, 1 the embeddings, 2 the first layer too, …;
            "all" of them, which also turns off the dropout inside.
        checkpointing: compute the layers again in the backward pass instead of keeping their results: slower by a
            third, in far less memory.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        pooling: Literal["first", "mean"] = "first",
        dropout: float = 0.1,
        freeze: int | Literal["all"] = 0,
        checkpointing: bool = False,
    ) -> None:
        super().__init__()
        if getattr(model.config, "is_encoder_decoder", False):
            kind = model.config.model_type
            raise InputError("encoder: expected one that only encodes, such as BERT, got the encoder-decoder {}", kind)
        _check_kind({"model_type": model.config.model_type})  # or its file could not be read again
        check_choice("pooling", pooling, POOLINGS)
        check_probability("dropout", dropout)
        if getattr(model, "pooler", None) is not None:
            model.register_module("pooler", None)
        self.model = model
        self.pooling = pooling
        self.dropout = nn.Dropout(dropout)
        self._stacks, self.num_layers = _stacks(model)
        self._depths = _depths(model, self._stacks, self.num_layers)
        self.frozen = self._freeze(freeze)
        if checkpointing:
            if not model.supports_gradient_checkpointing:
                raise InputError("checkpointing: expected False, as {} cannot, got True", model.config.model_type)
            # Its name in transformers 5.23 and later, or before.
            name = "activation" if hasattr(model, "activation_checkpointing_enable") else "gradient"
            getattr(model, f"{name}_checkpointing_enable")({"use_reentrant": False})
        self.train()

    @classmethod
    def from_parts(
        cls, config: Mapping[str, Any], state: Mapping[str, Tensor | NDArray[Any]] | None = None, **settings: Any
    ) -> TransformerEncoder:
        """Make an encoder from `encoder_config()`, with the weights of `state_dict()` or random ones.

        Arguments:
            config: what `encoder_config` gave.
            state: what `state_dict` gave; checked against the configuration before anything large is made.
            settings: pooling, dropout, freeze, checkpointing.
        """
        if state is None:
            return cls(_model_of(config), **settings)
        _check_layers(config, len(state))
        with torch.device("meta"):
            outline = cls(_model_of(config), **settings)
        expected = outline.state_dict()
        _check_state(state, {name: tuple(value.shape) for name, value in expected.items()})
        _check_tables({name: table for name, table in outline.named_buffers() if name not in expected}, state)
        encoder = cls(_model_of(config), **settings)
        encoder.load_state_dict(
            {name: torch.tensor(value) if isinstance(value, np.ndarray) else value for name, value in state.items()}
        )
        return encoder

    @property
    def size(self) -> int:
        """D, of the vectors."""
        return int(self.model.config.hidden_size)

    @property
    def max_length(self) -> int | None:
        """Pieces that the encoder has positions for, special ones too; None where they have no end."""
        return max_length_of(self.model)

    def encoder_config(self) -> dict[str, Any]:
        """Give the configuration as JSON's types; it holds no path and names no code."""
        return _stored(json.loads(self.model.config.to_json_string(use_diff=True)))

    def check(self, table: PieceTable) -> None:
        """Raise an error unless every piece and every window of the tokenizer fits the encoder."""
        embeddings: Any = self.model.get_input_embeddings()
        rows = embeddings.weight.shape[0]
        if table.num_pieces > rows:
            raise InputError(
                "tokenizer: expected pieces that the encoder embeds, 0 to {}, got up to {}; tokenizer "
                "and weights are of different encoders",
                rows - 1,
                table.num_pieces - 1,
            )
        if self.max_length is not None and table.window.max_length > self.max_length:
            raise InputError(
                "max_length: expected up to {} pieces, for which the encoder has positions, got {}",
                self.max_length,
                table.window.max_length,
            )

    def forward(self, batch: SubwordBatch) -> Tensor:
        """Compute the vectors of words, ``[B, T, D]``, zeros where there is no word."""
        return self.encode(self.embed(batch), batch)

    def embed(self, batch: SubwordBatch) -> Tensor:
        """Look up the vectors of pieces with which the encoder begins, ``[W, S, E]``."""
        embedded: Tensor = self.model.get_input_embeddings()(batch.input_ids)
        return embedded

    def encode(self, embedded: Tensor, batch: SubwordBatch) -> Tensor:
        """Turn vectors of pieces ``[W, S, E]`` into those of words, as `forward` does."""
        B, T = batch.first.shape
        if not T:
            return embedded.new_zeros(B, 0, self.size)
        hidden = self._hidden(embedded, batch.attention_mask)  # [W, S, D]
        if self.pooling == "mean":
            hidden = _averaged(hidden, batch.words)
        vectors = hidden.flatten(0, 1).index_select(0, batch.first.flatten()).view(B, T, -1)
        inside = torch.arange(T, device=vectors.device) < batch.device_lengths[:, None]
        noisy: Tensor = self.dropout(torch.where(inside[:, :, None], vectors, 0.0))
        return noisy

    def by_word(self, values: Tensor, batch: SubwordBatch) -> Tensor:
        """Sum values of pieces ``[W, S, E]`` over the pieces of each word, in all windows: ``[B, T]``."""
        B, T = batch.first.shape
        cells = batch.sentences[:, None] * T + batch.words  # [W, S]
        by_piece = torch.where(batch.words < 0, 0.0, values.sum(2))
        totals = by_piece.new_zeros(B * T + 1).index_add(0, cells.clamp(min=0).flatten(), by_piece.flatten())
        return totals[: B * T].view(B, T)

    def train(self, mode: bool = True) -> TransformerEncoder:
        """Turn dropout on or off, as modules do; inside a frozen encoder it stays off."""
        super().train(mode)
        if self.frozen > self.num_layers:
            self.model.eval()
        return self

    def _hidden(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Run the layers, ``[W, S, D]``."""
        W, S = mask.shape
        rows = max(1, _MOST_PIECES // S)
        if rows < W and not torch.is_grad_enabled():
            return torch.cat([self._hidden(embedded[w : w + rows], mask[w : w + rows]) for w in range(0, W, rows)])
        config = self.model.config
        if config.model_type in _TAKE_FULL_MASKS and config._attn_implementation == "sdpa":
            mask = mask[:, None, None, :].expand(W, 1, S, S)
        else:
            mask = mask.long()
        hidden: Tensor = self.model(inputs_embeds=embedded, attention_mask=mask, return_dict=True).last_hidden_state
        return hidden

    def _freeze(self, freeze: int | str) -> int:
        """Fix the weights of the lower depths; return how many depths are fixed."""
        everything = self.num_layers + 1
        wanted = message('0 to {} lower layers, or "all"', everything)
        count = everything if freeze == "all" else as_whole("freeze", freeze, 0, everything, wanted=wanted)
        for name, parameter in self.model.named_parameters():
            parameter.requires_grad_(self._depths[name] >= count)
        return count


_NOT_STORED = frozenset(
    {
        "_name_or_path",
        "architectures",
        "auto_map",
        "dtype",
        "id2label",
        "label2id",
        "quantization_config",
        "tagline_chain",
        "torch_dtype",
        "transformers_version",
    }
)


def max_length_of(model: PreTrainedModel) -> int | None:
    """Count the pieces that an encoder has positions for; RoBERTa and its kin count them from behind the padding."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    limit = getattr(model.config, "max_position_embeddings", None)
    return limit if isinstance(limit, int) and limit > 0 else None


def _averaged(hidden: Tensor, words: Tensor) -> Tensor:
    """Put the mean over the pieces of its word in place of every piece, ``[W, S, D]``.

    A product with the matrix that says which pieces belong together: no sums in an order of the device's choosing.
    """
    together = (words[:, :, None] == words[:, None, :]).to(hidden.dtype)  # [W, S, S]
    return together @ hidden / together.sum(2, keepdim=True)


def _stacks(model: nn.Module) -> tuple[list[str], int]:
    """Find the name of the stack of layers, the longest list of modules, and how many they are.

    Where it has siblings of its length (XLM), a layer has its parts in all of them.
    """
    lists = {name: len(module) for name, module in model.named_modules() if isinstance(module, nn.ModuleList)}
    if not lists:
        raise InputError("encoder: expected a stack of layers, got {}, which has none", type(model).__name__)
    first = max(lists, key=lambda name: lists[name])
    parent = first.rpartition(".")[0]
    return [name for name in lists if name.rpartition(".")[0] == parent and lists[name] == lists[first]], lists[first]


def _depths(model: nn.Module, stacks: list[str], num_layers: int) -> dict[str, int]:
    """Number the depth of each parameter: 0 before the stack of layers, then 1, 2, …, and behind it as its top.

    Layers that share their weights (ALBERT) are one.
    """
    depths, outside = {}, 0
    for name, _ in model.named_parameters():
        stack = next((stack for stack in stacks if name.startswith(f"{stack}.")), None)
        depths[name] = outside if stack is None else 1 + int(name[len(stack) + 1 :].partition(".")[0])
        outside = outside if stack is None else num_layers
    return depths


def _stored(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration, and its parts, without what names files, code or how to compute."""
    return {
        name: _stored(value) if isinstance(value, dict) else value
        for name, value in config.items()
        if name not in _NOT_STORED and "_implementation" not in name
    }


def _check_kind(config: Mapping[str, Any]) -> None:
    """Refuse what is no encoder of text: others may ask for files or code of anybody's choice when they are built."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES as KINDS

    parts = [config]
    for part in parts:
        parts += [value for value in part.values() if isinstance(value, dict)]
        kind = part.get("model_type")
        if (part is config or "model_type" in part) and (not isinstance(kind, str) or kind not in KINDS):
            raise InputError("encoder: expected an encoder of text such as bert, got one of the kind {!r}", kind)
        if odd := next((name for name in part if "backbone" in str(name).lower()), None):
            raise InputError("encoder: expected the configuration of an encoder of text, got {!r} in it", odd)


def _model_of(config: Mapping[str, Any]) -> PreTrainedModel:
    """Build an encoder with random weights, leaving the random numbers of others as they are."""
    from transformers import AutoConfig, AutoModel

    _check_kind(config)
    fields = _stored(config)
    kind = fields.pop("model_type")
    try:
        made = AutoConfig.for_model(kind, **fields)
        with torch.random.fork_rng(devices=[]):
            model: PreTrainedModel = AutoModel.from_config(made, trust_remote_code=False, dtype=torch.float32)
    except Exception as error:  # whatever the library says of unknown kinds and impossible sizes
        shown = str(error).partition("\n")[0][:200]
        raise InputError("encoder: expected the configuration of a transformer, got {!r} ({})", kind, shown) from None
    return model


def _check_layers(config: Mapping[str, Any], count: int) -> None:
    """Refuse a configuration of far more layers than there are weights, before they are made."""
    for name in ("num_hidden_layers", "n_layers", "num_hidden_groups", "inner_group_num"):
        if isinstance(layers := config.get(name), int) and layers > max(count, 100):
            raise InputError("encoder: expected {} to match {} tensors of weights, got {}", name, count, layers)


def _check_tables(tables: Mapping[str, Tensor], state: Mapping[str, Tensor | NDArray[Any]]) -> None:
    """Refuse a configuration of far larger tables than there are weights, which a file does not hold."""
    wanted = sum(table.nbytes for table in tables.values())
    if wanted > (room := _MOST_IN_TABLES + sum(weights.nbytes for weights in state.values())):
        largest = max(tables, key=lambda name: tables[name].nbytes)
        raise InputError(
            "encoder: the configuration asks for tables of {:,} bytes, most of them for {} of shape "
            "{}; with these weights they may take {:,}. Check the sizes in it, such as "
            "max_position_embeddings",
            wanted,
            largest,
            list(tables[largest].shape),
            room,
        )


def _check_state(state: Mapping[str, Tensor | NDArray[Any]], shapes: Mapping[str, tuple[int, ...]]) -> None:
    if missing := sorted(shapes.keys() - state.keys()):
        raise InputError("weights of the encoder: expected {} of {}, got none", missing[0], len(missing))
    for name, value in state.items():
        if name not in shapes:
            raise InputError("weights of the encoder: expected those of the configuration, got {} too", name)
        if tuple(value.shape) != shapes[name]:
            got = list(value.shape)
            raise InputError("weights of the encoder: expected {} of shape {}, got {}", name, list(shapes[name]), got)
