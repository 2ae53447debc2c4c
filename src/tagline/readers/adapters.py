"""Other people's containers where a corpus is expected: Hugging Face datasets, pandas data frames, plain lists.

Neither library is imported: an object is taken for a dataset or a data frame if it has their attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.ragged import offsets_of
from tagline.readers.arguments import is_listing
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.sources import shown_value

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
    if not is_listing(data):
        wanted = "a Corpus, a dataset, a data frame or a list of sentences"
        raise InputError(f"corpus: expected {wanted}, got {shown_value(data)}")
    return Corpus.from_sentences(data)


def is_foreign(data: Any) -> bool:
    """Say whether this is a dataset or a data frame of another library, which `as_corpus` turns into a corpus."""
    return _is_dataset(data) or _is_frame(data)


def _is_dataset(data: Any) -> bool:
    return hasattr(data, "column_names") and hasattr(data, "features")


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "iloc")


def _choose(argument: str, wanted: str | None, usual: Sequence[str], names: Sequence[str]) -> str | None:
    if wanted is not None and wanted not in names:
        raise InputError(f"{argument}: expected a column among {', '.join(names)}, got {wanted!r}")
    return wanted or next((name for name in usual if name in names), None)


def _from_dataset(data: Any, tokens: str | None, tags: str | None) -> Corpus:
    names = list(data.column_names)
    token_name, tag_name = _choose("tokens", tokens, TOKEN_NAMES, names), _choose("tags", tags, TAG_NAMES, names)
    if token_name is None:
        raise InputError(f"dataset: expected a column of tokens, got {', '.join(names)}; name it with tokens=")
    sentences = list(data[token_name])
    columns = {TOKEN: Column.of(word for words in sentences for word in words)}
    if tag_name is not None:
        tag_names = getattr(getattr(data.features[tag_name], "feature", None), "names", None)
        rows = [[tag_names[tag] if tag_names else str(tag) for tag in row] for row in data[tag_name]]
        for b, (words, row) in enumerate(zip(sentences, rows, strict=True)):
            if len(words) != len(row):
                raise InputError(f"sentence {b}: expected {len(words)} tags, one a token, got {len(row)}")
        columns[TAG] = Column.of(tag for row in rows for tag in row)
    return Corpus(columns, offsets_of([len(words) for words in sentences]))


def _from_frame(data: Any, tokens: str | None, tags: str | None, sentence: str | None) -> Corpus:
    names = [str(name) for name in data.columns]
    token_name, tag_name = _choose("tokens", tokens, TOKEN_NAMES, names), _choose("tags", tags, TAG_NAMES, names)
    group = _choose("sentence", sentence, SENTENCE_NAMES, names)
    if token_name is None or group is None:
        raise InputError(
            f"data frame: expected a column of tokens and one of sentence numbers, got {', '.join(names)}; "
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
