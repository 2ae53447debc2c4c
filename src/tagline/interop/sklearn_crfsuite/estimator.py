"""Where sklearn-crfsuite has its estimator; ours is in `crf`."""

from tagline.interop.sklearn_crfsuite.crf import CRF as CRF

__all__ = ["CRF"]
