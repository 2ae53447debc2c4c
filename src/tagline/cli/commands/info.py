"""`tagline info`: which engine answers here."""

from __future__ import annotations

from tagline.cli.speech import say


def command() -> None:
    """Say which engine answers, on which instruction set and how many threads."""
    import tagline
    from tagline import compiled
    from tagline.chain import engine

    variants = ", ".join(compiled.supported_cpus()) or "none"
    say(f"version  {tagline.__version__}")
    say(f"engine   {engine()}")
    say(f"cpu      {compiled.cpu() or 'no compiled core'} (this processor runs: {variants}; TAGLINE_CPU chooses)")
    say(f"threads  {compiled.threads()} (TAGLINE_THREADS chooses)")
