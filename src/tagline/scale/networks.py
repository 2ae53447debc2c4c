"""Networks on Ray Train: the loop that torchrun runs, in processes that Ray starts, places and starts again.

Every process reads all shards and plans the same batches, as under torchrun; `TorchTrainer` makes the group of
processes that `training.neural.processes` finds. Where a process or its node is lost, Ray starts all of them anew, and
with a checkpoint, in a folder that every node sees, they go on from there.
"""

from __future__ import annotations

import pickle
import tempfile
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tagline.errors import InputError, TaglineError
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.readers.corpus import Column, Corpus
from tagline.scale.cluster import import_ray, plain_error
from tagline.scale.crf import Setting, Tell
from tagline.scale.shards import read_shard
from tagline.training.iteration import Step
from tagline.training.running.progress import Reporter, Silent

LISTEN_SECONDS = 0.5  # between two looks for what a process tells
FAILURES = 5  # after which a run without progress is given up


@dataclass(frozen=True, eq=False)
class NetworkRun:
    """What every process is told.

    Attributes:
        model: the estimator, not fitted.
        setting: which files, how many processes.
        arguments: of its `fit`, the dev set among them.
    """

    model: Any
    setting: Setting
    arguments: dict[str, Any] = field(default_factory=dict)


class _Mailbox:
    """Where the first process leaves what was learned; the driver looks here, whatever node that process is on."""

    def __init__(self) -> None:
        self._letter: bytes | None = None
        self._begun: dict[int, int] = {}
        self._news: list[tuple[str, tuple[Any, ...]]] = []

    def note(self, method: str, *facts: Any) -> None:
        """Keep what the first process tells: a method of a `Reporter` and what it is called with."""
        self._news.append((method, facts))

    def news(self) -> list[tuple[str, tuple[Any, ...]]]:
        """Return what was told since it was last asked."""
        news, self._news = self._news, []
        return news

    def begin(self, rank: int) -> int:
        """Note that a process begins, and return how often it began before."""
        before = self._begun.get(rank, 0)
        self._begun[rank] = before + 1
        return before

    def put(self, letter: bytes) -> None:
        self._letter = letter

    def get(self) -> bytes | None:
        return self._letter


class _Correspondent(Silent):
    """Writes to the driver how training goes."""

    def __init__(self, mailbox: Any) -> None:
        self._note = mailbox.note.remote

    def passed(self, done: Step) -> None:
        """Write of a pass."""
        self._note("passed", done)

    def stepped(self, done: int, total: int, loss: float) -> None:
        """Write of batches."""
        self._note("stepped", done, total, loss)


class _Listener:
    """Hands on what the first process tells, while the driver waits for all of them."""

    def __init__(self, ray: Any, mailbox: Any, tell: Reporter) -> None:
        self._ray, self._mailbox, self._tell = ray, mailbox, tell
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _listen(self) -> None:
        while True:
            ended = self._ended.wait(LISTEN_SECONDS)  # what came before the end is told, too
            try:
                news = self._ray.get(self._mailbox.news.remote())
            except self._ray.exceptions.RayError:  # the cluster is gone; the driver says so
                return
            for method, facts in news:
                getattr(self._tell, method)(*facts)
            if ended:
                return


def fit_network(run: NetworkRun, tell: Tell, reporter: Reporter) -> Any:
    """Train a network in several processes, and return the fitted estimator.

    Arguments:
        tell: hears what is begun.
        reporter: hears of epochs and batches.
    """
    setting = run.setting
    ray = import_ray(setting.place)
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    mailbox = ray.remote(num_cpus=0)(_Mailbox).remote()
    gpus = ray.cluster_resources().get("GPU", 0) >= setting.workers
    resumes = run.arguments.get("checkpoint") is not None
    tell(message("training in {} processes", setting.workers))
    with tempfile.TemporaryDirectory() as folder:
        trainer = TorchTrainer(
            _loop,
            train_loop_config={"run": run, "mailbox": mailbox},
            torch_config=TorchConfig(backend="nccl" if gpus else "gloo"),
            scaling_config=ScalingConfig(
                num_workers=setting.workers, use_gpu=gpus, resources_per_worker={"CPU": setting.threads}
            ),
            run_config=RunConfig(
                storage_path=folder, failure_config=FailureConfig(max_failures=FAILURES if resumes else 0)
            ),
        )
        try:
            with _Listener(ray, mailbox, reporter):
                trainer.fit()
        except TaglineError:
            raise
        except Exception as error:
            raise _told(error, setting.place) from error
    letter = ray.get(mailbox.get.remote())
    if letter is None:
        raise InputError("{}: expected the first process to end with a model, got none; see its log", setting.place)
    return pickle.loads(letter)


def _told(error: BaseException, place: str) -> TaglineError:
    """Return what a process raised, or what became of it, in one line."""
    for failure in getattr(error, "worker_failures", {}).values():
        return plain_error(failure, place)
    return plain_error(error, place)


def _loop(config: dict[str, Any]) -> None:
    """What each process does; Ray has joined them to a group before, and told PyTorch how many threads to use."""
    import ray

    from tagline import compiled

    run: NetworkRun = config["run"]
    context = ray.train.get_context()
    compiled.set_threads(run.setting.threads)
    corpus = joined([read_shard(shard, run.setting.files) for shard in run.setting.shards])
    arguments, rank = dict(run.arguments), context.get_world_rank()
    again = ray.get(config["mailbox"].begin.remote(rank)) > 0
    if again and arguments.get("checkpoint") is not None:
        arguments["resume"] = True
    if rank:
        run.model.fit(corpus, **arguments)
        return
    fitted = run.model.fit(corpus, progress=_Correspondent(config["mailbox"]), **arguments)
    packed = ray.cloudpickle.dumps(fitted)  # type: ignore[no-untyped-call]  # its callbacks may be local functions
    ray.get(config["mailbox"].put.remote(packed))


def joined(parts: list[Corpus]) -> Corpus:
    """Return the sentences of all parts, one behind the other."""
    if len(parts) == 1:
        return parts[0]
    names = parts[0].names
    for part in parts:
        if part.names != names:
            raise InputError(
                "{}: expected the columns {}, got {}", part.source, ", ".join(names), ", ".join(part.names)
            )
    columns = {name: Column.joined([part.columns[name] for part in parts]) for name in names}
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    return Corpus(columns, offsets_of(lengths))
