"""What `tagline explain` does: why each token of a sentence got its tag."""

from __future__ import annotations

from typing import Any

from tagline.cli.streams import texts_as_corpus
from tagline.cli.tokens import AUTO, cut_for
from tagline.errors import InputError
from tagline.features.patterns import Macro
from tagline.features.templates import Line, Template
from tagline.models.crf.estimator import CRF
from tagline.models.explanations import Explanation
from tagline.readers.corpus import Corpus


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
    sentence = _columns(text, count)[0] if count > 1 else texts_as_corpus([text], cut_for(model, tokens))[0]
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
    names = [one.name for token in explanation.tokens for one in token.contributions[:most] if one.name]
    longest_first = sorted(template.lines, key=lambda line: -len(line.literals[0]))
    used = {next((line for line in longest_first if name.startswith(line.literals[0])), None) for name in names}
    return [f"{line.literals[0].rstrip(':')}  {in_words(line)}" for line in template.lines if line in used]


def in_words(line: Line) -> str:
    """Say what a line of a template looks at.

    >>> in_words(Template.parse("U1:%x[0,0:shape]/%x[-1,0]").lines[0])
    'shape of the token / the token before'
    """
    return " / ".join(_macro_in_words(macro) for macro in line.macros) or "the label alone"


def _macro_in_words(macro: Macro) -> str:
    taken, row = macro.derivation, macro.row
    where = {0: "", -1: " before", 1: " after"}.get(row, f" {abs(row)} {'before' if row < 0 else 'after'}")
    what = f"the token{where}" if taken.column == 0 else f"column {taken.column} of the token{where}"
    for name in taken.functions:
        what = f"{name} of {what}"
    return what if taken.command == "x" else f'"{taken.pattern}" in {what}'
