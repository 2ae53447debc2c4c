"""What a file looks like, where nobody said: a token a line with its columns, or raw text.

A sentence of raw text reads as one token with many columns, and a model would tag its first word and say nothing. So
what is not clear is asked for, and a guess that is not certain is told.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

COLUMNS, TEXT, UNCLEAR = "columns", "text", "unclear"

MOST_LINES = 1000  # that are looked at
FEW_LINES = 5  # of one length say little
MOST_FIELDS = 4  # of a line whose last word in capitals is taken for a tag
SAME_LENGTH = 0.8  # of the lines of a table, broken ones among them

_SCHEME_TAG = re.compile(r"O|[BIESLUMW][-_]\S+")
_CAPITALS = re.compile(r"[^\W\d_a-z]+[$]?|[^\w\s]+")  # parts of speech: NNP, PRP$, punctuation
_BLANKS = re.compile(r"[ \t]+")
_STOP = re.compile(r"[.!?。！？…][\"'”’»)\]」』）]*")
_WIDE_STOP = re.compile(r".[。！？]")
_WIDE_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WIDE = re.compile(_WIDE_SIGN.pattern + "{2}")


class Look(NamedTuple):
    """What lines look like: ``columns``, ``text`` or ``unclear``; a guess that is not `sure` is worth a word."""

    form: str
    sure: bool = True


def looks_like(lines: list[str], by_character: bool = False) -> str:
    """Say what the lines of a file are: ``columns``, ``text``, or ``unclear``.

    Arguments:
        by_character: whether tokens are single characters: then a line of several of them is text.

    >>> looks_like(["John lives in New York."])
    'text'
    >>> looks_like(["John NNP B-PER", "lives VBZ O"])
    'columns'
    """
    return look_at(lines, by_character).form


def look_at(lines: list[str], by_character: bool = False, columns: int = 1) -> Look:
    """Say what the lines of a file are, and whether that is certain.

    Arguments:
        by_character: whether tokens are single characters: then a line of several of them is text.
        columns: what the model looks at, of each token. One that looks at several is not asked about text: lines of so
            many fields, or of one more for the tag, are what it needs.

    >>> look_at(["login failed for anna"]), look_at(["Anna NNP"])
    (Look(form='unclear', sure=True), Look(form='columns', sure=False))
    """
    rows = [_BLANKS.split(line.strip(" \t\r")) for line in lines[:MOST_LINES] if line.strip(" \t\r")]
    if not rows:
        return Look(COLUMNS)
    counts = Counter(map(len, rows))
    most, same = counts.most_common(1)[0]
    if columns > 1 and most <= columns + 1:
        return Look(COLUMNS)
    alike = same >= SAME_LENGTH * len(rows)
    if most == 1 and alike:
        return Look(TEXT if any(_is_wide_text(row[0], by_character) for row in rows) else COLUMNS)
    if _ends_as_text(rows):
        return Look(TEXT)
    few = len(rows) < FEW_LINES
    if not (few or alike):
        return Look(TEXT)
    # Few lines are columns if one of them ends with a tag (others may be broken: then their reader says so).
    wanted = 1 if few else len(rows) / 2
    if sum(len(row) > 1 and _SCHEME_TAG.fullmatch(row[-1]) is not None for row in rows) >= wanted:
        return Look(COLUMNS)
    if sum(1 < len(row) <= MOST_FIELDS and _CAPITALS.fullmatch(row[-1]) is not None for row in rows) >= wanted:
        return Look(COLUMNS, sure=False)
    parted = any("\t" in line.strip() for line in lines) or _has_gaps(lines)
    return Look(COLUMNS, sure=False) if not few and (most == 2 or parted) else Look(UNCLEAR)


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


def _has_gaps(lines: list[str]) -> bool:
    """Whether a blank line stands between others, as between the sentences of a table."""
    filled = [number for number, line in enumerate(lines) if line.strip(" \t\r")]
    return len(filled) <= filled[-1] - filled[0]
