"""Running the service: uvicorn, a log of JSON lines, and an end that lets open requests finish."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import FrameType

import uvicorn

import tagline
from tagline.errors import InputError
from tagline.serving.app import Service
from tagline.serving.connections import connection_class, watch_connections
from tagline.serving.guard import MOST_HEAD, Guard, JSONLines
from tagline.serving.metrics import OTHER
from tagline.serving.settings import Settings
from tagline.serving.shelf import Shelf

LOG = logging.getLogger("tagline.serving")
COLLECTED = (50_000, 20, 100)  # answers are many small objects that never hang together
ARENAS = -8, 2  # M_ARENA_MAX of glibc
LOCK_SECONDS = 0.0005  # after which a thread that computes gives Python's lock to the event loop; else it is 0.005


class Server(uvicorn.Server):
    """A server that watches its connections, and that ends in its time whatever runs.

    Arguments:
        settings: of the service.
        announce: told the address when the server listens.
    """

    def __init__(
        self, config: uvicorn.Config, service: Service, settings: Settings, announce: Callable[[str], None] | None
    ) -> None:
        super().__init__(config)
        self.service, self.settings, self.announce = service, settings, announce
        self.last = max(0.05, min(1.0, settings.drain / 4))  # seconds of the end, in which what is open is refused

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where."""
        await super().startup(sockets)
        if self.started:
            look = min(1.0, self.settings.timeout / 4)
            self.watch = asyncio.create_task(watch_connections(self.server_state.connections, look))
            if self.announce is not None:
                host, port = self.servers[0].sockets[0].getsockname()[:2]
                self.announce(f"http://{f'[{host}]' if ':' in host else host}:{port}/")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let open requests finish; near the end of the time, refuse those that are still open."""
        left = max(0.0, self.settings.drain - 2 * self.last)
        asyncio.get_running_loop().call_later(left, self.service.end)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal: what runs is finished, and the exit code is 0; a second Ctrl-C does not wait."""
        if not self.should_exit:
            end = threading.Timer(max(self.settings.drain, self.last), leave)
            end.daemon = True
            end.start()
            LOG.info("stopping", extra={"facts": {"signal": signal.Signals(sig).name, "drain": self.settings.drain}})
        self.service.draining = True
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def leave() -> None:
    """End the process at once, whatever its threads do."""
    LOG.info("stopped", extra={"facts": {"threads": "ended while they worked"}})
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(0)


def listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address, or say why there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once (TCP_NODELAY) only on sockets that name their protocol; others wait 40 ms.
    door = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        door.bind((host, port))
        door.listen(2048)
        return door
    except OSError as error:
        door.close()
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise InputError(
            "--port: expected a free address, got {} and {}: {}; choose another --port or --host", host, port, reason
        ) from None


def serve(
    models: Mapping[str, str],
    settings: Settings,
    host: str,
    port: int,
    *,
    log: str = "info",
    announce: Callable[[str], None] | None = None,
) -> int:
    """Serve models until a signal comes; return the exit code.

    Arguments:
        port: 0 for any that is free.
        log: level of the log: debug, info, warning, error.
        announce: told the address when the service listens.
    """
    write_log(log)
    settings = replace(settings, allow_hosts=_with_bound(settings, host))
    service = Service(Shelf(models), settings)
    app = Guard(service.app, settings, service.metrics)

    def note(status: int) -> None:
        service.metrics.request(OTHER, status, 0.0)
        LOG.info("connection refused", extra={"facts": {"status": status}})

    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=connection_class(settings, note),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        h11_max_incomplete_event_size=MOST_HEAD,
    )
    server = Server(config, service, settings, announce)
    config.timeout_graceful_shutdown = max(0.0, settings.drain - server.last)  # type: ignore[assignment]
    share_arenas()
    sys.setswitchinterval(LOCK_SECONDS)
    gc.collect()
    gc.freeze()  # what is loaded stays: looking at it again and again held requests up for 100 ms
    gc.set_threshold(*COLLECTED)
    with listener(host, port) as door:
        server.run(sockets=[door])
    if service.batcher.workers.stuck or service.batcher.workers.running:  # Python would wait for compiled code
        leave()
    if server.started:
        LOG.info("stopped")
    return 0 if server.started else 1


def share_arenas() -> None:
    """Let the threads share two arenas of glibc: what one has freed, another one can use."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(*ARENAS)


def write_log(level: str) -> None:
    """Have everything that is logged written to stderr as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    logging.captureWarnings(True)
    for name in ("tagline.serving", "uvicorn.error", "asyncio", "py.warnings"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper() if name == "tagline.serving" else "WARNING")


def log_start(address: str) -> None:
    """Write where the service listens, at any level of the log: programs read it."""
    handler = logging.getLogger("tagline.serving").handlers[0]
    record = LOG.makeRecord(LOG.name, logging.INFO, __file__, 0, "started", (), None)
    record.facts = {"url": address, "version": tagline.__version__, "pid": os.getpid()}
    handler.handle(record)


def _with_bound(settings: Settings, host: str) -> tuple[str, ...]:
    """The names that are allowed, with that of the address; with a token, names count only where some are given."""
    if settings.token is not None and not settings.allow_hosts:
        return ()
    return (*settings.allow_hosts, host)
