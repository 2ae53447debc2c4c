"""The instruction sets that the core found, against what the operating system says of the processor."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from tagline import compiled

# What each level of x86-64 adds, as Linux calls it: pni is SSE3, abm has LZCNT. Linux leaves out what it has not
# switched on, so that these names say the same as CPUID and XCR0 together.
LEVELS = {
    "v2": "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3",
    "v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
    "v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}


def levels_of_linux() -> list[str]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = set(next(line for line in lines if line.startswith("flags")).split(":")[1].split())
    levels = []
    for name, needed in LEVELS.items():
        if not flags.issuperset(needed.split()):
            break
        levels.append(name)
    return levels


@pytest.mark.skipif(compiled.core is None, reason="the compiled core is missing")
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list what a processor has")
def test_the_variants_are_those_that_the_processor_runs() -> None:
    machine = platform.machine()
    expected = levels_of_linux() if machine == "x86_64" else ["neon"] if machine == "aarch64" else ["plain"]
    assert list(compiled.supported_cpus()) == expected
