"""Raw text, one sentence a line, with tokenizers that keep the place of every token."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from tagline.errors import InputError
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.readers.sources import PathLike, bad_utf8, name_of, open_target, read_bytes

TOKENIZERS = {
    "whitespace": re.compile(r"\S+"),
    "words": re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]"),  # words, with inner apostrophes and hyphens, and single signs
    "characters": re.compile(r"\S"),
}


def tokenize(text: str, tokenizer: str = "words") -> list[tuple[int, int]]:
    """Find the tokens of a text as (start, end) characters.

    Arguments:
        tokenizer: ``whitespace``, ``words`` (Unicode words and single signs) or ``characters`` (for Chinese).

    >>> [("Anna's cat."[start:end]) for start, end in tokenize("Anna's cat.")]
    ["Anna's", 'cat', '.']
    """
    if tokenizer not in TOKENIZERS:
        raise InputError(f"tokenizer: expected one of {', '.join(TOKENIZERS)}, got {tokenizer!r}")
    return [match.span() for match in TOKENIZERS[tokenizer].finditer(text)]


def corpus_of_texts(texts: Iterable[str], tokenizer: str = "words", *, source: str = "") -> Corpus:
    """Tokenize texts, one sentence each; empty ones become sentences without tokens."""
    kept = list(texts)
    spans = [tokenize(text, tokenizer) for text in kept]
    tokens = Column.of(text[start:end] for text, found in zip(kept, spans, strict=True) for start, end in found)
    flat = np.array([span for found in spans for span in found], np.int64).reshape(-1, 2)
    offsets = np.cumsum([0, *map(len, spans)])
    lines = np.arange(1, len(kept) + 1) if source else None
    return Corpus({TOKEN: tokens}, offsets, source=source, lines=lines, texts=kept, token_spans=flat)


def read_text(path: PathLike, tokenizer: str = "words", *, encoding: str = "utf-8") -> Corpus:
    """Read raw text, one sentence a line; tokens keep their characters in `Sentence.spans`."""
    data = read_bytes(path, encoding)
    try:
        text = data.tobytes().decode()
    except UnicodeDecodeError:
        raise bad_utf8(name_of(path), data) from None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    return corpus_of_texts(lines, tokenizer, source=name_of(path))


def write_text(corpus: Corpus, path: PathLike) -> None:
    """Write one sentence a line: its text where it is known, else its tokens with blanks between them."""
    with open_target(path) as stream:
        for sentence in corpus:
            line = " ".join(sentence.tokens) if sentence.text is None else sentence.text
            if "\n" in line:
                raise InputError(f"{sentence.place}: expected a text of one line, got one with a line break")
            stream.write(line.encode() + b"\n")
