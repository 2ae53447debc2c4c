"""One door for each figure that models and evaluations draw themselves: they draw, the doors find out what there is.

Each draws into the axes that it is given as ``ax``, or into new ones, saves the figure where a ``path`` is given, as
PNG, SVG or PDF by the ending of its name, and returns the axes.
"""

from __future__ import annotations

import math
from typing import Any

from tagline.checks import check_whole, shown_value
from tagline.drawing.charts import plot_bars, plot_training
from tagline.drawing.figures import Path
from tagline.errors import InputError
from tagline.evaluation.calibration import Reliability
from tagline.evaluation.plots import plot_confusion, plot_reliability, plot_transitions, plot_types
from tagline.evaluation.report import Report
from tagline.evaluation.span_scores import SpanScores
from tagline.evaluation.token_scores import TokenScores, evaluate_tokens
from tagline.messages import message
from tagline.models.explanations import Explanation, TokenExplanation
from tagline.types import Chain


def transitions(source: Any, path: Path | None = None, *, ax: Any = None, labels: Any = None) -> Any:
    """Draw transitions as a heat map: those of a model, of a `Chain`, or of an array ``[L, L]``.

    Arguments:
        labels: names, where the source has none.

    >>> from tagline import Chain, plots
    >>> axes = plots.transitions(Chain([[0.0, 0.0]], [[0.6, 1.0], [1.0, 0.0]]), labels=["A", "B"])
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['A', 'B']
    """
    if hasattr(source, "plot_transitions"):
        return source.plot_transitions(path, ax=ax)
    if hasattr(source, "chains"):
        raise InputError("expected a model with transitions between labels, got {}", type(source).__name__)
    scores = source.transitions if isinstance(source, Chain) else source
    if getattr(scores, "ndim", 2) == 3:
        raise InputError("expected transitions [L, L], got those of each token; give one of them: chain.transitions[n]")
    names = [str(k) for k in range(len(scores))] if labels is None else [str(label) for label in labels]
    return plot_transitions(names, scores, path, ax=ax, meaning="score")


def weights(model: Any, attribute: str, path: Path | None = None, *, ax: Any = None) -> Any:
    """Draw the weights of an attribute, one bar a label: what it says for each label and against it.

    Arguments:
        model: a feature CRF, or an HMM over words, whose weights are log-probabilities.
        attribute: its name, as `top_features` writes it.

    >>> import tagline
    >>> X, y = [[{"w": "Anna"}, {"w": "sings"}], [{"w": "Rain"}, {"w": "falls"}]], [["N", "V"], ["N", "V"]]
    >>> axes = tagline.plots.weights(tagline.CRF(c2=0.1, all_possible_states=True).fit(X, y), "w:Anna")
    >>> axes.get_title(), [label.get_text() for label in axes.get_yticklabels()]
    ('w:Anna', ['N', 'V'])
    """
    if not hasattr(model, "weights_table"):
        raise InputError("expected a model whose weights have names, got {}", type(model).__name__)
    rows = [row for row in model.weights_table() if row.attribute == attribute and row.previous is None]
    if not rows:
        raise InputError("attribute: expected one that has weights, got {}; see top_features", shown_value(attribute))
    rows.sort(key=lambda row: -row.weight)
    return plot_bars([row.label for row in rows], [row.weight for row in rows], path, ax=ax, title=attribute)


def top_weights(model: Any, label: str, path: Path | None = None, *, ax: Any = None, n: int = 10) -> Any:
    """Draw the n attributes that speak most for a label and the n that speak most against it.

    >>> import tagline
    >>> X, y = [[{"w": "Anna"}, {"w": "sings"}], [{"w": "Rain"}, {"w": "falls"}]], [["N", "V"], ["N", "V"]]
    >>> axes = tagline.plots.top_weights(tagline.CRF(c2=0.1).fit(X, y), "N", n=2)
    >>> axes.get_title()
    'N'
    """
    if not hasattr(model, "top_features"):
        raise InputError("expected a model whose weights have names, got {}", type(model).__name__)
    check_whole("n", n, 1, 100)
    best = [feature for feature in model.top_features(n, label) if math.isfinite(feature.weight)]
    names = {feature.attribute for feature in best}
    worst = [feature for feature in model.top_features(n, label, lowest=True) if feature.attribute not in names]
    rows = [*best, *reversed(worst)]
    return plot_bars([row.attribute for row in rows], [row.weight for row in rows], path, ax=ax, title=label)


def explanation(why: Any, token: int | None = None, path: Path | None = None, *, ax: Any = None, most: int = 12) -> Any:
    """Draw why a token has its label and not that of its rival: a bar for each term that made the difference.

    Arguments:
        why: an `Explanation`, one of its tokens, or (model, sentence).
        token: its number in the sentence; when left out, the one that was decided most narrowly.
        most: bars; the terms that are left are summed in one more.

    >>> import tagline
    >>> X, y = [[{"w": "Anna"}, {"w": "sings"}], [{"w": "Rain"}, {"w": "falls"}]], [["N", "V"], ["N", "V"]]
    >>> crf = tagline.CRF(c2=0.1).fit(X, y)
    >>> axes = tagline.plots.explanation((crf, X[0]), token=0)
    >>> axes.get_title()
    '0: N 0.887, not V'
    """
    check_whole("most", most, 1, 100)
    if isinstance(why, tuple) and len(why) == 2:
        why = why[0].explain(why[1])
    chosen = why if isinstance(why, TokenExplanation) else _token_of(why, token)
    if chosen.runner_up is None:
        raise InputError("token {}: expected one with a rival, got the only label that is allowed", chosen.position)
    reasons = chosen.reasons(most)
    title = f"{chosen.token}: {chosen.label} {chosen.probability:.3f}, not {chosen.runner_up}"
    names, amounts = [what for _, what in reasons], [amount for amount, _ in reasons]
    return plot_bars(names, amounts, path, ax=ax, title=title, meaning="score of the label less that of its rival")


def _token_of(why: Any, token: int | None) -> TokenExplanation:
    if not isinstance(why, Explanation):
        raise InputError("why: expected an Explanation, or (model, sentence), got {}", shown_value(why))
    if token is None:
        rivals = [one for one in why.tokens if one.runner_up is not None]
        if not rivals:
            raise InputError("why: expected a token with a rival to draw, got none")
        return min(rivals, key=lambda one: one.margin)
    check_whole("token", token, 0, len(why.tokens) - 1)
    return why.tokens[token]


def confusion(source: Any, predicted: Any = None, path: Path | None = None, *, ax: Any = None) -> Any:
    """Draw which labels are taken for which: of a `Report`, of `TokenScores`, or of gold labels and `predicted`.

    >>> from tagline import plots
    >>> axes = plots.confusion([["N", "V", "N"]], [["N", "N", "N"]])
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('predicted', 'gold')
    """
    tokens = source.tokens if isinstance(source, Report) else source
    if predicted is not None:
        tokens = evaluate_tokens(source, predicted)
    if not isinstance(tokens, TokenScores):
        raise InputError("expected a report with scores of tokens, or gold and predicted labels, got neither")
    return plot_confusion(tokens, path, ax=ax)


def reliability(source: Any, path: Path | None = None, *, ax: Any = None, name: str | None = None) -> Any:
    """Draw whether probabilities can be believed: a `Reliability`, or one that a `Report` has.

    Arguments:
        name: which of several of a report, ``tokens`` or ``spans``; the first when left out.

    >>> from tagline import evaluation, plots
    >>> axes = plots.reliability(evaluation.reliability([0.9, 0.6], [True, False]))
    >>> axes.get_ylabel()
    'share that is right'
    """
    if isinstance(source, Reliability):
        return plot_reliability(source, path, ax=ax)
    curves = dict(source.calibration) if isinstance(source, Report) else {}
    if not curves or (name is not None and name not in curves):
        wanted = message("one named {}", name) if name is not None else message("one")
        raise InputError(
            "expected a Reliability, or a report with {}, got {}", wanted, ", ".join(curves) or message("none")
        )
    chosen = next(iter(curves)) if name is None else name
    return plot_reliability(curves[chosen], path, f"Reliability of {chosen}", ax=ax)


def types(source: Any, path: Path | None = None, *, ax: Any = None) -> Any:
    """Draw precision, recall and F1 of each type of a `Report`.

    >>> from tagline import evaluation, plots
    >>> axes = plots.types(evaluation.evaluate([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]]))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['LOC  (1)', 'PER  (1)']
    """
    spans = source.spans if isinstance(source, Report) else source
    if not isinstance(spans, SpanScores):
        raise InputError("expected a report with scores of spans, got none")
    return plot_types(spans.by_type, path, ax=ax)


def learning_curve(source: Any, path: Path | None = None, *, ax: Any = None) -> Any:
    """Draw the objective after each pass of training, and the dev score: of a model, or of a ``training_log_``.

    >>> import tagline
    >>> X, y = [[{"w": "Anna"}, {"w": "sings"}], [{"w": "Rain"}, {"w": "falls"}]], [["N", "V"], ["N", "V"]]
    >>> axes = tagline.plots.learning_curve(tagline.CRF(c2=0.1).fit(X, y))
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('pass', 'objective')
    """
    return source.plot_training(path, ax=ax) if hasattr(source, "plot_training") else plot_training(source, path, ax=ax)


def states(model: Any, X: Any, path: Path | None = None, *, ax: Any = None, **inputs: Any) -> Any:
    """Draw the observations of an HMM with its most probable states behind them.

    >>> import numpy as np
    >>> import tagline
    >>> levels = np.array([[0.1], [0.2], [5.1], [4.9], [0.0], [5.0]])
    >>> hmm = tagline.HMM(2, emission="gaussian", random_state=0).fit(levels)
    >>> axes = tagline.plots.states(hmm, levels)
    >>> axes.get_xlabel()
    'observation'
    """
    if not hasattr(model, "plot_states"):
        raise InputError("expected an HMM, got {}", type(model).__name__)
    return model.plot_states(X, path, ax=ax, **inputs)
