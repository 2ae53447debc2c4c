"""`model.tag` of every kind: texts in, entities in the characters of the text out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import CRF, HMM, InputError, TrigramTagger
from tagline.models.registry import kinds
from tagline.models.texts import TaggedText, TextEntity, TextModel
from tagline.readers import corpus_of_texts

from .test_contract import TEMPLATE, X, Y, fitted

TEXT = "Anna Smith lives in Rome. Bob sees\tNew York!\nRome calls"


@pytest.fixture(scope="module", params=list(kinds()))
def model(request: pytest.FixtureRequest, one_thread: None) -> Any:
    return fitted(request.param)


@pytest.fixture(scope="module")
def crf() -> CRF:
    return CRF(TEMPLATE, scheme="IOB2", c2=0.5).fit(X, Y)


def test_every_kind_tags_texts(model: Any) -> None:
    tagged = model.tag(TEXT)
    assert tagged.text == TEXT
    assert [TEXT[start:end] for start, end in tagged.sentences] == (
        ["Anna Smith lives in Rome.", "Bob sees\tNew York!", "Rome calls"]
    )
    assert [token.text for token in tagged.tokens] == [TEXT[token.start : token.end] for token in tagged.tokens]
    sentences = corpus_of_texts(["Anna Smith lives in Rome.", "Bob sees\tNew York!", "Rome calls"])
    assert tagged.labels == [label for row in model.predict(sentences) for label in row]
    if not model.finds_spans:
        assert tagged.entities is None
        assert tagged.tokens[0].probability == max(model.marginal_arrays(sentences)[0][0])
        return
    found = [(entity.text, entity.type, entity.probability) for entity in tagged.entities]
    expected = [(span.text, span.type, span.probability) for row in model.predict_spans(sentences) for span in row]
    assert found == expected
    assert [entity.text for entity in tagged.entities] == (
        [TEXT[entity.start : entity.end] for entity in tagged.entities]
    )
    assert tagged.tokens[0].probability is None


def test_every_kind_says_that_predict_takes_no_texts(model: Any) -> None:
    for given_texts in ("Anna calls", ["Anna calls Rome."]):
        with pytest.raises(InputError, match=r"^X(\[0\])?: .*model\.tag"):
            model.predict(given_texts)


class Series:
    """What of a Series of pandas or polars is looked at."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)


def test_many_texts(crf: CRF) -> None:
    texts = ["Anna calls", "", " ", "Bob sees New York"]
    one_by_one = [crf.tag(text) for text in texts]
    for many in (texts, tuple(texts), iter(texts), Series(texts)):
        assert crf.tag(many) == one_by_one
    assert crf.tag([]) == []
    assert one_by_one[1] == TaggedText("", (), (), ())
    assert one_by_one[3].entities is not None
    assert one_by_one[3].as_dict()["entities"][1]["text"] == "New York"


def test_series_of_pandas_and_polars(crf: CRF) -> None:
    for name in ("pandas", "polars"):
        try:
            library = pytest.importorskip(name)
        except pytest.skip.Exception:
            continue
        assert crf.tag(library.Series(["Anna calls", "Rome"])) == crf.tag(["Anna calls", "Rome"])
        with pytest.raises(InputError, match=r"^texts: "):
            crf.tag(library.DataFrame({"text": ["Anna"]}))


def test_options(crf: CRF) -> None:
    text = "Anna calls. Bob sees New York."
    assert crf.tag(text, split=False).sentences == ((0, len(text)),)
    assert [token.text for token in crf.tag("Rome.", tokenizer="whitespace").tokens] == ["Rome."]
    entities = crf.tag(text).entities
    assert entities is not None
    bar = sorted(entity.probability for entity in entities)[1]
    assert crf.tag(text, min_probability=bar).entities == tuple(e for e in entities if e.probability >= bar)
    assert isinstance(entities[0], TextEntity)


def test_labels_without_spans() -> None:
    model = TrigramTagger().fit([["the", "cat", "sings"]], [["D", "N", "V"]])
    tagged = model.tag("The cat sings.")
    assert tagged.entities is None
    assert all(token.probability is not None and 0 < token.probability <= 1 for token in tagged.tokens)
    states = HMM(2).fit([["a", "b", "a"], ["b"]])
    assert states.tag("a b").entities is None


def test_a_dictionary_that_fills_labels() -> None:
    from tagline import Dictionary

    dictionary = Dictionary({"Oslo": "LOC"}, priority="under")
    model = CRF(TEMPLATE, scheme="IOB2", c2=0.5, dictionary=dictionary).fit(X, Y)
    assert model.tag("lives in Oslo").labels == model.predict([["lives", "in", "Oslo"]])[0]


@given(text=st.text(st.sampled_from("Anna Rome.!?\n\t北京。👍🏽\u0301é'\"("), max_size=40))
def test_offsets_reproduce_the_text(crf: CRF, text: str) -> None:
    tagged = crf.tag(text)
    assert all(text[token.start : token.end] == token.text for token in tagged.tokens)
    assert "".join(token.text for token in tagged.tokens) == "".join(text.split())
    for entity in tagged.entities or ():
        assert text[entity.start : entity.end] == entity.text


def test_refused(crf: CRF) -> None:
    cases: list[tuple[Any, str]] = [
        (7, r"^texts: "),
        (b"Anna", r"^texts: .*'Anna'"),
        ({"a": "b"}, r"^texts: "),
        (["a", None], r"^texts\[1\]: "),
        ([["Anna"]], r"^texts\[0\]: "),
    ]
    for texts, place in cases:
        with pytest.raises(InputError, match=place):
            crf.tag(texts)
    with pytest.raises(InputError, match=r"^tokenizer: "):
        crf.tag("a", tokenizer="x")
    for name, text in (("tokens", "write tokenizer="), ("tokenzier", "tokenzier= is no argument")):
        with pytest.raises(TypeError, match=rf"^tag: .*{text}"):
            crf.tag("a", **{name: "words"})
    with pytest.raises(InputError, match=r"^min_probability: "):
        crf.tag("a", min_probability=2)
    features = CRF().fit([[{"a": 1}]], [["O"]])
    with pytest.raises(InputError, match=r"^tag: "):
        features.tag("Anna")
    columns = CRF("U00:%x[0,0]\nU01:%x[0,1]\n").fit([[("Anna", "N")]], [["O"]])
    with pytest.raises(InputError, match=r"^tag: "):
        columns.tag("Anna")
    assert issubclass(CRF, TextModel)


def test_a_notebook_shows_it(crf: CRF) -> None:
    assert "<mark" in crf.tag("Anna <b>Smith</b> lives in Rome.")._repr_html_()
    assert "<b>" not in crf.tag("Anna <b>Smith</b> lives in Rome.")._repr_html_()
    words = TrigramTagger().fit([["the", "cat"]], [["D", "N"]]).tag("the cat")
    assert "cat" in words._repr_html_()


def test_known_entities_and_labels_hold(crf: CRF) -> None:
    """An entity by its type is there whole and alone; a label holds for each of its tokens."""
    found = crf.tag("Anna lives in New York today", known=[(14, 22, "PER"), (0, 4, "O")])
    assert found.labels[0] == "O"
    (entity,) = [entity for entity in found.entities or () if entity.start == 14]
    assert (entity.text, entity.type, entity.probability) == ("New York", "PER", pytest.approx(1))
    touching = crf.tag("Anna Smith lives", known=[(0, 4, "PER")])
    assert (touching.tokens[0].label, touching.tokens[1].label) != ("B-PER", "I-PER")
    sets = crf.tag("Anna lives", known=[(5, 10, {"B-LOC", "B-PER"})])
    assert sets.tokens[1].label in ("B-LOC", "B-PER")


def test_known_of_many_texts_is_that_of_each(crf: CRF) -> None:
    """Rows and sentences of texts do not shift, also where a text has several sentences or none."""
    texts = ["Anna sings. Rome calls.", "", "Rome calls"]
    known = [[(12, 16, "PER")], None, [(0, 4, "O")]]
    assert crf.tag(texts, known=known) == [crf.tag(text, known=row) for text, row in zip(texts, known, strict=True)]
    assert crf.tag(texts, known=[None, [], None]) == crf.tag(texts)
    assert [[(e.text, e.type) for e in found.entities or ()] for found in crf.tag(texts, known=known)][2] == []


@pytest.mark.parametrize(
    ("texts", "known", "place"),
    [
        ("Anna Smith", [(0, 3, "PER")], r"known\[0\]: "),
        ("Anna Smith", [(0, 4, "O"), (0, 99, "PER")], r"known\[1\]: "),
        ("Anna Smith", [(4, 0, "PER")], r"known\[0\]: "),
        ("Anna Smith", [(0, 4, "GPE")], r"known\[0\]: "),
        ("Anna Smith", [(0, 4, "O"), (0, 10, "PER")], r"known\[1\]: "),
        ("Anna Smith", [(0, "PER")], r"known\[0\]: "),
        ("Anna Smith", 3, "known: "),
        ("Anna sings. Rome calls.", [(0, 23, "O")], r"known\[0\]: "),
        (["Anna", "Smith"], [[(0, 4, "O")]], "known: "),
        (["Anna", "Smith"], [None, [(0, 2, "O")]], r"known\[1\]\[0\]: "),
    ],
)
def test_what_cannot_be_known_is_refused(crf: CRF, texts: Any, known: Any, place: str) -> None:
    with pytest.raises(InputError, match=f"^{place}"):
        crf.tag(texts, known=known)


def test_every_kind_takes_known_labels(model: Any) -> None:
    for label in model.labels_:
        found = model.tag("Anna lives in Rome", known=[(5, 10, {label}), (14, 18, label)], split=False)
        assert found.labels[1] == found.labels[3] == label
