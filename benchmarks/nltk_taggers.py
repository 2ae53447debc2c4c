"""How fast are NLTK's taggers under Tagline? `tagline.interop.nltk.tag` against `nltk.tag`, on one thread.

    TAGLINE_THREADS=1 python benchmarks/nltk_taggers.py [--train 2000] [--test 300]

Parts of speech of CoNLL-2000, looked for in TAGLINE_DATA, else in ../shared/data beside the repository. Both sides get
the same lists of pairs and give such lists back; each is trained once and tags in turns, warm. CPU seconds; of the
samples the median counts. No time is printed where the tags agree on less than the share below.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import nltk.data
import nltk.tag
import timing
from feature_crf import corpora
from nltk.tag.tnt import TnT

from tagline.interop.nltk import tag as ours
from tagline.readers import read_columns

SAMPLES = 7
AGREEMENT = {"HiddenMarkovModelTagger": 1.0, "TnT": 0.995, "CRFTagger": 0.99}
Sentences = list[list[tuple[str, str]]]
Trainer = Callable[[Sentences], Any]


def read(name: str, count: int) -> Sentences:
    """The words of the first sentences with their parts of speech."""
    corpus = read_columns(corpora.find(name))
    words, tags = corpus.column(corpus.names[0]), corpus.column(corpus.names[1])
    bounds = corpus.offsets[: count + 1].tolist()
    return [list(zip(words[a:b], tags[a:b], strict=True)) for a, b in pairwise(bounds)]


def trainers(module: Any, tnt: Any, folder: Path) -> dict[str, Trainer]:
    """How each tagger learns."""

    def train_tnt(data: Sentences) -> Any:
        tagger = tnt()
        tagger.train(data)
        return tagger

    def train_crf(data: Sentences) -> Any:
        tagger = module.CRFTagger(training_opt={"max_iterations": 50})
        tagger.train(data, str(folder / f"{module.__name__}.crf"))
        return tagger

    return {"HiddenMarkovModelTagger": module.HiddenMarkovModelTagger.train, "TnT": train_tnt, "CRFTagger": train_crf}


def measured(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and its answer."""
    begun = time.process_time()
    answer = call()
    return time.process_time() - begun, answer


def compare(name: str, sides: list[Trainer], training: Sentences, test: Sentences) -> str:
    """One line of the table."""
    sentences = [[word for word, _ in sentence] for sentence in test]
    lessons = [measured(lambda train=train: train(training)) for train in sides]
    answers = [tagger.tag_sents(sentences) for _, tagger in lessons]
    pairs = [pair for one, two in zip(*answers, strict=True) for pair in zip(one, two, strict=True)]
    agreement = sum(one == two for one, two in pairs) / len(pairs)
    if agreement < AGREEMENT[name]:
        sys.exit(f"{name}: {100 * agreement:.2f} % of the tags agree, no times")
    samples = [[measured(lambda t=t: t.tag_sents(sentences))[0] for _, t in lessons] for _ in range(SAMPLES)]
    mine, yours = (statistics.median(side) for side in zip(*samples, strict=True))
    accuracy = [100 * tagger.accuracy(test) for _, tagger in lessons]
    return (
        f"{name:<24} train {lessons[0][0]:.2f} s against {lessons[1][0]:.2f} ({lessons[1][0] / lessons[0][0]:.1f}×), "
        f"tag {len(pairs) / mine:,.0f} tokens/s against {len(pairs) / yours:,.0f} ({yours / mine:.1f}×), "
        f"accuracy {accuracy[0]:.2f} and {accuracy[1]:.2f} %, {100 * agreement:.2f} % agree"
    )


def main() -> None:
    """Train, compare, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--test", type=int, default=300)
    options = parser.parse_args()
    training, test = read(corpora.TRAIN, options.train), read(corpora.TEST, options.test)
    print(f"{timing.machine()}; {timing.versions(['nltk', 'python-crfsuite'])}; one thread")
    with tempfile.TemporaryDirectory(dir=Path.home()) as name:  # NLTK refuses folders that others may write to
        nltk.data.path.append(name)
        mine, yours = trainers(ours, ours.TnT, Path(name)), trainers(nltk.tag, TnT, Path(name))
        for tagger in mine:
            print(compare(tagger, [mine[tagger], yours[tagger]], training, test), flush=True)


if __name__ == "__main__":
    main()
