"""From tags to spans, and from one scheme to another.

Converting reads the spans of the source and writes them in the target's letters. Two schemes cannot hold everything,
and `LossyConversionWarning` says what is lost, with a count: IO does not part neighbouring spans of one type, and
BMES-words knows neither types nor tokens outside words.
"""

from __future__ import annotations

import warnings

import numpy as np

from tagline.messages import message
from tagline.readers.corpus import TAG, Column
from tagline.readers.rules import Scheme, scheme
from tagline.readers.spans import Span, SpanArray
from tagline.readers.tag_writing import touching, write_tags
from tagline.readers.tagged import Form, Tagged
from tagline.readers.validation import read_spans, separator_of
from tagline.types import IntArray


class LossyConversionWarning(UserWarning):
    """A conversion after which the spans may not be those that were meant."""


def tags_to_spans(tags: list[str], name: str | Scheme, repair: str = "raise") -> list[Span]:
    """Read the spans of one sentence: (first token, token after the last, label).

    Arguments:
        tags: of the scheme.
        name: the scheme or its name.
        repair: what to make of improper tags: ``raise``, ``conlleval`` or ``discard``.

    >>> tags_to_spans(["B-PER", "E-PER", "O", "S-LOC"], "BIOES")
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    """
    tagged = Tagged.of([tags])
    return read_spans(tagged, scheme(name), repair)[0].to_lists(1)[0]


def convert(
    tags: Form, source: str | Scheme, target: str | Scheme, *, repair: str = "raise", column: str = TAG
) -> Form:
    """Write tags in another scheme.

    Arguments:
        tags: a sentence, a list of sentences, or a corpus, whose column `column` is replaced.
        source, target: schemes or their names.
        repair: what to make of improper tags: ``raise``, ``conlleval`` or ``discard``.

    Where something is or may be lost, a `LossyConversionWarning` says what. The separator of the source is kept.

    >>> convert(["B-PER", "I-PER", "O", "B-LOC"], "IOB2", "BIOES")
    ['B-PER', 'E-PER', 'O', 'S-LOC']
    """
    tagged = Tagged.of(tags, column)
    spans, _ = read_spans(tagged, scheme(source), repair)
    converted: Form = tagged.like_original(_written(tagged, spans, scheme(source), scheme(target)))
    return converted


def _written(tagged: Tagged, spans: SpanArray, source: Scheme, target: Scheme) -> Column:
    losses: list[str] = []
    merged = int(touching(spans).sum())
    if target.family == "IO" and merged:
        losses.append(message("{} spans merge with the one of their type before them", merged))
    long = int((spans.end - spans.start > 1).sum())
    if source.family == "IO" != target.family and long:
        losses.append(message("{} spans of several tokens may each have been several spans of one type", long))
    if not target.typed:
        spans = _as_words(spans, tagged.offsets, losses)
    if losses:
        shown = "; ".join(losses)
        text = message("{} to {} is lossy: {}", source.name, target.name, shown)
        warnings.warn(text, LossyConversionWarning, stacklevel=3)
    return write_tags(spans, tagged.offsets, target, separator_of(tagged.column))


def _as_words(spans: SpanArray, offsets: IntArray, losses: list[str]) -> SpanArray:
    """Drop the types; make each token outside all spans a word of its own."""
    typed = int(sum((spans.numbered([name]) == 0).sum() for name in spans.labels if name))
    if typed:
        losses.append(message("{} spans lose their type", typed))
    base = offsets[spans.sentence]
    first, end = base + spans.start, base + spans.end
    depth = np.zeros(int(offsets[-1]) + 1, np.int64)
    np.add.at(depth, first, 1)
    np.add.at(depth, end, -1)
    outside = np.flatnonzero(np.cumsum(depth)[:-1] == 0)
    if len(outside):
        losses.append(message("{} tokens outside become words of their own", len(outside)))
    first, end = np.append(first, outside), np.append(end, outside + 1)
    order = np.argsort(first)
    first, end = first[order], end[order]
    sentence = np.searchsorted(offsets, first, "right") - 1
    base = offsets[sentence]
    return SpanArray(sentence, first - base, end - base, np.zeros(len(first), np.int32), ("",))
