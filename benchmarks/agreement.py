"""Whether the contenders of the chain benchmark did the same work: their answers, compared before any time is printed.

Everything is compared with Tagline's answer: log Z and log p to 1e-5 of their value, marginals to 1e-5, gradients to
1e-4, paths by their float64 score to 1e-5 a token (equal scores may belong to different paths).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import padded_numpy
from numpy.typing import NDArray
from padded_numpy import NumpyRival
from pytorch_crf import CrfRival

from tagline import Chain, Gradients
from tagline import chain as engine

Array = NDArray[Any]
Paths = list[list[int]]


class Difference(NamedTuple):
    """What was compared, how far apart it is, how far it may be."""

    what: str
    difference: float
    allowed: float


class DisagreementError(Exception):
    """Two contenders gave different answers."""


def require(rival: str, differences: Iterable[Difference]) -> None:
    """Raise when anything is further apart than it may be."""
    for what, difference, allowed in differences:
        if not difference <= allowed:  # NaN disagrees
            raise DisagreementError(
                f"{what}: expected tagline and {rival} within {allowed:g}, got {difference:.3g} apart"
            )


def with_numpy(chain: Chain, gold: Array, decoded: Paths, rival: NumpyRival) -> Iterator[Difference]:
    """Compare every answer of the NumPy rival; ``decoded`` is what Tagline's decode returned."""
    order = np.concatenate([block.order for block in rival.blocks])
    ours, gradients = engine.marginals(chain), engine.gradients(chain, gold)
    log_z = np.concatenate(rival.each(padded_numpy.log_partition))
    yield Difference("log Z", relative(log_z, engine.log_partition(chain)[order]), 1e-5)
    yield Difference("log Z of the marginals", relative(log_z, ours.log_z[order]), 1e-5)
    nodes = [nodes for nodes, _ in rival.each(padded_numpy.marginals)]
    yield Difference("marginals", apart(_join(chain, rival, nodes, ours.nodes), ours.nodes), 1e-5)
    paths = [labels for labels, _ in rival.each(padded_numpy.viterbi)]
    yield Difference("viterbi", score_gap(chain, _join(chain, rival, paths, gold), engine.viterbi(chain).labels), 1e-5)
    decoded_there = _flatten(rival.decode(), order)
    yield Difference("decode", score_gap(chain, decoded_there, _flatten(decoded, np.arange(len(decoded)))), 1e-5)
    shares, summed = rival.gradients()
    likelihood = np.concatenate([share.log_likelihood for share in shares])
    yield Difference("log p", relative(likelihood, gradients.log_likelihood[order]), 1e-5)
    by_token = _join(chain, rival, [share.emissions for share in shares], gradients.emissions)
    yield Difference("gradients", gradient_gap(gradients, by_token, summed), 1e-4)


def with_torch(chain: Chain, gold: Array, decoded: Paths, rival: CrfRival) -> Iterator[Difference]:
    """Compare the loss, the gradients and the paths of pytorch-crf."""
    gradients = engine.gradients(chain, gold)
    loss = rival.loss_and_gradients()
    yield Difference("loss", relative(-gradients.log_likelihood.sum(keepdims=True), np.array([loss])), 1e-5)
    summed = tuple(-gradient for gradient in rival.parameter_gradients())
    yield Difference("gradients", gradient_gap(gradients, -rival.emission_gradients(), summed), 1e-4)
    decoded_there = _flatten(rival.decode(), rival.order)
    yield Difference("decode", score_gap(chain, decoded_there, _flatten(decoded, np.arange(len(decoded)))), 1e-5)


def apart(a: Array, b: Array) -> float:
    """The largest absolute difference."""
    return float(np.abs(a - b).max())


def relative(a: Array, b: Array) -> float:
    """The largest difference as a share of the value, or of 1 where that is more."""
    return float((np.abs(a - b) / np.maximum(1, np.abs(b))).max())


def score_gap(chain: Chain, a: Array, b: Array) -> float:
    """How far apart the float64 scores of two labellings are, a token, in the sentence where it is most."""
    exact = Chain(chain.emissions.astype(np.float64), chain.transitions, chain.start, chain.end, chain.offsets)
    return float((np.abs(engine.score(exact, a) - engine.score(exact, b)) / chain.lengths).max())


def gradient_gap(ours: Gradients, emissions: Array, summed: tuple[Array, ...]) -> float:
    """The largest difference of a gradient; of one summed over the batch, as a share of its largest entry or of 1."""
    gaps = [apart(emissions, ours.emissions)]
    for theirs, mine in zip(summed, (ours.transitions, ours.start, ours.end), strict=True):
        gaps.append(apart(theirs, mine) / max(1.0, float(np.abs(mine).max())))
    return float(np.max(gaps))  # unlike max, keeps a NaN


def _join(chain: Chain, rival: NumpyRival, shares: Sequence[list[Array]], like: Array) -> Array:
    """Bring values by steps of all shares into the order of the tokens."""
    joined = np.empty_like(like)
    for block, values in zip(rival.blocks, shares, strict=True):
        padded_numpy.ragged(chain, block, values, joined)
    return joined


def _flatten(paths: Paths, order: Array) -> Array:
    """Bring lists of labels, one for each sentence of ``order``, into one array over the tokens."""
    by_sentence = dict(zip(order.tolist(), paths, strict=True))
    return np.concatenate([by_sentence[b] for b in range(len(paths))])
