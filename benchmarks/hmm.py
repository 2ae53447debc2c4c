"""How fast and how good are the HMMs? Tagline against hmmlearn and NLTK's TnT; Chinese segmentation against the CRF.

    python benchmarks/hmm.py                          everything
    python benchmarks/hmm.py hmmlearn --only gaussian
    python benchmarks/hmm.py hmmlearn --quick         a tenth of the data: does everything work?
    python benchmarks/hmm.py trigram segmentation

hmmlearn: fit, predict and score through both public estimators: the same data, start, priors (none) and number of
iterations, sequences as one array with lengths. Of hmmlearn's implementations, "log" and "scaling", the faster one is
taken for each work. Before a time is printed both sides must agree: equal log-likelihoods to 1e-8 relative after as
many iterations, and states of equal probability. hmmlearn has no threads; ours are measured with one and with all.
Contenders take turns; medians of wall seconds, a call of fit by iteration.

Floor of an iteration of fit on one core: 3·K² multiply-adds a token in float64 (α, β and the expected transitions;
score and predict need 1·K²), at the rate of a float64 matrix product measured in the same run. Not in the floor: the
padding of K to whole vectors (10 states fill 10 of 16 lanes), exp, densities and moments.

segmentation: a BMES HMM counted on the first 90 % of cws_pku and scored on the rest, beside the feature CRF's set
`segmentation` as `benchmarks/crf.py quality --only segmentation` trains it. trigram: see benchmarks/trigram.py.

Tables go to stdout, progress to stderr. The exit status is 1 where sides disagree or a bar is missed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import timing
import trigram
from feature_crf import quality
from feature_crf.bench import say
from feature_crf.tables import markdown, seconds, times, verdict
from instructions import hold_rivals
from numpy.typing import NDArray
from timing import Contender, Plan

import tagline
from tagline import HMM, compiled
from tagline.evaluation import evaluate_segmentation
from tagline.models.hmm.emissions import Categorical, Gaussian

SECTIONS = ("hmmlearn", "trigram", "segmentation")
FAMILIES = ("categorical", "gaussian")
SHAPES = ((200, 500), (10_000, 20))  # sequences × steps
STATES = (10, 50)
SYMBOLS, DIMENSIONS = 100, 5
ITERATIONS = 4
WORKS = ("fit", "predict", "score")
BARS = {"fit": 10, "predict": 3, "score": 5}
AGREEMENT = 1e-8  # relative, of log-likelihoods
MATRIX_SIDE = 512
PLAN, QUICK_PLAN = Plan(rounds=5, sample_seconds=0.05, budget_seconds=12), Plan(3, 0.01, 0.5)
HEAD = [
    "emissions",
    "K",
    "sequences × steps",
    "work",
    "hmmlearn",
    "Tagline, 1 thread",
    "",
    "all threads",
    "",
    "bar",
    "met",
]
PACKAGES = ("numpy", "hmmlearn", "nltk", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Case:
    """Sequences drawn from an HMM, and the parameters that both sides begin with."""

    family: str
    K: int
    X: NDArray[Any]  # [N, 1] or [N, D]
    lengths: list[int]
    start: NDArray[np.float64]
    transitions: NDArray[np.float64]
    emission: tuple[NDArray[np.float64], ...]  # probabilities [K, V]; or means and variances [K, D]

    def __str__(self) -> str:
        return f"{self.family}, {self.K} states, {len(self.lengths):,} × {self.lengths[0]}"


def make_case(family: str, K: int, sequences: int, steps: int) -> Case:
    """Draw data from one model, and another to begin with."""
    truth, begin = (_draw(family, K, np.random.default_rng(seed)) for seed in (K, K + 1))
    X, _ = _ours(family, *truth).sample(sequences * steps, seed=steps)
    return Case(family, K, np.asarray(X).reshape(sequences * steps, -1), [steps] * sequences, *begin)


def _draw(family: str, K: int, rng: np.random.Generator) -> tuple[Any, Any, tuple[Any, ...]]:
    start, transitions = rng.dirichlet(np.ones(K)), rng.dirichlet(np.full(K, 0.5), K)
    if family == "categorical":
        return start, transitions, (rng.dirichlet(np.full(SYMBOLS, 0.5), K),)
    return start, transitions, (rng.normal(0, 3, (K, DIMENSIONS)), rng.uniform(0.5, 2, (K, DIMENSIONS)))


def _ours(family: str, start: Any, transitions: Any, emission: tuple[Any, ...], **settings: Any) -> HMM:
    kind = Categorical(*emission) if family == "categorical" else Gaussian(*emission, min_variance=1e-12)
    return HMM.from_parameters(start, transitions, kind, **settings)


def our_model(case: Case, iterations: int) -> HMM:
    """Our estimator before its fit, or after none."""
    settings = {"warm_start": True, "max_iterations": iterations, "tolerance": -np.inf}
    return _ours(case.family, case.start, case.transitions, case.emission, **settings)


def their_model(case: Case, implementation: str, iterations: int) -> Any:
    """hmmlearn's estimator with the same parameters; its priors are made to be none."""
    from hmmlearn import hmm

    common = {"n_iter": iterations, "tol": -np.inf, "init_params": "", "implementation": implementation}
    if case.family == "categorical":
        model = hmm.CategoricalHMM(case.K, **common)
        model.emissionprob_ = case.emission[0].copy()
    else:
        model = hmm.GaussianHMM(case.K, "diag", covars_prior=0.0, covars_weight=1.0, **common)
        model.means_, model.covars_ = case.emission[0].copy(), case.emission[1].copy()
    model.startprob_, model.transmat_ = case.start.copy(), case.transitions.copy()
    return model


def calls(case: Case, work: str, iterations: int) -> tuple[Callable[[], object], dict[str, Callable[[], object]]]:
    """Our call, and hmmlearn's by implementation."""
    X, lengths = case.X, case.lengths
    if work == "fit":
        return lambda: our_model(case, iterations).fit(X, lengths=lengths), {
            name: lambda name=name: their_model(case, name, iterations).fit(X, lengths) for name in ("scaling", "log")
        }
    ours = our_model(case, 0)
    theirs = {name: their_model(case, name, 0) for name in ("scaling", "log")}
    if work == "predict":
        return lambda: ours.predict(X, lengths), {name: lambda m=m: m.predict(X, lengths) for name, m in theirs.items()}
    return lambda: ours.score(X, lengths=lengths), {name: lambda m=m: m.score(X, lengths) for name, m in theirs.items()}


def disagreement(case: Case) -> str | None:
    """Fit, score and decode with both; say what differs."""
    ours = our_model(case, ITERATIONS).fit(case.X, lengths=case.lengths)
    theirs = their_model(case, "scaling", ITERATIONS).fit(case.X, case.lengths)
    pairs = {
        "log P(O) at the start": (our_model(case, 0).score(case.X, lengths=case.lengths), theirs.monitor_.history[0]),
        "objective before the last step": (ours.objective_, theirs.monitor_.history[-1]),
        "log P(O) after fit": (ours.score(case.X, lengths=case.lengths), theirs.score(case.X, case.lengths)),
        "log P(O, I)": (ours.decode(case.X, case.lengths)[0], theirs.decode(case.X, case.lengths)[0]),
    }
    for what, (ours, theirs) in pairs.items():
        if not abs(ours - theirs) <= AGREEMENT * abs(theirs):
            return f"{what}: {ours!r} (Tagline) against {theirs!r} (hmmlearn)"
    return None


def measure(case: Case, work: str, plan: Plan, quick: bool) -> tuple[list[str], bool]:
    """Time one work: a row, and whether its bar is met."""
    each = ITERATIONS if work == "fit" else 1
    ours, theirs = calls(case, work, each)
    _, single = calls(case, work, 1)
    name = fastest({name: single[name] for name in theirs})
    everything = tagline.threads()
    taken = []
    for threads in (1, everything):
        timing.set_threads(threads)
        contenders = [Contender("hmmlearn", theirs[name]), Contender("Tagline", ours)]
        taken.append([sample.seconds / each for sample in timing.take_turns(contenders, plan)])
    ratios = [rival / own for rival, own in taken]
    met = None if quick else ratios[1] >= BARS[work]
    cells = [
        f"{seconds(taken[0][0])} ({name})",
        *(text for (_, own), ratio in zip(taken, ratios, strict=True) for text in (seconds(own), times(ratio))),
    ]
    N = len(case.X)
    say(f"{case}, {work}: {1e9 * taken[0][0] / N:.0f} ns a token against {1e9 * taken[0][1] / N:.0f}")
    return [work, *cells, f"{BARS[work]}×", verdict(met)], met is not False


def fastest(variants: dict[str, Callable[[], object]]) -> str:
    """Choose the variant whose one call takes the least time."""
    taken = {}
    for name, call in variants.items():
        begin = time.perf_counter()
        call()
        taken[name] = time.perf_counter() - begin
    return min(taken, key=lambda name: taken[name])


def hmmlearn(quick: bool, only: Sequence[str]) -> bool:
    """Print the table against hmmlearn."""
    if find_spec("hmmlearn") is None:
        sys.exit("expected hmmlearn, got no module hmmlearn; install it with: pip install 'tagline[bench]'")
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)  # it warns of every fit that stops before it converged
    rows, good = [], True
    for family in only:
        for K in STATES:
            for sequences, steps in SHAPES:
                case = make_case(family, K, sequences // 10 if quick else sequences, steps)
                if problem := disagreement(case):
                    print(f"{case}: {problem}; nothing was timed")
                    good = False
                    continue
                for work in WORKS:
                    row, met = measure(case, work, QUICK_PLAN if quick else PLAN, quick)
                    rows.append([family, str(K), f"{len(case.lengths):,} × {steps}", *row])
                    good &= met
    print(markdown(HEAD, rows))
    rate = multiply_adds()
    floors = ", ".join(f"{3e9 * K * K / rate:.0f} ns for {K} states" for K in STATES)
    print(f"\nFloor of an iteration of fit, one core at {2 * rate / 1e9:.0f} Gflop/s (float64): {floors} a token.")
    return good


def multiply_adds() -> float:
    """Measure multiply-adds a second of a float64 matrix product on one core."""
    a = np.ones((MATRIX_SIDE, MATRIX_SIDE))
    with timing.blas_threads(1):
        plan = Plan(rounds=5, sample_seconds=0.02)
        return MATRIX_SIDE**3 / timing.take_turns([Contender("product", lambda: a @ a)], plan)[0].seconds


def segmentation(quick: bool) -> bool:
    """Print the scores of Chinese word segmentation."""
    task = quality.TASKS["segmentation"]
    train, test = quality.sentences_of(task, quick)
    if quick:
        train = train[: len(train) // 10]
    known = {word for words in (words_of(row) for row in train) for word in words}
    settings = {**task.settings, **({"max_iterations": quality.QUICK_ITERATIONS} if quick else {})}
    models = {
        "HMM, BMES, add-k": HMM(scheme="BMES-words"),
        "HMM, BMES, Witten–Bell": HMM(scheme="BMES-words", smoothing="witten-bell"),
        f"CRF, set `{task.features}`": tagline.CRF(task.features, **settings),
    }
    rows = []
    for name, model in models.items():
        begin = time.perf_counter()
        model.fit(train)
        taken = time.perf_counter() - begin
        rows.append([name, *scores(model, test, known), seconds(taken)])
    print(f"{len(train):,} sentences to train on, {len(test):,} to score.\n")
    print(markdown(["model", "word F1", "precision", "recall", "recall of unknown words", "trained in"], rows))
    return True


def words_of(sentence: Any) -> list[str]:
    """The words of a tagged sentence."""
    words: list[str] = []
    for character, tag in zip(sentence.tokens, sentence.tags, strict=True):
        if tag in "BS" or not words:
            words.append("")
        words[-1] += character
    return words


def scores(model: Any, test: Any, known: set[str]) -> list[str]:
    """Score words, in percent."""
    scores = evaluate_segmentation(test.tags, model.predict(test), tokens=test.tokens, training_words=known)
    return [f"{100 * share:.2f}" for share in (scores.f1, scores.precision, scores.recall, scores.oov_recall or 0.0)]


def facts(quick: bool) -> str:
    """What the numbers were measured on and with."""
    versions = f"tagline {tagline.__version__} ({compiled.cpu()}), {timing.versions(PACKAGES)}"
    return f"{timing.machine()}; {versions}.{' A quick run: a tenth of the data, no bars.' if quick else ''}"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help=f"{', '.join(SECTIONS)} (default all)")
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="hmmlearn: emissions")
    parser.add_argument("--quick", action="store_true", help="a smoke test: a tenth of the data, no bars")
    options = parser.parse_args(arguments)
    for name in options.what:
        if name not in SECTIONS:
            parser.error(f"expected some of {', '.join(SECTIONS)}, got {name!r}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    options = parse(arguments)
    neighbours, good = timing.Neighbours(), True
    print(facts(options.quick), flush=True)
    works: dict[str, Callable[[], bool]] = {
        "hmmlearn": lambda: hmmlearn(options.quick, options.only),
        "trigram": lambda: trigram.run(options.quick),
        "segmentation": lambda: segmentation(options.quick),
    }
    for name in SECTIONS:
        if name in (options.what or SECTIONS):
            print(f"\n## {name.capitalize() if name != 'hmmlearn' else name}\n", flush=True)
            good &= works[name]()
    print(f"\n{neighbours}.")
    return 0 if good else 1


if __name__ == "__main__":
    hold_rivals()
    sys.exit(main())
