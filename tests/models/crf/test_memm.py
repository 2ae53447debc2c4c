"""MEMM and MaxEnt: probabilities by the plain definition, label bias, rules, known labels, files, explanations."""

from __future__ import annotations

import copy
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, MEMM, Chain, InputError, MaxEnt, chain
from tagline.datasets import make_entities
from tagline.features.local_scores import charged, log_normalisers
from tagline.models.crf.assembly import FeatureWeights, parameters_of_weights
from tagline.models.crf.extraction import Extraction
from tagline.models.crf.fitting import FittedCRF
from tagline.models.files import TrainingFacts, load_tagger
from tagline.training import LBFGS
from tests.chain.golden import GOLDEN

X = [["Anna", "Smith", "lives", "in", "Rome"], ["Bob", "sees", "New", "York"], ["Rome", "calls"], ["Anna"]] * 3
Y = [
    ["B-PER", "I-PER", "O", "O", "B-LOC"],
    ["B-PER", "O", "B-LOC", "I-LOC"],
    ["B-LOC", "O"],
    ["B-PER"],
] * 3
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]\nB\n"
EDGES = TEMPLATE + "B01:%x[0,0]\n"


def random_chain(seed: int, T: int, L: int, per_token: bool = False, rules: bool = False) -> Chain:
    rng = np.random.default_rng(seed)
    shape = (T, L, L) if per_token else (L, L)
    transitions = rng.normal(0, 2, shape)
    if rules:
        transitions[..., 0, L - 1] = -np.inf
    offsets = np.array([0, T // 2, T // 2, T])
    return Chain(rng.normal(0, 2, (T, L)), transitions, rng.normal(size=L), rng.normal(size=L), offsets)


def by_tables(scores: Chain) -> Chain:
    """The definition: log p(j | i) of each token as transitions [N, L, L], log p(j) as emissions of a first token."""
    N, L = scores.emissions.shape
    tables, emissions = np.zeros((N, L, L)), np.zeros((N, L))
    for first, last in zip(scores.offsets[:-1], scores.offsets[1:], strict=True):
        for n in range(first, last):
            for i in range(L):
                if n == first:
                    row = scores.emissions[n] + scores.start
                else:
                    between = scores.transitions[n] if scores.transitions.ndim == 3 else scores.transitions
                    row = scores.emissions[n] + between[i]
                row = row + scores.end * (n == last - 1)
                with np.errstate(divide="ignore"):
                    logs = np.log(np.exp(row) / np.exp(row).sum())
                if n == first:
                    emissions[n] = logs
                else:
                    tables[n, i] = logs
    return Chain(emissions, tables, np.zeros(L), np.zeros(L), scores.offsets)


@pytest.mark.parametrize("per_token", [False, True])
@pytest.mark.parametrize("rules", [False, True])
@pytest.mark.parametrize(("T", "L"), [(6, 3), (2, 2), (9, 4), (4, 1)])
def test_charging_the_label_before_changes_no_answer(T: int, L: int, per_token: bool, rules: bool) -> None:
    scores = random_chain(T + L, T, L, per_token, rules and L > 1)
    ours, plain = charged(scores), by_tables(scores)
    np.testing.assert_allclose(chain.log_partition(ours), 0, atol=1e-12)
    np.testing.assert_allclose(chain.log_partition(plain), 0, atol=1e-12)
    np.testing.assert_allclose(chain.marginals(ours).nodes, chain.marginals(plain).nodes, rtol=0, atol=1e-12)
    assert chain.viterbi(ours).labels.tolist() == chain.viterbi(plain).labels.tolist()
    known = np.full(T, -1)
    known[T // 2] = L - 1
    answers = [chain.marginals(chain.constrain(of, known=known)).nodes for of in (ours, plain)]
    np.testing.assert_allclose(*answers, rtol=0, atol=1e-12)
    best = [chain.k_best(of, k=3) for of in (ours, plain)]
    for mine, theirs in zip(*best, strict=True):
        np.testing.assert_allclose(mine.probabilities, theirs.probabilities, rtol=1e-10)


def test_normalisers_of_far_scores() -> None:
    """Where products of exponentials vanish, sums of logarithms decide."""
    emissions = np.array([[0.0, 0.0], [900.0, -900.0], [0.0, 0.0]])
    transitions = np.array([[-900.0, 900.0], [-np.inf, 3.0]])
    logs = log_normalisers(Chain(emissions, transitions))
    np.testing.assert_allclose(logs[1], [np.log(2.0), -897.0])
    assert np.isfinite(charged(Chain(emissions, transitions)).emissions).all()


def test_a_label_without_a_successor_is_forbidden_before_the_end() -> None:
    transitions = np.array([[1.0, 1.0], [-np.inf, -np.inf]])
    of = charged(Chain(np.zeros((3, 2)), transitions))
    assert chain.viterbi(of).labels[:2].tolist() == [0, 0]
    np.testing.assert_allclose(chain.log_partition(of), np.log(1 / 4))  # the rest ran into a dead end


def by_hand(model: Any, sentence: list[str], labels: tuple[str, ...]) -> float:
    """Π p(y_n | y_(n−1), x) from the model's own table of weights, and nothing else of it."""
    weights: dict[tuple[Any, ...], float] = {}
    for row in model.weights_table():
        weights[row.kind, row.attribute, row.previous, row.label] = row.weight
    rules = model.parameters_.rules if model.chained else None
    names, total = model.labels_, 1.0
    for n, word in enumerate(sentence):
        before = sentence[n - 1] if n else "_B-1"
        attributes = [f"U00:{word}", f"U01:{before}"]
        scores = []
        for j, label in enumerate(names):
            s = sum(weights.get(("state", a, None, label), 0.0) for a in attributes)
            if n == 0:
                s += weights.get(("start", None, None, label), 0.0)
                legal = rules is None or rules.start[j]
            else:
                s += weights.get(("transition", None, labels[n - 1], label), 0.0)
                s += weights.get(("edge", f"B01:{word}", labels[n - 1], label), 0.0)
                legal = rules is None or rules.transitions[names.index(labels[n - 1]), j]
            if n == len(sentence) - 1:
                s += weights.get(("end", None, None, label), 0.0)
                legal = legal and (rules is None or rules.end[j])
            scores.append(s if legal else -np.inf)
        total *= float(np.exp(scores[names.index(labels[n])]) / np.exp(scores).sum())
    return total


@pytest.mark.parametrize("settings", [{}, {"start_end": True}, {"scheme": "IOB2"}, {"features": EDGES}])
@pytest.mark.parametrize("kind", [MEMM, MaxEnt])
def test_probabilities_are_products_of_local_ones(kind: type[CRF], settings: dict[str, Any]) -> None:
    model = kind(**{"features": TEMPLATE, "c2": 0.1, **settings}).fit(X, Y)
    sentence = ["Bob", "Smith", "calls"]
    labellings = list(product(model.labels_, repeat=3))
    plain = np.array([by_hand(model, sentence, labels) for labels in labellings])
    if kind is MaxEnt and model.parameters_.rules is not None:  # the rules of its answers: given that it is legal
        finite = [np.isfinite(model.log_likelihood([sentence], [list(labels)])) for labels in labellings]
        plain = np.where(np.ravel(finite), plain, 0.0)
        plain /= plain.sum()
    np.testing.assert_allclose(plain.sum(), 1, rtol=1e-6)
    order = np.argsort(-plain)[:5]
    best = model.predict_k_best([sentence], k=5)[0]
    np.testing.assert_allclose([labelling.probability for labelling in best], plain[order][plain[order] > 0], rtol=1e-4)
    assert model.predict([sentence]) == [list(labellings[order[0]])]
    for t, marginals in enumerate(model.predict_marginals([sentence])[0]):
        for label, p in marginals.items():
            whole = sum(q for labels, q in zip(labellings, plain, strict=True) if labels[t] == label)
            np.testing.assert_allclose(p, whole, rtol=0, atol=2e-5)
    got = model.log_likelihood([sentence], [list(labellings[order[0]])])
    np.testing.assert_allclose(got, np.log(plain[order[0]]), rtol=1e-4)


# Label bias.

PATHS = {"rib": ["1", "2", "3"], "rob": ["4", "5", "3"]}


def letters(word: str) -> tuple[Any, Any]:
    """The first letter as an attribute; the others crossed with the state before and the state that they lead into."""
    return [{word[0]: 1.0}, {}, {}], [{}, {word[1]: 1.0}, {word[2]: 1.0}]


def trained_on_letters(kind: type[CRF]) -> Any:
    words = ["rib"] * 6 + ["rob"] * 4
    model = kind(c2=1e-7, algorithm=LBFGS(epsilon=1e-12, delta=0.0), max_iterations=3000)
    x, edges = zip(*map(letters, words), strict=True)
    return model.fit(list(x), [PATHS[word] for word in words], edges=list(edges))


def path_probability(model: Any, word: str, path: str) -> float:
    x, edges = letters(word)
    return float(np.exp(np.ravel(model.log_likelihood([x], [PATHS[path]], edges=[edges]))[0]))


def test_an_memm_falls_for_rib_and_rob_and_a_crf_does_not() -> None:
    """States 1 and 4 have one successor each, and pass their mass on to it whatever letter follows."""
    golden = GOLDEN["label_bias_supplement"]["ref"]
    memm, crf = trained_on_letters(MEMM), trained_on_letters(CRF)
    for word in PATHS:
        reference = golden[f"MEMM P(path|{word})"]
        got = [path_probability(memm, word, path) for path in PATHS]
        np.testing.assert_allclose(got, [reference["A"], reference["B"]], rtol=0, atol=2e-3)
        x, edges = letters(word)
        assert memm.predict([x], edges=[edges]) == [PATHS["rib"]]  # "rob", too
        assert crf.predict([x], edges=[edges]) == [PATHS[word]]
        assert path_probability(crf, word, word) > 0.99


def test_the_golden_numbers_of_label_bias() -> None:
    """The same weights, normalised for the sentence or for each token."""
    golden, inputs = GOLDEN["label_bias_supplement"]["ref"], GOLDEN["label_bias_supplement"]["inputs"]
    names = ["1", "2", "3", "4", "5"]
    far = 60.0  # of a transition: a state has one successor
    pairs = [("1", "2"), ("2", "3"), ("4", "5"), ("5", "3")]
    seen, links = inputs["crf_observation_weight"], inputs["train"]
    parameters = parameters_of_weights(
        names,
        ["r"],
        FeatureWeights(np.array([[0, 0], [0, 3]]), np.log([links["rib"], links["rob"]])),
        FeatureWeights(np.array([[names.index(a), names.index(b)] for a, b in pairs]), np.full(4, far)),
        edge_names=["i", "o"],
        edges=FeatureWeights(np.array([[0, 0, 1], [1, 3, 4]]), np.array([seen, seen])),
        start=np.where(np.isin(names, ["1", "4"]), far, 0.0),
    )
    for kind in (CRF, MEMM):
        model = kind(start_end=True)
        model._become(FittedCRF(parameters, Extraction(None), TrainingFacts(reason="by hand"), ()))
        for word in PATHS:
            masses = [path_probability(model, word, path) for path in PATHS]
            reference = list((golden["CRF"][word] if kind is CRF else golden[f"MEMM P(path|{word})"]).values())
            np.testing.assert_allclose(masses, reference, rtol=0, atol=1e-6)


# The estimators.

CORPUS = make_entities(120, language="en")
TEST = make_entities(40, language="en", split="test")


@pytest.mark.parametrize("kind", [MEMM, MaxEnt])
def test_files_pickles_and_copies(kind: type[CRF], tmp_path: Any) -> None:
    model = kind("english_ner", scheme="IOB2", c2=0.3).fit(CORPUS)
    model.save(tmp_path / "m.tagline")
    again = tagline.load(tmp_path / "m.tagline")
    assert type(again) is kind
    assert again.kind == kind.kind
    for other in (again, load_tagger(tmp_path / "m.tagline"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.predict(TEST) == model.predict(TEST)
        np.testing.assert_array_equal(other.log_likelihood(TEST), model.log_likelihood(TEST))
    assert model.evaluate(TEST).spans.f1 > 0.5


@pytest.mark.parametrize("kind", [MEMM, MaxEnt])
def test_the_word_scorer_and_the_features_agree(kind: type[CRF]) -> None:
    model: Any = kind("english_ner", c2=0.3).fit(CORPUS)
    assert model._words is not None
    fast = np.concatenate([of.emissions for of in model.chains(TEST)])
    model._words = None
    slow = np.concatenate([of.emissions for of in model.chains(TEST)])
    np.testing.assert_allclose(fast, slow, rtol=0, atol=2e-5)


def test_log_z_is_zero_and_rules_hold() -> None:
    model = MEMM("english_ner", scheme="IOB2", c2=0.3).fit(CORPUS)
    rules = model.parameters_.rules
    assert rules is not None
    for of in model.chains(TEST):
        np.testing.assert_allclose(chain.log_partition(of), 0, atol=1e-4)
        assert np.isneginf(of.transitions[~rules.transitions]).all()


def test_known_labels_condition_the_whole_sentence() -> None:
    model = MEMM(TEMPLATE, scheme="IOB2", c2=0.1).fit(X, Y)
    sentence, known = ["Bob", "Smith", "calls"], [None, "I-PER", None]
    labellings = [labels for labels in product(model.labels_, repeat=3) if labels[1] == "I-PER"]
    masses = np.array([by_hand(model, sentence, labels) for labels in labellings])
    masses /= masses.sum()
    for t, marginals in enumerate(model.predict_marginals([sentence], known=[known])[0]):
        for label, p in marginals.items():
            whole = sum(q for labels, q in zip(labellings, masses, strict=True) if labels[t] == label)
            np.testing.assert_allclose(p, whole, rtol=0, atol=2e-5)


@pytest.mark.parametrize("kind", [MEMM, MaxEnt])
def test_explanations_add_up_to_the_margin(kind: type[CRF]) -> None:
    model: Any = kind(EDGES, c2=0.1, start_end=True).fit(X, Y)
    sentence = ["Bob", "Smith", "lives", "in", "York"]
    explained = model.explain(sentence)
    (scores,) = model.chains([sentence])
    best = chain.viterbi(scores).labels
    for t, token in enumerate(explained.tokens):
        allowed = np.ones(scores.emissions.shape, bool)
        allowed[t, best[t]] = False
        rival = chain.viterbi(chain.constrain(scores, allowed=allowed)).labels
        margin = chain.score(scores, best) - chain.score(scores, rival)
        np.testing.assert_allclose(token.margin, margin[0], rtol=0, atol=1e-4)
    kinds = {term.kind for token in explained.tokens for term in token.contributions}
    assert ("normaliser" in kinds) == (kind is MEMM)
    if kind is MEMM:
        assert "normaliser after" in explained.text(most=50)


@pytest.mark.parametrize("kind", [MEMM, MaxEnt])
def test_partial_labels_patience_and_more_sentences(kind: type[CRF]) -> None:
    unsure = [[None if n == 1 else label for n, label in enumerate(labels)] for labels in Y]
    model = kind(TEMPLATE, scheme="IOB2", c2=0.1).fit(
        X, [[{"B-PER", "O"} if y == "O" else y for y in row] for row in Y]
    )
    assert model.gap_ is None
    assert model.predict(X[:1])[0][0] == "B-PER"
    assert kind(TEMPLATE, c2=0.1).fit(X, unsure).predict(X[2:3])[0][0] == "B-LOC"
    patient = kind("english_ner", patience=2, max_iterations=30).fit(CORPUS, X_dev=TEST)
    assert patient.kept_pass_ is not None
    assert kind("english_ner").partial_fit(CORPUS).partial_fit(TEST).predict(TEST)


def test_max_ent_is_logistic_regression() -> None:
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 3))
    labels = [f"{number}" for number in (values @ [[1, 0, -1], [0, 1, 0.5], [1, -1, 0]]).argmax(axis=1)]
    sentences = [
        [{f"a{k}": value for k, value in enumerate(row)} for row in values[b : b + 6]] for b in range(0, 60, 6)
    ]
    rows = [labels[b : b + 6] for b in range(0, 60, 6)]
    model = MaxEnt(c2=0.5, all_possible_states=True, tolerance=1e-10).fit(sentences, rows)
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=2000).fit(values, labels)
    ours = np.array([[p[label] for label in model.labels_] for row in model.predict_marginals(sentences) for p in row])
    np.testing.assert_allclose(ours, theirs.predict_proba(values), rtol=0, atol=1e-4)


def test_max_ent_sees_no_neighbours() -> None:
    model = MaxEnt(TEMPLATE, c2=0.1, scheme=None).fit(X, Y)
    assert len(model.transition_features_) == 0
    (scores,) = model.chains([["Anna", "sees"]])
    assert scores.transitions.shape == (len(model.labels_),) * 2
    assert not scores.transitions.any()
    noted = MaxEnt(EDGES, c2=0.1).fit(X, Y)
    assert any("B lines are left out" in note for note in noted.notes_)
    assert noted.predict(X[:1]) == model.predict(X[:1])


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (
            MEMM(algorithm="ap", c2=0.0),
            r"^algorithm: .*'ap'",
        ),
        (MEMM(algorithm="arow", c2=0.0), "algorithm: expected"),
        (MaxEnt(all_possible_transitions=True), "all_possible_transitions: expected False for MaxEnt"),
        (MaxEnt(tolerance=1e-3, c2=0.0), "tolerance: expected None beside c2=0"),
    ],
)
def test_refusals(model: CRF, place: str) -> None:
    with pytest.raises(InputError, match=place):
        model.fit([[{"a": 1.0}]], [["A"]])


def test_max_ent_refuses_edges() -> None:
    with pytest.raises(InputError, match=r"^edges: "):
        MaxEnt().fit([[{"a": 1.0}] * 2], [["A", "B"]], edges=[[{}, {"e": 1.0}]])


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow", "iis", "gd"])
def test_max_ent_by_other_algorithms(algorithm: str) -> None:
    model = MaxEnt(TEMPLATE, algorithm=algorithm, c2=0.0 if algorithm in ("ap", "pa", "arow") else 1.0).fit(X, Y)
    assert model.score(X, Y) > 0.9


def test_resuming_is_exact(tmp_path: Any) -> None:
    settings: dict[str, Any] = {"features": "english_ner", "c2": 0.5, "max_iterations": 14}
    whole = MEMM(**settings).fit(CORPUS)
    state = tmp_path / "state"
    MEMM(**settings, callbacks=[lambda state: state.pass_ == 9]).fit(CORPUS, checkpoint=state, save_every=0)
    again = MEMM(**settings).fit(CORPUS, checkpoint=state, resume=True)
    assert again.parameters_.weights.tobytes() == whole.parameters_.weights.tobytes()
    with pytest.raises(InputError, match="state: "):
        CRF(**settings).fit(CORPUS, checkpoint=state, resume=True)
