"""``CRFPP.Tagger`` and ``CRFPP.Model`` under their own names."""

from __future__ import annotations

import importlib
import itertools
import sys
from typing import Any

import numpy as np
import pytest

import tagline.interop.crfpp
from tests.interop.crfpp.peers import FIXTURES

MODEL = FIXTURES / "model"
SENTENCE = ["the DT", "heron NN", "hums VB"]


@pytest.fixture
def crfpp(monkeypatch: Any) -> Any:
    """The module as users import it."""
    monkeypatch.setitem(sys.modules, "CRFPP", tagline.interop.crfpp)
    return importlib.import_module("CRFPP")


@pytest.fixture
def tagger(crfpp: Any) -> Any:
    """A tagger with a parsed sentence."""
    tagger = crfpp.Tagger(f"-m {MODEL} -v 2 -n3")
    assert all(tagger.add(line) for line in SENTENCE)
    assert tagger.parse()
    return tagger


def test_a_sentence_token_by_token(tagger: Any) -> None:
    assert (tagger.size(), tagger.xsize(), tagger.ysize()) == (3, 2, 3)
    assert [tagger.x(i, 0) for i in range(3)] == ["the", "heron", "hums"]
    assert [tagger.y2(i) for i in range(3)] == ["B", "I", "O"]
    assert [tagger.yname(tagger.y(i)) for i in range(3)] == ["B", "I", "O"]
    assert tagger.nbest() == 3
    assert tagger.vlevel() == 2
    tagger.clear()
    assert tagger.empty()


def test_numbers_are_those_that_crf_test_prints(tagger: Any) -> None:
    blocks = [block.split("\n") for block in (FIXTURES / "output.txt").read_text().split("\n\n")[:3]]
    for block in blocks:
        assert tagger.next()
        assert f"{tagger.prob():f}" == block[0].split()[-1]
        for i, line in enumerate(block[1:]):
            cells = line.split("\t")[3:]
            assert f"{tagger.y2(i)}/{tagger.prob(i):f}" == cells[0]
            assert [f"{tagger.yname(j)}/{tagger.prob(i, j):f}" for j in range(3)] == cells[1:]


def test_all_labellings_come_in_order_and_sum_to_one(tagger: Any) -> None:
    found = []
    while tagger.next():
        found.append((tagger.prob(), tuple(tagger.y(i) for i in range(3))))
    assert sorted(labels for _, labels in found) == sorted(itertools.product(range(3), repeat=3))
    assert [p for p, _ in found] == sorted((p for p, _ in found), reverse=True)
    np.testing.assert_allclose(sum(p for p, _ in found), 1, rtol=1e-12)


def test_scores_fit_together(tagger: Any) -> None:
    """α, β, Z and the best score by their definitions, over all labellings."""
    scores = {}
    for labels in itertools.product(range(3), repeat=3):
        total = sum(tagger.emission_cost(i, j) for i, j in enumerate(labels))
        total += sum(tagger.next_transition_cost(i, labels[i], labels[i + 1]) for i in range(2))
        scores[labels] = total
    values = np.array(list(scores.values()))
    np.testing.assert_allclose(tagger.Z(), np.log(np.exp(values).sum()), rtol=1e-12)
    assert tagger.prev_transition_cost(2, 0, 1) == tagger.next_transition_cost(1, 1, 0)
    best = max(scores, key=scores.__getitem__)
    np.testing.assert_allclose(tagger.best_cost(2, best[2]), scores[best], rtol=1e-12)
    with_one = np.array([score for labels, score in scores.items() if labels[1] == 2])
    both = tagger.alpha(1, 2) + tagger.beta(1, 2) - tagger.emission_cost(1, 2)
    np.testing.assert_allclose(both, np.log(np.exp(with_one).sum()), rtol=1e-12)


def test_texts_and_shared_models(crfpp: Any) -> None:
    model = crfpp.Model(f"-m {MODEL} -v1")
    assert model.getTemplate().startswith("U00:%x[0,0]\n")
    tagger = model.createTagger()
    written = tagger.parse("桥\tNN\n下 IN\n")
    assert written.startswith("# 0.")
    assert "\n桥\tNN\tB/0." in written
    tagger.set_vlevel(0)
    assert tagger.parse("桥 NN\n") == "桥\tNN\tB\n\n"
    assert tagger.set_model(crfpp.Model(f"-m {MODEL}"))


def test_penalties_and_the_cost_factor_change_scores(tagger: Any) -> None:
    before = tagger.emission_cost(0, 1)
    tagger.set_penalty(0, 1, 10.0)
    tagger.parse()
    assert tagger.emission_cost(0, 1) == before + 10
    assert tagger.y(0) == 1
    assert "\tI/" in tagger.toString().split("\n")[1]
    tagger.set_cost_factor(0.5)
    tagger.set_cost_factor(-1)
    assert tagger.cost_factor() == 0.5


def test_errors_of_use(crfpp: Any, tagger: Any) -> None:
    for arguments in ("-m nowhere", f"-m {FIXTURES / 'train.txt'}", "-x", f"-m {MODEL} -c0", ""):
        with pytest.raises(RuntimeError, match=r"expected|No such file"):
            crfpp.Tagger(arguments)
    for call in (lambda: tagger.y(3), lambda: tagger.prob(0, 3), lambda: tagger.next_transition_cost(2, 0, 0)):
        with pytest.raises(IndexError):
            call()
    assert not tagger.add("alone")
    tagger.clear()
    with pytest.raises(RuntimeError, match="parsed"):
        tagger.y(0)
    with pytest.raises(AttributeError):
        crfpp.Nothing  # noqa: B018
