"""`tagline serve`: models answer by HTTP, with a page to try them on."""

from __future__ import annotations

import os
import sys
from typing import Annotated

from tagline.cli.arguments import option
from tagline.cli.speech import say
from tagline.errors import InputError
from tagline.messages import message


def command(
    model: Annotated[list[str], option("-m", "--model", help="A model, or name=model; may be given several times.")],
    host: Annotated[str, option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option(between=(0, 65535), help="The port to listen on.")] = 8000,
    token_file: Annotated[
        str | None, option(help="A file with a token that requests must bring; TAGLINE_TOKEN does the same.")
    ] = None,
    insecure: Annotated[bool, option(help="Listen on other addresses without a token.")] = False,
    max_tokens: Annotated[int, option(help="Tokens that a request may have.")] = 100_000,
    max_body: Annotated[int, option(help="Bytes that a request may have.")] = 1_000_000,
    max_queue: Annotated[int, option(help="Requests that may wait; more are refused for a while.")] = 1_000,
    max_explain: Annotated[int, option(help="Tokens of a request whose labels are explained.")] = 2_000,
    max_connections: Annotated[int, option(help="Connections that may be open.")] = 500,
    workers: Annotated[int, option(help="Requests that are answered side by side; large ones leave one free.")] = 4,
    timeout: Annotated[float, option(help="Seconds that a request may take.")] = 30.0,
    drain: Annotated[float, option(help="Seconds that open requests have at the end.")] = 10.0,
    reload: Annotated[
        float, option(help="Seconds between two looks at the model files, to take new ones; 0 for none.")
    ] = 1.0,
    allow_origin: Annotated[
        str | None, option(help="Let pages of this origin call the service, such as https://example.org.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option(
            help="A name under which the service is called, such as tagline.example.org; * for any. May be given "
            "several times."
        ),
    ] = None,
    threads: Annotated[int | None, option(help="Threads of the core; all processors if left out.")] = None,
    show: Annotated[bool, option("--open", help="Open the page in a browser.")] = False,
    log: Annotated[str, option(help="How much is logged: debug, info, warning, error.")] = "info",
) -> None:
    """Answer requests by HTTP, and show a page to try models on.

    The page is at http://HOST:PORT/, the description of the service at /openapi.json. A model file that is replaced is
    taken over without losing a request. Ctrl-C or SIGTERM lets open requests finish.

    \b
    Examples:
      tagline serve -m model.tagline
      tagline serve -m news=news.tagline -m names=names.tagline --port 9000
      tagline serve -m model.tagline --host 0.0.0.0 --token-file token.txt
    """
    try:
        from tagline.serving.server import log_start, serve
        from tagline.serving.settings import Settings, check_exposure
        from tagline.serving.shelf import named_models
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "uvicorn", "starlette", "pydantic", "pydantic_core", "prometheus_client"):
            raise
        raise InputError(
            "serve: expected the packages of the service, got no module {}; install them with: pip install "
            "'tagline[web]'",
            error.name,
        ) from None
    if log not in ("debug", "info", "warning", "error"):
        raise InputError("--log: expected debug, info, warning or error, got {!r}", log)
    token = read_token(token_file)
    check_exposure(host, token, insecure)
    if threads is not None:
        from tagline.compiled import set_threads

        set_threads(threads)
    settings = Settings(
        token=token,
        max_body=max_body,
        max_tokens=max_tokens,
        max_queue=max_queue,
        timeout=timeout,
        drain=drain,
        reload=reload,
        allow_origin=allow_origin,
        max_explain=max_explain,
        max_connections=max_connections,
        workers=workers,
        allow_hosts=tuple(allow_host or ()),
    )

    def announce(address: str) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            say(message("{}  (Ctrl-C ends it)", address), err=True)
        else:
            log_start(address)
        if show:
            import webbrowser

            webbrowser.open(address)

    raise SystemExit(serve(named_models(model), settings, host, port, log=log, announce=announce))


def read_token(path: str | None) -> str | None:
    """Return the token of a file, or of the environment."""
    if path is None:
        return os.environ.get("TAGLINE_TOKEN") or None
    with open(path, encoding="utf-8") as file:
        token = file.read().strip()
    if not token:
        raise InputError("--token-file: expected a token in {}, got an empty file", path)
    return token
