"""Built-in columns: functions of a word that a template may ask for, as in ``%x[0,0:lower]``.

This is an extension to CRF++. Functions are named behind the column and may be chained, the first one first:
``%x[-1,0:lower:suffix3]``. They are computed once for each distinct word of a corpus. A function that has nothing to
say of a word (``prefix4`` of a word with three characters) gives no attribute at that token; padding (``_B-1``) stays
as it is. ``cluster`` needs a table, which the model has: `tagline.features.lexicons.clusters`; ``mention1`` goes to
another place of the document, and stands first: `tagline.features.mentions`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import partial

WordFunction = Callable[[str], str | None]

LONGEST_AFFIX = 9
LONGEST_LENGTH = 10
LONGEST_BITS = 99
MOST_MENTIONS = 9
_AFFIX = re.compile(r"(prefix|suffix)([1-9])")
_BITS = re.compile(r"bits([1-9][0-9]?)")
_CLUSTER = re.compile(r"cluster([2-9]?)")
_MENTION = re.compile(r"mention([1-9])")
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
    return "".join(map(_digit, word))


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

    >>> [character_class(word) for word in ("北京", "三", "B2B", "カード", "。")]
    ['han', 'numeral', 'latin+digit', 'katakana', 'punctuation']
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
    numbered = (("prefix", LONGEST_AFFIX), ("suffix", LONGEST_AFFIX), ("bits", LONGEST_BITS))
    return [
        *_FUNCTIONS,
        *(f"{name}1 … {name}{last}" for name, last in numbered),
        "cluster … cluster9",
        "mention1 … mention9",
    ]


def table_of(name: str) -> int | None:
    """Return the position of the table of clusters that a built-in column looks at; None where it needs none.

    >>> table_of("cluster"), table_of("cluster3"), table_of("lower")
    (0, 2, None)
    """
    match = _CLUSTER.fullmatch(name)
    return None if match is None else int(match[1] or 1) - 1


def mention_of(name: str) -> int:
    """Return which other mention of the word a built-in column goes to; 0 where it goes to none.

    >>> mention_of("mention3"), mention_of("lower")
    (3, 0)
    """
    match = _MENTION.fullmatch(name)
    return 0 if match is None else int(match[1])


def is_compiled(name: str) -> bool:
    """Say whether the compiled core has it, too, for words of ASCII (``core/features/expansion/word_functions.h``)."""
    return name in ("lower", "nfkc", "digits", "shape", "shortshape") or _AFFIX.fullmatch(name) is not None


def find(name: str) -> WordFunction | None:
    """Return the function of a built-in column; None where there is none of that name, or where it needs a table.

    >>> find("suffix3")("singing"), find("suffix3")("at"), find("bits4")("011010"), find("bits4")("01")
    ('ing', None, '0110', '01')
    """
    if bits := _BITS.fullmatch(name):
        return partial(_first, int(bits[1]))
    if affix := _AFFIX.fullmatch(name):
        return partial(_prefix if affix[1] == "prefix" else _suffix, int(affix[2]))
    return _FUNCTIONS.get(name)


def apply(name: str, words: Sequence[str]) -> list[str | None]:
    """Compute a built-in column for many words: the same as `find` for each, some twenty times faster.

    Most functions change characters one by one, so they work on all words at once, joined by newlines.
    """
    text = "\n".join(words)
    if affix := _AFFIX.fullmatch(name):
        size = int(affix[2])
        if affix[1] == "prefix":
            return [word[:size] if len(word) >= size else None for word in words]
        return [word[-size:] if len(word) >= size else None for word in words]
    if bits := _BITS.fullmatch(name):
        return [word[: int(bits[1])] for word in words]
    if not words or text.count("\n") >= len(words):  # a word with a newline in it
        return list(map(_FUNCTIONS[name], words))
    if name == "lower":
        return [*text.lower().split("\n")]
    if name == "nfkc":
        return [*nfkc(text).split("\n")]
    if name == "digits":
        return [*text.translate(_digits).split("\n")]
    if name == "length":
        return [length(word) for word in words]
    if name == "class":
        return _each_once(_class_names, text.translate(_classes).split("\n"))
    if name == "case":
        return _each_once(case, text.translate(_cases).split("\n"))
    shapes = text.translate(_kinds).split("\n")
    return _each_once(partial(_RUNS.sub, r"\1"), shapes) if name == "shortshape" else [*shapes]


def _each_once(function: WordFunction, words: Iterable[str]) -> list[str | None]:
    known: dict[str, str | None] = {}
    return [known[word] if word in known else known.setdefault(word, function(word)) for word in words]


def _prefix(size: int, word: str) -> str | None:
    return word[:size] if len(word) >= size else None


def _suffix(size: int, word: str) -> str | None:
    return word[-size:] if len(word) >= size else None


def _first(size: int, word: str) -> str:
    return word[:size]


class _Table(dict[int, str]):
    """A table for `str.translate` that grows with the characters it meets."""

    def __init__(self, of: Callable[[str], str]) -> None:
        super().__init__()
        self._of = of

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, self._of(chr(code)))


def _kind(letter: str) -> str:
    if letter.isupper():
        return "X"
    if letter.islower():
        return "x"
    if letter.isdecimal():
        return "d"
    return "c" if letter.isalpha() else letter


def _class(letter: str) -> str:
    if letter in _NUMERALS:
        return "numeral"
    category = unicodedata.category(letter)
    if category == "Nd":
        return "digit"
    if category[0] in "LM":
        title = unicodedata.name(letter, "")
        other = "katakana" if "KATAKANA" in title else "letter"  # the length mark ー
        return next((script for start, script in _SCRIPTS if title.startswith(start)), other)
    kinds = {"P": "punctuation", "S": "symbol", "Z": "space", "N": "symbol"}
    return kinds.get(category[0], "other")


def _digit(letter: str) -> str:
    return "0" if letter.isdecimal() else letter


# Classes as single characters, so that text can be translated to them; a newline stays one.
_CLASSES = (
    *dict.fromkeys(["numeral", "digit", "letter", "punctuation", "symbol", "space", "other", *dict(_SCRIPTS).values()]),
)


def _class_letter(letter: str) -> str:
    return "\n" if letter == "\n" else chr(ord("A") + _CLASSES.index(_class(letter)))


def _class_names(letters: str) -> str:
    return "+".join(_CLASSES[ord(letter) - ord("A")] for letter in dict.fromkeys(letters))


def _case_letter(letter: str) -> str:
    return letter if letter == "\n" else "X" if letter.isupper() else "x" if letter.islower() else "-"


_digits, _kinds, _classes, _cases = _Table(_digit), _Table(_kind), _Table(_class_letter), _Table(_case_letter)
