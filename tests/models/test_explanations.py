"""Explanations of every kind: in time that grows with the sentence, and adding up where a rival is far away, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, HMM, Chain, SemiCRF, TrigramTagger
from tagline.chain import rivals, second_order, segments
from tagline.models.explanations import explain_chain

WORDS = [["Anna", "Berg", "saw", "Oslo"], ["New", "York", "saw", "Anna"], ["it", "rained"]]
TAGS = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "I-LOC", "O", "B-PER"], ["O", "O"]]
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]\nB\n"
KINDS: dict[str, Any] = {
    "CRF": lambda: CRF(TEMPLATE, max_iterations=5),
    "second order": lambda: CRF(TEMPLATE, order=2, max_iterations=5),
    "semi-CRF": lambda: SemiCRF(TEMPLATE, scheme="IOB2", max_iterations=5),
    "HMM": HMM,
    "trigrams": TrigramTagger,
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_token_is_worth_a_search_of_its_own(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, calls = KINDS[kind]().fit(WORDS, TAGS), []
    for module in (tagline.chain, second_order, segments):
        for name in ("viterbi", "log_partition", "constrain"):
            monkeypatch.setattr(module, name, counted(getattr(module, name), calls))
    words = (WORDS[0] + ["unseen"] + WORDS[1]) * 20
    why = model.explain(words)
    assert [token.token for token in why.tokens] == words
    assert any(token.runner_up is not None for token in why.tokens)
    assert len(calls) <= 3


def counted(function: Any, calls: list[str]) -> Any:
    def call(*arguments: Any, **how: Any) -> Any:
        calls.append(function.__name__)
        return function(*arguments, **how)

    return call


def test_what_is_far_away_is_one_term_and_the_margin_adds_up() -> None:
    T, near = 2_000, rivals.NEAR
    stay = np.where(np.eye(2, dtype=np.bool_), 0.0, -np.inf)
    emissions = np.tile([0.5, 0.25], (T, 1))
    why = explain_chain(Chain(emissions, stay), ["A", "B"], [str(n) for n in range(T)])
    for token in (why.tokens[0], why.tokens[1_000], why.tokens[-1]):
        assert token.margin == pytest.approx(0.25 * T, rel=1e-12)
        (rest,) = (term for term in token.contributions if term.kind == "rest")
        shown = min(token.position, near) + min(T - 1 - token.position, near) + 1
        assert rest.amount == pytest.approx(0.25 * (T - shown), rel=1e-12)
        assert len(token.contributions) == shown + 1
    assert "the tokens before 984 and after 1016, where the rival differs too" in why.tokens[1_000].text()


def test_segments_that_are_far_away_are_one_term_and_the_margin_adds_up() -> None:
    """All of one type, or all of the other: a rival differs everywhere."""
    one, other = [["B-A", "B-A", "B-A"]], [["B-B", "B-B", "B-B"]]
    words = [["a", "b", "c"]]
    model = SemiCRF("U00:%x[0,0]\n", scheme="IOB2", max_length=2, c1=0, c2=0.01).fit(words * 2, one + other)
    sentence = ["a", "b", "c"] * 250
    why = model.explain(sentence)
    best = model.predict_k_best([sentence], 1)[0][0].score
    for t in (0, 1, 375, 749):
        token = why.tokens[t]
        known: list[Any] = [None] * len(sentence)
        known[t] = set(model.labels_) - {token.label}
        rival = model.predict_k_best([sentence], 1, known=[known])[0][0]
        assert token.runner_up == rival.labels[t]
        assert token.margin == pytest.approx(best - rival.score, rel=0, abs=1e-6)
        assert any(term.kind == "rest" for term in token.contributions)
        assert {term.token for term in token.contributions} <= set(range(t - 30, t + 31))
    short = model.explain(sentence[:60])
    assert all(term.kind != "rest" for token in short.tokens for term in token.contributions)
