"""The picture of docs/hmm.md: HMM and CRF on the same sentences, and the CRF that no HMM is equal to.

    python benchmarks/hmm_plot.py docs/images/hmm-crf.png

Left: span F1 on unseen sentences by the number of training sentences, three seeds each. The HMM counts words and tags;
the CRF with the same features (the word, the pair of tags) has the same form and other weights; the CRF with the
ready-made template also looks at neighbours, affixes and shapes. Right: p(y_1 = 0 | x) for the two values of the next
observation x_2 when y_2 is known to be 0; for an HMM, whatever its parameters, they are equal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tagline import CRF, HMM, Corpus
from tagline.datasets import make_entities

SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000)
SEEDS = (0, 1, 2)
WORDS = "U00:%x[0,0]\nU01:\nB\n"
BLUE, ORANGE, GREY = "#1f5fa8", "#c8631b", "#6b6b6b"

# name: how to make it, colour, line, and how many points its name stands above the last value
MODELS: dict[str, tuple[Callable[[], Any], str, str, int]] = {
    "CRF, english_ner": (lambda: CRF("english_ner", scheme="IOB2", c2=0.3, algorithm="auto:delta=1e-4"), BLUE, "-", 0),
    "CRF, words alone": (lambda: CRF(WORDS, scheme="IOB2", c2=0.3, algorithm="auto:delta=1e-4"), BLUE, "--", -9),
    "HMM (Witten–Bell)": (lambda: HMM(smoothing="witten-bell", scheme="IOB2"), ORANGE, "-", 7),
}


def curve(make: Callable[[], Any], test: Corpus) -> np.ndarray:
    """F1 ``[sizes, seeds]``."""
    rows = []
    for size in SIZES:
        corpora = (make_entities(size, seed=seed, language="en") for seed in SEEDS)
        rows.append([make().fit(corpus).evaluate(test).spans.f1 for corpus in corpora])
    return np.array(rows)


def first_labels() -> tuple[list[float], np.ndarray]:
    """p(y_1 = 0 | x, y_2 = 0) for x_2 = 0 and 1: by the score 2·[y_1 = x_2], and by random HMMs ``[n, 2]``."""
    rows = [{"kind": "state", "attribute": f"next={x}", "previous": None, "label": x, "weight": 2.0} for x in "01"]
    X = [[[f"next={x}"], ["last"]] for x in "01"]
    model = CRF().fit(X, [["0", "0"], ["1", "1"]]).with_weights(rows)
    crf = [nodes[0, 0] for nodes in model.marginal_arrays(X, known=[[None, "0"]] * 2)]
    random = np.random.default_rng(0)
    probabilities = []
    for _ in range(12):
        hmm = HMM.from_parameters(random.dirichlet([1, 1]), random.dirichlet([1, 1], 2), random.dirichlet([1, 1], 2))
        probabilities.append([hmm.predict_proba([[0, x2]], known=[[None, 0]])[0, 0] for x2 in (0, 1)])
    return crf, np.array(probabilities)


def draw(path: str) -> None:
    """Train, and write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    test = make_entities(400, seed=9, split="test", language="en")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.8), width_ratios=(3, 2), layout="constrained")
    for name, (make, colour, line, above) in MODELS.items():
        scores = 100 * curve(make, test)
        left.plot(SIZES, scores.mean(axis=1), line, color=colour, marker="o", markersize=3.5)
        left.fill_between(SIZES, scores.min(axis=1), scores.max(axis=1), color=colour, alpha=0.12, linewidth=0)
        place = SIZES[-1], scores[-1].mean()
        left.annotate(name, place, (6, above), textcoords="offset points", va="center", color=colour)
        print(name, scores.mean(axis=1).round(1).tolist())
    left.set_xscale("log")
    left.set_xticks(SIZES, [str(size) for size in SIZES], minor=False)
    left.minorticks_off()
    left.set_xlim(SIZES[0], SIZES[-1] * 7)
    left.set_ylim(0, 100)
    left.set_xlabel("training sentences")
    left.set_title("span F1 on sentences with unseen names", fontsize=10, loc="left")
    crf, hmms = first_labels()
    for n, pair in enumerate(hmms):
        label = None if n else "HMMs, random parameters"
        right.plot([0, 1], pair, color=ORANGE, alpha=0.6, linewidth=1, label=label)
    right.plot([0, 1], crf, color=BLUE, marker="o", label="CRF with the feature [y₁ = x₂]")
    right.set_xticks([0, 1], ["$x_2$ = 0", "$x_2$ = 1"])
    right.set_xlim(-0.3, 1.3)
    right.set_ylim(0, 1)
    right.set_title("p(y₁ = 0 | x, y₂ = 0): a CRF that is no HMM", fontsize=10, loc="left")
    right.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=GREY, alpha=0.15)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "docs/images/hmm-crf.png")
