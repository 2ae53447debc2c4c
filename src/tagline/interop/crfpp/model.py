"""What a model file of CRF++ holds: labels, template lines, and weights by the number of a feature string.

A feature string that begins with U has L weights from its number on, one a label; one that begins with B has L², that
of (previous, next) at number + previous · L + next. Strings are bytes here, as CRF++ takes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.errors import StorageError
from tagline.messages import message
from tagline.types import Float64Array, FloatArray

VERSION = 100
MOST_LABELS = 30_000  # that the core takes

_DAMAGED = message("the file is damaged; copy it again or train the model anew")


@dataclass(frozen=True, eq=False)
class CRFPPModel:
    """A model file of CRF++.

    Attributes:
        labels: L names, in the order of the file.
        template: its lines, those with U first.
        keys: feature strings, ascending.
        ids: ``[K]``, int32: the number of each.
        weights: ``[maxid]``, float32 from binary files, float64 from text files and after training.
        xsize: how many columns the template looks at.
        cost_factor: as the file states it; CRF++ itself writes 1 and reads it nowhere.
    """

    labels: tuple[bytes, ...]
    template: tuple[bytes, ...]
    keys: tuple[bytes, ...]
    ids: NDArray[np.int32]
    weights: FloatArray
    xsize: int
    cost_factor: float = 1.0

    @cached_property
    def is_edge(self) -> NDArray[np.bool_]:
        """``[K]``: whether a string begins with B. They are the first ones."""
        return np.array([key.startswith(b"B") for key in self.keys], np.bool_)

    def rows(self, ids: NDArray[Any], width: int) -> FloatArray:
        """Return the `width` weights from each number on, ``[n, width]``."""
        windows = np.lib.stride_tricks.sliding_window_view(self.weights, width)
        return np.asarray(windows[ids])


def checked(model: CRFPPModel, source: str) -> CRFPPModel:
    """Return the model, or say what is wrong with it."""
    L = len(model.labels)
    if not 1 <= L <= MOST_LABELS:
        raise bad_model(source, message("1 to {} labels", MOST_LABELS), L)
    if not all(model.labels) or len(set(model.labels)) != L:
        raise bad_model(source, message("each label once and none empty"), message("others"))
    for line in model.template:
        if line[:1] not in (b"U", b"B"):
            raise bad_model(source, message("template lines that begin with U or B"), repr(line)[1:60])
    if not all(key[:1] in (b"U", b"B") for key in model.keys):
        raise bad_model(source, message("feature strings that begin with U or B"), message("others"))
    widths = np.where(model.is_edge, L * L, L)
    ends = model.ids.astype(np.int64) + widths
    if len(ends) and (model.ids.min() < 0 or ends.max() > len(model.weights)):
        raise bad_model(
            source,
            message("features within {} weights", len(model.weights)),
            message("one that ends at {}", ends.max()),
        )
    if not np.isfinite(model.weights).all():
        raise bad_model(source, message("finite weights"), message("others"))
    if not 0 < model.xsize < 2**31 and len(model.template):
        raise bad_model(source, message("a number of columns"), model.xsize)
    return model


def bad_model(source: str, expected: str, got: object) -> StorageError:
    """Make the error for a file that is not as it should be."""
    return StorageError("{}: expected {}, got {}; {}", source, expected, got, _DAMAGED)


def as_float64(weights: FloatArray) -> Float64Array:
    """Return weights in float64."""
    return np.asarray(weights, np.float64)
