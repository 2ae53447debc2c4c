"""How fast does text become JSON lines of spans? The whole command `tagline tag`, from start to end, on one thread.

    python benchmarks/text.py                       12 MB of text, three ways, by this checkout
    python benchmarks/text.py --against ../old/src  … and by another one, in turns

A model with the template ``english_ner`` is trained on conll2003 for a few passes; then it tags, with ``--format text
--as jsonl --spans``: that corpus, its sentences joined by blanks, over and over ("repeated"); all English corpora once,
without a line that is there twice ("distinct", 4 MB: the start of the command weighs three times as much); and lines
made of the beginnings and ends of two sentences each, with other figures ("mixed", no line twice, 83,000 distinct
words). CPU seconds of the process, user and system; the median of the rounds counts.

Before a time is printed, labels and probabilities of some lines must be those of the plain way: attributes expanded one
by one, their weights added up, spans summed in NumPy. Floor: the same texts read, tokenized and written without a
model. The corpora are looked for in TAGLINE_DATA, else in ../shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import numpy as np
import timing
from feature_crf import corpora

import tagline
from tagline import chain as engine
from tagline.cli.render import LabelledBlock, json_lines
from tagline.models.answers import AnswerArrays
from tagline.models.crf.chains import feature_chains
from tagline.models.crf.estimator import CRF
from tagline.models.cutting import cut_for
from tagline.models.entities import probable_spans
from tagline.models.files import load_tagger
from tagline.readers import read_columns
from tagline.readers.streams import StreamFormat, read_stream

BYTES = 12_000_000
PASSES = 15
SAMPLE = 2_000  # lines that are compared
TOLERANCE = 1e-5  # of probabilities: scores are sums in float32, in another order
ENGLISH = ("conll2003", "conll2000", "ud_en_ewt", "wnut17")
QUESTION = ("--format", "text", "--as", "jsonl", "--spans")


def sentences() -> list[list[str]]:
    """The English corpora, conll2003's training part first."""
    paths = [corpora.folder() / name / f"{part}.txt" for name in ENGLISH for part in ("train", "valid", "test")]
    return [row for path in paths if path.is_file() for row in read_columns(path, docstart=True).tokens]


def repeated(first: list[list[str]]) -> Iterator[str]:
    """The same sentences over and over."""
    return (" ".join(first[n % len(first)]) for n in count())


def mixed(rows: list[list[str]]) -> Iterator[str]:
    """Lines of the beginning of a sentence and the end of another, with figures of their own."""
    draw = random.Random(1)
    seen: set[str] = set()
    while True:
        first, second = draw.choice(rows), draw.choice(rows)
        words = first[: draw.randint(0, len(first))] + second[draw.randint(0, len(second)) :]
        line = "".join(draw.choice("0123456789") if c.isdigit() else c for c in " ".join(words))
        if line and line not in seen:
            seen.add(line)
            yield line


def write(path: Path, lines: Iterator[str], most: int) -> None:
    size = 0
    with path.open("w", encoding="utf-8") as stream:
        for line in lines:
            size += stream.write(line + "\n")
            if size >= most:
                return


def check(model: Path, text: Path) -> None:
    """Compare the answers of some lines with the plain way."""
    tagger = load_tagger(model)
    whole = tagline.load(model)
    lines = [line.rstrip("\n") for line in islice(text.open(encoding="utf-8"), SAMPLE)]
    assert isinstance(whole, CRF)
    corpus = tagline.readers.corpus_of_texts(lines, cut_for(tagger))
    found = tagger.answer_arrays(corpus, spans=True)
    reading = whole._reading(0.0)
    labels, chances = [], []
    with engine.using_engine("naive"):
        for block in feature_chains(whole._scorer, whole._look_up(corpus, None)):
            labels.append(engine.viterbi(block).labels)
            chances.append(probable_spans(block, reading, best=labels[-1]).probability)
    assert found.spans is not None
    same = np.array_equal(np.concatenate(labels), found.labels)
    if not same or not np.allclose(np.concatenate(chances), found.spans.probability, rtol=0, atol=TOLERANCE):
        sys.exit(f"{text.name}: the command and the plain way disagree: no times")


def seconds(source: Path, model: Path, text: Path, output: Path) -> float:
    """CPU seconds of one command, by the package under `source`."""
    environment = {**os.environ, "PYTHONPATH": str(source), "TAGLINE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # bytecode is there after the first run, as it is once installed
    environment["PYTHONPYCACHEPREFIX"] = str(output.parent / f"bytecode-{abs(hash(source))}")
    question = list(QUESTION)
    if not (source / "tagline" / "cli" / "formats.py").exists():
        question[2] = "-o"  # as it was called before
    start = "from tagline.cli import main; main()"
    command = [sys.executable, "-c", start, "tag", "-m", str(model), str(text), *question]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with output.open("wb") as stream:
        subprocess.run(command, env=environment, stdout=stream, cwd=output.parent, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def floor(model: Path, text: Path) -> float:
    """CPU seconds to read, tokenize and write the same texts, all labels O."""
    cut = cut_for(load_tagger(model))
    start = time.process_time()
    for block in read_stream(text, StreamFormat("text"), cut):
        labels = np.zeros(block.corpus.num_tokens, np.int64)
        json_lines(block, LabelledBlock(AnswerArrays(("O",), block.corpus.offsets, labels))).encode()
    return time.process_time() - start


def measure(model: Path, text: Path, sources: list[Path], rounds: int) -> None:
    """Let the checkouts take turns on a text, and print their medians."""
    output = text.with_suffix(".jsonl")
    for source in sources:
        seconds(source, model, text, output)  # makes the bytecode
    taken = [[seconds(source, model, text, output) for source in sources] for _ in range(rounds)]
    megabytes = text.stat().st_size / 1e6
    medians = [statistics.median(row[k] for row in taken) for k in range(len(sources))]
    for k, (source, median) in enumerate(zip(sources, medians, strict=True)):
        values = [row[k] for row in taken]
        ratio = f"  {median / medians[0]:.2f}x" if k else ""
        print(
            f"{text.stem:9} {megabytes:5.1f} MB  {median:6.2f} s ({min(values):.2f} to {max(values):.2f})  "
            f"{megabytes / median:5.2f} MB/s{ratio}  {source if k else 'this checkout'}"
        )
    print(f"{'':9} floor, without a model: {floor(model, text):.2f} s")


def main() -> None:
    """Make the texts and the model, check, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", type=Path, help="the src folder of another checkout, with its compiled core")
    parser.add_argument("--texts", default="repeated,mixed,distinct")
    arguments = parser.parse_args()
    own = Path(tagline.__file__).resolve().parents[1]
    sources = [own, *([arguments.against.resolve()] if arguments.against else [])]
    print(f"{timing.machine()}; {timing.versions(['numpy'])}; 1 thread, {arguments.rounds} rounds in turns")
    rows = sentences()
    train = read_columns(corpora.find("conll2003/train.txt"), docstart=True)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "english.tagline"
        CRF("english_ner", max_iterations=PASSES).fit(train).save(model)
        texts = {"repeated": repeated(rows[: len(train)]), "mixed": mixed(rows)}
        texts["distinct"] = iter(dict.fromkeys(" ".join(row) for row in rows))
        for name in arguments.texts.split(","):
            path = Path(folder) / f"{name}.txt"
            write(path, texts[name], BYTES)
            check(model, path)
            measure(model, path, sources, arguments.rounds)
        last = path.with_suffix(".jsonl").read_text(encoding="utf-8").partition("\n")[0]
        print(f"the first line: {sorted(json.loads(last))}")


if __name__ == "__main__":
    main()
