"""Results in a prompt and in a notebook: short, aligned, escaped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import tagline
from tagline import CRF, HMM, Chain, Corpus, TrigramTagger, chain, evaluation
from tagline.evaluation import evaluate
from tagline.models.entities import Entity

from .pages import Fragment

EVIL = "<script>alert('&')</script>\x1b[31m\u202e\""
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]\nB\n"
SENTENCES = [
    (["Anna", "Smith", "sings"], ["B-PER", "I-PER", "O"]),
    (["Rome", "sleeps"], ["B-LOC", "O"]),
]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.from_sentences(SENTENCES)


@pytest.fixture(scope="module")
def hostile() -> Corpus:
    return Corpus.from_sentences([([EVIL, "sings"], [f"B-{EVIL}", "O"]), (["x", "sings"], ["O", "O"])])


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> CRF:
    """One that was loaded: its template is what the file holds."""
    path = tmp_path_factory.mktemp("reprs") / "model.tagline"
    CRF("english_ner", c2=0.5, scheme="auto", max_iterations=3).fit(corpus).save(path)
    loaded = tagline.load(path)
    assert isinstance(loaded, CRF)
    return loaded


def test_sentences_and_corpora(corpus: Corpus) -> None:
    assert repr(corpus) == "Corpus(2 sentences, 5 tokens, columns token, tag)"
    assert repr(corpus[0]) == "Sentence('Anna/B-PER Smith/I-PER sings/O', 3 tokens)"
    assert str(corpus[0]) == "[PER Anna Smith] sings"
    bare = Corpus.from_sentences([{"token": ["a"] * 2000}])
    assert repr(bare[0]) == "Sentence('a a a a a a a a …', 2,000 tokens)"
    assert str(bare[0]).splitlines()[1] == "… 1,700 more tokens"
    page = Fragment(Corpus.from_sentences(SENTENCES * 500)._repr_html_())
    assert page.words.startswith("1,000 sentences, 2,500 tokens, columns token, tagAnna SmithPER sings")
    assert page.words.endswith("… 995 more")
    assert page.marks == 5
    assert Fragment(Corpus.from_sentences([])._repr_html_()).words == "0 sentences, 0 tokens, columns token"


def test_a_description(corpus: Corpus) -> None:
    found = corpus.describe()
    assert repr(found) == "Description(2 sentences, 5 tokens, 4 labels (IOB2))"
    assert str(found) == found.text()
    assert "sentences2" in Fragment(found._repr_html_()).words


def test_a_report() -> None:
    gold, predicted = [["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]]
    report = evaluate(gold, predicted)
    headline = "F1 66.67, precision 100.00, recall 50.00, 2 gold spans; accuracy 75.00 of 4 tokens"
    assert repr(report) == f"Report({headline})"
    assert str(report) == (
        f"{headline}\n"
        "           precision  recall      F1    gold\n"
        "LOC             0.00    0.00    0.00       1\n"
        "PER           100.00  100.00  100.00       1\n"
        "all           100.00   50.00   66.67       2"
    )
    assert Fragment(report._repr_html_()).words.endswith("all100.0050.0066.672")
    tokens = evaluate([["N", "V"]], [["N", "N"]], rule=None)
    assert repr(tokens) == "Report(accuracy 50.00 of 2 tokens)"
    assert [line.split()[0] for line in str(tokens).splitlines()[2:]] == ["N", "V"]
    many = [[f"L{n:03d}" for n in range(300)]]
    assert len(str(evaluate(many, many, rule=None)).splitlines()) == 63
    assert str(evaluate([], []))


def test_parts_of_an_evaluation() -> None:
    gold, predicted = [["B-PER", "O", "B-LOC"]], [["B-LOC", "O", "O"]]
    scores = evaluation.evaluate_spans(gold, predicted)
    counts = evaluation.sentence_counts(gold, predicted)
    results: list[Any] = [
        scores,
        evaluation.find_mistakes(gold, predicted),
        evaluation.evaluate_tokens(gold, predicted),
        evaluation.evaluate_partial(gold, predicted),
        evaluation.bootstrap_interval(counts, resamples=10),
        evaluation.compare(counts, counts, resamples=10),
        evaluation.reliability([0.9, 0.6], [True, False], bins=2),
    ]
    for result in results:
        assert str(result) == result.text().rstrip("\n")
        assert repr(result) == f"{type(result).__name__}({result.line()})"
        assert "\n" not in repr(result)
        assert Fragment(result._repr_html_()).words
    (mistake,) = results[1].examples["type"]
    assert str(mistake) == "sentence 0: PER 0–1 found as LOC 0–1"
    assert repr(mistake) == f"Mistake({mistake})"
    assert repr(results[1]) == "Mistakes(0 of 2 gold spans correct; 1 type, 1 missed)"


def test_an_entity() -> None:
    assert repr([Entity(0, 2, "PER", 0.98765)]) == "[Entity(PER 0.988, tokens 0:2)]"
    assert repr(Entity(0, 1, "", 1.0, "a\n", 3, 5)) == "Entity(span 'a\\n' 1.000, tokens 0:1, characters 3:5)"


def test_a_model_names_what_was_changed(model: CRF) -> None:
    lines = len(model.features.lines)  # type: ignore[union-attr]
    assert repr(model) == f"CRF(c2=0.5, features=Template(english_ner, {lines} lines), max_iterations=3)"
    assert repr(CRF()) == "CRF()"
    assert repr(CRF(TEMPLATE)) == "CRF(features=<text of 3 lines>)"
    assert repr(HMM(2, topology=np.eye(2, dtype=bool))) == (
        "HMM(n_states=2, topology=array([[ True, False], [False, True]]))"
    )
    assert len(repr(CRF(label_weights={str(n): 1.0 for n in range(999)}))) < 120
    assert "CRF(c2=0.5" in repr(make_pipeline(model))
    assert repr(clone(model)) == repr(model)


def test_a_model_in_a_notebook(model: CRF) -> None:
    words = Fragment(model._repr_html_() or "").words
    assert words.startswith(repr(model))
    assert "labels4: B-LOC B-PER I-PER O" in words
    assert Fragment(CRF(c2=3.0)._repr_html_() or "").words == "CRF(c2=3.0)not fitted"
    assert set(model._repr_mimebundle_()) == {"text/plain", "text/html"}
    with sklearn.config_context(display="text"):
        assert model._repr_mimebundle_() == {"text/plain": repr(model)}


@pytest.mark.parametrize("kind", [CRF, HMM, TrigramTagger])
def test_summaries_and_views(kind: Any, corpus: Corpus) -> None:
    fitted = (CRF(TEMPLATE, max_iterations=2) if kind is CRF else kind()).fit(corpus)
    summary, view = fitted.summary(), fitted.view()
    assert repr(summary) == f"{type(summary).__name__}({summary.line()})"
    assert str(summary) == summary.text().rstrip("\n")
    assert repr(view) == f"ModelView({summary.line()})"
    assert str(view).startswith(str(summary))
    for shown in (summary, view, fitted):
        assert "B-PER" in Fragment(shown._repr_html_()).words
    assert "\n" not in repr(fitted)


def test_an_explanation_says_what_names_stand_for(model: CRF) -> None:
    why = model.explain(["Anna", "sings"])
    assert repr(why).startswith("Explanation(Anna/B-")
    assert str(why) == why.text().rstrip("\n")
    legend = why.legend()
    assert legend == model.legend(why) != []
    assert why.text().endswith("".join(f"{line}\n" for line in legend))
    page = Fragment(why._repr_html_()).words
    assert all(line.replace("  ", "") in page for line in legend)
    assert repr(why.tokens[0]).startswith("TokenExplanation(Anna  B-")


def test_functions_and_words_need_no_legend(corpus: Corpus) -> None:
    fitted = TrigramTagger().fit(corpus)
    why = fitted.explain(["Anna", "sings"])
    assert why.legend() == []
    assert "stand for" not in why.html()


def test_answers_of_the_engine() -> None:
    scores = Chain([[0.0, 1.0]] * 3, [[0.0] * 2] * 2)
    assert repr(chain.viterbi(scores)) == "Paths(1 sentences, 3 tokens)"
    assert repr(chain.marginals(scores)) == "Marginals(1 sentences, 3 tokens, 2 labels)"
    assert repr(chain.k_best(scores, 2)[0]).startswith("RankedPaths(2 labellings of 3 tokens, probabilities 0.3")


def test_hostile_tokens_and_labels(hostile: Corpus) -> None:
    fitted = CRF(TEMPLATE, max_iterations=2).fit(hostile)
    report, why = fitted.evaluate(hostile), fitted.explain(hostile[0].tokens)
    things = [
        hostile,
        hostile[0],
        hostile.describe(),
        report,
        why,
        *why.tokens,
        fitted,
        fitted.summary(),
        fitted.view(),
    ]
    for thing in things:
        for text in (repr(thing), str(thing)):
            assert text.replace("\n", "").isprintable(), type(thing).__name__
        page = Fragment(thing._repr_html_())
        assert "\x1b" not in page.words
    assert Entity(0, 1, EVIL, 1.0, EVIL).__repr__().isprintable()


def test_values_of_the_engine_in_a_notebook() -> None:
    """One sentence as a trellis; of more, or where no labelling is possible, the first scores as a table."""
    one = Chain([[1.0, 0.5], [0.0, 0.0]], [[0.6, 1.0], [1.0, 0.0]], [0.0, -np.inf])
    drawn = one._repr_html_()
    assert drawn.startswith(f"<div><b>{one!r}</b></div>")
    assert "<svg" in drawn
    best = chain.k_best(one, 1)[0].probabilities[0]
    assert f"best labelling, probability {best:.4f}" in drawn
    impossible = Chain(one.emissions, one.transitions, [-np.inf, -np.inf])
    for scores in (impossible, Chain(one.emissions, one.transitions, offsets=[0, 1, 2])):
        words = Fragment(scores._repr_html_()).words
        assert words.startswith(repr(scores))
        assert "1.000" in words
        assert "tagline.plots.trellis" in words
    assert "−∞" in Fragment(chain.viterbi_table(one)._repr_html_()).words
    assert "1.600 ←0" in Fragment(chain.viterbi_table(one)._repr_html_()).words
    nodes = chain.marginals(one)
    assert f"{nodes.nodes[1, 0]:.3f}" in Fragment(nodes._repr_html_()).words
    ranked = chain.k_best(one, 2)[0]
    assert f"{ranked.probabilities[1]:.4f}" in Fragment(ranked._repr_html_()).words
    large = Chain(np.zeros((61, 40)), np.zeros((40, 40)))
    assert "… 41 more tokens, 28 more labels" in Fragment(large._repr_html_()).words
    for empty in (Chain(np.zeros((0, 2)), np.zeros((2, 2))), Chain(np.zeros((0, 2)), np.zeros((2, 2)), offsets=[0])):
        Fragment(empty._repr_html_())
        Fragment(chain.marginals(empty)._repr_html_())
        Fragment(chain.viterbi_table(empty)._repr_html_())
