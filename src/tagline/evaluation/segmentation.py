"""Scores of word segmentation: labels mark where words begin and end, and a word is right if both its ends are.

Every token is in a word. A word begins at the first token of a sentence, at B, S, U, W or O, and after E, L, S, U, W or
O; types (``B-NOUN``) are ignored. This reads BMES, BMEWO, BIES, BILOU and BI(O) alike, proper or not.
Recall is also given apart for words that the training text has (IV) and has not (OOV), as the SIGHAN bake-offs do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.drawing.result_tables import Readable
from tagline.errors import InputError
from tagline.evaluation.alignment import Aligned, Labellings, align
from tagline.evaluation.mistakes import words_of
from tagline.evaluation.scores import Score
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.readers.corpus import Column
from tagline.readers.words import word_begins
from tagline.types import BoolArray, IntArray


@dataclass(frozen=True, repr=False)
class SegmentationScores(Readable):
    """Scores of words.

    Attributes:
        words: counts and scores of all words.
        oov: gold words that the training text lacks, as (right, all); None where it was not given.
        iv: gold words that it has.

    >>> from tagline import evaluation
    >>> scores = evaluation.evaluate_segmentation([["S", "B", "E", "B", "E"]], [["S", "S", "S", "B", "E"]])
    >>> scores.precision, round(scores.recall, 3)
    (0.5, 0.667)
    """

    words: Score
    oov: tuple[int, int] | None = None
    iv: tuple[int, int] | None = None

    @property
    def precision(self) -> float:
        """Share of the predicted words that are right."""
        return self.words.precision

    @property
    def recall(self) -> float:
        """Share of the gold words that were found."""
        return self.words.recall

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return self.words.f1

    @property
    def oov_recall(self) -> float | None:
        """Share of the unknown words that were found; 0 where there are none, None where they are not known."""
        return _share(self.oov)

    @property
    def iv_recall(self) -> float | None:
        """Share of the known words that were found."""
        return _share(self.iv)

    def text(self) -> str:
        """Return the scores in one or two lines."""
        words = self.words
        lines = [
            message(
                "{} words; found: {}; correct: {}; precision: {:.2f}%; recall: {:.2f}%; F1: {:.2f}",
                words.gold,
                words.found,
                words.correct,
                100 * self.precision,
                100 * self.recall,
                100 * self.f1,
            )
        ]
        if self.oov is not None and self.iv is not None:
            lines.append(
                message(
                    "recall of {} words that are not in the training text: {:.2f}%; of {} that are: {:.2f}%",
                    self.oov[1],
                    100 * (self.oov_recall or 0),
                    self.iv[1],
                    100 * (self.iv_recall or 0),
                )
            )
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers."""
        return {**self.words.as_dict(), "oov_recall": self.oov_recall, "iv_recall": self.iv_recall}


def evaluate_segmentation(
    gold: Labellings,
    predicted: Labellings,
    *,
    tokens: Labellings | None = None,
    training_words: Iterable[str] | None = None,
    offsets: ArrayLike | None = None,
) -> SegmentationScores:
    """Score the words that labels cut a text into.

    Arguments:
        gold, predicted, offsets: as in `evaluate_spans`.
        tokens: the characters, as ``gold``; needed with ``training_words``.
        training_words: the words of the training text, for the recall of unknown words.

    >>> scores = evaluate_segmentation(
    ...     [["B", "E", "S"]], [["B", "E", "B"]], tokens=[["北", "京", "人"]], training_words={"人"}
    ... )
    >>> scores.f1, scores.oov_recall
    (1.0, 1.0)
    """
    pair = align(gold, predicted, offsets)
    return segmentation_of(pair, words_of(tokens, pair.num_tokens), training_words)


def segmentation_of(
    pair: Aligned, characters: Column | None, training_words: Iterable[str] | None = None
) -> SegmentationScores:
    """Score labels that were read already; ``characters`` are their tokens."""
    gold_begins, predicted_begins = (word_begins(column, pair.offsets) for column in pair.columns)
    starts, ends = _words(gold_begins)
    right = _right(starts, ends, predicted_begins)
    words = Score(int(right.sum()), int(predicted_begins.sum()), len(starts))
    if training_words is None:
        return SegmentationScores(words)
    if characters is None:
        raise InputError("tokens: expected the characters, to tell which words the training text has, got none")
    known = _known(characters, starts, ends, training_words)
    oov, iv = (int(right[~known].sum()), int((~known).sum())), (int(right[known].sum()), int(known.sum()))
    return SegmentationScores(words, oov, iv)


def _words(begins: BoolArray) -> tuple[IntArray, IntArray]:
    starts = np.flatnonzero(begins).astype(np.int64)
    return starts, np.append(starts[1:], len(begins))[: len(starts)]


def _right(starts: IntArray, ends: IntArray, begins: BoolArray) -> BoolArray:
    """Say of each gold word whether it was predicted: a word begins at its start, the next at its end, none between."""
    before = offsets_of(begins)  # [N + 1], words that begin before each token
    closed = np.append(begins, True)[ends]
    return np.asarray(begins[starts] & closed & (before[ends] - before[starts] == 1), np.bool_)


def _known(tokens: Column, starts: IntArray, ends: IntArray, training_words: Iterable[str]) -> BoolArray:
    lengths = np.array([len(token) for token in tokens.vocabulary], np.int64)
    at = np.append(0, np.cumsum(lengths[tokens.ids])) if len(lengths) else np.zeros(1, np.int64)  # [N + 1], characters
    text = "".join(tokens.strings)
    words = set(training_words)
    cuts = zip(at[starts].tolist(), at[ends].tolist(), strict=True)
    return np.fromiter((text[first:last] in words for first, last in cuts), np.bool_, len(starts))


def _share(counts: tuple[int, int] | None) -> float | None:
    if counts is None:
        return None
    return counts[0] / counts[1] if counts[1] else 0.0
