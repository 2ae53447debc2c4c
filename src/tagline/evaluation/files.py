"""Gold and predicted labels from column files, as `tagline eval` takes them.

One file holds both in its last two columns, gold first, as the CoNLL script reads it; or gold and predicted labels are
the last columns of two files with the same sentences.
"""

from __future__ import annotations

import numpy as np

from tagline.errors import InputError
from tagline.evaluation.alignment import align
from tagline.evaluation.matching import rule_for_labels
from tagline.evaluation.report import Report, evaluate
from tagline.ragged import row_of
from tagline.readers.columns import read_columns
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.sources import PathLike


def evaluate_files(
    gold: PathLike,
    predicted: PathLike | None = None,
    *,
    scheme: str | None = None,
    strict: bool = False,
    tokens_only: bool = False,
    compare: PathLike | None = None,
    examples: int = 5,
    resamples: int = 0,
    seed: int = 0,
    encoding: str = "utf-8",
) -> Report:
    """Score the predicted labels of one or two column files.

    Labels that are of no tag scheme and mark no spans, such as parts of speech, are scored by tokens.

    Arguments:
        gold: a file whose last column is gold; without ``predicted``, its last two are gold and predicted.
        predicted: a file with the same sentences whose last column is predicted.
        scheme: of the labels; detected where the rule needs one and it is left out.
        strict: only well-formed spans count.
        tokens_only: score tokens, whatever the labels are.
        compare: another output, the last column of a file with the same sentences.
        examples, resamples, seed: as in `tagline.evaluation.evaluate`.
        encoding: of the files.
    """
    corpus, guesses = read_pair(gold, predicted, encoding)
    other = None if compare is None else last_column(read_checked(compare, corpus, encoding))
    rule: str | None = ("strict" if strict else "conlleval") + (f":{scheme}" if scheme else "")
    labels = {*corpus.column(TAG).vocabulary, *guesses.vocabulary}
    if tokens_only or (scheme is None and rule_for_labels(labels) is None and not any(map(_marks_span, labels))):
        rule = None
    return evaluate(corpus, guesses, rule, other=other, examples=examples, resamples=resamples, seed=seed)


def _marks_span(label: str) -> bool:
    """Say whether a label looks like B-PER, or is a bracket, as the CoNLL script knows them.

    Labels of another form beside it are mistakes then, and not parts of speech.
    """
    return label[:1] in ("[", "]") or (len(label) > 2 and label[0].isalpha() and label[1] in "-_")


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
