"""Where the corpora are, and shorter ones for a quick run."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

TRAIN, TEST, TEMPLATE = "conll2000/train.txt", "conll2000/test.txt", "crfpp_chunking/template"
LARGE = "msra_ner/train.txt.gz"
QUICK_SHARE = 10  # a quick run takes a tenth of the sentences


def folder() -> Path:
    """Return ``TAGLINE_DATA``, or ``../shared/data`` beside the repository."""
    return Path(os.environ.get("TAGLINE_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data").resolve()


def find(name: str) -> Path:
    """Return the path of a corpus file, or end the run and say what to do."""
    path = folder() / name
    if not path.is_file():
        sys.exit(
            f"{path}: expected a corpus file, got none; set TAGLINE_DATA to a folder that has {name} "
            "(columns split by blanks, an empty line between sentences)"
        )
    return path


def cut(path: Path, target: Path, share: int = QUICK_SHARE) -> Path:
    """Write one sentence in `share`, the first ones, to another file; ``.gz`` is unpacked."""
    packed = path.read_bytes()
    text = (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode()
    sentences = text.strip("\n").split("\n\n")
    target.write_text("\n\n".join(sentences[: max(1, len(sentences) // share)]) + "\n\n", encoding="utf-8")
    return target
