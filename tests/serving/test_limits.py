"""What strangers can do to a service: long work, long heads, slow sockets, other hosts. And how it ends."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

import tagline
from tagline.errors import InputError
from tagline.serving import Settings, create_app
from tagline.serving.app import Service
from tagline.serving.batching import Batcher
from tagline.serving.connections import connection_class
from tagline.serving.guard import MOST_HEAD, Guard
from tagline.serving.hosts import Hosts
from tagline.serving.problems import ProblemError
from tagline.serving.requests import TagRequest
from tagline.serving.server import Server
from tagline.serving.shelf import ServedModel, Shelf

from .test_process import start

POST = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
TIMEOUT = 1.0


def served_of(crf: Any) -> ServedModel:
    served = ServedModel("names", crf)
    served.pace.note(100, 10.0)  # slow: every batch goes to a thread
    return served


# Work.


def test_work_that_nobody_waits_for_is_stopped_and_others_go_on(crf: Any) -> None:
    ended: list[str] = []

    def answer(served: Any, requests: Any) -> list[Any]:
        if requests[0].explain:
            try:
                while True:
                    pass
            finally:
                ended.append("long")
        return ["answer"] * len(requests)

    async def crowd() -> None:
        batcher, served = Batcher(answer, 100, 1000, workers=3), served_of(crf)
        long = [batcher.ask(served, TagRequest(text="a", explain=True), 60_000) for _ in range(6)]
        await asyncio.sleep(0.3)
        assert len(batcher.workers.running) == 2  # one thread is kept for others
        for _ in range(3):
            assert await asyncio.wait_for(batcher.ask(served, TagRequest(text="a"), 1), 10) == "answer"
        assert batcher.trouble(5) is None
        for future in long:
            future.cancel()
        batcher.look_after()
        assert not batcher.waiting
        end = time.monotonic() + 10
        while batcher.workers.stuck and time.monotonic() < end:
            await asyncio.sleep(0.05)
        assert ended == ["long", "long"]
        assert await asyncio.wait_for(batcher.ask(served, TagRequest(text="a"), 60_000), 10) == "answer"
        batcher.close()

    asyncio.run(crowd())


def test_threads_that_are_stuck_are_replaced_and_told(crf: Any) -> None:
    leave = threading.Event()

    def answer(served: Any, requests: Any) -> list[Any]:
        if requests[0].explain:
            leave.wait(60)  # as compiled code: no exception gets in
        return ["answer"] * len(requests)

    async def crowd() -> None:
        batcher, served = Batcher(answer, 100, 1000, workers=2), served_of(crf)
        for stuck in (1, 2):
            future = batcher.ask(served, TagRequest(text="a", explain=True), 60_000)
            await asyncio.sleep(0.2)
            future.cancel()
            batcher.look_after()
            assert batcher.workers.stuck == stuck
            assert await asyncio.wait_for(batcher.ask(served, TagRequest(text="a"), 1), 10) == "answer"
        assert "all threads" in (batcher.trouble(5) or "")
        leave.set()
        batcher.close()

    asyncio.run(crowd())


def test_large_requests_have_a_part_of_the_queue(crf: Any) -> None:
    async def crowd() -> None:
        batcher, served = Batcher(lambda served, requests: ["answer"] * len(requests), 8, 1000), served_of(crf)
        _ = [batcher.ask(served, TagRequest(text="a"), 60_000) for _ in range(2)]
        with pytest.raises(ProblemError, match="large") as refused:
            batcher.ask(served, TagRequest(text="a"), 60_000)
        assert refused.value.status == 429
        assert await batcher.ask(served, TagRequest(text="a"), 1) == "answer"
        batcher.close()

    asyncio.run(crowd())


def test_answers_are_bounded_by_what_is_asked_for_each_token(crf: Any) -> None:
    with TestClient(create_app({"names": crf}, Settings(max_tokens=100, max_explain=4))) as client:
        assert client.post("/v1/tag", json={"text": "a b c d", "explain": True}).status_code == 200
        refused = client.post("/v1/tag", json={"text": "a b c d e", "explain": True})
        assert (refused.status_code, refused.json()["field"]) == (413, "explain")
        assert client.post("/v1/tag", json={"text": "a " * 50, "k_best": 40}).status_code == 200
        assert client.post("/v1/tag", json={"text": "a " * 51, "k_best": 40}).status_code == 413


def test_a_request_ends_in_its_time_and_so_does_its_work(crf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def explain(self: Any, sentence: Any, **inputs: Any) -> Any:
        try:
            for _ in range(3000):
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(type(crf), "explain", explain)
    with TestClient(create_app({"names": crf}, Settings(timeout=0.5))) as client:
        assert client.post("/v1/tag", json={"text": "Anna", "explain": True}).status_code == 504
        assert ended.wait(5)
        ended.clear()
        line = json.dumps({"text": "Anna", "explain": True}).encode()
        row = client.post("/v1/stream", content=line, headers={"Content-Type": "application/jsonl"}).json()
        assert row["error"]["status"] == 504
        assert ended.wait(5)
        assert client.get("/readyz").status_code == 200


# Hosts and types of bodies.


def test_hosts_that_are_not_ours_are_refused_without_a_token(crf: Any) -> None:
    def status(host: str, path: str = "/v1/models", **limits: Any) -> int:
        with TestClient(create_app({"names": crf}, Settings(**limits))) as client:
            return int(client.get(path, headers={"Host": host, "Authorization": "Bearer x"}).status_code)

    for host in ("localhost:8000", "127.0.0.1:8000", "[::1]:8000", "10.1.2.3", "a.localhost", "LOCALHOST."):
        assert status(host) == 200, host
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", ""):
        assert status(host) == 421, host
    assert status("evil.example", "/healthz") == 200
    assert status("tag.example", allow_hosts=("tag.example",)) == 200
    assert status("tag.example", allow_hosts=("*",)) == 200
    assert status("tag.example", token="x") == 200  # a page of a stranger does not know it
    assert status("evil.example", token="x", allow_hosts=("tag.example",)) == 421
    assert Hosts([]).welcome(b"10.0.0.9:80")


def test_bodies_have_a_type(crf: Any) -> None:
    with TestClient(create_app({"names": crf})) as client:
        for path in ("/v1/tag", "/v1/trellis", "/v1/stream"):
            assert client.post(path, content=b'{"text": "a"}').status_code == 415
            assert (
                client.post(path, content=b'{"text": "a"}', headers={"content-type": "text/plain"}).status_code == 415
            )
            found = client.post(path, content=b'{"text": "a"}', headers={"content-type": "application/json; charset=x"})
            assert found.status_code == 200


def test_a_wrong_query_is_a_problem_document(crf: Any) -> None:
    with TestClient(create_app({"names": crf})) as client:
        answer = client.get("/v1/models/names/features", params={"top": "abc"})
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
        assert answer.json()["field"] == "top"


# Models.


def test_models_that_no_request_can_ask_are_refused() -> None:
    import numpy as np

    numbers = tagline.HMM(2, emission="gaussian").fit([np.random.default_rng(0).normal(0, 1, (20, 1))])
    with pytest.raises(InputError, match=r"^numbers: "):
        Shelf({"numbers": numbers})
    attributes = tagline.CRF().fit([[{"w": "a"}, {"w": "b"}]], [["A", "B"]])
    assert [served.name for served in Shelf({"attributes": attributes})] == ["attributes"]


def test_other_labels_of_a_new_model_are_said(crf: Any, tmp_path: Path, caplog: Any) -> None:
    path = tmp_path / "m.tagline"
    tagline.CRF("U00:%x[0,0]").fit([["a", "b"]], [["A", "B"]]).save(path)
    shelf = Shelf({"m": str(path)})
    tagline.CRF("U00:%x[0,0]").fit([["a", "b"]], [["A", "C"]]).save(path)
    with caplog.at_level(logging.INFO, logger="tagline.serving"):
        assert asyncio.run(shelf.renew(shelf["m"]))
    (record,) = caplog.records
    assert (record.levelname, record.facts["labels_added"], record.facts["labels_removed"]) == ("WARNING", ["C"], ["B"])


# Connections.


class Running:
    """A service in a thread."""

    def __init__(self, crf: Any, parser: str, **limits: Any) -> None:
        settings = Settings(**limits)
        self.service = Service(Shelf({"names": crf}), settings)
        self.refused: list[int] = []
        config = uvicorn.Config(
            Guard(self.service.app, settings, self.service.metrics),
            port=0,
            http=connection_class(settings, self.refused.append, parser),
            ws="none",
            log_config=None,
            h11_max_incomplete_event_size=MOST_HEAD,
        )
        self.server = Server(config, self.service, settings, None)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def connect(self, *parts: bytes) -> socket.socket:
        line = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        for part in parts:
            line.sendall(part)
        return line

    def ask(self, *parts: bytes) -> bytes:
        """Send all, and return what comes until the service closes."""
        with self.connect() as line:
            answer = b""
            try:
                for part in parts:
                    line.sendall(part)
                while part := line.recv(65536):
                    answer += part
            except ConnectionError:
                pass
        return answer

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()


@pytest.fixture(scope="module", params=["auto", "h11"])
def running(crf: Any, request: Any) -> Iterator[Running]:
    service = Running(crf, request.param, timeout=TIMEOUT, max_connections=10, drain=0.5, reload=0)
    yield service
    service.stop()


def test_heads_are_bounded(running: Running) -> None:
    get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    chunked = POST % b"/v1/tag" + b'Transfer-Encoding: chunked\r\n\r\nc\r\n{"text":"a"}\r\n'
    assert running.ask(get, b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
    for parts in (
        (get + b"X: ", b"a" * 10**6),  # no end
        (get + b"X: " + b"a" * MOST_HEAD + b"\r\n\r\n",),
        (get + b"X: b\r\n" * 101 + b"Connection: close\r\n\r\n",),
        (b"GET /" + b"a" * 10**5,),
        (chunked + b"0\r\n", b"X: " + b"a" * 10**6),  # trailers
    ):
        answer = running.ask(*parts)
        assert answer[:12] in (b"HTTP/1.1 431", b""), answer[:200]  # what is unread when it closes may take it along
        assert b"application/problem+json" in answer or not answer
    assert running.ask(b"\x16\x03\x01 no HTTP\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert running.ask(get, b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200")
    assert 431 in running.refused


def test_sockets_that_dawdle_are_closed(running: Running) -> None:
    begun = (
        b"",
        b"GET /heal",
        POST % b"/v1/tag" + b'Content-Length: 50\r\n\r\n{"te',
        POST % b"/v1/stream" + b'Content-Length: 50\r\n\r\n"Anna',
    )
    lines = [running.connect(part) for part in begun]
    started, answers = time.monotonic(), []
    for line in lines:
        line.settimeout(15)
        answer = b""
        while part := line.recv(65536):
            answer += part
        answers.append(answer)
        line.close()
    assert time.monotonic() - started < 12
    assert [answer[9:12] for answer in answers] == [b"", b"408", b"408", b"200"]
    assert b'"status":408' in answers[3]


def test_connections_are_bounded_and_the_oldest_that_rest_make_room(running: Running) -> None:
    lines = [running.connect(b"GET /heal") for _ in range(20)]
    answer = running.ask(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
    assert len(running.server.server_state.connections) <= 10
    for line in lines:
        line.close()


def test_clients_that_hang_up_are_no_failures(running: Running, caplog: Any) -> None:
    with caplog.at_level(logging.INFO):
        for part in (b"", b'{"te'):
            running.connect(POST % b"/v1/tag" + b"Content-Length: 50\r\n\r\n" + part).close()
            running.connect(POST % b"/v1/stream" + b"Content-Length: 50\r\n\r\n" + part).close()
        time.sleep(0.3)
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]
    text = running.service.metrics.text().decode()
    assert 'path="/v1/tag",status="499"' in text
    assert 'status="500"' not in text


# The end.


def test_sigterm_ends_the_process_in_its_time_whatever_runs(tmp_path: Path, crf: Any) -> None:
    path, log = tmp_path / "names.tagline", tmp_path / "log"
    crf.save(path)
    limits = ["--drain", "2", "--max-explain", "100000", "--timeout", "100"]
    process, url = start(log, "-m", str(path), *limits)
    body = json.dumps({"tokens": ["Anna", "Rome", "x", ".", "1999"] * 19_000, "k_best": 20, "explain": True}).encode()
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=60) as line:
        line.sendall(POST % b"/v1/tag" + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        time.sleep(1)
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert line.recv(4096).startswith(b"HTTP/1.1 503")
        assert process.wait(30) == 0
        assert time.monotonic() - started < 4
    events = [json.loads(entry) for entry in log.read_text().splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("started", "stopped")
    assert "Traceback" not in log.read_text()


def test_hostile_load() -> None:
    from .hostile import DRAIN, hostile

    run = hostile(6)
    assert run.wrong == []
    assert run.counts["innocent 200"] > 6
    assert run.counts["headers 431"] > 0
    assert run.ended < DRAIN + 2
    assert max(run.memory) < run.memory[0] + 600
