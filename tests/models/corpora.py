"""Small corpora and models that the tests of the models share; everything is drawn from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagline.models.crf.estimator import CRF

WORDS = ("the", "a", "cat", "dog", "Anna", "Bob", "sings", "sees", "in", "London")
KINDS = {"the": "D", "a": "D", "cat": "N", "dog": "N", "Anna": "N", "Bob": "N", "sings": "V", "sees": "V", "in": "P"}

TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nU02:%x[1,0]\nB\n"


def tagged(seed: int = 0, sentences: int = 30, noise: float = 0.1) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences of words and their parts of speech, some of them wrong."""
    rng = np.random.default_rng(seed)
    X = [[str(word) for word in rng.choice(WORDS, rng.integers(1, 8))] for _ in range(sentences)]
    labels = ["D", "N", "P", "V"]
    y = [
        [KINDS.get(word, "N") if rng.random() > noise else str(rng.choice(labels)) for word in sentence]
        for sentence in X
    ]
    return X, y


def features(words: list[str]) -> list[dict[str, Any]]:
    """Features of each word of a sentence: strings, numbers, truth values."""
    return [
        {
            "word": word,
            "before": words[t - 1] if t else "<s>",
            "capital": word[0].isupper(),
            "length": len(word) / 4,
            "bias": 1.0,
        }
        for t, word in enumerate(words)
    ]


def edge_features(words: list[str]) -> list[list[str]]:
    """Attributes that cross with label pairs."""
    return [[f"is:{word}"] for word in words]


def items(seed: int = 0, sentences: int = 30) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
    """The same corpus as ready features."""
    X, y = tagged(seed, sentences)
    return [features(words) for words in X], y


def everything() -> tuple[CRF, dict[str, Any]]:
    """A model with every kind of weight, and what to call it with."""
    words, y = tagged(3, 20)
    X, edges = [features(one) for one in words], [edge_features(one) for one in words]
    model = CRF(c2=0.1, start_end=True, max_iterations=30).fit(X, y, edges=edges)
    return model, {"X": X, "edges": edges}
