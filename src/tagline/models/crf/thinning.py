"""A compiled corpus without its rare attributes: what `min_frequency` leaves of it, as one more mapped file.

Training on it is training on the sentences with that `min_frequency`, to the bit; sentences are read and expanded once
for all the numbers that are tried.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import storage
from tagline.checks import check_whole
from tagline.features.attributes import Attributes
from tagline.features.vocabulary import Vocabulary
from tagline.messages import message
from tagline.models.crf.compilation import KIND, CompiledCorpus
from tagline.ragged import offsets_of


def thinned(corpus: CompiledCorpus, path: str | os.PathLike[str], min_frequency: int) -> CompiledCorpus:
    """Write a compiled corpus without the attributes that are rarer, and map it.

    Arguments:
        corpus: whose attributes have names; hashed ones are kept, as training keeps them.
        path: the file to write.
        min_frequency: of the attributes that stay.
    """
    check_whole("min_frequency", min_frequency, 0, 2**62, wanted=message("0 or more"))
    config: dict[str, Any] = {"kind": KIND, "labels": list(corpus.labelled.labels), "hash_bits": corpus.hash_bits}
    config["fingerprint"] = corpus.fingerprint
    if corpus.template is not None:
        config["template"] = corpus.template
    tensors: dict[str, NDArray[Any]] = {
        "bounds": corpus.features.offsets,
        "labels": np.ascontiguousarray(corpus.labelled.ids, np.int32),
    }
    for kind, attributes, names in (
        ("state", corpus.features.states, corpus.states),
        ("edge", corpus.features.edges, corpus.edges),
    ):
        if attributes is None:
            continue
        if names is not None:
            attributes, names = _frequent(attributes, names, min_frequency)
            tensors |= {f"{kind}_names.{part}": array for part, array in names.arrays().items()}
        tensors[f"{kind}_offsets"], tensors[f"{kind}_ids"] = attributes.offsets, attributes.ids
        if attributes.values is not None:
            tensors[f"{kind}_values"] = attributes.values
    storage.write(path, config, tensors)
    return CompiledCorpus.open(path)


def _frequent(attributes: Attributes, names: Vocabulary, least: int) -> tuple[Attributes, Vocabulary]:
    frequent = np.bincount(attributes.ids, minlength=len(names)) >= least  # [V]
    stays = frequent[attributes.ids]  # [M]
    numbers = np.cumsum(frequent, dtype=np.int32) - np.int32(1)
    offsets = offsets_of(stays)[attributes.offsets]
    values = None if attributes.values is None else attributes.values[stays]
    return Attributes(offsets, numbers[attributes.ids[stays]], values), names.take(np.flatnonzero(frequent))
