"""How much faster are the names of `tagline.interop` than those whose place they take? One section a library.

pycrfsuite: `Tagger.tag` one sentence at a time and `tag_many`, on CoNLL-2000's test set with 19 attributes a token as
lists of strings, as dicts and as ItemSequence, by one model file of python-crfsuite; and training with ``ap``, ``pa``
and ``arow``. CPU time of one process, medians, in turns. Labels must be equal, and files of online algorithms equal to
the byte, before a time is printed.

    python benchmarks/interop.py [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pycrfsuite as theirs
from feature_crf.corpora import TEST, TRAIN, find
from feature_crf.extraction import as_dicts, items, read_rows
from timing import machine, set_threads, versions

from tagline.interop import pycrfsuite as ours

ONLINE = ("ap", "pa", "arow")


def seconds(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def in_turns(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Medians of CPU seconds, the calls one after the other in each round."""
    taken = [[seconds(call) for call in calls] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


def model_of(library: Any, path: Path, sentences: Sequence[Any], algorithm: str, iterations: int) -> float:
    """Train a model file; return CPU seconds of `train` alone."""
    trainer = library.Trainer(algorithm, {"max_iterations": iterations}, verbose=False)
    for X, y in sentences:
        trainer.append(X, y)
    return seconds(lambda: trainer.train(str(path)))


def one_by_one(tagger: Any, sentences: Sequence[Any]) -> list[list[str]]:
    """Tag sentences as programs do."""
    return [tagger.tag(X) for X in sentences]


def tag(path: Path, rows: Sequence[Any], rounds: int) -> None:
    """Compare `tag` and `tag_many`."""
    taggers = [library.Tagger() for library in (theirs, ours)]
    for tagger in taggers:
        tagger.open(str(path))
    expected, tagger = taggers
    lists = [items(sentence, words_only=False) for sentence in rows]
    tokens = sum(map(len, lists))
    forms = {
        "lists of strings": (lists, lists),
        "dicts": 2 * ([as_dicts(sentence) for sentence in lists],),
        "ItemSequence": tuple([library.ItemSequence(X) for X in lists] for library in (theirs, ours)),
    }
    print(f"{'tokens a second':18} {'python-crfsuite':>16} {'tag':>10} {'tag_many':>10}   ratios")
    for name, (X_theirs, X_ours) in forms.items():
        calls = (
            partial(one_by_one, expected, X_theirs),
            partial(one_by_one, tagger, X_ours),
            partial(tagger.tag_many, X_ours),
        )
        labels, *others = (call() for call in calls)
        if any(labels != other for other in others):
            sys.exit(f"{name}: the labels differ")
        rival, one, many = in_turns(calls, rounds)
        rates = f"{tokens / rival:16,.0f} {tokens / one:10,.0f} {tokens / many:10,.0f}"
        print(f"{name:18} {rates}   {rival / one:.1f}× {rival / many:.1f}×")


def train(folder: Path, sentences: Sequence[Any], iterations: int) -> None:
    """Compare the online algorithms."""
    print(f"{'train, seconds':18} {'python-crfsuite':>16} {'ours':>10}")
    for algorithm in ONLINE:
        taken = [
            model_of(library, folder / f"{algorithm}{number}", sentences, algorithm, iterations)
            for number, library in enumerate((theirs, ours))
        ]
        if (folder / f"{algorithm}0").read_bytes() != (folder / f"{algorithm}1").read_bytes():
            sys.exit(f"{algorithm}: the model files differ")
        print(f"{algorithm:18} {taken[0]:16.2f} {taken[1]:10.2f}   {taken[0] / taken[1]:.1f}×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sentences, fewer rounds")
    quick = parser.parse_args().quick
    set_threads(1)
    share, rounds, iterations = (10, 3, 5) if quick else (1, 7, 10)
    rows = read_rows(find(TRAIN))
    rows, test = rows[: len(rows) // share], read_rows(find(TEST))
    sentences = [(items(sentence, words_only=False), [row[2] for row in sentence]) for sentence in rows]
    print(machine(), versions(["python-crfsuite", "tagline"]), sep="\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model_of(theirs, folder / "model", sentences, "lbfgs", 30)
        tag(folder / "model", test[: len(test) // share], rounds)
        train(folder, sentences, iterations)


if __name__ == "__main__":
    main()
