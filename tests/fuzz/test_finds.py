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
        "k: expected a whole number .*, got a value of type int",
    ),
    "k that is an array": (lambda: engine.k_best(EVEN, np.zeros((3, 2))), "k: expected a whole number .*, got array"),  # type: ignore[arg-type]
    "seed": (lambda: engine.sample_paths(EVEN, 1, "x"), "seed: expected a whole number of 0 or more"),  # type: ignore[arg-type]
    "count": (lambda: engine.sample_paths(EVEN, 2**62), r"count: .* labellings of .* more than half of the memory"),
    "a label of many digits": (
        lambda: engine.span_probability(EVEN, [(0, 0, [-DIGITS])]),
        "expected labels from 0 to 1, got a value of type int",
    ),
    "an encoding that is an array": (
        lambda: readers.read_columns(os.devnull, encoding=np.zeros(0)),  # type: ignore[arg-type]
        "encoding: expected a name that Python knows",
    ),
    "spans": (lambda: engine.span_probability(EVEN, POINT), "spans: expected a list of"),  # type: ignore[arg-type]
    "rules": (lambda: engine.constrain(EVEN, rules=3), "rules: expected those of"),  # type: ignore[arg-type]
    "engine": (lambda: engine.use_engine(np.zeros(2)), "engine: expected one of native, naive, got array"),  # type: ignore[arg-type]
    "emissions": (lambda: Chain.from_sentences(POINT, [[0.0]]), "emissions: expected a list of sentences"),  # type: ignore[arg-type]
    "X of words": (lambda: WORDED.predict(POINT), "X: expected a Corpus or a list of sentences"),
    "X of items": (lambda: ITEMISED.predict([POINT]), "expected a list"),
    "tokens that are tuples": (lambda: WORDED.predict([[(("a",),)]]), "expected tuples of strings as tokens"),
    "tokens that are empty tuples": (lambda: WORDED.predict([[()]]), r"X\[0\]: expected tokens"),
    "known": (lambda: WORDED.predict(WORDS, known=POINT), "known: expected a list for each sentence"),
    "known of a sentence": (lambda: WORDED.predict([["a"]], known=[POINT]), r"known\[0\]: expected a list of 1"),
    "y": (lambda: CRF(TEMPLATE).fit(WORDS, POINT), "y: expected a list of sentences"),
    "y of a sentence": (lambda: CRF(TEMPLATE).fit([["a"]], [POINT]), r"y\[0\]: expected a list of labels"),
    "states": (lambda: NAMED.predict(WORDS[:1], known=[POINT]), "known"),
    "view": (lambda: WORDED.view("x"), "n: expected 0 or more, got 'x'"),  # type: ignore[arg-type]
    "view of labels": (lambda: WORDED.view(3, np.array(1)), "labels: expected a list of labels"),  # type: ignore[arg-type]
    "view of a state": (lambda: NAMED.view(3, [DIGITS]), "label: expected one of .*, got 'a value"),  # type: ignore[list-item]
    "save": (lambda: WORDED.save(b"x"), "path: expected the name of a file, got bytes"),  # type: ignore[arg-type]
    "save at zero": (lambda: WORDED.save("a\0b"), "path: expected the name of a file"),
    "answer": (lambda: NUMBERED.answer({"x": 1}), "X: expected a sequence of symbols"),
    "unhashable symbols": (lambda: NUMBERED.predict([[([],)]]), "X: expected symbols that can be keys"),
    "negative symbols": (lambda: NUMBERED.predict([[DIGITS]]), "X: expected integers of 0 or more"),
    "huge observations": (
        lambda: HMM(1, emission="gaussian").fit([[[10**400]]]),
        r"X\[0\]: expected numbers, got \[\[1000",
    ),
    "n_init": (lambda: HMM(2, n_init=10**9).fit([[0, 1]]), "n_init: expected a whole number from 1 to 10000"),
    "n_components": (
        lambda: HMM(2, emission="mixture", n_components=2**31).fit([[[0.0], [1.0]]]),
        "n_components: expected 1 or more, up to",
    ),
    "frozen": (lambda: HMM(2, frozen=POINT).fit([[0, 1]]), "frozen: expected names of parameters"),
    "strict": (lambda: readers.read_conllu("x", strict=np.zeros(2)), "strict: expected True or False, got array"),  # type: ignore[arg-type]
    "strict lines": (lambda: readers.read_jsonl("x", strict=np.zeros(2)), "strict: expected True or False"),  # type: ignore[arg-type]
    "a long path": (lambda: readers.read_columns("x" * 5000), "path: expected the name of a file"),
    "format": (lambda: readers.read("x", ["jsonl"]), "format: expected one of columns"),  # type: ignore[arg-type]
    "tokenizer": (lambda: readers.tokenize("a", []), "tokenizer: expected one of"),  # type: ignore[arg-type]
    "text": (lambda: readers.tokenize(3), "text: expected a string, got 3"),  # type: ignore[arg-type]
    "texts": (lambda: readers.corpus_of_texts(POINT), "texts: expected a list of strings"),  # type: ignore[arg-type]
    "block_bytes": (lambda: list(readers.iter_columns("x", block_bytes=2**60)), "block_bytes: expected"),
    "corpus": (lambda: readers.as_corpus(POINT), "corpus: expected a Corpus"),
    "no columns": (lambda: Corpus.from_sentences([{}]), "sentence 0: expected columns with names"),
    "a column": (lambda: Corpus.from_sentences([{"token": POINT}]), "sentence 0: expected lists of strings"),
    "gold labels": (lambda: evaluate([POINT], [["O"]], None), "gold, sentence 0: expected a list of labels"),  # type: ignore[list-item]
    "offsets": (lambda: Corpus({"token": Column.of(["a"])}, ["O"]), "offsets: expected whole numbers"),  # type: ignore[list-item]
    "offsets without axes": (lambda: Corpus({"token": Column.of(["a"])}, 3), "offsets: expected whole numbers"),
    "column": (lambda: CORPUS.column([]), "column .*: expected one of token, tag"),  # type: ignore[arg-type]
    "fraction": (lambda: CORPUS.split({}), "fraction: expected 0 to 1"),  # type: ignore[arg-type]
    "seed of a split": (lambda: CORPUS.split(0.5, "x"), "seed: expected a whole number"),  # type: ignore[arg-type]
    "tags": (lambda: detect(POINT), "tags: expected a list of tags"),  # type: ignore[arg-type]
    "policy": (lambda: repair(TAGS, "IOB2", np.zeros(2)), "repair: expected one of conlleval"),  # type: ignore[arg-type]
    "a long tag": (lambda: convert([["x" * 5000]], "IOB2", "BIOES"), "expected a tag of IOB2 .*, got 'xx*…"),
    "labels of rules": (lambda: legal(3, "IOB2"), "labels: expected a list of tags"),  # type: ignore[arg-type]
    "length": (lambda: spans_to_tags([], (), "IOB2"), "length: expected 0 tokens or more"),  # type: ignore[arg-type]
    "a span": (lambda: spans_to_tags([3], 2, "IOB2"), r"spans: expected \(start, end, label\), got 3"),  # type: ignore[list-item]
    "entries": (lambda: Dictionary(POINT), "entries: expected a mapping or a list of phrases"),  # type: ignore[arg-type]
    "priority": (lambda: Dictionary({}, priority=np.zeros(2)), "priority: expected one of"),  # type: ignore[arg-type]
    "tokens to match": (lambda: Dictionary({"a": "X"}).match(0.5), "text: expected a list of tokens"),  # type: ignore[call-overload]
    "names": (lambda: Vocabulary.of(True), "names: expected a list of strings, got True"),  # type: ignore[arg-type]
    "hash_bits": (lambda: expand(Template.parse(TEMPLATE), CORPUS, hash_bits=()), "hash_bits: expected 1 to 30"),  # type: ignore[arg-type]
    "rule": (lambda: evaluate(TAGS, TAGS, np.zeros(0)), "rule: expected a name"),  # type: ignore[arg-type]
    "examples": (lambda: evaluate(TAGS, TAGS, "conlleval:IOB2", examples="x"), "examples: expected a whole number"),  # type: ignore[arg-type]
    "source": (lambda: compile_corpus(0.5, "x", TEMPLATE), "source: expected a file or corpora"),  # type: ignore[arg-type]
    "half a character in a template": (lambda: Template.parse("U:%x[0,0]\nU1\udcff"), "<template>:2: expected Unicode"),
    "a long macro": (lambda: Template.parse("U:%x[0,0:" + "digit:" * 2000), "<template>:1: expected .* … "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_short_line(name: str) -> None:
    ask, message = REFUSED[name]
    with pytest.raises(TaglineError) as caught:
        ask()
    text = str(caught.value)
    assert re.search(message, text), text
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
    limits: dict[str, Any] = {"epsilon": 10**400, "delta": 10**400, "period": np.uint8(1)}
    assert CRF(max_iterations=3, **limits).fit(ITEMS, TAGS).stop_reason_.startswith("converged")
    assert CRF(max_iterations=3, epsilon=0, delta=1e300, period=np.uint8(1)).fit(ITEMS, TAGS).predict(ITEMS)  # type: ignore[arg-type]


def test_probabilities_of_huge_scores_are_at_most_one() -> None:
    random = np.random.default_rng(11)
    huge = Chain(random.normal(size=(9, 4)) * 1e100, random.normal(size=(4, 4)) * 1e289)
    for name in engine.ENGINES:
        with engine.using_engine(name):
            assert (engine.k_best(huge, 3)[0].probabilities <= 1).all()


@pytest.mark.parametrize("text", [b"the 0.5\n42\n", b"1 " + b"9" * 5000])
def test_vectors_without_a_word_or_with_too_many_digits(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(text)
    with pytest.raises(InputError, match=r"v\.txt:\d: expected"):
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
        ({"model": {"vocab": {"[UNK]": 0, "a": 2**32 - 1}}}, "expected pieces by numbers below 2147483647"),
        ({"post_processor": {**CLS, "special_tokens": {}}}, "expected one that cuts any word into pieces"),  # a panic
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
    "bounds that fall": (lambda config, arrays: arrays["bounds"].__setitem__(1, 100), "bounds that rise from 0 to 11"),
    "bounds of bytes": (
        lambda config, arrays: arrays.update(bounds=arrays["bounds"].astype(np.uint8)),
        "'bounds' as int64",
    ),
    "offsets that fall": (lambda config, arrays: arrays["state_offsets"].__setitem__(1, 99), "state_offsets that rise"),
    "offsets of edges": (lambda config, arrays: arrays["edge_offsets"].__setitem__(2, 99), "edge_offsets that rise"),
    "ids": (lambda config, arrays: arrays["state_ids"].__setitem__(0, 10**6), "numbers from 0 to .* in state_ids"),
    "edge ids": (lambda config, arrays: arrays["edge_ids"].__setitem__(0, -1), "numbers from 0 to .* in edge_ids"),
    "labels": (lambda config, arrays: arrays["labels"].__setitem__(0, 7), "numbers from 0 to 3 in labels"),
    "names of labels": (lambda config, arrays: config.update(labels=[["O"], "A", "B", "C"]), "labels that are strings"),
    "hash_bits": (lambda config, arrays: config.update(hash_bits=99), "hash_bits from 1 to 30"),
    "both": (lambda config, arrays: config.update(hash_bits=9), "names of attributes or hash_bits"),
    "template": (lambda config, arrays: config.update(template=[1]), "'template' of type str"),
    "kind": (lambda config, arrays: config.update(kind="a\nb"), r"got a file of the kind 'a\\nb'"),
    "nothing": (lambda config, arrays: arrays.pop("labels"), "an array 'labels'"),
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
    with pytest.raises(InputError, match="compiled with, got others"):
        CRF(TEMPLATE, hash_bits=4).fit(compiled)
    without = replace(compiled, features=replace(compiled.features, edges=None))  # the template has B lines
    with pytest.raises(InputError, match="compiled with, got others"):
        CRF(TEMPLATE, hash_bits=10).fit(without)


# Checkpoints.

STATES: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = {
    "a state without its mean": (
        lambda config, arrays: arrays.pop("optimiser/0/exp_avg"),
        "exp_avg, .* of parameter 0",
    ),
    "a state without its step": (lambda config, arrays: arrays.pop("optimiser/1/step"), "step of parameter 1"),
    "a step below 0": (lambda config, arrays: arrays["optimiser/0/step"].fill(-1), "step of parameter 0"),
    "an epoch before the first": (lambda config, arrays: config.update(epoch=0), "1 to 4 as the epoch, got 0"),
    "an epoch after the last": (lambda config, arrays: config.update(epoch=9), "1 to 4 as the epoch, got 9"),
    "a step of no epoch": (lambda config, arrays: config.update(step=-1), "0 to 3 as the step, got -1"),
    "a short history": (lambda config, arrays: config.update(history=[]), "1 epochs in the history, got 0"),
    "a loss that is a list": (
        lambda config, arrays: config["history"][0].update(loss=[1]),
        "in the history, got: loss",
    ),
    "a best epoch to come": (lambda config, arrays: config["best"].update(epoch=7), "as the best epoch, got 7"),
    "updates below 0": (lambda config, arrays: config.update(updates=-9), "as updates of the mean, got -9"),
}


@pytest.mark.parametrize("name", STATES)
def test_damaged_checkpoints(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.fuzz.doors.networks import Checkpoints

    door = Checkpoints(tmp_path)
    file = storage.loads(door.seeds[0])
    config, arrays = dict(file.config), {name: np.array(array) for name, array in file.tensors.items()}
    change, message = STATES[name]
    change(config, arrays)
    with pytest.raises(StorageError, match=message):
        door.use(storage.dumps(config, arrays))


def test_labels_of_no_token_may_be_of_any_type() -> None:
    nothing = Chain(np.empty((0, 2)), np.zeros((2, 2)))
    assert engine.score(nothing, np.array([], "U1")).tolist() == [0.0]
    assert engine.constrain(nothing, known=np.array([], "S1")).num_tokens == 0


def test_a_penalty_beyond_the_integers_of_numpy() -> None:
    model = CRF(TEMPLATE, algorithm="sgd", c2=2**70, passes=1).fit(WORDS, TAGS)
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
    with pytest.raises(InputError, match=r'got \[0, 3, .PER.\] \("An "\); use another tokenizer'):
        readers.read_jsonl(path)
