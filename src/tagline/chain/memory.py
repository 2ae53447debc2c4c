"""How much memory an answer may take: half of what the machine has, checked before any is taken."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np

from tagline.errors import InputError
from tagline.messages import message
from tagline.types import Float64Array, IntArray

PATH_BYTES, TOKEN_BYTES = 300, 72  # that a labelling takes, and each of its tokens, in the core and as lists
UNKNOWN_MEMORY = 2**33


def memory() -> int:
    """Return the bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return UNKNOWN_MEMORY


def check_room(size: float, what: str, remedy: str) -> None:
    """Raise where an answer would take more than half of the memory.

    Arguments:
        size: bytes.
        what: takes them; the start of the message.
        remedy: what to do, the end of the message.
    """
    if size > memory() / 2:
        raise InputError(
            "{} would take {}, more than half of the memory ({}); {}",
            what,
            shown_size(size),
            shown_size(memory() / 2),
            remedy,
        )


def check_ranked(k: int, lengths: IntArray, log_counts: Callable[[], Float64Array]) -> None:
    """Raise where the k best labellings of sentences would take more than half of the memory.

    Arguments:
        lengths: tokens of each sentence, ``[B]``.
        log_counts: computes the logarithm of the number of labellings of each, which is asked only for a large k.
    """
    if labellings_size(k, lengths, np.inf) <= memory() / 2:
        return
    check_room(
        labellings_size(k, lengths, log_counts()),
        message("k: {} labellings of each of {} sentences", shown_count(k), len(lengths)),
        message("ask for fewer, or about fewer sentences at once"),
    )


def labellings_size(k: int, lengths: IntArray, log_counts: Float64Array | float) -> float:
    """Return the bytes that k labellings of each sentence take, or as many as there are."""
    counts = np.exp(np.minimum(log_counts, min(math.log(max(k, 1)), 700.0)))
    return float((counts * (PATH_BYTES + TOKEN_BYTES * lengths.astype(np.float64))).sum())


def shown_count(number: int) -> str:
    """Return a count as messages show it."""
    return str(number) if number < 10**15 else message("more than 10^15")


def shown_size(size: float) -> str:
    """Return bytes as messages show them.

    >>> shown_size(2**29), shown_size(2**80)
    ('0.5 GiB', 'more than 2^20 GiB')
    """
    return f"{size / 2**30:.1f} GiB" if size <= 2**50 else message("more than 2^20 GiB")
