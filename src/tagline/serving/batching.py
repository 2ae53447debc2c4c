"""Requests that come at the same time are answered together; large ones leave room for small ones.

A batch begins as soon as no further request has come in for a few turns of the event loop, so that one request alone
waits for nothing, and many share the price of a call. A short batch is answered in the event loop itself: two threads
that both want Python's lock make each other wait far longer than it takes. A long one, or one of a slow model, goes to
a thread, and the requests that come meanwhile are the next batch.

A large request is answered by itself, and one thread is never given to large ones. What nobody waits for any more, for
its time is up or its client has gone, is dropped before its turn, or stopped.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tagline.messages import message
from tagline.serving.answering_threads import AnswerThreads, Work
from tagline.serving.problems import ProblemError
from tagline.serving.requests import TagRequest
from tagline.serving.shelf import ServedModel

BYTES_A_TOKEN = 6  # about; requests are counted before they are tokenized
QUIET_TURNS = 3  # of the event loop without a new request, after which a batch begins
LONGEST_WAIT = 0.003  # seconds that a batch is gathered
SHORT = 0.02  # seconds that a batch may take in the event loop
PATIENCE = 0.1  # seconds that the next batch waits for one that runs, so that requests gather meanwhile
LONG = 1.0  # seconds from which a request is large
LARGE_SHARE = 4  # of the places in the queue, a fourth is for large requests
RETRY = {"Retry-After": "1"}

Answerer = Callable[[ServedModel, Sequence[TagRequest]], list[Any]]


@dataclass(eq=False)
class QueuedRequest:
    """A request that waits, or runs.

    Attributes:
        served, request: what is asked, and of which model; None where `call` answers alone.
        size: in tokens, about.
        large: whether it takes long; then it is answered by itself.
        future: of its answer.
        call: what answers instead of the batcher's own function.
        signature: requests of one are answered together.
        since: when it came.
    """

    served: ServedModel | None
    request: TagRequest | None
    size: int
    large: bool
    future: asyncio.Future[Any]
    call: Callable[[], Any] | None = None
    signature: tuple[Any, ...] = ()
    since: float = field(default_factory=time.monotonic)


class Batcher:
    """Puts requests together, and has them answered.

    Arguments:
        answer: answers requests of one model and one signature, with items or a `ProblemError` for each.
        max_queue: requests that may wait.
        max_batch: tokens that are answered together.
        observe: told the number of requests of each batch.
        workers: threads.
    """

    def __init__(
        self,
        answer: Answerer,
        max_queue: int,
        max_batch: int,
        observe: Callable[[int], None] | None = None,
        workers: int = 4,
    ) -> None:
        self.answer, self.max_queue, self.max_batch = answer, max_queue, max_batch
        self.observe = observe or (lambda count: None)
        self.waiting: deque[QueuedRequest] = deque()
        self.workers = AnswerThreads(workers)
        self.running: dict[Work, list[QueuedRequest]] = {}
        self._gathering = False

    def ask(self, served: ServedModel, request: TagRequest, size: int) -> asyncio.Future[Any]:
        """Return what will have the items of a request, or its `ProblemError`.

        Arguments:
            size: of the request in bytes.
        """
        tokens = max(1, size // BYTES_A_TOKEN)
        seconds = served.pace.seconds(tokens)
        large = tokens * request.share > self.max_batch or LONG < seconds < math.inf
        future = asyncio.get_running_loop().create_future()
        return self._enter(QueuedRequest(served, request, tokens, large, future, signature=request.signature))

    def call(self, function: Callable[..., Any], *arguments: Any, large: bool = False) -> asyncio.Future[Any]:
        """Return what will have the result of a function, which runs in a thread when its turn comes."""
        future = asyncio.get_running_loop().create_future()
        return self._enter(QueuedRequest(None, None, 1, large, future, partial(function, *arguments)))

    def _enter(self, job: QueuedRequest) -> asyncio.Future[Any]:
        waiting = len(self.waiting)
        if job.large:
            large = sum(other.large for other in self.waiting)
            if large >= max(1, self.max_queue // LARGE_SHARE):
                raise ProblemError(
                    429, message("{} large requests wait already; try again later", large), headers=RETRY
                )
        if waiting >= self.max_queue:
            raise ProblemError(429, message("{} requests wait already; try again later", waiting), headers=RETRY)
        self.waiting.append(job)
        self._gather()
        return job.future

    def _gather(self) -> None:
        if self._gathering:
            return
        loop = asyncio.get_running_loop()
        self._gathering = True
        latest, quiet, waiting = loop.time() + LONGEST_WAIT, 0, 0

        def turn() -> None:
            nonlocal quiet, waiting
            quiet = quiet + 1 if len(self.waiting) == waiting else 0
            waiting = len(self.waiting)
            if quiet >= QUIET_TURNS or loop.time() >= latest:
                self._gathering = False
                self._start(loop)
            else:
                loop.call_soon(turn)

        loop.call_soon(turn)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        if not (batch := self._next()):
            return
        if self._seconds(batch) < SHORT:
            self._deliver(batch, _outcome(self._run, batch))
        else:

            def deliver(outcome: Any) -> None:
                loop.call_soon_threadsafe(self._deliver, batch, outcome)

            self.running[self.workers.start(partial(self._run, batch), deliver)] = batch
            loop.call_later(PATIENCE, self._gather_on)
        self._gather_on()

    def _gather_on(self) -> None:
        if self.waiting and any(self._room()):
            self._gather()

    def _room(self) -> tuple[bool, bool]:
        """Whether a small batch may begin now, and whether a large one may."""
        free, now = self.workers.free, time.monotonic()
        running = [(work, self.running[work]) for work in self.workers.running if work in self.running]
        large = sum(batch[0].large for _, batch in running)
        small = all(batch[0].large or now >= work.started + PATIENCE for work, batch in running)
        return free > 0 and small, free > 0 and large < max(1, self.workers.count - 1)

    def _next(self) -> list[QueuedRequest]:
        """Take the next requests of one model and signature; those whose clients have gone are left out."""
        batch: list[QueuedRequest] = []
        passed: list[QueuedRequest] = []
        size, room = 0, self._room()
        while self.waiting:
            job = self.waiting.popleft()
            if job.future.done():
                continue
            fits = (size + job.size <= self.max_batch and _alike(batch[0], job)) if batch else room[job.large]
            (batch if fits else passed).append(job)
            size += job.size if fits else 0
        self.waiting.extend(passed)
        return batch

    def _seconds(self, batch: list[QueuedRequest]) -> float:
        """How long a batch will take, going by the slowest of the last ones; a model's first is not known."""
        first = batch[0]
        if first.large or first.served is None or first.request is None or first.request.asks_more:
            return SHORT
        return first.served.pace.seconds(sum(job.size for job in batch))

    def _run(self, batch: list[QueuedRequest]) -> list[Any]:
        first = batch[0]
        if first.call is not None:
            return [first.call()]
        assert first.served is not None
        started = time.thread_time()  # not the clock: a thread that waits for Python's lock looks slow and stays one
        answers = self.answer(first.served, [job.request for job in batch if job.request is not None])
        if not (first.request and first.request.asks_more):
            first.served.pace.note(sum(job.size for job in batch), time.thread_time() - started)
        return answers

    def _deliver(self, batch: list[QueuedRequest], outcome: Any) -> None:
        self.running = {work: jobs for work, jobs in self.running.items() if jobs is not batch}
        answers = [outcome] * len(batch) if isinstance(outcome, BaseException) else outcome
        for job, answer in zip(batch, answers, strict=True):
            if job.future.done():
                continue
            if isinstance(answer, BaseException):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)
        self.observe(len(batch))
        self._gather_on()

    def look_after(self) -> None:
        """Stop and drop what nobody waits for any more."""
        if any(job.future.done() for job in self.waiting):
            self.waiting = deque(job for job in self.waiting if not job.future.done())
        for work, batch in list(self.running.items()):
            if all(job.future.done() for job in batch):
                self.workers.stop(work)
                del self.running[work]
        self.workers.stop_again()
        self._gather_on()

    def trouble(self, seconds: float) -> str | None:
        """Say why requests had better go elsewhere; None where small ones are answered within so many seconds."""
        if self.workers.stuck >= self.workers.count:
            return message("all threads are busy with requests that have ended")
        if len(self.waiting) >= self.max_queue:
            return message("{} requests wait", len(self.waiting))
        since = min((job.since for job in self.waiting if not job.large and not job.future.done()), default=math.inf)
        if (waited := time.monotonic() - since) > seconds:
            return message("a request has waited for {:.1f} seconds", waited)
        return None

    def close(self) -> None:
        """Refuse what waits, and stop what runs."""
        for job in (*self.waiting, *(job for batch in self.running.values() for job in batch)):
            if not job.future.done():
                job.future.set_exception(ProblemError(503, message("the service stops; ask another")))
        self.waiting.clear()
        self.running.clear()
        self.workers.close()


def _alike(first: QueuedRequest, other: QueuedRequest) -> bool:
    if first.large or other.large or first.served is None:
        return False
    if first.served.reads_documents:  # sentences of another request are no part of a document
        return False
    return first.served is other.served and first.signature == other.signature


def _outcome(run: Callable[[list[QueuedRequest]], list[Any]], batch: list[QueuedRequest]) -> Any:
    """What a batch gives: answers, or the error that it ended with."""
    try:
        return run(batch)
    except Exception as error:
        return error
