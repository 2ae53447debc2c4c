"""Why a tag won: the terms in which the best segmentation and its rival differ, of tokens and of whole segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tagline.models.explanations import Contribution, Explanation, explain_chain
from tagline.models.semicrf.parameters import Numbered, Parameters
from tagline.models.semicrf.questions import SegmentStates, TaggedSegments
from tagline.types import IntArray

_SEEN = ("never", "once", "twice", "3 or 4 times", "5 to 8 times", "9 to 16 times", "17 to 64 times", "over 64 times")

Term = tuple[str, int, str]
"""Name, token, label."""


def explain_segments(
    parameters: Parameters, numbered: Numbered, block: TaggedSegments, tokens: Sequence[str]
) -> Explanation:
    """Explain the best segmentation of one sentence.

    Arguments:
        numbered: the sentence in numbers.
        block: the sentence scored, with known tags.
        tokens: its words.
    """
    states = SegmentStates(block.chain, 0, block.tags)
    terms = _Terms(parameters, numbered, states)
    return explain_chain(states, parameters.labels, tokens, terms.differences, label_of=states.labels)


class _Terms:
    """The terms of a segmentation's score, one by one."""

    def __init__(self, parameters: Parameters, numbered: Numbered, states: SegmentStates) -> None:
        self.p, self.numbered, self.states = parameters, numbered, states

    def differences(self, mine: IntArray, other: IntArray) -> Iterator[Contribution]:
        """The terms of two paths of states ``[T]`` that may differ."""
        p, labels = self.p, self.states.labels
        attributes = self.numbered.states
        for n, (a, b) in enumerate(zip(labels[mine].tolist(), labels[other].tolist(), strict=True)):
            if a == b:
                continue
            here = (p.labels[a],), (p.labels[b],)
            amounts: Counter[str] = Counter()
            for k in range(int(attributes.offsets[n]), int(attributes.offsets[n + 1])):
                row = p.tables.states[attributes.ids[k]]
                value = 1.0 if attributes.values is None else float(attributes.values[k])
                amounts[p.states[int(attributes.ids[k])]] += value * float(row[a] - row[b])  # type: ignore[assignment]
            for name, amount in amounts.items():
                yield Contribution("state", name, n, *here, amount)
        ours, theirs = self._whole(mine), self._whole(other)
        for term in {**ours, **theirs}:
            name, n, label = term
            sides = tuple((label,) if term in side else () for side in (ours, theirs))
            yield Contribution("segment", name, n, sides[0], sides[1], ours.get(term, 0.0) - theirs.get(term, 0.0))

    def _whole(self, path: IntArray) -> dict[Term, float]:
        """What whole segments, and the steps between them, add to the score of a path."""
        p, t, out = self.p, self.p.tables, {}
        before = -1
        T = len(path)
        for n, (label, size, place) in enumerate(self.states.states[path].tolist()):
            name = p.tags.types[label]
            if place == 0:
                step = f"start:{name}" if before < 0 else f"transition:{p.tags.types[before]} → {name}"
                out[step, n, name] = float(t.start[label] if before < 0 else t.transitions[before, label])
            if place < size - 1:
                continue
            before, d = label, size - 1
            out[f"length:{size}", n, name] = float(t.length[d, label])
            if self.numbered.seen is not None:
                bucket = int(self.numbered.seen[n, d, label])
                out[f"lexicon:{_SEEN[bucket]} a {name or 'segment'} of {size}", n, name] = float(
                    t.lexicon[bucket, d, label]
                )
            for number in self._attributes(n, d):
                out[p.names.names[number], n, name] = float(t.segments[number, label])
            if n == T - 1:
                out[f"end:{name}", n, name] = float(t.end[label])
        return out

    def _attributes(self, n: int, d: int) -> list[int]:
        place = n * self.p.max_length + d
        rows, _ = self.numbered.rows.block(place, place + 1)
        numbers: list[int] = rows.ids.tolist()
        return numbers
