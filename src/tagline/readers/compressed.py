"""Packed sources as bytes: gzip, Zstandard, and the rows of Parquet files as JSON lines (`parquet`).

Zstandard and Parquet are read by PyArrow, which comes with the extra `ray`.
"""

from __future__ import annotations

import gzip
import io
import os
from typing import IO, Any, cast

from tagline.errors import InputError, MissingPackageError

PathLike = str | os.PathLike[str]

GZIP, ZSTD, PARQUET = ".gz", ".zst", ".parquet"
PACKED = (GZIP, ZSTD, PARQUET)
FREE_BYTES = 1 << 28  # that any packed file may unpack to
MOST_UNPACKED = 200  # bytes that each byte of a packed file may become beyond that; text becomes 3 to 20


def plain_name(name: str) -> str:
    """Return the name of a file without the ending that says how it is packed."""
    return name.removesuffix(GZIP).removesuffix(ZSTD)


def open_packed(path: PathLike) -> IO[bytes]:
    """Open a file for reading, unpacked if its name says that it is packed."""
    name = os.fspath(path)
    if name.endswith(GZIP):
        return cast(IO[bytes], Unpacked(path))
    if name.endswith(ZSTD):
        return cast(IO[bytes], UnpackedZstandard(path))
    if name.endswith(PARQUET):
        from tagline.readers.parquet import ParquetLines

        return cast(IO[bytes], ParquetLines(path))
    return open(path, "rb")


def position_of(stream: IO[bytes]) -> int:
    """Return how many bytes of a file were read, as they lie on the disk; 0 for a pipe."""
    if isinstance(position := getattr(stream, "position", None), int):
        return position
    raw = stream.fileobj if isinstance(stream, gzip.GzipFile | UnpackedZstandard) else stream
    return raw.tell() if raw is not None and raw.seekable() else 0


class Limit:
    """How much a packed file may unpack to: more than text does is an error, not a full memory."""

    def __init__(self, path: PathLike) -> None:
        self.name, self.most = os.fspath(path), FREE_BYTES + MOST_UNPACKED * os.path.getsize(path)

    def check(self, count: int) -> None:
        if count > self.most:
            raise InputError(
                "{}: expected packed text, got a file that unpacks to more than {:,} bytes "
                "({:,} and {} times its size); unpack it first if that is right",
                self.name,
                self.most,
                FREE_BYTES,
                MOST_UNPACKED,
            )


class Unpacked(gzip.GzipFile):
    """A ``.gz`` file that is read."""

    def __init__(self, path: PathLike) -> None:
        super().__init__(path, "rb")
        self._limit = Limit(path)

    def read(self, size: int | None = -1) -> bytes:
        """Return `size` bytes, or all that are left."""
        if size is not None and size >= 0:
            data = super().read(size)
            self._limit.check(self.tell())
            return data
        pieces = list(iter(lambda: self.read(1 << 20), b""))
        return b"".join(pieces)


class UnpackedStream(io.BufferedIOBase):
    """A stream of bytes that come in pieces."""

    def __init__(self) -> None:
        self._rest = b""

    def _more(self) -> bytes:
        raise NotImplementedError

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Return `size` bytes, or all that are left."""
        everything = size is None or size < 0
        pieces, count = [self._rest], len(self._rest)
        while (everything or count < cast(int, size)) and (piece := self._more()):
            pieces.append(piece)
            count += len(piece)
        data = b"".join(pieces)
        end = len(data) if everything else cast(int, size)
        self._rest = data[end:]
        return data[:end]


class UnpackedZstandard(UnpackedStream):
    """A ``.zst`` file that is read."""

    def __init__(self, path: PathLike) -> None:
        super().__init__()
        arrow = arrow_for(path)
        self._limit, self._count = Limit(path), 0
        self.fileobj = open(path, "rb")  # noqa: SIM115 - `close` closes it
        self._unpacked = arrow.CompressedInputStream(self.fileobj, "zstd")

    def _more(self) -> bytes:
        try:
            data = cast(bytes, self._unpacked.read(1 << 20))
        except OSError as error:
            raise InputError("{}: expected Zstandard, got something else ({})", self._limit.name, error) from None
        self._count += len(data)
        self._limit.check(self._count)
        return data

    def fileno(self) -> int:
        """Return the number of the packed file."""
        return self.fileobj.fileno()

    def close(self) -> None:
        """Close the packed file."""
        if not self.closed:
            self.fileobj.close()
        super().close()


def arrow_for(path: PathLike) -> Any:
    """Return PyArrow, which reads a file, or say that it is missing."""
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise MissingPackageError(os.fspath(path), "pyarrow", "pip install pyarrow", error) from None
    return pyarrow
