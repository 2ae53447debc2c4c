"""Tiny transformers with random weights, one of each kind, and batches for them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
import transformers

from tagline.features.subwords import PieceTable
from tagline.nn.subword_batches import SubwordBatch
from tagline.readers.corpus import Column
from tests.features.piece_cases import random_words, table

SIZES = {
    "vocab_size": 400,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "pad_token_id": 1,
}
ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("wordpiece", {**SIZES, "max_position_embeddings": 40, "pad_token_id": 0}),
    "electra": ("wordpiece", {**SIZES, "max_position_embeddings": 40, "pad_token_id": 0, "embedding_size": 8}),
    "albert": ("wordpiece", {**SIZES, "max_position_embeddings": 40, "pad_token_id": 0, "embedding_size": 8}),
    "distilbert": (
        "wordpiece",
        {
            "vocab_size": 400,
            "dim": 16,
            "n_layers": 3,
            "n_heads": 2,
            "hidden_dim": 24,
            "max_position_embeddings": 40,
            "pad_token_id": 0,
        },
    ),
    "mpnet": ("unigram", {**SIZES, "max_position_embeddings": 42}),
    "deberta-v2": (
        "unigram",
        {**SIZES, "max_position_embeddings": 40, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    ),
    "roberta": ("bytes_bpe", {**SIZES, "max_position_embeddings": 42}),
    "xlm-roberta": ("unigram", {**SIZES, "max_position_embeddings": 42}),
    "camembert": ("unigram", {**SIZES, "max_position_embeddings": 42}),
    "modernbert": (
        "bytes_bpe",
        {
            **SIZES,
            "max_position_embeddings": 40,
            "local_attention": 6,
            "global_attn_every_n_layers": 3,
            "cls_token_id": 0,
            "sep_token_id": 2,
            "bos_token_id": 0,
            "eos_token_id": 2,
        },
    ),
}
"""The kind of tokenizer and the configuration of each."""


def make(name: str, seed: int = 0, sizes: dict[str, Any] | None = None) -> Any:
    """The model alone, in evaluation mode; its weights are large enough to matter."""
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(name, **(sizes or ENCODERS[name][1]))
    model = transformers.AutoModel.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.3)
    return model.eval()


def pieces_for(name: str, **settings: Any) -> PieceTable:
    return table(ENCODERS[name][0], **{"max_length": 40, **settings})


def batch_of(subject: PieceTable, sentences: list[list[str]], **options: Any) -> SubwordBatch:
    column = Column.of(word for sentence in sentences for word in sentence)
    offsets = np.cumsum([0, *map(len, sentences)])
    found = subject.pieces(column.vocabulary).batch([column.ids[a:z] for a, z in pairwise(offsets)], **options)
    return SubwordBatch.of(found)


def sentences_of(*lengths: int) -> list[list[str]]:
    return [random_words(seed, length) for seed, length in enumerate(lengths)]
