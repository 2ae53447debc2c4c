"""Pickles read without running them: the opcodes are walked, and whatever would be an object is an inert `Made`.

Unpickling imports what a stream names and calls it. Here nothing is imported and nothing is called: a class is a name,
an object the name with arguments and state, and a name that was not allowed ends the reading.

Memory and time are in proportion to the stream. Values are shared, never copied: the bytes that protocol 2 writes as
text are the only ones made anew, and all of them together may not be longer than the stream. Containers take up to 100
bytes for each opcode, of which there may be `MOST_OPCODES`, and messages show no value but a name.
"""

from __future__ import annotations

import pickletools
import struct
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

from tagline.checks import shown_value
from tagline.errors import StorageError
from tagline.messages import message

Global: TypeAlias = tuple[str, str]
"""A module and a name in it."""

ENCODE: Global = ("_codecs", "encode")  # how protocol 2 writes bytes: text, to be encoded as Latin-1

MOST_OPCODES = 1 << 22  # 400 MB of containers at most; a log of 1,000 iterations and 100 labels has 3 million
LONGEST_KEY = 4096  # characters: two long keys that are equal are compared each time

CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
VALUES = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    )
)


@dataclass(eq=False, slots=True)
class Made:
    """What unpickling would make by calling something.

    Attributes:
        of: the module and the name of what would be called.
        arguments: that it would be called with.
        state: what the object would be given then; None where nothing is.
    """

    of: Global
    arguments: tuple[Any, ...]
    state: Any = None


@dataclass(frozen=True, slots=True)
class _Name:
    """A class or function, by name alone."""

    of: Global


class _RefusedError(Exception):
    """What the stream says is not what is read here."""


def read_inert(data: bytes, source: str, allowed: Collection[Global]) -> Any:
    """Return what a pickle holds: plain values, and `Made` for objects of the allowed names.

    Arguments:
        data: the stream; what follows its end is not looked at.
        source: where it comes from, for messages.
        allowed: names that may stand in it.
    """
    walk = _Walk(allowed, len(data))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python's word on odd escapes in names
            for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
                if number >= MOST_OPCODES:
                    raise _RefusedError(
                        message(
                            "the pickle has more than {:,} opcodes; set training_log_ to None and pickle the CRF again",
                            MOST_OPCODES,
                        )
                    )
                walk.take(opcode.name, argument)
        return walk.pop()
    except _RefusedError as reason:
        raise StorageError("{}: {}", source, reason) from None
    except (ValueError, IndexError, KeyError, struct.error, OverflowError) as error:
        raise StorageError("{}: expected a whole pickle, got a damaged one ({!s:.80})", source, error) from None


class _Walk:
    """The stack of values, the marks on it, and the values that are remembered by number."""

    def __init__(self, allowed: Collection[Global], size: int) -> None:
        self._allowed = allowed
        self._affordable = size  # bytes that may still be made of text
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []  # the stacks under each mark
        self._memo: dict[int, Any] = {}

    def take(self, opcode: str, argument: Any) -> None:
        """Do what an opcode says."""
        if opcode in VALUES:
            self._stack.append(argument)
        elif opcode in CONSTANTS:
            self._stack.append(CONSTANTS[opcode])
        elif opcode in _ACTIONS:
            _ACTIONS[opcode](self, argument)
        else:
            raise _RefusedError(message("expected a pickle of plain values and objects, got the opcode {}", opcode))

    def pop(self) -> Any:
        """Take the topmost value."""
        return self._stack.pop()

    def _mark(self, _: Any) -> None:
        self._below.append(self._stack)
        self._stack = []

    def _to_mark(self) -> list[Any]:
        """Take all values down to the last mark."""
        values, self._stack = self._stack, self._below.pop()
        return values

    def _put(self, number: int) -> None:
        self._memo[number] = self._stack[-1]

    def _memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _get(self, number: int) -> None:
        self._stack.append(self._memo[number])

    def _list(self, _: Any) -> None:
        self._stack.append([])

    def _dict(self, _: Any) -> None:
        self._stack.append({})

    def _tuple(self, _: Any) -> None:
        values = tuple(self._to_mark())
        self._stack.append(values)

    def _short_tuple(self, length: int) -> None:
        values = tuple(self._stack.pop() for _ in range(length))
        self._stack.append(values[::-1])

    def _append(self, _: Any) -> None:
        value = self._stack.pop()
        self._top(list).append(value)

    def _appends(self, _: Any) -> None:
        values = self._to_mark()
        self._top(list).extend(values)

    def _set_item(self, _: Any) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._set_all([key, value])

    def _set_items(self, _: Any) -> None:
        self._set_all(self._to_mark())

    def _set_all(self, values: list[Any]) -> None:
        if not all(isinstance(key, str) and len(key) <= LONGEST_KEY for key in values[::2]):
            raise _RefusedError(message("a key of a dict is not a string of up to {:,} characters", LONGEST_KEY))
        self._top(dict).update(zip(values[::2], values[1::2], strict=True))

    def _global(self, name: str) -> None:
        self._name(*name.split(" ", 1))

    def _stack_global(self, _: Any) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._name(module, name)

    def _name(self, module: Any, name: Any) -> None:
        if not (isinstance(module, str) and isinstance(name, str)):  # not shown: they may be as deep as the stream
            raise _RefusedError(message("what stands for a class is not its name"))
        if (module, name) not in self._allowed:
            raise _RefusedError(
                message(
                    "expected a CRF of sklearn-crfsuite and nothing else, got a pickle that names {}, which "
                    "was not imported; pickle the CRF by itself",
                    shown_value(f"{module:.60}.{name:.60}")[1:-1],
                )
            )
        self._stack.append(_Name((module, name)))

    def _make(self, _: Any) -> None:
        arguments, what = self._stack.pop(), self._stack.pop()
        if not isinstance(arguments, tuple) or not isinstance(what, _Name):
            raise _RefusedError(message("expected a name and arguments for an object, got others"))
        self._stack.append(self._bytes_of(arguments) if what.of == ENCODE else Made(what.of, arguments))

    def _bytes_of(self, arguments: tuple[Any, ...]) -> bytes:
        """Encode text as protocol 2 wants it; a text that is made into bytes again and again is refused."""
        if len(arguments) != 2 or not isinstance(arguments[0], str) or arguments[1] != "latin1":
            raise _RefusedError(message("bytes are not encoded as Latin-1"))
        self._affordable -= len(arguments[0])
        if self._affordable < 0:
            raise _RefusedError(
                message("the pickle makes more bytes than it has; it is damaged, or made to fill memory")
            )
        return arguments[0].encode("latin1")

    def _build(self, _: Any) -> None:
        state = self._stack.pop()
        self._top(Made).state = state

    def _top(self, kind: type[Any]) -> Any:
        if not isinstance(self._stack[-1], kind):
            raise _RefusedError(
                message("expected a {} to go on with, got {}", kind.__name__.lower(), type(self._stack[-1]).__name__)
            )
        return self._stack[-1]


def _nothing(walk: _Walk, argument: Any) -> None:
    """Protocol, frames and the end say nothing about values."""


_ACTIONS: dict[str, Callable[[_Walk, Any], None]] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), _nothing),
    "MARK": _Walk._mark,
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _Walk._put),
    "MEMOIZE": _Walk._memoize,
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Walk._get),
    "EMPTY_LIST": _Walk._list,
    "EMPTY_DICT": _Walk._dict,
    "EMPTY_TUPLE": lambda walk, _: walk._short_tuple(0),
    "TUPLE1": lambda walk, _: walk._short_tuple(1),
    "TUPLE2": lambda walk, _: walk._short_tuple(2),
    "TUPLE3": lambda walk, _: walk._short_tuple(3),
    "TUPLE": _Walk._tuple,
    "APPEND": _Walk._append,
    "APPENDS": _Walk._appends,
    "SETITEM": _Walk._set_item,
    "SETITEMS": _Walk._set_items,
    "GLOBAL": _Walk._global,
    "STACK_GLOBAL": _Walk._stack_global,
    "NEWOBJ": _Walk._make,
    "REDUCE": _Walk._make,
    "BUILD": _Walk._build,
}
