"""Whether a notebook is there to show things in."""

from __future__ import annotations

import sys
from typing import Any


def notebook() -> Any:
    """Return IPython where it runs as the kernel of a notebook, else None. Nothing is imported."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return ipython if shell is not None and hasattr(shell, "kernel") else None
