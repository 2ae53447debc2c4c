"""The forms of answers by their names, and those of other tools: words with blanks, CoNLL-U, spans as CSV."""

from __future__ import annotations

import csv
import io
from itertools import pairwise

from tagline.cli.render import Format, Labellings, brackets, columns, json_lines
from tagline.errors import InputError
from tagline.readers.corpus import Corpus
from tagline.readers.pictures import written
from tagline.readers.streams import Block

CSV_HEAD = "place,start,end,char_start,char_end,type,probability,text\n"


def words(block: Block, labellings: Labellings) -> str:
    """Write ``中国 人民``: the words that the labels mark, one sentence a line."""
    lines = []
    for sentence, ranked in zip(block.corpus, labellings, strict=True):
        for labelling in ranked:
            if labelling.spans is None:
                raise InputError("--as words: expected a model whose tags mark words (B, M, E, S), got other tags")
            text, places = written(sentence)
            begins = {places[span.start][0] for span in labelling.spans}
            ends = {places[span.end - 1][1] for span in labelling.spans}
            cuts = sorted({0, len(text), *begins, *ends})
            pieces = (text[first:last].strip() for first, last in pairwise(cuts))
            lines.append(" ".join(piece for piece in pieces if piece) + "\n")
    return "".join(lines)


def conllu(block: Block, labellings: Labellings) -> str:
    """Write CoNLL-U: tags that mark spans under MISC as ``Tag=B-PER``, others under UPOS."""
    lines = []
    for sentence, ranked in zip(block.corpus, labellings, strict=True):
        labelling = ranked[0]
        lines += [] if sentence.text is None else [f"# text = {' '.join(sentence.text.split())}"]
        for n, (token, tag) in enumerate(zip(sentence.tokens, labelling.labels, strict=True), 1):
            marks = labelling.spans is not None
            _refuse(block.corpus, token, tag)
            lines.append(
                "\t".join([str(n), token, "_", "_" if marks else tag, *"_____", f"Tag={tag}" if marks else "_"])
            )
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def _refuse(corpus: Corpus, *fields: str) -> None:
    for field in fields:
        if not field or any(sign in field for sign in "\t\n\r"):
            raise InputError(
                "{}: expected tokens and tags without tabs to write as CoNLL-U, got {!r}; use --as jsonl",
                corpus.source,
                field,
            )


def span_rows(block: Block, labellings: Labellings) -> str:
    """Write the spans as CSV: where they stand in tokens and characters, type, probability, text."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    for b, (sentence, ranked) in enumerate(zip(block.corpus, labellings, strict=True)):
        text, places = written(sentence)
        for span in ranked[0].spans or ():
            first, last = places[span.start][0], places[span.end - 1][1]
            probability = "" if span.probability is None else f"{span.probability:.6f}"
            row = (block.corpus.place(b), span.start, span.end, first, last, span.type, probability, text[first:last])
            table.writerow(row)
    return out.getvalue()


FORMATS = {
    **{"columns": Format(columns), "jsonl": Format(json_lines), "brackets": Format(brackets)},
    **{"words": Format(words), "conllu": Format(conllu), "spans-csv": Format(span_rows, CSV_HEAD)},
}
