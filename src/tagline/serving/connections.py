"""Connections of uvicorn with limits: bytes of a head before it is read, seconds that it may take, how many are open.

uvicorn reads HTTP by httptools, which has no limit on heads and keeps what it has read of one, or by h11. It ends
connections that rest after an answer, but none that never ask. Both kinds of connection get the same limits here.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar

import h11
from pydantic_core import to_json
from uvicorn.protocols.http.h11_impl import H11Protocol

from tagline.messages import message
from tagline.serving.guard import MOST_HEAD, MOST_HEADERS
from tagline.serving.problems import ProblemError
from tagline.serving.settings import Settings

MOST_AHEAD = 16  # requests that a client may send before the first is answered
RESTS = 10.0  # seconds after an answer in which nothing but the rest of a body came
SLICE = 8_192  # bytes that are parsed before they are counted
REASONS = {
    400: "Bad Request",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}

# What is shared is told to mypy here, and comes from uvicorn's classes at run time.
if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    _Base = HttpToolsProtocol
else:
    _Base = object


class Bounded(_Base):
    """What is added to a connection of uvicorn, whatever reads its HTTP.

    Attributes:
        seconds: that a head may take to come, and an answer to be read.
        most: connections that may be open.
        note: told the status of what is refused here.
        since: when the connection began to wait for a request.
        paused: since when the client has not read what was sent; None where it does.
        unparsed: bytes that came since something was complete: a head, a piece of a body, a request.
        inside: whether a body is being sent.
        refused: whether the connection is closed for what came.
    """

    seconds: ClassVar[float] = 30.0
    most: ClassVar[int] = 500
    note: ClassVar[Callable[[int], None]] = staticmethod(lambda status: None)

    since = 0.0
    paused: float | None = None
    unparsed = 0
    inside = False
    refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and make room where too many are open."""
        self.since = time.monotonic()
        super().connection_made(transport)
        if len(self.connections) > self.most:
            resting = [other for other in self.connections if isinstance(other, Bounded) and other.rests]
            oldest = min((other for other in resting if other is not self), key=lambda other: other.since, default=None)
            if oldest is None:
                self.refuse(503, message("{} connections are open; try again later", self.most))
            else:
                oldest.transport.abort()

    @property
    def rests(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def count(self, data: bytes) -> None:
        """Take note of bytes that come: of a rest, the first ones begin a head."""
        if self.rests and not self.unparsed and not self.inside:
            self.since = time.monotonic()
        self.unparsed += len(data)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.since = time.monotonic()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Take note of a client that does not read."""
        self.paused = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Take note of a client that reads again."""
        self.paused = None
        super().resume_writing()

    def end_if_late(self, now: float) -> None:
        """Close a connection whose client has taken too long."""
        unread = self.paused is not None and now > self.paused + self.seconds
        # Where nothing has come after an answer, uvicorn closes the connection in its own time.
        limit = self.seconds if self.unparsed or self.cycle is None else max(self.seconds, RESTS)
        if not unread and not (self.rests and now > self.since + limit):
            return
        if unread or self.transport.is_closing() or not self.unparsed:
            self.transport.abort()
        else:
            self.refuse(408, message("no whole request came within {:g} seconds", self.seconds))

    def refuse(self, status: int, detail: str) -> None:
        """Answer with a problem document, and close."""
        if self.refused or self.transport.is_closing():
            return
        self.refused = True
        type(self).note(status)
        if self.cycle is not None and not self.cycle.response_complete:  # a request that is still sent, or ones before
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
                return
        body = to_json(ProblemError(status, detail).document())
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/problem+json\r\n"
        head += f"Content-Length: {len(body)}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        self.transport.write(head.encode() + body)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; of h11 also a head that is too long."""
        status = getattr(sys.exc_info()[1], "error_status_hint", 400)
        self.refuse(
            *(
                (431, _too_long())
                if status == 431
                else (400, message("expected a request of HTTP/1.1, got other bytes"))
            )
        )


def _too_long() -> str:
    return message("expected up to {} bytes and {} lines of headers, got more", MOST_HEAD, MOST_HEADERS)


class _H11(Bounded, H11Protocol):  # type: ignore[misc]
    """h11 has a limit of its own."""

    def data_received(self, data: bytes) -> None:
        """Read, and count what is not complete."""
        self.inside = self.conn.their_state is h11.SEND_BODY
        self.count(data)
        if not self.refused:
            super().data_received(data)
            if self.conn.trailing_data == (b"", False):  # everything was a whole head, or a piece of a body
                self.unparsed = 0


def _with_httptools() -> type[Any] | None:
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ModuleNotFoundError:
        return None

    class HttpTools(Bounded, HttpToolsProtocol):
        """httptools keeps a head until it is whole, so it is fed a little at a time."""

        def data_received(self, data: bytes) -> None:
            for first in range(0, len(data), SLICE):
                if self.refused or self.transport.is_closing():
                    return
                part = data[first : first + SLICE]
                self.count(part)
                super().data_received(part)
                if self.unparsed > MOST_HEAD:
                    self.refuse(431, _too_long())
                elif len(self.pipeline) > MOST_AHEAD:
                    self.transport.abort()

        def on_headers_complete(self) -> None:
            self.unparsed, self.inside = 0, True
            if not self.refused:
                super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self.unparsed = 0
            if not self.refused:
                super().on_body(body)

        def on_message_complete(self) -> None:
            self.unparsed, self.inside = 0, False
            if not self.refused:
                super().on_message_complete()

    return HttpTools


def connection_class(settings: Settings, note: Callable[[int], None], parser: str = "auto") -> type[Any]:
    """Return the class of connections for uvicorn's ``http``.

    Arguments:
        note: told the status of what is refused before it is a request.
        parser: ``auto`` takes httptools where it is installed; ``h11``.
    """
    base = (_with_httptools() if parser == "auto" else None) or _H11
    limits = {"seconds": settings.timeout, "most": settings.max_connections, "note": staticmethod(note)}
    return type("Connection", (base,), limits)


async def watch_connections(connections: set[Any], look: float) -> None:
    """Close connections whose clients take too long, from time to time."""
    while True:
        await asyncio.sleep(look)
        now = time.monotonic()
        for connection in list(connections):
            if isinstance(connection, Bounded):
                connection.end_if_late(now)
