"""Problem documents (RFC 9457): what is wrong with a request, as JSON that names the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.responses import Response

TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    404: "There is no such thing here",
    405: "The method is not allowed",
    408: "The request came too slowly",
    413: "The request is too large",
    415: "The body is of another type",
    421: "The host is another",
    422: "A field is wrong",
    429: "Too many requests wait",
    431: "The headers are too large",
    500: "The service failed",
    503: "The service is not ready",
    504: "The answer took too long",
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
            title=TITLES.get(self.status, "The request failed"),
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
        return ProblemError(400, f"expected JSON, got something else: {first['msg'].removeprefix('Invalid JSON: ')}")
    field = field_name(first["loc"])
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    message = first["msg"].removeprefix("Value error, ")
    return ProblemError(422, f"{field}: {message}{more}" if field else f"{message}{more}", field=field or None)


def field_name(place: tuple[int | str, ...]) -> str:
    """Write a place in a request: ``known[0].label``; names of alternatives, which pydantic adds, are left out."""
    name = ""
    for part in place:
        if isinstance(part, int):
            name += f"[{part}]"
        elif part.isidentifier() and part not in ("str", "int", "float", "bool", "list"):
            name += f".{part}" if name else part
    return name
