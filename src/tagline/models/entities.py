"""Entities with their probabilities: spans of the best labelling, each as likely as the model holds it.

The probability of a span is that of all labellings which, read by the scheme's rule (`tagline.readers.spans`,
``conlleval:<scheme>``), have exactly this span: they start it here with this type, go on, and end it here. The rule
looks at neighbouring tags only. With G the label pairs that go on with a span, and Y the labels of the type:

    enter(j) = log Σ exp(α_(s-1)(i) + T(i, j)) over i with (i, j) ∉ G;  start(j) at the start of the sentence
    inside_s(j) = enter(j) + e_s(j)
    inside_t(j) = log Σ exp(inside_(t-1)(i) + T(i, j)) over i ∈ Y with (i, j) ∈ G,  + e_t(j)
    leave(i) = log Σ exp(T(i, j) + e_end(j) + β_end(j)) over j with (i, j) ∉ G;  end(i) at the end of the sentence
    log p = log Σ exp(inside_(end-1)(i) + leave(i)) over i ∈ Y,  − log Z

in O(L + length) for the few labels of a type, for all spans at once. Culotta and McCallum, Confidence Estimation for
Information Extraction, HLT-NAACL 2004, for the idea of a chain constrained to a field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagline import chain as engine
from tagline.chain.centring import centred
from tagline.chain.checks import no_path
from tagline.errors import InputError, visible
from tagline.readers.corpus import Column, Corpus, Sentence
from tagline.readers.detection import detect
from tagline.readers.rules import Scheme, legal, scheme
from tagline.readers.spans import SpanArray, find_spans
from tagline.types import BoolArray, Chain, Float64Array, FloatArray, IntArray

PlacedSpan: TypeAlias = tuple[int, int, int, str]
"""(sentence, first token, token after the last, type)."""

Characters: TypeAlias = Callable[[int, int, int], tuple[str, int, int] | None]
"""(sentence, first token, token after the last) → text and its first character and the one after its last, if known."""

MOST_CELLS = 2**18  # numbers worked on at once: 2 MiB, which a cache holds


@dataclass(frozen=True, slots=True, repr=False)
class Entity:
    """A span that a model found.

    Attributes:
        start, end: tokens, `end` exclusive.
        type: empty where tags have no types.
        probability: that the labelling has exactly this span with this type.
        text, char_start, char_end: the characters of it in the sentence's text, where that is known.
    """

    start: int
    end: int
    type: str
    probability: float
    text: str | None = None
    char_start: int | None = None
    char_end: int | None = None

    def __repr__(self) -> str:
        """Write it short: lists of entities are what one looks at.

        >>> Entity(3, 5, "LOC", 0.99812, "New York", 14, 22)
        Entity(LOC 'New York' 0.998, tokens 3:5, characters 14:22)
        """
        text = "" if self.text is None else f" {self.text!r}"
        characters = "" if self.char_start is None else f", characters {self.char_start}:{self.char_end}"
        kind = visible(self.type) or "span"
        return f"Entity({kind}{text} {self.probability:.3f}, tokens {self.start}:{self.end}{characters})"


@dataclass(frozen=True, eq=False)
class Reading:
    """How the labels of a model make spans.

    Attributes:
        labels: L tags of the scheme.
        scheme: whose letters they are in.
        types: K names; the empty one where a tag has no type.
        members: ``[K, W]``, the labels of each type, −1 where it has fewer than W.
        continues: ``[L, L]``, whether a label goes on with the span of the one before it. Where it does not, the span
            before it ends, and it begins one unless it is O.
    """

    labels: tuple[str, ...]
    scheme: Scheme
    types: tuple[str, ...]
    members: IntArray
    continues: BoolArray

    @classmethod
    def of(cls, labels: Sequence[str], name: str | Scheme | None = None) -> Reading:
        """Read the labels by a scheme, or by the one whose letters they are in."""
        names = tuple(labels)
        if not all(isinstance(label, str) for label in names):
            raise InputError("labels: expected strings, got others")
        return _reading(names, None if name is None else scheme(name))

    def spans(self, labels: IntArray, offsets: IntArray) -> SpanArray:
        """Find the spans of a labelling ``[N]``."""
        return find_spans(Column(self.labels, labels.astype(np.int32)), offsets, f"conlleval:{self.scheme}")

    def placed(self, labels: IntArray, offsets: IntArray) -> IntArray:
        """Find the spans of a labelling ``[N]`` as numbers: sentence, start, end, type, ``[4, M]``."""
        if engine.engine() == "native":
            from tagline.chain.native import whole_spans

            return whole_spans(labels, offsets, self.members, self.continues)
        spans = self.spans(labels, offsets)
        return np.array([spans.sentence, spans.start, spans.end, spans.numbered(self.types)], np.int64)


def reading_of(model: Any) -> Reading | None:
    """How the labels of a model make spans; None where they make none, or the model does not know their chances."""
    try:
        return Reading.of([str(label) for label in model.labels_], model.scheme_name) if model.finds_spans else None
    except InputError:
        return None


@lru_cache(maxsize=64)  # else a fifth to a third of the time in which one short sentence is answered
def _reading(names: tuple[str, ...], tag_scheme: Scheme | None) -> Reading:
    if tag_scheme is None:
        # Labels that are in the letters of several schemes are read in the same way by each of them.
        detection = detect([[label] for label in names])
        if detection.scheme is None:
            raise InputError(
                "labels: expected tags of a scheme, such as B-<type>, I-<type>, O, got others: {}; labels "
                "without spans, such as parts of speech, are answered by predict and predict_marginals",
                detection.reason,
            )
        tag_scheme = detection.scheme
    legal(names, tag_scheme)  # refuses what is not a tag
    L = len(names)
    alone = _spans(names, tag_scheme, np.arange(L)[:, None])
    members = [alone.sentence[alone.label == k] for k in range(len(alone.labels))]
    table = np.full((len(members), max(map(len, members), default=0)), -1, np.int64)
    for row, numbers in zip(table, members, strict=True):
        row[: len(numbers)] = numbers
    pairs = _spans(names, tag_scheme, np.indices((L, L)).reshape(2, -1).T)
    continues = np.zeros(L * L, np.bool_)
    continues[pairs.sentence[pairs.end - pairs.start == 2]] = True
    return Reading(names, tag_scheme, alone.labels, table, continues.reshape(L, L))


def _spans(labels: tuple[str, ...], rules: Scheme, sentences: IntArray) -> SpanArray:
    """Read sentences ``[B, T]`` of one length."""
    B, T = sentences.shape
    column = Column(labels, sentences.ravel().astype(np.int32))
    return find_spans(column, np.arange(B + 1, dtype=np.int64) * T, f"conlleval:{rules}")


def span_probabilities(
    chain: Chain, labels: Sequence[str], name: str | Scheme | None, spans: Sequence[PlacedSpan]
) -> Float64Array:
    """Compute the probability that a labelling has each of these spans, exactly as it stands: ``[M]``.

    Arguments:
        labels: the names of the chain's L labels.
        name: the scheme by which labellings are read; None for the one whose letters the labels are in.
        spans: (sentence, first token, token after the last, type) each, in any order, whether they overlap or not.

    >>> even = Chain([[0.0] * 3] * 2, [[0.0] * 3] * 3)  # nine labellings: B I and I I have the span, and only they
    >>> span_probabilities(even, ["O", "B-PER", "I-PER"], "IOB2", [(0, 0, 2, "PER")]).round(9).tolist()
    [0.222222222]
    """
    reading = Reading.of(labels, name)
    if len(reading.labels) != chain.num_labels:
        raise InputError("labels: expected {}, as many as the chain has, got {}", chain.num_labels, len(reading.labels))
    kinds = {kind: number for number, kind in enumerate(reading.types)}
    rows = np.array([_checked(chain, kinds, m, span) for m, span in enumerate(spans)], np.int64).reshape(-1, 4)
    order, result = np.argsort(rows[:, 0], kind="stable"), np.empty(len(rows))
    result[order] = _probabilities(chain, reading, np.ascontiguousarray(rows[order].T))
    return result


def _checked(chain: Chain, kinds: dict[str, int], m: int, span: PlacedSpan) -> tuple[int, int, int, int]:
    try:
        b, start, end, kind = span
    except (TypeError, ValueError):
        raise InputError("spans[{}]: expected (sentence, start, end, type), got {!r}", m, span) from None
    if not 0 <= b < chain.num_sentences:
        raise InputError("spans[{}]: expected a sentence from 0 to {}, got {}", m, chain.num_sentences - 1, b)
    if not 0 <= start < end <= chain.lengths[b]:
        raise InputError(
            "spans[{}]: expected at least one token within the {} of sentence {}, got tokens {} to {}",
            m,
            chain.lengths[b],
            b,
            start,
            end - 1,
        )
    if kind not in kinds:
        raise InputError("spans[{}]: expected a type among {}, got {!r}", m, ", ".join(map(repr, kinds)), kind)
    return b, start, end, kinds[kind]


def _probabilities(chain: Chain, reading: Reading, spans: IntArray) -> Float64Array:
    """Probabilities of checked spans ``[4, M]``, sorted by sentence."""
    if not spans.shape[1]:
        return np.zeros(0)
    chain, _ = centred(chain)
    if engine.engine() == "native":
        from tagline.chain.native import whole_span_probability

        return whole_span_probability(chain, spans, reading.members, reading.continues)
    return _plain_probabilities(chain, reading, *spans)


def _plain_probabilities(
    chain: Chain, reading: Reading, sentence: IntArray, start: IntArray, end: IntArray, kind: IntArray
) -> Float64Array:
    """The definition of what the core does."""
    result = np.empty(len(sentence))
    lattice = _Lattice.of(chain, reading.continues)
    log_z = lattice.log_z(sentence)
    base = chain.offsets[sentence]
    order = np.argsort(start - end, kind="stable")  # the longest first: those still open are always at the front
    step = max(1, MOST_CELLS // (chain.num_labels * reading.members.shape[1]))
    for first in range(0, len(order), step):
        chosen = order[first : first + step]
        group = _Group(
            (base + start)[chosen],
            (base + end - 1)[chosen],
            start[chosen] == 0,
            (base + end)[chosen] == chain.offsets[sentence[chosen] + 1],
            reading.members[kind[chosen]],
        )
        result[chosen] = np.exp(np.minimum(_log_inside(lattice, group) - log_z[chosen], 0.0))
    return result


@dataclass(frozen=True, eq=False)
class _Lattice:
    """A chain with its log α and log β ``[N, L]``, and its transitions in two: into a span, and to another or none."""

    chain: Chain
    log_alpha: Float64Array
    log_beta: Float64Array
    continuing: FloatArray
    breaking: FloatArray

    @classmethod
    def of(cls, chain: Chain, continues: BoolArray) -> _Lattice:
        """Ask the engine, and part the transitions."""
        never = chain.transitions.dtype.type(-np.inf)
        continuing = np.where(continues, chain.transitions, never)
        breaking = np.where(continues, never, chain.transitions)
        return cls(chain, engine.forward(chain), engine.backward(chain), continuing, breaking)

    def log_z(self, sentences: IntArray) -> Float64Array:
        """That of sentences which have tokens."""
        total = _log_sum(self.log_alpha[self.chain.offsets[sentences + 1] - 1] + self.chain.end)
        dead = np.flatnonzero(np.isneginf(total))
        if len(dead):
            raise no_path(int(sentences[dead[0]]))
        return total


@dataclass(frozen=True, eq=False)
class _Group:
    """M spans, the longest first: first and last token among the N of the chain, and the labels of their type."""

    first: IntArray
    last: IntArray
    at_start: BoolArray
    at_end: BoolArray
    members: IntArray  # [M, W], −1 for none


def _log_inside(lattice: _Lattice, group: _Group) -> Float64Array:
    """Log-sum of the scores of all labellings that have a span, ``[M]``: the formulas at the top."""
    emissions, labels = lattice.chain.emissions, group.members
    inside = _enter(lattice, group) + emissions[group.first[:, None], labels]
    inside[labels < 0] = -np.inf
    lengths = group.last - group.first + 1
    for t in range(1, int(lengths[0])):
        m = int(np.searchsorted(-lengths, -t))  # spans of more than t tokens
        token, label = group.first[:m] + t, labels[:m]
        into = _moves(lattice.continuing, token, label[:, None, :], label[:, :, None])  # [m, W, previous W]
        now = _log_sum(inside[:m, None, :] + into) + emissions[token[:, None], label]
        inside[:m] = np.where(label < 0, -np.inf, now)
    return _log_sum(inside + _leave(lattice, group))


def _enter(lattice: _Lattice, group: _Group) -> Float64Array:
    """Log-sum over all beginnings after which a label begins a span, ``[M, W]``; anything for a label of −1."""
    scores = lattice.chain.start[group.members].astype(np.float64)
    inner = np.flatnonzero(~group.at_start)
    first, every = group.first[inner], np.arange(lattice.chain.num_labels)
    into = _moves(lattice.breaking, first, every, group.members[inner, :, None])  # [·, W, L]
    scores[inner] = _log_sum(lattice.log_alpha[first - 1][:, None, :] + into)
    return scores


def _leave(lattice: _Lattice, group: _Group) -> Float64Array:
    """Log-sum over all continuations before which a label ends a span, ``[M, W]``; anything for a label of −1."""
    scores = lattice.chain.end[group.members].astype(np.float64)
    inner = np.flatnonzero(~group.at_end)
    after, every = group.last[inner] + 1, np.arange(lattice.chain.num_labels)
    onward = lattice.chain.emissions[after] + lattice.log_beta[after]
    away = _moves(lattice.breaking, after, group.members[inner, :, None], every)  # [·, W, L]
    scores[inner] = _log_sum(onward[:, None, :] + away)
    return scores


def _moves(transitions: FloatArray, tokens: IntArray, previous: IntArray, label: IntArray) -> FloatArray:
    """Scores ``[M, …, …]`` of transitions into tokens ``[M]``; the labels are indices that broadcast to that shape."""
    at = (previous, label) if transitions.ndim == 2 else (tokens[:, None, None], previous, label)
    return transitions[at]


def _log_sum(values: NDArray[Any]) -> Float64Array:
    """Log Σ exp along the last axis, −∞ for nothing but −∞; a quarter of the time of ``logaddexp.reduce``."""
    top = values.max(axis=-1)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):  # log 0
        return np.asarray(np.log(np.exp(values - top[..., None]).sum(axis=-1)) + top, np.float64)


@dataclass(frozen=True, eq=False)
class FoundSpans:
    """Spans that a model found, sorted by sentence and start.

    Attributes:
        sentence: ``[M]``.
        start, end: ``[M]``, tokens inside the sentence, `end` exclusive.
        kind: ``[M]``, a number in `types`.
        types: the names of the types.
        probability: ``[M]``.
    """

    sentence: IntArray
    start: IntArray
    end: IntArray
    kind: IntArray
    types: tuple[str, ...]
    probability: Float64Array

    @classmethod
    def joined(cls, parts: Sequence[FoundSpans], types: tuple[str, ...]) -> FoundSpans:
        """Return the spans of blocks whose sentences are numbered through."""
        nothing = np.zeros(0, np.int64)
        sentence, start, end, kind = (
            np.concatenate([nothing, *(getattr(part, name) for part in parts)]).astype(np.int64)
            for name in ("sentence", "start", "end", "kind")
        )
        probability = np.concatenate([np.zeros(0), *(part.probability for part in parts)])
        return cls(sentence, start, end, kind, types, probability)

    @classmethod
    def of(cls, rows: Sequence[Sequence[Entity]]) -> FoundSpans:
        """Return those of each sentence; `entities` is the way back."""
        spans = [(b, entity) for b, row in enumerate(rows) for entity in row]
        numbers: dict[str, int] = {}
        columns = [(b, e.start, e.end, numbers.setdefault(e.type, len(numbers))) for b, e in spans]
        sentence, start, end, kind = np.array(columns, np.int64).reshape(-1, 4).T.copy()
        return cls(sentence, start, end, kind, tuple(numbers), np.array([e.probability for _, e in spans], np.float64))

    def entities(self, num_sentences: int, characters: Characters) -> list[list[Entity]]:
        """Return those of each sentence, with their texts where they are known."""
        out: list[list[Entity]] = [[] for _ in range(num_sentences)]
        columns = (self.sentence, self.start, self.end, self.kind, self.probability)
        for b, start, end, kind, probability in zip(*(values.tolist() for values in columns), strict=True):
            text = characters(b, start, end) or ()
            out[b].append(Entity(start, end, self.types[kind], probability, *text))
        return out


def probable_spans(
    chain: Chain, reading: Reading, min_probability: float = 0.0, best: IntArray | None = None, first: int = 0
) -> FoundSpans:
    """Return the spans of the best labelling of each sentence that are probable enough.

    Arguments:
        best: that labelling ``[N]``, where it is known already.
        first: the number of the chain's first sentence.
    """
    spans = reading.placed(engine.viterbi(chain).labels if best is None else best, chain.offsets)
    p = _probabilities(chain, reading, spans)
    if min_probability > 0:
        likely = p >= min_probability
        p, spans = p[likely], spans[:, likely]
    sentence, start, end, kind = spans
    return FoundSpans(sentence + first, start, end, kind, reading.types, p)


def characters_of(X: Any) -> Characters:
    """Say how to find the text of a span in what a model is given: known of a corpus or sentences with texts."""
    if isinstance(X, Corpus):
        return lambda b, start, end: _from_corpus(X, b, start, end)
    if isinstance(X, Sequence):
        return lambda b, start, end: _from_sentence(X[b], start, end)
    return lambda b, start, end: None


def _from_corpus(corpus: Corpus, b: int, start: int, end: int) -> tuple[str, int, int] | None:
    if corpus.texts is None or corpus.token_spans is None:
        return None
    base = int(corpus.offsets[b])
    first, last = int(corpus.token_spans[base + start, 0]), int(corpus.token_spans[base + end - 1, 1])
    return corpus.texts[b][first:last], first, last


def _from_sentence(sentence: Any, start: int, end: int) -> tuple[str, int, int] | None:
    if not isinstance(sentence, Sentence) or sentence.text is None or sentence.spans is None:
        return None
    first, last = sentence.spans[start][0], sentence.spans[end - 1][1]
    return sentence.text[first:last], first, last
