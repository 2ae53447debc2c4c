"""The names of ``hmmlearn.hmm``."""

from tagline.interop.hmmlearn.categorical import CategoricalHMM
from tagline.interop.hmmlearn.counts import MultinomialHMM, PoissonHMM
from tagline.interop.hmmlearn.covariances import COVARIANCE_TYPES
from tagline.interop.hmmlearn.gaussian import GaussianHMM
from tagline.interop.hmmlearn.mixture import GMMHMM

__all__ = ["COVARIANCE_TYPES", "GMMHMM", "CategoricalHMM", "GaussianHMM", "MultinomialHMM", "PoissonHMM"]
