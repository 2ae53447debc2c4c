"""What a service is told when it starts: its limits, its token, where it listens."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from tagline.errors import InputError


@dataclass(frozen=True)
class Settings:
    """Limits of a service; a request beyond them is refused with a problem document that names the limit.

    Attributes:
        token: that requests must bring as ``Authorization: Bearer …``; None for none.
        max_body: bytes of a request, or of a line of a stream.
        max_tokens: of a request.
        max_queue: requests that wait for their turn; beyond it the answer is 429.
        timeout: seconds that an answer may take; that the head and the body of a request may take to come, each line
            of a stream, and an answer to be read.
        drain: seconds that open requests have when the service is told to stop.
        max_batch: tokens that are answered together.
        reload: seconds between two looks at the model files; 0 for none.
        allow_origin: pages of this origin may call the service (CORS); None for none.
        max_explain: tokens of a request whose labels are explained.
        max_connections: that are open at once; beyond it those that have waited longest for a request are closed.
        workers: threads that answer; all but one of them may be busy with large requests.
        allow_hosts: names under which the service may be called; see `tagline.serving.hosts`. ``*`` for any.

    >>> from tagline.serving import Settings
    >>> limits = Settings(token="secret", max_tokens=10_000)
    >>> limits.max_tokens, limits.timeout
    (10000, 30.0)
    """

    token: str | None = None
    max_body: int = 1_000_000
    max_tokens: int = 100_000
    max_queue: int = 1_000
    timeout: float = 30.0
    drain: float = 10.0
    max_batch: int = 16_384
    reload: float = 1.0
    allow_origin: str | None = None
    max_explain: int = 2_000
    max_connections: int = 500
    workers: int = 4
    allow_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("max_body", "max_tokens", "max_queue", "max_batch", "max_explain", "max_connections", "workers"):
            if getattr(self, name) < 1:
                raise InputError("{}: expected 1 or more, got {}", name, getattr(self, name))
        if self.timeout <= 0:
            raise InputError("timeout: expected more than 0 seconds, got {}", self.timeout)
        if self.drain < 0:
            raise InputError("drain: expected 0 or more seconds, got {}", self.drain)
        if self.token is not None and (not self.token or not self.token.isascii() or not self.token.isprintable()):
            raise InputError("token: expected printable ASCII characters, got others or none")


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, token: str | None, insecure: bool) -> None:
    """Refuse to listen where others may call without a token."""
    if token is None and not insecure and not is_loopback(host):
        raise InputError(
            "--host: expected a loopback address such as 127.0.0.1, or a token, got {} without one; give "
            "--token-file FILE, or --insecure where the network itself is guarded",
            host,
        )
