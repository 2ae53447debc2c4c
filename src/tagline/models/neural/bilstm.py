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

from tagline.checks import check_whole
from tagline.errors import InputError
from tagline.features.lexicons.embeddings import Embeddings, read_embeddings
from tagline.features.spellings import KNOWN, Forms, FormTable
from tagline.features.templates.choosing import BY_CHARACTER, is_by_character
from tagline.features.vocabulary import Vocabulary
from tagline.models.files import bad_file
from tagline.models.neural.file import planned
from tagline.models.neural.network import Coder, CoderFiles, Network, Undrawn, check_weights, make_head
from tagline.models.neural.tagger import NeuralTagger, plain
from tagline.models.sentences import words_of
from tagline.nn.batches import WordBatch
from tagline.nn.bilstm import BiLSTMEncoder
from tagline.nn.heads import Tagger
from tagline.readers.corpus import Corpus
from tagline.readers.rules import Rules
from tagline.storage import ModelFile, Path
from tagline.training.running.callbacks import Callback
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


class BiLSTMCRF(NeuralTagger):
    """A bidirectional LSTM over words and their characters, with a CRF on top.

    Arguments:
        embeddings: a file of word vectors (GloVe, word2vec or fastText text, .gz or not), a folder with a pretrained
            encoder, whose vectors of words that are one piece are taken, or `Embeddings`; None learns vectors of
            `word_dim` numbers from nothing.
        word_dim: numbers of a word vector, without a file.
        freeze_words: leave the vectors of a file as they are.
        min_frequency: words that are rarer have no vector of their own; with a file, those of the file do.
        characters: "cnn", "lstm", None for none, or "auto": "cnn", or None where most tokens are Chinese characters.
        char_dim, char_size: numbers of a character's vector, and of what a word's characters make.
        case_dim: numbers for how a word is written (capitals, digits); 0 for none, "auto" for 8, or 0 where most tokens
            are Chinese characters.
        bigram_dim: numbers for a word together with the next one; 0 for none, "auto" for 0, or 50 where most tokens are
            Chinese characters.
        word_dropout: share of known words that are read as unknown ones in training, so that unknown ones are learned.
        hidden, layers: size of the LSTM in each direction, and how many lie on top of each other.
        dropout: share of numbers left out in training, the same ones all along a sentence.
        head: "crf", or "softmax", which decides on each token by itself.
        smoothing: share of the target given to all labellings evenly (label smoothing).
        scheme: the tag scheme whose rules hold in training and decoding ("IOB2", "BIOES", …), "auto" to detect it,
            None for no rules. A softmax keeps to them in decoding only.
        on_illegal: training labels that break the rules: "error", "repair", or "drop" the sentence.
        label_weights: how much sentences with a label count: a mapping, or "balanced".
        epochs, patience, max_seconds: when to stop: passes over the data, passes without a better score on the dev set,
            seconds; None for no limit of that kind.
        batch_size, max_tokens: sentences of a step, and tokens with padding; those of like lengths go together.
        optimizer, learning_rate, momentum, weight_decay: "adamw" or "sgd" and its numbers.
        warmup, schedule: share of all steps over which the rate rises, and how it falls then: "linear", "cosine",
            "inverse", "constant".
        clip: the largest norm of a gradient.
        accumulate: batches whose gradients make one step.
        average: the decay of a running mean of the weights that is kept in their place, such as 0.999; 0 for none.
        precision: "float32", "bfloat16", "float16", or "auto".
        compile: hand the network to `torch.compile`.
        device: "auto", "cpu", "cuda", …
        warm_start: begin `fit` with the network of the last one.
        random_state: seed; None for another in each fit, which `training_.seed` keeps.
        verbose: True shows on stderr how training goes: a bar in terminals and notebooks, a line an epoch elsewhere.
        callbacks: called with a `TrainingState` after each epoch; True stops.

    After `fit`: `labels_`, `network_`, `training_log_` (one `Epoch` each), `stop_reason_`, `notes_`.

    >>> X, y = [["Anna", "sings"], ["Bob", "runs"]] * 8, [["N", "V"], ["N", "V"]] * 8
    >>> BiLSTMCRF(hidden=8, epochs=30, dropout=0.0, device="cpu").fit(X, y).predict([["Bob", "sings"]])
    [['N', 'V']]
    """

    kind: ClassVar[str] = "bilstm"
    _TRAINED: ClassVar[Sequence[str]] = (
        *("embeddings", "word_dim", "min_frequency", "characters", "char_dim", "char_size", "case_dim", "bigram_dim"),
        *("hidden", "layers", "head", "scheme", "label_weights"),
    )

    def __init__(
        self,
        embeddings: Path | Embeddings | None = None,
        *,
        word_dim: int = 100,
        freeze_words: bool = False,
        min_frequency: int = 1,
        characters: str | None = "auto",
        char_dim: int = 30,
        char_size: int = 50,
        case_dim: int | str = "auto",
        bigram_dim: int | str = "auto",
        word_dropout: float = 0.05,
        hidden: int = 200,
        layers: int = 1,
        dropout: float = 0.5,
        head: str = "crf",
        smoothing: float = 0.0,
        scheme: str | None = "auto",
        on_illegal: str = "error",
        label_weights: Any = None,
        epochs: int = 30,
        patience: int | None = None,
        max_seconds: float | None = None,
        batch_size: int = 16,
        max_tokens: int | None = None,
        optimizer: str = "adamw",
        learning_rate: float = 2e-3,
        momentum: float = 0.9,
        weight_decay: float = 1e-3,
        warmup: float = 0.05,
        schedule: str = "linear",
        clip: float = 5.0,
        accumulate: int = 1,
        average: float = 0.0,
        precision: str = "float32",
        compile: bool = False,
        device: str = "auto",
        warm_start: bool = False,
        random_state: int | None = 0,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.embeddings = embeddings
        self.word_dim = word_dim
        self.freeze_words = freeze_words
        self.min_frequency = min_frequency
        self.characters = characters
        self.char_dim = char_dim
        self.char_size = char_size
        self.case_dim = case_dim
        self.bigram_dim = bigram_dim
        self.word_dropout = word_dropout
        self.hidden = hidden
        self.layers = layers
        self.dropout = dropout
        self.head = head
        self.smoothing = smoothing
        self.scheme = scheme
        self.on_illegal = on_illegal
        self.label_weights = label_weights
        self.epochs = epochs
        self.patience = patience
        self.max_seconds = max_seconds
        self.batch_size = batch_size
        self.max_tokens = max_tokens
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.warmup = warmup
        self.schedule = schedule
        self.clip = clip
        self.accumulate = accumulate
        self.average = average
        self.precision = precision
        self.compile = compile
        self.device = device
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

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
            wanted = "a file of word vectors, a folder with an encoder, Embeddings or None"
            raise InputError(f"embeddings: expected {wanted}, got {got}")
        check_whole("min_frequency", self.min_frequency, 1)
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
            raise bad_file(file, f"words of 1 to {LONGEST} characters", longest)
        plan = {name: planned(file, name, *kinds) for name, kinds in _PLAN.items()}
        if plan["layers"] > (most := len(file.tensors)):
            raise bad_file(file, f"up to {most} layers, as there are arrays", plan["layers"])
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
        raise InputError(f"hidden, word_dim, …: expected sizes of a network that can be built, got: {shown}") from None


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
            "embeddings: expected vectors of most words, got some for %d of %d distinct ones", covered, len(words)
        )


def _source(embeddings: Path | Embeddings | None) -> str | None:
    """Where word vectors come from, as text."""
    if isinstance(embeddings, Embeddings):
        check = zlib.crc32(np.ascontiguousarray(embeddings.vectors).data)
        return f"{len(embeddings.words)} vectors of {embeddings.size} numbers ({check:08x})"
    return None if embeddings is None else os.fspath(embeddings)
