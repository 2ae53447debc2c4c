"""A model file of CRF++ opened by the arguments of crf_test, for the command and for `Tagger`."""

from __future__ import annotations

from pathlib import Path

from tagline.errors import InputError
from tagline.interop.crfpp import binary
from tagline.interop.crfpp.arguments import Arguments
from tagline.interop.crfpp.scoring import Scoring


def open_scoring(given: Arguments) -> Scoring:
    """Read the model that ``-m`` names; ``-c`` scales its scores."""
    path = given.text("model")
    if not path:
        raise InputError("--model: expected a model file, got none; crf_test -m model files")
    scoring = Scoring(binary.read_model(Path(path).read_bytes(), path), path)
    scoring.cost_factor = given.positive("cost-factor")
    return scoring
