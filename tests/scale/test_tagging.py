"""`tagline tag --ray`: the answers of one machine, byte for byte, whatever is lost or killed on the way."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tagline.cli import targets
from tagline.readers.sources import files_named
from tagline.scale.cluster import Cluster
from tagline.scale.tagging import RECORD, SIDE
from tests.cli.commands import Done, line_of, tagline
from tests.scale.conftest import FILES, STORE

WAIT = 120.0  # seconds for a busy machine


def answers(folder: Path) -> dict[str, bytes]:
    """The files of answers; the record and broken sentences are left out."""
    paths = [path for path in folder.iterdir() if path.name != RECORD and not path.name.endswith(SIDE)]
    assert not any(path.name.endswith(".part") for path in paths)
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def single(model: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The answers of one machine."""
    folder = tmp_path_factory.mktemp("single")
    assert tagline("tag", "-m", model, corpus, "-o", folder, "--lenient").code == 0
    return answers(folder)


def wait_for(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until so many files of answers are there."""
    end = time.monotonic() + WAIT
    while len(list(folder.glob("part*.txt"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


def begin(*words: object, folder: Path | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tagline", *map(str, words)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, start_new_session=True, **pipes)


class TestOneMachine:
    def test_answers_are_those_of_one_process(
        self, cluster: Cluster, model: Path, corpus: Path, single: dict[str, bytes], tmp_path: Path
    ) -> None:
        done = tagline("tag", "-m", model, corpus, "-o", tmp_path / "out", "--ray")
        assert (done.code, done.out) == (0, ""), done.err
        assert answers(tmp_path / "out") == single
        assert f"broken sentences that were skipped: 2; they are in {tmp_path / 'out'}" in done.err
        assert done.err.endswith(f"wrote {FILES} files to {tmp_path / 'out'}\n")
        side = (tmp_path / "out" / f"part03.txt{SIDE}").read_text("utf-8")
        assert re.match(re.escape(f"{corpus / 'part03.txt'}:") + r"\d+: ", side)
        assert side.count("\n") == 1

    def test_a_second_run_writes_what_is_missing_and_nothing_else(
        self, cluster: Cluster, model: Path, corpus: Path, single: dict[str, bytes], tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        few = [corpus / f"part{number:02}.txt" for number in range(4)]
        assert tagline("tag", "-m", model, *few, "-o", out, "--ray", "--workers", 1).code == 0
        (out / "part01.txt").unlink()
        before = {path: path.stat().st_mtime_ns for path in out.glob("part*.txt")}
        done = tagline("tag", "-m", model, *few, corpus / "part04.txt", "-o", out, "--ray")
        assert "3 of 5 files were tagged before and are kept\n" in done.err
        assert "broken sentences that were skipped: 1;" in done.err  # of the first run
        assert {path: path.stat().st_mtime_ns for path in before} == before
        assert answers(out) == {f"part{number:02}.txt": single[f"part{number:02}.txt"] for number in range(5)}

    def test_packed_files_parquet_text_and_other_forms(self, cluster: Cluster, model: Path, tmp_path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        texts = [f"Anna Smith met Peter Oduya in Oslo on {day} May." for day in range(1, 30)]
        data = "".join(f"{text}\n" for text in texts).encode()
        source = tmp_path / "in"
        source.mkdir()
        (source / "plain.txt").write_bytes(data)
        with gzip.open(source / "gz.txt.gz", "wb") as stream:
            stream.write(data)
        file = pyarrow.OSFile(str(source / "zst.txt.zst"), "wb")
        with file, pyarrow.CompressedOutputStream(file, "zstd") as stream:
            stream.write(data)
        parquet.write_table(pyarrow.table({"id": range(len(texts)), "text": texts}), source / "rows.parquet")
        asked = ("--spans", "--as", "jsonl")
        for shape, names in ((("--format", "text"), "*.txt*"), ((), "*.parquet")):
            ours, theirs = tmp_path / f"ours{len(shape)}", tmp_path / f"theirs{len(shape)}"
            done = tagline("tag", "-m", model, *shape, *asked, source / names, "-o", ours, "--ray")
            assert done.code == 0, done.err
            assert tagline("tag", "-m", model, *shape, *asked, source / names, "-o", f"{theirs}/").code == 0
            assert answers(ours) == answers(theirs)
        assert b'"id": 3' in (tmp_path / "ours0" / "rows.jsonl").read_bytes()


class TestErrors:
    def test_a_shard_that_cannot_be_read(self, cluster: Cluster, model: Path, corpus: Path, tmp_path: Path) -> None:
        bad = tmp_path / "bad.txt.gz"
        bad.write_bytes(b"no gzip")
        done = tagline("tag", "-q", "-m", model, bad, corpus / "part00.txt", "-o", tmp_path / "out", "--ray")
        line = line_of(done)
        assert line.startswith("node ")
        assert f"{bad}: " in line
        assert "1 of 2 files were not tagged: mend what is wrong and run the command again" in line
        assert list(answers(tmp_path / "out")) == ["part00.txt"]

    def test_answers_of_another_run(self, cluster: Cluster, model: Path, corpus: Path, tmp_path: Path) -> None:
        out, source = tmp_path / "out", tmp_path / "a.txt"
        shutil.copy(corpus / "part00.txt", source)
        command: tuple[object, ...] = ("tag", "-q", "-m", model, source, "-o", out, "--ray")
        assert tagline(*command).code == 0
        line = line_of(tagline(*command, "--marginals"))
        assert f"{out}: " in line
        source.write_text("Anna O\n", "utf-8")
        assert f"has changed since; remove {out / 'a.txt'} to tag it again" in line_of(tagline(*command))
        (out / RECORD).unlink()
        assert str(out) in line_of(tagline(*command))
        (out / RECORD).write_text("{}")
        assert str(out / RECORD) in line_of(tagline(*command))

    def test_names_that_are_written_in_another_way(
        self, cluster: Cluster, model: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copy(corpus / "part00.txt", tmp_path / "a.txt")
        monkeypatch.chdir(tmp_path)
        for name in (tmp_path / "a.txt", "a.txt", "./a.txt"):
            done = tagline("tag", "-q", "-m", model, name, "-o", "out", "--ray")
            assert done.code == 0, done.err
        assert "1 of 1 files were tagged before and are kept" in done.err

    def test_answers_that_were_written_without_ray(
        self, cluster: Cluster, model: Path, corpus: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        assert tagline("tag", "-q", "-m", model, corpus / "part00.txt", "-o", out, "--ray").code == 0
        kept = (out / RECORD).read_bytes()
        assert tagline("tag", "-q", "-m", model, corpus / "part01.txt", "-o", out / "other.txt").code == 0
        assert (out / RECORD).read_bytes() == kept  # that file is none of the run
        assert tagline("tag", "-q", "-m", model, corpus / "part00.txt", "-o", f"{out}/", "--marginals").code == 0
        assert not (out / RECORD).exists()
        line = line_of(tagline("tag", "-q", "-m", model, corpus / "part00.txt", "-o", out, "--ray"))
        assert str(out) in line

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (("a.txt",), "--ray: "),
            (("-", "-o", "out"), "--ray: "),
            (("a.txt", "-o", "out", "--workers", "0"), "--workers: "),
            (("a.txt", "-o", "out", "--url", "http://x"), "--ray, --url: "),
            (("none/*.txt", "-o", "out"), "none/*.txt: "),
            (
                ("no.txt", "-o", "out"),
                "no.txt: ",
            ),
        ],
    )
    def test_what_cannot_be_meant(
        self, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], line: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert line_of(tagline("tag", "-m", model, *words, "--ray")).startswith(line)

    def test_a_full_disk(self, model: Path, corpus: Path, cluster: Cluster, tmp_path: Path) -> None:
        if not os.path.exists("/dev/full"):
            pytest.skip("no /dev/full")
        out = tmp_path / "out"
        out.mkdir()
        os.symlink("/dev/full", out / f"part03.txt{SIDE}")  # where the broken sentence goes
        line = line_of(tagline("tag", "-q", "-m", model, corpus / "part03.txt", "-o", out, "--ray"))
        assert "No space left on device" in line
        assert answers(out) == {}


def test_folders_and_patterns(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", ".hidden", "deep/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    folder = str(tmp_path)
    assert files_named([folder]) == [f"{folder}/a.txt", f"{folder}/b.txt"]
    assert files_named([f"{folder}/**/*.txt"]) == [f"{folder}/a.txt", f"{folder}/b.txt", f"{folder}/deep/c.txt"]
    named = ["-", "none.txt", f"{folder}/b.txt", f"{folder}/b.txt"]
    assert files_named(named) == named


@pytest.mark.slow  # 40 s: a cluster of its own, and the time in which a lost node is noticed
def test_a_node_is_lost_on_the_way(model: Path, corpus: Path, single: dict[str, bytes], tmp_path: Path) -> None:
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    settings = {"num_cpus": 1, "object_store_memory": STORE}
    nodes = cluster_utils.Cluster(
        initialize_head=True, connect=False, head_node_args={**settings, "include_dashboard": False}
    )
    try:
        second = nodes.add_node(**settings)
        out = tmp_path / "out"
        process = begin("tag", "-m", model, corpus.name, "-o", out, "--ray", nodes.address, folder=corpus.parent)
        wait_for(out, 3, process)
        nodes.remove_node(second, allow_graceful=False)
        left = FILES - len(list(out.glob("part*.txt")))
        said, told = process.communicate(timeout=WAIT)
        assert left > 0
        assert (process.returncode, said) == (0, ""), told
        assert told.endswith(f"wrote {FILES} files to {out}\n")
        assert answers(out) == single
    finally:
        nodes.shutdown()


@pytest.mark.slow
def test_ctrl_c_ends_all_of_it_and_keeps_what_there_is(
    model: Path, corpus: Path, single: dict[str, bytes], tmp_path: Path, cluster: Cluster
) -> None:
    out = tmp_path / "out"
    process = begin("tag", "-m", model, corpus, "-o", out, "--ray", "local")
    wait_for(out, 2, process)
    os.killpg(process.pid, signal.SIGINT)
    said, told = process.communicate(timeout=WAIT)
    assert (process.returncode, said) == (130, ""), told
    assert f"of {FILES} files are tagged: the same command goes on with the others\n" in told
    before = {path: path.stat().st_mtime_ns for path in out.glob("part*.txt")}
    assert 2 <= len(before) < FILES
    end = time.monotonic() + WAIT
    while subprocess.run(["ps", "-s", str(process.pid)], capture_output=True, check=False).returncode == 0:
        assert time.monotonic() < end, "processes of Ray are left"
        time.sleep(0.1)
    done: Done = tagline("tag", "-m", model, corpus, "-o", out, "--ray")
    assert f"{len(before)} of {FILES} files were tagged before and are kept\n" in done.err
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert answers(out) == single


def test_the_record_of_a_run_has_one_name() -> None:
    assert targets.RECORD == RECORD
