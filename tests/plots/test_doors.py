"""One door for each figure: what it is given is what the axes show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from tagline import CRF, HMM, Chain, Corpus, InputError, TrigramTagger, evaluation, plots

from .test_span_pictures import SENTENCES
from .test_trellis import EVIL


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.from_sentences(SENTENCES * 2)


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> CRF:
    return CRF("english_ner", c2=0.5, scheme="auto", max_iterations=5).fit(corpus)


def test_transitions(model: CRF, tmp_path: Path) -> None:
    own = np.asarray(model.plot_transitions().images[0].get_array())
    axes = plots.transitions(model, tmp_path / "transitions.png")
    np.testing.assert_array_equal(np.asarray(axes.images[0].get_array()), own)
    assert (tmp_path / "transitions.png").exists()
    one = Chain([[0.0, 0.0]], [[1.0, 2.0], [3.0, -np.inf]])
    drawn = plots.transitions(one, labels=[EVIL, "b"], ax=Figure().subplots())
    assert np.asarray(drawn.images[0].get_array()).tolist()[0] == [1.0, 2.0]
    with pytest.raises(InputError, match=r"\[L, L\]"):
        plots.transitions(Chain([[0.0]], [[[0.0]]]))
    with pytest.raises(InputError, match="TrigramTagger"):
        plots.transitions(TrigramTagger())


def test_weights_of_an_attribute(model: CRF) -> None:
    feature = model.top_features(1)[0]
    axes = plots.weights(model, feature.attribute)
    truth = {label: w for (name, label), w in model.state_features_.items() if name == feature.attribute and w}
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert dict(zip(names, [float(bar.get_width()) for bar in axes.patches], strict=True)) == pytest.approx(truth)
    with pytest.raises(InputError, match=r"^attribute: .*'nonsense'"):
        plots.weights(model, "nonsense")
    with pytest.raises(InputError, match="TrigramTagger"):
        plots.weights(TrigramTagger(), "a")


def test_top_weights(model: CRF) -> None:
    axes = plots.top_weights(model, "B-PER", n=3)
    widths = [float(bar.get_width()) for bar in axes.patches]
    assert widths[:3] == [feature.weight for feature in model.top_features(3, "B-PER")]
    assert widths == sorted(widths, reverse=True)


def test_explanation(model: CRF) -> None:
    why = model.explain(["Anna", "Smith", "sings"])
    axes = plots.explanation(why, 0, most=3)
    widths = [float(bar.get_width()) for bar in axes.patches]
    assert sum(widths) == pytest.approx(why.tokens[0].margin)
    assert widths[:3] == [term.amount for term in why.tokens[0].contributions[:3]]
    narrow = min(why.tokens, key=lambda token: token.margin)
    assert plots.explanation((model, ["Anna", "Smith", "sings"])).get_title().startswith(f"{narrow.token}: ")
    assert plots.explanation(why.tokens[1]).get_title().startswith("Smith: ")
    for thing, token, place in ((why, 3, r"^token: "), (model, None, r"^why: ")):
        with pytest.raises(InputError, match=place):
            plots.explanation(thing, token)
    sure = model.explain(["Anna"], known=["B-PER"])
    with pytest.raises(InputError, match=r"^why: "):
        plots.explanation(sure)
    with pytest.raises(InputError, match=r"^token 0: "):
        plots.explanation(sure, 0)


def test_evaluations(model: CRF, corpus: Corpus) -> None:
    report = model.evaluate(corpus)
    assert plots.confusion(report).get_title().startswith("10 tokens, accuracy")
    assert plots.confusion([["A", "B"]], [["A", "A"]]).get_title().startswith("2 tokens, accuracy 50.00")
    assert (
        "PER"
        in plots.types(report).get_yticklabels()[0].get_text() + plots.types(report).get_yticklabels()[1].get_text()
    )
    curve = evaluation.reliability([0.9, 0.4], [True, False])
    assert f"ECE {curve.ece:.4f}" in plots.reliability(curve).get_title()
    with_curve = report.with_calibration(tokens=curve)
    assert plots.reliability(with_curve).get_title().startswith("Reliability of tokens: ")
    for door, thing, message in (
        (plots.reliability, report, r"\bReliability\b"),
        (plots.types, 3, r"\bspans\b"),
        (plots.confusion, 3, r"\btokens\b"),
    ):
        with pytest.raises(InputError, match=message):
            door(thing)
    with pytest.raises(InputError, match=r"\bReliability\b.*\bspans\b"):
        plots.reliability(with_curve, name="spans")


def test_training_and_states(model: CRF) -> None:
    drawn = [list(line.get_ydata()) for line in plots.learning_curve(model).lines]
    assert drawn[0] == [done.objective for done in model.training_log_]
    assert [list(line.get_ydata()) for line in plots.learning_curve(model.training_log_).lines] == drawn
    hmm = HMM().fit([["a", "b"]], [["X", "Y"]])
    assert plots.states(hmm, [["a", "b"]]).get_xlabel() == "observation"
    with pytest.raises(InputError, match=r"\bHMM\b.*\bCRF\b"):
        plots.states(model, [["a"]])
