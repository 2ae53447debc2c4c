"""Sentences as they are looked at: their texts, and their spans in colour where tags mark some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tagline.drawing.coloured_spans import Mark, Picture, Piece, cut
from tagline.messages import message
from tagline.readers.corpus import Corpus, Sentence
from tagline.readers.detection import detect
from tagline.readers.raw_text import is_wide
from tagline.readers.scheme_conversion import tags_to_spans

MOST_SENTENCES = 5  # of a corpus that are shown
MOST_TOKENS = 300  # of a sentence


def gap_between(tokens: Sequence[str]) -> str:
    """What stands between the tokens of a sentence: nothing where they are Chinese characters, else a blank."""
    return "" if all(len(token) == 1 for token in tokens) and any(map(is_wide, tokens)) else " "


def written(sentence: Sentence) -> tuple[str, Sequence[tuple[int, int]]]:
    """Return the text of a sentence and the characters of its tokens: as read, else put together from the tokens."""
    if sentence.text is not None and sentence.spans is not None:
        return sentence.text, sentence.spans
    return joined(sentence.tokens)


def joined(tokens: Sequence[str]) -> tuple[str, Sequence[tuple[int, int]]]:
    """Put a text together from its tokens, and say where they stand in it.

    >>> joined(["Anna", "sings"])
    ('Anna sings', [(0, 4), (5, 10)])
    """
    gap = gap_between(tokens)
    places, at = [], 0
    for token in tokens:
        places.append((at, at + len(token)))
        at += len(token) + len(gap)
    return gap.join(tokens), places


def pieces_of(sentences: Iterable[Sentence], labels: Iterable[Sequence[str] | None]) -> list[list[Piece]]:
    """Cut sentences at the spans of their labels; at their tokens, where the labels are of no tag scheme."""
    rows = [
        (written(sentence), None if row is None else list(map(str, row)))
        for sentence, row in zip(sentences, labels, strict=True)
    ]
    tagged = [row for _, row in rows if row]
    scheme = detect(tagged).scheme if tagged else None
    lines = []
    for (text, places), row in rows:
        spans = [] if row is None else [(t, t + 1, label) for t, label in enumerate(row)]
        if scheme is not None and row:
            spans = tags_to_spans(row, scheme, "conlleval")
        marks = [Mark(places[start][0], places[end - 1][1], label) for start, end, label in spans]
        lines.append(list(cut(text, marks)))
    return lines


def picture_of(corpus: Corpus, most: int = MOST_SENTENCES) -> Picture:
    """Show the first sentences of a corpus, and say how many more there are."""
    head = [_shortened(sentence) for sentence in corpus.head(most)]
    lines = pieces_of(head, [sentence.tags for sentence in head])
    rest = len(corpus) - len(head)
    return Picture(tuple(lines), headline(corpus), message("… {:,} more", rest) if rest else "")


def headline(corpus: Corpus) -> str:
    """Say in one line what there is."""
    source = f"{corpus.source}: " if corpus.source else ""
    return f"{source}{len(corpus):,} sentences, {corpus.num_tokens:,} tokens, columns {', '.join(corpus.names)}"


def picture_of_sentence(sentence: Sentence) -> Picture:
    """Show one sentence."""
    short = _shortened(sentence)
    rest = len(sentence) - len(short)
    return Picture(tuple(pieces_of([short], [short.tags])), note=message("… {:,} more tokens", rest) if rest else "")


def _shortened(sentence: Sentence) -> Sentence:
    """The first tokens of a long sentence: a whole book would be no picture."""
    if len(sentence) <= MOST_TOKENS:
        return sentence
    columns = {name: values[:MOST_TOKENS] for name, values in sentence.columns.items()}
    if sentence.text is None or sentence.spans is None:
        return Sentence(columns, sentence.place)
    spans = sentence.spans[:MOST_TOKENS]
    return Sentence(columns, sentence.place, sentence.text[: spans[-1][1]], spans)
