"""From the options of `tagline train` to a plan: which kind of model, with which settings, read and written where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tagline.cli.configuration import config_text, defaults_of, read_config
from tagline.cli.kinds import KINDS, kind_of, settings_for
from tagline.cli.networks import Run
from tagline.cli.progress import Limits
from tagline.cli.settings import most_passes
from tagline.readers.labelled import LabelledFiles


@dataclass(frozen=True)
class Plan:
    """What is to be trained.

    Attributes:
        train, output: the file to learn from and the model to write.
        template: the name of a ready-made set or a path; chosen from the data when None.
        dev: a file to score after each pass.
        source: how files are read.
        settings: of the estimator, by name.
        cache: a folder for the compiled corpus, where the data are larger than memory.
        model: the kind of it, as of `kinds`.
        run: what a network leaves on the way.
    """

    train: str
    output: str
    template: str | None = None
    dev: str | None = None
    source: LabelledFiles = field(default_factory=LabelledFiles)
    settings: Mapping[str, Any] = field(default_factory=dict)
    cache: str | None = None
    model: str = "crf"
    run: Run = field(default_factory=Run)

    @property
    def limits(self) -> Limits:
        """When training stops at the latest."""
        of = self.settings.get
        if kind_of(self.model).network:
            return Limits(of("epochs"), of("max_seconds"), period=0)
        most = most_passes(of("algorithm", ""), of("max_iterations"), of("passes"))
        return Limits(most, of("max_seconds"), of("period", 0), of("delta", 0.0))


def plan_of(
    train: str,
    output: str,
    model: str,
    values: Mapping[str, Any],
    given: Sequence[str],
    *,
    dev: str | None = None,
    source: LabelledFiles | None = None,
) -> Plan:
    """Put a plan together.

    Arguments:
        model: the kind; a configuration file says it where the option is not on the command line.
        values: of the options, by the names of parameters.
        given: those that stand on the command line.
    """
    config: dict[str, Any] = {}
    named = "model" in given
    if values.get("config") is not None and (not named or (model in KINDS and kind_of(model).network)):
        model, config = read_config(values["config"], model if named else None)
    settings = settings_for(model, values, given, config)
    source = source or LabelledFiles()
    if not kind_of(model).network:
        template, cache = settings.pop("template", None), settings.pop("cache", None)
        return Plan(train, output, template, dev, source, settings, cache, model)
    files = {name: settings.pop(name) for name in ("checkpoint", "resume", "log", "tensorboard") if name in settings}
    settings.pop("config", None)
    if dev is None:
        settings["patience"] = None
    usual = defaults_of(model)
    settings = {**usual, **settings}
    told = f"What {output!r} was trained with, on {train!r}" + ("" if dev is None else f" with --dev {dev!r}")
    again = "TRAIN -o MODEL --config THIS" + ("" if dev is None else " --dev DEV")
    about = f"{told}; tagline train {again} trains it again."
    text = config_text(model, settings, {**usual, "patience": dev}, about)  # with a dev set there is some patience
    return Plan(train, output, None, dev, source, settings, None, model, Run(text, **files))
