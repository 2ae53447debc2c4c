"""`Tagger`: a model file of CRFsuite that labels one sentence after the other.

Scores are summed in float64 in the order of a token's attributes, so that labels are those of CRFsuite, ties included;
probabilities come from the chain engine.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tagline import chain as engine
from tagline import compiled
from tagline.errors import InputError
from tagline.features.vocabulary import Vocabulary
from tagline.interop.crfsuite.binary import MAGIC, CRFsuiteModel, read_model
from tagline.interop.crfsuite.dump import dump_lines, header_of
from tagline.interop.pycrfsuite._dumpparser import ParsedDump
from tagline.messages import message
from tagline.ragged import row_offsets
from tagline.types import Chain, Float64Array, FloatArray

HEADER_BYTES = 48


class Tagger:
    """Labels sentences by a model that was opened.

    >>> import tagline
    >>> from tagline.interop.crfsuite.conversion import write_crf
    >>> file = write_crf(tagline.CRF().fit([[["w=Anna"], ["w=sings"]]], [["N", "V"]]))
    >>> with Tagger().open_inmemory(file) as tagger:
    ...     tagger.tag([["w=Bob"], ["w=sings"]])
    ['N', 'V']
    """

    def __init__(self) -> None:
        self._model: _Opened | None = None

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; the result closes it at the end of a ``with``."""
        with open(name, "rb") as file:
            data = file.read()
        self._model = _Opened(data, os.fsdecode(name))
        return contextlib.closing(self)

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open the bytes of a model file."""
        self._model = _Opened(value, "<bytes>")
        return contextlib.closing(self)

    def close(self) -> None:
        """Forget the model."""
        self._model = None

    def labels(self) -> list[str]:
        """Return the labels by number."""
        return list(self._opened().model.labels)

    def set(self, xseq: Any) -> None:
        """Take a sentence that the next questions are about."""
        self._opened().set(xseq)

    def tag(self, xseq: Any = None) -> list[str]:
        """Return the best labels of a sentence: this one, or the last one that was taken.

        Arguments:
            xseq: an `ItemSequence`, or what one is made of.
        """
        model = self._model
        if model is None:
            raise _not_opened()
        if xseq is None:
            return model.core.best()  # type: ignore[no-any-return]
        model.chain = model.marginals = None
        return model.core.tag(xseq)  # type: ignore[no-any-return]

    def tag_many(self, xseqs: Iterable[Any]) -> list[list[str]]:
        """Return the best labels of each sentence; the last one is that which the next questions are about."""
        model = self._opened()
        model.chain = model.marginals = None
        return model.core.tag_many(xseqs)  # type: ignore[no-any-return]

    def probability(self, yseq: Sequence[str]) -> float:
        """Return the probability of these labels for the sentence that was taken last."""
        return self._opened().probability(yseq)

    def marginal(self, y: str, pos: int) -> float:
        """Return the probability of a label at a token, from 0, of the sentence that was taken last."""
        return self._opened().marginal(y, pos)

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text, to a file or to stdout."""
        model = self._dumped()
        if filename is None:
            sys.stdout.writelines(dump_lines(model.data, model.model))
            return
        with open(filename, "w", encoding="utf-8", newline="") as file:
            file.writelines(dump_lines(model.data, model.model))

    def info(self) -> ParsedDump:
        """Return labels, attributes and weights as dicts."""
        opened, info = self._dumped(), ParsedDump()
        model, labels, attributes = opened.model, opened.model.labels, opened.model.attributes
        info.header = header_of(opened.data)
        info.labels = {name: str(number) for number, name in enumerate(labels)}
        info.attributes = {name: str(number) for number, name in enumerate(attributes)}
        pairs = zip(*model.transitions.T.tolist(), model.transition_weights.tolist(), strict=True)
        info.transitions = {(labels[a], labels[b]): round(weight, 6) for a, b, weight in pairs}
        states = zip(
            model.state_attributes.tolist(), model.state_labels.tolist(), model.state_weights.tolist(), strict=True
        )
        info.state_features = {(attributes[a], labels[b]): round(weight, 6) for a, b, weight in states}
        return info

    def _opened(self) -> _Opened:
        if self._model is None:
            raise _not_opened()
        return self._model

    def _dumped(self) -> _Opened:
        if self._model is None:
            raise RuntimeError(message("Tagger is closed"))
        return self._model

    def __reduce__(self) -> Any:
        raise TypeError(
            message("Tagger: expected something that can be pickled, got an open model; pickle its file's bytes")
        )


class _Opened:
    """A model, and the sentence that was taken last.

    Attributes:
        data, model: the file, and what it holds.
        core: scores, and labels by them.
        chain, marginals: of the sentence, once they were asked for.
    """

    def __init__(self, data: bytes, source: str) -> None:
        if not isinstance(data, bytes):
            raise TypeError(message("value: expected bytes, got {}", type(data).__name__))
        if data[: len(MAGIC)] != MAGIC:
            raise InputError("Invalid model file {!r}: expected one of CRFsuite, which begins with lCRF", source)
        if len(data) <= HEADER_BYTES:
            raise InputError("Model file {!r} doesn't have a complete header: expected more than 48 bytes", source)
        self.data, self.model = data, read_model(data, source)
        self.core: Any = _tagger_of(self.model) if self.model.labels else _NoLabels()
        self.chain: Chain | None = None
        self.marginals: FloatArray | None = None
        self._numbers = {label: number for number, label in enumerate(self.model.labels)}

    def set(self, xseq: Any) -> None:
        self.chain = self.marginals = None
        self.core.set(xseq)

    def probability(self, yseq: Sequence[str]) -> float:
        T = self.core.length
        if T == 0:
            return 0.0
        if len(yseq) != T:
            raise InputError("The numbers of items and labels differ: |x| = {}, |y| = {}", T, len(yseq))
        labels, chain = [self._number(label) for label in yseq], self._chain()
        return float(np.exp(engine.score(chain, labels) - engine.log_partition(chain)).item())

    def marginal(self, label: str, pos: int) -> float:
        T = self.core.length
        if T == 0:
            return 0.0
        if not 0 <= pos < T:
            raise InputError("The position, {} is out of range of {}", pos, T)
        number = self._number(label)
        if self.marginals is None:
            self.marginals = engine.marginals(self._chain()).nodes
        return float(self.marginals[pos, number])

    def _number(self, label: str) -> int:
        number = self._numbers.get(label)
        if number is None:
            raise RuntimeError(message("Failed to convert into label identifier: {}", label))
        return number

    def _chain(self) -> Chain:
        if self.chain is None:
            self.chain = Chain(self.core.emissions(), _matrix(self.model))
        return self.chain


class _NoLabels:
    """What a model that was trained on no sentence knows: nothing."""

    length = 0

    def best(self) -> list[str]:
        return []

    def tag(self, xseq: Any) -> list[str]:
        if len(xseq):
            raise InputError("model: expected one with labels, got one that was trained on no sentences")
        return []

    set = tag

    def tag_many(self, xseqs: Iterable[Any]) -> list[list[str]]:
        return [self.tag(xseq) for xseq in xseqs]


def _tagger_of(model: CRFsuiteModel) -> Any:
    order = np.lexsort((model.state_labels, model.state_attributes))
    return compiled.require().SequenceTagger(
        Vocabulary.of(model.attributes).parts,
        row_offsets(model.state_attributes[order], len(model.attributes)),
        model.state_labels[order].astype(np.int32),
        np.ascontiguousarray(model.state_weights[order]),
        _matrix(model),
        list(model.labels),
    )


def _matrix(model: CRFsuiteModel) -> Float64Array:
    """Return the weights of transitions as ``[L, L]``, 0 where there is none."""
    out = np.zeros((len(model.labels), len(model.labels)))
    out[tuple(model.transitions.T)] = model.transition_weights
    return out


def _not_opened() -> InputError:
    return InputError("The tagger is not opened; expected a model, by open or open_inmemory, got none")
