"""What the backends check at the door: labels, uniform numbers, spans, k, and the errors about missing paths."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tagline.errors import InputError, NoPathError
from tagline.types import BoolArray, Chain, Float64Array, IntArray, LabelSet, SpanQuery


def as_labels(chain: Chain, labels: ArrayLike) -> IntArray:
    """Return the labels ``[N]`` as int64, or say which one is out of range."""
    try:
        given = np.asarray(labels)
    except ValueError:
        raise InputError(
            "labels: expected one flat array over all sentences, got sequences of unequal length"
        ) from None
    if given.shape != (chain.num_tokens,):
        raise InputError(f"labels: expected shape [{chain.num_tokens}], one label a token, got {list(given.shape)}")
    if given.size and given.dtype.kind not in "iu":
        raise InputError(f"labels: expected integers, got dtype {given.dtype}")
    wrong = np.flatnonzero((given < 0) | (given >= chain.num_labels))
    if len(wrong):
        n = int(wrong[0])
        raise InputError(f"labels[{n}]: expected 0 to {chain.num_labels - 1}, got {given[n]}")
    return np.ascontiguousarray(given, dtype=np.int64)


def as_uniforms(chain: Chain, uniforms: ArrayLike) -> Float64Array:
    """Return the random numbers ``[S, N]`` as float64 in [0, 1)."""
    given = np.ascontiguousarray(uniforms, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != chain.num_tokens:
        raise InputError(f"uniforms: expected shape [samples, {chain.num_tokens}], got {list(given.shape)}")
    wrong = np.argwhere(~((given >= 0) & (given < 1)))
    if len(wrong):
        s, n = wrong[0]
        raise InputError(f"uniforms[{s}, {n}]: expected a number in [0, 1), got {given[s, n]}")
    return given


def check_k(k: int) -> int:
    """Return k as an int of at least 1."""
    try:
        number = operator.index(k)
    except TypeError:
        raise InputError(f"k: expected a whole number, got {k!r}") from None
    if number < 1:
        raise InputError(f"k: expected at least 1, got {number}")
    return number


def as_span_arrays(chain: Chain, spans: Sequence[SpanQuery]) -> list[tuple[int, int, BoolArray]]:
    """Turn each query (sentence, first token, sets) into (sentence, first token, allowed [length, L])."""
    return [_as_span(chain, m, query) for m, query in enumerate(spans)]


def _as_span(chain: Chain, m: int, query: SpanQuery) -> tuple[int, int, BoolArray]:
    try:
        b, first, sets = query
        b, first, sets = operator.index(b), operator.index(first), list(sets)
    except (TypeError, ValueError):
        raise InputError(f"spans[{m}]: expected (sentence, first token, label sets), got {query!r}") from None
    if not 0 <= b < chain.num_sentences:
        raise InputError(f"spans[{m}]: expected a sentence from 0 to {chain.num_sentences - 1}, got {b}")
    length = int(chain.lengths[b])
    if not sets or first < 0 or first + len(sets) > length:
        raise InputError(
            f"spans[{m}]: expected at least one token within the {length} of sentence {b}, "
            f"got tokens {first} to {first + len(sets) - 1}"
        )
    return b, first, np.stack([as_label_set(f"spans[{m}]", chain.num_labels, one) for one in sets])


def as_label_set(where: str, num_labels: int, labels: LabelSet) -> BoolArray:
    """Turn a label, or an iterable of labels, into a boolean row ``[L]``."""
    allowed = np.zeros(num_labels, np.bool_)
    try:
        members = [operator.index(label) for label in _members(labels)]
    except TypeError:
        raise InputError(f"{where}: expected a label or a set of labels, got {labels!r}") from None
    if not members:
        raise InputError(f"{where}: expected at least one label in each set, got an empty set")
    for label in members:
        if not 0 <= label < num_labels:
            raise InputError(f"{where}: expected labels from 0 to {num_labels - 1}, got {label}")
        allowed[label] = True
    return allowed


def _members(labels: LabelSet) -> Iterable[int]:
    return labels if isinstance(labels, Iterable) else (labels,)


def no_path(sentence: int) -> NoPathError:
    """The error for a sentence whose every labelling is forbidden."""
    return NoPathError(
        f"sentence {sentence}: expected at least one legal labelling, got none: every path meets a score of -inf; "
        "relax its constraints, or ask log_partition(..., allow_no_path=True) which sentences are meant"
    )


def forbidden_gold(sentence: int) -> NoPathError:
    """The error for given labels that the chain forbids."""
    return NoPathError(
        f"labels of sentence {sentence}: expected a legal labelling, got one with a score of -inf (log p = -inf has "
        "no gradient); repair the labels or relax the constraints"
    )
