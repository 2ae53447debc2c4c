"""What a CRF layer learns: transition, start and end scores, in one of three forms, and what is forbidden of them.

    dense      transitions [L, L]                                    the names and shapes of pytorch-crf
    low rank   transitions_from [L, R] · transitions_to [R, L]       2·L·R numbers for large label sets
    tied       tied_transitions [G], one number for each group of label pairs

Forbidden scores are −∞ in every answer of the layer; what is forbidden, and which pairs are tied, is no part of the
state dict and survives every way of building a module (`constants`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from tagline.checks import as_whole
from tagline.errors import InputError
from tagline.nn.constants import Constant, ConstantModule
from tagline.readers.rules import Rules

LARGEST_INITIAL = 0.1


class TransitionModule(ConstantModule):
    """The parameters of a CRF over `num_tags` labels; see `tagline.nn.CRF` for the arguments."""

    def __init__(
        self,
        num_tags: int,
        *,
        constraints: Rules | ArrayLike | None,
        start_end: bool,
        rank: int | None,
        tied: ArrayLike | None,
        frozen: bool,
    ) -> None:
        super().__init__()
        self.num_tags = as_whole("num_tags", num_tags, 1)
        self.start_end = start_end
        self.rank = None if rank is None else as_whole("rank", rank, 1)
        L = self.num_tags
        if rank is not None and tied is not None:
            raise InputError("tied: expected None where a rank is given, got both; choose one")
        if start_end:
            self.start_transitions = nn.Parameter(torch.empty(L))
            self.end_transitions = nn.Parameter(torch.empty(L))
        if self.rank is not None:
            self.transitions_from = nn.Parameter(torch.empty(L, self.rank))
            self.transitions_to = nn.Parameter(torch.empty(self.rank, L))
        elif tied is not None:
            self._groups = Constant(_as_groups(tied, L))
            self.tied_transitions = nn.Parameter(torch.empty(int(self._groups.values.max()) + 1))
        else:
            self.transitions = nn.Parameter(torch.empty(L, L))
        rules = constraints if isinstance(constraints, Rules) else None
        follow = constraints if rules is None else rules.transitions
        self._may_follow = None if follow is None else _as_rules(follow, (L, L))
        self._may_start = None if rules is None else _as_rules(rules.start, (L,))
        self._may_end = None if rules is None else _as_rules(rules.end, (L,))
        self._place_constants()
        self.reset_parameters()
        if frozen:
            self.requires_grad_(False)

    def reset_parameters(self) -> None:
        """Draw every parameter anew, uniformly from −0.1 to 0.1."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -LARGEST_INITIAL, LARGEST_INITIAL)

    @property
    def constrained(self) -> bool:
        """Whether anything is forbidden."""
        return self._may_follow is not None

    @property
    def dtype(self) -> torch.dtype:
        """The type of number of the parameters."""
        return self.start_transitions.dtype if self.start_end else next(self.parameters()).dtype

    def scores(self, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
        """Return transitions ``[L, L]``, start and end ``[L]`` in a type of number, −∞ where they are forbidden."""
        if self.rank is not None:
            left, right = self.transitions_from.to(dtype), self.transitions_to.to(dtype)
            with torch.autocast(left.device.type, enabled=False):
                transitions = left @ right
        elif "tied_transitions" in self._parameters:
            tied = self.tied_transitions.to(dtype)
            transitions = tied[self._groups.on(tied.device)]
        else:
            transitions = as_type(self.transitions, dtype)
        if self.start_end:
            start, end = as_type(self.start_transitions, dtype), as_type(self.end_transitions, dtype)
        else:
            start = end = transitions.new_zeros(self.num_tags)
        if self._may_follow is None:  # nothing is forbidden
            return transitions, start, end
        return (
            _where_allowed(self._may_follow, transitions),
            _where_allowed(self._may_start, start),
            _where_allowed(self._may_end, end),
        )

    @torch.no_grad()
    def initialise_from_tags(self, sequences: Iterable[Sequence[int]], smoothing: float = 1.0) -> None:
        """Set the scores to the logarithms of a Markov chain over the labels of training sentences.

        ``transitions[i, j] = log (n_ij + s) / (n_i + s·(L + 1))`` with n_ij how often j follows i, n_i how often i
        occurs and s the smoothing; start and end likewise. A network whose emissions are near 0 at first then begins
        with what is known of the labels alone.
        """
        if self.rank is not None or not hasattr(self, "transitions"):
            raise InputError("initialise_from_tags: expected dense transitions, got low-rank or tied ones")
        pairs, first, last = _count(sequences, self.num_tags)
        L = self.num_tags
        uses = pairs.sum(1) + last + smoothing * (L + 1)
        with np.errstate(all="ignore"):
            transitions = np.log((pairs + smoothing) / uses[:, None])
            end = np.log((last + smoothing) / uses)
            start = np.log((first + smoothing) / (first.sum() + smoothing * L))
        if not all(np.isfinite(part).all() for part in (transitions, start, end)):
            raise InputError("smoothing: expected more than 0 where some pairs never occur, got {}", smoothing)
        self.transitions.copy_(torch.from_numpy(transitions))
        if self.start_end:
            self.start_transitions.copy_(torch.from_numpy(start))
            self.end_transitions.copy_(torch.from_numpy(end))

    def extra_repr(self) -> str:
        """Name what was asked for."""
        facts = [f"num_tags={self.num_tags}"]
        facts += [] if self.rank is None else [f"rank={self.rank}"]
        facts += ["tied"] if "tied_transitions" in self._parameters else []
        facts += ["constrained"] if self.constrained else []
        facts += [] if self.start_end else ["start_end=False"]
        return ", ".join(facts)


def as_type(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return values in a type of number; where they have it, PyTorch is not asked, which would take a microsecond."""
    return values if values.dtype == dtype else values.to(dtype)


def _where_allowed(allowed: Constant | None, scores: Tensor) -> Tensor:
    return scores if allowed is None else torch.where(allowed.on(scores.device), scores, -torch.inf)


def _as_rules(rules: Any, shape: tuple[int, ...]) -> Constant:
    allowed = _as_array("constraints", rules)
    if allowed.dtype != np.bool_ or allowed.shape != shape:
        raise InputError(
            "constraints: expected booleans (True = allowed) of shape {}, got {} {}",
            list(shape),
            allowed.dtype,
            list(allowed.shape),
        )
    return Constant(allowed)


def _as_groups(tied: Any, L: int) -> NDArray[np.int64]:
    groups = _as_array("tied", tied)
    if groups.shape != (L, L) or groups.dtype.kind not in "iu" or groups.min() < 0:
        raise InputError(
            "tied: expected the group of each label pair, integers from 0 of shape [{0}, {0}], got {1} {2}",
            L,
            groups.dtype,
            list(groups.shape),
        )
    return groups.astype(np.int64)


def _as_array(name: str, values: Any) -> NDArray[Any]:
    if not isinstance(values, Tensor):
        return np.array(values)
    if values.is_meta:
        raise InputError(
            "{}: a tensor on the meta device has no values; pass a list or a NumPy array, or make the tensor "
            'with device="cpu"',
            name,
        )
    return (values.double() if values.is_floating_point() else values).detach().cpu().numpy()  # NumPy has no bfloat16


def _count(sequences: Iterable[Sequence[int]], L: int) -> tuple[Any, Any, Any]:
    pairs, first, last = np.zeros((L, L)), np.zeros(L), np.zeros(L)
    for number, sequence in enumerate(sequences):
        labels = np.asarray(sequence)
        numbers = labels.ndim == 1 and (not labels.size or labels.dtype.kind in "iu")
        if not numbers or (labels.size and (labels.min() < 0 or labels.max() >= L)):
            raise InputError("sequences[{}]: expected tags from 0 to {}, got {!r}", number, L - 1, sequence)
        if len(labels):
            np.add.at(pairs, (labels[:-1], labels[1:]), 1)
            first[labels[0]] += 1
            last[labels[-1]] += 1
    return pairs, first, last
