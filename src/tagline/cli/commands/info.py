"""`tagline info`: the first lines of `tagline doctor`."""

from __future__ import annotations

from tagline.cli.speech import say
from tagline.errors import InputError


def command() -> None:
    """Say which engine answers, on which instruction set and how many threads; doctor says more."""
    from tagline.cli.health import examine

    health = examine(gpu=False)
    if health.engine is None or health.threads is None:
        raise InputError(health.problems[0])
    say(health.short(), nl=False)
