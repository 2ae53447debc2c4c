"""What a file looks like, where nobody said: a token a line with its columns, or raw text.

A sentence of raw text reads as one token with many columns, and a model would tag its first word and say nothing.
"""

from __future__ import annotations

import re
from collections import Counter

COLUMNS, TEXT, UNCLEAR = "columns", "text", "unclear"

MOST_LINES = 1000  # that are looked at
FEW_LINES = 5  # of one length say little
SAME_LENGTH = 0.8  # of the lines of a table, broken ones among them

_BLANKS = re.compile(r"[ \t]+")
_STOP = re.compile(r"[.!?。！？…][\"'”’»)\]」』）]*")
_WIDE_STOP = re.compile(r".[。！？]")
_WIDE_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WIDE = re.compile(_WIDE_SIGN.pattern + "{2}")


def looks_like(lines: list[str], by_character: bool = False) -> str:
    """Say what the lines of a file are: ``columns``, ``text``, or ``unclear``.

    Arguments:
        by_character: whether tokens are single characters: then a line of several of them is text.

    >>> looks_like(["John lives in New York."])
    'text'
    >>> looks_like(["John NNP B-PER", "lives VBZ O"])
    'columns'
    """
    rows = [_BLANKS.split(line.strip(" \t\r")) for line in lines[:MOST_LINES] if line.strip(" \t\r")]
    if not rows:
        return COLUMNS
    counts = Counter(map(len, rows))
    most, same = counts.most_common(1)[0]
    if most == 1 and same >= SAME_LENGTH * len(rows):
        return TEXT if any(_is_wide_text(row[0], by_character) for row in rows) else COLUMNS
    if _ends_as_text(rows):
        return TEXT
    if same >= SAME_LENGTH * len(rows) and len(rows) >= FEW_LINES:
        return COLUMNS
    if len(rows) < FEW_LINES and any(map(_has_tags, rows)):
        return COLUMNS  # whose lines may be broken: then their reader says so
    return TEXT if len(rows) >= FEW_LINES else UNCLEAR


def is_segmented(lines: list[str]) -> bool:
    """Say whether lines are Chinese or Japanese sentences with blanks between words.

    The last field of such a line is a word or a stop, where a table has a tag.

    >>> is_segmented(["中国 人民 站 起来 。"]), is_segmented(["中 B-LOC", "国 I-LOC"])
    (True, False)
    """
    rows = [line.split() for line in lines[:MOST_LINES] if line.strip()]
    fields = [field for row in rows for field in row]
    wide = sum(_WIDE_SIGN.search(field) is not None for field in fields)
    last = sum(not row[-1].isascii() for row in rows)
    return len(fields) > len(rows) and wide > len(fields) / 2 and last > len(rows) / 2


def _is_wide_text(line: str, by_character: bool) -> bool:
    """A line of Chinese without blanks: a stop behind other signs, or several characters where tokens are single."""
    return _WIDE_STOP.search(line) is not None or (by_character and _WIDE.search(line) is not None)


def _ends_as_text(rows: list[list[str]]) -> bool:
    """Whether most lines end with the end of a sentence, which the tags of a table do not."""
    return sum(_STOP.search(row[-1][-3:]) is not None for row in rows) > len(rows) / 2


def _has_tags(row: list[str]) -> bool:
    """Whether a field behind the token is written as tags are: without small letters, or with a sign in it."""
    return any(not any(map(str.islower, field)) or re.search(r"[-_|=:/+*]", field) for field in row[1:])
