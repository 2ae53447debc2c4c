"""Ray Serve: the routes of `tagline serve`, with the same answers."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tagline
from tagline import InputError, scale
from tagline.scale.cluster import Cluster
from tagline.serving import Settings, create_app

serve = pytest.importorskip("ray.serve")
testclient = pytest.importorskip("starlette.testclient")
BODY = {"text": "Anna Smith lives in Oslo.", "marginals": True}


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


@pytest.fixture(scope="module")
def service(cluster: Cluster, model: Path) -> Iterator[str]:
    """The address of a model that Ray Serve serves."""
    port = free_port()
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    serve.run(scale.deployment({"names": str(model)}, Settings(max_tokens=50), ray_actor_options={"num_cpus": 0.5}))
    yield f"http://127.0.0.1:{port}"
    serve.shutdown()


def ask(address: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            problem = json.loads(error.read())
            return error.code, {name: value for name, value in problem.items() if name != "request"}


def test_the_answers_are_those_of_the_service(service: str, model: Path) -> None:
    with testclient.TestClient(create_app({"names": tagline.load(model)}, Settings(max_tokens=50))) as local:
        for body in (BODY, {"text": "x " * 60}, {"texts": 5}):
            answer = local.post("/v1/tag", json=body)
            expected = {name: value for name, value in answer.json().items() if name != "request"}
            assert ask(f"{service}/v1/tag", body) == (answer.status_code, expected)
    assert ask(f"{service}/v1/models")[1]["models"][0]["name"] == "names"
    assert ask(f"{service}/readyz")[0] == 200
    with urllib.request.urlopen(f"{service}/", timeout=30) as page:
        assert b"<!doctype html>" in page.read().lower()


def test_what_is_wrong_with_a_model_is_said_at_once(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(tagline.StorageError, match=r"none\.tagline: "):
        scale.deployment(tmp_path / "none.tagline")
    with pytest.raises(InputError, match=r"^model: "):
        scale.deployment(5)
