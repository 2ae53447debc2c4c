"""A few sentences as batches, and small BiLSTM encoders for them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch

from tagline.features.spellings import FormTable
from tagline.nn.batches import WordBatch
from tagline.nn.bilstm import BiLSTMEncoder
from tagline.readers.corpus import Column

SENTENCES = [
    ["Anna", "sings"],
    ["a", "very", "long", "sentence", "in", "1996"],
    [],
    ["Internationalization"],
    ["?"] * 3,
]
TABLE = FormTable.learn(Column.of(["anna", "sings", "a", "long", "Sentence", "in"]), longest=9)


def batch_of(sentences: list[list[str]], table: FormTable = TABLE) -> WordBatch:
    column = Column.of(word for sentence in sentences for word in sentence)
    offsets = np.cumsum([0, *map(len, sentences)])
    ids = [column.ids[a:b] for a, b in pairwise(offsets)]
    return WordBatch.of(table.forms(column.vocabulary).batch(ids))


def encoder_of(seed: int = 0, **options: Any) -> BiLSTMEncoder:
    torch.manual_seed(seed)
    settings = {"word_dim": 5, "char_dim": 4, "char_size": 6, "case_dim": 3, "hidden": 7, **options}
    return BiLSTMEncoder(TABLE.num_words, TABLE.num_characters, **settings)
