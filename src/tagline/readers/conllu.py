"""CoNLL-U: ten columns split on tabs; multi-word ranges and empty nodes are left out, as taggers expect."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from tagline.checks import check_switch, shown, shown_value
from tagline.errors import InputError
from tagline.readers.blocks import read_lines
from tagline.readers.columns import refuse_blanks, refuse_empty
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.sources import PathLike, name_of, open_target, warn_skipped

FIELDS = 10
NAMES = {TOKEN: 1, "lemma": 2, "upos": 3, "xpos": 4}


def read_conllu(path: PathLike, *, tag: str = "upos", encoding: str = "utf-8", strict: bool = True) -> Corpus:
    """Read CoNLL-U into the columns token, lemma, upos, xpos and tag; the last is a copy of upos or xpos.

    With ``strict=False`` a sentence with a broken line is skipped and noted in `Corpus.problems`.

    >>> import tempfile
    >>> from tagline import Corpus, readers
    >>> corpus = Corpus.from_sentences([(["Anna", "sings"], ["PROPN", "VERB"])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     readers.write_conllu(corpus, f"{folder}/train.conllu")
    ...     readers.read_conllu(f"{folder}/train.conllu").tags
    [['PROPN', 'VERB']]
    """
    if not isinstance(tag, str) or tag not in ("upos", "xpos"):
        raise InputError("tag: expected upos or xpos, got {}", shown_value(tag))
    name = name_of(path)
    check_switch("strict", strict)
    words: list[list[str]] = []
    offsets, lines, problems = [0], list[int](), list[str]()
    for start, sentence in _sentences(path, encoding):
        try:
            words += _words(name, sentence)
        except InputError as error:
            if strict:
                raise
            problems.append(str(error))
        else:
            offsets.append(len(words))
            lines.append(start)
    if not lines and not problems:
        raise InputError("{}: expected sentences, got none", name)
    warn_skipped(name, problems)
    columns = {column: Column.of(row[position] for row in words) for column, position in NAMES.items()}
    return Corpus({**columns, TAG: columns[tag]}, offsets, source=name, lines=np.array(lines), problems=problems)


_Line = tuple[int, str]


def _sentences(path: PathLike, encoding: str) -> Iterator[tuple[int, list[_Line]]]:
    """Yield the number of the first line of each sentence, and its numbered lines without comments."""
    sentence: list[_Line] = []
    for number, line in chain(read_lines(path, encoding), [(0, "")]):
        if line.strip():
            if not line.startswith("#"):
                sentence.append((number, line))
        elif sentence:
            yield sentence[0][0], sentence
            sentence = []


def _words(name: str, sentence: list[_Line]) -> list[list[str]]:
    rows = []
    for number, line in sentence:
        fields = line.split("\t")
        if len(fields) != FIELDS:
            raise InputError(
                "{}:{}: expected {} columns split by tabs, got {} ({})", name, number, FIELDS, len(fields), shown(line)
            )
        if "-" not in fields[0] and "." not in fields[0]:  # neither a range of words nor an empty node
            rows.append(fields)
    return rows


def write_conllu(corpus: Corpus, path: PathLike) -> None:
    """Write CoNLL-U with what the corpus has: token, lemma, upos, xpos (or its tags as upos); ``_`` elsewhere.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tagline import Corpus, readers
    >>> corpus = Corpus.from_sentences([(["Anna", "sings"], ["PROPN", "VERB"])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     readers.write_conllu(corpus, f"{folder}/train.conllu")
    ...     [line.split()[:4] for line in Path(f"{folder}/train.conllu").read_text().splitlines() if line]
    [['1', 'Anna', '_', 'PROPN'], ['2', 'sings', '_', 'VERB']]
    """
    refuse_empty(corpus)
    refuse_blanks(corpus, "\t\n\r")
    by_name = dict(corpus.columns)
    by_name.setdefault("upos", by_name.get(TAG, Column(("_",), np.zeros(corpus.num_tokens, np.int32))))
    with open_target(path) as stream:
        for first, last in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
            rows = [["_"] * FIELDS for _ in range(first, last)]
            for column, position in NAMES.items():
                for row, word in zip(rows, by_name[column][first:last] if column in by_name else [], strict=False):
                    row[position] = word
            for n, row in enumerate(rows, 1):
                row[0] = str(n)
            stream.write("".join("\t".join(row) + "\n" for row in rows).encode() + b"\n")
