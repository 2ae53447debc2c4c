"""Parameters that need training: changed on a fitted model, they are an error at the next question.

scikit-learn lets parameters be set at any time, and only `fit` reads them. So a parameter that answers depend on could
be set on a fitted model and have no effect. `NeedsTraining` remembers the parameters of the last training and compares
them when the model is asked, saved or copied; `fit` takes the new ones, and a parameter that is set back is no error.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from tagline.checks import shown_value
from tagline.errors import InputError


class NeedsTraining:
    """An estimator that knows with which parameters it was trained."""

    _TRAINED: ClassVar[Sequence[str]] = ()
    """Parameters that have no effect before the next `fit`, two or more; not those of a run, such as its limits."""

    _trained_with: tuple[Any, ...]

    def _keep_trained(self) -> None:
        """Remember the parameters: what was learned is of these."""
        if self._TRAINED:
            self._trained_with = attrgetter(*self._TRAINED)(self)

    def _refuse_changed(self) -> None:
        """Raise where a parameter has changed since training."""
        then = vars(self).get("_trained_with")
        if then is None:
            return
        now = attrgetter(*self._TRAINED)(self)
        try:
            if now == then:
                return
        except (TypeError, ValueError):  # arrays and tables are no truth values
            pass
        for name, new, old in zip(self._TRAINED, now, then, strict=True):
            if not _same(new, old):
                raise InputError(
                    "{0}: the model was trained with {1}, and {2} has no effect before the next fit; call "
                    "fit again, or set {0} back",
                    name,
                    shown_value(old),
                    shown_value(new),
                )


def _same(new: Any, old: Any) -> bool:
    """Whether two values of a parameter are the same."""
    if new is old:
        return True
    try:
        if isinstance(new, np.ndarray) or isinstance(old, np.ndarray):
            return np.array_equal(new, old)
        return bool(new == old)
    except (TypeError, ValueError):
        return False
