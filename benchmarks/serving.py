"""The service under load: `make bench-serving`. wrk (Debian's package) on the same machine, ratios in one run.

Throughput of `/v1/tag` with one sentence of 25 tokens, 32 connections kept open, against the same server answering a
constant of the same size, and against a plain FastAPI app around sklearn-crfsuite with features made in Python. The
answers are compared with the library before anything is timed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

SENTENCE = (
    "Maria Lindqvist met Peter Oduya in Oslo on 3 May 2021 and went with Anna Smith to the office of Acme "
    "Corporation in New York ."
)
ROUNDS, SECONDS, CONNECTIONS = 9, 3, 32

CONSTANT = """
import gc
import sys
from fastapi import Request
from starlette.responses import Response
import uvicorn
from tagline.serving.app import Service
from tagline.serving.guard import Guard
from tagline.serving.server import COLLECTED
from tagline.serving.settings import Settings
from tagline.serving.shelf import Shelf

service = Service(Shelf({"model": sys.argv[1]}), Settings())
body = open(sys.argv[2], "rb").read()
gc.collect()
gc.freeze()
gc.set_threshold(*COLLECTED)

async def constant(request: Request) -> Response:
    await request.body()
    return Response(body, media_type="application/json")

service.app.post("/constant")(constant)
guarded = Guard(service.app, service.settings, service.metrics)
uvicorn.run(guarded, port=int(sys.argv[3]), access_log=False, log_config=None)
"""

RIVAL = """
import pickle
import sys
from fastapi import FastAPI
from pydantic import BaseModel
import uvicorn

model, app = pickle.load(open(sys.argv[1], "rb")), FastAPI()
sys.path.insert(0, sys.argv[3])
from serving import features

class Asked(BaseModel):
    text: str

@app.post("/tag")
def tag(asked: Asked) -> dict:
    words = asked.text.split()
    labels = model.predict_single(features(words))
    return {"tokens": [{"text": word, "label": label} for word, label in zip(words, labels)]}

uvicorn.run(app, port=int(sys.argv[2]), access_log=False, log_level="error")
"""


def shape(word: str) -> str:
    """Letters by their kind, runs of one kind shortened."""
    return re.sub(r"(.)\1+", r"\1", re.sub(r"[a-z]", "x", re.sub(r"[A-Z]", "X", re.sub(r"\d", "d", word))))


def features(words: list[str]) -> list[list[str]]:
    """The attributes of english_ner, as a program for sklearn-crfsuite makes them: 34 a token."""
    rows, T = [], len(words)
    at = ["_B"] * 2 + words + ["_E"] * 2
    low, shapes = [word.lower() for word in at], [shape(word) for word in at]
    for t in range(T):
        n, word = t + 2, words[t]
        row = [f"w{d}={at[n + d]}" for d in (-2, -1, 0, 1, 2)] + [f"l{d}={low[n + d]}" for d in (-2, -1, 0, 1, 2)]
        row += [f"p{k}={word[:k]}" for k in (1, 2, 3, 4)] + [f"s{k}={word[-k:]}" for k in (1, 2, 3, 4)]
        row += [f"h{d}={shapes[n + d]}" for d in (-2, -1, 0, 1, 2)]
        row += [f"b{d}={at[n + d]}/{at[n + d + 1]}" for d in (-1, 0)]
        row += [f"c{d}={low[n + d]}/{low[n + d + 1]}" for d in (-1, 0)]
        row += [f"g{d}={shapes[n + d]}/{shapes[n + d + 1]}" for d in (-2, -1, 0, 1)]
        row += [f"t={shapes[n - 1]}/{shapes[n]}/{shapes[n + 1]}", f"up={word.isupper()}", f"ti={word.istitle()}"]
        rows.append(row)
    return rows


def train(folder: Path) -> tuple[Any, Path, Path]:
    """Train both models on the generated corpus."""
    import pickle

    import sklearn_crfsuite

    import tagline
    from tagline.datasets import make_entities

    corpus = make_entities(2000, language="en")
    ours = tagline.CRF("english_ner", scheme="IOB2", c2=0.3).fit(corpus)
    ours.save(folder / "model.tagline")
    theirs = sklearn_crfsuite.CRF(c2=0.3, max_iterations=50)
    theirs.fit([features(words) for words in corpus.tokens], corpus.tags)
    with (folder / "theirs.pickle").open("wb") as file:
        pickle.dump(theirs, file)
    return ours, folder / "model.tagline", folder / "theirs.pickle"


def start(*command: str) -> subprocess.Popen[bytes]:
    """Start a server."""
    environment = {**os.environ, "TAGLINE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, *command], env=environment, stderr=subprocess.DEVNULL)


def post(url: str, body: dict[str, Any]) -> bytes:
    """Ask once; wait for a server that starts."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    for _ in range(300):
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return bytes(answer.read())
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{url}: no answer")


def load(url: str, script: Path) -> tuple[float, float, float]:
    """Requests a second, median and 99th percentile in milliseconds."""
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}", "--latency", "-s", str(script), url]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in text:
        raise SystemExit(f"{url}: answers that are no 200\n{text}")
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])  # type: ignore[index]
    times = [_milliseconds(re.search(rf"{p}%\s+([\d.]+)(us|ms|s)", text)) for p in (50, 99)]
    return rate, times[0], times[1]


def _milliseconds(found: Any) -> float:
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]]


def main() -> None:
    """Compare, then measure in turns, then print."""
    if shutil.which("wrk") is None:
        raise SystemExit("bench-serving: expected wrk; install it with: apt-get install wrk")
    folder = Path(tempfile.mkdtemp())
    ours, path, pickled = train(folder)
    request = {"text": SENTENCE}
    (folder / "post.lua").write_text(
        'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n'
        f"wrk.body = {json.dumps(json.dumps(request))}\n"
    )
    servers = [start("-m", "tagline", "serve", "-m", str(path), "--port", "8151", "--log", "warning")]
    try:
        answer = post("http://127.0.0.1:8151/v1/tag", request)
        expected = [(token.text, token.label) for token in ours.tag(SENTENCE, split=True).tokens]
        got = [(t["text"], t["label"]) for t in json.loads(answer)["results"][0]["sentences"][0]["tokens"]]
        assert got == expected, "the answers differ from the library's"
        (folder / "constant.json").write_bytes(answer)
        servers.append(start("-c", CONSTANT, str(path), str(folder / "constant.json"), "8152"))
        servers.append(start("-c", RIVAL, str(pickled), "8153", str(Path(__file__).parent)))
        urls = {
            "tagline serve": "http://127.0.0.1:8151/v1/tag",
            "the same server, a constant": "http://127.0.0.1:8152/constant",
            "FastAPI + sklearn-crfsuite": "http://127.0.0.1:8153/tag",
        }
        for url in urls.values():
            post(url, request)
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in urls}
        for _ in range(ROUNDS):
            for name, url in urls.items():
                rows[name].append(load(url, folder / "post.lua"))
        report(rows, len(got), len(answer))
    finally:
        for server in servers:
            server.terminate()
        shutil.rmtree(folder)


def report(rows: dict[str, list[tuple[float, float, float]]], tokens: int, size: int) -> None:
    """Print medians, and the medians of the ratios of each round: what else the machine does hits its turns alike."""
    middle = {name: [statistics.median(column) for column in zip(*row, strict=True)] for name, row in rows.items()}
    load = os.getloadavg()[0]
    print(f"{tokens} tokens, {size} bytes, {CONNECTIONS} connections, medians of {ROUNDS} × {SECONDS} s in turns")
    print(f"load of the machine in the last minute: {load:.1f} (wrk and one server make 2)")
    print(f"{'':32}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'p99/p50':>9}")
    for name, (rate, p50, p99) in middle.items():
        print(f"{name:32}{rate:12.0f}{p50:9.2f}{p99:9.2f}{p99 / p50:9.1f}")
    own, constant, rival = ([rate for rate, _, _ in row] for row in rows.values())
    share, gain = (statistics.median(a / b for a, b in zip(own, other, strict=True)) for other in (constant, rival))
    print(f"of a constant answer: {100 * share:.0f} % (bar 70 %)")
    print(f"against sklearn-crfsuite: {gain:.1f}× (bar 3×)")


if __name__ == "__main__":
    main()
