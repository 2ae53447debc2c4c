"""`CRF`: the feature CRF, a scikit-learn estimator.

p(y | x) = exp(w · F(y, x)) / Z(x), with state features (attribute, label), transitions (label, label), edge features
(attribute, label, label) and start and end weights. `fit` numbers features and labels and trains (`fitting`); `tagger`
has the questions that a fitted model answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from tagline import storage
from tagline.errors import InputError, TrainingError
from tagline.features.templates.template import Template
from tagline.models.crf.extraction import Way
from tagline.models.crf.file import MissingFunction, SavedCRF, pack, unpack
from tagline.models.crf.fitting import FittedCRF, Sentences, fit_crf, run_of
from tagline.models.crf.inspection import CRFViews
from tagline.models.crf.parameters import Parameters
from tagline.models.crf.settings import CRFSettings, of_version_1
from tagline.models.crf.stages import first_stage, staged_inputs, with_stage, without_documents
from tagline.models.crf.tagger import CRFTagger
from tagline.models.crf.teaching import check_teaching, taught
from tagline.models.dev_score import check_dev
from tagline.models.files import Packed, StoredModel, reading
from tagline.models.sentences import as_sentences
from tagline.models.views import reason_in_words
from tagline.settings import check_settings, documented
from tagline.training.certificate import relative_gap
from tagline.training.iteration import Step
from tagline.training.run import DIVERGED
from tagline.training.running.checkpoints import SECONDS
from tagline.training.running.progress import Reporter


@documented
class CRF(CRFSettings, CRFViews, StoredModel, CRFTagger, BaseEstimator):  # type: ignore[misc]
    """A linear-chain conditional random field with features.

    The objective is Σ over sentences of −log p(y | x), plus c1·|w|₁ + c2·|w|² (CRFsuite's convention; CRF++'s cost C is
    c2 = 1 / (2 C)).

    Arguments:
        {settings}

    After `fit`: `labels_`, `parameters_` (weights and names), `training_log_` (one `Step` each), `stop_reason_`,
    `objective_`, `gap_` (how far from its optimum that is at most), `notes_` (what was repaired or dropped), and those
    of `CRFViews`. The log is not kept in files.

    >>> X = [[{"word": "Anna"}, {"word": "sings"}], [{"word": "Bob"}, {"word": "sings"}]]
    >>> CRF(c2=0.1).fit(X, [["N", "V"], ["N", "V"]]).predict([[{"word": "Bob"}, {"word": "runs"}]])
    [['N', 'V']]
    """

    _LEARNED: ClassVar[tuple[str, ...]] = (
        "parameters_",
        "training_",
        "_extraction",
        "_scorer",
        "_words",
        "_vectors",
        "_first",
        "_triples",
        "_questions",
        "_pruner",
    )
    _TRAINED: ClassVar[Sequence[str]] = (
        *("features", "dictionary", "clusters", "vectors", "hash_bits", "scheme"),
        *("order", "prune", "stages", "mentions", "algorithm", "c1", "c2", "label_weights"),
        *("min_frequency", "min_feature_frequency", "all_possible_states", "all_possible_transitions"),
        "start_end",
    )
    local: ClassVar[bool] = False  # whether training normalises each token by itself, given the label before
    chained: ClassVar[bool] = True  # whether a label depends on the label before
    training_log_: Sequence[Step]

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_dev: Any = None,
        y_dev: Any = None,
        edges: Any = None,
        edges_dev: Any = None,
        documents: Any = None,
        documents_dev: Any = None,
        sample_weight: ArrayLike | None = None,
        teacher: Any = None,
        teacher_weight: float = 1.0,
        unlabelled: Any = None,
        checkpoint: storage.Path | None = None,
        resume: bool = False,
        save_every: float = SECONDS,
        log: storage.Path | None = None,
        tensorboard: storage.Path | None = None,
        progress: Reporter | None = None,
    ) -> Self:
        """Learn weights from labelled sentences.

        Arguments:
            X: sentences: a `Corpus`, lists of tokens, or lists of features, as `features` says, or a
                `CompiledCorpus`.
            y: labels of each sentence; left out where X is a corpus with tags. None for an unknown label, a set for one
                of several.
            X_dev, y_dev: sentences to be scored after each pass.
            edges, edges_dev: edge attributes of each token, where X holds features.
            documents, documents_dev: with two stages or mentions, how many sentences each document has, or the name of
                a column; left out, a sentence that begins with -DOCSTART- begins one, and without any each is one.
            sample_weight: how much each sentence counts, ``[B]``; those of `unlabelled` stand behind the others.
            teacher: a model to learn from, which knows the labels: its probabilities of labels and of label pairs stand
                in the place of labels. In y, None may stand for the labels of a sentence then, or for all.
            teacher_weight: the share of the teacher where there are labels, above 0 and up to 1, which leaves the
                labels out of account. A sentence without labels counts so much, too.
            unlabelled: further sentences for the teacher, as X has them.
            checkpoint: a file to write the state of training to, between two passes.
            resume: go on from that file where it exists; the weights are those of a run that was never stopped.
            save_every: seconds between two checkpoints; 0 for after each pass.
            log: a file to append a line of JSON to after each pass.
            tensorboard: a folder for TensorBoard, which must be installed.
            progress: who is told how training goes, a `Reporter`, in the place of what `verbose` shows.

        Ctrl-C ends training: the last complete weights are kept, and `stop_reason_` is "interrupted". In the first of
        two stages there are none yet, and it is raised as KeyboardInterrupt.
        """
        check_settings(self)
        check_teaching(self, teacher, teacher_weight, unlabelled)
        if teacher is not None and self.order == 2:
            raise InputError(
                "teacher: expected None with order=2, got one; a teacher tells probabilities of label pairs"
            )
        files: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "save_every": save_every}
        run = run_of(self, **files, log=log, tensorboard=tensorboard, progress=progress)
        X, y = as_sentences(X), as_sentences(y)
        X_dev = as_sentences(X_dev)
        staged = first_stage(self, X, y, documents, sample_weight) if self.stages == 2 else None
        inputs = staged_inputs(self, documents, documents_dev)
        dev = None
        if check_dev(X_dev, y_dev, edges_dev=edges_dev, documents_dev=documents_dev):
            seen, sizes = with_stage(staged, X_dev, documents_dev)
            dev = Sentences(seen, y_dev, as_sentences(edges_dev), sizes)
        before = self.parameters_ if self.warm_start and hasattr(self, "parameters_") else None
        teaching = None
        if teacher is not None:
            known = () if before is None else before.labels
            teaching = taught(self, X, y, teacher, teacher_weight, unlabelled, known)
            X, y = teaching.X, teaching.y
        sentences = Sentences(X, y, edges, documents)
        if staged is not None:
            sentences = Sentences(staged.sentences, y, edges, staged.documents)
        modes: dict[str, Any] = {"teaching": teaching, "staged": staged}
        self._learn(fit_crf(self, sentences, before, run, sample_weight=sample_weight, dev=dev, **modes))
        self._record(X, y)
        if dev is not None:
            inputs |= {} if dev.edges is None else {"edges": dev.edges}
            self._note_dev(X_dev, y_dev, **inputs)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        edges: Any = None,
        documents: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more sentences, beginning at the weights of now: new labels and features are added.

        One stochastic pass over the sentences, or as many as the `passes` of the algorithm; no tolerance ends it
        earlier. The penalties count for the share that these sentences have in all that were learned from, so that a
        few of them do not push the rest aside.
        """
        check_settings(self)
        if self.stages == 2:
            raise InputError("stages: expected 1 for partial_fit, got 2; a second stage is learned from all documents")
        if self.order == 2:
            raise InputError("order: expected 1 for partial_fit, got 2; label triples are learned from all sentences")
        staged_inputs(self, documents, None)
        X, y = as_sentences(X), as_sentences(y)
        before, known = getattr(self, "parameters_", None), getattr(self, "training_", None)
        sentences = Sentences(X, y, edges, documents)
        run = run_of(self, increment=True)
        self._learn(fit_crf(self, sentences, before, run, sample_weight=sample_weight, increment=True))
        if known is not None:
            self.training_ = replace(self.training_, tokens=known.tokens, fingerprint=known.fingerprint)
        self._record(X, y, more=known is not None)
        return self

    def _learn(self, fitted: FittedCRF) -> None:
        """Take over what was learned; where training diverged, that is the last finite weights, and an error."""
        self._become(fitted)
        if self.training_.reason.startswith(DIVERGED):
            raise TrainingError(
                "fit: expected an objective and weights that are finite, got others: training {}; the "
                "weights before it are kept. Take smaller steps (algorithm='sgd:rate=…'), scale the values of "
                "features, or raise c2",
                reason_in_words(self.stop_reason_),
            )

    @property
    def objective_(self) -> float:
        """What training reached, with the penalties."""
        self._fitted()
        return self.training_.objective

    @property
    def gap_(self) -> float | None:
        """How far `objective_` is from its optimum at most; None where that is not known.

        That takes c2 above 0, labels that are all known, and an algorithm that ends with a gradient: not ``ap``, ``pa``
        or ``arow``.
        """
        self._fitted()
        return self.training_.gap

    @property
    def relative_gap_(self) -> float | None:
        """By which share of the optimum `objective_` is above it at most; None where that is not known."""
        return relative_gap(self.gap_, self.objective_)

    @property
    def kept_pass_(self) -> Step | None:
        """With patience, the pass with the best dev score: its weights were kept."""
        return None if self.patience is None else self.best_pass_

    def _fitted(self) -> Parameters:
        if "parameters_" not in vars(self):  # to ask scikit-learn takes longer than to score a short sentence
            check_is_fitted(self, "parameters_")
        self._refuse_changed()
        return self.parameters_

    # Files.

    def save(self, path: storage.Path, *, notes: Mapping[str, Any] | None = None, date: bool = True) -> None:
        """Write the model to one file, whole or not at all; `tagline.load` reads it.

        Arguments:
            notes: texts by name to keep in the file, with those that are there (`user_notes_`).
            date: whether the file says when the model was trained.

        Weights are kept as float32, those that are 0 left out. A feature function and callbacks are code and stay
        outside: pass the function to `tagline.load` again.
        """
        super().save(path, notes=notes, date=date)

    @classmethod
    def from_file(cls, file: storage.ModelFile, *, features: Way = None) -> Self:
        """Make the model of a file that was read; see `tagline.load`.

        Arguments:
            features: the function that the model was trained with, where it was trained with one.
        """
        saved = unpack(file)
        if features is not None and not isinstance(saved.way, MissingFunction):
            raise InputError("features: expected none, for {} brings its own, got some; leave it out", file.source)
        if features is not None and not callable(features):
            raise InputError("features: expected a function, as {!r} was, got {!r:.60}", saved.way, features)
        out = cls()
        out._set(of_version_1(saved.settings))
        way = saved.way if features is None else features
        out.features, out.dictionary = way, saved.dictionary
        out.clusters, vectors = list(saved.knowledge.clusters) or None, saved.knowledge.vectors
        with reading(file):
            out.vectors = vectors
            if saved.first is not None and isinstance(way, Template):
                out.features = without_documents(way)  # `fit` adds the lines of the second stage again
            out._adopt(saved, way)
        return out

    def _adopt(self, saved: SavedCRF, way: Way) -> None:
        """Take over what a file says was learned."""
        extraction = replace(saved, way=way).extraction()
        self._adopt_first(saved)
        log = vars(self).get("training_log_", ())
        self._become(FittedCRF(saved.parameters, extraction, saved.training, log, self._first))

    def _become(self, fitted: FittedCRF) -> None:
        """Take over what was learned, and how."""
        self._take_over(fitted.parameters, fitted.extraction, fitted.training, fitted.first)
        self.training_log_ = fitted.history
        self._keep_trained()

    def _with(self, parameters: Parameters) -> Self:
        """A copy with other weights."""
        out = type(self)()
        out.__dict__.update(vars(self))
        out._become(FittedCRF(parameters, self._extraction, self.training_, self.training_log_, self._first))
        return out

    def _settings(self) -> dict[str, Any]:
        """The estimator's settings that may be plain data."""
        code = ("features", "dictionary", "clusters", "vectors", "callbacks")
        return {name: value for name, value in super()._settings().items() if name not in code}

    def _packed(self) -> Packed:
        p, e, first = self._fitted(), self._extraction, self._first
        settings, inner = self._settings(), None
        if self.order == 1:  # then files are those of versions that knew no other
            settings = {name: value for name, value in settings.items() if name not in ("order", "prune")}
        if first is not None:
            own = first._extraction
            inner = SavedCRF(first.parameters_, own.way, own.hash_bits, own.dictionary, {}, first.training_)
        return pack(
            SavedCRF(p, e.way, e.hash_bits, e.dictionary, settings, self.training_, e.knowledge, inner),
            self.kind,
        )

    def _take(self, file: storage.ModelFile) -> None:
        saved = unpack(file)
        function = self.__dict__.pop("_function", None)
        self._adopt(saved, saved.way if function is None else function)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy keep: the bytes of the model's file, its function, everything else as it is."""
        state = super().__getstate__()
        if "_file" in state:
            state["_function"] = self._extraction.function
        return state
