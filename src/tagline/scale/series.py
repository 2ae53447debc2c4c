"""Observations without labels on workers: tables of numbers or symbols, or words of sentences, for Baum–Welch.

1. Every shard is surveyed: sentences, tokens, symbols and how often each occurs.
2. Workers read the sentences of their lanes and hold them, by the numbers of all symbols.
3. In each step of EM workers answer with sums over branches of lanes (`models.hmm.lanes`), added up as a tree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.hmm.emissions import FAMILIES, MISSING, Symbols
from tagline.models.hmm.emissions.observations import check_observations
from tagline.models.hmm.lanes import Lane
from tagline.models.hmm.tables import NO_TABLE, read_series
from tagline.models.provenance import fingerprint
from tagline.ragged import offsets_of
from tagline.readers import format_of, read
from tagline.readers.corpus import Corpus
from tagline.readers.tabular import Table, is_csv, read_csv
from tagline.readers.training_files import LabelledFiles
from tagline.scale.cluster import import_ray
from tagline.scale.crf import Setting, Tell, each_shard
from tagline.scale.holders import Sums, branches_of
from tagline.scale.shards import Shard, at_node, fetched
from tagline.scale.surveys import Piece, pieces_of_lanes, targets_by_shard
from tagline.scale.workers import Workers, spread
from tagline.training.lanes import Branch, Tree, lane_count
from tagline.types import Float64Array, IntArray


@dataclass(frozen=True)
class Reading:
    """How shards are read.

    Attributes:
        family: of the emissions that are to be learned.
        group: the column of tables that says which sentence a row belongs to; None for one sentence a table.
        columns: of tables, those to learn from; none for all.
    """

    family: str
    group: str | None = None
    columns: tuple[str, ...] = ()

    @property
    def symbols(self) -> bool:
        """Whether symbols are observed."""
        return self.family == "categorical"


@dataclass(frozen=True, eq=False)
class Part:
    """The observations of a shard.

    Attributes:
        values: ``[N]`` or ``[N, D]``; symbols by their own numbers.
        offsets: ``[B + 1]``.
        symbols: names, where symbols are observed.
        columns: of a table.
        fingerprint: of all.
    """

    values: NDArray[Any]
    offsets: IntArray
    symbols: Symbols | None
    columns: tuple[str, ...]
    fingerprint: str


@dataclass(frozen=True, eq=False)
class SeriesSurvey:
    """What a shard holds; see `RemoteSeries`."""

    sentences: int
    tokens: int
    columns: tuple[str, ...]
    symbols: tuple[Any, ...]
    counts: IntArray
    present: int
    whole: bool
    width: int
    fingerprint: str


def read_part(shard: Shard, files: LabelledFiles, how: Reading) -> Part:
    """Read the observations of a shard; what is wrong is an error that names the node."""
    with at_node(), fetched(shard) as path:
        columns: tuple[str, ...] = ()
        if is_csv(path, files.form):
            table = read_csv(path, encoding=files.encoding, form=files.form)
            columns = how.columns or tuple(name for name in table.names if name != how.group)
            group = () if how.group is None else (how.group,)
            kept = Table((*columns, *group), table.__getitem__, len(table), shard.path)
            series = read_series(kept, groups=how.group, layout=NO_TABLE, symbols=how.symbols)
            X, lengths = series.X, series.lengths
        else:
            X, lengths = _sentences(path, files, how), None
        mark = fingerprint(X, None, lengths)
        if how.symbols:
            symbols, values, offsets = Symbols.read(X, lengths)
            return Part(values, offsets, symbols, columns, mark)
        values, offsets = check_observations(how.family, X, lengths)
        return Part(values, offsets, None, columns, mark)


def _sentences(path: str, files: LabelledFiles, how: Reading) -> Corpus:
    if not how.symbols or how.group is not None:
        what = "numbers" if not how.symbols else message("a column of groups")
        raise InputError("{}: expected a table, .csv or .tsv, with {}, got sentences", path, what)
    return read(path, format_of(path, files.form), encoding=files.encoding)


def survey_part(shard: Shard, files: LabelledFiles, how: Reading) -> SeriesSurvey:
    """Read a shard and count."""
    part = read_part(shard, files, how)
    counts, present = np.zeros(0, np.int64), 0
    if part.symbols is not None:
        counts = np.bincount(part.values[part.values >= 0], minlength=len(part.symbols))
    else:
        present = int(FAMILIES[how.family].present(part.values).sum())
    return SeriesSurvey(
        len(part.offsets) - 1,
        int(part.offsets[-1]),
        part.columns,
        () if part.symbols is None else part.symbols.values,
        counts.astype(np.int64),
        present,
        not np.isnan(part.values).any(),
        1 if part.values.ndim == 1 else part.values.shape[1],
        part.fingerprint,
    )


def find_cuts(shard: Shard, files: LabelledFiles, how: Reading, targets: Sequence[int]) -> list[int]:
    """Return the first sentence of a shard before which so many of its tokens stand, for each target."""
    if not len(targets):
        return []
    return [int(cut) for cut in np.searchsorted(read_part(shard, files, how).offsets, np.asarray(targets))]


def present_rows(shard: Shard, files: LabelledFiles, how: Reading, numbers: IntArray) -> NDArray[Any]:
    """Return some of the observations that are not missing, by their numbers among these."""
    values = read_part(shard, files, how).values
    return np.asarray(values[np.flatnonzero(FAMILIES[how.family].present(values))[numbers]])


# On workers.


@dataclass(frozen=True, eq=False)
class SeriesJob:
    """What a worker is made for: lanes, how they are read, all symbols; see `holders.Job`.

    Attributes:
        nothing: no observation, in the shape of all others.
    """

    lanes: tuple[tuple[Piece, ...], ...]
    first: int
    files: LabelledFiles
    how: Reading
    symbols: Symbols | None
    nothing: NDArray[Any]
    algorithm: str
    threads: int = 1


class SeriesHolder:
    """Some lanes, in memory; a holder that was started anew reads them again."""

    def __init__(self, job: SeriesJob) -> None:
        self._job = job
        compiled.set_threads(job.threads)
        self._lanes: list[Lane] | None = None

    def answer(self, question: str, *arguments: Any) -> list[Sums]:
        """Ask its lanes, and add up the answers of each branch."""
        with at_node():
            lanes, sums = self._held(), []
            for branch in branches_of(self._job):
                tree = Tree(branch.count)
                for k in range(branch.count):
                    lane = lanes[branch.first - self._job.first + k]
                    tree.add(Branch(k), getattr(lane, question)(*arguments))
                sums.append(Sums(branch, tree.total[0], None, tree.total[1]))
            return sums

    def observations(self) -> list[NDArray[Any]]:
        """Return the observations of each lane."""
        return [lane.observations for lane in self._held()]

    def close(self, keep: bool) -> None:
        """Leave nothing behind: nothing lies on the disk."""

    def _held(self) -> list[Lane]:
        if self._lanes is None:
            parts: dict[Shard, Part] = {}
            self._lanes = [self._lane(pieces, parts) for pieces in self._job.lanes]
        return self._lanes

    def _lane(self, pieces: tuple[Piece, ...], parts: dict[Shard, Part]) -> Lane:
        values, lengths = [], []
        for piece in pieces:
            if piece.shard not in parts:
                parts.clear()  # one at a time in memory
                parts[piece.shard] = read_part(piece.shard, self._job.files, self._job.how)
            part = parts[piece.shard]
            offsets = part.offsets[piece.first : None if piece.last is None else piece.last + 1]
            own = part.values[offsets[0] : offsets[-1]]
            if self._job.symbols is not None and part.symbols is not None:
                table = [*self._job.symbols.numbers_of(part.symbols), MISSING]  # MISSING is −1: the last entry
                own = np.array(table, np.int64)[own]
            values.append(own)
            lengths.append(np.diff(offsets))
        offsets = offsets_of(np.concatenate([np.zeros(0, np.int64), *lengths]))
        return Lane(np.concatenate([self._job.nothing, *values]), offsets, None, self._job.algorithm)


# On the driver.


class ShardedSeries:
    """Observations without labels that workers hold.

    Attributes:
        sentences, tokens: how many there are.
        columns: of tables, that are observed; none where words of sentences are.
        symbols: what is observed, by number, where emissions are categorical; else None.
        counts: ``[V]``, how often each symbol occurs; None where there are none.
        present: observations that are not missing altogether.
        whole: whether no number is missing.
        fingerprint: of all observations.
    """

    def __init__(self, setting: Setting, how: Reading, surveys: Sequence[SeriesSurvey], algorithm: str) -> None:
        self._setting, self._how, self._surveys = setting, how, surveys
        self.sentences = sum(part.sentences for part in surveys)
        self.tokens = sum(part.tokens for part in surveys)
        self.columns = surveys[0].columns
        self.present = sum(part.present for part in surveys)
        self.whole = all(part.whole for part in surveys)
        found = _joined_symbols(setting, surveys) if how.symbols else None
        self.symbols: tuple[Any, ...] | None = None if found is None else found[0]
        self.counts: IntArray | None = None if found is None else found[1]
        marks = [part.fingerprint for part in surveys]
        joined = hashlib.blake2b("".join(marks).encode(), digest_size=8).hexdigest()
        self.fingerprint = marks[0] if len(marks) == 1 else joined
        self._lanes = lane_count(self.tokens)
        self._workers = Workers(self._jobs(algorithm), setting.place, SeriesHolder)

    def _jobs(self, algorithm: str) -> list[SeriesJob]:
        setting = self._setting
        targets = targets_by_shard([part.tokens for part in self._surveys], self._lanes)
        cuts = each_shard(setting, find_cuts, [(self._how, here) for here in targets])
        pieces = [tuple(lane) for lane in pieces_of_lanes(setting.shards, cuts, self._lanes)]
        symbols = None if self.symbols is None else Symbols.of(self.symbols)
        nothing = np.zeros((0, self._surveys[0].width)) if symbols is None else np.zeros(0, np.int64)
        if self._how.family == "multinomial":
            nothing = nothing.astype(np.int64)
        rest = setting.files, self._how, symbols, nothing, algorithm, setting.threads
        runs = spread(self._lanes, setting.workers)
        return [SeriesJob(tuple(pieces[first:last]), first, *rest) for first, last in runs]

    def rows(self, numbers: IntArray) -> NDArray[Any]:
        """Return some of the observations that are present, by their numbers among these, ascending."""
        ends = np.cumsum([part.present for part in self._surveys])
        starts = ends - [part.present for part in self._surveys]
        own = [numbers[(numbers >= first) & (numbers < last)] - first for first, last in zip(starts, ends, strict=True)]
        parts = each_shard(self._setting, present_rows, [(self._how, here) for here in own], cpus=0)
        return np.concatenate(parts)

    def observations(self) -> NDArray[Any]:
        """Return all observations."""
        lanes = [lane for lanes in self._workers.each("observations") for lane in lanes]
        return np.concatenate([lane for lane in lanes if len(lane)])

    def summed(self, question: str, *arguments: Any) -> tuple[float, Float64Array]:
        """Ask every lane, and add up the answers."""
        tree = Tree(self._lanes)
        sent = [self._workers.shared(argument)[0] for argument in arguments]
        for part in self._workers.summed("answer", question, *sent):
            tree.add(part.branch, (part.value, part.entries))
        value, vector = tree.total
        return float(value), vector

    def close(self) -> None:
        """End the workers."""
        self._workers.close()


def _joined_symbols(setting: Setting, surveys: Sequence[SeriesSurvey]) -> tuple[tuple[Any, ...], IntArray]:
    """Number the symbols of all shards as those of one are numbered, and count them."""
    kinds: dict[type, str] = {}
    for shard, part in zip(setting.shards, surveys, strict=True):
        for kind in {type(symbol) for symbol in part.symbols}:
            kinds.setdefault(kind, shard.path)
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise InputError(
            "{}: expected symbols of one type in all files, got {} and, in {}, {}; write them the same way in all",
            second,
            other.__name__,
            first,
            one.__name__,
        )
    numbers: dict[Any, int] = {}
    for part in surveys:
        for symbol in part.symbols:
            numbers.setdefault(symbol, len(numbers))
    symbols = sorted(numbers) if int in kinds else list(numbers)
    table = Symbols.of(symbols)
    counts = np.zeros(len(symbols), np.int64)
    for part in surveys:
        counts[table.numbers_of(Symbols.of(part.symbols))] += part.counts
    return tuple(symbols), counts


@contextmanager
def sharded_series(setting: Setting, how: Reading, algorithm: str, tell: Tell) -> Iterator[ShardedSeries]:
    """Have workers read and hold the observations."""
    import_ray(setting.place)
    tell(message("reading {} files", len(setting.shards)))
    surveys: list[SeriesSurvey] = each_shard(setting, survey_part, [(how,)] * len(setting.shards))
    for shard, part in zip(setting.shards, surveys, strict=True):
        if part.columns != surveys[0].columns or part.width != surveys[0].width:
            raise InputError(
                "{}: expected the columns {} of {}, got {}",
                shard.path,
                ", ".join(surveys[0].columns),
                setting.shards[0].path,
                ", ".join(part.columns),
            )
    if not sum(part.tokens for part in surveys):
        raise InputError("X: expected observations to learn from, got none")
    series = ShardedSeries(setting, how, surveys, algorithm)
    try:
        yield series
    finally:
        series.close()
