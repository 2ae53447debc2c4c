"""What Viterbi's algorithm writes down, against the enumeration of all beginnings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tagline import chain
from tagline.types import Chain

from .cases import random_chain


@pytest.mark.parametrize("kind", ["reals", "integers"])
@pytest.mark.parametrize("seed", range(3))
def test_the_table_has_the_best_beginning_of_each_label(seed: int, kind: str) -> None:
    L = 3
    sentences = random_chain(np.random.default_rng(seed), L, [4, 0, 1, 3], kind=kind, forbidden=0.2).chain
    table = chain.viterbi_table(sentences)
    for first, last in itertools.pairwise(sentences.offsets.tolist()):
        for t, j in itertools.product(range(last - first), range(L)):
            emissions = sentences.emissions[first : first + t + 1]
            beginning = Chain(emissions, sentences.transitions, start=sentences.start)
            # In the order in which equals are decided: smaller labels, read from the end, come first.
            paths = [(*path[::-1], j) for path in itertools.product(range(L), repeat=t)]
            scores = [float(chain.score(beginning, path)[0]) for path in paths]
            np.testing.assert_allclose(table.scores[first + t, j], max(scores), rtol=1e-12, atol=1e-12)
            if t == 0:
                assert table.back[first, j] == -1
            elif np.isfinite(max(scores)):
                assert table.back[first + t, j] == paths[int(np.argmax(scores))][-2]


def test_back_pointers_lead_along_the_best_labelling() -> None:
    sentence = random_chain(np.random.default_rng(7), 4, [9], forbidden=0.1).chain
    table, best = chain.viterbi_table(sentence), chain.viterbi(sentence)
    label = int((table.scores[-1] + sentence.end).argmax())
    path = [label]
    for t in range(8, 0, -1):
        path.insert(0, int(table.back[t, path[0]]))
    assert path == best.labels.tolist()
