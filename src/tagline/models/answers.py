"""What every model can be asked, once it has scored sentences into chains: the same methods for HMM, CRF and neural CRFs.

A model has `labels_` and gives its sentences as chains, a few thousand tokens at a time (`_chains`); whatever the engine
answers about a chain is turned into labels here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import chain as engine
from tagline.errors import InputError
from tagline.models.entities import Entity, Reading, characters_of, find_entities
from tagline.types import BoolArray, Chain, Float64Array, IntArray

MOST_TOKENS = 65_536  # scored at once: bounds the memory for emissions


@dataclass(frozen=True)
class Labelling:
    """One labelling of a sentence with its probability."""

    labels: list[str]
    probability: float
    score: float


class SequenceModel:
    """Questions to a model that has been fitted."""

    labels_: list[str]

    @property
    def scheme_name(self) -> str | None:
        """The tag scheme whose rules hold; None for no rules."""
        return getattr(getattr(self, "parameters_", None), "scheme", None)

    def _chains(self, X: Any, known: Any = None, **inputs: Any) -> Iterator[Chain]:
        raise NotImplementedError

    def predict(self, X: Any, *, known: Any = None, **inputs: Any) -> list[list[str]]:
        """Return the most probable labelling of each sentence.

        Arguments:
            X: sentences, as for `fit`.
            known: for each sentence a list with, for each token, its label, a set of labels, or None where nothing is
                known; every answer keeps to it.
        """
        out: list[list[str]] = []
        for chain in self._chains(X, known, **inputs):
            out.extend(self._names(engine.viterbi(chain).labels, chain.offsets))
        return out

    def predict_single(self, x: Any, *, known: Any = None, **inputs: Any) -> list[str]:
        """Return the most probable labelling of one sentence."""
        return self.predict([x], known=None if known is None else [known], **inputs)[0]

    def predict_marginals(self, X: Any, *, known: Any = None, **inputs: Any) -> list[list[dict[str, float]]]:
        """Return for each token the probability of each label."""
        out = []
        for chain in self._chains(X, known, **inputs):
            for nodes in chain.split(engine.marginals(chain).nodes):
                out.append([dict(zip(self.labels_, row, strict=True)) for row in nodes.tolist()])
        return out

    def predict_marginals_single(self, x: Any, *, known: Any = None, **inputs: Any) -> list[dict[str, float]]:
        """Return for each token of one sentence the probability of each label."""
        return self.predict_marginals([x], known=None if known is None else [known], **inputs)[0]

    def marginal_arrays(self, X: Any, *, known: Any = None, **inputs: Any) -> list[NDArray[Any]]:
        """Return for each sentence the probabilities ``[T, L]``, labels in the order of `labels_`."""
        chains = self._chains(X, known, **inputs)
        return [nodes for chain in chains for nodes in chain.split(engine.marginals(chain).nodes)]

    def predict_spans(
        self, X: Any, *, known: Any = None, min_probability: float = 0.0, **inputs: Any
    ) -> list[list[Entity]]:
        """Return the spans of the most probable labelling of each sentence, each with its exact probability.

        Labels are read by the model's tag scheme, or by the one whose letters they are in.

        Arguments:
            min_probability: spans that are less probable are left out.
        """
        if not 0 <= min_probability <= 1:
            raise InputError(f"min_probability: expected a number from 0 to 1, got {min_probability!r}")
        reading = Reading.of(self.labels_, self.scheme_name)
        sentences = list(X) if isinstance(X, Iterator) else X  # read twice: for the scores and for the texts
        characters = characters_of(sentences)
        out: list[list[Entity]] = []
        for chain in self._chains(sentences, known, **inputs):
            out.extend(find_entities(chain, reading, characters, len(out), min_probability))
        return out

    def predict_k_best(self, X: Any, k: int = 5, *, known: Any = None, **inputs: Any) -> list[list[Labelling]]:
        """Return the k best labellings of each sentence, with their probabilities among all labellings."""
        out = []
        for chain in self._chains(X, known, **inputs):
            for ranked in engine.k_best(chain, k):
                paths = [[self.labels_[label] for label in row] for row in ranked.labels.tolist()]
                facts = zip(paths, ranked.probabilities.tolist(), ranked.scores.tolist(), strict=True)
                out.append([Labelling(*one) for one in facts])
        return out

    def predict_samples(
        self, X: Any, n: int = 1, *, seed: int | None = None, known: Any = None, **inputs: Any
    ) -> list[list[list[str]]]:
        """Draw n labellings of each sentence from the model's distribution."""
        random = np.random.default_rng(seed)
        out: list[list[list[str]]] = []
        for chain in self._chains(X, known, **inputs):
            drawn = engine.sample_paths(chain, n, random)  # [n, N]
            rows = [self._names(labels, chain.offsets) for labels in drawn]
            out.extend([row[b] for row in rows] for b in range(chain.num_sentences))
        return out

    def log_likelihood(self, X: Any, y: Any = None, **inputs: Any) -> Float64Array:
        """Return log p(y | x) of each sentence; without y the log of the normaliser, log Z."""
        if y is None:
            parts = [engine.log_partition(chain) for chain in self._chains(X, **inputs)]
            return np.concatenate(parts) if parts else np.zeros(0)
        free = [engine.log_partition(chain) for chain in self._chains(X, **inputs)]
        bound = [engine.log_partition(chain, allow_no_path=True) for chain in self._chains(X, y, **inputs)]
        return np.concatenate(bound) - np.concatenate(free) if free else np.zeros(0)

    def entropy(self, X: Any, *, known: Any = None, **inputs: Any) -> Float64Array:
        """Return the entropy of each sentence's labelling in nats: how unsure the model is."""
        parts = [engine.entropy(chain) for chain in self._chains(X, known, **inputs)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _names(self, labels: IntArray, offsets: IntArray) -> list[list[str]]:
        names = np.array(self.labels_, object)[labels].tolist()
        bounds = offsets.tolist()
        return [names[first:last] for first, last in zip(bounds[:-1], bounds[1:], strict=True)]


def pieces(bounds: IntArray, most: int = MOST_TOKENS) -> list[tuple[int, int]]:
    """Cut sentences into runs of about `most` tokens: (first, last + 1) each."""
    cuts = [0]
    B = len(bounds) - 1
    while cuts[-1] < B:
        reach = int(np.searchsorted(bounds, bounds[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(B, max(reach, cuts[-1] + 1)))
    return list(zip(cuts[:-1], cuts[1:], strict=True))


def known_labels(known: Any, labels: Sequence[str], bounds: IntArray) -> BoolArray | None:
    """Booleans ``[N, L]`` from what is known of each token; None where nothing is."""
    if known is None:
        return None
    numbers = {label: number for number, label in enumerate(labels)}
    rows = list(known)
    if len(rows) != len(bounds) - 1:
        raise InputError(f"known: expected one list for each of {len(bounds) - 1} sentences, got {len(rows)}")
    allowed = np.ones((int(bounds[-1]), len(labels)), bool)
    for b, row in enumerate(rows):
        if row is None:
            continue
        T = int(bounds[b + 1] - bounds[b])
        if isinstance(row, str) or not isinstance(row, Iterable) or len(row := list(row)) != T:
            raise InputError(f"known[{b}]: expected a list of {T} entries, one a token, got {row!r}")
        for t, some in enumerate(row):
            if some is None:
                continue
            chosen = {some} if isinstance(some, str) else set(some)
            strange = chosen - numbers.keys()
            if strange or not chosen:
                raise InputError(
                    f"known[{b}][{t}]: expected labels among {', '.join(labels)}, got {some!r}; None where nothing is known"
                )
            allowed[bounds[b] + t] = False
            allowed[bounds[b] + t, [numbers[label] for label in chosen]] = True
    return allowed
