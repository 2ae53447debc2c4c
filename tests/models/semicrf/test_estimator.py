"""`SemiCRF`: answers against the enumeration of its segments, files, settings, the command line."""

from __future__ import annotations

import contextlib
import copy
import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import Corpus, Dictionary, InputError, SemiCRF, chain, storage
from tagline.cli import main
from tagline.errors import TaglineError
from tagline.models.files import loads
from tests.chain.segments.enumeration import AllSegmentations

X = [["Ann", "Lee", "of", "New", "York"], ["New", "York", "City", "wins"], ["Ann", "sees", "Lee"], ["York", "wins"]] * 3
Y = [
    ["B-PER", "I-PER", "O", "B-LOC", "I-LOC"],
    ["B-LOC", "I-LOC", "I-LOC", "O"],
    ["B-PER", "O", "B-PER"],
    ["B-LOC", "O"],
] * 3
NEW = [["Lee", "of", "New", "York"], [], ["Ann", "Lee", "City", "wins"]]
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]\n"


@pytest.fixture(scope="module")
def model() -> SemiCRF:
    return SemiCRF(TEMPLATE, c2=0.3, scheme="IOB2").fit(X, Y)


def labellings(model: SemiCRF, sentence: list[str], known: Any = None) -> dict[tuple[str, ...], float]:
    """All labellings of a sentence with their probabilities, from the scores of its segments."""
    block = next(iter(model.segment_chains([sentence], known=known)))
    oracle, tags, out = AllSegmentations(block), model.parameters_.tags, {}
    for (way, _), p in zip(oracle.ways, oracle.probabilities, strict=True):
        row: list[str] = []
        for first, last, label in way:
            kind = tags.types[label]
            row += ["O"] if kind == "O" else [f"B-{kind}"] + [f"I-{kind}"] * (last - first - 1)
        out[tuple(row)] = p
    return out


def test_answers_are_sums_over_all_labellings(model: SemiCRF) -> None:
    known = [[None, {"O", "B-LOC", "I-PER"}, None, "I-LOC"], [], None]
    for given in (None, known):
        ranked = model.predict_k_best(NEW, 6, known=given)
        nodes, entities = model.predict_marginals(NEW, known=given), model.predict_spans(NEW, known=given)
        entropy = model.entropy(NEW, known=given)
        for b in (0, 2):
            truth = labellings(model, NEW[b], None if given is None else [given[b]])
            best = sorted(truth.items(), key=lambda pair: -pair[1])
            assert tuple(model.predict(NEW, known=given)[b]) == best[0][0]
            assert [tuple(way.labels) for way in ranked[b]] == [row for row, _ in best[:6]]
            np.testing.assert_allclose([way.probability for way in ranked[b]], [p for _, p in best[:6]], rtol=1e-9)
            assert entropy[b] == pytest.approx(-sum(p * np.log(p) for p in truth.values()), abs=1e-9)
            for t, label in itertools.product(range(len(NEW[b])), model.labels_):
                expected = sum(p for row, p in truth.items() if row[t] == label)
                assert nodes[b][t][label] == pytest.approx(expected, abs=1e-9)
            for entity in entities[b]:
                inside = [f"B-{entity.type}"] + [f"I-{entity.type}"] * (entity.end - entity.start - 1)
                expected = sum(
                    p
                    for row, p in truth.items()
                    if list(row[entity.start : entity.end]) == inside
                    and (entity.end == len(row) or row[entity.end] != f"I-{entity.type}")
                )
                assert entity.probability == pytest.approx(expected, abs=1e-9)


def test_log_likelihood_and_samples(model: SemiCRF) -> None:
    truth = labellings(model, NEW[0])
    log_p = model.log_likelihood([NEW[0]] * len(truth), [list(row) for row in truth])
    np.testing.assert_allclose(np.exp(log_p), list(truth.values()), rtol=1e-9)
    assert model.log_likelihood([NEW[0]], [["I-PER", "O", "O", "O"]])[0] == -np.inf
    drawn = model.predict_samples([NEW[0]], 400, seed=1)[0]
    best = max(truth, key=lambda row: truth[row])
    assert abs(drawn.count(list(best)) / 400 - truth[best]) < 5 * np.sqrt(truth[best] * (1 - truth[best]) / 400)


def test_chains_have_the_same_distribution(model: SemiCRF) -> None:
    for sentence, states in zip(NEW, model.chains(NEW), strict=True):
        assert chain.log_partition(states)[0] == pytest.approx(model.log_likelihood([sentence])[0], abs=1e-9)
        if sentence:
            nodes = np.zeros((len(sentence), len(model.labels_)))
            np.add.at(nodes.T, states.labels, chain.marginals(states).nodes.T)
            np.testing.assert_allclose(nodes, model.marginal_arrays([sentence])[0], rtol=0, atol=1e-9)


def test_training_lowers_the_objective_and_scores(model: SemiCRF) -> None:
    assert model.score(X, Y) == 1.0
    assert model.evaluate(X, Y).spans.f1 == 1.0
    assert model.labels_ == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
    assert model.segment_labels_ == ["LOC", "PER", "O"]
    assert model.max_length_ == 3
    objectives = [done.objective for done in model.training_log_]
    assert all(after <= before + 1e-6 for before, after in itertools.pairwise(objectives))
    assert model.stop_reason_.startswith("converged")
    assert "New York" in model.tag("Ann of New York").entities[-1].text  # type: ignore[operator]


def test_types_have_all_their_tags() -> None:
    model = SemiCRF(TEMPLATE, scheme="BIOES").fit([["a", "b"]], [["S-X", "O"]])
    assert model.labels_ == ["B-X", "E-X", "I-X", "O", "S-X"]
    assert model.max_length_ == 1


def test_words_without_types() -> None:
    train = Corpus.from_sentences([(list("我爱北京"), list("SSBE")), (list("北京人爱北京"), list("BESSBE"))] * 4)
    model = SemiCRF("segmentation", scheme="BMES-words", c2=0.1).fit(train)
    assert model.segment_labels_ == [""]
    assert model.predict([list("北京爱人")])[0] == list("BESS")


def test_long_segments_are_cut_and_a_note_says_so() -> None:
    model = SemiCRF(TEMPLATE, max_length=2, scheme="IOB2").fit([["a", "b", "c", "d"]], [["B-X", "I-X", "I-X", "O"]])
    assert model.notes_ == ["cut 1 segments of more than 2 tokens, the first in sentence 0"]
    assert all(len(row) == 4 for row in model.predict([["a", "b", "c", "d"]]))
    assert model.log_likelihood([["a", "b", "c", "d"]], [["B-X", "I-X", "I-X", "O"]])[0] == -np.inf


def test_partial_labels_and_weights_teach() -> None:
    partial = Y[:4] + [[None if t % 3 == 1 else label for t, label in enumerate(row)] for row in Y[4:]]
    model = SemiCRF(TEMPLATE, scheme="IOB2", c2=0.1, max_length=3).fit(X, partial)
    assert model.score(X, Y) == 1.0
    weighed = SemiCRF(TEMPLATE, c2=0.3, segment_features=("length", "string")).fit(
        X[:4], Y[:4], sample_weight=[2, 1, 1, 1]
    )
    doubled = SemiCRF(TEMPLATE, c2=0.3, segment_features=("length", "string")).fit(X[:4] + X[:1], Y[:4] + Y[:1])
    assert weighed.objective_ == pytest.approx(doubled.objective_, rel=1e-3)


def test_a_dictionary_is_a_feature() -> None:
    places = Dictionary({"Rio Verde": "LOC", "New York": "LOC"})
    model = SemiCRF(TEMPLATE, c2=0.01, dictionary=places).fit(X, Y)
    plain = SemiCRF(TEMPLATE, c2=0.01).fit(X, Y)
    sentence = [["sees", "Rio", "Verde"]]
    with_match, without = (m.log_likelihood(sentence, [["O", "B-LOC", "I-LOC"]])[0] for m in (model, plain))
    assert with_match > without
    assert "dictionary:LOC" in model.parameters_.names.names


def test_explanations_name_segments(model: SemiCRF) -> None:
    explanation = model.explain(["Ann", "Lee", "wins"])
    assert explanation.labels == model.predict([["Ann", "Lee", "wins"]])[0]
    names = {term.name.partition(":")[0] for token in explanation.tokens for term in token.contributions}
    assert {"U00", "length", "lexicon", "string"} <= names


def test_explanations_add_up_to_the_margin(model: SemiCRF) -> None:
    for sentence, known in ((NEW[0], None), (NEW[2], None), (NEW[2], [None, "I-PER", None, None])):
        truth = labellings(model, sentence, None if known is None else [known])
        best = max(truth, key=lambda row: truth[row])
        for t, token in enumerate(model.explain(sentence, known=known).tokens):
            others = {row: p for row, p in truth.items() if row[t] != best[t]}
            rival = max(others, key=lambda row: others[row]) if others else None
            assert (token.label, token.runner_up) == (best[t], rival and rival[t])
            assert token.probability == pytest.approx(sum(p for row, p in truth.items() if row[t] == best[t]))
            if rival is not None:
                margin = np.log(truth[best] / truth[rival])
                assert sum(term.amount for term in token.contributions) == pytest.approx(margin, abs=1e-9)


def test_long_segments_are_explained_too_but_are_no_first_order_chain() -> None:
    model = SemiCRF(TEMPLATE, scheme="IOB2", max_length=400, max_iterations=3).fit(X, Y)
    assert len(model.explain(["Ann"] * 100).tokens) == 100
    with pytest.raises(InputError, match=r"^max_length: .* GiB"):
        next(model.chains([["Ann"] * 400]))


def test_a_summary_says_what_was_learned(model: SemiCRF) -> None:
    shown = model.summary()
    assert shown.scheme == "IOB2"
    assert "segments of up to 3 tokens: length, lexicon, string" in shown.text()
    assert shown.weights["segments"] > 0
    assert shown.active == sum(shown.weights.values())


def test_dev_score_and_patience() -> None:
    model = SemiCRF(TEMPLATE, c2=0.3, patience=2, max_iterations=30).fit(X, Y, X_dev=X[:4], y_dev=Y[:4])
    assert model.best_pass_ is not None
    assert model.best_pass_.dev_score == 1.0
    assert model.kept_pass_ is model.best_pass_
    assert len(model.training_log_) == model.best_pass_.number + 2


def test_the_command_line_trains_and_tags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["\n".join(map(" ".join, zip(*pair, strict=True))) for pair in zip(X, Y, strict=True)]
    file, path = tmp_path / "train.txt", tmp_path / "model.tagline"
    file.write_text("\n\n".join(rows) + "\n", encoding="utf-8")
    for words in (
        ["train", file, "-o", path, "--model", "semicrf", "--max-length", 4, "--max-iterations", 10],
        ["tag", "-m", path, file, "--spans"],
    ):
        monkeypatched = ["tagline", *map(str, words)]
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(SystemExit):
            patch.setattr("sys.argv", monkeypatched)
            main()
    assert tagline.load(path).max_length_ == 4
    assert "LOC" in capsys.readouterr().out


def test_files_keep_everything(model: SemiCRF, tmp_path: Path) -> None:
    path = tmp_path / "model.tagline"
    model.save(path)
    for other in (tagline.load(path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert isinstance(other, SemiCRF)
        np.testing.assert_array_equal(
            np.concatenate(other.marginal_arrays(NEW)), np.concatenate(model.marginal_arrays(NEW))
        )
        assert other.predict_spans(NEW) == model.predict_spans(NEW)
        assert other.to_bytes() == model.to_bytes()
    places = Dictionary({"New York": "LOC"})
    SemiCRF(TEMPLATE, dictionary=places).fit(X, Y).save(path)
    assert tagline.load(path).dictionary.entries() == places.entries()


def test_functions_of_features_stay_outside(tmp_path: Path) -> None:
    def words(sentence: Any) -> list[dict[str, Any]]:
        return [{"word": word, "length": float(len(word))} for word in sentence]

    model = SemiCRF(words, c2=0.3).fit(X, Y)
    path = tmp_path / "model.tagline"
    model.save(path)
    with pytest.raises(InputError, match=r"^features: "):
        tagline.load(path).predict(NEW)
    assert tagline.load(path, features=words).predict(NEW) == model.predict(NEW)


def test_no_changed_bit_breaks_more_than_the_model() -> None:
    small = SemiCRF("U00:%x[0,0]", scheme="IOB2", segment_features=("length", "lexicon", "string")).fit(X[:1], Y[:1])
    good = small.to_bytes()
    rng = np.random.default_rng(0)
    for cut in rng.integers(0, len(good), 40):
        with pytest.raises(TaglineError):
            loads(good[:cut])
    for bit in rng.integers(0, 8 * len(good), 600):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(TaglineError):
            file = storage.loads(bytes(damaged), verify=False)
            rows = SemiCRF.from_file(file).predict(NEW)
            assert [len(row) for row in rows] == [4, 0, 4]


def test_settings_are_checked() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"segment_features": ("size",)}, "segment_features: expected some of length, lexicon"),
        ({"max_length": 0}, "max_length: expected .* 1000.*, got 0"),
        ({"c2": -1}, "c2: expected a number of 0 or more"),
        ({"scheme": None}, 'scheme: expected "auto" or the name'),
        ({"scheme": "IOB1"}, "scheme: expected one whose tags tell where each segment begins"),
        ({"features": None}, "features: expected a template or a function"),
        ({"features": "U00:%x[0,0]\nB00:%x[0,0]"}, "features: expected a template without attributes of label pairs"),
        (
            {"dictionary": Dictionary({"a": "X"}, priority="over")},
            r"^dictionary: ",
        ),
        ({"patience": 0}, r"^patience: "),
        ({"algorithm": "sgd"}, r"^algorithm: "),
    ]
    for settings, place in cases:
        with pytest.raises(InputError, match=place):
            SemiCRF(**{"features": TEMPLATE, **settings}).fit(X, Y)
    for empty in ([], [[], []]):
        with pytest.raises(InputError, match=r"^y: "):
            SemiCRF(TEMPLATE).fit(empty, empty)
    SemiCRF(TEMPLATE, random_state=None, max_iterations=1).fit(X, Y)
    with pytest.raises(InputError, match=r"^y: "):
        SemiCRF(TEMPLATE).fit([["a", "b"]], [["DT", "NN"]])


def test_the_same_bytes_for_any_number_of_threads() -> None:
    before, files = tagline.threads(), []
    for count in (1, 3):
        tagline.set_threads(count)
        files.append(storage.loads(SemiCRF(TEMPLATE, max_iterations=8).fit(X * 20, Y * 20).to_bytes()).tensors)
    tagline.set_threads(before)
    assert {name: array.tobytes() for name, array in files[0].items()} == {
        name: array.tobytes() for name, array in files[1].items()
    }
