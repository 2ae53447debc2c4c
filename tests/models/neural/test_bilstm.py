"""BiLSTMCRF: what it learns and answers, against the chain engine and enumeration; how it explains it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tagline  # noqa: E402
from tagline import BiLSTMCRF, Corpus  # noqa: E402
from tagline.errors import DataWarning, InputError, NoPathError  # noqa: E402
from tagline.models.neural import bilstm as bilstm_module  # noqa: E402
from tagline.models.neural import network as networks  # noqa: E402
from tagline.models.neural.bilstm import FOR_WORDS  # noqa: E402
from tagline.readers.rules import legal  # noqa: E402

from ..corpora import tagged  # noqa: E402
from .cases import (  # noqa: E402
    LABELS,
    SMALL,
    bilstm,
    chain_of,
    check_against_enumeration,
    check_against_the_engine,
    check_explanation,
    people,
    same_weights,
    scores_of,
)

pytestmark = pytest.mark.usefixtures("one_thread")

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


def test_transitions_are_drawn() -> None:
    """Scores of the CRF, blank where the scheme forbids; a softmax has none."""
    model = bilstm()
    drawn = np.asarray(model.plot_transitions().images[0].get_array().filled(np.nan), np.float64)
    best = model.top_transitions(1)[0]
    at = model.labels_.index(best.previous), model.labels_.index(best.label)
    assert drawn[at] == pytest.approx(best.weight, rel=1e-6)
    assert np.isnan(drawn[model.labels_.index("O"), model.labels_.index("I-PER")])
    with pytest.raises(InputError, match=r"^plot_transitions: "):
        bilstm(head="softmax").plot_transitions()


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
    with pytest.raises(InputError, match=r"^batch_size: "):
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
    with pytest.raises(InputError, match=r"^names: "):
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
    for wrong, place in (
        ([["O"]], r"^known\[0\]: "),
        ([["Q", None, None]], r"^known\[0\]\[0\]: "),
        ([known, known], r"^known: "),
    ):
        with pytest.raises(InputError, match=place):
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
    with pytest.raises(InputError, match=r"^y\[0\]: "):
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
    with pytest.raises(InputError, match=r"^X\[0\]: "):
        model.explain("Anna")


def test_looking_inside() -> None:
    model = bilstm()
    found = model.summary()
    assert sum(found.parameters.values()) == sum(p.numel() for p in model.network_.tagger.parameters())
    assert found.head == "crf"
    assert found.line().startswith("bilstm, 5 labels, ")
    assert "IOB2" in found.text()
    assert json.loads(json.dumps(found.as_dict()))["training"]["sentences"] == 24


CHINESE = ([list("张伟在北京"), list("王芳去上海")] * 4, [["B-PER", "I-PER", "O", "B-LOC", "I-LOC"]] * 8)


def test_settings_at_auto_suit_the_corpus(tmp_path: Path) -> None:
    """Chinese characters have no letters: they get pairs instead. What was set by hand stays."""
    small = {"word_dim": 4, "char_size": 4, "hidden": 4, "epochs": 1, "device": "cpu"}
    english = BiLSTMCRF(**small).fit(*people())
    assert [english.network_.plan[name] for name in FOR_WORDS] == ["cnn", 8, 0]
    chinese = BiLSTMCRF(**small).fit(*CHINESE)
    assert [chinese.network_.plan[name] for name in FOR_WORDS] == [None, 0, 50]
    assert chinese.network_.tagger.encoder.characters is None
    by_hand = BiLSTMCRF(**small, characters="lstm", bigram_dim=0).fit(*CHINESE)
    assert [by_hand.network_.plan[name] for name in FOR_WORDS] == ["lstm", 0, 0]
    for model in (english, chinese):
        assert [model.get_params()[name] for name in FOR_WORDS] == ["auto"] * 3, "fit changes no setting"
    chinese.save(tmp_path / "m.tagline")
    loaded = tagline.load(tmp_path / "m.tagline", device="cpu")
    assert loaded.network_.plan == chinese.network_.plan
    assert loaded.get_params()["characters"] == "auto"
    assert loaded.predict(CHINESE[0]) == chinese.predict(CHINESE[0])
    with pytest.warns(DataWarning, match=r"^y: "):
        again = loaded.set_params(warm_start=True).fit([["a", "b"]], [["O", "O"]])
    assert again.network_.plan["bigram_dim"] == 50, "with warm_start the network is what it was"


def test_auto_is_no_other_setting() -> None:
    with pytest.raises(InputError, match=r"^hidden: "):
        BiLSTMCRF(hidden="auto").check()
    with pytest.raises(InputError, match=r"^bigram_dim: "):
        BiLSTMCRF(bigram_dim="some").check()


def test_long_sentences_are_not_explained() -> None:
    """Gradients of a whole sentence, for each of its words."""
    with pytest.raises(InputError, match=r"sentence: .* up to 256 words.* this one has 257: "):
        bilstm().explain(["Anna"] * 257)
