"""Second-order chains in the compiled core, against enumeration and against the chain engine on dense pair states.

Only NumPy and the core are needed: the tests also run on the sanitized core.
"""

from __future__ import annotations

import _thread
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import chain as engine
from tagline import compiled, set_threads, threads
from tagline.features.vocabulary import Vocabulary
from tagline.types import Chain

from .cases import INF, Case, cases

core: Any = compiled.core


def possible(case: Case) -> Case:
    """The sentences that have a labelling."""
    some = tuple(sentence for sentence in case.sentences if case.labellings(sentence))
    return Case(case.table, case.rows, case.lists, some)


def cut(values: Any, case: Case) -> list[Any]:
    return np.split(values, np.cumsum([len(sentence) for sentence in case.sentences])[:-1]) if case.sentences else []


@given(cases())
def test_the_best_labelling_is_that_of_enumeration(case: Case) -> None:
    case = possible(case)
    model, arguments = case.core()
    states, scores = model.best(*arguments)
    for sentence, found, score in zip(case.sentences, cut(states, case), scores, strict=True):
        best = case.labellings(sentence)[0]
        assert tuple(found.tolist()) == best[1]
        assert score == pytest.approx(best[0], rel=1e-14, abs=1e-14)


@given(cases(whole=True))
def test_among_equals_the_smaller_from_the_end_backwards(case: Case) -> None:
    case = possible(case)
    model, arguments = case.core()
    ranked = model.k_best(*arguments, 1000)
    for sentence, found, (paths, scores) in zip(
        case.sentences, cut(model.best(*arguments)[0], case), ranked, strict=True
    ):
        wanted = case.labellings(sentence)
        assert tuple(found.tolist()) == wanted[0][1]
        assert [tuple(path) for path in paths.tolist()] == [path for _, path in wanted]
        assert scores.tolist() == [score for score, _ in wanted]


@given(cases(most_states=3))
def test_dense_pair_states_agree(case: Case) -> None:
    case = possible(case)
    model, arguments = case.core()
    states, scores = model.best(*arguments)
    log_z, entropy, _ = model.posterior(*arguments)
    chain = case.chain()
    paths = engine.viterbi(chain)
    np.testing.assert_array_equal(states, paths.labels % (case.num_states + 1))
    np.testing.assert_allclose(scores, paths.scores, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(log_z, engine.log_partition(chain), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(entropy, engine.entropy(chain), rtol=1e-9, atol=1e-9)


def crowded(seed: int, whole: bool) -> Case:
    """Words with up to 19 candidates, more than any loop of fixed length takes, between words with one."""
    rng = np.random.default_rng(seed)
    S, R = 19, 30

    def scores(*shape: int) -> Any:
        values = rng.integers(-2, 1, shape) if whole else rng.normal(scale=3, size=shape)
        return np.where(rng.random(shape) < 0.1, -INF, values).astype(np.float32)

    counts = [*range(1, S + 1), 1, 1, 1]
    lists = tuple((sorted(rng.choice(S, n, replace=False).tolist()), scores(n).tolist()) for n in counts)
    sentences = tuple(rng.integers(0, len(counts), length).tolist() for length in (1, 2, 3, 9, 30))
    rows = rng.integers(0, R, (S + 1, S + 1)).astype(np.int32)
    return Case(scores(R, S + 1), rows, lists, sentences)


@pytest.mark.parametrize("seed", range(6))
def test_many_candidates(seed: int) -> None:
    case = crowded(seed, whole=False)
    model, arguments = case.core()
    log_z = model.posterior(*arguments, allow_no_path=True)[0]
    some = tuple(sentence for sentence, z in zip(case.sentences, log_z, strict=True) if z > -INF)
    case = Case(case.table, case.rows, case.lists, some)
    model, arguments = case.core()
    states, scores = model.best(*arguments)
    paths = engine.viterbi(case.chain())
    np.testing.assert_array_equal(states, paths.labels % (case.num_states + 1))
    np.testing.assert_allclose(scores, paths.scores, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_many_candidates_that_are_equal(seed: int) -> None:
    """The ranking is another algorithm, with the same rule for equals."""
    case = crowded(seed, whole=True)
    for sentence in case.sentences:
        one = Case(case.table, case.rows, case.lists, (sentence,))
        model, arguments = one.core()
        if model.posterior(*arguments, allow_no_path=True)[0][0] == -INF:
            continue
        states, scores = model.best(*arguments)
        ((paths, ranked),) = model.k_best(*arguments, 1)
        np.testing.assert_array_equal(states, paths[0])
        assert scores[0] == ranked[0]


@given(cases())
def test_probabilities_are_those_of_enumeration(case: Case) -> None:
    case = possible(case)
    model, arguments = case.core()
    log_z, entropy, nodes = model.posterior(*arguments)
    at = 0
    for b, sentence in enumerate(case.sentences):
        found = case.labellings(sentence)
        weights = np.exp([score - found[0][0] for score, _ in found])
        p = weights / weights.sum()
        assert log_z[b] == pytest.approx(found[0][0] + np.log(weights.sum()), rel=1e-12, abs=1e-12)
        assert entropy[b] == pytest.approx(-(p * np.log(np.maximum(p, 1e-300))).sum(), rel=1e-9, abs=1e-9)
        for t, word in enumerate(sentence):
            for state in case.lists[word][0]:
                wanted = sum(share for share, (_, path) in zip(p, found, strict=True) if path[t] == state)
                assert nodes[at] == pytest.approx(wanted, rel=1e-9, abs=1e-12)
                at += 1
    assert at == len(nodes)


@given(cases())
def test_sentences_without_a_labelling_are_named(case: Case) -> None:
    model, arguments = case.core()
    dead = [b for b, sentence in enumerate(case.sentences) if not case.labellings(sentence)]
    log_z = model.posterior(*arguments, allow_no_path=True)[0]
    assert np.flatnonzero(np.isneginf(log_z)).tolist() == dead
    if not dead:
        return
    for ask in (
        lambda: model.best(*arguments),
        lambda: model.posterior(*arguments),
        lambda: model.k_best(*arguments, 2),
        lambda: model.sample(*arguments, np.full((1, len(arguments[1])), 0.5)),
    ):
        with pytest.raises(core.NoPath, match=f"^{dead[0]}$"):
            ask()


@given(cases(impossible=False))
def test_fewer_of_the_best_are_the_first_of_more(case: Case) -> None:
    model, arguments = case.core()
    for few, many in zip(model.k_best(*arguments, 3), model.k_best(*arguments, 50), strict=True):
        np.testing.assert_array_equal(few[0], many[0][:3])
        np.testing.assert_array_equal(few[1], many[1][:3])


def example(tokens: int = 3, sentences: int = 1, S: int = 3, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    lists = tuple((list(range(S)), rng.normal(size=S).astype(np.float32).tolist()) for _ in range(3))
    table = rng.normal(size=(4, S + 1)).astype(np.float32)
    rows = rng.integers(0, 4, (S + 1, S + 1)).astype(np.int32)
    return Case(table, rows, lists, tuple(rng.integers(0, 3, tokens).tolist() for _ in range(sentences)))


def test_samples_have_the_probabilities_of_enumeration() -> None:
    case = example()
    model, arguments = case.core()
    n = 20_000
    drawn = model.sample(*arguments, np.random.default_rng(1).random((n, 3)))
    found = case.labellings(case.sentences[0])
    weights = np.exp([score for score, _ in found])
    p = weights / weights.sum()
    numbers = {path: k for k, (_, path) in enumerate(found)}
    counts = np.bincount([numbers[tuple(path)] for path in drawn.tolist()], minlength=len(found))
    chi_square = ((counts - n * p) ** 2 / (n * p)).sum()
    assert chi_square < len(found) + 5 * np.sqrt(2 * len(found))


@pytest.mark.parametrize("u", [0.0, 1.0])
def test_samples_of_the_smallest_and_largest_numbers_are_possible(u: float) -> None:
    case = Case(np.array([[0, -INF, 0]], np.float32), np.zeros((3, 3), np.int32), (([0, 1], [0.0, 0.0]),), ([0, 0, 0],))
    model, arguments = case.core()
    assert model.sample(*arguments, np.full((2, 3), u)).tolist() == [[0, 0, 0]] * 2


@pytest.mark.parametrize("S", [3, 9])  # short work, which the caller shares, and long work, which it waits for
def test_any_number_of_threads_gives_the_same_bytes(S: int) -> None:
    model, arguments = example(20, 300, S=S).core()
    uniforms = np.random.default_rng(2).random((2, 6000))
    before = threads()
    found = []
    for count in (1, 3):
        set_threads(count)
        found.append([*model.best(*arguments), *model.posterior(*arguments), model.sample(*arguments, uniforms)])
    set_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_long_sentences_lose_nothing() -> None:
    """T = 8192 against the log-domain engine on pair states."""
    case = example(8192)
    model, arguments = case.core()
    log_z, entropy, nodes = model.posterior(*arguments)
    chain = case.chain()
    assert log_z[0] == pytest.approx(float(engine.log_partition(chain)[0]), rel=1e-12)
    assert entropy[0] == pytest.approx(float(engine.entropy(chain)[0]), rel=1e-9)
    np.testing.assert_allclose(nodes.reshape(-1, 3).sum(axis=1), 1, rtol=1e-9)
    pairs = engine.marginals(Chain(*(getattr(chain, n) for n in ("emissions", "transitions", "start", "end")))).nodes
    wanted = pairs.reshape(-1, 4, 4).sum(axis=1)[:, :3]
    np.testing.assert_allclose(nodes.reshape(-1, 3), wanted, atol=1e-9)


def test_the_callers_arrays_are_not_changed() -> None:
    case = example()
    model, arguments = case.core()
    kept = [np.array(one) for one in (case.table, case.rows, *arguments[1:])]
    model.best(*arguments), model.posterior(*arguments), model.k_best(*arguments, 2)
    for one, other in zip(kept, (case.table, case.rows, *arguments[1:]), strict=True):
        np.testing.assert_array_equal(one, other)


def ask_for_long(ask: Any) -> None:
    for _ in range(1000):
        ask()


@pytest.mark.parametrize("question", ["many tokens", "many labellings", "many samples"])
def test_ctrl_c_ends_a_question(question: str) -> None:
    model, arguments = example(2000, 40, S=60).core() if question == "many tokens" else example(15, S=4).core()
    ask = {
        "many tokens": lambda: model.posterior(*arguments),
        "many labellings": lambda: model.k_best(*arguments, 10**8),
        "many samples": lambda: model.sample(*arguments, np.full((200_000, 15), 0.5)),
    }[question]
    timer = threading.Timer(0.3, _thread.interrupt_main)
    begun = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ask_for_long(ask)
    assert time.perf_counter() - begun < 30
    timer.join()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"table": np.zeros((2, 3))}, r"^table: "),
        ({"table": np.full((2, 3), np.nan, np.float32)}, r"^table: "),
        ({"table": np.full((2, 3), np.inf, np.float32)}, r"^table: "),
        ({"table": np.zeros((2, 1), np.float32)}, r"^table: "),
        ({"rows": np.full((3, 3), 2, np.int32)}, r"^rows: "),
        ({"rows": np.full((3, 3), -1, np.int32)}, r"^rows: "),
        ({"states": np.array([1, 0], np.int32)}, r"^states: "),
        ({"states": np.array([0, 2], np.int32)}, r"^states: "),
        ({"states": np.array([-1, 1], np.int32)}, r"^states: "),
        ({"scores": np.array([0, np.nan], np.float32)}, r"^scores: "),
        ({"offsets": np.array([0, 3], np.int64)}, r"^offsets: "),
        ({"num_states": 3, "states": np.array([0, 2], np.int32)}, r"^candidates: "),
        ({"words": np.array([1], np.int32)}, r"^words: "),
        ({"words": np.array([-1], np.int32)}, r"^words: "),
        ({"bounds": np.array([0, 2], np.int64)}, r"^offsets: "),
        ({"bounds": np.array([], np.int64)}, r"^offsets: "),
    ],
)
def test_what_the_core_refuses(change: dict[str, Any], place: str) -> None:
    given = {
        "table": np.zeros((2, 3), np.float32),
        "rows": np.zeros((3, 3), np.int32),
        "offsets": np.array([0, 2], np.int64),
        "states": np.array([0, 1], np.int32),
        "scores": np.zeros(2, np.float32),
        "num_states": 2,
        "words": np.zeros(1, np.int32),
        "bounds": np.array([0, 1], np.int64),
        **change,
    }
    with pytest.raises(ValueError, match=place):
        core.Trigrams(given["table"], given["rows"]).best(
            core.Candidates(given["offsets"], given["states"], given["scores"], given["num_states"]),
            given["words"],
            given["bounds"],
        )


# Words and endings.


def lexicon_of(words: list[str], small: list[str], capital: list[str], longest: int) -> Any:
    return core.Lexicon(*(Vocabulary.of(names).parts for names in (words, small, capital)), longest)


def find_slowly(word: str, words: list[str], small: list[str], capital: list[str], longest: int) -> int:
    if word in words:
        return words.index(word)
    high = word[:1].isupper()
    names, first = (capital, len(words) + len(small)) if high else (small, len(words))
    for length in range(min(longest, len(word)), 0, -1):
        if word[-length:] in names:
            return first + names.index(word[-length:])
    return len(words) + len(small) + len(capital) + high


TEXTS = st.lists(st.text("abAÉé中ǅß😀", max_size=5), unique=True, max_size=8)


@given(TEXTS, TEXTS, TEXTS, TEXTS, st.integers(0, 5))
def test_words_and_endings_are_found(
    words: list[str], seldom: list[str], others: list[str], asked: list[str], longest: int
) -> None:
    small, capital = (
        list(dict.fromkeys(word[-m:] for word in some for m in range(1, min(longest, len(word)) + 1)))
        for some in (seldom, others)
    )
    asked = [*asked, *words, *seldom, *(word + "ab" for word in others)]
    found = lexicon_of(words, small, capital, longest).find(asked)
    assert found.tolist() == [find_slowly(word, words, small, capital, longest) for word in asked]


def test_many_words_whose_hashes_meet() -> None:
    """Marks of 16 bits meet now and then among so many: the bytes decide."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    names = list(dict.fromkeys("".join(row) for row in rng.choice(letters, (60_000, 4))))
    words, seldom = names[:20_000], names[20_000:25_000]
    small = list(dict.fromkeys(word[-m:] for word in seldom for m in range(1, 5)))
    asked = ["".join(row) for row in rng.choice(letters, (100_000, 7))] + names
    numbers = {word: n for n, word in enumerate(words)}
    endings = {ending: len(words) + n for n, ending in enumerate(small)}
    none = len(words) + len(small)

    def slowly(word: str) -> int:
        known = [endings[word[-m:]] for m in range(1, min(4, len(word)) + 1) if word[-m:] in endings]
        return numbers.get(word, known[-1] if known else none)

    lexicon = lexicon_of(words, small, [], 4)
    wanted = np.array([slowly(word) for word in asked])
    np.testing.assert_array_equal(lexicon.find(asked), wanted)
    order = rng.permutation(len(asked))  # now from memory, or not
    np.testing.assert_array_equal(lexicon.find([asked[n] for n in order]), wanted[order])


def test_words_that_end_alike_are_told_apart() -> None:
    words = [f"{n:05}12345678" for n in range(20_000)]
    lexicon = lexicon_of(words[::2], [], [], 0)
    wanted = np.where(np.arange(20_000) % 2, 10_000, np.arange(20_000) // 2)
    for _ in range(2):
        np.testing.assert_array_equal(lexicon.find(words), wanted)


SHORT = st.lists(st.text("a\0bAé", max_size=3), min_size=1, max_size=6).map(lambda parts: "a\0b".join(parts))


@given(st.lists(SHORT, unique=True, max_size=12), st.randoms(use_true_random=False))
def test_words_asked_again_are_told_apart(words: list[str], shuffler: Any) -> None:
    """Around the lengths of eight and fifteen bytes, up to which words are remembered, and with zeros in them."""
    words = list(dict.fromkeys(variant for word in words for variant in (word, word[1:], word[:-1], "\0" + word)))
    known = words[::2]
    lexicon = lexicon_of(known, [], [], 3)
    asked = words * 3
    shuffler.shuffle(asked)
    wanted = [known.index(word) if word in known else len(known) + word[:1].isupper() for word in asked]
    assert lexicon.find(asked).tolist() == wanted
    assert lexicon.find(asked).tolist() == wanted


def test_words_without_utf_8_and_other_things() -> None:
    lexicon = lexicon_of(["a"], ["b"], ["C"], 3)
    assert lexicon.find(["a", "xb", "C", "\ud800b", "", "X"]).tolist() == [0, 1, 2, 3, 3, 4]
    with pytest.raises(TypeError, match=r"^words: "):
        lexicon.find(["a", 1])


def test_tag_takes_lists_of_strings_only() -> None:
    case = example()
    model, (candidates, _, _) = case.core()
    lexicon = lexicon_of(["a"], [], [], 3)
    assert model.tag(candidates, lexicon, [["a", "b"], [], ("A",)], ("x", "y", "z")) is not None
    named = type("Named", (str,), {})
    words = ("a", "ab", "\ud800", "é" * 9)
    plain = model.tag(candidates, lexicon, [list(words)], ("x", "y", "z"))
    assert model.tag(candidates, lexicon, (tuple(map(named, words)),), ("x", "y", "z")) == plain
    for other in ("ab", ["ab"], [["a", 1]], [["a"], None], {"a": 1}, 5, None):
        assert model.tag(candidates, lexicon, other, ("x", "y", "z")) is None
    for wrong in ((lexicon_of(["a", "b"], [], [], 3), ("x", "y", "z")), (lexicon, ("x", "y"))):
        with pytest.raises(ValueError, match=r"^candidates, labels: "):
            model.tag(candidates, wrong[0], [["a"]], wrong[1])
