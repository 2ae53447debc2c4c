"""What the backends check at the door: labels, uniform numbers, spans, k, and the errors about missing paths."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.chain.memory import check_room, shown_count
from tagline.checks import as_array, is_listing, shown_value
from tagline.errors import InputError, NoPathError
from tagline.messages import message
from tagline.types import BoolArray, Chain, Float64Array, IntArray, LabelSet, SpanQuery, place_of

SAMPLE_BYTES = 24  # of a token of a sample: its random number, its label, and what else is made of it


def as_labels(chain: Chain, labels: ArrayLike) -> IntArray:
    """Return the labels ``[N]`` of a chain as int64, or say which one is out of range."""
    return as_label_array(labels, chain.num_tokens, chain.num_labels, chain.offsets)


def as_label_array(labels: ArrayLike, num_tokens: int, num_labels: int, offsets: IntArray | None = None) -> IntArray:
    """Return labels ``[num_tokens]`` as int64, or say which one is out of range."""
    try:
        numbers = np.asarray(labels)
    except ValueError:
        raise InputError(
            "labels: expected one flat array over all sentences, got sentences of unequal length; join them"
        ) from None
    if numbers.shape != (num_tokens,):
        raise InputError("labels: expected shape [{}], one label a token, got {}", num_tokens, list(numbers.shape))
    if numbers.size and numbers.dtype.kind not in "iu":
        raise InputError("labels: expected integers, got dtype {}", numbers.dtype)
    if not numbers.size:  # of any type
        return np.empty(0, np.int64)
    if numbers.min() < 0 or numbers.max() >= num_labels:
        n = int(((numbers < 0) | (numbers >= num_labels)).argmax())
        place = f"labels[{n}]" + ("" if offsets is None else place_of(offsets, n))
        raise InputError("{}: expected 0 to {}, got {}", place, num_labels - 1, numbers[n])
    return np.ascontiguousarray(numbers, dtype=np.int64)


def as_uniforms(chain: Chain, uniforms: ArrayLike) -> Float64Array:
    """Return the random numbers ``[S, N]`` as float64 in [0, 1)."""
    table = as_array("uniforms", uniforms)
    if table.size and table.dtype.kind not in "fiu":
        raise InputError("uniforms: expected numbers in [0, 1), got dtype {}", table.dtype)
    if table.ndim != 2 or table.shape[1] != chain.num_tokens:
        raise InputError("uniforms: expected shape [samples, {}], got {}", chain.num_tokens, list(table.shape))
    numbers = np.ascontiguousarray(table, dtype=np.float64)
    wrong = np.argwhere(~((numbers >= 0) & (numbers < 1)))
    if len(wrong):
        s, n = wrong[0]
        raise InputError("uniforms[{}, {}]: expected a number in [0, 1), got {}", s, n, numbers[s, n])
    return numbers


def check_chain(chain: Any, wanted: type = Chain) -> None:
    """Raise unless a question is about one chain."""
    if isinstance(chain, wanted):
        return
    if isinstance(chain, Iterator) or is_listing(chain):
        raise InputError(
            "chain: expected one {}, got {}; model.chains(X) yields a chain for each block of "
            "sentences: ask about each of them in turn",
            wanted.__name__,
            type(chain).__name__,
        )
    raise InputError("chain: expected a {}, got {}", wanted.__name__, type(chain).__name__)


def draw_uniforms(count: int, num_tokens: int, random: np.random.Generator) -> Float64Array:
    """Draw the random numbers ``[count, N]`` of samples, where these fit into memory."""
    what = message("count: {} labellings of {:,} tokens each", shown_count(count), num_tokens)
    remedy = message("draw fewer at once")
    check_room(count * max(num_tokens, 1) * SAMPLE_BYTES, what, remedy)
    return random.random((count, num_tokens))


def as_span_arrays(chain: Chain, spans: Sequence[SpanQuery]) -> list[tuple[int, int, BoolArray]]:
    """Turn each query (sentence, first token, sets) into (sentence, first token, allowed [length, L])."""
    if not is_listing(spans):
        raise InputError("spans: expected a list of (sentence, first token, label sets), got {}", shown_value(spans))
    return [_as_span(chain, m, query) for m, query in enumerate(spans)]


def _as_span(chain: Chain, m: int, query: SpanQuery) -> tuple[int, int, BoolArray]:
    try:
        b, first, sets = query
        b, first, sets = operator.index(b), operator.index(first), list(sets)
    except (TypeError, ValueError):
        raise InputError(
            "spans[{}]: expected (sentence, first token, label sets), got {}", m, shown_value(query)
        ) from None
    if not 0 <= b < chain.num_sentences:
        raise InputError("spans[{}]: expected a sentence from 0 to {}, got {}", m, chain.num_sentences - 1, b)
    length = int(chain.lengths[b])
    if not sets or first < 0 or first + len(sets) > length:
        raise InputError(
            "spans[{}]: expected at least one token within the {} of sentence {}, got tokens {} to {}",
            m,
            length,
            b,
            first,
            first + len(sets) - 1,
        )
    return b, first, np.stack([as_label_set(f"spans[{m}]", chain.num_labels, labels) for labels in sets])


def as_label_set(where: str, num_labels: int, labels: LabelSet) -> BoolArray:
    """Turn a label, an iterable of labels, or a row of booleans into a boolean row ``[L]``."""
    members: list[Any] = list(labels) if is_listing(labels) else [labels]
    if any(isinstance(member, bool | np.bool_) for member in members):  # never labels 0 and 1
        if len(members) != num_labels or not all(isinstance(member, bool | np.bool_) for member in members):
            raise InputError("{}: expected labels, or {} booleans, got {}", where, num_labels, shown_value(labels))
        members = np.flatnonzero(members).tolist()
    try:
        members = [operator.index(member) for member in members]
    except TypeError:
        raise InputError("{}: expected a label or a set of labels, got {}", where, shown_value(labels)) from None
    if not members:
        raise InputError("{}: expected at least one label in each set, got an empty set", where)
    allowed = np.zeros(num_labels, np.bool_)
    for label in members:
        if not 0 <= label < num_labels:
            raise InputError("{}: expected labels from 0 to {}, got {}", where, num_labels - 1, shown_value(label))
        allowed[label] = True
    return allowed


def no_path(sentence: int) -> NoPathError:
    """The error for a sentence whose every labelling is forbidden."""
    return NoPathError(
        "sentence {}: expected at least one legal labelling, got none: every path meets a score of -inf; "
        "relax its constraints, or ask log_partition(..., allow_no_path=True) which sentences are meant",
        sentence,
    )


def forbidden_gold(sentence: int) -> NoPathError:
    """The error for labels that the chain forbids."""
    return NoPathError(
        "labels of sentence {}: expected a legal labelling, got one with a score of -inf (log p = -inf "
        "has no gradient); repair the labels or relax the constraints",
        sentence,
    )
