"""Label triples: parts of speech (XPOS) of ud_en_ewt and ud_zh_udc with a CRF of order 1, of order 2 pruned, and exact.

    python benchmarks/second_order.py [--corpora ud_zh_udc] [--rows 1 pruned exact] [--prune 0.001] [--c2 0.3]
        [--tolerance 0.001] [--held]

Each row trains on train.txt with the set `pos` and scores valid.txt once; --held trains on all but the last tenth of
train.txt and scores that, to choose settings by. Every model is trained until it is proven to be within --tolerance of
its optimum. Training and tagging are CPU seconds of one thread; tagging is of the
scored sentences, read before, the median of three. Corpora are those of TAGLINE_DATA, or of ../shared/data.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from feature_crf import corpora
from feature_crf.tables import markdown

import tagline
from tagline import compiled
from tagline.readers.columns import read_columns

CORPORA = ("ud_en_ewt", "ud_zh_udc")
HEAD = ["corpus", "model", "accuracy", "training", "of order 1", "passes", "tagging, tokens/s", "weights"]


def sentences(corpus: str, held: bool) -> list[tuple[list[list[str]], list[list[str]]]]:
    """Return (tokens, XPOS) to train on and to score."""
    files = ["train"] if held else ["train", "valid"]
    read = [read_columns(corpora.find(f"{corpus}/{name}.txt")) for name in files]
    parts = list(read[0].split(0.9)) if held else read
    return [(part.tokens, part.sequences("1")) for part in parts]


def clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and its CPU seconds."""
    begin = time.process_time()
    answer = work()
    return answer, time.process_time() - begin


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=CORPORA, choices=CORPORA)
    parser.add_argument("--rows", nargs="+", default=["1", "pruned", "exact"], choices=["1", "pruned", "exact"])
    parser.add_argument("--prune", type=float, default=1e-3)
    parser.add_argument("--c2", type=float, default=0.3)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--held", action="store_true")
    options = parser.parse_args()
    compiled.set_threads(1)
    settings = {
        "1": {"order": 1},
        "pruned": {"order": 2, "prune": options.prune},
        "exact": {"order": 2},
    }
    rows = []
    for corpus in options.corpora:
        (X, y), (X_test, y_test) = sentences(corpus, options.held)
        tokens, first = sum(map(len, X_test)), None
        for row in options.rows:
            model = tagline.CRF("pos", c2=options.c2, tolerance=options.tolerance, **settings[row])
            _, training = clocked(lambda model=model, X=X, y=y: model.fit(X, y))
            first = training if first is None else first
            tagging = statistics.median(clocked(lambda m=model, X=X_test: m.predict(X))[1] for _ in range(3))
            name = (
                "order 1"
                if row == "1"
                else f"order 2, {'prune ' + format(options.prune, 'g') if row == 'pruned' else row}"
            )
            weights = model.summary().weights
            rows.append(
                [
                    corpus,
                    name,
                    f"{100 * model.score(X_test, y_test):.2f}",
                    f"{training:.0f} s",
                    f"{training / first:.1f}×",
                    str(len(model.training_log_)),
                    f"{tokens / tagging:,.0f}",
                    f"{sum(weights.values()):,}",
                ]
            )
            print(*rows[-1], *model.notes_, sep=" | ", flush=True)
            if row == "pruned":
                print("   ", model.pruning(X_test, y_test), flush=True)
    print()
    print(markdown(HEAD, rows))


if __name__ == "__main__":
    main()
