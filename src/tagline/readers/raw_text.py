"""Raw text, one sentence a line; `tagline.readers.tokenizers` finds the tokens and keeps the place of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tagline.checks import is_listing, shown_value
from tagline.errors import InputError
from tagline.readers.blocks import read_lines
from tagline.readers.columns import refuse_others
from tagline.readers.corpus import TOKEN, Corpus
from tagline.readers.sources import PathLike, name_of, open_target
from tagline.readers.tokenizers import (
    TOKENIZERS,
    Cut,
    Tokenizer,
    cut_by_function,
    cut_by_script,
    is_wide,
    tokenize,
)

__all__ = ["TOKENIZERS", "Cut", "corpus_of_texts", "cut_by_script", "is_wide", "read_text", "tokenize", "write_text"]


def corpus_of_texts(
    texts: Iterable[str], tokenizer: str | Cut = "words", *, source: str = "", lines: Sequence[int] | None = None
) -> Corpus:
    """Tokenize texts, one sentence each; empty ones become sentences without tokens.

    Arguments:
        tokenizer: a name as in `tokenize`, or a function that finds the tokens of a text.
        source: the file that the texts come from, for messages.
        lines: the line of each text in that file; they count from 1 when left out.

    >>> from tagline import readers
    >>> sentence = readers.corpus_of_texts(["Anna sings."])[0]
    >>> sentence.tokens, sentence.spans
    (['Anna', 'sings', '.'], ((0, 4), (5, 10), (10, 11)))
    """
    held: list[Any] = list(texts) if is_listing(texts) else [texts]
    if not is_listing(texts) or not all(isinstance(text, str) for text in held):
        raise InputError("texts: expected a list of strings, got {}", shown_value(texts))
    cut = Tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer
    if not callable(cut):
        raise InputError("tokenizer: expected a name or a function, got {}", shown_value(tokenizer))
    cut_texts = cut.cut(held) if isinstance(cut, Tokenizer) else cut_by_function(held, cut)
    if lines is None and source:
        lines = range(1, len(held) + 1)
    return Corpus(
        {TOKEN: cut_texts.tokens},
        cut_texts.offsets,
        source=source,
        lines=lines,
        texts=held,
        token_spans=cut_texts.places,
    )


def read_text(path: PathLike, tokenizer: str = "words", *, encoding: str = "utf-8") -> Corpus:
    """Read raw text, one sentence a line; tokens keep their characters in `Sentence.spans`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tagline import readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = Path(f"{folder}/news.txt").write_text("Anna sings.")
    ...     readers.read_text(f"{folder}/news.txt").tokens
    [['Anna', 'sings', '.']]
    """
    lines = [line for _, line in read_lines(path, encoding)]
    return corpus_of_texts(lines, tokenizer, source=name_of(path))


def write_text(corpus: Corpus, path: PathLike) -> None:
    """Write one sentence a line: its text where it is known, else its tokens with blanks between them.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tagline import Corpus, readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     readers.write_text(Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])]), f"{folder}/news.txt")
    ...     print(Path(f"{folder}/news.txt").read_text().strip())
    Anna sings
    """
    refuse_others(corpus)
    with open_target(path) as stream:
        for sentence in corpus:
            line = " ".join(sentence.tokens) if sentence.text is None else sentence.text
            if "\n" in line:
                raise InputError("{}: expected a text of one line, got one with a line break", sentence.place)
            stream.write(line.encode() + b"\n")
