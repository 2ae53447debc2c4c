"""Observations on their way into an HMM: symbols by their numbers, numbers as they are, and how answers go back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.errors import InputError
from tagline.messages import message
from tagline.models.hmm.emissions import MISSING, UNKNOWN, Categorical, Emission, Symbols
from tagline.models.hmm.emissions.observations import check_observations, is_list
from tagline.models.hmm.readings import refuse_pairs, warn_of_single_numbers
from tagline.ragged import row_of, take_rows
from tagline.readers.corpus import Corpus
from tagline.types import IntArray


@dataclass(frozen=True, eq=False)
class Observed:
    """Sentences as emissions take them.

    Attributes:
        values: ``[N]`` or ``[N, D]``.
        offsets: ``[B + 1]``.
        flat: whether they came as one array, and answers go back as one.
    """

    values: NDArray[Any]
    offsets: IntArray
    flat: bool

    def take(self, sentences: IntArray) -> Observed:
        """Return these sentences alone, ascending."""
        if len(sentences) == len(self.offsets) - 1:
            return self
        offsets, rows = take_rows(self.offsets, sentences)
        return Observed(self.values[rows], offsets, self.flat)


def observe_new(
    family: type[Emission], begun: str | Emission, X: Any, lengths: ArrayLike | None, known: Symbols | None = None
) -> tuple[Observed, Symbols | None]:
    """Read sentences to learn from; return them, and their symbols where emissions are categorical.

    Arguments:
        begun: the emissions that learning begins with, where there are any.
        known: the symbols of a model that is trained on, which cannot grow.
    """
    if family is not Categorical:
        width = None if isinstance(begun, str) else _width(begun)
        return Observed(
            *check_observations(family.family, _numbers(X), lengths, num_dimensions=width), _is_flat(X, lengths)
        ), None
    if isinstance(begun, Categorical) and known is None:
        known = Symbols.of(range(begun.num_symbols))
    if known is None:
        symbols, ids, offsets = Symbols.read(X, lengths)
        _refuse_reals(symbols)
        if not len(symbols) and offsets[-1]:
            raise InputError("X: expected symbols, got missing ones only")
    else:
        symbols, (ids, offsets) = known, known.number(X, lengths)
        if (ids == UNKNOWN).any():
            n = int(np.flatnonzero(ids == UNKNOWN)[0])
            raise InputError(
                "observation {}: expected one of the {} symbols of the model, got another", n, len(symbols)
            )
    return Observed(ids, offsets, _is_flat(X, lengths)), symbols


def _refuse_reals(symbols: Symbols) -> None:
    """Raise where symbols are real numbers: each would be a symbol of its own, and nothing be learned."""
    real = next((value for value in symbols.values if isinstance(value, float) and not value.is_integer()), None)
    if real is not None:
        raise InputError(
            'X: expected symbols, for emission="categorical", got real numbers such as {:g}; '
            'emission="gaussian" or "mixture" models numbers, str(number) makes a symbol of one',
            real,
        )


def observe(emission: Emission, X: Any, lengths: ArrayLike | None, symbols: Symbols | None, unknown: str) -> Observed:
    """Read sentences to ask about.

    Arguments:
        symbols: those that a model with categorical emissions knows.
        unknown: "smooth" takes others for what each state keeps for them, or, where none keeps any, as missing; with
            "error" they are one.
    """
    warn_of_single_numbers(X, lengths)
    if symbols is None:
        width = _width(emission)
        return Observed(
            *check_observations(emission.family, _numbers(X), lengths, num_dimensions=width), _is_flat(X, lengths)
        )
    refuse_pairs(X, symbols)
    ids, offsets = symbols.number(X, lengths)
    strange = ids == UNKNOWN
    if strange.any():
        if unknown == "error":
            raise _unknown(int(np.flatnonzero(strange)[0]), X, offsets, symbols)
        smoothed = isinstance(emission, Categorical) and emission.unseen is not None and bool(emission.unseen.any())
        ids = ids if smoothed else np.where(strange, MISSING, ids)
    return Observed(ids, offsets, _is_flat(X, lengths))


def _unknown(n: int, X: Any, offsets: IntArray, symbols: Symbols) -> InputError:
    b = row_of(offsets, n)
    t = n - int(offsets[b])
    place = (
        message("{}, token {}", X.place(b), t) if isinstance(X, Corpus) else f"X[{b}][{t}]" if is_list(X) else f"X[{n}]"
    )
    got = X[b].tokens[t] if isinstance(X, Corpus) else X[b][t] if is_list(X) else np.asarray(X)[n].item()
    return InputError(
        '{}: expected one of {} symbols seen in training, got {!r:.60}; unknown="smooth" takes others',
        place,
        len(symbols),
        got,
    )


def _width(emission: Emission) -> int | None:
    """How many numbers an observation has."""
    width = getattr(emission, "num_dimensions", getattr(emission, "num_symbols", None))
    return None if width is None else int(width)


def _numbers(X: Any) -> Any:
    if isinstance(X, Corpus):
        raise InputError("X: expected numbers, got a Corpus; emissions of words are categorical")
    return X


def _is_flat(X: Any, lengths: ArrayLike | None) -> bool:
    if isinstance(X, Corpus):
        return False
    return lengths is not None or (not is_list(X) and np.ndim(X) < 3)
