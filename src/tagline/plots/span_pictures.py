"""`plots.spans`: a text with its entities in colour; what overlaps, and other readings of a model, under each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tagline import chain as engine
from tagline.checks import check_whole
from tagline.drawing.coloured_spans import Mark, Picture, Piece, cut
from tagline.drawing.figures import Path
from tagline.drawing.sketch import chance
from tagline.errors import InputError
from tagline.models.entities import Reading, span_probabilities
from tagline.plots.scored import Scored, scored
from tagline.readers.corpus import Sentence
from tagline.readers.pictures import joined, written
from tagline.showing import marks_of, picture
from tagline.types import IntArray

MOST_READINGS = 100


def spans(source: Any, entities: Any = None, path: Path | None = None, *, k: int = 1, known: Any = None) -> Picture:
    """Draw entities in colour over the text that they stand in, with types and probabilities.

    A notebook shows the picture as HTML, ``print`` writes it with brackets, ``text(colour=True)`` for a terminal.

    Arguments:
        source: a text, a list of tokens, a `Sentence`, what ``model.tag`` returns; or a model.
        entities: of a text: entities, or anything else that `tagline.show` takes; those that overlap are drawn under
            each other. A list of lists is one line for each. Of a model: one sentence, as a text or as for `predict`.
        path: of a file to write; its name ends in ``.html`` or ``.txt``.
        k: of a model, so many readings of the sentence, the best first, each with its probability.
        known: of a model, for each token its label, a set of labels, or None.

    >>> spans("Anna Smith sings", [Mark(0, 10, "PER", 0.9), Mark(0, 4, "LOC", 0.05)])
    [PER Anna Smith 0.900] sings
    [LOC Anna 0.050] Smith sings
    """
    if isinstance(source, tuple) and len(source) == 2 and hasattr(source[0], "chains") and entities is None:
        source, entities = source
    if hasattr(source, "chains"):
        check_whole("k", k, 1, MOST_READINGS)
        drawn = Picture(tuple(_readings(source, entities, k, known)), numbers=True)
    elif k != 1 or known is not None:
        raise InputError("k, known: expected a model and a sentence, got a text and its entities")
    else:
        drawn = Picture(*_lines(source, entities), numbers=True)
    if path is not None:
        drawn.save(path)
    return drawn


def _lines(thing: Any, entities: Any) -> tuple[tuple[Sequence[Piece], ...], str, str]:
    """The lines of a picture, and what stands above and below."""
    if _are_entities(entities):
        rows = entities if entities and all(isinstance(row, list) for row in entities) else [entities]
        lines: list[Sequence[Piece]] = []
        for row in rows:
            text, marks = marks_of(thing, row)
            lines.extend(list(cut(text, lane)) for lane in _lanes(marks))
        return tuple(lines), "", ""
    shown = picture(thing, entities)
    if not isinstance(shown, Picture):
        raise InputError("expected a text or sentence with entities, got {}; show shows results", type(thing).__name__)
    return shown.lines, shown.title, shown.note


def _are_entities(entities: Any) -> bool:
    """Whether these are entities, or lists of them, and no labels."""
    if not isinstance(entities, list | tuple) or hasattr(entities, "entities"):
        return False
    parts = [part for row in entities for part in (row if isinstance(row, list) else [row])]
    return not any(isinstance(part, str | int) or hasattr(part, "entities") for part in parts)


def _lanes(marks: Iterable[Mark]) -> list[list[Mark]]:
    """Share marks out among lines, so that none lies over another; one line at least."""
    lanes: list[list[Mark]] = [[]]
    for mark in sorted(marks, key=lambda mark: (mark.start, -(mark.probability or 0.0), -mark.end)):
        free = next((lane for lane in lanes if not lane or lane[-1].end <= mark.start), None)
        if free is None:
            lanes.append([mark])
        else:
            free.append(mark)
    return lanes


def _readings(model: Any, sentence: Any, k: int, known: Any) -> Iterator[list[Piece]]:
    """The k best labellings of a sentence, each cut at its spans; their probabilities are exact."""
    one = scored(model, sentence, known, None, None)
    text, places = _written(sentence, one)
    ranked = engine.k_best(one.chain, k)[0]
    labellings = one.label_of[ranked.labels]  # [K, T]
    for labelling, probability in zip(labellings, ranked.probabilities.tolist(), strict=True):
        marks = [
            Mark(places[start][0], places[end - 1][1], kind, chance)
            for start, end, kind, chance in _found(model, one, labelling)
        ]
        yield [*([Piece(f"{chance(probability)}  ")] if k > 1 else []), *cut(text, marks)]


def _written(sentence: Any, one: Scored) -> tuple[str, Sequence[tuple[int, int]]]:
    """The text of a sentence, and the characters of its tokens."""
    if isinstance(sentence, str) and one.places is not None:
        return sentence, one.places
    return written(sentence) if isinstance(sentence, Sentence) else joined(one.tokens)


def _found(model: Any, one: Scored, labelling: IntArray) -> list[tuple[int, int, str, float]]:
    """The spans of a labelling with their probabilities; its tokens, where labels are of no tag scheme."""
    try:
        reading = Reading.of(one.labels, model.scheme_name) if one.over_labels and len(labelling) else None
    except InputError:
        reading = None
    if reading is None:
        nodes = engine.marginals(one.chain).nodes
        same = one.label_of[None, :] == labelling[:, None]  # [T, labels of the chain]
        chances = np.where(same, nodes, 0.0).sum(axis=1).tolist()
        return [(t, t + 1, one.labels[j], p) for t, (j, p) in enumerate(zip(labelling.tolist(), chances, strict=True))]
    array = reading.spans(labelling, np.array([0, len(labelling)]))
    rows = [
        (int(start), int(end), array.labels[label])
        for start, end, label in zip(array.start, array.end, array.label.tolist(), strict=True)
    ]
    chances = span_probabilities(one.chain, one.labels, model.scheme_name, [(0, *row) for row in rows]).tolist()
    return [(*row, chance) for row, chance in zip(rows, chances, strict=True)]
