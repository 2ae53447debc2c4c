"""The kinds of models that `tagline train` makes, and when to pick which. A new kind is one entry in `KINDS`.

Nothing heavy is imported here, for the help of the command is written from this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tagline.errors import InputError


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes:
        home: module and name of the estimator; `fit` takes a `Corpus` with tags.
        advice: when to pick it, for the help.
        options: of `tagline train` that it takes, by the names of its parameters in Python; those that every kind takes
            are left out.
        template: whether its features come from a template.
    """

    home: tuple[str, str]
    advice: str
    options: tuple[str, ...] = ()
    template: bool = False

    @property
    def estimator(self) -> Any:
        """The class."""
        return getattr(import_module(self.home[0]), self.home[1])


KINDS = {
    "crf": Kind(
        ("tagline.models.crf", "CRF"),
        "features of words and their neighbours, by a template: the most accurate; takes seconds to minutes",
        (
            *("template", "cache", "scheme", "on_illegal", "min_frequency", "all_possible_states"),
            *("all_possible_transitions", "start_end", "label_weights", "hash_bits", "algorithm", "c1", "c2"),
            *("max_iterations", "max_seconds", "patience", "passes", "epsilon", "delta", "period", "random_state"),
        ),
        template=True,
    ),
    "hmm": Kind(
        ("tagline.models.hmm", "HMM"),
        "each tag emits words and follows a tag: counted in a second, one column; a baseline, or few data",
        ("scheme", "on_illegal", "smoothing", "k", "unknown"),
    ),
    "trigram": Kind(
        ("tagline.models.trigram", "TrigramTagger"),
        "parts of speech by two tags before and word endings: counted in seconds, tags the fastest",
    ),
}

_OPTIONS = {"random_state": "--seed", "k": "--add-k"}  # others are the name of the parameter


def advice() -> str:
    """Say when to pick which, a line a kind, indented as a docstring is."""
    return "".join(f"      {name:8} {kind.advice}\n" for name, kind in KINDS.items())


def kind_of(name: str) -> Kind:
    """Return a kind by its name, or say which there are."""
    if name not in KINDS:
        raise InputError(f"--model: expected one of {', '.join(KINDS)}, got {name!r}")
    return KINDS[name]


def option_of(parameter: str) -> str:
    """Return the option for a parameter.

    >>> option_of("max_seconds"), option_of("random_state")
    ('--max-seconds', '--seed')
    """
    return _OPTIONS.get(parameter, "--" + parameter.replace("_", "-"))


def settings_for(name: str, values: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """Return the values that this kind of model takes.

    Arguments:
        name: of the kind.
        values: of all options, by the names of parameters.
        given: parameters whose options stand on the command line; those of another kind are an error.
    """
    kind = kind_of(name)
    if strange := [one for one in given if one in values and one not in kind.options]:
        takes = ", ".join(option_of(one) for one in kind.options) or "none of its own"
        owner = next(other for other, one in KINDS.items() if strange[0] in one.options)
        raise InputError(
            f"{option_of(strange[0])}: expected an option of --model {name} ({takes}), got one of --model {owner}"
        )
    return {one: value for one, value in values.items() if one in kind.options}
