"""The same instruction set for both sides: `TAGLINE_CPU=v3` measures what a machine without AVX-512 would show.

NumPy, OpenBLAS and PyTorch choose theirs when they are loaded, so a benchmark calls `hold_rivals` first of all, and the
program begins anew with their own settings. On a machine that has no AVX-512 these change nothing.
"""

from __future__ import annotations

import os
import sys

AVX2 = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # NumPy 2.4's names
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}


def hold_rivals() -> None:
    """Hold rivals to AVX2 where the core is held to it; settings that are there already stay."""
    missing = {name: value for name, value in AVX2.items() if name not in os.environ}
    if os.environ.get("TAGLINE_CPU") == "v3" and missing:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | missing)
