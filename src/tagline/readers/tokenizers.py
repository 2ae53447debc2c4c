r"""Text in, the places of its tokens out: tokenizers that keep the characters of every token.

``words`` is one regular expression, `_pattern`; the compiled core has the same rules (``core/features/tokens.cpp``) and
works on many texts at once. In their order, at the place where a token begins:

- links (``https://a.org/b``) and e-mail addresses, without the sign behind them;
- initials, ``U.S.``, ``e.g.``; in ``treebank`` also titles and single initials before a name, ``Dr.`` and ``J.`` Smith;
- Chinese characters and kana, apart from other letters: a run of them is a word, for only blanks tell words apart
  here, but each is a token by itself where texts are cut by their script (`cut_by_script`);
- a word: letters, figures and combining marks, with inner apostrophes and hyphens (``don't``, ``1996-08-22``), and with
  stops, commas and colons between figures (``1,234.5``, ``10:30``);
- runs of stops and hyphens (``...``, ``--``) and doubled quotes;
- flags and emoji with all that is joined to them; any other sign by itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.checks import check_choice, shown_value
from tagline.errors import InputError
from tagline.ragged import offsets_of
from tagline.readers.corpus import Column
from tagline.types import IntArray

Cut: TypeAlias = Callable[[str], list[tuple[int, int]]]
"""A text → (start, end) characters of its tokens."""

TOKENIZERS = {
    "whitespace": "what stands between blanks: Anna's | cat, | 3.50",
    "words": "words and signs: Anna's | cat | , | 3.50 | U.S. | 北京",
    "characters": "every character: 北 | 京 | 2 | 0 | 0 | 8",
    "treebank": "words as English treebanks have them: Anna | 's | do | n't | Dr.",
}
"""The names of the tokenizers, each with an example."""

BY_SCRIPT = "script"  # characters for texts that are mainly Chinese or Japanese, else words

TITLES = (
    *("Mr", "Mrs", "Ms", "Messrs", "Mme", "Mlle", "Dr", "Drs", "Prof", "St", "Ste", "Rev", "Fr", "Hon"),
    *("Gen", "Col", "Maj", "Capt", "Cpt", "Cmdr", "Lt", "Sgt", "Cpl", "Adm", "Sen", "Rep", "Gov", "Pres", "Supt"),
)
"""Abbreviations that a name follows."""

_WIDE = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters and kana
_PICTOGRAPHS = (
    r"\u00a9\u00ae\u203c\u2049\u2122\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297"
    r"\u3299\U0001f000-\U0001faff"
)
_MODIFIERS = r"\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"  # skin tones, and the tags of flags
_REGIONAL = r"\U0001f1e6-\U0001f1ff"
_CLITIC = re.compile(r"(?<=.)(?:n['’]t|['’](?:s|m|d|re|ve|ll))\Z", re.ASCII | re.IGNORECASE | re.DOTALL)
_WIDE_CHARACTER = re.compile(f"[{_WIDE}]")
_NARROW = re.compile(rf"[^\W_{_WIDE}]+")  # words of other scripts

# The classes of characters as the core numbers them, core/features/tokens.h.
_WIDE_BIT, _MARK_BIT, _PICTOGRAPH_BIT, _MODIFIER_BIT, _REGIONAL_BIT = 8, 16, 32, 64, 128


@cache
def _marks() -> str:
    """Combining marks and variation selectors, as a set of a regular expression."""
    places = (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))  # there are none elsewhere
    category = unicodedata.category
    codes = np.array([code for code in places if category(chr(code))[0] == "M"])
    breaks = np.flatnonzero(np.diff(codes) > 1)
    firsts, lasts = codes[np.r_[0, breaks + 1]], codes[np.r_[breaks, len(codes) - 1]]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))


@cache
def _pattern(single: bool = False, titles: bool = False) -> re.Pattern[str]:
    """The rules of ``words``, see the top of this module.

    Arguments:
        single: whether each Chinese character is a token.
        titles: whether titles and initials before a name keep their stop.
    """
    narrow, mark = rf"[^\W{_WIDE}]", f"[{_marks()}]"
    letter = rf"[^\W\d_{_WIDE}]"
    part = r"[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*"  # of a domain
    letters = rf"{narrow}(?:{narrow}|{mark}|[\u200c\u200d](?={narrow}))*"
    emoji = rf"[{_PICTOGRAPHS}](?:{mark}|[{_MODIFIERS}])*"
    link = r"(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ff][Tt][Pp]://|[Ww]{3}\.)"
    rules = (
        rf"{link}(?:{narrow}|[-._~:/?#\[\]@!$&'()*+,;=%])*(?:{narrow}|[-~/#@$&*+=%])",
        rf"[A-Za-z0-9][A-Za-z0-9._%+\-]{{0,63}}@{part}(?:\.{part})+",
        rf"(?:{letter}\.){{1,9}}{letter}\.?(?!{narrow}|{mark}|\.{narrow})",
        *([rf"(?:{'|'.join(TITLES)})\.(?=\s+\w)", r"[A-HJ-Z]\.(?= ?[A-Z])"] if titles else []),
        rf"(?:(?=\w)[{_WIDE}]{mark}*)" + ("" if single else "+"),
        rf"{letters}(?:['’\-]{letters}|(?<=\d)[.,:](?=\d){letters})*",
        r"\.{2,}|-{2,}|``|''",
        f"[{_REGIONAL}]{{2}}",
        rf"{emoji}(?:\u200d{emoji})*",
        rf"[^\w\s]{mark}*",
    )
    return re.compile("|".join(rules))


_PLAIN = {"whitespace": re.compile(r"\S+"), "characters": re.compile(r"\S")}


@dataclass(frozen=True, eq=False)
class CutTexts:
    """The tokens of B texts.

    Attributes:
        offsets: ``[B + 1]``, where the tokens of each text begin.
        places: ``[N, 2]``, (start, end) characters in the text.
        tokens: the tokens themselves, N of them.
    """

    offsets: IntArray
    places: NDArray[np.int64]
    tokens: Column


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer by name, one of `TOKENIZERS` or `BY_SCRIPT`: called with a text, it finds its tokens.

    >>> Tokenizer("words")("Hi, 北京!")
    [(0, 2), (2, 3), (4, 6), (6, 7)]
    """

    name: str

    def __post_init__(self) -> None:
        if self.name != BY_SCRIPT:
            check_choice("tokenizer", self.name, TOKENIZERS)

    def __call__(self, text: str) -> list[tuple[int, int]]:
        """Find the tokens of a text as (start, end) characters."""
        core = _core_tokenizer()
        if core is None:
            return plain_cut(text, self.name)
        return list(map(tuple, core.cut([text], self.name)[1].tolist()))

    def cut(self, texts: Iterable[str]) -> CutTexts:
        """Find and number the tokens of many texts."""
        held, core = list(texts), _core_tokenizer()
        if core is None:
            return cut_by_function(held, self)
        try:
            offsets, places, words, ids = core.cut(held, self.name)
        except TypeError as error:
            raise InputError(str(error)) from None
        return CutTexts(offsets, places, Column(words, ids))


def plain_cut(text: str, name: str) -> list[tuple[int, int]]:
    """Find the tokens of a text by regular expressions: the definition of what the core does."""
    single = name == BY_SCRIPT
    if single:
        wide = len(_WIDE_CHARACTER.findall(text))
        name = "characters" if wide and wide >= len(_NARROW.findall(text)) else "words"
    spans = [match.span() for match in (_PLAIN.get(name) or _pattern(single, name == "treebank")).finditer(text)]
    if name != "treebank":
        return spans
    cuts: list[tuple[int, int]] = []
    for start, end in spans:
        ending = _CLITIC.search(text[start:end])
        edges = [start, end] if ending is None else [start, start + ending.start(), end]
        cuts.extend(pairwise(edges))
    return cuts


def cut_by_function(texts: Sequence[str], cut: Cut) -> CutTexts:
    """Find and number the tokens of texts by a function."""
    places = [cut(text) for text in texts]
    tokens = Column.of(text[start:end] for text, row in zip(texts, places, strict=True) for start, end in row)
    rows = np.array([place for row in places for place in row], np.int64).reshape(-1, 2)
    return CutTexts(offsets_of([len(row) for row in places]), rows, tokens)


def tokenize(text: str, tokenizer: str = "words") -> list[tuple[int, int]]:
    """Find the tokens of a text as (start, end) characters.

    Arguments:
        tokenizer: ``whitespace``, ``words`` (words and signs), ``characters`` (for Chinese) or ``treebank`` (words
            as English treebanks have them, endings cut off).

    >>> [("Anna's cat."[start:end]) for start, end in tokenize("Anna's cat.")]
    ["Anna's", 'cat', '.']
    """
    check_choice("tokenizer", tokenizer, TOKENIZERS)
    if not isinstance(text, str):
        raise InputError("text: expected a string, got {}", shown_value(text))
    return Tokenizer(tokenizer)(text)


def is_wide(text: str) -> bool:
    """Say whether a text is a single Chinese character or kana.

    >>> is_wide("京"), is_wide("北京"), is_wide("a")
    (True, False, False)
    """
    return _WIDE_CHARACTER.fullmatch(text) is not None


cut_by_script = Tokenizer(BY_SCRIPT)
"""Cuts a text into characters where it is mainly Chinese or Japanese, else into words."""


_RANGE = re.compile(r".(?:-.)?", re.DOTALL)  # of a set of characters


@cache
def _core_tokenizer() -> Any:
    """The compiled tokenizer; None without a core."""
    if compiled.core is None:
        return None
    sets = (
        (_WIDE.encode().decode("unicode_escape"), _WIDE_BIT),
        (_marks(), _MARK_BIT),
        (_PICTOGRAPHS.encode().decode("unicode_escape"), _PICTOGRAPH_BIT),
        (_MODIFIERS.encode().decode("unicode_escape"), _MODIFIER_BIT),
        (_REGIONAL.encode().decode("unicode_escape"), _REGIONAL_BIT),
    )
    ranges = [(ord(match[0][0]), ord(match[0][-1]), bit) for text, bit in sets for match in _RANGE.finditer(text)]
    return compiled.core.Tokenizer(np.array(ranges, np.int64), list(TITLES))
