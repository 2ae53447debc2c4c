"""CRF++'s binary model file, which crf_learn writes and crf_test maps.

All numbers are little-endian:

    32 bytes    version 100, type 0, cost factor as float64, maxid, xsize, bytes of the double array and of the labels
    labels      each with a zero byte behind it
    4 bytes     bytes of the template
    template    its lines, U lines first, each with a zero byte behind it; zeros up to a multiple of 4 with the labels
    strings     Darts' double array, from feature strings to numbers
    weights     maxid of them, float32

Files are hostile: every size is checked before it is used.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tagline.errors import InputError
from tagline.interop.crfpp import double_array
from tagline.interop.crfpp.model import VERSION, CRFPPModel, bad_model, checked
from tagline.messages import message

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF

HEAD = struct.Struct("<IidIIII")
SIZE = struct.Struct("<I")


def read_crf(data: bytes, source: str) -> CRF:
    """Make a model of a binary file of CRF++."""
    from tagline.interop.crfpp.conversion import crf_of

    return crf_of(read_model(data, source), source)


def write_crf(model: CRF) -> bytes:
    """Write a model as a binary file of CRF++, which crf_test reads."""
    from tagline.interop.crfpp.conversion import model_of

    return write_model(model_of(model))


def read_model(data: bytes, source: str) -> CRFPPModel:
    """Read a binary file, or say what is wrong with it.

    Arguments:
        data: the whole file.
        source: its name, for messages.
    """
    if len(data) < HEAD.size + SIZE.size:
        raise bad_model(source, message("a CRF++ model of {} bytes or more", HEAD.size + SIZE.size), len(data))
    version, _, cost_factor, maxid, xsize, array_size, labels_size = HEAD.unpack_from(data)
    if version // 100 != VERSION // 100:
        raise bad_model(source, message("version {} of CRF++'s format", VERSION), version)
    begin = HEAD.size + labels_size
    if begin + SIZE.size > len(data):
        raise bad_model(source, message("{} bytes of labels", labels_size), message("fewer"))
    (template_size,) = SIZE.unpack_from(data, begin)
    strings = begin + SIZE.size + template_size
    weights = strings + array_size
    if weights + 4 * maxid != len(data):
        raise bad_model(source, message("{} bytes, as the header says", weights + 4 * maxid), len(data))
    dictionary = double_array.read(data[strings:weights])
    if dictionary is None:
        raise bad_model(source, message("a double array of feature strings"), message("something else"))
    labels = _strings(data[HEAD.size : begin], source)
    template = [line for line in _strings(data[begin + SIZE.size : strings], source) if line]
    keys, ids = dictionary
    values = np.frombuffer(data, "<f4", maxid, weights).astype(np.float32, copy=False)
    return checked(CRFPPModel(tuple(labels), tuple(template), tuple(keys), ids, values, xsize, cost_factor), source)


def write_model(model: CRFPPModel) -> bytes:
    """Return the file of a model."""
    labels, template = _joined(model.labels), _joined(model.template)
    template += bytes(-(len(labels) + len(template)) % 4)
    strings = double_array.build(model.keys, model.ids)
    for name, size in (("weights", len(model.weights)), ("strings", len(strings))):
        if size >= 2**31:
            raise InputError("model: expected {} that 31 bits count, as CRF++ does, got {}", name, size)
    sizes = len(model.weights), model.xsize, len(strings), len(labels)
    parts = [
        HEAD.pack(VERSION, 0, model.cost_factor, *sizes),
        labels,
        SIZE.pack(len(template)),
        template,
        strings,
        np.asarray(model.weights, "<f4").tobytes(),
    ]
    return b"".join(parts)


def _joined(texts: Sequence[bytes]) -> bytes:
    return b"".join(text + b"\0" for text in texts)


def _strings(held: bytes, source: str) -> list[bytes]:
    if held and not held.endswith(b"\0"):
        raise bad_model(source, message("texts that a zero byte ends"), message("one without"))
    return held.split(b"\0")[:-1]
