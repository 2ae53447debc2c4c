"""From the options of `tagline train` to a plan: which kind of model, with which settings, read and written where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tagline.cli.configuration import config_text, defaults_of, read_config
from tagline.errors import InputError
from tagline.models.options import Option
from tagline.models.recipes import Recipe
from tagline.models.registry import Kind, kind_named, kinds
from tagline.readers.training_files import LabelledFiles


@dataclass(frozen=True)
class Plan:
    """What is to be trained.

    Attributes:
        train, output: the file to learn from and the model to write.
        recipe: how it is trained.
        dev: a file to score after each pass.
        files: how files are read.
        config: the configuration to save beside the model, as TOML; empty for none.
        notes: of the user, by name, for the model file.
        date: whether the model file says when it was trained.
        spread: over which processes the work is spread; None for this one.
    """

    train: str
    output: str
    recipe: Recipe
    dev: str | None = None
    files: LabelledFiles = field(default_factory=LabelledFiles)
    config: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    date: bool = True
    spread: Spread | None = None


@dataclass(frozen=True)
class Spread:
    """Workers on Ray.

    Attributes:
        address: of a cluster; empty to start one on this machine, or as RAY_ADDRESS says.
        workers, threads: processes, None for one a processor, and threads of each.
        scratch: a folder on the workers' disks.
    """

    address: str = ""
    workers: int | None = None
    threads: int | None = None
    scratch: str | None = None


def plan_of(
    train: str,
    output: str,
    model: str,
    values: Mapping[str, Any],
    given: Sequence[str] = (),
    *,
    dev: str | None = None,
    files: LabelledFiles | None = None,
) -> Plan:
    """Put a plan together; raise where an option cannot be meant.

    Arguments:
        model: the name of the kind; a configuration file says it where the option is not on the command line.
        values: of the options of all kinds, by the names of settings; those that are left out have their defaults.
        given: the parameters whose options stand on the command line.
    """
    named, path = "model" in given, values.get("config")
    config: dict[str, Any] = {}
    if path is not None and (not named or (model in kinds() and kind_named(model).takes("config"))):
        model, config = read_config(path, model if named else None)
    kind = kind_named(model)
    _check_taken(kind, [name for name in given if name in values])
    if dev is None and "patience" in given and values["patience"]:
        raise InputError("--patience: expected --dev FILE, whose score it waits for, got none")
    settings = _settings(kind, values, given, config)
    if dev is None or settings.get("patience") == 0:
        settings["patience"] = None
    if not kind.takes("patience") or (settings["patience"] is None and not kind.takes("config")):
        settings.pop("patience", None)
    run = {option.name: option.checked(_value(option, values)) for option in kind.options if option.of_run}
    text = ""
    if kind.takes("config"):
        settings = {**defaults_of(model), **settings}
        text = _config(model, settings, train, output, dev)
    return Plan(train, output, kind.recipe_class(kind, settings, run), dev, files or LabelledFiles(), text)


def _check_taken(kind: Kind, names: Sequence[str]) -> None:
    """Refuse options that stand on the command line and are another kind's."""
    for name in names:
        if not kind.takes(name):
            takes = ", ".join(option.flag for option in kind.options) or "none of its own"
            owner, option = next(
                (other, option) for other in kinds().values() for option in other.options if option.name == name
            )
            raise InputError(
                f"{option.flag}: expected an option of --model {kind.name} ({takes}), got one of --model {owner.name}"
            )


def _settings(kind: Kind, values: Mapping[str, Any], given: Sequence[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the estimator: those of options, of a configuration file, of the command line, in this order."""
    own = [option for option in kind.options if not option.of_run]
    checked = {option.name: option.checked(_value(option, values)) for option in own}
    usual = {option.name: checked[option.name] for option in own if _value(option, values) is not None}
    known = {option.name: option for option in own}
    read = {name: known[name].checked(value) if name in known else value for name, value in config.items()}
    return {**usual, **read, **{name: value for name, value in checked.items() if name in given}}


def _value(option: Option, values: Mapping[str, Any]) -> Any:
    return values.get(option.name, option.default)


def _config(model: str, settings: Mapping[str, Any], train: str, output: str, dev: str | None) -> str:
    """The whole configuration, so that a later version with other defaults trains the same."""
    what = f"What {output!r} was trained with, on {train!r}" + ("" if dev is None else f" with --dev {dev!r}")
    again = "TRAIN -o MODEL --config THIS" + ("" if dev is None else " --dev DEV")
    usual = {**defaults_of(model), "patience": dev}  # with a dev set there is some patience
    return config_text(model, settings, usual, f"{what}; tagline train {again} trains it again.")
