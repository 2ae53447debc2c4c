"""Requests that come at the same time are answered together, by one thread that leaves the event loop alone.

While a batch runs, requests gather; the next batch takes all of one model, up to a number of tokens. So one request
alone waits for nothing, and many share the price of a call. A request whose client has gone is dropped before its turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tagline.serving.problems import ProblemError
from tagline.serving.requests import TagRequest
from tagline.serving.shelf import ServedModel

BYTES_A_TOKEN = 6  # about; requests are counted before they are tokenized

Answerer = Callable[[ServedModel, Sequence[TagRequest]], list[Any]]


@dataclass(eq=False)
class Job:
    """A request that waits, or runs."""

    served: ServedModel
    request: TagRequest
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
        self._running = False

    async def ask(self, served: ServedModel, request: TagRequest, size: int) -> Any:
        """Return the items of a request, or raise its `ProblemError`."""
        if len(self.waiting) >= self.max_queue:
            raise ProblemError(
                429, f"{len(self.waiting)} requests wait already; try again later", headers={"Retry-After": "1"}
            )
        loop = asyncio.get_running_loop()
        job = Job(served, request, max(1, size // BYTES_A_TOKEN), loop.create_future())
        self.waiting.append(job)
        if not self._running:
            self._start(loop)
        return await job.future

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        batch = self._next()
        self._running = bool(batch)
        if batch:
            running = loop.run_in_executor(self.worker, self._run, batch)
            running.add_done_callback(lambda done: self._deliver(loop, batch, done))

    def _next(self) -> list[Job]:
        """Take the next requests of one model and signature; clients that have gone are left out."""
        batch: list[Job] = []
        passed: list[Job] = []
        size = 0
        while self.waiting:
            job = self.waiting.popleft()
            if job.future.done():
                continue
            fits = not batch or (size + job.size <= self.max_batch and self._alike(batch[0], job))
            (batch if fits else passed).append(job)
            size += job.size if fits else 0
        self.waiting.extend(passed)
        return batch

    @staticmethod
    def _alike(first: Job, other: Job) -> bool:
        return first.served is other.served and first.request.signature == other.request.signature

    def _run(self, batch: list[Job]) -> list[Any]:
        return self.answer(batch[0].served, [job.request for job in batch])

    def _deliver(self, loop: asyncio.AbstractEventLoop, batch: list[Job], done: asyncio.Future[list[Any]]) -> None:
        failure = None if done.cancelled() else done.exception()
        if done.cancelled():
            failure = ProblemError(503, "the service stops")
        answers = [failure] * len(batch) if failure is not None else done.result()
        for job, answer in zip(batch, answers, strict=True):
            if job.future.done():
                continue
            if isinstance(answer, BaseException):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)
        self.observe(len(batch))
        self._start(loop)

    def close(self) -> None:
        """End the thread; what waits is refused."""
        for job in self.waiting:
            if not job.future.done():
                job.future.set_exception(ProblemError(503, "the service stops"))
        self.waiting.clear()
        self.worker.shutdown(wait=False, cancel_futures=True)
