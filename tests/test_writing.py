"""Files are replaced whole or not at all, and nothing else is touched: devices, pipes, links, modes, other runs."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tagline import storage
from tagline.readers import read_columns, write_columns
from tagline.readers.sources import open_target
from tagline.writing import check_place, new_folder, open_new, scratch_folder


def write(path: Path, data: bytes) -> None:
    with open_new(path) as stream:
        stream.write(data)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_whole(tmp_path: Path) -> None:
    with open_new(tmp_path / "f") as stream:
        stream.write(b"new")
        assert not (tmp_path / "f").exists()
    assert (tmp_path / "f").read_bytes() == b"new"
    assert names(tmp_path) == ["f"]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")

    def fail() -> None:
        with open_new(tmp_path / "f") as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (tmp_path / "f").read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_mode_is_kept(tmp_path: Path, mode: int) -> None:
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "f").chmod(mode)
    write(tmp_path / "f", b"new")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == mode
    old = os.umask(0o027)
    try:
        write(tmp_path / "g", b"new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "g").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "f").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "there" / "f")
    write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "f").read_bytes() == b"new"
    (tmp_path / "dangling").symlink_to(tmp_path / "there" / "g")
    write(tmp_path / "dangling", b"new")
    assert (tmp_path / "there" / "g").read_bytes() == b"new"
    assert names(tmp_path / "there") == ["f", "g"]


def test_devices_and_pipes_are_written_through(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write(tmp_path / "pipe", b"through")
    reader.join(10)
    assert got == [b"through"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    write(Path("/dev/null"), b"gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(IsADirectoryError):
        write(tmp_path, b"no")


def test_a_redirected_output_is_added_to(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("Anna B-PER\n\n")
    command = f"echo first; {sys.executable} -m tagline convert-tags {tmp_path / 'in.txt'} /dev/stdout --to IOB2"
    with open(tmp_path / "out.txt", "wb") as out:
        subprocess.run(["bash", "-c", command], stdout=out, stderr=subprocess.DEVNULL, check=True)
    assert (tmp_path / "out.txt").read_text() == "first\nAnna B-PER\n\n"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs /dev/shm")
def test_files_in_shared_memory_are_files() -> None:
    """They were taken for streams, and a new model was added behind the old one."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for data in (b"old and long", b"new"):
            write(Path(folder) / "f", data)
        assert (Path(folder) / "f").read_bytes() == b"new"
        assert names(Path(folder)) == ["f"]


def test_a_planted_neighbour_is_not_followed(tmp_path: Path) -> None:
    """The old name could be foreseen, and a link there led the bytes elsewhere."""
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / f".f.{os.getpid()}.part").symlink_to(tmp_path / "victim")
    with open_target(tmp_path / "f") as stream:
        stream.write(b"new")
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert (tmp_path / "f").read_bytes() == b"new"


def test_threads_that_write_one_path_do_not_mix(tmp_path: Path) -> None:
    corpora = [bytes([letter]) * 200_000 for letter in b"abcdefgh"]
    for _ in range(5):
        threads = [threading.Thread(target=write, args=(tmp_path / "f", data)) for data in corpora]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (tmp_path / "f").read_bytes() in corpora
    assert names(tmp_path) == ["f"]


KILLED = """
import os, signal, sys
from tagline.writing import open_new
with open_new(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_leftovers_of_a_killed_run_go_with_the_next_write(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    for name in ("f", "other"):
        done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / name)], check=False)
        assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "f").read_bytes() == b"old"
    assert len(names(tmp_path)) == 3
    with open_new(tmp_path / "f") as held:  # a run that is writing the same file is no leftover
        held.write(b"first")
        write(tmp_path / "f", b"second")
        assert (tmp_path / "f").read_bytes() == b"second"
    assert (tmp_path / "f").read_bytes() == b"first"
    left = names(tmp_path)
    assert len(left) == 2
    assert left[0].startswith(".other.")
    assert left[1] == "f"


KILLED_WITH_A_FOLDER = """
import os, signal, sys
from tagline.writing import scratch_folder
with scratch_folder(sys.argv[1]) as folder:
    open(os.path.join(folder, "large"), "wb").write(b"large")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_folders_of_a_killed_run_go_with_the_next_one(tmp_path: Path) -> None:
    for name in ("f", "other"):
        subprocess.run([sys.executable, "-c", KILLED_WITH_A_FOLDER, str(tmp_path / name)], check=False)
    assert len(names(tmp_path)) == 2
    with scratch_folder(tmp_path / "f") as held:  # one that is in use is no leftover
        (Path(held) / "part").write_bytes(b"here")
        with scratch_folder(tmp_path / "f") as second:
            assert second != held
        write(tmp_path / "f", b"new")
        assert (Path(held) / "part").read_bytes() == b"here"
    left = names(tmp_path)
    assert len(left) == 2
    assert left[0].startswith(".other.")
    assert left[1] == "f"


def test_a_place_is_tried_without_a_trace(tmp_path: Path) -> None:
    check_place(tmp_path / "f")
    assert names(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        check_place(tmp_path / "nowhere" / "f")


def test_long_names_have_neighbours_too(tmp_path: Path) -> None:
    name = "中" * 84
    write(tmp_path / name, b"new")
    assert names(tmp_path) == [name]


def test_models_go_the_same_way(tmp_path: Path) -> None:
    storage.write("/dev/null", {"a": 1}, {})
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    (tmp_path / "link").symlink_to("m")
    storage.write(tmp_path / "link", {"a": 1}, {})
    assert storage.read(tmp_path / "m").config == {"a": 1}
    assert (tmp_path / "link").is_symlink()


def test_corpora_go_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("Anna B-PER\n\n")
    write_columns(read_columns(tmp_path / "in.txt"), "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    write_columns(read_columns(tmp_path / "in.txt"), tmp_path / "out.txt.gz")
    assert read_columns(tmp_path / "out.txt.gz").tokens == [["Anna"]]
    assert names(tmp_path) == ["in.txt", "out.txt.gz"]


# Folders.


def fill(path: Path, text: str, *files: str, mix: bool = False, error: type[BaseException] | None = None) -> None:
    with new_folder(path, mix=mix) as place:
        for name in files:
            Path(place, name).write_text(text)
        if error is not None:
            raise error


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    place = tmp_path / "out"
    with new_folder(place) as new:
        Path(new, "a").write_text("new")
        assert not place.exists()
    assert contents(place) == {"a": "new"}
    fill(place, "newer", "b")
    assert contents(place) == {"b": "newer"}, "what was there is replaced"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("mix", [False, True])
def test_a_failure_leaves_the_old_folder(tmp_path: Path, mix: bool) -> None:
    fill(tmp_path / "out", "old", "a")
    for place in ("out", "new"):
        with pytest.raises(KeyboardInterrupt):
            fill(tmp_path / place, "half", "a", mix=mix, error=KeyboardInterrupt)
    assert contents(tmp_path / "out") == {"a": "old"}
    assert names(tmp_path) == ["out"]


def test_a_folder_that_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "out", "old", "a")
    rename = os.rename

    def refuse(source: str, target: str) -> None:
        if target.endswith("out") and not source.endswith(".old"):
            raise PermissionError(13, "no", target)
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(PermissionError):
        fill(tmp_path / "out", "new", "a")
    assert contents(tmp_path / "out") == {"a": "old"}
    assert names(tmp_path) == ["out"]


def test_files_beside_others(tmp_path: Path) -> None:
    fill(tmp_path / "out", "old", "a", "b")
    fill(tmp_path / "out", "new", "b", "c", mix=True)
    assert contents(tmp_path / "out") == {"a": "old", "b": "new", "c": "new"}
    fill(tmp_path / "fresh", "new", "a", mix=True)
    assert names(tmp_path) == ["fresh", "out"]


def test_a_link_to_a_folder_stays(tmp_path: Path) -> None:
    fill(tmp_path / "real", "old", "a")
    (tmp_path / "link").symlink_to("real")
    fill(tmp_path / "link", "new", "b")
    assert (tmp_path / "link").is_symlink()
    assert contents(tmp_path / "real") == {"b": "new"}
