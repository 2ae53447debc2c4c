"""How fast is the chain engine? Tagline against NumPy and pytorch-crf, and against what the machine could do.

A batch of chains with lengths like CoNLL-2000's and random float32 scores, for each number of labels L and of threads.
The contenders do the same work in one process and take turns. Their answers are compared first; no time is printed
when two disagree.

Work: viterbi, log Z and marginals (of nodes) start from scores that are ready in the contender's own layout.
loss+gradient and decode are what a training loop and a tagger call: for Tagline they include making a `Chain` with all
its checks, and decode ends in lists of labels. The rivals' padding is free.

Rivals: NumPy (padded_numpy.py); with several threads, the faster of a threaded BLAS and a share of the batch for each
thread. pytorch-crf (pytorch_crf.py) on one padded batch; and again with the sentences sorted by length and cut into
batches, the fastest of a few sizes, which suits it far better.

Floor: what a token cannot do without. 2·L² flops for one direction of the recursion (a multiply and an add for each
pair of labels, or an add and a maximum), so 2·L² for viterbi, log Z and decode, 4·L² for marginals, and 6·L² for
loss+gradient, whose expected transitions take another pass; the first token of a sentence has no pairs. And bytes:
emissions read once, results written once. The floor is max(flops / peak, bytes / bandwidth); the peak is that of a
float32 matrix product and the bandwidth that of a large copy, on as many threads, measured in the same run. Not in the
floor: exp and log, rescaling, the padding of L to whole vectors (9 labels fill 9 of 16 lanes), back-pointers, checks.
An add and a maximum are two instructions where a matrix product has one, so viterbi cannot pass 50 %; and a batch that
stays in the cache may be read faster than the bandwidth says.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import agreement
import numpy as np
import padded_numpy
import pytorch_crf
import sizes
import timing
from instructions import hold_rivals
from numpy.typing import NDArray
from padded_numpy import NumpyRival
from pytorch_crf import CrfRival
from timing import Contender, Plan, Timing

import tagline
from tagline import Chain, compiled
from tagline import chain as engine

Array = NDArray[Any]

# Quantiles of the lengths of the 8,936 training sentences of CoNLL-2000 (mean 23.7, standard deviation 11.1).
LENGTH_LEVELS = (0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
LENGTHS = (1, 3, 7, 10, 14, 17, 20, 23, 26, 29, 33, 39, 44, 54, 78)
LENGTH_SEED = 3  # gives 1,000 sentences a mean of 23.7
EMISSION_SD = 2.0  # transitions, start and end have 1

WORKS = ("viterbi", "log Z", "marginals", "loss+gradient", "decode")
TAGLINE, NUMPY, TORCH, TORCH_CUT = "tagline", "NumPy", "pytorch-crf", "pytorch-crf, cut"
CUTS = (250, 100, 32)  # sentences in a batch
BAR_LABELS = 22
PLAN = Plan()
QUICK_PLAN = Plan(rounds=3, sample_seconds=0.004, budget_seconds=0.3)


@dataclass(frozen=True, eq=False)
class Case:
    """One batch: raw arrays by their names in `Chain`, the chain made of them, and labels to be scored."""

    arrays: dict[str, Array]
    chain: Chain
    gold: Array
    threads: int

    def __str__(self) -> str:
        return f"L = {self.chain.num_labels}, {threads_in_words(self.threads)}"


@dataclass(frozen=True)
class MachineSpeed:
    """What the machine can do on so many threads: flops and bytes a second."""

    flops: float
    bandwidth: float

    def __str__(self) -> str:
        return f"{self.flops / 1e9:.0f} Gflop/s (float32 product), {self.bandwidth / 1e9:.0f} GB/s (copy)"


@dataclass(frozen=True)
class Row:
    """One contender's time at one work of one case."""

    labels: int
    threads: int
    tokens: int
    work: str
    name: str
    note: str
    timing: Timing
    floor_seconds: float

    @property
    def seconds(self) -> float:
        return self.timing.seconds


Results = dict[tuple[int, int, str, str], Row]
"""Rows by labels, threads, work and name, in the order of their measuring."""


def make_case(L: int, sentences: int, threads: int) -> Case:
    """Draw a batch, the same one for any number of threads."""
    levels = np.random.default_rng(LENGTH_SEED).random(sentences)
    offsets = np.cumsum([0, *np.rint(np.interp(levels, LENGTH_LEVELS, LENGTHS)).astype(np.int64)])
    draw = np.random.default_rng(L)
    N = int(offsets[-1])
    shapes = {"emissions": (N, L), "transitions": (L, L), "start": (L,), "end": (L,)}
    arrays: dict[str, Array] = {name: draw.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    arrays["emissions"] *= np.float32(EMISSION_SD)
    arrays["offsets"] = offsets
    return Case(arrays, Chain(**arrays), draw.integers(0, L, N), threads)


def tagline_contender(case: Case, work: str) -> Contender:
    """Tagline's way of doing a work."""
    calls: dict[str, Callable[[], object]] = {
        "viterbi": lambda: engine.viterbi(case.chain),
        "log Z": lambda: engine.log_partition(case.chain),
        "marginals": lambda: engine.marginals(case.chain),
        "loss+gradient": lambda: engine.gradients(tagline_chain(case), case.gold),
        "decode": lambda: tagline_decode(case),
    }
    return Contender(TAGLINE, calls[work])


def tagline_chain(case: Case) -> Chain:
    """A chain of raw arrays, which are read-only: then it keeps them, as the rivals keep theirs."""
    c = case.chain
    return Chain(c.emissions, c.transitions, c.start, c.end, c.offsets)


def tagline_decode(case: Case) -> list[list[int]]:
    """The best labels of each sentence as lists, from the raw arrays."""
    chain = tagline_chain(case)
    return engine.label_lists(engine.viterbi(chain).labels, chain.offsets)


def numpy_rivals(case: Case) -> dict[str, NumpyRival]:
    """The ways in which NumPy can use the threads, by what the table says of them."""
    whole = NumpyRival(case.chain, case.gold)
    if case.threads == 1:
        return {"": whole}
    shares = NumpyRival(case.chain, case.gold, case.threads)
    return {"threaded BLAS": whole, f"{case.threads} Python threads": shares}


def numpy_contender(rival: NumpyRival, note: str, case: Case, work: str) -> Contender:
    """NumPy's way of doing a work."""
    calls: dict[str, Callable[[], object]] = {
        "viterbi": lambda: rival.each(padded_numpy.viterbi),
        "log Z": lambda: rival.each(padded_numpy.log_partition),
        "marginals": lambda: rival.each(padded_numpy.marginals),
        "loss+gradient": rival.gradients,
        "decode": rival.decode,
    }
    return Contender(NUMPY, calls[work], note, case.threads if len(rival.blocks) == 1 else 1)


def torch_rivals(case: Case) -> dict[int, CrfRival]:
    """pytorch-crf by batch size: first the largest that memory allows, then the cuts."""
    whole = pytorch_crf.largest_batch(case.chain)
    sizes = (whole, *(cut for cut in CUTS if cut < whole))
    return {size: CrfRival(case.chain, case.gold, size) for size in sizes}


def torch_contenders(rivals: dict[int, CrfRival], work: str, plan: Plan) -> list[Contender]:
    """pytorch-crf's way of doing a work: in one batch (or as few as memory allows), and in the fastest cut."""
    if not rivals or work not in ("loss+gradient", "decode"):
        return []
    calls = {size: rival.decode if work == "decode" else rival.loss_and_gradients for size, rival in rivals.items()}
    whole, *cuts = calls
    count = len(rivals[whole].batches)
    plain = Contender(TORCH, calls[whole], "one padded batch" if count == 1 else f"{count} padded batches")
    if not cuts:
        return [plain]
    return [plain, timing.fastest([Contender(TORCH_CUT, calls[cut], f"batches of {cut}") for cut in cuts], plan)]


def floor_seconds(case: Case, work: str, limits: MachineSpeed) -> float:
    """The least time the work could take; the top of this file says what is counted."""
    N, L, B = case.chain.num_tokens, case.chain.num_labels, case.chain.num_sentences
    directions = {"marginals": 2, "loss+gradient": 3}.get(work, 1)
    labels = 8 * N  # read as gold, or written as a path
    others = {"log Z": 8 * B, "marginals": 4 * N * L, "loss+gradient": labels + 4 * N * L}.get(work, labels)
    return max(directions * 2 * L**2 * (N - B) / limits.flops, (4 * N * L + others) / limits.bandwidth)


def measure(case: Case, limits: MachineSpeed, plan: Plan, with_torch: bool) -> Results:
    """Compare the contenders' answers on a case, then their times."""
    say(f"{case}: comparing answers")
    numpy, torch = numpy_rivals(case), torch_rivals(case) if with_torch else {}
    decoded = tagline_decode(case)
    for way, rival in numpy.items():
        agreement.require(f"NumPy {way}".strip(), agreement.with_numpy(case.chain, case.gold, decoded, rival))
    for size, crf in torch.items():
        differences = agreement.with_torch(case.chain, case.gold, decoded, crf)
        agreement.require(f"pytorch-crf in batches of {size}", differences)
    results: Results = {}
    for work in WORKS:
        say(f"{case}: {work}")
        ways = [numpy_contender(rival, way, case, work) for way, rival in numpy.items()]
        contenders = [tagline_contender(case, work), timing.fastest(ways, plan), *torch_contenders(torch, work, plan)]
        for who, taken in zip(contenders, timing.take_turns(contenders, plan), strict=True):
            key = (case.chain.num_labels, case.threads, work, who.name)
            floor = floor_seconds(case, work, limits)
            results[key] = Row(key[0], key[1], case.chain.num_tokens, work, who.name, who.note, taken, floor)
    return results


def table(results: Results) -> str:
    """Lay out the rows of a case, each rival with how many times as long it takes as Tagline."""
    head = f"{'work':<14}{'contender':<36}{'ms':>10}{'spread':>8}{'runs':>8}{'tokens/s':>11}  tagline is"
    lines = [head, "-" * 110]
    for row in results.values():
        own = results[row.labels, row.threads, row.work, TAGLINE]
        verdict = f"{times(row, own)} as fast"
        if row is own:
            verdict = f"at {row.floor_seconds / row.seconds:.1%} of the floor"
        name = f"{row.name} ({row.note})" if row.note else row.name
        runs = f"{len(row.timing.samples)}x{row.timing.calls}"
        lines.append(
            f"{row.work if row is own else '':<14}{name:<36}{row.seconds * 1e3:>10.3f}{row.timing.spread:>8.0%}"
            f"{runs:>8}{row.tokens / row.seconds / 1e6:>9.3f} M  {verdict}"
        )
    return "\n".join(lines)


def summary(results: Results) -> list[str]:
    """The bars: Tagline against pytorch-crf at L = 22, and two threads against one."""
    lines = []
    for threads in dict.fromkeys(key[1] for key in results):
        for name, way in ((TORCH_CUT, "cut into its best batches"), (TORCH, "one padded batch")):
            ratios = _ratios(results, (BAR_LABELS, threads), name)
            if ratios:
                where = f"at L = {BAR_LABELS}, {threads_in_words(threads)}, {way}"
                lines.append(f">= 20x pytorch-crf {where}: {', '.join(ratios)}")
    for L in dict.fromkeys(key[0] for key in results):
        pairs = [(work, results.get((L, 1, work, TAGLINE)), results.get((L, 2, work, TAGLINE))) for work in WORKS]
        gains = [f"{work} {times(single, double)}" for work, single, double in pairs if single and double]
        if gains:
            lines.append(f"two threads over one (>= 1.7x when idle) at L = {L}: {', '.join(gains)}")
    return lines


def _ratios(results: Results, case: tuple[int, int], name: str) -> list[str]:
    rows = [row for key, row in results.items() if key[:2] == case and key[3] == name]
    return [f"{row.work} {times(row, results[*case, row.work, TAGLINE])}" for row in rows]


def times(slower: Row, faster: Row) -> str:
    """How many times as long the slower one takes, to three digits or so."""
    factor = slower.seconds / faster.seconds
    return f"{factor:.{0 if factor >= 100 else 1 if factor >= 10 else 2}f}x"


def write_json(path: Path, results: Results, facts: list[str], limits: dict[int, MachineSpeed]) -> None:
    """Write every sample, and what the machine is."""
    content = {
        "machine": facts,
        "limits": [{"threads": threads, **asdict(limit)} for threads, limit in limits.items()],
        "rows": [asdict(row) | {"seconds": row.seconds} for row in results.values()],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def machine_facts() -> list[str]:
    """What the numbers were measured on and with."""
    return [
        f"machine:  {timing.machine()}",
        f"engine:   tagline {tagline.__version__}, {engine.engine()}, {instructions()}",
        f"versions: {timing.versions(('numpy', 'scipy', 'torch', 'pytorch-crf'))}",
    ]


def instructions() -> str:
    """The instruction set that the figures belong to."""
    names = {"v4": "AVX-512", "v3": "AVX2", "v2": "SSE4.2"}
    variant = compiled.cpu()
    return "no compiled core" if variant is None else f"{names.get(variant, 'plain vectors')} ({variant})"


def threads_in_words(count: int) -> str:
    """One thread, two threads …"""
    return f"{count} thread" + "s" * (count != 1)


def say(message: str) -> None:
    """Report progress on stderr."""
    print(message, file=sys.stderr, flush=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="The full run takes about seven minutes and 5 GiB; tables go to stdout, progress to stderr.",
    )
    parser.add_argument("--labels", type=_positive, nargs="+", metavar="L", help="numbers of labels (9 22 45 128)")
    parser.add_argument("--threads", type=_positive, nargs="+", metavar="T", help="numbers of threads (1 2)")
    parser.add_argument("--sentences", type=_positive, metavar="B", help="chains in the batch (1000)")
    parser.add_argument("--quick", action="store_true", help="a smoke test under 10 s: 40 chains, L = 22")
    parser.add_argument("--sizes", action="store_true", help="many sizes on one thread instead; see sizes.py")
    parser.add_argument("--save", type=Path, metavar="PATH", help="with --sizes: keep the times there")
    parser.add_argument("--against", type=Path, metavar="PATH", help="with --sizes: compare with the times kept there")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all samples there")
    options = parser.parse_args(arguments)
    if not options.sizes and (options.save or options.against):
        parser.error("--save and --against belong to --sizes")
    options.labels = options.labels or ([BAR_LABELS] if options.quick else [9, 22, 45, 128])
    options.threads = options.threads or [1, 2]
    options.sentences = options.sentences or (40 if options.quick else 1000)
    return options


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status: 1 when answers disagree, whatever the times are."""
    options = parse(arguments)
    plan = QUICK_PLAN if options.quick else PLAN
    absent = pytorch_crf.missing()
    facts, neighbours = machine_facts(), timing.Neighbours()
    print("\n".join([*facts, *([absent] if absent else [])]))
    if options.sizes:
        timing.set_threads(1)
        sizes.run(options.save, options.against)
        return 0
    limits: dict[int, MachineSpeed] = {}
    results: Results = {}
    for threads in dict.fromkeys(options.threads):
        timing.set_threads(threads)
        say(f"{threads_in_words(threads)}: peak and bandwidth")
        limits[threads] = MachineSpeed(timing.peak_flops(threads), timing.copy_bandwidth(threads))
        print(f"limits:   {threads_in_words(threads)}: {limits[threads]}")
    for L in dict.fromkeys(options.labels):
        for threads in limits:
            timing.set_threads(threads)
            case = make_case(L, options.sentences, threads)
            try:
                taken = measure(case, limits[threads], plan, with_torch=not absent)
            except agreement.DisagreementError as error:
                say(f"{case}: {error}; no times are reported for answers that differ")
                return 1
            what = f"{options.sentences} chains, {case.chain.num_tokens} tokens, {instructions()}"
            print(f"\n{case}: {what}\n{table(taken)}", flush=True)
            results |= taken
    print("\n" + "\n".join([*summary(results), str(neighbours)]))
    if options.json:
        write_json(options.json, results, [*facts, str(neighbours)], limits)
    return 0


if __name__ == "__main__":
    hold_rivals()
    raise SystemExit(main())
