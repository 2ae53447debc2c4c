"""The items of answers as plain Python writes them: the definition of what the compiled core writes as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tagline.readers.sentence_splitting import split_sentences
from tagline.serving.answers import Prepared, Said
from tagline.serving.requests import TagRequest
from tagline.serving.shelf import ServedModel

Item = dict[str, Any]


def utf16_of(text: str) -> Callable[[int], int]:
    """Turn code points of a text into UTF-16 units."""
    return lambda n: len(text[:n].encode("utf-16-le", "surrogatepass")) // 2


def finite(value: Any) -> Any:
    """Write None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def items_of_arrays(
    prepared: Prepared, said: Said, more: Sequence[Item] | None, requests: Sequence[TagRequest]
) -> list[Item]:
    """What is said of each item, given what the service hands to the core."""
    asked = [request for request in requests for _ in request.items]
    rows = zip(prepared.items[:-1], prepared.items[1:], asked, strict=True)
    return [_item(prepared, said, more, i, *map(int, edges), request) for i, (*edges, request) in enumerate(rows)]


def _item(
    prepared: Prepared, said: Said, more: Sequence[Item] | None, i: int, first: int, last: int, request: TagRequest
) -> Item:
    text = prepared.texts[i] if request.is_text else None
    move = utf16_of(text) if text is not None and request.offsets == "utf-16" else int
    sentences = [
        _sentence(prepared, said, b, text, move) | ({} if more is None else more[b]) for b in range(first, last)
    ]
    item: Item = {"sentences": sentences} if text is None else {"text": text, "sentences": sentences}
    spans = said.arrays.spans
    if spans is not None:
        which = np.flatnonzero((spans.sentence >= first) & (spans.sentence < last)).tolist()
        item["entities"] = [_entity(prepared, said, m, first, text, move) for m in which]
    return item


def _sentence(prepared: Prepared, said: Said, b: int, text: str | None, move: Callable[[int], int]) -> Item:
    first, last = prepared.offsets[b : b + 2].tolist()
    base, end = (0, 0) if text is None else prepared.bounds[b].tolist()
    tokens = []
    for n in range(first, last):
        label = int(said.arrays.labels[n])
        token: Item = {"text": prepared.words.strings[n], "label": said.arrays.names[label]}
        if text is not None:
            token["start"], token["end"] = (move(base + place) for place in prepared.places[n].tolist())
        if said.marginals is not None:
            token["probability"] = finite(float(said.marginals[n, label]))
            token["marginals"] = finite(said.marginals[n].tolist())
        tokens.append(token)
    return {"tokens": tokens} if text is None else {"start": move(base), "end": move(end), "tokens": tokens}


def _entity(prepared: Prepared, said: Said, m: int, first: int, text: str | None, move: Callable[[int], int]) -> Item:
    spans: Any = said.arrays.spans
    b, start, after = (int(column[m]) for column in (spans.sentence, spans.start, spans.end))
    kind, chance = spans.types[spans.kind[m]], finite(float(spans.probability[m]))
    entity: Item = {"type": kind, "probability": chance, "sentence": b - first, "tokens": [start, after]}
    if text is not None:
        base, begin = int(prepared.bounds[b, 0]), int(prepared.offsets[b])
        left, right = base + int(prepared.places[begin + start, 0]), base + int(prepared.places[begin + after - 1, 1])
        entity |= {"text": text[left:right], "start": move(left), "end": move(right)}
    return entity


def items_of_model(served: ServedModel, request: TagRequest) -> list[Item]:
    """What the library says of each item of a request; what is known must be of its first sentence."""
    return [finite(_answered(served, request, item, i == 0)) for i, item in enumerate(request.items)]


def _answered(served: ServedModel, request: TagRequest, item: Any, is_first: bool) -> Item:
    if not request.is_text:
        sentence = _of_library(served, request, item, is_first)
        found = sentence.pop("entities")
        out: Item = {"sentences": [sentence]}
        return out | ({"entities": [entity | {"sentence": 0} for entity in found]} if found is not None else {})
    move = utf16_of(item) if request.offsets == "utf-16" else int
    sentences, entities = [], []
    for number, (start, end) in enumerate(split_sentences(item) if request.split else [(0, len(item))]):
        tokens = served.cut(request.tokenizer)(item[start:end])
        places = [(start + first, start + last) for first, last in tokens]
        sentence = _of_library(served, request, [item[first:last] for first, last in places], is_first and number == 0)
        for entity in sentence.pop("entities") or []:
            left, right = places[entity["tokens"][0]][0], places[entity["tokens"][1] - 1][1]
            place = {"sentence": number, "text": item[left:right], "start": move(left), "end": move(right)}
            entities.append(entity | place)
        for token, (left, right) in zip(sentence["tokens"], places, strict=True):
            token |= {"start": move(left), "end": move(right)}
        sentences.append({"start": move(start), "end": move(end)} | sentence)
    out = {"text": item, "sentences": sentences}
    return out | ({"entities": entities} if request.spans and served.reading is not None else {})


def _of_library(served: ServedModel, request: TagRequest, words: list[str], is_first: bool) -> Item:
    """All that is asked about one sentence, each by its own method of the model."""
    model, X = served.model, [words]
    fixed = {known.token: known.label for known in request.known} if is_first else {}
    row = [fixed.get(n) for n in range(len(words))]
    inputs: dict[str, Any] = {"known": [row]} if request.known else {}
    labels = [str(label) for label in model.predict(X, **inputs)[0]]
    out: Item = {"tokens": [{"text": word, "label": label} for word, label in zip(words, labels, strict=True)]}
    if request.marginals:
        rows = [list(chances.values()) for chances in model.predict_marginals(X, **inputs)[0]]
        for token, label, chances in zip(out["tokens"], labels, rows, strict=True):
            token |= {"probability": chances[served.numbers[label]], "marginals": chances}
    if request.k_best:
        ranked = model.predict_k_best(X, request.k_best, **inputs)[0]
        out["k_best"] = [{"labels": r.labels, "probability": r.probability} for r in ranked]
    if request.samples:
        out["samples"] = model.predict_samples(X, request.samples, seed=request.seed, **inputs)[0]
    if request.entropy:
        out["entropy"] = float(model.entropy(X, **inputs)[0])
    if request.log_likelihood:
        out["log_z"] = float(model.log_likelihood(X)[0])
        out["log_likelihood"] = float(model.log_likelihood(X, [labels])[0])
    if request.explain:
        out["explanation"], out["legend"] = _explanation(model, words, row if request.known else None)
    found = None
    if request.spans and served.reading is not None:
        spans = model.predict_spans(X, min_probability=request.min_probability, **inputs)[0]
        found = [{"type": s.type, "probability": s.probability, "tokens": [s.start, s.end]} for s in spans]
    return out | {"entities": found}


def _explanation(model: Any, words: list[str], known: list[Any] | None) -> tuple[list[Item], list[str]]:
    if not words:
        return [], []
    explained = model.explain(words, **({} if known is None else {"known": known}))
    rows = []
    for token in explained.tokens:
        names = ("label", "probability", "runner_up", "runner_up_probability", "margin")
        facts = {name: getattr(token, name) for name in names}
        terms = [asdict(term) for term in token.contributions]
        rows.append({"token": token.position, **facts, "contributions": terms})
    return rows, model.legend(explained, most=8)
