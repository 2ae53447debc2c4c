"""How raw text is cut for a model: as the tokens were that it learned from.

A model says which tokens it has seen. One that knows hardly anything but single characters cuts every text into
characters; one that knows Chinese characters beside words cuts each text by its script; one that knows the endings 's
or n't, as English treebanks have them, cuts them off; any other cuts words.
"""

from __future__ import annotations

from tagline.errors import InputError
from tagline.models.contract import Model
from tagline.readers.tokenizers import BY_SCRIPT, TOKENIZERS, Tokenizer, cut_by_script, is_wide

AUTO = "auto"
MOST_TOKENS = 50_000  # of those that a model knows: so many are looked at


def cut_for(model: Model, name: str = AUTO) -> Tokenizer:
    """Return what cuts texts for a model.

    Arguments:
        name: one of `tagline.readers.tokenizers.TOKENIZERS`, or ``auto``: as the model's tokens were.
    """
    if name != AUTO:
        if name not in (*TOKENIZERS, BY_SCRIPT):
            raise InputError("tokenizer: expected one of {}, got {!r}", ", ".join((AUTO, *TOKENIZERS)), name)
        return Tokenizer(name)
    known = model.known_tokens()[:MOST_TOKENS]
    if not known:
        return Tokenizer("characters" if model.input_.by_character else "words")
    single = sum(len(token) == 1 for token in known) / len(known)
    if single >= 0.95:
        return Tokenizer("characters")
    wide = sum(map(is_wide, known)) / len(known)
    if wide >= 0.05:
        return cut_by_script
    return Tokenizer("treebank" if {"'s", "n't"}.intersection(known) else "words")
