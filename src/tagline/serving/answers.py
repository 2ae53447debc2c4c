"""What a model answers to requests that are put together: sentences in, the items of their answers out.

Requests of one signature (`TagRequest.signature`) become one corpus, which the model scores once. Offsets are those of
the text as it was sent. The compiled core writes the JSON from arrays: 32 sentences in 0.014 ms; dictionaries take
0.11 ms with pydantic's Rust, 0.31 ms with `json` (`benchmarks/own_parts.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from pydantic_core import to_json

from tagline import compiled
from tagline.errors import NoPathError, TaglineError
from tagline.messages import message
from tagline.models.answers import AnswerArrays
from tagline.models.entities import FoundSpans
from tagline.models.sentences import tokens_as_corpus
from tagline.ragged import offsets_of
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.readers.raw_text import corpus_of_texts
from tagline.readers.sentence_splitting import split_sentences
from tagline.serving.problems import ProblemError
from tagline.serving.requests import ModelRequest, TagRequest
from tagline.serving.shelf import ServedModel
from tagline.types import Float64Array, IntArray

NUMBERS = 20  # labels of further labellings and probabilities, for each token that a request may have

Item = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Sentences of requests that are answered together.

    Attributes:
        X: as the model takes them.
        offsets: ``[B + 1]``, tokens of each sentence.
        items: ``[I + 1]``, sentences of each item; a short list, which plain Python goes through faster than NumPy.
        requests: ``[R + 1]``, items of each request; a short list, too.
        words: the tokens, as they are shown.
        texts: that came as items; empty where tokens came, as are the next two.
        bounds: ``[B, 2]``, characters of each sentence in its text.
        places: ``[N, 2]``, characters of each token in its sentence.
    """

    X: Any
    offsets: IntArray
    items: list[int]
    requests: list[int]
    words: Column
    texts: list[str]
    bounds: IntArray
    places: IntArray

    @cached_property
    def tokens(self) -> list[int]:
        """How many each request has."""
        offsets, items = self.offsets.tolist(), self.items
        return [offsets[items[last]] - offsets[items[first]] for first, last in pairwise(self.requests)]


@dataclass(frozen=True, eq=False)
class Said:
    """What the model says of all sentences.

    Attributes:
        arrays: labels, and spans where they are asked for.
        marginals: ``[N, L]``, where they are.
        more: further members of the JSON object of each sentence.
    """

    arrays: AnswerArrays
    marginals: Float64Array | None = None
    more: list[bytes] | None = None


class Written(NamedTuple):
    """An answer to a request: its items as JSON, with commas between them, and how many tokens they have."""

    items: bytes
    tokens: int


def answer_requests(
    served: ServedModel, requests: Sequence[TagRequest], most: int, most_explained: int = 2_000
) -> list[Any]:
    """Return for each request what is `Written`, or the `ProblemError` that it gets.

    Arguments:
        requests: of one signature.
        most: tokens that one request may have.
        most_explained: tokens whose labels one request may have explained.
    """
    asked = requests[0]
    try:
        prepared = prepare(served, requests, most)
        _check_amount(served, asked, max(prepared.tokens, default=0), most, most_explained)
        known = known_labels(served, requests, prepared)
        spans = asked.spans and served.reading is not None
        inputs: dict[str, Any] = {} if known is None else {"known": known}
        if prepared.texts and served.needs.documents:  # a text is one document, as it is for `model.tag`
            inputs["documents"] = np.diff(prepared.items)
        questions = {"spans": True, "min_probability": asked.min_probability} if spans else {}
        if asked.asks_more:
            said = _in_detail(served, prepared, asked, questions, inputs)
        else:
            said = Said(served.model.answer_arrays(prepared.X, **questions, **inputs))
        items = _items(prepared, said, requests)
        rows = zip(pairwise(prepared.requests), prepared.tokens, strict=True)
        return [Written(b",".join(items[first:last]), tokens) for (first, last), tokens in rows]
    except (TaglineError, ProblemError) as error:
        if len(requests) > 1:  # one of them spoils it for the others
            return [answer_requests(served, [request], most, most_explained)[0] for request in requests]
        return [error if isinstance(error, ProblemError) else problem_with(error)]


def problem_with(error: TaglineError) -> ProblemError:
    """Say what the model does not take."""
    if isinstance(error, NoPathError):
        return ProblemError(422, message("known: no labelling keeps to what is known: {}", error), field="known")
    field_name = re.split("[:：]", str(error), maxsplit=1)[0]
    return ProblemError(422, str(error), field=field_name if field_name.isidentifier() else None)


def prepare(served: ServedModel, requests: Sequence[ModelRequest], most: int) -> Prepared:
    """Split and tokenize texts, or take tokens as they are."""
    rows = [request.items for request in requests]
    items = list(chain.from_iterable(rows))
    of_requests = [0, *accumulate(map(len, rows))]
    prepared = (_of_texts if requests[0].is_text else _of_tokens)(served, requests[0], items, of_requests)
    if max(prepared.tokens, default=0) > most:
        tokens = next(count for count in prepared.tokens if count > most)
        raise ProblemError(
            413,
            message("expected up to {} tokens a request, got {}; send fewer at a time", most, tokens),
        )
    return prepared


def _check_amount(served: ServedModel, asked: TagRequest, tokens: int, most: int, most_explained: int) -> None:
    """Refuse answers that take long to find or to send: what is asked for each token counts."""
    if asked.explain and tokens > most_explained:
        detail = message("explain: up to {} tokens are explained in one request, got {}", most_explained, tokens)
        raise ProblemError(413, message("{}; send fewer at a time", detail), field="explain")
    numbers = asked.k_best + asked.samples + (len(served.labels) if asked.marginals else 0)
    if tokens * numbers > (limit := NUMBERS * most):
        detail = message(
            "up to {} labels and probabilities are sent in one answer, {} tokens x {} are asked", limit, tokens, numbers
        )
        raise ProblemError(413, message("{}; send fewer tokens at a time, or ask for fewer labellings", detail))


def _of_texts(served: ServedModel, asked: ModelRequest, texts: list[str], requests: list[int]) -> Prepared:
    served.refuse_text()
    split = [split_sentences(text) if asked.split else [(0, len(text))] for text in texts]
    pieces = [text[start:end] for text, row in zip(texts, split, strict=True) for start, end in row]
    corpus = corpus_of_texts(pieces, served.cut(asked.tokenizer))
    items = [0, *accumulate(map(len, split))]
    bounds = np.array(list(chain.from_iterable(split)), np.int64).reshape(-1, 2)
    places = np.asarray(corpus.token_spans, np.int64)
    return Prepared(corpus, corpus.offsets, items, requests, corpus.columns[TOKEN], texts, bounds, places)


def _of_tokens(served: ServedModel, asked: ModelRequest, items: list[list[Any]], requests: list[int]) -> Prepared:
    words = [token if isinstance(token, str) else token[0] if token else "" for item in items for token in item]
    X: Any = items
    if served.reads_words:
        width = served.needs.columns
        rows = [[token if isinstance(token, str) else tuple(token) for token in item] for item in items]
        X = _with_columns(tokens_as_corpus(rows, width), width)
    offsets, nowhere = offsets_of([len(item) for item in items]), np.zeros((0, 2), np.int64)
    return Prepared(X, offsets, list(range(len(items) + 1)), requests, Column.of(words), [], nowhere, nowhere)


def _with_columns(corpus: Corpus, width: int) -> Corpus:
    names = corpus.names
    if len(names) < width:
        raise ProblemError(
            422,
            message("tokens: expected {} columns a token, as the model looks at them, got {}", width, len(names)),
            field="tokens",
        )
    return corpus.with_columns({name: corpus.columns[name] for name in names[:width]})


def known_labels(served: ServedModel, requests: Sequence[ModelRequest], prepared: Prepared) -> list[Any] | None:
    """Return what is known of each sentence, as models take it; None where nothing is."""
    if not any(request.known for request in requests):
        return None
    offsets, items = prepared.offsets.tolist(), prepared.items
    rows: list[Any] = [None] * (len(offsets) - 1)
    done = 0
    for request in requests:
        for n, known in enumerate(request.known):
            place = f"known[{n}]"
            if known.item >= len(request.items):
                detail = message("{}.item: expected a number below {}, got {}", place, len(request.items), known.item)
                raise ProblemError(422, detail, field=f"{place}.item")
            first, last = items[done + known.item], items[done + known.item + 1]
            begin, tokens = offsets[first], offsets[last] - offsets[first]
            if known.token >= tokens:
                detail = message(
                    "{}.token: expected a number below {}, the tokens of the item, got {}", place, tokens, known.token
                )
                raise ProblemError(422, detail, field=f"{place}.token")
            b = bisect_right(offsets, begin + known.token, first, last + 1) - 1
            rows[b] = rows[b] or [None] * (offsets[b + 1] - offsets[b])
            rows[b][begin + known.token - offsets[b]] = served.check_labels(known.label, f"{place}.label")
        done += len(request.items)
    return rows


# What the model says.


def _in_detail(
    served: ServedModel, prepared: Prepared, asked: TagRequest, questions: dict[str, Any], inputs: dict[str, Any]
) -> Said:
    model, X = served.model, prepared.X
    answers = model.answer(X, marginals=asked.marginals, k_best=asked.k_best, **questions, **inputs)
    labellings = [[str(label) for label in answer.labels] for answer in answers]
    labels = np.array([served.numbers[label] for labelling in labellings for label in labelling], np.int64)
    found = FoundSpans.of([answer.entities or [] for answer in answers]) if questions else None
    arrays = AnswerArrays(tuple(served.labels), prepared.offsets, labels, spans=found)
    marginals = None
    if asked.marginals:
        marginals = np.concatenate([np.zeros((0, len(served.labels))), *(answer.marginals for answer in answers)])
    more: list[Item] = [{} for _ in answers]
    for name, values in _further(model, X, asked, inputs, answers, labellings):
        for row, value in zip(more, values, strict=True):
            row[name] = value
    return Said(arrays, marginals, [to_json(row, inf_nan_mode="null")[1:-1] for row in more])


def _further(
    model: Any, X: Any, asked: TagRequest, inputs: dict[str, Any], answers: list[Any], labellings: list[list[str]]
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Answers that are seldom asked for; the sentences are scored again for each but the k best."""
    if asked.k_best:
        ranked = [answer.k_best for answer in answers]
        yield "k_best", [[{"labels": r.labels, "probability": r.probability} for r in row] for row in ranked]
    if asked.samples:
        yield "samples", model.predict_samples(X, asked.samples, seed=asked.seed, **inputs)
    if asked.entropy:
        yield "entropy", model.entropy(X, **inputs).tolist()
    if asked.log_likelihood:
        yield "log_z", model.log_likelihood(X).tolist()
        yield "log_likelihood", model.log_likelihood(X, labellings).tolist()
    if asked.explain:
        known = inputs.get("known") or [None] * len(answers)
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


def _items(prepared: Prepared, said: Said, requests: Sequence[TagRequest]) -> list[bytes]:
    """Write the answer about each text or sentence; offsets are those that its request asks for."""
    assert compiled.core is not None  # the service begins only with one
    words, arrays, spans = prepared.words, said.arrays, said.arrays.spans
    texts = None
    if requests[0].is_text:
        in_utf16 = np.array([request.offsets == "utf-16" for request in requests for _ in request.items], np.bool_)
        texts = (prepared.texts, prepared.bounds, prepared.places, in_utf16)
    items: list[bytes] = compiled.core.answer_items(
        np.array(prepared.items),
        prepared.offsets,
        words.vocabulary,
        np.ascontiguousarray(words.ids, np.int32),
        arrays.names,
        arrays.labels,
        texts,
        None if spans is None else (spans.sentence, spans.start, spans.end, spans.kind, spans.types, spans.probability),
        said.marginals,
        said.more,
    )
    return items
