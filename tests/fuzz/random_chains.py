"""Random sentences through every backend that runs on a CPU, against the enumeration of all labellings.

    python -m tests.fuzz.random_chains --sentences 1000000 --seed 1 --jobs 2

A batch is a chain with random scores: integers (with ties), reals, wide, tiny, mixed and huge magnitudes, all zero; in
float64 or float32; some scores forbidden, sometimes all labellings of a sentence; constraints by `chain.constrain`;
transitions shared or one matrix a token; with start and end or without. The oracle `AllScores` builds the scores of the
L^T labellings of all sentences of one length at once, from the scores before any constraint. It shares no code with
the engine. How close an engine must come is what the tests of the chain hold it to (`tests/chain/cases.py`).
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import chain as chains
from tagline import compiled
from tagline.errors import NoPathError
from tagline.types import Chain
from tests.chain.cases import (
    DRAWS,
    EXACT,
    assert_close,
    log_z_tolerance,
    longest,
    path_gap,
    probability_tolerance,
    rounding,
)

Array = NDArray[Any]

KINDS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    **DRAWS,
    "tiny": lambda rng, shape: rng.normal(0, 1, shape) * 1e-30,
    "mixed": lambda rng, shape: rng.normal(0, 1, shape) * 10.0 ** rng.integers(-12, 4, shape),
}
BATCH = 400  # sentences
K = 4


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentences of one chain: the scores as they were drawn, what is allowed, and both as the engine gets them."""

    raw: Chain
    allowed: Array  # [N, L]
    pairs: Array  # [L, L]
    chain: Chain
    kind: str

    @property
    def exact(self) -> bool:
        """Whether sums of scores are free of rounding, so that ties are ties."""
        return self.kind in EXACT


def draw_batch(rng: np.random.Generator, size: int = BATCH) -> Batch:
    """Draw a batch of up to 5 labels and sentences of up to 6 tokens."""
    L = int(rng.integers(1, 6))
    lengths = rng.integers(0 if rng.random() < 0.2 else 1, 7, size)
    offsets = np.array([0, *np.cumsum(lengths)])
    N = int(offsets[-1])
    kind = str(rng.choice(list(KINDS)))
    dtype = str(rng.choice(["float64", "float32"]))
    share = float(rng.choice([0.0, 0.0, 0.1, 0.3]))  # of scores that are forbidden
    shapes = {
        "emissions": (N, L),
        "transitions": (N, L, L) if rng.random() < 0.4 else (L, L),
        "start": (L,),
        "end": (L,),
    }
    if rng.random() < 0.2:
        del shapes["start"], shapes["end"]
    scores: dict[str, Array] = {}
    for name, shape in shapes.items():
        free = np.asarray(KINDS[kind](rng, shape), dtype)
        scores[name] = np.where(rng.random(shape) < share * (0.4 if len(shape) == 1 else 1), -np.inf, free).astype(
            dtype
        )
    raw = Chain(**scores, offsets=offsets)
    allowed, pairs = np.ones((N, L), np.bool_), np.ones((L, L), np.bool_)
    constrained = raw
    if rng.random() < 0.3:
        allowed, pairs = rng.random((N, L)) > 0.2, rng.random((L, L)) > 0.2
        constrained = chains.constrain(raw, allowed=allowed, transitions=pairs)
    return Batch(raw, allowed, pairs, constrained, kind)


@dataclass(frozen=True, eq=False)
class AllScores:
    """All labellings of the sentences `which` of a batch, all of one length T: their scores ``[M, L, …, L]``."""

    batch: Batch
    which: Array  # [M]
    T: int

    @cached_property
    def rows(self) -> Array:
        """The tokens ``[M, T]``."""
        return self.batch.raw.offsets[self.which][:, None] + np.arange(self.T)

    @cached_property
    def scores(self) -> Array:
        """Add up the scores along every labelling; −∞ where a score or a constraint forbids it."""
        raw, L, M = self.batch.raw, self.batch.raw.num_labels, len(self.which)
        total = np.zeros(M)
        for t in range(self.T):
            emission = np.where(self.batch.allowed[self.rows[:, t]], raw.emissions[self.rows[:, t]], -np.inf)
            step = emission.astype(np.float64)[:, None, :]  # [M, 1, L]
            if t == 0:
                total = raw.start.astype(np.float64) + step[:, 0]
                continue
            into = raw.transitions[self.rows[:, t]] if raw.per_position else raw.transitions[None]
            into = np.where(self.batch.pairs, into.astype(np.float64), -np.inf)  # [M or 1, L, L]
            ways = into.reshape(len(into), *(1,) * (t - 1), L, L)
            total = total[..., None] + ways + step.reshape(M, *(1,) * t, L)
        return total + raw.end.astype(np.float64) if self.T else total

    @cached_property
    def flat(self) -> Array:
        """The scores ``[M, L^T]``, in the order of labellings read from the last label to the first."""
        backwards = (0, *range(self.T, 0, -1))
        return np.ascontiguousarray(self.scores.transpose(backwards)).reshape(len(self.which), -1)

    def place(self, labels: Array) -> Array:
        """Where labellings ``[…, T]`` stand in `flat`."""
        return labels @ self.batch.raw.num_labels ** np.arange(self.T)

    @cached_property
    def top(self) -> Array:
        return self.flat.max(1)

    @cached_property
    def weights(self) -> tuple[Array, Array]:
        """exp(score − top) ``[M, L, …, L]``, and its sum ``[M]``. Sums are taken in extended precision."""
        top = np.where(np.isneginf(self.top), 0.0, self.top)
        weights = np.exp(self.scores - top.reshape(-1, *(1,) * self.T))
        return weights, weights.reshape(len(top), -1).sum(1, dtype=np.longdouble)

    @cached_property
    def log_z(self) -> Array:
        with np.errstate(divide="ignore"):
            return (self.top + np.log(self.weights[1])).astype(np.float64)

    @cached_property
    def p(self) -> Array:
        """Probabilities ``[M, L, …, L]``; 0 where there is no labelling at all."""
        weights, total = self.weights
        return weights / np.where(total > 0, total, 1).astype(np.float64).reshape(-1, *(1,) * self.T)

    def over(self, *kept: int) -> Array:
        """Sum the probabilities over all tokens but those that are kept."""
        gone = tuple(t + 1 for t in range(self.T) if t not in kept)
        return self.p.sum(gone, dtype=np.longdouble).astype(np.float64) if gone else self.p

    @cached_property
    def suffixes(self) -> list[Array]:
        """For each token t the probabilities ``[M, L, …]`` of its label and those after it."""
        tables = [self.p.astype(np.longdouble)]
        for _ in range(1, self.T):
            tables.append(tables[-1].sum(1))
        return [table.astype(np.float64) for table in tables]

    @cached_property
    def nodes(self) -> Array:
        """``[M, T, L]``."""
        return np.stack([self.over(t) for t in range(self.T)], 1)

    @cached_property
    def edges(self) -> Array:
        """``[M, T, L, L]``, 0 at first tokens."""
        L = self.batch.raw.num_labels
        return np.stack([np.zeros((len(self.which), L, L)), *(self.over(t - 1, t) for t in range(1, self.T))], 1)

    @cached_property
    def entropy(self) -> Array:
        terms = -self.p * np.log(np.where(self.p > 0, self.p, 1.0))
        return terms.reshape(len(self.which), -1).sum(1, dtype=np.longdouble).astype(np.float64)

    @cached_property
    def best(self) -> Array:
        """Scores of the k best ``[M, ≤ K]``."""
        count = min(K, self.flat.shape[1])
        return -np.sort(np.partition(-self.flat, count - 1, axis=1)[:, :count], axis=1)

    @cached_property
    def ranking(self) -> Array:
        """Places in `flat` of the k best, of equals the first."""
        return np.argsort(-self.flat, axis=1, kind="stable")[:, :K]


def groups(batch: Batch) -> list[AllScores]:
    """The sentences by length; long ones are enumerated a part at a time."""
    found = []
    for T in np.unique(batch.raw.lengths):
        which = np.flatnonzero(batch.raw.lengths == T)
        parts = max(1, len(which) * batch.raw.num_labels ** int(T) // 500_000)
        found += [AllScores(batch, part, int(T)) for part in np.array_split(which, parts) if len(part)]
    return found


def only_legal(batch: Batch, legal: Array) -> Batch:
    """The sentences of a batch that have a labelling."""
    tokens = np.repeat(legal, batch.raw.lengths)
    offsets = np.array([0, *np.cumsum(batch.raw.lengths[legal])])

    def cut(chain: Chain) -> Chain:
        transitions = chain.transitions[tokens] if chain.per_position else chain.transitions
        return Chain(chain.emissions[tokens], transitions, chain.start, chain.end, offsets)

    return Batch(cut(batch.raw), batch.allowed[tokens], batch.pairs, cut(batch.chain), batch.kind)


@dataclass(frozen=True, eq=False)
class Questions:
    """What every engine is asked about a batch of sentences that have labellings, and the oracle's answers."""

    batch: Batch
    parts: list[AllScores]
    uniforms: Array  # [1, N]
    spans: list[Any]
    span_probability: Array

    @classmethod
    def draw(cls, batch: Batch, parts: list[AllScores], rng: np.random.Generator) -> Questions:
        L = batch.raw.num_labels
        spans: list[Any] = []
        expected: list[Array] = []
        for part in parts:
            if not part.T:
                continue
            first = int(rng.integers(part.T))
            sets = rng.random((int(rng.integers(1, part.T - first + 1)), L)) < 0.6
            sets[np.arange(len(sets)), rng.integers(0, L, len(sets))] = True
            inside = part.over(*range(first, first + len(sets)))
            for allowed in sets:
                inside = inside[:, allowed].sum(1)
            spans += [(int(b), first, [set(np.flatnonzero(row).tolist()) for row in sets]) for b in part.which]
            expected.append(inside)
        return cls(batch, parts, rng.random((1, batch.raw.num_tokens)), spans, np.concatenate([np.zeros(0), *expected]))

    def by_sentence(self, values: Callable[[AllScores], Array]) -> Array:
        """One number a sentence."""
        out = np.zeros(len(self.batch.raw.lengths))
        for part in self.parts:
            out[part.which] = values(part)
        return out

    def by_token(self, values: Callable[[AllScores], Array], *trailing: int) -> Array:
        """One row a token."""
        out = np.zeros((self.batch.raw.num_tokens, *trailing))
        for part in self.parts:
            if part.T:
                out[part.rows] = values(part)
        return out

    @cached_property
    def log_z(self) -> Array:
        return self.by_sentence(lambda part: part.log_z)

    @cached_property
    def nodes(self) -> Array:
        return self.by_token(lambda part: part.nodes, self.batch.raw.num_labels)

    @cached_property
    def edges(self) -> Array:
        L = self.batch.raw.num_labels
        return self.by_token(lambda part: part.edges, L, L)

    @cached_property
    def entropy(self) -> Array:
        return self.by_sentence(lambda part: part.entropy)


def check_engine(engine: ModuleType, questions: Questions) -> None:
    """Ask an engine on arrays everything; raises where an answer is wrong."""
    chain = questions.batch.chain
    z_bar, p_bar, sums = (
        log_z_tolerance(engine, chain, questions.log_z),
        probability_tolerance(engine, chain),
        rounding(chain),
    )
    assert_close(engine.log_partition(chain), questions.log_z, z_bar, "log Z")
    posterior = engine.marginals(chain, edges=True)
    assert_close(posterior.nodes, questions.nodes, p_bar, "marginals")
    assert_close(posterior.edges, questions.edges, p_bar, "pairs")
    assert_close(engine.entropy(chain), questions.entropy, 8 * max(1, longest(chain)) * sums, "entropy")
    assert_close(engine.span_probability(chain, questions.spans), questions.span_probability, 2 * sums, "spans")
    best = engine.viterbi(chain)
    check_paths(questions, best.labels, best.scores, path_gap(engine, chain))
    assert_close(engine.score(chain, best.labels), best.scores, sums, "score")
    check_ranked(questions, engine.k_best(chain, K), sums)
    check_samples(questions, engine.sample(chain, questions.uniforms)[0], sums)


def check_paths(questions: Questions, labels: Array, scores: Array, gap: float) -> None:
    """The best labelling: its score, and where sums are exact the labelling itself."""
    sums = rounding(questions.batch.chain)
    for part in questions.parts:
        places = part.place(labels[part.rows])
        own = part.flat[np.arange(len(places)), places]
        assert (own >= part.top - gap).all(), "viterbi: a better labelling exists"
        assert_close(scores[part.which], own, sums, "viterbi's score")
        if questions.batch.exact:
            assert (places == part.flat.argmax(1)).all(), "viterbi: not the smallest of equals from its end"


def check_ranked(questions: Questions, ranked: Any, sums: float) -> None:
    """The k best: scores, probabilities, distinct; where sums are exact the labellings themselves."""
    for part in questions.parts:
        count = part.best.shape[1]
        places = np.full((len(part.which), count), -1)
        scores, probabilities = np.full(places.shape, -np.inf), np.zeros(places.shape)
        for m, b in enumerate(part.which):
            answer = ranked[b]
            found = len(answer.scores)
            places[m, :found] = part.place(answer.labels)
            scores[m, :found], probabilities[m, :found] = answer.scores, answer.probabilities
        legal = part.best > -np.inf
        assert ((places >= 0) == legal).all(), "k best: another number"
        ordered = np.sort(places, 1)
        assert not ((np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)).any(), "k best: one of them twice"
        own = np.where(legal, np.take_along_axis(part.flat, np.maximum(places, 0), 1), -np.inf)
        assert_close(-np.sort(-own, 1), part.best, sums, "k best")
        assert_close(scores, own, sums, "scores of the k best")
        assert_close(probabilities, np.exp(scores - part.log_z[:, None]), sums, "their probabilities")
        if questions.batch.exact and part.flat.shape[1] <= 1024:
            assert (places == np.where(legal, part.ranking, -1)).all(), "k best: another order of equals"


def check_samples(questions: Questions, labels: Array, sums: float) -> None:
    """Each label, from the last, is where its number falls in the distribution given those after it; it is possible."""
    bar = 100 * sums
    for part in questions.parts:
        y, u = labels[part.rows], questions.uniforms[0][part.rows]
        places = part.place(y)
        assert (part.flat[np.arange(len(y)), places] > -np.inf).all(), "a sample that is forbidden"
        for t in range(part.T):
            weights = part.suffixes[t][(np.arange(len(y)), slice(None), *(y[:, s] for s in range(t + 1, part.T)))]
            total = weights.sum(1)
            sure = total > 1e-9  # below it the oracle's own rounding decides
            ends = np.cumsum(weights, 1)[np.arange(len(y)), y[:, t]]
            number = u[:, t] * total
            slack = bar * total
            fine = (number <= ends + slack) & (number >= ends - weights[np.arange(len(y)), y[:, t]] - slack)
            assert (fine | ~sure).all(), "a sample that does not invert its distribution"


def check_tensors(name: str, questions: Questions, rng: np.random.Generator) -> None:
    """Ask an engine on tensors everything, with gradients under random weights of sentences."""
    import torch

    from tagline.chain import tensors

    chain, parts = questions.batch.chain, questions.parts
    stands_for = import_module("tagline.chain.native")  # held to its tolerances
    p_bar, sums = probability_tolerance(stands_for, chain), rounding(chain)
    z_bar = log_z_tolerance(stands_for, chain, questions.log_z)
    c = as_tensors(chain)
    with tensors.using_tensor_engine(name):
        log_z = tensors.log_partition(c)
        assert_close(log_z.detach().numpy(), questions.log_z, z_bar, "log Z")
        weights = rng.random(len(chain.lengths))
        slopes = torch.autograd.grad(log_z, c.scores, torch.from_numpy(weights), allow_unused=True)
        check_slopes(questions, [None if part is None else part.numpy() for part in slopes], weights, p_bar)
        with torch.no_grad():
            assert_close(tensors.marginals(c).numpy(), questions.nodes, p_bar, "marginals")
            labels, scores = (part.numpy() for part in tensors.viterbi(c))
            check_paths(questions, labels, scores, path_gap(stands_for, chain))
            assert_close(tensors.entropy(c).numpy(), questions.entropy, 8 * max(1, longest(chain)) * sums, "entropy")
            spans = tensors.span_probability(c, questions.spans).numpy()
            assert_close(spans, questions.span_probability, 2 * sums, "spans")
            ranked_labels, ranked_scores = (part.numpy() for part in tensors.k_best(c, K))
            for part in parts:
                count = part.best.shape[1]
                assert_close(ranked_scores[:count, part.which].T, part.best, sums, "k best")
                places = part.place(ranked_labels[:count][:, part.rows])  # [K, M]
                own = part.flat[np.arange(len(part.which)), places]
                legal = ~np.isneginf(part.best.T)
                assert_close(np.where(legal, own, -np.inf), part.best.T, sums, "labellings of the k best")
            check_samples(questions, tensors.sample(c, torch.from_numpy(questions.uniforms))[0].numpy(), sums)


def as_tensors(chain: Chain) -> Any:
    import torch

    from tagline.chain.tensors import TensorChain

    arrays = (chain.emissions, chain.transitions, chain.start, chain.end)
    emissions, *others = (torch.tensor(np.array(part)).requires_grad_() for part in arrays)
    first, lengths = torch.tensor(chain.offsets[:-1]), torch.tensor(chain.lengths)
    return TensorChain(emissions, first, lengths, longest(chain), *others)


def check_slopes(questions: Questions, slopes: list[Any], weights: Array, p_bar: float) -> None:
    """The gradient of Σ weights·log Z is the weighted number of uses of each score."""
    chain = questions.batch.chain
    by_token = np.repeat(weights, chain.lengths)
    edges = questions.edges * by_token[:, None, None]
    starts, ends = chain.offsets[:-1][chain.lengths > 0], chain.offsets[1:][chain.lengths > 0] - 1
    nodes = questions.nodes * by_token[:, None]
    bar = max(1, chain.num_tokens) * p_bar
    expected = (nodes, edges if chain.per_position else edges.sum(0), nodes[starts].sum(0), nodes[ends].sum(0))
    names = ("emissions", "transitions", "start", "end")
    for name, slope, wanted, allowed in zip(names, slopes, expected, (p_bar, bar, bar, bar), strict=True):
        assert_close(np.zeros(wanted.shape) if slope is None else slope, wanted, allowed, f"gradient of {name}")


@dataclass
class Tally:
    """What was compared so far."""

    sentences: int = 0
    without: int = 0  # a labelling
    problems: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.sentences += other.sentences
        self.without += other.without
        self.problems += other.problems


def engines() -> list[str]:
    """The backends of this machine's CPU: the definition, the core for each instruction set, and those on tensors."""
    names = ["naive", *(f"native-{variant}" for variant in compiled.supported_cpus())]
    try:
        import torch  # noqa: F401
    except ImportError:
        return names
    return [*names, *(["tensors-native"] if compiled.core is not None else []), "tensors-batched"]


def check_batch(seed: int, number: int, names: list[str], size: int = BATCH) -> Tally:
    """Draw a batch and ask every engine; an engine that is wrong is named with what leads there again."""
    rng = np.random.default_rng([seed, number])
    whole = draw_batch(rng, size)
    log_z = np.zeros(size)
    for part in groups(whole):
        log_z[part.which] = part.log_z
    legal = ~np.isneginf(log_z)
    batch = only_legal(whole, legal)
    questions = Questions.draw(batch, groups(batch), rng)
    tally = Tally(size, int((~legal).sum()))
    before = compiled.cpu()
    for name in names:
        family, _, variant = name.partition("-")
        try:
            if family == "tensors":
                check_tensors(variant, questions, rng)
            else:
                if variant:
                    compiled.use_cpu(variant)
                engine = import_module(f"tagline.chain.{family}")
                check_no_path(engine, whole, log_z)
                check_engine(engine, questions)
        except Exception as error:
            tally.problems.append(
                f"{name}, seed {seed}, batch {number} ({batch.kind}): {type(error).__name__}: {error}"
            )
        finally:
            if before is not None:
                compiled.use_cpu(before)
    return tally


def check_no_path(engine: ModuleType, batch: Batch, log_z: Array) -> None:
    """log Z of all sentences, −∞ where there is no labelling; every other question raises there."""
    found = engine.log_partition(batch.chain, allow_no_path=True)
    assert_close(found, log_z, log_z_tolerance(engine, batch.chain, log_z), "log Z of all")
    if np.isneginf(log_z).any():
        for ask in (engine.log_partition, engine.viterbi, engine.marginals, engine.entropy):
            try:
                ask(batch.chain)
            except NoPathError:
                continue
            raise AssertionError(f"{ask.__name__}: a sentence without a labelling, and no error")


def _job(arguments: tuple[int, int, list[str]]) -> Tally:
    return check_batch(*arguments)


def check_all(sentences: int, seed: int, names: list[str], jobs: int = 1) -> Iterator[Tally]:
    """Check so many sentences, or a few more, in batches."""
    work = [(seed, number, names) for number in range(-(-sentences // BATCH))]
    if jobs == 1:
        yield from map(_job, work)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(_job, work, chunksize=4)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engines", nargs="*", default=engines())
    options = parser.parse_args()
    begin, total = time.monotonic(), Tally()
    for number, tally in enumerate(check_all(options.sentences, options.seed, options.engines, options.jobs), start=1):
        for problem in tally.problems:
            print(problem, flush=True)
        total.add(tally)
        if number % 100 == 0:
            print(f"{total.sentences:,} sentences, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    print(
        f"{total.sentences:,} sentences ({total.without:,} without a labelling) through {', '.join(options.engines)}, "
        f"seed {options.seed}: {len(total.problems)} disagreements, {time.monotonic() - begin:.0f} s"
    )
    return int(bool(total.problems))


if __name__ == "__main__":
    sys.exit(main())
