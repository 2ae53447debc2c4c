"""Counts to probabilities: add-k, Witten–Bell, Dirichlet. What supervised HMMs are made of.

For a row of counts c_j with the sum c and C possible events, of which T were seen:

    add-k         p_j = (c_j + k) / (c + k·C)
    Witten–Bell   p_j = (c_j + T·q_j) / (c + T),  q the distribution without context, smoothed in the same way with
                  1/C in the place of q: an event is as likely to be new as the ones seen before were (Witten and Bell
                  1991; interpolated, as Chen and Goodman 1996 write it)
    Dirichlet     p_j = (c_j + α_j − 1) / Σ_i (c_i + α_i − 1), the mode of the posterior under Dirichlet(α): what EM
                  climbs to, and α = 1 is no prior

Events that are not possible have probability 0, exactly. A row without any counts or prior is uniform (add-k,
Dirichlet) or q (Witten–Bell).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import check_choice, check_number
from tagline.messages import message
from tagline.types import BoolArray, Float64Array

SMOOTHING = ("add-k", "witten-bell", "dirichlet")


def check_smoothing(name: str, k: float) -> None:
    """Raise where the way to smooth is unknown or k is no pseudo-count."""
    check_choice("smoothing", name, SMOOTHING)
    check_number("k", k, least=0, wanted=message("a pseudo-count of 0 or more"))


def smoothed(
    counts: Float64Array,
    name: str,
    *,
    k: float = 0.0,
    prior: ArrayLike = 1.0,
    possible: BoolArray | None = None,
    context_free: Float64Array | None = None,
) -> Float64Array:
    """Turn rows of counts ``[R, C]`` into distributions.

    Arguments:
        name: one of `SMOOTHING`.
        k: of add-k.
        prior: the Dirichlet's parameters, of a shape that broadcasts to ``[R, C]``, 1 or more.
        possible: ``[R, C]``, False where an event cannot be; all can when left out.
        context_free: ``[C]``, counts of the events whatever their row, for Witten–Bell; the sum of the rows when left
            out.

    >>> smoothed(np.array([[3.0, 1.0, 0.0]]), "add-k", k=1.0).round(3).tolist()
    [[0.571, 0.286, 0.143]]
    """
    can = np.ones(counts.shape, bool) if possible is None else possible
    rows = np.where(can, counts, 0.0)
    if name == "witten-bell":
        return _witten_bell(rows, can, rows.sum(axis=0) if context_free is None else context_free)
    added = np.full(rows.shape, k) if name == "add-k" else np.broadcast_to(prior, rows.shape) - 1.0
    return normalised(rows + added, can)


def normalised(mass: Float64Array, possible: BoolArray) -> Float64Array:
    """Divide each row by its sum over what is possible; a row without mass becomes uniform."""
    possible_mass = np.where(possible, mass, 0.0)
    sums = possible_mass.sum(axis=1, keepdims=True)
    possible_mass = np.where(sums > 0, possible_mass, possible)
    return np.asarray(possible_mass / np.maximum(possible_mass.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))


def _witten_bell(rows: Float64Array, can: BoolArray, events: Float64Array) -> Float64Array:
    kinds = float((events > 0).sum())
    lower = (events + kinds / len(events)) / (events.sum() + kinds) if kinds else np.full(len(events), 1 / len(events))
    q = normalised(np.broadcast_to(lower, rows.shape), can)  # among what is possible
    seen = (rows > 0).sum(axis=1, keepdims=True)  # T
    return normalised(np.where(seen > 0, rows + seen * q, q), can)
