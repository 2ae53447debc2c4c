"""Other mentions of a word in its document: a macro that is looked at there, not at the token itself.

``%x[-1,0:mention1]`` is the word before the nearest other mention of the token's word, ``mention2`` goes to the second
nearest, up to ``mention9``. Row and column count from the mention, in its own sentence, and other built-in columns may
follow: ``%x[1,0:mention1:lower]``. A token without so many other mentions gets no attribute of the line.

Two tokens are mentions of each other where they stand in one document and have the same word, upper and lower case put
aside, and both are written like a name: with a letter, and not all in lower case. The nearest is the one with the
fewest tokens between; of two at the same distance, the earlier.

What such a macro gives is put into columns behind those of the corpus (`mention_columns`), and the template looks at
these (`resolved`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tagline.features.expansion import compact
from tagline.features.templates.lines import TemplateLine
from tagline.features.templates.macros import Derivation, Macro
from tagline.features.templates.template import Template
from tagline.features.templates.word_functions import MOST_MENTIONS
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.types import IntArray

__all__ = ["MOST_MENTIONS", "mention_columns", "mention_lines", "mention_places", "named_like", "resolved"]

PREFIX = "mention:"  # how the names of the columns begin
NOTHING = "\0"  # in a column, where a macro has nothing to say


def named_like(word: str) -> bool:
    """Say whether a word is written like a name: it has a letter, and is not all in lower case.

    >>> [named_like(word) for word in ("Rome", "IBM", "eBay", "北京", "rome", "1996", "'s")]
    [True, True, True, True, False, False, False]
    """
    return not word.islower() and any(map(str.isalpha, word))


def mention_lines(count: int, tables: int = 0) -> list[str]:
    """Write the lines that are added for mentions: words beside the nearest `count`, and their clusters.

    Lines of one kind share their weights, whichever mention they look at.

    >>> mention_lines(1)
    ['UM-1:%x[-1,0:mention1:lower]', 'UM+1:%x[1,0:mention1:lower]']
    """
    lines = []
    for number in range(1, count + 1):
        lines += [f"UM{row:+d}:%x[{row},0:mention{number}:lower]" for row in (-1, 1)]
        for table in range(1, tables + 1):
            name = "cluster" if table == 1 else f"cluster{table}"
            lines += [f"UM{table}{row:+d}:%x[{row},0:mention{number}:{name}]" for row in (-1, 1)]
    return lines


def mention_places(words: Column, offsets: IntArray, numbers: IntArray, count: int) -> IntArray:
    """Return the places of the nearest other mentions of each token, ``[N, count]``; −1 for none.

    Arguments:
        words: of all tokens.
        numbers: the document of each sentence, ``[B]``, ascending.
    """
    places = np.full((len(words), count), -1)
    lowered: dict[str, int] = {}
    table = [lowered.setdefault(word.lower(), len(lowered)) if named_like(word) else -1 for word in words.vocabulary]
    word = np.array(table or [-1])[words.ids]  # [N]
    tokens = np.flatnonzero(word >= 0)
    key = np.repeat(numbers, np.diff(offsets))[tokens] * max(1, len(lowered)) + word[tokens]
    order = np.argsort(key, kind="stable")
    tokens, key = tokens[order], key[order]  # mentions of one word stand side by side, in the order of the text
    steps = [*range(-1, -count - 1, -1), *range(1, count + 1)]  # of two at one distance, the earlier comes first
    candidates = np.full((len(tokens), len(steps)), -1)
    for k, step in enumerate(steps):
        here, there = slice(max(0, -step), len(tokens) - max(0, step)), slice(max(0, step), len(tokens) + min(0, step))
        if abs(step) < len(tokens):
            candidates[here, k] = np.where(key[here] == key[there], tokens[there], -1)
    distance = np.where(candidates < 0, len(words), np.abs(candidates - tokens[:, None]))
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :count]
    places[tokens] = np.take_along_axis(candidates, nearest, axis=1)
    return places


def resolved(template: Template, width: int) -> Template:
    """Return the template with macros for the columns that `mention_columns` puts behind `width` others."""
    if not template.num_mentions:
        return template
    columns = {macro: width + k for k, macro in enumerate(_macros(template))}

    def looking(line: TemplateLine) -> TemplateLine:
        return replace(line, macros=tuple(_resolved(macro, columns) for macro in line.macros))

    return replace(template, lines=tuple(map(looking, template.lines)))


def mention_columns(corpus: Corpus, template: Template, width: int, numbers: IntArray) -> Corpus:
    """Return a corpus with its first columns, what macros of a template find at other mentions, and its tags.

    Arguments:
        width: how many columns are kept.
        numbers: the document of each sentence, ``[B]``.
    """
    own = [(name, column) for name, column in corpus.columns.items() if name != TAG][:width]
    table = [compact(column) for _, column in own]
    words = compact(corpus.column(TOKEN if TOKEN in corpus.names else corpus.names[0]))
    places = mention_places(words, corpus.offsets, numbers, template.num_mentions)
    columns = dict(own)
    for k, macro in enumerate(_macros(template)):
        place = places[:, macro.derivation.mention - 1]
        columns[f"{PREFIX}{k}"] = _found(macro, table[macro.derivation.column], corpus.offsets, place)
    if TAG in corpus.columns:
        columns[TAG] = corpus.columns[TAG]
    return corpus.with_columns(columns)


@dataclass(frozen=True)
class FromColumn(Derivation):
    """What a column of `mention_columns` holds, as it is; nothing where a macro had nothing to say."""

    @property
    def is_plain(self) -> bool:
        """Whether it is the word itself, as in CRF++."""
        return False

    @property
    def steps(self) -> None:
        """The compiled core does not have it."""
        return

    def of(self, word: str) -> str | None:
        """Take it from a word."""
        return None if word == NOTHING else word

    def of_all(self, words: Sequence[str]) -> list[str | None]:
        """Take it from many words."""
        return list(map(self.of, words))


def _macros(template: Template) -> list[Macro]:
    """Return the macros that look at mentions, each once."""
    macros = (macro for line in template.lines for macro in line.macros)
    return list(dict.fromkeys(macro for macro in macros if macro.derivation.mention))


def _resolved(macro: Macro, columns: dict[Macro, int]) -> Macro:
    if macro not in columns:
        return macro
    command = "v" if macro.derivation.command == "v" else "x"
    return Macro(0, FromColumn(columns[macro], command=command))


def _found(macro: Macro, column: Column, offsets: IntArray, mention: IntArray) -> Column:
    """Return what a macro finds at the mention of each token, ``[N]``, −1 for none."""
    whole = macro.derivation
    derivation = replace(whole, functions=whole.functions[1:], command="x" if whole.command == "v" else whole.command)
    sentence = np.searchsorted(offsets, mention, "right") - 1
    begin, end = offsets[np.maximum(sentence, 0)], offsets[np.maximum(sentence, 0) + 1]
    place = mention + macro.row
    inside = (mention >= 0) & (place >= begin) & (place < end)
    beyond = (mention >= 0) & ~inside
    distances, which = np.unique(np.where(place < begin, place - begin, place - end + 1)[beyond], return_inverse=True)
    used, own = np.unique(column.ids[place[inside]], return_inverse=True)
    values: list[str | None] = derivation.of_all([column.vocabulary[number] for number in used.tolist()])
    if whole.command == "v":  # padding has no vector
        values += [None] * len(distances)
    else:
        values += map(derivation.of_padding, distances.tolist())
    strings: dict[str, int] = {NOTHING: 0}
    table = np.array([strings.setdefault(NOTHING if v is None else v, len(strings)) for v in values], np.int32)
    ids = np.zeros(len(mention), np.int32)
    ids[inside], ids[beyond] = table[own], table[len(used) + which]
    return Column(tuple(strings), ids)
