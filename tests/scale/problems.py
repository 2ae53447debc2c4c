"""Small corpora in several files, cut into more lanes than their size would give them."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tagline import CRF, readers
from tagline.datasets import make_entities
from tagline.readers.corpus import Corpus

LANE_TOKENS = 600  # of the tests: eight lanes
STORE = 100 * 2**20  # bytes of a node's object store
WAIT = 240.0  # seconds, for the whole of a run on a busy machine

PROGRAM = """
import sys
from tagline.training import lanes
lanes.LANE_TOKENS = {LANE_TOKENS}
from tagline.cli import main
sys.exit(main())
"""


def begin(*words: object, **numbers: int) -> subprocess.Popen[str]:
    """Start `tagline` with these words, lanes of another length, in a session of its own."""
    command = [sys.executable, "-c", PROGRAM.format(**numbers), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_for(is_true: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something is true while a process runs."""
    end = time.monotonic() + WAIT
    while not is_true():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.05)


def write_shards(folder: Path, sentences: int = 600, files: int = 3, ending: str = "txt") -> Corpus:
    """Write generated sentences into several files, and return all of them as one file gives them."""
    corpus = make_entities(sentences, language="en")
    cuts = np.linspace(0, len(corpus), files + 1).astype(int)
    for k, (first, last) in enumerate(itertools.pairwise(cuts)):
        readers.write(corpus[first:last], folder / f"part-{k}.{ending}")
    readers.write(corpus, folder.parent / "whole.txt")
    return readers.read(folder.parent / "whole.txt")


def bits(crf: CRF) -> tuple[bytes, float, tuple[str, ...], int]:
    """Return what must be the same."""
    return crf.parameters_.weights.tobytes(), crf.objective_, tuple(crf.labels_), len(crf.training_log_)
