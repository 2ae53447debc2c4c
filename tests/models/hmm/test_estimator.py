"""The HMM's answers against enumeration, partly labelled sequences, symbols never seen, and wrong input."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import HMM, Corpus, InputError, NoPathError
from tagline.models.hmm.emissions import Categorical, Gaussian
from tagline.readers.corpus import Sentence

from ..corpora import tagged
from .cases import LENGTHS, joint, observations, paths, sequences

TAGS, WORDS = ["D", "N", "V"], ["the", "cat", "sings"]


def drawn(seed: int, K: int = 3, V: int = 4, zeros: bool = False) -> HMM:
    random = np.random.default_rng(seed)
    rows = [random.dirichlet(np.ones(size)) for size in (K, *(K,) * K, *(V,) * K)]
    if zeros:
        for row in rows[1:]:
            row[random.integers(len(row))] = 0
            row /= row.sum()
    return HMM.from_parameters(rows[0], np.array(rows[1 : K + 1]), np.array(rows[K + 1 :]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.booleans())
def test_answers_are_those_of_enumeration(seed: int, T: int, zeros: bool) -> None:
    hmm = drawn(seed, zeros=zeros)
    x = np.random.default_rng(seed + 1).integers(0, 4, T)
    every = paths(3, T)
    logs = np.array([joint(hmm, x, path) for path in every])
    total = np.logaddexp.reduce(logs)
    if not np.isfinite(total):
        with pytest.raises(NoPathError):
            hmm.predict([x])
        return
    assert hmm.log_likelihood([x])[0] == pytest.approx(total, rel=1e-12, abs=1e-12)
    assert hmm.score([x]) == pytest.approx(total, rel=1e-12, abs=1e-12)
    best, states = hmm.decode([x])
    assert best == pytest.approx(logs.max(), rel=1e-12, abs=1e-12)
    assert joint(hmm, x, tuple(states[0])) == pytest.approx(logs.max(), rel=1e-12, abs=1e-12)
    weights = np.exp(logs - total)
    nodes = [
        [sum(w for path, w in zip(every, weights, strict=True) if path[t] == k) for k in range(3)] for t in range(T)
    ]
    np.testing.assert_allclose(hmm.predict_proba([x]), nodes, rtol=1e-9, atol=1e-12)
    y = every[int(logs.argmax())]
    assert hmm.log_likelihood([x], [list(y)])[0] == pytest.approx(logs.max() - total, rel=1e-9, abs=1e-9)
    assert hmm.entropy([x])[0] == pytest.approx(-sum(w * np.log(w) for w in weights if w > 0), rel=1e-9, abs=1e-9)


def test_names_and_numbers() -> None:
    X, y = [["the", "cat", "sings"], ["cat"]], [["D", "N", "V"], ["N"]]
    named = HMM(k=0.1).fit(X, y)
    assert named.labels_ == named.classes_ == ["D", "N", "V"]
    assert named.predict(X) == y
    assert named.predict_single(X[0]) == y[0]
    assert set(named.predict_marginals(X)[0][0]) == {"D", "N", "V"}
    numbered = HMM(k=0.1).fit(X, [[0, 1, 2], [1]])
    assert numbered.labels_ == [0, 1, 2]
    assert numbered.predict(X) == [[0, 1, 2], [1]]
    assert numbered.predict(X, known=[[None, 2, None], None])[0][1] == 2
    assert named.predict(X, known=[[None, {"V"}, None], None])[0][1] == "V"
    assert set(numbered.predict_marginals(X)[0][0]) == {0, 1, 2}
    assert numbered.score(X, [[0, 1, 2], [0]]) == named.score(X, [["D", "N", "V"], ["D"]]) == 0.75
    np.testing.assert_array_equal(named.transitions_, numbered.transitions_)
    assert named.evaluate(X, y).tokens.accuracy == 1.0
    assert len(named.predict_samples(X, 3, seed=0)[0]) == 3
    with pytest.raises(InputError, match=r"^labels: "):
        numbered.predict_spans(X)


def test_one_array_and_lengths_as_hmmlearn_has_it() -> None:
    X = observations("gaussian diag")
    hmm = HMM(3, emission="gaussian", max_iterations=10).fit(X, lengths=LENGTHS)
    states = hmm.predict(X, lengths=LENGTHS)
    assert isinstance(states, np.ndarray)
    assert states.dtype == np.int64
    assert states.shape == (len(X),)
    assert [row for rows in hmm.predict(sequences(X)) for row in rows] == states.tolist()
    assert np.array_equal(states, hmm.predict(X, LENGTHS))
    total, same = hmm.decode(X, LENGTHS)
    assert np.array_equal(states, same)
    assert total == pytest.approx(hmm.decode(sequences(X))[0], rel=1e-13)
    assert hmm.predict_proba(X, lengths=LENGTHS).shape == (len(X), 3)
    y = (np.arange(len(X)) // 5) % 3
    counted = HMM(emission="gaussian").fit(X, y, lengths=LENGTHS)
    assert counted.labels_ == [0, 1, 2]
    np.testing.assert_allclose(counted.emission_.means, [X[y == k].mean(axis=0) for k in range(3)])  # type: ignore[attr-defined]
    assert 0 < counted.score(X, y, lengths=LENGTHS) < 1
    names = np.array(["a", "b", "c"])[y]
    assert HMM(emission="gaussian").fit(X, names, lengths=LENGTHS).predict(X, lengths=LENGTHS).dtype == object
    assert hmm.bic(X, lengths=LENGTHS) > hmm.aic(X, lengths=LENGTHS) > -2 * hmm.score(X, lengths=LENGTHS)
    assert hmm.aic(X) == pytest.approx(-2 * hmm.score(X) + 2 * (2 + 6 + 6 + 6))


def test_sampling() -> None:
    hmm = HMM.from_parameters([1, 0], [[0.9, 0.1], [0.2, 0.8]], [[1, 0], [0.5, 0.5]], symbols=["a", "b"], labels="XY")
    words, states = hmm.sample(4000, seed=1)
    assert states[0] == "X"
    assert hmm.sample(4000, seed=1) == (words, states)
    pairs = list(pairwise(states))
    assert pairs.count(("X", "Y")) / states.count("X") == pytest.approx(0.1, abs=0.02)
    assert pairs.count(("Y", "X")) / states.count("Y") == pytest.approx(0.2, abs=0.03)
    assert not any(word == "b" and state == "X" for word, state in zip(words, states, strict=True))
    assert words.count("b") / states.count("Y") == pytest.approx(0.5, abs=0.05)
    assert hmm.sample(0)[0] == []
    values, numbers = HMM.from_parameters([1.0], [[1.0]], Gaussian([[1.0, 2.0]], [[1.0, 1.0]])).sample(5, seed=0)
    assert values.shape == (5, 2)
    assert numbers.tolist() == [0] * 5
    symbols, _ = drawn(0).sample(5, seed=0)
    assert symbols.shape == (5, 1)  # as hmmlearn
    for n in (-1, 2.5, True):
        with pytest.raises(InputError, match=r"^n: "):
            hmm.sample(n)  # type: ignore[arg-type]


def test_a_corpus_brings_its_tags() -> None:
    X, y = tagged()
    corpus = Corpus.from_sentences(list(zip(X, y, strict=True)))
    hmm, lists = HMM().fit(corpus), HMM().fit(X, y)
    np.testing.assert_array_equal(hmm.transitions_, lists.transitions_)
    assert hmm.predict(corpus) == lists.predict(X)
    assert hmm.score(corpus) == lists.score(X, y) > 0.8  # tags are there: accuracy
    bare = Corpus({"token": corpus.columns["token"]}, corpus.offsets)
    assert hmm.score(bare) == pytest.approx(lists.score(X), rel=1e-12)  # none: log-likelihood
    sentence = Sentence({"token": ["the", "cat"]})
    assert hmm.predict([sentence]) == hmm.predict([["the", "cat"]])
    assert [one.label for one in hmm.explain(sentence).tokens] == hmm.predict([["the", "cat"]])[0]


def test_partly_labelled_sequences() -> None:
    """The known states are held; a few labels on a word decide what the states mean."""
    X, y = tagged(0, 60, noise=0.0)
    some: list[Any] = [[tag if (b + t) % 4 == 0 else None for t, tag in enumerate(row)] for b, row in enumerate(y)]
    some[3] = None
    hmm = HMM(max_iterations=30, tolerance=-np.inf).fit(X, some)
    values = np.array([done.objective for done in hmm.training_log_])
    assert (np.diff(values) >= -1e-10 * np.abs(values[:-1])).all()
    assert hmm.labels_ == sorted({tag for row in y for tag in row})
    # The objective is log P(O, what is known): the constrained chains' log Z.
    known = [row or [None] * len(X[3]) for row in some]
    again = HMM(max_iterations=31, tolerance=-np.inf).fit(X, some)
    joint_now = hmm.log_likelihood(X, known).sum() + hmm.log_likelihood(X).sum()
    assert again.training_log_[30].objective == pytest.approx(joint_now, rel=1e-10)
    assert hmm.score(X, y) > 0.9
    sets = [[{tag, "N"} for tag in row] for row in y]
    assert HMM(max_iterations=5).fit(X, sets).score(X, y) > 0.5


def test_partly_labelled_arrays() -> None:
    X = observations("gaussian diag")
    regime = HMM(3, emission="gaussian", max_iterations=20).fit(X, lengths=LENGTHS).predict(X, lengths=LENGTHS)
    few = np.where(np.arange(len(X)) % 9 == 0, regime, -1)
    hmm = HMM(emission="gaussian", max_iterations=20).fit(X, few, lengths=LENGTHS)
    assert hmm.labels_ == [0, 1, 2]
    assert hmm.score(X, regime, lengths=LENGTHS) > 0.95  # the numbers mean what the few labels said
    nothing = HMM(2, emission="gaussian", max_iterations=3).fit(X, np.full(len(X), -1), lengths=LENGTHS)
    assert nothing.labels_ == [0, 1]
    parts = np.split(few, np.cumsum(LENGTHS)[:-1])
    lists = HMM(emission="gaussian", max_iterations=20).fit(sequences(X), parts)
    np.testing.assert_array_equal(lists.transitions_, hmm.transitions_)
    # Known states are held even where the numbers speak against them.
    wrong = np.where(few >= 0, np.arange(len(X)) // 9 % 3, -1)
    how = {"emission": "gaussian", "tolerance": -np.inf, "random_state": 1}
    held = HMM(max_iterations=4, **how).fit(X, wrong, lengths=LENGTHS)
    again = HMM(max_iterations=5, **how).fit(X, wrong, lengths=LENGTHS)
    both = held.log_likelihood(X, wrong, lengths=LENGTHS).sum() + held.score(X, lengths=LENGTHS)
    assert again.training_log_[4].objective == pytest.approx(both, rel=1e-10)
    assert both < held.score(X, lengths=LENGTHS) - 1


def test_a_word_that_no_labelled_sentence_has() -> None:
    """Without pseudo-counts it would be impossible where EM starts."""
    hmm = HMM(k=0.0, max_iterations=5).fit([["the", "cat"], ["a", "dog"]], [["D", "N"], None])
    assert hmm.predict([["a", "dog"]]) == [["D", "N"]]


def test_labels_known_everywhere_are_counted_whatever_their_form() -> None:
    X, y = tagged(0, 20)
    sets = [[{tag} for tag in row] for row in y]
    em = HMM(smoothing="dirichlet", unknown="error", max_iterations=3).fit(
        X, sets
    )  # a set of one is an unknown for fit
    counted = HMM(smoothing="dirichlet", unknown="error").fit(X, y)
    np.testing.assert_allclose(em.transitions_, counted.transitions_, rtol=1e-10)
    np.testing.assert_allclose(em.emission_.probabilities, counted.emission_.probabilities, atol=1e-12)  # type: ignore[attr-defined]


def test_a_symbol_never_seen() -> None:
    X, y = [["the", "cat"], ["a", "cat", "sings"]], [["D", "N"], ["D", "N", "V"]]
    smooth = HMM(k=0.5).fit(X, y)
    emission = smooth.emission_
    assert isinstance(emission, Categorical)
    assert emission.unseen is not None
    (chain,) = smooth.chains([["the", "dog"]])
    np.testing.assert_allclose(np.exp(chain.emissions[1]), emission.unseen)
    strict = HMM(k=0.5, unknown="error").fit(X, y)
    assert strict.emission_.unseen is None  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"^X\[1\]\[1\]: .*unknown="):
        strict.predict([["the"], ["a", "dog"]])
    with pytest.raises(InputError, match=r"^sentence 0, token 0: "):
        strict.predict(Corpus.from_sentences([{"token": ["dog"]}]))
    learned = HMM(2, max_iterations=3).fit(X)  # EM keeps nothing for what it never saw: such a symbol says nothing
    (chain,) = learned.chains([["the", "dog"]])
    assert chain.emissions[1].tolist() == [0, 0]
    prior = HMM(2, max_iterations=3, emission_prior=1.5).fit(X)  # unless the prior does
    (chain,) = prior.chains([["the", "dog"]])
    assert (chain.emissions[1] < 0).all()
    numbers = HMM(2, unknown="error", max_iterations=2).fit(np.array([0, 1, 2, 0]))
    with pytest.raises(InputError, match=r"^X\[1\]: "):
        numbers.predict(np.array([0, 7]))


def test_tag_schemes() -> None:
    """BMES: what the scheme forbids is never predicted, at the end neither."""
    X = [list("今天天气好"), list("我们去北京"), list("天气"), list("我")]
    y = [list("BEBES"), list("BESBE"), list("BE"), list("S")]
    hmm = HMM(scheme="auto", k=0.5).fit(X, y)
    assert hmm.parameters_.scheme == hmm.scheme_name == "BMES-words"
    rules = hmm.parameters_.rules
    assert rules is not None
    assert (hmm.transitions_[~rules.transitions] == 0).all()
    assert (hmm.start_[~rules.start] == 0).all()
    random = np.random.default_rng(0)
    for _ in range(50):
        words = [str(one) for one in random.choice(list("今天气好我们去北京猫"), random.integers(1, 7))]
        tags = "".join(hmm.predict([words])[0])
        assert tags[0] in "BS"
        assert tags[-1] in "ES"
        assert all("".join(pair) in ("BE", "EB", "ES", "SB", "SS", "BM", "MM", "ME") for pair in pairwise(tags))
    assert [(one.start, one.end) for one in hmm.predict_spans([list("我们去")])[0]] == [(0, 2), (2, 3)]
    with pytest.raises(InputError, match="expected tags that BMES-words allows"):
        HMM(scheme="BMES-words", on_illegal="error").fit(X, [*y[:-1], ["E"]])
    dropped = HMM(scheme="BMES-words", on_illegal="drop").fit(X, [*y[:-1], ["E"]])
    assert dropped.notes_ == ["dropped 1 of 4 sentences with tags that BMES-words forbids"]
    np.testing.assert_allclose(dropped.transitions_, HMM(scheme="BMES-words").fit(X[:-1], y[:-1]).transitions_)
    more = [*X, list("我们"), list("气我")], [*y, None, None]
    part = HMM(scheme="BMES-words", max_iterations=5, tolerance=-np.inf).fit(*more)
    assert (part.transitions_[~rules.transitions] == 0).all()
    again = HMM(scheme="BMES-words", max_iterations=6, tolerance=-np.inf).fit(*more)
    known = [*y, [None] * 2, [None] * 2]  # the end is known to be legal, too: P(O, what is known)
    both = part.log_likelihood(more[0], known).sum() + part.log_likelihood(more[0]).sum()
    assert again.training_log_[5].objective == pytest.approx(both, rel=1e-10)


def test_from_parameters_and_warm_start() -> None:
    hmm = drawn(1)
    assert hmm.stop_reason_ == "given"
    assert hmm.labels_ == [0, 1, 2]
    x = [[0, 1, 2, 3, 3, 2]]
    before = hmm.score(x)
    hmm.set_params(warm_start=True, max_iterations=1).fit(x)
    after = hmm.score(x)
    assert after > before
    assert hmm.fit(x).score(x) > after
    with pytest.raises(InputError, match=r"^observation 1: "):
        hmm.fit([[0, 9]])
    with pytest.raises(InputError, match=r"^y: .*'5'"):
        hmm.fit([[0, 1]], [[0, 5]])


BAD_ROWS: dict[str, Any] = {
    "negative": (([-0.5, 1.5], np.eye(2), np.eye(2)), r"^start\[0\]: "),
    "sum of start": (
        ([0.5, 0.4], np.eye(2), np.eye(2)),
        r"^start: ",
    ),
    "sum of a row": (
        ([1, 0], [[1, 0], [0.5, 0.75]], np.eye(2)),
        r"^transitions\[1\]: ",
    ),
    "sum of emissions": (
        ([1, 0], np.eye(2), [[0.5, 0.5], [0.2, 0.2]]),
        r"^probabilities\[1\]: ",
    ),
    "negative transition": (
        ([1, 0], [[1, 0], [-0.25, 1.25]], np.eye(2)),
        r"^transitions\[1, 0\]: ",
    ),
    "NaN": (([1, 0], [[1, 0], [np.nan, 1]], np.eye(2)), r"^transitions\[1, 0\]: "),
    "shape": (([1, 0], np.eye(3), np.eye(2)), r"^transitions: "),
    "states": (([1, 0], np.eye(2), np.eye(3)), r"^emission: "),
}


@pytest.mark.parametrize("wrong", BAD_ROWS)
def test_numbers_that_are_no_probabilities(wrong: str) -> None:
    given, place = BAD_ROWS[wrong]
    with pytest.raises(InputError, match=place):
        HMM.from_parameters(*given)


def test_wrong_names() -> None:
    for more, place in (
        ({"labels": ["a"]}, r"^labels: "),
        ({"labels": ["a", "a"]}, r"^labels: "),
        ({"symbols": ["x"]}, r"^symbols: "),
        ({"symbols": ["x", "x"]}, r"^symbols: .*'x'"),
    ):
        with pytest.raises(InputError, match=place):
            HMM.from_parameters([1, 0], np.eye(2), np.eye(2), **more)


WRONG: dict[str, Any] = {
    "no states": ({}, ([["a"]],), {}, "n_states: expected a number of states, for no y names them, got None"),
    "zero states": ({"n_states": 0}, ([["a"]],), {}, "n_states: expected a whole number from 1 .*, got 0"),
    "half a state": ({"n_states": 1.5}, ([["a"]],), {}, "n_states: expected a whole number from 1 .*, got 1.5"),
    "true states": ({"n_states": True}, ([["a"]],), {}, "n_states: expected a whole number from 1 .*, got True"),
    "fewer states": ({"n_states": 2}, ([["a"]], [[2]]), {}, "y: expected states from 0 to 1, as n_states says, got 2"),
    "more states": ({"n_states": 3}, ([["a"]], [["N"]]), {}, "n_states: expected 1, the labels in y"),
    "names and numbers": ({}, ([["a", "b"]], [["N", 1]]), {}, "y: expected names or numbers of states, got both"),
    "float states": ({}, ([["a"]], [[1.5]]), {}, r"y\[0\]\[0\]: expected a label as a string"),
    "fewer labels": ({}, ([["a", "b"]], [["N"]]), {}, r"y\[0\]: expected 2 labels, one a token of X\[0\], got 1"),
    "fewer sequences": (
        {},
        ([["a"], ["b"]], [["N"]]),
        {},
        r"^y: ",
    ),
    "emission": ({"emission": "gamma"}, ([["a"]],), {}, "emission: expected one of categorical, .*got 'gamma'"),
    "algorithm": ({"algorithm": "sgd"}, ([["a"]],), {}, "algorithm: expected one of em, viterbi, got 'sgd'"),
    "unknown": ({"unknown": "drop"}, ([["a"]],), {}, "unknown: expected one of smooth, error, got 'drop'"),
    "n_init": ({"n_init": 0}, ([["a"]],), {}, "n_init: expected a whole number from 1 to 10000, got 0"),
    "iterations": ({"n_states": 1, "max_iterations": -1}, ([["a"]],), {}, "max_iterations: expected .*, got -1"),
    "topology": (
        {"n_states": 2, "topology": "ring"},
        ([["a"]],),
        {},
        r"^topology: ",
    ),
    "topology shape": (
        {"n_states": 2, "topology": [[True]]},
        ([["a"]],),
        {},
        r"^topology: ",
    ),
    "topology stuck": (
        {"n_states": 2, "topology": [[True, True], [False, False]]},
        ([["a"]],),
        {},
        r"^topology\[1\]: ",
    ),
    "tied": ({"n_states": 2, "tied": [0]}, ([["a"]],), {}, r"^tied: "),
    "poisson prior": (
        {"n_states": 2, "emission": "poisson", "emission_prior": 2.0},
        ([[1]],),
        {},
        r"^emission_prior: ",
    ),
    "scheme": (
        {"n_states": 2, "scheme": "IOB2"},
        ([["a"]],),
        {},
        r"^scheme: ",
    ),
    "nothing": ({"n_states": 2}, ([],), {}, r"^X: "),
    "only empty": ({"n_states": 2}, ([[]],), {}, r"^X: "),
    "only missing": ({"n_states": 2}, ([[None]],), {}, r"^X: "),
    "lengths": (
        {"n_states": 2},
        (np.arange(5),),
        {"lengths": [2, 2]},
        r"^lengths: ",
    ),
    "negative lengths": (
        {"n_states": 2},
        (np.arange(5),),
        {"lengths": [6, -1]},
        r"^lengths\[1\]: ",
    ),
    "lengths as y": (
        {"n_states": 2},
        (np.arange(5), [2, 3]),
        {},
        r"^y: .*lengths=",
    ),
    "a string": ({"n_states": 2}, ("the cat",), {}, r"^X: .*'the cat'"),
    "words for numbers": ({"n_states": 2, "emission": "gaussian"}, ([["a"]],), {}, r"^X\[0\]: "),
    "a corpus for numbers": (
        {"emission": "gaussian"},
        (Corpus.from_sentences([(["a"], ["N"])]),),
        {},
        r"^X: ",
    ),
    "infinity": (
        {"n_states": 1, "emission": "gaussian"},
        (np.array([1.0, np.inf]),),
        {},
        r"^X\[1\]\[0\]: ",
    ),
    "negative counts": (
        {"n_states": 1, "emission": "poisson"},
        ([[1, -2]],),
        {},
        r"^X\[0\]\[1\]\[0\]: ",
    ),
    "seed": ({"n_states": 2, "random_state": -3}, ([["a", "b"]],), {}, r"^random_state: "),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_input_is_named(wrong: str) -> None:
    settings, arguments, more, place = WRONG[wrong]
    with pytest.raises(InputError, match=place):
        HMM(**settings).fit(*arguments, **more)


def test_wrong_questions() -> None:
    X = observations("gaussian diag")
    hmm = HMM(2, emission="gaussian", max_iterations=2).fit(X)
    with pytest.raises(InputError, match=r"^X: "):
        hmm.predict(np.zeros((5, 3)))
    with pytest.raises(InputError, match=r"^lengths: "):
        hmm.predict(X, lengths=[4])
    with pytest.raises(InputError, match=r"^known\[0\]\[0\]: "):
        hmm.predict([X], known=[[7] + [None] * (len(X) - 1)])


def test_explaining_a_state() -> None:
    hmm = HMM(k=0.1).fit([["the", "cat", "sings"], ["a", "dog", "sees", "the", "cat"]], [list("DNV"), list("DNVDN")])
    why = hmm.explain(["the", "cat"])
    assert why.labels == ["D", "N"]
    token = why.tokens[1]
    logs = {path: joint(hmm, ["the", "cat"], path) for path in paths(3, 2)}
    rival = max((path for path in logs if path[1] != 1), key=lambda path: logs[path])
    assert token.runner_up == hmm.labels_[rival[1]]
    assert token.margin == pytest.approx(logs[0, 1] - logs[rival], rel=1e-10)
    assert {one.kind for one in token.contributions} <= {"state", "transition", "start"}
    assert "cat" in why.text()
    numbers = HMM(2, emission="gaussian", max_iterations=3).fit(observations("gaussian diag"))
    assert len(numbers.explain(np.zeros((3, 2))).tokens) == 3


def test_looking_inside() -> None:
    hmm = HMM(k=0.1).fit([["the", "cat", "sings"], ["a", "dog", "sees", "the", "cat"]], [list("DNV"), list("DNVDN")])
    top = hmm.top_features(2, "N")
    assert [one.attribute for one in top] == ["cat", "dog"]
    assert np.exp(top[0].weight) == pytest.approx(2.1 / 3.7)
    first = hmm.top_transitions(1)[0]
    assert (first.previous, first.label) == ("D", "N")
    assert np.exp(first.weight) == pytest.approx(3.1 / 3.3)
    facts = hmm.summary()
    assert facts.symbols == 6
    assert "6 symbols" in facts.text()
    assert "categorical" in facts.text()
    assert facts.line() == "3 labels (no tag scheme), 6 symbols, 26 parameters"
    table = hmm.weights_table()
    assert len(table) == 3 * 6 + 9 + 3
    gauss = HMM(2, emission="gaussian", max_iterations=3).fit(observations("gaussian diag"))
    assert gauss.top_features() == []
    assert "state 0  means [" in gauss.summary().text()
    with pytest.raises(InputError, match=r"^label: .*'X'"):
        hmm.top_features(label="X")


def test_callers_arrays_are_left_alone() -> None:
    X = observations("gaussian diag")
    y = (np.arange(len(X)) // 5) % 3
    before = X.copy(), y.copy()
    HMM(emission="gaussian").fit(X, y, lengths=LENGTHS).predict(X, lengths=LENGTHS)
    HMM(3, emission="gaussian", max_iterations=3).fit(X, lengths=LENGTHS)
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])
    start = np.array([0.5, 0.5])
    HMM.from_parameters(start, np.full((2, 2), 0.5), np.full((2, 2), 0.5), warm_start=True).fit([[0, 1]])
    assert start.tolist() == [0.5, 0.5]
