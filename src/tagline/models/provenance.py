"""Where a model comes from: when it was trained, on which sentences, how training went.

`fingerprint` is the same for the same sentences and labels, whether they came as a corpus, as lists or as a table: a
hash of the distinct strings of each column, in the order of the tokens, and of where sentences begin.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.readers.corpus import TAG, Column, Corpus

EPOCH = "SOURCE_DATE_EPOCH"  # seconds since 1970 that stand for now: reproducible-builds.org
MOST_PASSES = 500  # kept of a training log
DIGITS = 7  # of its numbers
HASH_BYTES = 8


def now() -> str:
    """Return the time in UTC, as ``2026-11-16T18:00:00Z``; that of `SOURCE_DATE_EPOCH` where it is set.

    Where that is no number the time is left out: it was meant to be reproducible.
    """
    stated = os.environ.get(EPOCH)
    try:
        moment = datetime.now(UTC) if stated is None else datetime.fromtimestamp(int(stated), UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def compact_log(passes: Iterable[Any]) -> tuple[tuple[Any, ...], ...]:
    """Return (number, objective, dev score or None) of passes; of more than `MOST_PASSES`, some of them and the last.

    Seconds are left out: they differ from run to run.
    """
    rows = [(int(done.number), _short(done.objective), _short(done.dev_score)) for done in passes]
    step = -(-len(rows) // MOST_PASSES) or 1
    return tuple(row for n, row in enumerate(rows) if n % step == 0 or n == len(rows) - 1)


def _short(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.{DIGITS}g}")


def log_line(log: Sequence[Sequence[Any]]) -> str:
    """Say in one line how training went."""
    known = [row for row in log if row[1] is not None]
    text = message("{} passes", log[-1][0])
    if known:
        text = message("{}, objective {:g} → {:g}", text, known[0][1], known[-1][1])
    scores = [row for row in log if row[2] is not None]
    if scores:
        best = max(scores, key=lambda row: row[2])
        text = message(
            "{}, dev {:.4f} → {:.4f}, best {:.4f} after pass {}", text, scores[0][2], scores[-1][2], best[2], best[0]
        )
    return text


def check_notes(notes: Any) -> dict[str, str]:
    """Return a user's notes by their names, or say what they should be."""
    if not isinstance(notes, Mapping) or not all(isinstance(key, str) and key for key in notes):
        raise InputError("notes: expected a dict of names and texts, got {}", shown_value(notes))
    return {key: str(value) for key, value in notes.items()}


def parse_note(text: str) -> tuple[str, str]:
    """Read ``key=value``.

    >>> parse_note("data=news of 2026")
    ('data', 'news of 2026')
    """
    key, mark, value = text.partition("=")
    if not mark or not key.strip():
        raise InputError("--note: expected key=value, got {!r}", text)
    return key.strip(), value


# The fingerprint.


def count_tokens(X: Any) -> int:
    """Return how many tokens there are, where that can be told; else 0."""
    if hasattr(X, "num_tokens"):
        return int(X.num_tokens)
    if isinstance(X, np.ndarray):
        return len(X)
    return sum(len(x) for x in X) if isinstance(X, list | tuple) and all(hasattr(x, "__len__") for x in X) else 0


class Printer:
    """Makes the fingerprint of sentences that come block by block."""

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {}

    def add(self, block: Corpus) -> None:
        """Add sentences, and their tags where they have any."""
        places = [name for name in block.names if name != TAG]
        for c, name in enumerate(places):
            self.add_column(f"column {c}", block.columns[name])
        self.add_bytes("lengths", block.lengths.tobytes())
        if TAG in block.columns:
            self.add_column(TAG, block.columns[TAG])

    def add_column(self, name: str, column: Column) -> None:
        """Add strings, one a token."""
        hashes = (
            blake2b((word if isinstance(word, str) else repr(word)).encode("utf-8", "surrogatepass"), digest_size=8)
            for word in column.vocabulary
        )
        table = np.array([int.from_bytes(hashed.digest(), "little") for hashed in hashes], np.uint64)
        self.add_bytes(name, table[column.ids].tobytes())

    def add_bytes(self, name: str, data: bytes | memoryview) -> None:
        """Add to one of the strands that the fingerprint is made of."""
        self._columns.setdefault(name, sha256()).update(data)  # of hashlib's, processors have instructions for this one

    def hexdigest(self, before: str = "") -> str:
        """Return the fingerprint."""
        whole = blake2b(before.encode(), digest_size=HASH_BYTES)
        for name in sorted(self._columns):
            whole.update(name.encode() + self._columns[name].digest())
        return whole.hexdigest()


def fingerprint(X: Any, y: Any = None, lengths: Any = None, before: str = "") -> str:
    """Return 16 hexadecimal digits for sentences and their labels.

    Arguments:
        X: a `Corpus`, lists of tokens, lists of features, arrays, or a compiled corpus, which knows its own.
        y: labels; those of the corpus where left out.
        lengths: of the sentences, where X is one array.
        before: the fingerprint of what was learned from before.

    >>> corpus = Corpus.from_sentences([(["Anna", "sings"], ["N", "V"])])
    >>> fingerprint(corpus) == fingerprint([["Anna", "sings"]], [["N", "V"]])
    True
    """
    printer = Printer()
    if isinstance(X, Corpus):
        printer.add(X if y is None else X.with_columns({k: v for k, v in X.columns.items() if k != TAG}))
    elif isinstance(X, list | tuple | np.ndarray):
        _add_rows(printer, X)
        if lengths is not None:
            printer.add_bytes("lengths", np.asarray(lengths, np.int64).tobytes())
    else:
        return str(getattr(X, "fingerprint", ""))
    if y is not None:
        _add_labels(printer, y)
    return printer.hexdigest(before)


def _add_rows(printer: Printer, X: Any) -> None:
    """Add sentences: of strings as a corpus of them, of anything else by what stands there."""
    if isinstance(X, np.ndarray) and X.dtype != object:
        printer.add_bytes("array", _shape(X))
        printer.add_bytes("array", np.ascontiguousarray(X).reshape(-1).view(np.uint8).data)
    elif isinstance(X, np.ndarray):
        printer.add_bytes("array", _bytes(X))
    elif all(isinstance(x, list | tuple) and all(isinstance(token, str) for token in x) for x in X):
        words = Column.of(token for x in X for token in x)
        printer.add(Corpus({"words": words}, offsets_of([len(x) for x in X])))
    else:
        for x in X:
            printer.add_bytes("tokens", _bytes(x))


def _add_labels(printer: Printer, y: Any) -> None:
    """Add labels one after the other; where sentences begin is known already."""
    rows = y.tolist() if isinstance(y, np.ndarray) else y
    if not isinstance(rows, list | tuple):
        return
    flat: list[Any] = []
    for row in rows:
        listed = row.tolist() if isinstance(row, np.ndarray) else row
        flat.extend(listed if isinstance(listed, list | tuple) else [listed])
    printer.add_column(TAG, Column.of(label if isinstance(label, str) else repr(_ordered(label)) for label in flat))


def _bytes(x: Any) -> bytes:
    """A sentence as bytes that are the same in every process."""
    if isinstance(x, np.ndarray) and x.dtype != object:
        return _shape(x) + np.ascontiguousarray(x).tobytes()
    tokens = x.tolist() if isinstance(x, np.ndarray) else x
    plain = [_ordered(token) for token in tokens] if isinstance(tokens, list | tuple) else tokens
    try:
        return marshal.dumps(plain, 0)  # the oldest form: it does not tell apart which strings are shared
    except ValueError:  # an object of another library
        return repr(plain).encode("utf-8", "surrogatepass")


def _shape(x: NDArray[Any]) -> bytes:
    return f"{x.dtype.str}{x.shape}".encode()


def _ordered(value: Any) -> Any:
    """Sets have an order of their own in every process."""
    return sorted(value, key=repr) if isinstance(value, set | frozenset) else value
