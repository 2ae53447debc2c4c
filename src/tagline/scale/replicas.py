"""A model as a deployment of Ray Serve: the routes of `tagline serve`, on as many replicas as the cluster gives it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.scale.cluster import import_ray

if TYPE_CHECKING:
    from tagline.serving.settings import Settings


def deployment(model: Any, settings: Settings | None = None, **options: Any) -> Any:
    """Return an application of Ray Serve that answers as `tagline serve` does.

    ``serve.run(scale.deployment("model.tagline", num_replicas=2))`` runs it. Each replica maps the model files, so that
    those of a machine share their memory.

    Arguments:
        model: a file that every node sees, a model, or several of them by their names; the first one answers where a
            request names none.
        settings: limits, as `tagline.serving.Settings` has them.
        options: of Ray Serve's ``@serve.deployment``, such as ``num_replicas`` or ``ray_actor_options``.

    >>> import tagline
    >>> from tagline import scale
    >>> crf = tagline.CRF("U00:%x[0,0]").fit([["Anna", "sings"]], [["B-PER", "O"]])
    >>> type(scale.deployment({"names": crf}, num_replicas=2)).__name__
    'Application'
    """
    serve = import_ray("scale.deployment", "ray.serve")
    from tagline.serving import Settings, create_app
    from tagline.serving.shelf import Shelf

    models = _by_name(model)
    Shelf(models)  # what is wrong with a model is said here, not by a replica
    limits = settings or Settings(allow_hosts=("*",))  # Ray's proxies are called by the names of the cluster

    def make_app() -> Any:
        from tagline import compiled

        compiled.set_threads(1, "scale.deployment")  # the replicas are the threads
        return create_app(models, limits)

    return serve.deployment(name="tagline", **options)(serve.ingress(make_app)(_Replica)).bind()


class _Replica:
    """A process that serves; its routes are those of the application."""


def _by_name(model: Any) -> dict[str, Any]:
    if isinstance(model, Mapping):
        return {name: _absolute(value) for name, value in model.items()}
    if isinstance(model, str | os.PathLike):
        path = _absolute(model)
        return {os.path.splitext(os.path.basename(path))[0]: path}
    if hasattr(model, "answer"):
        return {"model": model}
    raise InputError("model: expected a file, a model, or several by their names, got {}", shown_value(model))


def _absolute(model: Any) -> Any:
    """Replicas have other working folders."""
    return os.path.abspath(model) if isinstance(model, str | os.PathLike) else model
