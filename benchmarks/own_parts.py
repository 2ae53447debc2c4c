"""What three parts gain that we keep although libraries have something like them: `python benchmarks/own_parts.py`.

- Regular expressions of macros (`tagline.features.expressions`), against `re`.
- The mapped model file (`tagline.storage`), against safetensors' NumPy reader.
- The JSON of `/v1/tag`, which the core writes from arrays, against dictionaries that `json` and pydantic's Rust write.

Results are compared before anything is timed. Medians of rounds in turns, one thread.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import to_json
from safetensors.numpy import load_file
from timing import Contender, Plan, machine, set_threads, take_turns

import tagline
from tagline import storage
from tagline.datasets import make_entities
from tagline.features.expressions.patterns import Pattern
from tagline.serving.answers import _items, _labels_and_spans, prepare
from tagline.serving.requests import TagRequest
from tagline.serving.shelf import ServedModel

PLAN = Plan(rounds=9)
EVIL = "^(a+)+$"
SHAPES = ("^[A-Z][a-z]+$", r"[0-9]+([.,][0-9]+)*", "(ing|ed|s)$")
TOGETHER = 32  # requests that the service answers at once


def expressions() -> None:
    """Words of a corpus that `re` searches well, and one that it does not."""
    words = make_entities(5_000, language="en").columns["token"].strings
    for shape in SHAPES:
        ours, plain = partial(Pattern.of(shape).find, words), partial(searched, re.compile(shape), words)
        assert ours() == plain()
        show(f"search {shape} in {len(words):,} words", ours=ours, re=plain)
    evil = re.compile(EVIL)
    for length in (20, 24):
        word = "a" * length + "!"
        begin = time.perf_counter()
        assert evil.search(word) is None
        seconds = time.perf_counter() - begin
        show(f"search {EVIL} in {length} letters: re took {seconds:.3g} s", ours=partial(Pattern.of(EVIL).find, [word]))


def searched(plain: re.Pattern[str], words: list[str]) -> list[tuple[int, int] | None]:
    """What `Pattern.find` returns, by `re`."""
    return [match and match.span() for match in map(plain.search, words)]


def model_file() -> None:
    """A model of 256 MB, its pages in memory: opened as `tagline tag` does, and with its checksum."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.tagline"
        storage.write(path, {"kind": "bench"}, {"weights": np.random.default_rng(0).random(32_000_000)})
        np.testing.assert_array_equal(storage.read(path).tensors["weights"], load_file(path)["weights"])
        mapped, checked = partial(storage.read, path, verify=False), partial(storage.read, path)
        show("open a model of 256 MB", ours=mapped, with_checksum=checked, safetensors=lambda: load_file(path))


def answers() -> None:
    """Requests of one sentence each: from the model's arrays to JSON."""
    corpus = make_entities(300, language="en")
    served = ServedModel("names", tagline.CRF("english_ner", scheme="IOB2", max_iterations=10).fit(corpus))
    sentences = [list(sentence.tokens) for sentence in corpus[:TOGETHER]]
    requests = [TagRequest.model_validate({"tokens": tokens}) for tokens in sentences]
    prepared = prepare(served, requests, 100_000)
    said = _labels_and_spans(served, prepared, requests[0], None)
    ready = objects(prepared, said)
    assert [json.loads(item) for item in _items(prepared, said, requests)] == ready
    show(
        f"JSON of {TOGETHER} answers, {sum(map(len, sentences))} tokens",
        ours=lambda: _items(prepared, said, requests),
        json=lambda: [json.dumps(item) for item in objects(prepared, said)],
        pydantic=lambda: [to_json(item) for item in objects(prepared, said)],
        pydantic_of_ready_objects=lambda: [to_json(item) for item in ready],
    )


def objects(prepared: Any, said: Any) -> list[dict[str, Any]]:
    """The same answers as dictionaries, made from arrays that were turned into lists."""
    names, offsets, spans = said.arrays.names, prepared.offsets.tolist(), said.arrays.spans
    tokens = [
        {"text": word, "label": names[label]}
        for word, label in zip(prepared.words.strings, said.arrays.labels.tolist(), strict=True)
    ]
    entities: list[list[dict[str, Any]]] = [[] for _ in offsets[1:]]
    columns = (spans.sentence, spans.start, spans.end, spans.kind, spans.probability)
    for b, start, end, kind, chance in zip(*(column.tolist() for column in columns), strict=True):
        entity = {"type": spans.types[kind], "probability": chance, "sentence": 0, "tokens": [start, end]}
        entities[b].append(entity)
    return [
        {"sentences": [{"tokens": tokens[first:last]}], "entities": row}
        for first, last, row in zip(offsets, offsets[1:], entities, strict=False)
    ]


def show(what: str, **calls: Callable[[], object]) -> None:
    """Time calls in turns; a line for all."""
    timings = take_turns([Contender(name, call) for name, call in calls.items()], PLAN)
    taken = [f"{name} {timing.seconds * 1e3:.3g} ms" for name, timing in zip(calls, timings, strict=True)]
    print(f"{what}: {', '.join(taken)}", flush=True)


if __name__ == "__main__":
    set_threads(1)
    print(machine(), f"Python {sys.version.split()[0]}", sep=", ")
    for part in (expressions, model_file, answers):
        part()
