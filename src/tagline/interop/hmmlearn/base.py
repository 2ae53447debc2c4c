"""The names of ``hmmlearn.base``."""

from tagline.interop.hmmlearn.estimator import DECODER_ALGORITHMS, AbstractHMM
from tagline.interop.hmmlearn.markov import BaseHMM
from tagline.interop.hmmlearn.monitor import ConvergenceMonitor
from tagline.interop.hmmlearn.variational import VariationalBaseHMM

_AbstractHMM = AbstractHMM
_BaseHMM = BaseHMM

__all__ = ["DECODER_ALGORITHMS", "BaseHMM", "ConvergenceMonitor", "VariationalBaseHMM"]
