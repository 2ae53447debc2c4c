"""Models and pipelines that the tests of the component share."""

from __future__ import annotations

from functools import cache
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from tagline import CRF, TrigramTagger
from tagline.datasets import make_entities

TEXT = "Anna Keller flew from Berlin to Oslo. Then Tom Baker\n\n of Berlin called her in March."
WORDS = [["the", "cat", "sings"], ["a", "dog", "runs", "."], ["the", "dog", "sings"]]
TREEBANK = [["DT", "NN", "VBZ"], ["DT", "NN", "VBZ", "."], ["DT", "NN", "VBZ"]]
UNIVERSAL = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB", "PUNCT"], ["DET", "NOUN", "VERB"]]


@cache
def english() -> CRF:
    """Entities in words; nobody may change it."""
    return CRF("english_ner", scheme="IOB2", max_iterations=20).fit(make_entities(120, language="en"))


@cache
def chinese() -> CRF:
    """Entities in characters; nobody may change it."""
    return CRF("chinese_ner", scheme="IOB2", max_iterations=20).fit(make_entities(120, language="zh"))


@cache
def tagger(universal: bool = False) -> TrigramTagger:
    """Parts of speech; nobody may change it."""
    return TrigramTagger().fit(WORDS * 3, (UNIVERSAL if universal else TREEBANK) * 3)


def pipeline(tagger: Any = None, language: str = "en", sentences: bool = True, **config: Any) -> Language:
    """A blank pipeline with the component at its end."""
    nlp = spacy.blank(language)
    if sentences:
        nlp.add_pipe("sentencizer")
    component: Any = nlp.add_pipe("tagline", config=config)
    if tagger is not None:
        component.tagger = tagger
    return nlp


def found(doc: Doc) -> list[tuple[str, str, Any]]:
    """The entities of a document."""
    return [(entity.text, entity.label_, entity._.probability) for entity in doc.ents]


def expected(model: Any, doc: Doc) -> list[tuple[str, str, Any]]:
    """What a model finds in the words of a document, sentence by sentence, by its own methods."""
    out = []
    for sentence in doc.sents if doc.has_annotation("SENT_START") else [doc[:]]:
        words = [token for token in sentence if not token.is_space]
        for entity in model.predict_spans([[token.text for token in words]])[0] if words else ():
            span = doc[words[entity.start].i : words[entity.end - 1].i + 1]
            out.append((span.text, entity.type, entity.probability))
    return out
