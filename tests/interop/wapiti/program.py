"""The real wapiti, where there is one: TAGLINE_PEERS names the folder of the peers' programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("TAGLINE_PEERS") or Path(__file__).parents[4] / "shared" / "peers" / "bin")
PROGRAM = FOLDER / "wapiti"

needs_wapiti = pytest.mark.skipif(not PROGRAM.is_file(), reason="there is no wapiti; TAGLINE_PEERS names its folder")


def wapiti(*arguments: object, text: bytes = b"", fails: bool = False) -> tuple[bytes, str]:
    """Run it; return what it wrote to standard output and to standard error."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=text, capture_output=True, timeout=60)
    assert (done.returncode != 0) is fails, done.stderr
    return done.stdout, done.stderr.decode(errors="replace")
