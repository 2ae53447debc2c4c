"""NLTK's first-order HMM: its distributions become a `tagline.Chain`, and the engine answers.

    log p(words, tags) = log π(s_1) + Σ log A(s_t | s_(t−1)) + Σ log B(w_t | s_t)

Logarithms that come out are to the base 2, as there. A supervised HMM is counted; Baum–Welch is that of `tagline.HMM`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from tagline import chain as engine
from tagline.errors import InputError, NoPathError
from tagline.interop.nltk.tag.api import TaggerI, check_sentences, check_tokens, untagged
from tagline.interop.nltk.tag.distributions import logs_of
from tagline.interop.nltk.tag.learning import GAMMA, Estimator, Parts, count, random_parts, reestimate
from tagline.ragged import offsets_of
from tagline.types import Chain, Float64Array

FLOOR = -1e4  # for what is impossible, in sentences that have no possible tags at all
log = logging.getLogger(__name__)


def _identity(sequence: Any) -> Any:
    return sequence


class HiddenMarkovModelTagger(TaggerI):  # type: ignore[misc]
    """A hidden Markov model whose states are tags.

    Arguments:
        symbols, states: what is observed, and the tags.
        transitions, outputs: for each state a distribution over the next state, and over symbols; NLTK's, or ours.
        priors: the distribution of the first state.
        transform: is applied to each sentence before it is tagged or scored.

    >>> data = [[("the", "D"), ("dog", "N"), ("runs", "V")], [("a", "D"), ("cat", "N"), ("sits", "V")]]
    >>> HiddenMarkovModelTagger.train(data).tag(["the", "cat", "barks"])
    [('the', 'D'), ('cat', 'N'), ('barks', 'V')]
    """

    def __init__(
        self,
        symbols: Iterable[Any],
        states: Iterable[Any],
        transitions: Any,
        outputs: Any,
        priors: Any,
        transform: Callable[[Any], Any] = _identity,
    ) -> None:
        self._symbols = list(dict.fromkeys(symbols))
        self._states = list(dict.fromkeys(states))
        self._transitions = transitions
        self._outputs = outputs
        self._priors = priors
        self._transform = transform
        self.reset_cache()

    @classmethod
    def train(
        cls,
        labeled_sequence: Iterable[Any],
        test_sequence: Any = None,
        unlabeled_sequence: Any = None,
        transform: Callable[[Any], Any] = _identity,
        estimator: Estimator | None = None,
        verbose: bool = False,
        max_iterations: int = 5,
    ) -> Self:
        """Learn from tagged sentences, and after that from untagged ones where there are any.

        Arguments:
            estimator: makes a distribution of counts, as NLTK's do; left out, it is Lidstone's with γ = 0.1.
            test_sequence: tagged sentences; the accuracy on them is logged.
        """
        parts = count([transform(sentence) for sentence in labeled_sequence], estimator=estimator, gamma=GAMMA)
        if unlabeled_sequence:
            parts = reestimate(parts, unlabeled_sequence, max_iterations=max_iterations)
        tagger = cls(*parts, transform)
        if test_sequence:
            tagger.test(test_sequence, verbose)
        return tagger

    def tag(self, unlabeled_sequence: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Return the symbols of a sentence with the states of the best path."""
        check_tokens(unlabeled_sequence)
        return self.tag_sents([unlabeled_sequence])[0]

    def tag_sents(self, sentences: Iterable[Sequence[Any]]) -> list[list[tuple[Any, Any]]]:
        """Tag each of several sentences."""
        check_sentences("tag_sents", sentences)
        rows = [list(self._transform(sentence)) for sentence in sentences]
        paths = self._best_paths(rows)
        return [list(zip(symbols, path, strict=True)) for symbols, path in zip(rows, paths, strict=True)]

    def best_path(self, unlabeled_sequence: Sequence[Any]) -> list[Any]:
        """Return the states of the best path."""
        return self._best_paths([list(self._transform(unlabeled_sequence))])[0]

    best_path_simple = best_path

    def log_probability(self, sequence: Sequence[tuple[Any, Any]]) -> float:
        """Return log2 of the probability of (symbol, tag) pairs; where the tags are None, that of the symbols alone."""
        pairs = list(self._transform(sequence))
        if not pairs:
            return 0.0
        chain = self._chain([[symbol for symbol, _ in pairs]])
        if not pairs[0][1]:
            return float(engine.log_partition(chain, allow_no_path=True)[0]) / math.log(2)
        numbers = {state: number for number, state in enumerate(self._states)}
        return float(engine.score(chain, [numbers[tag] for _, tag in pairs])[0]) / math.log(2)

    def probability(self, sequence: Sequence[tuple[Any, Any]]) -> float:
        """Return the probability of (symbol, tag) pairs, as `log_probability` reads them."""
        return float(2 ** self.log_probability(sequence))

    def entropy(self, unlabeled_sequence: Sequence[tuple[Any, Any]]) -> float:
        """Return the entropy of all labellings of a sentence, in bits."""
        return float(engine.entropy(self._chain_of_pairs(unlabeled_sequence))[0]) / math.log(2)

    def point_entropy(self, unlabeled_sequence: Sequence[tuple[Any, Any]]) -> Float64Array:
        """Return the entropy of the state of each token, in bits: ``[T]``."""
        nodes = engine.marginals(self._chain_of_pairs(unlabeled_sequence)).nodes
        with np.errstate(divide="ignore", invalid="ignore"):
            bits: Float64Array = -np.where(nodes > 0, nodes * np.log2(nodes), 0.0).sum(axis=1)
        return bits

    def test(self, test_sequence: Iterable[Any], verbose: bool = False, **kwargs: Any) -> None:
        """Log the accuracy on tagged sentences, and with `verbose` each of them."""
        sentences = [untagged(self._transform(sentence), "test_sequence") for sentence in test_sequence]
        paths = self._best_paths([symbols for symbols, _ in sentences])
        right = [
            one == two
            for (_, tags), path in zip(sentences, paths, strict=True)
            for one, two in zip(tags, path, strict=True)
        ]
        for (symbols, _), path in zip(sentences, paths, strict=True) if verbose else ():
            log.info("tagged: %s", " ".join(f"{symbol}/{state}" for symbol, state in zip(symbols, path, strict=True)))
        log.info("accuracy over %d tokens: %.2f", len(right), 100 * sum(right) / max(len(right), 1))

    def reset_cache(self) -> None:
        """Forget the arrays that were made of the distributions, after these were changed."""
        self._tables: tuple[Float64Array, Float64Array] | None = None
        self._numbers: dict[Any, int] = {}
        self._emissions: Float64Array = np.empty((0, 0))

    def __repr__(self) -> str:
        return f"<HiddenMarkovModelTagger {len(self._states)} states and {len(self._symbols)} output symbols>"

    @property
    def _parts(self) -> Parts:
        return Parts(self._symbols, self._states, self._transitions, self._outputs, self._priors)

    def _best_paths(self, rows: list[list[Any]]) -> list[list[Any]]:
        chain = self._chain(rows)
        try:
            labels = engine.viterbi(chain).labels
        except NoPathError:
            labels = engine.viterbi(_softened(chain)).labels
        places = zip(chain.offsets[:-1], chain.offsets[1:], strict=True)
        return [[self._states[number] for number in labels[first:last]] for first, last in places]

    def _forward_probability(self, unlabeled_sequence: Sequence[tuple[Any, Any]]) -> Float64Array:
        """Return log2 α: ``[T, states]``."""
        return engine.forward(self._chain_of_pairs(unlabeled_sequence)) / math.log(2)

    def _backward_probability(self, unlabeled_sequence: Sequence[tuple[Any, Any]]) -> Float64Array:
        """Return log2 β: ``[T, states]``."""
        return engine.backward(self._chain_of_pairs(unlabeled_sequence)) / math.log(2)

    def _chain_of_pairs(self, sequence: Sequence[tuple[Any, Any]]) -> Chain:
        return self._chain([[symbol for symbol, _ in self._transform(sequence)]])

    def _chain(self, rows: list[list[Any]]) -> Chain:
        """Return the scores of sentences of symbols."""
        if self._tables is None:
            self._tables = self._make_tables()
        start, transitions = self._tables
        self._learn_symbols([symbol for row in rows for symbol in row])
        numbers = [self._numbers[symbol] for row in rows for symbol in row]
        emissions = self._emissions[numbers]  # [N, L]
        return Chain(emissions, transitions, start=start, offsets=offsets_of([len(row) for row in rows]))

    def _make_tables(self) -> tuple[Float64Array, Float64Array]:
        """Return log π ``[L]`` and log A ``[L, L]``, and remember log B of every symbol."""
        states, symbols = self._states, self._symbols
        places = {state: number for number, state in enumerate(states)}
        self._numbers = {symbol: number for number, symbol in enumerate(symbols)}
        outputs = [logs_of(self._outputs[state], symbols, self._numbers) for state in states]
        self._emissions = np.stack(outputs, axis=1)  # [V, L]
        transitions = np.stack([logs_of(self._transitions[state], states, places) for state in states])
        return logs_of(self._priors, states, places), transitions

    def _learn_symbols(self, symbols: Iterable[Any]) -> None:
        """Ask the distributions for symbols that are not in the table yet, and add these to it."""
        new = [symbol for symbol in dict.fromkeys(symbols) if symbol not in self._numbers]
        if new:
            places = {symbol: number for number, symbol in enumerate(new)}
            columns = [logs_of(self._outputs[state], new, places) for state in self._states]
            self._numbers.update({symbol: len(self._numbers) + number for symbol, number in places.items()})
            self._emissions = np.concatenate([self._emissions, np.stack(columns, axis=1)])


class HiddenMarkovModelTrainer:
    """Learns an HMM, from tagged sentences or from untagged ones.

    Arguments:
        states, symbols: what there is; others that tagged sentences have are added.

    >>> from tagline.interop.nltk.tag import HiddenMarkovModelTrainer
    >>> sentences = [[("the", "DT"), ("cat", "NN")], [("the", "DT"), ("dog", "NN")]]
    >>> tagger = HiddenMarkovModelTrainer().train_supervised(sentences)
    >>> tagger.tag(["the", "dog"])
    [('the', 'DT'), ('dog', 'NN')]
    """

    def __init__(self, states: Iterable[Any] | None = None, symbols: Iterable[Any] | None = None) -> None:
        self._states = list(states or [])
        self._symbols = list(symbols or [])

    def train(
        self, labeled_sequences: Any = None, unlabeled_sequences: Any = None, **kwargs: Any
    ) -> HiddenMarkovModelTagger:
        """Learn from tagged sentences, from untagged ones, or from one after the other."""
        if not labeled_sequences and not unlabeled_sequences:
            raise InputError("labeled_sequences, unlabeled_sequences: expected sentences in one of them, got none")
        if not labeled_sequences:
            return self.train_unsupervised(unlabeled_sequences, **kwargs)
        model = self.train_supervised(labeled_sequences, kwargs.pop("estimator", None))
        return self.train_unsupervised(unlabeled_sequences, model=model, **kwargs) if unlabeled_sequences else model

    def train_supervised(
        self, labelled_sequences: Iterable[Any], estimator: Estimator | None = None
    ) -> HiddenMarkovModelTagger:
        """Count tagged sentences; without an estimator, probabilities are relative frequencies."""
        parts = count(labelled_sequences, self._symbols, self._states, estimator)
        self._symbols, self._states = parts.symbols, parts.states
        return HiddenMarkovModelTagger(*parts)

    def train_unsupervised(
        self,
        unlabeled_sequences: Iterable[Any],
        update_outputs: bool = True,
        *,
        model: HiddenMarkovModelTagger | None = None,
        max_iterations: int = 1000,
        convergence_logprob: float = 1e-6,
        seed: int = 0,
    ) -> HiddenMarkovModelTagger:
        """Run Baum–Welch on sentences of (symbol, …) tuples or bare symbols; priors stay as they are, as in NLTK."""
        first = random_parts(self._symbols, self._states, seed) if model is None else model._parts
        parts = reestimate(
            first,
            unlabeled_sequences,
            update_outputs=update_outputs,
            max_iterations=max_iterations,
            tolerance=convergence_logprob * math.log(2),
        )
        self._symbols, self._states = parts.symbols, parts.states
        return HiddenMarkovModelTagger(*parts, _identity if model is None else model._transform)


def _softened(chain: Chain) -> Chain:
    """Let what is impossible cost much, so that every sentence has a path: one with as little of it as there can be."""
    start, transitions, emissions = (
        np.maximum(part, FLOOR) for part in (chain.start, chain.transitions, chain.emissions)
    )
    return Chain(emissions, transitions, start=start, offsets=chain.offsets)
