"""The commands and their options."""

from __future__ import annotations

from typing import Annotated

import typer

import tagline
from tagline import compiled

app = typer.Typer(
    help="Linear-chain sequence labelling: one exact inference engine for HMMs, feature CRFs and neural CRFs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tagline {tagline.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options before the command."""


@app.command()
def demo() -> None:
    """Decode a worked example: two labels, three tokens, every question that the engine answers."""
    from tagline.cli.demo import show

    show()


@app.command()
def info() -> None:
    """Say which engine answers, on which instruction set and how many threads."""
    from tagline.chain import engine

    variants = ", ".join(compiled.supported_cpus()) or "none"
    typer.echo(f"version  {tagline.__version__}")
    typer.echo(f"engine   {engine()}")
    typer.echo(
        f"cpu      {compiled.cpu() or 'no compiled core'} (this processor runs: {variants}; TAGLINE_CPU chooses)"
    )
    typer.echo(f"threads  {compiled.threads()} (TAGLINE_THREADS chooses)")
