"""`Trainer`: sentences in, a model file of CRFsuite out, with a log that hooks can follow.

train → `generation` says which weights there are → `batch`, `descent` or `online` finds them →
`interop.crfsuite.binary` writes the file. What CRFsuite would print goes through `message`, one message at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from tagline.errors import InputError
from tagline.interop.crfsuite.binary import CRFsuiteModel, write_model
from tagline.interop.pycrfsuite._logparser import TrainLogParser
from tagline.interop.pycrfsuite.batch import learn_batch
from tagline.interop.pycrfsuite.descent import learn_by_descent
from tagline.interop.pycrfsuite.generation import generate
from tagline.interop.pycrfsuite.holdout import Holdout
from tagline.interop.pycrfsuite.online import learn_online
from tagline.interop.pycrfsuite.training_groups import LabelledSentences
from tagline.interop.pycrfsuite.training_parameters import ALGORITHMS, ALIASES, GIVEN, TrainingParameters
from tagline.interop.pycrfsuite.training_task import Stopwatch, TrainingTask
from tagline.messages import message
from tagline.types import Float64Array
from tagline.writing import open_new

LEARNERS = {"lbfgs": learn_batch, "l2sgd": learn_by_descent}  # all others are online


class BaseTrainer:
    """Sentences and the parameters of an algorithm; `message` prints the log where `verbose` is set.

    Arguments:
        algorithm: lbfgs, l2sgd, ap, pa or arow.
        params: values by name.
        verbose: whether to print the log.

    >>> from tagline.interop import pycrfsuite
    >>> trainer = pycrfsuite.BaseTrainer(algorithm="lbfgs", params={"c2": 0.1}, verbose=False)
    >>> trainer.append([["word=Anna"], ["word=sings"]], ["N", "V"])
    >>> trainer.get("c2")
    0.1
    """

    verbose: Any
    _sentences: LabelledSentences
    _parameters: TrainingParameters

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Make a trainer that works even where a subclass does not call our constructor."""
        self = super().__new__(cls)
        self.verbose, self._sentences, self._parameters = None, LabelledSentences(), TrainingParameters("lbfgs")
        return self

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: Any = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def append(self, xseq: Any, yseq: Iterable[str | bytes], group: int = 0, *, weight: float = 1.0) -> None:
        """Add a sentence.

        Arguments:
            xseq: an `ItemSequence`, or what one is made of.
            yseq: a label for each token.
            group: a number to hold sentences out by.
            weight: how much the sentence counts, as ``@weight`` in CRFsuite's data files.
        """
        self._sentences.append(xseq, yseq, group, float(weight))

    def clear(self) -> None:
        """Forget all sentences."""
        self._sentences = LabelledSentences()

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose an algorithm; its parameters begin at their defaults."""
        name = algorithm.lower()
        name = ALIASES.get(name, name)
        if name not in ALGORITHMS or type != "crf1d":
            raise InputError(
                "Bad arguments: algorithm={!r}, type={!r}; expected one of {}, and crf1d",
                name,
                type,
                ", ".join(ALGORITHMS),
            )
        self._parameters = TrainingParameters(name)

    def params(self) -> list[str]:
        """Return the names of the algorithm's parameters."""
        return self._parameters.names()

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set several parameters."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Return the values of all parameters by name."""
        return {name: self.get(name) for name in self.params()}

    def set(self, name: str, value: Any) -> None:
        """Set a parameter: a number, a truth value, or a text that says one."""
        self._parameters.set(name, value)

    def get(self, name: str) -> Any:
        """Return the value of a parameter."""
        self._parameters.find(name)
        return GIVEN.get(name, lambda value: value)(self._parameters[name])

    def help(self, name: str) -> str:
        """Return what a parameter does, in words."""
        return self._parameters.find(name).help

    def message(self, message: str) -> None:
        """Take a message of the log; override it to follow training."""
        if self.verbose:
            print(message, end="")

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Learn from the sentences and write a model file of CRFsuite.

        Arguments:
            model: where to write it; an empty name for nowhere.
            holdout: a group of sentences that are not learned from, and labelled after each iteration instead.
        """
        path = os.fspath(model)
        if path and not os.path.isdir(os.path.dirname(path) or "."):
            raise FileNotFoundError(2, message("expected a folder that exists, got none"), os.path.dirname(path))
        self._before_train()
        if holdout >= 0:
            self.message(f"Holdout group: {holdout + 1}\n")
            self.message("\n")
        task = self._task(holdout)
        weights = LEARNERS.get(self._parameters.algorithm, learn_online)(task)
        if path:
            self._store(path, task, weights)

    def _before_train(self) -> None:
        pass

    def _task(self, holdout: int) -> TrainingTask:
        """Say which weights there are."""
        tell, watch = self.message, Stopwatch()
        tell("Feature generation\n")
        tell("type: CRF1d\n")
        for name in ("feature.minfreq", "feature.possible_states", "feature.possible_transitions"):
            value = self._parameters[name]
            tell(f"{name}: {value:f}\n" if isinstance(value, float) else f"{name}: {value}\n")
        part, held = self._sentences.parts(holdout)
        labels, attributes = self._sentences.labels, self._sentences.attributes()
        structure = generate(part, len(labels), len(attributes), self._parameters)
        tell("0")
        for percent in range(2, 101, 2):
            tell("." if percent % 10 else f"{percent // 10}")
        tell("\n")
        tell(f"Number of features: {structure.size}\n")
        tell(f"Seconds required: {watch.total():.3f}\n")
        tell("\n")
        evaluate = Holdout(held, labels, structure, tell).evaluate if holdout >= 0 else _no_evaluation
        return TrainingTask(part, structure, self._parameters, tell, evaluate)

    def _store(self, path: str, task: TrainingTask, weights: Float64Array) -> None:
        """Write the file, weights that are 0 and attributes without any left out."""
        tell, watch = self.message, Stopwatch()
        structure, names, labels = task.structure, self._sentences.attributes(), self._sentences.labels
        tell("Storing the model\n")
        parts = structure.parts
        states, moves = weights[parts["states"]], weights[parts["transitions"]]
        owners = np.repeat(np.arange(structure.num_attributes), np.diff(structure.state_offsets))[states != 0]
        active, numbers = np.unique(owners, return_inverse=True)
        model = CRFsuiteModel(
            labels,
            tuple(names[a] for a in active.tolist()),
            numbers.astype(np.int64),
            structure.state_labels[states != 0].astype(np.int64),
            states[states != 0],
            structure.transitions[moves != 0].astype(np.int64),
            moves[moves != 0],
        )
        with open_new(path) as file:
            file.write(write_model(model))
        tell(f"Number of active features: {np.count_nonzero(weights)} ({len(weights)})\n")
        tell(f"Number of active attributes: {len(active)} ({len(names)})\n")
        tell(f"Number of active labels: {len(labels)} ({len(labels)})\n")
        for what in ("labels", "attributes", "feature references for transitions", "feature references for attributes"):
            tell(f"Writing {what}\n")
        tell(f"Seconds required: {watch.total():.3f}\n")
        tell("\n")

    def __reduce__(self) -> Any:
        raise TypeError(message("Trainer: expected something that can be pickled, got what only memory holds"))


def _no_evaluation(weights: Float64Array) -> None:
    pass


class Trainer(BaseTrainer):
    """A trainer that reads its own log (`logparser`) and calls a hook for each event of it.

    >>> trainer = Trainer("ap", {"max_iterations": 5}, verbose=False)
    >>> trainer.append([["w=Anna"], ["w=sings"]], ["N", "V"])
    >>> trainer.train("")  # or the name of a file
    >>> trainer.logparser.last_iteration["num"]
    5
    """

    logparser: TrainLogParser | None = None

    _HOOKS: ClassVar[tuple[str, ...]] = (
        *("start", "featgen_end", "prepared", "prepare_error"),
        *("optimization_end", "end"),
    )

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Take a message of the log, and call the hook of what has happened where `verbose` is set."""
        assert self.logparser is not None
        event = self.logparser.feed(message)
        if not self.verbose or event is None:
            return
        log = self.logparser.last_log
        if event == "featgen_progress":
            self.on_featgen_progress(log, self.logparser.featgen_percent)
        elif event == "iteration":
            self.on_iteration(log, self.logparser.last_iteration)
        else:
            assert event in self._HOOKS
            getattr(self, f"on_{event}")(log)

    def on_start(self, log: str) -> None:
        """Training has begun."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """So much of the features is generated."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """All features are generated."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """The first iteration begins."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """There is no iteration: nothing can be learned."""
        print(log, end="")

    def on_iteration(self, log: str, info: Any) -> None:
        """An iteration has ended; `info` is its dict in `logparser.iterations`."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """The last iteration has ended."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """The model is written."""
        print(log, end="")
