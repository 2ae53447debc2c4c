"""The kinds of models that `tagline train` makes, and when to pick which. A new kind is one entry in `KINDS`.

Nothing heavy is imported here, for the help of the command is written from this table.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
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
        network: whether it is a neural network: what is neither on the command line nor in its configuration file is
            left to the estimator.
        packages, extra: what it needs beyond the base package, and the name under which pip installs that.
    """

    home: tuple[str, str]
    advice: str
    options: tuple[str, ...] = ()
    template: bool = False
    network: bool = False
    packages: tuple[str, ...] = ()
    extra: str = ""

    @property
    def estimator(self) -> Any:
        """The class."""
        if missing := [name for name in self.packages if find_spec(name) is None]:
            raise InputError(
                f"--model: expected {', '.join(missing)} to be installed for a {self.home[1]}, got none; "
                f"pip install 'tagline[{self.extra}]'"
            )
        return getattr(import_module(self.home[0]), self.home[1])


_NETWORK = (
    *("scheme", "on_illegal", "label_weights", "head", "epochs", "batch_size", "learning_rate", "max_seconds"),
    *("patience", "random_state", "device", "config", "checkpoint", "resume", "log", "tensorboard"),
)


KINDS = {
    "crf": Kind(
        ("tagline.models.crf.estimator", "CRF"),
        "features of words and their neighbours, by a template: accurate, trained on a CPU in seconds to minutes, "
        "looks at all columns. The one to begin with",
        (
            *("template", "cache", "scheme", "on_illegal", "min_frequency", "all_possible_states"),
            *("all_possible_transitions", "start_end", "label_weights", "hash_bits", "algorithm", "c1", "c2"),
            *("max_iterations", "max_seconds", "patience", "passes", "epsilon", "delta", "period", "random_state"),
        ),
        template=True,
    ),
    "hmm": Kind(
        ("tagline.models.hmm.estimator", "HMM"),
        "each tag emits words and follows a tag: counted in a second, one column; a baseline, or few data",
        ("scheme", "on_illegal", "smoothing", "k", "unknown"),
    ),
    "trigram": Kind(
        ("tagline.models.trigram.estimator", "TrigramTagger"),
        "parts of speech by two tags before and word endings: counted in seconds, tags the fastest",
    ),
    "bilstm": Kind(
        ("tagline.models.neural.bilstm", "BiLSTMCRF"),
        "a network that reads words and their characters in both directions, a CRF on top: for thousands of "
        "sentences, best with --embeddings; takes minutes on a CPU. Needs PyTorch",
        (*_NETWORK, "embeddings", "hidden", "min_frequency"),
        network=True,
        packages=("torch",),
        extra="torch",
    ),
    "transformer": Kind(
        ("tagline.models.neural.transformer", "TransformerCRF"),
        "a pretrained --encoder (BERT and its kin), a CRF over its words: it knows the language already, so the "
        "most accurate on unseen words and with few sentences; wants a GPU. Needs PyTorch and transformers",
        (*_NETWORK, "encoder"),
        network=True,
        packages=("torch", "transformers", "tokenizers"),
        extra="transformers",
    ),
}

NETWORKS = tuple(name for name, kind in KINDS.items() if kind.network)

_DEFAULTS = ("scheme", "on_illegal", "patience")  # of options, which hold for networks too
_OPTIONS = {"random_state": "--seed", "k": "--add-k"}  # others are the name of the parameter


def advice() -> str:
    """Say when to pick which, indented as a docstring is."""
    lines = []
    for name, kind in KINDS.items():
        for first, text in zip((name, *[""] * 9), textwrap.wrap(kind.advice, 62), strict=False):
            lines.append(f"      {first:11}  {text}\n")
    return "".join(lines)


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


def settings_for(
    name: str, values: Mapping[str, Any], given: Iterable[str], config: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the values that this kind of model takes; for a network only those that are not its own defaults.

    Arguments:
        name: of the kind.
        values: of all options, by the names of parameters.
        given: parameters whose options stand on the command line; those of another kind are an error.
        config: of a network's configuration file: it wins over the defaults of options, and options that stand on the
            command line win over it.
    """
    kind, given = kind_of(name), [one for one in given if one in values]
    if strange := [one for one in given if one not in kind.options]:
        takes = ", ".join(option_of(one) for one in kind.options) or "none of its own"
        owner = next(other for other, one in KINDS.items() if strange[0] in one.options)
        raise InputError(
            f"{option_of(strange[0])}: expected an option of --model {name} ({takes}), got one of --model {owner}"
        )
    if not kind.network:
        return {one: value for one, value in values.items() if one in kind.options}
    return {**{one: values[one] for one in _DEFAULTS}, **(config or {}), **{one: values[one] for one in given}}
