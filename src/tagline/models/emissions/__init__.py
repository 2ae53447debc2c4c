"""Emission families of an HMM: what each state emits, and how it learns that from weighted observations."""

from tagline.models.emissions.base import Emission
from tagline.models.emissions.bernoulli import Bernoulli
from tagline.models.emissions.categorical import MISSING, UNKNOWN, Categorical
from tagline.models.emissions.gaussian import COVARIANCES, Gaussian
from tagline.models.emissions.mixture import Mixture
from tagline.models.emissions.multinomial import Multinomial
from tagline.models.emissions.observations import check_observations
from tagline.models.emissions.poisson import Poisson
from tagline.models.emissions.symbols import Symbols

FAMILIES: dict[str, type[Emission]] = {
    kind.family: kind for kind in (Categorical, Multinomial, Bernoulli, Poisson, Gaussian, Mixture)
}

__all__ = [
    "COVARIANCES",
    "FAMILIES",
    "MISSING",
    "UNKNOWN",
    "Bernoulli",
    "Categorical",
    "Emission",
    "Gaussian",
    "Mixture",
    "Multinomial",
    "Poisson",
    "Symbols",
    "check_observations",
]
