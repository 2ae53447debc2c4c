"""Chains whose emissions are rows of a table: token n has the scores ``table[ids[n]]``, and zeros where ids[n] is −1.

These are the questions that an HMM over words asks most, without the array ``[N, L]`` of a `Chain`: each symbol's
scores are brought to exp space once. The answers are those of `tagline.chain` for the chain that `as_chain` writes out;
all other questions are asked of that chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from tagline import compiled
from tagline.chain import dispatch
from tagline.errors import InputError, NoPathError
from tagline.types import BoolArray, Chain, Float64Array, IntArray, Paths, sealed


@dataclass(frozen=True, eq=False)
class SymbolChain:
    """Scores on sentences of symbols.

    Attributes:
        table: ``[V, L]``.
        ids: ``[N]``, from 0 to V − 1, or −1 for a token that scores 0 with every label.
        transitions: ``[L, L]`` as ``[previous, next]``.
        start, end: ``[L]``; an end of None is zeros.
        offsets: ``[B + 1]``.

    −∞ forbids.
    """

    table: Float64Array
    ids: IntArray
    transitions: Float64Array
    start: Float64Array
    end: Float64Array | None
    offsets: IntArray

    def __post_init__(self) -> None:
        for name in ("table", "transitions", "start", "end"):
            values = getattr(self, name)
            if values is not None and values.size and not values.max() < np.inf:  # NaN fails, too
                raise InputError("{}: expected finite scores or -inf (forbidden), got NaN or +inf", name)

    def as_chain(self, allowed: BoolArray | None = None) -> Chain:
        """Write the emissions out, −∞ where ``allowed [N, L]`` is False."""
        rows = np.concatenate([self.table, np.zeros((1, self.table.shape[1]))])[self.ids]
        if allowed is not None:
            rows = np.where(allowed, rows, -np.inf)
        return Chain(sealed(rows), self.transitions, self.start, self.end, self.offsets)

    def arrays(self) -> tuple[Float64Array, IntArray, Float64Array, Float64Array, Float64Array, IntArray]:
        """Return all of it, as the compiled core takes it."""
        end = np.zeros(len(self.start)) if self.end is None else self.end
        scores = [np.ascontiguousarray(part, np.float64) for part in (self.table, self.start, self.transitions, end)]
        ids, offsets = (np.ascontiguousarray(part, np.int64) for part in (self.ids, self.offsets))
        return scores[0], ids, scores[1], scores[2], scores[3], offsets


def log_partition(chain: SymbolChain) -> Float64Array:
    """Compute log Z, ``[B]``; −∞ where no labelling is legal."""
    if dispatch.engine() != "native":
        return dispatch.log_partition(chain.as_chain(), allow_no_path=True)
    with naming_sentences():
        return np.asarray(compiled.require().symbol_log_partition(*chain.arrays()))


def viterbi(chain: SymbolChain) -> Paths:
    """Find the best labelling of each sentence."""
    if dispatch.engine() != "native":
        return dispatch.viterbi(chain.as_chain())
    with naming_sentences():
        return Paths(*compiled.require().symbol_viterbi(*chain.arrays()))


@contextmanager
def naming_sentences() -> Iterator[None]:
    """Say which sentence has no legal path, and what else the core refuses."""
    try:
        yield
    except compiled.require().NoPath as error:
        raise NoPathError(
            "sentence {}: expected observations that some path of states explains, got probability 0; smooth "
            "the emissions or allow more transitions",
            error,
        ) from None
    except ValueError as error:
        raise InputError(str(error)) from None
