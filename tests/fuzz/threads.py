"""Many threads at once, and forks while they work: every answer must be the one that a single thread gives.

    python -m tests.fuzz.threads work  --threads 24 --rounds 20 --seed 1     under ThreadSanitizer: make tsan
    python -m tests.fuzz.threads planted                                     a race that ThreadSanitizer must find
    python -m tests.fuzz.threads forks --threads 6 --forks 200 --seed 1

`work`: threads predict, ask for marginals and k best on shared models, and fit, load and parse on their own, while the
core's pool has 8 threads. `forks`: threads predict without pause while the main thread forks; each child predicts, too,
and a child that has not answered after a minute has hung.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import tagline
from tagline import _core
from tagline.datasets import make_entities
from tagline.readers import read_columns, write_columns

HANGS = 60  # seconds
POOL = 8


class Workshop:
    """Models that all threads share, a corpus in memory and in a file, and what a single thread answers."""

    def __init__(self, folder: Path, sentences: int, seed: int) -> None:
        self.corpus = make_entities(sentences, seed=seed)
        self.columns, self.model_file = folder / "corpus.txt", folder / "crf.tagline"
        write_columns(self.corpus, self.columns)
        self.X, self.y = self.corpus.tokens, self.corpus.tags
        self.crf = tagline.CRF("english_ner", max_iterations=5).fit(self.corpus)
        self.hmm = tagline.HMM().fit(self.X, self.y)
        self.trigram = tagline.TrigramTagger().fit(self.X, self.y)
        self.crf.save(self.model_file)
        self.chain = _large_chain(np.random.default_rng(seed))
        few = self.corpus[: max(1, sentences // 20)]  # work that the core does right in the thread that asks
        self.tasks = [*self._tasks(self.corpus), *self._tasks(few)]
        self.answers = [task() for task in self.tasks]

    def _tasks(self, corpus: tagline.Corpus) -> list[Callable[[], Any]]:
        X, y = corpus.tokens, corpus.tags
        return [
            lambda: self.crf.predict(corpus),
            lambda: self.hmm.predict(X),
            lambda: self.trigram.predict(X),
            lambda: tagline.chain.viterbi(self.chain).labels.tobytes(),
            lambda: tagline.chain.marginals(self.chain).nodes.tobytes(),
            lambda: tagline.chain.sample_paths(self.chain, 3, seed=1).tobytes(),
            lambda: self.crf.predict_marginals(X),
            lambda: self.crf.predict_k_best(corpus, 3),
            lambda: self.crf.predict_spans(X),
            lambda: self.hmm.predict_marginals(X),
            lambda: self.trigram.predict_k_best(X, 3),
            lambda: read_columns(self.columns).tokens,
            lambda: tagline.load(self.model_file).predict(corpus),
            lambda: tagline.CRF("english_ner", max_iterations=2).fit(corpus).predict(corpus),
            lambda: tagline.CRF("english_ner", algorithm="ap:passes=2").fit(corpus).predict(corpus),
            lambda: tagline.HMM(3, max_iterations=2, random_state=1).fit(X).log_likelihood(X).tolist(),
            lambda: tagline.TrigramTagger().fit(X, y).predict(X),
        ]

    def wrong(self, number: int) -> str | None:
        """Do a task once more; say what is wrong with the answer."""
        if self.tasks[number]() != self.answers[number]:
            return f"task {number}: another answer than that of a single thread"
        return None


def _large_chain(rng: np.random.Generator) -> tagline.Chain:
    """Scores that the core spreads over its pool: 18 blocks of work."""
    lengths = rng.integers(1, 40, 100)
    N, L = int(lengths.sum()), 30
    return tagline.Chain(rng.normal(size=(N, L)), rng.normal(size=(L, L)), offsets=[0, *np.cumsum(lengths)])


@contextmanager
def pool_of(count: int) -> Iterator[None]:
    """Let the core work on so many threads."""
    before = tagline.threads()
    tagline.set_threads(count)
    try:
        yield
    finally:
        tagline.set_threads(before)


def work(threads: int, rounds: int, seed: int, sentences: int = 400) -> list[str]:
    """Let threads do random tasks at once; return what went wrong."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder, pool_of(POOL):
        shop = Workshop(Path(folder), sentences, seed)
        together = threading.Barrier(threads)

        def run(number: int) -> None:
            rng = np.random.default_rng([seed, number])
            together.wait()
            for _ in range(rounds):
                try:
                    problem = shop.wrong(int(rng.integers(len(shop.tasks))))
                except Exception as error:
                    problem = f"{type(error).__name__}: {error}"
                if problem is not None:
                    problems.append(problem)

        workers = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return problems


def planted() -> list[str]:
    """Let two threads write one array in the core at once, which nobody may do."""
    n = 2_000
    values, one, none = np.ones(n), np.ones(1), np.zeros(0)
    memory, used, out = np.zeros((2, 1, n)), np.zeros(0, np.int64), np.zeros(n)

    def write() -> None:
        for _ in range(200):
            _core.move_point(values, values, one, memory, none, used, none, none, 1.0, 1.0, out)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return []


CHEAP = range(6)  # tasks of a child


def forks(threads: int, count: int, seed: int, sentences: int = 400) -> list[str]:
    """Fork while threads predict, by os.fork and by multiprocessing in turn; return what went wrong."""
    problems: list[str] = []
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder, pool_of(POOL):
        shop = Workshop(Path(folder), sentences, seed)
        over = threading.Event()

        def run(number: int) -> None:
            while not over.is_set():
                if (problem := shop.wrong(CHEAP[number % len(CHEAP)])) is not None:
                    problems.append(f"parent, {problem}")

        workers = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for number in range(count):
            time.sleep(float(rng.random()) * 0.01)
            task = CHEAP[int(rng.integers(len(CHEAP)))]
            status = (_child if number % 2 else _process)(shop, task)
            if status != 0:
                problems.append(f"child {number}, task {task}: " + ("hung" if status is None else f"status {status}"))
        over.set()
        for worker in workers:
            worker.join()
    return problems


def _child(shop: Workshop, task: int) -> int | None:
    """Return the exit status of a child by os.fork that does a task twice; None where it hung."""
    if (child := _quietly(os.fork)) == 0:
        os._exit(_answer_twice(shop, task))
    end = time.monotonic() + HANGS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _process(shop: Workshop, task: int) -> int | None:
    child = multiprocessing.get_context("fork").Process(target=lambda: os._exit(_answer_twice(shop, task)))
    _quietly(child.start)
    child.join(HANGS)
    if child.exitcode is None:
        child.kill()
        child.join()
        return None
    return child.exitcode


def _quietly(fork: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():  # Python 3.12 and later warn of just what is tried here
        warnings.simplefilter("ignore", DeprecationWarning)
        return fork()


def _answer_twice(shop: Workshop, task: int) -> int:
    try:
        return int(any(shop.wrong(task) is not None for _ in range(2)))
    except BaseException:
        return 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["work", "planted", "forks"])
    parser.add_argument("--threads", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=20, help="tasks of each thread")
    parser.add_argument("--forks", type=int, default=200)
    parser.add_argument("--sentences", type=int, default=400, help="of the corpus")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin = time.monotonic()
    if options.what == "work":
        problems = work(options.threads, options.rounds, options.seed, options.sentences)
        done = f"{options.threads} threads × {options.rounds} tasks, a pool of {POOL}"
    elif options.what == "planted":
        problems = planted()
        done = "2 threads that write one array"
    else:
        problems = forks(options.threads, options.forks, options.seed, options.sentences)
        done = f"{options.forks} forks while {options.threads} threads predict, a pool of {POOL}"
    for problem in problems[:20]:
        print(problem)
    print(f"{done}, seed {options.seed}: {len(problems)} problems, {time.monotonic() - begin:.0f} s")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
