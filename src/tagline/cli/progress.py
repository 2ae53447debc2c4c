"""Telling on stderr how training goes, as the options ask for it; `tagline.training` has the bars and the lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tagline.training.running.bars import Bar, Lines, on_console
from tagline.training.running.progress import Budget, Silent, duration, pass_line, seconds_left

__all__ = ["Bar", "Lines", "Silent", "duration", "pass_line", "reporting", "seconds_left"]


@contextmanager
def reporting(*, quiet: bool = False, verbose: bool = False) -> Iterator[Silent]:
    """Choose how to tell: not at all, line by line, or on one line that is redrawn, which needs a terminal."""
    reporter = Silent() if quiet else on_console(Budget(), every_pass=verbose, bar=not verbose)
    try:
        yield reporter
    finally:
        reporter.finish()
