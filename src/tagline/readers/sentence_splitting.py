"""Text in, the places of its sentences out: a splitter that knows abbreviations, quotes and Chinese signs.

A sentence ends at ``. ! ? …`` before a blank, with the quotes and brackets that close behind it, and at ``。！？`` with
or without one. A stop does not end it behind a title or an initial (Dr. Smith, J. Smith), in a number, before a small
letter, and behind an abbreviation (U.S., Inc., Jan.) unless a word follows that commonly begins a sentence.
"""

from __future__ import annotations

import re

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.readers.tokenizers import TITLES

_NEVER = frozenset(
    {*TITLES, "e.g", "i.e", "eg", "ie", "vs", "cf", "viz", "al", "No", "no", "Nos", "nos", "Nr", "nr", "Fig", "Figs"}
    | {"fig", "figs", "Vol", "vol", "pp", "p", "ed", "eds", "approx", "ca", "resp", "Mt", "Ft", "z.B", "bzw", "d.h"}
)
"""Abbreviations that something always follows."""

_SOMETIMES = frozenset(
    {"Inc", "Corp", "Ltd", "Co", "Bros", "Jr", "Sr", "etc", "a.m", "p.m", "Ph.D", "Ave", "Blvd", "Rd", "Dept", "Univ"}
    | {"Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec"}
    | {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Calif", "Mass", "Pa", "Va", "Conn", "Wash", "est", "usw"}
)
"""Abbreviations that may end a sentence."""

_STARTERS = frozenset(
    {"The", "A", "An", "This", "That", "These", "Those", "He", "She", "It", "We", "You", "They", "I", "His"}
    | {"Her", "Its", "Our", "Their", "My", "Your", "There", "Here", "In", "On", "At", "For", "From", "By"}
    | {"With", "As", "After", "Before", "But", "And", "Or", "So", "If", "When", "While", "Where", "Who"}
    | {"What", "Why", "How", "Yet", "However", "Although", "Then", "No", "Not", "Some", "All", "Many", "Most"}
    | {"One", "Two", "Meanwhile"}
)
"""Words that, with a capital, commonly begin a sentence."""

_CLOSING = r"[\"'”’»›)\]}）】》」』〉]"
_END = re.compile(
    rf"(?P<wide>[。！？｡]+[。！？｡!?….]*{_CLOSING}*)"
    rf"|(?P<sign>[.!?…]++{_CLOSING}*+)(?=\s|\Z)"
    r"|(?P<blank>\n[^\S\n]*\n\s*)"
    r"|(?P<line>\n)"
)
_SIGN = re.compile(r"[。！？｡.!?…\n]")  # what an end begins with: `re` finds one set faster than four ends
_STOPS = re.compile(r"[.!?…]+")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_NO_WORD = re.compile(r"[^\w.]")
_WORD_AFTER = re.compile(r"\s*[\"'“‘«‹(\[{]*(\w*)")
_LOOKED_AT = 24  # characters before a stop: no abbreviation is longer


def split_sentences(text: str, *, newlines: bool = True) -> list[tuple[int, int]]:
    """Find the sentences of a text as (start, end) characters, without the blanks between them.

    Arguments:
        newlines: whether the end of a line ends a sentence, too; a blank line always does.

    >>> text = "Dr. Smith paid $3.50. \\"Really?\\" he asked. 他走了。她没走。"
    >>> [text[start:end] for start, end in split_sentences(text)]
    ['Dr. Smith paid $3.50.', '"Really?" he asked.', '他走了。', '她没走。']
    """
    if not isinstance(text, str):
        raise InputError("text: expected a string, got {}", shown_value(text))
    spans: list[tuple[int, int]] = []
    start = at = 0
    while sign := _SIGN.search(text, at):
        end = _END.match(text, sign.start())
        if end is None:  # no stop of this run ends a sentence: a run is looked at once, however long it is
            at = _STOPS.match(text, sign.start()).end()  # type: ignore[union-attr]
            continue
        at = end.end()
        if end["line"] is not None and not newlines:
            continue
        if end["sign"] is not None and not _ends(text, start, end):
            continue
        _add(spans, text, start, at)
        start = at
    _add(spans, text, start, len(text))
    return spans


def _add(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    """Add a sentence without the blanks around it; none where it is nothing else."""
    part = text[start:end]
    stripped = part.lstrip()
    if stripped:
        first = start + len(part) - len(stripped)
        spans.append((first, first + len(stripped.rstrip())))


def _ends(text: str, start: int, end: re.Match[str]) -> bool:
    """Say whether a sentence that begins at `start` ends with this sign."""
    after = _WORD_AFTER.match(text, end.end())
    word = "" if after is None else after[1]
    if word[:1].islower():
        return False
    if end["sign"] != ".":
        return True
    last = _NO_WORD.split(text[max(start, end.start() - _LOOKED_AT) : end.start()])[-1]
    if last in _NEVER:
        return False
    if last.isdecimal() and not text[start : end.start() - len(last)].strip():
        return False  # 1. the number of a list
    if len(last) == 1 and last.isalpha() and last.isupper() and last != "I":
        return not word
    if last in _SOMETIMES or ("." in last and _INITIALS.fullmatch(last)):
        return not word or word in _STARTERS
    return True
