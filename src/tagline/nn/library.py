"""The library transformers: loaded where it is needed, and kept off the screen."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tagline.messages import message


def library() -> Any:
    """Return the package, or say how it is installed."""
    try:
        import transformers
    except ImportError as error:
        raise ImportError(
            message(
                "encoders need the package transformers ({}); install it with: pip install 'tagline[transformers]'",
                error,
            )
        ) from None
    return transformers


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep the library's reports and progress bars off the screen; what matters in them is checked."""
    from transformers.utils import logging

    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
