"""The HMM beside NLTK's: the same tags, probabilities, entropies, estimators and Baum–Welch."""

from __future__ import annotations

import contextlib
import io
import logging
from typing import Any

import numpy as np
import pytest
from nltk.probability import ELEProbDist, MLEProbDist, WittenBellProbDist
from nltk.tag import hmm as theirs
from nltk.tag.api import TaggerI

from tagline.errors import InputError
from tagline.interop.nltk.tag import HiddenMarkovModelTagger, HiddenMarkovModelTrainer
from tests.interop.nltk.sentences import draw, words

TRAINING, TEST = draw(1, 200), draw(2, 100, strange=0.2)


@pytest.fixture(scope="module")
def pair() -> tuple[HiddenMarkovModelTagger, Any]:
    return HiddenMarkovModelTagger.train(TRAINING), theirs.HiddenMarkovModelTagger.train(TRAINING)


def test_tags_are_the_same(pair: tuple[HiddenMarkovModelTagger, Any]) -> None:
    ours, other = pair
    assert ours.tag_sents(words(TEST)) == other.tag_sents(words(TEST))
    assert ours.tag(words(TEST)[0]) == other.tag(words(TEST)[0])
    assert ours.best_path(words(TEST)[1]) == other.best_path(words(TEST)[1])
    assert ours.accuracy(TEST) == other.accuracy(TEST) > 0.8
    assert isinstance(ours, TaggerI)
    assert repr(ours) == repr(theirs.HiddenMarkovModelTagger.train(TRAINING))
    assert ours.tag_sents([]) == []
    assert ours.tag([]) == []


def test_probabilities_and_entropies_are_the_same(pair: tuple[HiddenMarkovModelTagger, Any]) -> None:
    ours, other = pair
    for sentence in TEST[:20]:
        bare = [(word, None) for word, _ in sentence]
        for sequence in (sentence, bare):
            assert ours.log_probability(sequence) == pytest.approx(other.log_probability(sequence), rel=1e-9)
            assert ours.probability(sequence) == pytest.approx(other.probability(sequence), rel=1e-8)
        assert ours.entropy(bare) == pytest.approx(other.entropy(bare), rel=1e-8, abs=1e-8)
        for method in ("point_entropy", "_forward_probability", "_backward_probability"):
            found, expected = (getattr(tagger, method)(bare) for tagger in pair)
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("estimator", [ELEProbDist, WittenBellProbDist])
def test_estimators_of_nltk(estimator: Any) -> None:
    trainers = (HiddenMarkovModelTrainer(), theirs.HiddenMarkovModelTrainer())
    found, expected = (
        trainer.train_supervised(TRAINING, estimator=lambda counts, bins: estimator(counts, bins))
        for trainer in trainers
    )
    assert found.tag_sents(words(TEST)) == expected.tag_sents(words(TEST))
    known = [(word, None) for word, _ in TRAINING[0]]
    assert found.log_probability(known) == pytest.approx(expected.log_probability(known), rel=1e-9)


def test_relative_frequencies_are_the_default_of_the_trainer() -> None:
    found = HiddenMarkovModelTrainer().train_supervised(TRAINING)
    expected = theirs.HiddenMarkovModelTrainer().train_supervised(TRAINING, lambda counts, bins: MLEProbDist(counts))
    sentences = words(draw(3, 50))  # words that training has: others are impossible
    with np.errstate(over="ignore"):  # of NLTK's, which writes impossible as -1e300 in float32
        assert found.tag_sents(sentences) == expected.tag_sents(sentences)
    # A sentence without a possible path is tagged, too: with as few impossible steps as there can be.
    assert [tag for _, tag in found.tag(["the", "talker", "sees", "the", "dog"])] == ["D", "N", "V", "D", "N"]


def test_distributions_of_nltk_make_a_tagger(pair: tuple[HiddenMarkovModelTagger, Any]) -> None:
    _, other = pair
    parts = (other._symbols, other._states, other._transitions, other._outputs, other._priors)
    ours = HiddenMarkovModelTagger(*parts)
    assert ours.tag_sents(words(TEST)) == other.tag_sents(words(TEST))


@pytest.mark.parametrize("update_outputs", [True, False])
def test_baum_welch_is_the_same(update_outputs: bool) -> None:
    plain = [[(word, None) for word, _ in sentence] for sentence in draw(5, 30)]
    with contextlib.redirect_stdout(io.StringIO()):  # NLTK's prints each iteration
        expected = theirs.HiddenMarkovModelTrainer().train_unsupervised(
            plain, update_outputs, model=theirs.HiddenMarkovModelTagger.train(TRAINING), max_iterations=3
        )
    trainer = HiddenMarkovModelTrainer()
    model = HiddenMarkovModelTagger.train(TRAINING)
    found = trainer.train_unsupervised(plain, update_outputs, model=model, max_iterations=3)
    for state in expected._states:
        for other in expected._states:
            assert found._transitions[state].prob(other) == pytest.approx(
                expected._transitions[state].prob(other), rel=1e-5, abs=1e-9
            )
        assert found._outputs[state].prob("dog") == pytest.approx(
            expected._outputs[state].prob("dog"), rel=1e-5, abs=1e-9
        )


def test_training_from_nothing_and_from_both() -> None:
    plain = words(draw(6, 20))
    trainer = HiddenMarkovModelTrainer(["x", "y"], sorted({word for sentence in plain for word in sentence}))
    assert set(trainer.train(unlabeled_sequences=plain, max_iterations=2).best_path(plain[0])) <= {"x", "y"}
    both = HiddenMarkovModelTrainer().train(TRAINING, words(TRAINING)[:20], max_iterations=2)
    assert both.accuracy(TRAINING) > 0.7
    assert HiddenMarkovModelTagger.train(TRAINING, unlabeled_sequence=words(TRAINING)[:20]).accuracy(TRAINING) > 0.7


def test_the_transform_is_applied() -> None:
    def lower(sentence: Any) -> Any:
        return [(item[0].lower(), item[1]) if isinstance(item, tuple) else item.lower() for item in sentence]

    tagger = HiddenMarkovModelTagger.train(TRAINING, transform=lower)
    assert tagger.tag(["THE", "DOG", "SEES"]) == [("the", "D"), ("dog", "N"), ("sees", "V")]


def test_accuracy_on_a_test_set_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        HiddenMarkovModelTagger.train(TRAINING, TEST, verbose=True)
    assert "accuracy over" in caplog.text
    assert "the/D" in caplog.text


def test_wrong_input_is_named() -> None:
    with pytest.raises(InputError, match=r"^sentence 0, token 1: "):
        HiddenMarkovModelTagger.train([[("a", "X"), "b"]])
    with pytest.raises(InputError, match=r"^labelled sentences: "):
        HiddenMarkovModelTagger.train([])
    with pytest.raises(InputError, match=r"^labeled_sequences, unlabeled_sequences: "):
        HiddenMarkovModelTrainer().train()
    with pytest.raises(InputError, match=r"^states, symbols: "):
        HiddenMarkovModelTrainer().train_unsupervised([["a"]])
    with pytest.raises(TypeError, match="list of tokens"):
        HiddenMarkovModelTagger.train(TRAINING).tag("the dog")
