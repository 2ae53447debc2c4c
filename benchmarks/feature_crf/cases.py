"""What is compared: CoNLL-2000 with the chunking template of CRF++, c2 = 1, no start and end weights.

The optimum and the numbers of weights are those that CRFsuite, Wapiti and CRF++ find on the whole file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

C2 = 1.0
MEMORY = 6  # steps that L-BFGS remembers, as CRFsuite does
OPTIMUM = 12887.119  # of the sparse case
MARGIN = 1e-4  # "to within 0.01 %"
TOKENS, LABELS = 211_727, 22
AT_ZERO = 654_457.146  # the sparse objective at w = 0


@dataclass(frozen=True)
class Case:
    """One choice of labels and weights.

    Attributes:
        title: for the tables.
        column: of the labels.
        words_only: whether the template's lines on parts of speech are left out, since these are the labels.
        dense: weights for all (attribute, label) and (label, label) pairs, not only for those in the file.
        weights: how many there are; None where only the rival can tell.
    """

    title: str
    column: int = -1
    words_only: bool = False
    dense: bool = False
    weights: int | None = None

    def template(self, text: str) -> str:
        """Leave out what the case does not have."""
        lines = text.splitlines()
        return "\n".join(line for line in lines if not (self.words_only and ",1]" in line)) + "\n"


CASES = {
    "sparse": Case("22 labels, observed pairs", weights=456_468),
    "dense": Case("22 labels, all pairs", dense=True, weights=7_448_606),
    "pos": Case("44 labels (POS), observed pairs", column=1, words_only=True),
}


def at_zero(tokens: int, labels: int) -> float:
    """Return the objective at w = 0, where every labelling is as probable: N · log L."""
    return tokens * math.log(labels)
