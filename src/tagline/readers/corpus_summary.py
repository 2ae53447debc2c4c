"""What is in a corpus: sizes, labels, the scheme of its tags, its entities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from tagline.drawing.result_tables import Readable
from tagline.messages import message
from tagline.readers.corpus import TAG, TOKEN, Corpus
from tagline.readers.schemes import detect
from tagline.readers.spans import find_spans

FEW = 5  # tokens with a label: fewer teach next to nothing
LEAST_TOKENS = 50  # of a corpus: in a smaller one all labels are rare
MOST_SELDOM = 10  # labels that are named


def seldom_labels(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the labels that fewer than `FEW` tokens have, as mistyped ones, the rarest first; none of a few lines.

    >>> seldom_labels({"O": 90, "B-PER": 10, "B-PRE": 1})
    {'B-PRE': 1}
    """
    if sum(counts.values()) < LEAST_TOKENS:
        return {}
    return {label: count for label, count in sorted(counts.items(), key=itemgetter(1)) if count < FEW}


def counted(labels: Mapping[str, int]) -> str:
    """Name labels with their counts, the first of many.

    >>> counted({"B-MISC": 1, "I-MISC": 3})
    'B-MISC (1), I-MISC (3)'
    """
    named = [f"{label} ({count})" for label, count in labels.items()]
    more = message(" and {} more", len(named) - MOST_SELDOM) if len(named) > MOST_SELDOM else ""
    return ", ".join(named[:MOST_SELDOM]) + more


@dataclass(frozen=True, repr=False)
class Description(Readable):
    """The facts that `describe` finds.

    Attributes:
        labels, entities: counts by name, the most frequent first; entities is empty where the tags mark no spans.
        scheme: the tag scheme, or None, and `reason` why.
        longest: tokens of the longest sentence, and `longest_place` where it stands.

    >>> from tagline import Corpus, readers
    >>> facts = readers.describe(Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])]))
    >>> facts.tokens, facts.labels, facts.entities, facts.scheme
    (2, {'B-PER': 1, 'O': 1}, {'PER': 1}, 'IOB2')
    """

    source: str
    sentences: int
    tokens: int
    distinct_tokens: int
    columns: tuple[str, ...]
    mean_length: float
    longest: int
    longest_place: str
    labels: dict[str, int]
    scheme: str | None
    reason: str
    entities: dict[str, int]

    def line(self) -> str:
        """Say in one line what there is."""
        line = message("{:,} sentences, {:,} tokens", self.sentences, self.tokens)
        if self.labels:
            line = message("{}, {:,} labels ({})", line, len(self.labels), self.scheme or message("no tag scheme"))
        return str(message("{}: {}", self.source, line) if self.source else line)

    def text(self) -> str:
        """Return the description as lines for people."""
        lines: list[str] = [
            message("source     {}", self.source or "-"),
            message("sentences  {:,}", self.sentences),
            message("tokens     {:,} ({:,} distinct)", self.tokens, self.distinct_tokens),
            message("columns    {}", ", ".join(self.columns)),
            message(
                "length     {:.1f} on average, longest {} ({})", self.mean_length, self.longest, self.longest_place
            ),
        ]
        if self.labels:
            lines.append(message("scheme     {}: {}", self.scheme or message("none"), self.reason))
            lines.append(message("labels     {}", len(self.labels)))
            lines += [f"  {count:>9,}  {label}" for label, count in self.labels.items()]
            if seldom := seldom_labels(self.labels):
                lines.append(message("seldom     fewer than {} times: {}", FEW, counted(seldom)))
        if set(self.entities) == {""}:  # of segmented text, whose words have no types
            words = self.entities[""]
            lines.append(message("words      {:,}, {:.2f} characters on average", words, self.tokens / words))
        elif self.entities:
            lines.append(message("entities   {:,}", sum(self.entities.values())))
            lines += [f"  {count:>9,}  {label}" for label, count in self.entities.items()]
        return "\n".join(lines)


def describe(corpus: Corpus) -> Description:
    """Count what is in a corpus.

    >>> from tagline import Corpus, readers
    >>> print(readers.describe(Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])])).text())
    source     -
    sentences  1
    tokens     2 (2 distinct)
    columns    token, tag
    length     2.0 on average, longest 2 (sentence 0)
    scheme     IOB2: the letters are B, O, and no sentence breaks the rules of IOB2 (violations: 1 of IOB1)
    labels     2
              1  B-PER
              1  O
    entities   1
              1  PER
    """
    tokens = corpus.columns.get(TOKEN, next(iter(corpus.columns.values())))
    lengths = corpus.lengths
    longest = int(lengths.argmax()) if len(lengths) else 0
    labels: dict[str, int] = {}
    entities: dict[str, int] = {}
    scheme: str | None = None
    reason: str = message("no tags")
    if TAG in corpus.columns:
        labels = label_counts(corpus)
        detection = detect(corpus)
        scheme, reason = (detection.scheme.name if detection.scheme else None), detection.reason
        if scheme:
            spans = find_spans(corpus.columns[TAG], corpus.offsets, f"conlleval:{scheme}")
            entities = _counts(spans.labels, spans.label)
    return Description(
        corpus.source,
        len(corpus),
        corpus.num_tokens,
        len(np.unique(tokens.ids)),
        tuple(corpus.names),
        float(lengths.mean()) if len(lengths) else 0.0,
        int(lengths[longest]) if len(lengths) else 0,
        corpus.place(longest) if len(lengths) else "-",
        labels,
        scheme,
        reason,
        entities,
    )


def label_counts(corpus: Corpus) -> dict[str, int]:
    """Count how many tokens have each tag, the most frequent first."""
    return _counts(corpus.columns[TAG].vocabulary, corpus.columns[TAG].ids)


def _counts(names: tuple[str, ...], ids: np.ndarray) -> dict[str, int]:
    counts = np.bincount(ids, minlength=len(names)) if len(names) else np.empty(0, int)
    order = np.argsort(-counts, kind="stable")
    return {names[k]: int(counts[k]) for k in order if counts[k]}
