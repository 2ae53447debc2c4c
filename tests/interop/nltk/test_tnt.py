"""The trigram tagger beside NLTK's: nearly the same tags, and the same behaviour around them."""

from __future__ import annotations

import pickle
from typing import Any

import nltk.tag.tnt
import pytest
from nltk.tag import DefaultTagger
from nltk.tag.api import TaggerI

from tagline.errors import InputError
from tagline.interop.nltk.tag import TnT
from tests.interop.nltk.sentences import draw, words

TRAINING, TEST = draw(1, 300), draw(2, 150, strange=0.2)


def trained(kind: Any = TnT, **settings: Any) -> Any:
    tagger = kind(**settings)
    tagger.train(TRAINING)
    return tagger


@pytest.mark.parametrize("capitals", [False, True])
def test_tags_are_nearly_the_same(capitals: bool) -> None:
    """They differ where NLTK's beam, or our list of candidates for unknown words, leaves something out."""
    ours, theirs = trained(C=capitals), trained(nltk.tag.tnt.TnT, C=capitals)
    found, expected = (tagger.tag_sents(words(TEST)) for tagger in (ours, theirs))
    pairs = [pair for one, two in zip(found, expected, strict=True) for pair in zip(one, two, strict=True)]
    assert sum(one == two for one, two in pairs) / len(pairs) > 0.99
    assert ours.accuracy(TEST) >= theirs.accuracy(TEST) - 0.005
    assert isinstance(ours, TaggerI)


def test_every_way_to_tag_gives_the_same() -> None:
    tagger = trained()
    expected = tagger.tag_sents(words(TEST))
    assert tagger.tagdata(words(TEST)) == expected
    assert [tagger.tag(tokens) for tokens in words(TEST)] == expected
    assert pickle.loads(pickle.dumps(tagger)).tag_sents(words(TEST)) == expected
    joined = [token for tokens in words(TEST)[:5] for token in tokens]
    assert tagger.tag(joined, segment=True) == [pair for sentence in expected[:5] for pair in sentence]
    assert tagger.tagdata([joined], segment=True) == [tagger.tag(joined, segment=True)]
    assert tagger.tag_sents([[], ["the"]]) == [[], [("the", "D")]]
    assert tagger.model.predict_marginals([["the"]])[0][0]["D"] > 0.9


def test_words_are_counted() -> None:
    tagger = trained()
    tagger.tag(["the", "talker"])
    assert (tagger.known, tagger.unknown) == (1, 1)


class Asked:
    """A tagger that notes what it is asked."""

    def __init__(self, tag: str) -> None:
        self.answer, self.lessons, self.questions = tag, 0, 0

    def train(self, _: Any) -> None:
        self.lessons += 1

    def tag(self, tokens: list[str]) -> list[tuple[str, str]]:
        self.questions += 1
        return [(token, self.answer) for token in tokens]


@pytest.mark.parametrize("tag", ["J", "never seen"])
def test_another_tagger_for_unknown_words(tag: str) -> None:
    unk = Asked(tag)
    tagger = trained(unk=unk)
    assert tagger.tag(["the", "zzz", "zzz", "dog"]) == [("the", "D"), ("zzz", tag), ("zzz", tag), ("dog", "N")]
    assert (unk.lessons, unk.questions) == (1, 2)
    tagger.train(TRAINING)
    assert unk.lessons == 1
    assert trained(unk=DefaultTagger("J"), Trained=True).tag(["zzz"]) == [("zzz", "J")]


def test_untrained() -> None:
    assert TnT().tag(["a"]) == [("a", "Unk")]
    tagger = trained()
    tagger.train([[]])
    assert tagger.tag(["the"]) == [("the", "Unk")]


def test_wrong_input_is_named() -> None:
    for wrong in (0, -1, 0.5, True, "1000", None):
        with pytest.raises(InputError, match=r"^N: "):
            TnT(N=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="list of tokens"):
        trained().tag("the dog")
    with pytest.raises(TypeError, match=r"tagdata\(\) expects a list of tokenized sentences"):
        trained().tagdata("the dog")
    with pytest.raises(InputError, match=r"^data, sentence 1, token 0: "):
        TnT().train([[("a", "X")], ["b"]])  # type: ignore[list-item]

    class Silent(Asked):
        def tag(self, tokens: list[str]) -> list[tuple[str, str]]:
            return []

    with pytest.raises(InputError, match=r"^unk: "):
        trained(unk=Silent("x")).tag(["zzz"])
