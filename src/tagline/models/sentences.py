"""Sentences at the door of a model: whatever users have, as a corpus, or as something that can be read twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tagline.checks import is_listing, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.readers.adapters import corpus_of
from tagline.readers.corpus import TOKEN, Column, Corpus, Sentence
from tagline.readers.tabular import is_series


def as_sentences(X: Any) -> Any:
    """Sentences that can be read more than once, and carry their tags where they have any.

    A generator or a series is read, a data set or data frame and a list of `Sentence` become a corpus; all else is as
    it was.
    """
    if (corpus := corpus_of(X)) is not None:
        return corpus
    if hasattr(X, "sample"):  # files that workers read, not sentences: going through them says what trains on them
        iter(X)
    if _is_read_once(X):
        X = list(X)
    if isinstance(X, list) and any(type(x) is not list and _is_read_once(x) for x in X):
        X = [list(x) if _is_read_once(x) else x for x in X]
    if isinstance(X, list) and X and all(isinstance(x, Sentence) for x in X):
        return Corpus.from_sentences(X)
    return X


def _is_read_once(values: Any) -> bool:
    """Whether values are read into a list: those of a generator, or of a series, whose index is no place in it."""
    return isinstance(values, Iterator) or is_series(values)


def sized(X: Any) -> int | None:
    """Return how many sentences there are, where that can be told without reading them."""
    return len(X) if isinstance(X, Corpus | list | tuple) else None


def tokens_as_corpus(X: Any, width: int = 1) -> Corpus:
    """Return a corpus from one, from a data set, or from a list of sentences: lists of tokens or of tuples.

    Arguments:
        width: how many columns empty sentences have, where there are no others.
    """
    if (corpus := corpus_of(X)) is not None:
        return corpus
    if not is_listing(X):
        remedy = message("; for raw text there is tag: model.tag(text)") if isinstance(X, str) else ""
        raise InputError("X: expected a Corpus or a list of sentences, got {}{}", type(X).__name__, remedy)
    rows = [_columns(b, sentence) for b, sentence in enumerate(X)]
    names = next((list(row) for row in rows if isinstance(row, dict) and row), _names(width))
    return Corpus.from_sentences([dict.fromkeys(names, ()) if row == {} else row for row in rows])


def _columns(b: int, sentence: Any) -> Any:
    """One sentence as `Corpus.from_sentences` takes it; an empty one has no columns yet."""
    if isinstance(sentence, Sentence):
        return sentence
    if not is_listing(sentence):
        remedy = message(", for raw text there is tag: model.tag(texts)") if isinstance(sentence, str) else ""
        raise InputError(
            "X[{}]: expected a sentence, a list of tokens, got {}; X is a list of sentences: for one "
            "sentence pass [sentence]{}",
            b,
            shown_value(sentence),
            remedy,
        )
    tokens = list(sentence)
    kinds = {len(token) if isinstance(token, tuple) else None for token in tokens}
    if len(kinds) > 1 or 0 in kinds or not all(isinstance(token, str | tuple) for token in tokens):
        raise InputError(
            "X[{}]: expected tokens, all strings or all tuples of one length, got {}…; only a CRF without "
            "a template takes features of your own",
            b,
            shown_value(tokens[:2]),
        )
    if not tokens:
        return {}
    width = kinds.pop()
    if width is None:
        return {TOKEN: tokens}
    if not all(isinstance(part, str) for token in tokens for part in token):
        raise InputError("X[{}]: expected tuples of strings as tokens, got {}", b, shown_value(tokens[:2]))
    return {name: [token[c] for token in tokens] for c, name in enumerate(_names(width))}


def _names(width: int) -> list[str]:
    return [TOKEN, *(f"column{c}" for c in range(1, width))]


def words_of(corpus: Corpus) -> Column:
    """Return the column of words: the one of that name, or the first."""
    return corpus.column(TOKEN if TOKEN in corpus.columns else corpus.names[0])
