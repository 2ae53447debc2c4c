"""CRF++ under its own names: its model files, its commands, and its Python module (``import CRFPP``).

    import tagline.interop.crfpp as CRFPP       # was: import CRFPP

`binary` and `text` are its files, `model` what is in them; `commands` are crf_learn and crf_test; `tagger` has the
classes of its Python module, which are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagline.interop.crfpp.tagger import Model, Tagger

__all__ = ["VERSION", "Model", "Tagger"]

VERSION = "0.59"
"""The version of CRF++ whose behaviour this is."""


def __getattr__(name: str) -> Any:
    if name not in ("Model", "Tagger"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tagline.interop.crfpp import tagger

    return getattr(tagger, name)
