"""The base class that sklearn-crfsuite offers here: scikit-learn is always there."""

from sklearn.base import BaseEstimator as BaseEstimator  # type: ignore[import-untyped]

__all__ = ["BaseEstimator"]
