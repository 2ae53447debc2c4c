"""Tag sentences with the network in this folder.

    python run.py < words.txt     a word a line, a blank line behind each sentence; each line comes back with its label

or, from Python beside this file: ``from run import tag; tag([["Anna", "lives", "in", "Rome"]])``. It needs onnxruntime
and numpy, and what else `needs` of export.json names. `tagline export` wrote it; it is yours to change.
"""

import json
import sys
from itertools import groupby
from pathlib import Path

import onnxruntime
from encode import batch

HERE, BATCH = Path(__file__).parent, 32
LABELS = json.loads((HERE / "labels.json").read_text(encoding="utf-8"))
NETWORK = onnxruntime.InferenceSession(str(HERE / "model.onnx"), providers=["CPUExecutionProvider"])


def tag(sentences: list[list[str]]) -> list[list[str]]:
    """Return the labels of each sentence; those of like lengths go through the network together."""
    tagged: list[list[str]] = [[] for _ in sentences]
    order = sorted((k for k, words in enumerate(sentences) if words), key=lambda k: len(sentences[k]))
    for some in (order[first : first + BATCH] for first in range(0, len(order), BATCH)):
        (labels,) = NETWORK.run(["labels"], batch([sentences[k] for k in some]))  # [B, T], −1 behind a sentence
        for k, row in zip(some, labels.tolist(), strict=True):
            tagged[k] = [LABELS[label] for label in row[: len(sentences[k])]]
    return tagged


if __name__ == "__main__":
    lines = (line.decode().rstrip("\r\n") for line in sys.stdin.buffer)
    read = [list(group) for filled, group in groupby(lines, lambda line: bool(line.strip(" \t"))) if filled]
    words = [[line.replace("\t", " ").split(" ")[0] for line in sentence] for sentence in read]
    for sentence, labels in zip(read, tag(words), strict=True):
        text = "".join(f"{line}\t{label}\n" for line, label in zip(sentence, labels, strict=True))
        sys.stdout.buffer.write(f"{text}\n".encode())
