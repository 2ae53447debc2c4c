"""Which words of a sentence told a network its labels: integrated gradients (Sundararajan et al. 2017).

For two labellings y* and y' the emissions differ by D(x) = Σ_t e_t(y*_t) − e_t(y'_t), with x what the encoder is given
of each word (embeddings of the word, of its characters or pieces). Word m gets ⟨x_m, ∫_0^1 ∂D/∂x_m (s·x) ds⟩, which
adds up to D(x) − D(0) over the words; the integral is a sum over a few nodes (Gauss–Legendre). What is left, D(0) and
the error of that sum, is named as such; transitions, start and end stand for themselves: all amounts add up to the
margin.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tagline.chain.rivals import Stretch
from tagline.models.explanations import Contribution, Differences, transition_terms
from tagline.models.neural.network import Network
from tagline.nn.heads import Tagger
from tagline.readers.corpus import Corpus
from tagline.types import Chain

REST = "no word: what the network says of nothing"
NODES = 8


def word_differences(network: Network, corpus: Corpus, chain: Chain) -> Differences:
    """Return what `explain_chain` asks for the terms of two labellings, for the one sentence of this corpus."""
    labels, words, tagger = network.labels, corpus.tokens[0], network.tagger
    batch = network.coder.read(corpus).batch(np.zeros(1, np.int64), network.device)

    def differences(stretch: Stretch) -> Iterator[Contribution]:
        here = [(n, *stretch.labels(n)) for n in stretch.tokens if len(set(stretch.labels(n))) > 1]
        here_labels = tuple(labels[a] for _, a, _ in here), tuple(labels[b] for _, _, b in here)
        with torch.no_grad():
            vectors = tagger.encoder.embed(batch)  # type: ignore[operator]
        slope = torch.zeros_like(vectors)
        for place, weight in zip(*_nodes(), strict=True):
            slope += weight * _slope(tagger, vectors * place, batch, here)[0]
        total = _slope(tagger, vectors, batch, here)[1]
        amounts = tagger.encoder.by_word(slope * vectors, batch)[0].double().cpu().numpy()  # type: ignore[operator]
        for m, amount in enumerate(amounts[: len(words)].tolist()):
            yield Contribution("input", words[m], m, *here_labels, amount)
        at = here[0][0] if here else stretch.tokens.start
        yield Contribution("rest", REST, at, *here_labels, total - float(amounts[: len(words)].sum()))
        yield from transition_terms(chain, labels, stretch)

    return differences


def _nodes() -> tuple[list[float], list[float]]:
    """Places from 0 to 1 and their weights, which add up to 1."""
    places, weights = np.polynomial.legendre.leggauss(NODES)
    return ((places + 1) / 2).tolist(), (weights / 2).tolist()


def _slope(tagger: Tagger, vectors: Tensor, batch: Any, here: list[tuple[int, int, int]]) -> tuple[Tensor, float]:
    """The gradient of D in what the encoder is vectors, and D."""
    # cuDNN has no gradients of an LSTM outside of training.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        inputs = vectors.detach().requires_grad_()
        scores = tagger.head.emissions(tagger.encoder.encode(inputs, batch))[0].double()  # type: ignore[operator]
        total = sum((scores[t, a] - scores[t, b] for t, a, b in here), scores.new_zeros(()))
        (slope,) = torch.autograd.grad(total, inputs)
    return slope, float(total.detach())
