"""What `tagline explain` does: why each token of a sentence got its tag."""

from __future__ import annotations

from typing import Any

from tagline.cli.tokens import AUTO, cut_for
from tagline.errors import InputError
from tagline.features import wording
from tagline.features.templates import Template
from tagline.models.crf import CRF
from tagline.models.explaining import Explanation
from tagline.readers.corpus import Corpus
from tagline.readers.text import corpus_of_texts


def explain_text(model: Any, text: str, tokens: str = AUTO) -> Explanation:
    """Explain the tags of a sentence.

    Arguments:
        model: as `load_tagger` gives it.
        text: a sentence; where the template looks at several columns, tokens ``word/column1/…`` with blanks between.
        tokens: how the sentence is cut, as for `tag_stream`.
    """
    if not hasattr(model, "explain"):
        raise InputError(f"--model: expected a model that can explain its tags, got a {type(model).__name__}")
    if not text.strip():
        raise InputError("sentence: expected words, got none")
    count = model.features.num_columns if isinstance(model, CRF) else 1
    sentence = _columns(text, count)[0] if count > 1 else corpus_of_texts([text], cut_for(model, tokens))[0]
    found: Explanation = model.explain(sentence)
    return found


def _columns(text: str, count: int) -> Corpus:
    rows = []
    for word in text.split():
        fields = word.rsplit("/", count - 1)
        if len(fields) != count or not all(fields):
            form = "/".join(["word", *(f"column{c}" for c in range(1, count))])
            raise InputError(
                f"sentence: expected tokens {form}, as the template looks at {count} columns, got {word!r}"
            )
        rows.append(fields)
    names = ["token", *map(str, range(1, count))]
    return Corpus.from_sentences([{name: [row[c] for row in rows] for c, name in enumerate(names)}])


def only(explanation: Explanation, token: str) -> Explanation:
    """Keep one token: a word of the sentence, or its number from 0."""
    kept = tuple(one for one in explanation.tokens if one.token == token)
    if not kept and token.isdecimal():
        kept = tuple(one for one in explanation.tokens if one.position == int(token))
    if not kept:
        words = " ".join(one.token for one in explanation.tokens)
        raise InputError(
            f"--token: expected a word of the sentence or its number from 0, got {token!r}; it has: {words}"
        )
    return Explanation(kept)


def legend(template: Template | None, explanation: Explanation, most: int = 5) -> list[str]:
    """Say in words what the template's lines look at that the first `most` reasons of each token come from."""
    if template is None:
        return []
    names = (one.name for token in explanation.tokens for one in token.contributions[:most] if one.name)
    return wording.legend(template, names)
