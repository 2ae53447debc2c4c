"""A feature CRF to a file and back, and through pickle and copy: the methods of the estimator around `packing`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from tagline import storage
from tagline.errors import InputError
from tagline.features.weights import Scorer
from tagline.models.crf.extraction import Extraction, Way
from tagline.models.crf.file import Facts, MissingFunction, SavedCRF, pack, reading, unpack
from tagline.models.crf.parameters import Parameters
from tagline.models.files import Packed, Stored


class Saving(Stored):
    """The methods of a CRF that keep it."""

    _LEARNED: ClassVar[tuple[str, ...]] = ("parameters_", "training_", "_extraction", "_scorer")
    parameters_: Parameters
    training_: Facts
    features: Any
    dictionary: Any
    _extraction: Extraction
    _scorer: Scorer

    def save(self, path: storage.Path) -> None:
        """Write the model to one file, whole or not at all; `tagline.load` reads it.

        Weights are kept as float32, those that are 0 left out. A feature function and callbacks are code and stay
        outside: pass the function to `tagline.load` again.
        """
        super().save(path)

    @classmethod
    def from_file(cls, file: storage.ModelFile, *, features: Way = None) -> Self:
        """Make the model of a file that was read; see `tagline.load`.

        Arguments:
            features: the function that the model was trained with, where it was trained with one.
        """
        saved = unpack(file)
        if features is not None and not isinstance(saved.way, MissingFunction):
            raise InputError(f"features: expected none, for {file.source} brings its own, got some; leave it out")
        if features is not None and not callable(features):
            raise InputError(f"features: expected a function, as {saved.way!r} was, got {features!r:.60}")
        out = cls()
        out._set(saved.settings)
        out.features, out.dictionary = saved.way if features is None else features, saved.dictionary
        with reading(file):
            out._become(saved.parameters, Extraction(out.features, saved.hash_bits, saved.dictionary), saved.training)
        return out

    def _become(self, parameters: Parameters, extraction: Extraction, training: Facts) -> None:
        """Take on learned parameters."""
        self.parameters_, self.training_ = parameters, training
        self._extraction = extraction
        self._scorer = Scorer(parameters.structure, parameters.weights, parameters.rules)

    def _fitted(self) -> Parameters:
        raise NotImplementedError

    def _packed(self) -> Packed:
        p, e = self._fitted(), self._extraction
        return pack(SavedCRF(p, e.way, e.hash_bits, e.dictionary, self._settings(), self.training_))

    def _take(self, file: storage.ModelFile, function: Way = None) -> None:
        saved = unpack(file)
        way = saved.way if function is None else function
        self._become(saved.parameters, Extraction(way, saved.hash_bits, saved.dictionary), saved.training)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy keep: the bytes of the model's file, its function, everything else as it is."""
        state = super().__getstate__()
        if "_file" in state:
            state["_function"] = self._extraction.function
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = dict(state)
        function, data = rest.pop("_function", None), rest.pop("_file", None)
        super().__setstate__(rest)
        if data is not None:
            self._take(storage.loads(data, source="<pickle>"), function)
