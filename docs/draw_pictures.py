"""Draw the pictures of docs/pictures.md: `python docs/draw_pictures.py`. A test compares them with the files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tagline import Chain, chain, plots
from tagline.readers.schemes import legal

IMAGES = Path(__file__).parent / "images"
TOKENS = ["Zhang", "Wei", "flew", "to", "New", "York"]
LABELS = ["B-PER", "I-PER", "B-LOC", "I-LOC", "O"]


def sentence() -> Chain:
    """A sentence with scores made by hand, under the rules of IOB2."""
    emissions = 1.7 * np.array(
        [
            [2.0, 0.2, 1.1, 0.0, 0.6],
            [0.9, 1.6, 0.2, 1.2, 0.8],
            [0.0, 0.1, 0.0, 0.1, 3.0],
            [0.0, 0.0, 0.2, 0.0, 3.2],
            [0.7, 0.0, 1.8, 0.1, 1.2],
            [0.6, 0.7, 1.0, 1.5, 0.6],
        ]
    )
    scores = Chain(emissions, np.where(np.eye(5), 0.2, 0.0), start=[0.3, 0.0, 0.3, 0.0, 0.3])
    return chain.constrain(scores, rules=legal(LABELS, "IOB2"))


def weather() -> Chain:
    """Three days of an HMM: the logarithms of its probabilities are the scores of a chain."""
    walks = np.log([[0.1, 0.6], [0.4, 0.3], [0.5, 0.1]])  # P(walk, shop, clean | rainy or sunny)
    return Chain(walks, np.log([[0.7, 0.3], [0.4, 0.6]]), start=np.log([0.6, 0.4]))


def pictures() -> dict[str, str]:
    """Return the SVG of each file."""
    days = {"tokens": ["walk", "shop", "clean"], "labels": ["rainy", "sunny"]}
    return {
        "trellis.svg": plots.trellis(sentence(), tokens=TOKENS, labels=LABELS).svg(),
        "forward.svg": plots.forward_table(weather(), logs=False, **days).svg(),
        "viterbi.svg": plots.viterbi_table(weather(), logs=False, **days).svg(),
    }


if __name__ == "__main__":
    for name, svg in pictures().items():
        (IMAGES / name).write_text(svg, encoding="utf-8")
