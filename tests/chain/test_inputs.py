"""Any array-like is welcome; an error reads `<where>: expected <this>, got <that>`; nothing given is changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tagline.chain as public
from tagline.chain import constrain, naive
from tagline.errors import InputError
from tagline.types import Chain

from .cases import random_chain

EMISSIONS = [[1.0, 0.0, 2.0], [0.0, 1.0, -1.0], [3.0, 0.5, 0.25], [1.0, 1.0, 0.0]]
TRANSITIONS = [[0.0, 1.0, -1.0], [0.5, 0.0, 2.0], [1.0, -2.0, 0.0]]
START, END = [0.5, 0.0, -0.5], [0.0, 1.0, 0.25]


def chain_of(kind: Callable[[Any], Any]) -> Chain:
    return Chain(kind(EMISSIONS), kind(TRANSITIONS), kind(START), kind(END), [0, 3, 4])


def strided(values: Any) -> np.ndarray:
    array = np.array(values)
    room = np.full(tuple(2 * size for size in array.shape), np.nan)
    view = room[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def read_only(values: Any) -> np.ndarray:
    array = np.array(values)
    array.flags.writeable = False
    return array


FORMS: dict[str, Callable[[Any], Any]] = {
    "lists": lambda values: values,
    "tuples": lambda values: tuple(tuple(row) if isinstance(row, list) else row for row in values),
    "Fortran order": lambda values: np.asfortranarray(values),
    "strided": strided,
    "reversed": lambda values: np.array(values)[::-1].copy()[::-1],
    "read only": read_only,
    "big-endian": lambda values: np.array(values, ">f8"),
    "float32": lambda values: np.array(values, np.float32),
    "float16": lambda values: np.array(values, np.float16),
    "big-endian float32": lambda values: np.array(values, ">f4"),
    "subclass": lambda values: np.array(values).view(np.recarray),
}


@pytest.mark.parametrize("form", FORMS)
def test_any_array_like(engine: ModuleType, form: str) -> None:
    """The scores are exact in every format here, so the answers differ by float32 arithmetic at most."""
    plain, chain = chain_of(np.array), chain_of(FORMS[form])
    exact = "float32" not in form and "float16" not in form
    assert chain.emissions.dtype == (np.float64 if exact else np.float32)
    atol = 0.0 if exact or engine is naive else 1e-6
    np.testing.assert_allclose(engine.log_partition(chain), engine.log_partition(plain), rtol=0, atol=atol)
    np.testing.assert_allclose(engine.marginals(chain).nodes, engine.marginals(plain).nodes, rtol=0, atol=atol)
    assert engine.viterbi(chain).labels.tolist() == engine.viterbi(plain).labels.tolist()


def test_places_among_several_sentences() -> None:
    wrong = np.zeros((7, 3))
    wrong[5, 1] = np.nan
    cubes = np.zeros((7, 3, 3))
    cubes[6, 0, 2] = np.inf
    chain = Chain(np.zeros((7, 3)), TRANSITIONS, offsets=[0, 4, 4, 7])
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: Chain(wrong, TRANSITIONS, offsets=[0, 4, 4, 7]), r"emissions\[5, 1\] \(sentence 2, token 1\): "),
        (lambda: Chain(wrong, TRANSITIONS), r"emissions\[5, 1\]: "),
        (lambda: Chain.from_sentences([wrong[:4], wrong[4:]], TRANSITIONS), r".* \(sentence 1, token 1\): "),
        (
            lambda: Chain(np.zeros((7, 3)), cubes, offsets=[0, 4, 7]),
            r"transitions.* \(sentence 1, token 2\): ",
        ),
        (lambda: naive.score(chain, [0, 0, 0, 3, 0, 0, 0]), r"labels\[3\] \(sentence 0, token 3\): "),
        (
            lambda: constrain(chain, known=[-1] * 6 + [9]),
            r"known\[6\] \(sentence 2, token 2\): ",
        ),
    ]
    for ask, place in cases:
        with pytest.raises(InputError, match=f"^{place}"):
            ask()


@pytest.mark.parametrize("question", ["forward", "score", "viterbi", "k_best", "sample_paths", "entropy", "constrain"])
def test_a_question_is_about_one_chain(question: str) -> None:
    given = {"score": ([0],), "k_best": (2,), "sample_paths": (1,)}.get(question, ())
    several = (chain_of(np.array) for _ in range(2))
    with pytest.raises(InputError, match=r"^chain: "):
        getattr(public, question)(several, *given)
    with pytest.raises(InputError, match=r"^chain: "):
        getattr(public, question)(None, *given)


def test_later_writes_do_not_reach_a_chain(engine: ModuleType) -> None:
    parts = [np.array(part) for part in (EMISSIONS, TRANSITIONS, START, END)]
    views = [parts[0].view(), *parts[1:]]
    views[0].flags.writeable = False  # its owner can still be written to
    chain = Chain(*views, [0, 3, 4])
    uniforms = np.full((3, 4), 0.5)
    before = engine.sample(chain, uniforms).tolist(), engine.log_partition(chain).tolist()
    for part in parts:
        assert part.flags.writeable
        part[:] = np.nan
    assert (engine.sample(chain, uniforms).tolist(), engine.log_partition(chain).tolist()) == before
    nothing = np.empty((0, 3))
    Chain(nothing, TRANSITIONS)
    assert nothing.flags.writeable


def test_arrays_that_nobody_can_write_to_are_kept() -> None:
    emissions, transitions = read_only(EMISSIONS), read_only(TRANSITIONS)
    chain = Chain(emissions, transitions)
    again = constrain(chain, start=[True, False, True])
    for kept in (chain, again):
        assert np.shares_memory(kept.emissions, emissions)
        assert np.shares_memory(kept.transitions, transitions)


def test_integers_and_mixed_types(engine: ModuleType) -> None:
    whole = Chain([[1, 2], [3, 4]], np.array([[0, 1], [2, 0]], np.uint8), offsets=np.array([0, 2], np.uint16))
    assert whole.emissions.dtype == np.float64
    assert engine.viterbi(whole).scores.tolist() == [2 + 2 + 3]
    assert Chain(np.zeros((2, 2), np.float32), np.zeros((2, 2))).emissions.dtype == np.float64
    assert Chain(np.zeros((2, 2), np.float32), [[0, 0], [0, 0]]).emissions.dtype == np.float32


@pytest.mark.parametrize("form", ["int8", "uint64", ">i4", "list", "strided"])
def test_any_form_of_labels(engine: ModuleType, form: str) -> None:
    chain, labels = chain_of(np.array), [2, 1, 0, 1]
    given: Any = {"list": labels, "strided": np.array([2, 9, 1, 9, 0, 9, 1, 9])[::2]}.get(form)
    given = np.array(labels, form) if given is None else given
    assert engine.score(chain, given).tolist() == engine.score(chain, np.array(labels)).tolist()
    assert engine.gradients(chain, given).emissions.tolist() == engine.gradients(chain, labels).emissions.tolist()


def test_sentences_can_be_joined() -> None:
    joined = Chain.from_sentences([EMISSIONS[:3], [], EMISSIONS[3:]], TRANSITIONS, START, END)
    assert joined.lengths.tolist() == [3, 0, 1]
    assert joined.emissions.tolist() == EMISSIONS
    assert Chain.from_sentences([], TRANSITIONS).num_sentences == 0
    with pytest.raises(InputError, match=r"^emissions of sentence 1: "):
        Chain.from_sentences([EMISSIONS, [[1.0, 2.0]]], TRANSITIONS)


GOOD: dict[str, Any] = {"emissions": EMISSIONS, "transitions": TRANSITIONS}


def with_entry(values: Any, index: tuple[int, ...], entry: float) -> np.ndarray:
    array = np.array(values, np.float64)
    array[index] = entry
    return array


WRONG_CHAINS: dict[str, tuple[dict[str, Any], str]] = {
    "flat emissions": ({"emissions": [1.0, 2.0]}, "emissions: "),
    "padded batch": ({"emissions": np.zeros((2, 3, 3))}, "emissions: "),
    "no labels": ({"emissions": np.zeros((2, 0))}, "emissions: "),
    "ragged emissions": ({"emissions": [[1.0], [1.0, 2.0]]}, "emissions: "),
    "complex": (
        {"emissions": np.zeros((2, 3), complex)},
        "emissions: ",
    ),
    "strings": ({"emissions": [["a", "b", "c"]]}, "emissions: "),
    "objects": ({"emissions": [[None, 1.0, 2.0]]}, "emissions: "),
    "booleans": ({"start": [True, False, True]}, "start: "),
    "durations": ({"end": np.zeros(3, "m8[s]")}, "end: "),
    "transitions not square": (
        {"transitions": np.zeros((3, 2))},
        "transitions: ",
    ),
    "transitions of other tokens": (
        {"transitions": np.zeros((5, 3, 3))},
        "transitions: ",
    ),
    "short start": ({"start": [0.0, 0.0]}, "start: "),
    "end a matrix": ({"end": np.zeros((1, 3))}, "end: "),
    "NaN emission": (
        {"emissions": with_entry(EMISSIONS, (2, 1), np.nan)},
        r"emissions\[2, 1\]: ",
    ),
    "infinite emission": ({"emissions": with_entry(EMISSIONS, (0, 2), np.inf)}, r"emissions\[0, 2\]: "),
    "NaN transition": ({"transitions": with_entry(TRANSITIONS, (1, 0), np.nan)}, r"transitions\[1, 0\]: "),
    "infinite start": ({"start": [0.0, np.inf, 0.0]}, r"start\[1\]: "),
    "NaN end": ({"end": [0.0, 0.0, np.nan]}, r"end\[2\]: "),
    "beyond all bounds": ({"emissions": with_entry(EMISSIONS, (1, 1), -1e300)}, r"emissions\[1, 1\]: "),
    "NaN at a read position": (
        {"transitions": with_entry(np.zeros((4, 3, 3)), (3, 0, 1), np.nan)},
        r"transitions\[3\]\[0, 1\]: ",
    ),
    "offsets not from 0": ({"offsets": [1, 4]}, "offsets: "),
    "offsets too short": ({"offsets": [0, 3]}, "offsets: "),
    "offsets too long": ({"offsets": [0, 5]}, "offsets: "),
    "offsets fall": ({"offsets": [0, 3, 2, 4]}, r"offsets\[2\]: "),
    "offsets of floats": ({"offsets": [0.0, 4.0]}, "offsets: "),
    "offsets a matrix": ({"offsets": [[0, 4]]}, "offsets: "),
    "no offsets": ({"offsets": []}, "offsets: "),
}


@pytest.mark.parametrize("name", WRONG_CHAINS)
def test_wrong_chains(name: str) -> None:
    given, place = WRONG_CHAINS[name]
    with pytest.raises(InputError, match=rf"^{place}") as caught:
        Chain(**{**GOOD, **given})
    assert isinstance(caught.value, ValueError)


def test_wrong_scores_in_float32_are_found_too() -> None:
    for entry in (np.nan, np.inf):
        with pytest.raises(InputError, match=r"^emissions\[1, 0\]: "):
            Chain(with_entry(EMISSIONS, (1, 0), entry).astype(np.float32), np.zeros((3, 3), np.float32))


def test_only_the_unread_transitions_may_be_anything() -> None:
    transitions = np.zeros((4, 3, 3))
    transitions[[0, 3]] = np.nan
    Chain(EMISSIONS, transitions, offsets=[0, 3, 4])
    Chain(EMISSIONS, with_entry(transitions, (0, 1, 1), np.inf), offsets=[0, 3, 3, 4])
    with pytest.raises(InputError, match=r"^transitions\[3\]\[0, 0\]: "):
        Chain(EMISSIONS, transitions)


def calls(engine: ModuleType, chain: Chain, labels: Any, uniforms: Any, spans: Any) -> dict[str, Callable[[], Any]]:
    return {
        "score": lambda: engine.score(chain, labels),
        "log_partition": lambda: engine.log_partition(chain),
        "forward": lambda: engine.forward(chain),
        "backward": lambda: engine.backward(chain),
        "marginals": lambda: engine.marginals(chain, edges=True),
        "viterbi": lambda: engine.viterbi(chain),
        "k_best": lambda: engine.k_best(chain, 3),
        "sample": lambda: engine.sample(chain, uniforms),
        "entropy": lambda: engine.entropy(chain),
        "max_marginal": lambda: engine.max_marginal(chain),
        "span_probability": lambda: engine.span_probability(chain, spans),
        "expected_counts": lambda: engine.expected_counts(chain),
        "gradients": lambda: engine.gradients(chain, labels),
    }


@pytest.mark.parametrize("per_position", [False, True])
def test_nothing_given_is_ever_changed(engine: ModuleType, dtype: str, per_position: bool) -> None:
    made = random_chain(np.random.default_rng(51), 4, [5, 0, 2], dtype=dtype, forbidden=0.2, per_position=per_position)
    names = ("emissions", "transitions", "start", "end", "offsets")
    given = {name: np.array(getattr(made.chain, name)) for name in names}
    chain, labels, uniforms = Chain(**given), made.labels.copy(), np.random.default_rng(52).random((2, 7))
    spans = [(0, 1, [{0, 1}, 2]), (2, 0, [[0, 3]])]
    arrays = {**given, "labels": labels, "uniforms": uniforms}
    before = {name: array.tobytes() for name, array in arrays.items()}
    spans_before = copy.deepcopy(spans)
    for name, call in calls(engine, chain, labels, uniforms, spans).items():
        call()
        assert {part: array.tobytes() for part, array in arrays.items()} == before, name
        assert all(array.flags.writeable for array in arrays.values()), name
    assert spans == spans_before


def test_a_chain_cannot_be_changed_through_its_fields() -> None:
    chain = chain_of(np.array)
    for name in ("emissions", "transitions", "start", "end", "offsets"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(chain, name)[...] = 0
    with pytest.raises(AttributeError):
        chain.emissions = np.zeros((4, 3))  # type: ignore[misc]
    assert "2 sentences, 4 tokens, 3 labels, float64" in repr(chain)


def test_answers_belong_to_the_caller(engine: ModuleType) -> None:
    """Results are fresh arrays: writing into one changes no later answer."""
    chain = chain_of(np.array)
    first = engine.marginals(chain, edges=True)
    before = first.nodes.copy()
    first.nodes[...] = 7
    first.edges[...] = 7
    assert engine.marginals(chain).nodes.tolist() == before.tolist()
    constrain(chain, known=[-1, -1, -1, 0])
    assert engine.marginals(chain).nodes.tolist() == before.tolist()
