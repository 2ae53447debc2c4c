"""Explanations against the enumeration of all labellings: the right rival, and terms that add up to the margin."""

from __future__ import annotations

import json
from html import unescape
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import CRF, Corpus
from tagline.errors import InputError
from tagline.models.explanations import Explanation
from tagline.readers.schemes import legal

from ..corpora import TEMPLATE, edge_features, everything, features, items, tagged


def weight_of(model: CRF) -> dict[tuple[str | None, str | None, str | None, str], float]:
    """(kind, attribute, previous, label) → the float32 weight."""
    rows = model.weights_table()
    return {(row.kind, row.attribute, row.previous, row.label): float(np.float32(row.weight)) for row in rows}


def scored(w: Any, states: list[dict[str, float]], edges: list[dict[str, float]], y: tuple[str, ...]) -> float:
    """w · F(y, x), term by term."""
    total = 0.0
    for t, label in enumerate(y):
        total += sum(value * w.get(("state", name, None, label), 0.0) for name, value in states[t].items())
        if t:
            total += w.get(("transition", None, y[t - 1], label), 0.0)
            total += sum(value * w.get(("edge", name, y[t - 1], label), 0.0) for name, value in edges[t].items())
    return total + w.get(("start", None, None, y[0]), 0.0) + w.get(("end", None, None, y[-1]), 0.0)


def allowed(labels: list[str], scheme: str | None, y: tuple[str, ...]) -> bool:
    if scheme is None:
        return True
    rules, path = legal(labels, scheme), [labels.index(label) for label in y]
    moves = all(rules.transitions[a, b] for a, b in pairwise(path))
    return bool(moves and rules.start[path[0]] and rules.end[path[-1]])


def check(
    model: CRF,
    found: Explanation,
    states: list[dict[str, float]],
    edges: list[dict[str, float]] | None = None,
    scheme: str | None = None,
) -> None:
    T, edges, w = len(states), edges or [{}] * len(states), weight_of(model)
    paths = [y for y in product(model.labels_, repeat=T) if allowed(model.labels_, scheme, y)]
    scores = {y: scored(w, states, edges, y) for y in paths}
    best = max(paths, key=lambda y: scores[y])
    assert found.labels == list(best)
    for t, one in enumerate(found.tokens):
        others = [y for y in paths if y[t] != best[t]]
        rival = max(others, key=lambda y: scores[y])
        assert one.position == t
        assert one.runner_up == rival[t]
        assert one.margin == pytest.approx(scores[best] - scores[rival], rel=1e-9, abs=1e-9)
        amounts = [abs(term.amount) for term in one.contributions]
        assert amounts == sorted(amounts, reverse=True)
        assert all(amounts)


def plain(item: dict[str, Any]) -> dict[str, float]:
    """The attributes of a token by the rules of python-crfsuite."""
    return {
        f"{key}:{value}" if isinstance(value, str) else key: 1.0 if isinstance(value, str) else float(value)
        for key, value in item.items()
    }


@pytest.fixture(scope="module")
def full() -> CRF:
    return everything()[0]


@given(st.lists(st.sampled_from(["the", "a", "cat", "Anna", "sings", "in", "unseen"]), min_size=1, max_size=4))
def test_items_edges_and_ends_against_enumeration(full: CRF, words: list[str]) -> None:
    found = full.explain(features(words), edges=edge_features(words))
    # length / 4 is exact in float32
    check(full, found, [plain(item) for item in features(words)], [{f"is:{word}": 1.0} for word in words])


def expanded(words: list[str]) -> list[dict[str, float]]:
    padded = ["_B-1", *words, "_B+1"]
    return [
        {f"U00:{padded[t]}": 1.0, f"U01:{padded[t - 1]}/{padded[t]}": 1.0, f"U02:{padded[t + 1]}": 1.0}
        for t in range(1, len(words) + 1)
    ]


def test_templates_against_enumeration() -> None:
    X, y = tagged(2)
    model = CRF(TEMPLATE, c2=0.1).fit(X, y)
    for words in X[:8]:
        if len(words) <= 5:
            found = model.explain(words)
            check(model, found, expanded(words))
            assert [one.token for one in found.tokens] == words
    kinds = {term.kind for one in found.tokens for term in one.contributions}
    assert kinds == {"state", "transition"}


def test_functions_and_corpora() -> None:
    X, y = tagged(2)
    model = CRF(features, c2=0.1).fit(X, y)
    found = model.explain(X[0])
    check(model, found, [plain(item) for item in features(X[0])])
    corpus = Corpus.from_sentences([(["the", "cat"], ["D", "N"])])
    template = CRF(TEMPLATE, c2=0.1).fit(X, y)
    assert template.explain(corpus[0]) == template.explain(["the", "cat"])


def test_hashed_attributes_have_numbers() -> None:
    X, y = items(1)
    model = CRF(hash_bits=12, c2=0.1).fit(X, y)
    found = model.explain(X[0])
    names = {term.name for one in found.tokens for term in one.contributions if term.kind == "state"}
    assert names
    assert all(name.startswith("#") and name[1:].isdecimal() for name in names)
    assert set(names) <= set(model.attributes_)
    assert found.labels == model.predict([X[0]])[0]


def test_rules_bind_the_rival_too() -> None:
    words = [["Anna", "Smith", "sings"], ["in", "New", "York"], ["Anna", "sings"]]
    y = [["B-PER", "I-PER", "O"], ["O", "B-LOC", "I-LOC"], ["B-PER", "O"]]
    model = CRF(TEMPLATE, scheme="IOB2", c2=0.01).fit(words, y)
    for one in words:
        check(model, model.explain(one), expanded(one), scheme="IOB2")
    rivals = model.explain(["Anna", "Smith", "sings"]).tokens[1]
    assert rivals.label == "I-PER"
    assert {term.token for term in rivals.contributions} >= {1, 2}  # the way in and the way out differ


def test_known_labels_leave_no_rival(full: CRF) -> None:
    words = ["the", "cat"]
    found = full.explain(features(words), known=["N", None], edges=edge_features(words))
    assert found.tokens[0].label == "N"
    assert found.tokens[0].runner_up is None
    assert found.tokens[0].contributions == ()
    assert found.tokens[0].probability == pytest.approx(1.0)
    assert "the only label that is allowed" in found.text()
    assert found.tokens[1].runner_up is not None


def test_a_single_label_and_an_empty_sentence() -> None:
    model = CRF().fit([[{"a": 1.0}]], [["X"]])
    assert model.explain([{"a": 1.0}]).tokens[0].runner_up is None
    assert model.explain([]) == Explanation(())
    assert model.explain([]).text() == ""


def test_probabilities_are_the_marginals(full: CRF) -> None:
    words = ["the", "dog", "sees", "Anna"]
    found = full.explain(features(words), edges=edge_features(words))
    marginals = full.predict_marginals_single(features(words), edges=edge_features(words))
    for one, row in zip(found.tokens, marginals, strict=True):
        assert one.probability == pytest.approx(row[one.label], abs=1e-6)
        assert one.runner_up_probability == pytest.approx(row[str(one.runner_up)], abs=1e-6)


def test_an_attribute_twice_counts_twice() -> None:
    model = CRF(c2=0.1).fit([[["a", "a"]], [["b"]]], [["X"], ["Y"]])
    term = model.explain([["a", "a"]]).tokens[0].contributions
    assert [(one.kind, one.name) for one in term] == [("state", "a")]
    assert term[0].amount == pytest.approx(2 * model.state_features_["a", "X"], rel=1e-6)


def test_as_text_dict_and_html(full: CRF) -> None:
    model = CRF(TEMPLATE, c2=0.1).fit([["<b>", "x"]] * 2, [["A&B", "C"]] * 2)
    found = model.explain(["<b>", "x"])
    text = found.text(most=1)
    first = found.tokens[0]
    assert text.startswith(f"<b>  A&B ({first.probability:.3f}), not C ({first.runner_up_probability:.3f}), by ")
    assert f"{first.margin:.3f}" in text
    assert f"  {first.contributions[0].amount:+8.3f}  " in text
    assert f"{len(first.contributions) - 1} more" in text
    told = found.as_dict()
    assert json.loads(json.dumps(told)) == json.loads(json.dumps(told))
    assert told["tokens"][0]["label"] == "A&B"
    assert told["tokens"][0]["margin"] == first.margin
    assert np.isclose(sum(term["amount"] for term in told["tokens"][0]["contributions"]), first.margin)
    page = found.html()
    assert "&lt;b&gt;" in page
    assert "A&amp;B" in page
    assert "<b>x" not in page
    assert page.count("<tr>") == 3 + len(found.legend()) == 6


def test_a_page_says_what_the_text_says() -> None:
    X, y = tagged(2)
    found = CRF(TEMPLATE, c2=0.1).fit(X, y).explain(X[0])
    page = unescape(found.html(most=3))
    rows = [line.split("  ", 2) for line in found.text(most=3).splitlines() if line.startswith("  ")]
    assert any("(token " in row[-1] for row in rows)
    assert any(row[-1].endswith(" more") for row in rows)
    for row in rows:
        assert row[-1].strip().split("  ", 1)[-1] in page


def test_a_string_is_no_sentence() -> None:
    model = CRF(TEMPLATE).fit([["a"]], [["X"]])
    with pytest.raises(InputError, match=r"^X\[0\]: "):
        model.explain("a b")
