"""The one way in which the package writes a file: models, corpora, checkpoints, configurations, tables, pictures.

A regular file is replaced at the end, or not at all: a neighbour in the same folder takes the bytes, reaches the disk,
gets the permissions of the file that it replaces, and takes its place in one step. A symbolic link stays, and the file
behind it is replaced. Whatever is not a regular file (a device, a pipe, ``/dev/stdout``) is written through.

Neighbours have names that nobody can guess, and are locked while they are written. So the leftovers of a run that was
killed can be told from what another run is writing: the next write of the same file removes them. Folders for what does
not fit into memory (`scratch_folder`) are neighbours, too; a folder of files that belong together (`new_folder`) takes
its place whole.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, TypeAlias

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

from tagline.errors import InputError, StorageError
from tagline.messages import message

Path: TypeAlias = str | os.PathLike[str]

STREAM = "-"  # standard input of a command that reads, standard output of one that writes

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_SEPARATORS = (os.sep, os.altsep or os.sep)
_TRIES = 100
_FILE, _FOLDER = "part", "scratch"  # how the names of neighbours end

# What a disk may answer to somebody who writes, and what to do then. Other errors are no matter of the target.
REMEDIES = {
    errno.ENOSPC: message("make room there or choose another place"),
    errno.EDQUOT: message("make room there or ask for a larger quota"),
    errno.EFBIG: message("raise the limit of file sizes (ulimit -f) or choose another place"),
    errno.EROFS: message("choose another place"),
    errno.EACCES: message("choose another place or see who may write there"),
    errno.EPERM: message("choose another place or see who may write there"),
    errno.EISDIR: message("name a file in it"),
    errno.ENOTDIR: message("choose another place"),
    errno.EIO: message("see whether the disk is sound"),
}


@contextlib.contextmanager
def open_new(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to be written: it appears whole when the block ends, or not at all where that raises."""
    if (found := _target(os.fspath(path))) is None:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as stream:
            yield stream
        return
    target, status = found
    _remove_leftovers(target)
    neighbour, number = _neighbour(target)
    try:
        with os.fdopen(number, "wb") as stream:
            yield stream
            stream.flush()
            if status is not None:
                os.chmod(neighbour, stat.S_IMODE(status.st_mode))
            os.fsync(stream.fileno())
            os.replace(neighbour, target)  # while it is locked: nobody takes it for a leftover
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(neighbour)
        raise
    _sync_folder(os.path.dirname(target))


def check_place(path: Path) -> None:
    """Raise an `OSError` unless a file can be written there; nothing that is there is touched."""
    if (target := _target(os.fspath(path))) is not None:
        neighbour, number = _neighbour(target[0])
        os.close(number)
        os.unlink(neighbour)


def check_writable(path: Path, place: str = "") -> None:
    """Raise a `StorageError` unless a file can be written there; nothing that is there is touched.

    Arguments:
        place: what the message begins with, such as the name of an option; the path where left out.
    """
    name = os.fspath(path)
    where, folder = place or name, os.path.dirname(name)
    try:
        check_place(path)
    except IsADirectoryError:
        raise StorageError("{}: {} is a folder, not a file; name a file in it", where, name) from None
    except NotADirectoryError:
        raise StorageError("{}: {} is not a folder; choose another place", where, folder) from None
    except OSError as error:
        if not os.path.isdir(folder or "."):
            raise StorageError("{}: there is no folder {}; make it first", where, folder) from None
        remedy = REMEDIES.get(error.errno or 0, message("choose another place"))
        raise StorageError("{}: {} cannot be written: {}; {}", where, name, error.strerror, remedy) from None


@contextlib.contextmanager
def scratch_folder(path: Path) -> Iterator[str]:
    """Make a folder beside a target, for what belongs to it for a while; those of runs that were killed go first."""
    target = os.path.realpath(os.fspath(path))
    _remove_leftovers(target)
    folder, lock = _locked(target, _FOLDER, _open_folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _open_folder(path: str) -> int | None:
    os.mkdir(path)
    return None if fcntl is None else os.open(path, os.O_RDONLY)


@contextlib.contextmanager
def new_folder(path: Path, *, mix: bool = False) -> Iterator[str]:
    """Give an empty folder to fill: it takes its place whole when the block ends, or not at all where that raises.

    Arguments:
        path: the place; a folder that is there is replaced, with everything in it.
        mix: leave such a folder where it is and move the new files into it, one after the other; others stay.
    """
    target = os.path.realpath(path)
    with scratch_folder(target) as neighbour:
        yield neighbour
        if mix and os.path.isdir(target):
            for entry in sorted(os.listdir(neighbour)):
                os.replace(os.path.join(neighbour, entry), os.path.join(target, entry))
        else:
            _take_the_place(neighbour, target)
    _sync_folder(os.path.dirname(target))


def _take_the_place(folder: str, target: str) -> None:
    """Rename a folder; one that has the name already goes."""
    before = f"{folder}.old"
    if os.path.isdir(target):
        os.rename(target, before)
    try:
        os.rename(folder, target)
    except BaseException:
        if os.path.isdir(before):
            os.rename(before, target)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _target(name: str) -> tuple[str, os.stat_result | None] | None:
    """Return the file that a write replaces, links followed, and what it is now; None for what is written through.

    That is a device, a pipe, and a name of a stream that is open already: what is behind it must stay. Not all of /dev
    is streams: files in /dev/shm are files.
    """
    try:
        status = os.stat(name)
    except (FileNotFoundError, NotADirectoryError):  # the folder of a name may be a file
        status = None
    # A name that ends with a slash stands for a folder that is not there.
    if (status is not None and stat.S_ISDIR(status.st_mode)) or name.endswith(_SEPARATORS):
        raise IsADirectoryError(errno.EISDIR, message("a folder, not a file"), name)
    path = os.path.abspath(name)
    is_stream = path in ("/dev/stdin", "/dev/stdout", "/dev/stderr") or path.startswith(("/dev/fd/", "/proc/"))
    if status is not None and (is_stream or not stat.S_ISREG(status.st_mode)):
        return None
    return os.path.realpath(name), status


def _neighbour(target: str) -> tuple[str, int]:
    """Make a new file beside the target and lock it."""
    path, number = _locked(target, _FILE, lambda path: os.open(path, _NEW, 0o666))  # less the umask, as any new file
    assert number is not None
    return path, number


def _locked(target: str, ending: str, make: Callable[[str], int | None]) -> tuple[str, int | None]:
    """Make a neighbour and lock it; `make` gives what is open of it."""
    folder, name = os.path.split(target)
    for _ in range(_TRIES):
        # A long name leaves no room for more: the file system's limit is 255 bytes.
        path = os.path.join(folder, f".{_stem(name)}.{secrets.token_hex(8)}.{ending}")
        number = make(path)
        if fcntl is None or number is None:
            return path, number
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            return path, number
        if os.fstat(number).st_nlink:
            return path, number
        os.close(number)  # somebody took it for a leftover before it was locked
    raise OSError(0, message("no file can be made here"))


def _stem(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:200])


def _remove_leftovers(target: str) -> None:
    """Remove the neighbours of a target that nobody is writing: those of runs that were killed."""
    if fcntl is None:
        return
    folder, name = os.path.split(target)
    ours = re.compile(re.escape(f".{_stem(name)}.") + rf"[0-9a-f]{{16}}\.({_FILE}|{_FOLDER})")
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        paths = [entry.path for entry in entries if ours.fullmatch(entry.name)]
        for path in paths:
            with contextlib.suppress(OSError):
                _remove_unlocked(path)


def _remove_unlocked(path: str) -> None:
    assert fcntl is not None
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mode = os.fstat(number).st_mode
        if stat.S_ISREG(mode) and path.endswith(_FILE):
            os.unlink(path)
        elif stat.S_ISDIR(mode) and path.endswith(_FOLDER):
            shutil.rmtree(path)
    finally:
        os.close(number)


def _sync_folder(folder: str) -> None:
    """Let the new name reach the disk, too, where the system can do that."""
    with contextlib.suppress(OSError):
        number = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


# No command writes over a file that it reads. Files are compared, not names: symbolic links, hard links and standard
# input count. Folders and streams are left out, because their files are known only when they are opened.


def check_apart(read: Mapping[str, Any], written: Mapping[str, Any]) -> None:
    """Raise where a file that is to be written is also read, or is to be written twice.

    Arguments:
        read, written: paths by the names of options and arguments; a path, several, or None.
    """
    inputs = {identity: name for name, path in _paths(read) if (identity := _identity(path, is_read=True)) is not None}
    outputs: dict[object, str] = {}
    for name, path in _paths(written):
        if path == STREAM or (identity := _identity(path)) is None:
            continue
        if identity in inputs:
            raise InputError("{}: {} is also read, as {}; name another file to write", name, path, inputs[identity])
        if identity in outputs:
            raise InputError("{}: {} is also written, as {}; name another file to write", name, path, outputs[identity])
        outputs[identity] = name


def _paths(named: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in named.items():
        values: Iterable[Any] = value if isinstance(value, list | tuple) else (value,)
        for text in values:
            if isinstance(text, str | os.PathLike):
                path = os.fspath(text)
                # Options of several files have commas between them.
                parts = [path] if os.path.exists(path) or "," not in path else path.split(",")
                yield from ((name, part) for part in parts if part)


def _identity(path: str, *, is_read: bool = False) -> object:
    """Return what tells a file from others, of one that is not there its whole name; None for folders and streams."""
    try:
        status = os.fstat(sys.stdin.fileno()) if is_read and path == STREAM else os.stat(path)
    except (OSError, ValueError, AttributeError):  # none of that name, or a standard input that is closed
        return os.path.realpath(path) if "\0" not in path and path != STREAM else None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
