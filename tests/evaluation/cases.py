"""Pairs of labellings as Hypothesis and NumPy draw them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

TagLists = list[list[str]]
TYPES = ("LOC", "PER")


def alphabet(letters: str, types: tuple[str, ...] = TYPES) -> list[str]:
    return ["O", *(f"{letter}-{name}" for letter in letters for name in types)]


@st.composite
def pairs(draw: st.DrawFn, letters: str = "BIES", types: tuple[str, ...] = TYPES) -> tuple[TagLists, TagLists]:
    """Gold and predicted tags of up to five sentences, empty ones too; half of the predictions are copied."""
    tag = st.sampled_from(alphabet(letters, types))
    gold = draw(st.lists(st.lists(tag, max_size=8), max_size=5))
    predicted = [[one if draw(st.booleans()) else draw(tag) for one in sentence] for sentence in gold]
    return gold, predicted


def random_pair(seed: int, sentences: int, letters: str, types: tuple[str, ...] = TYPES) -> tuple[TagLists, TagLists]:
    """Gold and predicted labels, any at all; 7 of 10 predictions are copied."""
    rng = np.random.default_rng(seed)
    tags = np.array(alphabet(letters, types))
    gold, predicted = [], []
    for length in rng.integers(1, 9, sentences):
        true, guess = rng.choice(tags, length), rng.choice(tags, length)
        gold.append(true.tolist())
        predicted.append(np.where(rng.random(length) < 0.7, true, guess).tolist())
    return gold, predicted
