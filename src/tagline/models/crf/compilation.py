"""Training data that do not fit into memory: expanded once, block by block, into a file that training maps.

A compiled corpus holds the numbered attributes and labels of every token; `CRF.fit` takes it in place of sentences.
What training reads in each pass is laid out in further mapped files beside it (`Likelihood`, scratch), so that memory
holds the weights and the names, not the sentences.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagline import storage
from tagline.errors import InputError, StorageError
from tagline.features.attributes import Attributes, Features
from tagline.features.vocabulary import Vocabulary
from tagline.models.crf.extraction import Extraction, Way
from tagline.models.labelled import LabelledTokens, read_labels
from tagline.models.provenance import Printer
from tagline.readers.columns import iter_columns
from tagline.readers.corpus import Corpus

KIND = "compiled corpus"


@dataclass(frozen=True, eq=False)
class CompiledCorpus:
    """Features and labels of sentences, mapped from a file.

    Attributes:
        path: the file.
        features: numbered attributes.
        states, edges: their names; None where they are hashed, or where there are none.
        labelled: the labels.
        template: the text of the template; None where features came otherwise.
        fingerprint: of sentences and labels; empty in files of 0.1.0.
    """

    path: Path
    features: Features
    states: Vocabulary | None
    edges: Vocabulary | None
    labelled: LabelledTokens
    template: str | None
    fingerprint: str = ""

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> CompiledCorpus:
        """Map a compiled corpus; nothing is read yet."""
        file = storage.read(path, verify=False)
        config, tensors = file.config, file.tensors
        if config.get("kind") != KIND:
            raise StorageError(f"{path}: expected a compiled corpus, got a {config.get('kind', 'model')} file")
        try:
            states = _attributes(tensors, "state")
            edges = _attributes(tensors, "edge") if "edge_offsets" in tensors else None
            features = Features(tensors["bounds"], states, edges)
            labels = tuple(config["labels"])
            ids = tensors["labels"]
            names = {kind: _names(tensors, kind) for kind in ("state", "edge")}
            _check(features, ids, len(labels), names)
        except (KeyError, TypeError) as error:
            raise StorageError(f"{path}: expected a complete compiled corpus, got one without {error}") from None
        except InputError as error:
            raise StorageError(f"{path}: {error}; compile it again") from None
        labelled = LabelledTokens(labels, ids, {}, features.offsets)
        rest = config.get("template"), str(config.get("fingerprint", ""))
        return cls(Path(path), features, names["state"], names["edge"], labelled, *rest)

    def check_use(self, extraction: Extraction, *, fresh: bool, min_frequency: float) -> None:
        """Refuse training with other features than it was compiled with, or in a way that needs the sentences."""
        template = None if extraction.template is None else extraction.template.text
        if template != self.template or (extraction.hash_bits is None) != (self.states is not None):
            raise InputError(f"features: expected those that {self.path} was compiled with, got others; compile anew")
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
    """
    extraction = Extraction(features, hash_bits)
    if extraction.template is None and extraction.function is None:
        raise InputError("features: expected a template or a function for sentences of tokens, got None")
    blocks = iter_columns(source) if isinstance(source, str | os.PathLike) else iter(source)
    target = Path(path)
    with tempfile.TemporaryDirectory(dir=target.parent or ".", prefix=f".{target.name}-") as folder:
        parts, printer = _Parts(Path(folder)), Printer()
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
def scratch_folder(X: Any) -> Iterator[Path | None]:
    """A folder beside a compiled corpus while it is trained on; None for anything else."""
    if not isinstance(X, CompiledCorpus):
        yield None
        return
    with tempfile.TemporaryDirectory(dir=X.path.parent, prefix=f".{X.path.name}-") as folder:
        yield Path(folder)


def _append_all(
    blocks: Iterator[Corpus],
    extraction: Extraction,
    parts: _Parts,
    printer: Printer,
    progress: Callable[[int], None] | None,
) -> tuple[Vocabulary | None, Vocabulary | None, list[str]]:
    states: Vocabulary | None = None
    edges: Vocabulary | None = None
    labels: dict[str, int] = {}
    total = 0
    for block in blocks:
        built = extraction.build(block)
        printer.add(block)
        states = built.states if states is None else states.extended(built.states or ())
        if built.edges is not None:
            edges = built.edges if edges is None else edges.extended(built.edges)
        features = extraction.look_up(block, (states, edges)).features
        labelled = read_labels(block, None)
        table = np.array([labels.setdefault(label, len(labels)) for label in labelled.labels], np.int32)
        parts.append("bounds", features.offsets[1:] + total, np.int64)
        parts.append("labels", table[labelled.ids], np.int32)
        for kind, attributes in (("state", features.states), ("edge", features.edges)):
            if attributes is None:
                continue
            parts.append(f"{kind}_offsets", attributes.offsets[1:] + parts.size(f"{kind}_ids"), np.int64)
            parts.append(f"{kind}_ids", attributes.ids, np.int32)
            _append_values(parts, kind, attributes)
        total += features.num_tokens
        if progress is not None:
            progress(total)
    if not total:
        raise InputError("source: expected sentences, got none")
    return states, edges, list(labels)


def _append_values(parts: _Parts, kind: str, attributes: Attributes) -> None:
    """Add the values of a block; where some block has any, blocks without have ones."""
    name, count = f"{kind}_values", len(attributes.ids)
    if attributes.values is None and not parts.has(name):
        return
    if not parts.has(name):
        parts.append(name, np.ones(parts.size(f"{kind}_ids") - count), np.float32)
    parts.append(name, np.ones(count) if attributes.values is None else attributes.values, np.float32)


class _Parts:
    """Arrays that grow on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, tuple[IO[bytes], np.dtype[Any]]] = {}

    def append(self, name: str, values: NDArray[Any], dtype: DTypeLike) -> None:
        if name not in self.files:
            self.files[name] = (open(self.folder / name, "wb"), np.dtype(dtype))  # noqa: SIM115 (closed in arrays)
            if name == "bounds" or name.endswith("_offsets"):
                self.append(name, np.zeros(1), dtype)
        np.ascontiguousarray(values, dtype).tofile(self.files[name][0])

    def has(self, name: str) -> bool:
        return name in self.files

    def size(self, name: str) -> int:
        if name not in self.files:
            return 0
        file, dtype = self.files[name]
        return file.tell() // dtype.itemsize

    def arrays(self) -> dict[str, NDArray[Any]]:
        out: dict[str, NDArray[Any]] = {}
        for name, (file, dtype) in self.files.items():
            size = file.tell()
            file.close()
            out[name] = np.memmap(self.folder / name, dtype, "r") if size else np.empty(0, dtype)
        return out


def _attributes(tensors: dict[str, NDArray[Any]], kind: str) -> Attributes:
    return Attributes(tensors[f"{kind}_offsets"], tensors[f"{kind}_ids"], tensors.get(f"{kind}_values"))


def _names(tensors: dict[str, NDArray[Any]], kind: str) -> Vocabulary | None:
    prefix = f"{kind}_names."
    arrays = {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
    return Vocabulary.from_arrays(arrays) if arrays else None


def _check(features: Features, labels: NDArray[Any], L: int, names: dict[str, Vocabulary | None]) -> None:
    """Refuse arrays that do not fit each other; their contents are checked where they are used."""
    N = len(labels)
    for name, array, kind in (
        ("bounds", features.offsets, np.int64),
        ("labels", labels, np.int32),
        ("state_offsets", features.states.offsets, np.int64),
        ("state_ids", features.states.ids, np.int32),
    ):
        if array.ndim != 1 or array.dtype != kind:
            raise InputError(f"{name}: expected one axis of {np.dtype(kind)}, got {array.dtype} {list(array.shape)}")
    if not len(features.offsets) or features.offsets[-1] != N or features.states.num_tokens != N:
        raise InputError(f"bounds: expected {N} tokens, as many as there are labels, got another number")
    if N and (labels.min() < 0 or labels.max() >= L):
        raise InputError(f"labels: expected numbers from 0 to {L - 1}, got others")
