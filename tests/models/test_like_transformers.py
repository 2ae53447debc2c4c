"""`model.tag(..., like="transformers")`: the shapes that a real pipeline gives, with our words and probabilities."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tagline import CRF, InputError, TrigramTagger
from tagline.models.registry import kinds

from .test_contract import TEMPLATE, X, Y, fitted

TEXT = "Anna Smith lives in Rome. Bob sees New York!"


@pytest.fixture(scope="module")
def crf() -> CRF:
    return CRF(TEMPLATE, scheme="IOB2", c2=0.5).fit(X, Y)


@pytest.fixture(scope="module")
def words() -> TrigramTagger:
    """A model whose labels mark no spans."""
    return TrigramTagger().fit([["the", "cat", "sings"]] * 3, [["D", "N", "V"]] * 3)


def real_pipeline(labels: list[str], strategy: str) -> Any:
    """A pipeline of the library over a tiny random BERT."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from .neural.cases import encoder_folder

    folder = encoder_folder("bert")
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: k for k, label in enumerate(labels)}}
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder, **names)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return transformers.pipeline(
        "token-classification", model=model, tokenizer=tokenizer, aggregation_strategy=strategy, device="cpu"
    )


def shape(answer: Any) -> Any:
    """Keys in their order, with the types of what they hold; a number of NumPy's is a number."""
    if isinstance(answer, list):
        shapes = [shape(part) for part in answer]
        assert all(part == shapes[0] for part in shapes)
        return ["list", *shapes[:1]]
    kinds = {key: type(value.item() if isinstance(value, np.generic) else value) for key, value in answer.items()}
    return list(kinds.items())


@pytest.mark.parametrize("texts", [TEXT, [TEXT], [TEXT, "Anna sees Rome"]])
def test_entities_have_the_shape_of_the_pipeline(crf: CRF, texts: Any) -> None:
    theirs = real_pipeline(["B-PER", "I-LOC"], "simple")(texts)
    ours = crf.tag(texts, like="transformers")
    assert shape(ours) == shape(theirs)
    assert len(ours) == len(theirs) or isinstance(texts, str)


@pytest.mark.parametrize("texts", ["the cat", ["the cat", "sings the cat"]])
def test_tokens_have_the_shape_of_the_pipeline(words: TrigramTagger, texts: Any) -> None:
    theirs = real_pipeline(["D", "N", "V"], "none")(texts)
    ours = words.tag(texts, like="transformers")
    assert shape(ours) == shape(theirs)
    first = [row[0] if isinstance(texts, list) else row for row in (theirs, ours)]
    assert [part[0]["index"] if isinstance(part, list) else part["index"] for part in first] == [1, 1]


def test_entities_are_those_of_the_text(crf: CRF) -> None:
    tagged = crf.tag(TEXT)
    assert tagged.entities
    for entity, found in zip(tagged.entities, crf.tag(TEXT, like="transformers"), strict=True):
        assert found == {
            **{"entity_group": entity.type, "score": entity.probability, "word": entity.text},
            **{"start": entity.start, "end": entity.end},
        }
        assert TEXT[found["start"] : found["end"]] == found["word"]
    bar = max(entity.probability for entity in tagged.entities)
    assert len(crf.tag(TEXT, like="transformers", min_probability=bar)) == 1


def test_tokens_are_those_of_the_text(words: TrigramTagger) -> None:
    tagged = words.tag("the cat sings")
    assert words.tag("the cat sings", like="transformers") == [
        {"entity": token.label, "score": token.probability, "index": n, "word": token.text}
        | {"start": token.start, "end": token.end}
        for n, token in enumerate(tagged.tokens, 1)
    ]


def test_tokens_outside_are_left_out_but_counted() -> None:
    model = TrigramTagger().fit([["in", "Rome", "in"]] * 3, [["O", "X", "O"]] * 3)
    assert [(found["entity"], found["index"]) for found in model.tag("in Rome", like="transformers")] == [("X", 2)]


def test_nothing_in_nothing(crf: CRF, words: TrigramTagger) -> None:
    for model in (crf, words):
        assert model.tag("", like="transformers") == []
        assert model.tag(["", " "], like="transformers") == [[], []]
        assert model.tag([], like="transformers") == []


@pytest.mark.parametrize("kind", list(kinds()))
def test_every_kind_has_it_and_json_takes_it(kind: str, one_thread: None) -> None:
    found = fitted(kind).tag([TEXT], like="transformers")
    assert json.loads(json.dumps(found)) == found


def test_other_shapes_are_refused(crf: CRF) -> None:
    with pytest.raises(InputError, match=r"^like: .*'spacy'"):
        crf.tag(TEXT, like="spacy")  # type: ignore[call-overload]
