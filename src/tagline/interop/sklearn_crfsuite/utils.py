"""What sklearn-crfsuite offers here: sentences to tokens."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

Item = TypeVar("Item")


def flatten(y: Iterable[Iterable[Item]]) -> list[Item]:
    """Join lists to one.

    >>> flatten([["B", "I"], ["O"]])
    ['B', 'I', 'O']
    """
    return list(chain.from_iterable(y))
