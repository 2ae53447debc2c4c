"""`constrain`: each rule against the enumeration of what it leaves, exact zeros, and chains without a legal path."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.chain import constrain
from tagline.errors import InputError, NoPathError
from tagline.types import BoolArray, Chain

from .cases import MILD, Case, assert_close, cases, log_z_tolerance, probability_tolerance, random_chain, sentence_alone
from .enumeration import AllPaths, enumerate_chain, log_sum

Rules = dict[str, Any]


def obeys(sentence: AllPaths, first: int, rules: Rules) -> BoolArray:
    """Which labellings of a sentence that starts at token ``first`` keep the rules, ``[P]``."""
    paths, T = sentence.paths, sentence.length
    kept = np.ones(len(paths), np.bool_)
    for t in range(T):
        if "allowed" in rules:
            kept &= rules["allowed"][first + t, paths[:, t]]
        if "known" in rules and rules["known"][first + t] >= 0:
            kept &= paths[:, t] == rules["known"][first + t]
        if "transitions" in rules and t > 0:
            transitions = rules["transitions"] if rules["transitions"].ndim == 2 else rules["transitions"][first + t]
            kept &= transitions[paths[:, t - 1], paths[:, t]]
    if T and "start" in rules:
        kept &= rules["start"][paths[:, 0]]
    if T and "end" in rules:
        kept &= rules["end"][paths[:, -1]]
    return kept


@st.composite
def ruled_cases(draw: st.DrawFn) -> tuple[Case, Rules]:
    """A case and some of the rules, which its own labelling may or may not keep."""
    case = draw(cases(kinds=MILD))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    N, L = case.chain.emissions.shape
    chosen = draw(st.sets(st.sampled_from(["allowed", "known", "transitions", "start", "end"]), min_size=1))
    shapes = {"allowed": (N, L), "transitions": (L, L), "start": (L,), "end": (L,)}
    if case.chain.per_position and draw(st.booleans()):
        shapes["transitions"] = (N, L, L)
    rules: Rules = {name: rng.random(shape) < 0.8 for name, shape in shapes.items() if name in chosen}
    if "known" in chosen:
        rules["known"] = np.where(rng.random(N) < 0.7, -1, rng.integers(0, L, N))
    return case, rules


@given(ruled=ruled_cases())
def test_rules_leave_the_paths_that_obey(engine: ModuleType, ruled: tuple[Case, Rules]) -> None:
    case, rules = ruled
    chain = case.chain
    tight = constrain(chain, **rules)
    log_z = engine.log_partition(tight, allow_no_path=True)
    for b, sentence in enumerate(enumerate_chain(chain)):
        kept = obeys(sentence, int(chain.offsets[b]), rules)
        expected = log_sum(sentence.scores[kept])
        assert_close(log_z[b], expected, log_z_tolerance(engine, chain, expected))
        part = slice(int(chain.offsets[b]), int(chain.offsets[b + 1]))
        transitions = tight.transitions[part] if tight.per_position else tight.transitions
        alone = Chain(tight.emissions[part], transitions, tight.start, tight.end)
        if expected == -np.inf:
            with pytest.raises(NoPathError, match=r"^sentence 0: "):
                engine.marginals(alone)
            continue
        shares = np.where(kept, np.exp(sentence.scores - expected), 0.0)
        nodes = np.zeros(sentence.emissions.shape)
        for t in range(sentence.length):
            np.add.at(nodes[t], sentence.paths[:, t], shares)
        found = engine.marginals(alone).nodes
        assert_close(found, nodes, probability_tolerance(engine, chain))
        assert not found[nodes == 0].any(), "forbidden means probability 0, exactly"
        for labels in (engine.viterbi(alone).labels, engine.sample(alone, np.full((1, len(found)), 0.5))[0]):
            assert kept[(sentence.paths == labels).all(axis=1)].all()


def test_a_constrained_chain_holds_minus_infinity_and_nothing_large(dtype: str) -> None:
    case = random_chain(np.random.default_rng(41), 3, [3, 2], dtype=dtype)
    rules: Rules = {
        "transitions": np.eye(3, dtype=np.bool_),
        "start": [True, False, True],
        "end": [False, True, True],
        "allowed": {1: {0, 2}},
        "known": [-1, -1, -1, 2, -1],
    }
    tight = constrain(case.chain, **rules)
    for name in ("emissions", "transitions", "start", "end"):
        before, after = getattr(case.chain, name), getattr(tight, name)
        assert after.dtype == dtype
        changed = before != after
        assert np.isneginf(after[changed]).all()
    assert np.isneginf(tight.transitions).tolist() == (~np.eye(3, dtype=np.bool_)).tolist()
    assert np.isneginf(tight.start).tolist() == [False, True, False]
    assert np.isneginf(tight.end).tolist() == [True, False, False]
    assert np.argwhere(np.isneginf(tight.emissions)).tolist() == [[1, 1], [3, 0], [3, 1]]
    assert tight.offsets.tolist() == case.chain.offsets.tolist()


ALLOWED: dict[str, Any] = {
    "array": np.array([[True, True, True], [True, False, False], [False, True, True]]),
    "nested lists": [[True, True, True], [True, False, False], [False, True, True]],
    "mapping": {1: 0, 2: {1, 2}},
    "list of sets": [None, 0, (1, 2)],
    "list of sets and arrays": [{0, 1, 2}, np.int64(0), np.array([2, 1])],
    "mapping of ranges": {2: range(1, 3), 1: [0]},
}


@pytest.mark.parametrize("form", ALLOWED)
def test_forms_of_allowed_labels(form: str) -> None:
    tight = constrain(Chain(np.zeros((3, 3)), np.zeros((3, 3))), allowed=ALLOWED[form])
    assert np.isneginf(tight.emissions).tolist() == [[False] * 3, [False, True, True], [True, False, False]]


@pytest.mark.parametrize("form", [[None, [True, False, False]], {1: [True, False, False]}, {1: (False, True)}], ids=str)
def test_booleans_are_never_taken_for_labels(form: Any) -> None:
    """[True, False, False] must not come to mean "labels 1 and 0"."""
    chain = Chain(np.zeros((2, 3)), np.zeros((3, 3)))
    try:
        tight = constrain(chain, allowed=form)
    except InputError:
        return
    assert np.isneginf(tight.emissions).tolist() == [[False] * 3, [False, True, True]]


def test_constraints_add_up(engine: ModuleType) -> None:
    case = random_chain(np.random.default_rng(42), 3, [4], forbidden=0.1)
    rules: list[Rules] = [{"known": [-1, 1, -1, -1]}, {"start": [True, True, False]}, {"allowed": {3: {0, 1}}}]
    at_once = constrain(case.chain, **{name: rule for one in rules for name, rule in one.items()})
    one_by_one = case.chain
    for one in rules:
        one_by_one = constrain(one_by_one, **one)
    for name in ("emissions", "transitions", "start", "end"):
        assert getattr(at_once, name).tobytes() == getattr(one_by_one, name).tobytes()
    assert engine.log_partition(at_once).tolist() == engine.log_partition(one_by_one).tolist()


def test_no_rules_change_nothing() -> None:
    chain = random_chain(np.random.default_rng(43), 3, [4, 0, 1], per_position=True).chain
    same = constrain(chain)
    for name in ("emissions", "transitions", "start", "end", "offsets"):
        assert getattr(same, name).tobytes() == getattr(chain, name).tobytes()


def test_the_given_chain_and_rules_stay_as_they_are() -> None:
    chain = random_chain(np.random.default_rng(44), 3, [3]).chain
    rules: Rules = {"transitions": np.eye(3, dtype=np.bool_), "known": np.array([-1, 2, -1]), "start": np.ones(3, bool)}
    before = [getattr(chain, name).tobytes() for name in ("emissions", "transitions", "start", "end")]
    kept = {name: rule.copy() for name, rule in rules.items()}
    constrain(chain, **rules, allowed={0: 1})
    assert before == [getattr(chain, name).tobytes() for name in ("emissions", "transitions", "start", "end")]
    assert all((rules[name] == kept[name]).all() for name in rules)


HOPELESS: dict[str, Rules] = {
    "labels": {"allowed": {3: {0}, 4: {1}}, "transitions": [[True, False], [True, True]]},
    "start and end": {"known": [-1, -1, -1, 0, -1, -1], "start": [False, True]},
    "two rules on one token": {"known": [-1, -1, -1, 1, -1, -1], "allowed": {3: 0}},
}


@pytest.mark.parametrize("rules", HOPELESS.values(), ids=HOPELESS)
@pytest.mark.parametrize("per_position", [False, True])
def test_no_legal_path_names_the_sentence(engine: ModuleType, dtype: str, per_position: bool, rules: Rules) -> None:
    free = random_chain(np.random.default_rng(45), 2, [2, 0, 1, 3], dtype=dtype, per_position=per_position).chain
    chain = constrain(free, **rules)
    N = chain.num_tokens
    calls = {
        "log_partition": lambda: engine.log_partition(chain),
        "marginals": lambda: engine.marginals(chain),
        "edges": lambda: engine.marginals(chain, edges=True),
        "viterbi": lambda: engine.viterbi(chain),
        "k_best": lambda: engine.k_best(chain, 3),
        "sample": lambda: engine.sample(chain, np.zeros((1, N))),
        "entropy": lambda: engine.entropy(chain),
        "max_marginal": lambda: engine.max_marginal(chain),
        "span_probability": lambda: engine.span_probability(chain, [(3, 0, [0])]),
        "expected_counts": lambda: engine.expected_counts(chain),
    }
    for call in calls.values():
        with pytest.raises(NoPathError, match=r"^sentence 3: "):
            call()
    alone = [sentence_alone(chain, b) for b in range(3)]
    legal = np.concatenate([*(engine.viterbi(one).labels for one in alone), [0, 0, 0]])
    with pytest.raises(NoPathError, match=r"sentence 3: "):
        engine.gradients(chain, legal)
    log_z = engine.log_partition(chain, allow_no_path=True)
    assert log_z.tolist() == [*(engine.log_partition(one)[0] for one in alone), -np.inf]
    assert not np.isnan(engine.forward(chain)).any()
    assert not np.isnan(engine.backward(chain)).any()


def test_a_span_of_another_sentence_is_still_answered(engine: ModuleType) -> None:
    chain = Chain(np.zeros((4, 2)), np.zeros((2, 2)), offsets=[0, 2, 4])
    assert_close(
        engine.span_probability(constrain(chain, known=[1, -1, -1, -1]), [(0, 1, [0]), (1, 0, [1])]), [0.5] * 2, 1e-15
    )
    impossible = engine.span_probability(constrain(chain, known=[1, -1, -1, -1]), [(0, 0, [0, {0, 1}])])
    assert impossible.tolist() == [0.0]
