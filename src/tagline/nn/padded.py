"""From the padded tensors that a CRF layer takes to a chain: checks, masks, types of number, constraints of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from tagline.chain import tensors
from tagline.chain.tensors import TensorChain, masked
from tagline.chain.tensors.masked import PaddedBatch
from tagline.errors import InputError
from tagline.nn import checks, packing
from tagline.nn.packing import Packing
from tagline.nn.parameters import TransitionModule, as_type
from tagline.readers.rules import Rules


class Extras(TypedDict, total=False):
    """What every method of the CRF layer takes besides emissions and mask; `tagline.nn.CRF` describes them."""

    lengths: Tensor | None
    allowed: Tensor | None
    transitions: Tensor | None


@dataclass(frozen=True, eq=False)
class LayerInput:
    """A padded batch as a chain.

    Attributes:
        packing: how its tokens lie in the chain's rows.
        chain: the scores.
        labels: ``[N]``, or sets of labels ``[N, L]``; None where there are none.
        checked: whether values are checked.
        dtype: of answers.
    """

    packing: Packing
    chain: TensorChain
    labels: Tensor | None
    checked: bool
    dtype: torch.dtype

    def legal(self, log_z: Tensor) -> Tensor:
        """Return log Z ``[B]``; where values are checked, raise if a sentence has no legal labelling."""
        if self.checked:
            checks.check_legal(log_z)
        return log_z

    def require_paths(self) -> None:
        """Do what `legal` does, for answers that do not say whether there is a legal labelling."""
        if self.checked and not self.chain.free:
            checks.check_legal(tensors.log_partition(self.chain.detach()))


class PaddedLayer(TransitionModule):
    """A layer with the scores of a CRF that reads padded batches; see `tagline.nn.CRF` for the arguments."""

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

    def _read(
        self,
        emissions: Tensor,
        tags: Tensor | None,
        mask: Tensor | None,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> LayerInput:
        """Check the arguments of a method and make a chain of them."""
        checks.check_not_traced()
        checks.check_tensors(emissions, tags=tags, mask=mask, lengths=lengths, allowed=allowed, transitions=transitions)
        checks.check_emissions(emissions, self.num_tags, self.batch_first)
        checked = checks.looks(emissions.device, self.check)
        if tags is not None:
            checks.check_tags(tags, emissions)
        mask = None if mask is None else checks.as_mask(mask, emissions)
        if not self.batch_first:
            emissions = emissions.transpose(0, 1)
            tags, mask, allowed, transitions = (
                None if part is None else part.transpose(0, 1) for part in (tags, mask, allowed, transitions)
            )
        places = self._packing(emissions, tags, mask, lengths, checked)
        dtype = torch.float64 if torch.float64 in (emissions.dtype, self.dtype) else torch.float32
        rows = as_type(places.pack(emissions), dtype)
        pairs, start, end = self.scores(dtype)
        if allowed is not None:
            rows = torch.where(places.pack(_as_sets("allowed", allowed, emissions)), rows, -torch.inf)
        if transitions is not None:
            pairs = pairs + places.pack(_as_cubes(transitions, emissions)).to(dtype)
        labels = None if tags is None else places.pack(tags)
        if labels is not None and labels.dtype != torch.bool:
            labels = as_type(labels, torch.int64)
        free = checked and self._may_follow is None and allowed is None and transitions is None  # as the look will find
        chain = TensorChain(rows, places.first, places.lengths, places.shape[1], pairs, start, end, free)
        if checked:
            finite = checks.check_values(chain, labels, steps=places.steps)
            if not self._looked_at_emissions and labels is not None:
                self._looked_at_emissions = True
                checks.warn_of_probabilities(chain.emissions[chain.inside()])
            chain = chain if chain.free == finite else replace(chain, free=finite)
        return LayerInput(places, chain, labels, checked, dtype)

    def _as_it_lies(
        self,
        emissions: Tensor,
        tags: Tensor | None,
        mask: Tensor | None,
        lengths: Tensor | None = None,
        allowed: Tensor | None = None,
        transitions: Tensor | None = None,
    ) -> PaddedBatch | None:
        """Return the arguments of a method for kernels that read padded batches; None where a chain must be made."""
        checks.check_tensors(emissions, tags=tags, mask=mask, lengths=lengths)
        plain = allowed is None and transitions is None and (tags is None or tags.dtype != torch.bool)
        if not plain or checks.looks(emissions.device, self.check) or not masked.answers(emissions, self.num_tags):
            return None
        if (
            torch.float64 in (emissions.dtype, self.dtype)
            or (lengths is not None and mask is not None)
            or checks.tracing()
        ):
            return None
        checks.check_emissions(emissions, self.num_tags, self.batch_first)
        if tags is not None:
            checks.check_tags(tags, emissions)
        scores = self.scores(torch.float32)
        if any(part is not None and part.device != emissions.device for part in (tags, mask, *scores)):
            return None  # kernels take addresses as they are; PyTorch says what is wrong
        counts = None if mask is None else checks.as_mask(mask, emissions)
        by, ignored = masked.BY_MASK if mask is not None else masked.ALL, None
        if not self.batch_first:
            emissions = emissions.transpose(0, 1)
            tags, counts = (None if part is None else part.transpose(0, 1) for part in (tags, counts))
        if lengths is not None:
            checks.check_lengths(lengths, emissions, False)
            by, counts = masked.BY_LENGTHS, lengths.to(emissions.device, torch.int64)
        elif tags is not None and self.ignore_index:
            ignored, *others = self.ignore_index
            for other in others:
                by, counts = masked.BY_MASK, tags != other if counts is None else counts & (tags != other)
        return PaddedBatch(as_type(emissions, torch.float32).contiguous(), *scores, by, counts, ignored)

    def _packing(
        self, emissions: Tensor, tags: Tensor | None, mask: Tensor | None, lengths: Tensor | None, checked: bool
    ) -> Packing:
        B, T = emissions.shape[:2]
        if lengths is not None:
            if mask is not None:
                raise InputError("lengths: expected None where a mask is given, got both; choose one")
            checks.check_lengths(lengths, emissions, checked)
            return packing.by_lengths(lengths.to(emissions.device, torch.int64), T)
        if tags is not None and tags.dtype != torch.bool:
            for ignored in self.ignore_index:
                counts = tags != ignored
                mask = counts if mask is None else mask & counts
        return packing.everything(B, T, emissions.device) if mask is None else packing.by_mask(mask)

    def _axes(self, values: Tensor, batch_axis: int = 0) -> Tensor:
        """Return values ``[…, batch, steps, …]`` with the axes in the order that the layer was made for."""
        return values if self.batch_first else values.transpose(batch_axis, batch_axis + 1)


def _as_sets(name: str, sets: Tensor, emissions: Tensor) -> Tensor:
    if sets.shape != emissions.shape or sets.dtype != torch.bool:
        raise InputError(
            "{}: expected booleans (True = allowed) of shape {}, got {} {}",
            name,
            list(emissions.shape),
            sets.dtype,
            list(sets.shape),
        )
    return sets


def _as_cubes(transitions: Tensor, emissions: Tensor) -> Tensor:
    wanted = (*emissions.shape, emissions.shape[2])
    if transitions.shape != wanted or not transitions.dtype.is_floating_point:
        raise InputError(
            "transitions: expected scores of shape {}, that lead into each token, got {} {}",
            list(wanted),
            transitions.dtype,
            list(transitions.shape),
        )
    return transitions
