"""The values that travel between the rooms of Tagline: frozen, with their shapes stated.

A `Chain` is the meeting point of every model and every query: a model turns sentences into a chain, the engine
(`tagline.chain`) answers questions about it. Sentences are ragged: `N` tokens in one array, and `offsets [B + 1]`
that say where each of the `B` sentences starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.checks import as_array
from tagline.drawing.grids import grid
from tagline.drawing.result_tables import table
from tagline.errors import InputError, TaglineError
from tagline.messages import message

FloatArray: TypeAlias = NDArray[np.floating[Any]]
Float64Array: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

LabelSet: TypeAlias = int | Iterable[int]
"""One label, or several of which any will do."""

SpanQuery: TypeAlias = tuple[int, int, Sequence[LabelSet]]
"""(sentence, first token, one label set for each token of the span)."""

_PICTURES = "tagline.plots"  # named and not imported: it asks the engine, which works without it
MOST_DRAWN = 60  # tokens and labels of a chain that a notebook shows as a trellis
MOST_SHOWN = 20  # labellings, and labels of each, in a notebook

# Sums of 10^8 float64 scores below this size stay finite; float32 scores always do, being summed in float64.
_LARGEST_FLOAT64 = 1e290


@dataclass(frozen=True, eq=False)
class Chain:
    """Scores on a batch of linear chains.

    The score of a labelling y of one sentence with T tokens is
    ``start[y0] + emissions[0, y0] + Σ_t (transitions[y(t-1), y(t)] + emissions[t, y(t)]) + end[y(T-1)]``.

    Arguments:
        emissions: ``[N, L]``, the tokens of all sentences one after the other.
        transitions: ``[L, L]`` as ``[previous, next]``; or ``[N, L, L]``, where ``transitions[n]`` leads into token
            ``n`` and the entry at the first token of a sentence is never read.
        start, end: ``[L]``, zeros when left out.
        offsets: ``[B + 1]``, sentence ``b`` is tokens ``offsets[b]:offsets[b + 1]``; one sentence when left out.

    A score of −∞ forbids; NaN and +∞ are errors. Arrays may be float32 or float64 (others are converted); the chain
    is float32 when every floating-point array is (float16 counts as float32), float64 otherwise.

    A chain never changes: arrays that can be written to are copied, read-only ones are kept. Set
    ``emissions.flags.writeable = False`` to save the copy of a large array.

    >>> Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]]).num_labels
    2
    """

    emissions: FloatArray
    transitions: FloatArray
    start: FloatArray
    end: FloatArray
    offsets: IntArray
    _highest: float = field(init=False, repr=False)  # score of all that may be read; −∞ where there is none

    def __init__(
        self,
        emissions: ArrayLike,
        transitions: ArrayLike,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
    ) -> None:
        arguments = {"emissions": emissions, "transitions": transitions, "start": start, "end": end}
        scores = _as_scores(
            {
                name: as_array(name, value)
                for name, value in arguments.items()
                if value is not None or name in ("emissions", "transitions")
            }
        )
        if scores["emissions"].ndim != 2 or scores["emissions"].shape[1] < 1:
            raise InputError(
                "emissions: expected shape [tokens, labels] with at least one label, got {}; for several "
                "sentences, join their tokens and pass offsets",
                list(scores["emissions"].shape),
            )
        N, L = scores["emissions"].shape
        if scores["transitions"].shape not in ((L, L), (N, L, L)):
            raise InputError(
                "transitions: expected shape [{0}, {0}] or [{1}, {0}, {0}] to match the emissions, got {2}",
                L,
                N,
                list(scores["transitions"].shape),
            )
        checked_offsets = _as_offsets(offsets, N)
        for name in ("start", "end"):
            row = scores.setdefault(name, np.zeros(L, scores["emissions"].dtype))
            if row.shape != (L,):
                raise InputError("{}: expected shape [{}], one score a label, got {}", name, L, list(row.shape))
        highest = [_check_values(name, scores[name]) for name in ("start", "end")]
        highest.append(_check_values("emissions", scores["emissions"], checked_offsets))
        highest.append(_check_transitions(scores["transitions"], checked_offsets))
        object.__setattr__(self, "_highest", max(highest))
        for name, values in (*scores.items(), ("offsets", checked_offsets)):
            object.__setattr__(self, name, sealed(values))

    @classmethod
    def from_sentences(
        cls,
        emissions: Sequence[ArrayLike],
        transitions: ArrayLike,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
    ) -> Chain:
        """Join the emissions ``[T_b, L]`` of several sentences into one chain with shared transitions ``[L, L]``."""
        if (
            isinstance(emissions, str | bytes)
            or not isinstance(emissions, Iterable)
            or getattr(emissions, "ndim", 1) < 1
        ):
            raise InputError("emissions: expected a list of sentences, got {}", type(emissions).__name__)
        rows = [as_array(message("emissions of sentence {}", b), sentence) for b, sentence in enumerate(emissions)]
        matrix = as_array("transitions", transitions)
        if matrix.ndim != 2:
            raise InputError("transitions: expected shape [labels, labels], got {}", list(matrix.shape))
        width = len(matrix)
        rows = [row if row.size else np.empty((0, width), row.dtype) for row in rows]
        for b, row in enumerate(rows):
            if row.ndim != 2 or row.shape[1] != width:
                raise InputError(
                    "emissions of sentence {}: expected shape [tokens, {}], got {}", b, width, list(row.shape)
                )
        joined = np.concatenate(rows) if rows else np.empty((0, width))
        return cls(joined, transitions, start, end, np.cumsum([0, *(len(row) for row in rows)]))

    @property
    def num_tokens(self) -> int:
        """N, over all sentences."""
        return int(self.emissions.shape[0])

    @property
    def num_labels(self) -> int:
        """L."""
        return int(self.emissions.shape[1])

    @property
    def num_sentences(self) -> int:
        """B."""
        return len(self.offsets) - 1

    @property
    def per_position(self) -> bool:
        """Whether the transitions are ``[N, L, L]``."""
        return self.transitions.ndim == 3

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sentence, ``[B]``."""
        return np.diff(self.offsets)

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut an array whose first axis runs over the tokens into one view for each sentence."""
        return [values[first:last] for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def __repr__(self) -> str:
        kind = " per position" if self.per_position else ""
        return (
            f"Chain({self.num_sentences} sentences, {self.num_tokens} tokens, {self.num_labels} labels, "
            f"{self.emissions.dtype}, transitions{kind})"
        )

    def _repr_html_(self) -> str:
        if self.num_sentences == 1 and 0 < self.num_tokens <= MOST_DRAWN and self.num_labels <= MOST_DRAWN:
            with suppress(ImportError, TaglineError):  # without the pictures, or without a possible labelling: scores
                drawn: str = import_module(_PICTURES).trellis(self).html()
                return f"<div><b>{escape(repr(self))}</b></div>{drawn}"
        first = self.emissions[: self.offsets[1]] if self.num_sentences else self.emissions[:0]
        below = "emissions of the first sentence; tagline.plots.trellis(chain, 0) draws it"
        return grid(first, title=repr(self), note=below)


@dataclass(frozen=True, eq=False)
class Paths:
    """One labelling for each sentence.

    Attributes:
        labels: ``[N]``, the labels of all sentences one after the other (`Chain.split` cuts them).
        scores: ``[B]``, the score of each labelling, float64.

    >>> from tagline import Chain, chain
    >>> best = chain.viterbi(Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]]))
    >>> best.labels.tolist(), best.scores.tolist()
    ([0, 1], [2.5])
    """

    labels: IntArray
    scores: Float64Array

    def __repr__(self) -> str:
        return f"Paths({len(self.scores):,} sentences, {len(self.labels):,} tokens)"


@dataclass(frozen=True, eq=False)
class ViterbiTable:
    """How the best labelling is found: what Viterbi's algorithm writes down on its way.

    Attributes:
        scores: ``[N, L]``, δ: the score of the best beginning that gives a token a label, emission included, end not.
        back: ``[N, L]``, the label before it in that beginning; −1 at the first token of a sentence.

    >>> from tagline import Chain, chain
    >>> table = chain.viterbi_table(Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]]))
    >>> table.scores.round(4).tolist(), table.back.tolist()
    ([[1.0, 0.5], [2.4, 2.5]], [[-1, -1], [0, 0]])
    """

    scores: Float64Array
    back: IntArray

    def __repr__(self) -> str:
        N, L = self.scores.shape
        return f"ViterbiTable({N:,} tokens, {L} labels)"

    def _repr_html_(self) -> str:
        below = "score of the best beginning, and the label before; tagline.plots.viterbi_table draws it"
        return grid(self.scores, title=repr(self), note=below, beside=self.back)


@dataclass(frozen=True, eq=False)
class RankedPaths:
    """The best labellings of one sentence, best first.

    Attributes:
        labels: ``[K, T]``.
        scores: ``[K]``, float64, non-increasing.
        probabilities: ``[K]``, of each labelling among *all* labellings.

    >>> from tagline import Chain, chain
    >>> ranked = chain.k_best(Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]]), k=3)[0]
    >>> ranked.labels.tolist(), ranked.scores.round(4).tolist()
    ([[0, 1], [0, 0], [1, 0]], [2.5, 2.4, 2.3])
    """

    labels: IntArray
    scores: Float64Array
    probabilities: Float64Array

    def __repr__(self) -> str:
        shown = " ".join(f"{probability:.3f}" for probability in self.probabilities[:5])
        more = " …" if len(self.probabilities) > 5 else ""
        K, T = self.labels.shape
        return f"RankedPaths({K} labellings of {T} tokens, probabilities {shown}{more})"

    def _repr_html_(self) -> str:
        rows = [
            [f"{self.probabilities[k]:.4f}", f"{self.scores[k]:.3f}", " ".join(map(str, self.labels[k, :MOST_SHOWN]))]
            for k in range(min(len(self.labels), MOST_SHOWN))
        ]
        return table(["probability", "score", "labels"], rows, aligned="rrl", title=repr(self))


@dataclass(frozen=True, eq=False)
class Marginals:
    """Probabilities of labels and of label pairs.

    Attributes:
        nodes: ``[N, L]``, P(y_n = j).
        edges: ``[N, L, L]``, P(y_(n-1) = i, y_n = j), zeros at the first token of a sentence; None unless asked for.
        log_z: ``[B]``, float64.

    >>> from tagline import Chain, chain
    >>> answer = chain.marginals(Chain([[0.0, 0.0]] * 2, [[0.0, 0.0]] * 2), edges=True)
    >>> answer.nodes.tolist(), answer.edges[1].tolist()
    ([[0.5, 0.5], [0.5, 0.5]], [[0.25, 0.25], [0.25, 0.25]])
    """

    nodes: FloatArray
    edges: FloatArray | None
    log_z: Float64Array

    def __repr__(self) -> str:
        N, L = self.nodes.shape
        edges = "" if self.edges is None else ", with label pairs"
        return f"Marginals({len(self.log_z):,} sentences, {N:,} tokens, {L} labels{edges})"

    def _repr_html_(self) -> str:
        return grid(self.nodes, title=repr(self), note="probability of each label", most=1.0)


@dataclass(frozen=True, eq=False)
class PerScore:
    """One number for each score of a chain.

    Attributes:
        emissions: ``[N, L]``.
        transitions: ``[L, L]`` summed over the batch, or ``[N, L, L]`` where the chain's are.
        start, end: ``[L]``, summed over the batch.
    """

    emissions: FloatArray
    transitions: FloatArray
    start: Float64Array
    end: Float64Array


@dataclass(frozen=True, eq=False)
class Counts(PerScore):
    """How often each score of a chain is expected to be used; for emissions these are the node marginals.

    Attributes:
        log_z: ``[B]``, float64.

    >>> from tagline import Chain, chain
    >>> counts = chain.expected_counts(Chain([[0.0, 0.0]] * 3, [[0.0, 0.0]] * 2))
    >>> counts.start.tolist(), counts.emissions.tolist()
    ([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    """

    log_z: Float64Array


@dataclass(frozen=True, eq=False)
class Gradients(PerScore):
    """Derivatives of Σ_b log p(labels of sentence b) with respect to the scores; 0 where a score is −∞.

    Attributes:
        log_likelihood: ``[B]``, log p of each sentence, float64.

    >>> from tagline import Chain, chain
    >>> slopes = chain.gradients(Chain([[0.0, 0.0]] * 2, [[0.0, 0.0]] * 2), [0, 1])
    >>> slopes.emissions.tolist(), slopes.log_likelihood.round(4).tolist()
    ([[0.5, -0.5], [-0.5, 0.5]], [-1.3863])
    """

    log_likelihood: Float64Array


def _as_scores(arrays: dict[str, NDArray[Any]]) -> dict[str, FloatArray]:
    """Return the arrays in one type of number, float32 where every array of floating-point numbers is at most that."""
    sizes = []
    for name, array in arrays.items():
        if array.size and (array.dtype.kind not in "fiu" or array.dtype.itemsize > 8):
            raise InputError("{}: expected float32 or float64 numbers, got dtype {}", name, array.dtype)
        if array.dtype.kind == "f":
            sizes.append(array.dtype.itemsize)
    dtype = np.float32 if sizes and max(sizes) <= 4 else np.float64
    return {name: _own(array, np.ascontiguousarray(array, dtype=dtype)) for name, array in arrays.items()}


def _own(array: NDArray[Any], converted: FloatArray) -> FloatArray:
    """Return the converted array, or a copy where somebody can write to it through the array that it is made of."""
    if converted.size and not np.may_share_memory(array, converted):
        return converted
    owner: Any = converted
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        owner = owner.base
    return converted.copy() if isinstance(owner, np.ndarray) else converted


def _as_offsets(offsets: ArrayLike | None, N: int) -> IntArray:
    if offsets is None:
        return np.array([0, N], dtype=np.int64)
    array = as_array("offsets", offsets)
    if array.ndim != 1 or len(array) < 1 or array.dtype.kind not in "iu":
        raise InputError(
            "offsets: expected integers of shape [sentences + 1], got {} {}", array.dtype, list(array.shape)
        )
    starts = np.array(array, dtype=np.int64)
    if starts[0] != 0 or starts[-1] != N:
        raise InputError("offsets: expected to run from 0 to {} (the tokens), got {} to {}", N, starts[0], starts[-1])
    falls = starts[1:] < starts[:-1]
    if falls.any():
        b = int(falls.argmax())
        raise InputError("offsets[{}]: expected at least {} (they never fall), got {}", b + 1, starts[b], starts[b + 1])
    return starts


def _limit(values: FloatArray) -> float:
    return _LARGEST_FLOAT64 if values.dtype == np.float64 else np.inf


def place_of(offsets: IntArray, n: int) -> str:
    """Say where token n is, for messages that have its number; nothing where there is one sentence.

    >>> place_of(np.array([0, 2, 5]), 3)
    ' (sentence 1, token 1)'
    """
    b = int(np.searchsorted(offsets, n, side="right")) - 1
    return message(" (sentence {}, token {})", b, n - offsets[b]) if len(offsets) > 2 else ""


def _check_values(name: str, values: FloatArray, offsets: IntArray | None = None, place: str = "") -> float:
    """Raise at NaN, +∞ and scores beyond all bounds; return the largest score.

    Arguments:
        offsets: of values whose rows are tokens, to tell the place of a wrong one.
        place: of all values, where it is known.
    """
    # NaN and +∞ fail the first comparison; it is all that float32 needs. In float64 a forbidden score fails the second.
    limit, highest = _limit(values), float(values.max(initial=-np.inf))
    if not values.size or (highest < limit and (limit == np.inf or values.min() > -limit)):
        return highest
    bad = ~((np.abs(values) < limit) | np.isneginf(values))
    if bad.any():
        where = tuple(int(axis[0]) for axis in np.nonzero(bad))
        place = f"[{', '.join(map(str, where))}]" + (place if offsets is None else place_of(offsets, where[0]))
        raise InputError("{}{}: expected a finite score or -inf (forbidden), got {}", name, place, values[where])
    return highest


def _check_transitions(transitions: FloatArray, offsets: IntArray) -> float:
    if transitions.ndim == 2:
        return _check_values("transitions", transitions)
    high, low = transitions.max(axis=(1, 2)), transitions.min(axis=(1, 2))  # [N]; NaN and +∞ fail the comparisons
    limit = _limit(transitions)
    unread = offsets[:-1][np.diff(offsets) > 0]  # the entries at first tokens
    suspect = ~((high < limit) & (low > -limit))
    suspect[unread] = False
    for n in np.flatnonzero(suspect).tolist():
        _check_values(f"transitions[{n}]", transitions[n], place=place_of(offsets, n))
    high[unread] = -np.inf
    return float(high.max(initial=-np.inf))


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that is ours, now read-only: a `Chain` keeps it as it is."""
    array.flags.writeable = False
    return array
