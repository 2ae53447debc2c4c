"""Inputs with two readings, ours and another library's: a word before one of them is taken in silence.

- ``[[0], [1], [2]]`` is three sentences here, and one in hmmlearn: a warning.
- ``fit(X, [1, 1, 1])`` gives states here, and lengths in hmmlearn: an error, for states that are all 1 teach nothing.
- ``[("the", "DT"), …]``, as NLTK tags sentences, is a sentence whose symbols are pairs: a warning where a model is to
  learn them, an error where it has learned other symbols and would take every pair for an unknown one.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.messages import message
from tagline.models.hmm.emissions import Symbols
from tagline.types import IntArray


class AmbiguousInputWarning(UserWarning):
    """An input that other libraries read in another way; the message says how to write either."""


def warn_of_single_numbers(X: Any, lengths: Any) -> None:
    """Warn where each of several lists has one number: sentences of one observation, or one sentence of all."""
    if lengths is not None or not isinstance(X, list | tuple) or len(X) < 2 or not all(map(_is_one_number, X)):
        return
    B = len(X)
    warnings.warn(
        message(
            "X: {0} lists of one number each are read as {0} sentences of one observation; hmmlearn reads them as "
            "one sentence of {0}. numpy.array(X) is one sentence, and {0} with lengths=[1] * {0}",
            B,
        ),
        AmbiguousInputWarning,
        stacklevel=4,
    )


def warn_of_pairs(X: Any) -> None:
    """Warn where all symbols to learn from are pairs of strings, as words with their tags are."""
    if (pair := _first_of_pairs(X)) is not None:
        warnings.warn(
            message(
                "X: symbols such as {!r:.60} are read as pairs that a state emits. If these are words with "
                "their tags, pass words as X and tags as y",
                pair,
            ),
            AmbiguousInputWarning,
            stacklevel=4,
        )


def refuse_pairs(X: Any, symbols: Symbols) -> None:
    """Raise where all symbols are pairs of strings, and the model knows no pair."""
    if any(isinstance(symbol, tuple) for symbol in symbols.values):
        return
    if (pair := _first_of_pairs(X)) is not None:
        raise InputError(
            "X: expected symbols like those of training, such as {!r:.40}, got pairs such as {!r:.60}, "
            "each an unknown symbol. If these are words with their tags, pass the words alone",
            next(iter(symbols.values), None),
            pair,
        )


def refuse_lengths(y: Any, offsets: IntArray) -> None:
    """Raise where states ``[N]`` in one list are all 1: most likely they are the lengths of N sentences."""
    N, B = int(offsets[-1]), len(offsets) - 1
    if not isinstance(y, list | tuple) and not (isinstance(y, np.ndarray) and y.ndim):
        return
    if not 1 < len(y) == N:
        return
    if all(isinstance(state, int | np.integer) and state == 1 for state in y):
        raise InputError(
            "y: expected states, got 1 for each of {0} observations. If these are lengths, as hmmlearn's fit "
            "takes, pass lengths=[1] * {0}; if the states are all 1, pass a list of them for each of the {1} "
            "sentences",
            N,
            B,
        )


def _is_one_number(row: Any) -> bool:
    if isinstance(row, np.ndarray):
        return row.shape == (1,) and row.dtype.kind in "iuf"
    return isinstance(row, list | tuple) and len(row) == 1 and isinstance(row[0], int | float | np.number)


def _first_of_pairs(X: Any) -> tuple[str, str] | None:
    """Return the first token of a list of sentences in which all tokens are tuples of two strings."""
    if not isinstance(X, list | tuple) or not all(isinstance(sentence, list | tuple) for sentence in X):
        return None
    first: Any = next((sentence[0] for sentence in X if sentence), None)
    return first if _is_pair(first) and all(_is_pair(token) for sentence in X for token in sentence) else None


def _is_pair(token: Any) -> bool:
    return isinstance(token, tuple) and len(token) == 2 and all(isinstance(part, str) for part in token)
