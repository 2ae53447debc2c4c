"""Which template suits a corpus: a ready-made set by name, a file, or the set that the labels call for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tagline.errors import InputError
from tagline.features.templates.sets import load_set, sets
from tagline.features.templates.template import Template
from tagline.messages import message
from tagline.readers.corpus import TAG, Corpus
from tagline.readers.detection import detect

MOSTLY = 0.7  # of the tokens
BY_CHARACTER = message("most tokens are single characters that are not ASCII")


def named_template(name: str) -> Template:
    """Return a ready-made set by its name, or read a file."""
    if name in sets():
        return load_set(name)
    if not Path(name).exists():
        raise InputError(
            "template: expected a file, or one of {}, got {!r}; there is no such file", ", ".join(sets()), name
        )
    return Template.read(name)


def is_by_character(corpus: Corpus) -> bool:
    """Say whether the tokens of a corpus are Chinese characters or the like.

    >>> is_by_character(Corpus.from_sentences([{"token": ["北", "京", "A"]}]))
    False
    >>> is_by_character(Corpus.from_sentences([{"token": ["北", "京", "人", "A"]}]))
    True
    """
    tokens = corpus.columns[corpus.names[0]]
    single = np.array([len(word) == 1 and not word.isascii() for word in tokens.vocabulary], bool)[tokens.ids]
    return bool(single.sum() > MOSTLY * len(single))


def choose_set(corpus: Corpus) -> tuple[str, str]:
    """Choose a ready-made set for a corpus; return its name and the reason.

    >>> choose_set(Corpus.from_sentences([(["the", "cat"], ["DET", "NOUN"])]))
    ('pos', 'the tags mark no spans')
    """
    scheme = detect(corpus).scheme
    if scheme is None:
        return "pos", message("the tags mark no spans")
    if not scheme.typed:
        return "segmentation", message("the tags mark words without types")
    if is_by_character(corpus):
        return "chinese_ner", BY_CHARACTER
    types = {tag[2:] for tag in corpus.columns[TAG].vocabulary}
    if "NP" in types and len(corpus.names) > 2:
        return "chunking", message("the tags mark noun phrases, and there is a second column")
    return "english_ner", message("the tags mark spans of words")
