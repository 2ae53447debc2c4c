"""Labelled sentences for training: how files are read, which column is learned, which ready-made set suits them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.features.sets import load_set, sets
from tagline.features.templates import Template
from tagline.readers import format_of, read
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.readers.detection import detect

MOSTLY = 0.7  # of the tokens


@dataclass(frozen=True)
class Source:
    """How the files with labelled sentences are read.

    Attributes:
        form: ``columns``, ``jsonl`` or ``conllu``; by the file's name when None.
        tag_column: the column to learn, a number from 0 or a name; the last one when None. Columns before it are
            features, those behind it are left out.
        tokens: how the texts of JSON lines are cut: ``words``, ``characters`` or ``whitespace``.
        encoding: of the files.
        lenient: skip broken sentences and report them.
    """

    form: str | None = None
    tag_column: str | None = None
    tokens: str = "words"
    encoding: str = "utf-8"
    lenient: bool = False

    def read(self, path: str) -> Corpus:
        """Read labelled sentences."""
        form = format_of(path, self.form)
        if form == "text":
            raise InputError(f"{path}: expected sentences with tags, got raw text; use columns or JSON lines")
        options: dict[str, Any] = {"encoding": self.encoding, "strict": not self.lenient}
        if form == "jsonl":
            options["tokenizer"] = self.tokens
        corpus = self.choose(read(path, form, **options))
        if not len(corpus):
            raise InputError(f"{path}: expected sentences, got none that can be used")
        return corpus

    def choose(self, corpus: Corpus) -> Corpus:
        """Keep the columns before the one that is learned, and that one."""
        names = (
            [name for name in corpus.names if name not in ("upos", "xpos")] if "upos" in corpus.names else corpus.names
        )
        if self.tag_column is None:
            if TAG not in names:
                raise InputError(
                    f"{corpus.source}: expected tags to learn, got {', '.join(names)} alone; in column files they are "
                    'the last of two columns or more, in JSON lines "tags" or "spans"'
                )
            return _with_columns(corpus, [name for name in names if name != TAG], corpus.columns[TAG])
        names = corpus.names
        wanted = names[int(self.tag_column)] if _is_place(self.tag_column, len(names)) else self.tag_column
        if wanted not in names or wanted == names[0]:
            raise InputError(
                f"--tag-column: expected a number from 1 to {len(names) - 1} or a name among {', '.join(names[1:])}, "
                f"got {self.tag_column!r}; the columns of {corpus.source} are {', '.join(names)}"
            )
        return _with_columns(corpus, names[: names.index(wanted)], corpus.columns[wanted])


def _is_place(text: str, count: int) -> bool:
    return text.isdecimal() and int(text) < count


def _with_columns(corpus: Corpus, names: list[str], tags: Column) -> Corpus:
    return Corpus(
        {**{name: corpus.columns[name] for name in names}, TAG: tags},
        corpus.offsets,
        source=corpus.source,
        lines=corpus.lines,
        texts=corpus.texts,
        token_spans=corpus.token_spans,
        problems=corpus.problems,
    )


def named_template(name: str) -> Template:
    """Return a ready-made set by its name, or read a file."""
    if name in sets():
        return load_set(name)
    if not Path(name).exists():
        raise InputError(
            f"--template: expected a file, or one of {', '.join(sets())}, got {name!r}; there is no such file"
        )
    return Template.read(name)


def choose_set(corpus: Corpus) -> tuple[str, str]:
    """Choose a ready-made set for a corpus; return its name and why."""
    found = detect(corpus)
    kinds = {tag[2:] for tag in corpus.columns[TAG].vocabulary}
    tokens = corpus.columns[corpus.names[0]]
    single = np.array([len(word) == 1 and not word.isascii() for word in tokens.vocabulary], bool)[tokens.ids]
    if found.scheme is None:
        return "pos", "the tags mark no spans"
    if not found.scheme.typed:
        return "segmentation", "the tags mark words without types"
    if single.mean() > MOSTLY:
        return "chinese_ner", "most tokens are single characters that are not ASCII"
    if "NP" in kinds and len(corpus.names) > 2:
        return "chunking", "the tags mark noun phrases, and there is a second column"
    return "english_ner", "the tags mark spans of words"
