"""Tiny tokenizers of the usual kinds, built on the spot, and sentences with words that they find hard."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tagline.features.subwords import PieceTable

TEXT = [
    "The United Nations said on Friday that its peacekeepers in Bosnia were unhurt .",
    "He didn't play ; she re-played 1,234 matches in Zürich and in Öland .",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z",
    "北京 大学 的 张 教授 在 上海 工作 。",
]
WORDS = [
    "The",
    "the",
    "UNITED",
    "peacekeepers",
    "Zürich",
    "zu\u0308rich",
    "don't",
    "1,234",
    "北京大学",
    "😀",
    "...",
    "q",
]
DROPPED = ["", " ", "\u200d", "\ufe0f", "\x00"]  # of which some kinds make nothing
ODD = [*DROPPED, "\u3000", "\ud83d", "xyz" * 60, "[SEP]", "a b", "\u00a0a"]


def wordpiece() -> Tokenizer:
    """BERT's: lower case, accents off, Chinese characters apart, [CLS] … [SEP]."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(
        TEXT, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.enable_truncation(8)  # as sentence encoders are saved
    made.enable_padding(length=8)
    return made


def bytes_bpe() -> Tokenizer:
    """RoBERTa's: bytes, the blank belongs to the word that follows, <s> … </s>; saved without prefix blanks."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(TEXT, trainer)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


def unigram() -> Tokenizer:
    """XLM-R's: sentence pieces, ▁ before a word."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")]
    )
    made.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        unk_token="<unk>",
        show_progress=False,
    )
    made.train_from_iterator(TEXT, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return made


KINDS = {"wordpiece": (wordpiece, 1, 0), "bytes_bpe": (bytes_bpe, 3, 1), "unigram": (unigram, 3, 1)}
"""How each is made, its unknown piece, its padding piece."""


@cache
def text(kind: str) -> str:
    """A tokenizer as JSON, trained once: training breaks ties at random."""
    return KINDS[kind][0]().to_str()


def table(kind: str, **settings: Any) -> PieceTable:
    _, unknown, padding = KINDS[kind]
    return PieceTable(text(kind), unknown=unknown, padding=padding, **settings)


def random_words(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    return [draw.choice(WORDS) if draw.random() < 0.5 else "".join(draw.choices("abcxyz", k=3)) for _ in range(count)]
