"""Wapiti's dump, a weight on a line, and patches of the same form, which change weights of a model.

    observation TAB # TAB label TAB weight             of a label
    observation TAB previous TAB label TAB weight      of a pair of labels

with an empty line behind the weights of each observation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tagline.errors import InputError
from tagline.features.expressions.byte_text import bytes_of, text_of
from tagline.interop.wapiti.text import WapitiModel, make_model
from tagline.messages import message

MOST_LINES = 1 << 28
NO_LABEL = "#"


def dump(model: WapitiModel, precision: int = 5, all_weights: bool = False) -> Iterator[bytes]:
    """Write the weights of a model, observation by observation; those that are 0 only if asked for."""
    labels = [bytes_of(label) for label in model.labels]
    L = len(labels)
    if all_weights and model.offsets[-1] > MOST_LINES:
        raise InputError("--all: expected up to {} weights, got {}; leave it out", MOST_LINES, model.offsets[-1])
    if all_weights:
        features = np.arange(model.offsets[-1])
        weights = np.zeros(len(features))
        weights[model.features] = model.weights
        model = replace(model, features=features, weights=weights)
    last = -1
    columns = (column.tolist() for column in (*model.keys(), model.weights))
    for observation, place, of_pair, weight in zip(*columns, strict=True):
        if last not in (-1, observation):
            yield b"\n"
        last = observation
        name = bytes_of(model.observations[observation])
        before = labels[place // L] if of_pair else NO_LABEL.encode()
        yield b"%b\t%b\t%b\t%.*f\n" % (name, before, labels[place % L if of_pair else place], precision, weight)
    if last != -1:
        yield b"\n"


def read_dump(data: bytes, source: str) -> Iterator[tuple[int, str, str | None, str, float]]:
    """Read lines of a dump or a patch: number of the line, observation, label before or None, label, weight."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        fields = line.split(b"\t") if line.count(b"\t") == 3 else line.split()
        if len(fields) != 4:
            raise InputError(
                "{}:{}: expected observation, label before or #, label and weight, got {!r}", source, number, line[:60]
            )
        observation, before, label = (text_of(field.strip()) for field in fields[:3])
        try:
            weight = float(fields[3])
        except ValueError:
            weight = np.nan
        if not np.isfinite(weight):
            raise InputError("{}:{}: expected a weight, got {!r}", source, number, fields[3][:60])
        yield number, observation, None if before == NO_LABEL else before, label, weight


def patched(model: WapitiModel, data: bytes, source: str) -> WapitiModel:
    """Return the model with the weights of a patch in place of its own."""
    numbers = {name: k for k, name in enumerate(model.observations)}
    labels = {name: k for k, name in enumerate(model.labels)}
    observations, places, of_pair = model.keys()
    keys = zip(observations.tolist(), of_pair.tolist(), places.tolist(), strict=True)
    weights = dict(zip(keys, model.weights.tolist(), strict=True))
    for line, name, before, label, weight in read_dump(data, source):
        place = f"{source}:{line}"
        if name not in numbers:
            raise InputError("{}: expected an observation of the model, got {!r:.60}", place, name)
        for wanted in (before, label):
            if wanted is not None and wanted not in labels:
                raise InputError("{}: expected one of {}, got {!r:.60}", place, ", ".join(labels), wanted)
        number = numbers[name]
        if not (model.has_states if before is None else model.has_edges)[number]:
            raise InputError(
                "{}: expected {} for {!r:.60}, got {}; its first letter says what it is crossed with",
                place,
                message("a label before") if before is None else "#",
                name,
                "#" if before is None else before,
            )
        row = labels[label] if before is None else labels[before] * len(labels) + labels[label]
        weights[number, before is not None, row] = weight
    rows = np.array(list(weights), np.int64).reshape(-1, 3)
    by_key = rows[:, 0], rows[:, 2], rows[:, 1].astype(bool)
    values = np.array(list(weights.values()), np.float64)
    return make_model(model.patterns, model.labels, model.observations, by_key, values, model.type)
