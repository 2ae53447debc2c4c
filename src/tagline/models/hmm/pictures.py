"""The states of an HMM over the observations that they stand behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tagline.drawing.series import plot_states
from tagline.readers.sources import PathLike


def draw_states(model: Any, X: Any, path: PathLike | None, ax: Any, inputs: Mapping[str, Any]) -> Any:
    """Draw observations and their most probable states; see `HMM.plot_states`."""
    p = model._fitted()
    observed = model._observe(X, **{"lengths": None, **inputs})
    found = model.predict(X, **inputs)
    rows = [found] if observed.flat else found
    numbers = {label: k for k, label in enumerate(model.labels_)}
    states = np.array([numbers[state] for row in rows for state in np.asarray(row).tolist()], np.int64)
    symbols = None if p.symbols is None else [str(symbol) for symbol in p.symbols.values]
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]  # of a data frame
    look = {"offsets": observed.offsets, "names": names, "symbols": symbols}
    return plot_states(observed.values, states, p.labels, path, ax=ax, **look)
