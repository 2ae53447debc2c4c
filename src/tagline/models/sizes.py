"""How large a model may be, what a file may ask for, and what many labels cost.

Exact inference keeps tables of L² numbers and takes L² steps a token. With a few dozen labels nobody notices; with
thousands a pass takes hours, and a small file that names many labels would take gigabytes. Both are said beforehand.
"""

from __future__ import annotations

import logging

from tagline import compiled
from tagline.errors import InputError
from tagline.messages import message

logger = logging.getLogger("tagline.training")

MOST_LABELS = 2**14  # tables of their pairs take one to two gigabytes
FREE_BYTES = 2**26  # of tables that any file may ask for: 2,896 labels
BYTES_PER_BYTE = 1024  # that a file may ask for beyond, for each of its own
FREE_TOKEN_BYTES = 2**23  # of tables for a token that any second-order file may ask for: 512 labels
TOKEN_BYTES_PER_BYTE = 32  # that a second-order file may ask for beyond, for each of its own
PAIR_BYTES = 32  # that a pair of labels of a token takes in these tables

PAIR_SECONDS = 4e-9  # of one thread for a pair of labels at a token in training, measured with 1,000 and 2,000 labels
LONG_PASS = 15.0  # seconds of a pass that are worth a word: training takes some fifty


def check_labels(count: int) -> None:
    """Raise where a model is to have more labels than any can."""
    if count > MOST_LABELS:
        raise InputError(
            "labels: expected up to {:,}, got {:,}; use coarser labels, or see that the labels are in the right column",
            MOST_LABELS,
            count,
        )


def affordable_labels(size: int) -> int:
    """Return how many labels a file of so many bytes may name: their pairs take memory that grows with the file.

    >>> affordable_labels(1_000), affordable_labels(1_000_000)
    (2918, 11678)
    """
    return min(MOST_LABELS, int(((FREE_BYTES + BYTES_PER_BYTE * size) / 8) ** 0.5))


def affordable_candidates(size: int) -> int:
    """Return how many labels a token of a second-order model in a file of so many bytes may have.

    >>> affordable_candidates(1_000), affordable_candidates(1_000_000)
    (512, 1123)
    """
    return int(((FREE_TOKEN_BYTES + TOKEN_BYTES_PER_BYTE * size) / PAIR_BYTES) ** 0.5)


def candidates(labels: int, prune: float) -> int:
    """Return how many labels a token of a second-order model may have: those that pruning leaves, and the best one."""
    return labels if prune == 0 else int(min(labels, 1 / prune + 2))


def warn_of_cost(tokens: int, labels: int, threads: int | None = None) -> None:
    """Say before training begins that its passes will be long, and why."""
    seconds = tokens * labels**2 * PAIR_SECONDS / (threads or compiled.threads())
    if seconds > LONG_PASS:
        logger.warning(
            message(
                "{:,} labels: a pass over {:,} tokens takes tokens x labels^2 steps, about {}, and "
                "training takes tens of passes; fewer labels, fewer sentences, or a time limit (max_seconds) would "
                "help",
                labels,
                tokens,
                _shown_time(seconds),
            )
        )


def _shown_time(seconds: float) -> str:
    if seconds >= 2 * 86_400:
        return message("{:.0f} days", seconds / 86_400)
    if seconds >= 2 * 3_600:
        return message("{:.0f} hours", seconds / 3_600)
    if seconds >= 2 * 60:
        return message("{:.0f} minutes", seconds / 60)
    return message("{:.0f} seconds", seconds)
