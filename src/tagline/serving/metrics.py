"""What is counted: requests, their time, tokens, batches, models. Read at ``/metrics`` in Prometheus' form."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
OTHER = "other"


class Metrics:
    """The numbers of one service."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter("tagline_requests", "Requests.", ["path", "status"], registry=registry)
        self.seconds = Histogram("tagline_seconds", "Time of requests.", ["path"], buckets=SECONDS, registry=registry)
        self.tokens = Counter("tagline_tokens", "Tokens that were labelled.", ["model"], registry=registry)
        self.batches = Histogram("tagline_batch_requests", "Requests a batch.", buckets=SIZES, registry=registry)
        self.waiting = Gauge("tagline_waiting", "Requests that wait.", registry=registry)
        self.models = Gauge("tagline_models", "Models.", ["name", "kind", "fingerprint"], registry=registry)

    def known_path(self, scope: Any) -> str:
        """The path of a request as its route has it; one name for all others, so that strangers add no series."""
        route = scope.get("route")
        return OTHER if route is None else str(route.path)

    @lru_cache(maxsize=1000)  # noqa: B019 - of paths that exist and statuses; looking them up takes longer than counting
    def _of(self, path: str, status: int) -> tuple[Any, Any]:
        return self.requests.labels(path, str(status)), self.seconds.labels(path)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        count, times = self._of(path, status)
        count.inc()
        times.observe(seconds)

    @lru_cache(maxsize=1000)  # noqa: B019 - of models that are served
    def _tokens_of(self, model: str) -> Any:
        return self.tokens.labels(model)

    def labelled(self, model: str, tokens: int) -> None:
        """Count tokens that a model has labelled."""
        self._tokens_of(model).inc(tokens)

    def text(self) -> bytes:
        """Write everything in Prometheus' form."""
        return generate_latest(self.registry)
