"""Tagged sentences that a generator draws, with words of several tags and words that training does not have."""

from __future__ import annotations

import random

Sentence = list[tuple[str, str]]
WORDS = {
    "D": ["the", "a", "this", "that"],
    "N": ["dog", "cat", "walk", "run", "garden", "singer", "runner", "Anna", "Berlin", "talk"],
    "V": ["walk", "run", "walked", "sees", "talk", "likes", "that"],
    "J": ["small", "green", "walked", "smaller"],
    "P": ["in", "on", "near"],
    ".": [".", "!"],
}
PATTERNS = ["DNV.", "DJNVDN.", "NVPDN.", "DNPDNVDJN.", "NVN.", "DJJNV.", "V."]
STRANGE = {"N": ["talker", "Paris", "X1"], "V": ["jumped", "sings"], "J": ["greener", "tall"]}


def draw(seed: int, count: int, strange: float = 0.0) -> list[Sentence]:
    """Draw sentences; a share of the words, `strange`, is from another vocabulary."""
    rng = random.Random(seed)

    def word(tag: str) -> str:
        unknown = tag in STRANGE and rng.random() < strange
        return rng.choice(STRANGE[tag] if unknown else WORDS[tag])

    return [[(word(tag), tag) for tag in rng.choice(PATTERNS)] for _ in range(count)]


def words(sentences: list[Sentence]) -> list[list[str]]:
    return [[word for word, _ in sentence] for sentence in sentences]
