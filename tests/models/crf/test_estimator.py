"""What the estimator learns and answers, against expectations that are derived without it."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, Corpus, Dictionary, storage
from tagline.errors import InputError, NoPathError
from tagline.readers import read_columns

from ..corpora import TEMPLATE, edge_features, everything, features, items, tagged


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
        {"precision": "float32"},
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
    for pairs in ("observed", "all"):
        model = CRF(scheme="IOB2", start_end=True, edge_pairs=pairs, c2=0.1)
        model.fit(X, y, edges=edges, sample_weight=[0.5, 2.0, 1.0])
        assert model.objective_ == pytest.approx(objective_of(model, X, y, [0.5, 2.0, 1.0], edges=edges), rel=2e-6)


def test_every_seed_and_algorithm_ends_at_the_same_optimum() -> None:
    X, y = items()
    settings = {"c2": 0.2, "epsilon": 1e-7, "delta": 0.0}
    models = [CRF(random_state=seed, **settings).fit(X, y) for seed in (0, 1)]
    models += [CRF(algorithm=name, **settings).fit(X, y) for name in ("lbfgs", "owlqn")]
    for model in models[1:]:
        np.testing.assert_allclose(model.parameters_.weights, models[0].parameters_.weights, atol=1e-5)
        assert model.objective_ == pytest.approx(models[0].objective_, rel=1e-10)


def test_a_weight_is_a_repetition() -> None:
    X, y = items(0, 12)
    times = [1, 2, 0, 3] * 3
    repeated = [b for b, count in enumerate(times) for _ in range(count)]
    y[2] = ["Q"] * len(y[2])  # this label is in no sentence that counts
    settings: dict[str, Any] = {"c2": 0.3, "epsilon": 1e-8, "delta": 0.0}
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
    with pytest.raises(InputError, match="label_weights: expected a weight above 0 for some label of the sentences"):
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
    with pytest.raises(InputError, match="edges: expected none, as when the vocabularies were built"):
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


# What is not known, and what is forbidden.


def test_partial_labels_against_the_sum_over_completions() -> None:
    X, y = items(4, 10)
    rng = np.random.default_rng(1)
    given: list[list[Any]] = [
        [label if (u := rng.random()) < 0.5 else None if u < 0.75 else {label, "N"} for label in row] for row in y
    ]
    model = CRF(c2=0.5).fit(X, given)
    total = 0.0
    for x, row in zip(X, given, strict=True):
        choices = [model.labels_ if one is None else [one] if isinstance(one, str) else sorted(one) for one in row]
        paths = [list(path) for path in product(*choices)]
        total += np.log(np.exp(model.log_likelihood([x] * len(paths), paths)).sum())
    w = model.parameters_.weights
    assert model.objective_ == pytest.approx(-total + 0.5 * w @ w, rel=1e-5)
    found = model.predict(X)
    pairs = [
        (a, b)
        for row, told in zip(found, given, strict=True)
        for a, b in zip(row, told, strict=True)
        if isinstance(b, str)
    ]
    assert model.score(X, given) == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))


def test_labels_that_only_sets_name() -> None:
    model = CRF(c2=0.1).fit([[{"a": 1}], [{"b": 1}]], [[{"X", "Y"}], ["Z"]])
    assert model.labels_ == ["X", "Y", "Z"]
    p = model.predict_marginals([[{"a": 1}]])[0][0]
    assert p["X"] == pytest.approx(p["Y"])
    assert p["X"] + p["Y"] > 0.7


def test_partial_labels_beat_leaving_sentences_out() -> None:
    X, y = tagged(0, 60, noise=0.0)
    rng = np.random.default_rng(0)
    holes = [[label if rng.random() < 0.4 else None for label in row] for row in y]
    whole = [b for b, row in enumerate(holes) if None not in row]
    test_X, test_y = tagged(9, 100, noise=0.0)
    partial = CRF(TEMPLATE, c2=0.1).fit(X, holes)
    ignoring = CRF(TEMPLATE, c2=0.1).fit([X[b] for b in whole], [y[b] for b in whole])
    assert 0 < len(whole) < 30
    assert partial.score(test_X, test_y) > ignoring.score(test_X, test_y) + 0.02


def test_an_empty_set_is_an_error_with_its_place() -> None:
    with pytest.raises(InputError, match=r"y\[1\]\[2\]: expected at least one label in a set, got none; None stands"):
        CRF().fit([[{}], [{}] * 3], [["A"], ["A", {"A"}, frozenset()]])


IOB = """Anna B-PER
sings O

in O
York I-LOC

New B-LOC
York I-LOC

Bob I-PER
"""


@pytest.fixture
def illegal(tmp_path: Path) -> Corpus:
    (tmp_path / "train.txt").write_text(IOB, encoding="utf-8")
    return read_columns(tmp_path / "train.txt", names=["token", "tag"])


def test_illegal_labels_are_an_error_with_file_line_and_count(illegal: Corpus) -> None:
    with pytest.raises(
        InputError,
        match=r"train\.txt:4: expected tags that IOB2 allows, got others; there are 2 of 4 sentences with tags that "
        r'IOB2 forbids; pass on_illegal="repair" or "drop", or scheme=None',
    ):
        CRF(TEMPLATE, scheme="IOB2").fit(illegal)
    with pytest.raises(InputError, match=r"y\[1\]: expected tags that IOB2 allows"):
        CRF(TEMPLATE, scheme="IOB2").fit(illegal.tokens, illegal.tags)
    assert CRF(TEMPLATE).fit(illegal).labels_ == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


def test_illegal_labels_are_repaired_or_dropped(illegal: Corpus) -> None:
    repaired = CRF(TEMPLATE, scheme="IOB2", on_illegal="repair", c2=0.01).fit(illegal)
    assert repaired.notes_ == ["repaired 2 of 4 sentences with tags that IOB2 forbids"]
    assert repaired.labels_ == ["B-LOC", "B-PER", "I-LOC", "O"]  # no I-PER is left
    assert repaired.predict(illegal) == [["B-PER", "O"], ["O", "B-LOC"], ["B-LOC", "I-LOC"], ["B-PER"]]
    dropped = CRF(TEMPLATE, scheme="IOB2", on_illegal="drop", c2=0.01).fit(illegal)
    assert dropped.notes_ == ["dropped 2 of 4 sentences with tags that IOB2 forbids"]
    assert dropped.labels_ == ["B-LOC", "B-PER", "I-LOC", "O"]
    assert not [name for name, _ in dropped.state_features_ if name == "U00:Bob"]
    assert dropped.training_.sentences == 2
    weights = [0.0, 9.0, 1.0, 9.0]  # those of dropped sentences go with them
    again = CRF(TEMPLATE, scheme="IOB2", on_illegal="drop", c2=0.01).fit(illegal, sample_weight=weights)
    assert again.objective_ == pytest.approx(objective_of(again, illegal.tokens[2:3], illegal.tags[2:3]), rel=1e-5)


def test_a_repair_may_bring_new_labels() -> None:
    model = CRF(TEMPLATE, scheme="IOB2", on_illegal="repair").fit([["Bob", "sings"]], [["I-PER", "O"]])
    assert model.labels_ == ["B-PER", "O"]
    assert model.predict([["Bob", "sings"]]) == [["B-PER", "O"]]


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(InputError, match="expected sentences to learn from, got none; dropped 1 of 1 sentences"):
        CRF(TEMPLATE, scheme="IOB2", on_illegal="drop").fit([["Bob"]], [["I-PER"]])


def test_rules_hold_in_every_answer() -> None:
    rng = np.random.default_rng(3)
    tags = ["O", "B-A", "I-A", "B-B", "I-B"]
    X = [[str(word) for word in rng.choice(list("abcdef"), 6)] for _ in range(30)]
    y = [[str(tag) for tag in rng.choice(tags, 6)] for _ in range(30)]
    model = CRF(TEMPLATE, scheme="IOB2", on_illegal="repair", c2=0.01).fit(X, y)

    def fine(row: list[str]) -> bool:
        pairs = zip(["O", *row[:-1]], row, strict=True)
        return all(not label.startswith("I-") or before[1:] == label[1:] for before, label in pairs)

    answers = model.predict(X) + [one.labels for row in model.predict_k_best(X, 5) for one in row]
    answers += [row for rows in model.predict_samples(X, 5, seed=1) for row in rows]
    assert all(map(fine, answers))
    assert not all(map(fine, CRF(TEMPLATE, c2=0.01).fit(X, y).predict(X)))
    auto = CRF(TEMPLATE, scheme="auto").fit(X, model.predict(X))
    assert auto.parameters_.scheme == "IOB2"


def test_known_labels_bind_every_answer() -> None:
    X, y = items()
    model = CRF(c2=0.1).fit(X, y)
    x = X[0]
    known = ["V", None, {"D", "P"}] + [None] * (len(x) - 3)
    assert len(x) >= 3
    found = model.predict([x], known=[known])[0]
    assert found[0] == "V"
    assert found[2] in ("D", "P")
    paths = [list(path) for path in product(model.labels_, repeat=len(x)) if path[0] == "V" and path[2] in ("D", "P")]
    scores = model.log_likelihood([x] * len(paths), paths)
    assert found == paths[int(np.argmax(scores))]
    inside = np.exp(scores) / np.exp(scores).sum()
    rows = model.predict_marginals([x], known=[known])[0]
    expected = sum(p for p, path in zip(inside, paths, strict=True) if path[1] == "N")
    assert rows[1]["N"] == pytest.approx(expected, abs=1e-5)
    assert model.predict([x, x], known=[None, known]) == [model.predict([x])[0], found]
    for wrong, message in (
        ([["V"]], r"known\[0\]: expected a list of \d entries, one a token"),
        ([known, known], "known: expected one list for each of 1 sentences, got 2"),
        ([["Q", *known[1:]]], r"known\[0\]\[0\]: expected labels among D, N, P, V, got 'Q'"),
        ([[set(), *known[1:]]], r"known\[0\]\[0\]: expected labels among"),
        (["VVV"], r"known\[0\]: expected a list"),
    ):
        with pytest.raises(InputError, match=message):
            model.predict([x], known=wrong)
    ruled = CRF(TEMPLATE, scheme="IOB2").fit([["Anna", "sings"]], [["B-PER", "O"]])
    with pytest.raises(NoPathError):
        CRF(TEMPLATE, scheme="IOB2").fit([["a", "b"]], [["B-PER", "I-PER"]]).predict([["a"]], known=[["I-PER"]])
    assert ruled.predict([["a"]], known=[["O"]]) == [["O"]]


def test_dictionaries_by_priority() -> None:
    X = [["Anna", "lives", "in", "Rome"], ["Bob", "sees", "Anna"], ["in", "New", "York"]]
    y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-PER"], ["O", "B-LOC", "I-LOC"]]
    unseen = [["in", "Zug", "city", "sees", "Anna"]]
    entries = {"Zug city": "LOC", "Anna": "LOC", "Rome": "LOC", "New York": "LOC"}
    plain = CRF(TEMPLATE, scheme="IOB2", c2=0.01).fit(X, y)
    assert plain.predict(unseen)[0][4] == "B-PER"

    def fitted(priority: str, template: str = TEMPLATE, **more: Any) -> CRF:
        places = Dictionary({key: kind for key, kind in entries.items() if key not in more}, priority=priority)
        return CRF(template, scheme="IOB2", c2=0.01, dictionary=places).fit(X, y)

    over = fitted("over")
    assert over.predict(unseen)[0][1:3] == ["B-LOC", "I-LOC"]
    assert over.predict(unseen)[0][4] == "B-LOC"  # against the model
    assert over.predict_marginals(unseen)[0][4]["B-LOC"] == pytest.approx(1.0)
    for label in ("O", "B-PER", "B-LOC"):
        found = over.predict([["in", "Zug", "city", "sings"]], known=[[None, None, None, label]])
        assert found == [["O", "B-LOC", "I-LOC", label]]
    under = fitted("under")
    assert under.predict(unseen, known=[["O", "O", "O", "O", None]]) == [["O", "O", "O", "O", "B-PER"]]
    np.testing.assert_array_equal(under.marginal_arrays(unseen)[0], plain.marginal_arrays(unseen)[0])
    feature = fitted("feature", "U00:%x[0,1]\nU01:%x[0,0]\nB\n", Anna="PER")
    assert feature.predict([["in", "Zug", "city"]]) == [["O", "B-LOC", "I-LOC"]]
    assert over.predict([]) == under.predict([]) == []
    for priority in ("over", "under"):
        with pytest.raises(InputError, match=f"dictionary: expected a tag scheme .*priority '{priority}'"):
            CRF(TEMPLATE, dictionary=Dictionary({"a": "X"}, priority=priority)).fit([["a"]], [["N"]])
    with pytest.raises(InputError, match="dictionary: expected sentences of tokens"):
        CRF(dictionary=Dictionary({"a": "X"}, priority="over")).fit([[{}]], [["N"]])
    with pytest.raises(InputError, match="dictionary: expected a template to add a column for"):
        CRF(features, dictionary=Dictionary({"a": "X"})).fit([["a"]], [["N"]])


# Training goes on, and stops.


def test_warm_start_goes_on_where_it_ended() -> None:
    X, y = items(0, 40)
    for algorithm in ("auto", "lbfgs"):
        model = CRF(c2=0.1, warm_start=True, algorithm=algorithm).fit(X, y)
        first, objective = len(model.training_log_), model.objective_
        model.fit(X, y)
        assert len(model.training_log_) <= 10 < first  # as many as the tolerance looks back on
        assert model.objective_ <= objective * (1 + 1e-6)
        again = CRF(c2=0.1, algorithm=algorithm).fit(X, y)
        assert model.objective_ == pytest.approx(again.objective_, rel=1e-3)


def test_warm_start_takes_in_new_labels_and_features() -> None:
    X, y = items(0, 20)
    more, labels = [[{"word": "hark", "bias": 1.0}]] * 3, [["X"]] * 3
    model = CRF(c2=0.1, warm_start=True, epsilon=1e-7, delta=0.0).fit(X, y)
    old = dict(model.state_features_)
    model.fit(X + more, y + labels)
    assert model.labels_ == ["D", "N", "P", "V", "X"]
    assert "word:hark" in model.attributes_
    assert old.keys() <= model.state_features_.keys()
    assert model.predict(more) == labels
    direct = CRF(c2=0.1, epsilon=1e-7, delta=0.0).fit(X + more, y + labels)
    assert model.objective_ == pytest.approx(direct.objective_, rel=1e-8)
    for key, weight in direct.state_features_.items():
        assert model.state_features_[key] == pytest.approx(weight, abs=1e-4)


def test_warm_start_moves_the_weights_of_ends_with_their_labels() -> None:
    X, y = [[{}]] * 8, [["M"]] * 6 + [["N"]] * 2
    model = CRF(c2=0.01, start_end=True, warm_start=True).fit(X, y)
    before = {(row.kind, row.label): row.weight for row in model.weights_table()}
    model.set_params(max_iterations=0).fit([*X, [{}]], [*y, ["A"]])  # a label that comes first; nothing is learned
    assert model.labels_ == ["A", "M", "N"]
    assert {(row.kind, row.label): row.weight for row in model.weights_table()} == before


def test_warm_start_from_a_file(tmp_path: Path) -> None:
    words, y = tagged(3, 20)
    X, edges = [features(one) for one in words], [edge_features(one) for one in words]
    model, _ = everything()
    model.set_params(max_iterations=None).fit(X, y, edges=edges)
    model.save(tmp_path / "model")
    loaded = tagline.load(tmp_path / "model").set_params(warm_start=True)
    loaded.fit(X, y, edges=edges)
    assert loaded.objective_ == pytest.approx(model.objective_, rel=1e-4)
    assert len(loaded.training_log_) <= 10


def test_warm_start_of_hashed_models() -> None:
    X, y = items(0, 20)
    model = CRF(hash_bits=10, warm_start=True, c2=0.1).fit(X, y)
    model.fit([*X, [{"word": "hark"}]], [*y, ["X"]])
    assert model.labels_ == ["D", "N", "P", "V", "X"]
    assert model.score(X, y) > 0.8
    for bits in (None, 11):
        with pytest.raises(InputError, match=f"hash_bits: expected 10, as the model has it, got {bits}"):
            model.set_params(hash_bits=bits).fit(X, y)
    with pytest.raises(InputError, match="hash_bits: expected None, as the model has it, got 5"):
        CRF(warm_start=True).fit(X, y).set_params(hash_bits=5).fit(X, y)


def test_partial_fit_learns_a_stream_and_does_not_forget() -> None:
    X, y = items(0, 200)
    model = CRF(c2=0.1)
    for first in range(0, 200, 20):
        model.partial_fit(X[first : first + 20], y[first : first + 20])
    assert model.training_.sentences == 200
    test_X, test_y = items(77, 100)
    best = CRF(c2=0.1).fit(X, y)
    assert model.score(test_X, test_y) > best.score(test_X, test_y) - 0.03
    before = model.score(X, y)
    model.partial_fit([[{"word": "hark"}]] * 3, [["X"]] * 3)
    assert model.labels_ == ["D", "N", "P", "V", "X"]
    assert model.predict([[{"word": "hark"}]]) == [["X"]]
    assert model.score(X, y) > before - 0.03
    strict = CRF(c2=20.0).fit(X, y)  # one sentence neither pays the penalty of two hundred nor is fitted alone
    norm, score = np.linalg.norm(strict.parameters_.weights), strict.score(X, y)
    for b in range(5):
        strict.partial_fit(X[b : b + 1], y[b : b + 1])
    assert np.linalg.norm(strict.parameters_.weights) == pytest.approx(norm, rel=0.1)
    assert strict.score(X, y) > score - 0.02


def test_a_dev_set_and_patience_keep_the_best() -> None:
    X, y = tagged(0, 20, noise=0.3)
    dev = tagged(50, 40)
    seen: list[tuple[float, Any]] = []
    model = CRF(
        TEMPLATE, c2=0.0, algorithm="lbfgs", patience=5, callbacks=(lambda done, w: seen.append((done.dev_score, w)),)
    ).fit(X, y, X_dev=dev[0], y_dev=dev[1])
    assert model.stop_reason_ == "patience"
    scores = [score for score, _ in seen]
    best = int(np.argmax(scores))
    assert best == len(seen) - 6
    np.testing.assert_array_equal(model.parameters_.weights, seen[best][1])
    assert model.score(*dev) == pytest.approx(scores[best])
    assert [done.dev_score for done in model.training_log_] == scores
    corpus = Corpus.from_sentences(list(zip(*dev, strict=True)))
    again = CRF(TEMPLATE, c2=0.0, algorithm="lbfgs", patience=5).fit(X, y, X_dev=corpus)
    np.testing.assert_array_equal(again.parameters_.weights, model.parameters_.weights)
    spans = CRF(TEMPLATE).fit([["Anna", "sings"]], [["B-PER", "O"]], X_dev=[["Anna"]], y_dev=[["B-PER"]])
    assert spans.training_log_[-1].dev_score == 1.0


def test_a_dev_set_with_edges() -> None:
    words, y = tagged()
    X, edges = [features(one) for one in words], [edge_features(one) for one in words]
    model = CRF(max_iterations=5).fit(X, y, edges=edges, X_dev=X, y_dev=y, edges_dev=edges)
    assert model.training_log_[-1].dev_score == pytest.approx(model.score(X, y, edges=edges))


def test_time_budget_callbacks_and_interrupts() -> None:
    X, y = items()
    assert CRF(max_seconds=0).fit(X, y).stop_reason_ == "time budget"
    assert CRF(max_iterations=3, algorithm="lbfgs").fit(X, y).stop_reason_ == "max_iterations"
    stopped = CRF(callbacks=(lambda done, weights: done.iteration == 4,)).fit(X, y)
    assert stopped.stop_reason_ == "callback"
    assert len(stopped.training_log_) == 4

    def interrupt(done: Any, weights: Any) -> None:
        if done.iteration == 4:
            raise KeyboardInterrupt

    for algorithm in ("auto", "lbfgs"):
        model = CRF(algorithm=algorithm, callbacks=(interrupt,)).fit(X, y)
        assert model.stop_reason_ == "interrupted"
        assert np.isfinite(model.parameters_.weights).all()
        assert model.parameters_.weights.any()
        assert model.score(X, y) > 0.5


def test_verbose_prints_a_line_a_pass(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = items()
    model = CRF(verbose=True, algorithm="lbfgs", max_iterations=4).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == [done.line() for done in model.training_log_]
    assert len(err.splitlines()) == 4
    CRF(max_iterations=2).fit(X, y)
    assert capfd.readouterr() == ("", "")


# Answers.


def test_eight_threads_get_the_same_answers() -> None:
    X, y = tagged(0, 200)
    model = CRF(TEMPLATE, c2=0.1).fit(X, y)
    expected = model.predict(X)
    rows = model.marginal_arrays(X)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(model.predict, X) for _ in range(24)]
        others = [pool.submit(model.marginal_arrays, X) for _ in range(8)]
        assert all(one.result() == expected for one in answers)
        for one in others:
            np.testing.assert_equal(one.result(), rows)


def test_long_input_is_answered_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from tagline.models.crf import chains

    words, y = tagged(0, 60)
    model, _ = everything()
    X, edges = [features(one) for one in words], [edge_features(one) for one in words]
    whole = model.predict(X, edges=edges)
    monkeypatch.setattr(chains, "MOST_TOKENS", 7)
    assert model.predict(X, edges=edges) == whole
    assert len(model.log_likelihood(X, y, edges=edges)) == 60


def test_the_answers_agree_with_each_other() -> None:
    X, y = items()
    model = CRF(c2=0.1).fit(X, y)
    x = next(x for x in X if len(x) == 3)
    paths = [list(path) for path in product(model.labels_, repeat=3)]
    p = np.exp(model.log_likelihood([x] * 64, paths))
    assert p.sum() == pytest.approx(1.0, abs=1e-5)
    ranked = model.predict_k_best([x], 4)[0]
    order = np.argsort(-p)[:4]
    assert [one.labels for one in ranked] == [paths[k] for k in order]
    assert [one.probability for one in ranked] == pytest.approx(p[order], abs=1e-5)
    assert model.predict_single(x) == ranked[0].labels
    assert model.entropy([x])[0] == pytest.approx(-(p * np.log(p)).sum(), abs=1e-4)
    drawn = model.predict_samples([x], 2000, seed=1)[0]
    assert drawn.count(ranked[0].labels) / 2000 == pytest.approx(ranked[0].probability, abs=0.05)
    rows = model.predict_marginals_single(x)
    assert rows[0]["N"] == pytest.approx(sum(q for q, path in zip(p, paths, strict=True) if path[0] == "N"), abs=1e-5)
    assert model.log_likelihood([x])[0] == pytest.approx(
        float(np.log(np.exp(ranked[0].score) / ranked[0].probability)), abs=1e-4
    )


def test_score_and_evaluate() -> None:
    X, y = tagged()
    model = CRF(TEMPLATE, c2=0.1).fit(X, y)
    pairs = [(a, b) for row, found in zip(y, model.predict(X), strict=True) for a, b in zip(row, found, strict=True)]
    right = sum(a == b for a, b in pairs) / len(pairs)
    assert model.score(X, y) == pytest.approx(right)
    report = model.evaluate(X, y)
    assert report.tokens.accuracy == pytest.approx(right)
    assert report.spans is None
    weights = np.arange(len(X)) % 2
    odd = model.score(X[1::2], y[1::2])
    assert model.score(X, y, sample_weight=weights) == pytest.approx(odd)
    assert model.score(X[:2], [[None] * len(row) for row in y[:2]]) == 0.0
    people = CRF(TEMPLATE, c2=0.01).fit([["Anna", "sings"], ["in", "Rome"]], [["B-PER", "O"], ["O", "B-LOC"]])
    found = people.evaluate([["Anna", "sings"], ["in", "Rome"]], [["B-PER", "O"], ["O", "B-PER"]], resamples=50)
    assert found.spans.rule.startswith("conlleval:")
    assert found.spans.f1 == 0.5
    assert found.interval is not None
    assert people.evaluate([["Anna"]], [["B-PER"]], rule=None).spans is None
    with pytest.raises(InputError, match=r"y\[0\]\[1\]: expected a label to compare with, got None"):
        people.evaluate([["Anna", "sings"]], [["B-PER", None]])
    with pytest.raises(InputError, match=r"y\[0\]: expected 2 labels, one a token of X\[0\], got 1"):
        people.score([["Anna", "sings"]], [["B-PER"]])


def test_nothing_and_empty_sentences() -> None:
    model = CRF("U00:%x[0,0]\nU01:%x[0,1]\nB\n").fit([[("the", "DT"), ("cat", "NN")], []], [["D", "N"], []])
    assert model.predict([]) == []
    assert model.predict([[]]) == [[]]
    assert model.predict([[], [("the", "DT")], []]) == [[], ["D"], []]
    assert model.predict_marginals([[]]) == [[]]
    assert model.log_likelihood([], []).shape == (0,)
    assert model.log_likelihood([[]], [[]]).tolist() == [0.0]
    assert model.predict_k_best([[]], 2)[0][0].labels == []


def test_labels_of_numpy_become_strings() -> None:
    model = CRF().fit([[{"a": 1}]], [np.array(["N"])])
    assert type(model.labels_[0]) is str
    assert repr(model.predict([[{"a": 1}]])) == "[['N']]"


def test_unknown_attributes_cost_nothing() -> None:
    X, y = items()
    model = CRF().fit(X, y)
    with_more = [[{**item, "new": "thing", "other": 3.0} for item in row] for row in X]
    np.testing.assert_equal(model.marginal_arrays(with_more), model.marginal_arrays(X))


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
    model = CRF(c2=0.4, all_possible_states=dense, all_possible_transitions=dense, epsilon=1e-6, delta=0.0).fit(X, y)
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
    with pytest.raises(InputError, match=r"dictionary: expected a template line for column 1.*U90:%x\[0,1\]"):
        CRF("U00:%x[0,0]\nB", dictionary=words).fit(corpus)
    CRF("U00:%x[0,0]\nU90:%x[0,1]\nB", dictionary=words).fit(corpus)


def test_a_broken_minimum_frequency_is_rounded_up():
    corpus = Corpus.from_sentences([(["a", "a", "b", "b", "b"], ["X", "X", "Y", "Y", "Y"])])
    assert CRF("U00:%x[0,0]\nB", min_frequency=2.5).fit(corpus).attributes_ == ["U00:b"]


@pytest.mark.parametrize("seed", [-1, 1.5, True, np.random.RandomState(0), np.random.default_rng(0)])
def test_a_wrong_seed_is_refused(seed):
    with pytest.raises(InputError, match="random_state: expected a whole number of 0 or more"):
        CRF(random_state=seed).fit([[{"a": 1.0}]], [["X"]])


def test_listed_pairs_are_the_only_ones_that_edge_attributes_cross_with():
    X = [[{"a": 1.0}, {"a": 1.0}, {"a": 1.0}]]
    edges = [[{}, {"e": 1.0}, {"f": 2.0}]]
    crf = CRF(edge_pairs=[("Y", "X"), ("X", "Y")]).fit(X, [["X", "Y", "X"]], edges=edges)
    assert crf.parameters_.structure.edge_pairs.tolist() == [[0, 1], [1, 0]] * 2  # X is 0, Y is 1; for e and for f
    assert CRF(edge_pairs="all").fit(X, [["X", "Y", "X"]], edges=edges).parameters_.structure.edge_pairs.shape == (8, 2)
    observed = CRF().fit(X, [["X", "Y", "X"]], edges=edges).parameters_.structure
    assert observed.edge_pairs.tolist() == [[0, 1], [1, 0]]
    assert observed.edge_offsets.tolist() == [0, 1, 2]


@pytest.mark.parametrize("pairs", ["some", [("X", "Z")], [("X",)], ["XY"]])
def test_wrong_pairs_are_refused(pairs):
    X, edges = [[{"a": 1.0}, {"a": 1.0}]], [[{}, {"e": 1.0}]]
    with pytest.raises(InputError, match="edge_pairs: expected"):
        CRF(edge_pairs=pairs).fit(X, [["X", "Y"]], edges=edges)


def test_a_dictionary_under_the_model_keeps_what_is_known() -> None:
    X, y = [["in", "Ulm"], ["to", "Rom"], ["a", "dog"]] * 5, [["O", "B-LOC"], ["O", "B-LOC"], ["O", "O"]] * 5
    towns = Dictionary({"Bonn": "LOC"}, priority="under")
    crf = CRF("U00:%x[0,0]", scheme="IOB2", dictionary=towns).fit(X, y)
    asked = [["dog", "Bonn"], ["Bonn"]]
    known = [[None, "O"], None]
    assert crf.predict(asked) == [["O", "B-LOC"], ["B-LOC"]]
    assert crf.predict(asked, known=known) == [["O", "O"], ["B-LOC"]]
    assert [list(answer.labels) for answer in crf.answer(asked, known=known, marginals=True)] == [["O", "O"], ["B-LOC"]]
    assert crf.answer_arrays(asked, known=known, spans=True).labellings == [["O", "O"], ["B-LOC"]]
    with pytest.raises(InputError, match=r'expected types that labels have \(priority "under"\), LOC, got TOWN'):
        CRF("U00:%x[0,0]", scheme="IOB2", dictionary=Dictionary({"Bonn": "TOWN"}, priority="under")).fit(X, y)
