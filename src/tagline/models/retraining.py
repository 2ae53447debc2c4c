"""Parameters that need training: changed on a fitted model, they are an error at the next question.

scikit-learn lets parameters be set at any time, and only `fit` reads them. So a parameter that answers depend on could
be set on a fitted model and have no effect. `NeedsTraining` remembers the parameters of the last training and compares
them when the model is asked, saved or copied; `fit` takes the new ones, and a parameter that is set back is no error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.settings import declarations


class NeedsTraining:
    """An estimator that knows with which parameters it was trained."""

    _trained_with: dict[str, Any]

    def _keep_trained(self) -> None:
        """Remember the parameters that are declared to need training: what was learned is of these."""
        known = declarations(type(self)).values()
        self._trained_with = {entry.name: getattr(self, entry.name) for entry in known if entry.setting.trained}

    def _refuse_changed(self) -> None:
        """Raise where a parameter has changed since training."""
        for name, old in vars(self).get("_trained_with", {}).items():
            new = getattr(self, name)
            if new is not old and not _same(new, old):
                raise InputError(
                    "{0}: the model was trained with {1}, and {2} has no effect before the next fit; call "
                    "fit again, or set {0} back",
                    name,
                    shown_value(old),
                    shown_value(new),
                )


def _same(new: Any, old: Any) -> bool:
    """Whether two values of a parameter are the same."""
    try:
        if isinstance(new, np.ndarray) or isinstance(old, np.ndarray):
            return np.array_equal(new, old)
        return bool(new == old)
    except (TypeError, ValueError):
        return False
