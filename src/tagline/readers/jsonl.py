"""JSON lines: ``{"tokens": [...], "tags": [...]}``, or ``{"text": ..., "spans": [[start, end, label]]}`` in characters.

Character spans become tags by a tokenizer and a tag scheme; a span that cuts a token is an error that names both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from tagline.errors import InputError
from tagline.ragged import offsets_of
from tagline.readers.arguments import check_strict
from tagline.readers.blocks import read_lines
from tagline.readers.columns import refuse_others
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.schemes import spans_to_tags, tags_to_spans
from tagline.readers.sources import PathLike, name_of, open_target, shown, shown_value, warn_skipped
from tagline.readers.text import tokenize

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
    check_strict(strict)
    rows: list[_Row] = []
    problems: list[str] = []
    for number, line in read_lines(path, encoding):
        if not line.strip():
            continue
        try:
            rows.append(_row(f"{name}:{number}", number, line, tokenizer, scheme))
        except InputError as error:
            if strict:
                raise
            problems.append(str(error))
    if not rows and not problems:
        raise InputError(f"{name}: expected sentences, got an empty file")
    warn_skipped(name, problems)
    return _corpus(rows, name, problems)


def parse_json(place: str, line: str) -> Any:
    """Return the value of a line of JSON, or say where and why it is none; half a surrogate pair is no character."""
    try:
        item = json.loads(line)
        if line.count("[") + line.count("{") > MOST_NESTED:
            _check_depth(item)
        if "\\ud" in line.lower():
            json.dumps(item, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: expected JSON, got {shown(line)} ({error.msg} at character {error.pos})") from None
    except UnicodeEncodeError as error:
        got = error.object[error.start : error.start + 1]
        raise InputError(f"{place}: expected Unicode text, got {got!r}, a lone surrogate; mend the line") from None
    except (ValueError, RecursionError):
        problem = "numbers of too many digits, or lists that are nested too deeply"
        raise InputError(f"{place}: expected JSON, got {shown(line)} ({problem})") from None
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


class _Row:
    """One sentence as it was read."""

    def __init__(
        self, line: int, columns: dict[str, list[str]], text: str | None, spans: list[tuple[int, int]]
    ) -> None:
        self.line, self.columns, self.text, self.spans = line, columns, text, spans


def _row(place: str, number: int, line: str, tokenizer: str, scheme: str) -> _Row:
    item = parse_json(place, line)
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        text = item["text"]
        if (row := _as_tagged(number, text, item)) is not None:
            return row
        spans = tokenize(text, tokenizer)
        tokens = [text[start:end] for start, end in spans]
        columns = {TOKEN: tokens}
        if "spans" in item:
            labelled = _token_spans(place, text, spans, item["spans"])
            columns[TAG] = spans_to_tags(labelled, len(tokens), scheme)
        return _Row(number, columns, text, spans)
    if isinstance(item, Mapping) and _is_strings(item.get("tokens")):
        columns = {TOKEN: item["tokens"]}
        tags = item.get("tags")
        if tags is not None:
            if not _is_strings(tags) or len(tags) != len(item["tokens"]):
                raise InputError(
                    f"{place}: expected {len(item['tokens'])} tags, one a token, got {shown(json.dumps(tags))}"
                )
            columns[TAG] = tags
        return _Row(number, columns, None, [])
    raise InputError(f'{place}: expected {{"tokens": [...]}} or {{"text": "..."}}, got {shown(line)}')


def _as_tagged(number: int, text: str, item: Mapping[str, Any]) -> _Row | None:
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
    return _Row(number, {TOKEN: tokens, TAG: tags}, text, places)


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
            wanted = f"spans [start, end, label] within {len(text)} characters"
            raise InputError(f"{place}: expected {wanted}, got {span!r:.60}")
        if start not in starts or end not in ends:
            raise InputError(
                f"{place}: expected a span of whole tokens, got {span!r} ({shown(text[start:end])}); "
                'use another tokenizer, such as "characters"'
            )
        token_spans.append((starts[start], ends[end], label))
    return token_spans


def _corpus(rows: Sequence[_Row], source: str, problems: Sequence[str]) -> Corpus:
    names = [TOKEN, TAG] if rows and all(TAG in row.columns for row in rows) else [TOKEN]
    columns = {name: Column.of(word for row in rows for word in row.columns[name]) for name in names}
    texts = [row.text for row in rows if row.text is not None]
    known = len(texts) == len(rows)
    flat = np.array([span for row in rows for span in row.spans], np.int64).reshape(-1, 2)
    return Corpus(
        columns,
        offsets_of([len(row.columns[TOKEN]) for row in rows]),
        source=source,
        lines=[row.line for row in rows],
        texts=texts if known else None,
        token_spans=flat if known else None,
        problems=problems,
    )


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
        raise InputError(f"form: expected tokens or spans, got {shown_value(form)}")
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
