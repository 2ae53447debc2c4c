"""`BiLSTMCRF`: words and their characters through a bidirectional LSTM, a CRF on top (Ma & Hovy 2016; Lample 2016)."""

from __future__ import annotations

import json
import logging
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tagline.errors import InputError
from tagline.features.lexicons.embeddings import Embeddings, read_embeddings
from tagline.features.spellings import KNOWN, Forms, FormTable
from tagline.features.templates.choosing import BY_CHARACTER, is_by_character
from tagline.features.vocabulary import Vocabulary
from tagline.messages import message
from tagline.models.files import bad_file
from tagline.models.networks import BiLSTMSettings
from tagline.models.neural.file import planned
from tagline.models.neural.network import Coder, CoderFiles, Network, Undrawn, check_weights, make_head
from tagline.models.neural.tagger import NeuralTagger, plain
from tagline.models.sentences import words_of
from tagline.nn.batches import WordBatch
from tagline.nn.bilstm import BiLSTMEncoder
from tagline.nn.heads import Tagger
from tagline.readers.corpus import Corpus
from tagline.readers.rules import Rules
from tagline.settings import documented
from tagline.storage import ModelFile, Path
from tagline.types import IntArray

logger = logging.getLogger("tagline.embeddings")

LEAST_COVERED = 0.2
_NAMES = ("words", "characters")


@dataclass(frozen=True, eq=False)
class FormCoder:
    """Words and characters by their numbers."""

    table: FormTable

    def read(self, corpus: Corpus) -> CodedForms:
        """Look the distinct spellings up, once each."""
        column = words_of(corpus)
        return CodedForms(self.table.forms(column.vocabulary), column.ids, corpus.offsets)

    def exported(self) -> CoderFiles:
        """Say what a program needs to number words without Tagline."""
        known = {"words": self.table.words.names(), "characters": self.table.characters.names()}
        settings = {"lowercase": self.table.lowercase, "longest": self.table.longest}
        return CoderFiles("words", settings, {"vocabulary.json": json.dumps(known, ensure_ascii=False)})


@dataclass(frozen=True, eq=False)
class CodedForms:
    """Sentences by the numbers of their spellings."""

    forms: Forms
    ids: NDArray[np.int32]
    offsets: IntArray

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sentence."""
        return np.diff(self.offsets)

    @property
    def widths(self) -> IntArray:
        """The same: no sentence is read with others."""
        return self.lengths

    def batch(self, sentences: IntArray, device: torch.device) -> WordBatch:
        """Return the batch of these sentences."""
        rows = [self.ids[self.offsets[b] : self.offsets[b + 1]] for b in sentences.tolist()]
        return WordBatch.of(self.forms.batch(rows), device)


@documented
class BiLSTMCRF(BiLSTMSettings, NeuralTagger):
    """A bidirectional LSTM over words and their characters, with a CRF on top.

    Arguments:
        {settings}

    After `fit`: `labels_`, `network_`, `training_log_` (one `Step` each), `stop_reason_`, `notes_`.

    >>> X, y = [["Anna", "sings"], ["Bob", "runs"]] * 8, [["N", "V"], ["N", "V"]] * 8
    >>> BiLSTMCRF(hidden=8, epochs=30, dropout=0.0, device="cpu").fit(X, y).predict([["Bob", "sings"]])
    [['N', 'V']]
    """

    kind: ClassVar[str] = "bilstm"

    def known_tokens(self) -> list[str]:
        """The words that the network has vectors for: in lower case, and with 0 for digits."""
        coder = self._fitted().coder
        assert isinstance(coder, FormCoder)
        return list(coder.table.words)

    def choices_for(self, corpus: Corpus) -> tuple[dict[str, Any], str]:
        """Return the settings at "auto" that `fit` chooses for a corpus, and the reason where they are not the usual.

        >>> BiLSTMCRF(case_dim=4).choices_for(Corpus.from_sentences([{"token": ["北", "京"]}]))
        ({'characters': None, 'bigram_dim': 50}, 'most tokens are single characters that are not ASCII')
        """
        chinese = is_by_character(corpus)
        chosen = FOR_CHARACTERS if chinese else FOR_WORDS
        settings = {name: value for name, value in chosen.items() if _is_auto(getattr(self, name))}
        return settings, BY_CHARACTER if chinese else ""

    def _check(self) -> None:
        if not isinstance(self.embeddings, str | os.PathLike | Embeddings | None):
            got = type(self.embeddings).__name__
            wanted = message("a file of word vectors, a folder with an encoder, Embeddings or None")
            raise InputError("embeddings: expected {}, got {}", wanted, got)
        _outline(self._plan(), (KNOWN, KNOWN), 1, None)

    def _plan(self, before: Network | None = None) -> dict[str, Any]:
        plan = {name: plain(getattr(self, name)) for name in _PLAN}
        usual = FOR_WORDS if before is None else before.plan
        plan |= {name: usual[name] for name in FOR_WORDS if _is_auto(plan[name])}
        plan["embeddings"] = _source(self.embeddings)
        if before is not None and before.plan["embeddings"] is not None and self.embeddings is None:
            plan["embeddings"] = before.plan["embeddings"]
        if plan["embeddings"] is not None:  # which say themselves how many numbers a vector has
            plan["word_dim"] = 1 if before is None else before.plan["word_dim"]
        return plan

    def _make(
        self, corpus: Corpus, labels: Sequence[str], rules: Rules | None, seed: int
    ) -> tuple[FormCoder, Tagger, dict[str, Any]]:
        read, plan = self.embeddings, self._plan() | self.choices_for(corpus)[0]
        if read is not None and not isinstance(read, Embeddings):
            read = _vectors_of(read)
        extra = () if read is None else read.words
        table = FormTable.learn(words_of(corpus), min_frequency=self.min_frequency, extra=extra)
        vectors = None
        if read is not None:
            _check_coverage(read, words_of(corpus).vocabulary)
            vectors = torch.from_numpy(read.table(table.words, np.random.default_rng(seed)))
            plan["word_dim"] = read.size
        return FormCoder(table), _tagger(plan, _sizes(table), len(labels), rules, vectors), plan

    def _build(
        self, plan: Mapping[str, Any], coder: Coder, num_labels: int, rules: Rules | None, state: Mapping[str, Tensor]
    ) -> Tagger:
        assert isinstance(coder, FormCoder)
        sizes = _sizes(coder.table)
        check_weights(state, _outline(plan, sizes, num_labels, rules))
        made = _tagger(plan, sizes, num_labels, rules)
        made.load_state_dict(state)
        return made

    def _describe(self, network: Network) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        assert isinstance(network.coder, FormCoder)
        table = network.coder.table
        arrays = {
            f"{part}.{name}": array
            for part, names in zip(_NAMES, (table.words, table.characters), strict=True)
            for name, array in names.arrays().items()
        }
        return {"lowercase": table.lowercase, "longest": table.longest}, arrays

    def _rebuild(self, file: ModelFile, arrays: Mapping[str, NDArray[Any]]) -> tuple[FormCoder, dict[str, Any]]:
        words, characters = (
            Vocabulary.from_arrays({k.removeprefix(f"{p}."): a for k, a in arrays.items() if k.startswith(f"{p}.")})
            for p in _NAMES
        )
        lowercase, longest = planned(file, "lowercase", bool), planned(file, "longest", int)
        if not 1 <= longest <= LONGEST:
            raise bad_file(file, message("words of 1 to {} characters", LONGEST), longest)
        plan = {name: planned(file, name, *kinds) for name, kinds in _PLAN.items()}
        if plan["layers"] > (most := len(file.tensors)):
            raise bad_file(file, message("up to {} layers, as there are arrays", most), plan["layers"])
        return FormCoder(FormTable(words, characters, lowercase, longest)), plan


AUTO = "auto"
FOR_WORDS: dict[str, Any] = {"characters": "cnn", "case_dim": 8, "bigram_dim": 0}
FOR_CHARACTERS: dict[str, Any] = {"characters": None, "case_dim": 0, "bigram_dim": 50}
"""What "auto" stands for. Chinese characters have no letters and no case; pairs of them stand in for words (92.0 to
92.9 F1 on resume_ner valid, means of three seeds)."""

LONGEST = 10_000  # characters of a word that are read, at most

_PLAN: dict[str, tuple[type, ...]] = {
    "embeddings": (str, type(None)),
    "word_dim": (int,),
    "freeze_words": (bool,),
    "characters": (str, type(None)),
    "char_dim": (int,),
    "char_size": (int,),
    "case_dim": (int,),
    "bigram_dim": (int,),
    "word_dropout": (float, int),
    "hidden": (int,),
    "layers": (int,),
    "dropout": (float, int),
    "head": (str,),
    "smoothing": (float, int),
}
"""What the network is built from, and the types of it in a file."""


def _tagger(
    plan: Mapping[str, Any],
    sizes: tuple[int, int],
    num_labels: int,
    rules: Rules | None,
    vectors: Tensor | None = None,
) -> Tagger:
    """The network of a plan, for so many words and characters; it checks what it is built from."""
    own = {name: value for name, value in plan.items() if name not in ("embeddings", "head", "smoothing")}
    encoder = BiLSTMEncoder(*sizes, vectors=vectors, **own)
    return Tagger(encoder, make_head(plan["head"], encoder.size, num_labels, rules, plan["smoothing"]))


def _outline(
    plan: Mapping[str, Any], sizes: tuple[int, int], num_labels: int, rules: Rules | None
) -> Mapping[str, Tensor]:
    """Names, shapes and types of the weights of a plan's network; nothing is allocated for them."""
    try:
        with torch.device("meta"), Undrawn():
            return _tagger(plan, sizes, num_labels, rules).state_dict()
    except (RuntimeError, OverflowError) as error:
        shown = str(error).partition("\n")[0]
        raise InputError("hidden, word_dim, …: expected sizes of a network that can be built, got: {}", shown) from None


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == AUTO


def _sizes(table: FormTable) -> tuple[int, int]:
    return table.num_words, table.num_characters


def _vectors_of(path: Path) -> Embeddings:
    """Read word vectors from a file, or those that the encoder in a folder begins with."""
    if not os.path.isdir(path):
        return read_embeddings(path)
    from tagline.nn.pretrained import input_vectors

    return input_vectors(path)


def _check_coverage(read: Embeddings, words: Sequence[str]) -> None:
    """Warn of vectors that hardly fit the corpus: of another language, or cut off."""
    known = {*read.words}
    covered = sum(word in known or word.lower() in known for word in words)
    if covered < LEAST_COVERED * len(words):
        logger.warning(
            message(
                "embeddings: expected vectors of most words, got some for {} of {} distinct ones", covered, len(words)
            )
        )


def _source(embeddings: Path | Embeddings | None) -> str | None:
    """Where word vectors come from, as text."""
    if isinstance(embeddings, Embeddings):
        check = zlib.crc32(np.ascontiguousarray(embeddings.vectors).data)
        return f"{len(embeddings.words)} vectors of {embeddings.size} numbers ({check:08x})"
    return None if embeddings is None else os.fspath(embeddings)
