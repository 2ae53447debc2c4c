"""What models ask about sentences that they have scored: the engine's questions, as `tagline.models.answers` puts them.

Most models score sentences into a `Chain`, and `tagline.chain` answers. A model that scores them into something else
brings its own `Questions`, with answers over the same labels.
"""

from __future__ import annotations

from typing import Any

from tagline import chain as engine
from tagline.chain.dispatch import log_counts
from tagline.models.entities import FoundSpans, Reading, probable_spans
from tagline.types import BoolArray, Float64Array, IntArray, Marginals, Paths, RankedPaths


class Questions:
    """Questions to chains; `scored` is a block of sentences."""

    def viterbi(self, scored: Any) -> Paths:
        """Find the best labelling."""
        return engine.viterbi(scored)

    def marginals(self, scored: Any) -> Marginals:
        """Compute the probability of each label of each token."""
        return engine.marginals(scored)

    def k_best(self, scored: Any, k: int) -> list[RankedPaths]:
        """Find the k best labellings of each sentence."""
        return engine.k_best(scored, k)

    def sample_paths(self, scored: Any, count: int, seed: Any) -> IntArray:
        """Draw labellings, ``[count, N]``."""
        return engine.sample_paths(scored, count, seed)

    def log_partition(self, scored: Any, *, allow_no_path: bool = False) -> Float64Array:
        """Compute log Z, ``[B]``."""
        return engine.log_partition(scored, allow_no_path=allow_no_path)

    def entropy(self, scored: Any) -> Float64Array:
        """Compute the entropy of each sentence's labelling, ``[B]``."""
        return engine.entropy(scored)

    def constrain(self, scored: Any, allowed: BoolArray) -> Any:
        """Forbid labels that are not allowed, ``[N, L]``."""
        return engine.constrain(scored, allowed=allowed)

    def probable_spans(
        self, scored: Any, reading: Reading, min_probability: float, best: IntArray | None = None, first: int = 0
    ) -> FoundSpans:
        """Find the spans of the best labelling that are probable enough; `first` numbers the first sentence."""
        return probable_spans(scored, reading, min_probability, best, first)

    def log_counts(self, scored: Any) -> Float64Array:
        """Compute the logarithm of the number of legal labellings of each sentence, ``[B]``."""
        return log_counts(scored)
