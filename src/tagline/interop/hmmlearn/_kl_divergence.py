"""The functions of ``hmmlearn._kl_divergence``: KL(q ‖ p) of distributions of one family, in closed form.

Penny, "KL-Divergences of Normal, Gamma, Dirichlet and Wishart densities" (2001). Variational Bayes subtracts them from
log Z: the lower bound that it raises.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln  # type: ignore[import-untyped]

from tagline.types import Float64Array


def kl_dirichlet(q: ArrayLike, p: ArrayLike) -> float:
    """Return the divergence of Dirichlet distributions with these parameters ``[K]``."""
    a, b = np.asarray(q, np.float64), np.asarray(p, np.float64)
    normalisers = gammaln(a.sum()) - gammaln(b.sum()) - (gammaln(a) - gammaln(b)).sum()
    return float(normalisers + (a - b) @ (digamma(a) - digamma(a.sum())))


def kl_normal_distribution(mean_q: float, variance_q: float, mean_p: float, variance_p: float) -> float:
    """Return the divergence of normal distributions of one number."""
    spread = ((mean_q - mean_p) ** 2 + variance_q) / variance_p
    return float(0.5 * (np.log(variance_p / variance_q) + spread - 1))


def kl_multivariate_normal_distribution(
    mean_q: ArrayLike, covar_q: ArrayLike, mean_p: ArrayLike, covar_p: ArrayLike
) -> float:
    """Return the divergence of normal distributions with means ``[D]`` and covariances ``[D, D]``."""
    q, p = np.asarray(covar_q, np.float64), np.asarray(covar_p, np.float64)
    away = np.asarray(mean_q, np.float64) - np.asarray(mean_p, np.float64)
    logs = np.linalg.slogdet(p)[1] - np.linalg.slogdet(q)[1]
    return float(0.5 * (logs + np.trace(np.linalg.solve(p, q)) + away @ np.linalg.solve(p, away) - len(away)))


def kl_gamma_distribution(b_q: float, c_q: float, b_p: float, c_p: float) -> float:
    """Return the divergence of gamma distributions with shapes b and rates c."""
    shapes = (b_q - b_p) * digamma(b_q) - gammaln(b_q) + gammaln(b_p)
    return float(shapes + b_p * np.log(c_q / c_p) + b_q * (c_p - c_q) / c_q)


def kl_wishart_distribution(dof_q: float, scale_q: ArrayLike, dof_p: float, scale_p: ArrayLike) -> float:
    """Return the divergence of Wishart distributions with these degrees of freedom and inverse scales ``[D, D]``."""
    q, p = np.asarray(scale_q, np.float64), np.asarray(scale_p, np.float64)
    D = len(q)
    steps = np.arange(D)
    log_q, log_p = (np.linalg.slogdet(scale / 2)[1] for scale in (q, p))
    log_precision = digamma((dof_q - steps) / 2).sum() - log_q  # E log |Λ| under q

    def normaliser(dof: float, log_scale: float, half: Float64Array) -> float:
        return float(gammaln(half).sum() - dof / 2 * log_scale)

    trace = np.trace(np.linalg.solve(q, p))
    return float(
        (dof_q - dof_p) / 2 * log_precision
        + dof_q / 2 * (trace - D)
        + normaliser(dof_p, log_p, (dof_p - steps) / 2)
        - normaliser(dof_q, log_q, (dof_q - steps) / 2)
    )
