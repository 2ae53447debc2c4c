"""NDJSON in, NDJSON out, in order: as much is read as has been answered, so that memory does not grow.

Each line is a text (a JSON string) or a request with one text or sentence; its answer is one line. A line that is wrong
has its problem in its place, and the rest goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json, to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tagline.messages import message
from tagline.serving.batching import Batcher
from tagline.serving.problems import ProblemError, problem_of
from tagline.serving.requests import TagRequest
from tagline.serving.settings import Settings
from tagline.serving.shelf import Shelf

TOGETHER = 256  # lines that are answered at once


class LineStream(Response):
    """Answers the lines of a request while they come.

    A line has to come, to be answered and to be read within the seconds that a request may take; a stream that rests
    longer is ended.

    Arguments:
        request: whose body is read.
        wait: waits for an answer of the batcher, as long as there is time.
        defaults: what holds for every line.
    """

    def __init__(
        self,
        request: Request,
        shelf: Shelf,
        batcher: Batcher,
        wait: Callable[[asyncio.Future[Any]], Awaitable[Any]],
        settings: Settings,
        defaults: dict[str, Any],
    ) -> None:
        super().__init__(media_type="application/x-ndjson")
        self.request, self.shelf, self.batcher, self.wait = request, shelf, batcher, wait
        self.settings, self.defaults = settings, defaults

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Read and answer, a block of lines at a time."""
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        number = 0
        try:
            async for lines in self._blocks():
                rows = await asyncio.gather(*(self._line(number + n, line) for n, line in enumerate(lines, 1)))
                number += len(lines)
                body = b"".join(row for row in rows if row)
                async with asyncio.timeout(self.settings.timeout):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
        except ClientDisconnect:
            return
        except TimeoutError:
            detail = message("no line came, or no answer was read, within {:g} seconds", self.settings.timeout)
            body = _wrong(ProblemError(408, detail), number + 1)
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _blocks(self) -> AsyncIterator[list[bytes]]:
        """Lines as they come, some together; a line that is too long is cut, and is wrong for it."""
        rest, most = bytearray(), self.settings.max_body + 1
        parts, clock = self.request.stream(), asyncio.get_running_loop().time
        end = clock() + self.settings.timeout
        while True:
            try:
                async with asyncio.timeout_at(end):
                    part = await anext(parts)
            except StopAsyncIteration:
                break
            first, *others = part.split(b"\n")
            rest += first[: most - len(rest)]  # in place: a line may come a byte at a time
            if not others:
                continue
            lines, rest = [bytes(rest), *others[:-1]], bytearray(others[-1][:most])
            for first_line in range(0, len(lines), TOGETHER):
                yield lines[first_line : first_line + TOGETHER]
            end = clock() + self.settings.timeout
        if rest:
            yield [bytes(rest)]

    async def _line(self, number: int, line: bytes) -> bytes:
        if not line.strip():
            return b""
        try:
            if len(line) > self.settings.max_body:
                raise ProblemError(413, message("expected up to {} bytes a line, got more", self.settings.max_body))
            asked = self._asked(line)
            served = self.shelf[asked.model]
            answer = await self.wait(self.batcher.ask(served, asked, len(line)))
            return bytes(answer.items + b"\n")
        except ProblemError as problem:
            return _wrong(problem, number)

    def _asked(self, line: bytes) -> TagRequest:
        try:
            value = from_json(line)
        except ValueError as error:
            raise ProblemError(400, message("expected a line of JSON, got something else: {}", error)) from None
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, dict):
            raise ProblemError(422, message("expected a text, or an object with text or tokens, got something else"))
        try:
            asked = TagRequest.model_validate({**self.defaults, **value})
        except ValidationError as error:
            raise problem_of(error) from None
        if len(asked.items) != 1:
            raise ProblemError(422, message("expected one text or one sentence a line, got several"), field="texts")
        return asked


def _wrong(problem: ProblemError, number: int) -> bytes:
    return to_json({"error": problem.document(), "line": number}) + b"\n"
