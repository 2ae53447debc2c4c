"""Models that python-crfsuite trained, for tests."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import pycrfsuite

LETTERS = "abcé:\n\\ 你"


def sentences(seed: int, count: int = 30, values: bool = True) -> tuple[list[Any], list[list[str]]]:
    """Draw items with attributes of all lengths, and labels."""
    draw = random.Random(seed)
    X, y = [], []
    for _ in range(count):
        length = draw.randint(1, 9)
        X.append([_item(draw, values) for _ in range(length)])
        y.append([draw.choice(["O", "B-X", "I-X", "你"]) for _ in range(length)])
    return X, y


def _item(draw: random.Random, values: bool) -> dict[str, float]:
    names = [f"w{draw.randint(0, 30)}", f"s{draw.randint(0, 5)}"]
    names.append("".join(draw.choice(LETTERS) for _ in range(draw.randint(1, 40))))
    return {name: draw.uniform(-2, 2) if values else 1.0 for name in names}


def train(path: Any, X: Any, y: Any, algorithm: str = "lbfgs", **params: Any) -> bytes:
    """Train with python-crfsuite and return its file; the order of sentences does not depend on earlier trainings."""
    ctypes.CDLL(None).srand(1)
    trainer = pycrfsuite.Trainer(algorithm, params={"max_iterations": 20, **params}, verbose=False)
    for items, labels in zip(X, y, strict=True):
        trainer.append(items, labels)
    trainer.train(str(path))
    return bytes(path.read_bytes())
