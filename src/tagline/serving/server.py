"""Running the service: uvicorn, a log of JSON lines, and an end that lets open requests finish."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from types import FrameType

import uvicorn

from tagline.errors import InputError
from tagline.serving.app import Service
from tagline.serving.guard import Guard, JSONLines
from tagline.serving.settings import Settings
from tagline.serving.shelf import Shelf

COLLECTED = (50_000, 20, 100)  # answers are many small objects that never hang together
LOCK_SECONDS = 0.0005  # after which a thread that computes gives Python's lock to the event loop; else it is 0.005


class Server(uvicorn.Server):
    """A server that says it is not ready as soon as it is told to stop."""

    def __init__(self, config: uvicorn.Config, service: Service, announce: Callable[[str], None] | None) -> None:
        super().__init__(config)
        self.service, self.announce = service, announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where."""
        await super().startup(sockets)
        if self.started and self.announce is not None:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self.announce(f"http://{f'[{host}]' if ':' in host else host}:{port}/")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal: what runs is finished, and the exit code is 0; a second Ctrl-C does not wait."""
        self.service.draining = True
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


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
            f"--port: expected a free address, got {host} and {port}: {reason}; choose another --port or --host"
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
    service = Service(Shelf(models), settings)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    for name in ("tagline.serving", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(log.upper() if name == "tagline.serving" else "WARNING")
    config = uvicorn.Config(
        Guard(service.app, settings, service.metrics),
        host=host,
        port=port,
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(settings.drain)),
        h11_max_incomplete_event_size=65_536,
    )
    server = Server(config, service, announce)
    sys.setswitchinterval(LOCK_SECONDS)
    gc.collect()
    gc.freeze()  # what is loaded stays: looking at it again and again held requests up for 100 ms
    gc.set_threshold(*COLLECTED)
    with listener(host, port) as door:
        server.run(sockets=[door])
    return 0 if server.started else 1
