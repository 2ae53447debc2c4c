"""The client and answers that are not the service's: whatever comes, the error says so."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from tagline.errors import TaglineError
from tagline.readers.corpus import Corpus
from tagline.serving.client import Client, ServiceError
from tagline.serving.remote_model import RemoteModel
from tests.fuzz.mutation import mutated_json

SENTENCES = [["Anna", "Smith", "sings"], ["Rome"]]
CORPUS = Corpus.from_sentences([{"token": words} for words in SENTENCES])
QUESTIONS: dict[str, Any] = {
    "tag": lambda client: client.tag(["Anna sings.", "Rome"]),
    "predict": lambda client: client.predict(SENTENCES),
    "spans": lambda client: client.predict_spans(SENTENCES),
    "marginals": lambda client: client.predict_marginals(SENTENCES),
    "k_best": lambda client: client.predict_k_best(SENTENCES, 2),
    "samples": lambda client: client.predict_samples(SENTENCES, 2),
    "entropy": lambda client: client.entropy(SENTENCES),
    "log_likelihood": lambda client: client.log_likelihood(SENTENCES),
    "labels": lambda client: client.labels_,
    "models": lambda client: client.models(),
    "describe": lambda client: client.describe(),
    "stream": lambda client: list(client.stream(["Anna", "Rome"])),
    "remote": lambda client: RemoteModel(client).answer(CORPUS, marginals=True, k_best=2),
    "remote arrays": lambda client: RemoteModel(client).answer_arrays(CORPUS, marginals=True, spans=True),
}
FOREIGN = [
    b"<html>\n<h1>It works!</h1>\n</html>",
    b"",
    b"\xff\xfe",
    b"[" * 100_000,
    b"[]",
    b"3",
    b"{}",
    b'{"results": {}, "labels": {}, "models": {}}',
    b'{"results": [], "labels": [], "models": []}',
    b'{"results": [null, 1], "labels": [1], "models": [1]}',
    b'{"results": [{"sentences": 1}, {}], "labels": null, "models": [{}]}',
    b'{"results": [{"sentences": []}, {"sentences": [{"tokens": [{}]}]}]}',
]


class Deaf(Client):
    """A client that always gets the same answers, by path."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        super().__init__("http://127.0.0.1:1")
        self.answers = answers

    def _send(self, method: str, path: str, body: bytes | None) -> bytes:
        return self.answers.get(path, self.answers.get(path.rpartition("/")[0] + "/", self.answers[""]))


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name != "models"])
def test_foreign_answers_are_an_error_of_ours(name: str) -> None:
    for body in FOREIGN:
        with pytest.raises(ServiceError) as error:
            QUESTIONS[name](Deaf({"": body}))
        assert error.value.status == 200
        assert "\n" not in str(error.value)
        assert "127.0.0.1:1" in str(error.value)


def test_damaged_answers_give_labels_or_an_error_of_ours(client: Any) -> None:
    options = {"spans": True, "marginals": True, "k_best": 2, "samples": 2, "entropy": True, "log_likelihood": True}
    answers = {
        "/v1/models": client.get("/v1/models").content,
        "/v1/models/": client.get("/v1/models/names").content,
        "/v1/tag": client.post("/v1/tag", json={"sentences": SENTENCES, **options}).content,
        "/v1/stream": b'{"text": "Anna"}\n{"text": "Rome"}\n',
        "": b"",
    }
    for name, question in QUESTIONS.items():
        if name != "tag":
            question(Deaf(answers))
    random, refused = Random(5), 0
    for _ in range(300):
        path = random.choice([path for path in answers if path not in ("", "/v1/stream")])
        damaged = mutated_json(random, json.loads(answers[path]))
        for question in QUESTIONS.values():
            try:
                question(Deaf({**answers, path: json.dumps(damaged).encode()}))
            except TaglineError:
                refused += 1
    assert refused > 100
