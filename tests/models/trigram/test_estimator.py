"""The trigram tagger, against a plain one of dictionaries, and among scikit-learn's tools."""

from __future__ import annotations

import copy
import math
import os
import pickle
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict

import tagline
from tagline import Corpus, InputError, TrigramTagger
from tagline.readers import read_columns

from ..corpora import tagged

STRANGE = [["the", "Cats", "singing"], [], ["Zürich", "", "dog", "\ud800", "中文"], ["Anna"]]


class PlainTagger:
    """Brants' formulas word by word, and every labelling tried."""

    def __init__(self, X: list[list[str]], y: list[list[str]], capitals: bool, rare: int, longest: int) -> None:
        self.tags = sorted({tag for tags in y for tag in tags})
        words = [word for sentence in X for word in sentence]
        cases = {word[:1].isupper() for word in words}
        self.capitals, self.longest = capitals and len(cases) == 2, longest
        self.f: Counter = Counter()
        self.pairs: Counter = Counter()
        for sentence, tags in zip(X, y, strict=True):
            self.pairs.update(zip(sentence, tags, strict=True))
            line = ["|", "|", *(self.state(word, tag) for word, tag in zip(sentence, tags, strict=True)), "|"]
            for t in range(2, len(line) if sentence else 0):
                a, b, c = line[t - 2 : t + 1]
                self.f.update([("abc", a, b, c), ("ab", a, b), ("bc", b, c), ("b", b), ("c", c), "N"])
        self.weights = self.deleted_interpolation()
        self.frequency = Counter(words)
        self.prior = Counter(tag for tags in y for tag in tags)
        total = sum(self.prior.values())
        self.p = {tag: self.prior[tag] / total for tag in self.tags}
        mean = 1 / len(self.tags)
        self.theta = math.sqrt(sum((p - mean) ** 2 for p in self.p.values()) / max(len(self.tags) - 1, 1))
        seldom = [word for word, n in self.frequency.items() if n <= rare]
        self.rare = {case: [word for word in seldom if word[:1].isupper() == case] or seldom for case in (False, True)}

    def state(self, word: str, tag: str) -> Any:
        return (tag, self.capitals and word[:1].isupper())

    def deleted_interpolation(self) -> list[float]:
        f, given = self.f, [1.0, 1.0, 1.0]

        def held_out(part: Any, whole: Any) -> float:
            return (f[part] - 1) / (f[whole] - 1) if f[whole] > 1 else 0.0

        for key in [key for key in f if key[0] == "abc"]:
            _, a, b, c = key
            terms = [held_out(("c", c), "N"), held_out(("bc", b, c), ("b", b)), held_out(key, ("ab", a, b))]
            best = [k for k in range(3) if terms[k] == max(terms)]
            for k in best:
                given[k] += f[key] / len(best)
        return [one / sum(given) for one in given]

    def move(self, a: Any, b: Any, c: Any) -> float:
        (one, two, three), f = self.weights, self.f
        S = len(self.tags) * (1 + self.capitals)
        p, mass = one * (f["c", c] + 1) / (f["N"] + S + 1), one
        if f["b", b]:
            p, mass = p + two * f["bc", b, c] / f["b", b], mass + two
        if f["ab", a, b]:
            p, mass = p + three * f["abc", a, b, c] / f["ab", a, b], mass + three
        return math.log(p / mass)

    def emitted(self, word: str) -> dict[str, float]:
        if word in self.frequency:
            return {
                tag: math.log(self.pairs[word, tag] / self.f["c", self.state(word, tag)])
                for tag in self.tags
                if self.pairs[word, tag]
            }
        p = dict(self.p)
        for m in range(1, min(len(word), self.longest) + 1):
            same = [other for other in self.rare[word[:1].isupper()] if len(other) >= m and other[-m:] == word[-m:]]
            total = sum(self.frequency[other] for other in same)
            if not total:
                break
            for tag in self.tags:
                share = sum(self.pairs[other, tag] for other in same) / total
                p[tag] = (share + self.theta * p[tag]) / (1 + self.theta)
        best = max(p.values())
        return {tag: math.log(p[tag] / self.p[tag]) for tag in self.tags if p[tag] > 0 and p[tag] * 1e9 >= best}

    def labellings(self, sentence: list[str]) -> dict[tuple[str, ...], float]:
        lists = [self.emitted(word) for word in sentence]
        found = {}
        for path in product(*lists):
            line = ["|", "|", *(self.state(*pair) for pair in zip(sentence, path, strict=True)), "|"]
            score = sum(self.move(*line[t - 2 : t + 1]) for t in range(2, len(line)))
            found[path] = score + sum(scores[tag] for scores, tag in zip(lists, path, strict=True))
        return found


@pytest.mark.parametrize("capitals", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@given(seed=st.integers(0, 2**32), rare=st.sampled_from([0, 2, 10]), longest=st.sampled_from([0, 1, 3, 10]))
@settings(max_examples=12)
def test_a_plain_tagger_agrees(capitals: bool, lower: bool, seed: int, rare: int, longest: int) -> None:
    X, y = tagged(seed, 12, 0.3)
    if lower:
        X = [[word.lower() for word in sentence] for sentence in X]
    plain = PlainTagger(X, y, capitals, rare, longest)
    model = TrigramTagger(capitals=capitals, rare=rare, longest_ending=longest, ratio=1e9).fit(X, y)
    np.testing.assert_allclose(model.weights_, plain.weights, rtol=1e-12)
    rng = np.random.default_rng(seed)
    words = sorted({*plain.frequency, "Sees", "dogs", "Rings", "Zürich", "xyz", "", "中"})
    for _ in range(5):
        sentence = [str(word) for word in rng.choice(words, rng.integers(1, 4))]
        found = plain.labellings(sentence)
        log_z = math.log(sum(math.exp(score) for score in found.values()))
        assert model.log_likelihood([sentence])[0] == pytest.approx(log_z, rel=1e-5, abs=1e-4)
        best = model.predict_single(sentence)
        assert found[tuple(best)] == pytest.approx(max(found.values()), rel=1e-5, abs=1e-4)
        for one in model.predict_k_best([sentence], 3)[0]:
            assert one.probability == pytest.approx(math.exp(found[tuple(one.labels)] - log_z), rel=1e-3, abs=1e-6)


@pytest.fixture(scope="module")
def fitted() -> TrigramTagger:
    return TrigramTagger().fit(*tagged())


def test_every_form_of_input_has_the_same_answers(fitted: TrigramTagger) -> None:
    X, y = tagged()
    corpus = Corpus.from_sentences(zip(X, y, strict=True))
    wanted = fitted.predict(X)
    assert fitted.predict(corpus) == wanted
    assert fitted.predict(list(corpus)) == wanted
    assert fitted.predict(tuple(map(tuple, X))) == wanted
    assert fitted.predict(iter(X)) == wanted
    assert fitted.predict([[(word, "other") for word in sentence] for sentence in X]) == wanted
    assert [fitted.predict_single(sentence) for sentence in X] == wanted
    assert fitted.predict([]) == []
    again = TrigramTagger().fit(corpus)
    assert again.predict(X) == wanted
    part = TrigramTagger().fit(corpus[:10])  # shares the vocabulary of the whole
    assert len(part.parameters_.words) == len({word for sentence in X[:10] for word in sentence})


def test_strange_words(fitted: TrigramTagger) -> None:
    found = fitted.predict(STRANGE)
    assert [len(row) for row in found] == [3, 0, 5, 1]
    states, _ = fitted.parameters_.trigrams.best(*fitted._question(STRANGE, None).arguments)
    assert [fitted.parameters_.names[state] for state in states] == [tag for row in found for tag in row]
    for row, nodes in zip(found, fitted.marginal_arrays(STRANGE), strict=True):
        assert nodes.shape == (len(row), 4)
        np.testing.assert_allclose(nodes.sum(axis=1), 1, rtol=1e-9)


def test_marginals_are_those_of_all_labellings(fitted: TrigramTagger) -> None:
    X = [["the", "Bob", "sees"], ["Dogs", "in"]]
    for sentence, nodes, told in zip(X, fitted.marginal_arrays(X), fitted.predict_marginals(X), strict=True):
        everything = fitted.predict_k_best([sentence], 10_000)[0]
        assert sum(one.probability for one in everything) == pytest.approx(1, rel=1e-9)
        for t in range(len(sentence)):
            for j, label in enumerate(fitted.labels_):
                wanted = sum(one.probability for one in everything if one.labels[t] == label)
                assert nodes[t, j] == pytest.approx(wanted, rel=1e-9, abs=1e-12)
                assert told[t][label] == nodes[t, j]
        entropy = -sum(one.probability * math.log(one.probability) for one in everything)
        assert fitted.entropy([sentence])[0] == pytest.approx(entropy, rel=1e-9)
        y = [one.labels for one in everything]
        np.testing.assert_allclose(
            fitted.log_likelihood([sentence] * len(y), y), [math.log(one.probability) for one in everything], rtol=1e-9
        )


def test_impossible_and_partly_known_labels(fitted: TrigramTagger) -> None:
    X = [["the", "cat"]]
    candidates = fitted.marginal_arrays(X)[0] > 0
    impossible = fitted.labels_[int(np.flatnonzero(~candidates[0])[0])] if not candidates[0].all() else None
    if impossible is not None:
        assert fitted.log_likelihood(X, [[impossible, None]])[0] == -math.inf
        assert fitted.predict(X, known=[[impossible, None]])[0][0] == impossible
    assert fitted.log_likelihood(X, [[None, None]])[0] == pytest.approx(0, abs=1e-12)
    p = fitted.predict_marginals(X)[0][1]["N"]
    assert fitted.log_likelihood(X, [[None, "N"]])[0] == pytest.approx(math.log(p), rel=1e-9)


def test_known_tags_are_kept() -> None:
    model = TrigramTagger().fit([["the", "Cat", "sings"], ["a", "dog"]], [["D", "N", "V"], ["D", "N"]])
    X = [["the", "Cat", "Zürich"], ["a"]]
    for tags in product(model.labels_, repeat=3):
        assert model.predict(X, known=[list(tags), None])[0] == list(tags)
    some = model.predict(X, known=[[{"N", "V"}, None, {"D"}], [None]])
    assert some[0][0] in "NV"
    assert some[0][2] == "D"
    assert model.marginal_arrays(X, known=[[None, "V", None], None])[0][1].tolist() == [0, 0, 1]
    drawn = model.predict_samples(X, 20, seed=1, known=[["V", None, None], None])
    assert {row[0] for row in drawn[0]} == {"V"}
    with pytest.raises(InputError, match=r"^known: "):
        model.predict(X, known=[None])
    with pytest.raises(InputError, match=r"^known\[0\]\[0\]: "):
        model.predict(X, known=[["X", None, None], None])


def test_samples_follow_the_model(fitted: TrigramTagger) -> None:
    X = [["the", "Bob", "sees"], []]
    drawn = fitted.predict_samples(X, 4000, seed=3)
    assert drawn == fitted.predict_samples(X, 4000, seed=3)
    assert drawn[1] == [[]] * 4000
    for t, row in enumerate(fitted.predict_marginals(X)[0]):
        for label, p in row.items():
            share = np.mean([sample[t] == label for sample in drawn[0]])
            assert share == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / 4000) + 1e-9)


def test_a_summary(fitted: TrigramTagger) -> None:
    found = fitted.summary()
    assert found.labels == ["D", "N", "P", "V"]
    assert (found.words, found.capitals) == (10, True)
    assert found.as_dict()["weights"] == fitted.weights_.tolist()
    assert found.line().startswith("4 labels, 10 words, ")
    assert "labels      4: D N P V\nwords       10\n" in found.text()
    assert sorted(fitted.known_tokens()) == sorted(fitted.parameters_.words)


def test_score_and_evaluate() -> None:
    X, y = tagged(5, 200, 0.0)
    model = TrigramTagger().fit(X, y)
    assert model.score(X, y) == 1.0
    report = model.evaluate(Corpus.from_sentences(zip(X, y, strict=True)))
    assert report.tokens.accuracy == 1.0


@pytest.mark.parametrize(
    ("settings", "X", "y", "place"),
    [
        ({}, [["a"]], None, "y: expected a list of labels"),
        ({}, [["a"]], [["N", "V"]], r"y\[0\]: expected 1 labels"),
        ({}, [["a", "b"]], [["N", None]], r"y\[0\]\[1\]: expected a tag, for a trigram tagger counts them, got None"),
        ({}, [["a"]], [[{"N", "V"}]], r"y\[0\]\[0\]: expected a tag"),
        ({}, [[]], [[]], "y: expected at least one sentence with a known label, got none"),
        ({}, "abc", [["N"]], "X: expected a Corpus or a list of sentences, got str"),
        ({}, ["abc"], [["N"]], r"X\[0\]: expected a sentence, a list of tokens"),
        ({}, [[{"word": "a"}]], [["N"]], r"X\[0\]: expected tokens"),
        ({"rare": -1}, [["a"]], [["N"]], "rare: expected a whole number of 0 or more, got -1"),
        ({"rare": True}, [["a"]], [["N"]], "rare: expected a whole number"),
        ({"longest_ending": 1.5}, [["a"]], [["N"]], "longest_ending: expected a whole number of 0 or more, got 1.5"),
        ({"ratio": 0.5}, [["a"]], [["N"]], "ratio: expected a number .*, got 0.5"),
        ({"ratio": math.nan}, [["a"]], [["N"]], "ratio: expected a number .*, got nan"),
        ({"ratio": math.inf}, [["a"]], [["N"]], "ratio: expected a number .*, got inf"),
    ],
)
def test_what_fit_refuses(settings: dict[str, Any], X: Any, y: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        TrigramTagger(**settings).fit(X, y)


def test_what_questions_refuse(fitted: TrigramTagger) -> None:
    with pytest.raises(InputError, match=r"^predict_spans: "):
        fitted.predict_spans([["a"]])
    with pytest.raises(InputError, match=r"^k: "):
        fitted.predict_k_best([["a"]], 0)
    with pytest.raises(InputError, match=r"^n: "):
        fitted.predict_samples([["a"]], -1)
    for wrong in ("abc", [1], [["a", 1]], 5, [["a", ("b",)]]):
        with pytest.raises(InputError, match=r"^X(\[0\])?: "):
            fitted.predict(wrong)
    with pytest.raises(NotFittedError):
        TrigramTagger().predict([["a"]])


@pytest.mark.parametrize("y", [[["N"]], [["N", "N", "N"]]])
def test_one_tag_one_token(y: list[list[str]]) -> None:
    X = [["a"] * len(y[0])]
    model = TrigramTagger().fit(X, y)
    assert model.predict([["a"], ["B", "c"]]) == [["N"], ["N", "N"]]
    assert model.log_likelihood([["a"]], [["N"]])[0] == pytest.approx(0, abs=1e-12)


def test_a_long_sentence(fitted: TrigramTagger) -> None:
    X = [["the", "Bob", "sees", "strange"] * 5000]
    assert len(fitted.predict(X)[0]) == 20_000
    np.testing.assert_allclose(fitted.marginal_arrays(X)[0].sum(axis=1), 1, rtol=1e-7)


# Among scikit-learn's tools.


def test_clone_search_and_cross_validation() -> None:
    X, y = tagged(1, 60)
    model = TrigramTagger(rare=3)
    assert clone(model).get_params() == model.get_params()
    found = GridSearchCV(model, {"rare": [1, 10], "capitals": [True, False]}, cv=3).fit(X, y)
    assert 0.5 < found.best_score_ <= 1
    assert len(cross_val_predict(model, X, y, cv=3)) == 60


@pytest.mark.parametrize("keep", [pickle.dumps, copy.deepcopy, copy.copy, joblib.dump, "file"])
def test_models_are_kept_whole(fitted: TrigramTagger, keep: Any, tmp_path: Path) -> None:
    path = tmp_path / "模型.tagline"
    if keep == "file":
        fitted.save(path)
        other = tagline.load(path)
        assert fitted.size_ == path.stat().st_size
        assert os.listdir(tmp_path) == [path.name]
    elif keep is joblib.dump:
        joblib.dump(fitted, path)
        other = joblib.load(path)
    else:
        other = keep(fitted)
        other = pickle.loads(other) if isinstance(other, bytes) else other
    assert type(other) is TrigramTagger
    assert other.get_params() == fitted.get_params()
    assert other.training_ == fitted.training_
    assert other.predict(STRANGE) == fitted.predict(STRANGE)
    np.testing.assert_array_equal(other.log_likelihood(STRANGE), fitted.log_likelihood(STRANGE))
    other.save(path)
    fitted.save(tmp_path / "again")
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


def test_fitting_again_forgets(fitted: TrigramTagger) -> None:
    model = copy.deepcopy(fitted).fit([["x"]], [["Y"]])
    assert model.labels_ == ["Y"]
    assert model.predict([["the"]]) == [["Y"]]


@pytest.mark.slow
def test_parts_of_speech_of_english(tmp_path: Path) -> None:
    folder = Path(os.environ.get("TAGLINE_DATA") or Path(__file__).parents[3] / ".." / "shared" / "data" / "")
    if not (folder / "ud_en_ewt").is_dir():
        pytest.skip("no corpus ud_en_ewt; set TAGLINE_DATA")
    train, valid = (read_columns(folder / "ud_en_ewt" / f"{part}.txt") for part in ("train", "valid"))
    model = TrigramTagger().fit(train.tokens, train.sequences("1"))
    assert model.score(valid.tokens, valid.sequences("1")) > 0.924
