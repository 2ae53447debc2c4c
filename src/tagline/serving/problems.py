"""Problem documents (RFC 9457): what is wrong with a request, as JSON that names the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.responses import Response

from tagline.messages import message

TITLES = {
    400: message("The request cannot be read"),
    401: message("A token is needed"),
    404: message("There is no such thing here"),
    405: message("The method is not allowed"),
    408: message("The request came too slowly"),
    413: message("The request is too large"),
    415: message("The body is of another type"),
    421: message("The host is another"),
    422: message("A field is wrong"),
    429: message("Too many requests wait"),
    431: message("The headers are too large"),
    500: message("The service failed"),
    503: message("The service is not ready"),
    504: message("The answer took too long"),
}


class Problem(BaseModel):
    """What is wrong with a request."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    field: str | None = None
    request: str | None = None


class ProblemError(Exception):
    """A request cannot be answered.

    Arguments:
        status: of HTTP.
        detail: what was expected, what came, and what to do.
        field: where in the request, as ``known[0].label``.
        headers: that go with the answer.
    """

    def __init__(
        self, status: int, detail: str, *, field: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field, self.headers = status, detail, field, headers or {}

    def document(self, request: str | None = None) -> dict[str, Any]:
        """Return the document."""
        problem = Problem(
            title=TITLES.get(self.status, message("The request failed")),
            status=self.status,
            detail=self.detail,
            field=self.field,
            request=request,
        )
        return problem.model_dump(exclude_none=True)

    def response(self, request: str | None = None) -> Response:
        """Return the document as an answer."""
        return Response(to_json(self.document(request)), self.status, self.headers, "application/problem+json")


def problem_of(error: ValidationError) -> ProblemError:
    """Say what pydantic found, by the first field that is wrong."""
    return problem_of_errors(error.errors(include_url=False, include_context=False))


def problem_of_errors(errors: Sequence[Any]) -> ProblemError:
    """Say what is wrong by the first of pydantic's errors."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return ProblemError(
            400, message("expected JSON, got something else: {}", first["msg"].removeprefix("Invalid JSON: "))
        )
    field = field_name(first["loc"])
    more = message(" ({} more)", len(errors) - 1) if len(errors) > 1 else ""
    text = f"{first['msg'].removeprefix('Value error, ')}{more}"
    return ProblemError(422, message("{}: {}", field, text) if field else text, field=field or None)


def field_name(place: tuple[int | str, ...]) -> str:
    """Write a place in a request: ``known[0].label``; names of alternatives, which pydantic adds, are left out."""
    name = ""
    for part in place:
        if isinstance(part, int):
            name += f"[{part}]"
        elif part.isidentifier() and part not in ("str", "int", "float", "bool", "list"):
            name += f".{part}" if name else part
    return name
