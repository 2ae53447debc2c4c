"""Nothing that a caller writes is ignored in silence: mistyped names, arguments about what is not there."""

from __future__ import annotations

from typing import Any

import pytest

from tagline import CRF, HMM, InputError, SemiCRF, TrigramTagger

X, Y = [["Anna", "saw", "Rome"]] * 4, [["B-PER", "O", "B-LOC"]] * 4
EDGES = [[["e"]] * 3] * 4
WORDS = "U00:%x[0,0]\n"


@pytest.mark.parametrize("estimator", [CRF(WORDS), SemiCRF(WORDS), HMM(), TrigramTagger()], ids=lambda e: e.kind)
def test_a_mistyped_name_is_an_error_of_every_question(estimator: Any) -> None:
    model = estimator.fit(X, Y)
    questions = ["predict", "predict_marginals", "predict_k_best", "predict_samples", "entropy", "log_likelihood"]
    questions += ["answer", "answer_arrays", "score", "evaluate", "chains"]
    for question in [*questions, *(["predict_spans"] if model.finds_spans else [])]:
        labels = [Y] if question in ("score", "evaluate", "log_likelihood") else []
        with pytest.raises(TypeError):
            list(getattr(model, question)(X, *labels, knwon=None))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"edges": EDGES}, "edges"),
        ({"edges_dev": EDGES}, "edges_dev"),
        ({"documents_dev": [4]}, "documents_dev"),
        ({"teacher_weight": 0.5}, "teacher_weight"),
    ],
)
def test_an_argument_about_what_is_not_there(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, match=f"^{name}: "):
        CRF(WORDS, mentions=1 if "documents_dev" in arguments else 0).fit(X, Y, **arguments)


def test_edges_beside_a_template_are_refused_in_questions() -> None:
    model = CRF(WORDS).fit(X, Y)
    for question in (model.predict, model.predict_marginals, model.entropy):
        with pytest.raises(InputError, match=r"^edges: "):
            question(X, edges=EDGES)
