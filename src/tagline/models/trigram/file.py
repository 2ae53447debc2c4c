"""A trigram tagger to a file and back, and through pickle and copy: settings and arrays of `tagline.storage`.

Scores are float32 here and in use, so that a loaded model answers the same to the last bit; the table of transition
probabilities is made of the counts. Whatever a file says is checked. The settings:

    model, version      "trigram", and the number of this layout; older ones are read, newer ones refused
    labels, capitals    tags, and whether states tell words with a capital from others
    weights, longest    λ1, λ2, λ3, and the characters of the longest ending
    settings, training  the estimator's parameters; `Facts`

and the arrays ``trigrams [G, 3]`` of states (the number of states stands for the boundary), ``trigrams.counts [G]``,
``candidates.counts [W]``, ``candidates.states [M]``, ``candidates.scores [M]``, and the names of words and of endings:
``words.bytes`` and so on, ``small.*``, ``capital.*``. The lists are those of words, endings (small, capital) and none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tagline.errors import StorageError
from tagline.features.vocabulary import Vocabulary
from tagline.models.crf.file import Facts, bad_file, facts_of, plain_settings, reading
from tagline.models.files import Packed, Stored
from tagline.models.trigram.counts import MOST_STATES, TrigramCounts
from tagline.models.trigram.parameters import CandidateLists, TrigramParameters
from tagline.storage import ModelFile

MODEL, VERSION = "trigram", 1

_NAMES = ("words", "small", "capital")


@dataclass(frozen=True, eq=False)
class SavedTrigrams:
    """What a file holds of a trigram tagger: parameters, how they were learned, the estimator's settings by name."""

    parameters: TrigramParameters
    training: Facts
    settings: Mapping[str, Any]


def pack(saved: SavedTrigrams) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Turn a model into what `tagline.storage` writes. The same model makes the same bytes."""
    p = saved.parameters
    config = {
        "model": MODEL,
        "version": VERSION,
        "labels": list(p.labels),
        "capitals": p.capitals,
        "weights": p.weights.tolist(),
        "longest": p.longest,
        "settings": plain_settings(saved.settings),
        "training": saved.training.as_dict(),
    }
    arrays: dict[str, NDArray[Any]] = {
        "trigrams": p.counts.grams.astype(np.uint16),
        "trigrams.counts": p.counts.counts,
        "candidates.counts": np.diff(p.candidates.offsets).astype(np.uint16),
        "candidates.states": p.candidates.states.astype(np.uint16),
        "candidates.scores": p.candidates.scores,
    }
    for part, names in zip(_NAMES, (p.words, *p.endings), strict=True):
        arrays.update({f"{part}.{name}": array for name, array in names.arrays().items()})
    return config, arrays


def unpack(file: ModelFile) -> SavedTrigrams:
    """Turn settings and arrays into a model, or say what is wrong with them."""
    with reading(file):
        version = file.setting("version", int)
        if version > VERSION:
            raise StorageError(
                f"{file.source}: expected a trigram tagger of layout {VERSION} or older, got {version}, written by a "
                "newer Tagline; upgrade Tagline to read it"
            )
        return SavedTrigrams(_parameters(file), facts_of(file), file.setting("settings", dict))


def _parameters(file: ModelFile) -> TrigramParameters:
    labels, capitals = file.setting("labels", list), file.setting("capitals", bool)
    S = len(labels) * (1 + capitals)
    if not 1 <= S <= MOST_STATES or not all(isinstance(label, str) for label in labels):
        raise bad_file(file, f"tags that are strings, for 1 to {MOST_STATES} states", labels)
    if len(set(labels)) != len(labels):
        raise bad_file(file, "tags, each once", labels)
    longest = file.setting("longest", int)
    if longest < 0:
        raise bad_file(file, "endings of 0 characters or more", longest)
    words, small, capital = (_names(file, part) for part in _NAMES)
    lists = _candidates(file, len(words) + len(small) + len(capital) + 2, S)
    found = TrigramParameters(
        tuple(labels), capitals, _counts(file, S), _weights(file), words, (small, capital), longest, lists
    )
    _ = found.trigrams, found.lists, found.lexicon  # what is too large, and what only the core finds
    return found


def _names(file: ModelFile, part: str) -> Vocabulary:
    stored = {key.removeprefix(f"{part}."): one for key, one in file.tensors.items() if key.startswith(f"{part}.")}
    return Vocabulary.from_arrays(stored)


def _counts(file: ModelFile, S: int) -> TrigramCounts:
    grams = file.tensor("trigrams", np.uint16, None, 3).astype(np.int64)
    counts = file.tensor("trigrams.counts", np.int64, len(grams))
    keys = (grams[:, 0] * (S + 1) + grams[:, 1]) * (S + 1) + grams[:, 2]
    if grams.max(initial=0) > S or (np.diff(keys) <= 0).any():
        raise bad_file(file, f"trigrams of numbers up to {S} that ascend", "others")
    if counts.min(initial=1) < 1 or counts.max(initial=1) > 2**40 or not len(counts):
        raise bad_file(file, "trigrams that were seen once to 2^40 times", "others")
    return TrigramCounts(S, grams.astype(np.int32), np.asarray(counts))


def _weights(file: ModelFile) -> NDArray[np.float64]:
    given = file.setting("weights", list)
    if len(given) != 3 or not all(type(one) is float and 0 < one < 1 for one in given) or abs(sum(given) - 1) > 1e-9:
        raise bad_file(file, "three weights above 0 that add up to 1", given)
    return np.array(given)


def _candidates(file: ModelFile, W: int, S: int) -> CandidateLists:
    counts = file.tensor("candidates.counts", np.uint16, W)
    offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
    M = int(offsets[-1])
    states = file.tensor("candidates.states", np.uint16, M).astype(np.int32)
    scores = file.tensor("candidates.scores", np.float32, M)
    rising = np.diff(states) > 0
    rising[offsets[1:-1][offsets[1:-1] < M] - 1] = True
    if not counts.all() or states.max(initial=0) >= S or not rising.all():
        raise bad_file(file, f"lists of states below {S} that ascend, none of them empty", "others")
    if not np.isfinite(scores).all():
        raise bad_file(file, "scores of candidates that are finite numbers", "others")
    return CandidateLists(offsets, states, np.asarray(scores))


class TrigramSaving(Stored):
    """The methods of a trigram tagger that keep it."""

    _LEARNED: ClassVar[tuple[str, ...]] = ("parameters_", "training_")
    parameters_: TrigramParameters
    training_: Facts

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """Make the model of a file that was read; see `tagline.load`."""
        saved = unpack(file)
        out = cls()
        out._set(saved.settings)
        out.parameters_, out.training_ = saved.parameters, saved.training
        return out

    def _fitted(self) -> TrigramParameters:
        raise NotImplementedError

    def _packed(self) -> Packed:
        return pack(SavedTrigrams(self._fitted(), self.training_, self._settings()))

    def _take(self, file: ModelFile) -> None:
        saved = unpack(file)
        self.parameters_, self.training_ = saved.parameters, saved.training
