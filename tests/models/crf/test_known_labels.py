"""What is not known and what is forbidden: partial labels, rules, repairs, known labels, dictionaries."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagline import CRF, Corpus, Dictionary
from tagline.errors import DataWarning, InputError, NoPathError
from tagline.readers import read_columns

from ..corpora import TEMPLATE, features, items, tagged
from .test_estimator import objective_of

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
    with pytest.raises(InputError, match=r"^y\[1\]\[2\]: "):
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


@pytest.mark.parametrize(
    ("scheme", "tags", "told"),
    [
        ("IOB2", ["I-PER", "O"], r"got 'I-PER' at the start of the sentence \(token 0\)"),
        ("IOB2", ["B-PER", "I-PER", "O", "I-LOC"], r"got 'I-LOC' after 'O' \(token 3\)"),
        ("BIOES", ["O", "B-PER"], r"got 'B-PER' at the end of the sentence \(token 1\)"),
        ("IOB2", ["O", {"I-PER", "I-LOC"}], "got sets of tags that leave no labelling"),
    ],
)
def test_the_first_illegal_label_is_named(scheme: str, tags: Any, told: str) -> None:
    X = [["Anna"], [f"word{t}" for t in range(len(tags))]]
    with pytest.raises(InputError, match=rf"^y\[1\]: expected tags that {scheme} allows, {told}; "):
        CRF(TEMPLATE, scheme=scheme, on_illegal="error").fit(X, [["O"], tags])


def test_illegal_labels_are_an_error_with_file_line_and_count(illegal: Corpus) -> None:
    with pytest.raises(
        InputError,
        match=r"train\.txt:4: .*on_illegal=",
    ):
        CRF(TEMPLATE, scheme="IOB2", on_illegal="error").fit(illegal)
    with pytest.raises(InputError, match=r"y\[1\]: expected tags that IOB2 allows"):
        CRF(TEMPLATE, scheme="IOB2", on_illegal="error").fit(illegal.tokens, illegal.tags)
    assert CRF(TEMPLATE, scheme=None).fit(illegal).labels_ == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


def test_a_repair_is_told() -> None:
    with pytest.warns(DataWarning, match="y: repaired 1 of 1 sentences with tags that IOB2 forbids"):
        CRF(TEMPLATE, scheme="IOB2").fit([["Bob", "sings"]], [["I-PER", "O"]])


@pytest.mark.filterwarnings("ignore:y. repaired")
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


@pytest.mark.filterwarnings("ignore:y. repaired")
def test_a_repair_may_bring_new_labels() -> None:
    model = CRF(TEMPLATE, scheme="IOB2", on_illegal="repair").fit([["Bob", "sings"]], [["I-PER", "O"]])
    assert model.labels_ == ["B-PER", "O"]
    assert model.predict([["Bob", "sings"]]) == [["B-PER", "O"]]


def test_nothing_left_is_an_error() -> None:
    with pytest.raises(InputError, match=r"^y: "):
        CRF(TEMPLATE, scheme="IOB2", on_illegal="drop").fit([["Bob"]], [["I-PER"]])


@pytest.mark.filterwarnings("ignore:y. repaired")
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
    assert not all(map(fine, CRF(TEMPLATE, c2=0.01, scheme=None).fit(X, y).predict(X)))
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
    for wrong, place in (
        ([["V"]], r"^known\[0\]: "),
        ([known, known], r"^known: "),
        ([["Q", *known[1:]]], r"^known\[0\]\[0\]: "),
        ([[set(), *known[1:]]], r"^known\[0\]\[0\]: "),
        (["VVV"], r"^known\[0\]: "),
    ):
        with pytest.raises(InputError, match=place):
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
        with pytest.raises(InputError, match=r"^dictionary: "):
            CRF(TEMPLATE, dictionary=Dictionary({"a": "X"}, priority=priority)).fit([["a"]], [["N"]])
    with pytest.raises(InputError, match=r"^dictionary: "):
        CRF(dictionary=Dictionary({"a": "X"}, priority="over")).fit([[{}]], [["N"]])
    with pytest.raises(InputError, match=r"^dictionary: "):
        CRF(features, dictionary=Dictionary({"a": "X"})).fit([["a"]], [["N"]])


def test_a_dictionary_under_the_model_keeps_what_is_known() -> None:
    X, y = [["in", "Ulm"], ["to", "Rom"], ["a", "dog"]] * 5, [["O", "B-LOC"], ["O", "B-LOC"], ["O", "O"]] * 5
    towns = Dictionary({"Bonn": "LOC"}, priority="under")
    crf = CRF("U00:%x[0,0]", scheme="IOB2", dictionary=towns).fit(X, y)
    asked = [["dog", "Bonn"], ["Bonn"]]
    known = [[None, "O"], None]
    assert crf.predict(asked) == [["O", "B-LOC"], ["B-LOC"]]
    assert crf.predict(asked, known=known) == [["O", "O"], ["B-LOC"]]
    assert crf.predict(asked[:1], known=[np.array([None, "O"], object)]) == [["O", "O"]]
    assert [list(answer.labels) for answer in crf.answer(asked, known=known, marginals=True)] == [["O", "O"], ["B-LOC"]]
    assert crf.answer_arrays(asked, known=known, spans=True).labellings == [["O", "O"], ["B-LOC"]]


@pytest.mark.parametrize("priority", ["over", "under"])
@pytest.mark.parametrize(
    ("phrase", "kind", "wanted"),
    [("Bonn", "TOWN", "type TOWN needs .* of the types LOC"), ("New York", "LOC", "'New York' of type LOC")],
)
def test_a_phrase_that_needs_a_label_of_no_sentence_is_refused_by_fit(
    priority: str, phrase: str, kind: str, wanted: str
) -> None:
    X, y = [["in", "Ulm"], ["to", "Rom"]], [["O", "B-LOC"], ["O", "B-LOC"]]
    places = Dictionary({"Rom": "LOC", phrase: kind}, priority=priority)
    with pytest.raises(InputError, match=f"^dictionary: .*{wanted}"):
        CRF("U00:%x[0,0]", scheme="IOB2", dictionary=places).fit(X, y)
    assert CRF("U00:%x[0,0]\nU01:%x[0,1]\n", scheme="IOB2", dictionary=Dictionary({phrase: kind})).fit(X, y)


def test_a_dictionary_under_a_model_of_words_is_refused() -> None:
    words = Dictionary({"北京": "W"}, tokenizer="characters", priority="under")
    with pytest.raises(InputError, match=r"^dictionary: "):
        CRF("U00:%x[0,0]", scheme="BMES-words", dictionary=words).fit([["北", "京"]], [["B", "E"]])


def test_a_model_whose_dictionary_has_a_type_without_labels() -> None:
    X, y = [["in", "Rome"], ["it", "is", "he"]], [["O", "B-LOC"], ["O", "O", "O"]]
    crf = CRF("U00:%x[0,0]\nB", scheme="IOB2", dictionary=Dictionary({"Bonn": "LOC"}, priority="under")).fit(X, y)
    crf._extraction.dictionary = Dictionary({"Bonn": "GPE"}, priority="under")
    with pytest.raises(InputError, match=r"^the dictionary of this model: "):
        crf.answer_arrays([["it", "is", "Bonn"]])
