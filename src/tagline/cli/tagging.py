"""What `tagline tag` does: sentences in, answers of a model out, a block at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tagline.checks import shown
from tagline.cli.answer_formats import FORMATS
from tagline.cli.document_blocks import Documents, whole_documents
from tagline.cli.render import (
    SPAN_HEAD,
    Format,
    LabelledBlock,
    Labellings,
    ShownLabelling,
    ShownSpan,
    page,
    span_lines,
)
from tagline.errors import InputError
from tagline.interop.formats import read_model
from tagline.messages import message
from tagline.models import files
from tagline.models.answers import Answer
from tagline.models.contract import Model
from tagline.models.cutting import AUTO, cut_for
from tagline.models.entities import Entity, Reading
from tagline.readers import format_of
from tagline.readers.blocks import BLOCK_BYTES
from tagline.readers.sources import PathLike, name_of
from tagline.readers.streams import Block, StreamFormat, read_stream
from tagline.types import IntArray

OUTPUTS = ("columns", "jsonl", "brackets", "html", "words", "conllu", "spans-csv")


@dataclass(frozen=True)
class Questions:
    """What is asked about each sentence, and how it is written.

    Attributes:
        output: one of `OUTPUTS`; None for columns, or JSON lines where they come in.
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
            raise InputError("--as: expected one of {}, got {!r}", ", ".join(OUTPUTS), self.output)
        if self.k_best and self.output in ("conllu", "spans-csv"):
            raise InputError("--k-best: expected --as columns, jsonl, brackets, words or html, got {}", self.output)
        if self.k_best < 0:
            raise InputError("--k-best: expected 0 or more, got {}", self.k_best)
        if self.output == "spans-csv":
            object.__setattr__(self, "spans", True)
        if self.k_best and self.spans:
            raise InputError("--k-best, --spans: expected one of them, got both; spans are those of the best labelling")
        if not 0 <= self.min_probability <= 1:
            raise InputError("--min-probability: expected a number from 0 to 1, got {}", self.min_probability)


def load_tagger(path: PathLike) -> Model:
    """Load a model that reads sentences of words; another tool's file will do, too."""
    model = read_model(path, load=files.load_tagger)
    if (refusal := model.input_.refusal) is not None:
        raise InputError(
            "{}: {}; tag with Python: tagline.load(path).predict(X), or of another tool's file "
            "tagline.interop.formats.read_model(path).predict(X)",
            path,
            refusal,
        )
    return model


def remote_tagger(url: str, model: str | None) -> Model:
    """Return a model that a service answers for."""
    from tagline.serving.client import Client
    from tagline.serving.remote_model import RemoteModel

    tagger = RemoteModel(Client(url, model, token=os.environ.get("TAGLINE_TOKEN") or None))
    if (refusal := tagger.input_.refusal) is not None:
        raise InputError("{}: {}", url, refusal)
    return tagger  # type: ignore[return-value]


@dataclass(frozen=True)
class Source:
    """How inputs are read.

    Attributes:
        form: ``columns``, ``jsonl``, ``text`` or ``words``; when left out by the file's name, and by what its lines
            look like.
        tokenizer: how raw text is cut: ``words``, ``characters``, ``whitespace``, or ``auto`` as the model's tokens
            were.
        encoding: of the input.
        comment, docstart: lines of column files that are left out.
        block: bytes read at once.
        split: whether lines of raw text are split into sentences.
        documents: where documents are, for models that read them: a column, or a file with the number of sentences of
            each; None for -DOCSTART- lines.
        auto: what ``auto`` stands for, where a service says how it cuts texts.
    """

    form: str | None = None
    tokenizer: str = AUTO
    encoding: str = "utf-8"
    comment: str = ""
    docstart: bool = False
    block: int = BLOCK_BYTES
    split: bool = False
    documents: str | None = None
    auto: str = AUTO


@dataclass(frozen=True)
class Listener:
    """What is told while inputs are tagged; each may be left out.

    Attributes:
        notice: a line for people: how an input was read, that it has no sentences.
        skip: what was wrong with a sentence that was left out; without it, that is an error.
        position: how many bytes of the input were read.
        sentences: how many more were answered.
    """

    notice: Callable[[str], None] | None = None
    skip: Callable[[str], None] | None = None
    position: Callable[[int], None] | None = None
    sentences: Callable[[int], None] | None = None


def output_for(paths: Sequence[PathLike], source: Source, questions: Questions) -> str:
    """Return the form of the answers: as asked for, or that of the inputs."""
    forms = {format_of(path, source.form) for path in paths}
    return questions.output or ("jsonl" if forms == {"jsonl"} else "columns")


def tag_stream(
    model: Model,
    paths: Sequence[PathLike] = ("-",),
    questions: Questions | None = None,
    source: Source | None = None,
    listener: Listener | None = None,
) -> Iterator[str]:
    """Tag files one after the other; each string that comes is complete sentences, ready to be written.

    Arguments:
        model: as `load_tagger` gives it.
        paths: files, or ``-`` for standard input.
        questions: what is asked; the best labelling when left out.
        source: how the files are read.
        listener: what is told meanwhile.
    """
    ask, source, tell = questions or Questions(), source or Source(), listener or Listener()
    output = output_for(paths, source, ask)
    if ask.marginals and (output in ("brackets", "html") or (ask.spans and output == "columns")):
        raise InputError(
            "--marginals: expected --as jsonl, or columns without --spans, to write them in, got {}", output
        )
    if source.documents is not None and not model.input_.documents:
        raise InputError("--documents: expected a model that reads documents, got one that reads sentences")

    labels, reading = [str(label) for label in model.labels_], None
    if ask.spans or output not in ("columns", "jsonl"):
        try:
            reading = Reading.of(labels, model.scheme_name)
        except InputError:  # labels that mark no spans
            if ask.spans:
                raise
    if output == "html":
        style = page(labels if reading is None else reading.types)
    elif output == "columns" and ask.spans:
        style = Format(span_lines, SPAN_HEAD)
    else:
        style = FORMATS[output]

    cut = cut_for(model, source.auto if source.tokenizer == AUTO else source.tokenizer)
    single = len(cut("\u4e2d\u6587")) == 2  # two characters of Chinese are two tokens
    yield style.head
    for path in paths:
        form, sentences = format_of(path, source.form), 0
        if form == "columns" and source.form is None and source.tokenizer != AUTO:
            form = "text"  # what is cut into tokens is no column
        how = StreamFormat(
            form,
            sure=source.form is not None,
            by_character=single,
            encoding=source.encoding,
            comment=source.comment,
            docstart=source.docstart,
            block=source.block,
            split=source.split,
            columns=model.input_.columns,
        )
        blocks = read_stream(path, how, cut, skip=tell.skip, notice=tell.notice, position=tell.position)
        documents: Iterator[Documents] = ((block, None) for block in blocks)
        if model.input_.documents:
            documents = whole_documents(blocks, source.documents, name_of(path))
        for block, sizes in documents:
            sentences += len(block.corpus)
            yield style.body(block, answers_for(model, block, ask, reading, sizes))
            if tell.sentences is not None:
                tell.sentences(len(block.corpus))
        if not sentences and tell.notice is not None:
            tell.notice(message("{}: no sentences", name_of(path)))
    yield style.tail


def answers_for(
    model: Model, block: Block, ask: Questions, reading: Reading | None = None, sizes: IntArray | None = None
) -> Labellings:
    """Ask a model about a block; with a reading, the spans of each labelling are shown.

    Arguments:
        sizes: how many sentences each document has, where the model reads documents.
    """
    names, needs = block.corpus.names, model.input_
    if len(names) < needs.columns:
        first = " ".join(word for column in block.corpus.columns.values() for word in column[:1])
        raise InputError(
            "{}: expected {} columns or more, as {} names them, got {} ({}); give one token a line, with its columns",
            block.corpus.place(0),
            needs.columns,
            needs.source,
            len(names),
            shown(first),
        )
    sentences = block.corpus.with_columns({name: block.corpus.columns[name] for name in names[: needs.columns]})
    inputs = {} if sizes is None else {"documents": sizes}
    if not ask.k_best:
        arrays = model.answer_arrays(
            sentences, marginals=ask.marginals, spans=ask.spans, min_probability=ask.min_probability, **inputs
        )
        return LabelledBlock(arrays, None if ask.spans else reading)
    answers = model.answer(
        sentences,
        marginals=ask.marginals,
        spans=ask.spans,
        k_best=ask.k_best,
        min_probability=ask.min_probability,
        **inputs,
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
