"""Why a label won: the features and transitions that told it from its rival, token by token.

The rival of a token is the label, other than the predicted one, with the best labelling through it: y* is the best
labelling of the sentence, y' the best one that has another label at this token. The contributions are the terms in
which w · F(y*, x) and w · F(y', x) differ, and add up to the difference, the margin; where y' differs at neighbouring
tokens too (another entity begins there, say), so do their terms. Sums are float64 over the float32 weights of scoring.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tagline import chain as engine
from tagline.features.attributes import Attributes, Features
from tagline.models.crf.parameters import Parameters
from tagline.types import Chain, Float64Array, IntArray


@dataclass(frozen=True)
class Contribution:
    """One term in which the predicted labelling and its rival differ.

    Attributes:
        kind: "state", "transition", "edge", "start" or "end"; of networks "input", a word, and "rest".
        name: of the attribute, ``#7`` where names were hashed away; the word; empty for the other kinds.
        token: where it counts; a transition leads into this token.
        labels: (label,) or (previous, label) in the predicted labelling.
        rival: the same in the other.
        amount: score of the predicted labelling less that of the rival.
    """

    kind: str
    name: str
    token: int
    labels: tuple[str, ...]
    rival: tuple[str, ...]
    amount: float

    def text(self) -> str:
        """Say it in words."""
        told = f"{' → '.join(self.labels)} rather than {' → '.join(self.rival)}"
        what = {"state": self.name, "edge": f"{self.name} with {told}", "transition": told}
        what |= {"input": f"the word {self.name}", "rest": self.name}
        return what.get(self.kind, f"{self.kind} with {told}")


@dataclass(frozen=True)
class TokenExplanation:
    """Why a token has its label.

    Attributes:
        token, position: the word, and its number in the sentence.
        label, probability: what was predicted, and the probability of this label here.
        runner_up, runner_up_probability: of the rival; None where rules or known labels leave none.
        contributions: what made the difference, the largest amounts by size first.
    """

    token: str
    position: int
    label: str
    probability: float
    runner_up: str | None
    runner_up_probability: float | None
    contributions: tuple[Contribution, ...]

    @property
    def margin(self) -> float:
        """By how much the predicted labelling scores above the best one with another label here."""
        return math.fsum(one.amount for one in self.contributions)

    def text(self, most: int = 5) -> str:
        """Write the label and what spoke most for and against it."""
        lines = [f"{self.token}  {self.label} ({self.probability:.3f}), {self._beside()}"]
        for one in self.contributions[:most]:
            where = "" if one.token == self.position else f"  (token {one.token})"
            lines.append(f"  {one.amount:+8.3f}  {one.text()}{where}")
        rest = self.contributions[most:]
        if rest:
            lines.append(f"  {math.fsum(one.amount for one in rest):+8.3f}  {len(rest)} more")
        return "\n".join(lines) + "\n"

    def _beside(self) -> str:
        if self.runner_up is None:
            return "the only label that is allowed"
        return f"not {self.runner_up} ({self.runner_up_probability:.3f}), by {self.margin:.3f}"


@dataclass(frozen=True)
class Explanation:
    """Why a sentence has its labels, token by token."""

    tokens: tuple[TokenExplanation, ...]

    @property
    def labels(self) -> list[str]:
        """The predicted labelling."""
        return [one.label for one in self.tokens]

    def text(self, most: int = 5) -> str:
        """Write up to so many contributions for each token."""
        return "".join(one.text(most) for one in self.tokens)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return {"tokens": [{**asdict(one), "margin": one.margin} for one in self.tokens]}

    def html(self, most: int = 5) -> str:
        """Return a table for a page: tokens, labels, and what spoke for (blue) and against (red)."""
        rows = []
        for one in self.tokens:
            terms = "<br>".join(
                f'<span style="color:{"#1f5fa8" if term.amount > 0 else "#b3261e"}">{term.amount:+.3f}</span> '
                f"{html.escape(term.text())}"
                for term in one.contributions[:most]
            )
            rival = "" if one.runner_up is None else f"{html.escape(one.runner_up)} {one.runner_up_probability:.3f}"
            label = f"<b>{html.escape(one.label)}</b> {one.probability:.3f}"
            cells = (html.escape(one.token), label, rival, terms)
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        head = "<tr><th>token</th><th>label</th><th>rival</th><th>what made the difference</th></tr>"
        return f'<table class="tagline-explanation">{head}{"".join(rows)}</table>\n'


def explain(parameters: Parameters, chain: Chain, features: Features, tokens: Sequence[str]) -> Explanation:
    """Explain the best labelling of one sentence.

    Arguments:
        parameters: of the model.
        chain: the sentence scored, with rules and known labels.
        features: its attributes.
        tokens: its words.
    """
    weights = _Weights(parameters)
    return explain_chain(chain, parameters.labels, tokens, lambda *pair: weights.differences(features, *pair))


def explain_chain(
    chain: Chain,
    labels: Sequence[str],
    tokens: Sequence[str],
    differences: Callable[[IntArray, IntArray], Iterator[Contribution]] | None = None,
) -> Explanation:
    """Explain the best labelling of one sentence.

    Arguments:
        chain: the sentence scored.
        labels: their names.
        tokens: its words.
        differences: the terms in which two labellings ``[T]`` may differ; when left out, the scores of the chain
            themselves: each emission under the name of its token.
    """
    if not tokens:
        return Explanation(())
    best = engine.viterbi(chain).labels
    nodes = engine.marginals(chain).nodes
    found = []
    for t, label in enumerate(best.tolist()):
        rival = _rival(chain, t, label)
        other = None if rival is None else int(rival[t])
        terms: tuple[Contribution, ...] = ()
        if rival is not None:
            told = _scores(chain, labels, tokens, best, rival) if differences is None else differences(best, rival)
            terms = _ranked(told)
        found.append(
            TokenExplanation(
                tokens[t],
                t,
                labels[label],
                float(nodes[t, label]),
                None if other is None else labels[other],
                None if other is None else float(nodes[t, other]),
                terms,
            )
        )
    return Explanation(tuple(found))


def _scores(
    chain: Chain, labels: Sequence[str], tokens: Sequence[str], mine: IntArray, other: IntArray
) -> Iterator[Contribution]:
    """The scores of a chain with transitions ``[L, L]`` in which two labellings differ."""
    for n, (a, b) in enumerate(zip(mine.tolist(), other.tolist(), strict=True)):
        told = (labels[a],), (labels[b],)
        if a != b:
            yield Contribution("state", tokens[n], n, *told, float(chain.emissions[n, a] - chain.emissions[n, b]))
        if n == 0:
            yield Contribution("start", "", n, *told, float(chain.start[a] - chain.start[b]))
            continue
        before = int(mine[n - 1]), int(other[n - 1])
        moved = (labels[before[0]], labels[a]), (labels[before[1]], labels[b])
        amount = chain.transitions[before[0], a] - chain.transitions[before[1], b]
        yield Contribution("transition", "", n, *moved, float(amount))


def _rival(chain: Chain, t: int, label: int) -> IntArray | None:
    """The best labelling without this label at token t; None where there is none."""
    allowed = np.ones(chain.emissions.shape, bool)
    allowed[t, label] = False
    bound = engine.constrain(chain, allowed=allowed)
    if not np.isfinite(engine.log_partition(bound, allow_no_path=True)[0]):
        return None
    return engine.viterbi(bound).labels


def _ranked(terms: Iterator[Contribution]) -> tuple[Contribution, ...]:
    return tuple(sorted((one for one in terms if one.amount), key=lambda one: (-abs(one.amount), one.token, one.name)))


class _Weights:
    """The weights of a model, looked up one by one, as scoring has them: float32."""

    def __init__(self, parameters: Parameters) -> None:
        self.p = parameters
        self.flat = parameters.weights.astype(np.float32).astype(np.float64)
        self.parts = parameters.structure.parts

    def states(self, attribute: int) -> Float64Array:
        """The weights of a state attribute, ``[L]``."""
        s, out = self.p.structure, np.zeros(len(self.p.labels))
        of = slice(s.state_offsets[attribute], s.state_offsets[attribute + 1])
        out[s.state_labels[of]] = self.flat[of]
        return out

    def edges(self, attribute: int) -> Float64Array:
        """The weights of an edge attribute, ``[L, L]``."""
        s, L = self.p.structure, len(self.p.labels)
        first, last = s.edge_offsets[attribute], s.edge_offsets[attribute + 1]
        out = np.zeros((L, L))
        out[tuple(s.edge_pairs[first:last].T)] = self.flat[self.parts["edges"]][first:last]
        return out

    def moves(self) -> Float64Array:
        """The weights of transitions, ``[L, L]``."""
        out = np.zeros((len(self.p.labels),) * 2)
        out[tuple(self.p.structure.transitions.T)] = self.flat[self.parts["transitions"]]
        return out

    def differences(self, features: Features, mine: IntArray, other: IntArray) -> Iterator[Contribution]:
        """The terms of two labellings ``[T]`` of one sentence that may differ."""
        labels, T, moves = self.p.labels, len(mine), self.moves()
        for n in range(T):
            if mine[n] != other[n]:
                told = (labels[mine[n]],), (labels[other[n]],)
                for a, value in _attributes(features.states, n).items():
                    row = self.states(a)
                    amount = value * (row[mine[n]] - row[other[n]])
                    yield Contribution("state", self.p.name_of("states", a), n, *told, float(amount))
                for kind, place in (("start", 0), ("end", T - 1)):
                    if n == place and getattr(self.p.structure, kind):
                        ends = self.flat[self.parts[kind]]
                        yield Contribution(kind, "", n, *told, float(ends[mine[n]] - ends[other[n]]))
            if n == 0 or (mine[n - 1] == other[n - 1] and mine[n] == other[n]):
                continue
            pairs = (mine[n - 1], mine[n]), (other[n - 1], other[n])
            moved = (labels[mine[n - 1]], labels[mine[n]]), (labels[other[n - 1]], labels[other[n]])
            yield Contribution("transition", "", n, *moved, float(moves[pairs[0]] - moves[pairs[1]]))
            for a, value in {} if features.edges is None else _attributes(features.edges, n).items():
                table = self.edges(a)
                amount = value * (table[pairs[0]] - table[pairs[1]])
                yield Contribution("edge", self.p.name_of("edges", a), n, *moved, float(amount))


def _attributes(of: Attributes, n: int) -> dict[int, float]:
    """The attributes of a token with their values, those that it has twice added up."""
    out: dict[int, float] = {}
    for k in range(int(of.offsets[n]), int(of.offsets[n + 1])):
        a = int(of.ids[k])
        out[a] = out.get(a, 0.0) + (1.0 if of.values is None else float(of.values[k]))
    return out
