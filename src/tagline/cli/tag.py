"""What `tagline tag` does: sentences in, answers of a model out, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tagline.cli.render import SPAN_HEAD, Answer, Answers, Format, Mark, brackets, columns, json_lines, page, span_lines
from tagline.cli.tokens import AUTO, cut_for
from tagline.errors import InputError
from tagline.features.templates import Template
from tagline.models.answers import ChainModel as SequenceModel
from tagline.models.crf.estimator import CRF
from tagline.models.entities import Reading
from tagline.models.hmm.estimator import HMM
from tagline.models.files import load
from tagline.readers import format_of
from tagline.readers.corpus import Column, Corpus
from tagline.readers.sources import PathLike, name_of, shown
from tagline.readers.streams import BLOCK_BYTES, Block, read_stream

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


def load_tagger(path: PathLike) -> Any:
    """Load a model that tags text: a CRF whose features come from a template, or one that emits words."""
    model = load(path)
    if isinstance(model, CRF) and not isinstance(model.features, Template):
        raise InputError(
            f"{path}: expected a model that was trained with a template, got one whose features a program makes; "
            "tag with Python: tagline.load(path).predict(X)"
        )
    if isinstance(model, HMM):
        if not model.known_tokens():
            raise InputError(
                f"{path}: expected a model that emits words, got {model.emission_.family} emissions of numbers; tag "
                "with Python: tagline.load(path).predict(X)"
            )
        model.parameters_ = replace(model.parameters_, numbers=False)  # states without names are written as digits
    return model


def tag_stream(
    model: Any,
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
    style = _style(output, ask, model.labels_ if reading is None else reading.types)
    cut = cut_for(model, tokens) if tokens != AUTO or set(forms) != {"columns"} else cut_for(model, "whitespace")
    yield style.head
    for path, one in zip(paths, forms, strict=True):
        sentences = 0
        for batch in read_stream(path, one, cut, encoding=encoding, block=block):
            sentences += len(batch.corpus)
            yield style.body(batch, answers_for(model, batch, ask, reading))
        if not sentences and notice is not None:
            notice(f"{name_of(path)}: no sentences")
    yield style.tail


def _style(output: str, ask: Questions, types: Sequence[str]) -> Format:
    if output == "columns" and ask.spans:
        return Format(span_lines, SPAN_HEAD)
    if output == "html":
        return page(types)
    return Format({"columns": columns, "jsonl": json_lines, "brackets": brackets}[output])


def _reading(model: SequenceModel, needed: bool) -> Reading | None:
    """How tags become spans; None where they are not of a scheme, which is an error where spans are needed."""
    try:
        return Reading.of(model.labels_, model.scheme_name)
    except InputError:
        if needed:
            raise
        return None


def answers_for(model: SequenceModel, batch: Block, ask: Questions, reading: Reading | None = None) -> Answers:
    """Ask a model about a batch; with a reading, the spans of each labelling are marked."""
    corpus = feature_columns(model, batch.corpus)
    ranked: list[list[tuple[list[str], float | None]]]
    if ask.k_best:
        ranked = [[(one.labels, one.probability) for one in some] for some in model.predict_k_best(corpus, ask.k_best)]
    else:
        ranked = [[(tags, None)] for tags in model.predict(corpus)]
    nodes = model.marginal_arrays(corpus) if ask.marginals else None
    entities = model.predict_spans(corpus, min_probability=ask.min_probability) if ask.spans else None
    numbers = {label: number for number, label in enumerate(model.labels_)}
    answers = []
    for b, some in enumerate(ranked):
        row = []
        for tags, probability in some:
            marginals = (
                None if nodes is None else [float(p[numbers[tag]]) for p, tag in zip(nodes[b], tags, strict=True)]
            )
            marks: list[Mark] | None = None
            if entities is not None:
                marks = [Mark(one.start, one.end, one.type, one.probability) for one in entities[b]]
            elif reading is not None:
                marks = _marks(reading, [numbers[tag] for tag in tags])
            row.append(Answer(tags, probability, marginals, marks))
        answers.append(row)
    return answers


def _marks(reading: Reading, tags: Sequence[int]) -> list[Mark]:
    spans = reading.spans(np.array(tags, np.int64), np.array([0, len(tags)], np.int64))
    return [Mark(*span) for span in spans.to_lists(1)[0]]


def feature_columns(model: SequenceModel, corpus: Corpus) -> Corpus:
    """Return the columns that the model looks at, counted from the left; too few are an error with their place."""
    needed, source = 1, ""
    if isinstance(model, CRF):
        template: Any = model.features
        matches = model.dictionary is not None and model.dictionary.priority == "feature"
        needed, source = max(1, template.num_columns - matches), template.source
    names = corpus.names
    if len(names) < needed:
        first = " ".join(word for column in corpus.columns.values() for word in column[:1])
        raise InputError(
            f"{corpus.place(0)}: expected {needed} columns or more, as {source} names them, got {len(names)} "
            f"({shown(first)}); give one token a line, with its columns"
        )
    kept: dict[str, Column] = {name: corpus.columns[name] for name in names[:needed]}
    return Corpus(
        kept,
        corpus.offsets,
        source=corpus.source,
        lines=corpus.lines,
        texts=corpus.texts,
        token_spans=corpus.token_spans,
    )
