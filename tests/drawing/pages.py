"""Fragments of HTML, read as a notebook reads them."""

from __future__ import annotations

from html.parser import HTMLParser

ALONE = {"br"}
HARMLESS = {"div", "span", "b", "small", "mark", "table", "tr", "th", "td", *ALONE}


class Fragment(HTMLParser):
    """The words of a fragment; tags that are open, unknown or that load something are errors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words = ""
        self.marks = 0
        self.feed(text)
        self.close()
        assert self.open == []
        text.encode()  # halves of pairs cannot be sent

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in HARMLESS, tag
        assert {name for name, _ in attrs} <= {"style", "title", "class"}, attrs
        self.marks += tag == "mark"
        if tag not in ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data
