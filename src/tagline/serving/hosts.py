"""The names under which a service may be called.

A page of a stranger can have its own name lead to 127.0.0.1 (DNS rebinding); the browser then lets it read what a
service without a token answers, under that name. So names are refused that nobody gave to the service. An address in
figures is no name, and cannot be led elsewhere.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from functools import lru_cache

ANY = "*"


def host_name(header: bytes) -> str:
    """Return the name in a Host header, without its port.

    >>> host_name(b"Example.org:8000"), host_name(b"[::1]:80")
    ('example.org', '::1')
    """
    text = header.decode("latin-1").strip().lower()
    name = text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]
    return name.removesuffix(".")


class Hosts:
    """Says which Host headers are answered.

    Arguments:
        allowed: names beside localhost, this machine's own and addresses; ``*`` for any.

    >>> hosts = Hosts(["tagline.example.org"])
    >>> [hosts.welcome(host) for host in (b"localhost:8000", b"10.0.0.7", b"tagline.example.org", b"evil.example")]
    [True, True, True, False]
    """

    def __init__(self, allowed: Sequence[str]) -> None:
        self.any = ANY in allowed
        self.names = {"localhost", socket.gethostname().lower(), *(name.lower() for name in allowed)} - {""}
        self.welcome = lru_cache(maxsize=256)(self._welcome)

    def _welcome(self, header: bytes, server: str = "") -> bool:
        """Whether a request for this host is for this service, which was reached at the address `server`."""
        name = host_name(header)
        if self.any or name in self.names or name.endswith(".localhost") or (name and name == server):
            return True
        try:
            ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            return False
        return True
