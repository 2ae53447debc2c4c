"""What `/v1/tag` answers, against the library; requests that are wrong, by the field that is named."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

TEXT = "Maria Lindqvist met Peter Oduya in Oslo. Anna Smith lives in Rome."


def tag(client: Any, **request: Any) -> dict[str, Any]:
    answer = client.post("/v1/tag", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def tokens_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [token for sentence in item["sentences"] for token in sentence["tokens"]]


def test_a_text_is_answered_as_the_model_answers(client: Any, crf: Any) -> None:
    item = tag(client, text=TEXT)["results"][0]
    expected = crf.tag(TEXT)
    got = [(entity["text"], entity["type"], entity["start"], entity["end"]) for entity in item["entities"]]
    assert got == [(e.text, e.type, e.start, e.end) for e in expected.entities]
    chances = [entity["probability"] for entity in item["entities"]]
    np.testing.assert_allclose(chances, [e.probability for e in expected.entities], rtol=1e-12)
    words = [(t["text"], t["label"], t["start"], t["end"]) for t in tokens_of(item)]
    assert words == [(t.text, t.label, t.start, t.end) for t in expected.tokens]
    assert [(s["start"], s["end"]) for s in item["sentences"]] == list(expected.sentences)
    for entity in item["entities"]:
        first, after = entity["tokens"]
        inside = item["sentences"][entity["sentence"]]["tokens"][first:after]
        assert (inside[0]["start"], inside[-1]["end"]) == (entity["start"], entity["end"])


def test_everything_that_can_be_asked(client: Any, crf: Any) -> None:
    sentence = ["Anna", "Smith", "lives", "in", "Rome"]
    known = [{"token": 4, "label": "B-LOC"}]
    asked: dict[str, Any] = {"marginals": True, "k_best": 3, "samples": 2, "seed": 5, "entropy": True}
    body = tag(client, tokens=sentence, log_likelihood=True, explain=True, known=known, **asked)
    assert body["labels"] == crf.labels_
    (answer,) = body["results"][0]["sentences"]
    bound = [[None] * 4 + ["B-LOC"]]
    got = np.array([token["marginals"] for token in answer["tokens"]])
    np.testing.assert_allclose(got, crf.marginal_arrays([sentence], known=bound)[0], rtol=1e-6, atol=1e-9)
    labels = [token["label"] for token in answer["tokens"]]
    assert labels == crf.predict([sentence], known=bound)[0]
    numbers = [crf.labels_.index(label) for label in labels]
    np.testing.assert_array_equal([t["probability"] for t in answer["tokens"]], got[np.arange(5), numbers])
    ranked = crf.predict_k_best([sentence], 3, known=bound)[0]
    assert [row["labels"] for row in answer["k_best"]] == [row.labels for row in ranked]
    assert answer["samples"] == crf.predict_samples([sentence], 2, seed=5, known=bound)[0]
    np.testing.assert_allclose(answer["entropy"], crf.entropy([sentence], known=bound)[0], rtol=1e-9)
    np.testing.assert_allclose(answer["log_z"], crf.log_likelihood([sentence])[0], rtol=1e-9)
    np.testing.assert_allclose(answer["log_likelihood"], crf.log_likelihood([sentence], [labels])[0], rtol=1e-9)
    explained = crf.explain(sentence, known=bound[0])
    assert [row["label"] for row in answer["explanation"]] == explained.labels
    assert answer["legend"] == crf.legend(explained, most=8)
    np.testing.assert_allclose(
        [row["margin"] for row in answer["explanation"]], [t.margin for t in explained.tokens], rtol=1e-9
    )


def test_a_fixed_label_changes_its_neighbours(client: Any) -> None:
    free = tokens_of(tag(client, text=TEXT)["results"][0])
    bound = tokens_of(tag(client, text=TEXT, known=[{"token": 8, "label": "O"}])["results"][0])
    assert (free[8]["label"], free[9]["label"]) == ("B-PER", "I-PER")
    assert bound[8]["label"] == "O"
    assert bound[9]["label"] != "I-PER"  # IOB2: nothing to go on with
    assert [t["label"] for t in bound[:8]] == [t["label"] for t in free[:8]]


def test_known_labels_are_counted_over_all_sentences_of_their_item(client: Any) -> None:
    known = [{"item": 1, "token": 2, "label": ["B-ORG", "O"]}]
    results = tag(client, texts=["Anna sings.", "Bob Rome. Oslo Lima."], known=known)["results"]
    assert tokens_of(results[1])[2]["label"] in ("B-ORG", "O")
    assert len(results) == 2


def test_utf16_offsets_are_those_of_javascript(client: Any) -> None:
    text = "😀 Maria Lindqvist 😀 lives in Oslo."
    plain, wide = (tag(client, text=text, offsets=o)["results"][0] for o in ("code-points", "utf-16"))
    units = text.encode("utf-16-le")
    for a, b in zip(plain["entities"], wide["entities"], strict=True):
        assert units[2 * b["start"] : 2 * b["end"]].decode("utf-16-le") == a["text"] == text[a["start"] : a["end"]]
    assert wide["entities"][-1]["start"] == plain["entities"][-1]["start"] + 2
    assert wide["sentences"][0]["end"] == len(units) // 2


def test_labels_without_spans_have_no_entities(client: Any) -> None:
    body = tag(client, model="pos", tokens=["the", "dog", "sleeps"], known=[{"token": 1, "label": "NN"}])
    assert body["results"] == [{"sentences": [{"tokens": [
        {"text": "the", "label": "DT"}, {"text": "dog", "label": "NN"}, {"text": "sleeps", "label": "VBZ"},
    ]}]}]  # fmt: skip


def test_nothing_is_something(client: Any) -> None:
    assert tag(client, texts=[])["results"] == []
    assert tag(client, text="")["results"] == [{"text": "", "sentences": [], "entities": []}]
    assert tag(client, tokens=[])["results"] == [{"sentences": [{"tokens": []}], "entities": []}]
    assert tag(client, text="  ", split=False)["results"][0]["entities"] == []


@given(texts=st.lists(st.text("ab 北。.!\n😀", max_size=12), max_size=4))
def test_places_are_those_of_the_text_as_it_was_sent(texts: list[str]) -> None:
    from tagline.serving.answers import answer_requests
    from tagline.serving.requests import TagRequest
    from tagline.serving.shelf import ServedModel

    served = ServedModel("names", SMALL)
    (answer,) = answer_requests(served, [TagRequest(texts=texts)], 1000)
    items = json.loads(b"[%b]" % answer.items)
    assert [item["text"] for item in items] == texts
    for item in items:
        tokens = tokens_of(item)
        assert all(item["text"][t["start"] : t["end"]] == t["text"] for t in tokens)
        assert all(a["end"] <= b["start"] for a, b in pairwise(tokens))


def _small() -> Any:
    import tagline

    return tagline.CRF("U00:%x[0,0]\nB\n", scheme="IOB2").fit([["a", "b"], ["b", "北"]], [["B-X", "O"], ["O", "B-X"]])


SMALL = _small()

WRONG: dict[str, tuple[dict[str, Any], int, str | None, str]] = {
    "two inputs": ({"text": "a", "tokens": ["a"]}, 422, None, "text, texts, tokens, sentences"),
    "no input": ({}, 422, None, "text, texts, tokens, sentences"),
    "unknown field": ({"text": "a", "txt": 1}, 422, "txt", "txt: "),
    "unknown model": ({"text": "a", "model": "x"}, 404, "model", "model: "),
    "a number for a text": ({"text": 3}, 422, "text", "text: "),
    "a number among texts": ({"texts": ["a", 3]}, 422, "texts[1]", r"texts[1]: "),
    "too many best": ({"text": "a", "k_best": 51}, 422, "k_best", "k_best: "),
    "a chance above one": ({"text": "a", "min_probability": 1.5}, 422, "min_probability", "min_probability: "),
    "unknown label": (
        {"text": "a", "known": [{"token": 0, "label": "Q"}]}, 422, "known[0].label", "B-DATE",
    ),
    "unknown token": ({"text": "a", "known": [{"token": 1, "label": "O"}]}, 422, "known[0].token", "below 1"),
    "unknown item": ({"text": "a", "known": [{"item": 1, "token": 0, "label": "O"}]}, 422, "known[0].item", "below 1"),
    "no labelling": ({"text": "a", "known": [{"token": 0, "label": "I-PER"}]}, 422, "known", "no labelling keeps"),
    "columns": ({"tokens": [["a"], "b"]}, 422, "X[0]", "tokens"),
    "tokenizer": ({"text": "a", "tokenizer": "x"}, 422, "tokenizer", "tokenizer: "),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_requests_get_a_problem_that_names_the_field(client: Any, name: str) -> None:
    request, status, field, detail = WRONG[name]
    answer = client.post("/v1/tag", json=request)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    if field != "X[0]":
        assert body.get("field") == field
    assert detail in body["detail"]
    assert body["request"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe", b"[1]", b'{"text": "a"', b"null", b'{"text": "\\ud800"}'])
def test_what_is_no_request_is_refused(client: Any, body: bytes) -> None:
    answer = client.post("/v1/tag", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["detail"]


def test_other_types_of_bodies(client: Any) -> None:
    answer = client.post("/v1/tag", content=b"a=b", headers={"content-type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 415
    assert client.get("/v1/tag").status_code == 405
    assert client.get("/nowhere").json()["status"] == 404
