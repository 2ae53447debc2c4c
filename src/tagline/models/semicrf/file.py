"""The layout of a semi-CRF in a model file: settings and arrays, in and out.

Weights are float32, as in use; of tables with many zeros only the others are kept. Whatever a file says is checked. The
settings:

    model, version      "semicrf", and the number of this layout; older ones are read, newer ones refused
    labels, scheme      all tags, and their scheme: types of segments follow from them
    max_length, kinds   tokens of the longest segment, and which attributes segments have
    features            the template or the name of the function, as in the file of a CRF
    dictionary          its fold_case and priority; its phrases are the array ``dictionary``
    settings, training  the estimator's parameters as far as they are plain data; `TrainingFacts`

and the arrays ``lexicon [8, D, L]``, ``length [D, L]``, ``transitions [L, L]``, ``start [L]``, ``end [L]``; for the
sparse tables of token and segment attributes ``states.counts``, ``states.labels``, ``states.weights`` and
``segments.*``; names ``states.names.*`` as `Vocabulary` has them, ``segments.keys [M]``, ``segments.names.bytes`` and
``segments.names.lengths``; ``strings.keys [S]`` and ``strings.counts [S, L]`` for the lexicon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.vocabulary import Vocabulary
from tagline.messages import message
from tagline.models.crf.extraction import Way
from tagline.models.crf.file import (
    MissingFunction,
    described_way,
    dictionary_of_file,
    packed_dictionary,
    way_of_file,
)
from tagline.models.files import (
    Packed,
    TrainingFacts,
    bad_file,
    config_of,
    facts_of,
    finite,
    group_of,
    label_rows,
    labels_of,
    reading,
    settings_of,
    smallest,
    whole_numbers,
)
from tagline.models.semicrf.attributes import BUCKETS, Lexicon, SegmentNames
from tagline.models.semicrf.parameters import Parameters, Tables
from tagline.models.semicrf.settings import KINDS, MOST_TOKENS
from tagline.models.semicrf.tags import SegmentTags
from tagline.ragged import offsets_of
from tagline.storage import ModelFile
from tagline.types import Float64Array

__all__ = ["MODEL", "VERSION", "MissingFunction", "SavedSemiCRF", "pack", "unpack"]

MODEL, VERSION = "semicrf", 1


@dataclass(frozen=True, eq=False)
class SavedSemiCRF:
    """What a file holds of a semi-CRF.

    Attributes:
        parameters: labels, names and weights.
        way: a template or a function.
        dictionary: as the model was trained with.
        settings: the estimator's parameters, by name.
        training: how it was trained.
    """

    parameters: Parameters
    way: Way
    dictionary: Dictionary | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    training: TrainingFacts = field(default_factory=TrainingFacts)


def pack(saved: SavedSemiCRF) -> Packed:
    """Turn a model into what `tagline.storage` writes. The same model makes the same bytes."""
    p, t = saved.parameters, saved.parameters.tables
    described, phrases = packed_dictionary(saved.dictionary)
    own = {
        "scheme": p.scheme,
        "max_length": p.max_length,
        "kinds": list(p.kinds),
        "features": described_way(saved.way),
        "dictionary": described,
    }
    dense = {name: getattr(t, name).astype(np.float32) for name in ("lexicon", "length", "transitions", "start", "end")}
    texts = [name.encode(errors="surrogatepass") for name in p.names.names]
    arrays: dict[str, NDArray[Any]] = {
        **dense,
        **_sparse("states", t.states),
        **_sparse("segments", t.segments),
        **{f"states.names.{name}": array for name, array in p.states.arrays().items()},
        "segments.keys": p.names.keys,
        "segments.names.bytes": np.frombuffer(b"".join(texts), np.uint8),
        "segments.names.lengths": smallest(np.array([len(text) for text in texts], np.int64)),
        **phrases,
    }
    if p.lexicon is not None:
        arrays |= {"strings.keys": p.lexicon.keys, "strings.counts": p.lexicon.counts}
    return config_of(MODEL, VERSION, p.labels, own, saved.settings, saved.training), arrays


def _sparse(part: str, table: Float64Array) -> dict[str, NDArray[Any]]:
    row, label = np.nonzero(table)
    return {
        f"{part}.counts": smallest(np.bincount(row, minlength=len(table))),
        f"{part}.labels": smallest(label),
        f"{part}.weights": table[row, label].astype(np.float32),
    }


def unpack(file: ModelFile) -> SavedSemiCRF:
    """Turn settings and arrays into a model, or say what is wrong with them."""
    with reading(file, VERSION, message("a semi-CRF")):
        return SavedSemiCRF(
            _parameters(file), way_of_file(file), dictionary_of_file(file), settings_of(file), facts_of(file)
        )


def _parameters(file: ModelFile) -> Parameters:
    labels = labels_of(file)
    tags = SegmentTags.of(labels, file.setting("scheme", str))
    if tags.labels != labels:
        raise bad_file(file, message("all tags of each type, sorted"), list(labels))
    D, kinds = file.setting("max_length", int), file.setting("kinds", list)
    if not 1 <= D <= MOST_TOKENS:
        raise bad_file(file, message("segments of 1 to {} tokens", MOST_TOKENS), D)
    if not all(isinstance(kind, str) and kind in KINDS for kind in kinds):
        raise bad_file(file, message("attributes of segments among {}", ", ".join(KINDS)), kinds)
    names = _names(file)
    states = Vocabulary.from_arrays(group_of(file, "states.names."))
    L = tags.num_types
    dense = {"lexicon": (BUCKETS, D, L), "length": (D, L), "transitions": (L, L), "start": (L,), "end": (L,)}
    tables = Tables(
        _table(file, "states", len(states), len(labels)),
        _table(file, "segments", len(names.keys), L),
        *(finite(file, name, np.float32, *shape).astype(np.float64) for name, shape in dense.items()),
    )
    return Parameters(tags, D, tuple(kinds), states, names, _lexicon(file, kinds, L), tables)


def _table(file: ModelFile, part: str, rows: int, width: int) -> Float64Array:
    if rows * width > max(2**24, 64 * (file.size + 1)):  # a short file must not ask for all memory
        raise bad_file(
            file,
            message("a table of {} that its file can hold", part),
            message("{} rows of {}", rows, width),
        )
    offsets, labels = label_rows(file, f"{part}.labels", width, counts=f"{part}.counts", rows=rows)
    out = np.zeros((rows, width))
    places = np.repeat(np.arange(rows), np.diff(offsets)), labels
    out[places] = finite(file, f"{part}.weights", np.float32, len(labels))
    return out


def _ascending_keys(file: ModelFile, name: str) -> NDArray[np.uint64]:
    keys = file.tensor(name, np.uint64, None)
    if (keys[1:] <= keys[:-1]).any():
        raise bad_file(file, message("{} that ascend", name), message("others"))
    return np.asarray(keys)


def _names(file: ModelFile) -> SegmentNames:
    keys = _ascending_keys(file, "segments.keys")
    lengths = whole_numbers(file, "segments.names.lengths", len(keys))
    data = file.tensor("segments.names.bytes", np.uint8, None).tobytes()
    ends = offsets_of(lengths).tolist()
    if ends[-1] != len(data):
        raise bad_file(file, message("names of {} bytes", ends[-1]), len(data))
    try:
        names = tuple(data[low:high].decode(errors="surrogatepass") for low, high in pairwise(ends))
    except UnicodeDecodeError as error:
        raise InputError("segments.names: expected UTF-8, got other bytes ({})", error.reason) from None
    return SegmentNames(keys, names)


def _lexicon(file: ModelFile, kinds: list[str], L: int) -> Lexicon | None:
    if "lexicon" not in kinds:
        return None
    keys = _ascending_keys(file, "strings.keys")
    counts = file.tensor("strings.counts", np.int32, len(keys), L)
    if counts.min(initial=0) < 0:
        raise bad_file(file, message("counts of 0 or more"), int(counts.min()))
    return Lexicon(keys, np.asarray(counts))
