"""The function of ``hmmlearn.stats``."""

from __future__ import annotations

from numpy.typing import ArrayLike

from tagline.checks import as_array
from tagline.interop.hmmlearn.covariances import stored_covars
from tagline.models.hmm.emissions import Gaussian
from tagline.types import Float64Array


def log_multivariate_normal_density(
    X: ArrayLike, means: ArrayLike, covars: ArrayLike, covariance_type: str = "diag"
) -> Float64Array:
    """Return log densities ``[n_samples, n_components]`` of normal distributions.

    Arguments:
        X: ``[n_samples, n_features]``.
        means: ``[n_components, n_features]``.
        covars: in the shape of their type, as `GaussianHMM` takes them.
        covariance_type: "spherical", "diag", "full" or "tied".
    """
    centres = as_array("means", means)
    chosen = stored_covars(covars, covariance_type, len(centres))
    return Gaussian(centres, chosen, covariance_type).log_likelihood(as_array("X", X).astype(float))
