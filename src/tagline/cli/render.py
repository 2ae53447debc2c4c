"""Labellings as text: columns, JSON lines, inline brackets, a table of spans, a page of HTML.

Each is a `Format`: what stands before all sentences, what a block of sentences becomes, what stands behind them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tagline import compiled
from tagline.drawing.coloured_spans import PALETTE, Mark, Piece, bracketed, cut, marked, shades
from tagline.errors import InputError
from tagline.evaluation.report import Report
from tagline.messages import cells, message
from tagline.models.answers import AnswerArrays
from tagline.models.entities import Entity, Reading
from tagline.readers.corpus import TOKEN, Corpus, Sentence
from tagline.readers.pictures import gap_between, written
from tagline.readers.streams import Block

PAGE_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Tagged text</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 16px/1.9 system-ui, sans-serif; color: #1b1f24; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
mark { padding: .1em .3em; border-radius: .25em; }
mark small { font-size: .65em; font-weight: 600; margin-left: .35em; color: #444; }
.quiet { color: #57606a; font-size: .8em; }
</style>
</head>
<body>
"""
PAGE_TAIL = "</body>\n</html>\n"
SPAN_HEAD = "\t".join(("place", "start", "end", "type", "probability", "text")) + "\n"


class ShownSpan(NamedTuple):
    """A span of tokens, `end` exclusive, and its probability where that was asked for."""

    start: int
    end: int
    type: str
    probability: float | None = None


class ShownLabelling(NamedTuple):
    """One labelling of a sentence.

    Attributes:
        labels: one a token.
        probability: of the labelling, where the k best were asked for.
        marginals: the probability of each label, where they were asked for.
        spans: those of the labels; None where they were not asked for or where the labels mark none.
    """

    labels: Sequence[str]
    probability: float | None = None
    marginals: Sequence[float] | None = None
    spans: Sequence[ShownSpan | Entity] | None = None


class LabelledBlock(Sequence[Sequence[ShownLabelling]]):
    """The best labelling of each sentence of a block, held as arrays.

    Arguments:
        arrays: what the model answered.
        reading: how labels become spans, where spans are shown without their probabilities.
    """

    def __init__(self, arrays: AnswerArrays, reading: Reading | None = None) -> None:
        self.arrays = arrays
        self.reading = reading

    @cached_property
    def rows(self) -> list[list[ShownLabelling]]:
        """The labellings as objects, one a sentence."""
        arrays, B = self.arrays, len(self.arrays.offsets) - 1
        marginals: Any = repeat(None)
        if arrays.probabilities is not None:
            marginals = [part.tolist() for part in np.split(arrays.probabilities, arrays.offsets[1:-1])]
        spans: Any = repeat(None)
        if arrays.spans is not None:
            spans = arrays.spans.entities(B, lambda b, start, end: None)
        elif self.reading is not None:
            found = self.reading.spans(arrays.labels, arrays.offsets).to_lists(B)
            spans = [[ShownSpan(*span) for span in row] for row in found]
        rows = zip(arrays.labellings, repeat(None), marginals, spans, strict=False)  # some are endless
        return [[ShownLabelling(*row)] for row in rows]

    def __len__(self) -> int:
        return len(self.arrays.offsets) - 1

    def __iter__(self) -> Iterator[list[ShownLabelling]]:
        return iter(self.rows)

    def __getitem__(self, b: Any) -> Any:
        return self.rows[b]


Labellings: TypeAlias = Sequence[Sequence[ShownLabelling]]
"""For each sentence its labellings, the best first."""


@dataclass(frozen=True)
class Format:
    """A way to write answers."""

    body: Callable[[Block, Labellings], str]
    head: str = ""
    tail: str = ""


def columns(block: Block, labellings: Labellings) -> str:
    """Write the columns of the input, the tag and its probability; above each of the k best ``# rank probability``."""
    _refuse_blanks(block.corpus)
    _refuse_labels(block.corpus, labellings)
    strings = [column.strings for column in block.corpus.columns.values()]
    offsets = block.corpus.offsets.tolist()
    lines: list[str] = []
    for b, ranked in enumerate(labellings):
        words = [column[offsets[b] : offsets[b + 1]] for column in strings]
        for rank, labelling in enumerate(ranked):
            if labelling.probability is not None:
                lines.append(f"# {rank} {labelling.probability:.6f}")
            more = [] if labelling.marginals is None else [[f"{p:.6f}" for p in labelling.marginals]]
            lines.extend(map("\t".join, zip(*words, labelling.labels, *more, strict=True)))
            lines.append("")
    return "".join(f"{line}\n" for line in lines)


def _refuse_blanks(corpus: Corpus) -> None:
    """Tokens of JSON lines may hold anything."""
    column = corpus.columns[corpus.names[0]]
    broken = {word for word in column.vocabulary if not word or any(blank in word for blank in " \t\n\r")}
    for b, sentence in enumerate(corpus if broken else ()):
        for word in broken.intersection(sentence.tokens):
            raise InputError(
                "{}: expected tokens without blanks to write in columns, got {!r}; use --as jsonl",
                corpus.place(b),
                word,
            )


def _refuse_labels(corpus: Corpus, labellings: Labellings) -> None:
    """Raise where a label cannot stand in a column: labels of a model may be any strings."""
    used = {label for ranked in labellings for labelling in ranked for label in labelling.labels}
    broken = {label for label in used if not label or any(blank in label for blank in " \t\n\r")}
    for b, ranked in enumerate(labellings if broken else ()):
        for label in broken.intersection(label for labelling in ranked for label in labelling.labels):
            raise InputError(
                "{}: expected labels without blanks to write in columns, got {!r}; use --as jsonl",
                corpus.place(b),
                label,
            )


def json_lines(block: Block, labellings: Labellings) -> str:
    """Write an object a sentence: what the input had (its own tags and spans as ``gold_…``), and the answers."""
    if (written_lines := _json_of_arrays(block, labellings)) is not None:
        return written_lines
    lines = []
    for b, (sentence, ranked) in enumerate(zip(block.corpus, labellings, strict=True)):
        item: dict[str, Any] = {} if block.objects is None else dict(block.objects[b])
        for key in ("tags", "spans"):
            if key in item:
                item[f"gold_{key}"] = item.pop(key)
        if sentence.text is not None:
            item["text"] = sentence.text
        item["tokens"] = sentence.tokens
        if ranked and ranked[0].probability is not None:
            item["k_best"] = [
                _fields(sentence, labelling) | {"probability": labelling.probability} for labelling in ranked
            ]
        else:
            item |= _fields(sentence, ranked[0])
        lines.append(json.dumps(item, ensure_ascii=False) + "\n")
    return "".join(lines)


def _json_of_arrays(block: Block, labellings: Labellings) -> str | None:
    """The same by the compiled core, for texts; None where it is not there or the sentences are no texts."""
    corpus = block.corpus
    if compiled.core is None or not isinstance(labellings, LabelledBlock) or labellings.reading is not None:
        return None
    if block.objects is not None or corpus.texts is None or corpus.token_spans is None or corpus.names != [TOKEN]:
        return None
    arrays, tokens = labellings.arrays, corpus.columns[TOKEN]
    spans = arrays.spans
    lines: str | None = compiled.core.json_lines(
        corpus.texts,
        tokens.vocabulary,
        np.ascontiguousarray(tokens.ids, np.int32),
        corpus.offsets,
        corpus.token_spans,
        arrays.names,
        arrays.labels,
        arrays.probabilities,
        None if spans is None else (spans.sentence, spans.start, spans.end, spans.kind, spans.types, spans.probability),
    )
    return lines


def _fields(sentence: Sentence, labelling: ShownLabelling) -> dict[str, Any]:
    fields: dict[str, Any] = {"tags": list(labelling.labels)}
    if labelling.marginals is not None:
        fields["probabilities"] = list(labelling.marginals)
    if labelling.spans is not None:
        text, places = written(sentence)
        fields["spans"] = []
        for span in labelling.spans:
            first, last = places[span.start][0], places[span.end - 1][1]
            entry = {"start": span.start, "end": span.end, "type": span.type, "text": text[first:last]}
            if sentence.spans is not None:
                entry |= {"char_start": first, "char_end": last}
            fields["spans"].append(entry | ({} if span.probability is None else {"probability": span.probability}))
    return fields


def span_lines(block: Block, labellings: Labellings) -> str:
    """Write a line a span: where its sentence stands, first token and the one behind, type, probability, text."""
    lines = []
    text_of = span_texts(block.corpus)
    for b, ranked in enumerate(labellings):
        if spans := ranked[0].spans:
            place, text = block.corpus.place(b), text_of(b)
            for span in spans:
                start, end = span.start, span.end
                words = text(start, end)
                if not words.isprintable():
                    words = _one_line(words)
                lines.append(f"{place}\t{start}\t{end}\t{span.type}\t{span.probability:.6f}\t{words}\n")
    return "".join(lines)


def brackets(block: Block, labellings: Labellings) -> str:
    """Write ``[PER Anna Smith] lives here``, or ``word/TAG`` where labels mark no spans."""
    lines = []
    for sentence, ranked in zip(block.corpus, labellings, strict=True):
        for labelling in ranked:
            rank = "" if labelling.probability is None else f"{labelling.probability:.6f}\t"
            shown = "".join(bracketed(piece) for piece in pieces(sentence, labelling))
            if labelling.spans is None:
                shown = " ".join(f"{token}/{tag}" for token, tag in zip(sentence.tokens, labelling.labels, strict=True))
            lines.append(rank + _one_line(shown) + "\n")
    return "".join(lines)


def page(types: Sequence[str]) -> Format:
    """Return the format that writes a page of HTML, with a background for each type; words have two in turn."""

    def body(block: Block, labellings: Labellings) -> str:
        lines = []
        for sentence, ranked in zip(block.corpus, labellings, strict=True):
            for labelling in ranked:
                rank = (
                    "" if labelling.probability is None else f'<span class="quiet">{labelling.probability:.4f}</span> '
                )
                coloured = shades(pieces(sentence, labelling), types)
                shown = "".join(marked(piece, PALETTE[shade]) for piece, shade in coloured)
                lines.append(f"<p>{rank}{shown}</p>\n")
        return "".join(lines)

    return Format(body, PAGE_HEAD, PAGE_TAIL)


def pieces(sentence: Sentence, labelling: ShownLabelling) -> Iterator[Piece]:
    """Cut a sentence at its spans, or at its tokens where the labels mark no spans."""
    text, places = written(sentence)
    tokens = [ShownSpan(t, t + 1, tag) for t, tag in enumerate(labelling.labels)]
    spans = tokens if labelling.spans is None else labelling.spans
    return cut(text, (Mark(places[s.start][0], places[s.end - 1][1], s.type, s.probability) for s in spans))


def _one_line(text: str) -> str:
    """Texts of JSON lines may have tabs and line breaks."""
    return re.sub(r"[\t\n\r]", " ", text)


def span_texts(corpus: Corpus) -> Callable[[int], Callable[[int, int], str]]:
    """Return what finds the texts of spans: sentence → (first token, the one behind the last) → text, as `written`."""
    offsets, texts, places = corpus.offsets.tolist(), corpus.texts, corpus.token_spans
    strings = [] if texts is not None and places is not None else corpus.columns[corpus.names[0]].strings

    def of_sentence(b: int) -> Callable[[int, int], str]:
        first, last = offsets[b], offsets[b + 1]
        if texts is not None and places is not None:
            return lambda start, end: texts[b][places[first + start, 0] : places[first + end - 1, 1]]
        tokens = strings[first:last]
        gap = gap_between(tokens)
        return lambda start, end: gap.join(tokens[start:end])

    return of_sentence


def score_lines(report: Report) -> list[str]:
    """Scores as a table, readable without colour.

    >>> from tagline.evaluation import evaluate as score_tags
    >>> print("\\n".join(score_lines(score_tags([["B-PER", "O"]], [["B-PER", "O"]]))))
               precision  recall      F1    gold
    PER           100.00  100.00  100.00       1
    all           100.00  100.00  100.00       1
    """
    if report.spans is None:
        return [message("accuracy {:.2f} of {:,} tokens", 100 * report.tokens.accuracy, report.tokens.num_tokens)]
    rows = [*report.spans.by_type.items(), (message("all"), report.spans.overall)]
    if set(report.spans.by_type) == {""}:  # words have no types
        rows = [(message("words"), report.spans.overall)]
    width = max(8, *(cells(name) for name, _ in rows))
    head = message("precision  recall      F1    gold")
    lines = [f"{'':{width}}   {head}"]
    for name, row in rows:
        figures = (100 * row.precision, 100 * row.recall, 100 * row.f1)
        shown = "  ".join([f"{figures[0]:9.2f}", f"{figures[1]:6.2f}", f"{figures[2]:6.2f}", f"{row.gold:6d}"])
        name = name or message("(no type)")
        lines.append(f"{name}{' ' * (width - cells(name))}   {shown}")
    return lines
