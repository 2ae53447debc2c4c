"""A model file of CRFsuite as text, as ``crfsuite dump`` and python-crfsuite's `Tagger.dump` write it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tagline.interop.crfsuite.binary import HEADER, STATE, TRANSITION, CRFsuiteModel

FIELDS = ("magic", "size", "type", "version", "num_features", "num_labels", "num_attrs")
OFFSETS = ("off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs")


def header_of(data: bytes) -> dict[str, str]:
    """Return the numbers of a file's header by name, as they are written."""
    values = HEADER.unpack_from(data)
    plain = [value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in values[: len(FIELDS)]]
    offsets = [f"0x{value:X}" for value in values[len(FIELDS) :]]
    return dict(zip((*FIELDS, *OFFSETS), plain + offsets, strict=True))


def dump_lines(data: bytes, model: CRFsuiteModel) -> Iterator[str]:
    """Write a file that was read: its header, labels, attributes, transitions and state features.

    Arguments:
        data: the file.
        model: what `read_model` made of it.
    """
    labels, attributes = model.labels, model.attributes
    yield from _section("FILEHEADER", (f"  {name}: {value}\n" for name, value in header_of(data).items()))
    yield from _section("LABELS", (f"  {number:5d}: {name}\n" for number, name in enumerate(labels)))
    yield from _section("ATTRIBUTES", (f"  {number:5d}: {name}\n" for number, name in enumerate(attributes)))
    moves = sorted(zip(*model.transitions.T.tolist(), model.transition_weights.tolist(), strict=True))
    yield from _section(
        "TRANSITIONS", (f"  ({TRANSITION}) {labels[a]} --> {labels[b]}: {weight:f}\n" for a, b, weight in moves)
    )
    order = np.lexsort((model.state_labels, model.state_attributes))
    states = zip(
        model.state_attributes[order].tolist(),
        model.state_labels[order].tolist(),
        model.state_weights[order].tolist(),
        strict=True,
    )
    yield from _section(
        "STATE_FEATURES", (f"  ({STATE}) {attributes[a]} --> {labels[b]}: {weight:f}\n" for a, b, weight in states)
    )


def _section(name: str, lines: Iterator[str]) -> Iterator[str]:
    yield f"{name} = {{\n"
    yield from lines
    yield "}\n\n"
