"""Model files of other tools, told apart by their first bytes: `read_model` makes a model of ours of any of them.

Each format has a home, a module with ``read_crf(data, source) -> CRF`` and, where we write it,
``write_crf(model) -> bytes``. Homes are loaded when they are needed.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tagline import storage
from tagline.checks import check_choice
from tagline.errors import InputError, StorageError
from tagline.messages import message
from tagline.models.contract import Model
from tagline.models.files import load
from tagline.writing import open_new

TAGLINE = "tagline"
HEAD = 4096  # bytes that a format is recognised by


@dataclass(frozen=True)
class ModelFormat:
    """A kind of model file.

    Attributes:
        tool: whose file it is, for messages.
        home: the module that reads it; None for one that is told apart only to be refused.
        recognises: whether a file with such first bytes is one.
        written: whether the home writes it, too.
        kinds: of models that it can hold.
    """

    tool: str
    home: str | None
    recognises: Callable[[bytes], bool]
    written: bool = True
    kinds: tuple[str, ...] = ("crf",)


def _is_crfpp(head: bytes) -> bool:
    """Version 100 and the type of a CRF, both as 32-bit numbers."""
    return len(head) >= 8 and struct.unpack_from("<2I", head) == (100, 0)


def _is_java(head: bytes) -> bool:
    """Serialised objects of Java, packed by gzip or not."""
    if head.startswith(b"\x1f\x8b"):
        with contextlib.suppress(zlib.error):
            head = zlib.decompressobj(wbits=31).decompress(head, 16)
    return head.startswith(b"\xac\xed\x00\x05")


FORMATS = {
    "crfsuite": ModelFormat("CRFsuite", "tagline.interop.crfsuite.conversion", lambda head: head.startswith(b"lCRF")),
    "crfpp": ModelFormat("CRF++", "tagline.interop.crfpp.binary_model", _is_crfpp),
    "crfpp-text": ModelFormat("CRF++", "tagline.interop.crfpp.text_model", lambda head: head.startswith(b"version: ")),
    "wapiti": ModelFormat(
        "Wapiti",
        "tagline.interop.wapiti.conversion",
        lambda head: head.startswith(b"#mdl#"),
        kinds=("crf", "memm", "maxent"),
    ),
    "sklearn-crfsuite": ModelFormat(
        "sklearn-crfsuite",
        "tagline.interop.sklearn_crfsuite.pickles",
        lambda head: head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05",
        written=False,
    ),
    "java": ModelFormat("MALLET or Stanford NER", None, _is_java),
}
WRITTEN = tuple(name for name, form in FORMATS.items() if form.written and form.home)


def recognise(head: bytes) -> str | None:
    """Return the name of another tool's format by the first bytes of a file; None for ours, or an unknown one."""
    return next((name for name, form in FORMATS.items() if form.recognises(head)), None)


def refuse_others(data: bytes, wanted: str, source: str) -> None:
    """Raise where a file is a model of another format than its reader wants, and say which one.

    Arguments:
        data: the first bytes of the file, `HEAD` or more.
        wanted: the name of the format.
        source: the file, for messages.
    """
    name = recognise(data[:HEAD]) or (TAGLINE if data[8:].startswith(b'{"__metadata__') else wanted)
    if name == wanted:
        return
    tool = "Tagline" if name == TAGLINE else FORMATS[name].tool
    form = message("a text model") if name == "crfpp-text" else message("a model")
    raise StorageError(
        "{0}: this is {1} of {2}, but files of format {3} are read here; use `tagline tag -m "
        "{0}`, or convert it: `tagline convert-model {0} FILE --to {3}`",
        source,
        form,
        tool,
        wanted,
    )


def read_model(path: storage.Path, *, load: Callable[..., Model] = load, **options: Any) -> Model:
    """Load a model of ours, or make one of another tool's file; what the file is called does not matter.

    Arguments:
        load: how a model of ours is loaded.
        options: of `tagline.load`, for a model of ours.

    >>> import os, tempfile
    >>> from tagline import CRF
    >>> model = CRF(c2=0.1).fit([[["w=Anna"], ["w=sings"]]], [["N", "V"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(model, os.path.join(folder, "names.model"), "crfsuite")
    ...     read_model(os.path.join(folder, "names.model")).predict([[["w=Anna"], ["w=runs"]]])
    [['N', 'V']]
    """
    try:
        return load(path, **options)
    except StorageError as error:
        refused = error
    data = _foreign(path)
    name = recognise(data[:HEAD])
    if name is None:
        raise refused
    form = FORMATS[name]
    if form.home is None:
        raise StorageError(
            "{}: expected a model of Tagline, CRFsuite, CRF++ or Wapiti, got what looks like one of {}, "
            "whose files are not read; train the model anew from its data",
            path,
            form.tool,
        )
    model: Model = import_module(form.home).read_crf(data, str(path))
    return model


def _foreign(path: storage.Path) -> bytes:
    """The bytes of another tool's file; none of anything else, about which `load` has more to say."""
    with contextlib.suppress(OSError, TypeError, ValueError):
        if os.path.isfile(path):  # a pipe can be read once only
            with open(path, "rb") as file:
                head = file.read(HEAD)
                return head + file.read() if recognise(head) is not None else b""
    return b""


def write_model(model: Model, path: storage.Path, format: str) -> None:
    """Write a model as a file of another tool, or of ours."""
    if format == TAGLINE:
        model.save(path)
        return
    check_choice("format", format, (TAGLINE, *WRITTEN))
    form = FORMATS[format]
    if model.kind not in form.kinds:
        raise InputError(
            "model: expected a model of kind {} to write as a file of {}, got one of kind {}",
            message(" or ").join(form.kinds),
            form.tool,
            model.kind,
        )
    assert form.home is not None
    data = import_module(form.home).write_crf(model)
    with open_new(path) as file:
        file.write(data)
