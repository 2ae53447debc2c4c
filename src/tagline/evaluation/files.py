"""Gold and predicted labels from column files, as `tagline eval` takes them.

One file holds both in its last two columns, gold first, as the CoNLL script reads it; or gold and predicted labels are
the last columns of two files with the same sentences.
"""

from __future__ import annotations

import numpy as np

from tagline.errors import InputError
from tagline.evaluation.alignment import align
from tagline.ragged import row_of
from tagline.readers.columns import read_columns
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.sources import PathLike


def read_pair(gold: PathLike, predicted: PathLike | None, encoding: str = "utf-8") -> tuple[Corpus, Column]:
    """Read a corpus whose column ``tag`` is gold, and the predicted labels of its tokens."""
    corpus = read_columns(gold, encoding=encoding)
    if predicted is not None:
        corpus = corpus.with_column(TAG, last_column(corpus))
        return corpus, last_column(read_checked(predicted, corpus, encoding))
    if len(corpus.names) < 2:
        raise InputError(f"{gold}: expected gold and predicted labels in the last two columns, got one column")
    return corpus.with_column(TAG, corpus.column(corpus.names[-2])), last_column(corpus)


def read_checked(path: PathLike, gold: Corpus, encoding: str) -> Corpus:
    """Read a file that must have the sentences of ``gold``, and its tokens where it has any."""
    corpus = read_columns(path, encoding=encoding)
    pair = align(gold, corpus.with_column(TAG, last_column(corpus)))  # names the sentence that does not fit
    if len(corpus.names) > 1 and TOKEN in gold.columns and len(gold.names) > 1:
        words = align(gold.column(TOKEN), corpus.column(TOKEN), pair.offsets)
        wrong = np.flatnonzero(words.gold != words.predicted)
        if len(wrong):
            n = int(wrong[0])
            b = row_of(pair.offsets, n)
            raise InputError(
                f"{corpus.place(b)}, token {n - int(pair.offsets[b])}: expected {words.labels[words.gold[n]]!r} as in "
                f"gold ({gold.place(b)}), got {words.labels[words.predicted[n]]!r}"
            )
    return corpus


def last_column(corpus: Corpus) -> Column:
    """Return the column that stands last in the file."""
    return corpus.column(corpus.names[-1])
