"""Schemes: their names, their tags, and which labellings they allow."""

from __future__ import annotations

import json
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline.chain import constrain, viterbi
from tagline.errors import InputError
from tagline.readers.schemes import SCHEMES, Rules, legal, scheme, spans_to_tags
from tagline.types import Chain
from tests.readers.span_oracle import LETTERS, Span, written

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text(encoding="utf-8"))

BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
BIOES = ["O", *(f"{letter}-{kind}" for kind in ("PER", "LOC") for letter in "BIES")]


def segmentations(length: int, types: str, start: int = 0) -> list[list[Span]]:
    """Every way to place spans, with tokens outside."""
    if start == length:
        return [[]]
    rest = segmentations(length, types, start + 1)
    for end in range(start + 1, length + 1):
        rest += [[(start, end, kind), *spans] for spans in segmentations(length, types, end) for kind in types]
    return rest


def is_path(rules: Rules, path: tuple[int, ...]) -> bool:
    return bool(
        rules.start[path[0]] and rules.end[path[-1]] and all(rules.transitions[a, b] for a, b in pairwise(path))
    )


def test_names() -> None:
    assert [scheme(name).name for name in ("BIO", "bio", "IOB2", "IOBES", "bmes-words")] == [
        "IOB2",
        "IOB2",
        "IOB2",
        "BIOES",
        "BMES-words",
    ]
    assert scheme(scheme("BILOU")) is scheme("BILOU")
    assert all(scheme(name).name == name for name in SCHEMES)


@pytest.mark.parametrize("name", ["IOB", "", "XYZ", None, 3])
def test_wrong_names(name: Any) -> None:
    with pytest.raises(InputError) as error:
        scheme(name)
    assert str(error.value).startswith("scheme: ")


@pytest.mark.parametrize(
    ("name", "tag", "expected"),
    [
        ("IOB2", "B-PER", ("B", "PER")),
        ("IOB2", "B_PER", ("B", "PER")),
        ("IOB2", "I-PER-X_y", ("I", "PER-X_y")),
        ("IOB2", "B", ("B", "")),
        ("IOB2", "O", ("O", "")),
        ("BILOU", "U-北京", ("U", "北京")),
        ("BMES-words", "M", ("M", "")),
    ],
)
def test_tags_are_cut_in_two(name: str, tag: str, expected: tuple[str, str]) -> None:
    assert scheme(name).parse(tag) == expected


@pytest.mark.parametrize(
    ("name", "tag"),
    [("IOB2", tag) for tag in ("NN", "PRP$", "IN", "BPER", "E-PER", "", "B-", "O-PER", "b-PER", "-PER", None)]
    + [("BMES-words", "B-PER"), ("BMES-words", "O"), ("IO", "B-PER"), ("IOE1", "B-X"), ("BILOU", "E-X")],
)
def test_other_tags_are_errors_and_never_cut(name: str, tag: Any) -> None:
    with pytest.raises(InputError) as error:
        scheme(name).parse(tag, "train.txt:7")
    assert str(error.value).startswith("train.txt:7: ")


def test_patterns_for_messages() -> None:
    assert scheme("BILOU").pattern == "O, B-<type>, I-<type>, L-<type>, U-<type>"
    assert scheme("BMES-words").pattern == "B, M, E, S"


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("name", LETTERS)
def test_legal_paths_are_the_sequences_that_spans_can_give(name: str, length: int) -> None:
    labels = ["O", *(f"{letter}-{kind}" for letter in LETTERS[name] if letter != "O" for kind in "XY")]
    rules = legal(labels, name)
    paths = product(range(len(labels)), repeat=length)
    allowed = {tuple(labels[k] for k in path) for path in paths if is_path(rules, path)}
    assert allowed == {tuple(written(spans, length, name)) for spans in segmentations(length, "XY")}


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_legal_words(length: int) -> None:
    rules = legal(["B", "M", "E", "S"], "BMES-words")
    allowed = {path for path in product(range(4), repeat=length) if is_path(rules, path)}
    words = [spans for spans in segmentations(length, "-") if sum(end - start for start, end, _ in spans) == length]
    expected = [spans_to_tags([(a, b, "") for a, b, _ in spans], length, "BMES-words") for spans in words]
    assert allowed == {tuple("BMES".index(tag) for tag in tags) for tags in expected}
    assert len(allowed) == 2 ** (length - 1)


@pytest.mark.parametrize(
    ("entry", "labels", "name"), [("allowed-BIO", BIO, "BIO"), ("allowed-BIOES", BIOES, "BIOES")], ids=["BIO", "BIOES"]
)
def test_golden_reference_tag_scheme_constraints(entry: str, labels: list[str], name: str) -> None:
    golden = GOLDEN["reference_tag_scheme_constraints"][entry]
    rules = legal(labels, name)
    assert len(labels) == golden["n_tags"]
    assert int((~rules.transitions).sum()) == golden["forbidden tag->tag"]
    assert [label for label, may in zip(labels, rules.start, strict=True) if not may] == golden["forbidden START->"]
    assert [label for label, may in zip(labels, rules.end, strict=True) if not may] == golden["forbidden ->END"]


def test_golden_counterexample_003_constraints_illegal_pairs() -> None:
    expected = GOLDEN["counterexample_003_constraints"]["illegal BIO transitions"]
    rules = legal(BIO, "BIO")
    forbidden = [[BIO[a], BIO[b]] for a, b in np.argwhere(~rules.transitions)]
    assert sorted(forbidden) == sorted(expected)


def wishes(*tags: str, labels: list[str] = BIO) -> Chain:
    """A chain without transition scores that would like these tags."""
    emissions = np.zeros((len(tags), len(labels)))
    emissions[np.arange(len(tags)), [labels.index(tag) for tag in tags]] = 10.0
    return Chain(emissions, np.zeros((len(labels), len(labels))))


def decoded(chain: Chain, labels: list[str], name: str) -> list[str]:
    rules = legal(labels, name)
    legal_chain = constrain(chain, transitions=rules.transitions, start=rules.start, end=rules.end)
    return [labels[k] for k in viterbi(legal_chain).labels]


def test_golden_counterexample_003_constraints_beijing() -> None:
    """北京: B-LOC wanted for 北, I-PER for 京; and what the document's constraints let through or blocked wrongly."""
    chain = wishes("B-LOC", "I-PER")
    assert [BIO[k] for k in viterbi(chain).labels] == ["B-LOC", "I-PER"]
    assert decoded(chain, BIO, "BIO") in (["B-LOC", tag] for tag in ("O", "B-PER", "B-LOC", "I-LOC"))
    assert decoded(wishes("B-PER", "I-PER", "B-LOC"), BIO, "BIO") == ["B-PER", "I-PER", "B-LOC"]
    assert decoded(wishes("O", "I-PER"), BIO, "BIO") != ["O", "I-PER"]
    assert decoded(wishes("I-PER"), BIO, "BIO") != ["I-PER"]


def test_no_path_that_is_decoded_breaks_the_rules() -> None:
    rng = np.random.default_rng(3)
    rules = legal(BIOES, "BIOES")
    chain = Chain(rng.normal(size=(600, 9)) * 5, rng.normal(size=(9, 9)), offsets=np.arange(0, 601, 6))
    best = viterbi(constrain(chain, transitions=rules.transitions, start=rules.start, end=rules.end)).labels
    assert all(is_path(rules, tuple(path)) for path in best.reshape(100, 6))


def test_words_are_decoded_whole() -> None:
    labels = ["B", "M", "E", "S"]
    assert decoded(wishes("B", "B", "E", labels=labels), labels, "BMES-words")[0] in "BS"
    assert decoded(wishes("M", labels=labels), labels, "BMES-words") == ["S"]
    assert decoded(wishes("B", "M", "E", "S", labels=labels), labels, "BMES-words") == labels


def test_labels_of_a_model_must_be_of_the_scheme() -> None:
    with pytest.raises(InputError, match=r"^labels\[1\]: "):
        legal(["O", "NN"], "IOB2")
