"""Clusters and vectors in the model file of a feature CRF.

The setting ``knowledge`` is {"clusters": number of tables, "vectors": bool}. Table k is the arrays
``clusters.k.words`` and ``clusters.k.names`` (UTF-8, line breaks between) and ``clusters.k.numbers``, the place of each
word's cluster among the names; vectors are ``vectors.words`` and ``vectors.table [V, D]``, float16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.features.knowledge import Knowledge
from tagline.features.lexicons.clusters import MOST_TABLES, Clusters
from tagline.features.vectors import WordVectors
from tagline.messages import message
from tagline.models.files import bad_file
from tagline.storage import ModelFile


def pack_knowledge(knowledge: Knowledge) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the setting and the arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    for k, table in enumerate(knowledge.clusters):
        words, numbers, names = table.arrays()
        arrays[f"clusters.{k}.words"], arrays[f"clusters.{k}.names"] = _bytes(words), _bytes(names)
        arrays[f"clusters.{k}.numbers"] = numbers.astype(np.uint32)
    if (vectors := knowledge.vectors) is not None:
        arrays["vectors.words"], arrays["vectors.table"] = _bytes(vectors.words), vectors.table
    return {"clusters": len(knowledge.clusters), "vectors": knowledge.vectors is not None}, arrays


def unpack_knowledge(file: ModelFile) -> Knowledge:
    """Return what a file holds, or say what is wrong with it; nothing where an older file says nothing."""
    described = file.config.get("knowledge")
    if described is None:
        return Knowledge()
    if not isinstance(described, dict) or set(described) != {"clusters", "vectors"}:
        raise bad_file(file, message("clusters and vectors of the knowledge"), described)
    count, has_vectors = described["clusters"], described["vectors"]
    if type(count) is not int or not 0 <= count <= MOST_TABLES or type(has_vectors) is not bool:
        raise bad_file(
            file,
            message("0 to {} tables of clusters, and vectors or none", MOST_TABLES),
            described,
        )
    tables = tuple(
        Clusters.of_arrays(
            _strings(file, f"clusters.{k}.words"),
            file.tensor(f"clusters.{k}.numbers", np.uint32, None),
            _strings(file, f"clusters.{k}.names"),
        )
        for k in range(count)
    )
    vectors = None
    if has_vectors:
        words = _strings(file, "vectors.words")
        vectors = WordVectors(tuple(words), file.tensor("vectors.table", np.float16, len(words), None))
    return Knowledge(tables, vectors)


def _bytes(strings: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(strings).encode(), np.uint8)


def _strings(file: ModelFile, name: str) -> list[str]:
    data = file.tensor(name, np.uint8, None).tobytes()
    try:
        return data.decode().split("\n") if data else []
    except UnicodeDecodeError:
        raise bad_file(file, message("UTF-8 in the array {!r}", name), message("other bytes")) from None
