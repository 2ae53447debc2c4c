"""`tagline doctor`: what there is on this machine, and what is wrong."""

from __future__ import annotations

from tagline.cli.options import AsJson
from tagline.cli.speech import put_json, say


def command(as_json: AsJson = False) -> None:
    """Look at versions, the compiled core, threads, the GPU, extras and the environment; say what is wrong.

    The exit code is 1 where something is. It belongs into reports of bugs.
    """
    from tagline.cli.health import examine

    health = examine()
    if as_json:
        put_json(health.as_dict())
    else:
        say(health.text(), nl=False)
    if health.problems:
        raise SystemExit(1)
