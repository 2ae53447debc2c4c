"""A teacher's probabilities as targets: against enumeration, finite differences, ordinary training, the teacher."""

import itertools
from typing import Any

import numpy as np
import pytest

from tagline import CRF, HMM, Chain, InputError, TrigramTagger
from tagline import chain as engine
from tagline.datasets import make_entities
from tagline.models.crf.teaching import expected_frequencies
from tagline.readers.corpus import Corpus
from tagline.training.likelihood import Likelihood, Targets

LABELS = ["A", "B", "C"]
X = [[{"a": 1.0, "b": 0.5}, {"b": 2.0}, {"c": 1.0}], [{"c": 1.0}, {"a": -1.0}], [{"b": 1.0}], [{"a": 1.0}, {"c": 0.5}]]
Y = [["A", "B", "A"], ["C", "B"], ["B"], ["C", "A"]]
EDGES = [[{}, {"e": 1.0}, {"f": 0.5}], [{}, {"e": -1.0}], [{}], [{}, {"f": 1.0}]]
EXACT = {"algorithm": "auto:epsilon=1e-10,delta=0", "max_iterations": 500, "c2": 0.1}
EVERY = {"all_possible_states": True, "all_possible_transitions": True, "start_end": True}


class Scores:
    """A teacher by its scores, in an order of labels of its own."""

    def __init__(self, chains: list[Chain], labels: list[str], scheme: str | None = None) -> None:
        self.labels_, self.scheme_name, self._chains = labels, scheme, chains

    def chains(self, X: Any) -> Any:
        return iter(self._chains)


def some_teacher(seed: int = 0, labels: tuple[str, ...] = ("C", "A", "B")) -> Scores:
    rng, L = np.random.default_rng(seed), len(labels)
    offsets = [0, 3, 5], [0, 1, 3]  # two blocks
    pairs = rng.normal(0, 1, (L, L))
    ends = rng.normal(0, 1, (2, L))
    return Scores([Chain(rng.normal(0, 2, (o[-1], L)), pairs, *ends, o) for o in offsets], list(labels))


def gold_teacher(labels: tuple[str, ...] = ("B", "C", "A")) -> Scores:
    """Sure of the gold labels."""
    flat = [label for row in Y for label in row]
    allowed = np.array([[label == other for other in labels] for label in flat])
    emissions = np.where(allowed, 0.0, -np.inf)
    L = len(labels)
    return Scores([Chain(emissions, np.zeros((L, L)), offsets=[0, 3, 5, 6, 8])], list(labels))


def labellings(T: int) -> list[tuple[str, ...]]:
    return list(itertools.product(LABELS, repeat=T))


def score(model: CRF, b: int, y: tuple[str, ...], weights: np.ndarray) -> float:
    """w · F(y, x) by the names of features, one at a time."""
    p, s = model.parameters_, model.parameters_.structure
    parts, number = s.parts, {label: n for n, label in enumerate(p.labels)}
    assert p.states is not None
    states, edges = list(p.states), list(p.edges or ())
    total = 0.0
    for t, label in enumerate(y):
        for name, value in X[b][t].items():
            a = states.index(name)
            for k in range(s.state_offsets[a], s.state_offsets[a + 1]):
                total += value * weights[k] * (s.state_labels[k] == number[label])
        if t == 0:
            continue
        pair = [number[y[t - 1]], number[label]]
        for k, other in enumerate(s.transitions.tolist()):
            total += weights[parts["transitions"].start + k] * (other == pair)
        for name, value in EDGES[b][t].items():
            e = edges.index(name)
            for k in range(s.edge_offsets[e], s.edge_offsets[e + 1]):
                total += value * weights[parts["edges"].start + k] * (s.edge_pairs[k].tolist() == pair)
    if s.start:
        total += weights[parts["start"]][number[y[0]]] + weights[parts["end"]][number[y[-1]]]
    return total


def objective(model: CRF, teacher: Scores, rows: list[Any], share: float, sizes: Any, weights: np.ndarray) -> float:
    """The definition, summed over all labellings of every sentence."""
    total, b = 0.1 * float(weights @ weights), 0
    for chain in teacher._chains:
        for first, last in itertools.pairwise(chain.offsets.tolist()):
            whole = Chain(chain.emissions[first:last], chain.transitions, chain.start, chain.end)
            paths = labellings(last - first)
            scores = np.array([score(model, b, y, weights) for y in paths])
            log_z = np.log(np.exp(scores).sum())
            theirs = [[teacher.labels_.index(label) for label in y] for y in paths]
            told = np.exp([float(engine.score(whole, y)[0] - engine.log_partition(whole)[0]) for y in theirs])
            value = share * (log_z - float(told @ scores))
            if rows[b] is not None:
                value += (1 - share) * (log_z - score(model, b, tuple(rows[b]), weights))
            total += sizes[b] * value
            b += 1
    return total


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("rows", [Y, None, [Y[0], None, None, Y[3]]], ids=["gold", "none", "some"])
@pytest.mark.parametrize("sizes", [None, [1.0, 2.0, 0.5, 3.0]], ids=["", "weighted"])
def test_the_objective_is_that_of_the_definition_and_training_ends_at_its_minimum(share, rows, sizes):
    teacher = some_teacher()
    model = CRF(**EXACT, **EVERY).fit(X, rows, edges=EDGES, teacher=teacher, teacher_weight=share, sample_weight=sizes)
    given, weighed = [None] * 4 if rows is None else rows, [1.0] * 4 if sizes is None else sizes
    weights = np.asarray(model.parameters_.weights, np.float64)
    at = objective(model, teacher, given, share, weighed, weights)
    assert model.objective_ == pytest.approx(at, rel=1e-9)
    for k in range(0, len(weights), 3):
        change = np.zeros(len(weights))
        change[k] = 1e-4
        sides = [objective(model, teacher, given, share, weighed, weights + sign * change) for sign in (1, -1)]
        assert (sides[0] - sides[1]) / 2e-4 == pytest.approx(0, abs=1e-6)


def test_the_gradient_is_the_slope():
    teacher = some_teacher(3, ("A", "B", "C"))
    model = CRF(**EXACT, **EVERY).fit(X, Y, edges=EDGES)
    structure, features = (
        model.parameters_.structure,
        model._extraction.look_up(X, (model.parameters_.states, model.parameters_.edges), EDGES).features,
    )
    sizes = np.array([1.0, 0.5, 2.0, 1.5])
    surplus = -expected_frequencies(structure, features, teacher._chains, sizes)
    labels = np.array([LABELS.index(label) for row in Y for label in row], np.int32)
    likelihood = Likelihood(structure, features, Targets(labels, None, sizes, surplus), precision="float64")
    weights = np.random.default_rng(1).normal(0, 1, structure.size)
    _, gradient = likelihood(weights)
    for k in range(structure.size):
        change = np.zeros(structure.size)
        change[k] = 1e-5
        slope = (likelihood(weights + change)[0] - likelihood(weights - change)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("algorithm", ["auto", "lbfgs", "owlqn", "gd"])
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_a_teacher_that_is_sure_of_the_labels_is_ordinary_training(algorithm, share):
    settings: dict[str, Any] = {**EXACT, "algorithm": algorithm, "max_iterations": 60}
    if algorithm == "owlqn":
        settings["c1"] = 0.05
    plain = CRF(**settings, start_end=True).fit(X, Y, edges=EDGES)
    taught = CRF(**settings, start_end=True).fit(X, Y, edges=EDGES, teacher=gold_teacher(), teacher_weight=share)
    np.testing.assert_allclose(taught.parameters_.weights, plain.parameters_.weights, rtol=1e-9, atol=1e-9)
    assert taught.objective_ == pytest.approx(plain.objective_, rel=1e-12)
    without = CRF(**settings, start_end=True).fit(X, edges=EDGES, teacher=gold_teacher())
    np.testing.assert_allclose(without.parameters_.weights, plain.parameters_.weights, rtol=1e-9, atol=1e-9)


def test_a_student_with_the_features_of_its_teacher_becomes_the_teacher():
    teacher = CRF(**{**EXACT, "c2": 0.3}, **EVERY).fit(X, Y)
    student = CRF(**{**EXACT, "c2": 0.0, "max_iterations": 2000}, **EVERY).fit(X, teacher=teacher)
    for theirs, ours in zip(teacher.predict_marginals(X), student.predict_marginals(X), strict=True):
        for one, other in zip(theirs, ours, strict=True):
            assert one == pytest.approx(other, abs=1e-5)


def test_rules_of_the_student_hold_for_the_teacher():
    corpus = make_entities(60, language="en")
    labels = sorted({tag for row in corpus.tags for tag in row})
    L, N = len(labels), corpus.num_tokens
    even = Scores([Chain(np.zeros((N, L)), np.zeros((L, L)), offsets=corpus.offsets)], labels)
    bare = Corpus({"token": corpus.column("token")}, corpus.offsets)
    model = CRF("U00:%x[0,0]\nB", scheme="IOB2", max_iterations=5).fit(bare, teacher=even)
    assert model.labels_ == labels
    assert np.isfinite(model.objective_)
    assert model.scheme_name == "IOB2"


def test_sentences_without_labels_add_what_the_teacher_knows_of_other_words():
    """A teacher that has seen more names passes them on through text alone."""
    few, much, test = make_entities(60, language="en"), make_entities(1500, language="en"), make_entities(200, seed=3)
    teacher = CRF("english_ner", scheme="IOB2", c2=0.3).fit(much)
    alone = CRF("english_ner", scheme="IOB2", c2=0.3).fit(few)
    more = Corpus({"token": much.column("token")}, much.offsets)
    taught = CRF("english_ner", scheme="IOB2", c2=0.3).fit(few, teacher=teacher, teacher_weight=0.5, unlabelled=more)
    assert taught.evaluate(test).spans.f1 > alone.evaluate(test).spans.f1 + 0.02
    assert taught.training_.sentences == 1560


def test_an_hmm_teaches_too_and_dropped_sentences_are_left_out():
    sentences = [["Anna", "sings"], ["Bob", "runs"], ["Rain", "falls"]]
    labels = [["N", "V"], ["N", "V"], ["N", "V"]]
    hmm = HMM().fit(sentences, labels)
    model = CRF("U00:%x[0,0]\nB", **EXACT).fit(sentences, teacher=hmm, sample_weight=[1.0, 0.0, 1.0])
    assert model.predict([["Anna", "falls"]]) == [["N", "V"]]
    two = CRF("U00:%x[0,0]\nB", **EXACT).fit([sentences[0], sentences[2]], teacher=hmm)
    assert model.objective_ == pytest.approx(two.objective_, rel=1e-9)


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no model": ({}, {"teacher": 3}, r"^teacher: "),
    "class": ({}, {"teacher": CRF}, r"^teacher: "),
    "share": ({}, {"teacher_weight": 0.0}, r"^teacher_weight: "),
    "algorithm": ({"algorithm": "sgd"}, {}, r"^algorithm: "),
    "labels": ({}, {"teacher": some_teacher(0, ("A", "B", "D"))}, r"^teacher: "),
    "partial": ({}, {"y": [["A", None, "B"], *Y[1:]]}, r"^y: "),
    "text alone": ({}, {"teacher": None, "unlabelled": X}, r"^unlabelled: "),
    "too few": ({}, {"teacher": Scores(some_teacher()._chains[:1], LABELS)}, r"^teacher: "),
}


@pytest.mark.parametrize(("settings", "how", "place"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_meant_is_refused(settings, how, place):
    arguments = {"y": Y, "teacher": some_teacher(), **how}
    with pytest.raises(InputError, match=place):
        CRF(**settings).fit(X, **arguments)


def test_a_trigram_tagger_is_refused_for_its_chains_are_over_pairs():
    sentences, labels = [["the", "cat"], ["a", "dog"]], [["DT", "NN"]] * 2
    tagger = TrigramTagger().fit(sentences, labels)
    with pytest.raises(InputError, match=r"^teacher: "):
        CRF("U00:%x[0,0]\nB").fit(sentences, labels, teacher=tagger)


def test_another_teacher_is_no_run_to_go_on_with(tmp_path):
    how = {"checkpoint": tmp_path / "run", "save_every": 0}
    CRF(algorithm="lbfgs", max_iterations=2).fit(X, Y, teacher=some_teacher(0), **how)
    with pytest.raises(InputError, match=r"run: .*settings"):
        CRF(algorithm="lbfgs").fit(X, Y, teacher=some_teacher(1), resume=True, **how)
    CRF(algorithm="lbfgs").fit(X, Y, teacher=some_teacher(0), resume=True, **how)
