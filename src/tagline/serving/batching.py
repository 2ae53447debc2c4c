"""Requests that come at the same time are answered together.

A batch begins as soon as no further request has come in for a few turns of the event loop, so that one request alone
waits for nothing, and many share the price of a call. A short batch is answered in the event loop itself: two threads
that both want Python's lock make each other wait far longer than it takes. A long one, or one of a slow model, goes to
a thread, and the requests that come meanwhile are the next batch. A request whose client has gone is dropped before its
turn.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tagline.serving.problems import ProblemError
from tagline.serving.requests import TagRequest
from tagline.serving.shelf import ServedModel

BYTES_A_TOKEN = 6  # about; requests are counted before they are tokenized
QUIET_TURNS = 3  # of the event loop without a new request, after which a batch begins
LONGEST_WAIT = 0.003  # seconds that a batch is gathered
SHORT = 0.02  # seconds that a batch may take in the event loop

Answerer = Callable[[ServedModel, Sequence[TagRequest]], list[Any]]


@dataclass(eq=False)
class Job:
    """A request that waits, or runs."""

    served: ServedModel
    request: TagRequest
    signature: tuple[Any, ...]
    size: int
    future: asyncio.Future[Any]


class Batcher:
    """Puts requests together.

    Arguments:
        answer: answers requests of one model and one signature, with items or a `ProblemError` for each.
        max_queue: requests that may wait.
        max_batch: tokens that are answered together.
        observe: told the number of requests of each batch.
    """

    def __init__(
        self, answer: Answerer, max_queue: int, max_batch: int, observe: Callable[[int], None] | None = None
    ) -> None:
        self.answer, self.max_queue, self.max_batch = answer, max_queue, max_batch
        self.observe = observe or (lambda count: None)
        self.waiting: deque[Job] = deque()
        self.worker = ThreadPoolExecutor(1, thread_name_prefix="tagline-answers")
        self._busy = False  # a batch is gathered, or runs

    def ask(self, served: ServedModel, request: TagRequest, size: int) -> asyncio.Future[Any]:
        """Return what will have the items of a request, or its `ProblemError`.

        Arguments:
            size: of the request in bytes.
        """
        if len(self.waiting) >= self.max_queue:
            detail = f"{len(self.waiting)} requests wait already; try again later"
            raise ProblemError(429, detail, headers={"Retry-After": "1"})
        loop = asyncio.get_running_loop()
        job = Job(served, request, request.signature, max(1, size // BYTES_A_TOKEN), loop.create_future())
        self.waiting.append(job)
        if not self._busy:
            self._gather(loop)
        return job.future

    def _gather(self, loop: asyncio.AbstractEventLoop) -> None:
        self._busy = True
        latest, quiet, waiting = loop.time() + LONGEST_WAIT, 0, 0

        def turn() -> None:
            nonlocal quiet, waiting
            quiet = quiet + 1 if len(self.waiting) == waiting else 0
            waiting = len(self.waiting)
            if quiet >= QUIET_TURNS or loop.time() >= latest:
                self._start(loop)
            else:
                loop.call_soon(turn)

        loop.call_soon(turn)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        batch = self._next()
        if not batch:
            self._busy = False
        elif self._seconds(batch) < SHORT:
            self._deliver(loop, batch, _outcome(self._run, batch))
        else:
            running = loop.run_in_executor(self.worker, _outcome, self._run, batch)
            running.add_done_callback(lambda done: self._deliver(loop, batch, _result(done)))

    def _next(self) -> list[Job]:
        """Take the next requests of one model and signature; clients that have gone are left out."""
        batch: list[Job] = []
        passed: list[Job] = []
        size = 0
        while self.waiting:
            job = self.waiting.popleft()
            if job.future.done():
                continue
            fits = not batch or (size + job.size <= self.max_batch and _alike(batch[0], job))
            (batch if fits else passed).append(job)
            size += job.size if fits else 0
        self.waiting.extend(passed)
        return batch

    def _seconds(self, batch: list[Job]) -> float:
        """How long a batch will take, going by the slowest of the last ones; a model's first is not known."""
        first = batch[0]
        if first.request.asks_more:
            return SHORT
        return first.served.pace.seconds(sum(job.size for job in batch))

    def _run(self, batch: list[Job]) -> list[Any]:
        started = time.thread_time()  # not the clock: a thread that waits for Python's lock looks slow and stays one
        answers = self.answer(batch[0].served, [job.request for job in batch])
        batch[0].served.pace.note(sum(job.size for job in batch), time.thread_time() - started)
        return answers

    def _deliver(self, loop: asyncio.AbstractEventLoop, batch: list[Job], outcome: Any) -> None:
        answers = [outcome] * len(batch) if isinstance(outcome, BaseException) else outcome
        for job, answer in zip(batch, answers, strict=True):
            if job.future.done():
                continue
            if isinstance(answer, BaseException):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)
        self.observe(len(batch))
        if self.waiting:
            self._gather(loop)
        else:
            self._busy = False

    def close(self) -> None:
        """End the thread; what waits is refused."""
        for job in self.waiting:
            if not job.future.done():
                job.future.set_exception(ProblemError(503, "the service stops"))
        self.waiting.clear()
        self.worker.shutdown(wait=False, cancel_futures=True)


def _alike(first: Job, other: Job) -> bool:
    if first.served.reads_documents:  # sentences of another request are no part of a document
        return False
    return first.served is other.served and first.signature == other.signature


def _outcome(run: Callable[[list[Job]], list[Any]], batch: list[Job]) -> Any:
    """What a batch gives: answers, or the error that it ended with."""
    try:
        return run(batch)
    except Exception as error:
        return error


def _result(done: asyncio.Future[Any]) -> Any:
    if done.cancelled():
        return ProblemError(503, "the service stops")
    return done.exception() or done.result()
