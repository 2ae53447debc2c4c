"""An HMM from sentences that other processes hold: the probabilities are those of learning here, bit for bit.

Tagged words are counted. What has no labels is learned by EM: workers answer with sums over their lanes (`lanes.Lane`),
and the steps are those of `baum_welch`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError
from tagline.messages import message
from tagline.models.files import TrainingFacts
from tagline.models.hmm.baum_welch import Problem, random_chain
from tagline.models.hmm.counting import StateCounts, counted_chain, counted_symbols
from tagline.models.hmm.emissions import Categorical, Symbols
from tagline.models.hmm.emissions.starting import drawn_rows
from tagline.models.hmm.fitting import FittedHMM, note_counts, run_of, searched, warn_unconverged
from tagline.models.hmm.lanes import Sum, learns_from_sums
from tagline.models.hmm.parameters import HMMParameters, checked
from tagline.models.hmm.resuming import settings_of
from tagline.models.hmm.specification import Fitting, check_priors
from tagline.models.hmm.tables import NO_TABLE, Layout
from tagline.models.hmm.topologies import as_topology
from tagline.scale.fitting import refuse
from tagline.training.run import Run
from tagline.training.running.checkpoints import SECONDS
from tagline.training.running.progress import Reporter
from tagline.types import Float64Array

if TYPE_CHECKING:
    from tagline.models.hmm.estimator import HMM
    from tagline.scale.corpora import ShardedCorpus
    from tagline.scale.series import ShardedSeries
    from tagline.scale.tallies import Tally


def fit_hmm(
    hmm: HMM,
    corpus: ShardedCorpus,
    *,
    groups: Any = None,
    checkpoint: Any = None,
    resume: bool = False,
    save_every: float = SECONDS,
    log: Any = None,
    tensorboard: Any = None,
    progress: Reporter | None = None,
    **others: Any,
) -> None:
    """Learn from what workers hold: labels are counted, and without any EM learns hidden states.

    Arguments are those of `HMM.fit`; groups: a column of tables.
    """
    how, labelled = Fitting.of(hmm), corpus.labelled
    files: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "save_every": save_every}
    run = run_of(hmm, **files, log=log, tensorboard=tensorboard, progress=progress)
    refuse(groups=groups if labelled or not isinstance(groups, str) else None, **others)
    fitted = _counted(hmm, how, corpus, run) if labelled else _climbed(hmm, how, corpus, groups, run)
    hmm._become(fitted)
    hmm._record(corpus)
    warn_unconverged(hmm, fitted)


def _counted(hmm: HMM, how: Fitting, X: ShardedCorpus, run: Run) -> FittedHMM:
    """Count the words and tags of sentences that lie elsewhere."""
    if how.family is not Categorical or not isinstance(how.emission, str) or hmm.warm_start:
        raise InputError(
            "X: expected words and tags for a new HMM with categorical emissions, got another kind of HMM; read its "
            "observations here"
        )
    tally = X.tally(how.scheme, how.on_illegal)
    K = len(tally.labels)
    if how.n_states not in (None, K):
        raise InputError("n_states: expected {}, the labels of the sentences, got {}; leave it out", K, how.n_states)
    check_priors(how.smoothing, K)
    topology = as_topology(how.topology, K).within(tally.rules)
    pairs = tally.pairs.astype(np.float64)
    counts = StateCounts(tally.start.astype(np.float64), pairs, tally.seen.astype(np.float64))
    start, transitions = counted_chain(counts, topology, how.smoothing)
    symbols = Symbols.of(tally.words)
    begun = how.begun(np.zeros(0, np.int64), len(symbols), K, np.random.default_rng(how.seed), True)
    assert isinstance(begun, Categorical)
    shown = np.zeros((len(symbols), K))
    shown[tally.word_ids, tally.word_labels] = tally.word_counts
    emission = counted_symbols(begun, shown, how.smoothing)
    parameters = checked(HMMParameters(tally.labels, False, tally.scheme, start, transitions, emission, symbols))
    with run.opened():
        note_counts(run, parameters, _score(parameters, tally))
    return FittedHMM(parameters, TrainingFacts(tally.sentences, 1, run.last.objective, "counted", tally.notes))


@dataclass(frozen=True, eq=False)
class _RemoteProblem(Problem):
    """What EM learns from where workers hold it."""

    series: ShardedSeries | None = None

    def summed(self, question: str, *arguments: Any) -> Sum:
        """Ask every lane and add up the answers."""
        assert self.series is not None
        return self.series.summed(question, *arguments)

    def everything(self) -> NDArray[Any]:
        """Return all observations."""
        assert self.series is not None
        return np.asarray(self.series.observations())

    @property
    def num_tokens(self) -> int:
        """N."""
        assert self.series is not None
        return self.series.tokens

    @property
    def _whole(self) -> bool:
        assert self.series is not None
        return self.series.whole


def _climbed(hmm: HMM, how: Fitting, X: ShardedCorpus, groups: str | None, run: Run) -> FittedHMM:
    """Learn hidden states of observations that lie elsewhere, by EM."""
    if how.n_states is None or not isinstance(how.emission, str) or hmm.warm_start:
        raise InputError(
            "X: expected a new HMM with n_states for observations without labels that lie elsewhere, got another; read "
            "them here"
        )
    if how.scheme not in (None, "auto"):
        raise InputError("scheme: expected None, for the states have no names, got {!r}", how.scheme)
    K = how.n_states
    check_priors(how.smoothing, K)
    topology = as_topology(how.topology, K).within(None)
    with X.series(how.family.family, groups, how.algorithm) as series:
        symbols = None if series.symbols is None else Symbols.of(series.symbols)
        size = None if symbols is None else len(symbols)
        layout = Layout(series.columns, groups) if series.columns else NO_TABLE
        labels = tuple(str(state) for state in range(K))

        def begin(random: np.random.Generator) -> HMMParameters:
            start, transitions = random_chain(topology, random)
            values: Any = np.zeros(0, np.int64)
            if symbols is None:
                values = series.rows(drawn_rows(series.present, random))
            emission = how.begun(values, size, K, random, counts=series.counts)
            if not learns_from_sums(emission, how.algorithm, series.whole):
                raise InputError(_BY_SUMS.format(got=_described(hmm, how, series)))
            return checked(HMMParameters(labels, True, None, start, transitions, emission, symbols, layout))

        problem = _RemoteProblem(
            np.zeros(0),
            np.zeros(1, np.int64),
            None,
            topology,
            how.smoothing.start_prior,
            how.smoothing.transition_prior,
            how.frozen,
            how.algorithm,
            series,
        )

        with run.opened(lambda: {**settings_of(hmm), "groups": groups, "observations": series.fingerprint}):
            best = searched(how, problem, begin, how.n_init, run)
        seed = how.seed if hmm.random_state is None and not run.is_resumed else 0
        facts = TrainingFacts(series.sentences, len(best.history), best.objective, best.reason, seed=seed)
        return FittedHMM(best.weights, facts, best.history)


_BY_SUMS = message(
    "emission: expected one that learns from sums, for workers hold the observations: categorical, "
    "multinomial, bernoulli, poisson, or gaussian of diagonal or spherical covariance by EM, without tied "
    "states and without missing numbers; got {got}; read the observations here"
)


def _described(hmm: HMM, how: Fitting, series: ShardedSeries) -> str:
    parts = [f"{how.family.family} of covariance {hmm.covariance}, algorithm={how.algorithm!r}"]
    if hmm.tied is not None:
        parts.append(message("tied states"))
    if not series.whole:
        parts.append(message("missing numbers"))
    return ", ".join(parts)


def _score(parameters: HMMParameters, tally: Tally) -> float:
    """log P(O, I) of all sentences: counts times log probabilities, where there are any."""
    assert isinstance(parameters.emission, Categorical)
    emitted = parameters.emission.probabilities[tally.word_labels, tally.word_ids]
    parts = ((tally.start, parameters.start), (tally.pairs, parameters.transitions), (tally.word_counts, emitted))
    return math.fsum(_weighed(counts, probabilities) for counts, probabilities in parts)


def _weighed(counts: object, probabilities: Float64Array) -> float:
    numbers = np.asarray(counts)
    used = numbers > 0
    return float((numbers[used] * np.log(probabilities[used])).sum())
