"""The files of a corpus that is spread over many: found by patterns, fetched, read one at a time.

A shard is a file that one process reads whole. Local ones are read where they lie, on a disk that all nodes see; those
of an object store (``s3://…``, ``gs://…``) are fetched first, by Arrow, which Ray brings along.
"""

from __future__ import annotations

import contextlib
import glob
import os
import platform
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tagline.checks import is_listing, shown_value
from tagline.errors import InputError, NoPathError, StorageError, TaglineError, TrainingError
from tagline.messages import message
from tagline.readers.corpus import Corpus
from tagline.readers.training_files import LabelledFiles
from tagline.writing import REMEDIES

LOCAL = "file://"


@dataclass(frozen=True)
class Shard:
    """A file, and what tells whether it is still the same.

    Attributes:
        path: a local path, or a URI.
        size, changed: in bytes, and when, in nanoseconds.
    """

    path: str
    size: int
    changed: int = 0

    @property
    def is_remote(self) -> bool:
        """Whether it must be fetched."""
        return "://" in self.path


def shards(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> tuple[Shard, ...]:
    """Find files by their names, by patterns such as ``data/*.gz``, or by their folder; in the order of their names.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.txt", "a.txt"):
    ...         _ = Path(folder, name).write_text("Anna N")
    ...     [os.path.basename(shard.path) for shard in shards(f"{folder}/*.txt")]
    ['a.txt', 'b.txt']
    """
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths) if is_listing(paths) else None
    if listed is None or not all(isinstance(path, str | os.PathLike) for path in listed):
        raise InputError("paths: expected a file, a pattern or a list of them, got {}", shown_value(paths))
    found = [shard for path in listed for shard in _matching(os.fspath(path))]
    if not found:
        raise InputError("paths: expected files to learn from, got none; {} matches nothing", shown_value(paths))
    names = [shard.path for shard in found]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("paths: expected each file once, got {} twice", twice)
    return tuple(found)


def _matching(pattern: str) -> list[Shard]:
    if pattern.startswith(LOCAL):
        pattern = pattern.removeprefix(LOCAL)
    if "://" in pattern:
        return _matching_remote(pattern)
    if os.path.isdir(pattern):
        pattern = os.path.join(glob.escape(pattern), "*")
    names = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
    files = [name for name in names if os.path.isfile(name)]
    if not files:
        raise InputError("{}: expected a file or a pattern of some, got nothing there", pattern)
    statuses = [(os.path.abspath(name), os.stat(name)) for name in files]
    return [Shard(name, status.st_size, status.st_mtime_ns) for name, status in statuses]


def _matching_remote(pattern: str) -> list[Shard]:
    import fnmatch

    from pyarrow import fs

    try:
        system, path = fs.FileSystem.from_uri(pattern.partition("*")[0].rpartition("/")[0] + "/")
        scheme = pattern.partition("://")[0]
        wanted = path.rstrip("/") + "/" + pattern.partition("*")[0].rpartition("/")[2]
        wanted += pattern[len(pattern.partition("*")[0]) :]
        if "*" not in pattern and system.get_file_info(wanted).type == fs.FileType.Directory:
            path, wanted = wanted, f"{wanted.rstrip('/')}/*"
        entries = system.get_file_info(fs.FileSelector(path, recursive="**" in pattern))
    except (OSError, ValueError, NotImplementedError) as error:
        raise InputError(
            "{}: expected files that can be listed, got: {}; check the scheme (s3, gs, abfs, hdfs, "
            "file), the path and the access",
            pattern,
            " ".join(str(error).split()),
        ) from None
    files = [entry for entry in entries if entry.is_file and fnmatch.fnmatch(entry.path, wanted)]
    changed = {entry.path: 0 if entry.mtime_ns is None else int(entry.mtime_ns) for entry in files}
    return sorted(
        (Shard(f"{scheme}://{entry.path}", int(entry.size), changed[entry.path]) for entry in files),
        key=lambda shard: shard.path,
    )


def read_shard(shard: Shard, files: LabelledFiles) -> Corpus:
    """Read the labelled sentences of a shard; what is wrong is an error that names the node."""
    with at_node():
        try:
            with fetched(shard) as path:
                return files.read(path)
        except OSError as error:
            raise InputError(
                "{}: expected a file that can be read, got: {}; put the files where every node sees them "
                "(a shared disk or an object store)",
                shard.path,
                error.strerror or error,
            ) from None


_KINDS = (NoPathError, StorageError, TrainingError, InputError, TaglineError)  # that are made of a message alone


@contextlib.contextmanager
def at_node() -> Iterator[None]:
    """Add the name of this machine to errors: they are read on another."""
    try:
        yield
    except TaglineError as error:
        if error.template.startswith("node "):
            raise
        kind = next(kind for kind in _KINDS if isinstance(error, kind))
        raise kind(message("node {}: {}", platform.node(), error)) from None
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        raise InputError(
            "node {}: expected room for compiled sentences in {}, got: {}; {} (scratch=, --scratch)",
            platform.node(),
            error.filename or "scratch",
            error.strerror,
            REMEDIES[error.errno],
        ) from None


@contextlib.contextmanager
def fetched(shard: Shard) -> Iterator[str]:
    """Give a local path of a shard."""
    if not shard.is_remote:
        yield shard.path
        return
    from pyarrow import fs

    system, path = fs.FileSystem.from_uri(shard.path)
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, os.path.basename(path))
        with system.open_input_stream(path, compression=None) as source, open(local, "wb") as target:
            while block := source.read(1 << 20):
                target.write(block)
        yield local
