"""What `tagline explain` does: why each token of a sentence got its tag."""

from __future__ import annotations

from typing import Any

from tagline.cli.streams import texts_as_corpus
from tagline.cli.tokens import AUTO, cut_for
from tagline.errors import InputError
from tagline.models.crf import CRF
from tagline.models.explaining import Explanation
from tagline.readers.corpus import Corpus


def explain_text(model: CRF, text: str, tokens: str = AUTO) -> Explanation:
    """Explain the tags of a sentence.

    Arguments:
        model: as `load_tagger` gives it.
        text: a sentence; where the template looks at several columns, tokens ``word/column1/…`` with blanks between.
        tokens: how the sentence is cut, as for `tag_stream`.
    """
    template: Any = model.features
    if not text.strip():
        raise InputError("sentence: expected words, got none")
    if template.num_columns > 1:
        return model.explain(_columns(text, template.num_columns)[0])
    return model.explain(texts_as_corpus([text], cut_for(model, tokens))[0])


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
