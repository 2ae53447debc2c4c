"""Files to tag, spread over the actors of Ray Data: a shard is one input file and the file of its answers.

    inputs ──▶ shards that are left to do ──▶ Ray Data: an actor a worker, with the model mapped ──▶ answers, each whole

Ray Data places the actors, feeds them, and hands the shard of an actor that is lost to another one. A file of answers
takes its place whole or not at all, so one that is there is finished: a run that was killed goes on with the others.
`RECORD`, in the folder of the answers, says of which model and settings they are, and of which inputs.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tagline.errors import InputError, TaglineError
from tagline.readers.sources import open_target
from tagline.scale.cluster import Cluster, quiet_data

RECORD = ".tagline-tag.json"
SIDE = ".skipped"  # behind the name of the answers: the broken sentences of the input, with their places
MOST_BLOCKS = 2000  # of Ray Data, which keeps a record of each; more shards share them


@dataclass
class Told:
    """What is told of an input while it is tagged: broken sentences with their places, lines for people, a count."""

    skipped: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    sentences: int = 0


Work = Callable[[str, Told], Iterator[str]]
"""What an actor does with an input: its name → answers as text."""


@dataclass(frozen=True)
class TaggingShard:
    """An input, the file of its answers, and the size and date of the input."""

    source: str
    target: str
    size: int
    changed: int

    @classmethod
    def of(cls, source: str, target: str) -> TaggingShard:
        """Look at an input."""
        try:
            status = os.stat(source)
        except OSError as error:
            raise InputError("{}: expected a readable file, got: {}; check the path", source, error.strerror) from None
        return cls(source, target, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Outcome:
    """What became of a shard.

    Attributes:
        source, target: the files.
        size: bytes of the input.
        sentences: that were answered.
        skipped: broken sentences, which are in the side file.
        node: where it was done.
        notices: lines for people.
        error: why there is no answer; empty where there is one.
    """

    source: str
    target: str
    size: int
    sentences: int = 0
    skipped: int = 0
    node: str = ""
    notices: Sequence[str] = ()
    error: str = ""


def begin(folder: str, shards: Sequence[TaggingShard], job: Mapping[str, Any]) -> list[TaggingShard]:
    """Return the shards that are not finished, and keep in the folder what the answers are of.

    Arguments:
        folder: of the answers.
        job: what the answers depend on: the model and the settings.
    """
    path = os.path.join(folder, RECORD)
    record = _read_record(path)
    finished = [shard for shard in shards if os.path.exists(shard.target)]
    if record is None and finished:
        raise InputError(
            "{}: expected a folder without answers, got this file of another run; remove it or choose another --output",
            finished[0].target,
        )
    known: dict[str, Any] = {} if record is None else record["inputs"]
    if record is not None:
        _check_same(folder, record["job"], job)
        _check_unchanged(finished, known)
    left = [shard for shard in shards if shard not in finished]
    inputs = known | {os.path.basename(shard.target): _facts(shard) for shard in shards}
    with open_target(path) as stream:
        stream.write(json.dumps({"job": job, "inputs": inputs}, ensure_ascii=False, indent=1).encode())
    return sorted(left, key=lambda shard: -shard.size)  # the long ones first: then all workers end together


def _facts(shard: TaggingShard) -> list[Any]:
    """Return what the record says of an input; its name is the whole one, for it can be written in many ways."""
    return [os.path.realpath(shard.source), shard.size, shard.changed]


def forget(target: str) -> None:
    """Take a file that was written by other means out of the record of its folder's run, where there is one."""
    path = os.path.join(os.path.dirname(target), RECORD)
    try:
        record = _read_record(path)
    except InputError:
        return
    if record is None or record["inputs"].pop(os.path.basename(target), None) is None:
        return
    if not record["inputs"]:
        os.unlink(path)
        return
    with open_target(path) as stream:
        stream.write(json.dumps(record, ensure_ascii=False, indent=1).encode())


def _read_record(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as stream:
            record = json.load(stream)
        return {"job": dict(record["job"]), "inputs": dict(record["inputs"])}
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        raise InputError(
            "{}: expected the record of a run, got something else; choose another --output", path
        ) from None


def _check_same(folder: str, before: Mapping[str, Any], job: Mapping[str, Any]) -> None:
    now = json.loads(json.dumps(job))
    for name in now:
        if before.get(name) != now[name]:
            raise InputError(
                "{}: expected answers of the same run, got some with another {} ({} before, {} "
                "now); choose another --output, or remove the folder to begin anew",
                folder,
                name,
                before.get(name),
                now[name],
            )


def _check_unchanged(finished: Sequence[TaggingShard], known: Mapping[str, Any]) -> None:
    for shard in finished:
        source, *facts = known.get(os.path.basename(shard.target)) or ["", 0, 0]
        if os.path.realpath(source) != os.path.realpath(shard.source) or facts != [shard.size, shard.changed]:
            raise InputError(
                "{}: expected the file that was tagged, got another or one that has changed since; remove "
                "{} to tag it again",
                shard.source,
                shard.target,
            )


def skipped_before(shards: Sequence[TaggingShard]) -> int:
    """Return how many broken sentences the side files of finished shards have."""
    count = 0
    for shard in shards:
        if os.path.exists(shard.target) and os.path.exists(shard.target + SIDE):
            with open(shard.target + SIDE, "rb") as stream:
                count += sum(1 for _ in stream)
    return count


def run_shards(
    cluster: Cluster, shards: Sequence[TaggingShard], make_work: Callable[[], Work], workers: int | None = None
) -> Iterator[Outcome]:
    """Do the shards, in any order, and tell of each when it is finished; call it inside `connected`.

    Arguments:
        shards: those that are left to do.
        make_work: called once in each actor: loads the model. It is pickled, so it must be a name of a module.
        workers: actors, each with one processor; all processors of the cluster when left out.
    """
    if not shards:
        return
    data = quiet_data()
    count = max(1, min(workers or cluster.cpus, len(shards)))
    rows = [asdict(shard) for shard in shards]
    outcomes = data.from_items(rows, override_num_blocks=min(len(rows), MOST_BLOCKS)).map_batches(
        _Worker,
        batch_size=1,
        fn_constructor_kwargs={"make_work": make_work, "folder": os.getcwd()},
        compute=data.ActorPoolStrategy(min_size=1, max_size=count, initial_size=count, max_tasks_in_flight_per_actor=2),
        num_cpus=1,
    )
    for row in outcomes.iter_rows():
        outcome = Outcome(**{**row, "notices": tuple(row["notices"])})
        if not outcome.error and not os.path.exists(outcome.target):
            raise InputError(
                "node {}: expected {} on a disk that all nodes share, got one of its own; choose an "
                "--output that every node sees",
                outcome.node,
                outcome.target,
            )
        yield outcome


class _Worker:
    """An actor of Ray Data: it maps the model once and writes the answers of shard after shard.

    Arguments:
        make_work: loads the model.
        folder: in which the command runs; names of inputs stand for the same files here, where there is one.
    """

    def __init__(self, make_work: Callable[[], Work], folder: str) -> None:
        from tagline import compiled

        compiled.set_threads(1, "--ray")  # the actors are the threads
        self.node = platform.node()
        self.refusal = ""
        if os.path.isdir(folder):
            os.chdir(folder)
        try:
            self.work = make_work()
        except TaglineError as error:  # said once, by the shard; Ray would try again for ever
            self.refusal = str(error)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        rows = zip(batch["source"], batch["target"], batch["size"], strict=True)
        outcomes = [asdict(self._outcome(str(source), str(target), int(size))) for source, target, size in rows]
        return {name: [outcome[name] for outcome in outcomes] for name in outcomes[0]}

    def _outcome(self, source: str, target: str, size: int) -> Outcome:
        if os.path.exists(target):  # by an actor that was lost before it could say so
            return Outcome(source, target, size, node=self.node)
        if self.refusal:
            return Outcome(source, target, size, node=self.node, error=self.refusal)
        told = Told()
        try:
            with open_target(target) as stream:
                for text in self.work(source, told):
                    stream.write(text.encode())
                if told.skipped:  # before the answers, so that these say that all is there
                    _write_lines(target + SIDE, told.skipped)
        except (TaglineError, OSError) as error:
            return Outcome(source, target, size, node=self.node, error=str(error))
        return Outcome(source, target, size, told.sentences, len(told.skipped), self.node, told.notices)


def _write_lines(path: str, texts: Sequence[str]) -> None:
    with open_target(path) as stream:
        stream.writelines(f"{' '.join(text.splitlines())}\n".encode(errors="backslashreplace") for text in texts)
