"""What models ask about sentences that they have scored: the engine's questions, as `tagline.models.answers` puts them.

Most models score sentences into a `Chain`, and `tagline.chain` answers. A model that scores them into something else
brings its own `Questions`, with answers over the same labels. The first argument is always a block of sentences.
"""

from __future__ import annotations

from typing import Any

from tagline import chain as engine
from tagline.chain.dispatch import log_counts
from tagline.models.entities import FoundSpans, probable_spans
from tagline.types import Float64Array, IntArray, Marginals, Paths, RankedPaths


class Questions:
    """Questions to chains.

    Attributes:
        viterbi: the best labelling.
        marginals: the probability of each label of each token.
        k_best: the k best labellings of each sentence.
        sample_paths: so many labellings, drawn with a generator: ``[count, N]``.
        log_partition: log Z, ``[B]``; −∞ without a legal labelling where ``allow_no_path=True``.
        entropy: of each sentence's labelling, ``[B]``.
        constrain: forbid labels that are not ``allowed [N, L]``.
        probable_spans: the spans of the best labelling that are probable enough (`tagline.models.entities`).
        log_counts: the logarithm of the number of legal labellings of each sentence, ``[B]``.
    """

    viterbi: staticmethod[[Any], Paths] = staticmethod(engine.viterbi)
    marginals: staticmethod[[Any], Marginals] = staticmethod(engine.marginals)
    k_best: staticmethod[[Any, int], list[RankedPaths]] = staticmethod(engine.k_best)
    sample_paths: staticmethod[[Any, int, Any], IntArray] = staticmethod(engine.sample_paths)
    log_partition: staticmethod[..., Float64Array] = staticmethod(engine.log_partition)
    entropy: staticmethod[[Any], Float64Array] = staticmethod(engine.entropy)
    constrain: staticmethod[..., Any] = staticmethod(engine.constrain)
    probable_spans: staticmethod[..., FoundSpans] = staticmethod(probable_spans)
    log_counts: staticmethod[[Any], Float64Array] = staticmethod(log_counts)
