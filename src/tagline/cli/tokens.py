"""How raw text is cut for a model: as the tokens were that it learned from.

A model's attributes or symbols say which tokens it has seen. One that knows hardly anything but single characters cuts
every text into characters; one that knows Chinese characters beside words cuts each text by its script; any other cuts
words.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tagline.errors import InputError
from tagline.features.templates import Template
from tagline.readers.text import TOKENIZERS, Cut, cut_by_script, is_wide, tokenize

AUTO = "auto"
MOST_NAMES = 50_000  # attributes that are looked at
_BY_CHARACTER = ("chinese_ner", "segmentation")  # ready-made sets


def cut_for(model: Any, name: str = AUTO) -> Cut:
    """Return what cuts texts for a model.

    Arguments:
        model: as `load_tagger` gives it.
        name: ``words``, ``characters``, ``whitespace``, or ``auto``: as the model's tokens were.
    """
    if name != AUTO:
        if name not in TOKENIZERS:
            raise InputError(f"--tokens: expected one of {', '.join((AUTO, *TOKENIZERS))}, got {name!r}")
        return partial(tokenize, tokenizer=name)
    known = _tokens_of(model)
    if not known:
        template = getattr(model, "features", None)
        source = template.source.removesuffix(".txt") if isinstance(template, Template) else ""
        return partial(tokenize, tokenizer="characters" if source in _BY_CHARACTER else "words")
    single = sum(len(token) == 1 for token in known) / len(known)
    if single >= 0.95:
        return partial(tokenize, tokenizer="characters")
    wide = sum(is_wide(token) for token in known) / len(known)
    return cut_by_script if wide >= 0.05 else partial(tokenize, tokenizer="words")


def _tokens_of(model: Any) -> list[str]:
    """Tokens that the model has seen, or that its attributes name; none where names were hashed away."""
    template = getattr(model, "features", None)
    if template is None:
        return list(model.known_tokens())[:MOST_NAMES] if hasattr(model, "known_tokens") else []
    names = model.parameters_.states
    if names is None or not isinstance(template, Template):
        return []
    for line in template.states:
        if line.text == f"{line.literals[0]}%x[0,0]":
            found = (names[number] for number in range(min(len(names), MOST_NAMES)))
            return [name.removeprefix(line.literals[0]) for name in found if name.startswith(line.literals[0])]
    return []
