"""Door for what comes over a socket: bytes of HTTP to a connection of the service, in pieces of any size."""

from __future__ import annotations

import asyncio
import time
from random import Random
from typing import Any

from tagline.errors import InputError
from tests.fuzz.doors.base import Door, ensure

LONGEST = 3.0  # seconds that a request may take


class Wire(asyncio.Transport):
    """A socket without a network: keeps what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.closing = bytearray(), False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.closing = True

    abort = close

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


class Requests(Door):
    """Requests to a service with one small model, by either parser of HTTP."""

    name = "requests"
    needs = ("fastapi", "uvicorn", "httptools")
    ways = 1
    words = (
        *(b"\r\n", b"\r\n\r\n", b": ", b"Host: localhost\r\n", b"Host: evil.example\r\n", b"Content-Length: 9\r\n"),
        *(b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"Expect: 100-continue\r\n", b"0\r\n\r\n"),
        *(b"Upgrade: websocket\r\nConnection: Upgrade\r\n", b"GET /", b"POST /v1/tag HTTP/1.1\r\n", b" HTTP/1.0\r\n"),
        *(b"/v1/models/names/features?top=", b"/v1/stream?", b"%00", b"%2e%2e/", b'"explain": true', b'{"text": "a"}'),
        *(
            b"X: " + b"a" * 40_000,
            b"X: y\r\n" * 200,
            b"ffffffffffffffff\r\n",
            b"1;x=y\r\n",
            b"Content-Type: text/plain\r\n",
        ),
    )

    def valid(self) -> list[bytes]:
        import uvicorn
        from uvicorn.server import ServerState

        import tagline
        from tagline.serving import Settings
        from tagline.serving.app import Service
        from tagline.serving.connections import connection_class
        from tagline.serving.guard import MOST_HEAD, Guard
        from tagline.serving.shelf import Shelf

        crf = tagline.CRF("U00:%x[0,0]\nB\n", scheme="IOB2").fit([["Anna", "sings"]], [["B-PER", "O"]])
        settings = Settings(max_body=20_000, max_tokens=2_000, max_explain=50, reload=0)
        self.loop, self.state, self.most = asyncio.new_event_loop(), ServerState, MOST_HEAD
        asyncio.set_event_loop(self.loop)
        self.service = Service(Shelf({"names": crf}), settings)
        app = Guard(self.service.app, settings, self.service.metrics)
        self.config = uvicorn.Config(
            app, ws="none", lifespan="off", log_config=None, access_log=False, h11_max_incomplete_event_size=MOST_HEAD
        )
        self.kinds = [connection_class(settings, lambda status: None, parser) for parser in ("auto", "h11")]
        head = b"POST /v1/%b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%b\r\n\r\n%b"
        text = b'{"text": "Anna sings.", "spans": true, "known": [{"token": 0, "label": "O"}]}'
        chunks = b"%x;a=b\r\n%b\r\n0\r\nX-Trailer: y\r\n\r\n" % (len(text), text)
        get = b"GET %b HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"
        return [
            get % b"/healthz" + get % b"/v1/models/names/features?top=3&label=O",
            head % (b"tag", b"Content-Length: %d" % len(text), text),
            head % (b"tag", b"Transfer-Encoding: chunked", chunks) + get % b"/metrics",
            head % (b"tag", b"Content-Length: 28", b'{"text":"Anna","k_best":2  }') + get % b"/v1/models",
            head % (b"stream?spans=false", b"Transfer-Encoding: chunked", b'7\r\n"Anna"\n\r\n0\r\n\r\n'),
            head % (b"trellis", b"Expect: 100-continue\r\nContent-Length: 20", b'{"tokens": ["Anna"]}'),
            b"GET / HTTP/1.0\r\n\r\n",
            b"OPTIONS /v1/tag HTTP/1.1\r\nHost: localhost\r\nOrigin: https://example.org\r\nX-Request-Id: a-1\r\n\r\n",
        ]

    def draw(self, random: Random) -> bytes:
        return bytes([random.randrange(256)]) + super().draw(random)

    def use(self, data: bytes) -> None:
        how, sent = data[0] if data else 0, data[1:]
        self.loop.run_until_complete(asyncio.wait_for(self._exchange(how, sent), 4 * LONGEST))

    async def _exchange(self, how: int, data: bytes) -> None:
        state, wire = self.state(), Wire()
        connection = self.kinds[how & 1](config=self.config, server_state=state, app_state={}, _loop=self.loop)
        connection.connection_made(wire)
        size = (1 << 20, 1, 7, 100)[how >> 1 & 3] if len(data) < 5000 else 1 << 20
        for first in range(0, len(data), size):
            if not wire.closing:
                connection.data_received(data[first : first + size])
                await asyncio.sleep(0)
            if not how & 1:  # h11 counts for itself
                ensure(connection.unparsed <= self.most + 8192, "more of a head than is allowed")
        await self._finish(state, connection, hopeful=False)
        connection.connection_lost(None)
        await self._finish(state, connection, hopeful=True)
        ensure(not state.tasks, "a request that does not end")
        statuses = [int(part[:3]) for part in bytes(wire.sent).split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]
        ensure(not wire.sent or wire.sent.startswith(b"HTTP/1.1 "), "an answer that is no HTTP")
        ensure(not any(status >= 500 for status in statuses), f"status {max(statuses, default=0)}")
        if 200 not in statuses:
            raise InputError(f"refused: {statuses}")

    async def _finish(self, state: Any, connection: Any, *, hopeful: bool) -> None:
        """Let requests run; unless all have to end, no longer than something may still come of it."""
        end = time.monotonic() + LONGEST
        for _ in range(20):
            await asyncio.sleep(0)
        while state.tasks and time.monotonic() < end:
            busy = self.service.batcher.waiting or self.service.batcher.running or self.service.open
            await asyncio.sleep(0.001)
            if not hopeful and not busy and (connection.rests or connection.cycle.more_body):
                return


DOORS = (Requests,)
