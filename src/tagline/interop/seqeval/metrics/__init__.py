"""seqeval's scores: `sequence_labeling` chooses the mode, `v1` is the strict one, `averages` has the arithmetic."""

from tagline.interop.seqeval.metrics.sequence_labeling import (
    accuracy_score,
    classification_report,
    f1_score,
    performance_measure,
    precision_score,
    recall_score,
)

__all__ = [
    "accuracy_score",
    "classification_report",
    "f1_score",
    "performance_measure",
    "precision_score",
    "recall_score",
]
