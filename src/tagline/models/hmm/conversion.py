"""An HMM as a CRF: weights that are log probabilities, and the same posterior P(I | O).

    log P(O, I) = log π(i_1) + Σ_t log A(i_(t−1), i_t) + Σ_t log b(o_t | i_t)

is linear in indicators of first states, pairs of states and, where b is of an exponential family, in state × statistics
of the observation: symbols, x, x², … So it is w · F of a CRF, and Z(O) = P(O), up to what all states share. The
converse is false: docs/hmm.md has a CRF that is no HMM.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.features.templates.template import Template
from tagline.messages import message
from tagline.models.crf.assembly import FeatureWeights, crf_of_weights
from tagline.models.crf.estimator import CRF
from tagline.models.crf.extraction import Way
from tagline.models.hmm.emissions import Bernoulli, Categorical, Emission, Gaussian, Multinomial, Poisson, Symbols
from tagline.models.hmm.emissions.discrete import log
from tagline.models.hmm.emissions.observations import check_observations
from tagline.models.hmm.parameters import HMMParameters
from tagline.types import Float64Array

WORDS = "U00:%x[0,0]\nU01:\nB\n"  # U01 is there for every token


@dataclass(frozen=True, eq=False)
class Statistics:
    """A feature function: one sentence of observations → the attributes of each, a missing one has none.

    Attributes:
        family: of the emissions.
        centre: ``[D]``, taken from the observations before they are squared; float32 needs small numbers.
        products: whether x_i·x_j are there, or x_i² alone.
    """

    family: str
    centre: Float64Array | None = None
    products: bool = False

    def __call__(self, sentence: Any) -> list[Any]:
        """Return a dict of attributes, or a list of one name, for each observation."""
        if self.family == "categorical":
            symbols = np.asarray(sentence, object).reshape(-1)
            return [[] if symbol is None else ["any", _symbol(symbol)] for symbol in symbols]
        rows, _ = check_observations(self.family, [sentence])
        return [self._attributes(row) for row in rows]

    def _attributes(self, row: Float64Array) -> dict[str, float]:
        if self.family == "multinomial":
            return {f"x{v}": float(count) for v, count in enumerate(row) if count > 0}
        seen = {d: float(x) for d, x in enumerate(row) if not np.isnan(x)}
        if self.family == "bernoulli":
            return {f"{'on' if x else 'off'}{d}": 1.0 for d, x in seen.items()}
        if self.family == "poisson":
            return {**{f"1:{d}": 1.0 for d in seen}, **{f"x{d}": x for d, x in seen.items() if x > 0}}
        assert self.centre is not None
        z = {d: x - float(self.centre[d]) for d, x in seen.items()}
        if not self.products:
            squares = {f"x{d}x{d}": x * x for d, x in z.items()}
            return {**{f"1:{d}": 1.0 for d in z}, **{f"x{d}": x for d, x in z.items()}, **squares}
        if z and len(z) < len(row):
            raise InputError("X: expected whole observations for full covariances, got one with numbers missing")
        pairs = {f"x{d}x{e}": x * y for d, x in z.items() for e, y in z.items() if d <= e}
        return {**({"1": 1.0} if z else {}), **{f"x{d}": x for d, x in z.items()}, **pairs}


def crf_of(p: HMMParameters) -> CRF:
    """Return the CRF whose distribution over labellings is the HMM's posterior."""
    way, table = _table(p.emission, p.symbols)
    K, names = p.num_states, list(table)
    weights = np.array([table[name] for name in names]).reshape(len(names), K)
    transitions, start = p.log_transitions, p.log_start
    if p.rules is not None:  # the CRF keeps to them, too, and its weights stay finite
        transitions, start = np.where(p.rules.transitions, transitions, 0.0), np.where(p.rules.start, start, 0.0)
    states, pairs = (FeatureWeights(np.argwhere(np.ones_like(a, bool)), a.ravel()) for a in (weights, transitions))
    return crf_of_weights(
        p.labels, names, states, pairs, way=way, start=start, scheme=p.scheme, reason="made of an HMM"
    )


def _symbol(symbol: Any) -> str:
    return f"symbol={symbol}"


@singledispatch
def _table(emission: Emission, symbols: Symbols | None) -> tuple[Way, dict[str, Float64Array]]:
    """Where attributes come from, and the weights ``[K]`` of each."""
    raise InputError(
        "to_crf: expected emissions of an exponential family, got {}: no CRF is equal to it", emission.family
    )


@_table.register
def _categorical(emission: Categorical, symbols: Symbols | None) -> tuple[Way, dict[str, Float64Array]]:
    assert symbols is not None
    logs, rest = emission.log_table(), np.zeros(emission.num_states)
    if emission.unseen is not None and emission.unseen.any():
        if not emission.unseen.all():
            raise InputError("to_crf: expected all states, or none, to keep some probability for unseen symbols")
        rest = log(emission.unseen)
    words = all(isinstance(symbol, str) for symbol in symbols.values)
    way: Way = Template.parse(WORDS, message("an HMM")) if words else Statistics("categorical")
    names = [f"U00:{symbol}" if words else _symbol(symbol) for symbol in symbols.values]
    # What every symbol has, known or not, is what the states keep for unknown ones.
    return way, {**dict(zip(names, logs - rest, strict=True)), "U01:" if words else "any": rest}


@_table.register
def _multinomial(emission: Multinomial, symbols: Symbols | None) -> tuple[Way, dict[str, Float64Array]]:
    logs = log(emission.probabilities)
    return Statistics("multinomial"), {f"x{v}": logs[:, v] for v in range(logs.shape[1])}


@_table.register
def _bernoulli(emission: Bernoulli, symbols: Symbols | None) -> tuple[Way, dict[str, Float64Array]]:
    on, off = log(emission.probabilities), log(1.0 - emission.probabilities)
    rows = ((f"{name}{d}", logs[:, d]) for name, logs in (("on", on), ("off", off)) for d in range(on.shape[1]))
    return Statistics("bernoulli"), dict(rows)


@_table.register
def _poisson(emission: Poisson, symbols: Symbols | None) -> tuple[Way, dict[str, Float64Array]]:
    logs = log(emission.rates)
    table = {f"x{d}": logs[:, d] for d in range(logs.shape[1])}
    return Statistics("poisson"), table | {f"1:{d}": -emission.rates[:, d] for d in range(logs.shape[1])}


@_table.register
def _gaussian(emission: Gaussian, symbols: Symbols | None) -> tuple[Way, dict[str, Float64Array]]:
    centre = emission.means.mean(axis=0)
    means = emission.means - centre
    dims = range(means.shape[1])
    if emission.covariance in ("diag", "spherical"):
        variances = emission.variances()  # [K, D]
        table = {f"1:{d}": -0.5 * (means[:, d] ** 2 / variances[:, d] + np.log(variances[:, d])) for d in dims}
        table |= {f"x{d}": means[:, d] / variances[:, d] for d in dims}
        return Statistics("gaussian", centre), table | {f"x{d}x{d}": -0.5 / variances[:, d] for d in dims}
    inverse = np.linalg.inv(emission.matrices())  # [K, D, D]
    linear = np.einsum("kde,ke->kd", inverse, means)
    bias = -0.5 * (np.einsum("kd,kd->k", linear, means) - np.linalg.slogdet(inverse)[1])
    table = {"1": bias, **{f"x{d}": linear[:, d] for d in dims}}
    pairs = {f"x{d}x{e}": -(0.5 if d == e else 1.0) * inverse[:, d, e] for d in dims for e in dims if d <= e}
    return Statistics("gaussian", centre, products=True), table | pairs
