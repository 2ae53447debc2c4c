"""Answers that the core writes are the JSON values that plain Python writes, for every option and any string."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

import tagline
from tagline.models.answers import AnswerArrays
from tagline.models.entities import FoundSpans
from tagline.ragged import offsets_of
from tagline.readers.corpus import Column
from tagline.serving.answers import Prepared, Said, _items, answer_requests
from tagline.serving.requests import TagRequest
from tagline.serving.shelf import ServedModel
from tests.profiles import examples

from .plain_items import items_of_arrays, items_of_model

ODD = 'a"\\/\x00\x1f\x7f\n\t\u2028é北\ud7ff\ue000\uffff😀\U0010ffff'
strings = st.text(max_size=8) | st.text(ODD, max_size=12) | st.text("a\uffff😀\U0010ffff", min_size=3, max_size=12)
NAMES = ("B-PER", 'I-"é\\', "O\n", "")
TYPES = ("PER", "", "地\\😀")
chances = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-5, 5e-324, 0.1 + 0.2, np.nan, np.inf, -np.inf]))


def edges_of(lengths: Iterable[int]) -> list[int]:
    return [0, *accumulate(lengths)]


def edges(draw: Any, last: int, most: int) -> list[tuple[int, int]]:
    """Draw parts of 0 to `last` that do not overlap."""
    inner = draw(st.lists(st.integers(0, last), max_size=2 * most))
    return list(pairwise(sorted(inner)))[::2]


@st.composite
def answered(draw: Any) -> tuple[Prepared, Said, list[dict[str, Any]] | None, list[TagRequest]]:
    """What a model may say of a few requests."""
    is_text, rows, bounds, places, items, words = draw(st.booleans()), [], [], [], [], []
    lengths: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        rows.append(draw(st.lists(strings, max_size=3)))
        for text in rows[-1]:
            sentences = edges(draw, len(text), 2) if is_text else [(0, len(text))]
            items.append(len(sentences))
            for start, end in sentences:
                tokens = edges(draw, end - start, 3)
                bounds.append((start, end))
                places += tokens
                lengths.append(len(tokens))
    N = sum(lengths)
    words = draw(st.lists(strings, min_size=N, max_size=N))
    labels = np.array(draw(st.lists(st.integers(0, 3), min_size=N, max_size=N)), np.int64)
    pairs = (np.array(values, np.int64).reshape(-1, 2) for values in (bounds, places))
    texts = [text for row in rows for text in row]
    prepared = Prepared(
        None, offsets_of(lengths), edges_of(items), edges_of(map(len, rows)), Column.of(words), texts, *pairs
    )
    spans = draw(st.none() | st.just(0))
    if spans is not None:
        found = [(b, *edge, draw(st.integers(0, 2))) for b, T in enumerate(lengths) for edge in edges(draw, T, 2)]
        found = [row for row in found if row[1] < row[2]]
        p = np.array(draw(st.lists(chances, min_size=len(found), max_size=len(found))), np.float64)
        spans = FoundSpans(*np.array(found, np.int64).reshape(-1, 4).T.copy(), TYPES, p)  # type: ignore[misc]
    marginals = None
    if draw(st.booleans()):
        marginals = np.array(draw(st.lists(chances, min_size=4 * N, max_size=4 * N)), np.float64).reshape(N, 4)
    more = None
    if draw(st.booleans()):
        more = [draw(st.dictionaries(strings, st.integers() | strings, max_size=2)) for _ in lengths]
    field = "texts" if is_text else "sentences"
    wide = st.sampled_from(["code-points", "utf-16"])
    values: list[Any] = rows if is_text else [[[] for _ in row] for row in rows]
    requests = [TagRequest(offsets=draw(wide), **{field: value}) for value in values]
    members = None if more is None else [to_json(row)[1:-1] for row in more]
    return (
        prepared,
        Said(AnswerArrays(NAMES, prepared.offsets, labels, spans=spans), marginals, members),
        more,
        requests,
    )


def in_order(value: Any) -> Any:
    """A JSON value whose objects keep the order of their members."""
    return json.loads(value, object_pairs_hook=list, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@examples(300)
@given(answered())
def test_the_core_writes_what_plain_python_does(case: Any) -> None:
    prepared, said, more, requests = case
    expected = items_of_arrays(prepared, said, more, requests)
    written = _items(prepared, said, requests)
    assert [in_order(item) for item in written] == [in_order(json.dumps(item)) for item in expected]


def _models() -> dict[str, ServedModel]:
    X, y = [["a", "b"], ["b", "北"], ["😀", "a", "c"]], [["B-X", "O"], ["O", "B-X"], ["O", "B-X", "I-X"]]
    crf = tagline.CRF("U00:%x[0,0]\nU01:%x[-1,0]\nB\n", scheme="IOB2", c2=0.1).fit(X, y)
    plain = tagline.TrigramTagger().fit([["a", "b"], ["b", "c"]] * 3, [["D", 'N"'], ['N"', "V"]] * 3)
    return {"crf": ServedModel("crf", crf), "trigram": ServedModel("trigram", plain)}


MODELS = _models()
texts = st.lists(st.text('ab c北。.!"\n😀', max_size=10), max_size=3)
options = st.fixed_dictionaries(
    {},
    optional={
        "split": st.booleans(),
        "tokenizer": st.sampled_from(["auto", "characters", "whitespace"]),
        "spans": st.booleans(),
        "min_probability": st.sampled_from([0.0, 0.5]),
        "marginals": st.booleans(),
        "k_best": st.integers(0, 3),
        "samples": st.integers(0, 2),
        "entropy": st.booleans(),
        "log_likelihood": st.booleans(),
        "explain": st.booleans(),
        "offsets": st.sampled_from(["code-points", "utf-16"]),
    },
)


@pytest.mark.parametrize("name", MODELS)
@examples(200)
@given(texts=texts, asked=options, field=st.sampled_from(["texts", "sentences"]), data=st.data())
def test_every_option_is_answered_as_the_library_does(
    name: str, texts: list[str], asked: dict[str, Any], field: str, data: Any
) -> None:
    served = MODELS[name]
    asked = asked | ({} if name == "crf" else {"explain": False})
    if len(texts) != 1 or field != "sentences":  # draws go on from sentence to sentence
        asked = asked | {"samples": 0}
    value: Any = texts if field == "texts" else [text.split() for text in texts]
    known = []
    if field == "sentences" and texts and value[0] and data.draw(st.booleans()):
        known = [{"token": 0, "label": "O" if name == "crf" else "D"}]
    request = TagRequest(**{field: value}, seed=3, known=known, **asked)
    (answer,) = answer_requests(served, [request], 1000)
    expected = items_of_model(served, request)
    items = json.loads(b"[%b]" % answer.items)
    assert items == json.loads(json.dumps(expected))
    assert answer.tokens == sum(len(sentence["tokens"]) for item in items for sentence in item["sentences"])


def one_text(
    text: str, label: int = 0, bound: tuple[int, int] = (0, 1), place: tuple[int, int] = (0, 1)
) -> list[bytes]:
    """Write a text with one token."""
    one, words = offsets_of([1]), Column(("a",), np.zeros(1, np.int32))
    prepared = Prepared(None, one, [0, 1], [0, 1], words, [text], np.array([bound]), np.array([place]))
    return _items(prepared, Said(AnswerArrays(("O",), one, np.array([label]))), [TagRequest(text="a")])


def test_what_does_not_fit_is_refused() -> None:
    assert json.loads(one_text("ab")[0])["sentences"][0]["tokens"][0]["label"] == "O"
    with pytest.raises(ValueError, match=r"^labels: "):
        one_text("ab", label=1)
    for bound, place in (((0, 3), (0, 1)), ((-1, 1), (0, 1)), ((1, 0), (0, 0)), ((0, 1), (0, 2)), ((0, 1), (-1, 1))):
        with pytest.raises(ValueError, match=r"^places: "):
            one_text("ab", bound=bound, place=place)
    with pytest.raises(ValueError, match=r"^texts: "):
        one_text("a\ud800")
