"""CQDB, the string tables of CRFsuite's files: names ↔ ids, to be looked up where they lie.

    24 bytes    "CQDB", size, flag (0), 0x62445371, length of the list by id, its offset
    256 × 8     hash tables: offset, number of slots (twice that of its names)
    records     id, length of the name with its final NUL, the name
    slots       hash, offset of the record (0: free), for each hash table
    list by id  an offset of a record each

Offsets count from "CQDB". A name lies in table ``hash % 256``, at slot ``(hash >> 8) % slots`` or the next free one;
the hash is Bob Jenkins's lookup3 of the name with its NUL. Only the list by id is needed to read.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError, StorageError
from tagline.messages import message
from tagline.ragged import offsets_of

MAGIC, MARK, TABLES = b"CQDB", 0x62445371, 256
HEAD = struct.Struct("<4s5I")
RECORD = struct.Struct("<2I")  # id, length

_DAMAGED = message("the file is damaged; copy it again or train the model anew")
_BLOCK = 12  # bytes that the hash takes at once


def read_strings(file: bytes, place: int, count: int, where: str) -> tuple[str, ...]:
    """Return the first `count` names of a table by id.

    Arguments:
        file: the file that the table lies in, at `place`.
        where: what the names are, for messages.
    """
    if place + HEAD.size > len(file):
        raise _bad(
            where,
            message("a string table within {} bytes", len(file)),
            message("its place {}", place),
        )
    magic, size, _, mark, length, offset = HEAD.unpack_from(file, place)
    if magic != MAGIC or mark != MARK:
        raise _bad(where, message("a string table (CQDB)"), message("{!r} and {:#x}", magic, mark))
    if size < HEAD.size or place + size > len(file):
        raise _bad(
            where,
            message("a string table within {} bytes", len(file)),
            message("{} bytes at {}", size, place),
        )
    if length < count or (count and offset + 4 * count > size):
        raise _bad(
            where,
            message("a list of {} names", count),
            message("{} at {} of {} bytes", length, offset, size),
        )
    records = np.frombuffer(file, "<u4", count, place + offset).astype(np.int64) if count else np.empty(0, np.int64)
    if count and records.max() + RECORD.size > size:
        raise _bad(where, message("records within {} bytes", size), int(records.max()))
    table = np.frombuffer(file, np.uint8, size, place)
    heads = table[records[:, None] + np.arange(RECORD.size)].view("<u4").astype(np.int64)  # [count, 2]
    ids, lengths = heads[:, 0], heads[:, 1]
    if not np.array_equal(ids, np.arange(count)):
        raise _bad(where, message("names listed by id"), message("others"))
    # Together they must fit: names that overlap could ask for any amount of memory.
    if (lengths < 1).any() or lengths.sum() > size or (records + RECORD.size + lengths > size).any():
        raise _bad(where, message("names within {} bytes", size), message("longer ones"))
    begins = place + records + RECORD.size
    return _decoded([file[a:b] for a, b in zip(begins.tolist(), (begins + lengths).tolist(), strict=True)], where)


def _decoded(keys: list[bytes], where: str) -> tuple[str, ...]:
    joined = b"".join(keys)
    if joined.count(b"\0") != len(keys) or not all(key.endswith(b"\0") for key in keys):
        raise _bad(where, message("names that end with their only NUL"), message("others"))
    try:
        names = tuple(joined.decode().split("\0")[:-1])
    except UnicodeDecodeError as error:
        wrong = error.object[max(0, error.start - 20) : error.start + 20]
        raise StorageError(
            "{}: expected names in UTF-8, got {!r}; train the model on data in UTF-8", where, wrong
        ) from None
    if len(set(names)) != len(names):
        raise _bad(where, message("each name once"), message("one twice"))
    return names


def write_strings(names: Sequence[str], kind: str) -> bytes:
    """Return the table of names whose ids are their positions."""
    keys = [_encoded(name, kind) for name in names]
    if len(set(keys)) != len(keys):
        raise InputError("{}: expected each name once, got one twice", kind)
    places = HEAD.size + 8 * TABLES + offsets_of(np.array([RECORD.size + len(key) for key in keys], np.int64))
    records = b"".join(RECORD.pack(number, len(key)) + key for number, key in enumerate(keys))
    slots, tables = _hashed(hashes_of(keys), places[:-1].tolist(), int(places[-1]))
    listed = int(places[-1]) + slots.nbytes
    size = listed + 4 * len(keys)
    if size >= 2**32:
        raise InputError("{}: expected names of less than 4 GiB, as CRFsuite counts, got {} bytes", kind, size)
    head = HEAD.pack(MAGIC, size, 0, MARK, len(keys), listed if keys else 0)
    return b"".join([head, tables.tobytes(), records, slots.tobytes(), places[:-1].astype("<u4").tobytes()])


def _encoded(name: str, kind: str) -> bytes:
    try:
        key = name.encode()
    except UnicodeEncodeError:
        raise InputError("{}: expected Unicode text, got {!r} with a lone surrogate", kind, name) from None
    if b"\0" in key:
        raise InputError("{}: expected names without NUL, at which CRFsuite ends them, got {!r}; rename it", kind, name)
    return key + b"\0"


def _hashed(hashes: NDArray[np.uint32], places: list[int], first: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the slots of all hash tables, which begin at byte `first`, and offset and length of each table."""
    sizes = 2 * np.bincount(hashes % TABLES, minlength=TABLES)
    begins = offsets_of(sizes)
    tables = np.zeros((TABLES, 2), "<u4")
    tables[:, 0] = np.where(sizes > 0, first + 8 * begins[:-1], 0)
    tables[:, 1] = sizes
    slots = np.zeros((int(begins[-1]), 2), "<u4")
    taken = bytearray(len(slots))
    begin_of, size_of, chosen = begins.tolist(), sizes.tolist(), []
    for number in hashes.tolist():
        table = number % TABLES
        begin, size = begin_of[table], size_of[table]
        slot = (number >> 8) % size
        while taken[begin + slot]:
            slot = (slot + 1) % size
        taken[begin + slot] = 1
        chosen.append(begin + slot)
    slots[chosen, 0] = hashes
    slots[chosen, 1] = places
    return slots, tables


def hashes_of(keys: Sequence[bytes]) -> NDArray[np.uint32]:
    """Return lookup3's ``hashlittle(key, len(key), 0)`` of each key; those of as many blocks are hashed together."""
    lengths = np.array([len(key) for key in keys], np.int64)
    blocks = np.maximum(1, -(-lengths // _BLOCK))
    out = np.empty(len(keys), np.uint32)
    for width in np.unique(blocks).tolist():
        chosen = np.flatnonzero(blocks == width)
        padded = b"".join(keys[k].ljust(width * _BLOCK, b"\0") for k in chosen.tolist())
        words = np.frombuffer(padded, "<u4").reshape(len(chosen), width, 3).astype(np.uint32)
        out[chosen] = _lookup3(words, lengths[chosen])
    return out


def _lookup3(words: NDArray[np.uint32], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Hash rows of three words a block, ``[n, blocks, 3]``; arithmetic is modulo 2^32."""
    a = (0xDEADBEEF + lengths).astype(np.uint32)
    b, c = a.copy(), a.copy()
    last = words.shape[1] - 1
    for block in range(last):
        a, b, c = a + words[:, block, 0], b + words[:, block, 1], c + words[:, block, 2]
        a, b, c = _mixed(a, b, c)
    a, b, c = a + words[:, last, 0], b + words[:, last, 1], c + words[:, last, 2]
    for turn_c, turn_a, turn_b in ((14, 11, 25), (16, 4, 14), (24, None, None)):
        c = (c ^ b) - _turned(b, turn_c)
        if turn_a is not None and turn_b is not None:
            a = (a ^ c) - _turned(c, turn_a)
            b = (b ^ a) - _turned(a, turn_b)
    return c


def _mixed(
    a: NDArray[np.uint32], b: NDArray[np.uint32], c: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    for first, second, third in ((4, 6, 8), (16, 19, 4)):
        a = (a - c) ^ _turned(c, first)
        c = c + b
        b = (b - a) ^ _turned(a, second)
        a = a + c
        c = (c - b) ^ _turned(b, third)
        b = b + a
    return a, b, c


def _turned(x: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def _bad(where: str, expected: str, got: object) -> StorageError:
    return StorageError("{}: expected {}, got {}; {}", where, expected, got, _DAMAGED)
