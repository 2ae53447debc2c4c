"""People, places, organisations and dates in English and Chinese: a corpus that is made, not collected."""

from __future__ import annotations

from itertools import chain

import numpy as np

from tagline.checks import check_choice, check_whole
from tagline.datasets.chinese import CHINESE
from tagline.datasets.drawing import Draw, Language
from tagline.datasets.english import ENGLISH
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus

LANGUAGES = {"en": (ENGLISH,), "zh": (CHINESE,), "mixed": (ENGLISH, CHINESE)}
SPLITS = ("train", "test")

Place = tuple[int, int]
Made = tuple[str, list[Place], list[str], list[str]]
"""A sentence: its text, the characters of its tokens, tokens, tags."""

_TIGHT_LEFT, _TIGHT_RIGHT = tuple(",.:;?!)”"), tuple("(“")


def make_entities(num_sentences: int = 2000, seed: int = 0, language: str = "mixed", split: str = "train") -> Corpus:
    """Make sentences about people (PER), places (LOC), organisations (ORG) and dates (DATE), tagged in IOB2.

    Train on one split and evaluate on the other: no name of the test sentences occurs in the training sentences, and
    about a sixth of them are of forms that training sentences never have. A feature CRF trained on 2,000 sentences
    reaches 93 to 94 F1 on the test split.

    English goes by word and Chinese by character, as `tagline.readers.tokenize` cuts them with ``words`` and
    ``characters``; `Corpus.texts` has the sentences as they are written. The corpus is the same on every machine, and
    a short one is the beginning of a long one.

    Arguments:
        num_sentences: how many.
        seed: another number makes other sentences.
        language: ``en``, ``zh``, or ``mixed``: one of each in turn.
        split: ``train`` or ``test``.

    >>> corpus = make_entities(2, seed=1)
    >>> corpus.texts
    ["Will Emilio O'Harter play for Bolstan on Friday?", '鼎泰集团秘书长余丽十一月一日表示，罢工将继续。']
    >>> corpus[0].tokens[:4], corpus.tags[0][:4]
    (['Will', 'Emilio', "O'Harter", 'play'], ['O', 'B-PER', 'I-PER', 'O'])
    """
    check_choice("language", language, LANGUAGES)
    check_choice("split", split, SPLITS)
    check_whole("num_sentences", num_sentences, 0, wanted=message("0 or more"))
    draw = Draw(f"tagline entities {seed} {language} {split}", SPLITS.index(split))
    languages = [(chosen, _patterns(chosen, split)) for chosen in LANGUAGES[language]]
    return _corpus([_sentence(*languages[n % len(languages)], draw) for n in range(num_sentences)])


def _patterns(language: Language, split: str) -> list[str]:
    """Return all patterns for test; all but every sixth for training."""
    return [pattern for n, pattern in enumerate(language.patterns) if split == "test" or n % 6 < 5]


def _sentence(language: Language, patterns: list[str], draw: Draw) -> Made:
    tokens, tags = language.fill(draw.pick(patterns), draw)
    if language.separator:
        tokens[0] = tokens[0][0].upper() + tokens[0][1:]
        form = draw.weighted({"plain": 95, "headline": 3, "careless": 2})
        if form != "plain":
            tokens = [token.upper() if form == "headline" else token.lower() for token in tokens]
    return (*_written(tokens, language.separator), tokens, tags)


def _written(tokens: list[str], separator: str) -> tuple[str, list[Place]]:
    """Return the sentence as it is written, and the characters of each token in it."""
    text, places = "", []
    for token in tokens:
        tight = not text or token in _TIGHT_LEFT or text[-1] in _TIGHT_RIGHT
        text += "" if tight else separator
        places.append((len(text), len(text) + len(token)))
        text += token
    return text, places


def _corpus(made: list[Made]) -> Corpus:
    texts, places, tokens, tags = zip(*made, strict=True) if made else ((), (), (), ())
    return Corpus(
        {TOKEN: Column.of(chain.from_iterable(tokens)), TAG: Column.of(chain.from_iterable(tags))},
        offsets_of([len(row) for row in tokens]),
        texts=texts,
        token_spans=np.array(list(chain.from_iterable(places)), np.int64).reshape(-1, 2),
    )
