"""Why a tag won: the terms in which the best segmentation and its rival differ, of tokens and of whole segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tagline.chain import segments
from tagline.chain.segments.rivals import Segment, SegmentStretch, segment_rivals
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
    terms, best = _Terms(parameters, numbered), segments.viterbi(block.chain)
    mine = block.written(best.labels, best.begins)

    def others() -> Iterator[Rival | None]:
        for t, stretch in enumerate(segment_rivals(block.chain, best, block.tags.roles, mine)):
            if stretch is None:
                yield None
                continue
            tags = block.tags.written(stretch.rival)
            label = tags[t - stretch.tokens.start]
            yield Rival(label, terms.differences(stretch, mine, tags), stretch.tokens, stretch.whole, stretch.margin)

    nodes = SegmentQuestions.marginals(block).nodes
    return explain_labelling(mine, nodes, parameters.labels, tokens, others())


class _Terms:
    """The terms of a segmentation's score, one by one."""

    def __init__(self, parameters: Parameters, numbered: Numbered) -> None:
        self.p, self.numbered = parameters, numbered

    def differences(self, stretch: SegmentStretch, mine: IntArray, tags: Sequence[int]) -> Iterator[Contribution]:
        """The terms of two segmentations that may differ.

        Arguments:
            mine: ``[T]``, the tags of the best segmentation.
            tags: those of the rival, of the tokens of the stretch.
        """
        p, attributes = self.p, self.numbered.states
        for n, b in zip(stretch.tokens, tags, strict=True):
            a = int(mine[n])
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
        ours, theirs = (self._whole(way, stretch.before, len(mine)) for way in (stretch.best, stretch.rival))
        for term in {**ours, **theirs}:
            name, n, label = term
            sides = tuple((label,) if term in side else () for side in (ours, theirs))
            yield Contribution("segment", name, n, sides[0], sides[1], ours.get(term, 0.0) - theirs.get(term, 0.0))

    def _whole(self, way: Sequence[Segment], before: int | None, T: int) -> dict[Term, float]:
        """What segments, and the steps to them, add to the score of a segmentation.

        Arguments:
            way: the segments, neighbours.
            before: the label of the segment before them: −1 where the sentence begins, None where it is left out.
            T: tokens of the sentence.
        """
        p, t, out = self.p, self.p.tables, {}
        for first, last, label in way:
            name, size, n = p.tags.types[label], last - first, last - 1
            if before is not None:
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
            if last == T:
                out[f"end:{name}", n, name] = float(t.end[label])
        return out

    def _attributes(self, n: int, d: int) -> list[int]:
        place = n * self.p.max_length + d
        rows, _ = self.numbered.rows.block(place, place + 1)
        numbers: list[int] = rows.ids.tolist()
        return numbers
