"""A network that scores sentences: what a neural tagger is, once it has been made or trained.

Sentences → numbers (`Coder`) → batches of like lengths → emissions ``[T, L]`` → `Chain`. Transitions, start and end
belong to the head; the rules of a tag scheme are −∞ in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tagline.errors import InputError
from tagline.models.answers import MOST_TOKENS, pieces
from tagline.nn.heads import CRFHead, Head, SoftmaxHead, Tagger
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.readers.rules import Rules
from tagline.training.neural.batching import bucketed
from tagline.training.neural.processes import local_device
from tagline.types import Chain, FloatArray, IntArray

PADDED = 8192  # tokens of a batch that is scored, padding counted
MOST_ON_GPU = 1 << 18  # tokens between two waits for a GPU

HEADS: dict[str, type[CRFHead] | type[SoftmaxHead]] = {"crf": CRFHead, "softmax": SoftmaxHead}


class Coded(Protocol):
    """Sentences as numbers."""

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sentence."""

    def batch(self, sentences: IntArray, device: torch.device) -> Any:
        """Return the batch of these sentences, as the encoder takes it."""


class Coder(Protocol):
    """What turns sentences into numbers: vocabularies, or a tokenizer."""

    def read(self, corpus: Corpus) -> Coded:
        """Number the tokens of sentences."""


@dataclass(frozen=True, eq=False)
class Network:
    """A coder and the network that it feeds.

    Attributes:
        labels: L names, sorted.
        scheme: the tag scheme whose rules hold; None for no rules.
        coder, tagger: sentences to numbers, numbers to scores. The tagger is in evaluation mode, but while it trains.
        plan: what the tagger was built from, by the names of the estimator's parameters; of JSON's types.
    """

    labels: tuple[str, ...]
    scheme: str | None
    coder: Coder
    tagger: Tagger
    plan: dict[str, Any]

    @property
    def device(self) -> torch.device:
        """Where the network lies."""
        return next(self.tagger.parameters()).device

    def chains(self, coded: Coded, batch_size: int | None = None) -> Iterator[Chain]:
        """Score sentences, some thousand tokens at a time and in their order.

        Arguments:
            batch_size: sentences scored at once, at most; by default as many as there is room for.
        """
        bounds = np.concatenate([[0], np.cumsum(coded.lengths)]).astype(np.int64)
        moves, start, end = self.tagger.head.scores()
        for first, last in pieces(bounds, MOST_TOKENS if self.device.type == "cpu" else MOST_ON_GPU):
            offsets = bounds[first : last + 1] - bounds[first]
            yield Chain(self._emissions(coded, first, offsets, batch_size), moves, start, end, offsets)

    @torch.inference_mode()
    def _emissions(self, coded: Coded, first: int, offsets: IntArray, batch_size: int | None) -> FloatArray:
        """Scores ``[N, L]`` of the sentences from `first` on."""
        lengths, device = np.diff(offsets), self.device
        found = np.empty((int(offsets[-1]), len(self.labels)), np.float32)
        waiting = []
        for some in bucketed(lengths, batch_size=batch_size or len(lengths), max_tokens=PADDED, rng=None):
            scores = self.tagger.emissions(coded.batch(some + first, device)).float()  # [B, T, L]
            waiting.append((some, scores))
        for some, scores in waiting:
            inside = np.arange(scores.shape[1]) < lengths[some, None]
            found[rows_of(offsets, some)] = scores.cpu().numpy()[inside]
        return found


def make_head(name: str, size: int, num_labels: int, rules: Rules | None, smoothing: float) -> Head:
    """Return a head by its name, for vectors of this size."""
    if name not in HEADS:
        raise InputError(f"head: expected one of {', '.join(HEADS)}, got {name!r}")
    return HEADS[name](size, num_labels, rules=rules, smoothing=smoothing)


def words_of(corpus: Corpus) -> Column:
    """Return the column of words: the one of that name, or the first."""
    return corpus.column(TOKEN if TOKEN in corpus.columns else corpus.names[0])


def device_of(name: str) -> torch.device:
    """Return where to work: "auto" takes a GPU where PyTorch finds one, in each of several processes its own."""
    if name == "auto":
        return local_device()
    try:
        device = torch.device(name)
        torch.empty(1, device=device).cpu()
    except (RuntimeError, AssertionError, TypeError) as error:
        why = str(error).partition("\n")[0]
        raise InputError(f'device: expected "auto", "cpu" or a GPU of this machine, got {name!r} ({why})') from None
    return device


class Undrawn(TorchFunctionMode):
    """While it is entered, weights are not drawn: of tensors without memory only the shape matters.

    PyTorch would load its compiler, which takes a second, to draw into them.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function of PyTorch, or not."""
        given = kwargs or {}
        if getattr(func, "__name__", "") in ("normal_", "uniform_"):
            return args[0] if args else given["tensor"]
        return func(*args, **given)


def check_weights(state: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Refuse weights of other names, shapes or types than those of a network."""
    if strange := sorted(state.keys() ^ wanted.keys()):
        raise InputError(
            f"weights: expected {len(wanted)} arrays of the network, got {len(state)}; only one side has {strange[0]}"
        )
    for name, value in wanted.items():
        given = state[name]
        if given.shape != value.shape or given.dtype != value.dtype:
            raise InputError(
                f"weights: expected {name} as {value.dtype} {list(value.shape)}, got {given.dtype} {list(given.shape)}"
            )


def rows_of(bounds: IntArray, sentences: IntArray) -> IntArray:
    """Return the tokens of these sentences, one after the other.

    >>> rows_of(np.array([0, 2, 3, 6]), np.array([2, 0])).tolist()
    [3, 4, 5, 0, 1]
    """
    lengths = bounds[sentences + 1] - bounds[sentences]
    begins = np.repeat(bounds[sentences] - np.cumsum(lengths) + lengths, lengths)
    return np.asarray(begins + np.arange(int(lengths.sum())))


def padded(values: Any, bounds: IntArray, sentences: IntArray) -> Any:
    """Return rows ``[N, …]`` of these sentences as ``[B, T, …]``, zeros (False) at padding."""
    lengths = bounds[sentences + 1] - bounds[sentences]
    out = np.zeros((len(sentences), int(lengths.max(initial=0)), *values.shape[1:]), values.dtype)
    out[np.arange(out.shape[1]) < lengths[:, None]] = values[rows_of(bounds, sentences)]
    return out
