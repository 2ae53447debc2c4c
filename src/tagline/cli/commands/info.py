"""`tagline info`: which engine answers here."""

from __future__ import annotations

import typer


def command() -> None:
    """Say which engine answers, on which instruction set and how many threads."""
    import tagline
    from tagline import compiled
    from tagline.chain import engine

    variants = ", ".join(compiled.supported_cpus()) or "none"
    typer.echo(f"version  {tagline.__version__}")
    typer.echo(f"engine   {engine()}")
    typer.echo(
        f"cpu      {compiled.cpu() or 'no compiled core'} (this processor runs: {variants}; TAGLINE_CPU chooses)"
    )
    typer.echo(f"threads  {compiled.threads()} (TAGLINE_THREADS chooses)")
