"""Mixed load on a service: `python -m tests.serving.soak --seconds 600`. Tests run a short form of it.

Callers tag and stream and compare every answer with the library; others send broken JSON, too large bodies, wrong
tokens, and hang up in the middle; the model's file is replaced by another model from time to time. What must hold: no
wrong answer, no status 5xx but an announced 503, memory that stays where it was, and an exit code of 0 at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tagline
from tagline.datasets import make_entities

TOKEN = "soak-token"
MAX_BODY = 20_000
CALLERS = {"tag": 4, "stream": 1, "broken": 1, "large": 1, "stranger": 1, "quitter": 1}


class Soak:
    """A service under load, and what was found."""

    def __init__(self, folder: Path, seconds: float, swap: float) -> None:
        self.seconds, self.swap, self.path = seconds, swap, folder / "names.tagline"
        corpus = make_entities(200, language="en")
        self.texts = [" ".join(words) for words in make_entities(60, language="en", split="test").tokens]
        templates = ("english_ner", "U00:%x[0,0]\nU01:%x[-1,0]\nB\n")
        self.models = [tagline.CRF(way, scheme="IOB2", max_iterations=10).fit(corpus) for way in templates]
        self.files = [folder / f"{n}.tagline" for n in range(2)]
        for model, file in zip(self.models, self.files, strict=True):
            model.save(file)
        self.expected = [[self._plain(model.tag(text)) for text in self.texts] for model in self.models]
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.memory: list[tuple[float, float]] = []
        self.done = threading.Event()
        self.log = folder / "log"
        (folder / "token").write_text(TOKEN)
        self.token_file = folder / "token"

    @staticmethod
    def _plain(tagged: Any) -> list[tuple[str, str]]:
        return [(token.text, token.label) for token in tagged.tokens]

    def run(self) -> None:
        """Start the service, load it, end it."""
        self.path.write_bytes(self.files[0].read_bytes())
        command = [sys.executable, "-m", "tagline", "serve", "-m", str(self.path), "--port", "0", "--reload", "0.2"]
        command += ["--token-file", str(self.token_file), "--max-body", str(MAX_BODY), "--log", "warning"]
        with self.log.open("wb") as log:
            service = subprocess.Popen(command, stderr=log)
        try:
            self.port = self._port(service)
            threads = [
                threading.Thread(target=self._repeat, args=(getattr(self, f"_{name}"), name, n))
                for name, count in CALLERS.items()
                for n in range(count)
            ]
            for thread in threads:
                thread.start()
            self._watch(service)
            self.done.set()
            for thread in threads:
                thread.join(30)
            service.send_signal(signal.SIGTERM)
            if (code := service.wait(30)) != 0:
                self.wrong.append(f"exit code {code}")
        finally:
            self.done.set()
            service.kill()
            service.wait()

    def _port(self, service: subprocess.Popen[bytes]) -> int:
        end = time.monotonic() + 60
        while time.monotonic() < end and service.poll() is None:
            if found := re.search(r'"url": "http://127\.0\.0\.1:(\d+)/"', self.log.read_text()):
                return int(found[1])
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def _watch(self, service: subprocess.Popen[bytes]) -> None:
        """Replace the model and write down the memory until time is up."""
        start = last = time.monotonic()
        turn = 0
        while (now := time.monotonic()) < start + self.seconds and service.poll() is None:
            if now > last + self.swap:
                last, turn = now, 1 - turn
                fresh = self.path.with_suffix(".new")
                fresh.write_bytes(self.files[turn].read_bytes())
                os.replace(fresh, self.path)
            pages = int(Path(f"/proc/{service.pid}/statm").read_text().split()[1])
            self.memory.append((now - start, pages * os.sysconf("SC_PAGESIZE") / 1e6))
            time.sleep(0.25)

    def growth(self) -> float:
        """How far memory went up from its median in the second fifth of the time to that in the last, as a share."""
        early = sorted(size for moment, size in self.memory if 0.2 <= moment / self.seconds < 0.4)
        late = sorted(size for moment, size in self.memory if moment / self.seconds >= 0.8)
        return late[len(late) // 2] / early[len(early) // 2] - 1

    # Callers.

    def _repeat(
        self, call: Callable[[random.Random, http.client.HTTPConnection], None], name: str, number: int
    ) -> None:
        rng = random.Random(f"{name} {number}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        while not self.done.is_set():
            try:
                call(rng, connection)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if name not in ("quitter", "large"):  # a refused body closes the connection
                    self.wrong.append(f"{name}: {type(error).__name__}: {error}")
        connection.close()

    def _post(self, connection: Any, path: str, body: bytes, token: str = TOKEN) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        self.counts[f"{path} {answer.status}"] += 1
        if answer.status >= 500 and answer.status != 503:
            self.wrong.append(f"{path}: {answer.status} {data[:200]!r}")
        return answer.status, data

    def _tag(self, rng: random.Random, connection: Any) -> None:
        chosen = rng.sample(range(len(self.texts)), rng.randint(1, 3))
        body = json.dumps({"texts": [self.texts[n] for n in chosen], "split": True}).encode()
        status, data = self._post(connection, "/v1/tag", body)
        if status == 200:
            self._compare(chosen, json.loads(data)["results"])
        elif status not in (429, 503):
            self.wrong.append(f"tag: {status}")

    def _compare(self, chosen: list[int], items: list[Any]) -> None:
        """All answers of a request are those of one of the two models."""
        rows = [[(t["text"], t["label"]) for s in item["sentences"] for t in s["tokens"]] for item in items]
        if rows not in [[answers[n] for n in chosen] for answers in self.expected]:
            self.wrong.append(f"another answer than the library's: {rows[0][:4]}")

    def _stream(self, rng: random.Random, connection: Any) -> None:
        chosen = [rng.randrange(len(self.texts)) for _ in range(40)]
        lines = [json.dumps(self.texts[n]) for n in chosen]
        status, data = self._post(connection, "/v1/stream", "\n".join(lines).encode())
        if status == 200:
            for n, line in zip(chosen, data.splitlines(), strict=True):
                item = json.loads(line)
                if "error" not in item:
                    self._compare([n], [item])
                elif item["error"]["status"] not in (429, 503):
                    self.wrong.append(f"stream: {line[:200]!r}")

    def _broken(self, rng: random.Random, connection: Any) -> None:
        good = json.dumps({"text": rng.choice(self.texts), "known": [{"token": 1, "label": "O"}]}).encode()
        damaged = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        status, _ = self._post(connection, "/v1/tag", bytes(damaged))
        if status not in (200, 400, 404, 422, 429):
            self.wrong.append(f"broken: {status}")
        time.sleep(0.01)

    def _large(self, rng: random.Random, connection: Any) -> None:
        body = json.dumps({"text": "x " * MAX_BODY}).encode()
        if rng.random() < 0.5:
            status, _ = self._post(connection, "/v1/tag", body)
        else:
            connection.request(
                "POST", "/v1/tag", iter([body]), {"Authorization": f"Bearer {TOKEN}"}, encode_chunked=True
            )
            status = connection.getresponse().status
        connection.close()
        if status != 413:
            self.wrong.append(f"large: {status}")
        time.sleep(0.05)

    def _stranger(self, rng: random.Random, connection: Any) -> None:
        status, _ = self._post(connection, "/v1/tag", b'{"text": "a"}', token=rng.choice(["", "x", TOKEN[:-1]]))
        if status != 401:
            self.wrong.append(f"stranger: {status}")
        time.sleep(0.02)

    def _quitter(self, rng: random.Random, connection: Any) -> None:
        body = json.dumps({"text": " ".join(self.texts), "marginals": True}).encode()
        head = f"POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as line:
            line.sendall((head.encode() + body)[: rng.choice([10, len(head), len(head) + 20, 10**6])])
            time.sleep(rng.random() * 0.01)
        self.counts["quitters"] += 1
        time.sleep(0.02)


def soak(seconds: float, swap: float) -> Soak:
    """Run one, and return what was found."""
    with tempfile.TemporaryDirectory() as folder:
        run = Soak(Path(folder), seconds, swap)
        run.run()
        return run


def main() -> None:
    """Run the long form and print what was found; the exit code is 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--swap", type=float, default=20)
    asked = parser.parse_args()
    run = soak(asked.seconds, asked.swap)
    for name, count in sorted(run.counts.items()):
        print(f"{count:10,}  {name}")
    print(f"memory {run.memory[-1][1]:.0f} MB, {100 * run.growth():+.1f} %")
    print(f"wrong: {len(run.wrong)}", *run.wrong[:10], sep="\n  ")
    sys.exit(bool(run.wrong) or abs(run.growth()) > 0.05)


if __name__ == "__main__":
    main()
