"""Training data that do not fit into memory: expanded once, block by block, into a file that training maps.

A compiled corpus holds the numbered attributes and labels of every token; `CRF.fit` takes it in place of sentences.
What training reads in each pass is laid out in further mapped files beside it (`Likelihood`, scratch), so that memory
holds the weights and the names, not the sentences.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagline import storage
from tagline.checks import is_listing, shown_value
from tagline.errors import InputError, StorageError
from tagline.features.attributes import Attributes, Features
from tagline.features.expansion import MOST_HASH_BITS
from tagline.features.vocabulary import Vocabulary
from tagline.messages import message
from tagline.models.crf.extraction import Extraction, Way
from tagline.models.files import bad_file, labels_of, optional, reading
from tagline.models.labelled import LabelledTokens, read_labels
from tagline.models.provenance import Printer
from tagline.readers.columns import iter_columns
from tagline.readers.corpus import Corpus
from tagline.readers.sources import checked_path
from tagline.storage import ModelFile
from tagline.types import IntArray
from tagline.writing import REMEDIES, scratch_folder

KIND = "compiled corpus"
BLOCK = 1 << 20  # entries of an array that are checked at once


@dataclass(frozen=True, eq=False)
class CompiledCorpus:
    """Features and labels of sentences, mapped from a file.

    Attributes:
        path: the file.
        features: numbered attributes.
        states, edges: their names; None where they are hashed, or where there are none.
        labelled: the labels.
        template: the text of the template; None where features came otherwise.
        hash_bits: of the numbers of attributes; None where they have names.
        fingerprint: of sentences and labels; empty in files of 0.1.0.

    >>> import tempfile
    >>> import tagline
    >>> from tagline.datasets import make_entities
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tagline.compile_corpus([make_entities(20)], f"{folder}/corpus", "english_ner").path
    ...     compiled = tagline.CompiledCorpus.open(path)
    >>> len(compiled), compiled.num_tokens
    (20, 278)
    """

    path: Path
    features: Features
    states: Vocabulary | None
    edges: Vocabulary | None
    labelled: LabelledTokens
    template: str | None
    hash_bits: int | None = None
    fingerprint: str = ""

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> CompiledCorpus:
        """Map a compiled corpus; its arrays are read once, to check them, and not kept in memory."""
        file = storage.read(path, verify=False)
        if (kind := file.config.get("kind")) != KIND:
            got = message("a model file") if kind is None else message("a file of the kind {}", shown_value(kind))
            raise StorageError("{}: expected a compiled corpus, got {}", path, got)
        with reading(file):
            labels, hash_bits = labels_of(file), optional(file, "hash_bits", int)
            if hash_bits is not None and not 1 <= hash_bits <= MOST_HASH_BITS:
                raise bad_file(
                    file,
                    message("hash_bits from 1 to {}, or none", MOST_HASH_BITS),
                    hash_bits,
                )
            ids = _numbers(file, "labels", len(labels))
            names = {kind: _names(file.tensors, kind) for kind in ("state", "edge")}
            counts = {kind: _num_names(file, vocabulary, hash_bits) for kind, vocabulary in names.items()}
            states = _attributes(file, "state", len(ids), counts["state"])
            edges = None
            if "edge_offsets" in file.tensors:
                edges = _attributes(file, "edge", len(ids), counts["edge"])
            features = Features(_offsets(file, "bounds", None, len(ids)), states, edges)
            template = optional(file, "template", str) if "template" in file.config else None
        labelled = LabelledTokens(labels, ids, {}, features.offsets)
        digits = optional(file, "fingerprint", str) if "fingerprint" in file.config else None
        known = names["state"], names["edge"]
        return cls(Path(path), features, *known, labelled, template, hash_bits, digits or "")

    def check_use(self, extraction: Extraction, *, fresh: bool, min_frequency: float) -> None:
        """Refuse training with other features than it was compiled with, or in a way that needs the sentences."""
        if extraction.knowledge:
            raise InputError(
                "X: expected sentences for clusters, vectors and mentions, got a compiled corpus; pass a Corpus"
            )
        template = None if extraction.template is None else extraction.template.text
        has_edges = extraction.template is not None and extraction.template.has_edges
        complete = extraction.template is None or has_edges == (self.features.edges is not None)
        if template != self.template or extraction.hash_bits != self.hash_bits or not complete:
            raise InputError("features: expected those that {} was compiled with, got others; compile anew", self.path)
        if not fresh or min_frequency > 1:
            raise InputError("X: expected sentences for y, warm starts and min_frequency, got a compiled corpus")

    @property
    def num_tokens(self) -> int:
        """N."""
        return self.features.num_tokens

    def __len__(self) -> int:
        return self.features.num_sentences


def compile_corpus(
    source: str | os.PathLike[str] | Iterable[Corpus],
    path: str | os.PathLike[str],
    features: Way,
    *,
    hash_bits: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> CompiledCorpus:
    """Expand a corpus of any size into a file.

    Arguments:
        source: a column file, read block by block; or corpora, one after the other.
        path: the file to write.
        features: as of `CRF`: a template, its name, or a function.
        hash_bits: number attributes by their hash: the names then take no memory.
        progress: called with the number of tokens so far.

    >>> import tempfile
    >>> import tagline
    >>> from tagline.datasets import make_entities
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     compiled = tagline.compile_corpus([make_entities(20), make_entities(10)], f"{folder}/corpus", "english_ner")
    ...     crf = tagline.CRF("english_ner", max_iterations=5).fit(compiled)
    >>> len(compiled), len(crf.labels_)
    (30, 9)
    """
    extraction = Extraction(features, hash_bits)
    if extraction.template is None and extraction.function is None:
        raise InputError("features: expected a template or a function for sentences of tokens, got None")
    extraction.refuse_mentions(message("a compiled corpus"))
    if not isinstance(source, str | os.PathLike) and not is_listing(source):
        raise InputError("source: expected a file or corpora, got {}", shown_value(source))
    blocks: Iterator[Any] = iter_columns(source) if isinstance(source, str | os.PathLike) else iter(source)
    target, printer = Path(checked_path(path)), Printer()
    with (
        _saying_where(target),
        scratch_folder(target) as folder,
        contextlib.closing(GrowingArrays(Path(folder))) as parts,
    ):
        states, edges, labels = _append_all(blocks, extraction, parts, printer, progress)
        config: dict[str, Any] = {"kind": KIND, "labels": labels, "hash_bits": hash_bits}
        config["fingerprint"] = printer.hexdigest()
        if extraction.template is not None:
            config["template"] = extraction.template.text
        tensors = parts.arrays()
        for kind, names in (("state", states), ("edge", edges)):
            if names is not None:
                tensors |= {f"{kind}_names.{name}": array for name, array in names.arrays().items()}
        storage.write(target, config, tensors)
    return CompiledCorpus.open(target)


@contextlib.contextmanager
def folder_beside(X: Any) -> Iterator[Path | None]:
    """A folder beside a compiled corpus while it is trained on; None for anything else."""
    if not isinstance(X, CompiledCorpus):
        yield None
        return
    with _saying_where(X.path), scratch_folder(X.path) as folder:
        yield Path(folder)


@contextlib.contextmanager
def _saying_where(path: Path) -> Iterator[None]:
    """Turn what the disk answers into an error that names the file whose neighbours did not fit."""
    try:
        yield
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        remedy = REMEDIES[error.errno]
        raise StorageError("{}: expected room beside it, got: {}; {}", path, error.strerror, remedy) from error


def _append_all(
    blocks: Iterator[Corpus],
    extraction: Extraction,
    parts: GrowingArrays,
    printer: Printer,
    progress: Callable[[int], None] | None,
) -> tuple[Vocabulary | None, Vocabulary | None, list[str]]:
    states: Vocabulary | None = None
    edges: Vocabulary | None = None
    labels: dict[str, int] = {}
    total = 0
    for block in blocks:
        if not isinstance(block, Corpus):
            raise InputError("source: expected corpora, got {}", shown_value(block))
        built = extraction.build(block)
        printer.add(block)
        features = built.features
        states, by_state = _joined(states, built.states, features.states)
        by_edge = None
        if features.edges is not None:
            edges, by_edge = _joined(edges, built.edges, features.edges)
        labelled = read_labels(block, None)
        table = np.array([labels.setdefault(label, len(labels)) for label in labelled.labels], np.int32)
        parts.append("bounds", features.offsets[1:] + total, np.int64)
        parts.append("labels", table[labelled.ids], np.int32)
        for kind, attributes in (("state", by_state), ("edge", by_edge)):
            if attributes is None:
                continue
            parts.append_attributes(kind, attributes)
        total += features.num_tokens
        if progress is not None:
            progress(total)
    if not total:
        raise InputError("source: expected sentences, got none")
    return states, edges, list(labels)


def _joined(
    known: Vocabulary | None, names: Vocabulary | None, attributes: Attributes
) -> tuple[Vocabulary | None, Attributes]:
    """Add the names of a block to those before it, and number its attributes by them."""
    if names is None or known is None:
        return names, attributes
    listed = names.names()
    known = known.extended(listed)
    return known, replace(attributes, ids=known.find_all(listed)[attributes.ids])


class GrowingArrays:
    """Arrays that grow on disk, by name; those of offsets begin with 0."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, tuple[IO[bytes], np.dtype[Any]]] = {}

    def append(self, name: str, values: NDArray[Any], dtype: DTypeLike) -> None:
        if name not in self.files:
            self.files[name] = (open(self.folder / name, "wb"), np.dtype(dtype))  # noqa: SIM115 (closed below)
            if name == "bounds" or name.endswith("_offsets"):
                self.append(name, np.zeros(1), dtype)
        self.files[name][0].write(np.ascontiguousarray(values, dtype).data)

    def append_attributes(self, kind: str, attributes: Attributes) -> None:
        """Add the attributes of a block of tokens."""
        self.append(f"{kind}_offsets", attributes.offsets[1:] + self.size(f"{kind}_ids"), np.int64)
        self.append(f"{kind}_ids", attributes.ids, np.int32)
        self._append_values(f"{kind}_values", self.size(f"{kind}_ids"), attributes)

    def _append_values(self, name: str, total: int, attributes: Attributes) -> None:
        """Add the values of a block; where some block has any, blocks without have ones."""
        count = len(attributes.ids)
        if attributes.values is None and not self.has(name):
            return
        if not self.has(name):
            self.append(name, np.ones(total - count), np.float32)
        self.append(name, np.ones(count) if attributes.values is None else attributes.values, np.float32)

    def has(self, name: str) -> bool:
        return name in self.files

    def size(self, name: str) -> int:
        if name not in self.files:
            return 0
        file, dtype = self.files[name]
        return file.tell() // dtype.itemsize

    def close(self) -> None:
        for file, _ in self.files.values():
            with contextlib.suppress(OSError):  # of a full disk, which was reported before
                file.close()

    def arrays(self) -> dict[str, NDArray[Any]]:
        out: dict[str, NDArray[Any]] = {}
        for name, (file, dtype) in self.files.items():
            size = file.tell()
            file.close()
            out[name] = np.memmap(self.folder / name, dtype, "r") if size else np.empty(0, dtype)
        return out


# Arrays of a file, each checked whole: training trusts them. Blocks keep memory bounded.


def _attributes(file: ModelFile, kind: str, num_tokens: int, num_names: int) -> Attributes:
    ids = _numbers(file, f"{kind}_ids", num_names)
    offsets = _offsets(file, f"{kind}_offsets", num_tokens + 1, len(ids))
    values = None
    if f"{kind}_values" in file.tensors:
        values = file.tensor(f"{kind}_values", np.float32, len(ids))
        if not all(np.isfinite(block).all() for block in _blocks(values)):
            raise bad_file(file, message("finite numbers in {}_values", kind), message("others"))
    return Attributes(offsets, ids, values)


def _numbers(file: ModelFile, name: str, count: int) -> NDArray[np.int32]:
    """Numbers from 0 to count − 1."""
    numbers = file.tensor(name, np.int32, None)
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < count):
        raise bad_file(
            file,
            message("numbers from 0 to {} in {}", count - 1, name),
            message("{} to {}", numbers.min(), numbers.max()),
        )
    return numbers


def _offsets(file: ModelFile, name: str, count: int | None, last: int) -> IntArray:
    """Offsets that rise from 0 to `last`."""
    offsets = file.tensor(name, np.int64, count)
    rising = all((block[1:] >= block[:-1]).all() for block in _blocks(offsets))
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != last or not rising:
        raise bad_file(file, message("{} that rise from 0 to {}", name, last), message("others"))
    return offsets


def _blocks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Parts of an array, each with the first entry of the next."""
    return (array[first : first + BLOCK + 1] for first in range(0, len(array), BLOCK))


def _names(tensors: dict[str, NDArray[Any]], kind: str) -> Vocabulary | None:
    prefix = f"{kind}_names."
    arrays = {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
    return Vocabulary.from_arrays(arrays) if arrays else None


def _num_names(file: ModelFile, names: Vocabulary | None, hash_bits: int | None) -> int:
    """How many numbers attributes may have."""
    if names is not None and hash_bits is not None:
        raise bad_file(file, message("names of attributes or hash_bits"), message("both"))
    if names is not None:
        return len(names)
    return 0 if hash_bits is None else 1 << hash_bits
