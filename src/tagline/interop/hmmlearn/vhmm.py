"""The names of ``hmmlearn.vhmm``."""

from tagline.interop.hmmlearn.variational import VariationalCategoricalHMM
from tagline.interop.hmmlearn.variational_gaussian import VariationalGaussianHMM

__all__ = ["VariationalCategoricalHMM", "VariationalGaussianHMM"]
