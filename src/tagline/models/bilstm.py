"""`BiLSTMCRF`: words and their characters through a bidirectional LSTM, a CRF on top (Ma & Hovy 2016; Lample 2016)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from tagline.errors import InputError
from tagline.features.embeddings import Embeddings, read_embeddings
from tagline.features.vocabulary import Vocabulary
from tagline.features.words import KNOWN, PADDING, Forms, FormTable
from tagline.models.network import Coder, Network
from tagline.models.neural import HEADS, Callback, NeuralTagger, make_head, words_of
from tagline.models.packing import bad_file
from tagline.nn.batches import WordBatch
from tagline.nn.bilstm import BiLSTMEncoder
from tagline.nn.heads import Tagger
from tagline.readers.corpus import Corpus
from tagline.readers.roles import Rules
from tagline.storage import ModelFile, Path
from tagline.types import IntArray

_NAMES = ("words", "characters")


@dataclass(frozen=True, eq=False)
class FormCoder:
    """Words and characters by their numbers."""

    table: FormTable

    def read(self, corpus: Corpus) -> CodedForms:
        """Look the distinct spellings up, once each."""
        column = words_of(corpus)
        return CodedForms(self.table.forms(column.vocabulary), column.ids, corpus.offsets)


@dataclass(frozen=True, eq=False)
class CodedForms:
    """Sentences by the numbers of their spellings."""

    forms: Forms
    ids: NDArray[np.int32]
    bounds: IntArray

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sentence."""
        return np.diff(self.bounds)

    def batch(self, sentences: IntArray, device: torch.device) -> WordBatch:
        """Return the batch of these sentences."""
        rows = [self.ids[self.bounds[b] : self.bounds[b + 1]] for b in sentences.tolist()]
        return WordBatch.of(self.forms.batch(rows), device)


class BiLSTMCRF(NeuralTagger):
    """A bidirectional LSTM over words and their characters, with a CRF on top.

    Arguments:
        embeddings: a file of word vectors (GloVe, word2vec or fastText text, .gz or not), or `Embeddings`; None learns
            vectors of `word_dim` numbers from nothing.
        word_dim: numbers of a word vector, without a file.
        freeze_words: leave the vectors of a file as they are.
        min_frequency: words that are rarer have no vector of their own; with a file, those of the file do.
        characters: "cnn", "lstm", or None for none.
        char_dim, char_size: numbers of a character's vector, and of what a word's characters make.
        case_dim: numbers for how a word is written (capitals, digits); 0 for none.
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
        precision: "float32", "bfloat16", "float16", or "auto".
        compile: hand the network to `torch.compile`.
        device: "auto", "cpu", "cuda", …
        warm_start: begin `fit` with the network of the last one.
        random_state: seed.
        verbose: True prints a line an epoch to stderr.
        callbacks: called with each `Epoch`; True stops.

    After `fit`: `labels_`, `network_`, `training_log_` (one `Epoch` each), `stop_reason_`, `notes_`.

    >>> X, y = [["Anna", "sings"], ["Bob", "runs"]] * 8, [["N", "V"], ["N", "V"]] * 8
    >>> BiLSTMCRF(hidden=8, epochs=30, dropout=0.0, device="cpu").fit(X, y).predict([["Bob", "sings"]])
    [['N', 'V']]
    """

    kind: ClassVar[str] = "bilstm"

    def __init__(
        self,
        embeddings: Path | Embeddings | None = None,
        *,
        word_dim: int = 100,
        freeze_words: bool = False,
        min_frequency: int = 1,
        characters: str | None = "cnn",
        char_dim: int = 30,
        char_size: int = 50,
        case_dim: int = 8,
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
        precision: str = "float32",
        compile: bool = False,
        device: str = "auto",
        warm_start: bool = False,
        random_state: int = 0,
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
        self.precision = precision
        self.compile = compile
        self.device = device
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _make(self, corpus: Corpus, num_labels: int, rules: Rules | None) -> tuple[FormCoder, Tagger]:
        read = self.embeddings
        if read is not None and not isinstance(read, Embeddings):
            read = read_embeddings(read)
        extra = () if read is None else read.words
        table = FormTable.learn(words_of(corpus), min_frequency=self.min_frequency, extra=extra)
        vectors = None if read is None else start_vectors(table, read, self.random_state)
        dim = self.word_dim if vectors is None else vectors.shape[1]
        return FormCoder(table), self._tagger(table, dim, vectors, num_labels, rules)

    def _tagger(
        self, table: FormTable, dim: int, vectors: torch.Tensor | None, num_labels: int, rules: Rules | None
    ) -> Tagger:
        encoder = BiLSTMEncoder(
            table.num_words,
            table.num_characters,
            word_dim=dim,
            vectors=vectors,
            freeze_words=self.freeze_words,
            characters=self.characters,
            char_dim=self.char_dim,
            char_size=self.char_size,
            case_dim=self.case_dim,
            hidden=self.hidden,
            layers=self.layers,
            dropout=self.dropout,
        )
        return Tagger(encoder, make_head(self.head, encoder.size, num_labels, rules, self.smoothing))

    def _settings(self) -> dict[str, Any]:
        found = super()._settings()
        if not isinstance(found["embeddings"], str | None):
            found["embeddings"] = str(found["embeddings"])
        return found

    def _describe(self, network: Network) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        assert isinstance(network.coder, FormCoder)
        assert isinstance(network.tagger.encoder, BiLSTMEncoder)
        table = network.coder.table
        config = {
            "word_dim": network.tagger.encoder.words.embedding_dim,
            "lowercase": table.lowercase,
            "longest": table.longest,
            **{name: getattr(self, name) for name in _SHAPE},
        }
        arrays = {
            f"{part}.{name}": array
            for part, names in zip(_NAMES, (table.words, table.characters), strict=True)
            for name, array in names.arrays().items()
        }
        return config, arrays

    def _rebuild(self, file: ModelFile, arrays: Mapping[str, NDArray[Any]]) -> FormCoder:
        words, characters = (
            Vocabulary.from_arrays({k.removeprefix(f"{p}."): a for k, a in arrays.items() if k.startswith(f"{p}.")})
            for p in _NAMES
        )
        lowercase, longest = _setting(file, "lowercase", bool), _setting(file, "longest", int)
        if not 1 <= longest <= 10_000:
            raise bad_file(file, "words of 1 to 10,000 characters", longest)
        return FormCoder(FormTable(words, characters, lowercase, longest))

    def _skeleton(self, file: ModelFile, coder: Coder, num_labels: int, rules: Rules | None) -> Tagger:
        assert isinstance(coder, FormCoder)
        for name, (kinds, least, most) in _SHAPE.items():
            value = _setting(file, name, *kinds)
            if isinstance(value, int | float) and not least <= value <= most:
                raise bad_file(file, f"{name} from {least} to {most}", value)
            setattr(self, name, value)
        dim = _setting(file, "word_dim", int)
        if not 1 <= dim <= 100_000 or self.head not in HEADS:
            raise bad_file(file, "a head and a size of word vectors", (self.head, dim))
        return self._tagger(coder.table, dim, None, num_labels, rules)


# What shapes the network: types, the least and the most.
_SHAPE: dict[str, tuple[tuple[type, ...], float, float]] = {
    "characters": ((str, type(None)), 0, 0),
    "char_dim": ((int,), 1, 100_000),
    "char_size": ((int,), 1, 100_000),
    "case_dim": ((int,), 0, 100_000),
    "hidden": ((int,), 1, 100_000),
    "layers": ((int,), 1, 100),
    "dropout": ((float, int), 0, 1),
    "head": ((str,), 0, 0),
    "smoothing": ((float, int), 0, 1),
}


def _setting(file: ModelFile, name: str, *kinds: type) -> Any:
    """One of the numbers that the network is built from."""
    described = file.setting("network", dict)
    value = described.get(name, ...)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise bad_file(file, f"{name} of the network", value)
    return value


def start_vectors(table: FormTable, read: Embeddings, seed: int) -> torch.Tensor:
    """Word vectors ``[2 + W, D]`` to begin with: those of the file, small random ones for other words.

    A word that the file has in lower case only begins with that.
    """
    D = read.vectors.shape[1]
    if not len(read.words):
        raise InputError("embeddings: expected word vectors, got none")
    random = np.random.default_rng(seed)
    scale = float(read.vectors.std())
    vectors = random.normal(0.0, scale, (table.num_words, D)).astype(np.float32)
    vectors[PADDING] = 0.0
    places = {word: row for row, word in enumerate(read.words)}
    for number, word in enumerate(table.words):
        row = places.get(word, places.get(word.lower()))
        if row is not None:
            vectors[number + KNOWN] = read.vectors[row]
    return torch.from_numpy(vectors)
