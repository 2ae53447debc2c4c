"""The language of the command line: English, or Chinese where the locale or ``TAGLINE_LANG=zh`` asks for it.

English texts stand in the code where they are said, and are the keys of one table (`zh`): what it does not have is said
in English. Data are never translated: tags, columns, JSON, and the lines of the CoNLL script stay as they are.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagline.cli.language.tables import Table

ENGLISH, CHINESE = "en", "zh"
TRADITIONAL = ("tw", "hk", "mo", "hant")  # there is no table for them

CLOSING = "，。；：、）！？"  # do not begin a line

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
        from tagline.cli.language.tables import Table, translate_typer
        from tagline.cli.language.zh import TEXTS

        _table = Table(TEXTS)
        translate_typer(_table)
    else:
        _table = None


def phrase(text: str) -> str:
    """Return a text in the language that is used; as it is where there is no other."""
    return text if _table is None else _table.text(text)


def speak(reporter: Any) -> None:
    """Let whoever tells how training goes say its lines and stages in the language that is used."""
    for name in ("say", "stage") if _table is not None else ():
        plain = getattr(reporter, name)
        setattr(reporter, name, lambda text, plain=plain: plain(phrase(text)))


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of so many cells; a Chinese character has two, and may end a line."""
    if text.isascii():
        return textwrap.wrap(text, width)
    lines, cells = [""], 0
    for piece in re.findall(r"[!-~]+ ?|.", text):
        size = sum(1 + (sign > "\u2e80") for sign in piece)
        if cells + size > width and piece not in CLOSING:
            lines, cells = [*lines, ""], 0
        lines[-1], cells = lines[-1] + piece, cells + size
    return lines


def group_class() -> Any:
    """Return the class of the group of commands, whose help is in the language that is used."""
    if _table is None:
        return None
    from tagline.cli.language.tables import group_of

    return group_of(_table)
