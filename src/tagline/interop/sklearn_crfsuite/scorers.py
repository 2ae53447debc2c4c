"""Scorers for scikit-learn's `cross_val_score`, `GridSearchCV` and their like, as sklearn-crfsuite names them."""

from __future__ import annotations

from sklearn.metrics import make_scorer  # type: ignore[import-untyped]

from tagline.interop.sklearn_crfsuite import metrics

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
