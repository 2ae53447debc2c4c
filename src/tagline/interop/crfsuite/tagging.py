"""``crfsuite tag``: data in, labels out, as the program writes them.

Sentences are read and labelled block by block: `tagline.interop.crfsuite.data` → `Tagger.tag_many`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO

from tagline import chain as engine
from tagline.errors import InputError
from tagline.interop.crfsuite.arguments import TAG, Chosen, described, parse
from tagline.interop.crfsuite.data import LabelledItems, read_sentences
from tagline.interop.crfsuite.performance import Performance
from tagline.interop.pycrfsuite import Tagger
from tagline.readers.sources import name_of

BLOCK = 1024  # sentences that are read and tagged at once

USAGE = """USAGE: crfsuite tag [OPTIONS] [DATA]
Label the sentences of a file, or of standard input where DATA is - or left out.

OPTIONS:
"""


def tag(arguments: Sequence[str]) -> int:
    """Run ``crfsuite tag`` and return its exit code."""
    chosen = parse(arguments, TAG, "crfsuite tag")
    if chosen.has("help"):
        sys.stdout.write(USAGE + described(TAG))
        return 0
    if not chosen.last("model"):
        raise InputError("crfsuite tag: expected the file of a model, got none; name it with -m")
    if len(chosen.files) > 1:
        raise InputError("crfsuite tag: expected one file of data, got {}", len(chosen.files))
    tagger = Tagger()
    tagger.open(chosen.last("model"))
    path = chosen.files[0] if chosen.files else "-"
    performance = Performance(tagger.labels())
    begin = time.process_time()
    with open_data(path) as lines:
        sentences = read_sentences(lines, name_of(path))
        while block := list(islice(sentences, BLOCK)):
            _tag_block(tagger, block, chosen, performance)
    if chosen.has("test"):
        _report(performance, time.process_time() - begin)
    return 0


def open_data(path: str) -> IO[bytes]:
    """Open a file of data, or standard input for ``-``; leaving the ``with`` closes a file, and keeps the stream."""
    return open(sys.stdin.fileno(), "rb", closefd=False) if path == "-" else open(path, "rb")


def _tag_block(tagger: Tagger, block: list[LabelledItems], chosen: Chosen, performance: Performance) -> None:
    labellings = tagger.tag_many([sentence.items for sentence in block])
    if chosen.has("test"):
        for sentence, labels in zip(block, labellings, strict=True):
            performance.add(sentence.labels, labels)
    if not chosen.has("quiet"):
        for sentence, labels in zip(block, labellings, strict=True):
            sys.stdout.writelines(_lines(tagger, sentence, labels, chosen))


def _lines(tagger: Tagger, sentence: LabelledItems, labels: list[str], chosen: Chosen) -> Iterator[str]:
    """Write a labelled sentence."""
    heads = [f"{a}\t{b}" for a, b in zip(sentence.labels, labels, strict=True)] if chosen.has("reference") else labels
    if any(chosen.has(name) for name in ("probability", "marginal", "marginal-all")):
        tagger.set(sentence.items)
    if chosen.has("probability"):
        chain, names = tagger._opened()._chain(), tagger.labels()
        score = engine.score(chain, [names.index(label) for label in labels]).item()
        log_z = engine.log_partition(chain).item()
        yield f"@score\t{score:f}\t{log_z:f}\n@probability\t{math.exp(score - log_z):f}\n"
    for t, head in enumerate(heads):
        line = head
        if chosen.has("marginal"):
            line += f":{tagger.marginal(labels[t], t):f}"
        if chosen.has("marginal-all"):
            line += "".join(f"\t{name}:{tagger.marginal(name, t):f}" for name in tagger.labels())
        yield line + "\n"
    yield "\n"


def _report(performance: Performance, seconds: float) -> None:
    sys.stdout.write(performance.report())
    rate = performance.sentences / max(seconds, 1e-9)
    sys.stdout.write(f"Elapsed time: {seconds:f} [sec] ({rate:.1f} [instance/sec])\n")
    if unknown := performance.unknown():
        sys.stderr.write(
            f"crfsuite tag: {len(unknown)} labels of the data are not in the model and count as wrong: "
            f"{', '.join(unknown[:5])}{' …' if len(unknown) > 5 else ''}\n"
        )
