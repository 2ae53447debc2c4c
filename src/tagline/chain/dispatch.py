"""Which backend answers: stated by `engine()`, chosen by `TAGLINE_ENGINE`, `use_engine` or `using_engine`.

Every backend is a module with the same functions. `native` (the compiled core) is the default, `naive` (NumPy) the
definition and the stand-in where the core is missing. The functions below hold the public documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from tagline import compiled
from tagline.chain.centring import LARGE, beyond, centred, from_beyond
from tagline.chain.checks import check_chain, draw_uniforms
from tagline.chain.choice import Backends, EngineChoice
from tagline.chain.memory import check_ranked, check_room
from tagline.checks import as_whole, random_generator, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.types import (
    Chain,
    Counts,
    Float64Array,
    FloatArray,
    Gradients,
    IntArray,
    Marginals,
    Paths,
    RankedPaths,
    SpanQuery,
    ViterbiTable,
    sealed,
)

ENGINES = ("native", "naive")


def _require(name: str, source: str) -> None:
    if name == "native":
        compiled.require()


compiled.check_environment()
_choice = EngineChoice("engine", "TAGLINE_ENGINE", ENGINES, "naive" if compiled.core is None else "native", _require)
_backends = Backends("tagline.chain")


def engine() -> str:
    """Name the backend that answers: "native" or "naive".

    >>> from tagline import chain
    >>> chain.engine() in chain.ENGINES
    True
    """
    return _choice.name


def use_engine(name: str) -> None:
    """Choose the backend for every call from now on.

    >>> from tagline import chain
    >>> before = chain.engine()
    >>> chain.use_engine("naive")
    >>> chain.engine()
    'naive'
    >>> chain.use_engine(before)
    """
    _choice.use(name)


def using_engine(name: str) -> AbstractContextManager[None]:
    """Choose the backend for the calls inside a ``with`` block.

    >>> with using_engine("naive"):
    ...     engine()
    'naive'
    """
    return _choice.using(name)


def score(chain: Chain, labels: ArrayLike) -> Float64Array:
    """Sum the scores along a labelling.

    Arguments:
        labels: ``[N]`` integers from 0 to L − 1.

    Returns:
        ``[B]``, −∞ where the labelling is forbidden, 0 for an empty sentence.

    >>> from tagline import Chain, chain
    >>> sentence = Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]])
    >>> chain.score(sentence, [0, 1]).tolist()  # 1.0 + 1.0 + 0.5
    [2.5]
    """
    check_chain(chain)
    return _backends[_choice.name].score(chain, labels)


def log_partition(chain: Chain, *, allow_no_path: bool = False) -> Float64Array:
    """Compute log Z = log Σ_y exp(score(y)), ``[B]``.

    A sentence without a legal labelling raises `NoPathError`, or gives −∞ with ``allow_no_path=True``.

    >>> float(log_partition(Chain([[0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]))[0])  # two labellings
    0.6931471805599453
    """
    check_chain(chain)
    backend = _backends[_choice.name]
    log_z: Float64Array = backend.log_partition(chain, allow_no_path=allow_no_path)
    if chain._highest <= LARGE and not beyond(log_z):
        return log_z
    near, taken = centred(chain)
    if near is chain:
        return log_z
    centred_log_z: Float64Array = backend.log_partition(near, allow_no_path=allow_no_path)
    return centred_log_z + taken


def forward(chain: Chain) -> Float64Array:
    """Compute log α ``[N, L]``: log Σ exp(score) over all beginnings that give a token a label, emission included.

    >>> from tagline import Chain, chain
    >>> sentence = Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]])
    >>> alpha = chain.forward(sentence)
    >>> alpha.round(4).tolist()  # the sum over the last row is log Z
    [[1.0, 0.5], [3.0444, 2.7014]]
    """
    check_chain(chain)
    return _backends[_choice.name].forward(chain)


def backward(chain: Chain) -> Float64Array:
    """Compute log β ``[N, L]``: log Σ exp(score) over all continuations after a token's label, end included.

    >>> from tagline import Chain, chain
    >>> sentence = Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]])
    >>> beta = chain.backward(sentence)
    >>> beta.round(4).tolist()
    [[2.1444, 2.041], [0.0, 0.0]]
    """
    check_chain(chain)
    return _backends[_choice.name].backward(chain)


def marginals(chain: Chain, *, edges: bool = False) -> Marginals:
    """Compute the probability of each label at each token, and with ``edges=True`` of each pair of labels.

    Edge probabilities take N·L² numbers: ask for them on blocks of sentences.

    >>> marginals(Chain([[0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]])).nodes.tolist()
    [[0.5, 0.5]]
    """
    check_chain(chain)
    if edges:
        check_room(
            chain.num_tokens * chain.num_labels**2 * (chain.emissions.itemsize if _choice.name == "native" else 24),
            message(
                "marginals: probabilities of {}^2 pairs of labels at {:,} tokens", chain.num_labels, chain.num_tokens
            ),
            message("ask about fewer sentences at once, or for expected_counts, which are sums"),
        )
    backend = _backends[_choice.name]
    answer: Marginals = backend.marginals(chain, edges=edges)
    if chain._highest <= LARGE and not beyond(answer.log_z):
        return answer
    near, taken = centred(chain)
    if near is chain:
        return answer
    answer = backend.marginals(near, edges=edges)
    return replace(answer, log_z=answer.log_z + taken)


def viterbi(chain: Chain) -> Paths:
    """Find the best labelling of each sentence.

    Among equal scores it is the one that is smaller when read from the last label to the first.

    >>> viterbi(Chain([[1.0, 0.5], [0.0, 0.0]], [[0.6, 1.0], [1.0, 0.0]])).labels.tolist()
    [0, 1]
    """
    check_chain(chain)
    backend = _backends[_choice.name]
    best: Paths = backend.viterbi(chain)
    if chain._highest <= LARGE and not beyond(best.scores):
        return best
    near, taken = centred(chain)
    if near is chain:
        return best
    best = backend.viterbi(near)
    return replace(best, scores=best.scores + taken)


def viterbi_table(chain: Chain) -> ViterbiTable:
    """Compute what Viterbi's algorithm writes down: δ ``[N, L]`` and the label before each, for tables and pictures.

    >>> table = viterbi_table(Chain([[1.0, 0.5], [0.0, 0.0]], [[0.6, 1.0], [1.0, 0.0]]))
    >>> table.scores.tolist(), table.back.tolist()
    ([[1.0, 0.5], [1.6, 2.0]], [[-1, -1], [0, 0]])
    """
    check_chain(chain)
    return _backends["naive"].viterbi_table(chain)


def k_best(chain: Chain, k: int) -> list[RankedPaths]:
    """Find the k best labellings of each sentence with their scores and probabilities, best first.

    Where a sentence has fewer legal labellings, all of them are returned. The first is `viterbi`'s.

    >>> from tagline import Chain, chain
    >>> sentence = Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]])
    >>> best = chain.k_best(sentence, k=2)[0]
    >>> best.labels.tolist(), best.probabilities.round(4).tolist()
    ([[0, 1], [0, 0]], [0.3394, 0.3071])
    """
    check_chain(chain)
    check_ranked(as_whole("k", k, 1), chain.lengths, lambda: log_counts(chain))
    near, taken = centred(chain)
    try:
        ranked: list[RankedPaths] = _backends[_choice.name].k_best(near, k)
    except MemoryError:  # others have taken what there is
        raise InputError(
            "k: expected labellings that fit into memory, got {} for each of {} sentences; ask for "
            "fewer, or about fewer sentences at once",
            shown_value(k),
            chain.num_sentences,
        ) from None
    if near is chain:
        return ranked
    return [replace(paths, scores=paths.scores + lost) for paths, lost in zip(ranked, taken, strict=True)]


def log_counts(chain: Chain) -> Float64Array:
    """Compute the logarithm of the number of legal labellings of each sentence, ``[B]``."""

    def legal(scores: FloatArray) -> FloatArray:
        return sealed(np.where(np.isneginf(scores), scores, np.zeros((), scores.dtype)))

    emissions, transitions, start, end = map(legal, (chain.emissions, chain.transitions, chain.start, chain.end))
    return log_partition(Chain(emissions, transitions, start, end, chain.offsets), allow_no_path=True)


def sample(chain: Chain, uniforms: ArrayLike) -> IntArray:
    """Draw labellings from p(y | x), given the random numbers.

    Arguments:
        uniforms: ``[S, N]`` numbers in [0, 1), one for each sample and token, so that the same numbers give the same
            labellings on every backend (but for a number that falls on a boundary to the last bits).

    Returns:
        ``[S, N]`` labels.

    >>> from tagline import Chain, chain
    >>> even = Chain([[0.0, 0.0]] * 3, [[0.0, 0.0]] * 2)
    >>> chain.sample(even, [[0.1, 0.6, 0.2]]).tolist()
    [[0, 1, 0]]
    """
    return _backends[_choice.name].sample(centred(chain)[0], uniforms)


def sample_paths(chain: Chain, count: int, seed: int | np.random.Generator | None = None) -> IntArray:
    """Draw ``count`` labellings ``[count, N]`` from p(y | x), reproducibly where a seed is given.

    >>> from tagline import Chain, chain
    >>> sure = Chain([[9.0, 0.0], [0.0, 9.0]], [[0.0, 0.0]] * 2)
    >>> chain.sample_paths(sure, 3, seed=0).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """
    check_chain(chain)
    return sample(chain, draw_uniforms(as_whole("count", count, 0), chain.num_tokens, random_generator(seed)))


def entropy(chain: Chain) -> Float64Array:
    """Compute the entropy of p(y | x) in nats, ``[B]``: from 0 (certain) to T·log L.

    >>> from tagline import Chain, chain
    >>> even = Chain([[0.0, 0.0]] * 3, [[0.0, 0.0]] * 2)
    >>> chain.entropy(even).round(4).tolist()  # 3 · log 2
    [2.0794]
    """
    return _backends[_choice.name].entropy(centred(chain)[0])


def max_marginal(chain: Chain) -> IntArray:
    """Choose the most probable label of each token by itself, ``[N]``: the fewest expected errors.

    The labels together may be a labelling that is forbidden; `viterbi`'s never is. Of equals, the smaller label.

    >>> from tagline import Chain, chain
    >>> chain.max_marginal(Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]])).tolist()
    [0, 0]
    """
    return _backends[_choice.name].max_marginal(centred(chain)[0])


def span_probability(chain: Chain, spans: Sequence[SpanQuery]) -> Float64Array:
    """Compute the probability that the labels of a span lie in given sets.

    Arguments:
        spans: queries ``(sentence, first token, sets)``, with one set of labels (or one label) for each token of the
            span. For an entity to end where it ends, add a set for the token after it that leaves out its I labels.

    Returns:
        One probability a query.

    >>> even = Chain([[0.0, 0.0]] * 3, [[0.0, 0.0]] * 2)
    >>> [round(p, 12) for p in span_probability(even, [(0, 0, [0, 1]), (0, 1, [{0, 1}, 1])]).tolist()]
    [0.25, 0.5]
    """
    return _backends[_choice.name].span_probability(centred(chain)[0], spans)


def expected_counts(chain: Chain) -> Counts:
    """Compute how often each score of the chain is used on average under p(y | x), summed over the batch.

    >>> from tagline import Chain, chain
    >>> even = Chain([[0.0, 0.0]] * 3, [[0.0, 0.0]] * 2)
    >>> chain.expected_counts(even).transitions.tolist()  # two transitions, four pairs of labels
    [[0.5, 0.5], [0.5, 0.5]]
    """
    check_chain(chain)
    backend = _backends[_choice.name]
    counts: Counts = backend.expected_counts(chain)
    if chain._highest <= LARGE and not beyond(counts.log_z):
        return counts
    near, taken = centred(chain)
    if near is chain:
        return counts
    counts = backend.expected_counts(near)
    return replace(counts, log_z=counts.log_z + taken)


def gradients(chain: Chain, labels: ArrayLike) -> Gradients:
    """Compute the gradient of Σ_b log p(labels of sentence b) with respect to every score of the chain.

    It is the observed count of each score less its expected count, and 0 at a score of −∞. Labels that the chain
    forbids raise `NoPathError`.

    >>> from tagline import Chain, chain
    >>> even = Chain([[0.0, 0.0]] * 3, [[0.0, 0.0]] * 2)
    >>> chain.gradients(even, [0, 0, 1]).transitions.tolist()
    [[0.5, 0.5], [-0.5, -0.5]]
    """
    check_chain(chain)
    backend = _backends[_choice.name]
    slopes: Gradients = backend.gradients(chain, labels)
    if chain._highest <= LARGE and not from_beyond(slopes.log_likelihood):
        return slopes
    near, _ = centred(chain)
    return slopes if near is chain else backend.gradients(near, labels)
