"""Which scheme a corpus is written in, and why.

A scheme is a candidate when every tag is written in its letters, and at least one in a letter that sets it apart from
poorer schemes: E or S for the family BIOES, B for IOB1 and IOB2, E for IOE1 and IOE2. The candidate with the fewest
violations wins; among equals the strictest, in the order

    BMES-words, BIOES, BILOU, BMEWO, BMES, IOB2, IOE2, IOB1, IOE1, IO

and `Detection.others` names those that would have done as well. Tags that are all O fit everything and count as IOB2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from tagline.messages import message
from tagline.readers.corpus import TAG, Column
from tagline.readers.rules import MISFIT, SCHEMES, SEPARATORS, Scheme, tag_codes
from tagline.readers.tagged import Tagged, Tags
from tagline.readers.validation import forbidden

STRICTEST_FIRST = ("BMES-words", "BIOES", "BILOU", "BMEWO", "BMES", "IOB2", "IOE2", "IOB1", "IOE1", "IO")
_LETTERS = "".join({letter for entry in SCHEMES.values() for letter in entry.letters} - {"O"})
_TAG = re.compile(f"O|[{_LETTERS}]([{SEPARATORS}].+)?", re.DOTALL)

MOST_STRAY = 0.05  # of the tokens: more are no mistake


@dataclass(frozen=True)
class Stray:
    """A few tags that are not of the scheme that all others are of.

    Attributes:
        scheme: of the others.
        tag: the first that is not of it.
        sentence, token: where it is, from 0; the first of `count` tokens.
        place: the same in words.
    """

    scheme: Scheme
    tag: str
    sentence: int
    token: int
    place: str
    count: int

    @property
    def problem(self) -> str:
        """What is wrong, in words."""
        if self.count == 1:
            return message("{!r} is no tag of {}, and all others are", self.tag, self.scheme.name)
        return message(
            "{!r} is no tag of {}, nor are the tags of {} more tokens, and all others are",
            self.tag,
            self.scheme.name,
            self.count - 1,
        )


@dataclass(frozen=True)
class Detection:
    """A scheme and the grounds for it.

    Attributes:
        scheme: None where the tags are of no scheme, such as parts of speech.
        reason: for people.
        letters: how many tokens have a tag with each letter.
        violations: how many violations each candidate has.
        others: the names of candidates that fit as well.
        stray: where there is no scheme because of a few tags, the first of them.
    """

    scheme: Scheme | None
    reason: str
    letters: dict[str, int]
    violations: dict[str, int]
    others: tuple[str, ...] = ()
    stray: Stray | None = None

    @property
    def is_ambiguous(self) -> bool:
        """Whether another scheme fits as well."""
        return bool(self.others)


def detect(tags: Tags, *, column: str = TAG) -> Detection:
    """Find the scheme of a sentence, a list of sentences, or a corpus.

    >>> detect([["B-PER", "I-PER", "O"], ["B-LOC"]]).scheme.name
    'IOB2'
    >>> detect([["NN", "PRP$", "VB"]]).reason
    "'NN' and 2 other tags are of no scheme (expected a letter, or a letter, - or _, and a type)"
    """
    tagged = Tagged.of(tags, column)
    used = used_tags(tagged.column)
    detection = detect_counted(used, lambda name: int(forbidden(tagged, SCHEMES[name]).sum()))
    if detection.scheme is not None or (stray := _stray(tagged, used)) is None:
        return detection
    return replace(detection, reason=f"{stray.problem} ({stray.place})", stray=stray)


def _stray(tagged: Tagged, used: dict[str, int]) -> Stray | None:
    """Find the scheme that nearly all tags are written in, and the first that is not."""
    found: tuple[int, Scheme, list[str]] | None = None
    for name in STRICTEST_FIRST:
        roles = tag_codes(list(used), SCHEMES[name]).roles
        strange = [tag for tag, role in zip(used, roles, strict=True) if role == MISFIT]
        others = [tag for tag in used if tag not in strange]
        count = sum(used[tag] for tag in strange)
        marks = any(len(tag) > 1 for tag in others) or not SCHEMES[name].typed
        if count <= MOST_STRAY * len(tagged.column) and marks and _fits(name, others):
            found = min(found or (count, SCHEMES[name], strange), (count, SCHEMES[name], strange), key=itemgetter(0))
    if found is None:
        return None
    count, near, strange = found
    numbers = [number for number, tag in enumerate(tagged.column.vocabulary) if tag in strange]
    n = int(np.flatnonzero(np.isin(tagged.column.ids, numbers))[0])
    b, token = tagged.sentence_of(n)
    return Stray(near, tagged.tag(n), b, token, tagged.place(b, token), count)


def used_tags(column: Column) -> dict[str, int]:
    """Count how many tokens have each tag."""
    counts = np.bincount(column.ids, minlength=len(column.vocabulary))
    return {tag: count for tag, count in zip(column.vocabulary, counts.tolist(), strict=True) if count}


def detect_counted(used: dict[str, int], violations_of: Callable[[str], int]) -> Detection:
    """Find the scheme of tags that were counted, wherever the sentences are.

    Arguments:
        used: how many tokens have each tag.
        violations_of: how often the sentences break the rules of a scheme that all tags are written in.
    """
    if not used:
        return Detection(None, message("there are no tags"), {}, {})
    strange = [tag for tag in used if not _TAG.fullmatch(tag)]
    if strange:
        reason = message("{!r} is of no scheme (expected a letter, or a letter, - or _, and a type)", strange[0])
        if len(strange) > 1:
            reason = message(
                "{!r} and {} other tags are of no scheme (expected a letter, or a letter, - or _, and a type)",
                strange[0],
                len(strange) - 1,
            )
        return Detection(None, reason, {}, {})
    letters: dict[str, int] = {}
    for tag, count in used.items():
        letters[tag[0]] = letters.get(tag[0], 0) + count
    if set(letters) == {"O"}:
        names = tuple(name for name in STRICTEST_FIRST if SCHEMES[name].typed and name != "IOB2")
        return Detection(
            SCHEMES["IOB2"], message("every tag is O, which fits every scheme"), letters, {"IOB2": 0}, names
        )
    violations = {name: violations_of(name) for name in STRICTEST_FIRST if _fits(name, list(used))}
    return _decide(letters, violations, sum(used.values()) - letters.get("O", 0))


def _fits(name: str, used: list[str]) -> bool:
    """Say whether every tag is in the scheme's letters, and one in a letter that poorer schemes do not have."""
    tag_scheme = SCHEMES[name]
    telling = "ES" if "S" in tag_scheme.roles else "BE"
    own = [letter for letter, role in zip(tag_scheme.letters, tag_scheme.roles, strict=True) if role in telling]
    return MISFIT not in tag_codes(used, tag_scheme).roles and (not own or any(tag[0] in own for tag in used))


def _decide(letters: dict[str, int], violations: dict[str, int], tagged: int) -> Detection:
    used = ", ".join(sorted(letters))
    if not violations:
        reason = message("the letters {} are not those of one scheme, or tags with and without types are mixed", used)
        return Detection(None, reason, letters, violations)
    fewest = min(violations.values())
    best, *others = [name for name, count in violations.items() if count == fewest]
    if fewest:
        reason = message(
            "the letters are {}, and {} has the fewest violations: {}, with {} tags other than O",
            used,
            best,
            fewest,
            tagged,
        )
    else:
        reason = message("the letters are {}, and no sentence breaks the rules of {}", used, best)
        worse: str = ""
        for name, count in violations.items():
            if count:
                known = message("{} of {}", count, name)
                worse = message("{}, {}", worse, known) if worse else known
        if worse:
            reason = message("{} (violations: {})", reason, worse)
    if others:
        reason = message("{}; ambiguous: {} would fit as well, the strictest is taken", reason, ", ".join(others))
    return Detection(SCHEMES[best], reason, letters, violations, tuple(others))
