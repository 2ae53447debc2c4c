"""Pickles of sklearn-crfsuite: read as models, and nothing in them is ever run."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import random
import resource
import struct
import time
import tracemalloc
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn_crfsuite as theirs

import tagline
from tagline import StorageError
from tagline.interop import sklearn_crfsuite as ours
from tagline.interop.formats import read_model
from tagline.interop.sklearn_crfsuite import inert
from tagline.interop.sklearn_crfsuite.pickles import read_crf
from tests.cli.commands import tagline as run
from tests.interop.crfsuite.models import sentences

X, Y = sentences(1)
REAL = theirs.CRF(c2=0.3, max_iterations=20).fit(X, Y, X[:5], Y[:5])


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_a_pickle_is_its_model(algorithm: str, protocol: int) -> None:
    crf = theirs.CRF(algorithm, max_iterations=np.int64(5), all_possible_transitions=np.bool_(True)).fit(X, Y, X, Y)
    model = read_crf(pickle.dumps(crf, protocol))
    assert model.labels_ == crf.classes_
    assert model.predict(X) == crf.predict(X).tolist()
    for row, expected in zip(model.predict_marginals(X), crf.predict_marginals(X), strict=True):
        for token, wanted in zip(row, expected, strict=True):
            assert token == pytest.approx(wanted, abs=1e-6)


def test_files_by_joblib_and_of_our_own_class(tmp_path: Path) -> None:
    joblib.dump(REAL, tmp_path / "crf.joblib")
    assert read_model(tmp_path / "crf.joblib").predict(X) == REAL.predict(X).tolist()
    own = ours.CRF(max_iterations=5, c1=np.float64(0.1)).fit(X, Y, X, Y)
    assert read_crf(pickle.dumps(own)).predict(X) == own.predict(X).tolist()


def test_the_command_converts_it(tmp_path: Path) -> None:
    path, out = tmp_path / "crf.pkl", tmp_path / "m.tagline"
    path.write_bytes(pickle.dumps(REAL))
    done = run("convert-model", path, out)
    assert done.code == 0, done.err
    assert tagline.load(out).predict(X) == REAL.predict(X).tolist()


def test_what_has_no_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"^crf\.pkl: "):
        read_crf(pickle.dumps(theirs.CRF()), "crf.pkl")
    named = theirs.CRF(max_iterations=2, model_filename=str(tmp_path / "x.crfsuite")).fit(X, Y)
    with pytest.raises(StorageError, match=r"^<bytes>: .*x\.crfsuite'"):
        read_crf(pickle.dumps(named))
    for value, name in (({"a": 1}, "dict"), (1, "int"), (REAL.modelfile, "FileResource"), ([REAL], "list")):
        with pytest.raises(StorageError, match=f"^<bytes>: .*{name}"):
            read_crf(pickle.dumps(value))
    from sklearn.pipeline import make_pipeline

    with pytest.raises(StorageError, match=r"^<bytes>: .*sklearn.pipeline"):
        read_crf(pickle.dumps(make_pipeline(REAL)))


# Hostile streams.


class Calls:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("function", [os.system, eval, exec, __import__, open], ids=lambda function: function.__name__)
def test_nothing_is_called(protocol: int, function: Any, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    text = f"touch {touched}" if function is os.system else f"open({str(touched)!r}, 'w')"
    for victim in (Calls(function, text), [Calls(function, text)], {"a": Calls(function, text)}):
        with pytest.raises(StorageError):
            read_crf(pickle.dumps(victim, protocol))
    crf = theirs.CRF()
    crf.algorithm = Calls(function, text)
    with pytest.raises(StorageError):
        read_crf(pickle.dumps(crf, protocol))
    assert not touched.exists()


STREAMS = {
    "a call of an allowed name": b"\x80\x04cfractions\nFraction\n(I1\ntR.",
    "a dotted name": b"\x80\x04\x8c\x09fractions\x8c\x0fFraction.limit_\x93.",
    "an instance": b"\x80\x04(ios\nsystem\n.",
    "an object": b"\x80\x04(cos\nsystem\nV ls\no.",
    "a persistent id": b"\x80\x04Pid\n.",
    "an extension code": b"\x80\x04\x82\x01.",
    "a buffer elsewhere": b"\x80\x05\x97.",
    "a far place in the memo": b"\x80\x04]r\xff\xff\xff\xff.",
    "bytes of 2^62": b"\x80\x04\x8e\x00\x00\x00\x00\x00\x00\x00\x40.",
    "a byte array of 2^62": b"\x80\x05\x96\x00\x00\x00\x00\x00\x00\x00\x40.",
    "text of 2^62": b"\x80\x04\x8d\x00\x00\x00\x00\x00\x00\x00\x40.",
    "a number of 2^31 bytes": b"\x80\x04\x8b\xff\xff\xff\x7f.",
    "a negative length": b"\x80\x04\x8b\xff\xff\xff\xff.",
    "a number of many digits": b"\x80\x04L" + b"9" * 100_000 + b"L\n.",
    "copies of copies": b"\x80\x04](" + b"2" * 1000 + b"e.",
    "nothing on the stack": b"\x80\x04.",
    "a mark that is not there": b"\x80\x04e.",
    "a value that is not there": b"\x80\x04h\x07.",
    "a state of a list": b"\x80\x04]}b.",
    "a key that is a list": b"\x80\x04}]K\x01s.",
    "an odd number of items": b"\x80\x04}(\x8c\x01au.",
    "no end": b"\x80\x04]",
    "nothing": b"",
    "an unknown opcode": b"\x80\x04\xff.",
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_streams_that_are_refused(stream: bytes) -> None:
    with pytest.raises(StorageError):
        read_crf(stream)


def test_a_deep_and_a_long_stream_take_little() -> None:
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    deep = b"\x80\x04" + b"]" * 200_000 + b"a" * 199_999 + b"."  # lists in lists
    twice = b"\x80\x04]\x94" + b"(h\x00h\x00e" * 50_000 + b"."  # a list that holds itself
    tuples = b"\x80\x04)\x94" + b"h\x00\x86\x94" * 10  # each made of the one before
    for stream in (deep, twice, tuples, tuples + b"."):
        with pytest.raises(StorageError):
            read_crf(stream)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KB
    assert time.perf_counter() - begin < 30


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


CODECS = b"\x80\x02c_codecs\nencode\nq\x00"
TEXTS = _text("a" * 10**5) + b"q\x01" + _text("latin1") + b"q\x02"
PAIRS = b"".join(b"h%ch%c\x86\x94" % (number, number) for number in range(60))  # each of the one before, twice
BOMBS = {
    "bytes again and again": CODECS + TEXTS + b"(" + b"h\x00h\x01h\x02\x86R" * 3000 + b"t.",
    "a tree as a name": b"\x80\x04)\x94" + PAIRS + b"N\x93.",
    "a deep name": b"\x80\x04" + b"]" * 50_000 + b"a" * 49_999 + b"N\x93.",
    "long keys that are equal": b"\x80\x02}" + (_text("k" * 10**5) + b"Ns") * 9 + b".",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_take_no_more_than_their_size(name: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(StorageError):
            read_crf(BOMBS[name])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000 + 150 * min(len(BOMBS[name]), 100_000)


def test_opcodes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = pickle.dumps(REAL)
    monkeypatch.setattr(inert, "MOST_OPCODES", sum(1 for _ in pickletools.genops(stream)))
    assert read_crf(stream).labels_ == REAL.classes_
    with pytest.raises(StorageError, match=r"^<bytes>: "):
        read_crf(stream[:-1] + b"N0.")


def test_a_name_with_line_breaks_is_one_line() -> None:
    for stream in (b"\x80\x04\x8c\x03a\nb\x8c\x03c\rd\x93.", b"\x80\x04\x8c\x00\x8c\x02\n\n\x93."):
        with pytest.raises(StorageError) as caught:
            read_crf(stream)
        assert len(str(caught.value).splitlines()) == 1


def test_damaged_pickles_are_refused_or_harmless() -> None:
    """Flipped bits, cuts, and opcodes from elsewhere: an error of ours, or the model."""
    small = theirs.CRF(max_iterations=2).fit([[["a"], ["b"]]], [["N", "V"]])
    streams = [pickle.dumps(small, protocol) for protocol in (2, 4)]
    heads = [stream[:800] for stream in streams]
    draw = random.Random(0)
    opcodes = [opcode.code.encode("latin1") for opcode in pickletools.opcodes]
    for round_ in range(4000):
        good = draw.choice(streams)
        data = bytearray(good)
        # The model of CRFsuite inside is damaged by tests of its own; here it is the stream around it.
        edge = draw.choice((draw.randrange(800), draw.randrange(len(good) - 800, len(good))))
        match round_ % 4:
            case 0:
                data[edge] ^= 1 << draw.randrange(8)
            case 1:
                del data[edge:]
            case 2:
                data[edge : edge + 1] = draw.choice(opcodes)
            case 3:
                data[edge:edge] = draw.choice(heads)[draw.randrange(800) :][: draw.randrange(40)]
        try:
            model = read_crf(bytes(data))
        except StorageError:
            continue
        assert model.labels_ == ["N", "V"]


def test_what_pickletools_reads_is_all_that_is_read() -> None:
    data = io.BytesIO(pickle.dumps(REAL) + b"rest")
    assert read_crf(data.getvalue()).labels_ == REAL.classes_
