"""The golden values in tests/golden, and how close to come: 60-digit references, rounded once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parents[1] / "golden" / "golden.json"
GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

TOLERANCES = {"float64": 1e-12, "float32": 1e-5}


def assert_golden(actual: Any, expected: Any, dtype: str = "float64") -> None:
    """Relative 1e-12 and absolute 1e-12 near 0 for float64, 1e-5 for float32."""
    bar = TOLERANCES[dtype]
    np.testing.assert_allclose(actual, np.array(expected, np.float64), rtol=bar, atol=bar)
