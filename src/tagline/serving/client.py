"""A client of the service, with the methods that models have. It needs the standard library alone.

Requests that the service refuses for a while (429, 503) or that meet a broken connection are sent again, a few times.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from tagline.checks import refuse_moved
from tagline.errors import InputError, TaglineError
from tagline.messages import message
from tagline.models.entities import Entity
from tagline.models.texts import TaggedText, TaggedToken, TextEntity
from tagline.serving.shapes import JsonPart, lines_of, parts_of

AGAIN = (429, 503)
TOGETHER = 64  # texts of a request
MOST_ANSWER = 1 << 30  # bytes that an answer may have


class ServiceError(TaglineError):
    """The service refused a request, or could not be reached.

    Attributes:
        status: of HTTP; 0 where nothing was answered.
        problem: the document that came with it.
    """

    def __init__(
        self, template: str, /, *values: object, status: int = 0, problem: dict[str, Any] | None = None
    ) -> None:
        super().__init__(template, *values)
        self.status, self.problem = status, problem or {}


class Client:
    """Asks a service what a model would be asked.

    Arguments:
        url: of the service, such as ``http://127.0.0.1:8000``.
        model: its name there; the service's first when left out.
        token: of the service, where it has one.
        timeout: seconds that an answer may take.
        retries: how often a request is sent again.

    >>> from tagline.serving import Client
    >>> client = Client("http://127.0.0.1:8000", model="names", retries=2)
    >>> client.predict([["Anna", "sings"]])  # doctest: +SKIP
    """

    def __init__(
        self, url: str, model: str | None = None, *, token: str | None = None, timeout: float = 60.0, retries: int = 4
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("url: expected http://host:port or https://host:port, got {!r}", url)
        self.url, self.model, self.timeout, self.retries = url, model, timeout, retries
        self._parts = parts
        self._connection: http.client.HTTPConnection | None = None
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # What models are asked.

    def tag(
        self, texts: Any, *, min_probability: float = 0.0, split: bool = True, tokenizer: str = "auto", **moved: Any
    ) -> Any:
        """Find the entities of a text, or of each of several; see `tagline.CRF.tag`."""
        refuse_moved("tag", moved, {"tokens": "tokenizer"})
        one = isinstance(texts, str)
        texts = [texts] if one else list(texts)
        options = {"min_probability": min_probability, "split": split, "tokenizer": tokenizer}
        items = self._items("texts", texts, options)
        tagged = [_tagged(item, text) for item, text in zip(items, texts, strict=True)]
        return tagged[0] if one else tagged

    def predict(self, X: Iterable[Sequence[Any]], *, known: Any = None) -> list[list[str]]:
        """Return the most probable labelling of each sentence of tokens."""
        return [labels_of(item) for item in self._sentences(X, {"spans": False}, known)]

    def predict_spans(
        self, X: Iterable[Sequence[Any]], *, known: Any = None, min_probability: float = 0.0
    ) -> list[list[Entity]]:
        """Return the spans of each sentence with their exact probabilities."""
        options = {"min_probability": min_probability}
        return [entities_of(item) for item in self._sentences(X, options, known)]

    def predict_marginals(self, X: Iterable[Sequence[Any]], *, known: Any = None) -> list[list[dict[str, float]]]:
        """Return for each token the probability of each label."""
        names = self.labels_
        items = self._sentences(X, {"marginals": True, "spans": False}, known)
        rows = ([token["marginals"].numbers(len(names)) for token in tokens_of(item)] for item in items)
        return [[dict(zip(names, numbers, strict=True)) for numbers in row] for row in rows]

    def predict_k_best(
        self, X: Iterable[Sequence[Any]], k: int = 5, *, known: Any = None
    ) -> list[list[tuple[list[str], float]]]:
        """Return the k best labellings of each sentence, with their probabilities."""
        items = self._sentences(X, {"k_best": k, "spans": False}, known)
        ranked = (item["sentences"].one["k_best"].rows for item in items)
        return [[(row["labels"].texts, row["probability"].number) for row in rows] for rows in ranked]

    def predict_samples(
        self, X: Iterable[Sequence[Any]], n: int = 1, *, seed: int | None = None, known: Any = None
    ) -> list[list[list[str]]]:
        """Draw n labellings of each sentence."""
        options = {"samples": n, "seed": seed, "spans": False}
        items = self._sentences(X, options, known)
        return [[row.texts for row in item["sentences"].one["samples"].rows] for item in items]

    def entropy(self, X: Iterable[Sequence[Any]], *, known: Any = None) -> list[float]:
        """Return the entropy of each sentence's labelling in nats."""
        items = self._sentences(X, {"entropy": True, "spans": False}, known)
        return [item["sentences"].one["entropy"].number for item in items]

    def log_likelihood(self, X: Iterable[Sequence[Any]]) -> list[float]:
        """Return log Z of each sentence."""
        items = self._sentences(X, {"log_likelihood": True, "spans": False}, None)
        return [item["sentences"].one["log_z"].number for item in items]

    @property
    def labels_(self) -> list[str]:
        """The labels of the model."""
        return self.facts()["labels"].texts

    def models(self) -> list[dict[str, Any]]:
        """List the models of the service."""
        return [row.members for row in self._ask("GET", "/v1/models")["models"].rows]

    def describe(self) -> dict[str, Any]:
        """Describe the model."""
        return self.facts().members

    def facts(self) -> JsonPart:
        """Describe the model, in parts that are checked when they are read."""
        name = self.model
        if name is None:
            answer = self._ask("GET", "/v1/models")
            name = next((row["name"].text for row in answer["models"].rows if row["default"].flag), None)
            if name is None:
                raise answer.fail(message("no model answers where none is named"))
        facts = self._ask("GET", f"/v1/models/{quote(name, safe='')}")
        _ = facts["labels"].texts
        return facts

    def stream(self, texts: Iterable[str], **options: Any) -> Iterator[dict[str, Any]]:
        """Tag texts while they come: for each the answer of the service, in order; an error is one, too.

        Arguments:
            options: ``spans``, ``marginals``, ``split``, ``tokenizer``, ``offsets``.
        """
        given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()}
        if self.model is not None:
            given["model"] = self.model
        path = f"/v1/stream?{urlencode(given)}" if given else "/v1/stream"
        block: list[str] = []
        for text in texts:
            block.append(json.dumps(text))
            if len(block) == TOGETHER:
                yield from self._lines(path, block)
                block = []
        if block:
            yield from self._lines(path, block)

    # Requests.

    def _lines(self, path: str, lines: list[str]) -> Iterator[dict[str, Any]]:
        data = self._send("POST", path, ("\n".join(lines) + "\n").encode())
        answers = list(lines_of(data, self._not_ours))
        if len(answers) != len(lines):
            raise self._not_ours(message("{} lines came for {} texts", len(answers), len(lines)))
        yield from (answer.members for answer in answers)

    def _sentences(self, X: Iterable[Sequence[Any]], options: dict[str, Any], known: Any) -> Iterator[JsonPart]:
        rows = [[token if isinstance(token, str) else list(token) for token in sentence] for sentence in X]
        if known is not None and len(known) != len(rows):
            raise InputError("known: expected one list for each of {} sentences, got {}", len(rows), len(known))
        for item, row in zip(self._items("sentences", rows, options, known), rows, strict=True):
            if len(tokens_of(item)) != len(row):
                raise self._not_ours(message("{} has {} tokens for {}", item.place, len(tokens_of(item)), len(row)))
            yield item

    def _items(self, form: str, items: Iterable[Any], options: dict[str, Any], known: Any = None) -> Iterator[JsonPart]:
        held = list(items)
        for first in range(0, len(held), TOGETHER):
            asked = {**options, form: held[first : first + TOGETHER]}
            if known is not None:
                asked["known"] = list(_known(known[first : first + TOGETHER]))
            if self.model is not None:
                asked["model"] = self.model
            answers = self._ask("POST", "/v1/tag", asked)["results"].rows
            if len(answers) != len(asked[form]):
                raise self._not_ours(message("{} results came for {} {}", len(answers), len(asked[form]), form))
            yield from answers

    def _ask(self, method: str, path: str, asked: dict[str, Any] | None = None) -> JsonPart:
        data = self._send(method, path, None if asked is None else json.dumps(asked).encode())
        return parts_of(data, self._not_ours)

    def _not_ours(self, what: str) -> ServiceError:
        """The error for an answer with status 200 that this service does not give."""
        return ServiceError("{}: something else than tagline serve answers there: {}", self.url, what, status=200)

    def _send(self, method: str, path: str, body: bytes | None) -> bytes:
        wait, failure = 0.1, ServiceError("{}: no answer", self.url)
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(wait)
                wait *= 2
            try:
                status, headers, data = self._exchange(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                failure = ServiceError("{}: expected a service that answers, got {}", self.url, error)
                continue
            if status == 200:
                return data
            failure = _failure(self.url, status, data)
            if status not in AGAIN:
                break
            wait = max(wait, _seconds(headers.get("Retry-After")))
        raise failure

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, Any, bytes]:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
            self._connection = kind(self._parts.hostname or "", self._parts.port, timeout=self.timeout)
        self._connection.request(method, self._parts.path.rstrip("/") + path, body, self._headers)
        response = self._connection.getresponse()
        data = response.read(MOST_ANSWER + 1)
        if len(data) > MOST_ANSWER:
            self.close()
            raise self._not_ours(message("the answer has more than {} bytes", MOST_ANSWER))
        return response.status, response.headers, data


def _known(rows: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for item, row in enumerate(rows):
        for token, label in enumerate(row or ()):
            if label is not None:
                yield {"item": item, "token": token, "label": label if isinstance(label, str) else sorted(label)}


def _failure(url: str, status: int, data: bytes) -> ServiceError:
    try:
        problem = json.loads(data)
        detail = problem["detail"]
    except (ValueError, KeyError, TypeError, RecursionError):
        problem, detail = (
            {},
            " ".join(data[:200].decode(errors="replace").split()) or message("status {}", status),
        )
    return ServiceError("{}: {}", url, detail, status=status, problem=problem)


def _seconds(text: str | None) -> float:
    try:
        return min(10.0, max(0.0, float(text or 0)))
    except ValueError:
        return 0.0


def tokens_of(item: JsonPart) -> list[JsonPart]:
    """Return the tokens of an item."""
    return [token for sentence in item["sentences"].rows for token in sentence["tokens"].rows]


def labels_of(item: JsonPart) -> list[str]:
    """Return their labels."""
    return [token["label"].text for token in tokens_of(item)]


def entities_of(item: JsonPart) -> list[Entity]:
    """Return the entities of a sentence."""
    if "entities" not in item:
        raise InputError("predict_spans: expected labels that mark spans, got others; use predict")
    size, found = len(tokens_of(item)), []
    for entity in item["entities"].rows:
        places = entity["tokens"].rows
        if len(places) != 2:
            raise entity["tokens"].wrong(message("two places"))
        start, end = entity.within(places[0], places[1], size)
        found.append(Entity(start, end, entity["type"].text, entity["probability"].number))
    return found


def _tagged(item: JsonPart, asked: str) -> TaggedText:
    if (text := item["text"].text) != asked:
        raise item["text"].wrong(message("the text that was sent"))
    tokens = []
    for token in tokens_of(item):
        places = token.within(token["start"], token["end"], len(text))
        tokens.append(TaggedToken(token["text"].text, token["label"].text, *places))
    entities = None
    if "entities" in item:
        found = []
        for entity in item["entities"].rows:
            places = entity.within(entity["start"], entity["end"], len(text))
            found.append(TextEntity(entity["text"].text, entity["type"].text, *places, entity["probability"].number))
        entities = tuple(found)
    sentences = item["sentences"].rows
    bounds = tuple(sentence.within(sentence["start"], sentence["end"], len(text)) for sentence in sentences)
    return TaggedText(text, bounds, tuple(tokens), entities)
