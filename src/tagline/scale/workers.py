"""The workers of a training run: Ray actors, one `Holder` each, asked side by side.

Ray starts a worker anew where it or its node was lost, on whatever node has room, and asks it again; a holder needs
nothing but its question, so no answer changes. Large things go through Ray's object store once: the plan, the weights.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tagline.errors import InputError
from tagline.scale.averaging import Descents, descend_lanes, find_rate
from tagline.scale.cluster import import_ray
from tagline.scale.holders import Holder, Job, Sums, branches_of

STAR = 4  # workers up to which the driver adds up all answers itself
RESTARTS = 100  # of one worker
LOST_SECONDS = 60.0  # for a lost node to be replaced
ASK_SECONDS = 2.0  # between two looks at the cluster


class _Actor:
    """A holder in a process of its own; objects of the store are fetched when they are new."""

    def __init__(self, job: Job) -> None:
        self._holder = Holder(job)
        self._seen: dict[str, Any] = {}

    def _get(self, refs: list[Any]) -> tuple[str, Any]:
        import ray

        key = refs[0].hex()
        if key not in self._seen:
            self._seen = {key: ray.get(refs[0])}
        return key, self._seen[key]

    def names(self) -> Any:
        return self._holder.names()

    def structure(self, refs: list[Any]) -> Any:
        return self._holder.structure(self._get(refs)[1])

    def observed(self, refs: list[Any]) -> list[Sums]:
        return self._holder.observed(*self._get(refs))

    def expected(self, refs: list[Any], weights: Any, curvature: bool) -> list[Sums]:
        return self._holder.expected(*self._get(refs), weights, curvature)

    def descend(self, refs: list[Any], weights: Any, how: Descents) -> list[Sums]:
        return descend_lanes(self._holder, *self._get(refs), weights, how)

    def find_rate(self, refs: list[Any], weights: Any, how: Descents) -> float:
        return find_rate(self._holder, *self._get(refs), weights, how)

    def facts(self) -> dict[str, Any]:
        """Say what the process took so far: seconds of its processors, and bytes of memory at most."""
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        return {"seconds": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss * 1024}

    def close(self, keep: bool) -> None:
        self._holder.close(keep)


class Workers:
    """Processes that hold the lanes of a corpus.

    Arguments:
        jobs: one a worker, with its lanes, the number of the first, and threads.
        holder: the class of the workers, made of a job.
        place: the name of the option or function, for messages.
    """

    def __init__(self, jobs: Sequence[Any], place: str = "--ray", holder: type = _Actor) -> None:
        self._ray, self._place = import_ray(place), place
        self.jobs = list(jobs)
        kind = self._ray.remote(max_restarts=RESTARTS, max_task_retries=-1)(holder)
        self.actors = [
            kind.options(num_cpus=job.threads, scheduling_strategy="SPREAD").remote(job) for job in self.jobs
        ]

    def shared(self, value: Any) -> list[Any]:
        """Put something into the object store, for all workers."""
        return [self._ray.put(value)]

    def ask_first(self, method: str, *arguments: Any) -> Any:
        """Ask the worker of the first lane."""
        ((_, answer),) = self._answers({getattr(self.actors[0], method).remote(*arguments): 0})
        return answer

    def summed(self, method: str, *arguments: Any) -> Iterator[Sums]:
        """Ask all workers for sums and give them as they come; of many workers, the sum of all.

        The driver's line carries what every worker answers. Of many, neighbours in the tree are added up where one of
        them lies, pair by pair, and one answer comes here: log2(W) messages after each other instead of W.
        """
        if len(self.actors) <= STAR or any(len(branches_of(job)) > 1 for job in self.jobs):
            for _, answer in self.ask(method, *arguments):
                yield from answer
            return
        task = self._ray.remote(num_cpus=0, max_retries=-1)(_added)
        level = [getattr(actor, method).remote(*arguments) for actor in self.actors]
        while len(level) > 1:
            level = [task.remote(*pair) for pair in zip(level[::2], level[1::2], strict=True)]
        ((_, answer),) = self._answers({level[0]: 0})
        yield from answer

    def ask(self, method: str, *arguments: Any) -> Iterator[tuple[int, Any]]:
        """Ask all workers and give (worker, answer) as answers come."""
        asked = {getattr(actor, method).remote(*arguments): w for w, actor in enumerate(self.actors)}
        yield from self._answers(asked)

    def _answers(self, asked: dict[Any, int]) -> Iterator[tuple[int, Any]]:
        lost: float | None = None
        while asked:
            ready, _ = self._ray.wait(list(asked), num_returns=1, timeout=ASK_SECONDS)
            if ready:
                lost = None
                worker = asked.pop(ready[0])
                yield worker, self._ray.get(ready[0])
                continue
            needed = sum(job.threads for job in self.jobs)
            there = int(self._ray.cluster_resources().get("CPU", 0))
            if there >= needed:
                lost = None
                continue
            lost = time.monotonic() if lost is None else lost
            if time.monotonic() - lost > LOST_SECONDS:
                nodes = [node["NodeManagerHostname"] for node in self._ray.nodes() if node["Alive"]]
                raise InputError(
                    "{}: expected {} processors for {} workers, got {} on {} for "
                    "{:.0f} seconds: a node was lost, or there never were enough; start a node (ray "
                    "start --address=…) or ask for fewer --workers; with --checkpoint, --resume goes on from the "
                    "last one",
                    self._place,
                    needed,
                    len(self.jobs),
                    there,
                    ", ".join(nodes),
                    LOST_SECONDS,
                )

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Ask all workers and return their answers in the order of the workers."""
        answers: dict[int, Any] = dict(self.ask(method, *arguments))
        return [answers[w] for w in range(len(self.actors))]

    def close(self, keep: bool = False) -> None:
        """Let workers remove what they have on disk, and end them; one that does not answer is ended all the same."""
        asked = [actor.close.remote(keep) for actor in self.actors]
        self._ray.wait(asked, num_returns=len(asked), timeout=10)
        for actor in self.actors:
            self._ray.kill(actor)
        self.actors = []


def _added(left: list[Sums], right: list[Sums]) -> list[Sums]:
    """Add up two neighbouring branches."""
    return [left[0].joined(right[0])]


def spread(lanes: int, workers: int) -> list[tuple[int, int]]:
    """Deal lanes out to workers, one run of neighbours each; workers without any are left out.

    >>> spread(8, 3)
    [(0, 2), (2, 5), (5, 8)]
    """
    cuts = [lanes * w // workers for w in range(workers + 1)]
    return [(first, last) for first, last in itertools.pairwise(cuts) if last > first]
