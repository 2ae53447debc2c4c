"""Which encoding a text has, where nobody said: UTF-8, or GB18030, in which much Chinese text still is.

A text that is not UTF-8 is taken for GB18030 only where it can hardly be anything else: it decodes, its characters are
nearly all of GB 2312, and the commonest characters of Chinese are among them. UTF-8 with a broken byte, Latin-1,
Cyrillic, Japanese, Korean and Big5 are not taken for it; then the error of the reader names the byte.
"""

from __future__ import annotations

import codecs
import logging
import re

from tagline.messages import message

logger = logging.getLogger("tagline.encoding")

AUTO, UTF8, GB18030 = "auto", "utf-8", "gb18030"

MOST_UTF8 = 0.5  # of the bytes beyond ASCII may be UTF-8 by chance
LEAST_SIMPLE = 0.9  # of the characters beyond ASCII are of GB 2312
MOST_KANA = 0.1
LEAST_COMMON = 0.15  # in Chinese text it is 0.3 to 0.5; in Korean that is taken for it 0.05

COMMON = frozenset(
    "，。、的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方"
    "后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由"
    "其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月"
    "公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组"
    "见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处世车"
)
_BEYOND = re.compile(r"[^\x00-\x7f]+")
_KANA = re.compile(r"[\u3040-\u30ff]")


def guess(data: bytes) -> str:
    """Guess the encoding of a text by its beginning, whose last character may be cut.

    >>> guess("我们在北京。".encode("gb18030")), guess("我们".encode()), guess("Müller".encode("latin-1"))
    ('gb18030', 'utf-8', 'utf-8')
    """
    if _decodes(data, UTF8):
        return UTF8
    return GB18030 if _is_gb18030(data) else UTF8


def tell(name: str, encoding: str) -> None:
    """Say in the log how a text is read, where that is not the usual way."""
    if encoding != UTF8:
        logger.info(message("{}: read as {}", name, encoding))


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, False)
    except UnicodeDecodeError:
        return False
    return True


def _is_gb18030(data: bytes) -> bool:
    if not _decodes(data, GB18030):
        return False
    high = sum(map(len, re.findall(rb"[\x80-\xff]+", data)))
    in_utf8 = sum(len(part.encode()) for part in _BEYOND.findall(data.decode(errors="ignore")))
    if in_utf8 > MOST_UTF8 * high:
        return False
    signs = "".join(_BEYOND.findall(codecs.getincrementaldecoder(GB18030)().decode(data, False)))
    simple = len(signs.encode("gb2312", errors="ignore")) / 2
    kana, common = len(_KANA.findall(signs)), sum(sign in COMMON for sign in signs)
    N = len(signs)
    return simple >= LEAST_SIMPLE * N and kana <= MOST_KANA * N and common >= LEAST_COMMON * N
