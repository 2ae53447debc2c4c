"""What a tagger is: NLTK's own `TaggerI` where NLTK is installed, and otherwise a class with its essential methods."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any

from tagline.errors import InputError
from tagline.messages import message

TaggedSentence = list[tuple[str, str]]
"""Pairs of a token and its tag."""


class _Tagger:
    """What remains of NLTK's interface without NLTK."""

    def tag(self, tokens: Sequence[str]) -> TaggedSentence:
        """Return the tokens of a sentence with their tags."""
        return self.tag_sents([tokens])[0]

    def tag_sents(self, sentences: Iterable[Sequence[str]]) -> list[TaggedSentence]:
        """Tag each of several sentences."""
        return [self.tag(tokens) for tokens in sentences]

    def accuracy(self, gold: Iterable[TaggedSentence]) -> float:
        """Tag the words of tagged sentences, and return the share of tags that are right."""
        sentences = [list(sentence) for sentence in gold]
        found = self.tag_sents([[word for word, _ in sentence] for sentence in sentences])
        right = [one == two for pair in zip(found, sentences, strict=True) for one, two in zip(*pair, strict=True)]
        if not right:
            raise InputError("gold: expected tagged tokens, got none")
        return sum(right) / len(right)


TaggerI: Any = _Tagger
with contextlib.suppress(ImportError):
    from nltk.tag import api as nltk_api  # type: ignore[import-untyped]

    TaggerI = nltk_api.TaggerI


def check_tokens(tokens: object) -> None:
    """Refuse a text that was not cut into tokens."""
    if isinstance(tokens, str | bytes):
        raise TypeError(
            message(
                "tag() expects a list of tokens, not a single string or bytes; cut it first, for instance with split()"
            )
        )


def check_sentences(method: str, sentences: object) -> None:
    """Refuse what is no list of token lists."""
    single = isinstance(sentences, list | tuple) and sentences and isinstance(sentences[0], str | bytes)
    if isinstance(sentences, str | bytes) or single:
        got = message("a single tokenized sentence") if single else message("a single string or bytes")
        raise TypeError(message("{}() expects a list of tokenized sentences, not {}", method, got))


def untagged(pairs: Iterable[Any], place: str) -> tuple[list[Any], list[Any]]:
    """Part the tokens and the tags of a training sentence."""
    rows = list(pairs)
    for number, pair in enumerate(rows):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError("{}, token {}: expected a pair of a word and a tag, got {!r:.60}", place, number, pair)
    return [token for token, _ in rows], [tag for _, tag in rows]
