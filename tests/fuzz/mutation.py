"""Damage to bytes, drawn from a seeded generator: the same generator makes the same damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

LARGEST = 1 << 16  # bytes of a mutated input

NUMBERS = (
    *(str(number) for number in (0, 1, -1, 2, 7, 64, 127, 128, 255, 256, 32767, 65535, 65536, 10**6)),
    *(str(2**power + more) for power in (31, 32, 53, 63, 64) for more in (-1, 0, 1)),
    *("-2147483649", "-9223372036854775809", "1e308", "1e309", "-1e-320", "0.1", "NaN", "-Infinity", "inf", "1_0"),
    *("007", "+1", "0x10", "1" * 30, "9" * 400),
)
SIGNS = (
    *(b"\0", b"\n", b"\r", b"\r\n", b"\n\n", b"\t", b" ", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xff", b"\xc0\x80"),
    *(b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x28", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"\x80\x04"),
    *(sign.encode() for sign in "é的　\u2028\u2029\u200b\u0301\ufffd\U0001f600\U0010ffff\u202e\x85\xa0İßǅ"),
    *(b'"', b"'", b"\\", b"\\ud800", b"\\u0000", b"{", b"}", b"[", b"]", b",", b":", b"#", b"%", b"-", b"/", b"="),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 16, 255, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63) - 1),
    *(10**30, 0.0, -0.0, 0.5, 1.5, -1.0, 1e-320, 1e-7, 1e30, 1e300, 1.7e308, "", "x", "0", "O", "B-PER", "I-PER"),
    *("\0", "\n", "的", "\U0001f600", "a b", "auto", "native", "IOB2", [], {}, [[]], [0], ["x"], {"x": 1}, [None]),
)
"""What stands in a JSON document where something else is expected."""

Step = Callable[[Random, bytearray, Sequence[bytes], Sequence[bytes]], None]


def mutated(random: Random, seeds: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """Return a damaged copy of one of the seeds.

    Arguments:
        seeds: valid inputs.
        words: what the format is made of.
    """
    data = bytearray(random.choice(seeds))
    steps = 1
    while steps < 12 and random.random() < 0.55:
        steps += 1
    for _ in range(steps):
        random.choice(_STEPS)(random, data, seeds, words)
    return bytes(data[:LARGEST])


def _place(random: Random, data: bytearray) -> int:
    return random.randrange(len(data) + 1)


def _part(random: Random, data: bytes | bytearray) -> tuple[int, int]:
    """A part of the bytes, mostly a short one."""
    first = random.randrange(len(data) + 1)
    length = 1 << random.randrange(10)
    return first, min(first + random.randrange(length + 1), len(data))


def _flip(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _set(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] = random.randrange(256)


def _insert_sign(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    place = _place(random, data)
    data[place:place] = random.choice(SIGNS)


def _insert_word(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    place = _place(random, data)
    data[place:place] = random.choice(words or SIGNS)


def _insert_number(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    place = _place(random, data)
    data[place:place] = random.choice(NUMBERS).encode()


def _replace_number(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    """Put another number in the place of the digits that are found first after some place."""
    place = _place(random, data)
    while place < len(data) and not 48 <= data[place] <= 57:
        place += 1
    end = place
    while end < len(data) and 48 <= data[end] <= 57:
        end += 1
    data[place:end] = random.choice(NUMBERS).encode()


def _delete(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    first, last = _part(random, data)
    del data[first:last]


def _cut(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    if random.random() < 0.3:
        del data[_place(random, data) :]


def _repeat(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    first, last = _part(random, data)
    times = random.choice((1, 1, 1, 2, 3, 8, 64, 300))
    if (last - first) * times < LARGEST:
        data[last:last] = data[first:last] * times


def _move(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    first, last = _part(random, data)
    part = data[first:last]
    del data[first:last]
    place = _place(random, data)
    data[place:place] = part


def _splice(random: Random, data: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    other = random.choice(seeds)
    first, last = _part(random, other)
    place, end = _part(random, data)
    data[place:end] = other[first:last]


_STEPS: tuple[Step, ...] = (
    *(_flip, _set, _set, _insert_sign, _insert_word, _insert_word, _insert_number, _replace_number, _delete, _cut),
    *(_repeat, _move, _splice),
)


def mutated_json(random: Random, document: Any) -> Any:
    """Return a document of JSON with one value of it changed; the document itself is changed, too."""
    if not isinstance(document, dict | list) or not document:
        return _other_value(random, document)
    holder, key = _some_place(random, document)
    action = random.randrange(8)
    if action == 0:
        del holder[key]
    elif action == 1:
        other, place = _some_place(random, document)
        holder[key] = _copy(other[place])
    elif action == 2 and isinstance(holder, list):
        holder.insert(key, _copy(random.choice((holder[key], random.choice(VALUES)))))
    elif action == 2:
        holder[random.choice(("", "x", "model", "version", "labels", "\0"))] = _copy(random.choice(VALUES))
    elif action == 3 and isinstance(holder, list):
        holder.extend(_copy(holder[: random.randrange(1, 40)] if random.random() < 0.5 else [random.choice(VALUES)]))
    elif action == 4:
        value = holder[key]
        holder[key] = random.choice(([value], {"x": value}, [_copy(value), value], str(value)))
    else:
        holder[key] = _other_value(random, holder[key])
    return document


def _some_place(random: Random, document: Any) -> tuple[Any, Any]:
    """A list or an object in a document, and a key of it."""
    holder = document
    while True:
        key = random.randrange(len(holder)) if isinstance(holder, list) else random.choice(list(holder))
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or random.random() < 0.25:
            return holder, key
        holder = inner


def _other_value(random: Random, value: Any) -> Any:
    if isinstance(value, str) and random.random() < 0.5:
        return mutated(random, [value.encode()]).decode(errors="replace")
    if type(value) in (int, float) and random.random() < 0.5:
        return random.choice((value + 1, value - 1, -value, value * 2, value / 2, float(value), str(value)))
    return _copy(random.choice(VALUES))


def _copy(value: Any) -> Any:
    """A value of its own: documents are changed in place."""
    return json.loads(json.dumps(value)) if isinstance(value, dict | list) else value
