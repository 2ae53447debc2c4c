"""The language of the command line: English, or Chinese where the locale or ``TAGLINE_LANG=zh`` asks for it.

English texts stand in the code where they are said, and are the keys of one table (`zh`): what it does not have is said
in English. Data are never translated: tags, columns, JSON, and the lines of the CoNLL script stay as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagline.cli.language.tables import Table

ENGLISH, CHINESE = "en", "zh"
TRADITIONAL = ("tw", "hk", "mo", "hant")  # there is no table for them

# A word or a Chinese character, with the signs that must not end a line or begin one, and the blanks behind it.
_PIECES = re.compile(r"[（《“]*(?:[^\s\u2e80-\uffff]+|[\u2e80-\uffff])[，。；：、）！？》”]*\s*|\s+")

_table: Table | None = None


def asked_for(environment: Mapping[str, str] = os.environ) -> str:
    """Say which language the environment asks for: ``TAGLINE_LANG``, else the locale of messages.

    >>> asked_for({"LANG": "zh_CN.UTF-8"}), asked_for({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}), asked_for({})
    ('zh', 'en', 'en')
    >>> asked_for({"TAGLINE_LANG": "zh", "LC_ALL": "C"}), asked_for({"LANG": "zh_TW.UTF-8"})
    ('zh', 'en')
    """
    names = ("TAGLINE_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "").lower()
    parts = locale.partition(".")[0].replace("-", "_").split("_")
    return CHINESE if parts[0] == CHINESE and not set(parts) & set(TRADITIONAL) else ENGLISH


def use(language: str) -> None:
    """Let this process speak a language from now on."""
    global _table
    if language == CHINESE:
        from tagline.cli.language.tables import Table
        from tagline.cli.language.zh import TEXTS

        _table = Table(TEXTS)
    else:
        _table = None


def phrase(text: str) -> str:
    """Return a text in the language that is used; as it is where there is no other."""
    return text if _table is None else _table.text(text)


def paragraphs(text: str) -> str:
    """Return the help of a command in the language that is used."""
    return text if _table is None else _table.paragraphs(text)


def speak(reporter: Any) -> None:
    """Let whoever tells how training goes say its lines and stages in the language that is used."""
    for name in ("say", "stage") if _table is not None else ():
        plain = getattr(reporter, name)
        setattr(reporter, name, lambda text, plain=plain: plain(phrase(text)))


def cells(text: str) -> int:
    """Count the columns of a terminal that a text takes; a Chinese character has two.

    >>> cells("CRF"), cells("标注，")
    (3, 6)
    """
    return len(text) + sum(sign > "\u2e80" for sign in text)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of so many cells: at blanks, and beside Chinese characters.

    >>> wrapped("one exact engine", 10), wrapped("标注（CRF）的句子。", 10)
    (['one exact', 'engine'], ['标注', '（CRF）的', '句子。'])
    """
    lines = [""]
    for piece in _PIECES.findall(text):
        if lines[-1] and cells((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        while cells(piece.rstrip()) > width:  # an address, on a narrow terminal
            lines[-1:], piece = [lines[-1] + piece[:width], ""], piece[width:]
        lines[-1] += piece
    return [line.rstrip() for line in lines]
