"""A BiLSTM teaches a feature CRF: F1 of the student before and after, with more and more text that has no labels.

    python benchmarks/teaching.py                  about 6 minutes with a GPU, an hour and more without
    python benchmarks/teaching.py --sentences 200  a quick run on the beginning of each file

Teacher and student learn from conll2003/train.txt, as BIOES, and are scored on conll2003/valid.txt; nothing is chosen
by that file. The text without labels is that of conll2000, ud_en_ewt and wnut17. Corpora are those of TAGLINE_DATA, or
of ../shared/data.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from feature_crf.corpora import find

from tagline import CRF, BiLSTMCRF, Chain, Corpus
from tagline.models.crf.teaching import joined_corpus
from tagline.readers import read
from tagline.readers.scheme_conversion import convert

GLOVE = "embeddings/glove.6B.50d.top100k.txt.gz"
NETWORK = {"hidden": 300, "char_size": 100, "word_dropout": 0, "batch_size": 32, "epochs": 15}
TEXTS = ("conll2000/train.txt", "ud_en_ewt/train.txt", "wnut17/train.txt")
SOME = 10_000


class Remembered:
    """A teacher that scores each set of sentences once."""

    def __init__(self, model: BiLSTMCRF) -> None:
        self.model, self.labels_, self.scheme_name = model, model.labels_, model.scheme_name
        self.scored: dict[int, list[Chain]] = {}

    def chains(self, X: Any) -> Iterator[Chain]:
        """Return the chains of sentences, which are told apart by their number."""
        if len(X) not in self.scored:
            self.scored[len(X)] = list(self.model.chains(X))
        return iter(self.scored[len(X)])


def main() -> None:
    """Train the teacher, then students."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, help="of each file")
    parser.add_argument("--epochs", type=int, default=NETWORK["epochs"], help="of the teacher")
    options = parser.parse_args()

    def first(name: str) -> Corpus:
        return read(find(name))[: options.sentences]

    train, valid = (convert(first(f"conll2003/{part}.txt"), "IOB2", "BIOES") for part in ("train", "valid"))
    begun = time.perf_counter()
    network = BiLSTMCRF(find(GLOVE), scheme="BIOES", **{**NETWORK, "epochs": options.epochs}).fit(train)
    show("the teacher, a BiLSTM", network.evaluate(valid).spans.f1, begun)
    teacher, text = Remembered(network), joined_corpus([first(name) for name in TEXTS])
    drawn = np.sort(np.random.default_rng(0).permutation(len(text))[:SOME])
    texts = {"0": None, f"{len(drawn):,}": text.take(drawn.tolist()), f"{len(text):,}": text}
    rows: list[tuple[str, dict[str, Any]]] = [("student, labels alone", {})]
    for weight in (0.5, 1.0):
        for size, more in texts.items():
            how = {"teacher": teacher, "teacher_weight": weight, "unlabelled": more}
            rows.append((f"student, teacher_weight {weight:g}, {size} sentences without labels", how))
    for name, how in rows:
        begun = time.perf_counter()
        student = CRF("english_ner", scheme="BIOES", c2=0.3).fit(train, **how)
        show(name, student.evaluate(valid).spans.f1, begun)


def show(name: str, f1: float, begun: float) -> None:
    """Print a row."""
    print(f"{name:60}  F1 {100 * f1:.2f}  {time.perf_counter() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main()
