"""The CRF layer: scores of a network in, losses, labels and probabilities out.

Its parameters and its `forward` are those of pytorch-crf, so checkpoints load; what pytorch-crf restricts is lifted.
The layer turns its arguments into a `TensorChain` and asks `tagline.chain.tensor_dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import overload

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from tagline.chain import tensor_dispatch, tensor_queries
from tagline.chain.checks import as_count
from tagline.chain.tensors import TensorChain
from tagline.errors import InputError
from tagline.nn import checks, layout, losses
from tagline.nn.answers import Decoded, Ranked, lists_of
from tagline.nn.layout import Layout
from tagline.nn.parameters import TransitionModule, as_type
from tagline.readers.rules import Rules
from tagline.types import SpanQuery

REDUCTIONS = ("none", "sum", "mean", "token_mean")

Objective = Callable[[TensorChain, Tensor], Tensor]
"""A loss: a chain and its tags ``[N]`` (or sets of labels ``[N, L]``) in, one number a sequence ``[B]`` out."""


@dataclass(frozen=True, eq=False)
class _Batch:
    layout: Layout
    chain: TensorChain
    tags: Tensor | None
    looks: bool  # whether values are checked
    out: torch.dtype


class CRF(TransitionModule):
    """A linear-chain conditional random field on top of a network.

    Arguments:
        num_tags: how many labels there are.
        batch_first: whether emissions are ``[batch, steps, labels]``; otherwise ``[steps, batch, labels]``.
        constraints: what may follow what: the `Rules` of a tag scheme (`tagline.readers.schemes.legal`), or booleans
            ``[labels, labels]`` as ``[previous, next]``. The rest is −∞, in training and in every answer.
        start_end: whether there are scores for the first and the last label.
        rank: transitions as a product of rank so many, for large label sets.
        tied: the group of each label pair, integers ``[labels, labels]``; pairs of one group share a score.
        frozen: whether the layer's scores are left out of training.
        ignore_index: the tag, or tags, of tokens that do not count: they are left out as if the mask were off (not
            looked at where `lengths` say which tokens count). An empty tuple for none.
        check: whether to check values on a GPU too, where that makes it wait.

    Emissions in float64 are worked out in float64, float32 and shorter ones in float32. All methods take:

        emissions: scores of a network, not probabilities.
        mask: ``[batch, steps]``, booleans or 0 and 1 in any pattern; tokens that are off are not there, and a sequence
            may have none left. Or `lengths` ``[batch]`` for padding at the right.
        allowed: booleans ``[batch, steps, labels]``, the labels that each token may take.
        transitions: scores ``[batch, steps, labels, labels]`` that lead into each token, added to the layer's own.

    >>> crf = CRF(5)
    >>> emissions, tags = torch.randn(2, 3, 5), torch.tensor([[0, 1, 2], [3, 4, -100]])
    >>> loss = crf.loss(emissions, tags)
    >>> [len(path) for path in crf.decode(emissions, mask=tags >= 0)]
    [3, 2]
    """

    def __init__(
        self,
        num_tags: int,
        batch_first: bool = True,
        *,
        constraints: Rules | ArrayLike | None = None,
        start_end: bool = True,
        rank: int | None = None,
        tied: ArrayLike | None = None,
        frozen: bool = False,
        ignore_index: int | Sequence[int] = -100,
        check: bool = False,
    ) -> None:
        super().__init__(num_tags, constraints=constraints, start_end=start_end, rank=rank, tied=tied, frozen=frozen)
        self.batch_first = batch_first
        self.check = check
        self.ignore_index = (ignore_index,) if isinstance(ignore_index, int) else tuple(ignore_index)
        self._looked_at_emissions = False

    def forward(
        self,
        emissions: Tensor,
        tags: Tensor,
        mask: Tensor | None = None,
        reduction: str = "sum",
        *,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> Tensor:
        """Compute the log-likelihood log p(tags | emissions): not a loss, its negative is (`loss`).

        Arguments:
            tags: ``[batch, steps]`` integers; or booleans ``[batch, steps, labels]``, sets of labels of which any will
                do (the likelihood is then that of all labellings within the sets).
            reduction: "sum" or "mean" over the sequences, "token_mean" for the sum over the number of tokens that
                count, "none" for one number a sequence.
        """
        return -self.loss(emissions, tags, mask, reduction, lengths=lengths, allowed=allowed, transitions=transitions)

    def loss(
        self,
        emissions: Tensor,
        tags: Tensor | None,
        mask: Tensor | None = None,
        reduction: str = "mean",
        *,
        objective: Objective = losses.nll,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> Tensor:
        """Compute a loss to minimise: the negative log-likelihood, as its mean over sequences.

        Arguments:
            tags: as in `forward`; None for objectives that take none (distillation).
            reduction: "mean" over the sequences (empty ones count, with 0), "sum", "none", or "token_mean", the sum
                over the number of tokens that count.
            objective: another loss, from `tagline.nn.losses`.
        """
        if reduction not in REDUCTIONS:
            raise InputError(f"reduction: expected one of {', '.join(REDUCTIONS)}, got {reduction!r}")
        batch = self._batch(emissions, tags, mask, lengths, allowed, transitions)
        gold = batch.layout.first.new_zeros(batch.chain.num_rows) if batch.tags is None else batch.tags
        value = objective(batch.chain, gold)
        if batch.looks:
            checks.check_gold(-value.detach())
        if reduction == "none":
            return value.to(batch.out)
        if reduction == "mean":
            return value.mean().to(batch.out)
        total = value.sum()
        if reduction == "token_mean":
            total = total / batch.layout.num_tokens().clamp(min=1)
        return total.to(batch.out)

    def log_partition(
        self,
        emissions: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> Tensor:
        """Compute log Z ``[batch]``, the logarithm of the summed exp(score) of all labellings."""
        batch = self._batch(emissions, None, mask, lengths, allowed, transitions)
        return self._legal(batch, tensor_dispatch.log_partition(batch.chain)).to(batch.out)

    def marginals(
        self,
        emissions: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> Tensor:
        """Compute the probability of each label at each token, ``[batch, steps, labels]``, 0 where the mask is off."""
        batch = self._batch(emissions, None, mask, lengths, allowed, transitions)
        found = tensor_dispatch.marginals(batch.chain)
        if batch.looks:  # without a legal path there is no distribution
            checks.check_paths(_mass(batch, found))
        return self._axes(batch.layout.unpack(found, 0.0))

    @overload
    def decode(
        self,
        emissions: Tensor,
        mask: Tensor | None = None,
        *,
        pad_tag: None = None,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> list[list[int]]: ...

    @overload
    def decode(
        self,
        emissions: Tensor,
        mask: Tensor | None = None,
        *,
        pad_tag: int,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> Decoded: ...

    def decode(
        self,
        emissions: Tensor,
        mask: Tensor | None = None,
        *,
        pad_tag: int | None = None,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> list[list[int]] | Decoded:
        """Find the best labelling of each sequence.

        Returns:
            Lists of the tags of the tokens that count; with a `pad_tag`, tensors instead (tags and scores), which
            need no waiting for a GPU and can be gathered from several. Neither has a gradient.
        """
        batch = self._batch(emissions.detach(), None, mask, lengths, allowed, transitions)
        tags, scores = tensor_dispatch.viterbi(batch.chain)
        if batch.looks:
            checks.check_paths(scores)
        if pad_tag is None:
            return lists_of(batch.chain, tags)
        return Decoded(self._axes(batch.layout.unpack(tags, pad_tag)), scores.to(batch.out))

    def k_best(
        self,
        emissions: Tensor,
        k: int,
        mask: Tensor | None = None,
        *,
        pad_tag: int = -1,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> Ranked:
        """Find the k best labellings of each sequence with their scores and probabilities."""
        batch = self._batch(emissions, None, mask, lengths, allowed, transitions)
        number = as_count("k", k, 1)
        with torch.no_grad():
            tags, scores = tensor_queries.k_best(batch.chain.detach(), number)  # [K, N], [K, B]
            log_z = tensor_dispatch.log_partition(batch.chain.detach())
        self._legal(batch, log_z)
        padded = torch.stack([batch.layout.unpack(row, pad_tag) for row in tags], 1)  # [B, K, T]
        gone = torch.isneginf(scores).T  # [B, K]
        padded = torch.where(gone[:, :, None], pad_tag, padded)
        probabilities = torch.where(gone, 0.0, (scores.T - log_z[:, None]).exp())
        return Ranked(padded, scores.T.to(batch.out), probabilities.to(batch.out))

    def sample(
        self,
        emissions: Tensor,
        count: int,
        mask: Tensor | None = None,
        *,
        pad_tag: int = -1,
        generator: torch.Generator | None = None,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> Tensor:
        """Draw labellings from p(y | x), ``[count, batch, steps]``, or ``[count, steps, batch]``."""
        batch = self._batch(emissions, None, mask, lengths, allowed, transitions)
        chain, rows = batch.chain.detach(), as_count("count", count, 0)
        self._legal(batch, tensor_dispatch.log_partition(chain))
        uniforms = _uniforms(chain, rows, generator)
        found = [batch.layout.unpack(row, pad_tag) for row in tensor_queries.sample(chain, uniforms)]
        empty = emissions.new_empty((0, *batch.layout.shape), dtype=torch.int64)
        return torch.stack([self._axes(one) for one in found]) if found else self._axes(empty, 1)

    def entropy(
        self,
        emissions: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> Tensor:
        """Compute the entropy of p(y | x) in nats, ``[batch]``, with gradients."""
        batch = self._batch(emissions, None, mask, lengths, allowed, transitions)
        return tensor_queries.entropy(batch.chain).to(batch.out)

    def span_probability(
        self,
        emissions: Tensor,
        spans: Sequence[SpanQuery],
        mask: Tensor | None = None,
        *,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> Tensor:
        """Compute the probability that the labels of spans lie in given sets, one number a span, with gradients.

        Arguments:
            spans: ``(sequence, first token, sets)`` with one label or set of labels for each token of the span. Tokens
                are counted among those that count: with a mask, token 0 is the first that is on.
        """
        batch = self._batch(emissions, None, mask, lengths, allowed, transitions)
        return tensor_queries.span_probability(batch.chain, spans).to(batch.out)

    def chain(
        self,
        emissions: Tensor,
        mask: Tensor | None = None,
        *,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> TensorChain:
        """Return the scores as a chain: for your own queries and objectives, or as a teacher for distillation."""
        return self._batch(emissions, None, mask, lengths, allowed, transitions).chain

    def _batch(
        self,
        emissions: Tensor,
        tags: Tensor | None,
        mask: Tensor | None,
        lengths: Tensor | None,
        allowed: Tensor | None,
        transitions: Tensor | None,
    ) -> _Batch:
        checks.check_emissions(emissions, self.num_tags, self.batch_first)
        look = checks.looks(emissions.device, self.check)
        if tags is not None:
            checks.check_tags(tags, emissions)
        mask = None if mask is None else checks.as_mask(mask, emissions)
        if not self.batch_first:
            emissions = emissions.transpose(0, 1)
            tags, mask, allowed, transitions = (
                None if part is None else part.transpose(0, 1) for part in (tags, mask, allowed, transitions)
            )
        plan = self._layout(emissions, tags, mask, lengths, look)
        dtype = self._dtype(emissions)
        rows = as_type(plan.pack(emissions), dtype)
        moves, start, end = self.scores(dtype)
        if allowed is not None:
            rows = torch.where(plan.pack(_as_sets("allowed", allowed, emissions)), rows, -torch.inf)
        if transitions is not None:
            moves = moves + plan.pack(_as_cubes(transitions, emissions)).to(dtype)
        gold = None if tags is None else plan.pack(tags)
        if gold is not None and gold.dtype != torch.bool:
            gold = as_type(gold, torch.int64)
        free = not self.constrained and allowed is None and transitions is None
        chain = plan.chain(rows, moves, start, end, free)
        if look:
            chain = self._look(chain, gold)
        return _Batch(plan, chain, gold, look, dtype)

    def _layout(
        self, emissions: Tensor, tags: Tensor | None, mask: Tensor | None, lengths: Tensor | None, look: bool
    ) -> Layout:
        B, T = emissions.shape[:2]
        if lengths is not None:
            if mask is not None:
                raise InputError("lengths: expected None where a mask is given, got both; choose one")
            checks.check_lengths(lengths, emissions, look)
            return layout.by_lengths(lengths.to(emissions.device, torch.int64), T)
        if tags is not None and tags.dtype != torch.bool:
            for ignored in self.ignore_index:
                counts = tags != ignored
                mask = counts if mask is None else mask & counts
        return layout.everything(B, T, emissions.device) if mask is None else layout.by_mask(mask)

    def _dtype(self, emissions: Tensor) -> torch.dtype:
        return torch.float64 if torch.float64 in (emissions.dtype, self.dtype) else torch.float32

    def _look(self, chain: TensorChain, tags: Tensor | None) -> TensorChain:
        """Check values; return the chain with what was learnt of it."""
        finite = checks.check_values(chain, tags)
        if not self._looked_at_emissions and tags is not None:
            self._looked_at_emissions = True
            checks.warn_of_probabilities(chain.emissions[chain.inside()])
        return chain if chain.free == finite else replace(chain, free=finite)

    def _legal(self, batch: _Batch, log_z: Tensor) -> Tensor:
        if batch.looks:
            checks.check_paths(log_z)
        return log_z

    def _axes(self, values: Tensor, batch_axis: int = 0) -> Tensor:
        """``[…, batch, steps, …]`` in the order of the axes that the layer was made for."""
        return values if self.batch_first else values.transpose(batch_axis, batch_axis + 1)


def _uniforms(c: TensorChain, count: int, generator: torch.Generator | None) -> Tensor:
    """Numbers in [0, 1) ``[count, N]``; on the CPU as many are drawn as there are tokens, however they are padded."""
    if not c.emissions.is_cpu:
        return torch.rand((count, c.num_rows), dtype=torch.float64, generator=generator, device=c.emissions.device)
    inside = c.inside()
    out = torch.zeros((count, c.num_rows), dtype=torch.float64)
    out[:, inside] = torch.rand((count, int(inside.sum())), dtype=torch.float64, generator=generator)
    return out


def _mass(batch: _Batch, nodes: Tensor) -> Tensor:
    """0 for each sequence whose marginals sum to 1 at its first token, −∞ for others, ``[B]``."""
    chain = batch.chain
    if not chain.num_rows:
        return torch.zeros_like(chain.first, dtype=nodes.dtype)
    sums = nodes.sum(1)[chain.first.clamp(max=chain.num_rows - 1)]
    return torch.where((chain.lengths > 0) & (sums < 0.5), -torch.inf, 0.0)


def _as_sets(name: str, sets: Tensor, emissions: Tensor) -> Tensor:
    if sets.shape != emissions.shape or sets.dtype != torch.bool:
        raise InputError(
            f"{name}: expected booleans (True = allowed) of shape {list(emissions.shape)}, "
            f"got {sets.dtype} {list(sets.shape)}"
        )
    return sets


def _as_cubes(transitions: Tensor, emissions: Tensor) -> Tensor:
    wanted = (*emissions.shape, emissions.shape[2])
    if transitions.shape != wanted or not transitions.dtype.is_floating_point:
        raise InputError(
            f"transitions: expected scores of shape {list(wanted)}, that lead into each token, "
            f"got {transitions.dtype} {list(transitions.shape)}"
        )
    return transitions
