"""CoNLL-U: ten columns split on tabs; multi-word ranges and empty nodes are left out, as taggers expect."""

from __future__ import annotations

import numpy as np

from tagline.errors import InputError
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.sources import PathLike, bad_utf8, name_of, open_target, read_bytes, shown

FIELDS = 10
NAMES = {TOKEN: 1, "lemma": 2, "upos": 3, "xpos": 4}


def read_conllu(path: PathLike, *, tag: str = "upos", encoding: str = "utf-8") -> Corpus:
    """Read CoNLL-U into the columns token, lemma, upos, xpos and tag, which is upos or xpos as asked."""
    if tag not in ("upos", "xpos"):
        raise InputError(f"tag: expected upos or xpos, got {tag!r}")
    name, data = name_of(path), read_bytes(path, encoding)
    try:
        text = data.tobytes().decode()
    except UnicodeDecodeError:
        raise bad_utf8(name, data) from None
    words: dict[str, list[str]] = {column: [] for column in NAMES}
    offsets, lines, start = [0], list[int](), 0
    for number, raw in enumerate([*text.split("\n"), ""], 1):
        line = raw.removesuffix("\r")
        if line.startswith("#"):
            continue
        if not line.strip():
            if len(words[TOKEN]) > offsets[-1]:
                offsets.append(len(words[TOKEN]))
                lines.append(start)
            continue
        fields = line.split("\t")
        if len(fields) != FIELDS:
            raise InputError(
                f"{name}:{number}: expected {FIELDS} columns split by tabs, got {len(fields)} ({shown(line)})"
            )
        if "-" in fields[0] or "." in fields[0]:
            continue
        if len(words[TOKEN]) == offsets[-1]:
            start = number
        for column, position in NAMES.items():
            words[column].append(fields[position])
    if len(offsets) == 1:
        raise InputError(f"{name}: expected sentences, got none")
    columns = {column: Column.of(values) for column, values in words.items()}
    return Corpus({**columns, TAG: columns[tag]}, offsets, source=name, lines=np.array(lines))


def write_conllu(corpus: Corpus, path: PathLike) -> None:
    """Write CoNLL-U with what the corpus has: token, lemma, upos, xpos (or its tags as upos); ``_`` elsewhere."""
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
