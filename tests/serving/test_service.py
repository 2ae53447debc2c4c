"""The service beyond tagging: models, trellis, streams, limits, tokens, headers, and what is logged."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from tagline import CRF, chain
from tagline.errors import InputError, TaglineError
from tagline.serving import Settings, create_app
from tagline.serving.requests import TagAnswer
from tagline.serving.settings import check_exposure
from tagline.serving.shelf import named_models

TEXT = "Maria Lindqvist met Peter Oduya in Oslo."
LINES = {"Content-Type": "application/x-ndjson"}


def test_models_describe_themselves(client: Any, crf: Any) -> None:
    assert client.get("/v1/models").json()["models"] == [
        {"name": "names", "kind": "crf", "labels": 9, "scheme": "IOB2", "default": True},
        {"name": "pos", "kind": "trigram", "labels": 3, "scheme": None, "default": False},
    ]
    facts = client.get("/v1/models/names").json()
    assert facts["labels"] == crf.labels_
    assert facts["finds_spans"]
    assert facts["types"] == ["DATE", "LOC", "ORG", "PER"]
    transitions = np.array([[np.nan if x is None else x for x in row] for row in facts["transitions"]])
    expected = next(crf.chains([["x"]])).transitions
    np.testing.assert_array_equal(np.isnan(transitions), np.isneginf(expected))
    np.testing.assert_allclose(transitions[~np.isnan(transitions)], expected[np.isfinite(expected)])
    assert client.get("/v1/models/pos").json()["transitions"] is None
    assert client.get("/v1/models/none").status_code == 404


def test_features_are_searched(client: Any, crf: Any) -> None:
    rows = client.get("/v1/models/names/features", params={"label": "B-PER", "top": 5}).json()["features"]
    best = crf.view(5, ["B-PER"]).features["B-PER"]
    assert [row["attribute"] for row in rows] == [feature.attribute for feature in best]
    part = rows[0]["attribute"][-3:].upper()
    found = client.get("/v1/models/names/features", params={"search": part, "top": 500}).json()["features"]
    assert rows[0] in found
    assert all(part.casefold() in row["attribute"].casefold() for row in found)
    assert client.get("/v1/models/names/features", params={"top": 0}).json()["field"] == "top"
    assert client.get("/v1/models/names/features", params={"label": "Q"}).json()["field"] == "label"


def test_the_trellis_has_every_table(client: Any, crf: Any) -> None:
    body = client.post("/v1/trellis", json={"text": f"Hello. {TEXT}", "sentence": 1}).json()
    words = [token["text"] for token in body["tokens"]]
    scores = next(crf.chains([words]))

    def numbers(name: str) -> Any:
        return np.array(body[name], dtype=float)  # None becomes NaN

    for name, expected in {
        "log_alpha": chain.forward(scores),
        "log_beta": chain.backward(scores),
        "viterbi": chain.viterbi_table(scores).scores,
        "nodes": chain.marginals(scores).nodes,
        "emissions": scores.emissions,
    }.items():
        np.testing.assert_array_equal(np.isnan(numbers(name)), np.isneginf(expected), err_msg=name)
        finite = np.isfinite(expected)
        np.testing.assert_allclose(numbers(name)[finite], expected[finite], rtol=1e-9, atol=1e-12, err_msg=name)
    edges = chain.marginals(scores, edges=True).edges
    assert edges is not None
    assert len(body["edges"]) == int((edges >= 0.001).sum())
    for edge in body["edges"]:
        np.testing.assert_allclose(edge["p"], edges[edge["t"], edge["from"], edge["to"]])
    ranked = chain.k_best(scores, 2)[0]
    assert [body["best"], body["runner_up"]] == ranked.labels.tolist()
    assert body["tokens"][0]["start"] == 7
    assert client.post("/v1/trellis", json={"text": TEXT, "sentence": 3}).json()["field"] == "sentence"
    assert client.post("/v1/trellis", json={"model": "pos", "tokens": ["the"]}).json()["field"] == "model"
    assert client.post("/v1/trellis", json={"text": "a b " * 5000}).status_code == 413


def test_a_stream_is_answered_line_by_line(client: Any, crf: Any) -> None:
    lines = [
        json.dumps(TEXT),
        '{"tokens": ["Anna", "sings"]}',
        "{broken",
        "",
        "[1]",
        '{"texts": ["a", "b"]}',
        '"Bob 😀."',
    ]
    answer = client.post("/v1/stream?offsets=utf-16", content="\n".join(lines).encode(), headers=LINES)
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert [row.get("line") for row in rows] == [None, None, 3, 5, 6, None]
    assert [e["text"] for e in rows[0]["entities"]] == [e.text for e in crf.tag(TEXT).entities]
    assert [row["error"]["status"] for row in rows[2:5]] == [400, 422, 422]
    assert rows[5]["sentences"][0]["end"] == 7
    assert client.post("/v1/stream?nonsense=1", content=b"", headers=LINES).json()["field"] == "nonsense"
    assert client.post("/v1/stream?model=x", content=b"", headers=LINES).status_code == 404


def limited(crf: Any, **limits: Any) -> Any:
    return TestClient(create_app({"names": crf}, Settings(**limits)))


def test_limits(crf: Any) -> None:
    with limited(crf, max_body=200, max_tokens=5) as client:
        assert client.post("/v1/tag", json={"text": "a " * 200}).status_code == 413
        long = client.post("/v1/tag", json={"text": "a b c d e f"})
        assert (long.status_code, "up to 5 tokens" in long.json()["detail"]) == (413, True)
        chunks = (b"x" * 50 for _ in range(10))  # without a length
        assert client.post("/v1/tag", content=chunks, headers={"content-type": "application/json"}).status_code == 413
        lines = b'"' + b"x" * 300 + b'"\n"a"\n'
        row = json.loads(client.post("/v1/stream", content=lines, headers=LINES).text.splitlines()[0])
        assert row["error"]["status"] == 413


def test_a_full_queue_is_told(crf: Any) -> None:
    from tagline.serving.batching import Batcher
    from tagline.serving.problems import ProblemError
    from tagline.serving.requests import TagRequest
    from tagline.serving.shelf import ServedModel

    async def crowd() -> list[Any]:
        batcher = Batcher(lambda served, requests: [["answer"]] * len(requests), max_queue=3, max_batch=100)
        served = ServedModel("names", crf)

        async def ask() -> Any:
            return await batcher.ask(served, TagRequest(text="a"), 1)

        return await asyncio.gather(*(ask() for _ in range(5)), return_exceptions=True)

    answers = asyncio.run(crowd())
    refused = [answer for answer in answers if isinstance(answer, ProblemError)]
    assert [(problem.status, problem.headers) for problem in refused] == [(429, {"Retry-After": "1"})] * 2
    assert answers.count(["answer"]) == 3


def test_requests_together_are_answered_as_alone(crf: Any) -> None:
    from tagline.serving.answers import answer_requests
    from tagline.serving.requests import TagRequest
    from tagline.serving.shelf import ServedModel

    served = ServedModel("names", crf)
    texts = [TEXT, "", "Anna.", "Rome and Oslo. Bob!"]
    together = answer_requests(served, [TagRequest(text=text) for text in texts], 100)
    assert together == [answer_requests(served, [TagRequest(text=text)], 100)[0] for text in texts]
    spoiled = answer_requests(served, [TagRequest(text="a"), TagRequest(text="b " * 200), TagRequest(text="a")], 100)
    assert spoiled[0] == spoiled[2] == answer_requests(served, [TagRequest(text="a")], 100)[0]
    assert spoiled[1].status == 413


def test_a_slow_first_call_is_forgotten() -> None:
    from tagline.serving.shelf import Pace

    pace = Pace()
    assert pace.seconds(1) == float("inf")
    pace.note(10, 0.05)
    assert pace.seconds(10) == 0.05
    pace.note(700, 0.001)  # a large one that took less: a call costs no more than that
    assert pace.seconds(10) < 0.005
    for _ in range(50):
        pace.note(700, 0.001)
    assert pace.seconds(700) < 0.005
    pace.note(700, 1.0)
    assert pace.seconds(10) < 0.005 < 0.02 < pace.seconds(700)


def test_no_service_without_the_core(crf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagline.compiled.core", None)
    with pytest.raises(TaglineError, match='"naive"'):
        create_app({"names": crf})


def test_a_token_is_asked_for(crf: Any) -> None:
    with limited(crf, token="secret") as client:
        refused = client.post("/v1/tag", json={"text": "a"})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        for wrong in ("Bearer secreT", "Bearer ", "Basic secret", "secret"):
            assert client.get("/v1/models", headers={"Authorization": wrong}).status_code == 401
        assert client.get("/v1/models", headers={"Authorization": "bearer secret"}).status_code == 200
        assert client.get("/metrics").status_code == 401
        for path in ("/healthz", "/readyz", "/"):
            assert client.get(path).status_code == 200


def test_no_open_door_without_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.4", "example.org"):
        with pytest.raises(InputError, match=r"^--host: .*--token-file"):
            check_exposure(host, None, insecure=False)
        check_exposure(host, "secret", insecure=False)
        check_exposure(host, None, insecure=True)
    for host in ("127.0.0.1", "::1", "localhost", "127.1.2.3"):
        check_exposure(host, None, insecure=False)


def test_headers_guard_the_page(client: Any) -> None:
    for path in ("/", "/v1/models", "/nowhere"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "access-control-allow-origin" not in headers
    assert client.get("/healthz", headers={"X-Request-Id": "mine-7"}).headers["x-request-id"] == "mine-7"
    assert client.get("/healthz", headers={"X-Request-Id": "a\tb"}).headers["x-request-id"] != "a\tb"


def test_other_origins_only_where_they_are_named(crf: Any) -> None:
    origin = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    with limited(crf, allow_origin="https://example.org") as client:
        asked = client.options("/v1/tag", headers=origin)
        assert asked.headers["access-control-allow-origin"] == "https://example.org"
        other = client.get("/healthz", headers={"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


def test_texts_are_never_logged(crf: Any, caplog: Any) -> None:
    with caplog.at_level(logging.DEBUG, logger="tagline.serving"), limited(crf) as client:
        client.post("/v1/tag", json={"text": "Xyzzy Plugh"})
        client.post("/v1/tag", json={"text": "Xyzzy", "known": [{"token": 9, "label": "O"}]})
        client.get("/v1/nowhere?text=Xyzzy")
    facts = [record.facts for record in caplog.records if hasattr(record, "facts")]
    assert [(f["path"], f["status"]) for f in facts] == [("/v1/tag", 200), ("/v1/tag", 422), ("/v1/nowhere", 404)]
    assert "Xyzzy" not in caplog.text + str(facts)


def test_metrics_and_description(client: Any) -> None:
    client.post("/v1/tag", json={"text": TEXT})
    text = client.get("/metrics").text
    assert 'tagline_requests_total{path="/v1/tag",status="200"} 1.0' in text
    assert 'tagline_tokens_total{model="names"} 8.0' in text
    description = client.get("/openapi.json").json()
    asked = description["paths"]["/v1/tag"]["post"]["requestBody"]["content"]["application/json"]
    assert asked["schema"] == {"$ref": "#/components/schemas/TagRequest"}
    for example in asked["examples"].values():
        answer = client.post("/v1/tag", json=example["value"])
        assert answer.status_code == 200, answer.text


def test_the_description_of_the_answer_is_the_answer(client: Any) -> None:
    """`TagAnswer` describes what the compiled core writes: no member is missing in either, and all have their types."""
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    seen: set[tuple[str, str]] = set()

    def note(value: Any, schema: dict[str, Any]) -> None:
        forms = [form for form in schema.get("anyOf", [schema]) if form.get("type") != "null"]
        if "$ref" in forms[0]:
            name = forms[0]["$ref"].rpartition("/")[2]
            seen.update((name, member) for member in value)
            for member, entry in value.items():
                note(entry, schemas[name]["properties"][member])
        elif isinstance(value, list) and "items" in forms[0]:
            for entry in value:
                note(entry, forms[0]["items"])

    details = dict.fromkeys(("marginals", "entropy", "log_likelihood", "explain"), True)
    everything = {"text": TEXT, "k_best": 2, "samples": 1, **details}
    for request in ({"text": TEXT}, {"tokens": ["Anna", "met", "Peter"]}, everything):
        answer = client.post("/v1/tag", json=request)
        TagAnswer.model_validate_json(answer.content, strict=True)
        note(answer.json(), {"$ref": "#/components/schemas/TagAnswer"})
    names = {name for name, _ in seen}
    assert names == {"TagAnswer", "TagItem", "TaggedSentence", "TaggedToken", "RankedLabelling", "FoundEntity"}
    assert seen == {(name, member) for name in names for member in schemas[name]["properties"]}


def test_models_are_named() -> None:
    assert named_models(["a/b.c.tagline", "x=y=z"]) == {"b": "a/b.c.tagline", "x": "y=z"}
    with pytest.raises(InputError, match=r"^-m: .*'b'"):
        named_models(["b.tagline", "other/b.tagline"])


def test_a_document_is_of_one_request() -> None:
    from tagline.serving.batching import Batcher
    from tagline.serving.requests import TagRequest
    from tagline.serving.shelf import ServedModel

    X = [["Mr", "Ann"], ["then", "Ann", "won"]] * 6
    crf = CRF("U00:%x[0,0]\nB", stages=2).fit(X, [["O", "P"], ["O", "P", "O"]] * 6, documents=[2] * 6)
    batches: list[int] = []

    async def crowd() -> None:
        batcher = Batcher(lambda served, requests: [["answer"]] * len(requests), 9, 1000, batches.append)
        served = ServedModel("names", crf)
        await asyncio.gather(*(batcher.ask(served, TagRequest(text="Ann won"), 1) for _ in range(3)))

    asyncio.run(crowd())
    assert crf.input_.documents
    assert batches == [1, 1, 1]


def test_a_text_is_one_document() -> None:
    """As it is for `model.tag`: what one sentence says of a word counts in the others."""
    from tagline.serving.answers import answer_requests
    from tagline.serving.requests import TagRequest
    from tagline.serving.shelf import ServedModel

    X = [["Mr", "Ann", "won", "."], ["Ann", "won", "."], ["Old", "Ann", "won", "."], ["Ann", "won", "."]] * 6
    y = [["O", "P", "O", "O"], ["P", "O", "O"], ["O", "Q", "O", "O"], ["Q", "O", "O"]] * 6
    crf = CRF("U00:%x[0,0]\nU01:%x[-1,0]\nB", stages=2, c2=0.01).fit(X, y, documents=[2] * 12)
    text = "Old Ann won. Ann won."
    (there,) = [tagged.labels for tagged in crf.tag([text])]
    for more in ({}, {"marginals": True}):
        (written,) = answer_requests(ServedModel("names", crf), [TagRequest(text=text, **more)], 1000)
        item = json.loads(written.items)
        assert [token["label"] for sentence in item["sentences"] for token in sentence["tokens"]] == list(there)
    assert list(there).count("Q") == 2
