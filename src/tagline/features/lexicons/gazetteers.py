"""Lists of names out of labelled sentences: a `Dictionary` of their entities, and its matches without peeking.

A model that is told in training which phrases are entities, by the very sentences that it learns from, trusts the list
too much. So sentences are dealt into parts, and each is matched with the entities of the other parts alone. What a
name looks like that no other part has, the model then learns from its other features.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tagline.checks import check_whole
from tagline.errors import InputError
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.messages import message
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.rules import scheme as scheme_of
from tagline.readers.spans import find_spans
from tagline.types import IntArray

COLUMN = "dictionary"


def read_dictionaries(paths: Sequence[str], tokenizer: str = "words") -> Dictionary:
    """Read files with a phrase a line and, after a TAB, its type; a phrase without one has the file's name as its type.

    Where two files have a phrase, the type of the first counts.
    """
    entries: dict[tuple[str, ...], str] = {}
    for path in paths:
        kind = "_".join(Path(path).name.partition(".")[0].split()) or COLUMN
        for phrase, own in Dictionary.read(path, kind, tokenizer=tokenizer).entries().items():
            entries.setdefault(phrase, own)
    if not entries:
        raise InputError("{}: expected phrases, got none", ", ".join(paths))
    return Dictionary(entries)


def dictionary_lines(place: int) -> list[str]:
    """Write template lines that look at the column of matches.

    >>> dictionary_lines(1)[:2]
    ['UD0:%x[0,1]', 'UD1:%x[-1,1]']
    """
    here, before, after = f"%x[0,{place}]", f"%x[-1,{place}]", f"%x[1,{place}]"
    return [
        *(f"UD0:{here}", f"UD1:{before}", f"UD2:{after}", f"UD3:{before}/{here}", f"UD4:{here}/{after}"),
        *(f"UD5:{here}/%x[0,0]", f"UD6:%x[-2,{place}]", f"UD7:%x[2,{place}]"),
    ]


def learn_dictionary(
    corpus: Corpus, scheme: str, *, parts: int = 5, min_count: int = 1, fold_case: bool = False
) -> tuple[Dictionary, Corpus]:
    """Make a dictionary of the entities of a corpus, and the corpus with a column of matches to learn from.

    `CRF(template, dictionary=dictionary).fit(corpus)` takes both: in training the column is used as it is, in tagging
    the dictionary makes it. The template needs a line that looks at it, the last one besides the tag.

    Arguments:
        scheme: of the tags.
        parts: that sentences are dealt into, one after the other; 2 or more.
        min_count: entities that are rarer are left out.
        fold_case: whether upper and lower case are the same.

    >>> sentences = [(["in", "Rome"], ["O", "B-LOC"]), (["Rome", "won"], ["B-LOC", "O"]), (["Oslo"], ["B-LOC"])]
    >>> dictionary, corpus = learn_dictionary(Corpus.from_sentences(sentences), "IOB2", parts=3)
    >>> dictionary.entries(), corpus.sequences("dictionary")
    ({('Rome',): 'LOC', ('Oslo',): 'LOC'}, [['O', 'S-LOC'], ['S-LOC', 'O'], ['O']])
    """
    if not isinstance(corpus, Corpus):
        raise InputError("corpus: expected a Corpus with tags, got {}", type(corpus).__name__)
    check_whole("parts", parts, 2, wanted=message("2 or more"))
    check_whole("min_count", min_count, 1, wanted=message("1 or more"))
    part = np.arange(len(corpus)) % parts
    mentions = _mentions(corpus, scheme)
    if not mentions:
        raise InputError("corpus: expected entities to make a dictionary of, got none; name the scheme of its tags")
    whole = _dictionary(mentions, part, -1, min_count, fold_case)
    strings = np.full(corpus.num_tokens, "O", object)
    for number in range(parts):
        held = np.flatnonzero(part == number)
        column = _dictionary(mentions, part, number, min_count, fold_case).column(corpus.take(held.tolist()))
        tokens = np.repeat(part, np.diff(corpus.offsets)) == number
        strings[tokens] = column.strings
    tags = corpus.column(TAG)
    bare = {name: column for name, column in corpus.columns.items() if name != TAG}
    return whole, corpus.with_columns({**bare, COLUMN: Column.of(strings.tolist()), TAG: tags})


def _mentions(corpus: Corpus, scheme: str) -> list[tuple[int, tuple[str, ...], str]]:
    """Return sentence, tokens and type of each entity."""
    spans = find_spans(corpus.column(TAG), corpus.offsets, f"conlleval:{scheme_of(scheme).name}")
    tokens: list[list[str]] = corpus.sequences(TOKEN)
    rows = zip(spans.sentence.tolist(), spans.start.tolist(), spans.end.tolist(), spans.label.tolist(), strict=True)
    return [(b, tuple(tokens[b][start:end]), spans.labels[label]) for b, start, end, label in rows]


def _dictionary(
    mentions: list[tuple[int, tuple[str, ...], str]], part: IntArray, left_out: int, min_count: int, fold_case: bool
) -> Dictionary:
    """Return the entities of all parts but one, each with its most frequent type, the first by name among equals."""
    counts: dict[tuple[str, ...], Counter[str]] = {}
    for b, phrase, kind in mentions:
        if part[b] != left_out:
            key = tuple(map(str.casefold, phrase)) if fold_case else phrase
            counts.setdefault(key, Counter())[kind] += 1
    entries = {
        phrase: min(types, key=lambda kind: (-types[kind], kind))
        for phrase, types in counts.items()
        if types.total() >= min_count
    }
    return Dictionary(entries, fold_case=fold_case)
