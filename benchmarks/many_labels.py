"""Many labels, few legal pairs: what lists of legal pairs save in the core, against its own way with matrices.

    python benchmarks/many_labels.py [--rounds 5] [--no-atis]

Patterns of legal pairs over the 401 labels of BIOES with 100 types: all that the scheme allows (25 % of the pairs);
with a token outside between entities (0.5 %); the same and four successors for each type (1 %); about as many pairs at
random. Scores are random, in float32. A row is one question to the core, for 512 sentences of 25 tokens, or one
evaluation of the likelihood of a feature CRF with its gradient, on one thread. Both ways take turns, in CPU seconds;
medians. Values are compared first, and no time is printed where they differ. The last column is the memory of one
number for each pair, as every sum of transitions has it. ATIS (120 labels, IOB2) is looked for in TAGLINE_DATA, else in
../shared/data.

For a GPU there is `many_labels_gpu.py`.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from feature_crf import corpora

import tagline
from tagline import Chain, chain, compiled
from tagline.features.attributes import Attributes, Features
from tagline.features.weights import structure_of
from tagline.readers.columns import read_columns
from tagline.readers.rules import Rules, legal
from tagline.training.likelihood import Likelihood, Targets
from tagline.types import BoolArray

TYPES, SENTENCES, TOKENS = 100, 512, 25
ATTRIBUTES, PER_TOKEN = 20_000, 10


def labels_of(types: int) -> list[str]:
    """The tags of BIOES, in the order of their names."""
    return sorted(["O", *(f"{prefix}-T{number:03}" for number in range(types) for prefix in "BIES")])


def patterns() -> dict[str, BoolArray]:
    """Which pairs are legal, by name."""
    names, rng = labels_of(TYPES), np.random.default_rng(0)
    scheme = legal(names, "BIOES").transitions
    opens, closes = (np.array([name[0] in prefixes for name in names]) for prefixes in ("BS", "ES"))
    apart = scheme & ~(closes[:, None] & opens)
    some = apart.copy()
    for label in np.flatnonzero(closes):
        some[label, rng.choice(np.flatnonzero(opens), 4, replace=False)] = True
    drawn = rng.random(scheme.shape) < some.mean()
    drawn[np.arange(len(names)), rng.permutation(len(names))] = True
    return {"BIOES": scheme, "BIOES, entities apart": apart, "BIOES, few follow": some, "at random": drawn}


def in_turns(work: Callable[[], Any], same: Callable[[Any, Any], None], rounds: int) -> list[float]:
    """Compare what lists and matrices answer, then return the median CPU seconds of each."""
    samples: dict[str, list[float]] = {"auto": [], "never": []}
    answers = []
    for turn in range(rounds + 1):
        for when, taken in samples.items():
            compiled.core.use_pair_lists(when)  # type: ignore[union-attr]
            begin = time.process_time()
            answer = work()
            taken.append(time.process_time() - begin)
            answers += [answer] if turn == 0 else []
            del answer
        if turn == 0:
            same(*answers)
            answers.clear()
    compiled.core.use_pair_lists("auto")  # type: ignore[union-attr]
    return [median(taken[1:]) for taken in samples.values()]


def close(**bars: float) -> Callable[[Any, Any], None]:
    """A comparison of parts of answers, each to its bar; bars are absolute, that of log Z relative."""

    def same(lists: Any, matrices: Any) -> None:
        for name, bar in bars.items():
            pair = (lists, matrices) if name == "log_z" else (getattr(lists, name), getattr(matrices, name))
            np.testing.assert_allclose(*pair, rtol=bar if name == "log_z" else 0, atol=0 if name == "log_z" else bar)

    return same


def row(name: str, what: str, times: list[float], tokens: int, density: float, pairs: int, L: int) -> str:
    """One line of the table."""
    lists, matrices = (1e6 * seconds / tokens for seconds in times)
    memory = f"{8 * L * L / 1024:,.0f} → {8 * pairs / 1024:,.0f} KiB" if pairs else "the matrix is kept"
    ratio = f"{lists:.2f} | {matrices:.2f} | {matrices / lists:.1f}×"
    return f"| {name} | {100 * density:.1f} % | {what} | {ratio} | {memory} |"


def chain_rows(name: str, allowed: BoolArray, rounds: int) -> list[str]:
    """Questions about chains whose transitions have this pattern."""
    rng, L, N = np.random.default_rng(1), len(allowed), SENTENCES * TOKENS
    emissions = rng.normal(0, 1, (N, L)).astype(np.float32)
    transitions = np.where(allowed, rng.normal(0, 1, (L, L)), -np.inf).astype(np.float32)
    scores = Chain(emissions, transitions, offsets=np.arange(SENTENCES + 1) * TOKENS)
    gold = chain.viterbi(scores).labels
    works: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], None]]] = {
        "log Z": (lambda: chain.log_partition(scores), close(log_z=2e-6)),
        "loss + gradient": (lambda: chain.gradients(scores, gold), close(transitions=2e-3, emissions=2e-5)),
        "best labelling": (lambda: chain.viterbi(scores), close(labels=0)),
    }
    facts = (N, allowed.mean(), int(allowed.sum()), L)
    return [row(name, what, in_turns(*work, rounds), *facts) for what, work in works.items()]


def training_row(name: str, allowed: BoolArray, rounds: int) -> str:
    """An evaluation of a feature CRF: random attributes, labels drawn along legal pairs, rules in training."""
    rng, L, N = np.random.default_rng(2), len(allowed), SENTENCES * TOKENS
    labels, follow = np.empty(N, np.int32), [np.flatnonzero(line) for line in allowed]
    for n in range(N):
        labels[n] = rng.integers(L) if n % TOKENS == 0 else rng.choice(follow[labels[n - 1]])
    ids = (rng.zipf(1.3, N * PER_TOKEN) % ATTRIBUTES).astype(np.int32)
    states = Attributes(np.arange(N + 1, dtype=np.int64) * PER_TOKEN, ids, None)
    features = Features(np.arange(SENTENCES + 1, dtype=np.int64) * TOKENS, states, None)
    rules = Rules(allowed, np.ones(L, np.bool_), np.ones(L, np.bool_))
    structure = structure_of(features, labels, L, ATTRIBUTES)
    likelihood = Likelihood(structure, features, Targets(labels, None, None), rules)
    weights = rng.normal(0, 0.1, likelihood.size)

    def same(lists: Any, matrices: Any) -> None:
        np.testing.assert_allclose(lists[0], matrices[0], rtol=1e-6)
        np.testing.assert_allclose(lists[1], matrices[1], rtol=0, atol=2e-3)

    times = in_turns(lambda: likelihood(weights), same, rounds)
    return row(name, "feature CRF, evaluation", times, N, allowed.mean(), int(allowed.sum()), L)


def atis_rows(rounds: int) -> list[str]:
    """A feature CRF on ATIS: ten passes of training, features included, and tagging."""
    corpus = read_columns(corpora.find("atis/train.txt"))
    model = tagline.CRF("english_ner", scheme="IOB2", c2=0.1, max_iterations=10)

    def same(lists: Any, matrices: Any) -> None:
        assert lists.predict(corpus) == matrices.predict(corpus)

    training = in_turns(lambda: tagline.CRF(**model.get_params()).fit(corpus), same, max(1, rounds // 3))
    model.fit(corpus)
    tagging = in_turns(lambda: model.predict(corpus), lambda lists, matrices: None, rounds)
    allowed = legal(list(model.labels_), "IOB2").transitions
    facts = (corpus.num_tokens, allowed.mean(), 0, len(allowed))  # two thirds are legal: no lists
    return [row("ATIS, IOB2", "fit, ten passes", training, *facts), row("ATIS, IOB2", "predict", tagging, *facts)]


def on_cpu(rounds: int, atis: bool) -> None:
    """Print the table of the core."""
    print(f"tagline {tagline.__version__} ({compiled.cpu()}), {platform.processor() or platform.machine()}, one thread")
    print("\n| pairs | legal | work | lists, µs a token | matrices | | a number for each pair |")
    print("|---|---|---|---|---|---|---|")
    tagline.set_threads(1)
    for name, allowed in patterns().items():
        for line in (*chain_rows(name, allowed, rounds), training_row(name, allowed, rounds)):
            print(line, flush=True)
    for line in atis_rows(rounds) if atis else ():
        print(line, flush=True)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="samples of each measure (default 5)")
    parser.add_argument("--no-atis", action="store_true", help="leave the corpus out")
    options = parser.parse_args()
    on_cpu(options.rounds, not options.no_atis)
    return 0


if __name__ == "__main__":
    sys.exit(main())
