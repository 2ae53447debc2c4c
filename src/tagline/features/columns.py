"""Built-in columns: what a template may ask of a word besides the word itself, as in ``%x[0,0:lower]``.

An extension to CRF++. Functions are named after the column and may be chained, the first one first:
``%x[-1,0:lower:suffix3]``. They are computed once for each distinct word of a corpus. A function that has nothing to
say of a word (``prefix4`` of a word with three characters) gives no attribute at that token; padding (``_B-1``) stays as
it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

WordFunction = Callable[[str], str | None]

LONGEST_AFFIX = 9
LONGEST_LENGTH = 10
_AFFIX = re.compile(r"(prefix|suffix)([1-9])")
_RUNS = re.compile(r"(.)\1+", re.DOTALL)

_NUMERALS = frozenset("〇零一二两三四五六七八九十百千万亿廿卅壹贰叁肆伍陆柒捌玖拾佰仟萬億兩")
_SCRIPTS = (
    ("CJK UNIFIED", "han"),
    ("CJK COMPATIBILITY IDEOGRAPH", "han"),
    ("LATIN", "latin"),
    ("FULLWIDTH LATIN", "latin"),
    ("HIRAGANA", "hiragana"),
    ("KATAKANA", "katakana"),
    ("HALFWIDTH KATAKANA", "katakana"),
    ("HANGUL", "hangul"),
    ("CYRILLIC", "cyrillic"),
    ("GREEK", "greek"),
    ("ARABIC", "arabic"),
    ("HEBREW", "hebrew"),
    ("DEVANAGARI", "devanagari"),
    ("THAI", "thai"),
)


def lower(word: str) -> str:
    """The word in lower case: ``Rome`` → ``rome``."""
    return word.lower()


def nfkc(word: str) -> str:
    """The word in Unicode's form NFKC, full-width letters and digits in their plain form: ``Ａ１`` → ``A1``."""
    return unicodedata.normalize("NFKC", word)


def digits(word: str) -> str:
    """The word with every digit as 0: ``1996-08`` → ``0000-00``."""
    return "".join("0" if letter.isdecimal() else letter for letter in word) if not word.isalpha() else word


def shape(word: str) -> str:
    """Each character by kind: X upper case, x lower case, d digit, c another letter, others as they are.

    >>> shape("McDonald's"), shape("F-16"), shape("北京2008")
    ("XxXxxxxx'x", 'X-dd', 'ccdddd')
    """
    return "".join(map(_kind, word))


def shortshape(word: str) -> str:
    """The shape with each run of one kind written once: ``McDonald's`` → ``XxXx'x``."""
    return _RUNS.sub(r"\1", shape(word))


def case(word: str) -> str | None:
    """How the word is written: ``lower``, ``title``, ``upper`` or ``mixed``; nothing where no letter has a case.

    A single capital, ``I``, is ``title``.
    """
    letters = [letter for letter in word if letter.isupper() or letter.islower()]
    if not letters:
        return None
    upper = sum(letter.isupper() for letter in letters)
    if not upper:
        return "lower"
    if upper == 1 and letters[0].isupper():
        return "title"
    return "upper" if upper == len(letters) else "mixed"


def length(word: str) -> str:
    """The number of characters; 10 for ten and more."""
    return str(min(len(word), LONGEST_LENGTH))


def character_class(word: str) -> str:
    """The classes of the characters in the order of first use, joined by +.

    Classes: ``han``, ``numeral`` (Han characters that count), ``latin``, ``hiragana``, ``katakana``, ``hangul``, other
    scripts by name, ``letter`` for the rest of letters, ``digit``, ``punctuation``, ``symbol``, ``space``, ``other``.

    >>> character_class("北京"), character_class("三"), character_class("B2B"), character_class("カード"), character_class("。")
    ('han', 'numeral', 'latin+digit', 'katakana', 'punctuation')
    """
    return "+".join(dict.fromkeys(map(_class, word)))


_FUNCTIONS: dict[str, WordFunction] = {
    "lower": lower,
    "nfkc": nfkc,
    "digits": digits,
    "shape": shape,
    "shortshape": shortshape,
    "case": case,
    "length": length,
    "class": character_class,
}


def names() -> list[str]:
    """Name the built-in columns, as messages list them."""
    return [*_FUNCTIONS, f"prefix1 … prefix{LONGEST_AFFIX}", f"suffix1 … suffix{LONGEST_AFFIX}"]


def find(name: str) -> WordFunction | None:
    """Return the function of a built-in column; None where there is none of that name.

    >>> find("suffix3")("singing"), find("suffix3")("at")
    ('ing', None)
    """
    if affix := _AFFIX.fullmatch(name):
        return _affix(affix[1], int(affix[2]))
    return _FUNCTIONS.get(name)


@cache
def _affix(side: str, size: int) -> WordFunction:
    if side == "prefix":
        return lambda word: word[:size] if len(word) >= size else None
    return lambda word: word[-size:] if len(word) >= size else None


@cache
def _kind(letter: str) -> str:
    if letter.isupper():
        return "X"
    if letter.islower():
        return "x"
    if letter.isdecimal():
        return "d"
    return "c" if letter.isalpha() else letter


@cache
def _class(letter: str) -> str:
    if letter in _NUMERALS:
        return "numeral"
    category = unicodedata.category(letter)
    if category == "Nd":
        return "digit"
    if category == "Lm" or category.startswith(("L", "M")):
        title = unicodedata.name(letter, "")
        return next((script for start, script in _SCRIPTS if title.startswith(start)), _marks(title))
    kinds = {"P": "punctuation", "S": "symbol", "Z": "space", "N": "symbol"}
    return kinds.get(category[0], "other")


def _marks(title: str) -> str:
    return "katakana" if "KATAKANA" in title else "letter"
