"""`TransformerCRF`: a pretrained encoder of the BERT family, a CRF over its words."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tagline.checks import check_choice, check_number, check_whole
from tagline.errors import InputError
from tagline.features.documents import MARKER, stated_documents
from tagline.features.subwords import Pieces, PieceTable
from tagline.features.wordpieces import wordpiece_rules
from tagline.models.contract import Input
from tagline.models.files import bad_file
from tagline.models.neural.contexts import with_neighbours
from tagline.models.neural.file import planned
from tagline.models.neural.folders import FolderModel
from tagline.models.neural.network import (
    Coded,
    Coder,
    CoderFiles,
    Network,
    Undrawn,
    check_weights,
    device_of,
    make_head,
)
from tagline.models.neural.tagger import NeuralTagger, plain
from tagline.models.sentences import words_of
from tagline.nn.classifiers import Classifier
from tagline.nn.dropout import check_probability
from tagline.nn.heads import CRFHead, Tagger
from tagline.nn.pretrained import pretrained_tagger
from tagline.nn.subword_batches import SubwordBatch
from tagline.nn.transformer import POOLINGS, TransformerEncoder
from tagline.readers.corpus import Corpus
from tagline.readers.rules import Rules, legal, scheme
from tagline.storage import ModelFile, Path
from tagline.training.running.callbacks import Callback
from tagline.types import IntArray

logger = logging.getLogger("tagline.models")

_TOKENIZER = "tokenizer"
_WINDOW = ("unknown", "padding", "max_length", "stride")


@dataclass(frozen=True, eq=False)
class PieceCoder:
    """Words by their pieces."""

    table: PieceTable

    def read(self, corpus: Corpus) -> CodedPieces:
        """Cut the distinct words, once each."""
        column = words_of(corpus)
        return CodedPieces(self.table.pieces(column.vocabulary), column.ids, corpus.offsets)

    def exported(self) -> CoderFiles:
        """Say what a program needs to cut words without Tagline: for BERT's kind of tokenizer, no further package."""
        text, window = self.table.tokenizer_json(), self.table.window
        rules = wordpiece_rules(text)
        shape = {"before": window.before, "after": window.after, "longest_word": window.longest_word}
        settings = {"window": {**self.table.settings(), **shape}, "wordpiece": rules}
        return CoderFiles("pieces", settings, {"tokenizer.json": text}, () if rules else ("tokenizers",))


@dataclass(frozen=True, eq=False)
class CodedPieces:
    """Sentences by the numbers of their words; with context, `read` is the first word and the end of what is read."""

    pieces: Pieces
    ids: NDArray[np.int32]
    offsets: IntArray
    read: tuple[IntArray, IntArray] | None = None

    @property
    def lengths(self) -> IntArray:
        """Words of each sentence."""
        return np.diff(self.offsets)

    @property
    def widths(self) -> IntArray:
        """Words of each sentence and of its context."""
        return self.lengths if self.read is None else self.read[1] - self.read[0]

    def beside(self, documents: IntArray, context: int) -> CodedPieces:
        """Return the same sentences, each with up to so many words of context on each side."""
        sizes = self.pieces.sizes[self.ids]
        return replace(self, read=with_neighbours(sizes, self.offsets, documents, context, self.pieces.window.room))

    def batch(self, sentences: IntArray, device: torch.device) -> SubwordBatch:
        """Return the batch of these sentences."""
        begin, end = (self.offsets[:-1], self.offsets[1:]) if self.read is None else self.read
        rows = [self.ids[begin[b] : end[b]] for b in sentences.tolist()]
        batch = self.pieces.batch(rows, multiple=8)
        if self.read is not None:
            batch = batch.narrowed((self.offsets[:-1] - begin)[sentences], self.lengths[sentences])
        return SubwordBatch.of(batch, device)


class TransformerCRF(FolderModel, NeuralTagger):
    """A pretrained transformer with a CRF over the words of a sentence.

    Arguments:
        encoder: a folder with config.json, weights and tokenizer, or a name on the Hugging Face hub: BERT, RoBERTa,
            DistilBERT, MPNet, ELECTRA, XLM-R, … Of a checkpoint for token classification, the labels that have the
            same names here begin with its weights, too.
        pooling: "first" or "mean", of the pieces of a word.
        max_length, stride: pieces of a window, and of context where a longer sentence is cut; windows of the encoder's
            own size when left out.
        context: words of neighbouring sentences that are read on each side of a sentence and not scored, as many as fit
            into its window; 0 for none. `fit` and all questions take `documents` then, the number of sentences of each
            document; left out, sentences that begin with -DOCSTART- begin one, and where there are none, sentences are
            read alone.
        freeze: how many of the lower layers keep their weights (1: the embeddings, 2: the first layer too, …), or
            "all".
        checkpointing: save memory in training for a third more time.
        layer_decay: what multiplies the learning rate from a layer to the one below.
        head_rate, crf_rate: what multiplies it for the layer that scores labels, and for transitions, which learn too
            little at an encoder's rate.
        dropout: share of numbers left out of what the encoder gives.

    The others are those of `BiLSTMCRF`, and so is what there is after `fit`. The file that `save` writes holds the
    whole encoder and its tokenizer: loading it needs neither the folder nor a network.

    >>> import tagline
    >>> tagger = tagline.TransformerCRF("bert-base-cased", scheme="IOB2", epochs=3, learning_rate=3e-5)
    >>> tagger.pooling, tagger.crf_rate
    ('first', 100.0)
    >>> tagger.fit(X, y, X_dev=X_dev, y_dev=y_dev)  # doctest: +SKIP
    """

    kind: ClassVar[str] = "transformer"
    _TRAINED: ClassVar[Sequence[str]] = (
        *("encoder", "pooling", "max_length", "stride", "head", "scheme", "label_weights"),
    )

    def __init__(
        self,
        encoder: Path | None = None,
        *,
        pooling: Literal["first", "mean"] = "first",
        max_length: int | None = None,
        stride: int = 64,
        context: int = 0,
        freeze: int | Literal["all"] = 0,
        checkpointing: bool = False,
        layer_decay: float = 1.0,
        head_rate: float = 10.0,
        crf_rate: float = 100.0,
        dropout: float = 0.1,
        head: str = "crf",
        smoothing: float = 0.0,
        scheme: str | None = "auto",
        on_illegal: str = "error",
        label_weights: Any = None,
        epochs: int = 5,
        patience: int | None = None,
        max_seconds: float | None = None,
        batch_size: int = 32,
        max_tokens: int | None = 4096,
        optimizer: str = "adamw",
        learning_rate: float = 5e-5,
        momentum: float = 0.9,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
        schedule: str = "linear",
        clip: float = 1.0,
        accumulate: int = 1,
        average: float = 0.0,
        precision: str = "auto",
        compile: bool = False,
        device: str = "auto",
        warm_start: bool = False,
        random_state: int | None = 0,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.encoder = encoder
        self.pooling = pooling
        self.max_length = max_length
        self.stride = stride
        self.context = context
        self.freeze = freeze
        self.checkpointing = checkpointing
        self.layer_decay = layer_decay
        self.head_rate = head_rate
        self.crf_rate = crf_rate
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
        """The pieces that the encoder has vectors for."""
        coder = self._fitted().coder
        assert isinstance(coder, PieceCoder)
        return coder.table.strings(range(coder.table.num_pieces))

    def _check(self) -> None:
        if not isinstance(self.encoder, str | os.PathLike):
            raise InputError(
                'encoder: expected a folder or a name on the Hugging Face hub, such as "bert-base-cased", got '
                f"{self.encoder!r:.60}"
            )
        for name in ("layer_decay", "head_rate", "crf_rate"):
            check_number(name, plain(getattr(self, name)), above=0)
        check_choice("pooling", self.pooling, POOLINGS)
        check_whole("context", self.context, 0)
        check_probability("dropout", plain(self.dropout))
        with torch.device("meta"), Undrawn():
            make_head(self.head, 1, 1, None, plain(self.smoothing))

    def _plan(self, before: Network | None = None) -> dict[str, Any]:
        assert self.encoder is not None
        return {**{name: plain(getattr(self, name)) for name in _PLAN}, "encoder": os.fspath(self.encoder)}

    @property
    def input_(self) -> Input:
        """Words; with context, those of neighbouring sentences, too."""
        return replace(super().input_, documents=bool(self.context))

    def _documents(
        self, corpus: Corpus, documents: Any, *, needed: bool = False, name: str = "documents"
    ) -> IntArray | None:
        check_whole("context", self.context, 0)
        if not self.context:
            if documents is not None:
                raise InputError(f"{name}: expected none where no context is read, got some; set context=")
            return None
        numbers = stated_documents(corpus, documents, name)
        if numbers is None and needed:
            raise InputError(
                f"{name}: expected how many sentences each document has, as context is {self.context}, got none, and "
                f"no sentence begins with {MARKER}"
            )
        if numbers is None and len(corpus) > 1:
            logger.warning(
                "context is %d, and nothing says where documents begin: each sentence is read alone, which costs "
                "accuracy; pass documents=",
                self.context,
            )
        return numbers

    def _coded(self, network: Network, corpus: Corpus, documents: IntArray | None) -> Coded:
        assert isinstance(network.coder, PieceCoder)
        coded = network.coder.read(corpus)
        return coded if documents is None else coded.beside(documents, int(self.context))

    def _make(
        self, corpus: Corpus, labels: Sequence[str], rules: Rules | None, seed: int
    ) -> tuple[PieceCoder, Tagger, dict[str, Any]]:
        encoder, coder, plan, classifier = self._started()
        tagger = _with_head(encoder, plan, len(labels), rules)
        if classifier is not None:
            classifier.start(tagger.head.linear, labels)
        return coder, tagger, plan

    def _started(self) -> tuple[TransformerEncoder, PieceCoder, dict[str, Any], Classifier | None]:
        """The encoder that the settings name, with its layer of labels where it brings one along."""
        plan = self._plan()
        encoder, table, classifier = pretrained_tagger(
            plan["encoder"],
            max_length=plan["max_length"],
            stride=plan["stride"],
            **{name: plan[name] for name in _ENCODER},
        )
        plan["config"] = encoder.encoder_config()
        return encoder, PieceCoder(table), plan, classifier

    def _begun(self, source: str) -> Network:
        """The network that a checkpoint for token classification stands for: transitions, start and end are 0."""
        encoder, coder, plan, classifier = self._started()
        if classifier is None:
            raise InputError(
                f"{source}: expected a checkpoint for token classification with one linear layer on top of its "
                "encoder, got another; train one that begins with its encoder: TransformerCRF(folder).fit(X, y)"
            )
        labels, name = classifier.labels, None if self.scheme is None else scheme(self.scheme).name
        tagger = _with_head(encoder, plan, len(labels), None if name is None else legal(labels, name))
        classifier.start(tagger.head.linear, labels)
        if isinstance(tagger.head, CRFHead):
            for scores in tagger.head.crf.parameters():
                nn.init.zeros_(scores)
        return Network(labels, name, coder, tagger.eval().to(device_of(self.device)), plan)

    def _rates(self, tagger: Tagger) -> Mapping[str, float]:
        assert isinstance(tagger.encoder, TransformerEncoder)
        layers = tagger.encoder.layer_rates(plain(self.layer_decay))
        own = {f"encoder.{name}": rate for name, rate in layers.items()}
        return {**own, "head.linear": plain(self.head_rate), "head.crf": plain(self.crf_rate)}

    def _build(
        self, plan: Mapping[str, Any], coder: Coder, num_labels: int, rules: Rules | None, state: Mapping[str, Tensor]
    ) -> Tagger:
        assert isinstance(coder, PieceCoder)
        own = {name.removeprefix("encoder."): weights for name, weights in state.items() if name.startswith("encoder.")}
        encoder = TransformerEncoder.from_parts(plan["config"], own, **{name: plan[name] for name in _ENCODER})
        encoder.check(coder.table)
        made = _with_head(encoder, plan, num_labels, rules)
        check_weights(state, made.state_dict())
        made.load_state_dict(state)
        return made

    def _describe(self, network: Network) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        assert isinstance(network.coder, PieceCoder)
        table = network.coder.table
        return {"pieces": table.settings()}, {_TOKENIZER: np.frombuffer(table.tokenizer_json().encode(), np.uint8)}

    def _rebuild(self, file: ModelFile, arrays: Mapping[str, NDArray[Any]]) -> tuple[PieceCoder, dict[str, Any]]:
        window = planned(file, "pieces", dict)
        if set(window) != set(_WINDOW):
            raise bad_file(file, f"{', '.join(_WINDOW)} of pieces", window)
        if set(arrays) != {_TOKENIZER} or arrays[_TOKENIZER].dtype != np.uint8:
            raise bad_file(file, "a tokenizer as bytes", ", ".join(arrays))
        try:
            text = arrays[_TOKENIZER].tobytes().decode()
        except UnicodeDecodeError as error:
            raise bad_file(file, "a tokenizer as JSON", str(error)) from None
        plan = {name: planned(file, name, *kinds) for name, kinds in {**_PLAN, "config": (dict,)}.items()}
        return PieceCoder(PieceTable(text, **window)), plan


_PLAN: dict[str, tuple[type, ...]] = {
    "encoder": (str,),
    "max_length": (int, type(None)),
    "stride": (int,),
    "pooling": (str,),
    "dropout": (float, int),
    "freeze": (int, str),
    "checkpointing": (bool,),
    "head": (str,),
    "smoothing": (float, int),
}
"""What the network is built from, besides the configuration of its encoder, and the types of it in a file."""

_ENCODER = ("pooling", "dropout", "freeze", "checkpointing")


def _with_head(encoder: TransformerEncoder, plan: Mapping[str, Any], num_labels: int, rules: Rules | None) -> Tagger:
    return Tagger(encoder, make_head(plan["head"], encoder.size, num_labels, rules, plan["smoothing"]))
