"""CRF++'s text model file, which ``crf_learn -t`` writes beside the binary one and ``crf_learn -C`` reads.

Sections with an empty line behind each: the header (``version: 100``, ``cost-factor: 1``, ``maxid: …``, ``xsize: …``),
the labels, the template, a number and a feature string a line; then a weight a line, with 16 decimals, to the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError
from tagline.interop.crfpp.model import VERSION, CRFPPModel, as_float64, bad_model, checked
from tagline.messages import message
from tagline.types import Float64Array

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF

_FEATURE = re.compile(rb"([0-9]{1,10})[ \t]([^\n]+)")


def read_crf(data: bytes, source: str) -> CRF:
    """Make a model of a text file of CRF++."""
    from tagline.interop.crfpp.conversion import crf_of

    return crf_of(read_model(data, source), source)


def write_crf(model: CRF) -> bytes:
    """Write a model as a text file of CRF++, which ``crf_learn -C`` reads."""
    from tagline.interop.crfpp.conversion import model_of

    return write_model(model_of(model))


def read_model(data: bytes, source: str) -> CRFPPModel:
    """Read a text file, or say what is wrong with it."""
    parts = data.split(b"\n\n", 3)
    last = parts.pop() if len(parts) == 4 else b""
    parts += [b"", last[1:]] if last[:1] == b"\n" else last.split(b"\n\n", 1)  # a model may have no features
    if len(parts) < 5:
        raise bad_model(
            source,
            message("header, labels, template, features and weights"),
            message("{} of these sections", len(parts)),
        )
    fields = _header(parts[0], source)
    maxid, xsize = (_whole(fields.get(name), name, source) for name in (b"maxid:", b"xsize:"))
    keys, ids = _features(parts[3], source)
    weights = _weights(parts[4], source)
    if len(weights) != maxid:
        raise bad_model(source, message("{} weights, as the header says", maxid), len(weights))
    try:
        cost_factor = float(fields.get(b"cost-factor:", b"1"))
    except ValueError:
        raise bad_model(source, message("a number as cost-factor"), fields[b"cost-factor:"][:40]) from None
    labels, template = (tuple(part.split(b"\n")) for part in parts[1:3])
    return checked(CRFPPModel(labels, template, keys, ids, weights, xsize, cost_factor), source)


def write_model(model: CRFPPModel) -> bytes:
    """Return the file of a model."""
    if any(b"\n" in text for text in (*model.labels, *model.keys)):
        raise InputError("model: expected labels and features without line breaks, got one with; a line cannot hold it")
    head = b"version: %d\ncost-factor: %s\nmaxid: %d\nxsize: %d\n" % (
        VERSION,
        b"%g" % model.cost_factor,
        len(model.weights),
        model.xsize,
    )
    features = b"".join(b"%d %s\n" % pair for pair in zip(model.ids.tolist(), model.keys, strict=True))
    weights = "".join(map("%.16f\n".__mod__, as_float64(model.weights).tolist())).encode()
    labels, template = (b"".join(text + b"\n" for text in texts) for texts in (model.labels, model.template))
    return b"\n".join([head, labels, template, features, weights])


def _header(text: bytes, source: str) -> dict[bytes, bytes]:
    fields = {}
    for line in text.split(b"\n"):
        name, _, value = line.replace(b"\t", b" ").partition(b" ")
        if not value:
            raise bad_model(source, message("a name and a value in each line of the header"), repr(line)[1:60])
        fields[name] = value
    if b"version:" in fields and _whole(fields[b"version:"], b"version:", source) // 100 != VERSION // 100:
        raise bad_model(
            source,
            message("version {} of CRF++'s format", VERSION),
            fields[b"version:"][:20].decode("latin-1"),
        )
    return fields


def _whole(value: bytes | None, name: bytes, source: str) -> int:
    if value is None or not re.fullmatch(rb"[0-9]{1,10}", value):
        raise bad_model(source, message("a whole number as {}", name.decode().rstrip(":")), message("something else"))
    return int(value)


def _features(text: bytes, source: str) -> tuple[tuple[bytes, ...], NDArray[np.int32]]:
    """The feature strings, ascending, and their numbers."""
    rows = [_FEATURE.fullmatch(line) for line in (text.split(b"\n") if text else ())]
    pairs = sorted((row[2], int(row[1])) for row in rows if row is not None)
    if None in rows or any(number >= 2**31 for _, number in pairs):
        raise bad_model(source, message("a number and a feature in each line"), message("something else"))
    keys = tuple(key for key, _ in pairs)
    if len(set(keys)) != len(keys):
        raise bad_model(source, message("each feature once"), message("one twice"))
    return keys, np.array([number for _, number in pairs], np.int32)


def _weights(text: bytes, source: str) -> Float64Array:
    try:
        return np.array(text.split(), np.float64)
    except ValueError:
        raise bad_model(source, message("a number a line as weights"), message("something else")) from None
