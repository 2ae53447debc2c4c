"""Why a label won: the features and transitions that told it from its rival, token by token.

The rival of a token is the label, other than the predicted one, with the best labelling through it: y* is the best
labelling of the sentence, y' the best one that has another label at this token. The contributions are the terms in
which their scores differ, and add up to the difference, the margin; where y' differs at neighbouring
tokens too (another entity begins there, say), so do their terms. A sentence takes time in proportion to its length: the
rivals of all tokens come from two passes (`tagline.chain.rivals`), and only the tokens where y' differs are looked at.
In a long sentence y' is followed 16 tokens to each side at least; what it scores beyond them is one term, the rest.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tagline import chain as engine
from tagline.chain.rivals import LabelLattice, Lattice, Stretch, rivals
from tagline.drawing.result_tables import CELL, RULE, TABLE, Readable, table
from tagline.errors import visible
from tagline.features.templates.wording import legend_of
from tagline.messages import message
from tagline.types import Chain, FloatArray, IntArray

Differences = Callable[[Stretch], Iterator["Contribution"]]
"""Two labellings → the terms in which their scores may differ."""

FOR, AGAINST = "#2f7fd0", "#d64545"  # read on white and on black
MOST_TOKENS = 8  # of a sentence, in the repr of its explanation


@dataclass(frozen=True)
class Contribution:
    """One term in which the predicted labelling and its rival differ.

    Attributes:
        kind: "state", "transition", "edge", "start" or "end"; of networks "input", a word; of models that are
            normalised at each token "normaliser", what the label before this token costs; of a semi-CRF "segment",
            what a whole segment or the step to it adds; "rest", what a network says of nothing, or what tokens far away
            add in a long sentence.
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
        labels = message("{} rather than {}", " → ".join(self.labels), " → ".join(self.rival))
        with_labels = message("{} with {}", self.name or self.kind, labels)
        what = {"state": self.name, "edge": with_labels, "transition": labels}
        what |= {"input": message("the word {}", self.name), "rest": self.name, "segment": self.name}
        what |= {"normaliser": message("normaliser after {}", labels)}
        return what.get(self.kind, with_labels)


@dataclass(frozen=True, repr=False)
class TokenExplanation(Readable):
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
        return math.fsum(term.amount for term in self.contributions)

    def line(self) -> str:
        """Say in one line what there is."""
        return message("{}  {} ({:.3f}), {}", self.token, self.label, self.probability, self._beside())

    def text(self, most: int = 5) -> str:
        """Write the label and what spoke most for and against it."""
        rows = [f"  {amount:+8.3f}  {what}" for amount, what in self.reasons(most)]
        return "\n".join([self.line(), *rows]) + "\n"

    def reasons(self, most: int = 5) -> list[tuple[float, str]]:
        """Say what spoke most for and against the label, each with its amount, and sum the rest in one more."""
        out = []
        for term in self.contributions[:most]:
            where = "" if term.token == self.position else message("  (token {})", term.token)
            out.append((term.amount, f"{term.text()}{where}"))
        if rest := self.contributions[most:]:
            out.append((math.fsum(term.amount for term in rest), message("{} more", len(rest))))
        return out

    def _beside(self) -> str:
        if self.runner_up is None:
            return message("the only label that is allowed")
        return message("not {} ({:.3f}), by {:.3f}", self.runner_up, self.runner_up_probability, self.margin)


@dataclass(frozen=True, repr=False)
class Explanation(Readable):
    """Why a sentence has its labels, token by token.

    Attributes:
        tokens: one explanation each.
        meanings: what names stand for, as pairs (beginning of a name, words); empty where names speak for themselves.
    """

    tokens: tuple[TokenExplanation, ...]
    meanings: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def labels(self) -> list[str]:
        """The predicted labelling."""
        return [token.label for token in self.tokens]

    def line(self) -> str:
        """Say in one line what there is."""
        shown = " ".join(f"{token.token}/{token.label}" for token in self.tokens[:MOST_TOKENS])
        return message("{}{}, {:,} tokens", shown, " …" if len(self.tokens) > MOST_TOKENS else "", len(self.tokens))

    def legend(self, most: int = 5) -> list[str]:
        """Say in words what the names stand for that the first `most` terms of each token have."""
        names = [term.name for token in self.tokens for term in token.contributions[:most] if term.name]
        return legend_of(self.meanings, names)

    def text(self, most: int = 5) -> str:
        """Write up to so many contributions for each token, and what their names stand for."""
        lines = [f"{line}\n" for line in self.legend(most)]
        return "".join([*(token.text(most) for token in self.tokens), *lines])

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return {"tokens": [{**asdict(token), "margin": token.margin} for token in self.tokens]}

    def html(self, most: int = 5) -> str:
        """Return a table for a page: tokens, labels, and what spoke for (blue) and against (red)."""
        cell = f'<td style="{CELL.format("left")}">'
        rows = []
        for token in self.tokens:
            terms = "<br>".join(
                f'<b style="color:{FOR if amount > 0 else AGAINST}">{amount:+.3f}</b> {_escaped(what)}'
                for amount, what in token.reasons(most)
            )
            rival = "" if token.runner_up is None else f"{_escaped(token.runner_up)} {token.runner_up_probability:.3f}"
            label = f"<b>{_escaped(token.label)}</b> {token.probability:.3f}"
            cells = (_escaped(token.token), label, rival, terms)
            rows.append("<tr>" + "".join(f"{cell}{text}</td>" for text in cells) + "</tr>")
        names = ("token", "label", "rival", "what made the difference")
        head = "".join(f'<th style="{CELL.format("left")};{RULE}">{name}</th>' for name in names)
        legend = [line.split("  ", 1) for line in self.legend(most)]
        below = table([], legend, aligned="ll", title="what the names stand for") if legend else ""
        return f'<table class="tagline-explanation" style="{TABLE}"><tr>{head}</tr>{"".join(rows)}</table>{below}\n'

    def _repr_html_(self) -> str:
        return self.html()


@dataclass(frozen=True)
class Rival:
    """The best labelling with another label at a token, as `explain_labelling` asks for it.

    Attributes:
        label: at the token.
        terms: in which it differs from the best labelling.
        tokens: that the terms are of.
        whole: False where the labellings differ beyond these tokens too.
        margin: the difference of their scores.
    """

    label: int
    terms: Iterable[Contribution]
    tokens: range
    whole: bool
    margin: float


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def explain_chain(
    chain: Chain, labels: Sequence[str], tokens: Sequence[str], differences: Differences | None = None
) -> Explanation:
    """Explain the best labelling of one sentence.

    Arguments:
        chain: the sentence scored.
        labels: names of labels.
        tokens: its words.
        differences: the terms in which two labellings may differ; when left out, the scores of the chain themselves,
            each emission under the name of its token.
    """
    if not tokens:
        return Explanation(())
    best = engine.viterbi(chain).labels
    nodes = engine.marginals(chain).nodes
    terms_of = differences or (lambda stretch: chain_terms(chain, labels, tokens, stretch))
    return explain_labelling(best, nodes, labels, tokens, label_rivals(LabelLattice(chain), best, terms_of))


def label_rivals(
    lattice: Lattice, best: IntArray, terms_of: Differences, groups: IntArray | None = None
) -> Iterator[Rival | None]:
    """Yield what `explain_labelling` asks for, of each token.

    Arguments:
        lattice: the sentence scored.
        best: ``[T]``, its best labelling.
        terms_of: the terms in which two labellings may differ.
        groups: ``[L]``, the label that each label of the lattice stands for; themselves when left out.
    """
    for t, stretch in enumerate(rivals(lattice, best.tolist(), groups)):
        if stretch is None:
            yield None
            continue
        label = stretch.labels(t)[1]
        terms = terms_of(stretch)
        yield Rival(
            label if groups is None else int(groups[label]), terms, stretch.tokens, stretch.whole, stretch.margin
        )


def explain_labelling(
    mine: IntArray, nodes: FloatArray, labels: Sequence[str], tokens: Sequence[str], others: Iterable[Rival | None]
) -> Explanation:
    """Explain the labels of one sentence, each by what it has over its rival.

    Arguments:
        mine: ``[T]``, the best labelling.
        nodes: ``[T, L]``, the probability of each label.
        labels, tokens: as for `explain_chain`.
        others: of each token its rival; None where there is none.
    """
    explained = []
    for t, (label, rival) in enumerate(zip(mine.tolist(), others, strict=True)):
        probability, name = float(nodes[t, label]), labels[label]
        if rival is None:
            explained.append(TokenExplanation(tokens[t], t, name, probability, None, None, ()))
            continue
        terms = list(rival.terms)
        if not rival.whole:
            told = math.fsum(term.amount for term in terms)
            beyond = message(
                "the tokens before {} and after {}, where the rival differs too",
                rival.tokens.start,
                rival.tokens.stop - 1,
            )
            terms.append(Contribution("rest", beyond, t, (name,), (labels[rival.label],), rival.margin - told))
        runner_up, share = labels[rival.label], float(nodes[t, rival.label])
        explained.append(TokenExplanation(tokens[t], t, name, probability, runner_up, share, ranked(terms)))
    return Explanation(tuple(explained))


def chain_terms(chain: Chain, labels: Sequence[str], tokens: Sequence[str], stretch: Stretch) -> Iterator[Contribution]:
    """The scores of a chain in which two labellings differ."""
    for n in stretch.tokens:
        a, b = stretch.labels(n)
        if a != b:
            amount = float(chain.emissions[n, a] - chain.emissions[n, b])
            yield Contribution("state", tokens[n], n, (labels[a],), (labels[b],), amount)
    yield from transition_terms(chain, labels, stretch)


def transition_terms(chain: Chain, labels: Sequence[str], stretch: Stretch) -> Iterator[Contribution]:
    """The scores of start, transitions and end in which two labellings differ."""
    for n in stretch.tokens:
        a, b = stretch.labels(n)
        here = (labels[a],), (labels[b],)
        if n == 0:
            yield Contribution("start", "", n, *here, float(chain.start[a] - chain.start[b]))
        else:
            before, before_other = stretch.labels(n - 1)
            between = (labels[before], labels[a]), (labels[before_other], labels[b])
            matrix = chain.transitions[n] if chain.per_position else chain.transitions
            yield Contribution("transition", "", n, *between, float(matrix[before, a] - matrix[before_other, b]))
        if n == len(stretch.best) - 1:
            yield Contribution("end", "", n, *here, float(chain.end[a] - chain.end[b]))


def ranked(terms: Iterable[Contribution]) -> tuple[Contribution, ...]:
    """Sort terms that differ by their size."""
    return tuple(
        sorted((term for term in terms if term.amount), key=lambda term: (-abs(term.amount), term.token, term.name))
    )
