"""A service as a process: the client against the library, a model replaced while requests run, SIGTERM."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline.serving.client import Client, ServiceError
from tagline.serving.server import listener
from tests.cli.commands import line_of
from tests.cli.commands import tagline as command

SENTENCES = [["Maria", "Lindqvist", "met", "Peter"], [], ["Anna", "lives", "in", "Rome", "."]] * 30


def start(log: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start a service on a free port; return it with its address."""
    command = [sys.executable, "-m", "tagline", "serve", "--port", "0", *arguments]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stderr=stream)
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if found := re.match(r'\{.*"event": "started", "url": "(http://\S+)/"', log.read_text()):
            return process, found[1]
        time.sleep(0.05)
    raise AssertionError(log.read_text())


@pytest.fixture
def service(model_file: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """A running service and the file of its model."""
    path = tmp_path / "names.tagline"
    shutil.copy(model_file, path)
    process, url = start(tmp_path / "log", "-m", str(path), "--reload", "0.05", "--log", "error")
    yield process, url, path
    process.kill()
    process.wait()


def test_the_client_answers_as_the_model(service: Any, crf: Any) -> None:
    with Client(service[1]) as client:
        assert client.labels_ == crf.labels_
        assert client.predict(SENTENCES) == crf.predict(SENTENCES)
        known = [["O", None, None, None], None, None]
        assert client.predict(SENTENCES[:3], known=known) == crf.predict(SENTENCES[:3], known=known)
        for got, expected in zip(client.predict_spans(SENTENCES), crf.predict_spans(SENTENCES), strict=True):
            assert [(e.start, e.end, e.type) for e in got] == [(e.start, e.end, e.type) for e in expected]
            np.testing.assert_allclose([e.probability for e in got], [e.probability for e in expected], rtol=1e-6)
        ranked = crf.predict_k_best(SENTENCES[:3], 2)
        assert [[r[0] for r in row] for row in client.predict_k_best(SENTENCES[:3], 2)] == [
            [r.labels for r in row] for row in ranked
        ]
        assert client.predict_samples(SENTENCES[:1], 3, seed=1) == crf.predict_samples(SENTENCES[:1], 3, seed=1)
        np.testing.assert_allclose(client.entropy(SENTENCES), crf.entropy(SENTENCES), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(client.log_likelihood(SENTENCES), crf.log_likelihood(SENTENCES), rtol=1e-6)
        marginals = client.predict_marginals(SENTENCES[:1])[0][0]
        np.testing.assert_allclose(
            list(marginals.values()), crf.marginal_arrays(SENTENCES[:1])[0][0], rtol=1e-6, atol=1e-12
        )
        text = "Maria Lindqvist met Peter. Anna lives in Rome."
        assert client.tag(text).tokens == crf.tag(text).tokens
        streamed = list(client.stream([text] * 100, spans=True))
        assert [e["text"] for e in streamed[99]["entities"]] == [e.text for e in crf.tag(text).entities]
        with pytest.raises(ServiceError, match=r"^http://127\.0\.0\.1:\d+: .*k_best") as refused:
            client.predict_k_best(SENTENCES[:1], 1000)
        assert (refused.value.status, refused.value.problem["field"]) == (422, "k_best")


def test_a_service_that_is_not_there_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(ServiceError, match=re.escape(url)):
            Client(url, retries=1).predict([["a"]])


def test_tag_asks_a_service(service: Any, model_file: Path, tmp_path: Path) -> None:
    words, text = tmp_path / "words.txt", tmp_path / "text.txt"
    words.write_text("Maria\nLindqvist\nmet\n\nRome\n")
    text.write_text("Maria Lindqvist met Peter in Oslo.\n\nAnna isn't here.\n")
    remote = [sys.executable, "-m", "tagline", "tag", "-q", "--url", service[1]]
    for arguments in ([words], [words, "--spans"], [words, "--marginals"], [words, "-k", "2"],
                      [text, "--format", "text", "--as", "jsonl", "--spans"]):  # fmt: skip
        own = command("tag", "-q", "-m", model_file, *arguments)
        done = subprocess.run([*remote, *map(str, arguments)], capture_output=True, text=True, check=True)
        assert own.code == 0, own.err
        assert done.stdout == own.out != ""
    assert "--url" in line_of(command("tag", "-q", words))


def test_a_model_is_replaced_without_losing_a_request(service: Any, crf: Any) -> None:
    _, url, path = service
    answers: list[Any] = []
    done = threading.Event()

    def ask() -> None:
        with Client(url, retries=0) as client:
            while not done.is_set():
                answers.append(client.predict(SENTENCES[:1])[0])

    callers = [threading.Thread(target=ask) for _ in range(3)]
    for caller in callers:
        caller.start()
    other = tagline.CRF("U00:%x[0,0]\nB\n", scheme="IOB2").fit([["Maria", "a"]], [["B-X", "O"]])
    with Client(url) as watcher:
        before = watcher.describe()["fingerprint"]
        path.write_bytes(b"half a file")  # kept out, for it cannot be read
        time.sleep(0.3)
        assert watcher.describe()["fingerprint"] == before
        other.save(path)
        end = time.monotonic() + 20
        while watcher.describe()["fingerprint"] == before and time.monotonic() < end:
            time.sleep(0.05)
        assert watcher.labels_ == other.labels_
    time.sleep(0.2)
    done.set()
    for caller in callers:
        caller.join(20)
    old, new = crf.predict(SENTENCES[:1])[0], other.predict(SENTENCES[:1])[0]
    assert old != new
    assert {tuple(answer) for answer in answers} == {tuple(old), tuple(new)}


def test_sigterm_lets_open_requests_finish(service: Any) -> None:
    process, url, _ = service
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall(
            b"POST /v1/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
            b'Content-Type: application/x-ndjson\r\n\r\n8\r\n"Anna."\n\r\n'
        )
        answer = b""
        while b"Anna" not in answer:
            answer += (part := line.recv(4096))
            assert part, answer
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        line.sendall(b'7\r\n"Bob."\n\r\n0\r\n\r\n')
        while part := line.recv(4096):
            answer += part
    assert b"Bob" in answer
    assert answer.endswith(b"0\r\n\r\n")
    assert process.wait(20) == 0


def test_a_port_that_is_taken_is_told(service: Any, model_file: Path) -> None:
    port = service[1].rsplit(":", 1)[1]
    command = [sys.executable, "-m", "tagline", "serve", "-m", str(model_file), "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"{port}: Address already in use" in done.stderr


def test_small_answers_are_sent_at_once() -> None:
    """Without TCP_NODELAY every answer waits 40 ms for the client's acknowledgement."""

    async def accepted() -> int:
        waiting: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            waiting.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listener("127.0.0.1", 0) as door:
            async with await asyncio.start_server(met, sock=door):
                _, writer = await asyncio.open_connection(*door.getsockname())
                option = await waiting
                writer.close()
                await writer.wait_closed()
        return option

    assert asyncio.run(accepted()) != 0


def test_refusals_at_the_start(model_file: Path) -> None:
    command = [sys.executable, "-m", "tagline", "serve", "--port", "0"]
    for arguments, message in (
        (["-m", str(model_file), "--host", "0.0.0.0"], "--token-file"),
        (["-m", "nowhere.tagline"], "nowhere.tagline"),
        (["-m", str(model_file), "--token-file", os.devnull], "empty file"),
        (["-m", str(model_file), "--max-tokens", "0"], "--max-tokens"),
        (["-m", str(model_file), "--log", "loud"], "--log"),
    ):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert message in done.stderr
        assert "Traceback" not in done.stderr
