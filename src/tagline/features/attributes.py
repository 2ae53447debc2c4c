"""What features are made of once names are numbers: the attributes of each token, in compressed rows.

Templates and Python features both end up as these; weights, scores and training begin with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagline.features.vocabulary import Vocabulary
from tagline.types import IntArray

AttributeIds = NDArray[np.int32]
Values = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Attributes:
    """The attributes of each token.

    Attributes:
        offsets: ``[N + 1]``; token n has entries ``offsets[n]`` to ``offsets[n + 1] - 1``.
        ids: ``[M]``, int32, numbers of the vocabulary.
        values: ``[M]``, float32; None where all of them are 1.

    >>> from tagline import features
    >>> words = features.items_to_features([[["word=Anna", "capital"], ["word=sings"]]])
    >>> words.features.states.offsets.tolist(), words.features.states.ids.tolist()
    ([0, 2, 3], [0, 1, 2])
    """

    offsets: IntArray
    ids: AttributeIds
    values: Values | None = None

    @property
    def num_tokens(self) -> int:
        """N."""
        return len(self.offsets) - 1


@dataclass(frozen=True, eq=False)
class Features:
    """The attributes of the tokens of B sentences.

    Attributes:
        offsets: ``[B + 1]``; sentence b is tokens ``offsets[b]`` to ``offsets[b + 1] - 1``.
        states: crossed with the label of the token.
        edges: crossed with the pair (label of the token before, label of this token); those of a first token are
            never used. None where transitions do not depend on the input.

    >>> from tagline import Corpus, features
    >>> sentences = Corpus.from_sentences([(["Anna", "sings"], ["N", "V"]), (["Rain"], ["N"])])
    >>> numbered = features.expand(features.Template.parse("U00:%x[0,0]"), sentences).features
    >>> numbered.offsets.tolist(), numbered.states.ids.tolist()
    ([0, 2, 3], [0, 1, 2])
    """

    offsets: IntArray
    states: Attributes
    edges: Attributes | None = None

    @property
    def num_tokens(self) -> int:
        """N."""
        return int(self.offsets[-1])

    @property
    def num_sentences(self) -> int:
        """B."""
        return len(self.offsets) - 1


@dataclass(frozen=True, eq=False)
class Expanded:
    """Features and the names of their attributes; None where names were hashed away.

    >>> from tagline import Corpus, features
    >>> sentences = Corpus.from_sentences([(["Anna", "sings"], ["N", "V"])])
    >>> expanded = features.expand(features.Template.parse("U00:%x[0,0]"), sentences)
    >>> list(expanded.states), expanded.edges
    (['U00:Anna', 'U00:sings'], None)
    """

    features: Features
    states: Vocabulary | None
    edges: Vocabulary | None
