"""JSON lines: ``{"tokens": [...], "tags": [...]}``, or ``{"text": ..., "spans": [[start, end, label]]}`` in characters.

Character spans become tags by a tokenizer and a tag scheme; a span that cuts a token is an error that names both.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from tagline.checks import check_switch, shown, shown_value
from tagline.errors import InputError, warn_of_data
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.readers.blocks import read_lines
from tagline.readers.columns import refuse_others
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.raw_text import tokenize
from tagline.readers.schemes import spans_to_tags, tags_to_spans
from tagline.readers.sources import PathLike, name_of, open_target, warn_skipped

Row: TypeAlias = list[str]
Places: TypeAlias = list[tuple[int, int]]
_Row: TypeAlias = tuple[Row, Row | None, str | None, Places, str | None]

LABEL_KEYS = ("label", "labels", "entities", "spans", "tags", "ner_tags", "ner", "annotations")
"""Keys that labels have: in Tagline's own lines, in doccano's, spaCy's, Prodigy's, Label Studio's, Hugging Face's."""

MOST_NESTED = 100  # lists and objects in one another
_KEYS = ("char_start", "char_end", "type")  # of a span that `tagline tag` has written


def read_jsonl(
    path: PathLike, *, tokenizer: str = "words", scheme: str = "IOB2", encoding: str = "utf-8", strict: bool = True
) -> Corpus:
    """Read JSON lines of tokens and tags, or of text and character spans, or of both as ``tagline tag`` writes them.

    Arguments:
        tokenizer, scheme: how text and spans become tokens and tags.
        strict: raise at the first broken line; with False, skip it and note it in `Corpus.problems`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tagline import readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = Path(f"{folder}/train.jsonl").write_text('{"text": "Anna sings.", "spans": [[0, 4, "PER"]]}')
    ...     readers.read_jsonl(f"{folder}/train.jsonl").tags
    [['B-PER', 'O', 'O']]
    """
    name = name_of(path)
    check_switch("strict", strict)
    rows = _SentenceColumns()
    problems: list[str] = []
    warned = False
    for number, line in read_lines(path, encoding):
        if not line.strip():
            continue
        try:
            tokens, tags, text, places, unread = _row(f"{name}:{number}", line, tokenizer, scheme)
        except InputError as error:
            if strict:
                raise
            problems.append(str(error))
            continue
        rows.add(number, tokens, tags, text, places)
        if unread and not warned:
            warned = True
            warn_of_data(
                '{}:{}: the key "{}" is not read, and the sentence gets no tags. These are read '
                'from "tags" beside "tokens", one a token, or from "spans" beside "text", each [start, end, '
                "label] in characters: rename the key",
                name,
                number,
                unread,
            )
    if not rows.lines and not problems:
        raise InputError("{}: expected sentences, got an empty file", name)
    warn_skipped(name, problems)
    return rows.corpus(name, problems)


def parse_json(place: str, line: str) -> Any:
    """Return the value of a line of JSON, or say where and why it is none; half a surrogate pair is no character."""
    try:
        item = json.loads(line)
        if line.count("[") + line.count("{") > MOST_NESTED:
            _check_depth(item)
        if "\\ud" in line.lower():
            json.dumps(item, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise InputError(
            "{}: expected JSON, got {} ({} at character {})", place, shown(line), error.msg, error.pos
        ) from None
    except UnicodeEncodeError as error:
        got = error.object[error.start : error.start + 1]
        raise InputError("{}: expected Unicode text, got {!r}, a lone surrogate; mend the line", place, got) from None
    except (ValueError, RecursionError):
        problem = message("numbers of too many digits, or lists that are nested too deeply")
        raise InputError("{}: expected JSON, got {} ({})", place, shown(line), problem) from None
    return item


def _check_depth(item: Any) -> None:
    """Raise `RecursionError` for values that writing them could raise it for."""
    inside = [item]
    for _ in range(MOST_NESTED):
        parts = (
            value.values() if isinstance(value, dict) else value for value in inside if isinstance(value, dict | list)
        )
        inside = [part for values in parts for part in values]
    if any(isinstance(value, dict | list) for value in inside):
        raise RecursionError


class _SentenceColumns:
    """Sentences as they are read: a distinct token is held once, and a number of each, as objects take 80 times more.

    Attributes:
        lines, lengths: of the sentences.
        tokens, tags: strings and their numbers; tags are left out unless each sentence has them.
        texts, places: of sentences that have a text, and where the tokens begin and end in it.
        bare: the line of the first sentence without tags.
    """

    def __init__(self) -> None:
        self.lines, self.lengths, self.places = array("q"), array("q"), array("q")
        self.tokens, self.tags = _GrowingColumn(), _GrowingColumn()
        self.texts: list[str] = []
        self.tagged = 0
        self.bare: int | None = None

    def add(self, line: int, tokens: Row, tags: Row | None, text: str | None, places: Places) -> None:
        """Add a sentence."""
        self.lines.append(line)
        self.lengths.append(len(tokens))
        self.tokens.add(tokens)
        if tags is not None:
            self.tags.add(tags)
            self.tagged += 1
        elif self.bare is None:
            self.bare = line
        if text is not None:
            self.texts.append(text)
            self.places.extend(bound for place in places for bound in place)

    def corpus(self, source: str, problems: Sequence[str]) -> Corpus:
        """Return the sentences."""
        count = len(self.lines)
        columns = {TOKEN: self.tokens.column()}
        if 0 < count == self.tagged:
            columns[TAG] = self.tags.column()
        elif self.tagged:
            warn_of_data(
                "{}:{}: this sentence has no tags, so those of {} of {} sentences are left "
                "out; give it tags, or remove its line",
                source,
                self.bare,
                self.tagged,
                count,
            )
        known = len(self.texts) == count
        return Corpus(
            columns,
            offsets_of(np.array(self.lengths, np.int64)),
            source=source,
            lines=np.array(self.lines, np.int64),
            texts=self.texts if known else None,
            token_spans=np.array(self.places, np.int64).reshape(-1, 2) if known else None,
            problems=problems,
        )


class _GrowingColumn:
    """A column that grows."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.ids = array("i")

    def add(self, strings: Row) -> None:
        self.ids.extend(self.numbers.setdefault(string, len(self.numbers)) for string in strings)

    def column(self) -> Column:
        return Column(tuple(self.numbers), np.array(self.ids, np.int32))


def _row(place: str, line: str, tokenizer: str, scheme: str) -> _Row:
    """Tokens, tags, text and places of a line, and a key that looks like labels where there are no tags."""
    item = parse_json(place, line)
    tags: Any = None
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        text = item["text"]
        if (row := _as_tagged(text, item)) is not None:
            return row
        spans = tokenize(text, tokenizer)
        if "spans" in item:
            labelled = _token_spans(place, text, spans, item["spans"])
            tags = spans_to_tags(labelled, len(spans), scheme)
        return [text[start:end] for start, end in spans], tags, text, spans, None if tags is not None else _unread(item)
    if isinstance(item, Mapping) and _is_strings(item.get("tokens")):
        tags = item.get("tags")
        if tags is not None and (not _is_strings(tags) or len(tags) != len(item["tokens"])):
            raise InputError(
                "{}: expected {} tags, one a token, got {}", place, len(item["tokens"]), shown(json.dumps(tags))
            )
        return item["tokens"], tags, None, [], None if tags is not None else _unread(item)
    raise InputError('{}: expected {{"tokens": [...]}} or {{"text": "..."}}, got {}', place, shown(line))


def _unread(item: Mapping[str, Any]) -> str | None:
    """The first key of other tools' labels that has some."""
    return next((key for key in LABEL_KEYS if isinstance(item.get(key), list | dict) and item[key]), None)


def _as_tagged(text: str, item: Mapping[str, Any]) -> _Row | None:
    """A line as `tagline tag` writes it: with the tokens and tags of its text. None for other lines."""
    tokens, tags, spans = item.get("tokens"), item.get("tags"), item.get("spans") or []
    if not (_is_strings(tokens) and _is_strings(tags)) or len(tokens) != len(tags) or not isinstance(spans, list):
        return None
    if not all(isinstance(span, Mapping) for span in spans):
        return None
    places, end = [], 0
    for token in tokens:
        start = text.find(token, end)
        if start < 0:
            return None
        end = start + len(token)
        places.append((start, end))
    return tokens, tags, text, places, None


def _is_strings(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(string, str) for string in value)


def _token_spans(place: str, text: str, tokens: list[tuple[int, int]], spans: Any) -> list[tuple[int, int, str]]:
    """Turn spans of characters into spans of tokens."""
    starts = {start: n for n, (start, _) in enumerate(tokens)}
    ends = {end: n + 1 for n, (_, end) in enumerate(tokens)}
    token_spans = []
    for span in spans if isinstance(spans, list) else [spans]:
        try:
            start, end, label = [span[key] for key in _KEYS] if isinstance(span, Mapping) else span
            whole = type(start) is int and type(end) is int and isinstance(label, str)
            inside = whole and 0 <= start < end <= len(text)
        except (KeyError, TypeError, ValueError):
            inside = False
        if not inside:
            wanted = message("spans [start, end, label] within {} characters", len(text))
            raise InputError("{}: expected {}, got {!r:.60}", place, wanted, span)
        if start not in starts or end not in ends:
            raise InputError(
                '{}: expected a span of whole tokens, got {!r} ({}); use another tokenizer, such as "characters"',
                place,
                span,
                shown(text[start:end]),
            )
        token_spans.append((starts[start], ends[end], label))
    return token_spans


def write_jsonl(corpus: Corpus, path: PathLike, *, form: str = "tokens", scheme: str = "IOB2") -> None:
    """Write JSON lines.

    Arguments:
        form: ``tokens`` for tokens and tags; ``spans`` for text with character spans, where the corpus has texts.
        scheme: of the tags, for ``spans``.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tagline import Corpus, readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     readers.write_jsonl(Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])]), f"{folder}/train.jsonl")
    ...     print(Path(f"{folder}/train.jsonl").read_text().strip())
    {"tokens": ["Anna", "sings"], "tags": ["B-PER", "O"]}
    """
    refuse_others(corpus)
    if not isinstance(form, str) or form not in ("tokens", "spans"):
        raise InputError("form: expected tokens or spans, got {}", shown_value(form))
    if form == "spans" and (corpus.texts is None or corpus.token_spans is None):
        raise InputError('form "spans": expected a corpus with texts, got one of tokens alone; write form "tokens"')
    with open_target(path) as stream:
        for sentence in corpus:
            item: dict[str, Any] = {"tokens": sentence.tokens}
            if form == "spans":
                assert sentence.spans is not None
                item = {"text": sentence.text}
                if sentence.tags is not None:
                    spans = tags_to_spans(sentence.tags, scheme)
                    item["spans"] = [[sentence.spans[a][0], sentence.spans[b - 1][1], label] for a, b, label in spans]
            elif sentence.tags is not None:
                item["tags"] = sentence.tags
            stream.write(json.dumps(item, ensure_ascii=False).encode() + b"\n")
