"""BiLSTMCRF: what it learns and answers, against the chain engine and enumeration; what it refuses."""

from __future__ import annotations

import copy
import gzip
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tagline  # noqa: E402
from tagline import BiLSTMCRF, Corpus  # noqa: E402
from tagline.errors import InputError, NoPathError  # noqa: E402
from tagline.features.embeddings import Embeddings  # noqa: E402
from tagline.models import bilstm as bilstm_module  # noqa: E402
from tagline.models import network as networks  # noqa: E402
from tagline.readers import read_columns  # noqa: E402
from tagline.readers.roles import legal  # noqa: E402

from .corpora import tagged  # noqa: E402
from .neural_cases import (  # noqa: E402
    LABELS,
    SMALL,
    STILL,
    bilstm,
    chain_of,
    check_against_enumeration,
    check_against_the_engine,
    check_explanation,
    emissions_of,
    encoder_folder,
    one_thread,  # noqa: F401
    people,
    same_answers,
    same_weights,
    scores_of,
    weights_of,
)

ODD = [
    ["Anna"],
    ["zzz", "Quux", "ÄÖÜ", "北京", "😀"],
    ["\ud83d", "a\udc00b", "", " ", "\x00"],
    ["New", "York"] * 30,
    ["x" * 500, "1996-12-31", "McDonald"],
]


def test_it_learns_a_corpus_and_more_of_its_kind() -> None:
    model = bilstm()
    assert model.labels_ == model.classes_ == LABELS
    assert model.scheme_name == "IOB2"
    assert model.score(*people()) == 1.0
    assert model.evaluate(*people(5)).spans.f1 > 0.95
    assert model.stop_reason_ == "epochs"
    losses = [done.loss for done in model.training_log_]
    assert len(losses) == SMALL["epochs"]
    assert losses[-1] < 0.3 * losses[0]
    assert model.notes_ == []


@pytest.mark.parametrize(
    "settings",
    [
        {"characters": "lstm", "layers": 2},
        {"characters": None, "case_dim": 0},
        {"optimizer": "sgd", "learning_rate": 0.3, "schedule": "constant"},
        {"smoothing": 0.05, "dropout": 0.1, "accumulate": 2, "max_tokens": 30, "epochs": 20},
        {"min_frequency": 3, "word_dropout": 0.05},
        {"bigram_dim": 3, "case_dim": 0},
    ],
    ids=str,
)
def test_every_setting_learns(settings: dict[str, Any]) -> None:
    assert BiLSTMCRF(**{**SMALL, **settings}).fit(*people()).score(*people()) > 0.9


# Answers.


@pytest.mark.parametrize("settings", [{}, {"head": "softmax"}, {"bigram_dim": 2, "layers": 2}], ids=str)
def test_answers_are_the_engines_about_each_sentence_alone(settings: dict[str, Any]) -> None:
    check_against_the_engine(bilstm(**settings), [*people(3, 12)[0], [], *ODD, []])


@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.parametrize("words", [["Anna"], ["zzz", "York"], ["New", "York", "1996"]], ids=" ".join)
def test_answers_are_those_of_enumeration(head: str, words: list[str]) -> None:
    check_against_enumeration(bilstm(head=head), words)


def test_answers_without_rules() -> None:
    X, y = tagged(0, 20, 0.0)
    model = BiLSTMCRF(**SMALL).fit(X, y)
    assert model.scheme_name is None
    check_against_the_engine(model, X)
    check_against_enumeration(model, X[0][:3])


@pytest.mark.parametrize("batch_size", [1, 2, 7, None])
def test_company_does_not_matter(batch_size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = bilstm(), [*people(3, 20)[0], [], *ODD]
    alone = [model.marginal_arrays([words])[0] for words in X]
    for most in (networks.PADDED, 40):  # cut by sentences, and by tokens
        monkeypatch.setattr(networks, "PADDED", most)
        for mine, theirs in zip(model.marginal_arrays(X, batch_size=batch_size), alone, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-6)
    sizes: list[int] = []
    original = bilstm_module.CodedForms.batch

    def watched(self: Any, sentences: Any, device: Any) -> Any:
        sizes.append(len(sentences))
        return original(self, sentences, device)

    monkeypatch.setattr(bilstm_module.CodedForms, "batch", watched)
    model.predict(X, batch_size=batch_size)
    assert sum(sizes) == len(X)
    assert batch_size is None or max(sizes) == batch_size
    with pytest.raises(InputError, match="batch_size: expected at least 1, got 0"):
        model.predict(X, batch_size=0)


def test_long_input_is_answered_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    model, (X, y) = bilstm(), people(3, 40)
    whole, told = model.predict(X), model.log_likelihood(X, y)
    monkeypatch.setattr(networks, "MOST_TOKENS", 7)
    assert model.predict(X) == whole
    np.testing.assert_allclose(model.log_likelihood(X, y), told, atol=1e-5)
    assert model.predict(X, known=[["O"] * len(words) for words in X]) == [["O"] * len(words) for words in X]


def test_nothing_and_empty_sentences() -> None:
    model = bilstm()
    assert model.predict([]) == []
    assert model.predict([[]]) == [[]]
    assert model.predict([[], ["Anna"], []]) == [[], ["B-PER"], []]
    assert model.predict_marginals([[]]) == [[]]
    assert model.predict_spans([[], ["Anna"]])[0] == []
    assert model.predict_k_best([[]], 2)[0][0].labels == []
    assert model.log_likelihood([], []).shape == (0,)
    assert model.log_likelihood([[]], [[]]).tolist() == [0.0]
    assert model.entropy([[]]).tolist() == [0.0]
    assert model.explain([]).tokens == ()
    fitted = BiLSTMCRF(**SMALL).fit([[], *people()[0], []], [[], *people()[1], []])
    assert fitted.training_.sentences == 24
    assert same_weights(fitted, model)


def test_what_was_never_seen_has_an_answer() -> None:
    model = bilstm()
    for words in ODD:
        assert [len(row) for row in model.predict([words])] == [len(words)]
        for row in model.marginal_arrays([words]):
            np.testing.assert_allclose(row.sum(1), 1.0, atol=1e-5)
    same = [model.marginal_arrays([[word]])[0] for word in ("北", "京")]  # unknown word, unknown character
    np.testing.assert_array_equal(*same)
    with pytest.raises(InputError, match="lone surrogate"):
        BiLSTMCRF(**SMALL).fit([["\ud83d"]], [["O"]])


def test_known_labels_bind_every_answer() -> None:
    model, words = bilstm(), ["Anna", "New", "York"]
    known = [None, {"B-LOC", "O"}, "O"]
    scores = {
        path: score
        for path, score in scores_of(model, words).items()
        if path[1] in ("B-LOC", "O") and path[2] == "O" and np.isfinite(score)
    }
    p = np.exp(np.array(list(scores.values())) - np.logaddexp.reduce(list(scores.values())))
    best = list(scores)[int(np.argmax(p))]
    assert model.predict([["Bob"], words], known=[None, known]) == [["B-PER"], list(best)]
    expected = sum(q for q, path in zip(p, scores, strict=True) if path[1] == "O")
    assert model.predict_marginals([words], known=[known])[0][1]["O"] == pytest.approx(expected, abs=1e-5)
    assert all(row[2] == "O" for row in model.predict_samples([words], 50, known=[known], seed=0)[0])
    assert model.predict_k_best([words], 3, known=[known])[0][0].labels == list(best)
    assert model.entropy([words], known=[known])[0] == pytest.approx(-(p[p > 0] * np.log(p[p > 0])).sum(), abs=1e-4)
    assert model.predict_spans([words], known=[["B-PER", "I-PER", "O"]])[0][0].type == "PER"
    for wrong, message in (
        ([["O"]], r"known\[0\]: expected a list of 3 entries"),
        ([["Q", None, None]], r"known\[0\]\[0\]: expected labels among B-LOC"),
        ([known, known], "known: expected one list for each of 1 sentences"),
    ):
        with pytest.raises(InputError, match=message):
            model.predict([words], known=wrong)
    with pytest.raises(NoPathError):
        model.predict([["Anna"]], known=[["I-PER"]])


def test_spans_have_their_probability() -> None:
    model, words = bilstm(), ["Carla", "Bruni", "sees"]
    found = model.predict_spans([words])[0]
    assert [(one.start, one.end, one.type) for one in found] == [(0, 2, "PER")]
    scores = scores_of(model, words)
    log_z = np.logaddexp.reduce(list(scores.values()))
    inside = [s for path, s in scores.items() if path[:2] == ("B-PER", "I-PER") and path[2] != "I-PER"]
    assert found[0].probability == pytest.approx(float(np.exp(np.logaddexp.reduce(inside) - log_z)), abs=1e-5)
    assert model.predict_spans([words], min_probability=1.0) in ([[]], [found])


def test_score_and_evaluate() -> None:
    model, (X, y) = bilstm(epochs=3), people(9, 30)
    found = model.predict(X)
    pairs = [(a, b) for row, told in zip(y, found, strict=True) for a, b in zip(row, told, strict=True)]
    right = sum(a == b for a, b in pairs) / len(pairs)
    assert 0.5 < right < 1
    assert model.score(X, y) == pytest.approx(right)
    assert model.evaluate(X, y).tokens.accuracy == pytest.approx(right)
    corpus = Corpus.from_sentences(list(zip(X, y, strict=True)))
    assert model.score(corpus) == pytest.approx(right)
    assert model.evaluate(corpus).spans.f1 == model.evaluate(X, y).spans.f1
    assert model.score(X, y, sample_weight=np.arange(30) % 2) == pytest.approx(model.score(X[1::2], y[1::2]))
    with pytest.raises(InputError, match=r"y\[0\]: expected 2 labels, one a token of X\[0\], got 1"):
        model.score([["Anna", "sings"]], [["O"]])


def test_threads_get_the_same_answers() -> None:
    model, X = bilstm(), people(3, 30)[0]
    expected = model.marginal_arrays(X)
    with ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(model.marginal_arrays, X) for _ in range(8)]:
            for mine, theirs in zip(one.result(), expected, strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_words_in_columns_and_corpora() -> None:
    X, y = people()
    columns = [[(word, word.lower()) for word in words] for words in X]
    assert same_weights(BiLSTMCRF(**SMALL).fit(columns, y), bilstm())
    corpus = Corpus.from_sentences(list(zip(X, y, strict=True)))
    model = BiLSTMCRF(**SMALL).fit(corpus)
    assert same_weights(model, bilstm())
    assert model.predict(corpus) == model.predict(X) == model.predict(iter(columns))


# What is learned: the loss is the one that is stated.


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


SHORT = ([["Anna", "sees", "Rome"], ["in", "New", "York"], ["Bob"]],
         [["B-PER", "O", "B-LOC"], ["O", "B-LOC", "I-LOC"], ["B-PER"]])  # fmt: skip


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
    with pytest.raises(InputError, match="smoothing: expected 0 where labels are unknown or sets, got more"):
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


def test_illegal_labels(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(IOB, encoding="utf-8")
    corpus = read_columns(tmp_path / "train.txt", names=["token", "tag"])
    ruled = {**SMALL, "scheme": "IOB2"}
    with pytest.raises(InputError, match=r"train\.txt:4: expected tags that IOB2 allows.*2 of 4 .*on_illegal="):
        BiLSTMCRF(**ruled).fit(corpus)
    repaired = BiLSTMCRF(**{**ruled, "epochs": 40}, on_illegal="repair").fit(corpus)
    assert repaired.notes_ == ["repaired 2 of 4 sentences with tags that IOB2 forbids"]
    assert repaired.labels_ == ["B-LOC", "B-PER", "I-LOC", "O"]  # no I-PER is left
    assert repaired.predict(corpus) == [["B-PER", "O"], ["O", "B-LOC"], ["B-LOC", "I-LOC"], ["B-PER"]]
    dropped = BiLSTMCRF(**ruled, on_illegal="drop").fit(corpus, sample_weight=[1.0, 9.0, 2.0, 9.0])
    assert dropped.notes_ == ["dropped 2 of 4 sentences with tags that IOB2 forbids"]
    assert dropped.training_.sentences == 2
    kept = BiLSTMCRF(**ruled).fit(corpus.take([0, 2]), sample_weight=[1.0, 2.0])
    assert same_weights(dropped, kept)
    with pytest.raises(InputError, match="expected sentences to learn from, got none; dropped 1 of 1"):
        BiLSTMCRF(**ruled, on_illegal="drop").fit([["Bob"]], [["I-PER"]])


# Seeds, the dev set, and when training stops.


def test_seeds() -> None:
    again, other = BiLSTMCRF(**SMALL).fit(*people()), BiLSTMCRF(**SMALL, random_state=1).fit(*people())
    assert same_weights(again, bilstm())
    assert [done.loss for done in again.training_log_] == [done.loss for done in bilstm().training_log_]
    assert not same_weights(other, bilstm())
    one, two = (weights_of(BiLSTMCRF(**STILL, random_state=seed).fit(*SHORT)) for seed in (0, 1))
    assert np.abs(one["head.linear.weight"] - two["head.linear.weight"]).max() > 0.1  # where they begin
    noisy = {**SMALL, "dropout": 0.5, "epochs": 2}
    assert same_weights(BiLSTMCRF(**noisy).fit(*people()), BiLSTMCRF(**noisy).fit(*people()))
    big = BiLSTMCRF(**{**SMALL, "epochs": 1, "random_state": 2**70}).fit(*SHORT)
    assert big.predict(SHORT[0])


def test_random_numbers_of_others_are_left_alone() -> None:
    torch.manual_seed(5)
    np.random.seed(5)
    before = torch.get_rng_state().clone(), np.random.get_state()[1].copy()
    model = BiLSTMCRF(**{**SMALL, "dropout": 0.3, "epochs": 2}).fit(*SHORT)
    model.predict(SHORT[0])
    model.explain(SHORT[0][0])
    copy.deepcopy(model)
    assert torch.equal(torch.get_rng_state(), before[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])
    assert torch.is_grad_enabled()


def test_fitting_twice_forgets_the_first_time() -> None:
    model = BiLSTMCRF(**SMALL).fit([["x"]], [["Q"]])
    assert same_weights(model.fit(*people()), bilstm())
    assert model.labels_ == LABELS


def test_a_dev_set_and_patience_keep_the_best_weights() -> None:
    X, y = people(0, 12)
    dev = people(50, 30)
    seen: list[tuple[float, Any]] = []
    settings = {**SMALL, "epochs": 40, "learning_rate": 0.1, "schedule": "constant", "patience": 4}
    model = BiLSTMCRF(**settings)
    held: list[Any] = []
    original = networks.Network.chains

    def watched(self: Any, *args: Any, **more: Any) -> Any:  # the weights that were scored
        held.append({name: value.detach().numpy().copy() for name, value in self.tagger.state_dict().items()})
        assert not self.tagger.training
        return original(self, *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networks.Network, "chains", watched)
        model.set_params(callbacks=(lambda done: seen.append((done.dev_score, held[-1])),))  # type: ignore[func-returns-value]
        model.fit(X, y, X_dev=dev[0], y_dev=dev[1])
    scores = [score for score, _ in seen]
    best = int(np.argmax(scores))
    assert model.stop_reason_ == "patience"
    assert len(seen) == best + 1 + 4
    last = max(number for number, score in enumerate(scores) if score == scores[best])  # of equals
    assert same_weights(model, seen[last][1])
    assert not same_weights(model, seen[0][1])
    assert model.evaluate(*dev).spans.f1 == pytest.approx(scores[best])
    assert [done.dev_score for done in model.training_log_] == scores
    corpus = Corpus.from_sentences(list(zip(*dev, strict=True)))
    assert same_weights(BiLSTMCRF(**settings).fit(X, y, X_dev=corpus), model)


def test_a_dev_set_without_spans_is_scored_by_labels() -> None:
    X, y = tagged(0, 20)
    dev = tagged(8, 20)
    model = BiLSTMCRF(**{**SMALL, "epochs": 2}).fit(X, y, X_dev=[*dev[0], ["cat"], []], y_dev=[*dev[1], ["new"], []])
    best = max(model.training_log_, key=lambda done: done.dev_score)
    total = sum(map(len, dev[1]))
    assert best.dev_score == pytest.approx(model.score(*dev) * total / (total + 1))
    none = BiLSTMCRF(**{**SMALL, "epochs": 1}).fit(X, y, X_dev=dev[0], y_dev=[["new"] * len(row) for row in dev[1]])
    assert none.training_log_[0].dev_score == 0.0
    with pytest.raises(InputError, match="y_dev: expected a label for every token, got unknown ones"):
        BiLSTMCRF(**SMALL).fit(X, y, X_dev=[["cat"]], y_dev=[[None]])
    with pytest.raises(InputError, match="patience: expected a dev set"):
        BiLSTMCRF(**SMALL, patience=2).fit(X, y)
    for half in ({"X_dev": X}, {"y_dev": y}):
        with pytest.raises(InputError, match="X_dev, y_dev: expected both or neither, got one"):
            BiLSTMCRF(**SMALL).fit(X, y, **half)


def test_when_to_stop(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    X, y = people()
    assert BiLSTMCRF(**SMALL, max_seconds=0).fit(X, y).stop_reason_ == "time budget"
    stopped = BiLSTMCRF(**SMALL, callbacks=(lambda done: done.epoch == 3,)).fit(X, y)
    assert stopped.stop_reason_ == "callback"
    assert len(stopped.training_log_) == stopped.training_.passes == 3
    assert capfd.readouterr() == ("", "")
    told: list[tuple[int, int, float]] = []
    model = BiLSTMCRF(**{**SMALL, "epochs": 2}, verbose=True)
    model.fit(X, y, progress=lambda *facts: told.append(facts), log=tmp_path / "log.jsonl")
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == [done.line() for done in model.training_log_]
    assert told[-1][:2] == (3, 3)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "epoch", "epoch", "end"]
    assert lines[0]["labels"] == LABELS
    assert lines[0]["model"] == "bilstm"


def test_ctrl_c_keeps_a_usable_model() -> None:
    def press(done: Any) -> None:
        if done.epoch == 5:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    model = BiLSTMCRF(**{**SMALL, "epochs": 1000}, warmup=0.0, callbacks=(press,)).fit(*people())
    assert signal.getsignal(signal.SIGINT) is before
    assert model.stop_reason_ == "interrupted"
    assert len(model.training_log_) == 5
    assert model.score(*people()) > 0.8
    assert not model.network_.tagger.training


SCRIPT = """
import sys
import torch
from tagline import BiLSTMCRF
torch.set_num_threads(1)
X, y = [["Anna", "sings"], ["Bob", "runs"]] * 8, [["N", "V"], ["N", "V"]] * 8
def begun(done, batches, loss):
    if loss < 0.1 and not begun.told:
        begun.told = True
        print("begun", flush=True)
begun.told = False
sizes = {"hidden": 8, "word_dim": 8, "char_size": 8, "dropout": 0.0, "device": "cpu"}
model = BiLSTMCRF(**sizes, learning_rate=0.01, epochs=10**6, warmup=0.0).fit(X, y, progress=begun)
model.save(sys.argv[1])
print(model.stop_reason_, model.predict([["Bob", "sings"]]))
"""


def test_ctrl_c_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "model"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert err == ""
    assert out == "interrupted [['N', 'V']]\n"
    assert process.returncode == 0
    assert tagline.load(path).predict([["Bob", "sings"]]) == [["N", "V"]]


# Checkpoints.


class StopError(Exception):
    """Ends a run from a callback, as a crash would."""


def crash(epoch: int) -> Any:
    def callback(done: Any) -> None:
        if done.epoch == epoch:
            raise StopError

    return callback


NOISY = {**SMALL, "dropout": 0.3, "epochs": 6}


@pytest.mark.parametrize("dev", [False, True])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(dev: bool, tmp_path: Path) -> None:
    path, (X, y) = tmp_path / "run", people()
    held = {"X_dev": X[:5], "y_dev": y[:5]} if dev else {}
    whole = BiLSTMCRF(**NOISY).fit(X, y, **held)
    broken = BiLSTMCRF(**NOISY, callbacks=(crash(4),))
    with pytest.raises(StopError):
        broken.fit(X, y, checkpoint=path, **held)
    assert not hasattr(broken, "network_")
    resumed = BiLSTMCRF(**NOISY).fit(X, y, checkpoint=path, resume=True, **held)
    assert same_weights(resumed, whole)
    assert [done.loss for done in resumed.training_log_] == [done.loss for done in whole.training_log_]
    again = BiLSTMCRF(**NOISY).fit(X, y, checkpoint=path, resume=True, **held)  # nothing is left to do
    assert same_weights(again, whole)
    assert again.stop_reason_ == "epochs"
    fresh = BiLSTMCRF(**NOISY).fit(X, y, checkpoint=tmp_path / "new", resume=True, **held)
    assert same_weights(fresh, whole)


OTHERS: dict[str, Any] = {
    "words": lambda X, y: (
        ([["Ann" if word == "Anna" else word for word in words] for words in X], y),
        {},
        "other words",
    ),
    "tags": lambda X, y: ((X, [["O"] * len(y[0]), *y[1:]]), {}, "other tags or weights"),
    "labels": lambda X, y: (
        (X, [[tag.replace("PER", "MAN") for tag in row] for row in y]),
        {},
        r"labels was \[.*'B-PER'.*\] and is \[.*'B-MAN'.*\]",
    ),
    "sentences": lambda X, y: ((X[:-1], y[:-1]), {}, "sentences was 24 and is 23"),
    "weights": lambda X, y: ((X, y, [2.0, *[1.0] * 23]), {}, "other tags or weights"),
    "dropout": lambda X, y: ((X, y), {"dropout": 0.1}, "dropout was 0.3 and is 0.1"),
    "hidden": lambda X, y: ((X, y), {"hidden": 9}, "hidden was 8 and is 9"),
    "seed": lambda X, y: ((X, y), {"random_state": 3}, "seed was 0 and is 3"),
    "scheme": lambda X, y: ((X, y), {"scheme": None}, "scheme was 'IOB2' and is None"),
    "rate": lambda X, y: ((X, y), {"learning_rate": 0.1}, "learning_rate was 0.03 and is 0.1"),
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a run that was stopped after an epoch."""
    path = tmp_path_factory.mktemp("run") / "checkpoint"
    with pytest.raises(StopError):
        BiLSTMCRF(**NOISY, callbacks=(crash(1),)).fit(*people(), checkpoint=path)
    return path


@pytest.mark.parametrize("other", OTHERS)
def test_a_run_does_not_go_on_with_something_else(other: str, stopped: Path) -> None:
    (X, y, *weights), settings, message = OTHERS[other](*people())
    before = stopped.read_bytes()
    with pytest.raises(InputError, match=f"checkpoint: expected a checkpoint of the same .*{message}"):
        BiLSTMCRF(**{**NOISY, **settings}).fit(
            X, y, checkpoint=stopped, resume=True, sample_weight=weights[0] if weights else None
        )
    assert stopped.read_bytes() == before


def test_checkpoints_that_are_none(stopped: Path, tmp_path: Path) -> None:
    X, y = people()
    with pytest.raises(InputError, match="another dev set"):
        BiLSTMCRF(**NOISY).fit(X, y, X_dev=X, y_dev=y, checkpoint=stopped, resume=True)
    with pytest.raises(InputError, match="checkpoint: expected a file to resume from"):
        BiLSTMCRF(**NOISY).fit(X, y, resume=True)
    bilstm().save(tmp_path / "model")
    with pytest.raises(
        tagline.StorageError, match="model: expected a training checkpoint, got a model of kind 'bilstm'"
    ):
        BiLSTMCRF(**NOISY).fit(X, y, checkpoint=tmp_path / "model", resume=True)
    with pytest.raises(tagline.StorageError, match="training checkpoint"):
        tagline.load(stopped)


# Going on.


def test_warm_start_goes_on() -> None:
    X, y = people()
    model = BiLSTMCRF(**{**SMALL, "epochs": 3}, warm_start=True).fit(X, y)
    first, old = weights_of(model), model.network_
    loss = model.training_log_[-1].loss
    model.fit(X, y)
    assert model.training_log_[0].loss < loss
    assert same_weights(first, {name: value.numpy() for name, value in old.tagger.state_dict().items()})
    assert not same_weights(model, first)
    assert same_weights(BiLSTMCRF(**{**SMALL, "epochs": 3}).fit(X, y), first)  # the first time is like any other
    model.set_params(dropout=0.2, smoothing=0.05, freeze_words=True, epochs=1)
    words = weights_of(model)["encoder.words.weight"]
    model.fit(X[:4], y[:4])
    np.testing.assert_array_equal(weights_of(model)["encoder.words.weight"], words)
    assert model.labels_ == LABELS
    assert model.network_.plan["dropout"] == 0.2


def test_warm_start_keeps_the_scheme_and_takes_another() -> None:
    X, y = people()
    model = BiLSTMCRF(**{**SMALL, "epochs": 3}, warm_start=True).fit(X, y)
    model.fit(X, [[None if tag == "O" else tag for tag in row] for row in y])
    assert model.scheme_name == "IOB2"
    model.set_params(scheme=None).fit(X, y)
    assert model.scheme_name is None
    assert np.isfinite(model.log_likelihood([["Anna"]], [["I-PER"]])).all()


def test_warm_start_from_a_file(tmp_path: Path) -> None:
    X, y = people()
    model = BiLSTMCRF(**{**SMALL, "epochs": 3, "dropout": 0.3}, warm_start=True, freeze_words=True).fit(X, y)
    model.save(tmp_path / "model")
    loaded = tagline.load(tmp_path / "model", device="cpu")
    assert same_weights(loaded.fit(X, y), model.fit(X, y))


def test_a_run_that_fails_leaves_the_model_as_it_was() -> None:
    X, y = people()
    model = BiLSTMCRF(**{**SMALL, "epochs": 2}, warm_start=True).fit(X, y)
    before, answers = weights_of(model), model.predict(X)
    model.set_params(callbacks=(crash(1),))
    with pytest.raises(StopError):
        model.fit(X, y)
    assert same_weights(model, before)
    model.set_params(callbacks=(), learning_rate=1e30, clip=1e30)
    with pytest.raises(InputError, match=r"expected finite scores|expected a finite loss"):
        model.fit(X, y)
    assert model.predict(X) == answers


VECTORS = Embeddings(
    ("anna", "Rome", "the", "unseen"),
    np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32),
)


def write_vectors(path: Path, vectors: Embeddings = VECTORS) -> Path:
    rows = zip(vectors.words, vectors.vectors, strict=True)
    text = "".join(f"{word} {' '.join(repr(float(number)) for number in row)}\n" for word, row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


WARM: dict[str, Any] = {
    "hidden": ({"hidden": 9}, "hidden: expected 8, as it was for the network .* got 9; fit a new model"),
    "layers": ({"layers": 2}, "layers: expected 1"),
    "head": ({"head": "softmax"}, "head: expected 'crf'"),
    "characters": ({"characters": None}, "characters: expected 'cnn'"),
    "word_dim": ({"word_dim": 9}, "word_dim: expected 8"),
    "embeddings": ({"embeddings": VECTORS}, "embeddings: expected None, .* got '4 vectors of 5 numbers"),
}


@pytest.mark.parametrize("wrong", WARM)
def test_warm_start_of_another_network_is_refused(wrong: str) -> None:
    settings, message = WARM[wrong]
    model = copy.deepcopy(bilstm()).set_params(warm_start=True, **settings)
    with pytest.raises(InputError, match=message):
        model.fit(*people())
    same_answers(model, bilstm(), people(3, 5)[0])


def test_warm_start_of_other_labels_is_refused() -> None:
    model = copy.deepcopy(bilstm()).set_params(warm_start=True)
    with pytest.raises(InputError, match="y: expected labels that the network has, with warm_start, got B-ORG; fit"):
        model.fit([["Anna"]], [["B-ORG"]])


@pytest.mark.parametrize("kind", [BiLSTMCRF, tagline.CRF])
def test_sets_of_labels_that_the_rules_make_impossible(kind: Any) -> None:
    X, y = people()
    y = [*y, ["O", {"I-PER", "I-LOC"}, "O"]]
    X = [*X, ["Anna", "sees", "Rome"]]
    settings = SMALL if kind is BiLSTMCRF else {"features": "english_ner", "max_iterations": 3}
    with pytest.raises(
        InputError, match=rf"{len(X) - 1}.*: expected tags that IOB2 allows, got others; there are 1 of"
    ):
        kind(**settings, scheme="IOB2").fit(X, y)
    for way in ("drop", "repair"):
        model = kind(**settings, scheme="IOB2", on_illegal=way).fit(X, y)
        assert any("dropped 1 of" in note for note in model.notes_)


def test_a_dev_set_must_have_tokens_and_should_have_known_labels() -> None:
    X, y = people()
    for nothing in ([], [[]]):
        with pytest.raises(InputError, match="X_dev: expected at least one token to score, got none"):
            BiLSTMCRF(**SMALL).fit(X, y, X_dev=nothing, y_dev=nothing)
    model = BiLSTMCRF(**STILL).fit(X, y, X_dev=[["Anna", "sings"]], y_dev=[["NN", "VB"]])
    assert model.notes_[-1].endswith("training data lack, and misses them: NN, VB")


# Word vectors.


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_on_a_cpu(precision: str) -> None:
    X, y = people()
    model = BiLSTMCRF(**SMALL, precision=precision).fit(X, y)
    assert model.score(X, y) > 0.7
    with torch.autocast("cpu", getattr(torch, precision)):
        assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
def test_word_vectors_of_a_file(name: str, tmp_path: Path) -> None:
    X, y = people()
    path = write_vectors(tmp_path / name)
    model = BiLSTMCRF(path, **STILL, freeze_words=True).fit(X, y)
    table = model.network_.coder.table  # type: ignore[attr-defined]
    rows = weights_of(model)["encoder.words.weight"]
    assert rows.shape == (table.num_words, 5)
    for word, vector in zip(VECTORS.words, VECTORS.vectors, strict=True):
        np.testing.assert_array_equal(rows[2 + table.words.find(word)], vector)
    assert table.words.find("unseen") >= 0  # known, though the corpus has it nowhere
    assert same_weights(BiLSTMCRF(str(path), **STILL, freeze_words=True).fit(X, y), model)
    assert same_weights(BiLSTMCRF(VECTORS, **STILL, freeze_words=True).fit(X, y), model)
    free, frozen = (BiLSTMCRF(VECTORS, **SMALL, freeze_words=flag).fit(X, y) for flag in (False, True))
    row = 2 + table.words.find("anna")
    np.testing.assert_array_equal(weights_of(frozen)["encoder.words.weight"], rows)
    assert not np.array_equal(weights_of(free)["encoder.words.weight"][row], rows[row])
    assert free.score(X, y) > 0.9


def test_word_vectors_that_do_not_fit_are_told(caplog: pytest.LogCaptureFixture) -> None:
    BiLSTMCRF(Embeddings(("chat", "chien"), np.ones((2, 5), np.float32)), **STILL).fit(*people())
    assert "embeddings: expected vectors of most words, got some for 0 of" in caplog.text
    caplog.clear()
    words = tuple({word.lower() for sentence in people()[0] for word in sentence})
    BiLSTMCRF(Embeddings(words, np.ones((len(words), 5), np.float32)), **STILL).fit(*people())
    assert not caplog.text


def test_word_vectors_of_an_encoder(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from tagline.nn.pretrained import input_vectors

    folder = encoder_folder("bert")
    known = input_vectors(folder)
    assert {"anna", "rome", "new", "the"} < {*known.words}
    assert not any(word.startswith(("##", "[")) for word in known.words)
    model = BiLSTMCRF(folder, **{**SMALL, "freeze_words": True}).fit(*people())
    table = model.network_.tagger.encoder.words.weight.detach().numpy()
    names = model.known_tokens()
    for word, vector in zip(known.words, known.vectors, strict=True):
        np.testing.assert_array_equal(table[2 + names.index(word)], vector)
    model.save(tmp_path / "m.tagline")
    same_answers(model, tagline.load(tmp_path / "m.tagline", device="cpu"), people(1)[0])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected an encoder that loads"):
        BiLSTMCRF(tmp_path, **SMALL).fit(*people())


def test_warm_start_with_word_vectors(tmp_path: Path) -> None:
    X, y = people()
    path = write_vectors(tmp_path / "vectors.txt")
    for given in (path, VECTORS):
        model = BiLSTMCRF(given, **{**SMALL, "epochs": 1}, warm_start=True).fit(X, y)
        model.fit(X, y)
        other = Embeddings(VECTORS.words, VECTORS.vectors[:, :3])
        with pytest.raises(InputError, match=r"embeddings: expected '.*', as it was .* got '4 vectors of 3 numbers"):
            copy.deepcopy(model).set_params(embeddings=other).fit(X, y)
        with pytest.raises(InputError, match="embeddings: expected"):
            copy.deepcopy(model).set_params(embeddings=tmp_path / "others.txt").fit(X, y)
        model.set_params(embeddings=None).fit(X, y)  # what the network has stays
        assert weights_of(model)["encoder.words.weight"].shape[1] == 5


# Explanations and looking inside.


@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.parametrize("words", [["Anna"], ["in", "York"], ["zzz", "New", "York"]], ids=" ".join)
def test_explanations_add_up(head: str, words: list[str]) -> None:
    model = bilstm(head=head)
    check_explanation(model, words)
    if len(words) > 1:
        check_explanation(model, words, known=["O", *[None] * (len(words) - 1)])


def test_what_is_left_is_what_the_network_says_of_nothing() -> None:
    """Integrated gradients are complete: the words share D(x) − D(0), and D(0) remains."""
    model, words = bilstm(), ["Anna", "in", "York"]
    network = model.network_
    batch = network.coder.read(Corpus.from_sentences([{"token": words}])).batch(np.zeros(1, np.int64), network.device)
    with torch.no_grad():
        nothing = torch.zeros_like(network.tagger.encoder.embed(batch))  # type: ignore[operator]
        e = network.tagger.head.emissions(network.tagger.encoder.encode(nothing, batch))[0].numpy()  # type: ignore[operator]
    for one in model.explain(words).tokens:
        (rest,) = (term for term in one.contributions if term.kind == "rest")
        others = {path: s for path, s in scores_of(model, words).items() if path[one.position] != one.label}
        rival = max(others, key=lambda path: others[path])
        pairs = enumerate(zip(model.predict([words])[0], rival, strict=True))
        expected = sum(e[t, LABELS.index(a)] - e[t, LABELS.index(b)] for t, (a, b) in pairs)
        assert rest.amount == pytest.approx(expected, abs=0.02)


def test_explanations_are_readable() -> None:
    model = bilstm()
    found = model.explain(["Anna", "sees", "New", "York"])
    text = found.text()
    assert "the word York" in text
    assert "→" in text
    assert "no word: what the network says of nothing" in found.text(99)
    assert json.loads(json.dumps(found.as_dict()))["tokens"][0]["token"] == "Anna"
    assert "<table" in found.html()
    top = found.tokens[0].contributions[0]
    assert (top.kind, top.name) == ("input", "Anna")  # the word itself speaks loudest for its label
    with pytest.raises(InputError, match=r"X\[0\]: expected a sentence, a list of tokens, got 'Anna'"):
        model.explain("Anna")


def test_looking_inside() -> None:
    model = bilstm()
    found = model.summary()
    assert sum(found.parameters.values()) == sum(p.numel() for p in model.network_.tagger.parameters())
    assert found.head == "crf"
    assert found.line().startswith("bilstm, 5 labels, ")
    assert "IOB2" in found.text()
    assert json.loads(json.dumps(found.as_dict()))["training"]["sentences"] == 24


# What is refused, and what is left alone.


WRONG: dict[str, Any] = {
    "hidden": ({"hidden": 0}, "hidden: expected at least 1, got 0"),
    "hidden: a word": ({"hidden": "many"}, "hidden: expected a whole number, got 'many'"),
    "layers": ({"layers": 0}, "layers: expected at least 1"),
    "word_dim": ({"word_dim": -1}, "word_dim: expected at least 1"),
    "char_dim": ({"char_dim": 0}, "char_dim: expected"),
    "char_size: odd": ({"char_size": 7, "characters": "lstm"}, "char_size: expected an even number"),
    "case_dim": ({"case_dim": -1}, "case_dim: expected at least 0"),
    "bigram_dim": ({"bigram_dim": -1}, "bigram_dim: expected at least 0"),
    "word_dropout": ({"word_dropout": 1.0}, "word_dropout: expected a probability"),
    "hidden: huge": ({"hidden": 10**12}, "expected sizes of a network that can be built"),
    "min_frequency": ({"min_frequency": 0}, "min_frequency: expected at least 1"),
    "characters": ({"characters": "rnn"}, "characters: expected one of 'cnn', 'lstm', None, got 'rnn'"),
    "dropout": ({"dropout": 1.5}, "dropout: expected a probability from 0 to below 1, got 1.5"),
    "dropout: 1": ({"dropout": 1}, "dropout: expected a probability"),
    "smoothing": ({"smoothing": -0.1}, "smoothing: expected a probability"),
    "head": ({"head": "x"}, "head: expected one of crf, softmax, got 'x'"),
    "device": ({"device": "cuda:77"}, r"device: expected \"auto\", \"cpu\" or a GPU of this machine, got 'cuda:77'"),
    "device: odd": ({"device": "abacus"}, "device: expected"),
    "device: meta": ({"device": "meta"}, "device: expected"),
    "device: None": ({"device": None}, "device: expected"),
    "embeddings: missing": ({"embeddings": "no/such/file.txt"}, "no/such/file.txt: expected a file, got none"),
    "embeddings: a number": ({"embeddings": 3}, "embeddings: expected a file of word vectors, a folder"),
    "embeddings: empty": (
        {"embeddings": Embeddings((), np.zeros((0, 5), np.float32))},
        "embeddings: expected word vectors, got none",
    ),
    "epochs": ({"epochs": 0}, "epochs: expected a whole number of 1 or more"),
    "batch_size": ({"batch_size": 0}, "batch_size: expected"),
    "max_tokens": ({"max_tokens": 0}, "max_tokens: expected"),
    "optimizer": ({"optimizer": "adam"}, "optimizer: expected one of adamw, sgd"),
    "schedule": ({"schedule": "steep"}, "schedule: expected one of"),
    "precision": ({"precision": "float8"}, "precision: expected one of"),
    "learning_rate": ({"learning_rate": 0.0}, "learning_rate: expected"),
    "learning_rate: NaN": ({"learning_rate": float("nan")}, "learning_rate: expected"),
    "clip": ({"clip": 0}, "clip: expected"),
    "accumulate": ({"accumulate": 0}, "accumulate: expected"),
    "warmup": ({"warmup": 2}, "warmup: expected"),
    "compile": ({"compile": 1}, "compile: expected True or False"),
    "random_state": ({"random_state": -1}, "random_state: expected a whole number of 0 or more, got -1"),
    "random_state: None": ({"random_state": None}, "random_state: expected"),
    "scheme": ({"scheme": "IOBX"}, "scheme: expected"),
    "scheme: of others": ({"scheme": "BIOES"}, "BIOES"),
    "hidden: True": ({"hidden": True}, "hidden: expected a whole number, got True"),
    "freeze_words": ({"freeze_words": 1}, "freeze_words: expected True or False, got 1"),
    "warm_start": ({"warm_start": "yes"}, "warm_start: expected True or False, got 'yes'"),
    "callbacks": ({"callbacks": 3}, "callbacks: expected a list of functions, got 3"),
    "callbacks: [3]": ({"callbacks": [3]}, "callbacks: expected a list of functions"),
    "label_weights: text": (
        {"label_weights": {"O": "x"}},
        r"label_weights\['O'\]: expected a number of 0 or more, got 'x'",
    ),
    "on_illegal": ({"on_illegal": "ignore"}, "on_illegal: expected one of error, repair, drop"),
    "label_weights": ({"label_weights": {"Q": 1.0}}, "label_weights: expected labels among"),
    "patience": ({"patience": 0}, "patience: expected"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_settings_are_named_before_training(wrong: str, tmp_path: Path) -> None:
    settings, message = WRONG[wrong]
    model = BiLSTMCRF(**{**SMALL, **settings})
    with pytest.raises(InputError, match=message):
        model.fit(*people(), checkpoint=tmp_path / "run")
    assert os.listdir(tmp_path) == []
    assert not hasattr(model, "network_")
    if wrong.partition(":")[0] not in ("scheme", "on_illegal", "label_weights", "embeddings", "patience"):
        with pytest.raises(InputError, match=message):
            model.check()  # no data are needed


DATA: dict[str, Any] = {
    "flat y": ([["a"]], ["N"], r"y\[0\]: expected a list of labels, got 'N'"),
    "flat X": (["the", "cat"], [["N"], ["N"]], r"X\[0\]: expected a sentence, a list of tokens, got 'the'"),
    "a string": ("the cat", [["N"]], "X: expected a Corpus or a list of sentences, got str"),
    "None": (None, [["N"]], "X: expected a Corpus or a list of sentences, got NoneType"),
    "features": ([[{"word": "a"}]], [["N"]], r"X\[0\]: expected tokens, all strings"),
    "numbers": ([["a"]], [[1]], r"y\[0\]\[0\]: expected a label as a string"),
    "fewer labels": ([["a", "b"]], [["N"]], r"y\[0\]: expected 2 labels"),
    "more sentences": ([["a"]], [["N"], ["N"]], "y: expected labels of 1 sentences"),
    "no labels": ([["a"]], None, "y: expected a list of labels for each sentence, got None"),
    "nothing": ([], [], "y: expected at least one sentence with a known label, got none"),
    "empty sentences": ([[]], [[]], "y: expected at least one sentence"),
    "only unknown": ([["a"]], [[None]], "y: expected at least one sentence with a known label"),
    "an empty set": ([["a"]], [[set()]], r"y\[0\]\[0\]: expected at least one label in a set"),
}


@pytest.mark.parametrize("wrong", DATA)
def test_wrong_input_is_named(wrong: str) -> None:
    X, y, message = DATA[wrong]
    with pytest.raises(InputError, match=message):
        BiLSTMCRF(**SMALL).fit(X, y)


def test_wrong_weights() -> None:
    X, y = SHORT
    for weights in ([1.0], [1.0, 2.0, -1.0], [1.0, 2.0, np.nan], 1.0):
        with pytest.raises(InputError, match="sample_weight: expected 3 numbers of 0 or more"):
            BiLSTMCRF(**SMALL).fit(X, y, sample_weight=weights)
    with pytest.raises(InputError, match="sample_weight: expected a weight above zero, got only zeros"):
        BiLSTMCRF(**SMALL).fit(X, y, sample_weight=[0, 0, 0])


def test_numbers_of_numpy_are_numbers() -> None:
    odd = {
        "epochs": np.int64(12),
        "hidden": np.int32(8),
        "dropout": np.float32(0.0),
        "learning_rate": np.float64(0.03),
        "random_state": np.int64(0),
        "batch_size": np.uint8(8),
    }
    model = BiLSTMCRF(**{**SMALL, **odd}).fit(*people())
    assert same_weights(model, bilstm())
    assert copy.deepcopy(model).predict(people()[0]) == bilstm().predict(people()[0])


def test_what_is_given_is_not_changed() -> None:
    X, y = people(0, 6)
    vectors = Embeddings(VECTORS.words, VECTORS.vectors.copy())
    label_weights, weights = {"B-PER": 2.0}, np.linspace(0.5, 1.5, 6)
    known = [[None] * len(row) for row in y]
    model = BiLSTMCRF(vectors, **{**SMALL, "epochs": 2}, label_weights=label_weights, callbacks=())
    before, parameters = copy.deepcopy((X, y, weights, label_weights, known)), model.get_params()
    model.fit(X, y, sample_weight=weights, X_dev=X, y_dev=y)
    model.predict(X, known=known)
    np.testing.assert_equal((X, y, weights, label_weights, known), before)
    np.testing.assert_array_equal(vectors.vectors, VECTORS.vectors)
    after = model.get_params()
    assert after.keys() == parameters.keys()
    assert all(after[name] is parameters[name] for name in after)


def test_the_oracles_are_worth_something() -> None:
    """Rules forbid some labellings, and the chain that is built by hand says the same as enumeration."""
    model, words = bilstm(), ["New", "York"]
    scores = scores_of(model, words)
    rules = legal(LABELS, "IOB2")
    starts = {label for label, fine in zip(LABELS, rules.start, strict=True) if fine}
    forbidden = [path for path in product(LABELS, repeat=2) if path[0] not in starts]
    assert forbidden
    assert all(scores[path] == -np.inf for path in forbidden)
    log_z = tagline.chain.log_partition(chain_of(model, words))[0]
    assert log_z == pytest.approx(np.logaddexp.reduce(list(scores.values())), abs=1e-5)
