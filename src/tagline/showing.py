"""`tagline.show`: entities in place, in the colours of a notebook or a terminal; and every result that shows itself.

What is shown is told by what it has, not by its class: a text and entities, a sentence and its tags, a view of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TextIO

from tagline.checks import shown_value
from tagline.drawing.coloured_spans import Mark, Picture, Piece, cut
from tagline.drawing.notebooks import notebook
from tagline.errors import InputError, visible
from tagline.messages import message
from tagline.readers.corpus import TOKEN, Corpus, Sentence
from tagline.readers.pictures import joined, picture_of, picture_of_sentence, pieces_of, written

MOST = 10  # sentences


def show(thing: Any, answers: Any = None, *, most: int = MOST, file: TextIO | None = None) -> None:
    """Show sentences with their entities in colour, or a result: a table of scores, an explanation, a model.

    A notebook gets HTML. A terminal gets its colours; a file, a pipe, or where ``NO_COLOR`` is set, brackets.

    Arguments:
        thing: a `Corpus` or `Sentence` with tags, what ``model.tag`` returns, a text or a list of tokens with
            `answers`, a list of them; a `Report`, an `Explanation`, or another result.
        answers: what a model says of `thing`: labels (``predict``), entities (``predict_spans``), or both (``answer``).
        most: sentences that are shown.
        file: where to write; standard output, or the notebook, when left out.

    >>> from tagline import Corpus
    >>> show(Corpus.from_sentences([(["Anna", "Smith", "sings"], ["B-PER", "I-PER", "O"])])[0])
    [PER Anna Smith] sings
    >>> show("Anna sings", [("PER", 0, 4)])
    Traceback (most recent call last):
        ...
    tagline.errors.InputError: answers: expected entities with start, end and type, got ('PER', 0, 4)
    """
    drawn = picture(thing, answers, most=most)
    page = notebook() if file is None else None
    if page is not None:
        page.display.display(drawn)
        return
    out = sys.stdout if file is None else file
    shown = drawn.text(_has_colours(out)) if isinstance(drawn, Picture) else visible(str(drawn).rstrip("\n"))
    print(shown, file=out)


def picture(thing: Any, answers: Any = None, *, most: int = MOST) -> Any:
    """Return what `show` shows: an object that a notebook shows as HTML, and `print` as text."""
    if answers is not None:
        return _answered(thing, answers, most)
    if isinstance(thing, Corpus):
        return picture_of(thing, most)
    if isinstance(thing, Sentence):
        return picture_of_sentence(thing)
    if (found := _found(thing)) is not None:
        return Picture((_entity_pieces(thing.text, None, found),))
    if isinstance(thing, list | tuple | Iterator) and not hasattr(thing, "_repr_html_"):
        return _several(thing, most)
    if hasattr(thing, "_repr_html_"):
        return thing
    raise InputError(
        "show: expected a sentence or corpus with tags, a tagged text, or a result such as a report, got {}; "
        "a text is shown with the answers of a model: show(text, entities)",
        shown_value(thing),
    )


def _several(things: Iterable[Any], most: int) -> Picture:
    """Pictures of single sentences, one under the other."""
    shown: list[Picture] = []
    rest = 0
    for thing in things:
        if len(shown) == most:
            rest += 1
            continue
        drawn = picture(thing)
        if not isinstance(drawn, Picture):
            raise InputError("show: expected sentences or tagged texts in a list, got {}", shown_value(thing))
        shown.append(drawn)
    lines = tuple(line for drawn in shown for line in drawn.lines)
    return Picture(lines, note=message("… {:,} more", rest) if rest else "")


def _answered(thing: Any, answers: Any, most: int) -> Picture:
    """Sentences beside what a model says of them."""
    if isinstance(answers, Iterator):
        answers = list(answers)
    if _is_one(thing, answers):
        return Picture(tuple(_one_each([thing], [answers])))
    if not isinstance(thing, Sequence | Corpus) or not isinstance(answers, Sequence) or isinstance(answers, str):
        raise InputError("answers: expected labels or entities for each sentence, got {}", shown_value(answers))
    if len(thing) != len(answers):
        raise InputError("answers: expected {}, one a sentence, got {}", len(thing), len(answers))
    lines = _one_each(islice(thing, most), answers[:most])
    rest = len(thing) - len(lines)
    return Picture(tuple(lines), note=message("… {:,} more", rest) if rest else "")


def _is_one(thing: Any, answers: Any) -> bool:
    """Whether these are one sentence and its answers; a list of strings may be tokens, or texts with answers each."""
    if isinstance(thing, str | Sentence):
        return True
    if isinstance(thing, Corpus) or not isinstance(thing, Sequence) or not all(isinstance(t, str) for t in thing):
        return False
    if _is_answer(answers) or not isinstance(answers, Sequence):
        return True
    return not answers or not all(_is_answer(row) or isinstance(row, list) for row in answers)


def _one_each(things: Iterable[Any], answers: Sequence[Any]) -> list[Sequence[Piece]]:
    """Pieces of each sentence: labels are read by one scheme, entities by themselves."""
    rows = list(zip(things, answers, strict=True))
    sentences = [_sentence(thing) for thing, _ in rows]
    labels = [_labels(answer) for _, answer in rows]
    at = [b for b, row in enumerate(labels) if row is not None]
    for b in at:
        tokens = sentences[b].tokens
        if len(tokens) != len(labels[b] or ()):
            raise InputError("answers: expected {} labels, one a token, got {}", len(tokens), len(labels[b] or ()))
    cuts = dict(zip(at, pieces_of([sentences[b] for b in at], [labels[b] for b in at]), strict=True))
    return [
        cuts[b] if b in cuts else _entity_pieces(*_text_and_tokens(thing), _entities(answer))
        for b, (thing, answer) in enumerate(rows)
    ]


def _sentence(thing: Any) -> Sentence:
    if isinstance(thing, Sentence):
        return thing
    return Sentence({TOKEN: thing.split() if isinstance(thing, str) else [str(token) for token in thing]})


def _text_and_tokens(thing: Any) -> tuple[str, Sequence[tuple[int, int]] | None]:
    """The text of a sentence and where its tokens stand; None where that is not known."""
    if isinstance(thing, str):
        return thing, None
    return written(thing) if isinstance(thing, Sentence) else joined([str(token) for token in thing])


def _labels(answer: Any) -> Sequence[str] | None:
    """The labels of an answer that has no entities."""
    if _is_answer(answer):
        return None if answer.entities is not None else answer.labels
    if not isinstance(answer, Sequence):
        raise InputError("answers: expected a list of labels or entities, got {}", shown_value(answer))
    return answer if len(answer) and all(isinstance(label, str | int) for label in answer) else None


def _entities(answer: Any) -> Any:
    return answer.entities if _is_answer(answer) else answer


def _is_answer(thing: Any) -> bool:
    return hasattr(thing, "entities") and (hasattr(thing, "labels") or hasattr(thing, "text"))


def _found(thing: Any) -> Iterable[Any] | None:
    """The entities of a tagged text, or its tokens where labels mark no entities; None for what is no tagged text."""
    if not isinstance(getattr(thing, "text", None), str) or not hasattr(thing, "entities"):
        return None
    if thing.entities is None:
        return [Mark(token.start, token.end, token.label, token.probability) for token in thing.tokens]
    entities: Iterable[Any] = thing.entities
    return entities


def _entity_pieces(text: str, places: Sequence[tuple[int, int]] | None, entities: Iterable[Any]) -> list[Piece]:
    """Cut a text at entities, which may stand in any order."""
    marks = _marks(text, places, entities)
    at = 0
    for mark in marks:
        if mark.start < at:
            raise InputError(
                "answers: expected entities of the text, none over another, got {} at {} to {}; "
                "plots.spans draws those that overlap under each other",
                mark.type,
                mark.start,
                mark.end,
            )
        at = mark.end
    return list(cut(text, marks))


def marks_of(thing: Any, entities: Iterable[Any]) -> tuple[str, list[Mark]]:
    """Return the text of one sentence, and the characters of entities in it, in their order; they may overlap."""
    text, places = _text_and_tokens(thing)
    return text, _marks(text, places, entities)


def _marks(text: str, places: Sequence[tuple[int, int]] | None, entities: Iterable[Any]) -> list[Mark]:
    marks = sorted(_mark(entity, places) for entity in entities)
    for mark in marks:
        if not 0 <= mark.start <= mark.end <= len(text):
            raise InputError(
                "answers: expected entities within the {} characters of the text, got {} at {} to {}",
                len(text),
                mark.type,
                mark.start,
                mark.end,
            )
    return marks


def _mark(entity: Any, places: Sequence[tuple[int, int]] | None) -> Mark:
    """The characters of an entity: its own, or those of its tokens where it has none."""
    try:
        start, end, label = entity[:3] if isinstance(entity, tuple) else (entity.start, entity.end, entity.type)
        by_token = getattr(entity, "char_start", None) is None and (places is not None or hasattr(entity, "char_start"))
        probability = getattr(entity, "probability", None)
        start, end, label = int(start), int(end), str(label)
        probability = None if probability is None else float(probability)
    except (AttributeError, TypeError, ValueError):
        raise InputError("answers: expected entities with start, end and type, got {}", shown_value(entity)) from None
    if not by_token:
        if getattr(entity, "char_start", None) is not None:
            start, end = entity.char_start, entity.char_end
        return Mark(start, end, label, probability)
    if places is None:
        raise InputError(
            "answers: expected entities that know their characters, got those of tokens; show the tokens or the "
            "sentence instead of the text"
        )
    if not 0 <= start < end <= len(places):
        raise InputError("answers: expected entities of the {} tokens, got tokens {} to {}", len(places), start, end)
    return Mark(places[start][0], places[end - 1][1], label, probability)


def _has_colours(out: TextIO) -> bool:
    """Whether a stream is a terminal that wants colours."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
