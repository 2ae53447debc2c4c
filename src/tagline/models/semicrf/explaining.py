"""Why a tag won: the terms in which the best segmentation and its rival differ, of tokens and of whole segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from tagline.chain import segments
from tagline.chain.segments import Segmentation
from tagline.chain.segments.types import listed
from tagline.models.explanations import Contribution, Explanation, Rival, explain_labelling
from tagline.models.semicrf.parameters import Numbered, Parameters
from tagline.models.semicrf.questions import SegmentQuestions, TaggedSegments
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
    if not tokens:
        return Explanation(())
    ask, terms = SegmentQuestions(), _Terms(parameters, numbered)
    best = segments.viterbi(block.chain)
    mine = block.written(best.labels, best.begins)

    def rival(t: int) -> Rival | None:
        allowed = np.ones((len(tokens), len(parameters.labels)), bool)
        allowed[t, mine[t]] = False
        bound = ask.constrain(block, allowed)
        if not np.isfinite(ask.log_partition(bound, allow_no_path=True)[0]):
            return None
        other = segments.viterbi(bound.chain)
        tags = block.written(other.labels, other.begins)
        return int(tags[t]), terms.differences((best, mine), (other, tags))

    return explain_labelling(mine, ask.marginals(block).nodes, parameters.labels, tokens, rival)


class _Terms:
    """The terms of a segmentation's score, one by one."""

    def __init__(self, parameters: Parameters, numbered: Numbered) -> None:
        self.p, self.numbered = parameters, numbered

    def differences(
        self, mine: tuple[Segmentation, IntArray], other: tuple[Segmentation, IntArray]
    ) -> Iterator[Contribution]:
        """The terms of two segmentations, each with its tags ``[T]``, that may differ."""
        p, attributes = self.p, self.numbered.states
        for n, (a, b) in enumerate(zip(mine[1].tolist(), other[1].tolist(), strict=True)):
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
        ours, theirs = self._whole(mine[0]), self._whole(other[0])
        for term in {**ours, **theirs}:
            name, n, label = term
            sides = tuple((label,) if term in side else () for side in (ours, theirs))
            yield Contribution("segment", name, n, sides[0], sides[1], ours.get(term, 0.0) - theirs.get(term, 0.0))

    def _whole(self, way: Segmentation) -> dict[Term, float]:
        """What whole segments, and the steps between them, add to the score of a segmentation."""
        p, t, out = self.p, self.p.tables, {}
        before = -1
        for first, last, label in listed(way.labels, way.begins):
            name, size, n = p.tags.types[label], last - first, last - 1
            step = f"start:{name}" if before < 0 else f"transition:{p.tags.types[before]} → {name}"
            out[step, first, name] = float(t.start[label] if before < 0 else t.transitions[before, label])
            before = label
            out[f"length:{size}", n, name] = float(t.length[size - 1, label])
            if self.numbered.seen is not None:
                bucket = int(self.numbered.seen[n, size - 1, label])
                out[f"lexicon:{_SEEN[bucket]} a {name or 'segment'} of {size}", n, name] = float(
                    t.lexicon[bucket, size - 1, label]
                )
            for number in self._attributes(n, size - 1):
                out[p.names.names[number], n, name] = float(t.segments[number, label])
            if last == len(way.labels):
                out[f"end:{name}", n, name] = float(t.end[label])
        return out

    def _attributes(self, n: int, d: int) -> list[int]:
        place = n * self.p.max_length + d
        rows, _ = self.numbered.rows.block(place, place + 1)
        numbers: list[int] = rows.ids.tolist()
        return numbers
