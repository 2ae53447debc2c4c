"""Segmented text (``中国 人民 …``): a sentence a line, blanks between words.

Tokens are characters, and tags mark the words in the scheme BMES-words: B, M and E begin, continue and end a word, S is
a word of one character. Blanks are those of Unicode, the wide one (U+3000) among them; lines without words are left
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from tagline.errors import InputError
from tagline.ragged import first_entries, offsets_of
from tagline.readers.blocks import read_lines
from tagline.readers.columns import refuse_others
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.sources import PathLike, name_of, open_target
from tagline.readers.spans import SpanArray
from tagline.readers.tag_writing import write_tags
from tagline.types import BoolArray, IntArray

SCHEME = "BMES-words"

BEGINS = "BSUWO"
ENDS = "ELSUWO"
POSITIONS = "BMIELSUWO"


def read_words(path: PathLike, *, encoding: str = "utf-8") -> Corpus:
    """Read segmented text: characters in the column ``token``, the places of words in the column ``tag``.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tagline import readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = Path(f"{folder}/words.txt").write_text("我 来到 北京", encoding="utf-8")
    ...     corpus = readers.read_words(f"{folder}/words.txt")
    >>> corpus.tokens, corpus.tags
    ([['我', '来', '到', '北', '京']], [['S', 'B', 'E', 'B', 'E']])
    """
    name = name_of(path)
    numbered = [(number, line) for number, line in read_lines(path, encoding) if line.strip()]
    if not numbered:
        raise InputError("{}: expected sentences, got none", name)
    return corpus_of_words([line for _, line in numbered], source=name, lines=[number for number, _ in numbered])


def corpus_of_words(texts: Iterable[str], *, source: str = "", lines: Sequence[int] | None = None) -> Corpus:
    """Turn segmented texts, one sentence each, into characters and their tags.

    Arguments:
        source: the file that they come from, for messages.
        lines: the line of each text in that file.

    >>> corpus = corpus_of_words(["中国 人民 站 起来"])
    >>> "".join(corpus[0].tokens), corpus[0].tags
    ('中国人民站起来', ['B', 'E', 'B', 'E', 'S', 'B', 'E'])
    """
    sentences = [text.split() for text in texts]
    joined = ["".join(words) for words in sentences]
    lengths = np.array([len(word) for words in sentences for word in words], np.int64)
    offsets = offsets_of([len(text) for text in joined])
    ends = offsets_of(lengths)  # [W + 1], where words begin in the whole text
    sentence = np.repeat(np.arange(len(sentences)), [len(words) for words in sentences])
    base = offsets[sentence]
    words = SpanArray(sentence, ends[:-1] - base, ends[1:] - base, np.zeros(len(lengths), np.int32), ("",))
    tokens = Column.of(chain.from_iterable(joined))
    at = np.arange(len(tokens)) - np.repeat(offsets[:-1], np.diff(offsets))
    return Corpus(
        {TOKEN: tokens, TAG: write_tags(words, offsets, SCHEME)},
        offsets,
        source=source,
        lines=lines,
        texts=joined,
        token_spans=np.stack([at, at + 1], axis=1),
    )


def write_words(corpus: Corpus, path: PathLike) -> None:
    """Write the words that the tags mark, a sentence a line, blanks between them; without tags each token is a word.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tagline import readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     readers.write_words(readers.corpus_of_words(["我 来到 北京"]), f"{folder}/words.txt")
    ...     print(Path(f"{folder}/words.txt").read_text(encoding="utf-8").strip())
    我 来到 北京
    """
    refuse_others(corpus)
    with open_target(path) as stream:
        for b, words in enumerate(words_of_sentences(corpus)):
            if any(not word or any(map(str.isspace, word)) for word in words):
                raise InputError(
                    "{}: expected words without blanks to write, got some; use JSON lines", corpus.place(b)
                )
            stream.write(" ".join(words).encode() + b"\n")


def words_of_sentences(corpus: Corpus) -> list[list[str]]:
    """Return the words that the tags of each sentence mark; its tokens where there are no tags.

    >>> words_of_sentences(corpus_of_words(["中国 人民"]))
    [['中国', '人民']]
    """
    if TAG not in corpus.columns:
        return corpus.tokens
    begins = word_begins(corpus.columns[TAG], corpus.offsets).tolist()
    sentences, at = [], 0
    for tokens in corpus.tokens:
        words: list[str] = []
        for n, token in enumerate(tokens, at):
            if begins[n]:
                words.append(token)
            else:
                words[-1] += token
        sentences.append(words)
        at += len(tokens)
    return sentences


def word_begins(labels: Column, offsets: IntArray) -> BoolArray:
    """Say of each token whether a word begins there: ``[N]``.

    A word begins at the first token of a sentence, at B, S, U, W or O, and after E, L, S, U, W or O; types are ignored.
    """
    positions = [label.split("-", 1)[0] for label in labels.vocabulary]
    for label, position in zip(labels.vocabulary, positions, strict=True):
        if len(position) != 1 or position not in POSITIONS:
            raise InputError(
                "label {!r}: expected one of {}, alone or before a hyphen and a type", label, ", ".join(POSITIONS)
            )
    begins, ends = (
        np.array([position in letters for position in positions], np.bool_)[labels.ids] for letters in (BEGINS, ENDS)
    )
    begins[1:] |= ends[:-1]
    return np.asarray(begins | first_entries(offsets), np.bool_)
