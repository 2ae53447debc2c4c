"""What BiLSTMCRF learns from: the loss is the one that is stated, by enumeration; rules and labels against them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tagline  # noqa: E402
from tagline import BiLSTMCRF  # noqa: E402
from tagline.errors import InputError  # noqa: E402
from tagline.readers import read_columns  # noqa: E402

from .cases import (  # noqa: E402
    LABELS,
    SHORT,
    SMALL,
    STILL,
    emissions_of,
    people,
    same_weights,
    scores_of,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def completions(model: Any, words: list[str], row: list[Any]) -> list[float]:
    """The scores of the labellings that are compatible with partial labels."""
    kept = []
    for path, score in scores_of(model, words).items():
        allowed = [
            one is None or label in (one if isinstance(one, set) else {one})
            for label, one in zip(path, row, strict=True)
        ]
        if all(allowed):
            kept.append(score)
    return kept


def losses_of(model: Any, X: Any, y: Any) -> Any:
    """−log Σ p over the labellings that y leaves open, for each sentence, by enumeration."""
    return np.array(
        [
            np.logaddexp.reduce(list(scores_of(model, words).values()))
            - np.logaddexp.reduce(completions(model, words, row))
            for words, row in zip(X, y, strict=True)
        ]
    )


@pytest.mark.parametrize("scheme", [None, "IOB2"])
def test_the_loss_is_that_of_all_labellings(scheme: str | None) -> None:
    X, y = SHORT
    model = BiLSTMCRF(**STILL, scheme=scheme).fit(X, y)
    assert model.training_log_[0].loss == pytest.approx(losses_of(model, X, y).mean(), abs=1e-5)
    assert model.training_.objective == model.training_log_[0].loss
    assert -model.log_likelihood(X, y).mean() == pytest.approx(model.training_log_[0].loss, abs=1e-5)


def test_the_loss_of_partial_labels() -> None:
    X = SHORT[0]
    y = [["B-PER", None, {"B-LOC", "O"}], [None, "B-LOC", {"I-LOC"}], [None]]
    for scheme in ("auto", "IOB2"):
        model = BiLSTMCRF(**STILL, scheme=scheme).fit(X, y)
        assert model.scheme_name == (None if scheme == "auto" else "IOB2")  # a sequence with holes proves nothing
        assert model.labels_ == ["B-LOC", "B-PER", "I-LOC", "O"]
        assert model.training_log_[0].loss == pytest.approx(losses_of(model, X, y).mean(), abs=1e-5)
    softmax = BiLSTMCRF(**STILL, head="softmax", scheme=None).fit(X, y)
    assert softmax.training_log_[0].loss == pytest.approx(losses_of(softmax, X, y).mean(), abs=1e-5)
    more = BiLSTMCRF(**STILL, scheme="IOB2").fit([["a"], [], *X], [[None], [], *y], sample_weight=[0, 1, 1, 1, 1])
    assert more.training_log_[0].loss == model.training_log_[0].loss  # what is left out takes its sets along
    with pytest.raises(InputError, match=r"^smoothing: "):
        BiLSTMCRF(**STILL, smoothing=0.1).fit(X, y)


def test_the_loss_of_weighted_sentences() -> None:
    X, y = SHORT
    model = BiLSTMCRF(**STILL, scheme="IOB2").fit(X, y, sample_weight=[0.5, 2.0, 1.0])
    alone = losses_of(model, X, y)
    assert model.training_log_[0].loss == pytest.approx((alone * [0.5, 2.0, 1.0]).mean(), abs=1e-5)
    by_label = BiLSTMCRF(**STILL, scheme="IOB2", label_weights={"B-LOC": 4.0}).fit(X, y)
    assert by_label.training_log_[0].loss == pytest.approx(
        (losses_of(by_label, X, y) * [2.0, 2.0, 1.0]).mean(), abs=1e-5
    )
    balanced = BiLSTMCRF(**STILL, scheme="IOB2", label_weights="balanced").fit(X, y)
    worth = {"B-PER": 7 / 8, "B-LOC": 7 / 8, "O": 7 / 8, "I-LOC": 7 / 4}
    weights = [np.mean([worth[label] for label in row]) for row in y]
    assert balanced.training_log_[0].loss == pytest.approx((losses_of(balanced, X, y) * weights).mean(), abs=1e-5)
    none = BiLSTMCRF(**SMALL).fit(X, y, sample_weight=[1.0, 0.0, 1.0])  # what counts nothing shows nothing
    assert same_weights(none, BiLSTMCRF(**SMALL).fit([X[0], X[2]], [y[0], y[2]]))
    assert none.training_.sentences == 2


def test_the_loss_of_a_softmax_knows_no_rules() -> None:
    X, y = SHORT
    model = BiLSTMCRF(**STILL, head="softmax", scheme="IOB2").fit(X, y)
    expected = []
    for words, row in zip(X, y, strict=True):
        e = emissions_of(model, words).astype(np.float64)
        logs = e - np.logaddexp.reduce(e, axis=1, keepdims=True)
        expected.append(-sum(logs[t, model.labels_.index(label)] for t, label in enumerate(row)))
    assert model.training_log_[0].loss == pytest.approx(np.mean(expected), abs=1e-5)


def test_the_smoothed_loss() -> None:
    X, y = SHORT
    eps = 0.2
    model = BiLSTMCRF(**STILL, smoothing=eps, scheme="IOB2").fit(X, y)
    expected = []
    for words, row in zip(X, y, strict=True):
        scores = {path: s for path, s in scores_of(model, words).items() if np.isfinite(s)}
        log_z = np.logaddexp.reduce(list(scores.values()))
        expected.append(log_z - (1 - eps) * scores[tuple(row)] - eps * np.mean(list(scores.values())))
    assert model.training_log_[0].loss == pytest.approx(np.mean(expected), abs=1e-5)
    softmax = BiLSTMCRF(**STILL, smoothing=eps, head="softmax").fit(X, y)
    assert np.isfinite(softmax.training_log_[0].loss)


@pytest.mark.filterwarnings("ignore:y. repaired")
def test_rules_hold_in_every_answer() -> None:
    rng = np.random.default_rng(3)
    X = [[str(word) for word in rng.choice(list("abcdef"), 6)] for _ in range(20)]
    y = [[str(tag) for tag in rng.choice(LABELS, 6)] for _ in range(20)]

    def fine(row: list[str]) -> bool:
        pairs = zip(["O", *row[:-1]], row, strict=True)
        return all(not label.startswith("I-") or before[1:] == label[1:] for before, label in pairs)

    assert not all(map(fine, BiLSTMCRF(**SMALL, scheme=None).fit(X, y).predict(X)))
    for head in ("crf", "softmax"):
        model = BiLSTMCRF(**SMALL, head=head, scheme="IOB2", on_illegal="repair").fit(X, y)
        assert model.notes_ == ["repaired 18 of 20 sentences with tags that IOB2 forbids"]
        answers = model.predict(X) + [one.labels for row in model.predict_k_best(X, 5) for one in row]
        answers += [row for rows in model.predict_samples(X, 5, seed=1) for row in rows]
        assert all(map(fine, answers))


IOB = "Anna B-PER\nsings O\n\nin O\nYork I-LOC\n\nNew B-LOC\nYork I-LOC\n\nBob I-PER\n"


@pytest.mark.filterwarnings("ignore:y. repaired")
def test_illegal_labels(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(IOB, encoding="utf-8")
    corpus = read_columns(tmp_path / "train.txt", names=["token", "tag"])
    ruled = {**SMALL, "scheme": "IOB2"}
    with pytest.raises(InputError, match=r"train\.txt:4: .*on_illegal="):
        BiLSTMCRF(**ruled, on_illegal="error").fit(corpus)
    repaired = BiLSTMCRF(**{**ruled, "epochs": 40}, on_illegal="repair").fit(corpus)
    assert repaired.notes_ == ["repaired 2 of 4 sentences with tags that IOB2 forbids"]
    assert repaired.labels_ == ["B-LOC", "B-PER", "I-LOC", "O"]  # no I-PER is left
    assert repaired.predict(corpus) == [["B-PER", "O"], ["O", "B-LOC"], ["B-LOC", "I-LOC"], ["B-PER"]]
    dropped = BiLSTMCRF(**ruled, on_illegal="drop").fit(corpus, sample_weight=[1.0, 9.0, 2.0, 9.0])
    assert dropped.notes_ == ["dropped 2 of 4 sentences with tags that IOB2 forbids"]
    assert dropped.training_.sentences == 2
    kept = BiLSTMCRF(**ruled).fit(corpus.take([0, 2]), sample_weight=[1.0, 2.0])
    assert same_weights(dropped, kept)
    with pytest.raises(InputError, match=r"^y: "):
        BiLSTMCRF(**ruled, on_illegal="drop").fit([["Bob"]], [["I-PER"]])


@pytest.mark.filterwarnings("ignore:y. dropped")
@pytest.mark.parametrize("kind", [BiLSTMCRF, tagline.CRF])
def test_sets_of_labels_that_the_rules_make_impossible(kind: Any) -> None:
    X, y = people()
    y = [*y, ["O", {"I-PER", "I-LOC"}, "O"]]
    X = [*X, ["Anna", "sees", "Rome"]]
    settings = SMALL if kind is BiLSTMCRF else {"features": "english_ner", "max_iterations": 3}
    with pytest.raises(
        InputError,
        match=rf"^y\[{len(X) - 1}\]: ",
    ):
        kind(**settings, scheme="IOB2", on_illegal="error").fit(X, y)
    for way in ("drop", "repair"):
        model = kind(**settings, scheme="IOB2", on_illegal=way).fit(X, y)
        assert any("dropped 1 of" in note for note in model.notes_)
