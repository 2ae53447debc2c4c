"""Training on a thinned corpus is training with `min_frequency`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tagline
from tagline.datasets import make_entities
from tagline.models.crf.thinning import thinned

PAIRS = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB00:%x[0,0]\n"  # rare states and rare edges


@pytest.mark.parametrize("template", ["english_ner", PAIRS])
@pytest.mark.parametrize("least", [1, 2, 5])
def test_the_same_bits_as_with_min_frequency(tmp_path: Path, template: str, least: int) -> None:
    corpus = make_entities(80)
    compiled = tagline.compile_corpus([corpus], tmp_path / "all", template)
    thin = thinned(compiled, tmp_path / "thin", least)
    plain = tagline.CRF(template, min_frequency=least, max_iterations=8).fit(corpus)
    ours = tagline.CRF(template, max_iterations=8).fit(thin)
    for mine, theirs in zip(ours.training_log_, plain.training_log_, strict=True):
        assert mine.objective == theirs.objective
    test = make_entities(20, seed=4)
    for mine, theirs in zip(ours.predict_marginals(test), plain.predict_marginals(test), strict=True):
        assert mine == theirs
    if least > 1:
        assert len(thin.features.states.ids) < len(compiled.features.states.ids)
        np.testing.assert_array_equal(thin.features.offsets, compiled.features.offsets)
