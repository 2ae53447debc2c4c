"""What a model answers to requests that are put together: sentences in, the items of their answers out.

Requests of one signature (`TagRequest.signature`) become one corpus, which the model scores once. Offsets are those of
the text as it was sent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from tagline.errors import NoPathError, TaglineError
from tagline.models.sentences import tokens_as_corpus
from tagline.readers.corpus import TOKEN, Corpus
from tagline.readers.sentences import split_sentences
from tagline.readers.text import corpus_of_texts
from tagline.serving.problems import ProblemError
from tagline.serving.requests import Source, TagRequest
from tagline.serving.shelf import ServedModel

Item = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Sentences of requests that are answered together.

    Attributes:
        X: as the model takes them.
        offsets: ``[B + 1]``, tokens of each sentence.
        items: first sentences of each item, and B.
        bounds: characters of each sentence in its text; empty where tokens came.
        starts, ends: characters of each token in its sentence; empty where tokens came.
        words: the tokens, as they are shown.
    """

    X: Any
    offsets: list[int]
    items: list[int]
    bounds: list[tuple[int, int]]
    starts: list[int]
    ends: list[int]
    words: Sequence[str]


@dataclass(eq=False, slots=True)
class SentenceAnswer:
    """What the model says of one sentence; spans are (start, end, type, probability)."""

    labels: Sequence[str]
    spans: list[tuple[int, int, str, float]] = field(default_factory=list)
    marginals: list[list[float]] | None = None
    probabilities: list[float] | None = None
    more: dict[str, Any] = field(default_factory=dict)


def answer_requests(served: ServedModel, requests: Sequence[TagRequest], most: int) -> list[Any]:
    """Return for each request its items, or the `ProblemError` that it gets.

    Arguments:
        requests: of one signature.
        most: tokens that one request may have.
    """
    try:
        return _answer(served, requests, most)
    except (TaglineError, ProblemError) as error:
        if len(requests) > 1:  # one of them spoils it for the others
            return [answer_requests(served, [request], most)[0] for request in requests]
        return [error if isinstance(error, ProblemError) else problem_with(error)]


def problem_with(error: TaglineError) -> ProblemError:
    """Say what the model does not take."""
    if isinstance(error, NoPathError):
        return ProblemError(422, f"known: no labelling keeps to what is known: {error}", field="known")
    field_name = str(error).partition(":")[0]
    return ProblemError(422, str(error), field=field_name if field_name.isidentifier() else None)


def _answer(served: ServedModel, requests: Sequence[TagRequest], most: int) -> list[list[Item]]:
    asked = requests[0]
    prepared = prepare(served, requests, most)
    known = known_labels(served, requests, prepared)
    answers = _in_detail if asked.asks_more else _labels_and_spans
    rows = answers(served, prepared, asked, known)
    with_spans = asked.spans and served.reading is not None
    makers = [_offsets_of(request) for request in requests for _ in request.items]
    texts = [item for request in requests for item in request.items]
    built = [
        _item(prepared, rows, first, last, text if asked.is_text else None, with_spans, units)
        for (first, last), text, units in zip(pairwise(prepared.items), texts, makers, strict=True)
    ]
    counts = [0, *accumulate(len(request.items) for request in requests)]
    return [built[first:last] for first, last in pairwise(counts)]


def prepare(served: ServedModel, requests: Sequence[Source], most: int) -> Prepared:
    """Split and tokenize texts, or take tokens as they are."""
    first = requests[0]
    items = [item for request in requests for item in request.items]
    if first.is_text:
        served.refuse_text()
        split = [split_sentences(text) if first.split else [(0, len(text))] for text in items]
        bounds = [bound for row in split for bound in row]
        pieces = [text[start:end] for text, row in zip(items, split, strict=True) for start, end in row]
        corpus: Any = corpus_of_texts(pieces, served.cut(first.tokenizer))
        edges = [0, *accumulate(len(row) for row in split)]
        words = corpus.columns[TOKEN].strings
        starts, ends = (column.tolist() for column in corpus.token_spans.T)
        prepared = Prepared(corpus, corpus.offsets.tolist(), edges, bounds, starts, ends, words)
    else:
        prepared = _of_tokens(served, items)
    _check_sizes(requests, prepared, most)
    return prepared


def _of_tokens(served: ServedModel, items: list[list[Any]]) -> Prepared:
    words = [token if isinstance(token, str) else token[0] if token else "" for item in items for token in item]
    offsets = [0, *accumulate(len(item) for item in items)]
    X: Any = items
    if served.reads_words:
        width = served.model.input_.columns
        rows = [[token if isinstance(token, str) else tuple(token) for token in item] for item in items]
        X = _with_columns(tokens_as_corpus(rows, width), width)
    return Prepared(X, offsets, list(range(len(items) + 1)), [], [], [], words)


def _with_columns(corpus: Corpus, width: int) -> Corpus:
    names = corpus.names
    if len(names) < width:
        raise ProblemError(
            422,
            f"tokens: expected {width} columns a token, as the model looks at them, got {len(names)}",
            field="tokens",
        )
    return corpus.with_columns({name: corpus.columns[name] for name in names[:width]})


def _check_sizes(requests: Sequence[Source], prepared: Prepared, most: int) -> None:
    done = 0
    for request in requests:
        first, done = done, done + len(request.items)
        tokens = prepared.offsets[prepared.items[done]] - prepared.offsets[prepared.items[first]]
        if tokens > most:
            raise ProblemError(413, f"expected up to {most} tokens a request, got {tokens}; send fewer at a time")


def known_labels(served: ServedModel, requests: Sequence[Source], prepared: Prepared) -> list[Any] | None:
    """Return what is known of each sentence, as models take it; None where nothing is."""
    if not any(request.known for request in requests):
        return None
    rows: list[Any] = [None] * (len(prepared.offsets) - 1)
    done = 0
    for request in requests:
        for n, known in enumerate(request.known):
            place = f"known[{n}]"
            if known.item >= len(request.items):
                detail = f"{place}.item: expected a number below {len(request.items)}, got {known.item}"
                raise ProblemError(422, detail, field=f"{place}.item")
            first, last = prepared.items[done + known.item], prepared.items[done + known.item + 1]
            begin, tokens = prepared.offsets[first], prepared.offsets[last] - prepared.offsets[first]
            if known.token >= tokens:
                detail = f"{place}.token: expected a number below {tokens}, the tokens of the item, got {known.token}"
                raise ProblemError(422, detail, field=f"{place}.token")
            b = bisect_right(prepared.offsets, begin + known.token, first, last + 1) - 1
            length = prepared.offsets[b + 1] - prepared.offsets[b]
            rows[b] = rows[b] or [None] * length
            rows[b][begin + known.token - prepared.offsets[b]] = served.check_labels(known.label, f"{place}.label")
        done += len(request.items)
    return rows


# What the model says.


def _labels_and_spans(
    served: ServedModel, prepared: Prepared, asked: TagRequest, known: list[Any] | None
) -> list[SentenceAnswer]:
    spans = asked.spans and served.reading is not None
    inputs: dict[str, Any] = {} if known is None else {"known": known}
    if spans:
        inputs["min_probability"] = asked.min_probability
    arrays = served.model.answer_arrays(prepared.X, spans=spans, **inputs)
    rows = [SentenceAnswer(labels) for labels in arrays.labellings]
    if arrays.spans is not None:
        found = arrays.spans
        columns = (found.sentence, found.start, found.end, found.kind, found.probability)
        for b, start, end, kind, probability in zip(*(values.tolist() for values in columns), strict=True):
            rows[b].spans.append((start, end, found.types[kind], probability))
    return rows


def _in_detail(
    served: ServedModel, prepared: Prepared, asked: TagRequest, known: list[Any] | None
) -> list[SentenceAnswer]:
    spans = asked.spans and served.reading is not None
    inputs: dict[str, Any] = {} if known is None else {"known": known}
    chance = {"min_probability": asked.min_probability} if spans else {}
    model, X = served.model, prepared.X
    answers = model.answer(X, marginals=asked.marginals, spans=spans, k_best=asked.k_best, **chance, **inputs)
    rows = []
    for answer in answers:
        row = SentenceAnswer([str(label) for label in answer.labels])
        row.spans = [(e.start, e.end, e.type, e.probability) for e in answer.entities or ()]
        if answer.marginals is not None:
            row.marginals = answer.marginals.tolist()
            numbers = [served.numbers[label] for label in row.labels]
            row.probabilities = [chances[n] for chances, n in zip(row.marginals, numbers, strict=True)]
        if answer.k_best is not None:
            row.more["k_best"] = [
                {"labels": ranked.labels, "probability": ranked.probability} for ranked in answer.k_best
            ]
        rows.append(row)
    for name, values in _further(model, X, asked, inputs, rows):
        for row, value in zip(rows, values, strict=True):
            row.more[name] = value
    return rows


def _further(
    model: Any, X: Any, asked: TagRequest, inputs: dict[str, Any], rows: list[SentenceAnswer]
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Answers that are seldom asked for; the sentences are scored again for each."""
    if asked.samples:
        yield "samples", model.predict_samples(X, asked.samples, seed=asked.seed, **inputs)
    if asked.entropy:
        yield "entropy", model.entropy(X, **inputs).tolist()
    if asked.log_likelihood:
        yield "log_z", model.log_likelihood(X).tolist()
        yield "log_likelihood", model.log_likelihood(X, [row.labels for row in rows]).tolist()
    if asked.explain:
        known = inputs.get("known") or [None] * len(rows)
        pairs = zip(_sentences(X), known, strict=True)
        explained = [_explained(model, sentence, row) for sentence, row in pairs]
        yield "explanation", [reasons for reasons, _ in explained]
        yield "legend", [legend for _, legend in explained]


def _sentences(X: Any) -> list[Any]:
    if not isinstance(X, Corpus):
        return list(X)
    columns = [column.strings for column in X.columns.values()]
    rows = list(zip(*columns, strict=True)) if len(columns) > 1 else columns[0]
    return [list(rows[first:last]) for first, last in pairwise(X.offsets.tolist())]


def _explained(model: Any, sentence: Any, known: Any) -> tuple[list[Item], list[str]]:
    """Why each token has its label, and what the names in it stand for."""
    if not sentence:
        return [], []
    explanation = model.explain(sentence, **({} if known is None else {"known": known}))
    out = []
    for token in explanation.tokens:
        entry = {name: getattr(token, name) for name in ("label", "probability", "runner_up", "runner_up_probability")}
        terms = [asdict(term) for term in token.contributions]
        out.append({"token": token.position, **entry, "margin": token.margin, "contributions": terms})
    return out, model.legend(explanation, most=8)


# What is sent.

Units = Callable[[str], Callable[[int], int]]


def _offsets_of(request: TagRequest) -> Units | None:
    return None if request.offsets == "code-points" else utf16_of


def utf16_of(text: str) -> Callable[[int], int]:
    """Return what turns code points of a text into UTF-16 units; the identity where no character takes two.

    >>> utf16_of("a😀b")(2)
    3
    """
    wide = [n for n, character in enumerate(text) if character > "\uffff"]
    return (lambda n: n) if not wide else (lambda n: n + bisect_right(wide, n - 1))


def _item(
    prepared: Prepared,
    rows: Sequence[SentenceAnswer],
    first: int,
    last: int,
    text: str | None,
    with_spans: bool,
    units: Units | None,
) -> Item:
    """The answer about one text or sentence."""
    sentences: list[Item] = []
    entities: list[Item] = []
    for b in range(first, last):
        row = rows[b]
        if text is None:
            sentences.append({"tokens": _tokens(prepared, row, b), **row.more})
        else:
            start, end = prepared.bounds[b]
            sentences.append(
                {"start": start, "end": end, "tokens": _placed_tokens(prepared, row, b, start), **row.more}
            )
        entities += _entities(prepared, row, b, b - first, text)
    if units is not None and text is not None:
        _move(sentences, entities, units(text))
    item: Item = {"sentences": sentences} if text is None else {"text": text, "sentences": sentences}
    if with_spans:
        item["entities"] = entities
    return item


def _entities(prepared: Prepared, row: SentenceAnswer, b: int, sentence: int, text: str | None) -> Iterator[Item]:
    begin = prepared.offsets[b]
    base = 0 if text is None else prepared.bounds[b][0]
    for start, after, kind, probability in row.spans:
        entity: Item = {"type": kind, "probability": probability, "sentence": sentence, "tokens": [start, after]}
        if text is not None:
            left, right = base + prepared.starts[begin + start], base + prepared.ends[begin + after - 1]
            entity["text"], entity["start"], entity["end"] = text[left:right], left, right
        yield entity


def _placed_tokens(prepared: Prepared, row: SentenceAnswer, b: int, base: int) -> list[Item]:
    """Tokens with their characters in the text."""
    chosen = slice(prepared.offsets[b], prepared.offsets[b + 1])
    places = zip(prepared.words[chosen], row.labels, prepared.starts[chosen], prepared.ends[chosen], strict=True)
    if base:
        tokens = [
            {"text": word, "label": label, "start": base + left, "end": base + right}
            for word, label, left, right in places
        ]
    else:
        tokens = [{"text": word, "label": label, "start": left, "end": right} for word, label, left, right in places]
    return _with_chances(tokens, row)


def _tokens(prepared: Prepared, row: SentenceAnswer, b: int) -> list[Item]:
    words = prepared.words[prepared.offsets[b] : prepared.offsets[b + 1]]
    return _with_chances([{"text": word, "label": label} for word, label in zip(words, row.labels, strict=True)], row)


def _with_chances(tokens: list[Item], row: SentenceAnswer) -> list[Item]:
    if row.marginals is not None and row.probabilities is not None:
        for token, probability, chances in zip(tokens, row.probabilities, row.marginals, strict=True):
            token["probability"], token["marginals"] = probability, chances
    return tokens


def _move(sentences: list[Item], entities: list[Item], move: Callable[[int], int]) -> None:
    for part in (*sentences, *entities, *(token for sentence in sentences for token in sentence["tokens"])):
        part["start"], part["end"] = move(part["start"]), move(part["end"])
