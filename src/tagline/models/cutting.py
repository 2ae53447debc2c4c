"""How raw text is cut for a model: as the tokens were that it learned from.

A model says which tokens it has seen. One that knows hardly anything but single characters cuts every text into
characters; one that knows Chinese characters beside words cuts each text by its script; any other cuts words.
"""

from __future__ import annotations

from functools import partial

from tagline.errors import InputError
from tagline.models.contract import Model
from tagline.readers.text import TOKENIZERS, Cut, cut_by_script, is_wide, tokenize

AUTO = "auto"
MOST_TOKENS = 50_000  # of those that a model knows: so many are looked at


def cut_for(model: Model, name: str = AUTO) -> Cut:
    """Return what cuts texts for a model.

    Arguments:
        name: ``words``, ``characters``, ``whitespace``, or ``auto``: as the model's tokens were.
    """
    if name != AUTO:
        if name not in TOKENIZERS:
            raise InputError(f"tokens: expected one of {', '.join((AUTO, *TOKENIZERS))}, got {name!r}")
        return partial(tokenize, tokenizer=name)
    known = model.known_tokens()[:MOST_TOKENS]
    if not known:
        return partial(tokenize, tokenizer="characters" if model.input_.by_character else "words")
    single = sum(len(token) == 1 for token in known) / len(known)
    if single >= 0.95:
        return partial(tokenize, tokenizer="characters")
    wide = sum(is_wide(token) for token in known) / len(known)
    return cut_by_script if wide >= 0.05 else partial(tokenize, tokenizer="words")
