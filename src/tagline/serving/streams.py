"""NDJSON in, NDJSON out, in order: as much is read as has been answered, so that memory does not grow.

Each line is a text (a JSON string) or a request with one text or sentence; its answer is one line. A line that is wrong
has its problem in its place, and the rest goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json, to_json
from starlette.requests import Request
from starlette.responses import Response

from tagline.serving.batching import Batcher
from tagline.serving.problems import ProblemError, problem_of
from tagline.serving.requests import TagRequest
from tagline.serving.settings import Settings
from tagline.serving.shelf import Shelf

TOGETHER = 256  # lines that are answered at once


class LineStream(Response):
    """Answers the lines of a request while they come.

    Arguments:
        request: whose body is read.
        defaults: what holds for every line.
    """

    def __init__(
        self, request: Request, shelf: Shelf, batcher: Batcher, settings: Settings, defaults: dict[str, Any]
    ) -> None:
        super().__init__(media_type="application/x-ndjson")
        self.request, self.shelf, self.batcher = request, shelf, batcher
        self.settings, self.defaults = settings, defaults

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Read and answer, a block of lines at a time."""
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        number = 0
        async for lines in self._blocks():
            rows = await asyncio.gather(*(self._line(number + n, line) for n, line in enumerate(lines, 1)))
            number += len(lines)
            body = b"".join(row for row in rows if row)
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _blocks(self) -> AsyncIterator[list[bytes]]:
        """Lines as they come, some together; a line that is too long is cut, and is wrong for it."""
        rest, most = b"", self.settings.max_body
        async for part in self.request.stream():
            *lines, rest = (rest + part).split(b"\n")
            for first in range(0, len(lines), TOGETHER):
                yield lines[first : first + TOGETHER]
            if len(rest) > most + 1:
                rest = rest[: most + 1]
        if rest:
            yield [rest]

    async def _line(self, number: int, line: bytes) -> bytes:
        if not line.strip():
            return b""
        try:
            if len(line) > self.settings.max_body:
                raise ProblemError(413, f"expected up to {self.settings.max_body} bytes a line, got more")
            asked = self._asked(line)
            served = self.shelf[asked.model]
            answer = await self.batcher.ask(served, asked, len(line))
            return bytes(answer.items + b"\n")
        except ProblemError as problem:
            return to_json({"error": problem.document(), "line": number}) + b"\n"

    def _asked(self, line: bytes) -> TagRequest:
        try:
            value = from_json(line)
        except ValueError as error:
            raise ProblemError(400, f"expected a line of JSON, got something else: {error}") from None
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, dict):
            raise ProblemError(422, "expected a text, or an object with text or tokens, got something else")
        try:
            asked = TagRequest.model_validate({**self.defaults, **value})
        except ValidationError as error:
            raise problem_of(error) from None
        if len(asked.items) != 1:
            raise ProblemError(422, "expected one text or one sentence a line, got several", field="texts")
        return asked
