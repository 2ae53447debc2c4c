"""What `tagline tag` does: sentences in, answers of a model out, a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tagline.cli.render import (
    SPAN_HEAD,
    Format,
    LabelledBlock,
    Labellings,
    ShownLabelling,
    ShownSpan,
    brackets,
    columns,
    json_lines,
    page,
    span_lines,
)
from tagline.errors import InputError
from tagline.models.answers import Answer
from tagline.models.contract import Model
from tagline.models.cutting import AUTO, cut_for
from tagline.models.entities import Entity, Reading
from tagline.models.files import load
from tagline.readers import format_of
from tagline.readers.blocks import BLOCK_BYTES
from tagline.readers.corpus import Corpus
from tagline.readers.sources import PathLike, name_of, shown
from tagline.readers.streams import Block, read_stream

OUTPUTS = ("columns", "jsonl", "brackets", "html")


@dataclass(frozen=True)
class Questions:
    """What is asked about each sentence, and how it is written.

    Attributes:
        output: ``columns``, ``jsonl``, ``brackets`` or ``html``; None for columns, or JSON lines where they come in.
        marginals: the probability of each tag, too.
        k_best: that many labellings with their probabilities; 0 for the best one alone.
        spans: the spans with their exact probabilities; in columns, a table of them.
        min_probability: spans that are less probable are left out.
    """

    output: str | None = None
    marginals: bool = False
    k_best: int = 0
    spans: bool = False
    min_probability: float = 0.0

    def __post_init__(self) -> None:
        if self.output is not None and self.output not in OUTPUTS:
            raise InputError(f"--output: expected one of {', '.join(OUTPUTS)}, got {self.output!r}")
        if self.k_best < 0:
            raise InputError(f"--k-best: expected 0 or more, got {self.k_best}")
        if self.k_best and self.spans:
            raise InputError("--k-best, --spans: expected one of them, got both; spans are those of the best labelling")
        if not 0 <= self.min_probability <= 1:
            raise InputError(f"--min-probability: expected a number from 0 to 1, got {self.min_probability}")


def load_tagger(path: PathLike) -> Model:
    """Load a model that reads sentences of words."""
    model = load(path)
    if (refusal := model.input_.refusal) is not None:
        raise InputError(f"{path}: {refusal}; tag with Python: tagline.load(path).predict(X)")
    return model


def tag_stream(
    model: Model,
    paths: Sequence[PathLike] = ("-",),
    questions: Questions | None = None,
    *,
    form: str | None = None,
    tokens: str = AUTO,
    encoding: str = "utf-8",
    block: int = BLOCK_BYTES,
    notice: Callable[[str], None] | None = None,
) -> Iterator[str]:
    """Tag files one after the other; each string that comes is complete sentences, ready to be written.

    Arguments:
        model: as `load_tagger` gives it.
        paths: files, or ``-`` for standard input.
        questions: what is asked; the best labelling when left out.
        form: of the input: ``columns``, ``jsonl`` or ``text``; by the file's name when left out.
        tokens: how raw text is cut: ``words``, ``characters``, ``whitespace``, or ``auto`` as the model's tokens were.
        encoding: of the input.
        block: bytes read at once.
        notice: called with a line for people where an input has no sentences.
    """
    ask = questions or Questions()
    forms = [format_of(path, form) for path in paths]
    output = ask.output or ("jsonl" if forms and set(forms) == {"jsonl"} else "columns")
    if ask.marginals and (output in ("brackets", "html") or (ask.spans and output == "columns")):
        raise InputError(
            f"--marginals: expected --output jsonl, or columns without --spans, to write them in, got {output}"
        )
    reading = _reading(model, needed=ask.spans) if ask.spans or output in ("brackets", "html") else None
    style = _style(output, ask, [str(label) for label in model.labels_] if reading is None else reading.types)
    cut = cut_for(model, tokens) if tokens != AUTO or set(forms) != {"columns"} else cut_for(model, "whitespace")
    yield style.head
    for path, path_form in zip(paths, forms, strict=True):
        sentences = 0
        for part in read_stream(path, path_form, cut, encoding=encoding, block=block):
            sentences += len(part.corpus)
            yield style.body(part, answers_for(model, part, ask, reading))
        if not sentences and notice is not None:
            notice(f"{name_of(path)}: no sentences")
    yield style.tail


def _style(output: str, ask: Questions, types: Sequence[str]) -> Format:
    if output == "columns" and ask.spans:
        return Format(span_lines, SPAN_HEAD)
    if output == "html":
        return page(types)
    return Format({"columns": columns, "jsonl": json_lines, "brackets": brackets}[output])


def _reading(model: Model, needed: bool) -> Reading | None:
    """How labels become spans; None where they are not of a scheme, which is an error where spans are needed."""
    try:
        return Reading.of([str(label) for label in model.labels_], model.scheme_name)
    except InputError:
        if needed:
            raise
        return None


def answers_for(model: Model, block: Block, ask: Questions, reading: Reading | None = None) -> Labellings:
    """Ask a model about a block; with a reading, the spans of each labelling are shown."""
    sentences = feature_columns(model, block.corpus)
    if not ask.k_best:
        arrays = model.answer_arrays(
            sentences, marginals=ask.marginals, spans=ask.spans, min_probability=ask.min_probability
        )
        return LabelledBlock(arrays, None if ask.spans else reading)
    answers = model.answer(
        sentences,
        marginals=ask.marginals,
        spans=ask.spans,
        k_best=ask.k_best,
        min_probability=ask.min_probability,
    )
    numbers = {str(label): number for number, label in enumerate(model.labels_)}
    return [_shown(answer, reading, numbers) for answer in answers]


def _shown(answer: Answer, reading: Reading | None, numbers: dict[str, int]) -> list[ShownLabelling]:
    """The labellings of one sentence as they are written, the best first."""
    if answer.k_best is None and answer.marginals is None and (answer.entities is not None or reading is None):
        return [ShownLabelling(answer.labels, spans=answer.entities)]
    ranked: list[tuple[list[str], float | None]] = [(answer.labels, None)]
    if answer.k_best is not None:
        ranked = [(labelling.labels, labelling.probability) for labelling in answer.k_best]
    rows = []
    for labels, probability in ranked:
        marginals = None
        if answer.marginals is not None:
            chances = zip(answer.marginals, labels, strict=True)
            marginals = [float(chance[numbers[label]]) for chance, label in chances]
        spans: Sequence[ShownSpan | Entity] | None = answer.entities
        if spans is None and reading is not None:
            spans = _spans(reading, [numbers[label] for label in labels])
        rows.append(ShownLabelling(labels, probability, marginals, spans))
    return rows


def _spans(reading: Reading, labels: Sequence[int]) -> list[ShownSpan]:
    spans = reading.spans(np.array(labels, np.int64), np.array([0, len(labels)], np.int64))
    return [ShownSpan(*span) for span in spans.to_lists(1)[0]]


def feature_columns(model: Model, corpus: Corpus) -> Corpus:
    """Return the columns that the model looks at, counted from the left; too few are an error with their place."""
    names, needs = corpus.names, model.input_
    if len(names) < needs.columns:
        first = " ".join(word for column in corpus.columns.values() for word in column[:1])
        raise InputError(
            f"{corpus.place(0)}: expected {needs.columns} columns or more, as {needs.source} names them, got "
            f"{len(names)} ({shown(first)}); give one token a line, with its columns"
        )
    return corpus.with_columns({name: corpus.columns[name] for name in names[: needs.columns]})
