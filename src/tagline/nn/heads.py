"""From the vectors of an encoder to scores of labels, the loss to train on, and the chain to decode on.

    CRFHead      e = W h + b, then a CRF: the labels of a sentence are scored together
    SoftmaxHead  e = W h + b, then a softmax: each token by itself, rules hold in decoding only
    Tagger       an encoder and a head

Losses are sums over the tokens of a sentence, weighted, and means over sentences. Both heads hand out transition, start
and end scores, so that a `tagline.types.Chain` answers every question about either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tagline.chain.checks import forbidden_gold
from tagline.chain.tensors import TensorChain
from tagline.errors import InputError
from tagline.nn import checks, losses
from tagline.nn.batches import WordBatch
from tagline.nn.bilstm import BiLSTMEncoder
from tagline.nn.crf import CRF
from tagline.nn.dropout import TrainingNoise, check_probability
from tagline.nn.graphs import GraphedLoss, may_record, sentences, steps
from tagline.nn.losses import Objective
from tagline.readers.rules import Rules

MOST_CELLS = 1 << 14  # of a batch that is replayed: with more the GPU has enough to do
WORDS, CHARACTERS = 256, 8  # spellings of the smallest graph; the longest one is a multiple of this

Scores = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]


class Head(nn.Module):
    """What the heads share: a linear layer, and how losses of sentences become one number."""

    def __init__(self, size: int, num_labels: int, smoothing: float) -> None:
        super().__init__()
        self.smoothing = check_probability("smoothing", smoothing)
        self.linear = nn.Linear(size, num_labels)

    def emissions(self, hidden: Tensor) -> Tensor:
        """Return the scores of labels ``[B, T, L]`` for vectors ``[B, T, size]``, never in half precision."""
        with torch.autocast(hidden.device.type, enabled=False):
            scores: Tensor = self.linear(hidden.to(self.linear.weight.dtype))
        return scores

    def loss(self, emissions: Tensor, labels: Tensor, lengths: Tensor, weights: Tensor | None = None) -> Tensor:
        """Compute Σ_b weight_b · loss_b / B, 0 for a batch without sentences.

        Arguments:
            labels: ``[B, T]`` integers, anything at padding; or booleans ``[B, T, L]``, sets of labels of which any
                will do (without smoothing).
            lengths: ``[B]``, the tokens of each sentence.
            weights: ``[B]``, 1 when left out.
        """
        if self.smoothing and labels.dtype == torch.bool:
            raise InputError(
                "smoothing: expected one label a token, got sets of labels; train on sets with smoothing=0"
            )
        values = self.sentence_losses(emissions, labels, lengths)
        if weights is not None:
            values = values * weights
        return values.sum() / max(1, values.shape[0])

    def sentence_losses(self, emissions: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        """Compute the loss of each sentence, ``[B]``."""
        raise NotImplementedError

    def recorded_losses(self, emissions: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        """Compute what `sentence_losses` does, without waiting for the device, 0 for a sentence without tokens."""
        return self.sentence_losses(emissions, labels, lengths)

    def scores(self) -> Scores:
        """Return transitions ``[L, L]``, start and end ``[L]``, −∞ where the rules forbid."""
        raise NotImplementedError


class CRFHead(Head):
    """A linear layer and a CRF.

    Arguments:
        size: of the encoder's vectors.
        num_labels: L.
        rules: what is legal, in training and in decoding; None for everything.
        smoothing: the share ε of the target that goes to all legal labellings evenly (`losses.LabelSmoothing`).
    """

    def __init__(self, size: int, num_labels: int, *, rules: Rules | None = None, smoothing: float = 0.0) -> None:
        super().__init__(size, num_labels, smoothing)
        self.crf = CRF(num_labels, constraints=rules)
        self._graphed = GraphedLoss()

    def loss(self, emissions: Tensor, labels: Tensor, lengths: Tensor, weights: Tensor | None = None) -> Tensor:
        """Compute what `Head.loss` does; on a GPU, in training, from CUDA graphs."""
        if not _replays(emissions, labels):
            return super().loss(emissions, labels, lengths, weights)
        (B, T), L = _rounded(labels), emissions.shape[2]
        inputs, sizes = (emissions, labels, lengths), ((B, T, L), (B, T), (B,))
        return self._graphed(self.crf, self.recorded_losses, inputs, sizes, weights, self.smoothing)

    def sentence_losses(self, emissions: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        """Compute the negative log-likelihood of each sentence, or the smoothed one, ``[B]``."""
        return self.crf.loss(emissions, labels, reduction="none", objective=self._objective, lengths=lengths)

    @property
    def _objective(self) -> Objective:
        return losses.LabelSmoothing(self.smoothing) if self.smoothing else losses.nll

    def recorded_losses(self, emissions: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        """Compute what `sentence_losses` does, without waiting for the device, in float64."""
        B, T, _ = emissions.shape
        rows, first = emissions.flatten(0, 1), torch.arange(0, B * T, T, device=emissions.device)
        scores = self.crf.scores(rows.dtype)
        chain = TensorChain(rows, first, lengths, T, *scores)
        return self._objective(chain, labels.flatten())

    @torch.no_grad()
    def scores(self) -> Scores:
        """Return the CRF's scores."""
        transitions, start, end = (part.cpu().numpy() for part in self.crf.scores(torch.float32))
        return transitions, start, end


def _replays(emissions: Tensor, labels: Tensor) -> bool:
    """Whether a CUDA graph answers: one label a token, gradients wanted, and nobody else is recording."""
    if not (emissions.is_cuda and emissions.requires_grad and emissions.numel() and labels.dtype == torch.int64):
        return False
    return may_record()


def _rounded(labels: Tensor) -> tuple[int, int]:
    B, T = labels.shape
    return sentences(B), steps(T)


class SoftmaxHead(Head):
    """A linear layer and a softmax; the arguments of `CRFHead`, with the rules for decoding only."""

    def __init__(self, size: int, num_labels: int, *, rules: Rules | None = None, smoothing: float = 0.0) -> None:
        super().__init__(size, num_labels, smoothing)
        self.rules = rules

    def sentence_losses(self, emissions: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
        """Compute the cross-entropy of each sentence, summed over its tokens, ``[B]``."""
        checks.check_tags(labels, emissions)
        inside = torch.arange(emissions.shape[1], device=emissions.device) < lengths[:, None]  # [B, T]
        look = checks.looks(emissions.device, check=False)
        if labels.dtype == torch.bool:
            terms = self._of_sets(emissions, labels | ~inside[:, :, None])
        else:
            if look:
                checks.check_tag_range(labels[inside], emissions.shape[2], places=checks.places_of(inside.nonzero))
            terms = self._of_labels(emissions, torch.where(inside, labels, 0))
        values = torch.where(inside, terms, 0.0).sum(1)
        if look:
            checks.check_legal(-values, forbidden_gold)
        return values

    def _of_labels(self, emissions: Tensor, labels: Tensor) -> Tensor:
        """−(1 − ε) log p(label) − ε · mean_k log p(k) for each token, ``[B, T]``."""
        logs = emissions.log_softmax(2)
        gold = logs.gather(2, labels[:, :, None])[:, :, 0]
        return -gold if not self.smoothing else -(1 - self.smoothing) * gold - self.smoothing * logs.mean(2)

    def _of_sets(self, emissions: Tensor, sets: Tensor) -> Tensor:
        """−log Σ_(k in the set) p(k) for each token, ``[B, T]``."""
        within = torch.where(sets, emissions, -torch.inf)
        return emissions.logsumexp(2) - within.logsumexp(2)

    def scores(self) -> Scores:
        """Return zeros, −∞ where the rules forbid."""
        L = self.linear.out_features
        if self.rules is None:
            return np.zeros((L, L), np.float32), np.zeros(L, np.float32), np.zeros(L, np.float32)
        transitions, start, end = (
            np.where(allowed, np.float32(0), np.float32(-np.inf))
            for allowed in (self.rules.transitions, self.rules.start, self.rules.end)
        )
        return transitions, start, end


class EncoderBatch(Protocol):
    """What a tagger asks of a batch; the rest of it is for the encoder."""

    @property
    def device_lengths(self) -> Tensor:
        """The tokens of each sentence, ``[B]``, on the device."""


class Tagger(nn.Module):
    """An encoder and a head: batches in, loss or emissions out.

    Arguments:
        encoder: a module with a `size` that turns a batch into ``[B, T, size]``.
        head: of that size.
    """

    def __init__(self, encoder: nn.Module, head: Head) -> None:
        super().__init__()
        if encoder.size != head.linear.in_features:
            raise InputError(
                "head: expected one for vectors of the encoder's size {}, got {}", encoder.size, head.linear.in_features
            )
        self.encoder = encoder
        self.head = head
        self._graphed = GraphedLoss()

    def forward(self, batch: EncoderBatch, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """Compute the loss, the mean over the sentences of a batch; see `Head.loss`.

        A BiLSTM's loss comes with all gradients from a CUDA graph, in training on a GPU.
        """
        if not (isinstance(batch, WordBatch) and self._replays(batch, labels)):
            return self.head.loss(self.emissions(batch), labels, batch.device_lengths, weights)
        (B, T), (U, C) = _rounded(labels), batch.characters.shape
        U, C = max(WORDS, 1 << (U - 1).bit_length()), -(-C // CHARACTERS) * CHARACTERS
        inputs = (batch.forms, batch.words, batch.cases, batch.characters, labels, batch.device_lengths)
        sizes = ((B, T), (U,), (U,), (U, C), (B, T), (B,))
        noise = tuple([part.p for part in self.modules() if isinstance(part, TrainingNoise)])
        return self._graphed(self, self._recorded_losses, inputs, sizes, weights, (noise, self.head.smoothing))

    def _recorded_losses(
        self, forms: Tensor, words: Tensor, cases: Tensor, characters: Tensor, labels: Tensor, lengths: Tensor
    ) -> Tensor:
        batch = WordBatch(forms, words, cases, characters, None, lengths, lengths, lengths)
        return self.head.recorded_losses(self.emissions(batch), labels, lengths)

    def _replays(self, batch: WordBatch, labels: Tensor) -> bool:
        """Whether a CUDA graph answers: of moderate size, one label a token, and nothing that asks about its parts.

        In float16 gradients are scaled up before the backward pass, which is recorded without that.
        """
        if not (labels.is_cuda and self.training and type(self.encoder) is BiLSTMEncoder and may_record()):
            return False
        half = torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.float16
        if half or labels.dtype != torch.int64 or not 0 < labels.numel() <= MOST_CELLS:
            return False
        return not any(_is_watched(part) for part in self.modules() if part is not self)

    def emissions(self, batch: EncoderBatch) -> Tensor:
        """Return the scores of labels, ``[B, T, L]``."""
        return self.head.emissions(self.encoder(batch))

    def groups(self, rates: Mapping[str, float]) -> list[dict[str, Any]]:
        """Sort the parameters that are trained into groups for an optimiser.

        Arguments:
            rates: what to multiply the learning rate by, for parameters whose dotted name begins with a key, such as
                ``{"head.crf": 100, "encoder.words": 0.1}``; the longest key that fits counts, 1 where none does.

        Returns:
            Groups with ``params``, ``rate`` and ``name``. One whose parameters must not decay has ``weight_decay`` 0:
            biases, norms, the CRF, and vectors of words (those that a corpus lacks would fade).
        """
        fixed = self._undecayed()
        groups: dict[tuple[str, bool], dict[str, Any]] = {}
        for name, parameter in self.named_parameters():
            if parameter.requires_grad:
                key = max((key for key in rates if f"{name}.".startswith(f"{key}.")), key=len, default="")
                group = {"params": [], "rate": float(rates.get(key, 1.0)), "name": key or "rest"}
                if name in fixed:
                    group |= {"weight_decay": 0.0, "name": f"{group['name']}, no decay"}
                groups.setdefault((key, name in fixed), group)["params"].append(parameter)
        return list(groups.values())

    def _undecayed(self) -> set[str]:
        return {
            name
            for place, module in self.named_modules()
            for name, parameter in module.named_parameters(place, recurse=False)
            if parameter.dim() < 2 or isinstance(module, nn.Embedding | CRF)
        }


def _is_watched(module: nn.Module) -> bool:
    """Whether a part of a network does not train, or has hooks, which would not be called."""
    hooks = module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    return not module.training or bool(hooks)
