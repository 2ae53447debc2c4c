"""Searches of scikit-learn over a corpus that brings its tags, and over lists: the same scores, none of them NaN."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.model_selection import GridSearchCV

from tagline import CRF, HMM, Corpus, InputError, SemiCRF, TrigramTagger
from tagline.evaluation import span_f1

ROWS = [(["Anna", "saw", "Rome"], ["B-PER", "O", "B-LOC"]), (["Rome", "saw", "Anna"], ["B-LOC", "O", "B-PER"])] * 4
CORPUS = Corpus.from_sentences(ROWS)
X, Y = [row[0] for row in ROWS], [row[1] for row in ROWS]


@pytest.mark.parametrize("scoring", [None, span_f1], ids=["score", "span_f1"])
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (CRF("U00:%x[0,0]\n", scheme="IOB2"), {"c2": [0.1, 1e4]}),
        (SemiCRF("U00:%x[0,0]\n"), {"c2": [0.1, 1e4]}),
        (HMM(), {"k": [0.1, 1e4]}),
        (TrigramTagger(), {"rare": [1]}),
    ],
    ids=["crf", "semicrf", "hmm", "trigram"],
)
def test_a_corpus_and_lists_have_the_same_scores(estimator: Any, grid: dict[str, Any], scoring: Any) -> None:
    def searched(*sentences: Any) -> Any:
        return GridSearchCV(estimator, grid, scoring=scoring, cv=2, error_score="raise").fit(*sentences)

    of_lists = searched(X, Y)
    assert of_lists.best_score_ == 1.0
    for sentences in ((CORPUS,), (CORPUS, CORPUS.tags), (list(CORPUS),)):
        search = searched(*sentences)
        assert search.cv_results_["mean_test_score"].tolist() == of_lists.cv_results_["mean_test_score"].tolist()
        assert search.score(*sentences) == 1.0


def test_labels_without_spans_have_no_f1_of_spans() -> None:
    model = TrigramTagger().fit([["the", "cat"]], [["DET", "NOUN"]])
    with pytest.raises(InputError, match=r"^span_f1: "):
        span_f1(model, [["the", "cat"]], [["DET", "NOUN"]])
