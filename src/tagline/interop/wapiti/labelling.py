"""Labels for sentences, as ``wapiti label`` writes them: the line as it came, a tab, the label, and scores if wanted.

Scores are in float64 and written with six digits. Without ``--post`` the score of a token is that of its label and the
pair that leads to it, that of a sentence their sum; with it, the probability of the label, and their product. An MEMM
has, with and without ``--post``, the probability of a label given the label before it, and the product of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import BinaryIO

import numpy as np

from tagline.chain import constrain, k_best, marginals, viterbi
from tagline.features.attributes import Features
from tagline.features.expansion import expand
from tagline.features.expressions.byte_text import bytes_of
from tagline.features.items import items_to_features
from tagline.features.local_scores import LocalScorer, charged, log_normalisers
from tagline.features.weights import Scorer
from tagline.interop.wapiti.conversion import parameters_of, template_of
from tagline.interop.wapiti.input_lines import InputBlock, corpus_of, observations_of, read_blocks
from tagline.interop.wapiti.options import Options
from tagline.interop.wapiti.text import WapitiModel
from tagline.models.crf.chains import exact_chains, feature_chains
from tagline.types import Chain, Float64Array, FloatArray, IntArray

Tell = Callable[[str], None]
EVERY = 1000  # sentences


@dataclass(frozen=True, eq=False)
class ScoredLabelling:
    """One labelling of a sentence.

    Attributes:
        labels: ``[T]``.
        score: of the sentence; NaN where scores are not asked for.
        scores: of its tokens, ``[T]``; empty where they are not asked for.
    """

    labels: IntArray
    score: float = math.nan
    scores: Float64Array = field(default_factory=lambda: np.empty(0))


class Check:
    """Labels that were found against those that the sentences have."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = labels
        self._counts = np.zeros((3, len(labels)), np.int64)  # in the data, found, both
        self.tokens = self.errors = self.sentences = self.wrong_sentences = 0

    def add(self, true: IntArray, found: IntArray) -> None:
        """Count a sentence; labels that the model does not know, −1, are no errors."""
        known = true >= 0
        wrong = int((true != found)[known].sum())
        for row, labels in enumerate((true[known], found[known], found[known & (true == found)])):
            self._counts[row] += np.bincount(labels, minlength=len(self._labels))
        self.tokens += len(true)
        self.errors += wrong
        self.sentences += 1
        self.wrong_sentences += wrong > 0

    def rates(self) -> tuple[float, float]:
        """Return how many of a hundred tokens are wrong, and how many of a hundred sentences."""
        return 100 * _ratio(self.errors, self.tokens), 100 * _ratio(self.wrong_sentences, self.sentences)

    def report(self, tell: Tell) -> None:
        """Tell all of it."""
        tokens, sentences = self.rates()
        tell(f"    Nb sequences  : {self.sentences}\n")
        tell(f"    Token error   : {_number(tokens, '5.2f')}%\n")
        tell(f"    Sequence error: {_number(sentences, '5.2f')}%\n")
        tell("* Per label statistics\n")
        for label, (true, found, both) in zip(self._labels, self._counts.T.tolist(), strict=True):
            recall, precision = _ratio(both, true), _ratio(both, found)
            f1 = _ratio(2 * precision * recall, precision + recall)
            numbers = (f"  {name}={_number(value)}" for name, value in (("Pr", precision), ("Rc", recall), ("F1", f1)))
            tell(f"    {label:<6}{''.join(numbers)}\n")


class Labeller:
    """A model that labels: patterns or none, and weights."""

    def __init__(self, model: WapitiModel, source: str) -> None:
        self.template = template_of(model, source)
        self.parameters = parameters_of(model, self.template)
        self.is_local = model.type == "memm"

    @cached_property
    def scorer(self) -> Scorer:
        """The weights, ready for scoring."""
        scorer = LocalScorer if self.is_local else Scorer
        return scorer(self.parameters.structure, self.parameters.weights)


def label_stream(model: Labeller, stream: BinaryIO, out: BinaryIO, options: Options, source: str, tell: Tell) -> None:
    """Label the sentences of a stream as they arrive."""
    labels = model.parameters.labels
    names, numbers = [bytes_of(label) for label in labels], {label: k for k, label in enumerate(labels)}
    check, fewer, done = Check(labels), 0, 0
    labelled = options.check or options.force
    for block in read_blocks(stream, source):
        rows, given = block.words(labelled)
        known = None if given is None else np.array([numbers.get(label, -1) for label in given], np.int64)
        first = 0
        for length, ranked in zip(block.lengths, _ranked(model, block, rows, known, options), strict=True):
            out.write(b"".join(_written(block.lines[first : first + length], ranked, names, options)))
            fewer += len(ranked) < options.nbest
            if options.check:
                assert known is not None
                check.add(known[first : first + length], ranked[0].labels)
            first += length
            done += 1
            if done % EVERY == 0:
                rates = "\t{:5.2f}%/{:5.2f}%".format(*check.rates()) if options.check else ""
                tell(f"{done:10d} sequences labeled{rates}\n")
        out.flush()
    if options.check:
        check.report(tell)
    if fewer:
        tell(f"note: {fewer} sentences have fewer than {options.nbest} labellings; all of them are written\n")


def _features_of(model: Labeller, block: InputBlock, rows: list[list[str]]) -> Features:
    """Look up the observations of sentences that a model knows."""
    p, template = model.parameters, model.template
    assert p.states is not None
    if template is not None:
        features = expand(template, corpus_of(block, rows, template), (p.states, p.edges)).features
    else:
        states, edges = observations_of(block, rows)
        features = items_to_features(states, edges if p.edges is not None else None, (p.states, p.edges)).features
    return features if len(p.structure.edge_pairs) else Features(features.offsets, features.states)


def _ranked(
    model: Labeller, block: InputBlock, rows: list[list[str]], known: IntArray | None, options: Options
) -> Iterator[list[ScoredLabelling]]:
    """Return the best labellings of each sentence."""
    features = _features_of(model, block, rows)
    exact = options.score or options.post or options.nbest > 1
    chains = exact_chains(model.parameters, features) if exact else feature_chains(model.scorer, features)
    begin = 0
    for chain in chains:
        forced = None
        if options.force:
            assert known is not None
            forced = known[begin : begin + chain.num_tokens]
        begin += chain.num_tokens
        if model.is_local and exact:
            yield from _of_local(chain, forced, options)
        elif options.post:
            yield from _of_posteriors(chain, forced, options)
        else:
            yield from _of_scores(chain, forced, options)


def _of_local(chain: Chain, forced: IntArray | None, options: Options) -> Iterator[list[ScoredLabelling]]:
    """Labels of an MEMM by the products of their probabilities."""
    normalisers = log_normalisers(chain)
    for b, ranked in enumerate(_best(charged(chain), forced, options.nbest)):
        tokens = np.arange(*chain.offsets[b : b + 2])
        scores = _token_scores(chain, tokens, ranked.labels)
        scores[:, :1] -= normalisers[tokens[:1], 0]
        scores[:, 1:] -= normalisers[tokens[1:], ranked.labels[:, :-1]]
        probabilities = np.exp(scores)
        rows = zip(ranked.labels, probabilities.prod(axis=1).tolist(), probabilities, strict=True)
        yield [ScoredLabelling(*parts) for parts in rows]


def _token_scores(chain: Chain, tokens: IntArray, labels: IntArray) -> Float64Array:
    """Return the score of each token's label and of the pair that leads to it, for labellings ``[K, T]``."""
    scores: Float64Array = chain.emissions[tokens, labels].astype(np.float64)
    pairs = (labels[:, :-1], labels[:, 1:])
    scores[:, 1:] += chain.transitions[(tokens[1:], *pairs) if chain.per_position else pairs]
    return scores


def _of_scores(chain: Chain, forced: IntArray | None, options: Options) -> Iterator[list[ScoredLabelling]]:
    for b, ranked in enumerate(_best(chain, forced, options.nbest)):
        scores = np.empty((len(ranked.labels), 0))
        if options.score:
            scores = _token_scores(chain, np.arange(*chain.offsets[b : b + 2]), ranked.labels)
        yield [ScoredLabelling(*parts) for parts in zip(ranked.labels, ranked.scores.tolist(), scores, strict=True)]


def _of_posteriors(chain: Chain, forced: IntArray | None, options: Options) -> Iterator[list[ScoredLabelling]]:
    """Labels by their probabilities, token for token: the best labelling has the most probable label of each."""
    nodes: FloatArray = marginals(chain).nodes
    with np.errstate(divide="ignore"):
        independent = Chain(np.log(nodes), np.zeros((chain.num_labels,) * 2), offsets=chain.offsets)
    for b, ranked in enumerate(_best(independent, forced, options.nbest)):
        first, last = chain.offsets[b : b + 2]
        scores = nodes[np.arange(first, last), ranked.labels].astype(np.float64)  # [K, T]
        yield [
            ScoredLabelling(*parts) for parts in zip(ranked.labels, scores.prod(axis=1).tolist(), scores, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class _Ranked:
    """The best labellings of a sentence ``[K, T]`` and their scores ``[K]``."""

    labels: IntArray
    scores: Float64Array


def _best(chain: Chain, forced: IntArray | None, count: int) -> Iterator[_Ranked]:
    if forced is not None:
        chain = constrain(chain, known=forced)
    if count > 1:
        yield from (_Ranked(paths.labels, paths.scores) for paths in k_best(chain, count))
        return
    paths = viterbi(chain)
    for labels, score in zip(chain.split(paths.labels), paths.scores, strict=True):
        yield _Ranked(labels[None], np.array([score]))


def _written(
    lines: list[bytes], ranked: list[ScoredLabelling], names: list[bytes], options: Options
) -> Iterator[bytes]:
    for rank, labelling in enumerate(ranked):
        if options.score:
            yield b"# %d %f\n" % (rank, labelling.score)
        for token, (line, label) in enumerate(zip(lines, labelling.labels.tolist(), strict=True)):
            if not options.label:
                yield line + b"\t"
            yield names[label]
            if options.score:
                yield b"\t%b/%f" % (names[label], labelling.scores[token])
            yield b"\n"
        yield b"\n"


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _number(value: float, form: str = ".2f") -> str:
    """Write a number as C does on x86, where 0 / 0 is −nan."""
    return "-nan" if math.isnan(value) else f"{value:{form}}"
