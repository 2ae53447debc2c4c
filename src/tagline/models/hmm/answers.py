"""What an HMM can be asked: the questions of every model, and those that hmmlearn's users know.

Where X came as one array, states and probabilities go back as one array, without lists in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline import chain as engine
from tagline.chain import symbols
from tagline.checks import check_whole, random_generator, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.answers import MOST_TOKENS, ChainModel, PerSentence
from tagline.models.contract import Input
from tagline.models.entities import Entity
from tagline.models.explanations import Explanation, explain_chain
from tagline.models.hmm.observations import Observed, observe
from tagline.models.hmm.parameters import HMMParameters
from tagline.models.hmm.states import known_states, read_states
from tagline.models.hmm.tables import read_series
from tagline.models.hmm.topologies import as_topology
from tagline.models.known import constrained
from tagline.models.labelled import LabelledTokens, read_labels
from tagline.models.ranking import Ranks
from tagline.models.sentences import as_sentences
from tagline.ragged import blocks_of
from tagline.readers.corpus import TAG, Corpus, Sentence
from tagline.types import Chain, Float64Array, IntArray


class HMMAnswers(ChainModel):
    """Questions to an HMM that has been fitted."""

    explains: ClassVar[bool] = True

    unknown: str
    topology: Any

    def predict(  # type: ignore[override]
        self, X: Any, lengths: ArrayLike | None = None, *, known: Any = None, groups: Any = None
    ) -> Any:
        """Return the most probable states: one list for each sentence, or one array ``[N]`` where X is one.

        Arguments:
            X, lengths, groups: as for `fit`.
            known: states that are known, as y of `fit`; every answer keeps to them.
        """
        return self.decode(X, known=known, lengths=lengths, groups=groups)[1]

    def decode(
        self, X: Any, lengths: ArrayLike | None = None, *, known: Any = None, groups: Any = None
    ) -> tuple[float, Any]:
        """Return log P(O, I) of the most probable states I, summed over the sentences, and the states."""
        observed = self._observe(X, lengths, groups)
        chain = self._fitted().symbol_chain(observed.values, observed.offsets) if known is None else None
        if chain is not None:
            paths = symbols.viterbi(chain)
            return float(paths.scores.sum()), self._as_given(paths.labels, observed)
        best = [engine.viterbi(chain) for chain in self._observed_chains(observed, known)]
        states = np.concatenate([np.zeros(0, np.int64), *(paths.labels for paths in best)])
        total = float(sum(paths.scores.sum() for paths in best))
        return total, self._as_given(states, observed)

    def log_likelihood(self, X: Any, y: Any = None, **inputs: Any) -> Float64Array:
        """Return log p(y | x) of each sentence; without y log P(O)."""
        p = self._fitted()
        X, y, inputs = self._without_tables(X, y, inputs)
        if y is None and p.symbols is not None and set(inputs) <= {"lengths"}:
            observed = self._observe(X, inputs.get("lengths"))
            chain = p.symbol_chain(observed.values, observed.offsets)
            if chain is not None and np.isfinite(log_z := symbols.log_partition(chain)).all():
                return log_z
        return super().log_likelihood(X, y, **inputs)

    def predict_proba(
        self, X: Any, lengths: ArrayLike | None = None, *, known: Any = None, groups: Any = None
    ) -> NDArray[Any]:
        """Return the probability of each state at each observation, all sentences joined, ``[N, K]``."""
        rows = self.marginal_arrays(X, known=known, lengths=lengths, groups=groups)
        return np.concatenate([np.zeros((0, self._fitted().num_states)), *rows])

    def score_samples(
        self, X: Any, lengths: ArrayLike | None = None, *, groups: Any = None
    ) -> tuple[float, NDArray[Any]]:
        """Return log P(O), summed over the sentences, and the probability of each state ``[N, K]``, as hmmlearn does.

        For log P(O) of each sentence see `log_likelihood`.
        """
        total = 0.0
        rows: list[NDArray[Any]] = [np.zeros((0, self._fitted().num_states))]
        for chain in self.chains(X, lengths=lengths, groups=groups):
            answer = engine.marginals(chain)
            total += float(answer.log_z.sum())
            rows.append(answer.nodes)
        return total, np.concatenate(rows)

    def predict_spans(self, X: Any, **inputs: Any) -> list[list[Entity]]:
        """Return the spans of the most probable states, each with its exact probability."""
        if self._fitted().numbers:
            raise InputError("labels: expected names of a tag scheme to read spans from, got states by number")
        return super().predict_spans(X, **inputs)

    def score(  # type: ignore[override]
        self, X: Any, y: Any = None, *, lengths: ArrayLike | None = None, groups: Any = None
    ) -> float:
        """Return log P(O), summed over the sentences; with y, or tags in a `Corpus`, the share of right states."""
        X, y, inputs = self._without_tables(X, y, {"lengths": lengths, "groups": groups})
        lengths = inputs.get("lengths")
        if y is None and not (isinstance(X, Corpus) and TAG in X.columns):
            return float(self.log_likelihood(X, lengths=lengths).sum())
        return super().score(X, y, lengths=lengths)

    def aic(self, X: Any, lengths: ArrayLike | None = None, *, groups: Any = None) -> float:
        """Return Akaike's criterion, −2 log P(O) + 2 p; the lower the better."""
        total = float(self.log_likelihood(X, lengths=lengths, groups=groups).sum())
        return -2 * total + 2 * self.num_free_parameters()

    def bic(self, X: Any, lengths: ArrayLike | None = None, *, groups: Any = None) -> float:
        """Return the Bayesian criterion, −2 log P(O) + p log N; the lower the better."""
        X, _, inputs = self._without_tables(X, None, {"lengths": lengths, "groups": groups})
        N = max(1, int(self._observe(X, inputs.get("lengths")).offsets[-1]))
        return -2 * float(self.log_likelihood(X, **inputs).sum()) + self.num_free_parameters() * float(np.log(N))

    def num_free_parameters(self) -> int:
        """Return p: how many numbers learning was free to choose.

        Zeros of the topology and of the scheme are not among them, nor those of a model that was made of numbers.
        """
        p = self._fitted()
        given = self.training_.reason == "given"
        return p.num_parameters(None if given else as_topology(self.topology, p.num_states))

    def sample(self, n: int = 1, seed: int | np.random.Generator | None = None) -> tuple[Any, Any]:
        """Draw one sentence of n observations and the states behind them.

        The observations are a list of symbols where they have names, else an array ``[n, D]``, as hmmlearn gives;
        None or −1 is a symbol that was never seen. The states are an array of numbers ``[n]``, or a list of names.
        """
        p, random = self._fitted(), random_generator(seed)
        check_whole("n", n, 0)
        Ranks(1, "n").of_draws(np.array([0, min(n, 2**62)]))
        zeros, end = np.zeros((int(n), p.num_states)), p.log_end
        states = engine.sample_paths(Chain(zeros, p.log_transitions, p.log_start, end), 1, random)[0]
        values: Any = p.emission.sample(states, random)
        if p.symbols is not None:
            values = p.symbols.names(values)
            if all(isinstance(symbol, int) for symbol in p.symbols.values):
                values = np.array([[-1 if symbol is None else symbol] for symbol in values], np.int64).reshape(-1, 1)
        return values, states if p.numbers else [p.labels[state] for state in states]

    def explain(self, sentence: Any, *, known: Any = None) -> Explanation:  # type: ignore[override]
        """Say for each observation of a sentence which probabilities made its state win over the runner-up.

        Each amount is a difference of two log probabilities: of the observation, of the transition, of the start.

        Arguments:
            sentence: one, as in X.
            known: states of this sentence that are known.
        """
        p, X = self._fitted(), as_sentences([sentence])
        chains = list(self.chains(X, known=None if known is None else [known]))
        if len(chains) != 1 or chains[0].num_sentences != 1:
            raise InputError("sentence: expected one sentence, got {}", shown_value(sentence))
        words = sentence.tokens if isinstance(sentence, Sentence) else [_word(symbol) for symbol in sentence]
        if len(words) != chains[0].num_tokens:
            raise InputError("sentence: expected a list of observations, got {}", shown_value(sentence))
        return explain_chain(chains[0], p.labels, words)

    # Inside.

    def chains(  # type: ignore[override]
        self, X: Any, *, known: Any = None, lengths: ArrayLike | None = None, groups: Any = None
    ) -> Iterator[Chain]:
        """Score sentences: blocks of them as `Chain` over the states; log Z is log P(O).

        Arguments:
            X, lengths, groups: as for `fit`.
            known: states that are known, as y of `fit`; all else is forbidden.
        """
        return self._observed_chains(self._observe(X, lengths, groups), known)

    _scored = chains  # type: ignore[assignment]

    def _known(  # type: ignore[override]
        self, known: Any, X: Any, *, lengths: ArrayLike | None = None, groups: Any = None
    ) -> Any:
        return known_states(known, self._observe(X, lengths, groups).offsets)

    def _observe(self, X: Any, lengths: ArrayLike | None, groups: Any = None) -> Observed:
        p = self._fitted()
        series = read_series(X, lengths, groups, layout=p.layout, symbols=p.symbols is not None)
        return observe(p.emission, series.X, series.lengths, p.symbols, self.unknown)

    def _without_tables(self, X: Any, y: Any, inputs: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        """Observations, states and the other inputs, where tables have become arrays with lengths."""
        p, rest = self._fitted(), dict(inputs)
        lengths, groups = rest.pop("lengths", None), rest.pop("groups", None)
        series = read_series(X, lengths, groups, y, layout=p.layout, symbols=p.symbols is not None)
        return series.X, series.y, rest if series.lengths is None else {**rest, "lengths": series.lengths}

    def _observed_chains(self, observed: Observed, known: Any) -> Iterator[Chain]:
        p, offsets = self._fitted(), observed.offsets
        chains = (
            p.chain(observed.values[offsets[first] : offsets[last]], offsets[first : last + 1] - offsets[first])
            for first, last in blocks_of(offsets, MOST_TOKENS)
        )
        if known is None:
            return chains
        return constrained(chains, known_states(known, offsets), p.labels, len(offsets) - 1)

    def _as_given(self, states: IntArray, observed: Observed) -> Any:
        """States as lists, or as one array where the observations came as one."""
        p = self._fitted()
        if not observed.flat:
            return PerSentence(engine.label_lists(states, observed.offsets, self.labels_))
        return states if p.numbers else np.array(p.labels, object)[states]

    def _beside(self, X: Any, y: Any, inputs: Any) -> tuple[LabelledTokens, list[list[str]]]:
        """The names of states that should be there, and of those that are predicted."""
        p = self._fitted()
        X, y, inputs = self._without_tables(X, y, inputs)
        if odd := sorted(inputs.keys() - {"lengths", "known"}):
            raise TypeError(message("an HMM has no input {!r}; expected lengths, groups or known", odd[0]))
        observed = self._observe(X, inputs.get("lengths"))
        states = read_states(X, y, observed.offsets)
        labelled = read_labels(X, y) if states is None else states.labelled
        chains = self._observed_chains(observed, inputs.get("known"))
        best = np.concatenate([np.zeros(0, np.int64), *(engine.viterbi(chain).labels for chain in chains)])
        return labelled, engine.label_lists(best, observed.offsets, p.labels)

    @property
    def input_(self) -> Input:
        """One column of words, where emissions are words."""
        if self._fitted().symbols is not None and self.known_tokens():
            return Input()
        family, columns = self._fitted().emission.family, self._fitted().layout.columns
        if columns:
            named = ", ".join(columns)
            return Input(
                refusal=message("expected a .csv or .tsv file with the columns {}, as in training, got another", named)
            )
        return Input(refusal=message("expected a model that emits words, got {} emissions of numbers", family))

    @property
    def scheme_name(self) -> str | None:
        """The tag scheme whose rules hold; None for no rules."""
        return self._fitted().scheme

    def _fitted(self) -> HMMParameters:
        raise NotImplementedError


def _word(observation: Any) -> str:
    """An observation as it is shown."""
    if isinstance(observation, str) or observation is None:
        return "–" if observation is None else observation
    numbers = np.asarray(observation)
    return f"{np.round(observation, 4)}" if numbers.dtype.kind in "fiu" else shown_value(observation)
