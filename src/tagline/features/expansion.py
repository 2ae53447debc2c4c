"""From template and corpus to numbered attributes, in the compiled core; `Template.strings` is the definition.

A corpus holds each distinct word once, so built-in columns and patterns are computed once a word, and the core works on
integers: the numbers of the words under a template's macros are its key, equal keys are looked up once, and a string is
built once for each new attribute. The core spreads sentences over threads; the numbers are those of the order of first
use (token by token, line by line) for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from tagline import compiled
from tagline.checks import check_whole
from tagline.errors import InputError
from tagline.features.attributes import Attributes, Expanded, Features
from tagline.features.templates.lines import TemplateLine
from tagline.features.templates.macros import Derivation, Macro
from tagline.features.templates.template import Template
from tagline.features.vocabulary import MOST_NAMES, Vocabulary
from tagline.messages import message
from tagline.readers.corpus import TAG, Column, Corpus, Ids
from tagline.types import IntArray

Vocabularies = tuple[Vocabulary, Vocabulary | None]

Skeleton = tuple[tuple[str, ...], list[tuple[int, int]]]
"""A line as the core takes it: its literals, and (source, row) of the macro between each two."""

MOST_HASH_BITS = 30

Source = tuple[tuple[str | None, ...], Ids, tuple[str, ...], tuple[str, ...], bool]


def expand(
    template: Template,
    corpus: Corpus,
    vocabularies: Vocabularies | None = None,
    *,
    min_frequency: int = 1,
    hash_bits: int | None = None,
) -> Expanded:
    """Expand a template at every token of a corpus.

    Arguments:
        template: what to expand; its columns are those of the corpus by position, the tag left out.
        corpus: the sentences.
        vocabularies: of states and edges, to look attributes up in; those that are not there are left out.
        min_frequency: number only attributes that occur at least this often.
        hash_bits: number attributes by this many bits of their hashes, 1 to 30, and keep no names: for endless streams.

    >>> corpus = Corpus.from_sentences([(["the", "cat"], ["D", "N"])])
    >>> expanded = expand(Template.parse("U00:%x[0,0]\\nU01:%x[-1,0]"), corpus)
    >>> expanded.states.names(), expanded.features.states.ids.tolist()
    (['U00:the', 'U01:_B-1', 'U00:cat', 'U01:the'], [0, 1, 2, 3])
    """
    _check_options(template, vocabularies, min_frequency, hash_bits)
    table = {name: column for name, column in corpus.columns.items() if name != TAG}
    template.check_columns(list(table))
    columns = [compact(column) for column in table.values()]
    known_states, known_edges = vocabularies or (None, None)
    options = {"hash_bits": hash_bits or 0, "min_count": min_frequency}
    states, state_names = _expand(template.states, columns, corpus, False, known_states, options)
    if not template.has_edges:
        return Expanded(Features(corpus.offsets, states), state_names, None)
    edges, edge_names = _expand(template.edges, columns, corpus, True, known_edges, options)
    return Expanded(Features(corpus.offsets, states, edges), state_names, edge_names)


def _check_options(
    template: Template, vocabularies: Vocabularies | None, min_frequency: int, hash_bits: int | None
) -> None:
    check_whole("min_frequency", min_frequency, 0, 2**62, wanted=message("0 or more"))
    check_whole(
        "hash_bits",
        hash_bits,
        1,
        MOST_HASH_BITS,
        optional=True,
        wanted=message("1 to {}", MOST_HASH_BITS),
    )
    if min_frequency > 1 and (vocabularies or hash_bits):
        raise InputError(
            "min_frequency: expected 1 where names are {}, got {}; only new vocabularies are counted",
            "known" if vocabularies else "hashed",
            min_frequency,
        )
    if vocabularies and hash_bits:
        raise InputError("hash_bits: expected None where vocabularies are given, got a number; hashing needs no names")
    if vocabularies and template.has_edges and vocabularies[1] is None:
        raise InputError(
            "vocabularies: expected one for edges, got None; {} has B lines with macros, so it is not the "
            "template that they were made with",
            template.source,
        )


def _expand(
    lines: Sequence[TemplateLine],
    columns: Sequence[Column],
    corpus: Corpus,
    after_first: bool,
    known: Vocabulary | None,
    options: dict[str, int],
) -> tuple[Attributes, Vocabulary | None]:
    """Expand U lines, or B lines."""
    rows: dict[Derivation | Macro, list[int]] = {}  # of each source
    skeletons: list[Skeleton] = []
    numbers: dict[Derivation | Macro, int] = {}
    for line in lines:
        places = []
        for macro in line.macros:  # macros that differ in their rows alone have one source
            key, row = (macro, 0) if macro.has_places else (macro.derivation, macro.row)
            rows.setdefault(key, []).append(row)
            places.append((numbers.setdefault(key, len(numbers)), row))
        skeletons.append((line.literals, places))
    sources = [
        _placed_source(key, columns[key.derivation.column], corpus.offsets)
        if isinstance(key, Macro)
        else _source(key, columns[key.column], reach)
        for key, reach in rows.items()
    ]
    with unicode_words():
        try:
            offsets, ids, names = compiled.require().expand(
                sources,
                skeletons,
                corpus.offsets,
                after_first,
                None if known is None else known.parts,
                most=MOST_NAMES,
                **options,
            )
        except OverflowError as error:
            raise InputError(str(error)) from None
    return Attributes(offsets, ids), known if names is None else Vocabulary(names)


@contextmanager
def unicode_words() -> Iterator[None]:
    """Turn the error about a word that has no UTF-8 into ours."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InputError("words: expected Unicode text, got {!r} with a lone surrogate", error.object) from None


def _source(derivation: Derivation, column: Column, rows: Sequence[int]) -> Source:
    """Return a column as the core takes it: words, a number for each token, padding as far as the rows reach."""
    before = tuple(derivation.of_padding(-k) for k in range(1, 1 - min(rows)))
    after = tuple(derivation.of_padding(k) for k in range(1, 1 + max(rows)))
    words = column.vocabulary if derivation.is_plain else tuple(derivation.of_all(column.vocabulary))
    return words, np.ascontiguousarray(column.ids, np.int32), before, after, derivation.is_plain  # type: ignore[return-value]


def _placed_source(macro: Macro, column: Column, offsets: IntArray) -> Source:
    """Return the words that a macro finds from each token, padding among them, as a column of their own."""
    lengths = np.diff(offsets)
    begins, length = np.repeat(offsets[:-1], lengths), np.repeat(lengths, lengths)  # [N], of the token's sentence
    place = np.broadcast_to(macro.place(np.arange(len(begins)) - begins, length), begins.shape)
    inside = (place >= 0) & (place < length)
    distances, which = np.unique(np.where(place < 0, place, place - length + 1)[~inside], return_inverse=True)
    ids = np.empty(len(begins), np.int32)
    ids[inside] = column.ids[(begins + place)[inside]]
    ids[~inside] = len(column.vocabulary) + which
    paddings = map(macro.derivation.of_padding, distances.tolist())
    return (*macro.derivation.of_all(column.vocabulary), *paddings), ids, (), (), False


def compact(column: Column) -> Column:
    """Return the column with its own words only: a slice of a corpus shares the vocabulary of the whole."""
    if column.ids.min(initial=0) < 0 or column.ids.max(initial=-1) >= len(column.vocabulary):
        raise InputError("ids: expected numbers of words, 0 to {}, got others", len(column.vocabulary) - 1)
    if len(column.vocabulary) <= 4 * len(column.ids) + 64:
        return column
    used, ids = np.unique(column.ids, return_inverse=True)
    return Column(tuple(column.vocabulary[number] for number in used), ids.astype(np.int32))
