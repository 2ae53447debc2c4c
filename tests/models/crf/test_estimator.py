"""What the estimator learns and answers, against expectations that are derived without it."""

from __future__ import annotations

import copy
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, Corpus, Dictionary, storage
from tagline.errors import InputError
from tagline.training import Auto

from ..corpora import TEMPLATE, edge_features, features, items, tagged


def file_of(model: CRF) -> bytes:
    return storage.dumps(*model._packed())


def objective_of(model: CRF, X: Any, y: Any, weights: Any = None, **inputs: Any) -> float:
    """Σ weight · −log p(y | x) + c1·|w|₁ + c2·|w|², by the chain engine and the flat weights."""
    w = model.parameters_.weights
    loss = -(np.ones(len(y)) if weights is None else np.asarray(weights)) @ model.log_likelihood(X, y, **inputs)
    return float(loss + model.c1 * np.abs(w).sum() + model.c2 * w @ w)


# Training.


@pytest.mark.parametrize("algorithm", ["auto", "lbfgs", "sgd", "ap"])
def test_the_same_bytes_again_and_on_any_number_of_threads(algorithm: str) -> None:
    X, y = tagged(0, 80)
    before, files = tagline.threads(), []
    try:
        for threads in (1, 1, 2):
            tagline.set_threads(threads)
            model = CRF(TEMPLATE, algorithm=algorithm, max_iterations=12)
            files.append(file_of(model.fit(X, y)))
    finally:
        tagline.set_threads(before)
    assert files[0] == files[1] == files[2]


def test_fitting_twice_forgets_the_first_time() -> None:
    X, y = tagged()
    model = CRF(TEMPLATE, c2=0.1).fit([["x"]], [["Q"]])
    assert file_of(model.fit(X, y)) == file_of(CRF(TEMPLATE, c2=0.1).fit(X, y))


def test_inputs_are_not_changed() -> None:
    words, y = tagged()
    X, edges = [features(one) for one in words], [edge_features(one) for one in words]
    weights = np.linspace(0.5, 1.5, len(X))
    known = [[None] * len(row) for row in y]
    given = (X, y, edges, weights, known)
    before = copy.deepcopy(given)
    model = CRF(start_end=True).fit(X, y, edges=edges, sample_weight=weights, X_dev=X, y_dev=y, edges_dev=edges)
    model.predict(X, edges=edges, known=known)
    model.partial_fit(X, y, edges=edges, sample_weight=weights)
    np.testing.assert_equal(given, before)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"c2": 0.01, "start_end": True},
        {"all_possible_states": True, "all_possible_transitions": True},
        {"c1": 0.3, "c2": 0.05},
        {"algorithm": "lbfgs"},
        {"algorithm": "owlqn", "c1": 0.1},
        {"hash_bits": 16},
    ],
)
def test_the_objective_is_the_one_that_is_stated(settings: dict[str, Any]) -> None:
    X, y = items()
    model = CRF(**settings).fit(X, y)
    assert model.objective_ == pytest.approx(objective_of(model, X, y), rel=2e-6)
    assert model.training_log_[-1].objective == pytest.approx(model.objective_)
    assert model.stop_reason_.startswith("converged")


def test_the_objective_with_edges_rules_and_weights() -> None:
    words = [["Anna", "Smith", "sings"], ["in", "New", "York"], ["Bob"]]
    y = [["B-PER", "I-PER", "O"], ["O", "B-LOC", "I-LOC"], ["B-PER"]]
    X, edges = [features(one) for one in words], [edge_features(one) for one in words]
    for every in (False, True):
        model = CRF(scheme="IOB2", start_end=True, all_possible_transitions=every, c2=0.1)
        model.fit(X, y, edges=edges, sample_weight=[0.5, 2.0, 1.0])
        assert model.objective_ == pytest.approx(objective_of(model, X, y, [0.5, 2.0, 1.0], edges=edges), rel=2e-6)


def test_every_seed_and_algorithm_ends_at_the_same_optimum() -> None:
    X, y = items()
    exact = "epsilon=1e-7,delta=0"
    models = [CRF(random_state=seed, c2=0.2, algorithm=f"auto:{exact}").fit(X, y) for seed in (0, 1)]
    models += [CRF(algorithm=f"{name}:{exact}", c2=0.2).fit(X, y) for name in ("lbfgs", "owlqn")]
    for model in models[1:]:
        np.testing.assert_allclose(model.parameters_.weights, models[0].parameters_.weights, atol=1e-5)
        assert model.objective_ == pytest.approx(models[0].objective_, rel=1e-10)


def test_a_weight_is_a_repetition() -> None:
    X, y = items(0, 12)
    times = [1, 2, 0, 3] * 3
    repeated = [b for b, count in enumerate(times) for _ in range(count)]
    y[2] = ["Q"] * len(y[2])  # this label is in no sentence that counts
    settings: dict[str, Any] = {"c2": 0.3, "algorithm": "auto:epsilon=1e-8,delta=0"}
    weighted = CRF(**settings).fit(X, y, sample_weight=times)
    direct = CRF(**settings).fit([X[b] for b in repeated], [y[b] for b in repeated])
    assert weighted.labels_ == direct.labels_
    assert weighted.objective_ == pytest.approx(direct.objective_, rel=1e-8)
    assert weighted.state_features_.keys() == direct.state_features_.keys()
    for key, weight in weighted.state_features_.items():
        assert weight == pytest.approx(direct.state_features_[key], abs=1e-5)


def test_label_weights_that_are_all_zero_are_refused() -> None:
    X, y = items()
    labels = {label for row in y for label in row}
    with pytest.raises(InputError, match=r"^label_weights: "):
        CRF(label_weights=dict.fromkeys(labels, 0.0)).fit(X, y)


def test_label_weights_weigh_sentences_by_the_mean_of_their_labels() -> None:
    X, y = items()
    weights = {"N": 3.0, "V": 0.5}
    by_hand = [np.mean([weights.get(label, 1.0) for label in row]) for row in y]
    one, other = CRF(label_weights=weights).fit(X, y), CRF().fit(X, y, sample_weight=by_hand)
    np.testing.assert_allclose(one.parameters_.weights, other.parameters_.weights, atol=1e-6)
    flat = [label for row in y for label in row]
    balance = {label: len(flat) / (4 * flat.count(label)) for label in set(flat)}
    by_hand = [np.mean([balance[label] for label in row]) for row in y]
    one, other = CRF(label_weights="balanced").fit(X, y), CRF().fit(X, y, sample_weight=by_hand)
    np.testing.assert_allclose(one.parameters_.weights, other.parameters_.weights, atol=1e-6)


def test_all_possible_and_observed_weights() -> None:
    X, y = items()
    seen = {(name, label) for row, labels in zip(X, y, strict=True) for name, label in names(row, labels)}
    model = CRF().fit(X, y)
    assert set(model.state_features_) == seen
    moves = {pair for row in y for pair in pairwise(row)}
    assert set(model.transition_features_) == moves
    dense = CRF(all_possible_states=True, all_possible_transitions=True).fit(X, y)
    assert set(dense.state_features_) == set(product(model.attributes_, model.labels_))
    assert set(dense.transition_features_) == set(product(model.labels_, model.labels_))


def names(row: list[dict[str, Any]], labels: list[str]) -> list[tuple[str, str]]:
    return [
        (f"{key}:{value}" if isinstance(value, str) else key, label)
        for item, label in zip(row, labels, strict=True)
        for key, value in item.items()
    ]


def test_min_frequency_leaves_rare_attributes_out() -> None:
    X = [[["a", "b"]], [["a"]], [["c"]]]
    y = [["X"], ["Y"], ["X"]]
    assert CRF(min_frequency=2).fit(X, y).attributes_ == ["a"]
    words = [["a"], ["a"], ["c"]]
    assert CRF("U0:%x[0,0]\n", min_frequency=2).fit(words, y).attributes_ == ["U0:a"]


def test_a_corpus_is_lists() -> None:
    X, y = tagged()
    corpus = Corpus.from_sentences(list(zip(X, y, strict=True)))
    model = CRF(TEMPLATE).fit(corpus)
    assert file_of(model) == file_of(CRF(TEMPLATE).fit(X, y))
    assert model.predict(corpus) == model.predict(X) == model.predict(list(corpus))
    assert model.score(corpus) == model.score(X, y)
    assert file_of(CRF(TEMPLATE).fit(list(corpus))) == file_of(model)


def test_hashing_without_collisions_is_the_same_model() -> None:
    X, y = items()
    named, hashed = CRF(c2=0.1).fit(X, y), CRF(c2=0.1, hash_bits=22).fit(X, y)
    assert hashed.num_attributes_ == named.num_attributes_
    assert hashed.objective_ == pytest.approx(named.objective_, rel=1e-6)
    assert hashed.predict(X) == named.predict(X)
    assert hashed.parameters_.states is None
    few = CRF(c2=0.1, hash_bits=2).fit(X, y)
    assert few.num_attributes_ <= 4
    assert few.objective_ > named.objective_


def test_edges_solve_what_states_cannot() -> None:
    """The label stays or changes as an attribute of the edge says; the tokens themselves say nothing."""
    rng = np.random.default_rng(0)
    X, edges, y = [], [], []
    for _ in range(40):
        flips = rng.integers(0, 2, 6)
        flips[0] = 0
        start = int(rng.integers(0, 2))
        y.append([str((start + flips[: t + 1].sum()) % 2) for t in range(6)])
        X.append([{"first": str(start)}] + [{}] * 5)
        edges.append([["change" if flip else "stay"] for flip in flips])
    without = CRF(c2=0.01).fit(X[:30], y[:30])
    assert without.score(X[30:], y[30:]) < 0.75
    model = CRF(c2=0.01).fit(X[:30], y[:30], edges=edges[:30])
    assert model.score(X[30:], y[30:], edges=edges[30:]) == 1.0
    assert model.predict_single(X[0], edges=edges[0]) == y[0]
    assert {row.attribute for row in model.weights_table() if row.kind == "edge"} == {"change", "stay"}
    with pytest.raises(InputError, match=r"^edges: "):
        without.predict(X, edges=edges)


def test_edge_templates_do_the_same() -> None:
    X = [["a", "s", "c", "s"], ["b", "c", "c"], ["a", "c", "s", "c"], ["b", "s", "c"]]
    y = [["A", "A", "B", "B"], ["B", "A", "B"], ["A", "B", "B", "A"], ["B", "B", "A"]]
    model = CRF("U00:%x[0,0]\nB01:%x[0,0]\n", c2=0.01).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.predict([["b", "s", "s", "c", "c"]]) == [["B", "B", "B", "A", "B"]]
    assert model.transition_features_ == {}  # no bare B line


def test_start_and_end_weights() -> None:
    """Tokens without attributes: only the start and end weights can hold that A is three times as frequent."""
    X, y = [[{}]] * 8, [["A"]] * 6 + [["B"]] * 2
    assert CRF(c2=1e-6).fit(X, y).predict_marginals(X[:1])[0][0]["A"] == pytest.approx(0.5)
    model = CRF(c2=1e-6, start_end=True).fit(X, y)
    assert model.predict_marginals(X[:1])[0][0]["A"] == pytest.approx(0.75, abs=1e-4)


# The peer.


@pytest.mark.parametrize("dense", [False, True])
def test_the_same_optimum_as_crfsuite(dense: bool, tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    X, y = items(11, 60)
    trainer = pycrfsuite.Trainer(verbose=False)
    for row, labels in zip(X, y, strict=True):
        trainer.append(row, labels)
    trainer.set_params(
        {
            "c1": 0.0,
            "c2": 0.4,
            "max_iterations": 2000,
            "epsilon": 1e-7,
            "delta": 1e-10,
            "feature.possible_states": dense,
            "feature.possible_transitions": dense,
        }
    )
    trainer.train(str(tmp_path / "peer"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "peer"))
    exact = Auto(epsilon=1e-6, delta=0.0)
    model = CRF(c2=0.4, all_possible_states=dense, all_possible_transitions=dense, algorithm=exact).fit(X, y)
    test_X, test_y = items(12, 60)
    assert model.predict(test_X) == [tagger.tag(row) for row in test_X]
    theirs = [log_probability(tagger, row, labels) for row, labels in zip(test_X, test_y, strict=True)]
    np.testing.assert_allclose(model.log_likelihood(test_X, test_y), theirs, atol=1e-4)
    info = tagger.info()
    for found, peer in ((model.state_features_, info.state_features), (model.transition_features_, info.transitions)):
        assert set(peer) <= set(found)
        for key, weight in found.items():
            assert weight == pytest.approx(peer.get(key, 0.0), abs=1e-2), key


def log_probability(tagger: Any, row: Any, labels: list[str]) -> float:
    tagger.set(row)
    return float(np.log(tagger.probability(labels)))


def test_a_dictionary_that_no_line_looks_at_is_refused():
    corpus = Corpus.from_sentences([(["in", "Oslo"], ["O", "B-LOC"])])
    words = Dictionary({"Oslo": "LOC"})
    with pytest.raises(InputError, match=r"^dictionary: "):
        CRF("U00:%x[0,0]\nB", dictionary=words).fit(corpus)
    CRF("U00:%x[0,0]\nU90:%x[0,1]\nB", dictionary=words).fit(corpus)


def test_a_broken_minimum_frequency_is_rounded_up():
    corpus = Corpus.from_sentences([(["a", "a", "b", "b", "b"], ["X", "X", "Y", "Y", "Y"])])
    assert CRF("U00:%x[0,0]\nB", min_frequency=2.5).fit(corpus).attributes_ == ["U00:b"]


@pytest.mark.parametrize("seed", [-1, 1.5, True, np.random.RandomState(0), np.random.default_rng(0)])
def test_a_wrong_seed_is_refused(seed):
    with pytest.raises(InputError, match=r"^random_state: "):
        CRF(random_state=seed).fit([[{"a": 1.0}]], [["X"]])


def test_edge_attributes_cross_with_the_pairs_that_were_seen_or_with_all():
    X = [[{"a": 1.0}, {"a": 1.0}, {"a": 1.0}]]
    edges = [[{}, {"e": 1.0}, {"f": 2.0}]]
    every = CRF(all_possible_transitions=True).fit(X, [["X", "Y", "X"]], edges=edges)
    assert every.parameters_.structure.edge_pairs.shape == (8, 2)
    observed = CRF().fit(X, [["X", "Y", "X"]], edges=edges).parameters_.structure
    assert observed.edge_pairs.tolist() == [[0, 1], [1, 0]]
    assert observed.edge_offsets.tolist() == [0, 1, 2]
