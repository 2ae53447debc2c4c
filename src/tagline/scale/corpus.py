"""A corpus of many files, which workers read and hold: what `fit` takes in the place of sentences."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tagline.models.remote import RemoteCorpus, RemoteLesson
from tagline.readers.labelled import LabelledFiles
from tagline.scale.cluster import Cluster, connected
from tagline.scale.crf import Overview, Setting, Tell, crf_lesson, look_over
from tagline.scale.shards import shards
from tagline.training.checks import check_whole

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF
    from tagline.models.crf.extraction import Extraction

logger = logging.getLogger("tagline.scale")

MOST_WORKERS = 4096


class ShardedCorpus(RemoteCorpus):
    """Files of labelled sentences, for workers; `corpus` makes it.

    Attributes:
        setting: which files, how many workers.
        address: of a Ray cluster; None for that of RAY_ADDRESS, or a Ray that is started on this machine.
        tell: called with what is done before the first pass.
    """

    def __init__(self, setting: Setting, address: str | None = None, tell: Tell = logger.info) -> None:
        self.setting, self.address, self.tell = setting, address, tell
        self._overview: Overview | None = None

    @contextmanager
    def crf_lesson(self, crf: CRF, extraction: Extraction) -> Iterator[RemoteLesson]:
        """Have the sentences read and held as long as a CRF is trained."""
        with self._connected():
            overview = self._looked_over(crf.scheme, crf.on_illegal)
            with crf_lesson(self.setting, crf, extraction, overview, self.tell) as lesson:
                yield lesson

    @contextmanager
    def _connected(self) -> Iterator[Cluster]:
        cpus = self.setting.workers * self.setting.threads
        with connected(self.address, cpus=max(cpus, os.cpu_count() or 1), place=self.setting.place) as cluster:
            yield cluster

    def _looked_over(self, scheme: str | None, on_illegal: str) -> Overview:
        overview = look_over(self.setting, scheme, on_illegal, self.tell)
        self._overview, self.fingerprint, self.num_tokens = overview, overview.fingerprint, overview.tokens
        return overview

    def __len__(self) -> int:
        return 0 if self._overview is None else self._overview.sentences

    def __repr__(self) -> str:
        return f"ShardedCorpus({len(self.setting.shards)} files, {self.setting.workers} workers)"


def corpus(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    workers: int = 2,
    threads: int = 1,
    address: str | None = None,
    files: LabelledFiles | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> ShardedCorpus:
    """Name the files of a corpus that workers on Ray read, compile and hold while a model is trained.

    Arguments:
        paths: files, patterns such as ``data/*.gz``, or folders; local ones must lie where every node sees them, and
            ``s3://…`` and ``gs://…`` are fetched. Labelled sentences in any format that training reads.
        workers: processes that hold sentences.
        threads: of each worker.
        address: of a Ray cluster; when left out that of RAY_ADDRESS, and without one Ray is started on this machine.
        files: how the files are read.
        scratch: a folder on the workers' disks for compiled sentences; that of temporary files if left out.

    The weights of a model depend on the sentences, not on how many workers hold them.
    """
    check_whole("workers", workers, 1, MOST_WORKERS)
    check_whole("threads", threads, 1, 1024)
    folder = None if scratch is None else os.path.abspath(scratch)
    how = files or LabelledFiles()
    return ShardedCorpus(Setting(shards(paths), how, workers, threads, folder, "scale.corpus"), address)
