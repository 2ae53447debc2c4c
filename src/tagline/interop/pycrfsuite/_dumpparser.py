"""The parameters of a model as `Tagger.info` returns them, and a reader of the text that CRFsuite dumps.

A dump has five sections, ``NAME = {`` to ``}``. In the first three a line is ``key: value``, in the last two
``(type) name --> label: weight``; names may hold any of these signs, so a line is cut from its ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tagline.messages import message


@dataclass(eq=False)
class ParsedDump:
    """What a model file holds.

    Attributes:
        header: the numbers of the file's header, as texts.
        labels, attributes: names, with their numbers as texts.
        transitions: weights by (label before, label).
        state_features: weights by (attribute, label). Weights have six digits after the point, as in a dump.
    """

    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    transitions: dict[tuple[str, str], float] = field(default_factory=dict)
    state_features: dict[tuple[str, str], float] = field(default_factory=dict)


class CRFsuiteDumpParser:
    """Reads the text of a dump, line by line; what it holds so far is `result`."""

    def __init__(self) -> None:
        self.result = found = ParsedDump()
        self.state: str | None = None
        self._sections: dict[str, Callable[[str], None]] = {
            "FILEHEADER": lambda line: found.header.update([_entry(line)]),
            "LABELS": lambda line: found.labels.update([_entry(line)[::-1]]),
            "ATTRIBUTES": lambda line: found.attributes.update([_entry(line)[::-1]]),
            "TRANSITIONS": lambda line: found.transitions.update([_weight(line)]),
            "STATE_FEATURES": lambda line: found.state_features.update([_weight(line)]),
        }

    def feed(self, line: str) -> None:
        """Take one line."""
        text = line.rstrip("\r\n").lstrip()  # a name may end with blanks
        name = text.removesuffix(" = {")
        if name != text and name in self._sections:
            self.state = name
        elif text == "}":
            self.state = None
        elif text and self.state is not None:
            self._sections[self.state](text)
        elif text:
            raise ValueError(message("dump: expected a line within a section, got {!r}", text))


def _entry(line: str) -> tuple[str, str]:
    key, colon, value = line.partition(": ")
    if not colon:
        raise ValueError(message("dump: expected key: value, got {!r}", line))
    return key, value


def _weight(line: str) -> tuple[tuple[str, str], float]:
    """A pair of names and its weight; the last arrow and the last colon part them."""
    pair, _, number = line.partition(") ")[2].rpartition(": ")
    name, arrow, label = pair.rpartition(" --> ")
    try:
        return (name, label), float(number if arrow else "")
    except ValueError:
        raise ValueError(message("dump: expected (type) name --> label: weight, got {!r}", line)) from None
