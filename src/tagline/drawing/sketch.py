"""A drawing before it is a file: discs, lines, boxes and words on a sheet, in pixels from its upper left corner.

`svg` writes a sketch by itself, `patches` draws it with matplotlib; so a picture is laid out once. The colour `INK` is
that of the text around the picture, dark or light; the others hold on both, and for readers who see no red or green.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias
from unicodedata import east_asian_width

from tagline.errors import visible

INK = "currentColor"
BEST, RIVAL = "#2f7fd0", "#d9730d"  # blue and orange: a contrast of 3 and more on white and on black
LETTER = 0.6  # width of a letter, by the size of its font


@dataclass(frozen=True)
class Disc:
    """A filled circle; `note` is what a pointer above it shows."""

    x: float
    y: float
    radius: float
    colour: str = INK
    opacity: float = 1.0
    note: str = ""


@dataclass(frozen=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: str = INK
    width: float = 1.0
    opacity: float = 1.0
    dashed: bool = False
    note: str = ""


@dataclass(frozen=True)
class Box:
    """A rectangle, filled with `opacity`; outlined where `outline` has a width."""

    x: float
    y: float
    width: float
    height: float
    colour: str = INK
    opacity: float = 1.0
    outline: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Word:
    """A text on one line, its middle at the height y; `anchor` is start, middle or end."""

    x: float
    y: float
    text: str
    size: float = 12.0
    anchor: str = "middle"
    colour: str = INK
    opacity: float = 1.0
    bold: bool = False
    note: str = ""


Shape: TypeAlias = Disc | Line | Box | Word


@dataclass(frozen=True)
class Sketch:
    """A sheet and what is drawn on it, the last on top; `title` says what it is to those who cannot see it."""

    width: float
    height: float
    title: str
    shapes: tuple[Shape, ...]


def chance(probability: float) -> str:
    """Write a probability so that a small one is not 0.

    >>> chance(0.25), chance(0.00001234)
    ('0.2500', '1.2e-05')
    """
    return f"{probability:.4f}" if probability >= 1e-4 or not probability else f"{probability:.1e}"


def width_of(text: str, size: float) -> float:
    """About how wide a text is: Chinese characters take a square each."""
    return size * sum(1.0 if east_asian_width(character) in "WF" else LETTER for character in text)


def fitted(text: str, room: float, size: float) -> str:
    """Cut a text at its end so that it fits.

    >>> fitted("Donaudampfschiff", 60, 12)
    'Donauda…'
    """
    text = visible(text).replace("\n", "\\n").replace("\t", "\\t")
    if width_of(text, size) <= room:
        return text
    while text and width_of(text, size) + size * LETTER > room:
        text = text[:-1]
    return f"{text}…"
