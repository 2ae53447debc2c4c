"""Labelled sentences at the door of training, for every kind of model: read, checked, settled, weighed.

A label is a string; None stands for an unknown one, a set for one of several. A labelling that the tag scheme forbids
is an error, is repaired, or its sentence is dropped: `on_illegal` says. `prepare` does all of it: y → `Lesson`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline import chain as engine
from tagline.checks import check_choice, check_number, is_listing, shown_value
from tagline.errors import InputError, NotedWarning, warn_of_data
from tagline.messages import message
from tagline.models.sizes import check_labels
from tagline.ragged import first_entries, row_of, take_rows
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
        labels: the distinct labels.
        ids: ``[N]``, the number of each token's label; −1 where it is not known.
        sets: the labels that token n may have, where it is not one known label; None stands for all.
        offsets: ``[B + 1]``.
        source: where the sentences come from, for messages.
    """

    labels: tuple[str, ...]
    ids: NDArray[np.int32]
    sets: Mapping[int, frozenset[str] | None]
    offsets: IntArray
    source: Corpus | None = None

    @property
    def num_sentences(self) -> int:
        """B."""
        return len(self.offsets) - 1

    def place(self, b: int) -> str:
        """Say where a sentence is."""
        return f"y[{b}]" if self.source is None else self.source.place(b)

    def take(self, sentences: IntArray) -> LabelledTokens:
        """Return the labels of these sentences alone."""
        if len(sentences) == self.num_sentences and (sentences == np.arange(self.num_sentences)).all():
            return self
        offsets, tokens = take_rows(self.offsets, sentences)
        places = {int(n): t for t, n in enumerate(tokens)} if self.sets else {}
        sets = {places[n]: allowed for n, allowed in self.sets.items() if n in places}
        source = None if self.source is None else self.source.take(sentences)
        return LabelledTokens(self.labels, self.ids[tokens], sets, offsets, source)

    def over(self, labels: Sequence[str]) -> LabelledTokens:
        """Return the same with these labels and their numbers."""
        places = {label: number for number, label in enumerate(labels)}
        table = np.array([places.get(label, -1) for label in self.labels] + [-1], np.int32)
        return replace(self, labels=tuple(labels), ids=table[self.ids])

    def allowed(self) -> BoolArray | None:
        """Return the labels that each token may have, ``[N, L]``; None where every label is known."""
        if not self.sets:
            return None
        allowed: BoolArray = self.ids[:, None] == np.arange(len(self.labels))
        places = {label: number for number, label in enumerate(self.labels)}
        for n, labels_here in self.sets.items():
            allowed[n, slice(None) if labels_here is None else [places[label] for label in labels_here]] = True
        return allowed

    def unknown(self) -> tuple[str, object] | None:
        """Return the place of the first label that is not known, and what stands there; None where all are known."""
        if not self.sets:
            return None
        n = min(self.sets)
        b = row_of(self.offsets, n)
        return f"y[{b}][{n - self.offsets[b]}]", self.sets[n]

    def corpus(self) -> Corpus:
        """Return the labels, where all of them are known, as the tags of a corpus without words."""
        source, lines = ("", None) if self.source is None else (self.source.source, self.source.lines)
        return Corpus({TAG: Column(self.labels, self.ids)}, self.offsets, source=source, lines=lines)


def read_labels(X: Any, y: Any) -> LabelledTokens:
    """Take labels from y, or from the tags of a corpus where y is None."""
    if y is None:
        if not isinstance(X, Corpus):
            raise InputError(
                "y: expected a list of labels for each sentence, got None; only a Corpus carries its own tags"
            )
        column = X.column(TAG)
        return LabelledTokens(column.vocabulary, column.ids, {}, X.offsets, X)
    if isinstance(y, Mapping) or not is_listing(y):
        raise InputError("y: expected a list of sentences, each a list of labels, got {}", type(y).__name__)
    numbers: dict[str, int] = {}
    ids: list[int] = []
    sets: dict[int, frozenset[str] | None] = {}
    offsets = [0]
    for b, sentence in enumerate(y):
        if not is_listing(sentence):
            raise InputError(
                "y[{}]: expected a list of labels, got {}; y is a list of sentences: for one pass [labels]",
                b,
                shown_value(sentence),
            )
        for t, label in enumerate(sentence):
            if isinstance(label, str):
                ids.append(numbers.setdefault(label, len(numbers)))
                continue
            sets[len(ids)] = _label_set(label, f"y[{b}][{t}]")
            ids.append(-1)
        offsets.append(len(ids))
    for allowed in sets.values():
        for label in sorted(allowed or ()):
            numbers.setdefault(label, len(numbers))
    source = X if isinstance(X, Corpus) and len(X) == len(offsets) - 1 else None
    return LabelledTokens(tuple(numbers), np.array(ids, np.int32), sets, np.array(offsets, np.int64), source)


def _label_set(label: Any, where: str) -> frozenset[str] | None:
    if label is None:
        return None
    if isinstance(label, set | frozenset) and all(isinstance(member, str) for member in label):
        if not label:
            raise InputError("{}: expected at least one label in a set, got none; None stands for every label", where)
        return frozenset(label)
    raise InputError(
        "{0}: expected a label as a string, None (unknown) or a set of strings, got {1}; turn labels into "
        "strings first, for instance str({1})",
        where,
        shown_value(label),
    )


def match_lengths(offsets: IntArray, labelled: LabelledTokens) -> None:
    """Refuse labels that do not fit the sentences."""
    if len(offsets) != len(labelled.offsets):
        raise InputError(
            "y: expected labels of {} sentences, as many as X has, got {}", len(offsets) - 1, len(labelled.offsets) - 1
        )
    ours, theirs = np.diff(offsets), np.diff(labelled.offsets)
    wrong = np.flatnonzero(ours != theirs)
    if len(wrong):
        b = int(wrong[0])
        raise InputError("y[{0}]: expected {1} labels, one a token of X[{0}], got {2}", b, ours[b], theirs[b])


def check_scheme(_: str, name: Any) -> None:
    """Raise unless a value is the name of a tag scheme, "auto", or None or "none" for no rules."""
    if name is not None and not _is_word(name, "none", "auto"):
        scheme(name)


def check_label_weights(place: str, label_weights: Any) -> None:
    """Refuse weights of a wrong kind before any label is read; names of labels are checked when these are known."""
    if label_weights is None or _is_word(label_weights, "balanced"):
        return
    if not isinstance(label_weights, Mapping):
        raise InputError('{}: expected a mapping, "balanced" or None, got {}', place, shown_value(label_weights))
    for label, weight in label_weights.items():
        check_number(f"{place}[{label!r}]", weight, least=0, wanted=message("a number of 0 or more"))


def _is_word(value: Any, *words: str) -> bool:
    return isinstance(value, str) and value.lower() in words


def scheme_of(labelled: LabelledTokens, name: str | None) -> str | None:
    """Return the name of the tag scheme; "auto" looks at the labels."""
    if name is None or _is_word(name, "none"):
        return None
    if not _is_word(name, "auto"):
        return scheme(name).name
    if labelled.sets:  # a sequence with holes proves nothing
        return None
    detection = detect(labelled.corpus())
    if (stray := detection.stray) is not None:
        place = stray.place if labelled.source is not None else f"y[{stray.sentence}][{stray.token}]"
        warn_of_data(
            "{}: {}; so no rules of a scheme hold. Mend it, or name the scheme: {} makes such "
            "tags an error, none asks for no rules",
            place,
            stray.problem,
            stray.scheme.name,
        )
    return None if detection.scheme is None else detection.scheme.name


def used_labels(labelled: LabelledTokens) -> set[str]:
    """The labels that some token has or may have, none of them a string of NumPy's."""
    ids = np.unique(labelled.ids)
    named = {label for allowed in labelled.sets.values() for label in allowed or ()}
    return set(map(str, named | {labelled.labels[number] for number in ids[ids >= 0]}))


def warn_of_forgotten(labelled: LabelledTokens, before: Iterable[str]) -> None:
    """Warn where training goes on with sentences that lack labels of the model: it forgets what it knew of them."""
    if None in labelled.sets.values():  # any label may be there
        return
    kept = {_type_of(label) for label in used_labels(labelled)}  # B-LOC without I-LOC is chance
    if missing := sorted(label for label in before if _type_of(label) not in kept):
        shown = ", ".join(missing[:5]) + (message(" and {} more", len(missing) - 5) if len(missing) > 5 else "")
        warn_of_data(
            "y: warm_start goes on with a model of the labels {}, which these sentences lack, so it will "
            "forget them; fit old and new sentences together (a CRF also has partial_fit, for a few new ones)",
            shown,
        )


def _type_of(label: str) -> str:
    return label[2:] if label[1:2] in ("-", "_") and len(label) > 2 else label


@dataclass(frozen=True, eq=False)
class Lesson:
    """Labelled sentences that are ready to be learned from.

    Attributes:
        sentences: which of the given sentences are learned from, ascending.
        labels: L names; of most models sorted.
        labelled: the labels of the sentences, by these numbers.
        allowed: the labels that each token may have, ``[N, L]``; None where every label is known.
        scheme, rules: the tag scheme and what it allows; None for no rules.
        weights: how much each sentence counts, ``[B]``; None for all the same.
        notes: what was repaired or dropped.
    """

    sentences: IntArray
    labels: list[str]
    labelled: LabelledTokens
    allowed: BoolArray | None
    scheme: str | None
    rules: Rules | None
    weights: Float64Array | None = None
    notes: tuple[str, ...] = ()


def prepare(
    labelled: LabelledTokens,
    *,
    scheme: str | None,
    on_illegal: str = "error",
    names: Callable[[LabelledTokens], list[str]] | None = None,
    sample_weight: ArrayLike | None = None,
    label_weights: Any = None,
    skip_empty: bool = False,
    needs_scheme: bool = False,
) -> Lesson:
    """Settle which sentences are learned from, with which labels and rules, and how much each counts.

    Arguments:
        scheme: the name of the tag scheme whose rules hold; None for no rules.
        on_illegal: labellings that break the rules: "error", "repair", or "drop" the sentence.
        names: all labels that a model is to have, from those of its sentences; when left out, those that occur, sorted.
        sample_weight: how much each sentence counts, ``[B]``; a sentence of weight 0 is left out.
        label_weights: how much labels count: a mapping, or "balanced".
        skip_empty: leave out sentences without tokens.
        needs_scheme: whether the model cannot do without a tag scheme, for messages.
    """
    sizes = check_sample_weight(sample_weight, labelled.num_sentences)
    names = names or (lambda labelled: sorted(used_labels(labelled)))
    given, rules = _numbered(labelled, names(labelled), scheme)
    labelled, sentences, notes = settled(
        given, rules, scheme, on_illegal, "" if needs_scheme else message(", or scheme=None for no rules")
    )
    if skip_empty:
        sentences = sentences[np.diff(labelled.offsets)[sentences] > 0]
    if sizes is not None:
        sentences = sentences[sizes[sentences] > 0]
        sizes = sizes[sentences]
    if not len(sentences):
        raise InputError(
            "y: expected sentences to learn from, got none; {}", notes[0] if notes else message("X is empty")
        )
    labelled = labelled.take(sentences)
    if labelled is not given:  # the labels of the sentences that are left, and as repaired
        labelled, rules = _numbered(labelled, names(labelled), scheme)
    weights = sizes if label_weights is None else weighted(sizes, label_weights, labelled)
    return Lesson(sentences, list(labelled.labels), labelled, labelled.allowed(), scheme, rules, weights, notes)


def _numbered(labelled: LabelledTokens, labels: list[str], scheme: str | None) -> tuple[LabelledTokens, Rules | None]:
    """Number the labels, and say what a scheme allows of them."""
    if not labels:
        raise InputError("y: expected at least one sentence with a known label, got none")
    check_labels(len(labels))
    return labelled.over(labels), None if scheme is None else legal(labels, scheme)


def settled(
    labelled: LabelledTokens,
    rules: Rules | None,
    name: str | None,
    on_illegal: str,
    remedy: str = ", or scheme=None for no rules",
) -> tuple[LabelledTokens, IntArray, tuple[str, ...]]:
    """Deal with labellings that the rules forbid: the labels, the sentences that are kept, what was done in words."""
    check_choice("on_illegal", on_illegal, ON_ILLEGAL)
    everything = np.arange(labelled.num_sentences)
    if rules is None or name is None or not len(illegal := illegal_sentences(labelled, rules)):
        return labelled, everything, ()
    what = message("{} of {} sentences with tags that {} forbids", len(illegal), len(everything), name)
    if on_illegal == "error":
        b = int(illegal[0])
        raise InputError(
            '{}: expected tags that {} allows, got {}; there are {}; pass on_illegal="repair" or "drop"{}',
            labelled.place(b),
            name,
            shown_break(labelled, b, rules),
            what,
            remedy,
        )
    if on_illegal == "drop" or labelled.sets:  # unknown labels cannot be repaired
        if on_illegal == "repair":
            warn_of_data(
                'y: dropped {}, for labels are unknown; on_illegal="error" names the first', what, category=NotedWarning
            )
        return labelled, np.setdiff1d(everything, illegal), (message("dropped {}", what),)
    warn_of_data('y: repaired {}; on_illegal="error" names the first', what, category=NotedWarning)
    mended = repair(labelled.corpus(), name).tags.columns[TAG]
    return replace(labelled, labels=mended.vocabulary, ids=mended.ids), everything, (message("repaired {}", what),)


def illegal_sentences(labelled: LabelledTokens, rules: Rules) -> IntArray:
    """Sentences in which known labels break the rules, or in which sets of labels leave no legal labelling."""
    if (allowed := labelled.allowed()) is not None:
        begins, ends = _scores(rules.start), _scores(rules.end)
        chain = Chain(_scores(allowed), _scores(rules.transitions), begins, ends, labelled.offsets)
        return np.flatnonzero(np.isneginf(engine.log_partition(chain, allow_no_path=True)))
    broken = broken_steps(labelled.ids, labelled.offsets, rules.start, rules.transitions, rules.end)
    return np.unique(np.searchsorted(labelled.offsets, np.flatnonzero(broken), side="right") - 1)


def shown_break(labelled: LabelledTokens, b: int, rules: Rules) -> str:
    """Say which tag of an illegal sentence breaks the rules first, and where."""
    ids, labels = labelled.ids, labelled.labels
    broken = broken_steps(ids, labelled.offsets, rules.start, rules.transitions)
    begin, end = int(labelled.offsets[b]), int(labelled.offsets[b + 1])
    places = np.flatnonzero(broken_steps(ids, labelled.offsets, rules.start, rules.transitions, rules.end)[begin:end])
    if not len(places):
        return message("sets of tags that leave no labelling")
    t = int(places[0])
    if not broken[begin + t]:
        where = message("at the end of the sentence")
    else:
        where = message("after {!r}", labels[ids[begin + t - 1]]) if t else message("at the start of the sentence")
    return message("{!r} {} (token {})", labels[ids[begin + t]], where, t)


def broken_steps(
    ids: NDArray[Any], offsets: IntArray, start: BoolArray, transitions: BoolArray, end: BoolArray | None = None
) -> BoolArray:
    """Say of each token whether its known label may not stand at an end of the sentence or follow the one before it.

    Arguments:
        ids: ``[N]``, label numbers, −1 where unknown.
        start, transitions: what may begin and follow, ``[L]`` and ``[L, L]``.
        end: what may end, ``[L]``; None where any label may.
    """
    before = np.concatenate([[-1], ids[:-1]]) if len(ids) else ids
    first = first_entries(offsets)
    broken = np.zeros(len(ids), bool)
    begin, inner = first & (ids >= 0), ~first & (before >= 0) & (ids >= 0)
    broken[begin] = ~start[ids[begin]]
    broken[inner] = ~transitions[before[inner], ids[inner]]
    if end is not None:
        broken |= np.append(first, True)[1:] & (ids >= 0) & ~end[ids]
    return broken


def _scores(allowed: BoolArray) -> FloatArray:
    """0 for what is allowed, −∞ for the rest."""
    return np.where(allowed, np.float32(0), np.float32(-np.inf))


def check_sample_weight(sample_weight: ArrayLike | None, B: int) -> Float64Array | None:
    """How much each of B sentences counts, ``[B]``; None where all count the same."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError, OverflowError):  # no numbers, or rows of unequal length
        weights = np.array(np.nan)
    if weights.shape != (B,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise InputError(
            "sample_weight: expected {} numbers of 0 or more, one a sentence, got {}", B, shown_value(sample_weight)
        )
    if B and not weights.any():
        raise InputError("sample_weight: expected a weight above zero, got only zeros; nothing would be learned from")
    return weights


def weighted(
    sizes: Float64Array | None, label_weights: Mapping[str, float] | str, labelled: LabelledTokens
) -> Float64Array:
    """Return how much each sentence counts, ``[B]``: its size, 1 if left out, times the mean weight of its labels.

    "balanced" weighs a label by N / (L · its count), as scikit-learn does.
    """
    ids, labels = labelled.ids, labelled.labels
    table = np.ones(len(labels) + 1)
    if isinstance(label_weights, Mapping):
        for label, weight in label_weights.items():
            if label not in labels:
                raise InputError("label_weights: expected labels among {}, got {!r}", ", ".join(labels), label)
            table[labels.index(label)] = weight
    else:
        counts = np.bincount(ids[ids >= 0], minlength=len(labels))
        table[:-1] = counts.sum() / (len(labels) * np.maximum(counts, 1))
    lengths = np.diff(labelled.offsets)
    sums = np.add.reduceat(np.append(table[ids], 0.0), labelled.offsets[:-1]) if len(lengths) else np.zeros(0)
    weights: Float64Array = np.where(lengths > 0, sums / np.maximum(lengths, 1), 1.0)
    weights = weights if sizes is None else sizes * weights
    if not weights[lengths > 0].any():
        raise InputError(
            "label_weights: expected a weight above 0 for some label of the sentences, got only zeros; nothing "
            "would be learned from"
        )
    return weights
