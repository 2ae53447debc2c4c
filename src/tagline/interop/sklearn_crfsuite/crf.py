"""`CRF` of sklearn-crfsuite: settings in, a model file out, and answers from a tagger on that file.

`fit` hands sentences to a `Trainer` of `tagline.interop.pycrfsuite`, which writes a model file of CRFsuite; everything
after that is asked of a `Tagger`. The state of an estimator is that of theirs, attribute by attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError  # type: ignore[import-untyped]

from tagline import chain as engine
from tagline.errors import InputError
from tagline.interop import pycrfsuite
from tagline.interop.sklearn_crfsuite.compat import BaseEstimator
from tagline.interop.sklearn_crfsuite.metrics import flat_accuracy_score
from tagline.interop.sklearn_crfsuite.model_files import FileResource
from tagline.interop.sklearn_crfsuite.trainer import LinePerIterationTrainer
from tagline.messages import message

# Settings of the estimator that are parameters of CRFsuite under other names.
NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
    **{f"calibration_{name}": f"calibration.{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")},
}
SAME_NAMES = (
    *("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch"),
    *("c", "error_sensitive", "averaging", "variance", "gamma"),
)


class CRF(BaseEstimator):  # type: ignore[misc]
    """A feature CRF that is trained and asked as sklearn-crfsuite's.

    None stands for CRFsuite's own default in every setting of an algorithm; a setting that the algorithm does not know
    is an error.

    Arguments:
        algorithm: "lbfgs" (the default), "l2sgd", "ap" (averaged perceptron), "pa" (passive-aggressive), "arow".
        min_freq: features (an attribute with a label, a pair of labels) that are rarer are left out.
        all_possible_states, all_possible_transitions: weights for pairs that the sentences do not show, too.
        c1, c2: penalties c1·|w|₁ + c2·|w|²; c1 of lbfgs alone, c2 of lbfgs and l2sgd.
        max_iterations: passes at most.
        num_memories, linesearch, max_linesearch: of lbfgs.
        epsilon, period, delta: when training has converged.
        calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials: how
            l2sgd finds its first step size.
        pa_type, c, error_sensitive, averaging: of pa.
        variance, gamma: of arow.
        verbose: print how training goes.
        model_filename: the file of the model, which may be there already; by default a temporary one.
        keep_tempfiles: do not delete temporary files.
        trainer_cls: a class instead of `LinePerIterationTrainer`.

    >>> X = [[{"word": "Anna"}, {"word": "sings"}], [{"word": "Bob"}, {"word": "sings"}]]
    >>> crf = CRF("lbfgs", c2=0.1).fit(X, [["N", "V"], ["N", "V"]])
    >>> crf.predict_single([{"word": "Bob"}, {"word": "runs"}]), crf.classes_
    (['N', 'V'], ['N', 'V'])
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: type[Any] | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls
        self.modelfile = FileResource(model_filename, keep_tempfiles, suffix=".crfsuite", prefix="model")
        self.training_log_: Any = None
        self._tagger: Any = None
        self._info_cached: Any = None

    def fit(self, X: Iterable[Any], y: Iterable[Any], X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train a model.

        Arguments:
            X: sentences, each a list of dicts or of lists of strings.
            y: the labels of each sentence.
            X_dev, y_dev: sentences to be scored after each pass; both or none.
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError(message("Pass both X_dev and y_dev to use the holdout data"))
        trainer = self._trainer()
        _append(trainer, X, y, (), "X, y")
        if X_dev is not None:
            _append(trainer, X_dev, y_dev, (1,), "X_dev, y_dev")
        self._forget()
        self.modelfile.refresh()
        trainer.train(self.modelfile.name, holdout=-1 if X_dev is None else 1)
        self.training_log_ = trainer.logparser
        return self

    def predict(self, X: Iterable[Any]) -> NDArray[Any]:
        """Return the most likely labels of each sentence: lists of strings as an array of objects."""
        return np.array(self._fitted().tag_many(X), dtype=object)

    def predict_single(self, xseq: Any) -> list[str]:
        """Return the most likely labels of one sentence."""
        labels: list[str] = self._fitted().tag(xseq)
        return labels

    def predict_marginals(self, X: Iterable[Any]) -> NDArray[Any]:
        """Return the probability of each label at each token of each sentence: lists of dicts."""
        return np.array([self.predict_marginals_single(xseq) for xseq in X], dtype=object)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """Return the probability of each label at each token of one sentence."""
        tagger = self._fitted()
        labels = tagger.labels()
        tagger.set(xseq)
        if not len(xseq):
            return []
        nodes = engine.marginals(tagger._opened()._chain()).nodes  # [T, L], at once
        return [dict(zip(labels, row, strict=True)) for row in nodes.tolist()]

    def score(self, X: Iterable[Any], y: Iterable[Sequence[str]]) -> float:
        """Return the share of tokens whose label is right; `metrics` has more."""
        return float(flat_accuracy_score(y, self.predict(X)))

    # What was learned; None before that.

    @property
    def tagger_(self) -> Any:
        """The tagger on the file of the model."""
        if self._tagger is None and self.modelfile.name is not None:
            self._tagger = pycrfsuite.Tagger()
            self._tagger.open(self.modelfile.name)
        return self._tagger

    @property
    def classes_(self) -> list[str] | None:
        """The labels, in the order of first use."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """How many bytes the model has."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes have a weight."""
        return None if self._info is None else int(self._info.header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """The names of the attributes, by number."""
        if self._info is None:
            return None
        numbers = self._info.attributes
        return sorted(numbers, key=lambda name: int(numbers[name]))

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The weight of each (attribute, label) that has one."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The weight of each (previous label, label) that has one."""
        return None if self._info is None else self._info.transitions

    @property
    def _info(self) -> Any:
        if self._info_cached is None and self.tagger_ is not None:
            self._info_cached = self.tagger_.info()
        return self._info_cached

    def _fitted(self) -> Any:
        if self.tagger_ is None:
            raise NotFittedError(message("CRF: expected a model, got none; call fit, or pass model_filename"))
        return self.tagger_

    def _trainer(self) -> Any:
        """A trainer with the settings that are not None."""
        settings = {NAMES.get(name, name): getattr(self, name) for name in (*NAMES, *SAME_NAMES)}
        params = {name: value for name, value in settings.items() if value is not None}
        trainer_class = self.trainer_cls or LinePerIterationTrainer
        return trainer_class(algorithm=self.algorithm, params=params, verbose=self.verbose)

    def _forget(self) -> None:
        """Close the tagger of the model before."""
        if self._tagger is not None:
            self._tagger.close()
        self._tagger = self._info_cached = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle keeps: everything but the tagger, which is opened anew from the file."""
        return {**self.__dict__, "_tagger": None, "_info_cached": None}


def _append(trainer: Any, X: Iterable[Any], y: Iterable[Any], group: tuple[int, ...], names: str) -> None:
    """Hand sentences with their labels to a trainer; as many of the one as of the other."""
    end = object()
    for b, (xseq, yseq) in enumerate(zip_longest(X, y, fillvalue=end)):
        if xseq is end or yseq is end:
            more, fewer = names.split(", ") if yseq is end else names.split(", ")[::-1]
            raise InputError("{}: expected as many sentences as {} has, got {}", fewer, more, b)
        trainer.append(xseq, yseq, *group)
