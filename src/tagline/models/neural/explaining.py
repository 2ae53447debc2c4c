"""Which words of a sentence told a network its labels: integrated gradients (Sundararajan et al. 2017).

For two labellings y* and y' the emissions differ by D(x) = Σ_t e_t(y*_t) − e_t(y'_t), with x what the encoder is given
of each word (embeddings of the word, of its characters or pieces). Word m gets ⟨x_m, ∫_0^1 ∂D/∂x_m (s·x) ds⟩, which
adds up to D(x) − D(0) over the words; the integral is a sum over a few nodes (Gauss–Legendre). What is left, D(0) and
the error of that sum, is named as such; transitions, start and end stand for themselves: all amounts add up to the
margin.

Each token has a D of its own, and its gradient goes through the whole sentence: T tokens take eight passes forward and
8·T backward, T² steps, and each token has T terms. So sentences of more than 256 words are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from tagline import chain as engine
from tagline.chain.rivals import LabelLattice, Stretch, rivals
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.explanations import Contribution, Explanation, Rival, explain_labelling, transition_terms
from tagline.models.neural.network import Network
from tagline.readers.corpus import Corpus
from tagline.types import Chain, Float64Array

REST = message("no word: what the network says of nothing")
NODES = 8
MOST_WORDS = 256  # of a sentence that is explained
ABREAST = 1024  # words that gradients are worked out for at once


def explain_words(network: Network, corpus: Corpus, chain: Chain) -> Explanation:
    """Explain the best labelling of the one sentence of a corpus.

    Arguments:
        chain: the sentence scored, with rules and known labels.
    """
    labels, words = network.labels, corpus.tokens[0]
    check_size(len(words))
    best, nodes = engine.viterbi(chain).labels, engine.marginals(chain).nodes
    stretches = rivals(LabelLattice(chain), best.tolist())
    amounts, totals = _word_amounts(network, corpus, stretches)

    def terms(t: int, stretch: Stretch) -> Iterator[Contribution]:
        here = _differing(stretch)
        here_labels = tuple(labels[a] for _, a, _ in here), tuple(labels[b] for _, _, b in here)
        for m, amount in enumerate(amounts[t].tolist()):
            yield Contribution("input", words[m], m, *here_labels, amount)
        yield Contribution("rest", REST, here[0][0], *here_labels, float(totals[t] - amounts[t].sum()))
        yield from transition_terms(chain, labels, stretch)

    def others() -> Iterator[Rival | None]:
        for t, stretch in enumerate(stretches):
            if stretch is None:
                yield None
            else:
                label = stretch.labels(t)[1]
                yield Rival(label, terms(t, stretch), stretch.tokens, stretch.whole, stretch.margin)

    return explain_labelling(best, nodes, labels, words, others())


def check_size(num_words: int) -> None:
    """Refuse to explain a long sentence."""
    if num_words > MOST_WORDS:
        raise InputError(
            "sentence: a network explains sentences of up to {} words, for each word takes gradients of "
            "the whole sentence; this one has {:,}: explain the part of it that you ask about",
            MOST_WORDS,
            num_words,
        )


def _differing(stretch: Stretch) -> list[tuple[int, int, int]]:
    """The tokens at which two labellings differ, and their labels."""
    pairs = [(n, *stretch.labels(n)) for n in stretch.tokens]
    return [(n, a, b) for n, a, b in pairs if a != b]


def _word_amounts(
    network: Network, corpus: Corpus, stretches: Sequence[Stretch | None]
) -> tuple[Float64Array, Float64Array]:
    """What each word adds to the D of each token ``[T, T]``, and D ``[T]``."""
    T, tagger, reader = len(stretches), network.tagger, network.coder.read(corpus)
    abreast = max(1, min(NODES, ABREAST // T))
    amounts, totals = np.zeros((T, T)), np.zeros(T)
    places, weights = np.polynomial.legendre.leggauss(NODES)

    def difference(scores: Tensor, stretch: Stretch) -> Tensor:
        return sum((scores[..., n, a] - scores[..., n, b] for n, a, b in _differing(stretch)), scores.new_zeros(()))

    for first in range(0, NODES, abreast):
        # The sentence once for each node, from 0 to 1; weights add up to 1.
        at = torch.tensor((places[first : first + abreast] + 1) / 2, dtype=torch.float32, device=network.device)
        share = torch.tensor(weights[first : first + abreast] / 2, dtype=torch.float64, device=network.device)
        batch = reader.batch(np.zeros(len(at), np.int64), network.device)
        with torch.no_grad():
            vectors = tagger.encoder.embed(batch)  # type: ignore[operator]
        scale = at.repeat_interleave(len(vectors) // len(at)).view(-1, *[1] * (vectors.dim() - 1))
        # cuDNN has no gradients of an LSTM outside of training.
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
            inputs = (vectors * scale).requires_grad_()
            scores = tagger.head.emissions(tagger.encoder.encode(inputs, batch)).double()  # type: ignore[operator]
            for t, stretch in enumerate(stretches):
                if stretch is not None:
                    total = (share * difference(scores, stretch)).sum()
                    (slope,) = torch.autograd.grad(total, inputs, retain_graph=True)
                    by_word = tagger.encoder.by_word(slope * vectors, batch)  # type: ignore[operator]
                    amounts[t] += by_word[:, :T].double().sum(0).cpu().numpy()
    batch = reader.batch(np.zeros(1, np.int64), network.device)
    with torch.no_grad():
        scores = tagger.head.emissions(tagger.encoder(batch))[0].double()
    for t, stretch in enumerate(stretches):
        if stretch is not None:
            totals[t] = float(difference(scores, stretch))
    return amounts, totals
