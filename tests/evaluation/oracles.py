"""Slow, obvious scorers, token by token, from the definitions; they share no code with the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

Tags = Sequence[Sequence[str]]

# (previous, next) letters between which the CoNLL script starts a chunk, or ends one, when the types are the same.
STARTS = {"BB", "IB", "OB", "OI", "OE", "EE", "EI"}
ENDS = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}


def split(tag: str) -> tuple[str, str]:
    letter, _, name = tag.partition("-")
    return letter, name


def starts(before: tuple[str, str], now: tuple[str, str]) -> bool:
    return before[0] + now[0] in STARTS or (now[0] != "O" and before[1] != now[1])


def ends(before: tuple[str, str], now: tuple[str, str]) -> bool:
    return before[0] + now[0] in ENDS or (before[0] != "O" and before[1] != now[1])


def chunks(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """The chunks of a sentence as (start, end, type)."""
    found = set()
    begun: tuple[int, str] | None = None
    before = ("O", "")
    for n, now in enumerate([*map(split, tags), ("O", "")]):
        if begun and ends(before, now):
            found.add((begun[0], n, begun[1]))
            begun = None
        if starts(before, now):
            assert begun is None
            begun = (n, now[1])
        before = now
    assert begun is None
    return found


@dataclass
class Tally:
    """What the script counts while it reads; `run` is its loop, which never makes a chunk."""

    tokens: int = 0
    right: int = 0
    correct: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    gold: Counter[str] = field(default_factory=Counter)

    def run(self, gold: Tags, predicted: Tags) -> Tally:
        last_gold = last_guess = ("O", "")
        agreeing = False  # both sides are inside the same chunk so far
        for gold_tags, guesses in zip(gold, predicted, strict=True):
            for place, (one, two) in enumerate(zip([*gold_tags, "O"], [*guesses, "O"], strict=True)):
                true, guess = split(one), split(two)
                gold_ends, guess_ends = ends(last_gold, true), ends(last_guess, guess)
                if agreeing and gold_ends and guess_ends and last_gold[1] == last_guess[1]:
                    self.correct[last_gold[1]] += 1
                    agreeing = False
                elif agreeing and (gold_ends != guess_ends or true[1] != guess[1]):
                    agreeing = False
                if starts(last_gold, true) and starts(last_guess, guess) and true[1] == guess[1]:
                    agreeing = True
                self.gold[true[1]] += starts(last_gold, true)
                self.found[guess[1]] += starts(last_guess, guess)
                if place < len(gold_tags):  # the last one stands for the blank line
                    self.tokens += 1
                    self.right += true == guess
                last_gold, last_guess = true, guess
        return self

    def text(self) -> str:
        correct, found, gold = self.correct.total(), self.found.total(), self.gold.total()
        out = "processed %d tokens with %d phrases; found: %d phrases; correct: %d.\n" % (  # noqa: UP031
            (self.tokens, gold, found, correct)
        )
        if self.tokens:
            out += "accuracy: %6.2f%%; " % (100 * self.right / self.tokens)
            out += "precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f\n" % ratios(correct, found, gold)  # noqa: UP031
        for name in sorted(+self.found | +self.gold):
            counts = self.correct[name], self.found[name], self.gold[name]
            row = "%17s: precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f  %d\n"
            out += row % (name, *ratios(*counts), counts[1])
        return out


def ratios(correct: int, found: int, gold: int) -> tuple[float, float, float]:
    precision = 100 * correct / found if found else 0.0
    recall = 100 * correct / gold if gold else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0
