"""How fast and how good is the trigram tagger? Tagline against NLTK's TnT, and the feature CRF, on English XPOS tags.

    python benchmarks/trigram.py            the table
    python benchmarks/trigram.py --quick    a tenth of the data, no bars: does everything work?

Train on ud_en_ewt's training sentences, tag those of the valid file. Everybody gets the same lists of strings and gives
lists of tags back; caches are warm, NLTK's of words too. Before a time is printed, the weights of deleted interpolation
must be NLTK's, our tags of every sentence must be at least as probable as its own (its beam may miss the best), and few
tokens may differ. Taggers take turns in one process; of the samples the median counts. CPU seconds are compared for
one thread, which the bar is for, the wall clock for all threads of Tagline against NLTK's one.

The corpora are looked for in TAGLINE_DATA, else in ../shared/data beside the repository. The exit status is 1 where
sides disagree or a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import timing
from feature_crf import corpora
from feature_crf.tables import Clocks, both, markdown, median, seconds, times, verdict

import tagline
from tagline import CRF, Corpus, TrigramTagger, compiled
from tagline.readers import read_columns

BAR = 100.0  # times NLTK's tagging speed
ROUNDS, QUICK_ROUNDS = 9, 3
SAMPLE_SECONDS = 0.05
XPOS = "1"  # the column
CRF_SETTINGS = {"c1": 0.05, "c2": 0.1}
MOST_DIFFERENT = 0.02  # of the tokens, between us and NLTK
HEAD = ["tagger", "accuracy", "known words", "unknown words", "training", "tagging, 1 thread", "all threads"]


@dataclass(frozen=True)
class Data:
    """Sentences and their tags, to learn from and to tag."""

    train: tuple[list[list[str]], list[list[str]]]
    valid: tuple[list[list[str]], list[list[str]]]

    @property
    def num_tokens(self) -> int:
        """Tokens to tag."""
        return sum(map(len, self.valid[0]))


@dataclass(frozen=True)
class Tagger:
    """A trained tagger: how long that took, and how it tags."""

    name: str
    model: Any
    trained: Clocks
    tag: Callable[[], list[list[str]]]


def read(quick: bool) -> Data:
    """Read the corpus, or a tenth of it."""
    parts = []
    for name in ("train", "valid"):
        corpus = read_columns(corpora.find(f"ud_en_ewt/{name}.txt"))
        corpus = corpus[: len(corpus) // corpora.QUICK_SHARE] if quick else corpus
        parts.append(_columns(corpus))
    return Data(*parts)


def _columns(corpus: Corpus) -> tuple[list[list[str]], list[list[str]]]:
    return corpus.tokens, corpus.sequences(XPOS)


def clocked(call: Callable[[], Any]) -> tuple[Any, Clocks]:
    """Return what a call returns, and its CPU and wall seconds."""
    begin = time.process_time(), time.perf_counter()
    answer = call()
    return answer, (time.process_time() - begin[0], time.perf_counter() - begin[1])


def taggers(data: Data, quick: bool) -> list[Tagger]:
    """Train everybody; ours first."""
    X, y = data.train
    sentences = data.valid[0]
    ours, taken = clocked(lambda: TrigramTagger().fit(X, y))
    out = [Tagger("`TrigramTagger()`", ours, taken, lambda: ours.predict(sentences))]
    for capitals in (True, False):
        theirs, taken = clocked(lambda flag=capitals: _nltk(X, y, flag))
        out.append(Tagger(f"NLTK `TnT(C={capitals})`", theirs, taken, lambda tnt=theirs: tnt.tagdata(sentences)))
    limits = {"max_iterations": 15} if quick else {}
    crf, taken = clocked(lambda: CRF("pos", **CRF_SETTINGS, **limits).fit(X, y))
    return [*out, Tagger('`CRF("pos")`', crf, taken, lambda: crf.predict(sentences))]


def _nltk(X: list[list[str]], y: list[list[str]], capitals: bool) -> Any:
    from nltk.tag.tnt import TnT

    tagger = TnT(C=capitals)
    tagger.train([list(zip(words, tags, strict=True)) for words, tags in zip(X, y, strict=True)])
    return tagger


def tags_of(tagged: list[list[Any]]) -> list[list[str]]:
    """Tags alone: NLTK gives pairs."""
    return [[tag if isinstance(tag, str) else tag[1] for tag in row] for row in tagged]


def disagreement(ours: Tagger, theirs: Tagger, sentences: list[list[str]]) -> str:
    """Say what is wrong between us and NLTK with capitals; nothing where all is well."""
    mine, other = ours.tag(), tags_of(theirs.tag())
    weights = [theirs.model._lambda1, theirs.model._lambda2, theirs.model._lambda3]
    if not np.allclose(ours.model.weights_, weights, atol=1e-3):
        return f"weights: expected NLTK's {weights}, got {ours.model.weights_.tolist()}"
    probable, rival = (ours.model.log_likelihood(sentences, tags) for tags in (mine, other))
    worse = np.flatnonzero(probable < rival - 1e-9)
    if len(worse):
        return f"sentence {worse[0]}: expected the most probable tags, got less probable ones than NLTK's"
    differ = np.mean(
        [a != b for ours, theirs in zip(mine, other, strict=True) for a, b in zip(ours, theirs, strict=True)]
    )
    return "" if differ < MOST_DIFFERENT else f"expected nearly the tags of NLTK, got {differ:.1%} others"


def take_turns(taggers: Sequence[Tagger], rounds: int) -> list[Clocks]:
    """Median CPU and wall seconds of a call of each."""
    samples: list[list[Clocks]] = [[] for _ in taggers]
    for _ in range(rounds):
        for number, tagger in enumerate(taggers):
            timing.settle()
            once = clocked(tagger.tag)[1][1]  # fills the caches again
            calls = max(1, round(SAMPLE_SECONDS / once))
            cpu, wall = clocked(lambda count=calls, tag=tagger.tag: _repeat(tag, count))[1]
            samples[number].append((cpu / calls, wall / calls))
    return [median(taken) for taken in samples]


def _repeat(tag: Callable[[], object], count: int) -> None:
    """Call without the garbage collector, as timeit does: it would look at the models of all taggers."""
    gc.disable()
    for _ in range(count):
        tag()
    gc.enable()


def shares_right(data: Data, tagged: list[list[str]]) -> list[str]:
    """Accuracy on all words, on those that were learned, and on others."""
    seen = {word for sentence in data.train[0] for word in sentence}
    known = np.array([word in seen for sentence in data.valid[0] for word in sentence])
    gold = [tag for tags in data.valid[1] for tag in tags]
    right = np.array([a == b for a, b in zip(gold, (tag for tags in tagged for tag in tags), strict=True)])
    parts = (np.ones(len(right), bool), known, ~known)
    return [f"{100 * right[part].mean():.2f} %" if part.any() else "" for part in parts]


def run(quick: bool = False) -> bool:
    """Train, compare, measure and print; False where sides disagree or a bar is missed."""
    if find_spec("nltk") is None:
        sys.exit("expected NLTK, got no module nltk; install it with: pip install 'tagline[bench]'")
    data = read(quick)
    everybody = taggers(data, quick)
    if problem := disagreement(everybody[0], everybody[1], data.valid[0]):
        print(f"trigram tagger: {problem}; nothing was timed")
        return False
    everything = tagline.threads()
    rounds = QUICK_ROUNDS if quick else ROUNDS
    timing.set_threads(1)
    alone = take_turns(everybody, rounds)
    timing.set_threads(everything)
    together = take_turns(everybody, rounds)
    rows = [
        [
            tagger.name,
            *shares_right(data, tags_of(tagger.tag())),
            both(tagger.trained),
            _speed(data, cpu),
            _speed(data, wall),
        ]
        for tagger, (cpu, _), (_, wall) in zip(everybody, alone, together, strict=True)
    ]
    print(markdown(HEAD, rows))
    ratios = [min(clocks[k][kind] for k in (1, 2)) / clocks[0][kind] for clocks, kind in ((alone, 0), (together, 1))]
    met = None if quick else ratios[0] >= BAR
    print(f"\nTagging speed against the faster TnT: {times(ratios[0])} by CPU seconds of one thread,", end=" ")
    print(f"bar {BAR:.0f}× {verdict(met)}; {times(ratios[1])} by the wall clock with {everything} threads", end=" ")
    print(f"({rounds} samples each)")
    return met is not False


def _speed(data: Data, taken: float) -> str:
    return f"{data.num_tokens / taken / 1e3:,.0f}k tokens/s ({seconds(taken)})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print with what it was measured; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke test: a tenth of the data, no bars")
    quick = parser.parse_args(arguments).quick
    neighbours = timing.Neighbours()
    print(
        f"{timing.machine()}; tagline {tagline.__version__} ({compiled.cpu()}), {timing.versions(['numpy', 'nltk'])}\n"
    )
    good = run(quick)
    print(f"\n{neighbours}.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
