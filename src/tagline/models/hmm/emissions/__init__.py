"""Emission families of an HMM: what each state emits, and how it learns that from weighted observations."""

from tagline.models.hmm.emissions.base import Emission
from tagline.models.hmm.emissions.bernoulli import Bernoulli
from tagline.models.hmm.emissions.categorical import MISSING, UNKNOWN, Categorical
from tagline.models.hmm.emissions.gaussian import COVARIANCES, Gaussian
from tagline.models.hmm.emissions.mixture import Mixture
from tagline.models.hmm.emissions.multinomial import Multinomial
from tagline.models.hmm.emissions.observations import check_observations
from tagline.models.hmm.emissions.poisson import Poisson
from tagline.models.hmm.emissions.symbols import Symbols

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
