"""A text with its spans in colour: HTML in notebooks and pages, escapes in terminals, brackets without colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from tagline.drawing.figures import Path
from tagline.drawing.saved import save_page
from tagline.errors import visible

# Backgrounds that black letters stand out on, in light pages and in dark ones; types take them in turn.
PALETTE = ("#ffd6a5", "#a8dadc", "#cdb4db", "#b7e4c7", "#ffadad", "#fdffb6", "#bde0fe", "#e2c2a8")
# The like of them among the 16 of every terminal: yellow, cyan, magenta, green, bright red, yellow and blue, white.
TERMINAL = (3, 6, 5, 2, 9, 11, 12, 7)

# Notebooks have no style sheet of ours. Letters on a background have a colour of their own; all others are inherited.
MARK = "color:#1b1f24;padding:.1em .3em;border-radius:.25em;"
SMALL = "font-size:.65em;font-weight:600;margin-left:.35em;color:#444"
LINE = "line-height:1.9;white-space:pre-wrap"
QUIET = "opacity:.7;font-size:.85em"


class Mark(NamedTuple):
    """A span of characters, `end` exclusive, and its probability where that is known.

    >>> from tagline import plots
    >>> plots.spans("Anna sings.", [plots.Mark(0, 4, "PER", 0.9)])
    [PER Anna 0.900] sings.
    """

    start: int
    end: int
    type: str
    probability: float | None = None


@dataclass(frozen=True)
class Piece:
    """A piece of a sentence.

    Attributes:
        text: of the sentence.
        label: the type of a span, which may be empty, or the label of a token; None for text between them.
        probability: of a span, where it is known.

    >>> from tagline import plots
    >>> plots.Picture(lines=([plots.Piece("Anna", "PER"), plots.Piece(" sings.")],))
    [PER Anna] sings.
    """

    text: str
    label: str | None = None
    probability: float | None = None


def cut(text: str, marks: Iterable[Mark]) -> Iterator[Piece]:
    """Cut a text at its marks, which stand in its order and do not overlap.

    >>> [piece.text for piece in cut("Anna sings", [Mark(0, 4, "PER")])]
    ['Anna', ' sings']
    """
    at = 0
    for start, end, label, probability in marks:
        if at < start:
            yield Piece(text[at:start])
        yield Piece(text[start:end], label, probability)
        at = end
    if at < len(text):
        yield Piece(text[at:])


def colours_of(types: Iterable[str]) -> dict[str, str]:
    """Give each type a colour, the same in every run.

    >>> from tagline import plots
    >>> sorted(plots.colours_of(["PER", "LOC"]))
    ['LOC', 'PER']
    """
    return {name: PALETTE[n % len(PALETTE)] for n, name in enumerate(sorted(set(types)))}


def shades(line: Iterable[Piece], types: Iterable[str]) -> Iterator[tuple[Piece, int]]:
    """Number the colour of each piece, in the order of `colours_of`; spans without a type take two in turn.

    >>> [shade for _, shade in shades([Piece("a", ""), Piece("b", ""), Piece("c", "")], [""])]
    [0, 1, 0]
    """
    numbers, words = {name: n % len(PALETTE) for n, name in enumerate(sorted(set(types)))}, 0
    for piece in line:
        yield piece, words % 2 if piece.label == "" else numbers.get(piece.label or "", 0)
        words += piece.label == ""


def bracketed(piece: Piece) -> str:
    r"""Write a piece with brackets; those of the text get a backslash.

    >>> bracketed(Piece("Anna", "PER", 0.98)), bracketed(Piece(" sings"))
    ('[PER Anna 0.980]', ' sings')
    >>> print(bracketed(Piece("[1]")))
    \[1\]
    """
    text = piece.text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    if piece.label is None:
        return text
    probability = "" if piece.probability is None else f"{piece.probability:.3f}"
    return f"[{' '.join(part for part in (piece.label, text, probability) if part)}]"


def marked(piece: Piece, colour: str, style: str = "", small: str = "", *, number: bool = False) -> str:
    """Write a piece as HTML, escaped, on the background of its type.

    Arguments:
        colour: of the background.
        style, small: CSS of the mark and of its label, where no style sheet has it.
        number: whether the probability stands beside the label; a pointer above the mark shows it in any case.
    """
    if piece.label is None:
        return escape(piece.text)
    title = piece.label if piece.probability is None else f"{piece.label} {piece.probability:.4f}".strip()
    of_label = f' style="{small}"' if small else ""
    beside = f"{piece.probability:.3f}" if number and piece.probability is not None else ""
    words = " ".join(part for part in (piece.label, beside) if part)
    label = f"<small{of_label}>{escape(words)}</small>" if words else ""
    return f'<mark style="{style}background:{colour}" title="{escape(title)}">{escape(piece.text)}{label}</mark>'


def in_colour(piece: Piece, colour: int) -> str:
    """Write a piece for a terminal, black on the background of its type; no character of it commands the terminal."""
    if piece.label is None:
        return visible(piece.text)
    probability = "" if piece.probability is None else f"{piece.probability:.3f}"
    label = " ".join(visible(part) for part in (piece.label, probability) if part)
    behind = f"\x1b[1m{label}\x1b[22m " if label else ""
    return f"\x1b[30;{40 + colour if colour < 8 else 92 + colour}m {visible(piece.text)} {behind}\x1b[0m"


@dataclass(frozen=True, repr=False)
class Picture:
    """Sentences with their spans in colour, as a notebook shows them; `print` writes them with brackets.

    Attributes:
        lines: the pieces of each sentence.
        title, note: what stands above and below; may be empty.
        numbers: whether HTML has the probabilities beside the labels; else a pointer above a span shows them.

    >>> Picture((tuple(cut("Anna sings", [Mark(0, 4, "PER")])),))
    [PER Anna] sings
    """

    lines: tuple[Sequence[Piece], ...]
    title: str = ""
    note: str = ""
    numbers: bool = False

    def html(self) -> str:
        """Return a fragment of HTML: everything escaped, no script, readable in light and in dark."""
        types = self._types()
        parts = [f"<div><b>{escape(self.title)}</b></div>"] if self.title else []
        for line in self.lines:
            shown = "".join(
                marked(piece, PALETTE[shade], MARK, SMALL, number=self.numbers) for piece, shade in shades(line, types)
            )
            parts.append(f'<div style="{LINE}">{shown}</div>')
        if self.note:
            parts.append(f'<div style="{QUIET}">{escape(self.note)}</div>')
        return visible(f"<div>{''.join(parts)}</div>")

    def text(self, colour: bool = False) -> str:
        """Write a line for each sentence, in the colours of a terminal or with brackets."""
        types = self._types()
        lines = [visible(self.title)] if self.title else []
        for line in self.lines:
            if colour:
                lines.append("".join(in_colour(piece, TERMINAL[shade]) for piece, shade in shades(line, types)))
            else:
                lines.append(visible("".join(map(bracketed, line))))
        return "\n".join([*lines, visible(self.note)] if self.note else lines)

    def save(self, path: Path) -> None:
        """Write a page where the name ends in ``.html``, a plain text with brackets where it ends in ``.txt``."""
        save_page(path, self.title or "Spans", self.html(), self.text())

    def _types(self) -> set[str]:
        return {piece.label for line in self.lines for piece in line if piece.label is not None}

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()
