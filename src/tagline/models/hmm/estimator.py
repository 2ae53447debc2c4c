"""`HMM`: the hidden Markov model, a scikit-learn estimator.

P(O, I) = π(i_1) b(o_1 | i_1) Π_t A(i_(t−1), i_t) b(o_t | i_t). Its three problems (Rabiner 1989): how likely are the
observations (`score`), which states are behind them (`predict`), and which parameters explain them (`fit`: by counting
where states are known, else by EM). An HMM is a chain whose scores are log probabilities, so every question is the
engine's to answer (`answers`); docs/hmm.md sets it beside the CRF.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from tagline.errors import InputError
from tagline.models.files import Packed, StoredModel, TrainingFacts
from tagline.models.hmm.answers import HMMAnswers
from tagline.models.hmm.emissions import Categorical, Emission, Gaussian, Mixture, Multinomial, Poisson, Symbols
from tagline.models.hmm.file import SavedHMM, pack, unpack
from tagline.models.hmm.fitting import FittedHMM, fit_hmm, run_of, warn_unconverged
from tagline.models.hmm.inspection import HMMViews
from tagline.models.hmm.parameters import HMMParameters, checked, distribution
from tagline.models.hmm.selection import Selection, select_states
from tagline.models.hmm.settings import HMMSettings
from tagline.models.hmm.specification import Fitting
from tagline.models.hmm.tables import NO_TABLE, read_series
from tagline.settings import documented
from tagline.storage import ModelFile, Path
from tagline.training.iteration import Step
from tagline.training.running.checkpoints import SECONDS
from tagline.training.running.progress import Reporter
from tagline.types import Float64Array

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF


@documented
class HMM(HMMSettings, HMMViews, StoredModel, HMMAnswers, BaseEstimator):  # type: ignore[misc]
    """A hidden Markov model.

    `fit` counts where every state is given, runs Baum–Welch where none is, and EM with the known states held where some
    are. The objective of EM is log P(O) plus the log densities of the priors.

    Arguments:
        {settings}

    X is a `Corpus` or a list of sentences, each a list of symbols or an array ``[T, D]``; or, as in hmmlearn, one array
    of all observations with ``lengths=``, and then answers come as one array, too; or a data frame of pandas or polars,
    whose columns are what is observed, with ``groups=``. None and NaN are missing.

    After `fit`: `start_`, `transitions_`, `emission_`, `labels_`, `training_log_` (one `Step` a step of EM),
    `stop_reason_`, `objective_`, `notes_`. Where a limit ended EM before it converged, `fit` warns with scikit-learn's
    `ConvergenceWarning`; not where `warm_start` goes on, nor with a tolerance below 0.

    >>> X = [["the", "cat", "sings"], ["a", "dog", "sees", "the", "cat"]]
    >>> HMM(k=0.1).fit(X, [["D", "N", "V"], ["D", "N", "V", "D", "N"]]).predict([["the", "dog", "barks"]])
    [['D', 'N', 'V']]
    """

    kind: ClassVar[str] = "hmm"
    _LEARNED: ClassVar[tuple[str, ...]] = ("parameters_", "training_")
    _TRAINED: ClassVar[Sequence[str]] = (
        *("n_states", "emission", "algorithm", "smoothing", "k", "covariance", "n_components", "topology", "scheme"),
        *("start_prior", "transition_prior", "emission_prior", "min_variance", "emission_options", "frozen", "tied"),
    )
    parameters_: HMMParameters
    training_: TrainingFacts
    training_log_: list[Step]

    @classmethod
    def from_parameters(
        cls,
        start: ArrayLike,
        transitions: ArrayLike,
        emission: Emission | ArrayLike,
        *,
        labels: Sequence[str] | None = None,
        symbols: Sequence[Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Make an HMM from numbers that are known.

        Arguments:
            start, transitions: π ``[K]`` and A ``[K, K]`` as ``[previous, next]``.
            emission: a family with its parameters, or the probabilities of symbols ``[K, V]``.
            labels: names of the states; left out, they are numbers.
            symbols: V names; left out, they are numbers.
            settings: of the estimator; with ``warm_start=True``, `fit` begins here.

        >>> coins = HMM.from_parameters([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.9, 0.1]], symbols="HT")
        >>> coins.predict([list("HTTHHHHHHH")])
        [[0, 0, 0, 1, 1, 1, 1, 1, 1, 1]]
        """
        first = distribution("start", start, None)
        K = len(first)
        family = emission if isinstance(emission, Emission) else Categorical(np.asarray(emission, np.float64))
        table = None
        if isinstance(family, Categorical):
            table = Symbols.of(range(family.num_symbols) if symbols is None else symbols)
            if len(table) != family.num_symbols:
                raise InputError(
                    "symbols: expected {}, one a column of emission, got {}", family.num_symbols, len(table)
                )
        elif symbols is not None:
            raise InputError("symbols: expected none, for {} emissions have no names, got some", family.family)
        names = [str(state) for state in range(K)] if labels is None else [str(label) for label in labels]
        if len(names) != K or len(set(names)) != K:
            raise InputError("labels: expected {} names, each once, got {!r:.60}", K, names)
        parameters = HMMParameters(tuple(names), labels is None, None, first, np.asarray(transitions), family, table)
        out = cls(**{"n_states": K if labels is None else None, "emission": family.family, **settings})
        out._become(FittedHMM(checked(parameters), TrainingFacts(reason="given")))
        return out

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        lengths: ArrayLike | None = None,
        groups: Any = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        save_every: float = SECONDS,
        log: Path | None = None,
        tensorboard: Path | None = None,
        progress: Reporter | None = None,
    ) -> Self:
        """Learn from sentences.

        Arguments:
            X: observations; of a data frame all columns that are not named otherwise.
            y: states, by name or by number: for each sentence a list with, for each observation, its state, None where
                it is not known, or a set where it is one of several; None in the place of a list where nothing is
                known. One array ``[N]`` where X is one, −1 where nothing is known; a column of a data frame, by name.
                Left out: nothing is known, but for the tags of a `Corpus`.
            lengths: of the sentences, where X is one array; left out, it is one sentence.
            groups: instead of lengths the column of a data frame that says which sentence a row belongs to, or a key
                for each observation; rows of a sentence stand side by side.
            checkpoint: a file to write the state of EM to, between two steps; counting is done at once and has none.
            resume: go on from that file where it exists; the numbers are those of a run that was never stopped.
            save_every: seconds between two checkpoints; 0 for after each step.
            log: a file to append a line of JSON to after each step.
            tensorboard: a folder for TensorBoard, which must be installed.
            progress: who is told how training goes, a `Reporter`, in the place of what `verbose` shows.
        """
        how = Fitting.of(self)
        files: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "save_every": save_every}
        run = run_of(self, **files, log=log, tensorboard=tensorboard, progress=progress)
        before = self.parameters_ if self.warm_start and hasattr(self, "parameters_") else None
        layout = NO_TABLE if before is None else before.layout
        series = read_series(X, lengths, groups, y, layout=layout, symbols=how.family is Categorical)
        fitted = fit_hmm(self, how, series.X, series.y, series.lengths, before, run)
        self._become(replace(fitted, parameters=replace(fitted.parameters, layout=series.layout)))
        self._record(series.X, series.y, series.lengths)
        if before is None:
            warn_unconverged(self, fitted)
        return self

    def select(
        self,
        X: Any,
        states: Iterable[int] = range(1, 9),
        criterion: str = "bic",
        *,
        lengths: ArrayLike | None = None,
        groups: Any = None,
    ) -> Selection:
        """Learn one model for each number of states, and say which suits the observations best.

        Arguments:
            X, lengths, groups: as for `fit`.
            states: the numbers to try.
            criterion: "bic" or "aic"; the lowest is the best.

        >>> X = np.concatenate([np.zeros(30), np.full(30, 9.0)]) + np.random.default_rng(0).normal(size=60)
        >>> HMM(emission="gaussian").select(X, states=(1, 2, 3)).best_.n_states
        2
        """
        return select_states(self, X, states, criterion, {"lengths": lengths, "groups": groups})

    @property
    def labels_(self) -> list[Any]:  # type: ignore[override]
        """The states: names, sorted, or numbers from 0."""
        p = self._fitted()
        return list(range(p.num_states)) if p.numbers else list(p.labels)

    @property
    def start_(self) -> Float64Array:
        """π, ``[K]``."""
        return self._fitted().start

    @property
    def transitions_(self) -> Float64Array:
        """A, ``[K, K]`` as ``[previous, next]``."""
        return self._fitted().transitions

    @property
    def emission_(self) -> Emission:
        """What the states emit."""
        return self._fitted().emission

    @property
    def objective_(self) -> float:
        """What EM reached, log P(O) + log prior; of counted models log P(O, I)."""
        self._fitted()
        return self.training_.objective

    # The names of hmmlearn.

    @property
    def startprob_(self) -> Float64Array:
        """π, ``[K]``."""
        return self.start_

    @property
    def transmat_(self) -> Float64Array:
        """A, ``[K, K]``."""
        return self.transitions_

    @property
    def means_(self) -> Float64Array:
        """Of Gaussians ``[K, D]``, of mixtures ``[K, M, D]``."""
        return self._emitted("means_", "means", Gaussian, Mixture)

    @property
    def covars_(self) -> Float64Array:
        """Of Gaussians as matrices ``[K, D, D]``, of mixtures in the shape of their `covariance`."""
        covars = self._emitted("covars_", "covars", Gaussian, Mixture)
        return self.emission_.matrices() if isinstance(self.emission_, Gaussian) else covars

    @property
    def weights_(self) -> Float64Array:
        """Of mixtures, ``[K, M]``."""
        return self._emitted("weights_", "weights", Mixture)

    @property
    def lambdas_(self) -> Float64Array:
        """The rates of Poisson emissions, ``[K, D]``."""
        return self._emitted("lambdas_", "rates", Poisson)

    @property
    def emissionprob_(self) -> Float64Array:
        """p(symbol | state) ``[K, V]``, of categorical and multinomial emissions."""
        return self._emitted("emissionprob_", "probabilities", Categorical, Multinomial)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The columns of the data frame that the model has learned from, as scikit-learn names them."""
        if not (columns := self._fitted().layout.columns):
            raise AttributeError("feature_names_in_: expected a model that has learned from a data frame, got another")
        return np.array(columns, object)

    def _emitted(self, name: str, parameter: str, *families: type[Emission]) -> Float64Array:
        """A parameter of the emissions; those that other families have are no attributes."""
        emission = self.emission_
        if not isinstance(emission, families):
            wanted = " or ".join(family.family for family in families)
            raise AttributeError(f"{name}: expected {wanted} emissions, got {emission.family}")
        return np.asarray(getattr(emission, parameter))

    def to_crf(self) -> CRF:
        """Return the CRF with the same posterior P(I | O), whose weights are logarithms of probabilities.

        It takes the same sentences as X, as lists. Its weights are float32. Mixtures are not log-linear and have none.
        """
        from tagline.models.hmm.conversion import crf_of  # and with it the CRF, which nothing else of an HMM needs

        return crf_of(self._fitted())

    def _fitted(self) -> HMMParameters:
        check_is_fitted(self, "parameters_")
        self._refuse_changed()
        return self.parameters_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # Files.

    @classmethod
    def from_file(cls, file: ModelFile) -> Self:
        """Make the model of a file that was read; see `tagline.load`."""
        saved = unpack(file)
        out = cls()
        out.emission = saved.parameters.emission.family
        out._set(saved.settings)
        if isinstance(out.frozen, list):
            out.frozen = tuple(out.frozen)
        out._become(FittedHMM(saved.parameters, saved.training))
        return out

    def _become(self, fitted: FittedHMM) -> None:
        """Take over what was learned."""
        self.parameters_, self.training_, self.training_log_ = fitted.parameters, fitted.training, list(fitted.history)
        self._keep_trained()

    def _packed(self) -> Packed:
        return pack(SavedHMM(self._fitted(), self.training_, self._settings()))

    def _take(self, file: ModelFile) -> None:
        saved = unpack(file)
        self._become(FittedHMM(saved.parameters, saved.training, vars(self).get("training_log_", ())))
