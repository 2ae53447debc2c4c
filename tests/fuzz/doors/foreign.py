"""Doors for other tools' files: pickles, Parquet, and models of every format rewritten as those of every other."""

from __future__ import annotations

import contextlib
import io
import pickle
import pickletools
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tagline import CRF, MEMM, MaxEnt, readers
from tagline.errors import TaglineError
from tagline.features.templates.template import Template
from tagline.interop.formats import TAGLINE, WRITTEN, read_model, write_model
from tagline.readers.sources import open_source
from tests.fuzz.doors.base import Door, ensure, one_in
from tests.fuzz.doors.files import ITEMS, TAGS, TEMPLATE, WORDS
from tests.fuzz.mutation import mutated

FORMS = (TAGLINE, *WRITTEN)
LARGEST_BOMB = 1 << 18  # bytes: fewer could not take what a find takes, each of half of them copied by the others
OPCODES = [opcode.code.encode("latin1") for opcode in pickletools.opcodes]


def _text(text: bytes) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text


class Pickles(Door):
    """Pickles of sklearn-crfsuite: damaged ones, and streams that ask for as much as they can."""

    name = "pickles"
    words = (
        *OPCODES,
        *(b"h\x00", b"h\x01", b"h\x02", b"q\x00", b"\x94", b"h\x00h\x01\x86R", b"h\x00h\x00\x86\x94", b"(h\x00h\x00t"),
        *(b"c_codecs\nencode\n", b"cfractions\nFraction\n", b"cnumpy\ndtype\n", b"\x8c\x03a\nb\x8c\x01c\x93"),
        *(b"\x8b\xff\xff\xff\x7f", b"\x8e" + b"\xff" * 8, b"B\xff\xff\xff\x7f", b"r\xff\xff\xff\xff", b"}h\x00Ns"),
        *(_text(b"latin1"), _text(b"a" * 300), b"]", b"}", b")", b"N\x93"),
    )

    def valid(self) -> list[bytes]:
        from tagline.interop import sklearn_crfsuite

        crf = sklearn_crfsuite.CRF(max_iterations=2).fit(ITEMS, TAGS, ITEMS, TAGS)
        return [pickle.dumps(crf, protocol) for protocol in (2, 3, 4, 5)]

    def draw(self, random: Random) -> bytes:
        return _bomb(random) if random.random() < 0.3 else mutated(random, self.seeds, self.words)

    def use(self, data: bytes) -> None:
        model: Any = read_model(self.file(data))
        ensure(len(model.predict(ITEMS)) == len(ITEMS), "other sentences than were asked about")


def _bomb(random: Random) -> bytes:
    """A stream whose values are used again and again, and what it is used in."""
    names = random.choice((b"c_codecs\nencode\n", b"cfractions\nFraction\n", b"cnumpy\ndtype\n"))
    size = random.choice((0, 1, 100, 10_000, 130_000))
    head = b"\x80\x02" + names + b"q\x00" + _text(b"a" * size) + b"q\x01" + _text(b"latin1") + b"q\x02"
    part = b"".join(
        random.choice((b"h\x00", b"h\x01", b"h\x02", b"N", b"]", b"}", b")", b"(", b"t", b"\x85", b"\x86", b"\x94"))
        for _ in range(random.randrange(6))
    )
    kinds = (
        b"h\x00h\x01h\x02\x86R",
        part + b"h\x00)R",
        b"".join(b"h%ch%c\x86q%c" % (k, k, k + 1) for k in range(2, 40)),
        part,
        b"]h\x01a",
        b"}h\x02h\x01s",
    )
    body = random.choice(kinds) * random.choice((1, 20, 1000, LARGEST_BOMB // 16))
    tail = random.choice((b".", b"t.", b"N\x93.", b"\x93.", b"b.", b"e.", b"u.", b"R."))
    return (head + random.choice((b"", b"(", b"]", b"]("))) + body[: LARGEST_BOMB // 2] + tail


class ParquetFiles(Door):
    """Parquet files: damaged ones, and few bytes that stand for many values."""

    name = "parquet"
    needs = ("pyarrow",)

    def valid(self) -> list[bytes]:
        import pyarrow as arrow

        rows = [{"tokens": words, "tags": tags} for words, tags in zip(WORDS, TAGS, strict=True)]
        spans = [{"text": " ".join(words), "spans": [["0", "1"]], "n": {"a": 1.5, "b": ["x"]}} for words in WORDS]
        maps = arrow.table({"tokens": WORDS, "m": arrow.array([[("k", "v")]] * 5, arrow.map_("string", "string"))})
        tables = [arrow.Table.from_pylist(rows * 20), arrow.Table.from_pylist(spans), maps]
        return [
            _parquet(table, compression=compression, row_group_size=size, data_page_version=version)
            for table in tables
            for compression, size, version in (("none", 7, "1.0"), ("zstd", 1000, "1.0"), ("snappy", 50, "2.0"))
        ]

    def draw(self, random: Random) -> bytes:
        bomb = *random.choice(BOMBS), random.choice((0, 1, 100)), random.choice(("tokens", "text", "a" * 1000))
        seed = _parquet_bomb(*bomb) if random.random() < 0.04 else random.choice(self.seeds)
        return seed if random.random() < 0.05 else mutated(random, [seed])

    def use(self, data: bytes) -> None:
        path = self.file(data, "input.parquet")
        with open_source(path) as stream:
            stream.read(1 << 20)  # what unpacks within the limits is no find, but takes its time
        if one_in(2, data) and b"a" * 1000 not in data:
            readers.read(path)


def _parquet(table: Any, **settings: Any) -> bytes:
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(table, stream, **settings)
    return stream.getvalue()


BOMBS = ((300_000, 3), (10**5, 3000), (4000, 10**6), (1, 10), (300_000, 20))
"""Rows, and letters of the text that all of them have."""


@cache
def _parquet_bomb(rows: int, letters: int, sentences: int, name: str) -> bytes:
    """A column of one text; or of so many sentences, if any."""
    import numpy as np
    import pyarrow as arrow

    codes = arrow.array(np.zeros(rows, np.int32))
    column: Any = arrow.DictionaryArray.from_arrays(codes, arrow.array(["a" * letters]))
    if sentences:
        edges = np.linspace(0, rows, sentences + 1).astype(np.int32)
        column = arrow.ListArray.from_arrays(arrow.array(edges), column)
    return _parquet(arrow.table({name: column}), compression="zstd")


class Conversions(Door):
    """Model files of every format, damaged, written as files of every other; the first byte says which."""

    name = "conversions"
    ways = 1
    words = (
        *(
            b"lCRF",
            b"FOMC",
            b"#mdl#2#9\n",
            b"#rdr#1/0/0\n",
            b"#qrk#3\n",
            b"5:u:abc,\n",
            b"1=0x1p+0\n",
            b"version: 100\n",
        ),
        *(b"cost-factor: 1\n", b"maxid: 9\n", b"xsize: 1\n", b"U00:%x[0,0]\n", b"B\n", b"\0", b"\xff\xff\xff\xff"),
        *(b"u:%x[0,0]", b"*:%x[-1,0]", b'u:%m[0,0,"^.."]', b"_x-1", b"_B-1"),
    )

    def valid(self) -> list[bytes]:
        plain: dict[str, Any] = {"scheme": None, "start_end": False, "max_iterations": 2}
        patterns = Template.parse('u:%x[0,0]\n*:%m[0,0,"^.."]\nb\n', "patterns", "wapiti")
        models = [
            CRF(TEMPLATE, **plain).fit(WORDS, TAGS),
            CRF("U00:%x[0,0]\nB\n", **plain).fit(WORDS, TAGS),
            CRF(patterns, **plain).fit(WORDS, TAGS),
            CRF(**plain).fit(ITEMS, TAGS),
            MEMM(TEMPLATE, **plain).fit(WORDS, TAGS),
            MaxEnt("U0:%x[0,0]\n", **plain).fit(WORDS, TAGS),
        ]
        files = []
        for model in models:
            for form in FORMS:
                with contextlib.suppress(TaglineError):
                    write_model(model, f"{self.scratch}/seed", form)
                    files.append(Path(self.scratch, "seed").read_bytes())
        return files

    def draw(self, random: Random) -> bytes:
        return bytes([random.randrange(len(FORMS))]) + mutated(random, self.seeds, self.words)

    def use(self, data: bytes) -> None:
        form = FORMS[data[0] % len(FORMS)] if data else TAGLINE
        model = read_model(self.file(data[1:]))
        try:
            write_model(model, f"{self.scratch}/again", form)
            again = read_model(f"{self.scratch}/again")
            ensure(sorted(again.labels_) == sorted(model.labels_), "other labels after writing and reading")
        finally:
            self.remove("again")
        if form == TAGLINE:
            X = _sentences(model)
            ensure(again.predict(X) == model.predict(X), "other answers after writing and reading")


def _sentences(model: Any) -> Sequence[Any]:
    return WORDS if model._extraction.template is not None else ITEMS


DOORS = (Pickles, ParquetFiles, Conversions)
