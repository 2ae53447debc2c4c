"""Entities as a data frame of pandas or polars, which are imported when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from importlib import import_module
from typing import Any

from tagline.checks import check_choice, shown_value
from tagline.errors import InputError, MissingPackageError
from tagline.models.entities import Entity

LIBRARIES = ("pandas", "polars")


def entities_frame(found: Any, *, keys: Iterable[Any] | None = None, library: str = "pandas") -> Any:
    """Return a data frame with a row for each entity.

    Arguments:
        found: what `predict_spans` returns, an entry for each sentence; or what `tag` returns, of one text or of many.
        keys: what the column ``sentence`` has for each entry, such as the index of the frame that the texts come from;
            numbers from 0 where left out.
        library: "pandas" or "polars".

    Returns:
        A frame with the columns ``sentence``, ``type``, ``start``, ``end``, ``probability`` and ``text``, and
        ``char_start`` and ``char_end`` where `start` and `end` are tokens.

    >>> import tagline
    >>> from tagline.datasets import make_entities
    >>> crf = tagline.CRF("english_ner", scheme="IOB2").fit(make_entities(200, language="en"))
    >>> frame = tagline.entities_frame(crf.tag(["Anna Keller flew to Oslo."]))
    >>> frame[["type", "text"]].values.tolist()
    [['PER', 'Anna Keller'], ['LOC', 'Oslo']]
    """
    check_choice("library", library, LIBRARIES)
    if hasattr(found, "entities"):
        found = [found]
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise InputError("found: expected the entities of sentences or texts, got {}", shown_value(found))
    rows = [_entities(n, part) for n, part in enumerate(found)]
    names = list(range(len(rows))) if keys is None else list(keys)
    if len(names) != len(rows):
        raise InputError("keys: expected {}, one a sentence or text, got {}", len(rows), len(names))
    used = next((entity for row in rows for entity in row), None)
    columns = [field.name for field in fields(Entity if used is None else used)]
    table: dict[str, list[Any]] = {"sentence": [name for name, row in zip(names, rows, strict=True) for _ in row]}
    table |= {column: [getattr(entity, column) for row in rows for entity in row] for column in columns}
    try:
        module: Any = import_module(library)
    except ImportError as error:
        raise MissingPackageError("entities_frame", library, f"pip install {library}", error) from None
    return module.DataFrame(table)


def _entities(n: int, part: Any) -> list[Any]:
    """The entities of one sentence or text."""
    if hasattr(part, "entities") and part.entities is None:
        raise InputError("found[{}]: expected entities, got labels that mark none, such as parts of speech", n)
    entities = part.entities if hasattr(part, "entities") else part
    if not isinstance(entities, list | tuple) or not all(hasattr(entity, "probability") for entity in entities):
        raise InputError("found[{}]: expected the entities of a sentence, got {}", n, shown_value(part))
    return list(entities)
