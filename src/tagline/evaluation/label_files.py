"""Gold and predicted labels from files, as `tagline eval` takes them.

One file holds both in its last two columns, gold first, as the CoNLL script reads it; or gold and predicted labels are
the last columns of two files with the same sentences. Segmented text comes in two files, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np

from tagline.errors import InputError
from tagline.evaluation.alignment import align
from tagline.evaluation.matching import rule_for_labels
from tagline.evaluation.report import SEGMENTATION_RULE, Report, evaluate
from tagline.messages import message
from tagline.ragged import row_of
from tagline.readers import format_of, read
from tagline.readers.blocks import read_lines
from tagline.readers.columns import BrokenLineError
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.jsonl import parse_json
from tagline.readers.looks import COLUMNS, MOST_LINES, TEXT, is_segmented, looks_like
from tagline.readers.sources import PathLike, name_of
from tagline.readers.training_files import advised, check_labels, first_lines
from tagline.readers.words import words_of_sentences

FORMS = ("columns", "words")
LEAST_SHARED = 0.05  # of tokens whose gold label marks a span or is also predicted; some words do, such as e-mail


def evaluate_files(
    gold: PathLike,
    predicted: PathLike | None = None,
    *,
    scheme: str | None = None,
    strict: bool = False,
    script: bool = False,
    tokens_only: bool = False,
    compare: PathLike | None = None,
    examples: int = 5,
    resamples: int = 0,
    seed: int = 0,
    encoding: str = "utf-8",
    form: str = "columns",
    training_words: Iterable[str] | None = None,
) -> Report:
    """Score the predicted labels of one or two column files, or of two files of segmented text.

    Labels that are of no tag scheme and mark no spans, such as parts of speech, are scored by tokens.

    Arguments:
        gold: a file whose last column is gold; without ``predicted``, its last two are gold and predicted.
        predicted: a file with the same sentences whose last column is predicted.
        scheme: of the labels; detected where the rule needs one and it is left out.
        strict: only well-formed spans count.
        script: read spans exactly as the CoNLL script does, whatever the scheme.
        tokens_only: score tokens, whatever the labels are.
        compare: another output, the last column of a file with the same sentences.
        examples, resamples, seed: as in `tagline.evaluation.evaluate`.
        encoding: of the files.
        form: ``columns``, or ``words`` for segmented text.
        training_words: of the training text, for the recall of unknown words of segmentation.
    """
    corpus, guesses = read_pair(gold, predicted, encoding, form)
    other = None if compare is None else last_column(read_checked(compare, corpus, encoding, form))
    rule: str | None = _rule(scheme, strict, script)
    labels = {*corpus.column(TAG).vocabulary, *guesses.vocabulary}
    if form == "columns" and is_segmented(first_lines(corpus)):
        check_labels(corpus)
    if tokens_only or (scheme is None and rule_for_labels(labels) is None and not any(map(_marks_span, labels))):
        rule = None
    if form == "words" and rule is not None:
        rule = SEGMENTATION_RULE
    return evaluate(
        corpus,
        guesses,
        rule,
        other=other,
        training_words=training_words,
        examples=examples,
        resamples=resamples,
        seed=seed,
    )


def _rule(scheme: str | None, strict: bool, script: bool) -> str:
    if script and (strict or scheme):
        raise InputError("--conlleval: expected no {} beside it, got both", "--strict" if strict else "--scheme")
    if script or scheme:
        return ("strict" if strict else "conlleval") + (f":{scheme}" if scheme else "")
    return "strict" if strict else "auto"


def _marks_span(label: str) -> bool:
    """Say whether a label looks like B-PER, or is a bracket, as the CoNLL script knows them.

    Labels of another form beside it are mistakes then, and not parts of speech.
    """
    return label[:1] in ("[", "]") or (len(label) > 2 and label[0].isalpha() and label[1] in "-_")


def read_training_words(path: PathLike, encoding: str = "utf-8") -> set[str]:
    """Read the distinct words of a training text: segmented, or columns whose last one has the tags of words."""
    lines = [line for _, line in islice(read_lines(path, encoding), MOST_LINES)]
    form = "columns" if looks_like(lines) == COLUMNS and not is_segmented(lines) else "words"
    corpus = _read(path, encoding, form)
    if TAG not in corpus.columns:
        raise InputError("{}: expected segmented text, or characters with the tags of words, got one column", path)
    return {word for sentence in words_of_sentences(corpus) for word in sentence}


def _read(path: PathLike, encoding: str, form: str) -> Corpus:
    if _are_lines_of_json(path, form):
        form = "jsonl"
    try:
        return read(path, form, encoding=encoding)
    except BrokenLineError as error:
        raise advised(error, path, encoding) from None


def read_pair(
    gold: PathLike, predicted: PathLike | None, encoding: str = "utf-8", form: str = "columns"
) -> tuple[Corpus, Column]:
    """Read a corpus whose column ``tag`` is gold, and the predicted labels of its tokens."""
    if form not in FORMS:
        raise InputError("format: expected {}, got {!r}", message(" or ").join(FORMS), form)
    if form == "words" and predicted is None:
        raise InputError("{}: expected a second file with the words that were found, got one; name both", gold)
    corpus = _read(gold, encoding, form)
    if predicted is not None:
        corpus = corpus.with_column(TAG, last_column(corpus))
        return corpus, last_column(read_checked(predicted, corpus, encoding, form))
    if len(corpus.names) < 2:
        raise InputError("{}: expected gold and predicted labels in the last two columns, got one column", gold)
    if _are_lines_of_json(gold, form):
        return corpus.with_column(TAG, _gold_tags(gold, encoding, corpus)), last_column(corpus)
    labels, guesses = corpus.column(corpus.names[-2]), last_column(corpus)
    if looks_like(first_lines(corpus)) == TEXT:
        raise InputError(
            "{}: this looks like text, a sentence a line; name a file with a token and its tags a line", gold
        )
    if not _are_rivals(labels, guesses):
        raise InputError(
            "{}: the last column has tags, but the one before it does not have such tags: there are no "
            "predictions to score; name a second file with them, or tag this one first: tagline tag -m MODEL FILE "
            "| tagline eval -",
            gold,
        )
    return corpus.with_column(TAG, labels), guesses


def _are_lines_of_json(path: PathLike, form: str) -> bool:
    return form == "columns" and format_of(path) == "jsonl"


def _gold_tags(path: PathLike, encoding: str, corpus: Corpus) -> Column:
    """The tags that `tagline tag` found in a file of JSON lines, and kept beside its own."""
    items = [parse_json(f"{name_of(path)}:{n}", line) for n, line in read_lines(path, encoding) if line.strip()]
    rows = [item.get("gold_tags") for item in items]
    if not all(isinstance(row, list) and len(row) == count for row, count in zip(rows, corpus.lengths, strict=True)):
        raise InputError(
            "{}: expected gold_tags beside the tags of each sentence, got some without: there are no "
            "predictions to score; name a second file with them",
            path,
        )
    return Column.of(str(tag) for row in rows for tag in row)


def _are_rivals(gold: Column, predicted: Column) -> bool:
    """Whether two columns can be two opinions on the same tokens, and not tokens and their tags."""
    known = {*predicted.vocabulary}
    shared = np.array([label in known or _marks_span(label) for label in gold.vocabulary])
    if len(gold) == 0 or shared[gold.ids].mean() >= LEAST_SHARED:
        return True
    marked = any(map(_marks_span, predicted.vocabulary)) and not any(map(_marks_span, gold.vocabulary))
    return not marked and len(gold.vocabulary) <= len(predicted.vocabulary)


def read_checked(path: PathLike, gold: Corpus, encoding: str, form: str = "columns") -> Corpus:
    """Read a file that must have the sentences of ``gold``, and its tokens where it has any."""
    corpus = _read(path, encoding, form)
    pair = align(gold, corpus.with_column(TAG, last_column(corpus)))  # names the sentence that does not fit
    if len(corpus.names) > 1 and TOKEN in gold.columns and len(gold.names) > 1:
        words = align(gold.column(TOKEN), corpus.column(TOKEN), pair.offsets)
        wrong = np.flatnonzero(words.gold != words.predicted)
        if len(wrong):
            n = int(wrong[0])
            b = row_of(pair.offsets, n)
            raise InputError(
                "{}, token {}: expected {!r} as in gold ({}), got {!r}",
                corpus.place(b),
                n - int(pair.offsets[b]),
                words.labels[words.gold[n]],
                gold.place(b),
                words.labels[words.predicted[n]],
            )
    return corpus


def last_column(corpus: Corpus) -> Column:
    """Return the column that stands last in the file."""
    return corpus.column(corpus.names[-1])
