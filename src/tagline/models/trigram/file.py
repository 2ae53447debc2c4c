"""The layout of a trigram tagger in a model file: settings and arrays, in and out.

Scores are float32 here and in use, so that a loaded model answers the same to the last bit; the table of transition
probabilities is made of the counts. Whatever a file says is checked. The settings:

    model, version      "trigram", and the number of this layout; older ones are read, newer ones refused
    labels, capitals    tags, and whether states tell words with a capital from others
    weights, longest    λ1, λ2, λ3, and the characters of the longest ending
    settings, training  the estimator's parameters; `TrainingFacts`

and the arrays ``trigrams [G, 3]`` of states (the number of states stands for the boundary), ``trigrams.counts [G]``,
``candidates.counts [W]``, ``candidates.states [M]``, ``candidates.scores [M]``, and the names of words and of endings:
``words.bytes`` and so on, ``small.*``, ``capital.*``. The lists are those of words, endings (small, capital) and none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.features.vocabulary import Vocabulary
from tagline.messages import message
from tagline.models.files import (
    Packed,
    TrainingFacts,
    bad_file,
    config_of,
    facts_of,
    finite,
    group_of,
    labels_of,
    reading,
    settings_of,
)
from tagline.models.trigram.counts import MOST_STATES, TrigramCounts
from tagline.models.trigram.parameters import LONGEST_ENDING, CandidateLists, TrigramParameters
from tagline.ragged import offsets_of
from tagline.storage import ModelFile

MODEL, VERSION = "trigram", 1

_NAMES = ("words", "small", "capital")


@dataclass(frozen=True, eq=False)
class SavedTrigrams:
    """What a file holds of a trigram tagger: parameters, how they were learned, the estimator's settings by name."""

    parameters: TrigramParameters
    training: TrainingFacts
    settings: Mapping[str, Any]


def pack(saved: SavedTrigrams) -> Packed:
    """Turn a model into what `tagline.storage` writes. The same model makes the same bytes."""
    p = saved.parameters
    own = {"capitals": p.capitals, "weights": p.weights.tolist(), "longest": p.longest}
    arrays: dict[str, NDArray[Any]] = {
        "trigrams": p.counts.grams.astype(np.uint16),
        "trigrams.counts": p.counts.counts,
        "candidates.counts": np.diff(p.candidates.offsets).astype(np.uint16),
        "candidates.states": p.candidates.states.astype(np.uint16),
        "candidates.scores": p.candidates.scores,
    }
    for part, names in zip(_NAMES, (p.words, *p.endings), strict=True):
        arrays.update({f"{part}.{name}": array for name, array in names.arrays().items()})
    return config_of(MODEL, VERSION, p.labels, own, saved.settings, saved.training), arrays


def unpack(file: ModelFile) -> SavedTrigrams:
    """Turn settings and arrays into a model, or say what is wrong with them."""
    with reading(file, VERSION, message("a trigram tagger")):
        return SavedTrigrams(_parameters(file), facts_of(file), settings_of(file))


def _parameters(file: ModelFile) -> TrigramParameters:
    capitals = file.setting("capitals", bool)
    labels = labels_of(file, MOST_STATES // (1 + capitals))
    S = len(labels) * (1 + capitals)
    longest = file.setting("longest", int)
    if not 0 <= longest <= LONGEST_ENDING:
        raise bad_file(file, message("endings of 0 characters or more, below 2^31"), longest)
    words, small, capital = (Vocabulary.from_arrays(group_of(file, f"{part}.")) for part in _NAMES)
    lists = _candidates(file, len(words) + len(small) + len(capital) + 2, S)
    parameters = TrigramParameters(
        labels, capitals, _counts(file, S), _weights(file), words, (small, capital), longest, lists
    )
    _ = parameters.trigrams, parameters.lists, parameters.lexicon  # what is too large, and what only the core finds
    return parameters


def _counts(file: ModelFile, S: int) -> TrigramCounts:
    grams = file.tensor("trigrams", np.uint16, None, 3).astype(np.int64)
    counts = file.tensor("trigrams.counts", np.int64, len(grams))
    keys = (grams[:, 0] * (S + 1) + grams[:, 1]) * (S + 1) + grams[:, 2]
    if grams.max(initial=0) > S or (np.diff(keys) <= 0).any():
        raise bad_file(file, message("trigrams of numbers up to {} that ascend", S), message("others"))
    if counts.min(initial=1) < 1 or counts.max(initial=1) > 2**40 or not len(counts):
        raise bad_file(file, message("trigrams that were seen once to 2^40 times"), message("others"))
    return TrigramCounts(S, grams.astype(np.int32), np.asarray(counts))


def _weights(file: ModelFile) -> NDArray[np.float64]:
    weights = file.setting("weights", list)
    proper = all(type(weight) is float and 0 < weight < 1 for weight in weights)
    if len(weights) != 3 or not proper or abs(sum(weights) - 1) > 1e-9:
        raise bad_file(file, message("three weights above 0 that add up to 1"), weights)
    return np.array(weights)


def _candidates(file: ModelFile, W: int, S: int) -> CandidateLists:
    counts = file.tensor("candidates.counts", np.uint16, W)
    offsets = offsets_of(counts)
    M = int(offsets[-1])
    states = file.tensor("candidates.states", np.uint16, M).astype(np.int32)
    scores = finite(file, "candidates.scores", np.float32, M)
    rising = np.diff(states) > 0
    rising[offsets[1:-1][offsets[1:-1] < M] - 1] = True
    if not counts.all() or states.max(initial=0) >= S or not rising.all():
        raise bad_file(file, message("lists of states below {} that ascend, none of them empty", S), message("others"))
    return CandidateLists(offsets, states, np.asarray(scores))
