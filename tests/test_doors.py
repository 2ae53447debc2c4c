"""Every public door refuses wrong values with an error of ours: no raw exception, no hang, no silent wrong answer."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline import CRF, HMM, MEMM, Corpus, MaxEnt, SemiCRF, Template, TrigramTagger, load, storage
from tagline.errors import InputError, StorageError, TaglineError
from tagline.models.crf.compilation import compile_corpus
from tagline.readers import (
    iter_columns,
    read_columns,
    read_conllu,
    read_jsonl,
    read_text,
    write_columns,
    write_conllu,
    write_jsonl,
    write_text,
)
from tagline.training import SGD, Auto

WORDS, LABELS = [["a", "b"], ["c"]] * 3, [["A", "B"], ["C"]] * 3
TAGS = [["B-X", "I-X"], ["O"]] * 3
ITEMS = [[{"w": word} for word in sentence] for sentence in WORDS]
PLAIN = "U0:%x[0,0]\n"
HALF = "\udcff"  # of a surrogate pair: no character, no UTF-8


def nested(depth: int) -> list[Any]:
    inside: list[Any] = []
    for _ in range(depth):
        inside = [inside]
    return inside


def error_of(door: Callable[[], Any]) -> Exception | None:
    try:
        door()
    except Exception as error:
        return error
    return None


def crf(**settings: Any) -> CRF:
    return CRF(**settings).fit(ITEMS, LABELS)


def templated(**settings: Any) -> CRF:
    return CRF(PLAIN, **settings).fit(WORDS, LABELS)


def patient(patience: Any) -> CRF:
    return CRF(patience=patience).fit(ITEMS, LABELS, X_dev=ITEMS, y_dev=LABELS)


def segments(**settings: Any) -> SemiCRF:
    return SemiCRF(PLAIN, **settings).fit(WORDS, TAGS)


def hmm(**settings: Any) -> HMM:
    return HMM(2, **settings).fit([[0, 1, 0]])


def counted(**settings: Any) -> HMM:
    return HMM(**settings).fit(WORDS, LABELS)


def trigram(**settings: Any) -> TrigramTagger:
    return TrigramTagger(**settings).fit(WORDS, LABELS)


SETTINGS: dict[str, tuple[Callable[[], Any], str]] = {
    "c1": (lambda: crf(c1="x"), "c1: expected .*0.*, got 'x'"),
    "c1 true": (lambda: crf(c1=True), "c1: expected .*0.*, got True"),
    "c2 none": (lambda: crf(c2=None), "c2: expected .*0.*, got None"),
    "c2 NaN": (lambda: crf(c2=float("nan")), "c2: expected .*0.*, got nan"),
    "c2 huge": (lambda: crf(c2=10**400), "c2: expected .*0.*, got 1000"),
    "c2 of thousands of digits": (lambda: crf(c2=10**5000), "c2: expected .*0.*, got a value"),
    "algorithm": (lambda: crf(algorithm=None), "algorithm: expected one of auto, lbfgs, .*, got None"),
    "algorithm list": (lambda: crf(algorithm=["sgd"]), r"algorithm: expected one of .*, got \['sgd'\]"),
    "unknown setting of an algorithm": (
        lambda: crf(algorithm="lbfgs:foo=1"),
        "algorithm: expected settings of lbfgs among .*max_linesearch.*, got 'foo'",
    ),
    "rate": (lambda: crf(algorithm=SGD(rate="x")), r"algorithm\.rate: expected a number above 0, got 'x'"),  # type: ignore[arg-type]
    "half a batch": (lambda: crf(algorithm=SGD(batch=1.5)), r"algorithm\.batch: expected .*got 1.5"),  # type: ignore[arg-type]
    "dictionary": (lambda: templated(dictionary=5), "dictionary: expected a Dictionary or None, got 5"),
    "epsilon": (lambda: crf(algorithm="auto:epsilon=x"), r"algorithm\.epsilon: expected 0 or more, got 'x'"),
    "epsilon none": (lambda: crf(algorithm=Auto(epsilon=None)), r"algorithm\.epsilon: expected .*, got None"),  # type: ignore[arg-type]
    "delta": (lambda: crf(algorithm=Auto(delta=[1])), r"algorithm\.delta: expected 0 or more, got \[1\]"),  # type: ignore[arg-type]
    "period": (lambda: crf(algorithm=Auto(period=None)), r"algorithm\.period: expected .*, got None"),  # type: ignore[arg-type]
    "max_iterations": (lambda: crf(max_iterations="x"), "max_iterations: expected .*, got 'x'"),
    "max_seconds": (lambda: crf(max_seconds="x"), "max_seconds: expected 0 or more, got 'x'"),
    "memory": (lambda: crf(algorithm="auto:memory=x"), r"algorithm\.memory: expected .* to 10000, got 'x'"),
    "no memory": (lambda: crf(algorithm=Auto(memory=0)), r"algorithm\.memory: expected a whole number from 1"),
    "too much memory": (lambda: crf(algorithm=Auto(memory=10**12)), r"algorithm\.memory: expected .*, got 1000"),
    "passes": (lambda: crf(algorithm="sgd:passes=x"), r"algorithm\.passes: expected a whole number .*, got 'x'"),
    "min_frequency": (lambda: crf(min_frequency="x"), "min_frequency: expected .*0.*, got 'x'"),
    "min_feature_frequency": (
        lambda: crf(min_feature_frequency="x"),
        "min_feature_frequency: expected .*0.*, got 'x'",
    ),
    "min_frequency of a template": (lambda: templated(min_frequency="x"), "min_frequency: expected a number"),
    "hash_bits": (lambda: crf(hash_bits="x"), "hash_bits: expected .*1 .*30.*, got 'x'"),
    "hash_bits of a template": (lambda: templated(hash_bits=99), "hash_bits: expected .*1 .*30.*, got 99"),
    "hash_bits true": (lambda: templated(hash_bits=True), "hash_bits: expected .*1 .*30.*, got True"),
    "scheme": (lambda: crf(scheme=3), "scheme: expected one of IO, .*, got 3"),
    "on_illegal": (lambda: crf(on_illegal=np.ones(2)), "on_illegal: expected one of error, repair, drop, got array"),
    "callbacks": (lambda: crf(callbacks=5), "callbacks: expected a list of functions, got 5"),
    "callback": (lambda: crf(callbacks=[5]), r"callbacks: expected a list of functions, got \[5\]"),
    "patience": (lambda: patient("x"), "patience: expected .*, got 'x'"),
    "label_weights": (lambda: crf(label_weights=np.ones(3)), "label_weights: expected a mapping"),
    "a label weight": (
        lambda: crf(label_weights={"A": 10**400}),
        r"label_weights\['A'\]: expected .*0.*, got 1000",
    ),
    "random_state": (lambda: crf(random_state="x"), r"^random_state: .*'x'"),
    "warm_start": (lambda: crf(warm_start="no"), r"^warm_start: .*'no'"),
    "start_end": (lambda: crf(start_end=None), r"^start_end: "),
    "features": (lambda: CRF(5).fit(WORDS, LABELS), r"^features: "),  # type: ignore[arg-type]
    "a long name": (lambda: CRF("x" * 5000).fit(WORDS, LABELS), r"^features: "),
    "sample_weight": (
        lambda: CRF().fit(ITEMS, LABELS, sample_weight="abc"),
        r"^sample_weight: .*'abc'",
    ),
    "ragged weights": (
        lambda: CRF().fit(ITEMS, LABELS, sample_weight=[[1], [2, 3]]),  # type: ignore[list-item]
        r"^sample_weight: .*\[\[1\], \[2, 3\]\]",
    ),
    "weights of score": (
        lambda: crf().score(ITEMS, LABELS, sample_weight={}),  # type: ignore[arg-type]
        r"^sample_weight: ",
    ),
    "partial_fit": (lambda: CRF(c2="x").partial_fit(ITEMS, LABELS), "c2: expected .*0.*, got 'x'"),  # type: ignore[arg-type]
    "compile_corpus": (
        lambda: compile_corpus([], "x", PLAIN, hash_bits=3.5),
        "hash_bits: expected .*1 .*30.*, got 3.5",
    ),  # type: ignore[arg-type]
    "start_prior": (lambda: hmm(start_prior=[1, 2, 3]), r"start_prior: expected .*shape \[2\], .*got \[3\]"),
    "transition_prior": (lambda: hmm(transition_prior=[[1, 2, 3]]), r"transition_prior: expected .*shape \[2, 2\]"),
    "ragged prior": (lambda: hmm(transition_prior=[[1], [2, 3]]), "transition_prior: expected Dirichlet parameters"),
    "counted prior": (lambda: counted(smoothing="dirichlet", start_prior=[1, 2]), "start_prior: .*3 states"),
    "emission_prior": (lambda: hmm(emission_prior="x"), "emission_prior: expected numbers, got 'x'"),
    "shape of emission_prior": (lambda: hmm(emission_prior=np.ones((5, 5))), "prior: expected a number, or an array"),
    "y of no axis": (lambda: HMM(2).fit([[0, 1, 0]], np.array(1.0)), "y: expected a list of sentences, .*got ndarray"),
    "tolerance": (lambda: hmm(tolerance="x"), "tolerance: expected a number, got 'x'"),
    "steps": (lambda: hmm(max_iterations=None), "max_iterations: expected .*, got None"),
    "seconds": (lambda: hmm(max_seconds="x"), "max_seconds: expected 0 or more, got 'x'"),
    "frozen": (lambda: hmm(frozen=5), "frozen: expected names of parameters, got 5"),
    "frozen numbers": (lambda: hmm(frozen=[5]), r"frozen: expected names of parameters, got \[5\]"),
    "emission_options": (lambda: hmm(emission_options=5), "emission_options: expected a dict of names and values"),
    "an emission option": (lambda: hmm(emission_options={"a": 1}), "a: expected a setting among"),
    "tied": (lambda: hmm(tied=5), "tied: expected the number of a group for each of 2 states, got 5"),
    "k": (lambda: counted(k="x"), "k: expected .*0.*, got 'x'"),
    "smoothing": (lambda: counted(smoothing=[1]), r"smoothing: expected one of .*, got \[1\]"),
    "scheme of an HMM": (lambda: counted(scheme=3), "scheme: expected one of IO, .*, got 3"),
    "n_init": (lambda: hmm(n_init=None), "n_init: expected a whole number from 1 to 10000, got None"),
    "n_states": (lambda: HMM(2**70).fit([[0, 1]]), "n_states: expected a whole number from 1 to 16384.*, got"),
    "tolerance of a CRF": (lambda: crf(tolerance=0), "tolerance: expected a .*above 0.*, got 0"),
    "tolerance without a proof": (
        lambda: crf(algorithm="sgd", tolerance=0.1),
        "tolerance: expected None beside algorithm",
    ),
    "segment_features": (lambda: segments(segment_features="length"), "segment_features: expected some of length, .*"),
    "max_length": (lambda: segments(max_length=1.5), "max_length: expected .*1 .*1000.*, got 1.5"),
    "max_length huge": (lambda: segments(max_length=1001), "max_length: expected .*1 .*1000.*, got 1001"),
    "scheme of segments": (lambda: segments(scheme="none"), "scheme: expected"),
    "ratio": (lambda: trigram(ratio="x"), "ratio: expected a number .*, got 'x'"),
    "capitals": (lambda: trigram(capitals="x"), "capitals: expected True or False, got 'x'"),
    "rare": (lambda: trigram(rare=None), "rare: expected a whole number of 0 or more, got None"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_wrong_settings(name: str) -> None:
    door, place = SETTINGS[name]
    with pytest.raises(InputError, match=place):
        door()


WRONG = {
    "text": "x",
    "empty": "",
    "nothing": None,
    "object": object(),
    "list": [1, "x"],
    "ragged": [[1], [2, 3]],
    "dict": {"x": 1},
    "number dict": {1: {}},
    "array": np.array([1.0, 2.0]),
    "NaN": float("nan"),
    "infinity": float("-inf"),
    "negative": -1,
    "fraction": 0.5,
    "huge": -(2**70),
    "digits": -(10**5000),
    "complex": 1j,
    "half a pair": HALF,
    "bytes": b"\xff",
    "nested": nested(5000),
    "function": len,
}
ESTIMATORS: dict[str, tuple[Any, Any, Any]] = {
    "crf of items": (CRF(max_iterations=2), ITEMS, LABELS),
    "crf of a template": (CRF(PLAIN, max_iterations=2, algorithm="sgd"), WORDS, LABELS),
    "hmm": (HMM(2, max_iterations=2), [[0, 1, 0]], None),
    "counted hmm": (HMM(), WORDS, LABELS),
    "gaussian hmm": (HMM(2, emission="gaussian", max_iterations=2), [[[0.0], [1.0], [0.5]]], None),
    "mixture hmm": (HMM(2, emission="mixture", max_iterations=2), [[[0.0], [1.0], [0.5]]], None),
    "trigram": (TrigramTagger(), WORDS, LABELS),
    "memm of items": (MEMM(max_iterations=2), ITEMS, LABELS),
    "maxent of a template": (MaxEnt(PLAIN, max_iterations=2), WORDS, LABELS),
    "semicrf": (SemiCRF(PLAIN, max_iterations=2), WORDS, TAGS),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_setting_raises_anything_else(name: str, wrong: str) -> None:
    estimator, X, y = ESTIMATORS[name]
    raw = []
    for setting in estimator.get_params(deep=False):
        model = type(estimator)(**{**estimator.get_params(deep=False), setting: WRONG[wrong]})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = error_of(lambda model=model: model.fit(X, y))  # type: ignore[misc]
        if error is not None and not (isinstance(error, TaglineError) and re.search(": expected .*got ", str(error))):
            raw.append((setting, error))
    assert not raw


def test_numbers_of_numpy_are_numbers() -> None:
    model = CRF(
        PLAIN,
        algorithm=SGD(passes=np.int64(3), batch=np.int64(2), rate=np.float32(0.1)),  # type: ignore[arg-type]
        c1=np.float32(0.1),
        c2=np.float64(0.1),
        min_frequency=np.float32(1.0),  # type: ignore[arg-type]
        hash_bits=np.int64(8),  # type: ignore[arg-type]
        max_iterations=np.int32(3),  # type: ignore[arg-type]
        random_state=np.int64(3),  # type: ignore[arg-type]
        warm_start=np.bool_(False),  # type: ignore[arg-type]
    )
    with pytest.raises(InputError, match=r"^min_frequency: "):
        model.set_params(min_frequency=np.float32(2.0)).fit(WORDS, LABELS)
    model.set_params(min_frequency=np.float32(0.0)).fit(WORDS, LABELS)
    HMM(np.int64(2), k=np.float32(0.5), max_iterations=np.int64(2), tolerance=-np.inf).fit([[0, 1, 0]])  # type: ignore[arg-type]
    TrigramTagger(ratio=np.float32(10), rare=np.int64(2)).fit(WORDS, LABELS)  # type: ignore[arg-type]


def saved(folder: Path, data: bytes, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


NO_TEXTS = ("hex", "rot13", "base64", "bz2", "zlib", "quopri", "uu", "undefined", "idna", "punycode")


@pytest.mark.parametrize(
    ("encoding", "place"),
    [
        *((name, "encoding: ") for name in NO_TEXTS),
        ("", r"^encoding: .*''"),
        ("\0", r"^encoding: "),
        ("mbcz", r"^encoding: .*'mbcz'"),
        (None, r"^encoding: .*None"),
        (HALF, r"^encoding: "),
        ("utf-16", r"file\.txt:1: .*utf-16-le"),
        ("utf-32", r"file\.txt:1: .*utf-32"),
        ("unicode_escape", r"file\.txt:2: "),
    ],
)
def test_encodings(tmp_path: Path, encoding: Any, place: str) -> None:
    path = saved(tmp_path, b"a A\nb\\udcff B\n")
    readers: list[Callable[..., Any]] = [read_columns, read_jsonl, read_conllu, read_text, iter_columns]
    for read in readers:
        with pytest.raises(InputError, match=place):
            list(read(path, encoding=encoding))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-8-sig", "gb18030", "utf-7", "UTF8"])
def test_encodings_of_texts(tmp_path: Path, encoding: str) -> None:
    path = saved(tmp_path, "北京 A\nb B\n".encode(encoding))
    assert read_columns(path, encoding=encoding).tokens == [["北京", "b"]]
    assert [corpus.tokens for corpus in iter_columns(path, encoding=encoding)] == [[["北京", "b"]]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"text":"abc","spans":[[0.5,2,"X"]]}', r"\[0\.5, 2, 'X'\]"),
        (b'{"text":"abc","spans":[[false,true,"X"]]}', r"\[False, True, 'X'\]"),
        (b'{"text":"abc","spans":[[0,1e400,"X"]]}', r"\[0, inf, 'X'\]"),
        (b'{"text":"abc","spans":7}', r"\b7\b"),
        (b'{"text":"abc","spans":[[0,3,["X"]]]}', r"\[0, 3, \['X'\]\]"),
        (b"[" * 200_000, r'JSON.*"\[\[\['),
        (b'{"tokens":["a"],"x":' + b"[" * 300 + b"]" * 300 + b"}", "JSON"),
        (b'{"text":"a","x":' + b"1" * 5000 + b"}", "JSON"),
        (b'{"tokens":["a\\ud800"]}', r"'\\ud800'"),
        (b'{"tokens":["a"],"tags":["\\uDFFF"]}', r"'\\udfff'"),
        (b'{"tokens":["a"],"tags":[["x"]]}', r'\[\["x"\]\]'),
    ],
)
def test_json_lines(tmp_path: Path, line: bytes, message: str) -> None:
    path = saved(tmp_path, b'{"tokens":["x"]}\n' + line + b"\n", "x.jsonl")
    with pytest.raises(InputError, match=f"x.jsonl:2: .*{message}"):
        read_jsonl(path)
    assert read_jsonl(path, strict=False).tokens == [["x"]]


@pytest.mark.parametrize(
    ("macro", "place"),
    [
        ('%m[0,0,"a{99999999999999999999}"]', "<template>:1: "),
        (f'%m[0,0,"{"(" * 600}a{")" * 600}"]', "<template>:1: "),
        (f'%t[0,0,"{"a" * 20_000}"]', "<template>:1: "),
        ("%x[99999999999999999999,0]", "<template>:1: "),
        (f"%x[-{'9' * 5000},0]", "<template>:1: "),
        ("%x[0,99999999999]", "<template>:1: "),
        (f"%x[0,{'9' * 5000}]", "<template>:1: "),
    ],
)
def test_templates(macro: str, place: str) -> None:
    with pytest.raises(InputError, match=re.escape(place)):
        Template.parse(f"U0:{macro}\n")
    with pytest.raises(InputError, match=re.escape(place)):
        CRF(f"U0:{macro}\n").fit(WORDS, LABELS)


def test_patterns_and_columns_within_the_limits() -> None:
    deep = "(" * 100 + "a" + ")" * 100
    assert Template.parse(f'U0:%m[0,0,"{deep}"]\n').strings([["ba"]]) == ([["U0:a"]], [[]])
    assert Template.parse(f'U0:%m[0,0,"{"[(]" * 3}"]\n').strings([["((("]]) == ([["U0:((("]], [[]])
    assert Template.parse("U0:%x[-00,000]\n").num_columns == 1


@pytest.mark.parametrize("write", [write_columns, write_conllu, write_jsonl, write_text])
@pytest.mark.parametrize(("token", "tag"), [(HALF, "A"), ("a", HALF)])
def test_writers_refuse_lone_surrogates(tmp_path: Path, write: Any, token: str, tag: str) -> None:
    path = saved(tmp_path, b"old", "out")
    corpus = Corpus.from_sentences([{"token": ["x", token], "tag": ["B", tag]}])
    if write is write_text and token != HALF:
        write(corpus, path)  # which has no tags
        return
    with pytest.raises(InputError, match=r"out: .*'\\udcff'"):
        write(corpus, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def networks() -> list[Any]:
    neural = pytest.importorskip("tagline.models.neural.bilstm")
    return [neural.BiLSTMCRF(epochs=1, word_dim=4, char_dim=4, char_size=4, hidden=4)]


@pytest.mark.parametrize("kind", ["template", "items", "memm", "semicrf", "hmm", "trigram", "bilstm"])
def test_lone_surrogates(tmp_path: Path, kind: str) -> None:
    def fresh() -> Any:
        models = {"template": CRF(PLAIN), "items": CRF(), "hmm": HMM(), "trigram": TrigramTagger()}
        models |= {"memm": MEMM(PLAIN), "semicrf": SemiCRF(PLAIN)}
        return networks()[0] if kind == "bilstm" else models[kind]

    def sentence(word: str) -> list[Any]:
        return [{"w": word}] if kind == "items" else [word]

    def ours(door: Callable[[], Any]) -> None:
        error = error_of(door)
        assert error is None or (isinstance(error, TaglineError) and re.search("surrogate|UTF-8", str(error)))

    def questions(model: Any, word: str) -> None:
        X = [sentence(word)]
        ours(lambda: model.predict(X))
        ours(lambda: model.predict_k_best(X, 2))
        ours(lambda: model.predict_marginals(X))
        ours(lambda: model.explain(X[0]))

    A, B = ("B-A", "O") if kind == "semicrf" else ("A", "B")
    for word, label in ((HALF, A), ("a", f"B-{HALF}" if kind == "semicrf" else HALF)):
        path = tmp_path / "m"

        def whole(word: str = word, label: str = label, path: Path = path) -> None:
            model = fresh().fit([sentence(word), sentence("b")], [[label], [B]])
            questions(model, word)
            model.save(path)
            load(path)

        with pytest.raises(TaglineError, match=r"^(words|names|config and names|sentence 0, token 0): "):
            whole()
        assert not path.exists()
    questions(fresh().fit([sentence("a"), sentence("b")], [[A], [B]]), HALF)


@pytest.mark.parametrize(
    "model", [CRF(PLAIN), MEMM(PLAIN), HMM(), TrigramTagger()], ids=["crf", "memm", "hmm", "trigram"]
)
def test_more_labellings_than_memory_holds(model: Any) -> None:
    model.fit([["a", "b"] * 3, ["b", "a"] * 3], [["A", "B"] * 3, ["A", "B"] * 3])
    long = [["a", "b"] * 500]
    for k in (10**8, 10**12, 2**70, 10**30):
        with pytest.raises(InputError, match=r"^k: .* GiB"):
            model.predict_k_best(long, k)
        with pytest.raises(InputError, match=r"^k_best: .* GiB"):
            model.answer(long, k_best=k)
        with pytest.raises(InputError, match=r"^n: .* GiB"):
            model.predict_samples(long, k)
        assert len(model.predict_k_best([["a", "b", "a"]], k)[0]) == 8  # all that there are
    known = [[["A", "B"][t % 2] for t in range(1000)]]
    assert len(model.predict_k_best(long, 10**12, known=known)[0]) == 1
    for k in (0, -1, 1.5, "x", None, True):
        with pytest.raises(InputError, match=r"^k: "):
            model.predict_k_best(long, k)
    with pytest.raises(InputError, match=r"^seed: .*'x'"):
        model.predict_samples([["a"]], seed="x")


def test_more_segmentations_than_memory_holds() -> None:
    model = SemiCRF(PLAIN, max_length=3).fit(WORDS, TAGS)
    long = [["a", "b"] * 500]
    for k in (10**8, 10**12, 2**70, 10**30):
        with pytest.raises(InputError, match=r"^k: .* GiB"):
            model.predict_k_best(long, k)
        with pytest.raises(InputError, match=r"^n: .* GiB"):
            model.predict_samples(long, k)
        assert len(model.predict_k_best([["a", "b", "a"]], k)[0]) == 13  # B or O; then B, I after a name, or O
    assert len(model.predict_k_best(long, 10**12, known=[["O"] * 1000])[0]) == 1


def test_other_questions() -> None:
    model = CRF(PLAIN, scheme="IOB2").fit([["a", "b"]], [["B-X", "O"]])
    for wrong in ("x", None, -1, 2, float("nan")):
        with pytest.raises(InputError, match=r"^min_probability: "):
            model.predict_spans([["a"]], min_probability=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^n: .* GiB"):
        counted().sample(2**70)


def changed(path: Path, **settings: Any) -> Path:
    """A model file with other settings."""
    file = storage.read(path)
    config = json.loads(json.dumps(file.config))
    for name, value in settings.items():
        part = config
        *outer, last = name.split("__")
        for key in outer:
            part = part[key]
        part[last] = value
    storage.write(path, config, dict(file.tensors))
    return path


FIXTURES = Path(__file__).parent / "models" / "fixtures"


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("trigram", {"longest": 2**63}, r"\b9223372036854775808\b"),
        ("trigram", {"longest": 10**30}, rf"\b{10**30}\b"),
        ("bilstm", {"network__hidden": 2**63}, r"\bhidden\b.*\b9223372036854775808\b"),
        ("bilstm", {"network__word_dim": 10**30}, r"\bword_dim\b"),
        ("transformer", {"network__smoothing": 10**30}, r"\bsmoothing\b"),
        *(
            (kind, {"settings__on_illegal": nested(200)}, r"\bsettings\b.*\b16\b")
            for kind in ("crf", "hmm", "trigram", "bilstm", "transformer")
        ),
    ],
)
def test_model_files(tmp_path: Path, kind: str, settings: Any, message: str) -> None:
    if kind in ("bilstm", "transformer"):
        pytest.importorskip("torch")
    if kind == "transformer":
        pytest.importorskip("transformers")
    path = saved(tmp_path, (FIXTURES / f"{kind}.tagline").read_bytes(), "m.tagline")
    with pytest.raises(StorageError, match=f"m.tagline: .*({message})"):
        load(changed(path, **settings))
