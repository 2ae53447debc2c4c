"""CRF++'s own programs, where they are, and sentences for them and us."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(os.environ.get("TAGLINE_PEERS") or Path(__file__).parents[4] / "shared" / "peers" / "bin")
DATA = Path(os.environ.get("TAGLINE_DATA") or Path(__file__).parents[4] / "shared" / "data")
FIXTURES = Path(__file__).parent / "fixtures"

needs_crfpp = pytest.mark.skipif(
    not (PROGRAMS / "crf_learn").exists(), reason=f"crf_learn and crf_test are not in {PROGRAMS}; set TAGLINE_PEERS"
)

TEMPLATES = {
    "plain": "U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[0,0]/%x[1,1]\nB\n",
    "edges": "U01:%x[0,0]\nB01:%x[0,1]\nB\n",
    "edges alone": "U01:%x[0,0]\nB01:%x[0,1]/%x[-1,1]\n",
    "bag of words": "# neighbours share weights\nU:%x[-2,0]\nU:%x[-1,0]\nU:%x[0,0]\nU:%x[1,0]\nU1:%x[0,1]\n\nB\n",
    "no bigram": "U01:%x[0,0]\nU\nU02:%x[-8,1]%x[8,0]\n",
    "two bigrams": "U01:%x[0,0]\nB1\nB02:%x[0,0]\nB2\n",
    "windows": "U01:%x[0,0]\r\nU02:%x[1,0]\r\nB\r\n",
}


def theirs(program: str, *arguments: Any, data: bytes | None = None) -> bytes:
    """Run a program of CRF++ and return what it prints."""
    done = subprocess.run([PROGRAMS / program, *map(str, arguments)], input=data, capture_output=True, check=True)
    return done.stdout


def ours(program: str, *arguments: Any, data: bytes | None = None) -> bytes:
    """Run a command of ours and return what it prints."""
    command = [sys.executable, "-c", "from tagline.cli import main; main()", program, *map(str, arguments)]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def column_text(seed: int, sentences: int = 30, signs: str = "ab") -> str:
    """Draw sentences of words, a class of the word and a label that mostly follows from it."""
    draw = random.Random(seed)
    lines = []
    for _ in range(sentences):
        before = "O"
        for _ in range(draw.randint(1, 9)):
            word = "".join(draw.choice(signs) for _ in range(draw.randint(1, 4)))
            kind = "V" if word[0] == signs[0] else "C"
            label = "B" if kind == "V" else "I" if before in "BI" and draw.random() < 0.9 else "O"
            lines.append(f"{word}{draw.choice([' ', chr(9), '  '])}{kind}\t{label}\n")
            before = label
        lines.append(draw.choice(["\n", " \n", "\tx y z\n", "\n\n"]))
    return "".join(lines)


def files(folder: Path, template: str, seed: int = 1, **options: Any) -> tuple[Path, Path, Path]:
    """Write a template, training sentences and other sentences; return their paths."""
    paths = folder / "template", folder / "train.txt", folder / "test.txt"
    texts = template, column_text(seed, **options), column_text(seed + 1, **options)
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    return paths
