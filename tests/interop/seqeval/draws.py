"""Labels as a generator draws them, and calls whose answers, errors and warnings are compared with seqeval's."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

TagLists = list[list[str]]
LETTERS = {"IOB1": "IB", "IOB2": "IB", "IOE1": "IE", "IOE2": "IE", "IOBES": "IBES", "BILOU": "BILU"}
TYPES = [
    ["A", "B"],
    ["PER", "LOC"],
    ["A-B", "A", "x y"],
    ["A", ""],
    [""],
    ["a name of many letters"],
    ["A-", "-A", "A"],
]


def draw_pair(rng: random.Random, letters: str, types: list[str], suffix: bool) -> tuple[TagLists, TagLists]:
    """Any labels in these letters, and the same with 3 of 10 drawn again."""

    def label() -> str:
        letter, name = rng.choice(letters), rng.choice(types)
        typed = f"{name}-{letter}" if suffix else f"{letter}-{name}"
        return "O" if rng.random() < 0.3 else typed if name else letter

    gold = [[label() for _ in range(rng.randint(0, 8))] for _ in range(rng.randint(1, 5))]
    return gold, [[label() if rng.random() < 0.3 else tag for tag in row] for row in gold]


def outcome(
    function: Callable[..., Any], *arguments: Any, **settings: Any
) -> tuple[Any, list[tuple[str, str]], set[str]]:
    """What a call returns or raises, its warnings in their order, and the labels that seem to be none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = function(*arguments, **settings)
        except Exception as error:
            return error, [], set()
    texts = [(warning.category.__name__, str(warning.message)) for warning in caught]
    strange = {text for _, text in texts if text.endswith("NE tag.")}
    return value, [entry for entry in texts if entry[1] not in strange], strange


def alike(ours: Any, theirs: Any) -> bool:
    """Whether two values are equal to the bit and of the same type; an error may be a subclass of theirs."""
    if isinstance(theirs, Exception):
        return isinstance(ours, type(theirs))
    if type(ours) is not type(theirs):
        return False
    if isinstance(theirs, tuple):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(alike(ours[name], theirs[name]) for name in theirs)
    if isinstance(theirs, np.ndarray):
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs, equal_nan=True)
    return bool(ours == theirs) or (ours != ours and theirs != theirs)
