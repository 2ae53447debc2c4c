"""Error analysis: what went wrong with each span, counted and shown.

Each gold span and each predicted span is in exactly one class: the first that holds for it and a span of the other
side.

    correct    same boundary, same type
    type       same boundary, another type
    boundary   they share a token and the type
    both       they share a token
    missed     nothing overlaps (gold spans)      spurious  nothing overlaps (predicted spans)

A gold span may be predicted in two pieces, so the two sides count ``boundary`` and ``both`` each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import check_whole
from tagline.drawing.result_tables import Readable
from tagline.errors import InputError
from tagline.evaluation.alignment import Labellings, align, columns_of
from tagline.evaluation.matching import AUTO, PlacedSpans, SpanPair, pair_spans
from tagline.messages import message
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.types import IntArray

CORRECT, TYPE, BOUNDARY, BOTH, ALONE = range(5)
KINDS = ("type", "boundary", "both", "missed", "spurious")


class FoundSpan(NamedTuple):
    """Tokens ``start`` to ``end`` (exclusive) of a sentence, and their type.

    >>> from tagline import evaluation
    >>> found = evaluation.find_mistakes([["B-PER", "I-PER", "O"]], [["B-PER", "O", "O"]])
    >>> found.examples["boundary"][0].gold
    FoundSpan(start=0, end=2, label='PER')
    """

    start: int
    end: int
    label: str


@dataclass(frozen=True, repr=False)
class Mistake(Readable):
    """One mistake.

    Attributes:
        kind: one of ``KINDS``.
        sentence: its number, from 0.
        gold, predicted: the spans, None where there is none.
        tokens: the sentence, empty where the tokens are not known.

    >>> from tagline import evaluation
    >>> found = evaluation.find_mistakes([["B-PER", "O"]], [["B-LOC", "O"]])
    >>> mistake = found.examples["type"][0]
    >>> mistake.kind, mistake.gold.label, mistake.predicted.label
    ('type', 'PER', 'LOC')
    """

    kind: str
    sentence: int
    gold: FoundSpan | None
    predicted: FoundSpan | None
    tokens: tuple[str, ...] = ()

    def line(self) -> str:
        """Say the mistake."""
        return self.text()

    def text(self) -> str:
        """Return one line, such as ``sentence 3: PER "Anna" found as PER "Anna Berg"``."""
        gold, predicted = ("" if span is None else self._show(span) for span in (self.gold, self.predicted))
        number = self.sentence
        if self.kind == "missed":
            return message("sentence {}: {} missed", number, gold)
        if self.kind == "spurious":
            return message("sentence {}: {} is nothing in gold", number, predicted)
        return message("sentence {}: {} found as {}", number, gold, predicted)

    def _show(self, span: FoundSpan) -> str:
        words = f'"{" ".join(self.tokens[span.start : span.end])}"' if self.tokens else f"{span.start}–{span.end}"
        return f"{span.label} {words}".strip()


@dataclass(frozen=True, repr=False)
class Mistakes(Readable):
    """Counts of each class of error, and examples.

    Attributes:
        rule: how labels became spans.
        gold: gold spans by class: ``correct``, ``type``, ``boundary``, ``both``, ``missed``; together all gold spans.
        predicted: predicted spans by class, with ``spurious`` for ``missed``; together all predicted spans.
        types: (gold type, predicted type, count) of the ``type`` errors, most frequent first.
        examples: for each kind of mistake the first few in the text.

    >>> from tagline import evaluation
    >>> found = evaluation.find_mistakes([["B-PER", "O", "B-LOC"]], [["B-LOC", "O", "O"]])
    >>> found.gold, found.types
    ({'correct': 0, 'type': 1, 'boundary': 0, 'both': 0, 'missed': 1}, (('PER', 'LOC', 1),))
    """

    rule: str
    gold: dict[str, int]
    predicted: dict[str, int]
    types: tuple[tuple[str, str, int], ...]
    examples: dict[str, tuple[Mistake, ...]]

    def line(self) -> str:
        """Say in one line what there is."""
        wrong = {kind: max(side.get(kind, 0) for side in (self.gold, self.predicted)) for kind in KINDS}
        mistakes = ", ".join(f"{count} {kind}" for kind, count in wrong.items() if count)
        return message(
            "{} of {} gold spans correct; {}",
            self.gold["correct"],
            sum(self.gold.values()),
            mistakes or message("no mistakes"),
        )

    def text(self) -> str:
        """Return a table of counts, then the examples."""
        lines: list[str] = [message("spans        gold  predicted")]
        for kind in ("correct", *KINDS):
            counts = [str(side[kind]) if kind in side else "–" for side in (self.gold, self.predicted)]
            lines.append(f"{kind:<8}  {counts[0]:>7}  {counts[1]:>9}")
        for kind, examples in self.examples.items():
            lines += [f"{kind}:", *(f"  {example.text()}" for example in examples)] if examples else []
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return {
            "rule": self.rule,
            "gold": dict(self.gold),
            "predicted": dict(self.predicted),
            "types": [list(row) for row in self.types],
            "examples": {kind: list(map(_as_dict, mistakes)) for kind, mistakes in self.examples.items()},
        }


def find_mistakes(
    gold: Labellings,
    predicted: Labellings,
    rule: str = AUTO,
    *,
    tokens: Labellings | None = None,
    examples: int = 5,
    offsets: ArrayLike | None = None,
) -> Mistakes:
    """Sort spans into classes of errors. ``gold``, ``predicted``, ``rule`` and ``offsets`` as in `evaluate_spans`.

    Arguments:
        tokens: the words, for the examples; those of ``gold`` where it is a corpus.
        examples: how many of each kind are kept.

    >>> gold, guess = [["B-PER", "I-PER", "O"]], [["B-PER", "O", "B-LOC"]]
    >>> mistakes = find_mistakes(gold, guess, tokens=[["Anna", "Berg", "sings"]])
    >>> mistakes.gold["boundary"], mistakes.predicted["spurious"], mistakes.examples["boundary"][0].text()
    (1, 1, 'sentence 0: PER "Anna Berg" found as PER "Anna"')
    """
    pair = align(gold, predicted, offsets)
    return mistakes_of(pair_spans(pair, rule), words_of(tokens, pair.num_tokens, gold), examples)


def words_of(tokens: Labellings | None, num_tokens: int, gold: Labellings | None = None) -> Column | None:
    """Return words as a column, which must have this many: those of `gold` where they are left out, if it has some."""
    if tokens is None and isinstance(gold, Corpus):
        tokens = gold
    if tokens is None:
        return None
    if isinstance(tokens, Corpus):
        column = tokens.column(TOKEN if TOKEN in tokens.columns else tokens.names[0])
    else:
        column, _ = columns_of("tokens", tokens)
    if len(column) != num_tokens:
        raise InputError("tokens: expected {}, one for each label, got {}", num_tokens, len(column))
    return column


def mistakes_of(pair: SpanPair, words: Column | None = None, examples: int = 5) -> Mistakes:
    """Sort spans that are paired already."""
    check_whole("examples", examples, 0)
    of_gold, of_predicted = pair.overlaps
    same_boundary, same_type = pair.agreement(of_gold, of_predicted)
    kinds = np.where(same_boundary, np.where(same_type, CORRECT, TYPE), np.where(same_type, BOUNDARY, BOTH))  # [pairs]
    gold, best_of_gold = _best(kinds, of_gold, of_predicted, len(pair.gold))
    predicted, _ = _best(kinds, of_predicted, of_gold, len(pair.predicted))
    listed: dict[str, tuple[Mistake, ...]] = {}
    for number, kind in ((TYPE, "type"), (BOUNDARY, "boundary"), (BOTH, "both"), (ALONE, "missed")):
        first = np.flatnonzero(gold == number)[:examples]
        listed[kind] = tuple(_mistake(pair, kind, int(g), int(best_of_gold[g]), words) for g in first)
    counts: list[dict[str, int]] = []
    for classes, alone in ((gold, "missed"), (predicted, "spurious")):
        names = ("correct", "type", "boundary", "both", alone)
        counts.append(dict(zip(names, np.bincount(classes, minlength=len(names)).tolist(), strict=True)))
    first = np.flatnonzero(predicted == ALONE)[:examples]
    listed["spurious"] = tuple(_mistake(pair, "spurious", -1, int(p), words) for p in first)
    return Mistakes(
        pair.rule,
        counts[0],
        counts[1],
        _type_confusions(pair, of_gold[kinds == TYPE], of_predicted[kinds == TYPE]),
        listed,
    )


def _best(kinds: IntArray, mine: IntArray, theirs: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return the class of each span of one side and the span of the other side that gave it, −1 for none."""
    best = np.full(count, ALONE, np.int64)
    np.minimum.at(best, mine, kinds)
    partner = np.full(count, -1, np.int64)
    chosen = np.flatnonzero(kinds == best[mine])[::-1]  # backwards: the first in the text is written last
    partner[mine[chosen]] = theirs[chosen]
    return best, partner


def _type_confusions(pair: SpanPair, of_gold: IntArray, of_predicted: IntArray) -> tuple[tuple[str, str, int], ...]:
    L = len(pair.labels)
    cells, counts = np.unique(pair.gold.label[of_gold] * L + pair.predicted.label[of_predicted], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return tuple((pair.labels[cells[k] // L], pair.labels[cells[k] % L], int(counts[k])) for k in order)


def _mistake(pair: SpanPair, kind: str, g: int, p: int, words: Column | None) -> Mistake:
    sentence = int(pair.gold.sentence[g] if g >= 0 else pair.predicted.sentence[p])
    first, last = int(pair.offsets[sentence]), int(pair.offsets[sentence + 1])
    tokens = () if words is None else tuple(words[first:last])
    return Mistake(kind, sentence, _span(pair, pair.gold, g), _span(pair, pair.predicted, p), tokens)


def _span(pair: SpanPair, spans: PlacedSpans, index: int) -> FoundSpan | None:
    if index < 0:
        return None
    first = pair.offsets[spans.sentence[index]]
    return FoundSpan(
        int(spans.start[index] - first), int(spans.end[index] - first), pair.labels[int(spans.label[index])]
    )


def _as_dict(mistake: Mistake) -> dict[str, Any]:
    sides: Sequence[FoundSpan | None] = (mistake.gold, mistake.predicted)
    gold, predicted = (None if span is None else list(span) for span in sides)
    return {"sentence": mistake.sentence, "gold": gold, "predicted": predicted, "tokens": list(mistake.tokens)}
