"""Brown's algorithm as it is defined: every merge is tried, and the information of what is left is summed up anew."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

TIE = 1e-7


def information(classes: dict[int, int], counts: list[int], bigrams: dict[tuple[int, int], int]) -> float:
    """N · Σ p(a, b) log p(a, b) / (p(a) p(b)), without the constant, over the words that have a class."""
    pairs: Counter[tuple[int, int]] = Counter()
    sizes: Counter[int] = Counter()
    for word, name in classes.items():
        sizes[name] += counts[word]
    for (first, second), number in bigrams.items():
        if first in classes and second in classes:
            pairs[classes[first], classes[second]] += number
    return sum(n * math.log(n / (sizes[a] * sizes[b])) for (a, b), n in pairs.items())


def merges(counts: list[int], bigrams: dict[tuple[int, int], int], num_classes: int) -> list[tuple[int, int]]:
    """All merges, each by the first words of two classes."""
    classes: dict[int, int] = {}
    done = []

    def merge_best() -> None:
        options = {}
        for one, other in combinations(sorted(set(classes.values())), 2):
            after = {word: one if name == other else name for word, name in classes.items()}
            options[one, other] = information(after, counts, bigrams)
        best = max(options.values())
        pair = min(names for names, value in options.items() if value >= best - TIE)
        classes.update({word: pair[0] for word, name in classes.items() if name == pair[1]})
        done.append(pair)

    for word in range(len(counts)):
        classes[word] = word
        if len(set(classes.values())) > num_classes:
            merge_best()
    while len(set(classes.values())) > 1:
        merge_best()
    return done
