"""The parameters of a model as `Tagger.info` returns them, and a parser of the text that CRFsuite dumps."""

from __future__ import annotations

import re

_SECTION = re.compile(r"(FILEHEADER|LABELS|ATTRIBUTES|TRANSITIONS|STATE_FEATURES) = \{")
_ENTRY = re.compile(r"(\w+): (.*)", re.DOTALL)
_WEIGHT = re.compile(r"\(\d+\) (.+) --> (.+): ([+-]?\d+\.\d+)", re.DOTALL)


class ParsedDump:
    """What a model file holds.

    Attributes:
        header: the numbers of the file's header, as texts.
        labels, attributes: names, with their numbers as texts.
        transitions: weights by (label before, label).
        state_features: weights by (attribute, label). Weights have six digits after the point, as in a dump.
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


class CRFsuiteDumpParser:
    """Reads the text of a dump, line by line; what it holds so far is `result`."""

    def __init__(self) -> None:
        self.state: str | None = None
        self.result = ParsedDump()

    def feed(self, line: str) -> None:
        """Take one line."""
        line = line.lstrip().rstrip("\r\n")
        if not line:
            return
        section = _SECTION.match(line)
        if section:
            self.state = section[1]
        elif line == "}":
            self.state = None
        elif self.state in ("TRANSITIONS", "STATE_FEATURES"):
            self._take_weight(line)
        else:
            self._take_entry(line)

    def _take_weight(self, line: str) -> None:
        found = _WEIGHT.match(line)
        if found is None:
            raise ValueError(f"{self.state}: expected (type) name --> label: weight, got {line!r}")
        table = self.result.transitions if self.state == "TRANSITIONS" else self.result.state_features
        table[found[1], found[2]] = float(found[3])

    def _take_entry(self, line: str) -> None:
        found = _ENTRY.match(line)
        if found is None or self.state is None:
            raise ValueError(f"{self.state or 'dump'}: expected a line of a section, got {line!r}")
        if self.state == "FILEHEADER":
            self.result.header[found[1]] = found[2]
        else:
            table = self.result.labels if self.state == "LABELS" else self.result.attributes
            table[found[2]] = found[1]
