"""Labels at the door of training: strings to numbers, sets for what is not known, illegal labellings, weights.

A label is a string; None stands for an unknown one, a set for one of several. A labelling that the tag scheme forbids
is an error, is repaired, or its sentence is dropped: `on_illegal` says.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline import chain as engine
from tagline.errors import InputError
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.readers.detection import detect
from tagline.readers.rules import Rules, legal, scheme
from tagline.readers.validation import repair
from tagline.types import BoolArray, Chain, Float64Array, FloatArray, IntArray

ON_ILLEGAL = ("error", "repair", "drop")


@dataclass(frozen=True, eq=False)
class LabelledTokens:
    """The labels of sentences, one entry a token.

    Attributes:
        strings: ``vocabulary`` of labels and ``ids [N]``, −1 where a token's label is not known.
        sets: the labels that token n may have, where it is not one known label; None stands for all.
        bounds: ``[B + 1]``.
        source: where the sentences come from, for messages.
    """

    labels: tuple[str, ...]
    ids: NDArray[np.int32]
    sets: Mapping[int, frozenset[str] | None]
    bounds: IntArray
    source: Corpus | None = None

    def place(self, b: int) -> str:
        """Say where a sentence is."""
        return f"y[{b}]" if self.source is None else self.source.place(b)


def read_labels(X: Any, y: Any) -> LabelledTokens:
    """Take labels from y, or from the tags of a corpus where y is None."""
    if y is None:
        if not isinstance(X, Corpus):
            raise InputError(
                "y: expected a list of labels for each sentence, got None; only a Corpus carries its own tags"
            )
        column = X.column(TAG)
        return LabelledTokens(column.vocabulary, column.ids, {}, X.offsets, X)
    if isinstance(y, str | bytes | Mapping) or not isinstance(y, Iterable):
        raise InputError(f"y: expected a list of sentences, each a list of labels, got {type(y).__name__}")
    numbers: dict[str, int] = {}
    ids: list[int] = []
    sets: dict[int, frozenset[str] | None] = {}
    bounds = [0]
    for b, sentence in enumerate(y):
        if isinstance(sentence, str | bytes) or not isinstance(sentence, Iterable):
            raise InputError(
                f"y[{b}]: expected a list of labels, got {sentence!r}; y is a list of sentences: for one pass [labels]"
            )
        for t, label in enumerate(sentence):
            if isinstance(label, str):
                ids.append(numbers.setdefault(label, len(numbers)))
                continue
            sets[len(ids)] = _label_set(label, f"y[{b}][{t}]")
            ids.append(-1)
        bounds.append(len(ids))
    for allowed in sets.values():
        for label in sorted(allowed or ()):
            numbers.setdefault(label, len(numbers))
    source = X if isinstance(X, Corpus) and len(X) == len(bounds) - 1 else None
    return LabelledTokens(tuple(numbers), np.array(ids, np.int32), sets, np.array(bounds, np.int64), source)


def _label_set(label: Any, where: str) -> frozenset[str] | None:
    if label is None:
        return None
    if isinstance(label, set | frozenset) and all(isinstance(one, str) for one in label):
        if not label:
            raise InputError(f"{where}: expected at least one label in a set, got none; None stands for every label")
        return frozenset(label)
    raise InputError(
        f"{where}: expected a label as a string, None (unknown) or a set of strings, got {label!r}; "
        f"turn labels into strings first, for instance str({label!r})"
    )


def match_lengths(bounds: IntArray, labelled: LabelledTokens) -> None:
    """Refuse labels that do not fit the sentences."""
    if len(bounds) != len(labelled.bounds):
        raise InputError(
            f"y: expected labels of {len(bounds) - 1} sentences, as many as X has, got {len(labelled.bounds) - 1}"
        )
    ours, theirs = np.diff(bounds), np.diff(labelled.bounds)
    wrong = np.flatnonzero(ours != theirs)
    if len(wrong):
        b = int(wrong[0])
        raise InputError(f"y[{b}]: expected {ours[b]} labels, one a token of X[{b}], got {theirs[b]}")


def scheme_of(labelled: LabelledTokens, name: str | None) -> str | None:
    """Return the name of the tag scheme; "auto" looks at the labels."""
    if name is None or name.lower() == "none":
        return None
    if name.lower() != "auto":
        return scheme(name).name
    if labelled.sets:  # a sequence with holes proves nothing
        return None
    found = detect(Corpus({TAG: Column(labelled.labels, labelled.ids)}, labelled.bounds)).scheme
    return None if found is None else found.name


def used_labels(labelled: LabelledTokens) -> set[str]:
    """The labels that some token has or may have."""
    ids = np.unique(labelled.ids)
    named = {label for some in labelled.sets.values() for label in some or ()}
    return named | {labelled.labels[number] for number in ids[ids >= 0]}


def complete_labels(labels: Iterable[str], name: str | None) -> list[str]:
    """Sort labels and refuse a scheme that they are not of."""
    ordered = sorted(map(str, labels))  # NumPy's strings too
    if name is not None:
        legal(ordered, name)
    return ordered


def settle(
    labelled: LabelledTokens, rules: Rules | None, name: str | None, labels: Sequence[str], on_illegal: str
) -> tuple[LabelledTokens, IntArray, list[str]]:
    """Deal with labellings that the rules forbid.

    Returns:
        the labels; the sentences that are kept; what was done, in words.
    """
    if on_illegal not in ON_ILLEGAL:
        raise InputError(f"on_illegal: expected one of {', '.join(ON_ILLEGAL)}, got {on_illegal!r}")
    everything = np.arange(len(labelled.bounds) - 1)
    if rules is None or name is None:
        return labelled, everything, []
    bad = _illegal(labelled, rules, labels)
    if not len(bad):
        return labelled, everything, []
    found = f"{len(bad)} of {len(everything)} sentences with tags that {name} forbids"
    if on_illegal == "error":
        raise InputError(
            f"{labelled.place(int(bad[0]))}: expected tags that {name} allows, got others; there are {found}; pass "
            'on_illegal="repair" or "drop", or scheme=None for no rules'
        )
    if on_illegal == "drop" or labelled.sets:  # what is not known cannot be repaired
        kept = np.setdiff1d(everything, bad)
        return labelled, kept, [f"dropped {found}"]
    column = Column(labelled.labels, labelled.ids)
    mended = repair(Corpus({TAG: column}, labelled.bounds), name).tags.columns[TAG]
    return (
        LabelledTokens(mended.vocabulary, mended.ids, labelled.sets, labelled.bounds, labelled.source),
        everything,
        [f"repaired {found}"],
    )


def _illegal(labelled: LabelledTokens, rules: Rules, labels: Sequence[str]) -> IntArray:
    """Sentences in which known labels break the rules, or in which sets of labels leave no legal labelling."""
    allowed = allowed_labels(labelled, labels)
    if allowed is not None:
        scores = (_scores(part) for part in (allowed, rules.transitions, rules.start, rules.end))
        e, moves, begin_with, end_with = scores
        chain = Chain(e, moves, begin_with, end_with, labelled.bounds)
        return np.flatnonzero(np.isneginf(engine.log_partition(chain, allow_no_path=True)))
    ids = numbered(labelled, labels)
    before = np.concatenate([[-1], ids[:-1]]) if len(ids) else ids
    first = np.zeros(len(ids) + 1, bool)
    first[labelled.bounds[:-1]] = True
    last = np.zeros(len(ids) + 1, bool)
    last[labelled.bounds[1:]] = True  # one past the last token
    bad = np.zeros(len(ids), bool)
    inner = ~first[:-1] & (before >= 0) & (ids >= 0)
    bad[inner] = ~rules.transitions[before[inner], ids[inner]]
    begin, end = first[:-1] & (ids >= 0), last[1:] & (ids >= 0)
    bad[begin] |= ~rules.start[ids[begin]]
    bad[end] |= ~rules.end[ids[end]]
    return np.unique(np.searchsorted(labelled.bounds, np.flatnonzero(bad), side="right") - 1)


def _scores(allowed: BoolArray) -> FloatArray:
    """0 for what is allowed, −∞ for the rest."""
    return np.where(allowed, np.float32(0), np.float32(-np.inf))


def numbered(labelled: LabelledTokens, labels: Sequence[str]) -> NDArray[np.int32]:
    """Label numbers ``[N]``, −1 where unknown."""
    places = {label: number for number, label in enumerate(labels)}
    table = np.array([places.get(label, -1) for label in labelled.labels] + [-1], np.int32)
    return table[labelled.ids]


def allowed_labels(labelled: LabelledTokens, labels: Sequence[str]) -> BoolArray | None:
    """Booleans ``[N, L]``, or None where every label is known."""
    if not labelled.sets:
        return None
    ids = numbered(labelled, labels)
    allowed = np.zeros((len(ids), len(labels)), bool)
    allowed[np.flatnonzero(ids >= 0), ids[ids >= 0]] = True
    places = {label: number for number, label in enumerate(labels)}
    for n, some in labelled.sets.items():
        allowed[n, slice(None) if some is None else [places[label] for label in some]] = True
    return allowed


def check_sample_weight(given: ArrayLike | None, B: int) -> Float64Array | None:
    """How much each of B sentences counts, ``[B]``; None where all count the same."""
    if given is None:
        return None
    weights = np.asarray(given, np.float64)
    if weights.shape != (B,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError(f"sample_weight: expected {B} numbers of 0 or more, one a sentence, got {given!r:.60}")
    if B and not weights.any():
        raise InputError("sample_weight: expected a weight above zero, got only zeros; nothing would be learned from")
    return weights


def sentence_weights(
    sample_weight: Float64Array | None,
    label_weights: Mapping[str, float] | str | None,
    labelled: LabelledTokens,
    labels: Sequence[str],
) -> Float64Array | None:
    """How much each sentence counts, ``[B]``: its sample weight times the mean weight of its labels.

    "balanced" weighs a label by N / (L · its count), as scikit-learn does.
    """
    B = len(labelled.bounds) - 1
    weights = np.ones(B)
    if sample_weight is not None:
        weights *= sample_weight
    if label_weights is not None:
        ids = numbered(labelled, labels)
        table = np.ones(len(labels) + 1)
        if label_weights == "balanced":
            counts = np.bincount(ids[ids >= 0], minlength=len(labels))
            table[:-1] = counts.sum() / (len(labels) * np.maximum(counts, 1))
        elif isinstance(label_weights, Mapping):
            for label, weight in label_weights.items():
                if label not in labels:
                    raise InputError(f"label_weights: expected labels among {', '.join(labels)}, got {label!r}")
                real = isinstance(weight, numbers.Real) and not isinstance(weight, bool)
                if not (real and np.isfinite(weight) and weight >= 0):
                    raise InputError(f"label_weights[{label!r}]: expected a number of 0 or more, got {weight!r}")
                table[labels.index(label)] = weight
        else:
            raise InputError(f'label_weights: expected a mapping, "balanced" or None, got {label_weights!r}')
        lengths = np.diff(labelled.bounds)
        sums = np.add.reduceat(np.append(table[ids], 0.0), labelled.bounds[:-1]) if B else np.zeros(0)
        weights *= np.where(lengths > 0, sums / np.maximum(lengths, 1), 1.0)
    return None if sample_weight is None and label_weights is None else weights


def chosen_pairs(pairs: Any, labels: Sequence[str]) -> str | IntArray:
    """Label pairs for edge attributes: "observed", "all", or the numbers of listed ones, ascending."""
    if isinstance(pairs, str):
        if pairs not in ("observed", "all"):
            raise InputError(f'edge_pairs: expected "observed", "all" or a list of label pairs, got {pairs!r}')
        return pairs
    numbers = {label: number for number, label in enumerate(labels)}
    found = set()
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not {*pair} <= numbers.keys():
            raise InputError(f"edge_pairs: expected pairs (label before, label) of {', '.join(labels)}, got {pair!r}")
        found.add(numbers[pair[0]] * len(labels) + numbers[pair[1]])
    return np.array(sorted(found), np.int64)
