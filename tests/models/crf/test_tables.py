"""Weights as tables and edits back in; the heaviest features; the names of sklearn-crfsuite."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline import CRF
from tagline.errors import InputError
from tagline.models.weight_tables import COLUMNS, WeightRow

from ..corpora import TEMPLATE, everything, items, tagged


@pytest.fixture(scope="module")
def full() -> tuple[CRF, dict[str, Any]]:
    return everything()


def by_key(model: CRF) -> dict[tuple[Any, ...], np.float32]:
    """Every weight, looked up in the arrays one by one."""
    p, s, out = model.parameters_, model.parameters_.structure, {}
    flat = p.weights.astype(np.float32)
    for a in range(s.num_attributes):
        for q in range(s.state_offsets[a], s.state_offsets[a + 1]):
            out["state", p.states[a], None, p.labels[s.state_labels[q]]] = flat[q]
    base = len(s.state_labels)
    for q, (before, label) in enumerate(s.transitions):
        out["transition", None, p.labels[before], p.labels[label]] = flat[base + q]
    base += len(s.transitions)
    for a in range(len(s.edge_offsets) - 1):
        for q in range(s.edge_offsets[a], s.edge_offsets[a + 1]):
            before, label = s.edge_pairs[q]
            out["edge", p.edges[a], p.labels[before], p.labels[label]] = flat[base + q]
    base += len(s.edge_pairs)
    for kind in ("start", "end"):
        for j, label in enumerate(p.labels if getattr(s, kind) else ()):
            out[kind, None, None, label] = flat[base + j]
        base += len(p.labels) * getattr(s, kind)
    return {key: weight for key, weight in out.items() if weight}


def test_the_table_lists_every_weight(full: tuple[CRF, dict[str, Any]]) -> None:
    model, _ = full
    rows = model.weights_table()
    expected = by_key(model)
    found = {(row.kind, row.attribute, row.previous, row.label): np.float32(row.weight) for row in rows}
    assert found == expected
    assert len(rows) == len(expected)
    assert Counter(row.kind for row in rows).keys() == {"state", "transition", "edge", "start", "end"}


@pytest.mark.parametrize("name", ["weights.csv", "weights.jsonl", "weights.json", "weights.csv.gz", "no suffix"])
def test_a_table_that_nobody_touched_gives_the_same_model(
    full: tuple[CRF, dict[str, Any]], name: str, tmp_path: Path
) -> None:
    model, inputs = full
    model.write_weights(tmp_path / name)
    again = model.apply_edits(tmp_path / name)
    assert by_key(again) == by_key(model)
    assert again.predict(**inputs) == model.predict(**inputs)
    for mine, theirs in zip(again.marginal_arrays(**inputs), model.marginal_arrays(**inputs), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    again.write_weights(tmp_path / f"again {name}")
    assert content(tmp_path / f"again {name}") == content(tmp_path / name)


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def test_odd_names_survive(tmp_path: Path) -> None:
    odd = ['comma,quote"', "two\nlines", "语言", "", " blank ", "#1", "carriage\rreturn"]
    model = CRF(c2=0.1).fit([[[name] for name in odd]], [["A,1", 'B"2', "C\n3", "D", "E", "F", "G"]])
    for name in ("w.csv", "w.jsonl"):
        model.write_weights(tmp_path / name)
        assert by_key(model.apply_edits(tmp_path / name)) == by_key(model)


def test_the_files_are_what_other_tools_read(full: tuple[CRF, dict[str, Any]], tmp_path: Path) -> None:
    model, _ = full
    model.write_weights(tmp_path / "w.csv")
    with open(tmp_path / "w.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(by_key(model))
    model.write_weights(tmp_path / "w.jsonl")
    lines = (tmp_path / "w.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["label"] for line in lines] == [row["label"] for row in rows]


def test_edits_count(full: tuple[CRF, dict[str, Any]]) -> None:
    model, inputs = full
    before = model.predict(**inputs)
    rows = model.weights_table()
    changed = replace(rows[0], weight=-12.5)
    there = {(row.kind, row.attribute, row.previous, row.label) for row in rows}
    new = next(
        row
        for row in (WeightRow("state", "word:cat", None, label, 3.25) for label in model.labels_)
        if (row.kind, row.attribute, row.previous, row.label) not in there
    )
    edited = model.with_weights([changed, *rows[2:], new])
    expected = by_key(model)
    del expected["state", rows[1].attribute, None, rows[1].label]
    expected["state", rows[0].attribute, None, rows[0].label] = np.float32(-12.5)
    expected["state", "word:cat", None, new.label] = np.float32(3.25)
    assert by_key(edited) == expected
    assert model.predict(**inputs) == before  # the model itself is as it was
    assert edited is not model


def test_edits_change_predictions() -> None:
    model = CRF(c2=0.1).fit([[["a"]], [["b"]]], [["X"], ["Y"]])
    assert model.predict([[["a"]]]) == [["X"]]
    swapped = model.with_weights([{"kind": "state", "attribute": "a", "previous": None, "label": "Y", "weight": 1}])
    assert swapped.predict([[["a"]]]) == [["Y"]]
    assert swapped.state_features_ == {("a", "Y"): 1.0}


def test_rows_may_come_in_any_order_and_add_ends(full: tuple[CRF, dict[str, Any]]) -> None:
    model, inputs = full
    shuffled = model.weights_table()
    np.random.default_rng(0).shuffle(shuffled)  # type: ignore[arg-type]
    assert model.with_weights(shuffled).predict(**inputs) == model.predict(**inputs)
    X, y = items()
    plain = CRF(c2=0.1).fit(X, y)
    started = plain.with_weights([*plain.weights_table(), WeightRow("start", None, None, "V", 50.0)])
    assert [row for row in started.weights_table() if row.kind == "start"] == [
        WeightRow("start", None, None, "V", 50.0)
    ]
    assert started.predict(X[:1]) == [["V", *plain.predict(X[:1], known=[["V"] + [None] * (len(X[0]) - 1)])[0][1:]]]


WRONG = {
    "state,word:cat,,N,1\nstate,nobody,,N,1": r"w\.csv:3: .*'nobody'",
    "state,word:cat,,N,1\n\ntransition,,N,Q,1": r"w\.csv:4: .*'Q'",
    "transition,,Q,N,1": r"w\.csv:2: .*'Q'",
    "edge,nobody,N,N,1": r"w\.csv:2: .*'nobody'",
    "state,word:cat,,N,1\nstate,word:cat,,N,2": r"w\.csv:3: .*w\.csv:2\b",
    "state,word:cat,,N,nan": r"w\.csv:2: .*'nan'",
    "state,word:cat,,N,1e39": r"w\.csv:2: .*'1e39'",
    "state,word:cat,,N,": r"w\.csv:2: .*''",
    "states,word:cat,,N,1": r"w\.csv:2: .*'states'",
    "state,word:cat,N,N,1": r"w\.csv:2: .*'N'",
    "start,word:cat,,N,1": r"w\.csv:2: .*'word:cat'",
    "state,word:cat,N,1": r"w\.csv:2: ",
    'state,"word:cat,,N,1': r"w\.csv:\d: ",
}


@pytest.mark.parametrize("lines", WRONG)
def test_a_wrong_line_is_named(full: tuple[CRF, dict[str, Any]], lines: str, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text(f"{','.join(COLUMNS)}\n{lines}\n", encoding="utf-8")
    with pytest.raises(InputError, match=WRONG[lines]):
        full[0].apply_edits(tmp_path / "w.csv")


def test_wrong_files_and_rows(full: tuple[CRF, dict[str, Any]], tmp_path: Path) -> None:
    model, _ = full
    path = tmp_path / "w.jsonl"
    row = {"kind": "state", "attribute": "word:cat", "previous": None, "label": "N", "weight": 1.0}
    for text, place in (
        ("{", r"w\.jsonl:1: "),
        ("[]", r"w\.jsonl:1: "),
        ("\n" + json.dumps({**row, "weight": "much"}), r"w\.jsonl:2: "),
        (json.dumps({**row, "weight": True}), r"w\.jsonl:1: "),
        (json.dumps({**row, "label": 3}), r"w\.jsonl:1: "),
        (json.dumps({**row, "more": 3}), r"w\.jsonl:1: "),
        (json.dumps({**row, "attribute": None}), r"w\.jsonl:1: "),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=place):
            model.apply_edits(path)
    (tmp_path / "w.csv").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"w\.csv:1: "):
        model.apply_edits(tmp_path / "w.csv")
    (tmp_path / "w.csv").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"w\.csv:1: "):
        model.apply_edits(tmp_path / "w.csv")
    with pytest.raises(InputError, match=r"nothing\.csv: "):
        model.apply_edits(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match=r"^row 1: "):
        model.with_weights([row, {"kind": "state"}])


def test_hashed_attributes_go_by_number(tmp_path: Path) -> None:
    X, y = items()
    model = CRF(hash_bits=8, c2=0.1).fit(X, y)
    model.write_weights(tmp_path / "w.csv")
    assert model.apply_edits(tmp_path / "w.csv").predict(X) == model.predict(X)
    row = model.weights_table()[0]
    assert row.attribute.startswith("#")
    for name in ("#256", "word:cat", "#", "#1x", "#" + "9" * 5000):
        with pytest.raises(InputError, match=r"^row 0: "):
            model.with_weights([replace(row, attribute=name)])


def test_top_features_and_transitions(full: tuple[CRF, dict[str, Any]]) -> None:
    model, _ = full
    states = sorted(model.state_features_.items(), key=lambda item: -item[1])
    top = model.top_features(5)
    assert [(row.attribute, row.label) for row in top] == [key for key, _ in states[:5]]
    assert [row.weight for row in top] == [weight for _, weight in states[:5]]
    low = model.top_features(3, lowest=True)
    assert [row.weight for row in low] == [weight for _, weight in states[::-1][:3]]
    verbs = model.top_features(4, label="V")
    assert [(row.attribute, row.label) for row in verbs] == [key for key, _ in states if key[1] == "V"][:4]
    moves = sorted(model.transition_features_.items(), key=lambda item: -item[1])
    found = model.top_transitions(3)
    assert [((row.previous, row.label), row.weight) for row in found] == moves[:3]
    assert [row.weight for row in model.top_transitions(10**6, lowest=True)] == [weight for _, weight in moves[::-1]]
    assert str(found[0]) == f"{found[0].weight:+9.4f}  {found[0].previous} → {found[0].label}"
    assert str(top[0]).endswith(f"{top[0].label}  {top[0].attribute}")
    with pytest.raises(InputError, match=r"^label: .*'Q'"):
        model.top_features(3, "Q")
    with pytest.raises(InputError, match=r"^n: "):
        model.top_transitions(-1)


def test_the_names_of_sklearn_crfsuite() -> None:
    X, y = items()
    model = CRF(c2=0.1).fit(X, y)
    assert model.attributes_ == list(dict.fromkeys(name for name, _ in model.state_features_))
    assert model.num_attributes_ == len(model.attributes_)
    assert model.classes_ == model.labels_ == ["D", "N", "P", "V"]
    assert Counter(model.state_features_).most_common(1)[0][0] == (
        model.top_features(1)[0].attribute,
        model.top_features(1)[0].label,
    )
    assert set(model.transition_features_) <= {(a, b) for a in "DNPV" for b in "DNPV"}
    for name in ("state_features_", "transition_features_", "attributes_", "num_attributes_", "size_", "labels_"):
        assert not hasattr(CRF(), name)
    hashed = CRF(hash_bits=8).fit(X, y)
    assert 0 < hashed.num_attributes_ == len(hashed.attributes_) <= 256


def test_summary(full: tuple[CRF, dict[str, Any]]) -> None:
    model, _ = full
    told = model.summary()
    assert told.labels == ["D", "N", "P", "V"]
    assert told.weights == Counter(key[0] + "s" * (key[0] in ("state", "transition", "edge")) for key in by_key(model))
    assert told.active == len(by_key(model))
    assert told.largest == pytest.approx(max(abs(weight) for weight in by_key(model).values()))
    assert told.as_dict()["training"]["sentences"] == 20
    text = told.text()
    assert "labels      4: D N P V\n" in text
    assert "features    given by the caller\n" in text
    assert f"objective   {model.objective_}" in text
    X, y = tagged()
    assert "features    template <template>, 4 lines\n" in CRF(TEMPLATE).fit(X, y).summary().text()
    assert "4 lines, hashed to 9 bits\n" in CRF(TEMPLATE, hash_bits=9).fit(X, y).summary().text()


def test_the_heat_map(full: tuple[CRF, dict[str, Any]], tmp_path: Path) -> None:
    full[0].plot_transitions(tmp_path / "transitions.png")
    assert (tmp_path / "transitions.png").read_bytes().startswith(b"\x89PNG")
