"""A model as a function of batches, for `Dataset.map_batches` of Ray Data and for whoever has tables of sentences.

    table with text or tokens ──▶ the model's answers ──▶ the same table with tags, and spans where they are asked for

A table may be a pandas DataFrame, a PyArrow table or a dict of NumPy arrays; the answer has the same form.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tagline.checks import refuse_moved, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.models import files
from tagline.models.answers import Answer
from tagline.models.contract import Model
from tagline.models.cutting import AUTO, cut_for
from tagline.ragged import offsets_of
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.readers.raw_text import corpus_of_texts
from tagline.readers.sources import PathLike, checked_path
from tagline.scale.cluster import import_ray, quiet_data

TEXT, TOKENS, TAGS, SPANS, PROBABILITIES = "text", "tokens", "tags", "spans", "probabilities"
ROWS = 1024  # of a batch of `tag`


@dataclass(frozen=True)
class BatchTagger:
    """Adds a model's answers to batches; `udf` makes it.

    Attributes:
        model: a file, which each process maps once, or a model.
        columns: those that the model looks at, the tokens first; empty for ``text`` or ``tokens``.
        spans, marginals: what is asked besides the tags.
        tokenizer: how text is cut.

    >>> import tagline
    >>> from tagline import scale
    >>> crf = tagline.CRF("U00:%x[0,0]").fit([["Anna", "sings"]] * 3, [["B-PER", "O"]] * 3)
    >>> scale.udf(crf, spans=True).spans
    True
    """

    model: Any
    columns: tuple[str, ...] = ()
    spans: bool = False
    marginals: bool = False
    tokenizer: str = AUTO

    def __call__(self, batch: Any) -> Any:
        """Return the batch with further columns; rows without a sentence get none."""
        model = _mapped(self.model) if isinstance(self.model, str) else self.model
        names, column_of, rebuilt = _form_of(batch)
        rows, corpus = self._corpus(model, names, column_of)
        answers = model.answer(corpus, marginals=self.marginals, spans=self.spans) if len(corpus) else []
        added = {} if TOKENS in names or self.columns else {TOKENS: [sentence.tokens for sentence in corpus]}
        added |= self._answers(model, answers)
        count = len(column_of(names[0])) if names else 0
        return rebuilt({name: _spread(values, rows, count) for name, values in added.items()})

    def _corpus(
        self, model: Model, names: Sequence[str], column_of: Callable[[str], Sequence[Any]]
    ) -> tuple[list[int], Corpus]:
        """The rows that have a sentence, and these sentences."""
        wanted = self.columns or next(((name,) for name in (TOKENS, TEXT) if name in names), ())
        if not wanted or any(name not in names for name in wanted):
            expected = ", ".join(self.columns) or message("{} or {}", TOKENS, TEXT)
            raise InputError(
                "batch: expected a column {}, got {}; name it: columns=", expected, ", ".join(names) or message("none")
            )
        if len(wanted) < model.input_.columns:
            raise InputError(
                "columns: expected {}, as {} names them, got {}; name them, the tokens first",
                model.input_.columns,
                model.input_.source,
                len(wanted),
            )
        values = {name: column_of(name) for name in wanted}
        rows = [n for n, value in enumerate(values[wanted[0]]) if not _is_missing(value)]
        if self.columns == () and wanted == (TEXT,):
            texts = [_text(values[TEXT][n], n) for n in rows]
            return rows, corpus_of_texts(texts, cut_for(model, self.tokenizer), source="batch", lines=rows)
        columns = {name: [_tokens(values[name][n], name, n) for n in rows] for name in wanted}
        lengths = {name: [len(sentence) for sentence in sentences] for name, sentences in columns.items()}
        for name in wanted:
            if lengths[name] != lengths[wanted[0]]:
                raise InputError("columns: expected as many entries in {} as in {}, got others", name, wanted[0])
        named = zip([TOKEN, *wanted[1:]], wanted, strict=True)
        strings = {new: Column.of(word for words in columns[name] for word in words) for new, name in named}
        return rows, Corpus(strings, offsets_of(lengths[wanted[0]]), source="batch", lines=rows)

    def _answers(self, model: Model, answers: Sequence[Answer]) -> dict[str, list[Any]]:
        added: dict[str, list[Any]] = {TAGS: [answer.labels for answer in answers]}
        if self.marginals:
            numbers = {str(label): number for number, label in enumerate(model.labels_)}
            added[PROBABILITIES] = [
                [float(row[numbers[label]]) for row, label in zip(answer.marginals, answer.labels, strict=True)]  # type: ignore[arg-type]
                for answer in answers
            ]
        if self.spans:
            added[SPANS] = [[asdict(entity) for entity in answer.entities or ()] for answer in answers]
        return added


def udf(
    model: PathLike | Model,
    *,
    columns: Sequence[str] = (),
    spans: bool = False,
    marginals: bool = False,
    tokenizer: str = AUTO,
    **moved: Any,
) -> BatchTagger:
    """Return a function that adds a model's answers to a batch, for `Dataset.map_batches` or a table at hand.

    A column ``tokens`` (lists of strings), or else ``text`` (strings, each one sentence, which are cut), is read; the
    column ``tags`` is added, with text also ``tokens``. Rows whose text or tokens are missing get no tags.

    Arguments:
        model: a file, which each process maps once, so that those of a machine share its memory; or a model.
        columns: those that the model looks at, the tokens first, where they have other names or are several.
        spans: add a column ``spans``: entities with their exact probabilities.
        marginals: add a column ``probabilities``, of each tag.
        tokenizer: how text is cut, as ``tagline tag --tokenizer``.

    >>> import numpy as np
    >>> import tagline
    >>> from tagline import scale
    >>> crf = tagline.CRF("U00:%x[0,0]").fit([["Anna", "sings"]] * 3, [["B-PER", "O"]] * 3)
    >>> scale.udf(crf)({"text": np.array(["Anna sings"], dtype=object)})["tags"][0]
    ['B-PER', 'O']
    """
    refuse_moved("udf", moved, {"tokens": "tokenizer"})
    if isinstance(model, str | os.PathLike):
        model = os.path.abspath(checked_path(model))
        _mapped(model)  # what is wrong with it is said here, not on a node
    elif not hasattr(model, "answer"):
        raise InputError("model: expected a file or a model, got {}", shown_value(model))
    if isinstance(columns, str):
        columns = (columns,)
    return BatchTagger(model, tuple(columns), spans, marginals, tokenizer)


def tag(dataset: Any, model: PathLike | Model, *, workers: int | None = None, **asked: Any) -> Any:
    """Tag a dataset of Ray Data: one actor a worker, each with the model mapped; the rows keep their order.

    Arguments:
        dataset: a `ray.data.Dataset` with a column ``tokens`` or ``text``.
        model: as `udf` takes it.
        workers: actors, each with one processor; as many as there are processors when left out.
        asked: ``columns``, ``spans``, ``marginals``, ``tokenizer`` as `udf` takes them.

    >>> import tagline
    >>> from tagline import scale
    >>> try:
    ...     scale.tag([{"text": "Anna sings"}], "model.tagline")
    ... except tagline.InputError as error:
    ...     print(error)
    dataset: expected a ray.data.Dataset, got [{'text': 'Anna sings'}]; ray.data.from_items makes one
    """
    ray = import_ray("scale.tag")
    data = quiet_data()
    if not isinstance(dataset, data.Dataset):
        raise InputError(
            "dataset: expected a ray.data.Dataset, got {}; ray.data.from_items makes one", shown_value(dataset)
        )
    tagger = udf(model, **asked)
    count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    return dataset.map_batches(
        _TaggingActor,
        fn_constructor_args=(tagger,),
        batch_format="pyarrow",
        batch_size=ROWS,
        compute=data.ActorPoolStrategy(min_size=1, max_size=count),
        num_cpus=1,
    )


class _TaggingActor:
    """Holds the tagger in a process of its own, with one thread: the actors are the threads."""

    def __init__(self, tagger: BatchTagger) -> None:
        from tagline import compiled

        compiled.set_threads(1, "scale.tag")
        self.tagger = tagger

    def __call__(self, batch: Any) -> Any:
        return self.tagger(batch)


def _mapped(path: str) -> Model:
    """Return the model of a file, mapped once for all batches as long as the file stays the same."""
    try:
        status = os.stat(path)
    except OSError:
        return files.load_tagger(path)  # it says what is wrong
    return _mapped_as(path, (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=4)
def _mapped_as(path: str, state: tuple[int, int, int]) -> Model:
    return files.load_tagger(path)


def _form_of(batch: Any) -> tuple[list[str], Callable[[str], Sequence[Any]], Callable[[dict[str, list[Any]]], Any]]:
    """Say of a table: its columns, how one is read, and how the table is made anew with further columns."""
    if isinstance(batch, Mapping):
        return list(batch), lambda name: batch[name], lambda added: {**batch, **_objects(added)}
    if hasattr(batch, "column_names"):  # PyArrow
        return list(batch.column_names), lambda name: batch[name].to_pylist(), lambda added: _arrow_with(batch, added)
    if hasattr(batch, "assign"):  # pandas
        return list(batch.columns), lambda name: batch[name].tolist(), lambda added: batch.assign(**_objects(added))
    raise InputError("batch: expected a DataFrame, a PyArrow table or a dict of arrays, got {}", shown_value(batch))


def _objects(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Lists of rows as arrays of objects: rows may have different lengths."""
    arrays = {}
    for name, rows in columns.items():
        arrays[name] = np.empty(len(rows), object)
        arrays[name][:] = rows
    return arrays


def _arrow_with(table: Any, columns: Mapping[str, list[Any]]) -> Any:
    import pyarrow

    word, number = pyarrow.string(), pyarrow.float64()
    fields = {"start": pyarrow.int64(), "end": pyarrow.int64(), "type": word, "probability": number}
    fields |= {"text": word, "char_start": pyarrow.int64(), "char_end": pyarrow.int64()}
    types = {TAGS: word, TOKENS: word, PROBABILITIES: number, SPANS: pyarrow.struct(list(fields.items()))}
    for name, rows in columns.items():
        if name in table.column_names:
            table = table.drop_columns([name])
        table = table.append_column(name, pyarrow.array(rows, pyarrow.list_(types[name])))
    return table


def _spread(values: Sequence[Any], rows: Sequence[int], count: int) -> list[Any]:
    """One entry a row of the table: None where there was no sentence."""
    out: list[Any] = [None] * count
    for row, value in zip(rows, values, strict=True):
        out[row] = value
    return out


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


def _text(value: Any, row: int) -> str:
    if not isinstance(value, str):
        raise InputError("row {} of a batch: expected text, got {}", row, shown_value(value))
    return value


def _tokens(value: Any, name: str, row: int) -> list[str]:
    words = list(value) if isinstance(value, list | tuple | np.ndarray) else None
    if words is None or not all(isinstance(word, str) for word in words):
        raise InputError("row {} of a batch: expected a list of strings as {}, got {}", row, name, shown_value(value))
    return [str(word) for word in words]
