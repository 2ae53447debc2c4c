"""Every kind of model fulfils the contract: it describes itself, its chains are its answers, and it scores once."""

from __future__ import annotations

import inspect
from itertools import product
from typing import Any

import numpy as np
import pytest

from tagline import CRF, HMM, MEMM, InputError, MaxEnt, SemiCRF, TrigramTagger, chain, compiled
from tagline.models.answers import Answer
from tagline.models.contract import Input, Model
from tagline.models.registry import kinds

X = [["Anna", "Smith", "lives", "in", "Rome"], ["Bob", "sees", "New", "York"], ["Rome", "calls"], ["Anna"]] * 5
Y = [
    ["B-PER", "I-PER", "O", "O", "B-LOC"],
    ["B-PER", "O", "B-LOC", "I-LOC"],
    ["B-LOC", "O"],
    ["B-PER"],
] * 5
NEW = [["Bob", "Smith", "calls", "York"], ["Anna"], [], ["lives", "in", "New", "York"]]
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]\nB\n"


def fitted(kind: str) -> Any:
    if kind in ("bilstm", "transformer"):
        pytest.importorskip("torch")
        from .neural.cases import bilstm, transformer

        return (bilstm() if kind == "bilstm" else transformer()).fit(X, Y)
    estimators = {
        "crf": CRF(TEMPLATE, scheme="IOB2", c2=0.5, start_end=True),
        "order 2": CRF(TEMPLATE, scheme="IOB2", c2=0.5, start_end=True, order=2),
        "order 2, pruned": CRF(TEMPLATE, scheme="IOB2", c2=0.5, start_end=True, order=2, prune=0.01),
        "memm": MEMM(TEMPLATE, scheme="IOB2", c2=0.5, start_end=True),
        "maxent": MaxEnt(TEMPLATE, scheme="IOB2", c2=0.5, start_end=True),
        "hmm": HMM(scheme="IOB2", k=0.2),
        "semicrf": SemiCRF(TEMPLATE, c2=0.5),
        "trigram": TrigramTagger(),
    }
    return estimators[kind].fit(X, Y)


@pytest.fixture(scope="module", params=[*kinds(), "order 2", "order 2, pruned"])
def model(request: pytest.FixtureRequest, one_thread: None) -> Any:
    return fitted(request.param)


def first_order(model: Any) -> bool:
    """Whether the labels of its chains are its labels."""
    return model.kind not in ("semicrf", "trigram") and getattr(model, "order", 1) == 1


def finds_spans(model: Any) -> bool:
    return bool(model.finds_spans)


def test_it_has_everything_that_the_contract_names(model: Model) -> None:
    for name, _ in inspect.getmembers(Model):
        if not name.startswith("_"):
            assert hasattr(model, name), name
    assert type(model) is kinds()[model.kind].estimator
    assert model.labels_ == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
    assert model.input_ == Input(source=model.input_.source)
    assert model.explains
    summary = model.summary()
    assert summary.as_dict()["labels"] == model.labels_
    assert str(len(model.labels_)) in summary.line()
    assert model.view(2).text().startswith(summary.text())
    assert isinstance(model.known_tokens(), list)


def test_chains_are_the_sentences_in_their_order(model: Any) -> None:
    blocks = list(model.chains(NEW))
    lengths = [length for block in blocks for length in block.lengths.tolist()]
    assert lengths == [4, 1, 0, 4]
    log_z = np.concatenate([chain.log_partition(block) for block in blocks])
    full = [b for b, sentence in enumerate(NEW) if sentence]
    np.testing.assert_allclose(log_z[full], model.log_likelihood(NEW)[full], rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(
        np.concatenate([chain.entropy(block) for block in blocks])[full], model.entropy(NEW)[full], rtol=0, atol=2e-5
    )
    if first_order(model):
        best = [model.labels_[label] for block in blocks for label in chain.viterbi(block).labels]
        assert best == [label for row in model.predict(NEW) for label in row]


def test_known_labels_bind_chains(model: Any) -> None:
    known = [[None, None, {"O", "B-LOC"}, "B-LOC"], ["B-LOC"], [], None]
    for row, labels in zip(model.predict(NEW, known=known), known, strict=True):
        for label, entry in zip(row, labels or [], strict=False):
            assert entry is None or label == entry or label in entry
    if first_order(model):
        best = [label for block in model.chains(NEW, known=known) for label in chain.viterbi(block).labels]
        assert [model.labels_[label] for label in best] == [
            label for row in model.predict(NEW, known=known) for label in row
        ]
    with pytest.raises(InputError, match=r"^known: "):
        model.predict(NEW, known=[None])
    with pytest.raises(InputError, match=r"^known\[0\]\[1\]: "):
        model.predict(NEW, known=[[None, "B-ORG", None, None], None, None, None])


def test_one_answer_is_all_answers(model: Any) -> None:
    asked: dict[str, Any] = {"marginals": True, "k_best": 3}
    if finds_spans(model):
        asked["spans"] = True
    answers = model.answer(NEW, **asked)
    assert [answer.labels for answer in answers] == list(model.predict(NEW))
    assert [answer.k_best for answer in answers] == model.predict_k_best(NEW, 3)
    for ours, theirs in zip(answers, model.marginal_arrays(NEW), strict=True):
        np.testing.assert_array_equal(ours.marginals, theirs)
    if finds_spans(model):
        assert [answer.entities for answer in answers] == model.predict_spans(NEW)
    assert model.answer(NEW) == [Answer(row) for row in model.predict(NEW)]


def test_log_likelihood_is_a_distribution(model: Any) -> None:
    labellings = [list(row) for row in product(model.labels_, repeat=2)]
    log_p = model.log_likelihood([["Anna", "calls"]] * len(labellings), labellings)
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=2e-5)
    for wrong in (labellings[:1], [*labellings, ["O", "O"]]):
        with pytest.raises(InputError, match=r"^known: "):
            model.log_likelihood([["Anna", "calls"]] * 25, wrong)


def test_explanations_add_up_to_the_margin(model: Any) -> None:
    words = ["Bob", "Smith", "calls", "York"]
    explanation = model.explain(words)
    assert explanation.labels == model.predict([words])[0]
    best = float(np.log(model.predict_k_best([words], 1)[0][0].probability))
    nodes = model.marginal_arrays([words])[0]
    for t, token in enumerate(explanation.tokens):
        assert token.probability == pytest.approx(nodes[t, model.labels_.index(token.label)], abs=2e-6)
        if token.runner_up is None:
            continue
        others = [{label for label in model.labels_ if label != token.label} if n == t else None for n in range(4)]
        rival = model.predict([words], known=[others])[0]
        assert token.runner_up == rival[t]
        margin = best - float(model.log_likelihood([words], [rival])[0])
        assert token.margin == pytest.approx(margin, rel=1e-4, abs=2e-4)
    assert isinstance(model.legend(explanation), list)


def test_features_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several questions at once score once; log p(y | x) does, too."""
    model, calls = fitted("crf"), []
    chains = CRF._chains
    monkeypatch.setattr(CRF, "_chains", lambda self, *given, **how: calls.append(1) or chains(self, *given, **how))
    model.answer(NEW, marginals=True, spans=True, k_best=2)
    assert len(calls) == 1
    model.log_likelihood(X, Y)
    assert len(calls) == 2


@pytest.mark.skipif(compiled.core is None, reason="the trigram tagger answers by the compiled core")
def test_pairs_of_states_are_the_trigram_tagger() -> None:
    """The chain over pairs against the core's second-order recursions: best labelling, marginals, k best."""
    model = fitted("trigram")
    for known in (None, [[None, "B-PER", {"O", "I-PER"}, None], None, [], None]):
        ranked = model.predict_k_best(NEW, 4, known=known)
        nodes = model.marginal_arrays(NEW, known=known)
        for b, pairs in enumerate(model.chains(NEW, known=known)):
            if not NEW[b]:
                continue
            names = [model.labels_[label] for label in pairs.labels]
            best = chain.viterbi(pairs).labels
            assert [names[pair] for pair in best] == model.predict(NEW, known=known)[b]
            by_label = np.zeros((len(NEW[b]), 5))
            np.add.at(by_label.T, pairs.labels, chain.marginals(pairs).nodes.T)
            np.testing.assert_allclose(by_label, nodes[b], rtol=0, atol=2e-6)
            for ours, theirs in zip(
                chain.k_best(pairs, 4)[0].probabilities, (path.probability for path in ranked[b]), strict=False
            ):
                assert ours == pytest.approx(theirs, abs=2e-6)
