"""When EM stops, and what it says on the way: `ConvergenceMonitor`, which users replace by one of their own."""

from __future__ import annotations

import logging
import sys
from collections import deque

import numpy as np

log = logging.getLogger("hmmlearn.base")  # the name that programs silence
_ROUNDING = float(np.sqrt(np.finfo(float).eps))  # a fall of less than this is none


class ConvergenceMonitor:
    """Collects the log probability of each step, and says whether EM has converged.

    Set ``model.monitor_`` to an object of a class with another `converged` to stop by another rule.

    Arguments:
        tol: EM stops after a step that gains less.
        n_iter: or after so many.
        verbose: whether each step is written to stderr.

    Attributes:
        history: the log probability before each step.
        iter: how many steps there were.

    >>> import numpy as np
    >>> from tagline.interop.hmmlearn import hmm
    >>> levels = np.array([[0.1], [0.2], [5.1], [4.9], [0.0], [5.0], [5.2], [0.3]])
    >>> model = hmm.GaussianHMM(2, random_state=0, n_iter=20).fit(levels)
    >>> model.monitor_.converged, len(model.monitor_.history) == model.monitor_.iter
    (True, True)
    """

    _template = "{iter:>10d} {log_prob:>16.8f} {delta:>+16.8f}"

    def __init__(self, tol: float, n_iter: int, verbose: bool) -> None:
        self.tol = tol
        self.n_iter = n_iter
        self.verbose = verbose
        self.history: deque[float] = deque()
        self.iter = 0

    def __repr__(self) -> str:
        shown = {**vars(self), "history": list(self.history)}
        lines = [f"    {name}={shown[name]},\n" for name in sorted(shown)]
        return f"{type(self).__name__}(\n{''.join(lines)})"

    def _reset(self) -> None:
        self.iter = 0
        self.history.clear()

    def report(self, log_prob: float) -> None:
        """Take in the log probability before a step; one that has fallen is logged as a warning."""
        gain = log_prob - self.history[-1] if self.history else np.nan
        if self.verbose:
            print(self._template.format(iter=self.iter + 1, log_prob=log_prob, delta=gain), file=sys.stderr)
        if gain < -_ROUNDING:
            log.warning("Model is not converging: the log probability went from %s to %s.", self.history[-1], log_prob)
        self.history.append(log_prob)
        self.iter += 1

    @property
    def converged(self) -> bool:
        """Whether there were `n_iter` steps, or the last one gained less than `tol`."""
        if self.iter == self.n_iter:
            return True
        return len(self.history) > 1 and self.history[-1] - self.history[-2] < self.tol
