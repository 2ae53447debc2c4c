"""Wapiti's model files: read, written, damaged; the definition and the real program as oracles."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tagline
from tagline.errors import InputError, StorageError
from tagline.features.templates.template import Template
from tagline.interop.formats import read_model as read_any
from tagline.interop.formats import write_model as write_any
from tagline.interop.wapiti.conversion import read_crf, write_crf
from tagline.interop.wapiti.dump import dump
from tagline.interop.wapiti.text import WapitiModel, compacted, read_model, write_model
from tagline.readers import Corpus
from tests.interop.wapiti.models import LABELS, MODEL, SENTENCES, labellings, posteriors
from tests.interop.wapiti.program import needs_wapiti, wapiti


def replaced(old: bytes, new: bytes) -> bytes:
    assert MODEL.count(old) == 1
    return MODEL.replace(old, new)


# --- reading --------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_definition() -> None:
    crf = read_crf(MODEL, "model")
    assert crf.labels_ == LABELS  # in the order of the file, which is not sorted elsewhere
    for words, found in zip(SENTENCES, crf.predict_marginals(SENTENCES), strict=True):
        for row, expected in zip(found, posteriors(words), strict=True):
            np.testing.assert_allclose(
                [row[label] for label in LABELS], [expected[label] for label in LABELS], atol=1e-6
            )
    best = [list(next(iter(labellings(words)))) for words in SENTENCES]
    assert crf.predict(SENTENCES) == best
    for words, ranked in zip(SENTENCES, crf.predict_k_best(SENTENCES, 3), strict=True):
        expected = list(labellings(words).values())[:3]
        np.testing.assert_allclose([entry.score for entry in ranked], expected, atol=1e-5)


def test_a_model_of_ours_keeps_the_patterns(tmp_path: Path) -> None:
    (tmp_path / "m.mdl").write_bytes(MODEL)
    converted = read_any(tmp_path / "m.mdl")
    converted.save(tmp_path / "m.tagline")
    loaded = tagline.load(tmp_path / "m.tagline")
    assert loaded.predict(SENTENCES) == converted.predict(SENTENCES)
    assert loaded._extraction.template.dialect == "wapiti"
    write_any(loaded, tmp_path / "back.mdl", "wapiti")
    back = read_model((tmp_path / "back.mdl").read_bytes())
    assert sorted(dump(back)) == sorted(dump(read_model(MODEL)))


def test_the_file_comes_back() -> None:
    assert write_model(read_model(MODEL)) == MODEL
    again = read_model(write_crf(read_crf(MODEL, "model")))
    assert sorted(again.observations) == sorted(compacted(read_model(MODEL)).observations)
    assert again.patterns == read_model(MODEL).patterns


def test_older_headers() -> None:
    old = MODEL.replace(b"#mdl#2#", b"#mdl#", 1).replace(b"#rdr#4/0/0", b"#rdr#4/0", 1)
    assert read_crf(old, "old").predict(SENTENCES) == read_crf(MODEL, "new").predict(SENTENCES)


def test_weights_may_be_decimal_and_in_any_order() -> None:
    head, _, rows = MODEL.rpartition(b",\n")
    lines = rows.splitlines()
    turned = b"\n".join([*lines[:0:-1], b"%b=0.25" % lines[0].split(b"=")[0]])
    model = read_model(head + b",\n" + turned + b"\n")
    assert model.features.tolist() == read_model(MODEL).features.tolist()
    assert model.weights[1:].tolist() == read_model(MODEL).weights[1:].tolist()


@pytest.mark.parametrize(("number", "kind"), [(b"0", "maxent"), (b"1", "memm"), (b"2", "crf")])
def test_the_type_of_a_model_is_its_kind(tmp_path: Path, number: bytes, kind: str) -> None:
    data = MODEL.replace(b"#mdl#2#", b"#mdl#%b#" % number)
    model = read_crf(data, "model")
    assert model.kind == kind
    assert write_model(read_model(data)) == data
    write_any(model, tmp_path / "back.mdl", "wapiti")
    back = read_crf((tmp_path / "back.mdl").read_bytes(), "back")
    assert back.kind == kind
    assert back.predict_marginals(SENTENCES) == model.predict_marginals(SENTENCES)
    model.save(tmp_path / "m.tagline")
    assert tagline.load(tmp_path / "m.tagline").predict_marginals(SENTENCES) == model.predict_marginals(SENTENCES)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (b"#mdl#2#", b"#mdl#7#", r"^bad\.mdl: .*type 7"),
        (b"#mdl#2#10", b"#mdl#2#9", r"^bad\.mdl: .*weights"),
        (b"/0/0\n", b"/0/1\n", r"^bad\.mdl: .*--me"),
        (b"1:O,", b"2:O,", r"^bad\.mdl: labels: .*b'2:O,\\n4:VERB,\\n#qrk#8\\n'"),
        (b"#qrk#3", b"#qrk#4", r"^bad\.mdl: labels: .*b'#qrk#8\\n1:\*,\\n8:u:w=An'"),
        (b"#qrk#3\n", b"#qrk#999999999999\n", r"^bad\.mdl: labels: .*b'#qrk#8\\n1:\*,\\n8:u:w=An'"),
        (b"4:VERB,", b"4:NAME,", r"^bad\.mdl: labels: "),
        (b"8:u:w=Anna,", b"8:x:w=Anna,", r"^bad\.mdl: .*'x:w=Anna'"),
        (b"8:u:w=Anna,", b"8:u:\0=Anna,", r"^bad\.mdl: observations: "),
        (b"=0x1p+1\n", b"=inf\n", r"^bad\.mdl: "),
        (b"=0x1p+1\n", b"=0x1p+9999\n", r"^bad\.mdl: .*number="),
        (b"=0x1p+1\n", b"=\n", r"^bad\.mdl: .*number="),
        (b"12=0x1p+1\n", b"912=0x1p+1\n", r"^bad\.mdl: .*features"),
        (b"12=0x1p+1\n", b"1=0x1p+1\n", r"^bad\.mdl: "),
        (b"12=0x1p+1\n", b"-12=0x1p+1\n", r"^bad\.mdl: .*features"),
        (b"12:b:p=%X[-1,0],", b"12:b:p=%Y[-1,0],", r"^bad\.mdl: patterns of Wapiti:4: "),
        (b"12:b:p=%X[-1,0],", b"12:b:#=%X[-1,0],", r"^bad\.mdl: .*'b:#=%X\[-1,0\]'"),
    ],
)
def test_what_is_wrong_is_named(old: bytes, new: bytes, place: str) -> None:
    with pytest.raises(StorageError, match=place):
        read_crf(replaced(old, new), "bad.mdl")


def test_many_labels_are_refused_before_they_take_memory() -> None:
    labels = b"".join(b"%d:%d,\n" % (len(str(k)), k) for k in range(9000))
    with pytest.raises(StorageError, match=r"^wide\.mdl: "):
        read_crf(b"#mdl#2#0\n#rdr#0/0/0\n#qrk#9000\n" + labels + b"#qrk#1\n1:u,\n", "wide.mdl")


def test_damage_is_refused_or_harmless() -> None:
    damaged = [MODEL[:size] for size in range(len(MODEL))]
    rng = np.random.default_rng(0)
    for _ in range(1500):
        changed = bytearray(MODEL)
        for place in rng.integers(0, len(MODEL), rng.integers(1, 4)):
            changed[place] ^= 1 << rng.integers(0, 8)
        damaged.append(bytes(changed))
    read = 0
    for data in damaged:
        with contextlib.suppress(StorageError):  # and nothing else
            crf = read_crf(data, "damaged")
            read += 1
            with contextlib.suppress(InputError):  # patterns that ask for other columns
                crf.predict(SENTENCES)
    assert 0 < read < len(damaged)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False).filter(bool), max_size=20))
@example([1.0, -0.1, 1e300, 5e-324, -(2.0**-1022), 0.75, 1.7976931348623157e308])
def test_numbers_are_written_as_c_does(numbers: list[float]) -> None:
    count = len(numbers)
    model = WapitiModel((), ("A",), tuple(f"u{k}" for k in range(count)), np.arange(count), np.array(numbers))
    data = write_model(model)
    lines = data.decode().split(",\n")[-1].splitlines()
    expected = [f"{k}={re.sub(r'[.]?0+p', 'p', number.hex())}" for k, number in enumerate(numbers)]
    assert lines == expected or not count
    assert not count or read_model(data).weights.tolist() == numbers


# --- writing --------------------------------------------------------------------------------------------------------

TAGS = [["NAME", "VERB"], ["VERB"], ["O", "NAME", "O"], ["O", "O", "VERB", "VERB"]]


def trained(**settings: object) -> tagline.CRF:
    return tagline.CRF("U0:%x[-1,0]/%x[0,0]\nU1:%x[2,0]\nB\nB1:%x[0,0]", **settings).fit(SENTENCES, TAGS)


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: trained(start_end=True), r"^model: .*weights"),
        (lambda: trained(hash_bits=8), r"^model: .*attributes"),
        (lambda: tagline.CRF("U%x[0,0:lower]").fit(SENTENCES, TAGS), r"^<template>:1: .*U%x\[0,0:lower\]"),
        (lambda: tagline.CRF("U#%x[0,0]").fit(SENTENCES, TAGS), r"^<template>:1: .*'U#%x\[0,0\]'"),
        (lambda: tagline.CRF("U%x[-6,0]\nB").fit(SENTENCES, TAGS), r"^<template>:1: .*U%x\[-6,0\]"),
        (lambda: tagline.CRF().fit([[["w=a"], ["w=b"]]], [["A", "B"]]), r"^model: .*'w=a'"),
        (lambda: tagline.CRF("U%x[0,0]").fit([["a"]], [["A"]]), r"^model: .*weights"),
        (lambda: tagline.CRF(lambda words: [[f"u{word}"] for word in words]).fit(SENTENCES, TAGS), r"^model: "),
        (
            lambda: tagline.CRF("U%x[0,0]", scheme="IOB2").fit([["a"]], [["B-X"]]),
            r"^model: .*the rules of IOB2",
        ),
    ],
)
def test_what_wapiti_cannot_express_is_named(make: Callable[[], tagline.CRF], place: str) -> None:
    with pytest.raises(InputError, match=place):
        write_crf(make())


def rows_of(sentences: list[list[str]]) -> bytes:
    return "\n\n".join("\n".join(words) for words in sentences).encode() + b"\n"


def labels_of(output: bytes) -> list[list[str]]:
    blocks = output.decode().strip().split("\n\n")
    return [[line.split("\t")[-1] for line in block.split("\n")] for block in blocks]


@needs_wapiti
@pytest.mark.parametrize("template", ["U0:%x[-1,0]/%x[0,0]\nU1:%x[2,0]\nB\nB1:%x[0,0]", "U%x[-5,0]%x[5,0]\nU%x[0,0]"])
def test_templates_of_crfpp_become_patterns(tmp_path: Path, template: str) -> None:
    crf = tagline.CRF(template, c2=0.1).fit(SENTENCES, TAGS)
    (tmp_path / "m").write_bytes(write_crf(crf))
    output, _ = wapiti("label", "-m", tmp_path / "m", "-s", "-p", text=rows_of(SENTENCES))
    found = [line.rsplit("/", 1)[1] for line in output.decode().splitlines() if "\t" in line]
    expected = [max(row.values()) for rows in crf.predict_marginals(SENTENCES) for row in rows]
    np.testing.assert_allclose([float(number) for number in found], expected, atol=2e-6)
    assert read_crf((tmp_path / "m").read_bytes(), "m").predict(SENTENCES) == crf.predict(SENTENCES)


@needs_wapiti
def test_features_without_patterns(tmp_path: Path) -> None:
    X = [[[f"u{word}", f"u{len(word)}", "*"] for word in words] for words in SENTENCES]
    edges = [[["b", f"b{len(word)}", "*"] for word in words] for words in SENTENCES]
    data = "\n\n".join(
        "\n".join(" ".join([*dict.fromkeys([*states, *pairs]), tag]) for states, pairs, tag in zip(*rows, strict=True))
        for rows in zip(X, edges, TAGS, strict=True)
    )
    (tmp_path / "data").write_text(data, encoding="utf-8")
    wapiti("train", "-1", 0.01, tmp_path / "data", tmp_path / "m")
    crf = read_crf((tmp_path / "m").read_bytes(), "m")
    unlabelled = "\n".join(line.rsplit(" ", 1)[0] for line in data.split("\n"))
    output, _ = wapiti("label", "-l", "-m", tmp_path / "m", text=unlabelled.encode())
    assert crf.predict(X, edges=edges) == labels_of(output)
    (tmp_path / "back").write_bytes(write_crf(crf))
    assert wapiti("label", "-l", "-m", tmp_path / "back", text=unlabelled.encode())[0] == output


# --- the real program -----------------------------------------------------------------------------------------------


@needs_wapiti
def test_wapiti_reads_the_model_written_by_hand(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(MODEL)
    output, _ = wapiti("label", "-l", "-m", tmp_path / "m", text=rows_of(SENTENCES))
    assert labels_of(output) == [list(next(iter(labellings(words)))) for words in SENTENCES]
    (tmp_path / "patch").write_bytes(b"\n")
    assert wapiti("update", "-m", tmp_path / "m", tmp_path / "patch")[0] == MODEL


@needs_wapiti
def test_a_model_of_wapiti_means_the_same_here(tmp_path: Path) -> None:
    patterns = '*\nu:%x[0,0]\nu:%m[0,0,"^.?.?"]\nu:%m[-1,0,".?$"]/%X[1,0]\nb:%x[@-1,0]\n'
    (tmp_path / "p").write_text(patterns, encoding="utf-8")
    data = "\n\n".join(
        "\n".join(f"{word} {tag}" for word, tag in zip(*pair, strict=True))
        for pair in zip(SENTENCES, TAGS, strict=True)
    )
    (tmp_path / "data").write_text(data + "\n", encoding="utf-8")
    wapiti("train", "-p", tmp_path / "p", "-1", 0.01, "-2", 0.01, tmp_path / "data", tmp_path / "m")
    crf = read_crf((tmp_path / "m").read_bytes(), "m")
    sentences = [*SENTENCES, ["new", "Änderung"], ["_x-1"]]
    output, _ = wapiti("label", "-m", tmp_path / "m", "-s", "-p", text=rows_of(sentences))
    lines = [line.split("\t")[2].rsplit("/", 1) for line in output.decode().splitlines() if "\t" in line]
    rows = [row for sentence in crf.predict_marginals(sentences) for row in sentence]
    np.testing.assert_allclose(
        [float(p) for _, p in lines], [row[label] for row, (label, _) in zip(rows, lines, strict=True)], atol=1e-6
    )
    for model in (crf, tagline.CRF(Template.parse(patterns, dialect="wapiti"))):
        assert model.get_params()["features"].dialect == "wapiti"
    (tmp_path / "back").write_bytes(write_crf(crf))
    assert wapiti("label", "-m", tmp_path / "back", "-s", "-p", text=rows_of(sentences))[0] == output
    corpus = Corpus.from_sentences([{"token": words} for words in sentences])
    assert crf.predict(corpus) == crf.predict(sentences)
