"""The same work with python-crfsuite and with ours: models, logs and labels to be compared."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pycrfsuite as theirs

from tagline.interop import pycrfsuite as ours

BOTH = (theirs, ours)


def chunks(seed: int, count: int) -> tuple[list[Any], list[list[str]]]:
    """Draw sentences whose labels follow words and each other, with lists of strings as features."""
    draw = random.Random(seed)
    X, y = [], []
    for _ in range(count):
        words = [draw.choice("abcdefghij") for _ in range(draw.randint(1, 12))]
        labels = ["O" if word in "aeg" else "B" if draw.random() < 0.6 else "I" for word in words]
        before = ["<", *words[:-1]]
        X.append([["bias", f"w={w}", f"-1={b}", f"pair={b}{w}"] for w, b in zip(words, before, strict=True)])
        y.append(labels)
    return X, y


def fill(trainer: Any, X: Any, y: Any, groups: int = 1) -> Any:
    for k, (items, labels) in enumerate(zip(X, y, strict=True)):
        trainer.append(items, labels, k % groups)
    return trainer


def train(library: Any, path: Path, X: Any, y: Any, algorithm: str, params: Any, holdout: int = -1) -> Any:
    """Train in groups of four; return the trainer, whose file is at the path."""
    trainer = fill(library.Trainer(algorithm, params, verbose=False), X, y, groups=4)
    trainer.train(str(path), holdout)
    return trainer


def in_fresh_order() -> None:
    """Begin both libraries' random orders anew."""
    import ctypes

    ctypes.CDLL(None).srand(1)
    ours.seed(1)


def tagger_of(library: Any, file: bytes) -> Any:
    tagger = library.Tagger()
    tagger.open_inmemory(file)
    return tagger


def without_seconds(log: list[str]) -> list[str]:
    """The log but for its times, which are never the same."""
    return [message for message in log if not message.lower().startswith(("seconds required", "total seconds"))]
