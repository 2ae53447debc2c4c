"""A trial in the shape that scikit-learn's searches take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator  # type: ignore[import-untyped]

from tagline.scale.trials import Study, run_trial


class TrialEstimator(BaseEstimator):  # type: ignore[misc]
    """Trains and scores on the files of a study; X and y are not looked at.

    Arguments:
        study: what all trials share.
        last: passes of the last round, whose models are kept.
        settings: that are tried.
        passes: to train for.
    """

    def __init__(self, study: Study, last: int = 1, settings: Mapping[str, Any] | None = None, passes: int = 1) -> None:
        self.study = study
        self.last = last
        self.settings = settings
        self.passes = passes

    def fit(self, X: Any, y: Any = None) -> Self:
        """Run the trial."""
        record = run_trial(self.study, self.settings or {}, self.passes, keep=self.passes == self.last)
        self.score_ = record.score
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return the score on the dev set."""
        return self.score_
