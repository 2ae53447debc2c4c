"""Disks that are full, may not be written or change under the reader: one line from us, and the old file whole.

    python -m tests.fuzz.disks

A full disk is a tmpfs of 1 MB where the system lets us mount one, else a limit on the size of files. Files shrink while
they are read, at random places; a model is replaced, and written over in place, while it is in use.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import tagline
from tagline.datasets import make_entities
from tagline.errors import TaglineError
from tagline.readers import iter_columns, read_columns, write_columns

Check = Callable[[Path], None]


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[Path]:
    """A place with room for about 1 MB, 700 kB of it taken."""
    place = folder / "full"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode == 0:
        try:
            (place / "other").write_bytes(bytes(700_000))
            yield place
        finally:
            subprocess.run(["umount", str(place)], check=True)
        return
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, usual[1]))
    try:
        yield place
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def refused(work: Callable[[], object]) -> str:
    """The one line of our error; anything else is raised."""
    try:
        work()
    except TaglineError as error:
        line = str(error)
        assert "\n" not in line, line
        assert "expected" in line, line
        return line
    raise AssertionError("expected an error, got none")


def run(*words: object, **how: object) -> subprocess.CompletedProcess[str]:
    """Run a command of tagline."""
    command = [sys.executable, "-m", "tagline", *map(str, words)]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **how)  # type: ignore[call-overload, no-any-return]


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said that failed."""
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("tagline: "), done.stderr
    return done.stderr


def large(folder: Path) -> Path:
    """A corpus file of more than 1 MB."""
    rng, path = np.random.default_rng(0), folder / "large.txt"
    words = rng.integers(0, 10**6, (5_000, 20))
    lines = [[f"word{number} {'O' if number % 7 else 'B-X'}\n" for number in sentence] for sentence in words.tolist()]
    path.write_text("\n".join(map("".join, lines)))
    return path


def tiny_model() -> tagline.CRF:
    return tagline.CRF("english_ner", max_iterations=2).fit(make_entities(30))


def a_full_disk(folder: Path) -> None:
    """Models, corpora and compiled corpora do not fit: the old file stays, and nothing lies beside it."""
    corpus = read_columns(large(folder))
    model = tagline.CRF("english_ner", max_iterations=1).fit(make_entities(300))
    with full_disk(folder) as place:
        for name, write in (
            ("model.tagline", lambda path: model.save(path)),
            ("corpus.txt", lambda path: write_columns(corpus, path)),
            ("corpus.txt.gz", lambda path: write_columns(corpus, path)),
            ("corpus.compiled", lambda path: tagline.compile_corpus([corpus], path, "english_ner")),
        ):
            path = place / name
            path.write_bytes(b"old")
            before = sorted(os.listdir(place))
            line = refused(lambda path=path, write=write: write(path))
            assert "No space left on device" in line or "File too large" in line, line
            assert path.read_bytes() == b"old", name
            assert sorted(os.listdir(place)) == before, os.listdir(place)
            path.unlink()


def a_full_disk_for_commands(folder: Path) -> None:
    """The commands end with one line and exit code 1."""
    write_columns(make_entities(300), folder / "corpus.txt")
    words, model = large(folder), folder / "model.tagline"
    tiny_model().save(model)
    with open("/dev/full", "wb") as full:
        assert "No space left" in one_line(run("tag", "-m", model, folder / "corpus.txt", stdout=full))
    with full_disk(folder) as place:
        (place / "tags.txt").write_bytes(b"old")
        line = one_line(
            run("convert-tags", folder / "large.txt", place / "tags.txt", "--from", "IOB2", "--to", "BIOES")
        )
        assert "tags.txt: expected a place to write to" in line, line
        cache = ("--cache", place, "--max-iterations", 1, "-q")
        assert "expected room beside it" in one_line(run("train", words, "-o", model, *cache))
        assert (place / "tags.txt").read_bytes() == b"old"
        assert sorted(set(os.listdir(place)) - {"other"}) == ["tags.txt"]
    assert tagline.load(model).labels_


def a_target_that_may_not_be_written(folder: Path) -> None:
    """A read-only file system, where one can be mounted; for others than root, a folder without permission."""
    place = folder / "read-only"
    place.mkdir()
    (place / "model.tagline").write_bytes(b"old")
    options = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(place)]
    mounted = subprocess.run(options, capture_output=True, check=False).returncode == 0
    place.chmod(0o500) if not mounted else None
    if not mounted and os.access(place, os.W_OK):
        return  # root, who may do everything
    try:
        assert "expected a place to write to" in refused(lambda: tiny_model().save(place / "model.tagline"))
        assert "expected a place to write to" in refused(lambda: write_columns(make_entities(3), place / "corpus.txt"))
        write_columns(make_entities(3), folder / "corpus.txt")
        assert "expected a place to write to" in one_line(run("train", folder / "corpus.txt", "-o", place / "m", "-q"))
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)
        place.chmod(0o700)
    assert (place / "model.tagline").read_bytes() == b"old"


def an_input_that_shrinks(folder: Path, rounds: int = 30) -> None:
    """Cut a file short while it is read: our error, or what it held at one moment; never a signal."""
    path, rng = large(folder), np.random.default_rng(1)
    data = path.read_bytes()
    for number in range(rounds):
        path.write_bytes(data)
        size = int(rng.integers(0, len(data)))
        cut = threading.Timer(float(rng.random()) * 0.05, os.truncate, (path, size))
        cut.start()
        read = sentences_of(path)
        cut.join()
        assert read in (5_000, None, sentences_of(path)), f"round {number}: {read} sentences"
    path.write_bytes(data)
    blocks = iter_columns(path, block_bytes=10_000)
    next(blocks)
    os.truncate(path, len(data) // 2)
    assert "cut short while it was read" in refused(lambda: list(blocks))


def sentences_of(path: Path) -> int | None:
    """How many sentences a file has; None for an error of ours."""
    try:
        return len(read_columns(path))
    except TaglineError:
        return None


def an_input_that_vanishes(folder: Path) -> None:
    """What is open can be read to its end; what is gone before is our error."""
    path = folder / "vanishes.txt"
    write_columns(make_entities(500), path)
    blocks = iter_columns(path, block_bytes=1000)
    first = len(next(blocks))
    path.unlink()
    assert first + sum(map(len, blocks)) == 500
    assert "got none of that name" in refused(lambda: read_columns(path))
    assert "got none of that name" in one_line(run("describe", path))


def a_model_that_is_replaced(folder: Path) -> None:
    """`save` puts a new file in its place: a model that is loaded goes on with the old one."""
    path, model, corpus = folder / "model.tagline", tiny_model(), make_entities(40, seed=5)
    model.save(path)
    mapped, answers = tagline.load(path, verify=False), model.predict(corpus)
    tagline.CRF("english_ner", max_iterations=1).fit(make_entities(10)).save(path)
    assert mapped.predict(corpus) == answers
    path.unlink()
    assert mapped.predict(corpus) == answers


def a_model_that_is_written_over(folder: Path) -> None:
    """Tools that write in place take a mapped model away; one that was read into memory stays."""
    path, model, corpus = folder / "model.tagline", tiny_model(), make_entities(40, seed=5)
    model.save(path)
    held, answers = tagline.load(path, mapped=False), model.predict(corpus)
    os.truncate(path, 100)
    assert held.predict(corpus) == answers
    assert "cut short" in refused(lambda: tagline.load(path))
    assert "cut short" in refused(lambda: tagline.load(path, mapped=False))


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        a_full_disk,
        a_full_disk_for_commands,
        a_target_that_may_not_be_written,
        an_input_that_shrinks,
        an_input_that_vanishes,
        a_model_that_is_replaced,
        a_model_that_is_written_over,
    )
}


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    wrong = 0
    for name, check in CHECKS.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(Path(folder))
                print(f"{name}: as it should be")
            except AssertionError as error:
                wrong += 1
                print(f"{name}: {error}")
    print(f"{len(CHECKS)} disks: {wrong} problems")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
