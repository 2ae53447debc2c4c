"""How fast is scoring? Tagline's span scores against seqeval's strict mode, and its reports under seqeval's names.

Sentences with lengths and spans like a newswire corpus (IOB2, four types); 1 predicted tag in 20 is random, so that
improper sequences occur. Both scorers must find the same counts, overall and by type, before a time is printed.

Work: from lists of tag lists to precision, recall and F1. "columns" starts from tags that are numbered already, as the
readers give them. seqeval is asked for micro-averaged scores only, its fastest call; Tagline's scores by type are
included. The ratio is that of medians on the same tokens.

Reports: `classification_report` of seqeval and of `tagline.interop.seqeval`, in both modes, on fewer tokens; the texts
must be equal to the byte.

Floor: two arrays of 4-byte tag numbers, read once.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
import timing
from seqeval.metrics import classification_report
from seqeval.metrics.v1 import precision_recall_fscore_support  # what mode="strict" calls
from seqeval.scheme import IOB2, Entities
from timing import Contender, Plan, Timing

from tagline.evaluation import Score, evaluate, evaluate_spans
from tagline.interop.seqeval import metrics as our_metrics
from tagline.interop.seqeval import scheme as our_schemes
from tagline.readers.corpus import Column

TYPES = ("LOC", "MISC", "ORG", "PER")
RULE = "strict:IOB2"
NOISE = 0.05
MODES = (
    ("default", {}, {}),
    ("strict", {"mode": "strict", "scheme": IOB2}, {"mode": "strict", "scheme": our_schemes.IOB2}),
)
TARGET_SECONDS, TARGET_RATIO = 1.0, 20.0
TagLists = list[list[str]]


def made_up(tokens: int, seed: int = 0) -> tuple[TagLists, TagLists]:
    """Draw gold and predicted tags of about so many tokens."""
    rng = np.random.default_rng(seed)
    tags = np.array(["O", *(f"{letter}-{name}" for name in TYPES for letter in "BI")])
    gold = np.zeros(tokens, np.int64)
    starts = np.flatnonzero(rng.random(tokens) < 0.11)
    kinds = rng.integers(0, len(TYPES), len(starts))
    gold[starts] = 1 + 2 * kinds
    inside = starts[(rng.random(len(starts)) < 0.4)]
    inside = inside[inside + 1 < tokens] + 1
    gold[inside] = np.where(gold[inside] == 0, gold[inside - 1] + 1, gold[inside])
    guess = np.where(rng.random(tokens) < NOISE, rng.integers(0, len(tags), tokens), gold)
    lengths = rng.integers(1, 30, tokens // 8)
    cuts = np.cumsum(lengths)
    cuts = cuts[cuts < tokens]
    return tuple([part.tolist() for part in np.split(tags[side], cuts)] for side in (gold, guess))  # type: ignore[return-value]


def columns(pair: tuple[TagLists, TagLists]) -> tuple[Column, Column, np.ndarray]:
    """The same tags, numbered, with the offsets of the sentences."""
    gold, guess = (Column.of(tag for tags in side for tag in tags) for side in pair)
    return gold, guess, np.cumsum([0, *map(len, pair[0])])


def check(pair: tuple[TagLists, TagLists]) -> None:
    """Raise unless both scorers count the same."""
    gold, guess = (Entities(side, IOB2) for side in pair)
    scored = evaluate_spans(*pair, RULE)
    for name in TYPES:
        mine, theirs = gold.filter(name), guess.filter(name)
        if scored.by_type[name] != Score(len(mine & theirs), len(theirs), len(mine)):
            sys.exit(f"{name}: the scorers disagree, no times")
    precision, recall, f1, _ = rival(pair)
    for ours, theirs in ((scored.precision, precision), (scored.recall, recall), (scored.f1, f1)):
        if abs(ours - theirs) > 1e-12:
            sys.exit(f"expected {theirs}, got {ours}: the scorers disagree, no times")
    numbered = columns(pair)
    if evaluate_spans(numbered[0], numbered[1], RULE, offsets=numbered[2]) != scored:
        sys.exit("lists and columns disagree, no times")


def rival(pair: tuple[TagLists, TagLists]) -> tuple[float, float, float, int]:
    """seqeval's strict scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return precision_recall_fscore_support(*pair, average="micro", scheme=IOB2)  # type: ignore[no-any-return]


def compare_reports(pair: tuple[TagLists, TagLists], tokens: int, plan: Plan) -> None:
    """Print how long both reports take; raise unless they are equal."""
    for mode, theirs, mine in MODES:
        contenders = [
            Contender("tagline", lambda mine=mine: our_metrics.classification_report(*pair, **mine)),
            Contender("seqeval", lambda theirs=theirs: classification_report(*pair, **theirs)),
        ]
        if contenders[0].call() != contenders[1].call():
            sys.exit(f"{mode} report: the texts differ, no times")
        fast, slow = timing.take_turns(contenders, plan)
        print(row(f"report, {mode}, seqeval", tokens, slow))
        print(f"{row(f'report, {mode}, ours', tokens, fast)}, {slow.seconds / fast.seconds:.0f}× as fast")


def row(name: str, tokens: int, taken: Timing) -> str:
    """One line of the table."""
    return f"{name:<24} {tokens:>9} tokens  {1e3 * taken.seconds:8.1f} ms ± {100 * taken.spread:.0f} %"


def main() -> None:
    """Check, measure, print; exit with 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--rival-tokens", type=int, default=1_000_000)
    parser.add_argument("--report-tokens", type=int, default=100_000)
    options = parser.parse_args()
    neighbours = timing.Neighbours()
    large, small = made_up(options.tokens), made_up(options.rival_tokens, seed=1)
    check(small)
    gold, guess, offsets = columns(large)
    contenders = [
        Contender("strict, lists", lambda: evaluate_spans(*large, RULE)),
        Contender("strict, columns", lambda: evaluate_spans(gold, guess, RULE, offsets=offsets)),
        Contender("conlleval, lists", lambda: evaluate_spans(*large)),
        Contender("whole report, lists", lambda: evaluate(*large, resamples=1000)),
    ]
    plan = Plan(rounds=7, budget_seconds=20)
    print(f"{timing.machine()}; {timing.versions(['numpy', 'seqeval'])}; one thread")
    times = timing.take_turns(contenders, plan)
    for contender, taken in zip(contenders, times, strict=True):
        print(row(contender.name, options.tokens, taken))
    print(
        f"{'floor, columns':<24} {options.tokens:>9} tokens  {8e3 * options.tokens / timing.copy_bandwidth(1):8.1f} ms"
    )
    both = [Contender("tagline", lambda: evaluate_spans(*small, RULE)), Contender("seqeval", lambda: rival(small))]
    ours, theirs = timing.take_turns(both, plan)
    ratio = theirs.seconds / ours.seconds
    print(row("seqeval strict", options.rival_tokens, theirs))
    print(f"{row('tagline strict', options.rival_tokens, ours)}, {ratio:.0f}× as fast")
    compare_reports(made_up(options.report_tokens, seed=2), options.report_tokens, plan)
    print(neighbours)
    if max(taken.seconds for taken in times[:3]) > TARGET_SECONDS or ratio < TARGET_RATIO:
        sys.exit(f"missed: expected at most {TARGET_SECONDS} s and at least {TARGET_RATIO}×")


if __name__ == "__main__":
    main()
