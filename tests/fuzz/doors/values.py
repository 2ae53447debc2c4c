"""Doors for values of Python that a program hands in by mistake: questions, settings, arguments of functions."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tagline import CRF, HMM, MEMM, Corpus, Dictionary, MaxEnt, SemiCRF, Template, TrigramTagger, readers
from tagline import chain as engine
from tagline.evaluation import evaluate
from tagline.features.expansion import expand
from tagline.features.items import items_to_features
from tagline.features.vocabulary import Vocabulary
from tagline.models.crf.compilation import compile_corpus
from tagline.readers.corpus import Column
from tagline.readers.rules import legal
from tagline.readers.schemes import convert, detect, repair, spans_to_tags, tags_to_spans, validate
from tagline.types import Chain
from tests.fuzz.choices import Choices, value
from tests.fuzz.doors.base import Door
from tests.fuzz.doors.files import ITEMS, TAGS, TEMPLATE, WORDS

PLAIN = "U0:%x[0,0]\n"
NUMBERS, VECTORS = [[0, 1, 2, 0], [1, 1]], [[[0.0, 1.0], [1.0, 0.5]], [[0.5, 0.5]]]


class Values(Door):
    """A door that takes values, which bytes stand for."""

    def valid(self) -> list[bytes]:
        os.chdir(self.scratch)  # some values are names of files
        return [bytes(24)]

    def draw(self, random: Random) -> bytes:
        return random.randbytes(24)


class Questions(Values):
    """Every method of a fitted model, with something else than sentences, or with odd options."""

    name = "questions"

    def valid(self) -> list[bytes]:
        some: dict[str, Any] = {"max_iterations": 2, "random_state": 0}
        self.models: list[tuple[Any, Any]] = [
            (CRF(TEMPLATE, max_iterations=2).fit(WORDS, TAGS), WORDS),
            (CRF(max_iterations=2).fit(ITEMS, TAGS), ITEMS),
            (HMM().fit(WORDS, TAGS), WORDS),
            (HMM(2, **some).fit(NUMBERS), NUMBERS),
            (HMM(2, emission="gaussian", **some).fit(VECTORS), VECTORS),
            (TrigramTagger().fit(WORDS, TAGS), WORDS),
            (MEMM(TEMPLATE, max_iterations=2).fit(WORDS, TAGS), WORDS),
            (SemiCRF(PLAIN, max_iterations=2).fit(WORDS, TAGS), WORDS),
        ]
        return super().valid()

    def use(self, data: bytes) -> None:
        choices = Choices(data)
        model, X = choices.of(self.models)
        ask = choices.of(_QUESTIONS)
        ask(model, value(choices) if choices.chance(150) else X, choices)


def _maybe(choices: Choices, usual: Any = None) -> Any:
    """Some value, or the usual one."""
    return value(choices) if choices.chance(90) else usual


def _no_function(given: Any) -> Any:
    """The value, unless it can be called: what functions of users raise is theirs."""
    return None if callable(given) else given


def _few(choices: Choices, usual: int) -> Any:
    """Some value instead of a count, no large one: that would only take time."""
    count = _maybe(choices, usual)
    large = isinstance(count, int | np.integer) and count > 1000
    return 1000 if large else count


Ask = Callable[[Any, Any, Choices], Any]
_QUESTIONS: tuple[Ask, ...] = (
    lambda model, X, c: model.predict(X, known=_maybe(c)),
    lambda model, X, c: model.predict_single(X, known=_maybe(c)),
    lambda model, X, c: model.predict_marginals(X, known=_maybe(c)),
    lambda model, X, c: model.marginal_arrays(X),
    lambda model, X, c: model.predict_k_best(X, _few(c, 3), known=_maybe(c)),
    lambda model, X, c: model.predict_spans(X, min_probability=_maybe(c, 0.1)),
    lambda model, X, c: model.predict_samples(X, _few(c, 2), seed=_maybe(c, 1)),
    lambda model, X, c: model.log_likelihood(X, _maybe(c)),
    lambda model, X, c: model.entropy(X, known=_maybe(c)),
    lambda model, X, c: model.answer(
        X, marginals=c.chance(100), spans=c.chance(100), k_best=_few(c, 2), known=_maybe(c)
    ),
    lambda model, X, c: model.explain(X, known=_maybe(c)),
    lambda model, X, c: model.explain(X[0]) if isinstance(X, list) and X else None,
    lambda model, X, c: model.score(X, _maybe(c, TAGS)),
    lambda model, X, c: model.evaluate(X, _maybe(c, TAGS), rule=_maybe(c, "auto"), examples=_few(c, 2)),
    lambda model, X, c: model.view(_maybe(c, 3), _maybe(c)),
    lambda model, X, c: list(model.chains(X)),
    lambda model, X, c: model.save(_maybe(c, "model")),
)


class Settings(Values):
    """Every setting of every estimator that needs no PyTorch, and what `fit` takes."""

    name = "settings"

    def use(self, data: bytes) -> None:
        choices = Choices(data)
        kind, settings, X, y = choices.of(_ESTIMATORS)
        settings = dict(settings)
        names = [name for name in kind().get_params(deep=False) if name not in ("max_seconds", "callbacks", "verbose")]
        for _ in range(1 + choices.chance(60)):
            settings[choices.of(names)] = _no_function(value(choices))
        if choices.chance(60):
            X = value(choices)
        if choices.chance(60):
            y = value(choices)
        given = {"sample_weight": value(choices)} if kind is CRF and choices.chance(30) else {}
        kind(**settings).fit(X, y, **given)


_SHORT: dict[str, Any] = {"max_iterations": 2, "max_seconds": 0.3}
_ESTIMATORS: tuple[tuple[Any, dict[str, Any], Any, Any], ...] = (
    (CRF, {"features": TEMPLATE, **_SHORT}, WORDS, TAGS),
    (CRF, _SHORT, ITEMS, TAGS),
    (CRF, {**_SHORT, "algorithm": "sgd:passes=2"}, ITEMS, TAGS),
    (CRF, {**_SHORT, "algorithm": "ap:passes=2"}, ITEMS, TAGS),
    (HMM, {}, WORDS, TAGS),
    (HMM, {"n_states": 2, **_SHORT}, NUMBERS, None),
    (HMM, {"n_states": 2, "emission": "gaussian", **_SHORT}, VECTORS, None),
    (HMM, {"n_states": 2, "emission": "mixture", **_SHORT}, VECTORS, None),
    (TrigramTagger, {}, WORDS, TAGS),
    (MEMM, {"features": TEMPLATE, **_SHORT}, WORDS, TAGS),
    (MaxEnt, _SHORT, ITEMS, TAGS),
    (SemiCRF, {"features": PLAIN, **_SHORT}, WORDS, TAGS),
)


class Arguments(Values):
    """Functions of the public rooms, each with some of its arguments wrong."""

    name = "arguments"

    def valid(self) -> list[bytes]:
        self.corpus = Corpus.from_sentences([(x, y) for x, y in zip(WORDS, TAGS, strict=True) if x])
        readers.write(self.corpus, f"{self.scratch}/columns.txt")
        readers.write(self.corpus, f"{self.scratch}/lines.jsonl")
        readers.write(self.corpus, f"{self.scratch}/words.conllu")
        return super().valid()

    def use(self, data: bytes) -> None:
        choices = Choices(data)
        choices.of(_FUNCTIONS)(choices, self.corpus)


def _consumed(blocks: Any) -> None:
    for _ in blocks:
        pass


_EVEN = Chain(np.zeros((3, 2)), np.zeros((2, 2)))
_PLAIN = Template.parse(TEMPLATE)
_FUNCTIONS: tuple[Callable[[Choices, Corpus], Any], ...] = (
    lambda c, corpus: readers.read_columns(
        _maybe(c, "columns.txt"), label=_maybe(c, -1), encoding=_maybe(c, "utf-8"), strict=_maybe(c, True)
    ),
    lambda c, corpus: readers.read_columns(
        "columns.txt", names=_maybe(c), comment=_maybe(c, ""), docstart=_maybe(c, False)
    ),
    lambda c, corpus: _consumed(
        readers.iter_columns("columns.txt", block_bytes=_maybe(c, 10), label=_maybe(c, -1), strict=_maybe(c, True))
    ),
    lambda c, corpus: readers.read_jsonl(
        _maybe(c, "lines.jsonl"), tokenizer=_maybe(c, "words"), scheme=_maybe(c, "IOB2"), strict=_maybe(c, True)
    ),
    lambda c, corpus: readers.read_conllu(
        _maybe(c, "words.conllu"), tag=_maybe(c, "upos"), encoding=_maybe(c, "utf-8"), strict=_maybe(c, True)
    ),
    lambda c, corpus: readers.read_text(
        _maybe(c, "columns.txt"), _no_function(_maybe(c, "words")), encoding=_maybe(c, "utf-8")
    ),
    lambda c, corpus: readers.read(_maybe(c, "lines.jsonl"), _maybe(c)),
    lambda c, corpus: readers.write(_maybe(c, corpus), _maybe(c, "written"), _maybe(c)),
    lambda c, corpus: readers.write_columns(_maybe(c, corpus), "written", separator=_maybe(c, " ")),
    lambda c, corpus: readers.write_jsonl(corpus, "written", form=_maybe(c, "tokens"), scheme=_maybe(c, "IOB2")),
    lambda c, corpus: readers.as_corpus(value(c)),
    lambda c, corpus: readers.corpus_of_texts(_maybe(c, ["a b"]), _no_function(_maybe(c, "words"))),
    lambda c, corpus: readers.tokenize(_maybe(c, "a b"), _maybe(c, "words")),
    lambda c, corpus: Corpus.from_sentences(value(c)),
    lambda c, corpus: Corpus({"token": Column.of(["a", "b"])}, value(c)),
    lambda c, corpus: Column.of(value(c)),
    lambda c, corpus: corpus.split(_maybe(c, 0.5), _maybe(c, 1)),
    lambda c, corpus: corpus.head(_maybe(c, 1)),
    lambda c, corpus: corpus.column(value(c)),
    lambda c, corpus: detect(_maybe(c, TAGS)),
    lambda c, corpus: validate(_maybe(c, TAGS), _maybe(c, "IOB2")),
    lambda c, corpus: repair(_maybe(c, TAGS), _maybe(c, "IOB2"), _maybe(c, "discard")),
    lambda c, corpus: convert(_maybe(c, TAGS), _maybe(c, "IOB2"), _maybe(c, "BIOES"), repair=_maybe(c, "raise")),
    lambda c, corpus: legal(_maybe(c, ["O", "B-X"]), _maybe(c, "IOB2")),
    lambda c, corpus: tags_to_spans(_maybe(c, ["O", "B-X"]), _maybe(c, "IOB2"), _maybe(c, "raise")),
    lambda c, corpus: spans_to_tags(_maybe(c, [(0, 1, "X")]), _few(c, 2), _maybe(c, "IOB2")),
    lambda c, corpus: Dictionary(_maybe(c, {"a": "X"}), _maybe(c), tokenizer=_maybe(c, "words")),
    lambda c, corpus: Dictionary({"a": "X"}, priority=_maybe(c, "feature"), conflicts=_maybe(c, "error")),
    lambda c, corpus: Dictionary({"a": "X"}).match(value(c)),
    lambda c, corpus: Vocabulary.of(value(c)),
    lambda c, corpus: Template.parse(value(c)),
    lambda c, corpus: expand(_PLAIN, corpus, min_frequency=_maybe(c, 1), hash_bits=_maybe(c)),
    lambda c, corpus: items_to_features(_maybe(c, ITEMS), _maybe(c), hash_bits=_maybe(c)),
    lambda c, corpus: compile_corpus(_maybe(c, [corpus]), _maybe(c, "compiled"), _no_function(_maybe(c, TEMPLATE))),
    lambda c, corpus: evaluate(
        _maybe(c, TAGS), _maybe(c, TAGS), _maybe(c, "conlleval:IOB2"), tokens=_maybe(c), examples=_few(c, 2)
    ),
    lambda c, corpus: Chain.from_sentences(_maybe(c, [[[0.0, 1.0]]]), _maybe(c, [[0, 0], [0, 0]]), _maybe(c)),
    lambda c, corpus: engine.use_engine(value(c)),
    lambda c, corpus: engine.span_probability(_EVEN, value(c)),
    lambda c, corpus: engine.constrain(_EVEN, **{c.of(("rules", "allowed", "known", "start")): value(c)}),
)


DOORS = (Questions, Settings, Arguments)
