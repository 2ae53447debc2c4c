"""The component ``tagline`` of a spaCy pipeline.

A model is named in the configuration, trained in `initialize`, read with the pipeline that it was saved with, or set.
Documents are worked on in batches: `answer_arrays` scores all sentences of a batch at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import srsly  # type: ignore[import-untyped]
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example

from tagline.checks import check_choice, check_number, check_switch, shown_value
from tagline.errors import InputError
from tagline.interop.spacy.docs import declare, sentences_of, set_entities, set_tags
from tagline.interop.spacy.examples import ATTRIBUTES, TASKS, check_columns, learned, references
from tagline.interop.spacy.predictions import Worker
from tagline.messages import message
from tagline.models.contract import Model
from tagline.models.files import load, loads

SETTLED = ("task", "attribute")  # settings that training settles, and that are stored with the model
CONFIG, MODEL = "settled.json", "model.tagline"
DEFAULTS: dict[str, Any] = {
    **{"model": None, "task": "auto", "attribute": "auto", "overwrite": False, "min_probability": 0.0},
    **{"columns": ["text"], "device": None},
}
ASSIGNED = ["doc.ents", "span._.probability", "token.tag", "token.pos", "token._.probability"]
WEIGHTS = {"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None}  # by which `spacy train` scores


class TaglineComponent(Pipe):
    """A model of Tagline in a pipeline.

    Arguments:
        name: of the component in its pipeline.
        model: a model; or the path of one, which is read when it is first needed, so that a pipeline that brings its
            own can be loaded where the path leads nowhere; or None.
        task: "ner" for entities, "pos" for a tag of each token; "auto" for entities where the labels mark spans.
        attribute: what tags are written to: "tag", "pos"; "auto" for pos where all labels are universal parts of
            speech.
        overwrite: whether entities or tags that are there go; else they stay, and the model fills the rest.
        min_probability: entities that are less probable are left out.
        columns: of tokens, what the model looks at: text, lower, norm, shape, lemma, tag, pos.
        device: of networks; None for the usual one.

    >>> import spacy
    >>> import tagline
    >>> from tagline.interop.spacy import TaglineComponent
    >>> crf = tagline.CRF("U00:%x[0,0]", scheme="IOB2", c2=0.1).fit([["Anna", "sings"]], [["B-PER", "O"]])
    >>> doc = TaglineComponent(model=crf)(spacy.blank("en")("Anna sings"))
    >>> [(entity.text, entity.label_) for entity in doc.ents]
    [('Anna', 'PER')]
    """

    def __init__(
        self,
        name: str = "tagline",
        *,
        model: Model | str | Path | None = None,
        task: str = "auto",
        attribute: str = "auto",
        overwrite: bool = False,
        min_probability: float = 0.0,
        columns: Sequence[str] = ("text",),
        device: str | None = None,
    ) -> None:
        check_choice("task", task, TASKS)
        check_choice("attribute", attribute, ATTRIBUTES)
        check_switch("overwrite", overwrite)
        check_number("min_probability", min_probability, least=0, most=1, wanted=message("a number from 0 to 1"))
        self.name, self.task, self.attribute = name, task, attribute
        self.overwrite, self.min_probability = overwrite, min_probability
        self.columns, self.device = tuple(check_columns(columns)), device
        self._path: str | Path | None = model if isinstance(model, str | Path) else None
        self._worker: Worker | None = None
        self._learned = False  # in `initialize`
        declare()
        if model is not None and self._path is None:
            self.tagger = model  # type: ignore[assignment]

    @property
    def tagger(self) -> Model:
        """The model, which can be set, too; an error where there is none. (What spaCy calls `model` is a network.)"""
        return self._working().model

    @tagger.setter
    def tagger(self, model: Model) -> None:
        self._worker, self._learned = Worker.of(model, self.task, self.attribute, self.columns), False

    @property
    def labels(self) -> tuple[str, ...]:
        """The types of entities, or the tags, that the model knows."""
        there = self._worker is not None or (self._path is not None and Path(self._path).exists())
        return self._working().labels if there else ()

    def __call__(self, doc: Doc) -> Doc:
        """Annotate a document."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate documents, so many at a time."""
        remaining = iter(stream)
        while docs := list(islice(remaining, batch_size)):
            try:
                self._annotate(docs)
            except Exception as error:  # spaCy's way: whoever runs the pipeline says what becomes of it
                self.get_error_handler()(self.name, self, docs, error)
                continue
            yield from docs

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        kind: str = "crf",
        settings: dict[str, Any] | None = None,
    ) -> None:
        """Train a model on examples, unless one was named, set or read; one that was trained here is trained anew.

        Arguments:
            kind, settings: of the model; in a configuration of spaCy under ``[initialize.components.tagline]``.
        """
        if self._has_model() and not self._learned:
            return
        docs = references(get_examples())
        model, task, attribute = learned(docs, self.task, kind, self.columns, self.attribute, settings or {})
        self.task, self.attribute = task, attribute if task == "pos" else self.attribute
        self.tagger = model
        self._learned = True

    def score(self, examples: Iterable[Example], **how: Any) -> dict[str, Any]:
        """Score annotated examples, as spaCy's own components do."""
        worker = self._working()
        if worker.task == "ner":
            return dict(get_ner_prf(examples, **how))
        return dict(Scorer.score_token_attr(examples, worker.attribute, **how))

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return settings and model; the model as the bytes of its file."""
        parts: dict[str, Any] = {"settled": self._settled()}
        if "model" not in exclude and self._has_model():
            parts["model"] = self._stored().to_bytes()
        data: bytes = srsly.msgpack_dumps(parts)
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> TaglineComponent:
        """Take over what `to_bytes` gave."""
        try:
            parts = srsly.msgpack_loads(data)
            settled, model = parts["settled"], parts.get("model", b"")
            memoryview(model)
        except Exception as error:  # msgpack's own, of several classes
            raise InputError("{}: expected the bytes of a component, got others ({})", self.name, error) from None
        self._settle(settled)
        if model and "model" not in exclude:
            self.tagger = loads(model, source=f"<{self.name}>", **self._options())
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write settings and model file to a folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        srsly.write_json(folder / CONFIG, self._settled())
        if "model" not in exclude and self._has_model():
            self._stored().save(folder / MODEL)
        else:
            (folder / MODEL).unlink(missing_ok=True)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> TaglineComponent:
        """Read what `to_disk` wrote."""
        folder = Path(path)
        try:
            settled = srsly.read_json(folder / CONFIG)
        except (OSError, ValueError) as error:
            raise InputError("{}: expected the {} of a component, got none ({})", folder, CONFIG, error) from None
        self._settle(settled)
        if (folder / MODEL).exists() and "model" not in exclude:
            self.tagger = self._read(folder / MODEL)
        return self

    # Inside.

    def _annotate(self, docs: Sequence[Doc]) -> None:
        worker = self._working()
        sentences = sentences_of(docs, self.columns)
        if worker.task == "ner":
            for doc, found in zip(docs, worker.entities(sentences, len(docs), self.min_probability), strict=True):
                set_entities(doc, found, self.overwrite)
        else:
            for doc, tags in zip(docs, worker.tags(sentences, len(docs)), strict=True):
                set_tags(doc, tags, worker.attribute, self.overwrite)

    def _working(self) -> Worker:
        if self._worker is None:
            if self._path is None:
                raise InputError(
                    '{}: expected a model, got none; name one (config={{"model": path}}), or train it with '
                    "nlp.initialize(lambda: examples)",
                    self.name,
                )
            self.tagger = self._read(self._path)
        assert self._worker is not None
        return self._worker

    def _has_model(self) -> bool:
        return self._worker is not None or self._path is not None

    def _stored(self) -> Any:
        return self._working().model

    def _options(self) -> dict[str, Any]:
        return {} if self.device is None else {"device": self.device}

    def _read(self, path: str | Path) -> Model:
        return load(path, **self._options())

    def _settled(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in SETTLED}

    def _settle(self, settled: Any) -> None:
        """Take over what was settled in training, where the configuration leaves it open."""
        choices = dict(zip(SETTLED, (TASKS, ATTRIBUTES), strict=True))
        if not isinstance(settled, dict) or any(settled.get(name) not in choices[name] for name in SETTLED):
            raise InputError("{}: expected task and attribute of a component, got {}", self.name, shown_value(settled))
        for name in SETTLED:
            if getattr(self, name) == "auto":
                setattr(self, name, settled[name])


@Language.factory("tagline", assigns=ASSIGNED, default_config=DEFAULTS, default_score_weights=WEIGHTS)
def make_component(
    nlp: Language,
    name: str,
    model: str | None,
    task: str,
    attribute: str,
    overwrite: bool,
    min_probability: float,
    columns: list[str],
    device: str | None,
) -> TaglineComponent:
    """Make the component of a pipeline's configuration; see `TaglineComponent`.

    >>> import spacy
    >>> import tagline.interop.spacy
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("tagline", config={"min_probability": 0.5})
    >>> nlp.pipe_names, component.min_probability
    (['tagline'], 0.5)
    """
    return TaglineComponent(
        name,
        model=model,
        task=task,
        attribute=attribute,
        overwrite=overwrite,
        min_probability=min_probability,
        columns=columns,
        device=device,
    )
