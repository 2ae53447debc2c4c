"""From the tree of an expression to a program of states, and the plain definition of how it is run.

A state takes one character of a set, or chooses between two states, or asks for a place, or is the match. A search goes
over the word once and holds the states that are reached, in the order in which `re` would try them, each at most once:
whatever the expression, a word of n characters costs at most n + 1 times the number of states (Thompson, 1968, with the
order of Pike). The compiled core runs the same programs (`core/features/patterns.h`).

Repetition is that of `re` to the letter: a turn that takes no character is allowed, and ends the repetition. So that
such turns are known, parts within a repetition are built twice: for as long as nothing was taken, and for afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tagline.features.expressions.character_sets import Bounds, category, contains
from tagline.features.expressions.trees import Assertion, Characters, Choice, Concatenation, Node, Repetition, SizeError
from tagline.messages import message

MOST_STATES = 10_000

MATCH, TAKE, SPLIT, ASK = range(4)
PLACES = (
    "start",
    "end",
    "line start",
    "line end",
    "last line end",
    "boundary",
    "inside",
    "ascii boundary",
    "ascii inside",
)

State: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class Program:
    """What a search runs.

    Attributes:
        states: ``(MATCH, 0, 0)``, ``(TAKE, number of a set, next)``, ``(SPLIT, tried first, tried then)`` or
            ``(ASK, number of a place, next)``.
        first: where a match begins.
        sets: sets of characters.
    """

    states: tuple[State, ...]
    first: int
    sets: tuple[Bounds, ...]


def build(node: Node) -> Program:
    """Turn the tree of an expression into a program."""
    builder = _Builder()
    match = builder.add(MATCH)
    first = builder.build(node, match, match)
    return Program(tuple(builder.states), first, tuple(builder.sets))


class _Builder:
    """Builds states from the last to the first, since each knows the next; equal ones are built once.

    Everywhere `unmoved` is the state that follows as long as nothing was taken since the turn of the repetition around
    began, and `moved` the one that follows otherwise; outside of repetition they are one.
    """

    def __init__(self) -> None:
        self.states: list[State] = []
        self.sets: dict[Bounds, int] = {}
        self._numbers: dict[State, int] = {}
        self._entries: dict[tuple[int, int, int], int] = {}
        self._turns: dict[tuple[int, int], tuple[int, int]] = {}

    def add(self, kind: int, one: int = 0, other: int = 0) -> int:
        """Return the number of a state."""
        state = (kind, one, other)
        if state not in self._numbers:
            self._numbers[state] = self._append(state)
        return self._numbers[state]

    def build(self, node: Node, unmoved: int, moved: int) -> int:
        """Return the state at which a part begins."""
        if not node.may_be_empty:
            unmoved = moved
        if not node.may_take:
            moved = unmoved
        key = (id(node), unmoved, moved)
        if key in self._entries:
            return self._entries[key]
        match node:
            case Characters():
                entry = self.add(TAKE, self.sets.setdefault(node.bounds, len(self.sets)), moved)
            case Assertion():
                entry = self.add(ASK, PLACES.index(node.name), unmoved)
            case Concatenation():
                entry = self._build_series(node, unmoved, moved)
            case Choice():
                entry = self.build(node.parts[-1], unmoved, moved)
                for part in node.parts[-2::-1]:
                    entry = self.add(SPLIT, self.build(part, unmoved, moved), entry)
            case Repetition():
                entry = self._build_repetition(node, unmoved, moved)
        self._entries[key] = entry
        return entry

    def _append(self, state: State) -> int:
        if len(self.states) == MOST_STATES:
            raise SizeError(message("{} states with repetition written out", MOST_STATES))
        self.states.append(state)
        return len(self.states) - 1

    def _build_series(self, node: Concatenation, unmoved: int, moved: int) -> int:
        takes = [part.may_take for part in node.parts]
        first_taking = takes.index(True) if True in takes else len(takes)
        for k in range(len(node.parts) - 1, -1, -1):
            part = node.parts[k]
            entry = self.build(part, unmoved, moved)
            moved = self.build(part, moved, moved) if k > first_taking else moved
            unmoved = entry
        return unmoved

    def _build_repetition(self, node: Repetition, unmoved: int, moved: int) -> int:
        if node.most != node.least:
            after_turn, next_turn = self._optional_turns(node, moved)
            if unmoved == moved:
                unmoved = next_turn
            else:
                unmoved = self._choose(node, self.build(node.part, unmoved, after_turn), unmoved)
            moved = next_turn
        for _ in range(node.least):  # turns that must be may take nothing and do not end the repetition
            unmoved, moved = self.build(node.part, unmoved, moved), self.build(node.part, moved, moved)
        return unmoved

    def _optional_turns(self, node: Repetition, moved: int) -> tuple[int, int]:
        """Return what follows the first turn beyond the least, if it took something, and where it begins."""
        key = (id(node), moved)
        if key in self._turns:
            return self._turns[key]
        if node.most is None:
            again = self._append((SPLIT, 0, 0))
            turn = self.build(node.part, moved, again)
            self.states[again] = (SPLIT, moved, turn) if node.lazy else (SPLIT, turn, moved)
            turns = again, again
        else:
            turns = moved, moved
            for _ in range(node.most - node.least):
                turns = turns[1], self._choose(node, self.build(node.part, moved, turns[1]), moved)
        self._turns[key] = turns
        return turns

    def _choose(self, node: Repetition, turn: int, end: int) -> int:
        return self.add(SPLIT, end, turn) if node.lazy else self.add(SPLIT, turn, end)


def search(program: Program, word: str) -> tuple[int, int] | None:
    """Return where the match of `re.search` begins and ends: the plain definition.

    >>> from tagline.features.expressions.syntax import parse
    >>> search(build(parse("b+")), "abba")
    (1, 3)
    """
    codes = [*map(ord, word)]
    best: tuple[int, int] | None = None
    threads: dict[int, int] = {}  # where the match began, for each state that is reached, the preferred ones first
    for at in range(len(codes) + 1):
        if best is None:
            _follow(program, program.first, at, codes, at, threads)
        following: dict[int, int] = {}
        for state, begin in threads.items():
            kind, one, other = program.states[state]
            if kind == MATCH:
                best = begin, at
                break  # the states behind it are of less preferred ways
            if kind == TAKE and at < len(codes) and contains(program.sets[one], codes[at]):
                _follow(program, other, begin, codes, at + 1, following)
        threads = following
        if best is not None and not threads:
            break
    return best


def _follow(program: Program, state: int, begin: int, codes: list[int], at: int, threads: dict[int, int]) -> None:
    """Reach a state and all those that need no character."""
    waiting = [state]
    while waiting:
        state = waiting.pop()
        if state in threads:
            continue
        threads[state] = begin
        kind, one, other = program.states[state]
        if kind == SPLIT:
            waiting += (other, one)
        elif kind == ASK and _is_at(PLACES[one], codes, at):
            waiting.append(other)


def _is_at(place: str, codes: list[int], at: int) -> bool:
    end, line_break = len(codes), ord("\n")
    match place:
        case "start":
            return at == 0
        case "end":
            return at == end
        case "line start":
            return at == 0 or codes[at - 1] == line_break
        case "line end":
            return at == end or codes[at] == line_break
        case "last line end":
            return at == end or (at == end - 1 and codes[at] == line_break)
    if not codes:
        return False  # re finds neither a boundary nor the inside of an empty word
    letters = category("w", place.startswith("ascii"))
    before = at > 0 and contains(letters, codes[at - 1])
    behind = at < end and contains(letters, codes[at])
    return (before != behind) == place.endswith("boundary")
