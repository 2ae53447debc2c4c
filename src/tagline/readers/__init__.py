"""Files in, sentences out: columns, JSON lines, CoNLL-U, segmented text, raw text; tag schemes and their spans."""

from __future__ import annotations

from typing import Any

from tagline.checks import check_choice
from tagline.errors import InputError
from tagline.readers.adapters import as_corpus, to_dataset
from tagline.readers.columns import iter_columns, read_columns, write_columns
from tagline.readers.compressed import PARQUET, plain_name
from tagline.readers.conllu import read_conllu, write_conllu
from tagline.readers.corpus import Column, Corpus, Sentence
from tagline.readers.corpus_summary import Description, describe
from tagline.readers.jsonl import read_jsonl, write_jsonl
from tagline.readers.raw_text import corpus_of_texts, read_text, tokenize, write_text
from tagline.readers.sentence_splitting import split_sentences
from tagline.readers.sources import PathLike, name_of
from tagline.readers.words import corpus_of_words, read_words, write_words

__all__ = [
    "Column",
    "Corpus",
    "Description",
    "Sentence",
    "as_corpus",
    "corpus_of_texts",
    "corpus_of_words",
    "describe",
    "iter_columns",
    "read",
    "read_columns",
    "read_conllu",
    "read_jsonl",
    "read_text",
    "read_words",
    "split_sentences",
    "to_dataset",
    "tokenize",
    "write",
    "write_columns",
    "write_conllu",
    "write_jsonl",
    "write_text",
    "write_words",
]

FORMATS = {
    "columns": (read_columns, write_columns),
    "jsonl": (read_jsonl, write_jsonl),
    "conllu": (read_conllu, write_conllu),
    "text": (read_text, write_text),
    "words": (read_words, write_words),
}


def format_of(path: PathLike, form: str | None = None) -> str:
    """Name the format of a file: `form` where it is given, else by the file's name, else ``columns``."""
    if form is not None:
        check_choice("format", form, FORMATS)
        return form
    name = plain_name(name_of(path))
    endings = {".jsonl": "jsonl", ".ndjson": "jsonl", PARQUET: "jsonl", ".conllu": "conllu"}
    return next((chosen for ending, chosen in endings.items() if name.endswith(ending)), "columns")


def read(path: PathLike, form: str | None = None, **options: Any) -> Corpus:
    """Read a file in any format: that of `form`, or by its name ``.jsonl``, ``.conllu``, else columns.

    >>> import tempfile
    >>> from tagline import Corpus, readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     readers.write(Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])]), f"{folder}/train.jsonl")
    ...     readers.read(f"{folder}/train.jsonl").tags
    [['B-PER', 'O']]
    """
    if form is None and plain_name(name_of(path)).endswith(".csv"):
        raise InputError(
            "{}: comma-separated values are not read as sentences: write a token a line, its columns with "
            "tabs between them and a blank line behind each sentence; or name the format, format='columns', if it "
            "is that",
            name_of(path),
        )
    return FORMATS[format_of(path, form)][0](path, **options)  # type: ignore[operator, no-any-return]


def write(corpus: Corpus, path: PathLike, form: str | None = None, **options: Any) -> None:
    """Write a corpus in any format, chosen as in `read`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tagline import Corpus, readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     readers.write(Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])]), f"{folder}/train.txt")
    ...     print(Path(f"{folder}/train.txt").read_text().strip())
    Anna B-PER
    sings O
    """
    FORMATS[format_of(path, form)][1](corpus, path, **options)  # type: ignore[operator]
