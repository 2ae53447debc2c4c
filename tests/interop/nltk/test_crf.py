"""The CRF beside NLTK's: the same features, and files that each of the two reads of the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import nltk.data
import pytest
from nltk.tag import crf as theirs
from nltk.tag.api import TaggerI

from tagline.interop.nltk.tag import CRFTagger
from tests.interop.nltk.sentences import draw, words

TRAINING, TEST = draw(1, 100), draw(2, 50, strange=0.2)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that NLTK writes to: it keeps to those of its data."""
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path), *nltk.data.path])
    return tmp_path


def trained(kind: Any, path: Path, **settings: Any) -> Any:
    tagger = kind(**settings)
    tagger.train(TRAINING, str(path))
    return tagger


def test_features_are_the_same(folder: Path) -> None:
    ours, other = CRFTagger(), theirs.CRFTagger()
    for word in ("University", "A1", "...", "", "x", "ab", "«»", "3.5", "中国人民", "O'Neill", "a_b", "$"):
        assert ours._get_features([word], 0) == other._get_features([word], 0)
    ours.clear_feature_cache()
    assert ours._feature_cache == {}


def test_each_reads_the_file_of_the_other(folder: Path) -> None:
    ours, other = trained(CRFTagger, folder / "ours.crf"), trained(theirs.CRFTagger, folder / "theirs.crf")
    expected = other.tag_sents(words(TEST))
    reader = CRFTagger()
    reader.set_model_file(folder / "theirs.crf")
    assert reader.tag_sents(words(TEST)) == expected
    back = theirs.CRFTagger()
    back.set_model_file(str(folder / "ours.crf"))
    assert back.tag_sents(words(TEST)) == ours.tag_sents(words(TEST)) == expected  # both are at the optimum
    assert ours.accuracy(TEST) == other.accuracy(TEST) > 0.8
    assert isinstance(ours, TaggerI)
    assert ours.tag(words(TEST)[0]) == expected[0]
    assert ours.tag_sents([[]]) == [[]]


def test_features_and_options_of_ones_own(folder: Path) -> None:
    def features(tokens: Any, number: int) -> list[str]:
        return [f"w={tokens[number]}", f"before={tokens[number - 1] if number else '-'}"]

    options = {"c1": 0.5, "max_iterations": 20}
    tagger = trained(CRFTagger, folder / "m.crf", feature_func=features, training_opt=options)
    assert options == {"c1": 0.5, "max_iterations": 20}
    assert tagger.accuracy(TRAINING) > 0.9
    assert tagger._feature_cache == {}


def test_wrong_input_is_named(folder: Path) -> None:
    tagger = CRFTagger()
    with pytest.raises(RuntimeError, match="No model file set"):
        tagger.tag(["the"])
    with pytest.raises(TypeError, match="list of tokens"):
        tagger.tag("the dog")
    for wrong in ("the dog", b"the", ["the", "dog"]):
        with pytest.raises(TypeError, match="tokenized sentences"):
            tagger.tag_sents(wrong)
    with pytest.raises(TypeError, match="both 'sentences' and 'sents'"):
        tagger.tag_sents([["a"]], sents=[["a"]])
    with pytest.raises(TypeError, match="unexpected keyword"):
        tagger.tag_sents([["a"]], extra=1)
    with pytest.warns(DeprecationWarning, match="sents="), pytest.raises(RuntimeError, match="No model file"):
        tagger.tag_sents(sents=[["a"]])
    with pytest.raises(ValueError, match=r"^train_data, sentence 0, token 0: "):
        tagger.train([["the"]], folder / "m.crf")  # type: ignore[list-item]


PROGRAM = """
import sys
sys.modules["nltk"] = None  # as where it is not installed
from tagline.interop.nltk.tag import HiddenMarkovModelTagger, TnT
data = [[("the", "D"), ("dog", "N")], [("a", "D"), ("cat", "N")]]
tagger = TnT()
tagger.train(data)
assert tagger.accuracy(data) == 1.0
hmm = HiddenMarkovModelTagger.train(data)
assert hmm.tag_sents([["the", "cat"]]) == [[("the", "D"), ("cat", "N")]]
assert hmm.accuracy(data) == 1.0
"""


def test_they_work_without_nltk() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
