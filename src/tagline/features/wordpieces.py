"""The rules by which BERT's tokenizer cuts words, as plain data: for programs that have no package tokenizers.

The rules are asked of the tokenizer itself, character by character, since the tables of Unicode in Python may be older
or newer than those in it. What is left to the program is Unicode's form NFD and the longest match.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

Ranges = list[list[int]]


def wordpiece_rules(tokenizer: str) -> dict[str, Any] | None:
    """Return the rules of a tokenizer of BERT's kind; None for one of another kind.

    Arguments:
        tokenizer: the JSON text of a fast tokenizer.

    Returns:
        ``strip_accents``, whether; ``lower``, what becomes of capitals; and ranges of characters (first, last):
        ``dropped`` ones, ``accents``, and ``chinese`` ones and ``punctuation`` marks, which are words by themselves.
    """
    fields = json.loads(tokenizer)
    normalizer, model = fields["normalizer"] or {}, fields["model"]
    kinds = (normalizer.get("type"), (fields["pre_tokenizer"] or {}).get("type"), model.get("type"))
    if kinds != ("BertNormalizer", "BertPreTokenizer", "WordPiece") or not normalizer["clean_text"]:
        return None
    if any(token["normalized"] or token["single_word"] for token in fields["added_tokens"]):
        return None
    strip = normalizer["strip_accents"]
    return {
        "strip_accents": normalizer["lowercase"] if strip is None else strip,
        "lower": _lower() if normalizer["lowercase"] else {},
        **_characters(),
        **({} if normalizer["handle_chinese_chars"] else {"chinese": []}),
    }


@cache
def _characters() -> dict[str, Ranges]:
    from tokenizers import normalizers, pre_tokenizers

    # Characters that Unicode has not assigned are taken as they are, and halves of surrogate pairs never come here.
    everything = [char for char in map(chr, range(0x110000)) if unicodedata.category(char) not in ("Cn", "Cs")]
    text = "".join(everything)

    def normalized(**steps: bool) -> str:
        off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
        changed: str = normalizers.BertNormalizer(**{**off, **steps}).normalize_str(text)
        return changed

    stay, bare = {*normalized(clean_text=True)}, {*normalized(strip_accents=True)}
    blanks = {char for char in everything if char in "\t\n\r" or unicodedata.category(char)[0] == "Z"}
    marks = {char for char in everything if unicodedata.category(char)[0] == "M"}
    parts = pre_tokenizers.BertPreTokenizer().pre_tokenize_str("a".join(everything))  # others stick to an a
    return {
        "dropped": _ranges({*everything} - stay - blanks),
        "chinese": _ranges({*re.findall(" (.) ", normalized(handle_chinese_chars=True))} - {" "}),
        "accents": _ranges(marks - bare),
        "punctuation": _ranges({part for part, _ in parts if len(part) == 1} - {"a"}),
    }


@cache
def _lower() -> dict[str, str]:
    from tokenizers import normalizers

    everything = [char for char in map(chr, range(0x110000)) if char != "\n" and not "\ud800" <= char <= "\udfff"]
    changed = normalizers.Lowercase().normalize_str("\n".join(everything)).split("\n")
    return {char: lower for char, lower in zip(everything, changed, strict=True) if char != lower}


def _ranges(characters: Iterable[str]) -> Ranges:
    """Write characters as ranges of code points.

    >>> _ranges("dabx")
    [[97, 98], [100, 100], [120, 120]]
    """
    ranges: Ranges = []
    for code in sorted(map(ord, characters)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return ranges
