"""The routes: what is asked by HTTP, and where the answers come from. The description is at ``/openapi.json``."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.staticfiles import StaticFiles
from pydantic import ValidationError
from pydantic.json_schema import models_json_schema
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, Response

import tagline
from tagline import compiled
from tagline.messages import message
from tagline.models.contract import Model
from tagline.serving.answers import Written, answer_requests
from tagline.serving.batching import Batcher
from tagline.serving.guard import CLIENT_GONE, Guard
from tagline.serving.line_streams import LineStream
from tagline.serving.metrics import Metrics
from tagline.serving.models import model_facts, model_features, model_line
from tagline.serving.problems import Problem, ProblemError, problem_of, problem_of_errors
from tagline.serving.requests import TAG_EXAMPLES, ModelRequest, TagAnswer, TagRequest, TrellisRequest
from tagline.serving.settings import Settings
from tagline.serving.shelf import Shelf
from tagline.serving.trellis import trellis

LOG = logging.getLogger("tagline.serving")
JSON = "application/json"
LINES = ("application/x-ndjson", "application/jsonl", JSON)
BEHIND = 5.0  # seconds that a small request may wait before the service says that it is not ready
LOOK = 0.25  # seconds between two looks at who is still there
TIDY = 5.0  # seconds between two collections of what hangs together in circles: errors, models that were replaced

Asked = TypeVar("Asked", bound=ModelRequest)
STREAM_OPTIONS = ("model", "tokenizer", "offsets")
STREAM_SWITCHES = ("split", "spans", "marginals")


def create_app(models: Mapping[str, str | Model], settings: Settings | None = None) -> Any:
    """Make the ASGI application that serves models.

    Arguments:
        models: files or models by their names; the first one answers where a request names none.
        settings: its limits.

    >>> import tagline
    >>> from tagline.serving import create_app
    >>> crf = tagline.CRF("U00:%x[0,0]").fit([["Anna", "sings"]], [["B-PER", "O"]])
    >>> app = create_app({"names": crf})  # uvicorn.run(app, port=8000) would serve it
    >>> callable(app)
    True
    """
    service = Service(Shelf(models), settings or Settings())
    return Guard(service.app, service.settings, service.metrics)


class Service:
    """The parts of a running service, and its routes."""

    def __init__(self, shelf: Shelf, settings: Settings) -> None:
        compiled.require()  # it writes the answers
        self.shelf, self.settings, self.metrics = shelf, settings, Metrics()
        answer = partial(answer_requests, most=settings.max_tokens, most_explained=settings.max_explain)
        observe, workers = self.metrics.batches.observe, settings.workers
        self.batcher = Batcher(answer, settings.max_queue, settings.max_batch, observe, workers)
        self.draining = False
        self.open: dict[
            asyncio.Future[Any], tuple[Request | None, float]
        ] = {}  # what is waited for, by whom, till when
        self.app = FastAPI(
            title="Tagline", version=tagline.__version__, docs_url=None, redoc_url=None, lifespan=self._lifespan
        )
        self.app.state.service = self
        self._add_routes()

    @asynccontextmanager
    async def _lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        duties = [asyncio.create_task(self._look_after())]
        if self.settings.reload:
            duties.append(asyncio.create_task(self.shelf.watch(self.settings.reload)))
        yield
        self.draining = True
        for duty in duties:
            duty.cancel()
            with suppress(asyncio.CancelledError):
                await duty
        self.end()

    def end(self) -> None:
        """Answer what is still open with 503, and give up what runs."""
        self.draining = True
        for answer in self.open:
            if not answer.done():
                answer.set_exception(ProblemError(503, message("the service stops; ask another")))
        self.batcher.close()

    def _add_routes(self) -> None:
        app = self.app
        problems: dict[int | str, dict[str, Any]] = {422: {"model": Problem, "description": "A field is wrong."}}
        body = partial(_body, app)
        app.post("/v1/tag", responses={200: {"model": TagAnswer}, **problems}, openapi_extra=body(TagRequest))(self.tag)
        app.post("/v1/trellis", responses=problems, openapi_extra=body(TrellisRequest))(self.trellis)
        app.post("/v1/stream", responses=problems, openapi_extra=_lines())(self.stream)
        app.get("/v1/models")(self.models)
        app.get("/v1/models/{name}", responses=problems)(self.model)
        app.get("/v1/models/{name}/features", responses=problems)(self.features)
        app.get("/healthz")(self.health)
        app.get("/readyz")(self.ready)
        app.get("/metrics")(self.numbers)
        app.add_exception_handler(ProblemError, _problem_answer)
        app.add_exception_handler(HTTPException, _http_answer)
        app.add_exception_handler(RequestValidationError, _validation_answer)
        app.add_exception_handler(ClientDisconnect, _client_gone)
        app.add_exception_handler(Exception, _failure_answer)
        app.openapi = lambda: _description(app)  # type: ignore[method-assign]
        folder = files("tagline.serving") / "page"
        app.get("/", include_in_schema=False)(lambda: FileResponse(str(folder / "index.html")))
        app.mount("/page", StaticFiles(directory=str(folder)), name="page")

    async def tag(self, request: Request) -> Response:
        """Label texts or sentences."""
        data = await request.body()
        asked = _parsed(TagRequest, data, request)
        served = self.shelf[asked.model]
        answer: Written = await self.within(request, self.batcher.ask(served, asked, len(data)))
        self.metrics.labelled(served.name, answer.tokens)
        labels = b',"labels":' + to_json(served.labels) if asked.marginals else b""
        body = b'{"model":%b%b,"results":[%b]}' % (to_json(served.name), labels, answer.items)
        return Response(body, media_type=JSON)

    async def trellis(self, request: Request) -> Response:
        """Return everything that is computed about one sentence."""
        asked = _parsed(TrellisRequest, await request.body(), request)
        served = self.shelf[asked.model]
        work = self.batcher.call(_caught, trellis, served, asked, self.settings.max_tokens)
        return Response(to_json(await self.within(request, work), inf_nan_mode="null"), media_type=JSON)

    async def stream(self, request: Request) -> Response:
        """Label line by line, NDJSON in and out, in order."""
        check_media(request, LINES)
        given = request.query_params
        if unknown := [name for name in given if name not in (*STREAM_OPTIONS, *STREAM_SWITCHES)]:
            detail = message("{}: expected one of {}", unknown[0], ", ".join((*STREAM_OPTIONS, *STREAM_SWITCHES)))
            raise ProblemError(422, detail, field=unknown[0])
        try:
            TagRequest.model_validate({**given, "text": ""})
        except ValidationError as error:
            raise problem_of(error) from None
        _ = self.shelf[given.get("model")]
        answer = partial(self.within, None)
        return LineStream(request, self.shelf, self.batcher, answer, self.settings, dict(given))

    async def models(self) -> Response:
        """List the models."""
        lines = [model_line(served, n == 0) for n, served in enumerate(self.shelf)]
        return Response(to_json({"models": lines}), media_type=JSON)

    async def model(self, request: Request, name: str) -> Response:
        """Describe a model: labels, transitions, how it was trained."""
        facts = await self.within(request, self.batcher.call(model_facts, self.shelf[name]))
        return Response(to_json(facts, inf_nan_mode="null"), media_type=JSON)

    async def features(
        self, request: Request, name: str, label: str | None = None, search: str = "", top: int = 20
    ) -> Response:
        """Return the heaviest features of a model."""
        work = self.batcher.call(_caught, model_features, self.shelf[name], label, search, top, large=bool(search))
        rows = await self.within(request, work)
        return Response(to_json({"features": rows}, inf_nan_mode="null"), media_type=JSON)

    async def health(self) -> Response:
        """Say that the process lives."""
        return Response(b'{"status":"alive"}', media_type=JSON)

    async def ready(self) -> Response:
        """Say whether requests are welcome."""
        if self.draining:
            raise ProblemError(503, message("the service stops; ask another"))
        if (trouble := self.batcher.trouble(min(BEHIND, self.settings.timeout / 2))) is not None:
            raise ProblemError(503, trouble)
        return Response(b'{"status":"ready"}', media_type=JSON)

    async def numbers(self) -> Response:
        """Return what was counted, in Prometheus' form."""
        self.metrics.waiting.set(len(self.batcher.waiting))
        self.metrics.models.clear()
        for served in self.shelf:
            self.metrics.models.labels(served.name, served.model.kind, served.fingerprint).set(1)
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def within(self, request: Request | None, answer: asyncio.Future[Any]) -> Any:
        """Wait for an answer, as long as there is time and the client is there; no request, and only time counts."""
        self.open[answer] = (request, time.monotonic() + self.settings.timeout)
        try:
            return await answer
        finally:
            del self.open[answer]

    async def _look_after(self) -> None:
        """Cancel requests that timed out or whose client disconnected, and stop the work on them."""
        tidied = time.monotonic()
        while True:
            await asyncio.sleep(LOOK)
            if time.monotonic() > tidied + TIDY:
                gc.collect()  # a few milliseconds: what was there at the start is not looked at
                tidied = time.monotonic()
            for answer, (request, end) in list(self.open.items()):
                if answer.done():
                    continue
                if time.monotonic() > end:
                    detail = message("no answer within {:g} seconds; send less at a time", self.settings.timeout)
                    answer.set_exception(ProblemError(504, detail))
                elif request is not None and await request.is_disconnected() and not answer.done():
                    answer.set_exception(ClientDisconnect())
            self.batcher.look_after()


def _parsed(kind: type[Asked], data: bytes, request: Request) -> Asked:
    """Read the body of a request."""
    check_media(request, (JSON,))
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise problem_of(error) from None


def check_media(request: Request, allowed: Sequence[str]) -> None:
    """Refuse bodies of another type, or of none: pages of other origins can send those without being asked."""
    given = request.headers.get("content-type")
    media = None if given is None else given.partition(";")[0].strip().lower()
    if media not in allowed:
        got = message("none") if media is None else repr(media[:80])
        raise ProblemError(
            415,
            message("expected the header Content-Type: {}, got {}", message(" or ").join(allowed), got),
        )


def _caught(function: Any, *arguments: Any) -> Any:
    from tagline.errors import TaglineError
    from tagline.serving.answers import problem_with

    try:
        return function(*arguments)
    except TaglineError as error:
        raise problem_with(error) from None


async def _problem_answer(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return error.response(request.state.request_id)


async def _http_answer(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = {404: message("expected a path of this service, got {!r}; see /openapi.json", request.url.path[:200])}
    problem = ProblemError(error.status_code, detail.get(error.status_code, str(error.detail)))
    problem.headers = dict(error.headers or {})
    return problem.response(request.state.request_id)


async def _validation_answer(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [{**found, "loc": found["loc"][1:]} for found in error.errors()]  # the first name is query or path
    return problem_of_errors(errors).response(request.state.request_id)


async def _client_gone(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_GONE)


async def _failure_answer(request: Request, error: Exception) -> Response:
    LOG.error("failure", exc_info=error, extra={"facts": {"id": request.state.request_id}})
    return ProblemError(500, message("the service failed; its log has the reason")).response(request.state.request_id)


# The description.


def _body(app: FastAPI, kind: type[ModelRequest]) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}
    if kind is TagRequest:
        content["examples"] = TAG_EXAMPLES
    else:
        content["examples"] = {"a text": {"value": {"text": "John lives in New York."}}}
    return {"requestBody": {"required": True, "content": {JSON: content}}}


def _lines() -> dict[str, Any]:
    content = {"schema": {"type": "string"}, "examples": {"two texts": {"value": '"Anna sings."\n{"text": "Bob."}\n'}}}
    options = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in STREAM_OPTIONS]
    options += [{"name": name, "in": "query", "schema": {"type": "boolean"}} for name in STREAM_SWITCHES]
    return {"requestBody": {"required": True, "content": {"application/x-ndjson": content}}, "parameters": options}


def _description(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes, description=__doc__ or "")
        _, own = models_json_schema(
            [(kind, "validation") for kind in (TagRequest, TrellisRequest)], ref_template="#/components/schemas/{model}"
        )
        schema.setdefault("components", {}).setdefault("schemas", {}).update(own["$defs"])
        schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = schema
    return app.openapi_schema
