"""The layout of an HMM in a model file: settings and arrays, in and out.

Probabilities are float64, so that log P(O) is the same to the last bit. Whatever a file says is checked. The settings:

    model, version      "hmm", and the number of this layout; older ones are read, newer ones refused
    labels, numbers     names of the states, and whether they are but the digits of their numbers
    scheme              the tag scheme whose rules hold
    emission            family and options, as the family itself writes them
    symbols             "words", "integers" or null
    columns, groups     names of a table's columns, where it has learned from one
    settings, training  the estimator's parameters as far as they are plain data; `TrainingFacts`

and the arrays ``start [K]``, ``transitions [K, K]``, ``emission.*``, and ``symbols.integers`` or ``symbols.bytes``, ….
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError, StorageError
from tagline.features.vocabulary import Vocabulary
from tagline.messages import message
from tagline.models.files import (
    Packed,
    TrainingFacts,
    bad_file,
    config_of,
    facts_of,
    group_of,
    labels_of,
    reading,
    scheme_of,
    settings_of,
)
from tagline.models.hmm.emissions import FAMILIES, Categorical, Symbols
from tagline.models.hmm.parameters import HMMParameters, checked
from tagline.models.hmm.tables import Layout
from tagline.storage import ModelFile

MODEL, VERSION = "hmm", 1

_EMISSION, _SYMBOLS = "emission.", "symbols."


@dataclass(frozen=True, eq=False)
class SavedHMM:
    """What a file holds of an HMM: parameters, how they were trained, the estimator's settings by name."""

    parameters: HMMParameters
    training: TrainingFacts
    settings: Mapping[str, Any]


def pack(saved: SavedHMM) -> Packed:
    """Turn a model into what `tagline.storage` writes. The same model makes the same bytes."""
    p = saved.parameters
    kind, symbols = _packed_symbols(p.symbols)
    own: dict[str, Any] = {"numbers": p.numbers, "scheme": p.scheme, "emission": p.emission.config(), "symbols": kind}
    if p.layout.columns:
        own |= {"columns": list(p.layout.columns), "groups": p.layout.groups}
    emitted = {f"{_EMISSION}{name}": np.asarray(array) for name, array in p.emission.arrays().items()}
    config = config_of(MODEL, VERSION, p.labels, own, saved.settings, saved.training)
    return config, {"start": p.start, "transitions": p.transitions, **emitted, **symbols}


def _packed_symbols(symbols: Symbols | None) -> tuple[str | None, dict[str, NDArray[Any]]]:
    if symbols is None:
        return None, {}
    if all(isinstance(symbol, str) for symbol in symbols.values):
        names = Vocabulary.of(symbols.values).arrays()  # type: ignore[arg-type]
        return "words", {f"{_SYMBOLS}{name}": array for name, array in names.items()}
    if all(type(symbol) is int and abs(symbol) < 2**63 for symbol in symbols.values):
        return "integers", {f"{_SYMBOLS}integers": np.array(symbols.values, np.int64)}
    odd = next(symbol for symbol in symbols.values if not isinstance(symbol, str))
    raise InputError("symbols: expected strings, or integers, to save, got {!r:.60}; turn symbols into strings", odd)


def unpack(file: ModelFile) -> SavedHMM:
    """Turn settings and arrays into a model, or say what is wrong with them."""
    with reading(file, VERSION, message("an HMM")):
        return SavedHMM(_parameters(file), facts_of(file), settings_of(file))


def _parameters(file: ModelFile) -> HMMParameters:
    labels, numbers = labels_of(file), file.setting("numbers", bool)
    if numbers and labels != tuple(str(state) for state in range(len(labels))):
        raise bad_file(file, message("labels 0, 1, … in order"), labels)
    K = len(labels)
    start = file.tensor("start", np.float64, K)
    transitions = file.tensor("transitions", np.float64, K, K)
    described = file.setting("emission", dict)
    family = described.get("family")
    if not isinstance(family, str) or family not in FAMILIES:
        raise bad_file(file, message("emissions of a family among {}", ", ".join(FAMILIES)), family)
    try:
        emission = FAMILIES[family].from_arrays(group_of(file, _EMISSION), described)
    except StorageError as error:
        raise StorageError("{}: {}", file.source, error) from None
    symbols = _symbols(file)
    wanted = emission.num_symbols if isinstance(emission, Categorical) else None
    if wanted != (None if symbols is None else len(symbols)):
        raise bad_file(file, message("{} symbols", wanted or message("no")), None if symbols is None else len(symbols))
    parameters = HMMParameters(labels, numbers, scheme_of(file), start, transitions, emission, symbols, _layout(file))
    _ = parameters.rules  # labels that are not of the scheme
    return checked(parameters)


def _layout(file: ModelFile) -> Layout:
    columns, groups = file.config.get("columns", []), file.config.get("groups")
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise bad_file(file, message("names of columns"), columns)
    if groups is not None and not isinstance(groups, str):
        raise bad_file(file, message("the name of a column as groups"), groups)
    return Layout(tuple(columns), groups)


def _symbols(file: ModelFile) -> Symbols | None:
    kind = file.config.get("symbols")
    if kind is None:
        return None
    if kind == "integers":
        return Symbols.of(file.tensor(f"{_SYMBOLS}integers", np.int64, None).tolist())
    if kind != "words":
        raise bad_file(file, message("symbols that are words or integers"), kind)
    return Symbols.of(Vocabulary.from_arrays(group_of(file, _SYMBOLS)))
