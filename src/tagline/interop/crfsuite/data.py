r"""CRFsuite's data: a line a token, its label and its attributes with tabs between; an empty line ends a sentence.

    B-NP<TAB>w=The<TAB>length:3<TAB>time=12\:30

An attribute may have a value after a colon, 1 where there is none; ``\:`` and ``\\`` are a colon and a backslash. A
line ``@weight:2`` before the first token says how much its sentence counts. What crfsuite reads in silence as something
else (a value that is no number, a second colon, a label with a colon) is an error here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from tagline.errors import InputError

Item: TypeAlias = dict[str, float] | list[str]
"""Attributes with their values; names alone where every value is 1."""

_FIELD = re.compile(r"((?:[^\\:]|\\.|\\$)*)(?::((?:[^\\:]|\\.|\\$)*))?", re.DOTALL)
_ESCAPE = re.compile(r"\\([\\:])")


@dataclass
class LabelledItems:
    """One sentence.

    Attributes:
        labels: one of each token.
        items: the attributes of each token; one that stands twice counts twice.
        weight: how much the sentence counts.
        line: where it begins, from 1.
    """

    labels: list[str] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    weight: float = 1.0
    line: int = 1


def read_sentences(lines: Iterable[bytes], source: str) -> Iterator[LabelledItems]:
    """Read sentences; those without a token are left out.

    Arguments:
        lines: of the file, with their ends.
        source: its name, for messages.

    >>> [sentence] = read_sentences([b"@weight:2\\n", b"N\\tw=Anna\\n", b"V\\tw=sings\\tlength:5\\n"], "data")
    >>> sentence.labels, sentence.items, sentence.weight
    (['N', 'V'], [['w=Anna'], {'w=sings': 1.0, 'length': 5.0}], 2.0)
    """
    sentence = LabelledItems()
    for number, line in enumerate(lines, 1):
        text = _decoded(line.rstrip(b"\r\n"), source, number)
        if not text:
            if sentence.labels:
                yield sentence
            sentence = LabelledItems(line=number + 1)
            continue
        try:
            _add_line(sentence, text)
        except InputError as error:
            raise InputError("{}:{}: {}", source, number, error) from None
    if sentence.labels:
        yield sentence


def _decoded(line: bytes, source: str, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise InputError(
            "{}:{}: expected UTF-8, got other bytes; convert the file, for instance with iconv", source, number
        ) from None


def _add_line(sentence: LabelledItems, line: str) -> None:
    fields = [part for part in line.split("\t") if part]
    if not fields:
        raise InputError("expected a label and attributes, got tabs alone; an empty line ends a sentence")
    label, value = split_field(fields[0])
    if fields[0].startswith("@"):
        _declare(sentence, label, value, len(fields))
        return
    if value is not None:
        raise InputError("expected a label, got {!r:.60}; write \\: for a colon", fields[0])
    sentence.labels.append(label)
    sentence.items.append(_item(fields[1:]) if ":" in line or "\\" in line else fields[1:])


def _item(fields: list[str]) -> dict[str, float]:
    item: dict[str, float] = {}
    for part in fields:
        name, text = split_field(part)
        item[name] = item.get(name, 0.0) + _number(text, part)
    return item


def split_field(text: str) -> tuple[str, str | None]:
    r"""Return what stands before and after the colon of a field; None where there is no colon.

    >>> split_field(r"time=12\:30:2")
    ('time=12:30', '2')
    """
    if "\\" not in text:
        name, colon, value = text.partition(":")
        if ":" not in value:
            return name, value if colon else None
    match = _FIELD.fullmatch(text)
    if match is None:
        raise InputError("expected one colon, before a value, got {!r:.60}; write \\: for a colon in a name", text)
    name, value = match.groups()
    return _ESCAPE.sub(r"\1", name), None if value is None else _ESCAPE.sub(r"\1", value)


def _number(text: str | None, part: str) -> float:
    if not text:
        return 1.0
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError("expected a number after the colon, got {!r:.60}; write \\: for a colon in a name", part)
    return value


def _declare(sentence: LabelledItems, name: str, value: str | None, fields: int) -> None:
    if name != "@weight" or fields > 1 or not value:
        raise InputError("expected a line @weight:NUMBER, got {!r:.60}; no label may begin with @", name)
    if sentence.labels:
        raise InputError("expected @weight before the first token of a sentence, got it after")
    sentence.weight = _number(value, f"{name}:{value}")
    if sentence.weight < 0:
        raise InputError("expected a weight of 0 or more, got {}", value)
