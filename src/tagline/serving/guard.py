"""What every request passes: its number, the token, limits on its body, headers of the answer, log and metrics.

A plain ASGI layer around the routes. Texts of users are never logged.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import json
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect

from tagline.messages import message
from tagline.serving.hosts import Hosts
from tagline.serving.metrics import OTHER, Metrics
from tagline.serving.problems import ProblemError
from tagline.serving.settings import Settings

LOG = logging.getLogger("tagline.serving")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]

OPEN = ("/healthz", "/readyz")  # asked by schedulers, which have no token
GUARDED = ("/v1/", "/metrics", "/openapi.json")  # the page itself has nothing to hide
UNLIMITED = "/v1/stream"  # its lines are counted one by one
MOST_HEAD, MOST_HEADERS = 32_768, 100  # bytes and lines of headers; the bytes of trailers and of a chunk's extensions
UNANSWERED = 0
CLIENT_GONE = 499  # in the log and in metrics; nobody reads it
LONGEST_PATH = 200  # characters of an unknown path in the log
_GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")

CLOSE = {"Connection": "close"}

SECURITY = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
]


class Guard:
    """Watches over an application.

    Arguments:
        app: the routes.
        settings: token and limits.
        metrics: told of every request.
    """

    def __init__(self, app: App, settings: Settings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics
        self.token = None if settings.token is None else settings.token.encode()
        self.hosts = Hosts(settings.allow_hosts)
        self.any_host = settings.token is not None and not settings.allow_hosts  # a token cannot be rebound

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, headers = time.perf_counter(), dict(scope["headers"])
        number = _number(headers.get(b"x-request-id"))
        scope.setdefault("state", {})["request_id"] = number
        status = UNANSWERED

        async def answer(event: Message) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
                own = [(b"x-request-id", number.encode()), *SECURITY, *self._cors(headers)]
                event["headers"] = [*event.get("headers", ()), *own]
            await send(event)

        try:
            try:
                if not await self._preflight(scope, headers, answer):
                    self._check(scope, headers)
                    await self.app(scope, self._counted(scope["path"], receive), answer)
            except ProblemError as problem:
                await problem.response(number)(scope, receive, answer)
            except ClientDisconnect:
                status = CLIENT_GONE
            except asyncio.CancelledError:  # by the server, when its time is up
                if status == UNANSWERED:
                    await ProblemError(503, message("the service stops; ask another")).response(number)(
                        scope, receive, answer
                    )
        finally:
            self._record(scope, status or 500, time.perf_counter() - started, number)

    def _check(self, scope: Any, headers: dict[bytes, bytes]) -> None:
        path, given = scope["path"], scope["headers"]
        if len(given) > MOST_HEADERS or sum(len(name) + len(value) for name, value in given) > MOST_HEAD:
            detail = message("expected up to {} bytes and {} lines of headers, got more", MOST_HEAD, MOST_HEADERS)
            raise ProblemError(431, detail, headers=CLOSE)
        if path not in OPEN and not self.any_host:
            self._check_host(scope, headers.get(b"host"))
        if self.token is not None and path.startswith(GUARDED):
            scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self.token):
                raise ProblemError(
                    401,
                    message(
                        "expected the header Authorization: Bearer TOKEN with this service's token, got another or none"
                    ),
                    headers={"WWW-Authenticate": "Bearer"},
                )
        length = headers.get(b"content-length", b"")
        if length.isdigit() and path != UNLIMITED and int(length[:20]) > self.settings.max_body:
            raise self._too_large(int(length[:20]))

    def _check_host(self, scope: Any, host: bytes | None) -> None:
        if sum(name == b"host" for name, _ in scope["headers"]) > 1:
            raise ProblemError(400, message("expected one header Host, got several"))
        server = scope.get("server")
        if host is not None and not self.hosts.welcome(host, server[0] if server else ""):  # a browser always sends it
            name = host.decode("latin-1")[:LONGEST_PATH]
            raise ProblemError(421, message("this service is not known as {!r}; start it with --allow-host NAME", name))

    def _too_large(self, size: int) -> ProblemError:
        return ProblemError(
            413,
            message("expected up to {} bytes, got {} or more; send fewer at a time", self.settings.max_body, size),
        )

    def _counted(self, path: str, receive: Receive) -> Receive:
        """Refuse a body that is longer than it may be, whatever its header says, or that takes too long to come."""
        if path == UNLIMITED:
            return receive
        size, complete = 0, False
        end = asyncio.get_running_loop().time() + self.settings.timeout

        async def counted() -> Message:
            nonlocal size, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout_at(end):
                    event = await receive()
            except TimeoutError:
                detail = message("the body did not come within {:g} seconds", self.settings.timeout)
                raise ProblemError(408, detail, headers=CLOSE) from None
            complete = not event.get("more_body", False)
            size += len(event.get("body", b""))
            if size > self.settings.max_body:
                raise self._too_large(size)
            return event

        return counted

    def _cors(self, headers: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        allowed = self.settings.allow_origin
        if allowed is None or headers.get(b"origin") not in (allowed.encode(), None):
            return []
        return [(b"access-control-allow-origin", allowed.encode()), (b"vary", b"Origin")]

    async def _preflight(self, scope: Any, headers: dict[bytes, bytes], send: Send) -> bool:
        """Answer what a browser asks before it calls from another origin."""
        asks = scope["method"] == "OPTIONS" and b"access-control-request-method" in headers
        if not asks or self.settings.allow_origin is None:
            return False
        allowed = [
            (b"access-control-allow-methods", b"GET, POST"),
            (b"access-control-allow-headers", b"Authorization, Content-Type, X-Request-Id"),
            (b"access-control-max-age", b"600"),
        ]
        await send({"type": "http.response.start", "status": 204, "headers": allowed})
        await send({"type": "http.response.body", "body": b""})
        return True

    def _record(self, scope: Any, status: int, seconds: float, number: str) -> None:
        path = self.metrics.known_path(scope)
        self.metrics.request(path, status, seconds)
        if LOG.isEnabledFor(logging.INFO) and path not in OPEN:
            if path == OTHER:  # as it was sent, which is ASCII
                path = scope.get("raw_path", b"").decode("latin-1").partition("?")[0][:LONGEST_PATH]
            facts = {"id": number, "method": scope["method"], "path": path, "status": status}
            LOG.info("request", extra={"facts": {**facts, "ms": round(1000 * seconds, 2)}})


_PROCESS, _REQUESTS = secrets.token_hex(4), itertools.count(1)


def _number(given: bytes | None) -> str:
    """The number of a request: the caller's own, or a new one."""
    if given is not None and _GIVEN_ID.fullmatch(given):
        return given.decode()
    return f"{_PROCESS}-{next(_REQUESTS)}"


class JSONLines(logging.Formatter):
    """Writes a record as a line of JSON: time, level, event, facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        facts = getattr(record, "facts", {})
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        line = {"time": moment, "level": record.levelname.lower(), "event": record.getMessage(), **facts}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
