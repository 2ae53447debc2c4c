"""A model file of CRF++ opened by the arguments of crf_test, for the command and for `Tagger`."""

from __future__ import annotations

from pathlib import Path

from tagline.errors import InputError, StorageError
from tagline.interop.crfpp import binary_model
from tagline.interop.crfpp.arguments import Arguments
from tagline.interop.crfpp.scoring import Scoring
from tagline.interop.formats import refuse_others


def open_scoring(given: Arguments) -> Scoring:
    """Read the model that ``-m`` names; ``-c`` scales its scores."""
    path = given.text("model")
    if not path:
        raise InputError("--model: expected a model file, got none; crf_test -m model files")
    data = Path(path).read_bytes()
    try:
        scoring = Scoring(binary_model.read_model(data, path), path)
    except StorageError:
        refuse_others(data, "crfpp", path)
        raise
    scoring.cost_factor = given.positive("cost-factor")
    return scoring
