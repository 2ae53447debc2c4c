"""Models trained on documents of spaCy, by `train` and by the pipeline's own `initialize`."""

from __future__ import annotations

from typing import Any

import pytest

spacy = pytest.importorskip("spacy")

from spacy.tokens import Doc, DocBin, Span  # noqa: E402
from spacy.training import Example, biluo_tags_to_spans, iob_to_biluo  # noqa: E402

from tagline import CRF, InputError  # noqa: E402
from tagline.datasets import make_entities  # noqa: E402
from tagline.interop.spacy import train  # noqa: E402
from tagline.interop.spacy.docs import sentences_of  # noqa: E402
from tagline.interop.spacy.examples import _entity_labels  # noqa: E402

from .cases import TREEBANK, UNIVERSAL, WORDS, pipeline  # noqa: E402


def annotated(language: str, size: int, split: str = "train") -> list[Doc]:
    """Documents of one sentence each, annotated by spaCy's own reading of tags."""
    nlp = spacy.blank(language)
    docs = []
    for sentence in make_entities(size, language=language, split=split):  # type: ignore[arg-type]
        doc = Doc(nlp.vocab, words=sentence.tokens, spaces=[language == "en"] * len(sentence))
        doc.ents = biluo_tags_to_spans(doc, iob_to_biluo(sentence.tags or []))
        docs.append(doc)
    return docs


def tagged(attribute: str = "tags") -> list[Doc]:
    vocab, labels = spacy.blank("en").vocab, TREEBANK if attribute == "tags" else UNIVERSAL
    return [Doc(vocab, words=words, **{attribute: row}) for words, row in zip(WORDS * 3, labels * 3, strict=True)]


def examples(docs: list[Doc]) -> list[Example]:
    return [Example(Doc(doc.vocab, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc]), doc)
            for doc in docs]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_train_learns_what_the_corpus_says(language: str) -> None:
    docs, settings = annotated(language, 60), {"max_iterations": 10, "scheme": "IOB2"}
    model: Any = train(docs, **settings)
    corpus = make_entities(60, language=language)  # type: ignore[arg-type]
    plain = CRF("english_ner" if language == "en" else "chinese_ner", **settings).fit(corpus)
    test = make_entities(10, language=language, split="test")  # type: ignore[arg-type]
    assert model.predict_marginals(test) == plain.predict_marginals(test)
    again: Any = train(DocBin(docs=docs).get_docs(docs[0].vocab), **settings)
    assert again.predict_marginals(test) == plain.predict_marginals(test)


def test_the_pipeline_trains_and_scores() -> None:
    nlp = pipeline(sentences=False)
    nlp.config["initialize"]["components"]["tagline"] = {"settings": {"max_iterations": 15, "scheme": "IOB2"}}
    data = examples(annotated("en", 80))
    nlp.initialize(lambda: data)
    component: Any = nlp.get_pipe("tagline")
    assert component.task == "ner"
    test = annotated("en", 30, split="test")
    scores = nlp.evaluate(examples(test))
    model: Any = train([example.reference for example in data], max_iterations=15)
    gold = make_entities(30, language="en", split="test")
    report = model.evaluate(gold)
    assert scores["ents_f"] == pytest.approx(report.spans.f1)
    assert {*scores["ents_per_type"]} >= {"PER", "LOC"}
    few = data[:20]
    nlp.initialize(lambda: few)  # anew
    assert component.tagger.training_.sentences == 20
    component.tagger = model
    nlp.initialize(lambda: few)  # but a model that was set stays
    assert component.tagger is model


def test_tags_are_learned_too() -> None:
    for attribute, name, labels in (("tags", "tag", TREEBANK), ("pos", "pos", UNIVERSAL)):
        nlp = pipeline(sentences=False)
        nlp.config["initialize"]["components"]["tagline"] = {"kind": "trigram"}
        data = examples(tagged(attribute))
        nlp.initialize(lambda data=data: data)  # type: ignore[misc]
        component: Any = nlp.get_pipe("tagline")
        assert (component.task, component.attribute) == ("pos", name)
        doc = nlp("the dog runs")
        assert [getattr(token, f"{name}_") for token in doc] == labels[0]
        assert nlp.evaluate(examples(tagged(attribute)))[f"{name}_acc"] == 1.0
        again = pipeline(sentences=False).from_bytes(nlp.to_bytes())
        assert [getattr(token, f"{name}_") for token in again("the dog runs")] == labels[0]


def test_what_training_settled_is_kept() -> None:
    """Treebank tags of a corpus that has universal ones in their place go where they came from, loaded or not."""
    vocab = spacy.blank("en").vocab
    docs = [Doc(vocab, words=words, tags=row) for words, row in zip(WORDS * 3, UNIVERSAL * 3, strict=True)]
    nlp = pipeline(sentences=False)
    nlp.initialize(lambda: examples(docs))
    for one in (nlp, pipeline(sentences=False).from_bytes(nlp.to_bytes())):
        doc = one("the dog runs")
        assert [token.tag_ for token in doc] == ["DET", "NOUN", "VERB"]
        assert [token.pos_ for token in doc] == ["", "", ""]


def test_labels_of_entities() -> None:
    vocab = spacy.blank("en").vocab
    words = ["Anna", "\n", "Keller", "and", "Bob", "Tom", "left", "now"]
    doc = Doc(vocab, words=words, sent_starts=[True, False, False, False, False, True, False, False])
    people = [Span(doc, 0, 3, "PER"), Span(doc, 4, 6, "PER")]  # the second one over a sentence border
    doc.set_ents(people, outside=[doc[3:4], doc[6:7]], default="missing")
    doc2 = Doc(vocab, words=["Bob", "Tom"])
    doc2.set_ents([Span(doc2, 0, 1, "PER"), Span(doc2, 1, 2, "PER")])
    blocked = Doc(vocab, words=["Bob"])
    blocked.set_ents([], blocked=[blocked[0:1]])
    docs = [doc, Doc(vocab), doc2, blocked]
    sentences = sentences_of(docs, ["text"])
    assert sentences.corpus.tokens == [
        ["Anna", "Keller", "and", "Bob"],
        ["Tom", "left", "now"],
        ["Bob", "Tom"],
        ["Bob"],
    ]
    assert sentences.docs == [0, 0, 2, 3]
    assert _entity_labels(docs, sentences) == [
        ["B-PER", "I-PER", "O", "B-PER"],
        ["B-PER", "O", None],
        ["B-PER", "B-PER"],
        ["O"],
    ]


def test_missing_annotation_is_unknown_to_the_model() -> None:
    docs = annotated("en", 30)
    for doc in docs[::2]:
        doc.set_ents(list(doc.ents), default="missing")
    model: Any = train(docs, max_iterations=10, scheme="IOB2")
    assert "O" in model.labels_


def test_the_rules_of_entities_hold_unless_others_are_asked_for() -> None:
    docs = annotated("en", 20)
    for kind in ("crf", "hmm"):
        assert train(docs, kind=kind).scheme_name == "IOB2"
        assert train(docs, kind=kind, scheme=None).scheme_name is None
    assert train(docs, kind="trigram").scheme_name is None
    assert train(tagged()).scheme_name is None


def test_refused() -> None:
    docs = annotated("en", 5)
    for data, how, place in (
        (
            docs,
            {"kind": "svm"},
            r"^kind: .*'svm'",
        ),
        (docs, {"depth": 3}, r"^settings: "),
        (docs, {"columns": ["x"]}, r"^columns: "),
        (docs, {"columns": "text"}, r"^columns: "),
        (["text"], {}, r"^examples: .*doc_bin.get_docs"),
        (docs, {"task": "pos"}, r"^examples: "),
        (docs, {"task": "dep"}, r"^task: .*'dep'"),
        (docs, {"task": "pos", "attribute": "dep"}, r"^attribute: .*'dep'"),
        (tagged(), {"task": "ner"}, r"^examples: "),
        ([], {}, r"^examples: "),
    ):
        with pytest.raises(InputError, match=place):
            train(data, **how)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^examples: "):
        pipeline(sentences=False).initialize()  # spaCy's own examples have no annotation
