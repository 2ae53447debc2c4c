"""A corpus of many files, which workers read and hold: what `scale.fit` trains on."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tagline.checks import check_whole
from tagline.errors import InputError
from tagline.messages import message
from tagline.readers import format_of, read
from tagline.readers.corpus import TAG, Corpus
from tagline.readers.tabular import Table, is_csv, read_csv
from tagline.readers.training_files import LabelledFiles
from tagline.scale.cluster import Cluster, connected
from tagline.scale.crf import Overview, RemoteLesson, Setting, Tell, crf_lesson, look_over
from tagline.scale.shards import fetched, read_shard, shards
from tagline.training.running.progress import Reporter

if TYPE_CHECKING:
    from tagline.scale.series import ShardedSeries
    from tagline.scale.tallies import Tally

logger = logging.getLogger("tagline.scale")

MOST_WORKERS = 4096


class ShardedCorpus:
    """Files of labelled sentences, for workers; `corpus` makes it, and `scale.fit` trains a model on it.

    Attributes:
        setting: which files, how many workers.
        address: of a Ray cluster; None for that of RAY_ADDRESS, or a Ray that is started on this machine.
        tell, say: called with what is being done before the first pass, and with what was found.
        num_tokens: N, once they were read.
        fingerprint: of sentences and labels, once they were read; empty before.
        columns: of tables, those to learn from; none for all of them.

    >>> import tempfile
    >>> from tagline import datasets, readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     readers.write(datasets.make_entities(20), f"{folder}/part-0.txt")
    ...     corpus(folder, workers=2).sample().num_tokens
    278
    """

    def __init__(self, setting: Setting, address: str | None = None) -> None:
        self.setting, self.address = setting, address
        self.tell: Tell = logger.info
        self.say: Tell = logger.info
        self._sentences, self.num_tokens, self.fingerprint = 0, 0, ""
        self.columns: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Any]:
        raise InputError(
            "X: expected sentences in this process, got files that workers read; pass them to tagline.scale.fit(model, "
            "corpus), or read them into a Corpus"
        )

    @contextmanager
    def crf_lesson(self, crf: Any, extraction: Any) -> Iterator[RemoteLesson]:
        """Have the sentences read and held as long as a CRF is trained.

        Arguments:
            crf: the estimator, for its settings.
            extraction: its way to features.
        """
        with self._connected() as cluster:
            overview = self._looked_over(crf.scheme, crf.on_illegal)
            setting = replace(self.setting, workers=self.setting.workers or cluster.cpus // self.setting.threads or 1)
            with crf_lesson(setting, crf, extraction, overview, self.tell) as lesson:
                yield lesson

    def fit_network(self, model: Any, arguments: dict[str, Any], tell: Reporter) -> Any:
        """Train a network in as many processes as there are workers."""
        from tagline.scale.networks import NetworkRun, fit_network

        with self._connected() as cluster:
            setting = replace(self.setting, workers=self.setting.workers or cluster.cpus // self.setting.threads or 1)
            fitted = fit_network(NetworkRun(model, setting, arguments), self.tell, tell)
        self._sentences, self.num_tokens = fitted.training_.sentences, fitted.training_.tokens
        self.fingerprint = fitted.training_.fingerprint
        return fitted

    @property
    def labelled(self) -> bool:
        """Whether the sentences have labels, by the first file; tables have none."""
        files = self.setting.files
        if is_csv(self.setting.shards[0].path, files.form):
            return False
        if files.tag_column is not None:
            return True
        with fetched(self.setting.shards[0]) as path:
            form = format_of(path, files.form)
            return form != "text" and TAG in read(path, form, encoding=files.encoding).names

    @contextmanager
    def series(self, family: str, group: str | None, algorithm: str) -> Iterator[ShardedSeries]:
        """Have observations without labels read and held as long as an HMM is trained; arguments as of `Reading`."""
        from tagline.scale.series import Reading, sharded_series

        with self._connected() as cluster:
            setting = replace(self.setting, workers=self.setting.workers or cluster.cpus // self.setting.threads or 1)
            with sharded_series(setting, Reading(family, group, self.columns), algorithm, self.tell) as series:
                self._sentences, self.num_tokens, self.fingerprint = series.sentences, series.tokens, series.fingerprint
                files = len(self.setting.shards)
                self.say(
                    message(
                        "learning from {:,} sentences, {:,} tokens, of {:,} files",
                        series.sentences,
                        series.tokens,
                        files,
                    )
                )
                yield series

    def tally(self, scheme: str | None, on_illegal: str, *, grams: bool = False) -> Tally:
        """Have words and labels counted, a task a file."""
        from tagline.scale.tallies import tally_all

        with self._connected():
            return tally_all(self.setting, self._looked_over(scheme, on_illegal), grams)

    def named(self, place: str) -> ShardedCorpus:
        """Return the same for messages that name another place, such as an option."""
        other = ShardedCorpus(replace(self.setting, place=place), self.address)
        other.columns = self.columns
        return other

    @contextmanager
    def _connected(self) -> Iterator[Cluster]:
        cpus = max(self.setting.workers * self.setting.threads, os.cpu_count() or 1)
        with connected(self.address, cpus=cpus, place=self.setting.place) as cluster:
            yield cluster

    def _looked_over(self, scheme: str | None, on_illegal: str) -> Overview:
        overview = look_over(self.setting, scheme, on_illegal, self.tell)
        self._sentences, self.num_tokens, self.fingerprint = overview.sentences, overview.tokens, overview.fingerprint
        files = len(self.setting.shards)
        self.say(
            message(
                "learning from {:,} sentences, {:,} tokens, of {:,} files", overview.sentences, overview.tokens, files
            )
        )
        if broken := [part.problems for part in overview.broken]:
            self.say(
                message("skipped {} broken sentences; the first: {}", sum((count for count, _ in broken)), broken[0][1])
            )
        return overview

    def sample(self) -> Corpus | Table:
        """Return the sentences of the first file, or its series."""
        shard, files = self.setting.shards[0], self.setting.files
        if not is_csv(shard.path, files.form):
            return read_shard(shard, files)
        with fetched(shard) as path:
            return read_csv(path, encoding=files.encoding, form=files.form)

    def __len__(self) -> int:
        return self._sentences

    def __repr__(self) -> str:
        return f"ShardedCorpus({len(self.setting.shards)} files, {self.setting.workers or 'as many as can be'} workers)"


def corpus(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    workers: int | None = None,
    threads: int = 1,
    address: str | None = None,
    files: LabelledFiles | None = None,
    scratch: str | os.PathLike[str] | None = None,
    columns: Sequence[str] = (),
) -> ShardedCorpus:
    """Name the files of a corpus that workers on Ray read, compile and hold while a model is trained.

    Arguments:
        paths: files, patterns such as ``data/*.gz``, or folders; local ones must lie where every node sees them, and
            ``s3://…`` and ``gs://…`` are fetched. Labelled sentences in any format that training reads.
        workers: processes that hold sentences; one for each processor of the cluster if left out.
        threads: of each worker.
        address: of a Ray cluster; when left out that of RAY_ADDRESS, and without one Ray is started on this machine.
        files: how the files are read.
        scratch: a folder on the workers' disks for compiled sentences; that of temporary files if left out.
        columns: of tables (.csv, .tsv), those to learn from; all of them if left out.

    The weights of a model depend on the sentences, not on how many workers hold them. `CRF`, `MEMM`, `MaxEnt`, `HMM`,
    `TrigramTagger`, `BiLSTMCRF` and `TransformerCRF` learn from it: ``scale.fit(CRF("pos"), scale.corpus(…))``. Of
    files without labels an `HMM` learns hidden states:
    ``scale.fit(HMM(3, emission="gaussian"), scale.corpus("*.csv"))``.

    >>> import tempfile
    >>> from tagline import datasets, readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(3):
    ...         readers.write(datasets.make_entities(20), f"{folder}/part-{k}.txt")
    ...     corpus(f"{folder}/part-*.txt", workers=2)
    ShardedCorpus(3 files, 2 workers)
    """
    check_whole("workers", workers, 1, MOST_WORKERS, optional=True)
    check_whole("threads", threads, 1, 1024)
    folder = None if scratch is None else os.path.abspath(scratch)
    how = files or LabelledFiles()
    out = ShardedCorpus(Setting(shards(paths), how, workers or 0, threads, folder, "scale.corpus"), address)
    out.columns = tuple(columns)
    return out
