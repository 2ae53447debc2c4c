"""The chunking template written out in Python, as users of python-crfsuite write it, and the loop that reads.

It is the fastest plain Python that we know of: padded lists, one f-string an attribute. That it gives the template's
attributes is checked by the number of weights and by the objective at the rival's weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

Rows = list[list[str]]
Item = list[str]


def read_rows(path: str | Path) -> list[Rows]:
    """Read a column file: sentences, tokens, fields."""
    sentences: list[Rows] = [[]]
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            fields = line.split()
            if fields:
                sentences[-1].append(fields)
            elif sentences[-1]:
                sentences.append([])
    return sentences if sentences[-1] else sentences[:-1]


def items(rows: Rows, words_only: bool) -> list[Item]:
    """Return the attributes of each token as strings."""
    words = [row[0] for row in rows]
    return of_words(words) if words_only else of_words_and_tags(words, [row[1] for row in rows])


def as_dicts(sentence: Sequence[Item]) -> list[dict[str, str]]:
    """Return the same attributes as dicts: ``U00:the`` is the value ``the`` of the key ``U00``."""
    return [dict(attribute.split(":", 1) for attribute in item) for item in sentence]


def _padded(strings: Sequence[str]) -> list[str]:
    return ["_B-2", "_B-1", *strings, "_B+1", "_B+2"]


def of_words(words: Sequence[str]) -> list[Item]:
    """Expand the lines on words."""
    w = _padded(words)
    return [
        [
            f"U00:{w[i - 2]}",
            f"U01:{w[i - 1]}",
            f"U02:{w[i]}",
            f"U03:{w[i + 1]}",
            f"U04:{w[i + 2]}",
            f"U05:{w[i - 1]}/{w[i]}",
            f"U06:{w[i]}/{w[i + 1]}",
        ]
        for i in range(2, len(w) - 2)
    ]


def of_words_and_tags(words: Sequence[str], tags: Sequence[str]) -> list[Item]:
    """Expand all lines."""
    w, p = _padded(words), _padded(tags)
    return [
        [
            f"U00:{w[i - 2]}",
            f"U01:{w[i - 1]}",
            f"U02:{w[i]}",
            f"U03:{w[i + 1]}",
            f"U04:{w[i + 2]}",
            f"U05:{w[i - 1]}/{w[i]}",
            f"U06:{w[i]}/{w[i + 1]}",
            f"U10:{p[i - 2]}",
            f"U11:{p[i - 1]}",
            f"U12:{p[i]}",
            f"U13:{p[i + 1]}",
            f"U14:{p[i + 2]}",
            f"U15:{p[i - 2]}/{p[i - 1]}",
            f"U16:{p[i - 1]}/{p[i]}",
            f"U17:{p[i]}/{p[i + 1]}",
            f"U18:{p[i + 1]}/{p[i + 2]}",
            f"U20:{p[i - 2]}/{p[i - 1]}/{p[i]}",
            f"U21:{p[i - 1]}/{p[i]}/{p[i + 1]}",
            f"U22:{p[i]}/{p[i + 1]}/{p[i + 2]}",
        ]
        for i in range(2, len(w) - 2)
    ]
