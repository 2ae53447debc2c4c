"""`tagline explain`: why each token of a sentence got its label."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from tagline.cli.arguments import argument, option
from tagline.cli.options import AsJson, ModelFile, Tokenizer
from tagline.cli.speech import put_json, say
from tagline.errors import InputError

if TYPE_CHECKING:
    from tagline.models.contract import Model
    from tagline.models.explanations import Explanation
    from tagline.readers.corpus import Corpus, Sentence


def command(
    sentence: Annotated[
        str,
        argument(
            help="A sentence, or - to read it from stdin; word/column1/… where the model looks at several columns."
        ),
    ],
    model: ModelFile,
    token: Annotated[str | None, option(help="This token only: the word, or its number from 0.")] = None,
    most: Annotated[int, option(help="Reasons for each token.")] = 5,
    tokenizer: Tokenizer = "auto",
    document: Annotated[
        str | None,
        option(help="For a model that reads documents: a text with the sentences of the document that this one is in."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say why each token got its tag and not the runner-up: what spoke for it (+) and against it (−).

    \b
    Example:
      tagline explain -m model.tagline "Anna Smith lives in Rome." --token Rome
    """
    from tagline.cli.tagging import load_tagger
    from tagline.readers.sources import read_string

    if most < 0:
        raise InputError("--most: expected 0 or more, got {}", most)
    loaded = load_tagger(model)
    if not loaded.explains:
        raise InputError("--model: expected a model that can explain its tags, got a {}", type(loaded).__name__)
    text = read_string("-") if sentence == "-" else sentence
    rest = {} if document is None else {"documents": sentences_of(loaded, document, tokenizer)}
    explanation = loaded.explain(as_sentence(loaded, text, tokenizer), **rest)
    if token is not None:
        explanation = only(explanation, token)
    if as_json:
        put_json(explanation.as_dict())
        return
    say(explanation.text(most), nl=False)


def as_sentence(model: Model, text: str, tokenizer: str) -> Sentence:
    """Cut a text for a model; one that looks at several columns takes tokens ``word/column1/…`` with blanks between."""
    from tagline.models.cutting import cut_for
    from tagline.readers.corpus import TOKEN, Corpus
    from tagline.readers.raw_text import corpus_of_texts

    if not text.strip():
        raise InputError("sentence: expected words, got none")
    count = model.input_.columns
    if count == 1:
        return corpus_of_texts([text], cut_for(model, tokenizer))[0]
    names = [TOKEN, *map(str, range(1, count))]
    rows = [word.rsplit("/", count - 1) for word in text.split()]
    for word, fields in zip(text.split(), rows, strict=True):
        if len(fields) != count or not all(fields):
            form = "/".join(["word", *(f"column{c}" for c in range(1, count))])
            raise InputError(
                "sentence: expected tokens {}, as the template looks at {} columns, got {!r}", form, count, word
            )
    return Corpus.from_sentences([{name: [row[c] for row in rows] for c, name in enumerate(names)}])[0]


def sentences_of(model: Model, path: str, tokenizer: str) -> Corpus:
    """Read a document of raw text and cut it for a model."""
    from tagline.models.cutting import cut_for
    from tagline.readers.raw_text import corpus_of_texts
    from tagline.readers.sentence_splitting import split_sentences
    from tagline.readers.sources import read_string

    if not model.input_.documents or model.input_.columns > 1:
        raise InputError("--document: expected a model that reads documents of words alone, got another")
    lines = [line for line in read_string(path).split("\n") if line.strip()]
    pieces = [line[start:end] for line in lines for start, end in split_sentences(line)]
    return corpus_of_texts(pieces, cut_for(model, tokenizer))


def only(explanation: Explanation, token: str) -> Explanation:
    """Keep one token: a word of the sentence, or its number from 0."""
    chosen = tuple(part for part in explanation.tokens if part.token == token)
    if not chosen and token.isdecimal():
        chosen = tuple(part for part in explanation.tokens if part.position == int(token))
    if not chosen:
        words = " ".join(part.token for part in explanation.tokens)
        raise InputError(
            "--token: expected a word of the sentence or its number from 0, got {!r}; it has: {}", token, words
        )
    return replace(explanation, tokens=chosen)
