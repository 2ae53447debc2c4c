"""The component in blank pipelines: entities and tags with their probabilities, in English and in Chinese."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

spacy = pytest.importorskip("spacy")

from tagline import CRF, InputError, StorageError, TrigramTagger  # noqa: E402
from tagline.datasets import make_entities  # noqa: E402
from tagline.interop.spacy import TaglineComponent  # noqa: E402
from tagline.models.registry import kinds  # noqa: E402
from tests.models.test_contract import fitted  # noqa: E402

from .cases import TEXT, chinese, english, expected, found, pipeline, tagger  # noqa: E402


def test_entities_with_their_exact_probabilities() -> None:
    doc = pipeline(english())(TEXT)
    assert len(list(doc.sents)) == 2
    assert len(doc.ents) >= 3
    assert found(doc) == expected(english(), doc)
    assert all(0 < entity._.probability <= 1 for entity in doc.ents)
    assert doc.has_annotation("ENT_IOB")


def test_without_sentence_borders_the_document_is_one_sentence() -> None:
    doc = pipeline(english(), sentences=False)(TEXT)
    words = [token.text for token in doc if not token.is_space]
    spans = english().predict_spans([words])[0]
    assert [probability for _, _, probability in found(doc)] == [span.probability for span in spans]
    assert found(doc) != expected(english(), pipeline(english())(TEXT))


def test_chinese_characters() -> None:
    nlp = pipeline(chinese(), "zh", sentences=False)
    corpus = make_entities(20, language="zh", split="test")
    entities = 0
    for words in corpus.tokens:
        doc = nlp("".join(words))
        assert [token.text for token in doc] == words
        assert found(doc) == expected(chinese(), doc)
        entities += len(doc.ents)
    assert entities > 10


def test_tags_and_parts_of_speech() -> None:
    doc = pipeline(tagger())("the dog runs")
    assert [token.tag_ for token in doc] == ["DT", "NN", "VBZ"]
    assert [token.pos_ for token in doc] == ["", "", ""]
    marginals = tagger().predict_marginals([["the", "dog", "runs"]])[0]
    assert [token._.probability for token in doc] == [
        row[token.tag_] for row, token in zip(marginals, doc, strict=True)
    ]
    doc = pipeline(tagger(universal=True))("the dog runs")
    assert [token.pos_ for token in doc] == ["DET", "NOUN", "VERB"]
    assert [token.tag_ for token in doc] == ["", "", ""]
    assert not doc.ents
    doc = pipeline(tagger(universal=True), attribute="tag")("the dog runs")
    assert [token.tag_ for token in doc] == ["DET", "NOUN", "VERB"]


@pytest.mark.parametrize("kind", list(kinds()))
def test_every_kind_of_model(kind: str, one_thread: None) -> None:
    model = fitted(kind)
    nlp = pipeline(model)
    docs = list(nlp.pipe(["Anna Smith lives in Rome . ", "", "Bob sees New York", "\n"]))
    assert [entity.label_ for entity in docs[2].ents] == ["PER", "LOC"]
    for doc in docs:
        if model.finds_spans:  # exact to the bit only for sentences in the same company
            for one, other in zip(found(doc), expected(model, doc), strict=True):
                assert one[:2] == other[:2]
                assert one[2] == pytest.approx(other[2], abs=1e-6)
        else:
            assert all(entity._.probability is None for entity in doc.ents)


def test_a_batch_gives_what_each_document_gives_alone() -> None:
    nlp, texts = pipeline(english()), [TEXT, "", "Tom Baker", " ", "in Berlin . Or not .", "\n\n"] * 5
    alone = [found(nlp(text)) for text in texts]
    for size in (1, 2, 7, 1000):
        assert [found(doc) for doc in nlp.pipe(texts, batch_size=size)] == alone
    assert [doc.text for doc in nlp.pipe(texts)] == texts
    assert [found(doc) for doc in nlp.pipe(iter(texts))] == alone


def test_a_batch_is_scored_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp, asked = pipeline(english()), []
    answer = CRF.answer_arrays
    monkeypatch.setattr(CRF, "answer_arrays", lambda *a, **k: asked.append(1) or answer(*a, **k))
    list(nlp.pipe([TEXT] * 10, batch_size=5))
    assert len(asked) == 2


def test_empty_documents_and_whitespace() -> None:
    for model in (english(), tagger()):
        nlp = pipeline(model)
        for text in ("", " ", "\n\n \t"):
            assert nlp(text).ents == ()
    doc = pipeline(tagger())("the\n\n dog  runs")
    assert [(token.text, token.tag_) for token in doc if token.is_space] == [("\n\n ", "_SP"), (" ", "_SP")]
    assert [token.tag_ for token in doc if not token.is_space] == ["DT", "NN", "VBZ"]
    doc = pipeline(tagger(universal=True))("the\n\n dog")
    assert [token.pos_ for token in doc] == ["DET", "SPACE", "NOUN"]
    inside = pipeline(english())("Anna \n\n Keller flew from Berlin to Oslo")
    assert found(inside)[0][0] == "Anna \n\n Keller"


def ruled(nlp: Any) -> Any:
    """A pipeline with rules before the component."""
    ruler = nlp.add_pipe("entity_ruler", before="tagline")
    ruler.add_patterns([{"label": "CITY", "pattern": "Berlin to Oslo"}, {"label": "VERB", "pattern": "flew"}])
    return nlp


def test_entities_that_are_there_stay_or_go() -> None:
    everything = [entity for entity in found(pipeline(english())(TEXT)) if entity[0] != "flew"]
    kept = ruled(pipeline(english()))(TEXT)
    labels = {entity.text: entity.label_ for entity in kept.ents}
    assert labels["Berlin to Oslo"] == "CITY"
    assert labels["flew"] == "VERB"
    assert labels["Anna Keller"] == "PER"
    assert [entity._.probability for entity in kept.ents if entity.label_ in ("CITY", "VERB")] == [None, None]
    assert found(ruled(pipeline(english(), overwrite=True))(TEXT)) == everything


def test_what_another_component_writes_over_ours_has_no_probability() -> None:
    nlp = pipeline(english())
    ruler = nlp.add_pipe("entity_ruler", config={"overwrite_ents": True})
    ruler.add_patterns([{"label": "CITY", "pattern": "Berlin"}, {"label": "LOC", "pattern": "Oslo", "id": "capital"}])  # type: ignore[attr-defined]
    doc = nlp(TEXT)
    chances = {(entity.text, entity.label_): entity._.probability for entity in doc.ents}
    assert chances["Berlin", "CITY"] is None
    assert chances["Oslo", "LOC"] is None
    assert chances["Anna Keller", "PER"] > 0
    again = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert {(entity.text, entity.label_): entity._.probability for entity in again.ents} == chances
    doc = pipeline(tagger())("the dog runs")
    doc[0].tag_, doc[1].pos_ = "XX", "NOUN"
    assert [token._.probability is None for token in doc] == [True, False, False]


def test_blocked_tokens_stay_blocked() -> None:
    nlp = pipeline(english())
    doc = nlp.make_doc(TEXT)
    doc.set_ents([], blocked=[doc[0:1]], default="missing")
    doc = nlp(doc)
    assert "Anna" not in {token.text for entity in doc.ents for token in entity}
    assert (doc[0].ent_iob_, doc[0].ent_type_) == ("B", "")
    assert any(entity.text == "Oslo" for entity in doc.ents)


def test_tags_that_are_there_stay_or_go() -> None:
    for overwrite, first in ((False, "XX"), (True, "DT")):
        nlp = pipeline(tagger(), overwrite=overwrite)
        doc = nlp.make_doc("the dog runs")
        doc[0].tag_ = "XX"
        doc = nlp(doc)
        assert [token.tag_ for token in doc] == [first, "NN", "VBZ"]
        assert (doc[0]._.probability is None) == (not overwrite)


def test_more_columns_than_words() -> None:
    template = "U00:%x[0,0]\nU01:%x[0,1]\nB\n"
    X = [[("Anna", "NNP"), ("sings", "VBZ")], [("Rome", "NNP"), ("sings", "VBZ")]] * 4
    model = CRF(template, scheme="IOB2").fit(X, [["B-PER", "O"], ["B-LOC", "O"]] * 4)
    nlp = pipeline(model, columns=["text", "tag"])
    words = TrigramTagger().fit([["Anna", "sings"], ["Rome", "sings"]] * 4, [["NNP", "VBZ"]] * 8)
    before: Any = nlp.add_pipe("tagline", name="tags", before="tagline")
    before.tagger = words
    doc = nlp("Anna sings")
    assert [token.tag_ for token in doc] == ["NNP", "VBZ"]
    assert found(doc) == [("Anna", "PER", model.predict_spans([X[0]])[0][0].probability)]
    with pytest.raises(InputError, match=r"^columns: "):
        pipeline(model)


def test_labels_without_types_have_a_name() -> None:
    model = CRF("U00:%x[0,0]\nB\n", scheme="IOB2").fit([["a", "b", "c"]] * 4, [["B", "I", "O"]] * 4)
    nlp = pipeline(model)
    assert [(entity.text, entity.label_) for entity in nlp("a b c").ents] == [("a b", "SPAN")]
    assert nlp.pipe_labels["tagline"] == ["SPAN"]


def test_probable_entities_alone() -> None:
    everything = found(pipeline(english())(TEXT))
    bar = sorted(probability for _, _, probability in everything)[1]
    assert found(pipeline(english(), min_probability=bar)(TEXT)) == [one for one in everything if one[2] >= bar]


def test_what_spacy_is_told() -> None:
    nlp = pipeline(english())
    assert nlp.pipe_labels["tagline"] == ["DATE", "LOC", "ORG", "PER"]
    assert not nlp.has_factory("tagline-none")
    assert "doc.ents" in nlp.get_factory_meta("tagline").assigns
    assert nlp.analyze_pipes()["problems"]["tagline"] == []
    assert pipeline().pipe_labels["tagline"] == []


def test_wrong_settings_are_refused(tmp_path: Path) -> None:
    for config, place in (
        ({"task": "parse"}, r"^task: .*'parse'"),
        ({"attribute": "dep"}, r"^attribute: .*'dep'"),
        ({"min_probability": 1.5}, r"^min_probability: "),
        ({"columns": ["word"]}, r"^columns: .*\['word'\]"),
        ({"columns": []}, r"^columns: .*\[\]"),
    ):
        with pytest.raises(InputError, match=place):
            pipeline(**config)
    with pytest.raises(InputError, match=r"^tagline: .*nlp.init"):
        pipeline()("Anna")
    with pytest.raises(StorageError, match="nowhere: "):
        pipeline(model=str(tmp_path / "nowhere"))("Anna")
    with pytest.raises(InputError, match=r"^task: "):
        pipeline(tagger(), task="ner")
    with pytest.raises(InputError, match=r"^attribute: .*token\.pos_"):
        pipeline(tagger(), attribute="pos")
    with pytest.raises(InputError, match=r"^model: "):
        pipeline(CRF().fit([[{"a": 1}]], [["O"]]))
    with pytest.raises(InputError, match=r"^min_probability: "):
        pipeline(fitted("trigram"), min_probability=0.5)("Anna")
    english().save(tmp_path / "en.tagline")
    with pytest.raises(InputError, match=r"^device: .*en\.tagline"):
        pipeline(model=str(tmp_path / "en.tagline"), device="cpu")("Anna")


def test_errors_in_a_stream_go_to_the_handler_of_the_pipeline() -> None:
    nlp, failed = pipeline(), []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append((name, len(docs), type(error))))
    assert list(nlp.pipe(["Anna", "Bob"])) == []
    assert failed == [("tagline", 2, InputError)]


def test_an_extension_of_somebody_else_is_left_alone() -> None:
    from spacy.tokens import Span

    before = Span.get_extension("probability")
    Span.set_extension("probability", default=7, force=True)
    try:
        TaglineComponent(model=english())
        assert Span.get_extension("probability")[0] == 7
    finally:
        Span.set_extension("probability", getter=before[2], setter=before[3], force=True)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.delitem(sys.modules, "tagline.interop.spacy")
    with pytest.raises(ImportError, match=r"^tagline\.interop\.spacy: "):
        import tagline.interop.spacy  # noqa: F401
