"""The engine on the compiled core: the functions of `naive`, threads over sentences, float32 and float64.

float32 chains run in float32 where speed matters (log Z, marginals, counts, gradients, Viterbi) and in float64
otherwise; sentences whose scores span too much for either are worked out in the log domain (docs/numerics.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline import _core
from tagline.chain.checks import as_labels, as_span_arrays, as_uniforms, forbidden_gold, no_path
from tagline.checks import as_whole
from tagline.types import Chain, Counts, Float64Array, Gradients, IntArray, Marginals, Paths, RankedPaths, SpanQuery

NAME = "native"

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

_Arrays = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def wide(chain: Chain) -> _Arrays:
    """Return the arrays of a chain, its scores in float64."""
    emissions, transitions, start, end = (
        np.asarray(scores, np.float64) for scores in (chain.emissions, chain.transitions, chain.start, chain.end)
    )
    return emissions, transitions, start, end, chain.offsets


def call_core(function: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
    """Call a function of the core; a sentence without a legal labelling raises an error that names it."""
    try:
        return function(*args, **kwargs)
    except _core.NoPath as error:
        raise no_path(int(str(error))) from None


def _ask(function: Callable[..., Any], chain: Chain, *more: Any) -> Any:
    """Call a function of the core about a chain, in the chain's own type of number."""
    try:
        return function(chain.emissions, chain.transitions, chain.start, chain.end, chain.offsets, *more)
    except _core.NoPath as error:
        raise no_path(int(str(error))) from None


def score(chain: Chain, labels: ArrayLike) -> Float64Array:
    """Sum the scores along a labelling."""
    return _ask(_core.score, chain, as_labels(chain, labels))  # type: ignore[no-any-return]


def log_partition(chain: Chain, *, allow_no_path: bool = False) -> Float64Array:
    """Compute log Z."""
    return _ask(_core.log_partition, chain, allow_no_path)  # type: ignore[no-any-return]


def forward(chain: Chain) -> Float64Array:
    """Compute log α."""
    return _core.forward(*wide(chain))


def backward(chain: Chain) -> Float64Array:
    """Compute log β."""
    return _core.backward(*wide(chain))


def marginals(chain: Chain, *, edges: bool = False) -> Marginals:
    """Compute node and edge probabilities, in the chain's own type of number."""
    return Marginals(*_ask(_core.marginals, chain, edges))


def viterbi(chain: Chain) -> Paths:
    """Find the best labelling."""
    return Paths(*_ask(_core.viterbi, chain))


def k_best(chain: Chain, k: int) -> list[RankedPaths]:
    """Find the k best labellings of each sentence."""
    number = as_whole("k", k, 1)
    arrays = wide(chain)
    ranked = call_core(_core.k_best, *arrays, min(number, np.iinfo(np.int64).max))
    log_z = call_core(_core.log_partition, *arrays, False)
    return [
        RankedPaths(labels, scores, np.exp(np.minimum(scores - z, 0.0)))
        for (labels, scores), z in zip(ranked, log_z, strict=True)
    ]


def sample(chain: Chain, uniforms: ArrayLike) -> IntArray:
    """Draw labellings by given uniform numbers."""
    return call_core(_core.sample, *wide(chain), as_uniforms(chain, uniforms))


def entropy(chain: Chain) -> Float64Array:
    """Compute the entropy of p(y | x)."""
    return call_core(_core.entropy, *wide(chain))


def max_marginal(chain: Chain) -> IntArray:
    """Choose the most probable label of each token."""
    return _ask(_core.max_marginal, chain)  # type: ignore[no-any-return]


def span_probability(chain: Chain, spans: Sequence[SpanQuery]) -> Float64Array:
    """Compute the probability that the labels of spans lie in given sets."""
    queries = as_span_arrays(chain, spans)
    rows = np.array([(b, first, len(allowed)) for b, first, allowed in queries], np.int64).reshape(-1, 3)
    sets = np.concatenate([np.empty((0, chain.num_labels), np.bool_), *(allowed for _, _, allowed in queries)])
    return call_core(_core.span_probability, *wide(chain), rows, sets)


def whole_spans(labels: IntArray, offsets: IntArray, members: IntArray, continues: NDArray[np.bool_]) -> IntArray:
    """Find the spans of a labelling ``[N]``, as `whole_span_probability` takes them with the rest: ``[4, M]``."""
    return _core.whole_spans(labels, offsets, members, continues)


def whole_span_probability(
    chain: Chain, spans: IntArray, members: IntArray, continues: NDArray[np.bool_]
) -> Float64Array:
    """Compute the probability that a labelling has exactly a span, ``[M]``; `tagline.models.entities` defines it.

    Arguments:
        spans: ``[4, M]``, sentence, first token, the one behind the last, type; sorted by sentence.
        members: ``[types, W]``, the labels of each type, −1 for none.
        continues: ``[L, L]``, which pairs of labels go on with a span.
    """
    return _ask(_core.whole_span_probability, chain, spans, members, continues)  # type: ignore[no-any-return]


def expected_counts(chain: Chain) -> Counts:
    """Compute how often each score is used on average."""
    return Counts(*_ask(_core.expected_counts, chain))


def gradients(chain: Chain, labels: ArrayLike) -> Gradients:
    """Compute the gradient of Σ log p(labels)."""
    result = Gradients(*_ask(_core.gradients, chain, as_labels(chain, labels)))
    forbidden = np.flatnonzero(np.isneginf(result.log_likelihood))
    if len(forbidden):
        raise forbidden_gold(int(forbidden[0]))
    return result
