"""Threads that answer batches, and that can be told to give one up.

A thread cannot be ended from outside, but an exception can be raised in it between two steps of Python. A call into
compiled code is finished first; limits on requests bound how long that takes. A thread that was stopped does no other
work afterwards, and others take its place meanwhile, so that no request waits for work that nobody wants any more.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

AGAIN = 1.0  # seconds after which a thread that goes on is told once more: code may have swallowed the exception


class NotWanted(BaseException):
    """Nobody waits any more for what this thread computes."""


class Work:
    """A call that runs in a thread.

    Arguments:
        call: what runs.
        deliver: told the result or the exception, in the thread that ran it; not where the work was stopped.
    """

    def __init__(self, call: Callable[[], Any], deliver: Callable[[Any], object]) -> None:
        self.call: Callable[[], Any] | None = call
        self.deliver: Callable[[Any], object] | None = deliver
        self.started = time.monotonic()
        self.stopped: float | None = None
        self.finished = False
        self.lock = threading.Lock()

    def run(self) -> None:
        """Call, and deliver the outcome."""
        assert self.call is not None
        try:
            outcome = self.call()
        except Exception as error:
            outcome = error
        with self.lock:  # from here on nothing is raised in this thread
            self.finished = True
        if self.stopped is None and self.deliver is not None:
            self.deliver(outcome)
        self.call = self.deliver = None  # the thread keeps this until its next work, but not requests and answers


class _AnswerThread(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="tagline-answers", daemon=True)
        self.inbox: SimpleQueue[Work | None] = SimpleQueue()
        self.work: Work | None = None

    def run(self) -> None:
        with suppress(NotWanted):
            while (work := self.inbox.get()) is not None:
                work.run()
                if work.stopped is not None:
                    return
                del work  # nothing of an answer is kept until the next one

    def stop(self, work: Work) -> None:
        now = time.monotonic()
        with work.lock:
            if work.finished or (work.stopped is not None and now < work.stopped + AGAIN):
                return
            work.stopped = now
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(NotWanted))


class AnswerThreads:
    """A few threads; all methods are for one thread, that of the event loop.

    Arguments:
        count: how many work at a time. As many more may still be in compiled code after they were stopped.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.threads: list[_AnswerThread] = []

    @property
    def running(self) -> list[Work]:
        """What runs and was not stopped."""
        works = (thread.work for thread in self.threads)
        return [work for work in works if work is not None and not work.finished and work.stopped is None]

    @property
    def stuck(self) -> int:
        """How many threads go on although they were stopped."""
        return sum(thread.is_alive() and thread.work is not None and thread.work.stopped is not None
                   for thread in self.threads)  # fmt: skip

    @property
    def free(self) -> int:
        """How many calls can be started now."""
        return self.count - len(self.running) - max(0, self.stuck - self.count)

    def start(self, call: Callable[[], Any], deliver: Callable[[Any], object]) -> Work:
        """Run a call in a thread that has nothing to do."""
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        idle = (thread for thread in self.threads if thread.work is None or _is_over(thread.work))
        worker = next(idle, None)
        if worker is None:
            worker = _AnswerThread()
            worker.start()
            self.threads.append(worker)
        worker.work = work = Work(call, deliver)
        worker.inbox.put(work)
        return work

    def stop(self, work: Work) -> None:
        """Give a call up; what it computes is thrown away."""
        for thread in self.threads:
            if thread.work is work and thread.is_alive():
                thread.stop(work)

    def stop_again(self) -> None:
        """Tell those once more that go on."""
        for thread in self.threads:
            if thread.work is not None and thread.work.stopped is not None and thread.is_alive():
                thread.stop(thread.work)

    def close(self) -> None:
        """Give everything up, and let the threads end."""
        for work in self.running:
            self.stop(work)
        for thread in self.threads:
            thread.inbox.put(None)


def _is_over(work: Work) -> bool:
    return work.finished and work.stopped is None
