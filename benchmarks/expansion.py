"""How fast is a template? From a column file to numbered attributes, and from known attributes to numbers again.

The files are ``conll2000/train.txt`` and ``test.txt`` and the template ``crfpp_chunking/template`` under
``TAGLINE_DATA`` where that is set (338,551 attributes), else made-up files of the same size and a template of the same
form. Before a time is printed the attributes of a sample must be those of `Template.strings`, the definition in plain
Python, and the whole must be the same for one and two threads. The floor of looking up is to hash: no names are
compared.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import reading
import timing
from timing import Contender, Neighbours, Plan

import tagline
from tagline.features import Expanded, Template, Vocabulary, expand
from tagline.readers import Corpus, read_columns

CONLL_ATTRIBUTES = 338_551
SAMPLE = 300  # sentences
TEST_SHARE = 0.22


def made_up_template() -> str:
    """Write 19 lines of words and parts of speech, alone and in neighbours of two and three."""
    words = [[row] for row in range(-2, 3)] + [[-1, 0], [0, 1]]
    tags = [[row] for row in range(-2, 3)] + [[row, row + 1] for row in range(-2, 2)]
    tags += [[row, row + 1, row + 2] for row in range(-2, 1)]
    rows = [(0, at) for at in words] + [(1, at) for at in tags]
    lines = [f"U{k:02}:" + "/".join(f"%x[{row},{column}]" for row in at) for k, (column, at) in enumerate(rows)]
    return "\n".join([*lines, "B", ""])


def numbers_of(template: Template, corpus: Corpus) -> list[list[str]]:
    """The definition: the attributes of each token, written out."""
    rows = []
    for sentence in corpus:
        columns = [words for name, words in sentence.columns.items() if name != "tag"]
        rows += template.strings(columns)[0]
    return rows


def written(expanded: Expanded, names: Vocabulary) -> list[list[str]]:
    """The same from numbers."""
    states = expanded.features.states
    return [
        [names[number] for number in states.ids[first:last].tolist()]
        for first, last in zip(states.offsets[:-1], states.offsets[1:], strict=True)
    ]


def check(template: Template, train: Corpus, test: Corpus) -> Vocabulary:
    """Compare with the definition and between threads; returns the vocabulary of the training file."""
    results = []
    for threads in (1, 2):
        timing.set_threads(threads)
        results.append(expand(template, train))
    first, second = results
    assert first.states is not None
    if first.states != second.states or not np.array_equal(first.features.states.ids, second.features.states.ids):
        sys.exit("one and two threads disagree: no times")
    for corpus in (train[:SAMPLE], test[-SAMPLE:]):
        rows = numbers_of(template, corpus)
        new = expand(template, corpus)
        assert new.states is not None
        known = [[name for name in row if name in first.states] for row in rows]
        if (
            written(new, new.states) != rows
            or written(expand(template, corpus, (first.states, None)), first.states) != known
        ):
            sys.exit("the compiled expansion and the definition disagree: no times")
    return first.states


def report(name: str, seconds: float, tokens: int, spread: float) -> None:
    print(f"{name:42} {1000 * seconds:8.1f} ms  {1e9 * seconds / tokens:7.0f} ns a token  ±{spread:.0%}")


def measure(template: Template, path: Path, train: Corpus, test: Corpus, names: Vocabulary, plan: Plan) -> None:
    """Print the times for one and two threads, and those of loading the names."""
    for threads in (1, 2):
        timing.set_threads(threads)
        contenders = [
            Contender("read the training file", lambda: read_columns(path)),
            Contender("number its attributes", lambda: expand(template, train)),
            Contender("both, file to ids", lambda: expand(template, read_columns(path))),
            Contender("look the test file up", lambda: expand(template, test, (names, None))),
            Contender("hash the test file (floor)", lambda: expand(template, test, hash_bits=20)),
        ]
        sizes = [train.num_tokens] * 3 + [test.num_tokens] * 2
        for contender, size, taken in zip(contenders, sizes, timing.take_turns(contenders, plan), strict=True):
            report(f"{threads} thread{'s' * (threads > 1)}: {contender.name}", taken.seconds, size, taken.spread)
    arrays = names.arrays()
    (taken,) = timing.take_turns([Contender("load", lambda: Vocabulary.from_arrays(arrays))], plan)
    extra = sum(array.nbytes for name, array in arrays.items() if name != "bytes") / len(names)
    print(
        f"{len(names):,} names: {arrays['bytes'].nbytes / 1e6:.1f} MB of text + {extra:.1f} bytes a name, checked in "
        f"full in {1000 * taken.seconds:.1f} ms ±{taken.spread:.0%}"
    )


def main() -> None:
    """Check, then time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="samples of each (default 9)")
    plan = Plan(rounds=parser.parse_args().rounds)
    neighbours = Neighbours()
    with tempfile.TemporaryDirectory() as folder:
        data = os.environ.get("TAGLINE_DATA")
        path = Path(data) / "conll2000" / "train.txt" if data else Path(folder) / "train.txt"
        if not data:
            reading.made_up(path)
        train = read_columns(path)
        if data:
            template = Template.read(Path(data) / "crfpp_chunking" / "template")
            test = read_columns(Path(data) / "conll2000" / "test.txt")
        else:
            template = Template.parse(made_up_template())
            test = train[: int(TEST_SHARE * len(train))]
        names = check(template, train, test)
        if data and len(names) != CONLL_ATTRIBUTES:
            sys.exit(f"expected {CONLL_ATTRIBUTES} attributes, got {len(names)}: no times")
        print(f"{timing.machine()}; tagline {tagline.__version__}, {timing.versions(['numpy'])}")
        print(f"{train.num_tokens} tokens to number, {test.num_tokens} to look up, {len(template.states)} templates")
        measure(template, path, train, test, names, plan)
    print(neighbours)


if __name__ == "__main__":
    main()
