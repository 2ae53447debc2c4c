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

from tagline.checks import check_choice
from tagline.errors import InputError
from tagline.models.answers import MOST_TOKENS
from tagline.nn.heads import CRFHead, Head, SoftmaxHead, Tagger
from tagline.ragged import blocks_of, entries_of, offsets_of
from tagline.readers.corpus import Corpus
from tagline.readers.rules import Rules
from tagline.training.neural.batching import bucketed
from tagline.training.neural.processes import local_device
from tagline.types import Chain, FloatArray, IntArray, sealed

PADDED = 8192  # tokens of a batch that is scored, padding counted
MOST_ON_GPU = 1 << 18  # tokens between two waits for a GPU

HEADS: dict[str, type[CRFHead] | type[SoftmaxHead]] = {"crf": CRFHead, "softmax": SoftmaxHead}


class Coded(Protocol):
    """Sentences as numbers."""

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sentence."""

    @property
    def widths(self) -> IntArray:
        """Tokens that are read of each sentence: its own, and context where there is any."""

    def batch(self, sentences: IntArray, device: torch.device) -> Any:
        """Return the batch of these sentences, as the encoder takes it."""


@dataclass(frozen=True)
class CoderFiles:
    """What an export holds of a coder.

    Attributes:
        program: the module of `runners` that does what the coder does.
        settings: what that program reads in export.json.
        files: names and texts of the other files that it reads.
        needs: packages that it needs besides NumPy.
    """

    program: str
    settings: dict[str, Any]
    files: dict[str, str]
    needs: tuple[str, ...] = ()


class Coder(Protocol):
    """What turns sentences into numbers: vocabularies, or a tokenizer."""

    def read(self, corpus: Corpus) -> Coded:
        """Number the tokens of sentences."""

    def exported(self) -> CoderFiles:
        """Say what a program needs to number them without Tagline."""


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
        everything = offsets_of(coded.lengths)
        transitions, start, end = self.tagger.head.scores()
        for first, last in blocks_of(everything, MOST_TOKENS if self.device.type == "cpu" else MOST_ON_GPU):
            offsets = everything[first : last + 1] - everything[first]
            yield Chain(sealed(self._emissions(coded, first, offsets, batch_size)), transitions, start, end, offsets)

    @torch.inference_mode()
    def _emissions(self, coded: Coded, first: int, offsets: IntArray, batch_size: int | None) -> FloatArray:
        """Scores ``[N, L]`` of the sentences from `first` on."""
        lengths, device = np.diff(offsets), self.device
        widths = coded.widths[first : first + len(lengths)]
        emissions = np.empty((int(offsets[-1]), len(self.labels)), np.float32)
        waiting = []
        for batch in bucketed(widths, batch_size=batch_size or len(widths), max_tokens=PADDED, rng=None):
            scores = self.tagger.emissions(coded.batch(batch + first, device)).float()  # [B, T, L]
            waiting.append((batch, scores))
        for batch, scores in waiting:
            inside = np.arange(scores.shape[1]) < lengths[batch, None]
            emissions[entries_of(offsets, batch)] = scores.cpu().numpy()[inside]
        return emissions


def make_head(name: str, size: int, num_labels: int, rules: Rules | None, smoothing: float) -> Head:
    """Return a head by its name, for vectors of this size."""
    check_choice("head", name, HEADS)
    return HEADS[name](size, num_labels, rules=rules, smoothing=smoothing)


def device_of(name: str) -> torch.device:
    """Return where to work: "auto" takes a GPU where PyTorch finds one, in each of several processes its own."""
    if name == "auto":
        return local_device()
    try:
        device = torch.device(name)
        torch.empty(1, device=device).cpu()
    except (RuntimeError, AssertionError, TypeError) as error:
        why = str(error).partition("\n")[0]
        raise InputError('device: expected "auto", "cpu" or a GPU of this machine, got {!r} ({})', name, why) from None
    return device


class Undrawn(TorchFunctionMode):
    """While it is entered, weights are not drawn: of tensors without memory only the shape matters.

    PyTorch would load its compiler, which takes a second, to draw into them.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function of PyTorch, or not."""
        named = kwargs or {}
        if getattr(func, "__name__", "") in ("normal_", "uniform_"):
            return args[0] if args else named["tensor"]
        return func(*args, **named)


def check_weights(state: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Refuse weights of other names, shapes or types than those of a network."""
    if strange := sorted(state.keys() ^ wanted.keys()):
        raise InputError(
            "weights: expected {} arrays of the network, got {}; only one side has {}",
            len(wanted),
            len(state),
            strange[0],
        )
    for name, value in wanted.items():
        weights = state[name]
        if weights.shape != value.shape or weights.dtype != value.dtype:
            raise InputError(
                "weights: expected {} as {} {}, got {} {}",
                name,
                value.dtype,
                list(value.shape),
                weights.dtype,
                list(weights.shape),
            )
