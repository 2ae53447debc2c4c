"""Other people's containers where a corpus is expected: Hugging Face datasets, pandas data frames, plain lists.

Neither library is imported: what has the right attributes is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus

TOKEN_NAMES = ("tokens", "words", "token", "word", "form")
TAG_NAMES = ("tags", "ner_tags", "pos_tags", "chunk_tags", "labels", "tag", "label")
SENTENCE_NAMES = ("sentence", "sentence_id", "sent_id", "sent")


def as_corpus(data: Any, *, tokens: str | None = None, tags: str | None = None, sentence: str | None = None) -> Corpus:
    """Return a corpus from a corpus, a Hugging Face dataset, a pandas data frame, or a list of sentences.

    Arguments:
        tokens, tags: names of the columns to take; by default the usual ones, such as ``tokens`` and ``ner_tags``.
        sentence: of a data frame, the column that says which sentence a row belongs to.
    """
    if isinstance(data, Corpus):
        return data
    if _is_dataset(data):
        return _from_dataset(data, tokens, tags)
    if _is_frame(data):
        return _from_frame(data, tokens, tags, sentence)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(f"corpus: expected a Corpus, a dataset, a data frame or a list of sentences, got {data!r}")
    return Corpus.from_sentences(data)


def is_foreign(data: Any) -> bool:
    """Say whether it is a dataset or a data frame of another library, for `as_corpus` to turn into a corpus."""
    return _is_dataset(data) or _is_frame(data)


def _is_dataset(data: Any) -> bool:
    return hasattr(data, "column_names") and hasattr(data, "features")


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "iloc")


def _choose(what: str, wanted: str | None, usual: Sequence[str], there: Sequence[str]) -> str | None:
    if wanted is not None and wanted not in there:
        raise InputError(f"{what}: expected a column among {', '.join(there)}, got {wanted!r}")
    return wanted or next((name for name in usual if name in there), None)


def _from_dataset(data: Any, tokens: str | None, tags: str | None) -> Corpus:
    there = list(data.column_names)
    token_name, tag_name = _choose("tokens", tokens, TOKEN_NAMES, there), _choose("tags", tags, TAG_NAMES, there)
    if token_name is None:
        raise InputError(f"dataset: expected a column of tokens, got {', '.join(there)}; name it with tokens=")
    sentences = list(data[token_name])
    columns = {TOKEN: Column.of(word for words in sentences for word in words)}
    if tag_name is not None:
        names = getattr(getattr(data.features[tag_name], "feature", None), "names", None)
        rows = [[names[tag] if names else str(tag) for tag in tags] for tags in data[tag_name]]
        for b, (words, row) in enumerate(zip(sentences, rows, strict=True)):
            if len(words) != len(row):
                raise InputError(f"sentence {b}: expected {len(words)} tags, one a token, got {len(row)}")
        columns[TAG] = Column.of(tag for row in rows for tag in row)
    return Corpus(columns, np.cumsum([0, *map(len, sentences)]))


def _from_frame(data: Any, tokens: str | None, tags: str | None, sentence: str | None) -> Corpus:
    there = [str(name) for name in data.columns]
    token_name, tag_name = _choose("tokens", tokens, TOKEN_NAMES, there), _choose("tags", tags, TAG_NAMES, there)
    group = _choose("sentence", sentence, SENTENCE_NAMES, there)
    if token_name is None or group is None:
        raise InputError(
            f"data frame: expected a column of tokens and one of sentence numbers, got {', '.join(there)}; "
            "name them with tokens= and sentence="
        )
    keys = np.asarray(data[group])
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)
    if len(np.unique(keys)) != len(starts):
        raise InputError(f"data frame: expected the rows of a sentence side by side, got {group} values that come back")
    columns = {TOKEN: Column.of(str(word) for word in data[token_name])}
    if tag_name is not None:
        columns[TAG] = Column.of(str(tag) for tag in data[tag_name])
    return Corpus(columns, [*starts, len(keys)])
