"""The HTTP service: models answer other programs, and a page for people. Extra ``web``; the client needs nothing.

    request ──▶ guard ──▶ routes ──▶ batches ──▶ answers ──▶ JSON
                limits,   fields     requests    the model
                token                together

`tagline serve` runs it. `create_app` makes the ASGI application, `Client` calls it with the estimators' method names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagline.serving.app import create_app
    from tagline.serving.client import Client
    from tagline.serving.settings import Settings

__all__ = ["Client", "Settings", "create_app"]

_HOMES = {"Client": "client", "Settings": "settings", "create_app": "app"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'tagline.serving' has no attribute {name!r}")
    return getattr(import_module(f"tagline.serving.{_HOMES[name]}"), name)
