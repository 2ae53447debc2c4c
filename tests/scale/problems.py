"""Small corpora in several files, cut into more lanes than their size would give them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tagline import CRF, readers
from tagline.datasets import make_entities
from tagline.readers.corpus import Corpus

LANE_TOKENS = 600  # of the tests: eight lanes


def write_shards(folder: Path, sentences: int = 600, files: int = 3, ending: str = "txt") -> Corpus:
    """Write generated sentences into several files, and return all of them as one file gives them."""
    corpus = make_entities(sentences, language="en")
    cuts = np.linspace(0, len(corpus), files + 1).astype(int)
    for k, (first, last) in enumerate(zip(cuts, cuts[1:], strict=False)):
        readers.write(corpus[first:last], folder / f"part-{k}.{ending}")
    readers.write(corpus, folder.parent / "whole.txt")
    return readers.read(folder.parent / "whole.txt")


def bits(crf: CRF) -> tuple[bytes, float, tuple[str, ...], int]:
    """Return what must be the same."""
    return crf.parameters_.weights.tobytes(), crf.objective_, tuple(crf.labels_), len(crf.training_log_)
