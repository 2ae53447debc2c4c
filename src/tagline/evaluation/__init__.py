"""How good are the answers: spans, tokens, words, significance, calibration, error analysis, reports and plots.

>>> from tagline.evaluation import evaluate_spans
>>> evaluate_spans([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "O"]]).f1
1.0
"""

from tagline.evaluation.calibration import Reliability, brier_score, reliability, token_reliability
from tagline.evaluation.matching import rule_for_labels
from tagline.evaluation.mistakes import FoundSpan, Mistake, Mistakes, find_mistakes
from tagline.evaluation.partial import PartialScore, PartialScores, evaluate_partial
from tagline.evaluation.plots import plot_confusion, plot_reliability, plot_types
from tagline.evaluation.report import Report, evaluate, span_f1
from tagline.evaluation.scores import Score
from tagline.evaluation.segmentation import SegmentationScores, evaluate_segmentation
from tagline.evaluation.significance import Comparison, Interval, bootstrap_interval, compare, sentence_counts
from tagline.evaluation.span_scores import SpanScores, correct_spans, evaluate_spans
from tagline.evaluation.temperature import Temperature, fit_temperature
from tagline.evaluation.token_scores import TokenScores, evaluate_tokens

__all__ = [
    "Comparison",
    "FoundSpan",
    "Interval",
    "Mistake",
    "Mistakes",
    "PartialScore",
    "PartialScores",
    "Reliability",
    "Report",
    "Score",
    "SegmentationScores",
    "SpanScores",
    "Temperature",
    "TokenScores",
    "bootstrap_interval",
    "brier_score",
    "compare",
    "correct_spans",
    "evaluate",
    "evaluate_partial",
    "evaluate_segmentation",
    "evaluate_spans",
    "evaluate_tokens",
    "find_mistakes",
    "fit_temperature",
    "plot_confusion",
    "plot_reliability",
    "plot_types",
    "reliability",
    "rule_for_labels",
    "sentence_counts",
    "span_f1",
    "token_reliability",
]
