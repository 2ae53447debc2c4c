"""The algorithms that find weights, with the settings that each of them alone knows.

    CRF(algorithm="lbfgs")   CRF(algorithm=LBFGS(memory=20))   CRF(algorithm="lbfgs:memory=20")

The last is the text form: command line, TOML and model files write it. `algorithms` has the table of how each is run;
here nothing is imported, so that help can be shown at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

from tagline.errors import InputError
from tagline.settings import Setting, check_settings, declarations, documented

MOST_MEMORY = 10_000  # steps: each costs two vectors, and their products a row and a column
MOST_PASSES = 2**31 - 1

Memory = Annotated[int, Setting("Steps that L-BFGS remembers.", least=1, most=MOST_MEMORY)]
Searches = Annotated[int, Setting("Step sizes that are tried in a pass, at most.", least=1)]
Epsilon = Annotated[
    float,
    Setting("Converged where ‖gradient‖ / max(1, ‖w‖) is below; 0 for never.", check="tagline.checks:check_threshold"),
]
Period = Annotated[int, Setting("Passes that `delta` looks back.", least=0)]
Delta = Annotated[
    float,
    Setting(
        "Converged where the objective changes by less in `period` passes; 0 for never.",
        check="tagline.checks:check_threshold",
    ),
]
Passes = Annotated[
    int | None, Setting("Over the sentences; the algorithm's own number if left out.", least=0, most=MOST_PASSES)
]


@dataclass(frozen=True, kw_only=True, repr=False)
class AlgorithmSettings:
    """One way to find weights.

    Attributes:
        name: in text.
        penalties: of c1 and c2 those that it has.
        proves: whether its passes know the gradient, and with c2 > 0 how far the optimum is at most.
        triples: whether it learns label triples (`order=2`).
        local: whether it learns models that are normalised at each token.
        settles: whether it can tell when it has converged.
        sums: whether it asks for nothing but sums over all sentences.
    """

    name: ClassVar[str]
    penalties: ClassVar[tuple[str, ...]] = ("c1", "c2")
    proves: ClassVar[bool] = True
    triples: ClassVar[bool] = True
    local: ClassVar[bool] = True
    settles: ClassVar[bool] = True
    sums: ClassVar[bool] = True

    @property
    def settings(self) -> dict[str, Any]:
        """The settings by name."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @property
    def _said(self) -> dict[str, Any]:
        """The settings that are not as usual."""
        usual = type(self)().settings
        return {name: value for name, value in self.settings.items() if value != usual[name]}

    def __str__(self) -> str:
        """Return the text form: the name, and what is not as usual.

        >>> str(LBFGS()), str(LBFGS(memory=20, delta=0.0))
        ('lbfgs', 'lbfgs:delta=0.0,memory=20')
        """
        said = ",".join(f"{name}={value}" for name, value in self._said.items())
        return f"{self.name}:{said}" if said else self.name

    def __repr__(self) -> str:
        """Return what makes it.

        >>> LBFGS(memory=20)
        LBFGS(memory=20)
        """
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._said.items())})"


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class LBFGS(AlgorithmSettings):
    """L-BFGS; OWL-QN where c1 > 0.

    Arguments:
        {settings}
    """

    name: ClassVar[str] = "lbfgs"
    epsilon: Epsilon = 1e-5
    period: Period = 10
    delta: Delta = 1e-5
    memory: Memory = 10
    max_linesearch: Searches = 20


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class OWLQN(LBFGS):
    """OWL-QN, L-BFGS with c1·|w|₁.

    Arguments:
        {settings}
    """

    name: ClassVar[str] = "owlqn"


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class Auto(AlgorithmSettings):
    """Stochastic passes, then L-BFGS (OWL-QN where c1 > 0): the default.

    Arguments:
        {settings}
    """

    name: ClassVar[str] = "auto"
    epsilon: Epsilon = 1e-5
    period: Period = 10
    delta: Delta = 1e-5
    memory: Memory = 10
    passes: Passes = None


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class SGD(AlgorithmSettings):
    """Stochastic gradient descent.

    Arguments:
        {settings}
    """

    name: ClassVar[str] = "sgd"
    settles: ClassVar[bool] = False
    proves: ClassVar[bool] = False
    sums: ClassVar[bool] = False
    passes: Passes = None
    rate: Annotated[float | None, Setting("The first step size; found by trial if left out.", above=0)] = None
    batch: Annotated[int, Setting("Sentences of a step.", least=1, most=4)] = 4
    averaged: Annotated[float, Setting("The share of the passes whose weights are averaged.", least=0, most=1)] = 0.5


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class GradientDescent(AlgorithmSettings):
    """Steepest descent with a line search, for teaching.

    Arguments:
        {settings}
    """

    name: ClassVar[str] = "gd"
    epsilon: Epsilon = 1e-5
    period: Period = 10
    delta: Delta = 1e-5


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class IIS(GradientDescent):
    """Iterative scaling.

    Arguments:
        {settings}
    """

    name: ClassVar[str] = "iis"
    penalties: ClassVar[tuple[str, ...]] = ("c2",)
    triples: ClassVar[bool] = False
    sums: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True, repr=False)
class Online(AlgorithmSettings):
    """An algorithm that learns from mistakes, a sentence at a time."""

    penalties: ClassVar[tuple[str, ...]] = ()
    proves: ClassVar[bool] = False
    triples: ClassVar[bool] = False
    local: ClassVar[bool] = False
    sums: ClassVar[bool] = False
    passes: Passes = None
    period: Period = 10
    delta: Delta = 1e-5


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class AveragedPerceptron(Online):
    """The averaged perceptron.

    Arguments:
        {settings}
    """

    name: ClassVar[str] = "ap"
    averaged: Annotated[bool, Setting("Keep the mean of the weights of all steps.")] = True


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class PassiveAggressive(AveragedPerceptron):
    """The passive-aggressive algorithm.

    Arguments:
        {settings}
    """

    name: ClassVar[str] = "pa"
    type: Annotated[int, Setting("The slack: 0 none, 1 linear, 2 squared.", least=0, most=2)] = 1
    c: Annotated[float, Setting("How aggressive steps are.", above=0)] = 1.0
    error_sensitive: Annotated[bool, Setting("Whether the loss counts the labels that are wrong.")] = True


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class AROW(Online):
    """Adaptive regularisation of weights.

    Arguments:
        {settings}
    """

    name: ClassVar[str] = "arow"
    variance: Annotated[float, Setting("Of each weight at the beginning.", above=0)] = 1.0
    gamma: Annotated[float, Setting("How little a step may change.", above=0)] = 1.0


ALGORITHMS: Mapping[str, type[AlgorithmSettings]] = {
    kind.name: kind
    for kind in (Auto, LBFGS, OWLQN, SGD, GradientDescent, IIS, AveragedPerceptron, PassiveAggressive, AROW)
}


def algorithm_of(value: Any) -> AlgorithmSettings:
    """Return the algorithm that a setting stands for: itself, a name, the text form, or a table of a file.

    >>> algorithm_of("lbfgs:memory=20,epsilon=1e-6") == LBFGS(memory=20, epsilon=1e-6)
    True
    """
    place = "algorithm"
    if isinstance(value, AlgorithmSettings):
        check_settings(value, f"{place}.")
        return value
    said: dict[str, Any] = {}
    if isinstance(value, Mapping):
        said = dict(value)
        name = said.pop("name", None)
    elif isinstance(value, str):
        name, _, rest = value.partition(":")
        said = dict((part.partition("=")[::2]) for part in rest.split(",")) if rest else {}
    else:
        name = None
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise InputError("{}: expected one of {}, got {}", place, ", ".join(ALGORITHMS), _shown(value))
    known = declarations(ALGORITHMS[name])
    for key in said:
        if key not in known:
            raise InputError("{}: expected settings of {} among {}, got {}", place, name, ", ".join(known), _shown(key))
    made = ALGORITHMS[name](**{key: known[key].read(text, f"{place}.{key}") for key, text in said.items()})
    check_settings(made, f"{place}.")
    return made


def _shown(value: object) -> str:
    from tagline.checks import shown_value

    return shown_value(value)


def check_algorithm(_: str, value: Any) -> None:
    """Raise unless a setting stands for an algorithm."""
    algorithm_of(value)
