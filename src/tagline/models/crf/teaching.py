"""What a teacher says about sentences, as a feature CRF can learn it: structural distillation (Wang et al. 2021).

The objective of sentence b is (1 − λ)·(log Z − score(y)) + λ·(log Z − ⟨p, F⟩): y are its gold labels, p the teacher's
probabilities of labels and of label pairs, ⟨p, F⟩ the score that the student expects under them, λ `teacher_weight`.
⟨p, F⟩ is linear in the weights: w · counts, and the counts do not change. So training uses the likelihood of one
labelling y' (the gold one, or the teacher's best where there is none) and adds w · (counts of y' − counts wanted).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline import chain as engine
from tagline.checks import check_number, is_listing, shown_value
from tagline.errors import InputError
from tagline.features.attributes import Attributes, Features
from tagline.features.weights import Structure
from tagline.models.crf.chains import block_of
from tagline.models.crf.extraction import looks_at_mentions
from tagline.models.crf.frequencies import feature_frequencies
from tagline.models.labelled import Lesson, check_sample_weight, read_labels, scheme_of
from tagline.models.sentences import as_sentences, tokens_as_corpus
from tagline.ragged import blocks_of, entries_of, first_entries, offsets_of
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.readers.rules import legal
from tagline.training.choices import ALGORITHMS, algorithm_of
from tagline.training.likelihood import Targets
from tagline.types import BoolArray, Chain, Float64Array, FloatArray, IntArray, sealed

MOST_PAIRS = 1 << 22  # label pairs whose probabilities are held at once


@dataclass(frozen=True, eq=False)
class Teaching:
    """Sentences as their teacher sees them.

    Attributes:
        X: all sentences, those without labels too.
        y: a labelling of each: the gold one, or the teacher's best.
        labels: of the student, sorted: those of the teacher.
        scheme: the tag scheme whose rules hold.
        chains: the teacher's scores in the order of `labels`, under these rules, a block of sentences each.
        gold: ``[B]``, which sentences have gold labels.
        weight: λ.
    """

    X: Any
    y: Any
    labels: list[str]
    scheme: str | None
    chains: Sequence[Chain]
    gold: BoolArray
    weight: float

    def sample_weight(self, sample_weight: ArrayLike | None) -> ArrayLike | None:
        """Return how much each sentence counts: one without labels has the teacher's share alone."""
        if self.weight == 1 or self.gold.all():
            return sample_weight
        sizes = check_sample_weight(sample_weight, len(self.gold))
        share = np.where(self.gold, 1.0, self.weight)
        return share if sizes is None else share * sizes

    def surplus(self, structure: Structure, features: Features, lesson: Lesson) -> Float64Array:
        """Return how much more often the labellings show each weight than what is wanted, ``[structure.size]``.

        Arguments:
            features: of all sentences.
            lesson: the sentences that are learned from.
        """
        B = features.num_sentences
        sizes = np.zeros(B)
        sizes[lesson.sentences] = 1.0 if lesson.weights is None else lesson.weights
        sizes[self.gold] *= self.weight
        labels = np.zeros(features.num_tokens, np.int32)
        kept = np.isin(np.repeat(np.arange(B), np.diff(features.offsets)), lesson.sentences)
        labels[kept] = lesson.labelled.ids
        shown = feature_frequencies(structure, features, Targets(labels, None, sizes))
        return shown - expected_frequencies(structure, features, self.chains, sizes)


def check_teaching(crf: Any, teacher: Any, weight: Any, unlabelled: Any) -> None:
    """Refuse a teacher that cannot be meant, before anything is read."""
    if teacher is None:
        if unlabelled is not None:
            raise InputError("unlabelled: expected a teacher to label them, got none; pass teacher=")
        if weight != 1.0:
            raise InputError("teacher_weight: there is no teacher that {} weighs; pass teacher=", shown_value(weight))
        return
    if crf.local:
        raise InputError("teacher: expected None for {}, got one; a CRF learns from label pairs", type(crf).__name__)
    if crf.stages != 1:
        raise InputError("teacher: expected None with two stages, got one; pass stages=1")
    if looks_at_mentions(crf):
        raise InputError("teacher: expected None with mentions, got one; pass mentions=0, and a template without them")
    check_number("teacher_weight", weight, above=0, most=1)
    model = not isinstance(teacher, type) and callable(getattr(teacher, "chains", None))
    if not model or not hasattr(teacher, "labels_"):
        raise InputError("teacher: expected a fitted model, with chains and labels_, got {}", shown_value(teacher))
    if not (asked := algorithm_of(crf.algorithm)).sums:
        able = ", ".join(name for name, kind in ALGORITHMS.items() if kind.sums)
        raise InputError(
            "algorithm: expected one of {} with a teacher, got {!r}, which looks at one labelling at a time",
            able,
            asked.name,
        )


def taught(
    crf: Any, X: Any, y: Any, teacher: Any, weight: float, unlabelled: Any, before: Sequence[str] = ()
) -> Teaching:
    """Ask a teacher about sentences.

    Arguments:
        crf: the student, whose tag scheme holds.
        X, y: sentences and labels; None in the place of a sentence's labels, or of all, where there are none.
        unlabelled: further sentences without labels.
        before: labels that the student has already.
    """
    gold, y = _known(X, y)
    if unlabelled is not None:
        more = as_sentences(unlabelled)
        X, count = _joined(X, more), len(more)
        y, gold = [*y, *[None] * count], np.concatenate([gold, np.zeros(count, bool)])
    labels = sorted(map(str, teacher.labels_))
    wanted = {label for b in np.flatnonzero(gold).tolist() for label in y[b]}
    if new := sorted({*wanted, *before} - set(labels)):
        raise InputError(
            "teacher: expected one that knows the labels of y, got one of {}; it lacks {}",
            ", ".join(labels),
            ", ".join(new),
        )
    scheme = _scheme(crf.scheme, teacher, X, y, bool(gold.all()))
    rules = None if scheme is None else legal(labels, scheme)
    order = np.array([list(map(str, teacher.labels_)).index(label) for label in labels])
    chains = []
    for chain in teacher.chains(X):
        if type(chain) is not Chain or chain.num_labels != len(labels):
            raise InputError(
                "teacher: expected a model whose chains are over its {} labels, got a {}",
                len(labels),
                type(teacher).__name__,
            )
        chains.append(engine.constrain(_ordered(chain, order), rules=rules))
    best = _best(chains, labels)
    if len(best) != len(y):
        raise InputError("teacher: expected scores of {} sentences, got {}", len(y), len(best))
    filled = [row if known else best[b] for b, (row, known) in enumerate(zip(y, gold.tolist(), strict=True))]
    return Teaching(X, filled, labels, scheme, chains, gold, float(weight))


def _known(X: Any, y: Any) -> tuple[BoolArray, list[Any]]:
    """Which sentences have labels, ``[B]``, and these; None for the others."""
    if y is None:
        if isinstance(X, Corpus) and TAG in X.columns:
            y = X.tags
        elif is_listing(X) or isinstance(X, Corpus):
            y = [None] * sum(1 for _ in X)
        else:
            raise InputError("X: expected sentences that a teacher can read, got {}", type(X).__name__)
    if not is_listing(y):
        raise InputError("y: expected a list of sentences, each a list of labels or None, got {}", type(y).__name__)
    rows = [None if row is None or (len(row) and all(label is None for label in row)) else row for row in y]
    labelled = read_labels(None, [row for row in rows if row is not None])
    if (place := labelled.unknown()) is not None:
        raise InputError(
            "y: expected sentences whose labels are all known, or None in their place, with a teacher, got "
            "{} as one label",
            shown_value(place[1]),
        )
    return np.array([row is not None for row in rows], bool), rows


def _joined(X: Any, more: Any) -> Any:
    """Sentences behind others, as a corpus or as a list."""
    if isinstance(X, Corpus) or isinstance(more, Corpus):
        return joined_corpus([tokens_as_corpus(X), tokens_as_corpus(more)])
    if not is_listing(X) or not is_listing(more):
        raise InputError("unlabelled: expected sentences as X has them, got {}", type(more).__name__)
    return [*X, *more]


def joined_corpus(parts: Sequence[Corpus]) -> Corpus:
    """Return the sentences of all parts, one after the other, with the columns that all have, by their places; no tags.

    >>> joined_corpus([Corpus.from_sentences([(["Anna"], ["N"])]), Corpus.from_sentences([{"word": ["Bob"]}])]).tokens
    [['Anna'], ['Bob']]
    """
    names = [[name for name in part.names if name != TAG] for part in parts]
    width = min(map(len, names))
    columns = {
        names[0][place]: Column.joined([part.column(own[place]) for part, own in zip(parts, names, strict=True)])
        for place in range(width)
    }
    return Corpus(columns, offsets_of(np.concatenate([part.lengths for part in parts])))


def _scheme(name: str | None, teacher: Any, X: Any, y: Any, complete: bool) -> str | None:
    """The tag scheme of the student: "auto" is the teacher's, or where it has none that of the labels."""
    if name == "auto":
        theirs: str | None = getattr(teacher, "scheme_name", None)
        return theirs if theirs is not None or not complete else scheme_of(read_labels(None, y), name)
    return scheme_of(read_labels(None, []), name)


def _ordered(chain: Chain, order: IntArray) -> Chain:
    """A chain with its labels in another order, in float64."""
    pairs = sealed(chain.transitions[..., order[:, None], order].astype(np.float64))
    emissions = sealed(chain.emissions[:, order].astype(np.float64))
    return Chain(emissions, pairs, chain.start[order], chain.end[order], chain.offsets)


def _best(chains: Sequence[Chain], labels: Sequence[str]) -> list[list[str]]:
    """The most probable labelling of each sentence."""
    rows = []
    for chain in chains:
        numbers = engine.viterbi(chain).labels.tolist()
        rows += [[labels[n] for n in numbers[i:j]] for i, j in pairwise(chain.offsets.tolist())]
    return rows


def expected_frequencies(
    structure: Structure, features: Features, chains: Sequence[Chain], sizes: Float64Array
) -> Float64Array:
    """Return how often chains expect each weight to be used, ``[structure.size]``.

    (attribute, label) counts Σ_n size · value · P(y_n = label), (previous, label) Σ_n size · P(y_(n−1), y_n).

    Arguments:
        chains: blocks of the sentences of `features`, over the same labels.
        sizes: how much each sentence counts, ``[B]``.
    """
    total, first = np.zeros(structure.size), 0
    parts, L = structure.parts, structure.num_labels
    pairs = structure.edge_pairs[:, 0].astype(np.int64) * L + structure.edge_pairs[:, 1]
    for chain in _small(chains):
        last = first + len(chain.offsets) - 1
        block = block_of(features, first, last)
        if (block.offsets != chain.offsets).any():
            raise InputError("teacher: expected scores of every token of X, got others; it reads other sentences")
        weights = np.repeat(sizes[first:last], np.diff(chain.offsets))
        answer = engine.marginals(chain, edges=True)
        assert answer.edges is not None
        nodes, edges = answer.nodes * weights[:, None], answer.edges * weights[:, None, None]
        total[parts["states"]] += _spread(block.states, structure.state_offsets, structure.state_labels, nodes)
        total[parts["transitions"]] += edges.sum(axis=0)[tuple(structure.transitions.T)]
        if block.edges is not None:
            total[parts["edges"]] += _spread(block.edges, structure.edge_offsets, pairs, edges.reshape(-1, L * L))
        begins = first_entries(chain.offsets)
        if structure.start:
            total[parts["start"]] += nodes[begins].sum(axis=0)
        if structure.end:
            total[parts["end"]] += nodes[np.append(begins[1:], True)].sum(axis=0) if len(nodes) else 0
        first = last
    return total


def _small(chains: Sequence[Chain]) -> Iterator[Chain]:
    """The same sentences in blocks of up to `MOST_PAIRS` label pairs."""
    for chain in chains:
        most = max(1, MOST_PAIRS // chain.num_labels**2)
        for first, last in blocks_of(chain.offsets, most):
            begin, end = int(chain.offsets[first]), int(chain.offsets[last])
            offsets = chain.offsets[first : last + 1] - begin
            pairs = chain.transitions[begin:end] if chain.transitions.ndim == 3 else chain.transitions
            yield Chain(chain.emissions[begin:end], pairs, chain.start, chain.end, offsets)


def _spread(attributes: Attributes, offsets: IntArray, places: NDArray[Any], rows: FloatArray) -> Float64Array:
    """Add the rows of tokens, ``[N, width]``, up over the weights of their attributes, ``[offsets[-1]]``."""
    entries = entries_of(offsets, attributes.ids.astype(np.int64))
    widths = np.diff(offsets)[attributes.ids]
    tokens = np.repeat(np.arange(attributes.num_tokens), np.diff(attributes.offsets))
    values = rows[np.repeat(tokens, widths), places[entries]]
    if attributes.values is not None:
        values = values * np.repeat(attributes.values, widths)
    return np.bincount(entries, values, minlength=int(offsets[-1])).astype(np.float64)
