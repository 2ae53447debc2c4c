"""What was found once and mended: each was a raw exception, a wrong answer or a message nobody can read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline import CRF, HMM, Corpus, Dictionary, Template, readers, storage
from tagline import chain as engine
from tagline.errors import InputError, StorageError, TaglineError
from tagline.evaluation import evaluate
from tagline.features.expansion import expand
from tagline.features.lexicons.embeddings import read_embeddings
from tagline.features.vocabulary import Vocabulary
from tagline.models.crf.compilation import CompiledCorpus, compile_corpus
from tagline.readers.corpus import Column
from tagline.readers.rules import legal
from tagline.readers.schemes import convert, detect, repair, spans_to_tags
from tagline.training import Auto
from tagline.types import Chain
from tests.fuzz.doors.files import ITEMS, TAGS, TEMPLATE, WORDS

POINT = np.array(3)  # an array without axes, which says that it can be gone through
DIGITS = -(10**5000)  # more than Python writes
EVEN = Chain(np.zeros((3, 2)), np.zeros((2, 2)))
CORPUS = Corpus.from_sentences([(x, y) for x, y in zip(WORDS, TAGS, strict=True) if x])
NUMBERED = HMM(2, max_iterations=1, random_state=0).fit([[0, 1, 0, 2]])
NAMED = HMM().fit(WORDS, TAGS)
WORDED = CRF(TEMPLATE, max_iterations=1).fit(WORDS, TAGS)
ITEMISED = CRF(max_iterations=1).fit(ITEMS, TAGS)

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "k of many digits": (
        lambda: engine.k_best(EVEN, DIGITS),
        r"^k: ",
    ),
    "k that is an array": (lambda: engine.k_best(EVEN, np.zeros((3, 2))), r"^k: "),  # type: ignore[arg-type]
    "seed": (lambda: engine.sample_paths(EVEN, 1, "x"), r"^seed: "),  # type: ignore[arg-type]
    "count": (lambda: engine.sample_paths(EVEN, 2**62), r"^count: .* GiB"),
    "a label of many digits": (
        lambda: engine.span_probability(EVEN, [(0, 0, [-DIGITS])]),
        r"^spans\[0\]: ",
    ),
    "an encoding that is an array": (
        lambda: readers.read_columns(os.devnull, encoding=np.zeros(0)),  # type: ignore[arg-type]
        r"^encoding: ",
    ),
    "spans": (lambda: engine.span_probability(EVEN, POINT), r"^spans: "),  # type: ignore[arg-type]
    "rules": (lambda: engine.constrain(EVEN, rules=3), r"^rules: "),  # type: ignore[arg-type]
    "engine": (lambda: engine.use_engine(np.zeros(2)), r"^engine: "),  # type: ignore[arg-type]
    "emissions": (lambda: Chain.from_sentences(POINT, [[0.0]]), r"^emissions: "),  # type: ignore[arg-type]
    "X of words": (lambda: WORDED.predict(POINT), r"^X: "),
    "X of items": (lambda: ITEMISED.predict([POINT]), r": .*\bsentences\b"),
    "tokens that are tuples": (lambda: WORDED.predict([[(("a",),)]]), r"^X\[0\]: "),
    "tokens that are empty tuples": (lambda: WORDED.predict([[()]]), r"^X\[0\]: "),
    "known": (lambda: WORDED.predict(WORDS, known=POINT), r"^known: "),
    "known of a sentence": (lambda: WORDED.predict([["a"]], known=[POINT]), r"^known\[0\]: "),
    "y": (lambda: CRF(TEMPLATE).fit(WORDS, POINT), r"^y: "),
    "y of a sentence": (lambda: CRF(TEMPLATE).fit([["a"]], [POINT]), r"^y\[0\]: "),
    "states": (lambda: NAMED.predict(WORDS[:1], known=[POINT]), r"^known\[0\]: "),
    "view": (lambda: WORDED.view("x"), r"^n: "),  # type: ignore[arg-type]
    "view of labels": (lambda: WORDED.view(3, np.array(1)), r"^labels: "),  # type: ignore[arg-type]
    "view of a state": (lambda: NAMED.view(3, [DIGITS]), r"^label: "),  # type: ignore[list-item]
    "save": (lambda: WORDED.save(b"x"), r"^path: "),  # type: ignore[arg-type]
    "save at zero": (lambda: WORDED.save("a\0b"), r"^path: "),
    "answer": (lambda: NUMBERED.answer({"x": 1}), r"^X: "),
    "unhashable symbols": (lambda: NUMBERED.predict([[([],)]]), r"^X: "),
    "negative symbols": (lambda: NUMBERED.predict([[DIGITS]]), r"^X: "),
    "huge observations": (
        lambda: HMM(1, emission="gaussian").fit([[[10**400]]]),
        r"^X\[0\]: ",
    ),
    "n_init": (lambda: HMM(2, n_init=10**9).fit([[0, 1]]), r"^n_init: "),
    "n_components": (
        lambda: HMM(2, emission="mixture", n_components=2**31).fit([[[0.0], [1.0]]]),
        r"^n_components: ",
    ),
    "frozen": (lambda: HMM(2, frozen=POINT).fit([[0, 1]]), r"^frozen: "),
    "strict": (lambda: readers.read_conllu("x", strict=np.zeros(2)), r"^strict: "),  # type: ignore[arg-type]
    "strict lines": (lambda: readers.read_jsonl("x", strict=np.zeros(2)), r"^strict: "),  # type: ignore[arg-type]
    "a long path": (lambda: readers.read_columns("x" * 5000), r"^path: "),
    "format": (lambda: readers.read("x", ["jsonl"]), r"^format: "),  # type: ignore[arg-type]
    "tokenizer": (lambda: readers.tokenize("a", []), r"^tokenizer: "),  # type: ignore[arg-type]
    "text": (lambda: readers.tokenize(3), r"^text: "),  # type: ignore[arg-type]
    "texts": (lambda: readers.corpus_of_texts(POINT), r"^texts: "),  # type: ignore[arg-type]
    "block_bytes": (lambda: list(readers.iter_columns("x", block_bytes=2**60)), r"^block_bytes: "),
    "corpus": (lambda: readers.as_corpus(POINT), r"^corpus: "),
    "no columns": (lambda: Corpus.from_sentences([{}]), r"^sentence 0: "),
    "a column": (lambda: Corpus.from_sentences([{"token": POINT}]), r"^sentence 0: "),
    "gold labels": (lambda: evaluate([POINT], [["O"]], None), r"^gold, sentence 0: "),  # type: ignore[list-item]
    "offsets": (lambda: Corpus({"token": Column.of(["a"])}, ["O"]), r"^offsets: "),  # type: ignore[list-item]
    "offsets without axes": (lambda: Corpus({"token": Column.of(["a"])}, 3), r"^offsets: "),
    "column": (lambda: CORPUS.column([]), r"^column \[\]: "),  # type: ignore[arg-type]
    "fraction": (lambda: CORPUS.split({}), r"^fraction: "),  # type: ignore[arg-type]
    "seed of a split": (lambda: CORPUS.split(0.5, "x"), r"^seed: "),  # type: ignore[arg-type]
    "tags": (lambda: detect(POINT), r"^tags: "),  # type: ignore[arg-type]
    "policy": (lambda: repair(TAGS, "IOB2", np.zeros(2)), r"^repair: "),  # type: ignore[arg-type]
    "a long tag": (lambda: convert([["x" * 5000]], "IOB2", "BIOES"), r"^sentence 0, token 0: .*'xx*…"),
    "labels of rules": (lambda: legal(3, "IOB2"), r"^labels: "),  # type: ignore[arg-type]
    "length": (lambda: spans_to_tags([], (), "IOB2"), r"^length: "),  # type: ignore[arg-type]
    "a span": (lambda: spans_to_tags([3], 2, "IOB2"), r"^spans: "),  # type: ignore[list-item]
    "entries": (lambda: Dictionary(POINT), r"^entries: "),  # type: ignore[arg-type]
    "priority": (lambda: Dictionary({}, priority=np.zeros(2)), r"^priority: "),  # type: ignore[arg-type]
    "tokens to match": (lambda: Dictionary({"a": "X"}).match(0.5), r"^text: "),  # type: ignore[call-overload]
    "names": (lambda: Vocabulary.of(True), r"^names: "),  # type: ignore[arg-type]
    "hash_bits": (lambda: expand(Template.parse(TEMPLATE), CORPUS, hash_bits=()), r"^hash_bits: "),  # type: ignore[arg-type]
    "rule": (lambda: evaluate(TAGS, TAGS, np.zeros(0)), r"^rule: "),  # type: ignore[arg-type]
    "examples": (lambda: evaluate(TAGS, TAGS, "conlleval:IOB2", examples="x"), r"^examples: "),  # type: ignore[arg-type]
    "source": (lambda: compile_corpus(0.5, "x", TEMPLATE), r"^source: "),  # type: ignore[arg-type]
    "half a character in a template": (lambda: Template.parse("U:%x[0,0]\nU1\udcff"), r"^<template>:2: "),
    "a long macro": (lambda: Template.parse("U:%x[0,0:" + "digit:" * 2000), r"^<template>:1: .*… "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_short_line(name: str) -> None:
    ask, place = REFUSED[name]
    with pytest.raises(TaglineError) as caught:
        ask()
    text = str(caught.value)
    assert re.search(place, text), text
    assert "\n" not in text
    assert len(text) < 1000


def test_an_explanation_shows_whatever_was_observed() -> None:
    assert NUMBERED.explain([[0], [None]]).tokens[1].token == "[None]"
    assert NUMBERED.explain([0, None]).tokens[1].token == "–"


def test_answers_about_one_array() -> None:
    assert [answer.labels for answer in NUMBERED.answer(np.array([0, 1, 2]), lengths=[2, 1])] == [
        [str(state) for state in row] for row in NUMBERED.predict([[0, 1], [2]])
    ]


def test_a_switch_may_be_one() -> None:
    assert CRF(start_end=1, max_iterations=1).fit(ITEMS, TAGS).predict(ITEMS[:1])  # type: ignore[arg-type]


def test_limits_may_be_any_numbers() -> None:
    for limits in (
        Auto(epsilon=10**400, delta=10**400, period=np.uint8(1)),  # type: ignore[arg-type]
        Auto(epsilon=0.0, delta=1e300, period=np.uint8(1)),  # type: ignore[arg-type]
    ):
        model = CRF(max_iterations=3, algorithm=limits).fit(ITEMS, TAGS)
        assert model.stop_reason_.startswith("converged")
        assert model.predict(ITEMS)


def test_probabilities_of_huge_scores_are_at_most_one() -> None:
    random = np.random.default_rng(11)
    huge = Chain(random.normal(size=(9, 4)) * 1e100, random.normal(size=(4, 4)) * 1e289)
    for name in engine.ENGINES:
        with engine.using_engine(name):
            assert (engine.k_best(huge, 3)[0].probabilities <= 1).all()


@pytest.mark.parametrize("text", [b"the 0.5\n42\n", b"1 " + b"9" * 5000])
def test_vectors_without_a_word_or_with_too_many_digits(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(text)
    with pytest.raises(InputError, match=r"v\.txt:\d: "):
        read_embeddings(tmp_path / "v.txt")


def test_a_first_token_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("\n\ufeffword tag\n", encoding="utf-8")
    read = readers.read_columns(tmp_path / "in.txt")
    readers.write_columns(read, tmp_path / "out.txt")
    assert readers.read_columns(tmp_path / "out.txt").tokens == read.tokens == [["\ufeffword"]]


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no folder in memory")
def test_a_file_in_memory_is_replaced(tmp_path: Path) -> None:
    path = f"/dev/shm/tagline-test-{os.getpid()}.jsonl"
    try:
        for _ in range(2):
            readers.write_jsonl(CORPUS, path)
        assert readers.read_jsonl(path).tokens == CORPUS.tokens  # it was added to
    finally:
        os.unlink(path)


CLS = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}], "pair": []}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"vocab": {"[UNK]": 0, "a": 2**32 - 1}}}, r".*\b2147483647\b"),
        ({"post_processor": {**CLS, "special_tokens": {}}}, ""),  # a panic
    ],
)
def test_tokenizers_that_cannot_be_used(change: dict[str, Any], message: str) -> None:
    pytest.importorskip("tokenizers")
    from tagline.features.subwords import PieceTable

    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "vocab": {"[UNK]": 0, "a": 1},
    }
    model |= {"max_input_chars_per_word": 100, **change.get("model", {})}
    parts = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")
    document = {"version": "1.0", "added_tokens": [], **dict.fromkeys(parts), **change, "model": model}
    with pytest.raises(InputError, match=f"tokenizer: {message}"):
        PieceTable(json.dumps(document), unknown=0, padding=0)


# Compiled corpora.

DAMAGE: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = {
    "bounds that fall": (lambda config, arrays: arrays["bounds"].__setitem__(1, 100), r"\bbounds\b"),
    "bounds of bytes": (
        lambda config, arrays: arrays.update(bounds=arrays["bounds"].astype(np.uint8)),
        "'bounds'",
    ),
    "offsets that fall": (lambda config, arrays: arrays["state_offsets"].__setitem__(1, 99), "state_offsets"),
    "offsets of edges": (lambda config, arrays: arrays["edge_offsets"].__setitem__(2, 99), "edge_offsets"),
    "ids": (lambda config, arrays: arrays["state_ids"].__setitem__(0, 10**6), "state_ids"),
    "edge ids": (lambda config, arrays: arrays["edge_ids"].__setitem__(0, -1), "edge_ids"),
    "labels": (lambda config, arrays: arrays["labels"].__setitem__(0, 7), r"\b3\b.*\blabels\b"),
    "names of labels": (lambda config, arrays: config.update(labels=[["O"], "A", "B", "C"]), r"\blabels\b.*\['O'\]"),
    "hash_bits": (lambda config, arrays: config.update(hash_bits=99), "hash_bits"),
    "both": (lambda config, arrays: config.update(hash_bits=9), "hash_bits"),
    "template": (lambda config, arrays: config.update(template=[1]), "'template'"),
    "kind": (lambda config, arrays: config.update(kind="a\nb"), r"'a\\nb'"),
    "nothing": (lambda config, arrays: arrays.pop("labels"), "'labels'"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_compiled_corpora(name: str, tmp_path: Path) -> None:
    compile_corpus([CORPUS], tmp_path / "c", TEMPLATE)
    file = storage.read(tmp_path / "c")
    config, arrays = dict(file.config), {name: np.array(array) for name, array in file.tensors.items()}
    change, message = DAMAGE[name]
    change(config, arrays)
    storage.write(tmp_path / "d", config, arrays)
    with pytest.raises(StorageError, match=message) as caught:
        CompiledCorpus.open(tmp_path / "d")
    assert "\n" not in str(caught.value)


def test_a_compiled_corpus_is_used_as_it_was_compiled(tmp_path: Path) -> None:
    compiled = compile_corpus([CORPUS], tmp_path / "c", TEMPLATE, hash_bits=10)
    with pytest.raises(InputError, match=r"^features: "):
        CRF(TEMPLATE, hash_bits=4).fit(compiled)
    without = replace(compiled, features=replace(compiled.features, edges=None))  # the template has B lines
    with pytest.raises(InputError, match=r"^features: "):
        CRF(TEMPLATE, hash_bits=10).fit(without)


# Checkpoints.

STATES: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = {
    "a state without its mean": (
        lambda state, arrays: arrays.pop("algorithm/optimiser/0/exp_avg"),
        r"\bexp_avg\b.* 0\b",
    ),
    "a state without its step": (lambda state, arrays: arrays.pop("algorithm/optimiser/1/step"), r"\bstep\b.* 1\b"),
    "a step below 0": (lambda state, arrays: arrays["algorithm/optimiser/0/step"].fill(-1), r"\bstep\b.* 0\b"),
    "an epoch before the first": (lambda state, arrays: state["algorithm"].update(epoch=0), r"\bepoch\b.* 0\b"),
    "an epoch after the last": (lambda state, arrays: state["algorithm"].update(epoch=9), r"\bepoch\b.* 9\b"),
    "a step of no epoch": (lambda state, arrays: state["algorithm"].update(step=-1), r"\bstep\b.* -1\b"),
    "a short history": (lambda state, arrays: state.update(history=[]), r"\b0 passes\b"),
    "an objective that is a list": (
        lambda state, arrays: state["history"][0].update(objective=[1]),
        r"\bhistory\b.*\[1\]",
    ),
    "a best epoch to come": (lambda state, arrays: state["best"].update(number=7), r"\b7\b"),
    "updates below 0": (lambda state, arrays: state["algorithm"].update(updates=-9), r"\bupdates\b.* -9\b"),
}


@pytest.mark.parametrize("name", STATES)
def test_damaged_checkpoints(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.fuzz.doors.networks import Checkpoints

    door = Checkpoints(tmp_path)
    file = storage.loads(door.seeds[0])
    config, arrays = dict(file.config), {name: np.array(array) for name, array in file.tensors.items()}
    change, message = STATES[name]
    change(config["state"], arrays)
    with pytest.raises(StorageError, match=message):
        door.use(storage.dumps(config, arrays))


def test_labels_of_no_token_may_be_of_any_type() -> None:
    nothing = Chain(np.empty((0, 2)), np.zeros((2, 2)))
    assert engine.score(nothing, np.array([], "U1")).tolist() == [0.0]
    assert engine.constrain(nothing, known=np.array([], "S1")).num_tokens == 0


def test_a_penalty_beyond_the_integers_of_numpy() -> None:
    model = CRF(TEMPLATE, algorithm="sgd:passes=1", c2=2**70).fit(WORDS, TAGS)
    assert np.isfinite(model.parameters_.weights).all()


def test_labellings_that_fit_into_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(engine.dispatch._backends[engine.engine()], "k_best", full)
    with pytest.raises(InputError, match="k: expected labellings that fit into memory, got 9 for each of 1 sentences"):
        engine.k_best(EVEN, 9)


def test_a_tolerance_beyond_floats() -> None:
    model = HMM(2, tolerance=10**400, random_state=0).fit([[0, 1, 0, 2]])
    assert "rose by less than 1.79769e+308" in model.training_.reason


def test_quoted_texts_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "An\n\nna", "spans": [[0, 3, "PER"]]}))
    with pytest.raises(InputError, match=r'a\.jsonl:1: .*\[0, 3, .PER.\] \("An "\)'):
        readers.read_jsonl(path)
