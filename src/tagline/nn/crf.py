"""The CRF layer: scores of a network in, losses, labels and probabilities out.

Its parameters and its `forward` are those of pytorch-crf, so checkpoints load; what pytorch-crf restricts is lifted.
The layer turns its arguments into a `TensorChain` (`padded`) and asks `tagline.chain.tensors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack, overload

import torch
from torch import Tensor

from tagline.chain import tensors
from tagline.chain.checks import forbidden_gold
from tagline.chain.tensors import TensorChain, batched, masked
from tagline.chain.tensors.dispatch import transforming
from tagline.chain.tensors.masked import PaddedBatch
from tagline.checks import as_whole, check_choice
from tagline.errors import InputError
from tagline.nn import checks, losses, packing
from tagline.nn.decoded import Decoded, Ranked, lists_of
from tagline.nn.losses import Objective
from tagline.nn.packing import Packing
from tagline.nn.padded import Extras, PaddedLayer
from tagline.types import SpanQuery

REDUCTIONS = ("none", "sum", "mean", "token_mean")


class CRF(PaddedLayer):
    """A linear-chain conditional random field on top of a network.

    Arguments:
        num_tags: how many labels there are.
        batch_first: whether emissions are ``[batch, steps, labels]``; otherwise ``[steps, batch, labels]``.
        constraints: what may follow what: the `Rules` of a tag scheme (`tagline.readers.schemes.legal`), or booleans
            ``[labels, labels]`` as ``[previous, next]``. The rest is −∞, in training and in every answer.
        start_end: whether there are scores for the first and the last label.
        rank: of the transitions, which are then a product of two thin matrices, for large label sets.
        tied: the group of each label pair, integers ``[labels, labels]``; pairs of one group share a score.
        frozen: whether the layer's scores are left out of training.
        ignore_index: the tag, or tags, of tokens that do not count: they are left out as if the mask were off (but not
            where `lengths` say which tokens count). An empty tuple for none.
        check: whether to check values on a GPU too, which makes the host wait for it.

    Emissions in float64 are worked out in float64, others in float32. All methods take:

    - ``emissions``: scores of a network, not probabilities.
    - ``mask``: ``[batch, steps]``, booleans or 0 and 1 in any pattern; tokens that are off are not there, and a
      sentence may have none left. Or ``lengths [batch]`` for padding at the right.
    - ``allowed``: booleans ``[batch, steps, labels]``, the labels that each token may take.
    - ``transitions``: scores ``[batch, steps, labels, labels]`` that lead into each token, added to the layer's own.

    A sentence without a legal labelling is a `NoPathError` in every answer where values are checked: on the CPU, and on
    a GPU with `check`. Elsewhere it is answered by a sum over no labellings: log Z is −∞, marginals, entropy and
    probabilities of spans are 0; losses are ∞ with finite gradients, as they are for forbidden tags.

    >>> crf = CRF(5)
    >>> emissions, tags = torch.randn(2, 3, 5), torch.tensor([[0, 1, 2], [3, 4, -100]])
    >>> loss = crf.loss(emissions, tags)
    >>> [len(path) for path in crf.decode(emissions, mask=tags >= 0)]
    [3, 2]
    """

    def forward(
        self,
        emissions: Tensor,
        tags: Tensor,
        mask: Tensor | None = None,
        reduction: str = "sum",
        **extras: Unpack[Extras],
    ) -> Tensor:
        """Compute the log-likelihood log p(tags | emissions): not a loss, its negative is (`loss`).

        Arguments:
            tags: ``[batch, steps]`` integers; or booleans ``[batch, steps, labels]``, sets of labels of which any will
                do (the likelihood is then that of all labellings within the sets).
            reduction: "sum" or "mean" over the sentences, "token_mean" for the sum over the number of tokens that
                count, "none" for one number a sentence.
        """
        return -self.loss(emissions, tags, mask, reduction, **extras)

    def loss(
        self,
        emissions: Tensor,
        tags: Tensor | None,
        mask: Tensor | None = None,
        reduction: str = "mean",
        *,
        objective: Objective = losses.nll,
        **extras: Unpack[Extras],
    ) -> Tensor:
        """Compute a loss to minimise: the negative log-likelihood, as its mean over sentences.

        Arguments:
            tags: as in `forward`; None only for objectives that need none: `losses.Distillation`, and those of your
                own that say so by an attribute ``needs_labels = False``.
            reduction: "mean" over the sentences (empty ones count, with 0), "sum", "none", or "token_mean", the sum
                over the number of tokens that count.
            objective: another loss, from `tagline.nn.losses`.
        """
        check_choice("reduction", reduction, REDUCTIONS)
        if tags is None:
            losses.check_needs_none(objective)
        if objective is losses.nll and tags is not None and reduction != "none":
            whole = self._as_it_lies(emissions, tags, mask, **extras)
            if whole is not None:
                return self._loss_as_it_lies(whole, tags, reduction)
        batch = self._read(emissions, tags, mask, **extras)
        gold = batch.chain.first.new_zeros(batch.chain.num_rows) if batch.labels is None else batch.labels
        labelled = True
        if objective is not losses.nll:  # which reads labels, and has no values of its own
            labelled = losses.needs_labels(objective)
            if batch.checked:
                losses.check_values(objective, batch.chain)
            if not labelled:
                batch.require_paths()
        value = objective(batch.chain, gold)
        if batch.checked:
            checks.check_legal(-value.detach(), forbidden_gold if labelled else checks.unlike_teacher)
        return _reduced(value, batch.packing, reduction).to(batch.dtype)

    def _loss_as_it_lies(self, batch: PaddedBatch, tags: Tensor, reduction: str) -> Tensor:
        """Compute the negative log-likelihood by kernels that read padded batches."""
        tags = tags if self.batch_first else tags.transpose(0, 1)

        def again(emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
            places = packing.of(batch, tags)
            chain = places.chain(places.pack(emissions), transitions, start, end)
            labels = places.pack(tags).to(torch.int64)
            return _reduced(-batched.log_likelihood(chain, labels), places, reduction).to(emissions.dtype)

        return masked.loss(batch, tags, reduction, again)

    def log_partition(self, emissions: Tensor, mask: Tensor | None = None, **extras: Unpack[Extras]) -> Tensor:
        """Compute log Z ``[batch]``, the logarithm of the summed exp(score) of all labellings."""
        batch = self._read(emissions, None, mask, **extras)
        return batch.legal(tensors.log_partition(batch.chain)).to(batch.dtype)

    def marginals(self, emissions: Tensor, mask: Tensor | None = None, **extras: Unpack[Extras]) -> Tensor:
        """Compute the probability of each label at each token, ``[batch, steps, labels]``, 0 where the mask is off."""
        batch = self._read(emissions, None, mask, **extras)
        nodes = tensors.marginals(batch.chain)
        if batch.checked:  # without a legal path there is no distribution
            checks.check_legal(_log_mass(batch.chain, nodes))
        return self._axes(batch.packing.unpack(nodes, 0.0))

    @overload
    def decode(
        self, emissions: Tensor, mask: Tensor | None = None, *, pad_tag: None = None, **extras: Unpack[Extras]
    ) -> list[list[int]]: ...

    @overload
    def decode(
        self, emissions: Tensor, mask: Tensor | None = None, *, pad_tag: int, **extras: Unpack[Extras]
    ) -> Decoded: ...

    def decode(
        self, emissions: Tensor, mask: Tensor | None = None, *, pad_tag: int | None = None, **extras: Unpack[Extras]
    ) -> list[list[int]] | Decoded:
        """Find the best labelling of each sentence.

        Returns:
            Lists of the labels of the tokens that count; with a `pad_tag`, tensors instead (labels and scores), which
            need no waiting for a GPU and can be gathered from several. Neither has a gradient.
        """
        if pad_tag is None and transforming():
            raise InputError("pad_tag: expected a number inside a transform of torch.func, where lists cannot be made")
        pad_tag = None if pad_tag is None else checks.as_pad_tag(pad_tag)
        checks.check_tensors(emissions)
        whole = None if pad_tag is None else self._as_it_lies(emissions.detach(), None, mask, **extras)
        if pad_tag is not None and whole is not None:
            tags, scores = masked.best(whole, pad_tag)
            return Decoded(self._axes(tags), scores)
        batch = self._read(emissions.detach(), None, mask, **extras)
        labels, scores = tensors.viterbi(batch.chain)
        batch.legal(scores)
        if pad_tag is None:
            return lists_of(batch.chain, labels)
        return Decoded(self._axes(batch.packing.unpack(labels, pad_tag)), scores.to(batch.dtype))

    def k_best(
        self, emissions: Tensor, k: int, mask: Tensor | None = None, *, pad_tag: int = -1, **extras: Unpack[Extras]
    ) -> Ranked:
        """Find the k best labellings of each sentence with their scores and probabilities."""
        batch = self._read(emissions, None, mask, **extras)
        number = as_whole("k", k, 1)
        with torch.no_grad():
            labels, scores = tensors.k_best(batch.chain.detach(), number)  # [K, N], [K, B]
            log_z = tensors.log_partition(batch.chain.detach())
        batch.legal(log_z)
        padded = torch.stack([batch.packing.unpack(row, pad_tag) for row in labels], 1)  # [B, K, T]
        missing = torch.isneginf(scores).T  # [B, K]
        padded = torch.where(missing[:, :, None], pad_tag, padded)
        probabilities = torch.where(missing, 0.0, (scores.T - log_z[:, None]).exp())
        return Ranked(padded, scores.T.to(batch.dtype), probabilities.to(batch.dtype))

    def sample(
        self,
        emissions: Tensor,
        count: int,
        mask: Tensor | None = None,
        *,
        pad_tag: int = -1,
        generator: torch.Generator | None = None,
        **extras: Unpack[Extras],
    ) -> Tensor:
        """Draw labellings from p(y | x), ``[count, batch, steps]``, or ``[count, steps, batch]``."""
        batch = self._read(emissions, None, mask, **extras)
        chain, number = batch.chain.detach(), as_whole("count", count, 0)
        batch.legal(tensors.log_partition(chain))
        uniforms = _uniforms(chain, number, generator)
        samples = [self._axes(batch.packing.unpack(row, pad_tag)) for row in tensors.sample(chain, uniforms)]
        if samples:
            return torch.stack(samples)
        return self._axes(emissions.new_empty((0, *batch.packing.shape), dtype=torch.int64), 1)

    def entropy(self, emissions: Tensor, mask: Tensor | None = None, **extras: Unpack[Extras]) -> Tensor:
        """Compute the entropy of p(y | x) in nats, ``[batch]``, with gradients."""
        batch = self._read(emissions, None, mask, **extras)
        batch.require_paths()
        return tensors.entropy(batch.chain).to(batch.dtype)

    def span_probability(
        self, emissions: Tensor, spans: Sequence[SpanQuery], mask: Tensor | None = None, **extras: Unpack[Extras]
    ) -> Tensor:
        """Compute the probability that the labels of spans lie in given sets, one number a span, with gradients.

        Arguments:
            spans: ``(sentence, first token, sets)`` with one label or set of labels for each token of the span. Tokens
                that do not count have no number: with a mask, token 0 is the first that is on.
        """
        batch = self._read(emissions, None, mask, **extras)
        batch.require_paths()
        return tensors.span_probability(batch.chain, spans).to(batch.dtype)

    def chain(self, emissions: Tensor, mask: Tensor | None = None, **extras: Unpack[Extras]) -> TensorChain:
        """Return the scores as a chain: for your own queries and objectives, or as a teacher for distillation."""
        return self._read(emissions, None, mask, **extras).chain


def _reduced(losses: Tensor, places: Packing, reduction: str) -> Tensor:
    """Reduce the losses of sentences ``[B]``."""
    if reduction == "none":
        return losses
    if reduction == "mean" and len(losses):
        return losses.mean()
    total = losses.sum()
    return total / places.num_tokens().clamp(min=1) if reduction == "token_mean" else total


def _uniforms(c: TensorChain, count: int, generator: torch.Generator | None) -> Tensor:
    """Draw numbers in [0, 1) ``[count, N]``; on the CPU one for each token, so that padding changes no sample."""
    if not c.emissions.is_cpu or transforming():
        return torch.rand((count, c.num_rows), dtype=torch.float64, generator=generator, device=c.emissions.device)
    inside = c.inside()
    out = torch.zeros((count, c.num_rows), dtype=torch.float64)
    out[:, inside] = torch.rand((count, int(inside.sum())), dtype=torch.float64, generator=generator)
    return out


def _log_mass(c: TensorChain, nodes: Tensor) -> Tensor:
    """Return 0 for each sentence whose marginals sum to 1 at its first token, −∞ for others, ``[B]``."""
    if not c.num_rows:
        return torch.zeros_like(c.first, dtype=nodes.dtype)
    sums = nodes.sum(1)[c.first.clamp(max=c.num_rows - 1)]
    return torch.where((c.lengths > 0) & (sums < 0.5), -torch.inf, 0.0)
