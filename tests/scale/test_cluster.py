"""Starting and joining Ray: what goes wrong is said in one line, with the node and what to do."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.scale import cluster as joining
from tagline.scale.cluster import Cluster, connected, plain_error
from tagline.scale.tagging import TaggingShard, Work, run_shards
from tests.cli.commands import tagline

ray = pytest.importorskip("ray")

WITHOUT = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("ray", "pyarrow"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
"""


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


class TestWithoutRay:
    def test_every_door_names_the_extra(self, model: Path, corpus: Path, tmp_path: Path) -> None:
        doors = {
            "scale.tag(None, MODEL)": "scale.tag",
            "scale.deployment(MODEL)": "scale.deployment",
            "scale.connected().__enter__()": "--ray",
        }
        tries = "".join(
            f"try:\n    {door}\nexcept tagline.InputError as error:\n    print(isinstance(error, ImportError), error)\n"
            for door in doors
        )
        code = f"{WITHOUT}\nimport tagline\nfrom tagline import scale\nMODEL = {str(model)!r}\n{tries}"
        code += "print(scale.udf(MODEL)({'text': ['Rain']})['tags'][0])\n"
        code += (
            f"sys.argv = ['tagline', 'tag', '-m', MODEL, {str(corpus)!r}, '-o', {str(tmp_path / 'out')!r}, '--ray']\n"
        )
        code += "from tagline.cli import main\nmain()\n"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        *lines, tags = done.stdout.splitlines()
        for line, place in zip(lines, doors.values(), strict=True):
            assert line.startswith(f"True {place}: ")
            assert line.endswith("pip install 'tagline[ray]'")
        assert tags == "['O']"
        assert done.returncode == 1
        assert done.stderr.startswith("tagline: --ray: ")
        assert done.stderr.endswith("pip install 'tagline[ray]'\n")


class TestReaching:
    def test_a_cluster_that_does_not_answer(self, model: Path, corpus: Path, tmp_path: Path) -> None:
        address = f"127.0.0.1:{free_port()}"
        begun = time.monotonic()
        command = [
            sys.executable,
            "-m",
            "tagline",
            "tag",
            "-m",
            model,
            corpus,
            "-o",
            tmp_path / "out",
            "--ray",
            address,
        ]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert time.monotonic() - begun < 60  # Ray itself waits for two minutes
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"tagline: --ray {address}: ")
        assert done.stderr.count("\n") == 1

    @pytest.mark.parametrize("address", ["x:y", "corpus/part:1x", ":"])
    def test_what_is_no_address(self, address: str) -> None:
        with pytest.raises(InputError, match=r"^--ray: "):
            joining._check_reachable(address, "--ray")

    def test_a_file_behind_the_option_is_no_address(self, model: Path, tmp_path: Path) -> None:
        done = tagline("tag", "-m", model, "-o", tmp_path / "out", "--ray", tmp_path / "none.txt")
        assert "none.txt: " in done.err


class TestNodes:
    def test_where_it_runs(self, cluster: Cluster) -> None:
        assert cluster.address == "local"
        assert cluster.cpus == 2
        assert len(cluster.nodes) == 1
        assert socket.gethostname() in cluster.nodes[0].name
        with connected() as again:  # the program has one already: it is used, and stays
            assert again.nodes == cluster.nodes
        assert ray.is_initialized()

    def test_other_versions(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        joining._check_versions(ray, cluster, "--ray")
        monkeypatch.setattr(joining.tagline, "__version__", "9.9")
        name = cluster.nodes[0].name
        with pytest.raises(InputError) as caught:
            joining._check_versions(ray, cluster, "--ray")
        assert str(caught.value).startswith(f"--ray, node {name}: ")
        assert joining._fits("Python", "3.11.2", "3.11.9")
        assert not joining._fits("Python", "3.11.2", "3.12.2")

    def test_an_object_store_that_spills(self, cluster: Cluster) -> None:
        assert cluster.spilled() == []
        held = [ray.put(np.zeros(5_000_000)) for _ in range(8)]
        end = time.monotonic() + 60
        while not (lines := cluster.spilled()) and time.monotonic() < end:
            time.sleep(0.2)
        assert len(held) == 8
        assert lines[0].startswith(f"node {cluster.nodes[0].name}: the object store was full and ")
        assert lines[0].endswith("start Ray with a larger --object-store-memory, or use more nodes")


def failing() -> Callable[[str], None]:
    """What a worker may meet; Ray's workers do not know the tests, so it travels by value."""

    def fail(kind: str) -> None:
        import os

        from tagline.errors import InputError

        if kind == "ours":
            raise InputError("a.txt:3: expected 2 columns, got 1")
        if kind == "disk":
            raise OSError(28, "No space left on device")
        if kind == "bug":
            raise ZeroDivisionError("division by zero")
        os._exit(3)

    return fail


def test_a_bug_in_an_actor_of_ray_data(cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def broken() -> Work:
        raise ZeroDivisionError("division by zero")

    (tmp_path / "a.txt").write_text("x")
    shard = TaggingShard.of(str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    with pytest.raises(InputError) as caught, connected() as joined:
        list(run_shards(joined, [shard], broken, 1))
    assert str(caught.value).startswith("--ray: ")
    assert str(caught.value).endswith("ZeroDivisionError: division by zero")
    assert capfd.readouterr() == ("", "")


class TestErrors:
    @pytest.mark.parametrize(
        ("kind", "place", "datum"),
        [
            ("ours", "a.txt:3: ", "2"),
            ("disk", "--ray: ", "disk"),
            ("bug", "--ray: ", "ZeroDivisionError: division by zero"),
            ("gone", "--ray: ", "WorkerCrashedError"),
        ],
    )
    def test_of_a_worker(
        self, cluster: Cluster, capfd: pytest.CaptureFixture[str], kind: str, place: str, datum: str
    ) -> None:
        with pytest.raises(InputError) as caught, connected():
            ray.get(ray.remote(max_retries=0)(failing()).remote(kind))
        assert str(caught.value).startswith(place)
        assert datum in str(caught.value)
        assert "\n" not in str(caught.value)
        time.sleep(0.5)
        assert capfd.readouterr().out == ""

    def test_of_ray_itself(self) -> None:
        line = str(plain_error(ray.exceptions.OutOfDiskError("Local disk is full on node ab12")))
        assert line.startswith("--ray: ")
        assert "node ab12" in line
        line = str(plain_error(ray.exceptions.ObjectStoreFullError("no room")))
        assert "--object-store-memory" in line
