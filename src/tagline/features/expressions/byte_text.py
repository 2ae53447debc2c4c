"""Bytes that need not be UTF-8 as text: what `tagline.features.templates.wapiti_lines` makes of parts of characters.

Bytes that are no UTF-8 stand as characters of Unicode's private use, U+10FF80 to U+10FFFF, so that names of attributes
are text like any other, can be written to files and come back.
"""

from __future__ import annotations

FIRST = "\U0010ff80"

_BYTE = 0x10FF00  # plus a byte: the character that stands for it
_SHOWN = {0xDC00 + byte: _BYTE + byte for byte in range(128, 256)}
_HELD = {shown: held for held, shown in _SHOWN.items()}


def text_of(data: bytes) -> str:
    """Read bytes as UTF-8; those that are none stand as characters of private use.

    >>> text_of("né".encode()[:2]) == "n\\U0010ffc3", bytes_of(text_of("né".encode()[:2]))
    (True, b'n\\xc3')
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = FIRST
    if text.isascii() or max(text) < FIRST:
        return text
    read = data.decode(errors="surrogateescape")
    return "".join(_spelt(letter) if has_bytes(letter) else letter for letter in read).translate(_SHOWN)


def _spelt(letter: str) -> str:
    """Spell a character of this private use that stands in a text itself, byte by byte."""
    return "".join(chr(_BYTE + byte) for byte in letter.encode())


def bytes_of(text: str) -> bytes:
    """Return the bytes that `text_of` read."""
    return text.encode() if not has_bytes(text) else text.translate(_HELD).encode(errors="surrogateescape")


def has_bytes(text: str) -> bool:
    """Say whether some characters stand for bytes."""
    return not text.isascii() and max(text) >= FIRST
