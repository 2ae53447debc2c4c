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

from tagline.errors import InputError, TaglineError
from tagline.models.entities import Entity
from tagline.models.texts import TaggedText, TaggedToken, TextEntity

AGAIN = (429, 503)
TOGETHER = 64  # texts of a request


class ServiceError(TaglineError):
    """The service refused a request, or could not be reached.

    Attributes:
        status: of HTTP; 0 where nothing was answered.
        problem: the document that came with it.
    """

    def __init__(self, message: str, status: int = 0, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
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
            raise InputError(f"url: expected http://host:port or https://host:port, got {url!r}")
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

    def tag(self, texts: Any, *, min_probability: float = 0.0, split: bool = True, tokens: str = "auto") -> Any:
        """Find the entities of a text, or of each of several; see `tagline.CRF.tag`."""
        one = isinstance(texts, str)
        options = {"min_probability": min_probability, "split": split, "tokenizer": tokens}
        tagged = [_tagged(item) for item in self._items("texts", [texts] if one else texts, options)]
        return tagged[0] if one else tagged

    def predict(self, X: Iterable[Sequence[Any]], *, known: Any = None) -> list[list[str]]:
        """Return the most probable labelling of each sentence of tokens."""
        return [_labels(item) for item in self._sentences(X, {"spans": False}, known)]

    def predict_spans(
        self, X: Iterable[Sequence[Any]], *, known: Any = None, min_probability: float = 0.0
    ) -> list[list[Entity]]:
        """Return the spans of each sentence with their exact probabilities."""
        options = {"min_probability": min_probability}
        return [_entities(item) for item in self._sentences(X, options, known)]

    def predict_marginals(self, X: Iterable[Sequence[Any]], *, known: Any = None) -> list[list[dict[str, float]]]:
        """Return for each token the probability of each label."""
        names = self.labels_
        items = self._sentences(X, {"marginals": True, "spans": False}, known)
        return [[dict(zip(names, token["marginals"], strict=True)) for token in _tokens(item)] for item in items]

    def predict_k_best(
        self, X: Iterable[Sequence[Any]], k: int = 5, *, known: Any = None
    ) -> list[list[tuple[list[str], float]]]:
        """Return the k best labellings of each sentence, with their probabilities."""
        items = self._sentences(X, {"k_best": k, "spans": False}, known)
        return [[(row["labels"], row["probability"]) for row in item["sentences"][0]["k_best"]] for item in items]

    def predict_samples(
        self, X: Iterable[Sequence[Any]], n: int = 1, *, seed: int | None = None, known: Any = None
    ) -> list[list[list[str]]]:
        """Draw n labellings of each sentence."""
        options = {"samples": n, "seed": seed, "spans": False}
        return [item["sentences"][0]["samples"] for item in self._sentences(X, options, known)]

    def entropy(self, X: Iterable[Sequence[Any]], *, known: Any = None) -> list[float]:
        """Return the entropy of each sentence's labelling in nats."""
        items = self._sentences(X, {"entropy": True, "spans": False}, known)
        return [item["sentences"][0]["entropy"] for item in items]

    def log_likelihood(self, X: Iterable[Sequence[Any]]) -> list[float]:
        """Return log Z of each sentence."""
        items = self._sentences(X, {"log_likelihood": True, "spans": False}, None)
        return [item["sentences"][0]["log_z"] for item in items]

    @property
    def labels_(self) -> list[str]:
        """The labels of the model."""
        labels: list[str] = self.describe()["labels"]
        return labels

    def models(self) -> list[dict[str, Any]]:
        """List the models of the service."""
        models: list[dict[str, Any]] = self._ask("GET", "/v1/models")["models"]
        return models

    def describe(self) -> dict[str, Any]:
        """Describe the model."""
        name = self.model or next(line["name"] for line in self.models() if line["default"])
        facts: dict[str, Any] = self._ask("GET", f"/v1/models/{quote(name, safe='')}")
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
        body = self._send("POST", path, ("\n".join(lines) + "\n").encode())
        for line in body.splitlines():
            yield json.loads(line)

    def _sentences(self, X: Iterable[Sequence[Any]], options: dict[str, Any], known: Any) -> Iterator[dict[str, Any]]:
        rows = [[token if isinstance(token, str) else list(token) for token in sentence] for sentence in X]
        if known is not None and len(known) != len(rows):
            raise InputError(f"known: expected one list for each of {len(rows)} sentences, got {len(known)}")
        yield from self._items("sentences", rows, options, known)

    def _items(
        self, form: str, items: Iterable[Any], options: dict[str, Any], known: Any = None
    ) -> Iterator[dict[str, Any]]:
        held = list(items)
        for first in range(0, len(held), TOGETHER):
            asked = {**options, form: held[first : first + TOGETHER]}
            if known is not None:
                asked["known"] = list(_known(known[first : first + TOGETHER]))
            if self.model is not None:
                asked["model"] = self.model
            yield from self._ask("POST", "/v1/tag", asked)["results"]

    def _ask(self, method: str, path: str, asked: dict[str, Any] | None = None) -> Any:
        return json.loads(self._send(method, path, None if asked is None else json.dumps(asked).encode()))

    def _send(self, method: str, path: str, body: bytes | None) -> bytes:
        wait, failure = 0.1, ServiceError(f"{self.url}: no answer")
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(wait)
                wait *= 2
            try:
                status, headers, data = self._exchange(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                failure = ServiceError(f"{self.url}: expected a service that answers, got {error}")
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
        return response.status, response.headers, response.read()


def _known(rows: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for item, row in enumerate(rows):
        for token, label in enumerate(row or ()):
            if label is not None:
                yield {"item": item, "token": token, "label": label if isinstance(label, str) else sorted(label)}


def _failure(url: str, status: int, data: bytes) -> ServiceError:
    try:
        problem = json.loads(data)
        detail = problem["detail"]
    except (ValueError, KeyError, TypeError):
        problem, detail = {}, data[:200].decode(errors="replace")
    return ServiceError(f"{url}: {detail}", status, problem)


def _seconds(text: str | None) -> float:
    try:
        return min(10.0, max(0.0, float(text or 0)))
    except ValueError:
        return 0.0


def _tokens(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [token for sentence in item["sentences"] for token in sentence["tokens"]]


def _labels(item: dict[str, Any]) -> list[str]:
    return [token["label"] for token in _tokens(item)]


def _entities(item: dict[str, Any]) -> list[Entity]:
    if "entities" not in item:
        raise InputError("predict_spans: expected labels that mark spans, got others; use predict")
    found = []
    for entity in item["entities"]:
        start, end = entity["tokens"]
        found.append(Entity(start, end, entity["type"], entity["probability"]))
    return found


def _tagged(item: dict[str, Any]) -> TaggedText:
    tokens = (TaggedToken(token["text"], token["label"], token["start"], token["end"]) for token in _tokens(item))
    found = item.get("entities")
    entities = None
    if found is not None:
        fields = ("text", "type", "start", "end", "probability")
        entities = tuple(TextEntity(*(entity[name] for name in fields)) for entity in found)
    bounds = tuple((sentence["start"], sentence["end"]) for sentence in item["sentences"])
    return TaggedText(item["text"], bounds, tuple(tokens), entities)
