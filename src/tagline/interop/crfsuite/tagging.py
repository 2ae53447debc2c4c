"""``crfsuite tag``: data in, labels out, as the program writes them.

Sentences are read and scored block by block: `tagline.interop.crfsuite.data` → `CRF.chains` → the engine.
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
from tagline.interop.crfsuite.file import read_crf
from tagline.interop.crfsuite.performance import Performance
from tagline.models.crf.estimator import CRF
from tagline.readers.sources import name_of
from tagline.types import Chain

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
        raise InputError(f"crfsuite tag: expected one file of data, got {len(chosen.files)}")
    with open(chosen.last("model"), "rb") as file:
        model = read_crf(file.read(), chosen.last("model"))
    path = chosen.files[0] if chosen.files else "-"
    performance = Performance(model.labels_)
    begin = time.process_time()
    with open_data(path) as lines:
        sentences = read_sentences(lines, name_of(path))
        while block := list(islice(sentences, BLOCK)):
            _tag_block(model, block, chosen, performance)
    if chosen.has("test"):
        _report(performance, time.process_time() - begin)
    return 0


def open_data(path: str) -> IO[bytes]:
    """Open a file of data, or standard input for ``-``; leaving the ``with`` closes a file, and keeps the stream."""
    return open(sys.stdin.fileno(), "rb", closefd=False) if path == "-" else open(path, "rb")


def _tag_block(model: CRF, block: list[LabelledItems], chosen: Chosen, performance: Performance) -> None:
    done, names = 0, model.labels_
    for chain in model.chains([sentence.items for sentence in block]):
        paths = engine.viterbi(chain)
        here = block[done : done + chain.num_sentences]
        done += chain.num_sentences
        labellings = [[names[label] for label in row.tolist()] for row in chain.split(paths.labels)]
        if chosen.has("test"):
            for sentence, labels in zip(here, labellings, strict=True):
                performance.add(sentence.labels, labels)
        if not chosen.has("quiet"):
            sys.stdout.writelines(_lines(names, chain, here, labellings, paths.scores.tolist(), chosen))


def _lines(
    names: Sequence[str],
    chain: Chain,
    sentences: Sequence[LabelledItems],
    labellings: Sequence[Sequence[str]],
    scores: Sequence[float],
    chosen: Chosen,
) -> Iterator[str]:
    """Write labelled sentences."""
    with_nodes = chosen.has("marginal") or chosen.has("marginal-all")
    nodes = chain.split(engine.marginals(chain).nodes) if with_nodes else None
    log_z = engine.log_partition(chain).tolist() if chosen.has("probability") else None
    for b, (sentence, labels) in enumerate(zip(sentences, labellings, strict=True)):
        if log_z is not None:
            yield f"@score\t{scores[b]:f}\t{log_z[b]:f}\n"
            yield f"@probability\t{math.exp(scores[b] - log_z[b]):f}\n"
        for t, label in enumerate(labels):
            line = f"{sentence.labels[t]}\t{label}" if chosen.has("reference") else label
            if nodes is not None:
                row = dict(zip(names, nodes[b][t].tolist(), strict=True))
                if chosen.has("marginal"):
                    line += f":{row[label]:f}"
                if chosen.has("marginal-all"):
                    line += "".join(f"\t{name}:{chance:f}" for name, chance in row.items())
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
