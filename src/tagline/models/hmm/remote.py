"""An HMM from tagged words that other processes count: the probabilities are those of counting here, bit for bit."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from tagline.errors import InputError
from tagline.models.files import TrainingFacts
from tagline.models.hmm.counting import StateCounts, counted_chain, counted_symbols
from tagline.models.hmm.emissions import Categorical, Symbols
from tagline.models.hmm.fitting import FittedHMM
from tagline.models.hmm.parameters import HMMParameters, checked
from tagline.models.hmm.resuming import arrays_of
from tagline.models.hmm.settings import Fitting, check_priors
from tagline.models.hmm.topologies import as_topology
from tagline.models.remote import RemoteCorpus, Tally
from tagline.training.monitor import Pass
from tagline.training.running.callbacks import TrainingState, told
from tagline.types import Float64Array

if TYPE_CHECKING:
    from tagline.models.hmm.estimator import HMM


def count_remote(hmm: HMM, how: Fitting, X: RemoteCorpus) -> FittedHMM:
    """Count the words and tags of sentences that lie elsewhere."""
    if how.family is not Categorical or not isinstance(how.emission, str) or hmm.warm_start:
        raise InputError(
            "X: expected words and tags for a new HMM with categorical emissions, got another kind of HMM; read its "
            "observations here"
        )
    begun_at = time.perf_counter()
    tally = X.tally(how.scheme, how.on_illegal)
    K = len(tally.labels)
    if how.n_states not in (None, K):
        raise InputError(f"n_states: expected {K}, the labels of the sentences, got {how.n_states}; leave it out")
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
    objective = _score(parameters, tally)
    facts = TrainingFacts(tally.sentences, 1, objective, "counted", tally.notes)
    done = Pass(1, objective, math.nan, parameters.num_parameters(), time.perf_counter() - begun_at, 1)
    told(hmm.callbacks, TrainingState.of(done, lambda: arrays_of(parameters)))
    return FittedHMM(parameters, facts)


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
