"""Thousands of fits and a million predictions in one process, with memory flat.

    python -m tests.fuzz.endurance --fits 2000 --predictions 1000000 --networks 36

Memory is what the kernel says is resident (RSS). It is read after a warm-up (a tenth of the work, and each of the
corpora once) and at the end; what it may grow by in between is `GROWTH`. A leak of 10 bytes a prediction would show as
9 MB, one of 3 kB a fit as 5 MB.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tagline
from tagline.datasets import make_entities

GROWTH = 4_000_000  # bytes
CORPORA = 8


@dataclass(frozen=True)
class Course:
    """Memory after the warm-up and at the end, in bytes."""

    name: str
    times: int
    warm: int
    end: int
    seconds: float

    @property
    def growth(self) -> int:
        return self.end - self.warm

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.times:,} times, {self.warm / 1e6:.1f} MB after the warm-up, "
            f"{self.end / 1e6:.1f} MB at the end, {self.growth / 1e6:+.2f} MB, {self.seconds:.0f} s"
        )


def resident() -> int:
    """Bytes of this process in memory, after what is garbage is gone."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def endure(name: str, work: Callable[[int], object], rounds: int, times_a_round: int = 1) -> Course:
    """Do some work again and again."""
    begin = time.monotonic()
    warm = 0
    for number in range(rounds):
        if number == min(rounds - 1, max(CORPORA, rounds // 10)):
            warm = resident()
        work(number)
    return Course(name, rounds * times_a_round, warm, resident(), time.monotonic() - begin)


def corpora(count: int, sentences: int) -> list[tagline.Corpus]:
    """Corpora that differ from one another, so that nothing can be kept from the last one."""
    return [make_entities(sentences, seed=seed) for seed in range(count)]


def fits(rounds: int) -> list[Course]:
    """Fit each kind that is cheap, on other sentences each time."""
    data = corpora(CORPORA, 12)

    def with_labels(make: Callable[[], tagline.HMM | tagline.TrigramTagger]) -> Callable[[int], object]:
        return lambda number: (
            make().fit(data[number % CORPORA].tokens, data[number % CORPORA].tags).predict(data[0].tokens)
        )

    kinds: dict[str, Callable[[int], object]] = {
        "CRF": lambda number: tagline.CRF("english_ner", max_iterations=5).fit(data[number % CORPORA]).predict(data[0]),
        "CRF, perceptron": lambda number: tagline.CRF("english_ner", algorithm="ap:passes=2").fit(
            data[number % CORPORA]
        ),
        "HMM": with_labels(tagline.HMM),
        "HMM, EM": lambda number: tagline.HMM(2, max_iterations=3, random_state=number).fit(
            data[number % CORPORA].tokens
        ),
        "trigram": with_labels(tagline.TrigramTagger),
    }
    return [endure(f"{name}, fits", work, rounds) for name, work in kinds.items()]


def predictions(count: int) -> list[Course]:
    """Predict with each kind that is cheap: labels, and now and then marginals, k best and likelihoods."""
    learn, data = make_entities(60), corpora(4, 500)
    tokens, tags = learn.tokens, learn.tags
    models = {
        "CRF": tagline.CRF("english_ner", max_iterations=5).fit(learn),
        "HMM": tagline.HMM().fit(tokens, tags),
        "trigram": tagline.TrigramTagger().fit(tokens, tags),
    }

    def ask(model: tagline.CRF) -> Callable[[int], object]:
        def work(number: int) -> None:
            X = data[number % 4].tokens
            model.predict(X)
            if number % 20 == 0:
                model.predict_marginals(X[:50])
                model.predict_k_best(X[:50], 3)
                model.log_likelihood(X[:50], data[number % 4].tags[:50])

        return work

    return [endure(f"{name}, predictions", ask(model), max(10, count // 500), 500) for name, model in models.items()]


def networks(rounds: int) -> list[Course]:
    """Fit small networks."""
    import torch

    torch.set_num_threads(1)
    small = {"word_dim": 8, "char_dim": 4, "char_size": 6, "case_dim": 2, "hidden": 8, "epochs": 2, "device": "cpu"}
    data = corpora(CORPORA, 12)

    def work(number: int) -> None:
        one = data[number % CORPORA]
        tagline.BiLSTMCRF(**small).fit(one.tokens, one.tags).predict(one.tokens)

    return [endure("BiLSTM, fits", work, rounds)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=2_000, help="of each kind")
    parser.add_argument("--predictions", type=int, default=1_000_000, help="sentences, for each kind")
    parser.add_argument("--networks", type=int, default=36)
    options = parser.parse_args()
    wrong = 0
    for courses in (
        fits(options.fits) if options.fits else [],
        predictions(options.predictions) if options.predictions else [],
        networks(options.networks) if options.networks else [],
    ):
        for course in courses:
            wrong += course.growth > GROWTH
            print(course if course.growth <= GROWTH else f"{course}: MORE THAN {GROWTH / 1e6:.0f} MB", flush=True)
    print(f"{wrong} grow by more than {GROWTH / 1e6:.0f} MB")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
