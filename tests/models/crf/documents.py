"""Documents in which one sentence tells what another cannot, and models that learned from them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

import tagline
from tagline import CRF, storage
from tagline.models.crf.tagger import CRFTagger

TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]\nU02:%x[0,0:case]\nB\n"


def documents(count: int, seed: int = 0) -> tuple[list[list[str]], list[list[str]], list[int]]:
    """Each has a new name, which a title tells apart in the first sentence and nothing in the second."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for n in range(count):
        person, name = rng.random() < 0.5, f"N{seed}x{n}"
        X += [["visit" if not person else "Mr", name], ["then", name, "won"]]
        y += [["O", "B-PER" if person else "B-LOC"], ["O", "B-PER" if person else "B-LOC", "O"]]
    return X, y, [2] * count


def marked(X: list[list[str]]) -> list[list[str]]:
    """Put a marker line before each document of two sentences."""
    return [sentence for b in range(0, len(X), 2) for sentence in (["-DOCSTART-"], X[b], X[b + 1])]


def loaded_everywhere(crf: CRF, folder: Path) -> CRF:
    """Save, load, map and pickle a model; all answer as it does. Return the one that was loaded."""
    X, _, sizes = documents(20, seed=1)
    crf.save(folder / "one")
    loaded: CRF = tagline.load(folder / "one")
    loaded.save(folder / "two")
    assert (folder / "one").read_bytes() == (folder / "two").read_bytes()
    for other in (loaded, CRFTagger.from_file(storage.read(folder / "one")), pickle.loads(pickle.dumps(crf))):
        assert other.predict(X, documents=sizes) == crf.predict(X, documents=sizes)
        assert other.input_ == crf.input_
    return loaded
