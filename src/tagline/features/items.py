"""Python features in, numbered attributes out: what python-crfsuite and sklearn-crfsuite take.

A token is a dict, or a list, tuple or set of strings:

    {"word": "Anna"}                    attribute word:Anna, value 1
    {"length": 4, "bias": 1.0}          attributes length and bias with these values
    {"capital": True, "digit": False}   attributes capital with value 1 and digit with value 0
    {"next": {"word": "sings"}}         attribute next:word:sings
    {"suffix": ["na", "nna"]}           attributes suffix:na and suffix:nna, value 1
    ["word:Anna", "capital"]            attributes of these names, value 1

A name that a token has twice counts twice. A set is read in the order of its strings. The compiled core reads the
objects as they are and looks a name up by its parts, so that only new names are joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from tagline import compiled
from tagline.checks import check_number, check_whole, shown_value
from tagline.errors import InputError
from tagline.features.attributes import Attributes, Expanded, Features
from tagline.features.expansion import MOST_HASH_BITS
from tagline.features.vocabulary import Vocabulary
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.types import IntArray

Item: TypeAlias = Mapping[str, Any] | Iterable[str]
Items: TypeAlias = Iterable[Iterable[Item]]
"""Sentences of tokens; generators will do."""


def items_to_features(
    X: Items,
    edges: Items | None = None,
    vocabularies: tuple[Vocabulary | None, Vocabulary | None] | None = None,
    *,
    min_frequency: float = 0,
    hash_bits: int | None = None,
) -> Expanded:
    """Number the attributes of tokens.

    Arguments:
        X: sentences, each a list of tokens, each a dict or strings: attributes crossed with the token's label.
        edges: the same for attributes crossed with the pair (label before, label); as many tokens as X. Those of a
            sentence's first token are never used.
        vocabularies: (of X, of edges); names that they do not have are left out. Without them, vocabularies are built,
            ids in the order of first use.
        min_frequency: when building, attributes are kept whose values add up to at least this.
        hash_bits: number names by their hash, from 0 to 2^bits − 1, without vocabularies.

    >>> expanded = items_to_features([[{"word": "Anna", "length": 4}, ["word:sings"]]])
    >>> expanded.states.names(), expanded.features.states.ids.tolist(), expanded.features.states.values.tolist()
    (['word:Anna', 'length', 'word:sings'], [0, 1, 2], [1.0, 4.0, 1.0])
    """
    compiled.require()
    _check_options(vocabularies, min_frequency, hash_bits)
    known_states, known_edges = vocabularies or (None, None)
    if vocabularies is not None and known_states is None and hash_bits is None:
        raise InputError("vocabularies: expected that of X, got None; leave vocabularies out to build them")
    offsets, states, names = _numbered(X, "", known_states, min_frequency, hash_bits)
    if edges is None:
        return Expanded(Features(offsets, states), names, known_edges)
    if vocabularies is not None and known_edges is None and hash_bits is None:
        raise InputError("edges: expected none, as when the vocabularies were built, got some")
    edge_offsets, crossed, edge_names = _numbered(edges, "edges", known_edges, min_frequency, hash_bits)
    _check_same_shape(offsets, edge_offsets)
    return Expanded(Features(offsets, states, crossed), names, edge_names)


def _check_options(vocabularies: object, min_frequency: float, hash_bits: int | None) -> None:
    check_whole(
        "hash_bits",
        hash_bits,
        1,
        MOST_HASH_BITS,
        optional=True,
        wanted=message("1 to {}", MOST_HASH_BITS),
    )
    check_number("min_frequency", min_frequency)
    if min_frequency > 0 and (vocabularies is not None or hash_bits is not None):
        raise InputError(
            "min_frequency: expected 0 where names are {}, got {}; only new vocabularies are counted",
            "hashed" if vocabularies is None else "known",
            min_frequency,
        )
    if hash_bits is not None and vocabularies is not None and any(names is not None for names in _pair(vocabularies)):
        raise InputError("hash_bits: expected no vocabularies beside it, got some; hashed names need none")
    if vocabularies is not None:
        _pair(vocabularies)


def _pair(vocabularies: Any) -> tuple[object, object]:
    pair = isinstance(vocabularies, tuple) and len(vocabularies) == 2
    if not pair or not all(names is None or isinstance(names, Vocabulary) for names in vocabularies):
        raise InputError("vocabularies: expected a pair (of X, of edges), got {}", shown_value(vocabularies))
    return vocabularies  # type: ignore[no-any-return]


_REFUSED = (
    message("a dict or a list of strings"),
    message("a finite number that fits float32"),
    message("a list of sentences"),
    message("a list of tokens"),
    message("a string"),
    message("a string, a number, a truth value, a dict or a list of strings"),
    message("dicts at most 32 deep"),
    message("Unicode text"),
)
"""What the core expects of sentences; `_refused` looks it up."""

_REMEDIES = (
    message("X is a list of sentences, each a list of tokens, each a dict or a list of strings"),
    message("put a single sentence into a list of its own"),
)


def _refused(text: str) -> InputError:
    """Return what the core refuses, ``place: expected this, got that; remedy``, as a template with values."""
    text = " ".join(text.split())  # what stands there may be an array, which is written in several lines
    place, _, rest = text.partition(": expected ")
    wanted, _, got = rest.partition(", got ")
    remedy = next((remedy for remedy in _REMEDIES if got.endswith(f"; {remedy.template}")), None)
    if wanted not in {phrase.template for phrase in _REFUSED}:
        return InputError(text)
    if remedy is None:
        return InputError("{}: expected {}, got {}", place, message(wanted), got)
    got = got.removesuffix(f"; {remedy.template}")
    return InputError("{}: expected {}, got {}; {}", place, message(wanted), got, remedy)


def _numbered(
    items: Items, name: str, known: Vocabulary | None, min_frequency: float, hash_bits: int | None
) -> tuple[IntArray, Attributes, Vocabulary | None]:
    """Return the offsets of the sentences, the attributes of their tokens, and the names of the attributes."""
    parts = None if known is None else known.parts
    try:
        offsets, attribute_offsets, ids, values, built = compiled.require().number_items(
            items, name, parts, hash_bits or 0
        )
    except OverflowError as error:  # more names than int32 can number
        raise InputError(str(error)) from None
    except InputError as error:
        raise _refused(str(error)) from None
    except TypeError as error:  # what says that it can be gone through, and cannot
        reason = str(error).partition("\n")[0]
        raise InputError(
            "{}: expected a list of sentences, each a list of tokens, got others ({})", name, reason
        ) from None
    attributes = Attributes(attribute_offsets, ids, values)
    if built is None:
        return offsets, attributes, known
    names = Vocabulary(built)
    if min_frequency > 0:
        attributes, names = _frequent(attributes, names, min_frequency)
    return offsets, attributes, names


def _frequent(attributes: Attributes, names: Vocabulary, least: float) -> tuple[Attributes, Vocabulary]:
    """Keep the attributes whose values add up to at least this."""
    sums = np.bincount(attributes.ids, attributes.values, minlength=len(names))  # [V]
    frequent = sums >= least
    if frequent.all():
        return attributes, names
    stays = frequent[attributes.ids]  # [M]
    numbers = np.cumsum(frequent, dtype=np.int32) - np.int32(1)
    offsets = offsets_of(stays)[attributes.offsets]
    values = None if attributes.values is None else attributes.values[stays]
    if values is not None and (values == 1).all():
        values = None
    return Attributes(offsets, numbers[attributes.ids[stays]], values), names.take(np.flatnonzero(frequent))


def _check_same_shape(offsets: IntArray, edge_offsets: IntArray) -> None:
    if len(offsets) != len(edge_offsets):
        raise InputError("edges: expected {} sentences, as in X, got {}", len(offsets) - 1, len(edge_offsets) - 1)
    lengths, edge_lengths = np.diff(offsets), np.diff(edge_offsets)
    wrong = np.flatnonzero(lengths != edge_lengths)
    if len(wrong):
        b = int(wrong[0])
        raise InputError("edges of sentence {}: expected {} tokens, as in X, got {}", b, lengths[b], edge_lengths[b])
