"""What does one changed import give? `tagline.interop.sklearn_crfsuite` against sklearn-crfsuite on CoNLL-2000.

    python benchmarks/sklearn_crfsuite_swap.py                2,000 sentences to learn from, all of the test set to tag
    python benchmarks/sklearn_crfsuite_swap.py --train 8936   all of them

Both sides get the same lists of dicts, 19 attributes a token, and their defaults (lbfgs, c2 = 1); they take turns in
one process with one thread, and CPU seconds count. No time is printed unless both reach one objective (to 1e-4) and
agree on 99.9 % of the labels. The corpus is looked for in TAGLINE_DATA, else in ../shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TAGLINE_THREADS", "1")

import sklearn_crfsuite as theirs

from tagline.interop import sklearn_crfsuite as ours
from tagline.readers import read_columns

DATA = Path(os.environ.get("TAGLINE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def items(words: list[str], tags: list[str]) -> list[dict[str, float]]:
    """The attributes of CRF++'s example for chunking, as dicts."""

    def at(column: list[str], t: int) -> str:
        return column[t] if 0 <= t < len(column) else "_"

    rows = []
    for t in range(len(words)):
        names = [f"w[{d}]={at(words, t + d)}" for d in range(-2, 3)]
        names += [f"w[{d}]={at(words, t + d)}|{at(words, t + d + 1)}" for d in (-1, 0)]
        names += [f"p[{d}]={at(tags, t + d)}" for d in range(-2, 3)]
        names += [f"p[{d}]={at(tags, t + d)}|{at(tags, t + d + 1)}" for d in range(-2, 2)]
        names += [f"p[{d}]={at(tags, t + d)}|{at(tags, t + d + 1)}|{at(tags, t + d + 2)}" for d in range(-2, 1)]
        rows.append(dict.fromkeys(names, 1.0))
    return rows


def read(name: str, most: int | None = None) -> tuple[list[Any], list[list[str]]]:
    """Return sentences as lists of dicts, and their labels."""
    corpus = read_columns(DATA / "conll2000" / name)
    words, tags, labels = (corpus.sequences(column)[:most] for column in corpus.names)
    return [items(*row) for row in zip(words, tags, strict=True)], labels


def seconds(call: Callable[[], Any]) -> float:
    """CPU seconds of a call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def main() -> int:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=int, default=2000, help="sentences to learn from")
    chosen = parser.parse_args()
    X, y = read("train.txt", chosen.train)
    more, _ = read("test.txt")
    tokens = sum(map(len, more))
    sides = {"sklearn-crfsuite": theirs.CRF(), "tagline.interop.sklearn_crfsuite": ours.CRF()}
    fits = {name: seconds(lambda crf=crf: crf.fit(X, y)) for name, crf in sides.items()}  # type: ignore[misc]
    losses = [crf.training_log_.last_iteration["loss"] for crf in sides.values()]
    labels = [crf.predict(more) for crf in sides.values()]
    same = sum(a == b for row, other in zip(*labels, strict=True) for a, b in zip(row, other, strict=True)) / tokens
    if abs(losses[0] - losses[1]) > 1e-4 * losses[0] or same < 0.999:
        print(f"the sides disagree: objectives {losses}, {same:.2%} of labels the same", file=sys.stderr)
        return 1
    print(f"objectives {losses[0]:.2f} and {losses[1]:.2f}; {same:.3%} of {tokens:,} labels the same\n")
    print("| | fit, s | predict, tokens/s | predict_marginals, tokens/s |\n|---|---|---|---|")
    rates: dict[str, list[float]] = {}
    for method, rounds in (("predict", 5), ("predict_marginals", 3)):
        samples: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, crf in sides.items():
                samples[name].append(seconds(lambda crf=crf, method=method: getattr(crf, method)(more)))  # type: ignore[misc]
        for name, values in samples.items():
            rates.setdefault(name, []).append(tokens / statistics.median(values))
    for name, (plain, marginal) in rates.items():
        print(f"| {name} | {fits[name]:.1f} | {plain:,.0f} | {marginal:,.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
