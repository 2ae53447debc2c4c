"""Slow and obvious: one token after the other, on strings."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int, str]

LETTERS = {  # letters of each scheme, as those of BIOES
    "IO": {"O": "O", "I": "I"},
    "IOB1": {"O": "O", "B": "B", "I": "I"},
    "IOB2": {"O": "O", "B": "B", "I": "I"},
    "IOE1": {"O": "O", "I": "I", "E": "E"},
    "IOE2": {"O": "O", "I": "I", "E": "E"},
    "BIOES": {"O": "O", "B": "B", "I": "I", "E": "E", "S": "S"},
    "BILOU": {"O": "O", "B": "B", "I": "I", "L": "E", "U": "S"},
    "BMEWO": {"O": "O", "B": "B", "M": "I", "E": "E", "W": "S"},
    "BMES": {"O": "O", "B": "B", "M": "I", "E": "E", "S": "S"},
}


def cut(tag: str) -> tuple[str, str]:
    letter, _, kind = tag.partition("-")
    return letter, kind


STARTS = {"BB", "IB", "OB", "OI", "OE", "EE", "EI"}
ENDS = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}


def chunk_starts(before: tuple[str, str], now: tuple[str, str], whole: bool) -> bool:
    """Whether conlleval sees a chunk start at `now`; `whole`: E closes, B opens, S does both, always."""
    return now[0] != "O" and border(before, now, STARTS, whole)


def chunk_ends(before: tuple[str, str], now: tuple[str, str], whole: bool) -> bool:
    """Whether conlleval sees a chunk end before `now`."""
    return before[0] != "O" and border(before, now, ENDS, whole)


def border(before: tuple[str, str], now: tuple[str, str], letters: set[str], whole: bool) -> bool:
    (left, left_type), (right, right_type) = before, now
    if left_type != right_type or left + right in letters:
        return True
    return whole and ("S" in (left, right) or left + right == "EB")


def conlleval_spans(tags: Sequence[str], whole: bool = False) -> list[Span]:
    """The chunks of one sentence, in the letters of BIOES."""
    spans: list[Span] = []
    before, opened = ("O", ""), -1
    for token, now in enumerate([*map(cut, tags), ("O", "")]):
        if opened >= 0 and chunk_ends(before, now, whole):
            spans.append((opened, token, before[1]))
            opened = -1
        if chunk_starts(before, now, whole):
            assert opened < 0
            opened = token
        before = now
    return spans


def conlleval_counts(gold: Sequence[Sequence[str]], guess: Sequence[Sequence[str]]) -> tuple[int, int, int]:
    """Correct, guessed and gold chunks, counted in one pass over both as the script does."""
    correct = guessed = golden = 0
    agree = False
    left = right = ("O", "")
    rows = [pair for a, b in zip(gold, guess, strict=True) for pair in [*zip(a, b, strict=True), ("O", "O")]]
    for a, b in rows:
        now_left, now_right = cut(a), cut(b)
        if agree:
            ends = chunk_ends(left, now_left, False), chunk_ends(right, now_right, False)
            if all(ends) and left[1] == right[1]:
                agree = False
                correct += 1
            elif ends[0] != ends[1] or now_left[1] != now_right[1]:
                agree = False
        starts = chunk_starts(left, now_left, False), chunk_starts(right, now_right, False)
        if all(starts) and now_left[1] == now_right[1]:
            agree = True
        golden, guessed = golden + starts[0], guessed + starts[1]
        left, right = now_left, now_right
    return correct + agree, guessed, golden


def written(spans: Sequence[Span], length: int, name: str) -> list[str]:
    """Tags of one sentence, token by token."""
    tags = []
    letter_of = {role: letter for letter, role in LETTERS[name].items()}
    for token in range(length):
        inside = [span for span in spans if span[0] <= token < span[1]]
        if not inside:
            tags.append("O")
            continue
        start, end, label = inside[0]
        first, last = token == start, token == end - 1
        follows_its_type = any(other[1] == start and other[2] == label for other in spans)
        precedes_its_type = any(other[0] == end and other[2] == label for other in spans)
        role = "I"
        if "S" in letter_of:
            role = {(True, True): "S", (True, False): "B", (False, True): "E", (False, False): "I"}[first, last]
        elif first and (name == "IOB2" or (name == "IOB1" and follows_its_type)):
            role = "B"
        elif last and (name == "IOE2" or (name == "IOE1" and precedes_its_type)):
            role = "E"
        tags.append(letter_of[role] + (f"-{label}" if label else ""))
    return tags
