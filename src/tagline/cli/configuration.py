"""The configuration of a network as a TOML file: read, checked, and saved beside the model.

Keys are the names of the estimator's parameters, at the top of the file or in a table ``[bilstm]`` or
``[transformer]``, which then says what to train. TOML has no None: the string ``"none"`` stands for it. What is saved
is complete, so that a later version with other defaults trains the same.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Mapping
from typing import Any

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.registry import Kind, kind_named, kinds
from tagline.readers.sources import open_target, read_bytes
from tagline.settings import Declared, declarations, resolved

MARK = "# Written by tagline train."  # the first line of files that may be overwritten
NONE = "none"
SUFFIX = ".tagline"

_OF_THE_MOMENT = ("verbose", "callbacks", "warm_start")  # parameters that a file does not set


def read_config(path: str, model: str | None) -> tuple[str, dict[str, Any]]:
    """Return the kind of network that a file describes, and its values.

    Arguments:
        path: of the file.
        model: the kind that was asked for; None where the file is to say it.
    """
    try:
        values = tomllib.loads(read_bytes(path).tobytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("{}: expected TOML, got: {}", path, error) from None
    configurable = [name for name, kind in kinds().items() if "config" in kind.options]
    tables = [name for name in configurable if isinstance(values.get(name), dict)]
    shown = message(" and ").join(f"[{name}]" for name in tables) or message("none")
    if model is None and len(tables) != 1:
        wanted = message(" or ").join(f"[{name}]" for name in configurable)
        raise InputError("{}: expected one table {}, got {}; say which with --model", path, wanted, shown)
    chosen = model or tables[0]
    if tables and chosen not in tables:
        raise InputError("{}: expected a table [{}], got {}", path, chosen, shown)
    common = {name: value for name, value in values.items() if name not in tables}
    return chosen, _checked(path, chosen, {**common, **(values[chosen] if tables else {})})


def settings_of(kind: Kind) -> dict[str, Declared]:
    """Return the settings that a file may have."""
    return {name: entry for name, entry in declarations(resolved(kind.settings)).items() if name not in _OF_THE_MOMENT}


def _checked(path: str, model: str, values: Mapping[str, Any]) -> dict[str, Any]:
    known = settings_of(kind_named(model))
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = message("did you mean {}? The", near[0]) if near else "the"
            got = shown_value(name)
            raise InputError("{}: expected a setting, got {}; {} settings are {}", path, got, meant, ", ".join(known))
    return {
        name: known[name].read(None if value == NONE else value, f"{path}, {name}") for name, value in values.items()
    }


def config_text(kind: Kind, model: Any, train: str, output: str, dev: str | None) -> str:
    """Write the settings of a model as TOML: all of them, so that a version with other defaults trains the same."""
    what = f"What {output!r} was trained with, on {train!r}" + ("" if dev is None else f" with --dev {dev!r}")
    again = "TRAIN -o MODEL --config THIS" + ("" if dev is None else " --dev DEV")
    about = f"{what}; tagline train {again} trains it again."
    settings = {name: getattr(model, name) for name in settings_of(kind)}
    return toml_of(kind.name, settings, {name: entry.default for name, entry in settings_of(kind).items()}, about)


def toml_of(table: str, settings: Mapping[str, Any], usual: Mapping[str, Any], about: str) -> str:
    """Write settings as a table of TOML.

    Arguments:
        table: its name, a kind of network.
        settings: all of them, by the names of parameters.
        usual: what a setting is where a file leaves it out: None need not be written then.
        about: a line on what it is for.

    >>> print(toml_of("bilstm", {"hidden": 8, "scheme": None, "max_tokens": None}, {"scheme": "auto"}, "A test."))
    # Written by tagline train. A test.
    [bilstm]
    hidden = 8
    scheme = "none"
    <BLANKLINE>
    """
    lines = [f"{MARK} {' '.join(about.split())}", f"[{table}]"]
    for name, value in settings.items():
        if value is not None or usual.get(name) is not None:
            lines.append(f"{name} = {_toml(name, value)}")
    return "\n".join([*lines, ""])


def _toml(name: str, value: Any) -> str:
    if value is None:
        return f'"{NONE}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError("--{}: expected text that is UTF-8, got {!r}", name.replace("_", "-"), value) from None
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # which TOML does not allow
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(name, str(key))} = {_toml(name, part)}" for key, part in value.items()) + "}"
    return "[" + ", ".join(_toml(name, part) for part in value) + "]"


def save_config(text: str, output: str) -> str:
    """Write a configuration beside a model, whole or not at all; return its path.

    ``m.toml`` for ``m.tagline``. A file of that name that was not written by this function, such as one that was given
    as --config, stays as it is: the configuration is ``m.trained.toml`` then.
    """
    base = output.removesuffix(SUFFIX)
    path = f"{base}.toml"
    if os.path.exists(path) and not _is_ours(path):
        path = f"{base}.trained.toml"
    with open_target(path) as stream:
        stream.write(text.encode())
    return path


def _is_ours(path: str) -> bool:
    mark = MARK.encode()
    with open(path, "rb") as stream:
        return stream.read(len(mark)) == mark
