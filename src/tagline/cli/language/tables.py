"""How texts are looked up: whole, by a pattern with gaps, by the frame of an error; help by paragraphs.

A key is an English text as it stands in the code, with ``{}`` for what is put in, or ``{#}`` for what is a number. In
its translation ``{}`` is the same again, ``{:t}`` is that part translated in its turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

_FRAME = re.compile(r"(?P<place>.+?): expected (?P<wanted>.+?),? got (?P<got>.+?)(?:; (?P<remedy>[^;]+))?")
_GAP = re.compile(r"(\{#?\})")
_COUNTED = re.compile(r"(pass|epoch) \d")


def _pattern_of(part: str) -> str:
    return {"{}": "(.+?)", "{#}": r"([\d.,]+)"}.get(part) or re.escape(part)


class Table:
    """English texts and their translations.

    >>> table = Table({"wrote {}": "已写入 {}", "stopped: {}": "停止：{:t}", "interrupted": "被中断"})
    >>> table.text("wrote a.txt"), table.text("stopped: interrupted"), table.text("unknown")
    ('已写入 a.txt', '停止：被中断', 'unknown')
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """Keys with gaps as patterns, those with most letters first."""
        keys = sorted(filter(_GAP.search, self.texts), key=lambda key: -len(_GAP.sub("", key)))
        return [(re.compile("".join(map(_pattern_of, _GAP.split(key)))), self.texts[key]) for key in keys]

    def text(self, text: str) -> str:
        """Translate a text of one line or more; what is not in the table stays as it is."""
        if "\n" in text:
            return self.texts.get(text) or "\n".join(map(self.text, text.split("\n")))
        if _COUNTED.match(text):  # pass 12  objective 1234.50  about 8 s left
            return "  ".join(self._whole(part) or part for part in text.split("  "))
        return self._whole(text) or self._framed(text) or text

    def _whole(self, text: str) -> str | None:
        bare = text.lstrip(" ")
        if bare in self.texts and not _GAP.search(bare):
            return text[: len(text) - len(bare)] + self.texts[bare]
        for pattern, translated in self._patterns:
            if match := pattern.fullmatch(text):
                return translated.format(*(_Part(group, self) for group in match.groups()))
        return None

    def _framed(self, text: str) -> str | None:
        """Translate an error: its frame always, its parts where they are known."""
        if (match := _FRAME.fullmatch(text)) is None:
            return None
        wanted, got = (self._whole(match[part]) or match[part] for part in ("wanted", "got"))
        remedy = "" if match["remedy"] is None else f"；{self._whole(match['remedy']) or match['remedy']}"
        return f"{match['place']}：应为 {wanted}，实为 {got}{remedy}"

    def paragraphs(self, text: str) -> str:
        """Translate the help of a command, paragraph by paragraph; examples stay as they are, but for their title."""
        parts = []
        for paragraph in text.split("\n\n"):
            if paragraph.startswith("\b"):
                parts.append("\n".join(self.texts.get(line, line) for line in paragraph.split("\n")))
            else:
                parts.append(self.text(" ".join(paragraph.split())))
        return "\n\n".join(parts)


class _Part(str):
    """What stands in a gap; with the format ``t`` it is translated, too."""

    table: Table

    def __new__(cls, text: str, table: Table) -> _Part:
        part = super().__new__(cls, text)
        part.table = table
        return part

    def __format__(self, spec: str) -> str:
        return self.table.text(str(self)) if spec == "t" else str(self)
