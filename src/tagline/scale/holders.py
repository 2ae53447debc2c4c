"""What a worker does: it compiles its lanes of a corpus to its own disk, holds them there, and answers with sums.

A holder knows its lanes from the start; everything else comes with each question (`Numbering`, `Plan`). So one that
takes the place of one that was lost answers the same: it finds the compiled lanes on its disk, or makes them again.
Nothing here knows Ray.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagline import compiled
from tagline.errors import InputError, NoPathError, StorageError
from tagline.features.attributes import Attributes, Features
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import Labels, Structure, structure_of
from tagline.models.crf.compilation import CompiledCorpus, GrowingArrays, compile_corpus
from tagline.models.crf.extraction import Way
from tagline.models.labelled import weighted
from tagline.ragged import offsets_of
from tagline.readers.corpus import Corpus
from tagline.readers.rules import Rules
from tagline.readers.training_files import LabelledFiles
from tagline.scale.shards import Shard, at_node, read_shard
from tagline.scale.surveys import Piece, Settlement
from tagline.training.lanes import Branch, branches
from tagline.training.likelihood import Likelihood, Part, Targets
from tagline.types import Float64Array, IntArray
from tagline.writing import scratch_folder

SPARSE = 1 / 3  # share of sums that are not 0 up to which they are sent with their places: half the bytes or less


@dataclass(frozen=True, eq=False)
class Job:
    """What a holder is made for.

    Attributes:
        run: a name that is the same for the same corpus and features.
        lanes: which sentences each of its lanes has.
        first: the number of its first lane.
        files, settlement: how shards are read, and which sentences of them are learned from.
        way, hash_bits: how features are made.
        scratch: a folder on the worker's disk; None for that of temporary files.
        threads: of the worker.
    """

    run: str
    lanes: tuple[tuple[Piece, ...], ...]
    first: int
    files: LabelledFiles
    settlement: Settlement
    way: Way
    hash_bits: int | None = None
    scratch: str | None = None
    threads: int = 1


@dataclass(frozen=True, eq=False)
class Names:
    """Attributes of some lanes, in the order of their first use, and how often each occurs; no names if hashed."""

    states: Vocabulary | None
    state_counts: IntArray
    edges: Vocabulary | None
    edge_counts: IntArray


@dataclass(frozen=True, eq=False)
class Numbering:
    """The numbers of all attributes, and which pairs get weights.

    Attributes:
        states, edges: names; None where they are hashed, or where there are none.
        num_states, num_edges: how many.
        shape: further arguments of `structure_of`.
        chained: whether edges count.
    """

    states: Vocabulary | None
    edges: Vocabulary | None
    num_states: int
    num_edges: int
    shape: dict[str, Any]
    chained: bool = True


@dataclass(frozen=True, eq=False)
class Plan:
    """All that a holder must know to evaluate.

    Attributes:
        numbering, structure, rules: as in one process.
        counts: how often each state attribute occurs in the whole corpus.
        tokens: of the whole corpus.
        precision, local: of the likelihood.
        label_weights: how much sentences with a label count; None for all the same.
    """

    numbering: Numbering
    structure: Structure
    rules: Rules | None
    counts: IntArray
    tokens: int
    precision: str
    local: bool
    label_weights: dict[str, float] | None = None


@dataclass(frozen=True, eq=False)
class Sums:
    """What lanes of a branch add up to.

    Attributes:
        branch: which lanes.
        value: their negative log-likelihood.
        places: of the entries that may differ from 0; None for all.
        entries: the numbers there.
    """

    branch: Branch
    value: float
    places: IntArray | None
    entries: Float64Array

    @classmethod
    def of(cls, branch: Branch, value: float, vector: Float64Array) -> Sums:
        """Leave zeros out where that is smaller."""
        places = np.flatnonzero(vector)
        if len(places) > SPARSE * len(vector):
            return cls(branch, value, None, vector)
        kind = np.uint32 if len(vector) <= 2**32 else np.int64
        return cls(branch, value, places.astype(kind), vector[places])

    def joined(self, right: Sums) -> Sums:
        """Add up this branch and its neighbour to the right."""
        if self.places is not None and right.places is not None:
            places = np.union1d(self.places, right.places)
            entries = np.zeros(len(places))
            entries[np.searchsorted(places, self.places)] = self.entries
            entries[np.searchsorted(places, right.places)] += right.entries
            return Sums(self.branch.parent, self.value + right.value, places, entries)
        size = len(self.entries if self.places is None else right.entries)
        total = self.dense(size) + right.dense(size)
        return Sums(self.branch.parent, self.value + right.value, None, total)

    def dense(self, size: int) -> Float64Array:
        """Return all entries, zeros too."""
        if self.places is None:
            return self.entries
        out = np.zeros(size)
        out[self.places] = self.entries
        return out


def branches_of(job: Any) -> list[Branch]:
    """Return the branches of the tree that the lanes of a holder make."""
    return list(branches(job.first, job.first + len(job.lanes)))


class Holder:
    """Some lanes of a corpus, compiled.

    Arguments:
        job: which lanes, and how they are compiled.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        compiled.set_threads(job.threads)
        self._folder = Path(job.scratch or tempfile.gettempdir()) / f"tagline-{job.run}"
        self._lanes: list[CompiledCorpus | None] | None = None
        self._plan: tuple[str, Plan, Likelihood] | None = None
        self._held = contextlib.ExitStack()
        self.compiled_anew = 0

    # Questions, in the order in which they are asked.

    def names(self) -> Names:
        """Number and count the attributes of all lanes."""
        with at_node():
            parts: list[Any] = []
            for kind in ("states", "edges"):
                names: Vocabulary | None = None
                counts = np.zeros(0, np.int64)
                for lane in self._compiled():
                    attributes = None if lane is None else getattr(lane.features, kind)
                    if lane is None or attributes is None:
                        continue
                    names, numbers = _extended(names, getattr(lane, kind))
                    more = np.bincount(attributes.ids, minlength=0 if numbers is None else len(numbers))
                    counts = added(counts, more, numbers)
                parts += [names, counts]
            return Names(*parts)

    def structure(self, numbering: Numbering) -> Structure:
        """Say which weights the sentences of all lanes ask for."""
        with at_node(), self._numbered(numbering) as (features, labels):
            n = numbering
            L = len(self.job.settlement.labels)
            return structure_of(features, labels, L, n.num_states, num_edges=n.num_edges, **n.shape)

    def observed(self, key: str, plan: Plan) -> list[Sums]:
        """Count how often the labels use each weight."""
        with at_node():
            core = self._likelihood(key, plan).core
            return [Sums.of(branch, 0.0, core.observed_by(*self._own(branch))) for branch in self.branches]

    def expected(self, key: str, plan: Plan, weights: Float64Array, curvature: bool) -> list[Sums]:
        """Return the negative log-likelihood at these weights, and what the model expects of each."""
        with at_node():
            core = self._likelihood(key, plan).core
            try:
                answers = [core.expected(weights, curvature, *self._own(branch)) for branch in self.branches]
            except compiled.require().NoPath as error:
                raise NoPathError(
                    "sentence {} of lanes {} and following: expected a labelling that the rules allow, got none",
                    error,
                    self.job.first,
                ) from None
            return [Sums.of(branch, *answer) for branch, answer in zip(self.branches, answers, strict=True)]

    def likelihood(self, key: str, plan: Plan) -> tuple[Likelihood, list[IntArray]]:
        """Return the likelihood of all lanes, and the sentences of each in it."""
        likelihood = self._likelihood(key, plan)
        sizes = [0 if lane is None else len(lane) for lane in self._compiled()]
        ends = np.cumsum(sizes)
        return likelihood, [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]

    def close(self, keep: bool = False) -> None:
        """Remove what lies on the disk; the compiled lanes stay where they are to be kept."""
        self._plan, self._lanes = None, None
        self._held.close()
        if not keep:
            for k in range(len(self.job.lanes)):
                with contextlib.suppress(OSError):
                    os.unlink(self._path(k))
        with contextlib.suppress(OSError):
            self._folder.rmdir()  # where nobody else has files in it

    @property
    def branches(self) -> list[Branch]:
        """The branches of the tree that its lanes make."""
        return branches_of(self.job)

    def _own(self, branch: Branch) -> tuple[int, int]:
        return branch.first - self.job.first, branch.count

    # Lanes on disk.

    def _path(self, k: int) -> Path:
        return self._folder / f"lane-{self.job.first + k}.compiled"

    def _compiled(self) -> list[CompiledCorpus | None]:
        """The lanes; None for one without sentences."""
        if self._lanes is None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(
                    "{}: expected a folder for compiled sentences, got: {}; name another (scratch=, --scratch)",
                    self._folder,
                    error.strerror,
                ) from None
            reader = _Reader(self.job.files, self.job.settlement)
            self._lanes = [self._lane(k, pieces, reader) for k, pieces in enumerate(self.job.lanes)]
        return self._lanes

    def _lane(self, k: int, pieces: tuple[Piece, ...], reader: _Reader) -> CompiledCorpus | None:
        path = self._path(k)
        if not pieces:
            return None
        if path.exists():
            with contextlib.suppress(StorageError):  # a damaged one is made again
                return CompiledCorpus.open(path)
        self.compiled_anew += 1
        blocks = (reader.read(piece) for piece in pieces)
        return compile_corpus(
            (block for block in blocks if len(block)), path, self.job.way, hash_bits=self.job.hash_bits
        )

    @contextlib.contextmanager
    def _numbered(self, numbering: Numbering) -> Iterator[tuple[Features, Labels]]:
        """All lanes as one, with the numbers of the whole corpus, on disk."""
        with scratch_folder(self._folder / f"numbered-{self.job.first}") as folder:
            yield self._joined(numbering, Path(folder))

    def _joined(self, numbering: Numbering, folder: Path) -> tuple[Features, Labels]:
        labels = list(self.job.settlement.labels)
        with contextlib.closing(GrowingArrays(folder)) as parts:
            parts.append("bounds", np.zeros(0), np.int64)
            parts.append("labels", np.zeros(0), np.int32)
            total = 0
            for lane in self._compiled():
                if lane is None:
                    continue
                parts.append("bounds", lane.features.offsets[1:] + total, np.int64)
                parts.append("labels", lane.labelled.over(labels).ids, np.int32)
                total += lane.num_tokens
                parts.append_attributes("state", _renumbered(lane.features.states, lane.states, numbering.states))
                if lane.features.edges is not None and numbering.chained:
                    parts.append_attributes("edge", _renumbered(lane.features.edges, lane.edges, numbering.edges))
            arrays = parts.arrays()
        states = _attributes(arrays, "state")
        if states is None:  # no sentence at all
            states = Attributes(np.zeros(1, np.int64), np.empty(0, np.int32))
        features = Features(arrays["bounds"], states, _attributes(arrays, "edge"))
        return features, arrays["labels"]

    def _likelihood(self, key: str, plan: Plan) -> Likelihood:
        """The likelihood of its lanes: that of the last question, or a new one."""
        if self._plan is not None and self._plan[0] == key:
            return self._plan[2]
        self._plan = None
        self._held.close()
        folder = Path(self._held.enter_context(scratch_folder(self._folder / f"held-{self.job.first}")))
        features, labels = self._joined(plan.numbering, folder)
        lanes = [0 if lane is None else len(lane) for lane in self._compiled()]
        likelihood = Likelihood(
            plan.structure,
            features,
            Targets(np.asarray(labels), None, self._weights(plan)),
            plan.rules,
            plan.precision,
            folder,
            plan.local,
            Part(offsets_of(np.array(lanes)), plan.counts, plan.tokens),
        )
        self._plan = key, plan, likelihood
        return likelihood

    def _weights(self, plan: Plan) -> Float64Array | None:
        if plan.label_weights is None:
            return None
        labels = self.job.settlement.labels
        lanes = [lane.labelled for lane in self._compiled() if lane is not None]
        weights = [weighted(None, plan.label_weights, lane.over(labels)) for lane in lanes]
        return np.concatenate([np.zeros(0), *weights])


class _Reader:
    """Reads pieces of shards; the last shard is kept, for the next piece is often of the same."""

    def __init__(self, files: LabelledFiles, settlement: Settlement) -> None:
        self._files, self._settlement = files, settlement
        self._last: tuple[Shard, Corpus] | None = None

    def read(self, piece: Piece) -> Corpus:
        if self._last is None or self._last[0] != piece.shard:
            self._last = None  # one at a time in memory
            self._last = piece.shard, self._settlement.applied(read_shard(piece.shard, self._files))
        return self._last[1][piece.first : piece.last]


def _extended(known: Vocabulary | None, names: Vocabulary | None) -> tuple[Vocabulary | None, IntArray | None]:
    """Add names behind those that are known, and say which numbers they have; both None where names are hashed."""
    if names is None:
        return None, None
    if known is None:
        return names, np.arange(len(names))
    listed = names.names()
    known = known.extended(listed)
    return known, known.find_all(listed).astype(np.int64)


def added(counts: IntArray, more: IntArray, numbers: IntArray | None) -> IntArray:
    """Add counts to others that have these numbers; the same ones where there are none."""
    places = np.arange(len(more)) if numbers is None else numbers
    out = np.zeros(max(len(counts), int(places.max(initial=-1)) + 1), np.int64)
    out[: len(counts)] = counts
    out[places] += more
    return out


def _renumbered(attributes: Attributes, names: Vocabulary | None, known: Vocabulary | None) -> Attributes:
    """Attributes by the numbers of the whole corpus; those that it leaves out are left out."""
    if names is None or known is None:
        return attributes
    ids = known.find_all(names.names())[attributes.ids]
    kept = ids >= 0
    if kept.all():
        return Attributes(attributes.offsets, ids, attributes.values)
    offsets = offsets_of(kept)[attributes.offsets]
    return Attributes(offsets, ids[kept], None if attributes.values is None else attributes.values[kept])


def _attributes(arrays: dict[str, Any], kind: str) -> Attributes | None:
    if f"{kind}_offsets" not in arrays:
        return None
    return Attributes(arrays[f"{kind}_offsets"], arrays[f"{kind}_ids"], arrays.get(f"{kind}_values"))
