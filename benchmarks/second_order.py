"""Label triples: parts of speech (XPOS) of ud_en_ewt and ud_zh_udc with a CRF of order 1, of order 2 pruned, and exact.

    python benchmarks/second_order.py [--corpora ud_zh_udc] [--rows 1 pruned exact] [--prune 0.001] [--c2 0.3]
        [--tolerance 0.001] [--held 1]

Each row trains on train.txt with the set `pos` and scores valid.txt once. To choose settings by, --held N scores the
last N tenths of train.txt instead, each by a model of the other nine, and sums up. Every model is trained until it is
proven to be within --tolerance of its optimum; with --tolerance 0, until the rule of a model without settings stops it.
Training and tagging are CPU seconds of one thread; tagging is of the scored sentences, read before, the median of
three. Corpora are those of TAGLINE_DATA, or of ../shared/data.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from feature_crf import corpora
from feature_crf.tables import markdown

import tagline
from tagline import compiled
from tagline.readers.columns import read_columns

CORPORA = ("ud_en_ewt", "ud_zh_udc")
HEAD = ["corpus", "model", "accuracy", "training", "of order 1", "passes", "tagging, tokens/s", "weights"]


Labelled: TypeAlias = tuple[list[list[str]], list[list[str]]]


def splits(corpus: str, held: int) -> Iterator[tuple[Labelled, Labelled]]:
    """Yield (tokens, XPOS) to train on and to score."""
    train = read_columns(corpora.find(f"{corpus}/train.txt"))
    X, y = train.tokens, train.sequences("1")
    if not held:
        valid = read_columns(corpora.find(f"{corpus}/valid.txt"))
        yield (X, y), (valid.tokens, valid.sequences("1"))
    for tenth in range(9, 9 - held, -1):
        first, last = len(X) * tenth // 10, len(X) * (tenth + 1) // 10
        yield (X[:first] + X[last:], y[:first] + y[last:]), (X[first:last], y[first:last])


def clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and its CPU seconds."""
    begin = time.process_time()
    answer = work()
    return answer, time.process_time() - begin


@dataclass
class Row:
    """What a model of some settings reaches, summed over splits."""

    tokens: int = 0
    right: float = 0.0
    training: float = 0.0
    tagging: float = 0.0
    passes: int = 0
    weights: int = 0

    def add(self, settings: dict[str, Any], train: Labelled, test: Labelled) -> None:
        """Train a model and score it."""
        model = tagline.CRF("pos", **settings)
        self.training += clocked(lambda: model.fit(*train))[1]
        self.tagging += statistics.median(clocked(lambda: model.predict(test[0]))[1] for _ in range(3))
        tokens = sum(map(len, test[0]))
        self.tokens += tokens
        self.right += tokens * model.score(*test)
        self.passes += len(model.training_log_)
        self.weights = sum(model.summary().weights.values())
        print("   ", *model.notes_, *([model.pruning(*test)] if model.prune else []), sep="\n    ", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=CORPORA, choices=CORPORA)
    parser.add_argument("--rows", nargs="+", default=["1", "pruned", "exact"], choices=["1", "pruned", "exact"])
    parser.add_argument("--prune", type=float, default=1e-3)
    parser.add_argument("--c2", type=float, default=0.1)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--held", type=int, default=0, choices=range(11))
    options = parser.parse_args()
    compiled.set_threads(1)
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "1": ("order 1", {"order": 1}),
        "pruned": (f"order 2, prune {options.prune:g}", {"order": 2, "prune": options.prune}),
        "exact": ("order 2, exact", {"order": 2}),
    }
    rows = []
    for corpus in options.corpora:
        first = None
        for name, settings in (kinds[row] for row in options.rows):
            row = Row()
            for train, test in splits(corpus, options.held):
                row.add({"c2": options.c2, "tolerance": options.tolerance or None, **settings}, train, test)
            first = first or row.training
            speed = row.tokens / row.tagging
            rows.append(
                [
                    corpus,
                    name,
                    f"{100 * row.right / row.tokens:.2f}",
                    f"{row.training:.0f} s",
                    f"{row.training / first:.1f}×",
                    str(row.passes),
                    f"{speed:,.0f}",
                    f"{row.weights:,}",
                ]
            )
            print(*rows[-1], sep=" | ", flush=True)
    print()
    print(markdown(HEAD, rows))


if __name__ == "__main__":
    main()
