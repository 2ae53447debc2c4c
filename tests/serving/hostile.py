"""Hostile load on a service: `python -m tests.serving.hostile --seconds 600`. Tests run a short form of it.

Others ask for what takes longest (explanations of long sentences, a hundred draws, the fifty best), send heads without
an end, trickle heads, bodies and lines, ask and do not read, hang up. One innocent client asks for one sentence again
and again, on a connection of its own; its latency is measured throughout. What must hold: every answer to it is right
and comes, slow sockets are closed, nothing is logged with a traceback, and SIGTERM ends the process in its time,
although work is under way.
"""

from __future__ import annotations

import argparse
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
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import tagline
from tagline.datasets import make_entities

TIMEOUT, DRAIN = 5.0, 4.0
CALLERS = {"explain": 4, "draws": 2, "headers": 2, "slow": 40, "deaf": 2, "quitter": 2, "innocent": 1}
POST = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
WORDS = ["Anna", "Rome", "x", ".", "1999"]
SENTENCE = ["Maria", "Lindqvist", "met", "Peter", "Oduya", "in", "Oslo", "."]


class Hostile:
    """A service under hostile load, and what was found."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.seconds, self.log = seconds, folder / "log"
        corpus = make_entities(200, language="en")
        self.models = {
            "crf": tagline.CRF("english_ner", scheme="IOB2", max_iterations=10).fit(corpus),
            "order2": tagline.CRF("U00:%x[0,0]\nB", order=2, scheme="IOB2", max_iterations=5).fit(corpus),
            "semicrf": tagline.SemiCRF(max_iterations=5).fit(corpus),
        }
        self.files = []
        for name, model in self.models.items():
            model.save(folder / f"{name}.tagline")
            self.files += ["-m", str(folder / f"{name}.tagline")]
        self.expected = self.models["crf"].predict([SENTENCE])[0]
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.times: list[float] = []
        self.memory: list[float] = []
        self.ended = 0.0
        self.done = threading.Event()

    def run(self) -> None:
        """Start the service, load it, end it."""
        command = [sys.executable, "-m", "tagline", "serve", *self.files, "--port", "0", "--log", "warning"]
        command += ["--timeout", str(TIMEOUT), "--drain", str(DRAIN), "--max-connections", "200"]
        with self.log.open("wb") as log:
            service = subprocess.Popen(command, stderr=log)
        try:
            self.port = self._port(service)
            calls = [(name, n) for name, count in CALLERS.items() for n in range(count)]
            threads = [threading.Thread(target=self._repeat, args=call, daemon=True) for call in calls]
            for thread in threads:
                thread.start()
            end = time.monotonic() + self.seconds
            while time.monotonic() < end and service.poll() is None:
                pages = int(Path(f"/proc/{service.pid}/statm").read_text().split()[1])
                self.memory.append(pages * os.sysconf("SC_PAGESIZE") / 1e6)
                time.sleep(0.25)
            self.done.set()
            threads += [threading.Thread(target=self._last, args=(model,), daemon=True) for model in self.models]
            for thread in threads[-len(self.models) :]:
                thread.start()
            time.sleep(0.5)
            started = time.monotonic()
            service.send_signal(signal.SIGTERM)
            if (code := service.wait(60)) != 0:
                self.wrong.append(f"exit code {code}")
            self.ended = time.monotonic() - started
            for thread in threads:
                thread.join(30)
            if "Traceback" in (text := self.log.read_text()):
                self.wrong.append(text[text.index("Traceback") :][:2000])
        finally:
            self.done.set()
            service.kill()
            service.wait()

    def _port(self, service: subprocess.Popen[bytes]) -> int:
        end = time.monotonic() + 120
        while time.monotonic() < end and service.poll() is None:
            if found := re.search(r'"url": "http://127\.0\.0\.1:(\d+)/"', self.log.read_text()):
                return int(found[1])
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def share(self, percent: float) -> float:
        """The seconds in which so many of a hundred answers to the innocent client came."""
        times = sorted(self.times)
        return times[min(len(times) - 1, int(len(times) * percent / 100))]

    def settled(self) -> list[float]:
        """The median memory in MB of each tenth of the time."""
        size = max(1, len(self.memory) // 10)
        return [sorted(self.memory[first : first + size])[size // 2] for first in range(0, size * 10, size)]

    def line(self) -> str:
        """What the innocent client saw, in one line."""
        p50, p99, most = (1000 * self.share(percent) for percent in (50, 99, 100))
        return (
            f"{len(self.times):,} answers: p50 {p50:.1f} ms, p99 {p99:.1f} ms, max {most:.0f} ms; {len(self.wrong)} "
            f"wrong; memory {self.memory[0]:.0f} to {max(self.memory):.0f} MB; ended in {self.ended:.1f} s"
        )

    # Callers.

    def _repeat(self, name: str, number: int) -> None:
        rng, call = random.Random(f"{name} {number}"), getattr(self, f"_{name}")
        while not self.done.is_set():
            try:
                call(rng)
            except (OSError, http.client.HTTPException) as error:
                self.counts[f"{name} {type(error).__name__}"] += 1
                if name == "innocent":
                    self.wrong.append(f"innocent: {type(error).__name__}: {error}")

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def _post(self, connection: http.client.HTTPConnection, asked: dict[str, Any]) -> tuple[int, bytes]:
        connection.request("POST", "/v1/tag", json.dumps(asked).encode(), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def _innocent(self, rng: random.Random) -> None:
        with closing(self._connect()) as connection:
            while not self.done.is_set():
                started = time.perf_counter()
                status, data = self._post(connection, {"tokens": SENTENCE, "model": "crf"})
                self.times.append(time.perf_counter() - started)
                self.counts[f"innocent {status}"] += 1
                if status != 200:
                    self.wrong.append(f"innocent: {status} {data[:200]!r}")
                elif [t["label"] for t in json.loads(data)["results"][0]["sentences"][0]["tokens"]] != self.expected:
                    self.wrong.append("innocent: another answer than the library's")
                if rng.random() < 0.02:
                    self._look_ready()
                time.sleep(0.02)

    def _look_ready(self) -> None:
        with closing(self._connect()) as connection:
            connection.request("GET", "/readyz")
            self.counts[f"readyz {connection.getresponse().status}"] += 1

    def _explain(self, rng: random.Random) -> None:
        tokens = WORDS * rng.choice([10, 100, 400, 400, 4000, 19_800])
        self._ask(rng, {"tokens": tokens, "explain": True}, "explain")

    def _draws(self, rng: random.Random) -> None:
        asked = rng.choice([{"samples": 100}, {"k_best": 50}, {"marginals": True}])
        self._ask(rng, {"tokens": WORDS * rng.choice([200, 2000, 19_800]), **asked}, "draws")

    def _ask(self, rng: random.Random, asked: dict[str, Any], name: str) -> None:
        with closing(self._connect()) as connection:
            status, _ = self._post(connection, {**asked, "model": rng.choice([*self.models])})
        self.counts[f"{name} {status}"] += 1
        if status not in (200, 413, 429, 503, 504):
            self.wrong.append(f"{name}: {status}")

    def _last(self, model: str) -> None:
        """Work that is under way when the service is told to stop."""
        with suppress(OSError, http.client.HTTPException), closing(self._connect()) as connection:
            status, _ = self._post(connection, {"tokens": WORDS * 400, "explain": True, "model": model})
            self.counts[f"at the end {status}"] += 1
            if status not in (200, 429, 503, 504):
                self.wrong.append(f"at the end: {status}")

    def _headers(self, rng: random.Random) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as line:
            head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
            if rng.random() < 0.3:
                head = b"POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                head += b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"
            many = b"".join(b"X-%d: %s\r\n" % (n, b"a" * 50) for n in range(10_000))
            with suppress(ConnectionError):
                line.sendall(head)
                for _ in range(20):
                    line.sendall(rng.choice([b"X: " + b"a" * 10**6, many]))
            answer = b""
            with suppress(ConnectionError):
                answer = line.recv(4096)
            self.counts[f"headers {answer[9:12].decode() or 'closed'}"] += 1
            if answer and answer[9:12] != b"431":
                self.wrong.append(f"headers: {answer[:60]!r}")
        time.sleep(0.05)

    def _slow(self, rng: random.Random) -> None:
        """A byte a second; the service has to hang up."""
        begun = rng.choice(
            [b"", b"GET /healthz HTTP/1.1\r\nX: ", POST % (b"/v1/tag", 500), POST % (b"/v1/stream", 500)]
        )
        with socket.create_connection(("127.0.0.1", self.port), timeout=1) as line:
            line.sendall(begun)
            started = time.monotonic()
            while time.monotonic() < started + 4 * TIMEOUT + 5 and not self.done.is_set():
                try:
                    line.sendall(b"a" if begun else b"")
                    if line.recv(4096) == b"":
                        break
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
            else:
                if not self.done.is_set():
                    self.wrong.append(f"slow: open after {time.monotonic() - started:.0f} s: {begun[:20]!r}")
            self.counts["slow"] += 1

    def _deaf(self, rng: random.Random) -> None:
        """Asks for a large answer, and does not read it."""
        body = json.dumps({"tokens": WORDS * 4000, "marginals": True, "model": "crf"}).encode()
        head = POST % (b"/v1/tag", len(body))
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as line:
            line.sendall(head + body)
            self.done.wait(TIMEOUT)
            self.counts["deaf"] += 1

    def _quitter(self, rng: random.Random) -> None:
        head = POST % (b"/v1/tag", 5000)
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as line:
            line.sendall((head + b"{" * 4000)[: rng.choice([10, len(head), len(head) + 2000])])
            time.sleep(rng.random() * 0.05)
        self.counts["quitters"] += 1
        time.sleep(0.05)


def hostile(seconds: float) -> Hostile:
    """Run one, and return what was found."""
    with tempfile.TemporaryDirectory() as folder:
        run = Hostile(Path(folder), seconds)
        run.run()
        return run


def main() -> None:
    """Run the long form and print what was found; the exit code is 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    asked = parser.parse_args()
    run = hostile(asked.seconds)
    for name, count in sorted(run.counts.items()):
        print(f"{count:10,}  {name}")
    print(run.line())
    print("memory by tenths of the time:", *(f"{size:.0f}" for size in run.settled()), "MB")
    print(*run.wrong[:10], sep="\n  ")
    sys.exit(bool(run.wrong))


if __name__ == "__main__":
    main()
