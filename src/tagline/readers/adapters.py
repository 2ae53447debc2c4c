"""Other people's containers where a corpus is expected: Hugging Face datasets, data frames, plain lists; and back.

Neither library is imported: an object is taken for a dataset or a data frame if it has their attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tagline.checks import is_listing, shown_value
from tagline.errors import InputError, MissingPackageError
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.tabular import Table, as_table, groups_of, is_frame

TOKEN_NAMES = ("tokens", "words", "token", "word", "form")
TAG_NAMES = ("tags", "ner_tags", "pos_tags", "chunk_tags", "labels", "tag", "label")
SENTENCE_NAMES = ("sentence", "sentence_id", "sent_id", "sent")


def as_corpus(data: Any, *, tokens: str | None = None, tags: str | None = None, sentence: str | None = None) -> Corpus:
    """Return a corpus from a corpus, a Hugging Face dataset, a pandas data frame, or a list of sentences.

    Arguments:
        tokens, tags: names of the columns to take; by default the usual ones, such as ``tokens`` and ``ner_tags``.
        sentence: of a data frame, the column that says which sentence a row belongs to.

    >>> import pandas
    >>> from tagline import readers
    >>> frame = pandas.DataFrame({"s": [0, 0, 1], "token": ["Anna", "sings", "Rain"], "tag": ["B-PER", "O", "O"]})
    >>> readers.as_corpus(frame, tokens="token", tags="tag", sentence="s").tokens
    [['Anna', 'sings'], ['Rain']]
    """
    if (corpus := corpus_of(data, tokens, tags, sentence)) is not None:
        return corpus
    if not is_listing(data):
        wanted = message("a Corpus, a dataset, a data frame or a list of sentences")
        raise InputError("corpus: expected {}, got {}", wanted, shown_value(data))
    return Corpus.from_sentences(data)


def corpus_of(
    data: Any, tokens: str | None = None, tags: str | None = None, sentence: str | None = None
) -> Corpus | None:
    """Return the corpus that a corpus, a dataset or a data frame of another library is; None for all else."""
    if isinstance(data, Corpus):
        return data
    if hasattr(data, "column_names") and hasattr(data, "features"):
        return _from_dataset(data, tokens, tags)
    return _from_frame(data, tokens, tags, sentence) if is_frame(data) else None


def is_tagged_frame(data: Any) -> bool:
    """Say whether a data frame has the usual columns of a corpus: a token in each row, and its sentence."""
    names = as_table(data).names
    return any(name in names for name in TOKEN_NAMES) and any(name in names for name in SENTENCE_NAMES)


def _choose(argument: str, wanted: str | None, usual: Sequence[str], names: Sequence[str]) -> str | None:
    if wanted is not None and wanted not in names:
        raise InputError("{}: expected a column among {}, got {!r}", argument, ", ".join(names), wanted)
    return wanted or next((name for name in usual if name in names), None)


def _from_dataset(data: Any, tokens: str | None, tags: str | None) -> Corpus:
    names = list(data.column_names)
    token_name, tag_name = _choose("tokens", tokens, TOKEN_NAMES, names), _choose("tags", tags, TAG_NAMES, names)
    if token_name is None:
        raise InputError("dataset: expected a column of tokens, got {}; name it with tokens=", ", ".join(names))
    sentences = list(data[token_name])
    columns = {TOKEN: Column.of(word for words in sentences for word in words)}
    if tag_name is not None:
        rows = [_tags(b, row, _class_names(data, tag_name)) for b, row in enumerate(data[tag_name])]
        for b, (words, row) in enumerate(zip(sentences, rows, strict=True)):
            if len(words) != len(row):
                raise InputError("sentence {}: expected {} tags, one a token, got {}", b, len(words), len(row))
        columns[TAG] = Column.of(tag for row in rows for tag in row)
    return Corpus(columns, offsets_of([len(words) for words in sentences]))


def _class_names(data: Any, tag_name: str) -> Sequence[str] | None:
    """The names behind the numbers of a column of class labels; None where tags are strings."""
    names: Sequence[str] | None = getattr(getattr(data.features[tag_name], "feature", None), "names", None)
    return names


def _tags(b: int, row: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    if names is None:
        return [str(tag) for tag in row]
    if odd := [tag for tag in row if not 0 <= tag < len(names)]:
        raise InputError(
            "sentence {}: expected tags from 0 to {}, got {}; is it not labelled?", b, len(names) - 1, odd[0]
        )
    return [names[tag] for tag in row]


def _from_frame(
    data: Any, tokens: str | None, tags: str | None, sentence: str | None, columns: Sequence[str] = ()
) -> Corpus:
    table = as_table(data)
    names = table.names
    token_name, tag_name = _choose("tokens", tokens, TOKEN_NAMES, names), _choose("tags", tags, TAG_NAMES, names)
    group = _choose("sentence", sentence, SENTENCE_NAMES, names)
    if token_name is None or group is None:
        raise InputError(
            "data frame: expected a column of tokens and one of sentence numbers, got {}; name them with "
            "tokens= and sentence=",
            ", ".join(names),
        )
    read = {TOKEN: token_name, **{name: name for name in columns}}
    if tag_name is not None:
        read[TAG] = tag_name
    lengths = groups_of(table[group], group)
    return Corpus({name: _strings(table, place) for name, place in read.items()}, offsets_of(lengths))


def _strings(table: Table, name: str) -> Column:
    """A column as strings; whole numbers are written without a point."""
    values = table[name].tolist()
    for row, value in enumerate(values):
        if value is None or value != value:
            raise InputError(
                "data frame: expected a value in each row of {}, got none in row {}; where pandas took a "
                "word such as NA for a missing value: read_csv(..., keep_default_na=False)",
                name,
                row,
            )
    return Column.of(str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in values)


def corpus_of_frame(
    data: Any, token: str | None, tag: str | None, sentence: str | None, columns: Sequence[str]
) -> Corpus:
    """Return the corpus of a data frame with a token in each row; see `Corpus.from_pandas`."""
    if not is_frame(data):
        raise InputError("data: expected a data frame of pandas or polars, got {}", shown_value(data))
    return _from_frame(data, token, tag, sentence, columns)


def to_dataset(corpus: Corpus, *, tokens: str = "tokens", tags: str = "ner_tags") -> Any:
    """Return a Hugging Face `Dataset` with a sentence in each row, tags as class labels by number.

    Arguments:
        corpus: sentences, with tags or without.
        tokens, tags: names of the columns; further columns of the corpus keep theirs.

    >>> from tagline import Corpus, readers
    >>> corpus = Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])])
    >>> readers.to_dataset(corpus)["tokens"]  # doctest: +SKIP
    [['Anna', 'sings']]
    """
    try:
        from datasets import ClassLabel, Dataset, Features, Sequence, Value  # type: ignore[import-not-found]
    except ImportError:
        raise MissingPackageError("to_dataset", "datasets", "pip install datasets") from None
    rows: dict[str, Any] = {}
    features: dict[str, Any] = {}
    for name in corpus.names:
        if name == TAG:
            labels = sorted(set(corpus.columns[TAG].vocabulary))
            numbers = {label: number for number, label in enumerate(labels)}
            rows[tags] = [[numbers[tag] for tag in row] for row in corpus.tags]
            features[tags] = Sequence(ClassLabel(names=labels))
        else:
            place = tokens if name == TOKEN else name
            rows[place], features[place] = corpus.sequences(name), Sequence(Value("string"))
    return Dataset.from_dict(rows, features=Features(features))
