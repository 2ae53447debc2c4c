"""Feature functions as textbooks write them, turned into scores on a chain.

A sentence x of T tokens and a labelling y score

    w · F(y, x) = Σ_j λ_j Σ_(i ≥ 1) t_j(y_(i−1), y_i, x, i) + Σ_k μ_k Σ_(i ≥ 0) s_k(y_i, x, i)

with transition features t, state features s and one weight each, shared by all labels and positions; F(y, x) is the
global feature vector and p(y | x) = exp(w · F(y, x)) / Z(x). Positions count from 0, as Python does: x[i] is the token,
and transition features are asked from i = 1 on. Where a text counts from 1 (its sums run from i = 2 and i = 1), pass
``first=1`` and copy its functions as they stand; the token is then x[i − 1]. Every function is called for every
label (pair) at every position, so this is for teaching and small problems.

Reference: Lafferty, McCallum and Pereira, 2001.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tagline.chain import log_partition, marginals
from tagline.checks import as_array
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.types import Chain, Float64Array, IntArray

Function: TypeAlias = Callable[..., Any]
"""s(label, x, i) or t(previous, label, x, i), giving a number or a truth value."""


@dataclass(frozen=True)
class StateFeature:
    """A function s(label, x, i) that is declared as a state feature; `name` stands in messages."""

    function: Function
    weight: float
    name: str


@dataclass(frozen=True)
class TransitionFeature:
    """A function t(previous, label, x, i) that is declared as a transition feature; `name` stands in messages."""

    function: Function
    weight: float
    name: str


Feature: TypeAlias = StateFeature | TransitionFeature


@dataclass(frozen=True, eq=False)
class FunctionValues:
    """What K functions say of one sentence.

    Attributes:
        states: ``[T, L, K]``, s_k(label, x, i); zeros for transition features.
        transitions: ``[T, L, L, K]`` as ``[i, previous, label, k]``; zeros for state features and at the first token.
    """

    states: Float64Array
    transitions: Float64Array

    def along(self, path: IntArray) -> Float64Array:
        """Return the global feature vector ``[K]`` of one labelling, label numbers ``[T]``."""
        places = np.arange(len(path))
        transitions = self.transitions[places[1:], path[:-1], path[1:]]
        return np.asarray(self.states[places, path].sum(axis=0) + transitions.sum(axis=0), np.float64)


class FeatureFunctions:
    """A model made of weighted functions.

    Arguments:
        functions: pairs (function, weight). A function of three arguments is a state feature s(label, x, i), one of
            four a transition feature t(previous, label, x, i); arguments with a default do not count. `StateFeature`
            and `TransitionFeature` say it where the arguments do not.
        labels: the values that y takes, each handed to the functions as it is.
        first: the number of the first position, 0 or 1.

    A sentence x is anything with a length, and is handed to the functions as it is.

    >>> def noun_after_determiner(previous, label, x, i):
    ...     return previous == "DET" and label == "NOUN"
    >>> def the(label, x, i):
    ...     return label == "DET" and x[i] == "the"
    >>> model = FeatureFunctions([(noun_after_determiner, 1.0), (the, 2.0)], labels=["DET", "NOUN"])
    >>> model.score(["the", "cat"], ["DET", "NOUN"])
    3.0
    """

    def __init__(
        self,
        functions: Iterable[tuple[Function, float] | Feature],
        labels: Sequence[Hashable],
        *,
        first: int = 0,
    ) -> None:
        self.features = tuple(_feature(k, entry) for k, entry in enumerate(functions))
        self.labels = tuple(labels)
        self.first = first
        if not self.features:
            raise InputError("functions: expected at least one (function, weight), got none")
        if not self.labels:
            raise InputError("labels: expected at least one, got none")
        self._numbers = {label: number for number, label in enumerate(self.labels)}
        if len(self._numbers) < len(self.labels):
            raise InputError("labels: expected each once, got {}", list(self.labels))
        if first not in (0, 1):
            raise InputError("first: expected 0 or 1, the number of the first position, got {!r}", first)

    @property
    def weights(self) -> Float64Array:
        """w, ``[K]``, in the order in which the functions were given."""
        return np.array([feature.weight for feature in self.features], np.float64)

    def with_weights(self, weights: ArrayLike) -> FeatureFunctions:
        """Return the same functions with other weights ``[K]``."""
        new = as_array("weights", weights)
        if new.shape != (len(self.features),):
            raise InputError("weights: expected {}, one a function, got shape {}", len(self.features), list(new.shape))
        pairs = zip(self.features, new.tolist(), strict=True)
        features = [replace(feature, weight=weight) for feature, weight in pairs]
        return FeatureFunctions(features, self.labels, first=self.first)

    def values(self, x: Sized, where: str = "x") -> FunctionValues:
        """Call every function on a sentence, for every label (pair) and position."""
        T, L, K = _length(x, where), len(self.labels), len(self.features)
        states, transitions = np.zeros((T, L, K)), np.zeros((T, L, L, K))
        for k, feature in enumerate(self.features):
            for t in range(T):
                i = t + self.first
                if isinstance(feature, StateFeature):
                    states[t, :, k] = [_call(feature, where, i, label, x=x) for label in self.labels]
                elif t > 0:
                    transitions[t, :, :, k] = [
                        [_call(feature, where, i, before, label, x=x) for label in self.labels]
                        for before in self.labels
                    ]
        return FunctionValues(states, transitions)

    def chain(self, *sentences: Sized) -> Chain:
        """Score sentences: a float64 chain with transitions ``[N, L, L]`` for each position.

        ``chain(x)`` takes one sentence, ``chain(*xs)`` several (of a `Corpus` too).
        """
        one = len(sentences) == 1
        return self._chain([self.values(x, "x" if one else f"sentence {b}") for b, x in enumerate(sentences)])

    def score(self, x: Sized, y: Sequence[Hashable]) -> float:
        """Return w · F(y, x) of one sentence; y are labels, not their numbers."""
        return float(self.weights @ self.feature_counts(x, y))

    def feature_counts(self, x: Sized, y: Sequence[Hashable]) -> Float64Array:
        """Return the global feature vector F(y, x), ``[K]``: each function summed over the positions."""
        return self.values(x).along(self._path(x, y, "y"))

    def expected_counts(self, x: Sized) -> Float64Array:
        """Return E[F(Y, x)] under p(y | x), ``[K]``: each function weighted by the probability of its labels."""
        values = self.values(x)
        return self._expected(self._chain([values]), [values])[0]

    def likelihood(self, sentences: Sequence[Sized], labellings: Sequence[Sequence[Hashable]]) -> FunctionLikelihood:
        """Return the training objective, Σ_b −log p(y_b | x_b), as a function of the weights.

        The functions are called once, here; the values of all sentences are kept.
        """
        if len(sentences) != len(labellings):
            raise InputError("labellings: expected {}, one a sentence, got {}", len(sentences), len(labellings))
        values = [self.values(x, f"sentence {b}") for b, x in enumerate(sentences)]
        rows = zip(sentences, labellings, strict=True)
        paths = [self._path(x, y, message("labels of sentence {}", b)) for b, (x, y) in enumerate(rows)]
        observed = [sentence.along(path) for sentence, path in zip(values, paths, strict=True)]
        return FunctionLikelihood(self, tuple(values), np.sum(observed, axis=0) if observed else 0 * self.weights)

    def _path(self, x: Sized, y: Sequence[Hashable], where: str) -> IntArray:
        if len(y) != _length(x, "x"):
            raise InputError("{}: expected {} labels, one a token, got {}", where, _length(x, "x"), len(y))
        for i, label in enumerate(y, self.first):
            if label not in self._numbers:
                raise InputError("{}, position {}: expected one of {}, got {!r}", where, i, list(self.labels), label)
        return np.array([self._numbers[label] for label in y], np.int64)

    def _chain(self, values: Sequence[FunctionValues]) -> Chain:
        L, w = len(self.labels), self.weights
        emissions = np.concatenate([np.zeros((0, L)), *(sentence.states @ w for sentence in values)])
        transitions = np.concatenate([np.zeros((0, L, L)), *(sentence.transitions @ w for sentence in values)])
        return Chain(emissions, transitions, offsets=offsets_of([len(sentence.states) for sentence in values]))

    def _expected(self, chain: Chain, values: Sequence[FunctionValues]) -> list[Float64Array]:
        """Return E[F] of each sentence."""
        posterior = marginals(chain, edges=True)
        assert posterior.edges is not None
        nodes, edges = chain.split(posterior.nodes), chain.split(posterior.edges)
        return [
            np.einsum("tj,tjk->k", node, sentence.states) + np.einsum("tij,tijk->k", edge, sentence.transitions)
            for node, edge, sentence in zip(nodes, edges, values, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class FunctionLikelihood:
    """Σ_b −log p(y_b | x_b) as a function of the weights, for the trainers; no penalty.

    Attributes:
        functions: whose weights are trained.
        values: of each sentence.
        observed: Σ_b F(y_b, x_b), ``[K]``.
    """

    functions: FeatureFunctions
    values: tuple[FunctionValues, ...]
    observed: Float64Array

    @property
    def size(self) -> int:
        """K, the number of weights."""
        return len(self.functions.features)

    def __call__(self, weights: Float64Array) -> tuple[float, Float64Array]:
        """Return the objective and its gradient Σ_b (E[F(Y, x_b)] − F(y_b, x_b)), ``[K]``."""
        model = self.functions.with_weights(weights)
        chain = model._chain(self.values)
        expected = np.sum([np.zeros(self.size), *model._expected(chain, self.values)], axis=0)
        value = float(log_partition(chain).sum() - weights @ self.observed)
        return value, expected - self.observed


def _feature(k: int, entry: object) -> Feature:
    if isinstance(entry, StateFeature | TransitionFeature):
        return replace(entry, weight=_weight(entry.name, entry.weight))
    if not isinstance(entry, tuple) or len(entry) != 2 or not callable(entry[0]):
        raise InputError("functions[{}]: expected (function, weight), got {!r}", k, entry)
    function, weight = entry
    name = getattr(function, "__name__", "function").replace("<lambda>", "lambda") + f" (functions[{k}])"
    if _num_arguments(function, name) == 3:
        return StateFeature(function, _weight(name, weight), name)
    return TransitionFeature(function, _weight(name, weight), name)


def _num_arguments(function: Function, name: str) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtin functions have none
        parameters = None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [
        argument
        for argument in parameters or ()
        if argument.kind in positional and argument.default is inspect.Parameter.empty
    ]
    open_ended = parameters is None or any(argument.kind is inspect.Parameter.VAR_POSITIONAL for argument in parameters)
    if open_ended or len(needed) not in (3, 4):
        got = message("an unknown number of") if open_ended else len(needed)
        raise InputError(
            "{}: expected three arguments (label, x, i) or four (previous, label, x, i), got {} arguments; "
            "wrap it in StateFeature or TransitionFeature to say which it is",
            name,
            got,
        )
    return len(needed)


def _weight(name: str, weight: object) -> float:
    if isinstance(weight, Real) and np.isfinite(float(weight)):
        return float(weight)
    raise InputError("{}: expected a finite number as its weight, got {!r}", name, weight)


def _length(x: object, where: str) -> int:
    if not isinstance(x, Sized):
        raise InputError("{}: expected a sentence with a length, got {} {!r:.60}", where, type(x).__name__, x)
    return len(x)


def _call(feature: Feature, where: str, i: int, *labels: Hashable, x: Sized) -> float:
    try:
        value = feature.function(*labels, x, i)
    except Exception as error:
        problem = message("an error ({}: {})", type(error).__name__, error)
        raise InputError(_complaint(feature, where, i, labels, problem)) from error
    # NumPy's booleans are no Real.
    if isinstance(value, Real | np.bool_) and np.isfinite(float(value)):
        return float(value)
    raise InputError(_complaint(feature, where, i, labels, repr(value)))


def _complaint(feature: Feature, where: str, i: int, labels: tuple[Hashable, ...], got: str) -> str:
    named = "label" if len(labels) == 1 else "labels"
    return message(
        "{}: {}, position {}, {} {}: expected a finite number or a truth value, got {}",
        feature.name,
        where,
        i,
        named,
        ", ".join(map(repr, labels)),
        got,
    )
