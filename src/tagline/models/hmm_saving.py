"""An HMM to a file and back, and through pickle and copy: settings and arrays of `tagline.storage`.

Probabilities are float64, so that log P(O) is the same to the last bit. Whatever a file says is checked. The settings:

    model, version      "hmm", and the number of this layout; older ones are read, newer ones refused
    labels, numbers     names of the states, and whether they are but the digits of their numbers
    scheme              the tag scheme whose rules hold
    emission            family and options, as the family itself writes them
    symbols             "words", "integers" or null
    settings, training  the estimator's parameters as far as they are plain data; `Facts`

and the arrays ``start [K]``, ``transitions [K, K]``, ``emission.*``, and ``symbols.integers`` or ``symbols.bytes``, ….
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError, StorageError
from tagline.features.vocabulary import Vocabulary
from tagline.models.emissions import FAMILIES, Categorical, Symbols
from tagline.models.hmm_parameters import HMMParameters, checked
from tagline.models.packing import MOST_LABELS, Facts, bad_file, facts_of, plain_settings, reading
from tagline.models.stored import Packed, Stored
from tagline.readers.rules import scheme
from tagline.storage import ModelFile
from tagline.training.monitor import Pass

MODEL, VERSION = "hmm", 1

_EMISSION, _SYMBOLS = "emission.", "symbols."


@dataclass(frozen=True, eq=False)
class SavedHMM:
    """What a file holds of an HMM: parameters, how they were trained, the estimator's settings by name."""

    parameters: HMMParameters
    training: Facts
    settings: Mapping[str, Any]


def pack(saved: SavedHMM) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Turn a model into what `tagline.storage` writes. The same model makes the same bytes."""
    p = saved.parameters
    kind, symbols = _packed_symbols(p.symbols)
    config = {
        "model": MODEL,
        "version": VERSION,
        "labels": list(p.labels),
        "numbers": p.numbers,
        "scheme": p.scheme,
        "emission": p.emission.config(),
        "symbols": kind,
        "settings": plain_settings(saved.settings),
        "training": saved.training.as_dict(),
    }
    emitted = {f"{_EMISSION}{name}": np.asarray(array) for name, array in p.emission.arrays().items()}
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
    raise InputError(f"symbols: expected strings, or integers, to save, got {odd!r:.60}; turn symbols into strings")


def unpack(file: ModelFile) -> SavedHMM:
    """Turn settings and arrays into a model, or say what is wrong with them."""
    with reading(file):
        version = file.setting("version", int)
        if version > VERSION:
            raise StorageError(
                f"{file.source}: expected an HMM of layout {VERSION} or older, got {version}, written by a newer "
                "Tagline; upgrade Tagline to read it"
            )
        return SavedHMM(_parameters(file), facts_of(file), file.setting("settings", dict))


def _parameters(file: ModelFile) -> HMMParameters:
    labels, numbers = file.setting("labels", list), file.setting("numbers", bool)
    if not 1 <= len(labels) <= MOST_LABELS or not all(isinstance(label, str) for label in labels):
        raise bad_file(file, f"1 to {MOST_LABELS} labels that are strings", labels)
    if len(set(labels)) != len(labels) or (numbers and labels != [str(state) for state in range(len(labels))]):
        raise bad_file(file, "labels, each once, or 0, 1, … in order", labels)
    K = len(labels)
    name = None if file.config.get("scheme", "") is None else file.setting("scheme", str)
    start = file.tensor("start", np.float64, K)
    moves = file.tensor("transitions", np.float64, K, K)
    described = file.setting("emission", dict)
    family = described.get("family")
    if not isinstance(family, str) or family not in FAMILIES:
        raise bad_file(file, f"emissions of a family among {', '.join(FAMILIES)}", family)
    arrays = {key.removeprefix(_EMISSION): one for key, one in file.tensors.items() if key.startswith(_EMISSION)}
    try:
        emission = FAMILIES[family].from_arrays(arrays, described)
    except StorageError as error:
        raise StorageError(f"{file.source}: {error}") from None
    symbols = _symbols(file)
    wanted = emission.num_symbols if isinstance(emission, Categorical) else None
    if wanted != (None if symbols is None else len(symbols)):
        raise bad_file(file, f"{wanted or 'no'} symbols", None if symbols is None else len(symbols))
    found = HMMParameters(
        tuple(labels), numbers, None if name is None else scheme(name).name, start, moves, emission, symbols
    )
    _ = found.rules  # labels that are not of the scheme
    return checked(found)


def _symbols(file: ModelFile) -> Symbols | None:
    kind = file.config.get("symbols")
    if kind is None:
        return None
    if kind == "integers":
        return Symbols.of(file.tensor(f"{_SYMBOLS}integers", np.int64, None).tolist())
    if kind != "words":
        raise bad_file(file, "symbols that are words or integers", kind)
    stored = {key.removeprefix(_SYMBOLS): one for key, one in file.tensors.items() if key.startswith(_SYMBOLS)}
    return Symbols.of(Vocabulary.from_arrays(stored))


class HMMSaving(Stored):
    """The methods of an HMM that keep it."""

    _LEARNED: ClassVar[tuple[str, ...]] = ("parameters_", "training_")
    parameters_: HMMParameters
    training_: Facts
    training_log_: list[Pass]
    emission: Any
    frozen: Any

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """Make the model of a file that was read; see `tagline.load`."""
        saved = unpack(file)
        out = cls()
        out.emission = saved.parameters.emission.family
        out._set(saved.settings)
        if isinstance(out.frozen, list):
            out.frozen = tuple(out.frozen)
        out._become(saved.parameters, saved.training, [])
        return out

    def _become(self, parameters: HMMParameters, training: Facts, history: list[Pass]) -> None:
        """Take on learned parameters."""
        self.parameters_, self.training_, self.training_log_ = parameters, training, history

    def _fitted(self) -> HMMParameters:
        raise NotImplementedError

    def _packed(self) -> Packed:
        return pack(SavedHMM(self._fitted(), self.training_, self._settings()))

    def _take(self, file: ModelFile) -> None:
        saved = unpack(file)
        self._become(saved.parameters, saved.training, vars(self).get("training_log_", []))
