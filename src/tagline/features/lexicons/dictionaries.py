"""Dictionaries and gazetteers: known phrases found in sentences, longest match first.

Entries are kept as a trie over words. A corpus is matched on integers, all positions at once: the trie goes one level
down for every position that is still alive. From left to right the longest match at each position is taken, and the
search goes on behind it. A priority declares what the matches are worth:

- ``feature``: a column of tags (`Dictionary.column`) for templates; the model learns how far to trust them;
- ``over`` the model: labels that decoding must keep (`Dictionary.known`, `Dictionary.allowed`);
- ``under`` the model: spans only where the model says O (`Dictionary.fill`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tagline.checks import check_choice, is_listing, shown, shown_value
from tagline.errors import InputError
from tagline.features.lexicons.trie import UNKNOWN, Trie, edge_key, leftmost
from tagline.messages import message
from tagline.readers.blocks import read_lines
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.raw_text import tokenize
from tagline.readers.rules import OUTSIDE, SCHEMES, Scheme, tag_codes
from tagline.readers.rules import scheme as scheme_of
from tagline.readers.sources import PathLike, name_of
from tagline.readers.spans import Span, SpanArray, find_spans
from tagline.readers.tag_writing import write_tags
from tagline.readers.tagged import Form, Tagged
from tagline.readers.validation import separator_of
from tagline.types import BoolArray, IntArray

PRIORITIES = ("feature", "over", "under")
CONFLICTS = ("error", "first", "last")

Entry = str | Sequence[str]
"""A phrase: a string, which a tokenizer cuts, or its tokens."""


class Dictionary:
    """Phrases and their types.

    Arguments:
        entries: a mapping from phrase to type, or phrases that all have the type `kind`. A phrase is a string, which
            the tokenizer cuts, or a sequence of tokens.
        kind: the type of entries that name none.
        tokenizer: how strings are cut: ``words``, ``whitespace`` or ``characters`` (for Chinese); as the corpus is.
        fold_case: whether upper and lower case are the same.
        priority: ``feature``, ``over`` or ``under``; what a model should make of the matches.
        conflicts: what happens where one phrase has two types: ``error``, or the ``first`` or ``last`` type is kept.

    >>> places = Dictionary({"New York": "LOC", "New York Times": "ORG"})
    >>> places.match(["the", "New", "York", "Times", "in", "New", "York"])
    [(1, 4, 'ORG'), (5, 7, 'LOC')]
    """

    def __init__(
        self,
        entries: Mapping[str, str] | Mapping[tuple[str, ...], str] | Iterable[Entry],
        kind: str | None = None,
        *,
        tokenizer: str = "words",
        fold_case: bool = False,
        priority: str = "feature",
        conflicts: str = "error",
    ) -> None:
        if not is_listing(entries):
            raise InputError("entries: expected a mapping or a list of phrases, got {}", shown_value(entries))
        pairs = entries.items() if isinstance(entries, Mapping) else ((entry, None) for entry in entries)
        rows = ((f"entries[{n}]", entry, type_name) for n, (entry, type_name) in enumerate(pairs))
        self.priority = _one_of("priority", priority, PRIORITIES)
        self.fold_case = fold_case
        self._build(rows, kind, tokenizer, _one_of("conflicts", conflicts, CONFLICTS))

    @classmethod
    def read(
        cls,
        path: PathLike,
        kind: str | None = None,
        *,
        tokenizer: str = "words",
        fold_case: bool = False,
        priority: str = "feature",
        conflicts: str = "error",
        encoding: str = "utf-8",
    ) -> Dictionary:
        """Read a file with one phrase a line and, after a TAB, its type; blank lines are skipped."""
        dictionary = cls((), kind, tokenizer=tokenizer, fold_case=fold_case, priority=priority, conflicts=conflicts)
        dictionary._build(_lines(path, encoding), kind, tokenizer, conflicts)
        return dictionary

    def _build(
        self, rows: Iterable[tuple[str, object, object]], kind: str | None, tokenizer: str, conflicts: str
    ) -> None:
        tokenize("", tokenizer)  # raises where there is no tokenizer of that name
        words: dict[str, int] = {}
        edges: dict[int, int] = {}
        types: dict[str, int] = {}
        type_of: dict[int, int] = {}  # by node
        places: dict[int, str] = {}
        for where, entry, type_name in rows:
            node = 0
            for token in self._tokens(where, entry, tokenizer):
                word = words.setdefault(token, len(words))
                node = edges.setdefault(edge_key(node, word), len(edges) + 1)
            number = types.setdefault(_type(where, kind if type_name is None else type_name), len(types))
            earlier = type_of.setdefault(node, number)
            if earlier != number and conflicts == "error":
                names = list(types)
                raise InputError(
                    "{}: expected {!r} to be {} as at {}, got {}; keep one, say "
                    "conflicts='first' or 'last', or make a dictionary for each type",
                    where,
                    entry,
                    names[earlier],
                    places[node],
                    names[number],
                )
            places.setdefault(node, where)
            if conflicts == "last":
                type_of[node] = number
        self.types = tuple(types)
        self._words, self._trie = words, Trie.of(edges, type_of)

    def __len__(self) -> int:
        """Return the number of phrases."""
        return int((self._trie.types != UNKNOWN).sum())

    def entries(self) -> dict[tuple[str, ...], str]:
        """List the phrases and their types, as the constructor takes them; in lower case where case is folded.

        >>> Dictionary({"New York Times": "ORG", "New York": "LOC"}).entries()
        {('New', 'York'): 'LOC', ('New', 'York', 'Times'): 'ORG'}
        """
        words = list(self._words)
        phrases: list[tuple[str, ...]] = [()]  # by node; the root's is empty
        for parent, word in self._trie.edges():
            phrases.append((*phrases[parent], words[word]))
        kinds = self._trie.types.tolist()
        return {phrase: self.types[kind] for phrase, kind in zip(phrases, kinds, strict=True) if kind != UNKNOWN}

    def __repr__(self) -> str:
        return f"Dictionary({len(self)} phrases, types {', '.join(self.types)}, priority {self.priority!r})"

    def _tokens(self, where: str, entry: object, tokenizer: str) -> list[str]:
        if isinstance(entry, str):
            tokens = [entry[start:end] for start, end in tokenize(entry, tokenizer)]
        else:
            tokens = list(entry) if isinstance(entry, Sequence) else []
        if not tokens or not all(isinstance(token, str) and token for token in tokens):
            raise InputError("{}: expected a phrase of at least one token, got {}", where, shown_value(entry))
        return [token.casefold() for token in tokens] if self.fold_case else tokens

    @overload
    def match(self, text: Corpus, column: str = TOKEN) -> SpanArray: ...
    @overload
    def match(self, text: Sequence[str], column: str = TOKEN) -> list[Span]: ...
    def match(self, text: Corpus | Sequence[str], column: str = TOKEN) -> SpanArray | list[Span]:
        """Find the phrases, leftmost first and longest first; matches do not overlap.

        Arguments:
            text: the tokens of one sentence, for which the spans come as (start, end, type); or a corpus.
            column: the column of the corpus that holds the tokens.
        """
        if isinstance(text, Corpus):
            return self._spans(self._numbers(text.column(column)), text.offsets)
        tokens: list[Any] = list(text) if is_listing(text) else [text]
        if not is_listing(text) or not all(isinstance(token, str) for token in tokens):
            got = message("the string {}", shown_value(text)) if isinstance(text, str) else shown_value(text)
            raise InputError("text: expected a list of tokens or a Corpus, got {}", got)
        return self._spans(self._numbers(Column.of(tokens)), np.array([0, len(tokens)], np.int64)).to_lists(1)[0]

    def column(self, corpus: Corpus, scheme: str | Scheme = "BIOES", column: str = TOKEN) -> Column:
        """Write the matches as a column of tags, to be used by templates: ``corpus.with_column("places", …)``.

        >>> corpus = Corpus.from_sentences([{"token": ["in", "New", "York"]}])
        >>> Dictionary({"New York": "LOC"}).column(corpus).strings
        ['O', 'B-LOC', 'E-LOC']
        """
        return write_tags(self.match(corpus, column), corpus.offsets, scheme)

    def known(
        self, corpus: Corpus, labels: Sequence[str], scheme: str | Scheme = "BIOES", column: str = TOKEN
    ) -> IntArray:
        """Return the label of each token inside a match, ``[N]``, −1 elsewhere; for `tagline.chain.constrain`.

        In schemes that do not mark both ends of a span, the model may still make the match longer; with `allowed` it
        may not.

        Arguments:
            labels: those of the model, in its order; every label that a match needs must be there.
        """
        tag_scheme, spans = scheme_of(scheme), self.match(corpus, column)
        if not tag_scheme.typed:  # words are spans without a type, and what is in no match is unknown
            tag_scheme, spans = SCHEMES["BMES"], replace(spans, labels=("",) * len(spans.labels))
        separator = separator_of(Column(tuple(labels), np.zeros(0, np.int32)))
        tags = write_tags(spans, corpus.offsets, tag_scheme, separator)
        numbers = {label: number for number, label in enumerate(labels)}
        table = []
        for tag in tags.vocabulary:
            if tag != "O" and tag not in numbers:
                raise InputError(
                    "labels: expected {!r}, which a match of the dictionary needs, got {!s:.80}; give "
                    "the phrases a type that the model knows, or use the dictionary as a feature",
                    tag,
                    ", ".join(labels),
                )
            table.append(UNKNOWN if tag == "O" else numbers[tag])
        return np.array(table or [UNKNOWN], np.int64)[tags.ids]

    def check_labels(self, labels: Sequence[str], scheme: str | Scheme) -> None:
        """Raise where a match may need a label that a model does not have: of another type, or in another letter.

        Arguments:
            labels, scheme: as for `known`.

        >>> Dictionary({"New York": "LOC"}, priority="over").check_labels(["O", "B-LOC", "I-LOC"], "IOB2")
        """
        tag_scheme = scheme_of(scheme)
        if not tag_scheme.typed and self.priority == "under":
            raise InputError(
                'dictionary: priority "under" adds spans where a model says O, and {} has no O; take priority '
                '"over" or "feature"',
                tag_scheme.name,
            )
        phrases: dict[tuple[str, int], tuple[str, ...]] = {}  # by type and length: of 3 tokens or more, tags are alike
        for phrase, kind in self.entries().items():
            phrases.setdefault((kind, min(len(phrase), 3)), phrase)
        for (kind, _), phrase in phrases.items():
            try:
                self.known(Corpus.from_sentences([{TOKEN: list(phrase)}]), labels, scheme)
            except InputError:
                types = sorted({name for name in tag_codes(labels, tag_scheme).names if name})
                raise InputError(
                    "dictionary: its phrase {} of type {} needs a label that no training sentence has. "
                    "The labels are {!s:.200}, of the types {!s:.200}. Leave out such phrases, give "
                    'them one of these types, label some sentences so, or take priority "feature"',
                    shown_value(" ".join(phrase)),
                    kind,
                    ", ".join(labels),
                    ", ".join(types),
                ) from None

    def allowed(
        self, corpus: Corpus, labels: Sequence[str], scheme: str | Scheme = "BIOES", column: str = TOKEN
    ) -> BoolArray:
        """Say which labels each token may take, ``[N, L]``, so that every match is a span of its own.

        A token in a match has its label; the tokens beside a match may not join it.
        """
        known = self.known(corpus, labels, scheme, column)
        N, L = len(known), len(labels)
        free = known == UNKNOWN
        allowed: BoolArray = free[:, None] | (known[:, None] == np.arange(L))  # [N, L]
        joins = _joins(labels, scheme)
        inner = np.ones(N + 1, np.bool_)
        inner[corpus.offsets] = False
        before = np.flatnonzero(inner[1:N] & free[:-1] & ~free[1:])  # the token before a match
        allowed[before] &= ~joins[:, known[before + 1]].T
        after = np.flatnonzero(inner[1:N] & ~free[:-1] & free[1:]) + 1
        allowed[after] &= ~joins[known[after - 1]]
        return allowed

    def fill(
        self,
        corpus: Corpus,
        tags: Form | None = None,
        scheme: str | Scheme = "BIOES",
        column: str = TOKEN,
        held: BoolArray | None = None,
    ) -> Form | Corpus:
        """Add the matches where the tags say O; spans that are there stay as they are.

        Arguments:
            corpus: whose tokens are searched; a match lies in tokens that are all O.
            tags: those of the model, in the forms that `tagline.readers.schemes` takes; the corpus's own when left out.
            scheme: of the tags.
            held: ``[N]``, tokens that no match may cover, for their tags are known.

        Returns:
            Tags in the form in which they were given.
        """
        tagged = Tagged.of(corpus if tags is None else tags, TAG)
        if tagged.offsets.tolist() != corpus.offsets.tolist():
            raise InputError(
                "tags: expected one for each token of {} sentences ({} tokens), got {} tags in {} sentences",
                len(corpus),
                corpus.num_tokens,
                len(tagged.column),
                len(tagged.offsets) - 1,
            )
        filled: Form | Corpus = tagged.like_original(
            self._filled(corpus.column(column), tagged, scheme_of(scheme), held)
        )
        return filled

    def _filled(self, tokens: Column, tagged: Tagged, tag_scheme: Scheme, held: BoolArray | None) -> Column:
        offsets = tagged.offsets
        old = find_spans(tagged.column, offsets, f"conlleval:{tag_scheme.name}")
        outside = tag_codes(tagged.column.vocabulary, tag_scheme).roles[tagged.column.ids] == OUTSIDE  # [N]
        if held is not None:
            outside &= ~held
        added = self._spans(np.where(outside, self._numbers(tokens), UNKNOWN), offsets)
        both, is_new = _union(old, added, offsets)
        written = write_tags(both, offsets, tag_scheme, separator_of(tagged.column))
        # A tag of the model changes only where the scheme marks that its span touches a match.
        base = offsets[both.sentence]
        first, last = base + both.start, base + both.end
        meets = (last[:-1] == first[1:]) & (both.sentence[:-1] == both.sentence[1:])
        touched = is_new.copy()
        touched[1:] |= is_new[:-1] & meets
        touched[:-1] |= is_new[1:] & meets
        depth = np.zeros(len(outside) + 1, np.int64)
        np.add.at(depth, first[touched], 1)
        np.add.at(depth, last[touched], -1)
        changed = np.cumsum(depth[:-1]) > 0  # [N]
        return Column.of(np.where(changed, _strings(written), _strings(tagged.column)).tolist())

    def _numbers(self, tokens: Column) -> IntArray:
        """Return the number of each token among the words of the dictionary, ``[N]``."""
        fold = str.casefold if self.fold_case else str
        table = [self._words.get(fold(word), UNKNOWN) for word in tokens.vocabulary]
        return np.array(table or [UNKNOWN], np.int64)[tokens.ids]

    def _spans(self, words: IntArray, offsets: IntArray) -> SpanArray:
        start, length, kind = self._trie.longest(words, offsets)
        chosen = leftmost(start, start + length)
        start, length, kind = start[chosen], length[chosen], kind[chosen]
        sentence = np.searchsorted(offsets, start, "right") - 1
        first = start - offsets[sentence]
        return SpanArray(sentence, first, first + length, kind.astype(np.int32), self.types)


def _joins(labels: Sequence[str], tag_scheme: str | Scheme) -> BoolArray:
    """Say whether two tokens with these labels, one after the other, are in one span: ``[L, L]``."""
    L = len(labels)
    pairs = Column(tuple(labels), np.stack([np.repeat(np.arange(L), L), np.tile(np.arange(L), L)], 1).ravel())
    spans = find_spans(pairs, np.arange(L * L + 1) * 2, f"conlleval:{scheme_of(tag_scheme).name}")
    joined = np.zeros(L * L, np.bool_)
    joined[spans.sentence[spans.end - spans.start == 2]] = True
    return joined.reshape(L, L)


def _union(old: SpanArray, new: SpanArray, offsets: IntArray) -> tuple[SpanArray, BoolArray]:
    """Return the spans of both, which do not overlap, in the order of the text, and which of them are new."""
    labels = tuple(dict.fromkeys((*old.labels, *new.labels)))
    joined = SpanArray(
        np.concatenate([old.sentence, new.sentence]),
        np.concatenate([old.start, new.start]),
        np.concatenate([old.end, new.end]),
        np.concatenate([old.numbered(labels), new.numbered(labels)]),
        labels,
    )
    order = np.argsort(offsets[joined.sentence] + joined.start)
    return joined.take(order), np.asarray(order >= len(old), np.bool_)


def _strings(column: Column) -> NDArray[np.object_]:
    return np.array(column.vocabulary, object)[column.ids]


def _one_of(name: str, value: str, values: Sequence[str]) -> str:
    check_choice(name, value, values)
    return value


def _type(where: str, kind: object) -> str:
    if kind is None:
        raise InputError(
            "{}: expected a type (after a TAB, or as the value of a mapping), got none; or pass kind=", where
        )
    if not isinstance(kind, str) or not kind or any(letter.isspace() for letter in kind):
        raise InputError("{}: expected a type without blanks, such as PER, got {}", where, shown_value(kind))
    return kind


def _lines(path: PathLike, encoding: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield place, phrase and type of each line that is not blank."""
    name = name_of(path)
    for number, line in read_lines(path, encoding):
        fields = line.split("\t")
        if len(fields) > 2:
            raise InputError("{}:{}: expected a phrase, a TAB and a type, got {}", name, number, shown(line))
        if line.strip():
            yield f"{name}:{number}", fields[0], fields[1] if len(fields) == 2 else None
