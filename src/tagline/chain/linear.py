"""The recursions on products instead of logarithms, and a Viterbi that recomputes its back-pointers: for teaching.

Potentials ``psi [T, L, L]`` are factors of a product, not logarithms: ``psi[t, i, j]`` weighs label i at t-1 before
label j at t, and ``psi[0, 0, j]`` weighs j at the first token (the other rows of ``psi[0]`` are never read).

    α_0(j) = ψ_0(j)     α_t(j) = Σ_i α_(t-1)(i) ψ_t(i, j)     Z = Σ_j α_(T-1)(j)     p(y) = ∏ ψ / Z

These sums of products leave the range of float64 after a few hundred tokens; then they raise, and the log domain of
`tagline.chain.naive` is the remedy (`chain_from_log_potentials`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.chain.checks import as_label_array, no_path
from tagline.checks import as_array
from tagline.errors import InputError
from tagline.messages import message
from tagline.types import Chain, Float64Array, IntArray, Paths


def _as_cube(name: str, values: ArrayLike) -> NDArray[Any]:
    cube = as_array(name, values)
    if cube.ndim != 3 or cube.shape[1] != cube.shape[2] or 0 in cube.shape:
        raise InputError("{}: expected shape [tokens, labels, labels], got {}", name, list(cube.shape))
    if cube.dtype.kind not in "fiu":
        raise InputError("{}: expected numbers, got dtype {}", name, cube.dtype)
    return cube


def _as_potentials(psi: ArrayLike) -> Float64Array:
    potentials = _as_cube("psi", psi).astype(np.float64)
    potentials[0, 1:] = 0.0
    if not (potentials >= 0).all() or np.isposinf(potentials).any():
        raise InputError("psi: expected finite potentials of at least 0, got others; pass exp(scores)")
    return potentials


def _in_range(what: str, value: float) -> float:
    if not 0 < value < np.inf:
        raise InputError(
            "{}: expected a positive number within float64, got {}; use the log domain "
            "(chain_from_log_potentials and the engine)",
            what,
            value,
        )
    return value


def chain_from_log_potentials(log_psi: ArrayLike) -> Chain:
    """Make the chain whose labellings score Σ log ψ: start from ``log_psi[0, 0]``, transitions for each token."""
    cube = _as_cube("log_psi", log_psi)
    return Chain(np.zeros(cube.shape[:2], cube.dtype), cube, start=cube[0, 0])


def forward_linear(psi: ArrayLike) -> Float64Array:
    """Compute α ``[T, L]``; Z is the sum of its last row."""
    potentials = _as_potentials(psi)
    alpha = np.empty(potentials.shape[:2])
    alpha[0] = potentials[0, 0]
    with np.errstate(over="ignore"):
        for t in range(1, len(alpha)):
            alpha[t] = alpha[t - 1] @ potentials[t]
    _in_range("Z", float(alpha[-1].sum()))
    return alpha


def backward_linear(psi: ArrayLike) -> Float64Array:
    """Compute β ``[T, L]``, with ones in its last row; Z is ``psi[0, 0] @ beta[0]``."""
    potentials = _as_potentials(psi)
    beta = np.ones(potentials.shape[:2])
    with np.errstate(over="ignore"):
        for t in range(len(beta) - 2, -1, -1):
            beta[t] = potentials[t + 1] @ beta[t + 1]
        _in_range("Z", float(potentials[0, 0] @ beta[0]))
    return beta


def probability_linear(labels: ArrayLike, psi: ArrayLike) -> float:
    """Compute p(labels) = ∏ ψ / Z."""
    potentials = _as_potentials(psi)
    path = as_label_array(labels, *potentials.shape[:2])
    steps = [potentials[0, 0, path[0]], *(potentials[t, path[t - 1], path[t]] for t in range(1, len(path)))]
    with np.errstate(over="ignore"):
        product = float(np.prod(steps))
    if not np.isfinite(product):
        _in_range(message("product of potentials"), product)
    return product / float(forward_linear(potentials)[-1].sum())


def gradient_linear(labels: ArrayLike, psi: ArrayLike) -> Float64Array:
    """Compute ∂ log p(labels) / ∂ψ ``[T, L, L]``: δ/ψ − αβ/Z on each edge, 0 on the unread rows of ``psi[0]``."""
    potentials = _as_potentials(psi)
    path = as_label_array(labels, *potentials.shape[:2])
    alpha, beta = forward_linear(potentials), backward_linear(potentials)
    Z = alpha[-1].sum()
    gradient = np.zeros_like(potentials)
    gradient[0, 0] = -beta[0] / Z
    gradient[0, 0, path[0]] += 1 / potentials[0, 0, path[0]]
    for t in range(1, len(path)):
        gradient[t] = -np.outer(alpha[t - 1], beta[t]) / Z
        gradient[t, path[t - 1], path[t]] += 1 / potentials[t, path[t - 1], path[t]]
    return gradient


def viterbi_recomputed(chain: Chain) -> Paths:
    """Find the best labelling from the stored table of δ alone: each back-pointer is computed when it is followed.

    The table is as large as the emissions, and no ``[T, L]`` pointers are kept; the compiled core works this way.
    """
    labels, scores = [np.empty(0, np.int64)], []
    for b, emissions in enumerate(chain.split(chain.emissions)):
        first = int(chain.offsets[b])
        path, best = _recompute(chain, b, first, emissions.astype(np.float64))
        labels.append(path)
        scores.append(best)
    return Paths(np.concatenate(labels), np.array(scores))


def _recompute(chain: Chain, b: int, first: int, emissions: Float64Array) -> tuple[IntArray, float]:
    def into(t: int) -> NDArray[Any]:
        return chain.transitions[first + t] if chain.per_position else chain.transitions

    T = len(emissions)
    if T == 0:
        return np.empty(0, np.int64), 0.0
    delta = np.empty_like(emissions)
    delta[0] = chain.start + emissions[0]
    for t in range(1, T):
        delta[t] = (delta[t - 1][:, None] + into(t)).max(axis=0) + emissions[t]
    last = delta[-1] + chain.end
    if np.isneginf(last.max()):
        raise no_path(b)
    path = np.empty(T, np.int64)
    path[-1] = last.argmax()
    for t in range(T - 1, 0, -1):
        path[t - 1] = (delta[t - 1] + into(t)[:, path[t]]).argmax()
    return path, float(last.max())
