"""`TransformerCRF`: a pretrained encoder of the BERT family, a CRF over its words."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tagline.checks import check_choice
from tagline.errors import InputError
from tagline.features.documents import MARKER, stated_documents
from tagline.features.subwords import Pieces, PieceTable
from tagline.features.wordpieces import wordpiece_rules
from tagline.messages import message
from tagline.models.contract import Input
from tagline.models.files import bad_file
from tagline.models.networks import TransformerSettings
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
from tagline.nn.heads import CRFHead, Tagger
from tagline.nn.pretrained import pretrained_tagger
from tagline.nn.subword_batches import SubwordBatch
from tagline.nn.transformer import POOLINGS, TransformerEncoder
from tagline.readers.corpus import Corpus
from tagline.readers.rules import Rules, legal, scheme
from tagline.settings import documented
from tagline.storage import ModelFile
from tagline.types import IntArray

logger = logging.getLogger("tagline.models")

_TOKENIZER = "tokenizer"
_WINDOW = ("unknown", "padding", "max_length", "stride")


def check_pooling(name: str, value: object) -> None:
    """Raise unless a value says how pieces make a word."""
    check_choice(name, value, POOLINGS)


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


@documented
class TransformerCRF(TransformerSettings, FolderModel, NeuralTagger):
    """A pretrained transformer with a CRF over the words of a sentence.

    Arguments:
        {settings}

    What there is after `fit` is as of `BiLSTMCRF`. The encoder may be BERT, RoBERTa, DistilBERT, MPNet, ELECTRA,
    XLM-R, … Of a checkpoint for token classification, the labels that have the same names here begin with its weights,
    too. With context, `fit` and all questions take `documents`, the number of sentences of each document; left out,
    sentences that begin with -DOCSTART- begin one, and where there are none, sentences are read alone. The file that
    `save` writes holds the whole encoder and its tokenizer: loading it needs neither the folder nor a network.

    >>> import tagline
    >>> tagger = tagline.TransformerCRF("bert-base-cased", scheme="IOB2", epochs=3, learning_rate=3e-5)
    >>> tagger.pooling, tagger.head_rate
    ('first', 10.0)
    >>> tagger.fit(X, y, X_dev=X_dev, y_dev=y_dev)  # doctest: +SKIP
    """

    kind: ClassVar[str] = "transformer"

    def known_tokens(self) -> list[str]:
        """The pieces that the encoder has vectors for."""
        coder = self._fitted().coder
        assert isinstance(coder, PieceCoder)
        return coder.table.strings(range(coder.table.num_pieces))

    def _check(self) -> None:
        if not isinstance(self.encoder, str | os.PathLike):
            raise InputError(
                'encoder: expected a folder or a name on the Hugging Face hub, such as "bert-base-cased", got {!r:.60}',
                self.encoder,
            )
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
        if not self.context:
            if documents is not None:
                raise InputError("{}: expected none where no context is read, got some; set context=", name)
            return None
        numbers = stated_documents(corpus, documents, name)
        if numbers is None and needed:
            raise InputError(
                "{}: expected how many sentences each document has, as context is {}, got none, and no "
                "sentence begins with {}",
                name,
                self.context,
                MARKER,
            )
        if numbers is None and len(corpus) > 1:
            logger.warning(
                message(
                    "context is {}, and nothing says where documents begin: each sentence is read alone, which "
                    "costs accuracy; pass documents=",
                    self.context,
                )
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
                "{}: expected a checkpoint for token classification with one linear layer on top of its "
                "encoder, got another; train one that begins with its encoder: TransformerCRF(folder).fit(X, y)",
                source,
            )
        labels, name = classifier.labels, None if self.scheme is None else scheme(self.scheme).name
        tagger = _with_head(encoder, plan, len(labels), None if name is None else legal(labels, name))
        classifier.start(tagger.head.linear, labels)
        if isinstance(tagger.head, CRFHead):
            for scores in tagger.head.crf.parameters():
                nn.init.zeros_(scores)
        return Network(labels, name, coder, tagger.eval().to(device_of(self.device)), plan)

    def _rates(self, tagger: Tagger) -> Mapping[str, float]:
        rate = plain(self.head_rate)
        return {"head.linear": rate, "head.crf": 10 * rate}

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
            raise bad_file(file, message("{} of pieces", ", ".join(_WINDOW)), window)
        if set(arrays) != {_TOKENIZER} or arrays[_TOKENIZER].dtype != np.uint8:
            raise bad_file(file, message("a tokenizer as bytes"), ", ".join(arrays))
        try:
            text = arrays[_TOKENIZER].tobytes().decode()
        except UnicodeDecodeError as error:
            raise bad_file(file, message("a tokenizer as JSON"), str(error)) from None
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
