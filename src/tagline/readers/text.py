"""Raw text, one sentence a line, with tokenizers that keep the place of every token."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tagline.errors import InputError
from tagline.ragged import offsets_of
from tagline.readers.arguments import check_choice, is_listing
from tagline.readers.blocks import read_lines
from tagline.readers.columns import refuse_others
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.readers.sources import PathLike, name_of, open_target, shown_value

Cut: TypeAlias = Callable[[str], list[tuple[int, int]]]
"""A text → (start, end) characters of its tokens."""

TOKENIZERS = {
    "whitespace": re.compile(r"\S+"),
    "words": re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]"),  # words, with inner apostrophes and hyphens, and single signs
    "characters": re.compile(r"\S"),
}
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")  # Chinese characters and kana
_NARROW = re.compile(rf"[^\W_{_WIDE.pattern[1:-1]}]+")  # words of other scripts


def tokenize(text: str, tokenizer: str = "words") -> list[tuple[int, int]]:
    """Find the tokens of a text as (start, end) characters.

    Arguments:
        tokenizer: ``whitespace``, ``words`` (Unicode words and single signs) or ``characters`` (for Chinese).

    >>> [("Anna's cat."[start:end]) for start, end in tokenize("Anna's cat.")]
    ["Anna's", 'cat', '.']
    """
    check_choice("tokenizer", tokenizer, TOKENIZERS)
    if not isinstance(text, str):
        raise InputError(f"text: expected a string, got {shown_value(text)}")
    return [match.span() for match in TOKENIZERS[tokenizer].finditer(text)]


def is_wide(text: str) -> bool:
    """Say whether a text is a single Chinese character or kana.

    >>> is_wide("京"), is_wide("北京"), is_wide("a")
    (True, False, False)
    """
    return _WIDE.fullmatch(text) is not None


def cut_by_script(text: str) -> list[tuple[int, int]]:
    """Cut a text into characters where it is mainly Chinese or Japanese, else into words.

    >>> [len(cut_by_script(text)) for text in ("他住在北京", "Anna lives in Rome")]
    [5, 4]
    """
    wide = len(_WIDE.findall(text))
    return tokenize(text, "characters" if wide and wide >= len(_NARROW.findall(text)) else "words")


def corpus_of_texts(
    texts: Iterable[str], tokenizer: str | Cut = "words", *, source: str = "", lines: Sequence[int] | None = None
) -> Corpus:
    """Tokenize texts, one sentence each; empty ones become sentences without tokens.

    Arguments:
        tokenizer: a name as in `tokenize`, or a function that finds the tokens of a text.
        source: the file that the texts come from, for messages.
        lines: the line of each text in that file; they count from 1 when left out.
    """
    held: list[Any] = list(texts) if is_listing(texts) else [texts]
    if not is_listing(texts) or not all(isinstance(text, str) for text in held):
        raise InputError(f"texts: expected a list of strings, got {shown_value(texts)}")
    cut: Cut = partial(tokenize, tokenizer=tokenizer) if isinstance(tokenizer, str) else tokenizer
    if not callable(cut):
        raise InputError(f"tokenizer: expected a name or a function, got {shown_value(tokenizer)}")
    places = [cut(text) for text in held]
    tokens = Column.of(text[start:end] for text, row in zip(held, places, strict=True) for start, end in row)
    if lines is None and source:
        lines = range(1, len(held) + 1)
    return Corpus(
        {TOKEN: tokens},
        offsets_of([len(row) for row in places]),
        source=source,
        lines=lines,
        texts=held,
        token_spans=np.array([place for row in places for place in row], np.int64).reshape(-1, 2),
    )


def read_text(path: PathLike, tokenizer: str = "words", *, encoding: str = "utf-8") -> Corpus:
    """Read raw text, one sentence a line; tokens keep their characters in `Sentence.spans`."""
    lines = [line for _, line in read_lines(path, encoding)]
    return corpus_of_texts(lines, tokenizer, source=name_of(path))


def write_text(corpus: Corpus, path: PathLike) -> None:
    """Write one sentence a line: its text where it is known, else its tokens with blanks between them."""
    refuse_others(corpus)
    with open_target(path) as stream:
        for sentence in corpus:
            line = " ".join(sentence.tokens) if sentence.text is None else sentence.text
            if "\n" in line:
                raise InputError(f"{sentence.place}: expected a text of one line, got one with a line break")
            stream.write(line.encode() + b"\n")
