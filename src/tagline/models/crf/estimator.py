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
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.templates.template import Template
from tagline.models.contract import Progress
from tagline.models.crf.extraction import Way
from tagline.models.crf.file import MissingFunction, SavedCRF, pack, unpack
from tagline.models.crf.fitting import FittedCRF, Sentences, fit_crf
from tagline.models.crf.inspection import CRFViews
from tagline.models.crf.parameters import Parameters
from tagline.models.crf.remote import fit_remote
from tagline.models.crf.settings import check_crf
from tagline.models.crf.stages import first_stage, staged_inputs, with_stage, without_documents
from tagline.models.crf.tagger import CRFTagger
from tagline.models.crf.teaching import check_teaching, taught
from tagline.models.dev_score import check_dev
from tagline.models.files import Packed, StoredModel, reading
from tagline.models.remote import RemoteCorpus
from tagline.models.sentences import as_sentences
from tagline.training.algorithms import ALGORITHMS
from tagline.training.certificate import relative_gap
from tagline.training.monitor import DIVERGED, Pass
from tagline.training.running.callbacks import Callback
from tagline.training.running.checkpoints import SECONDS
from tagline.training.running.runs import RunFiles


class CRF(CRFViews, StoredModel, CRFTagger, BaseEstimator):  # type: ignore[misc]
    """A linear-chain conditional random field with features.

    The objective is Σ over sentences of −log p(y | x), plus c1·|w|₁ + c2·|w|² (CRFsuite's convention; CRF++'s cost C is
    c2 = 1 / (2 C)).

    Arguments:
        features: a template (`Template`, the name of a ready-made set such as "english_ner", a path, or a text), a
            function sentence → features of each token, or None where X holds dicts or lists of strings already.
        algorithm: "auto" (stochastic passes, then L-BFGS; OWL-QN where c1 > 0), "lbfgs", "owlqn", "sgd", "gd", "iis"
            (iterative scaling), "ap" (averaged perceptron), "pa" (passive-aggressive), "arow".
        c1, c2: penalties. Where the algorithm has no such penalty, the default is not used, and a value other than it
            and 0 is an error.
        scheme: the tag scheme whose rules hold in training and decoding ("IOB2", "BIOES", …), "auto" to detect it,
            None for no rules.
        on_illegal: training labels that break the rules: "error", "repair", or "drop" the sentence.
        min_frequency: attributes that are rarer are left out; each occurrence counts its value.
        min_feature_frequency: features that are rarer are left out: an attribute with a label, a transition, an edge.
            An occurrence counts its value times the weight of its sentence; CRFsuite's ``feature.minfreq``.
        all_possible_states, all_possible_transitions: weights for pairs that the training data do not show, too.
        start_end: weights for the first and the last label of a sentence.
        edge_pairs: label pairs that edge attributes are crossed with: "observed", "all", or a list of pairs
            (label before, label).
        label_weights: how much sentences with a label count: a mapping, or "balanced". A sentence counts the mean
            weight of its labels.
        hash_bits: number attributes by so many bits of their hash and keep no names.
        dictionary: phrases and their types, used as their priority says.
        clusters: words and their clusters, which templates look at: a file, a mapping, `Clusters`, or a list of tables.
        vectors: words and their vectors, which templates look at: a file, a mapping, or `Embeddings`.
        vector_scale: what the numbers of vectors are multiplied by.
        order: 2 for weights of label triples, too: those that the training sentences show.
        prune: with order 2, labels that the model of order 1 finds less probable at a token are left out there, in
            training and in answers (1e-3, say); None for exact answers. `pruning` says what that costs.
        stages: 2 for two: a first model labels the whole document, and what it says of a word elsewhere in it becomes
            columns for the second. The first looks at clusters, not at vectors.
        mentions: look at so many other mentions of a word in its document, 0 to 9: the words beside them and their
            clusters, as the template's lines with ``mention1`` … say; lines are added where it has none.
        max_iterations, max_seconds: limits; None for none. With two stages they hold for each model that is trained.
        epsilon, period, delta: when training has converged, as in CRFsuite.
        tolerance: stop where the objective is proven to be within this share of its optimum (1e-4: 0.01 %), and not by
            epsilon or delta. It needs c2 above 0, labels that are all known, and an algorithm that knows the gradient.
        patience: stop after so many passes without a better score on the dev set, and keep the best weights.
        memory: steps that L-BFGS remembers.
        passes: of stochastic and online algorithms.
        options: further arguments of the algorithm, by name.
        precision: "float32", "float64", or "auto": float64 for up to 5,000 tokens.
        warm_start: begin `fit` from the weights of the last one; new labels and features are added to them. The
            sentences of that fit count no more: give old and new ones together, or the old are forgotten.
        random_state: seed of stochastic algorithms; None for another in each fit, which `training_.seed` keeps.
        verbose: True shows on stderr how training goes: a bar in terminals and notebooks, a line a pass elsewhere.
        callbacks: called with a `TrainingState` after each pass; True stops.

    After `fit`: `labels_`, `parameters_` (weights and names), `training_log_` (one `Pass` each), `stop_reason_`,
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
        *("features", "dictionary", "clusters", "vectors", "vector_scale", "hash_bits", "scheme"),
        *("order", "prune", "stages", "mentions", "algorithm", "c1", "c2", "label_weights"),
        *("min_frequency", "min_feature_frequency", "all_possible_states", "all_possible_transitions"),
        *("start_end", "edge_pairs"),
    )
    local: ClassVar[bool] = False  # whether training normalises each token by itself, given the label before
    chained: ClassVar[bool] = True  # whether a label depends on the label before
    algorithms: ClassVar[tuple[str, ...]] = tuple(ALGORITHMS)
    training_log_: Sequence[Pass]

    def __init__(
        self,
        features: Way = None,
        *,
        algorithm: str = "auto",
        c1: float = 0.0,
        c2: float = 1.0,
        scheme: str | None = None,
        on_illegal: str = "error",
        min_frequency: float = 0,
        min_feature_frequency: float = 0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        start_end: bool = False,
        edge_pairs: str | Sequence[tuple[str, str]] = "observed",
        label_weights: Any = None,
        hash_bits: int | None = None,
        dictionary: Dictionary | None = None,
        clusters: Any = None,
        vectors: Any = None,
        vector_scale: float = 1.0,
        order: int = 1,
        prune: float | None = None,
        stages: int = 1,
        mentions: int = 0,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        epsilon: float = 1e-5,
        period: int = 10,
        delta: float = 1e-5,
        tolerance: float | None = None,
        patience: int | None = None,
        memory: int = 10,
        passes: int | None = None,
        options: dict[str, Any] | None = None,
        precision: str = "auto",
        warm_start: bool = False,
        random_state: int | None = 0,
        verbose: bool | int = False,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.features = features
        self.algorithm = algorithm
        self.c1 = c1
        self.c2 = c2
        self.scheme = scheme
        self.on_illegal = on_illegal
        self.min_frequency = min_frequency
        self.min_feature_frequency = min_feature_frequency
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.start_end = start_end
        self.edge_pairs = edge_pairs
        self.label_weights = label_weights
        self.hash_bits = hash_bits
        self.dictionary = dictionary
        self.clusters = clusters
        self.vectors = vectors
        self.vector_scale = vector_scale
        self.order = order
        self.prune = prune
        self.stages = stages
        self.mentions = mentions
        self.max_iterations = max_iterations
        self.max_seconds = max_seconds
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.tolerance = tolerance
        self.patience = patience
        self.memory = memory
        self.passes = passes
        self.options = options
        self.precision = precision
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

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
    ) -> Self:
        """Learn weights from labelled sentences.

        Arguments:
            X: sentences: a `Corpus`, lists of tokens, or lists of features, as `features` says; a `CompiledCorpus`; or
                what `tagline.scale.corpus` gives, which other processes hold.
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

        Ctrl-C ends training: the last complete weights are kept, and `stop_reason_` is "interrupted". In the first of
        two stages there are none yet, and it is raised as KeyboardInterrupt.
        """
        check_crf(self)
        check_teaching(self, teacher, teacher_weight, unlabelled)
        if teacher is not None and self.order == 2:
            raise InputError(
                "teacher: expected None with order=2, got one; a teacher tells probabilities of label pairs"
            )
        files = RunFiles(checkpoint, resume, save_every, log, tensorboard)
        if isinstance(X, RemoteCorpus):
            others = {"sample_weight": sample_weight, "teacher": teacher, "documents": documents}
            return self._fit_remote(Sentences(X, y, edges), as_sentences(X_dev), y_dev, edges_dev, files, others)
        X, y = as_sentences(X), as_sentences(y)
        X_dev = as_sentences(X_dev)
        staged = first_stage(self, X, y, documents, sample_weight) if self.stages == 2 else None
        inputs = staged_inputs(self, documents, documents_dev)
        dev = None
        if check_dev(X_dev, y_dev, self.patience, edges_dev=edges_dev, documents_dev=documents_dev):
            seen, sizes = with_stage(staged, X_dev, documents_dev)
            dev = Sentences(seen, y_dev, as_sentences(edges_dev), sizes)
        before = self.parameters_ if self.warm_start and hasattr(self, "parameters_") else None
        teaching = None
        if teacher is not None:
            known = () if before is None else before.labels
            teaching = taught(self, X, y, teacher, teacher_weight, unlabelled, known)
            X, y = teaching.X, teaching.y
        how: dict[str, Any] = {"sample_weight": sample_weight, "dev": dev, "files": files}
        how |= {"teaching": teaching, "staged": staged}
        sentences = Sentences(X, y, edges, documents)
        if staged is not None:
            sentences = Sentences(staged.sentences, y, edges, staged.documents)
        self._learn(fit_crf(self, sentences, before, **how))
        self._record(X, y)
        if dev is not None:
            inputs |= {} if dev.edges is None else {"edges": dev.edges}
            self._note_dev(X_dev, y_dev, **inputs)
        return self

    def _fit_remote(
        self, sentences: Sentences, X_dev: Any, y_dev: Any, edges_dev: Any, files: RunFiles, others: dict[str, Any]
    ) -> Self:
        """Learn from sentences that other processes hold."""
        dev = Sentences(X_dev, y_dev, as_sentences(edges_dev)) if check_dev(X_dev, y_dev, self.patience) else None
        others["stages"] = None if self.stages == 1 else self.stages
        others["mentions"] = self.mentions or None
        self._learn(fit_remote(self, sentences, dev, files, **others))
        self._record(sentences.X)
        if dev is not None:
            self._note_dev(X_dev, y_dev)
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

        One stochastic pass over the sentences, or as many as `passes` says; no tolerance ends it earlier. The penalties
        count for the share that these sentences have in all that were learned from, so that a few of them do not
        push the rest aside.
        """
        check_crf(self)
        if self.stages == 2:
            raise InputError("stages: expected 1 for partial_fit, got 2; a second stage is learned from all documents")
        if self.order == 2:
            raise InputError("order: expected 1 for partial_fit, got 2; label triples are learned from all sentences")
        staged_inputs(self, documents, None)
        X, y = as_sentences(X), as_sentences(y)
        before, known = getattr(self, "parameters_", None), getattr(self, "training_", None)
        sentences = Sentences(X, y, edges, documents)
        self._learn(fit_crf(self, sentences, before, sample_weight=sample_weight, increment=True))
        if known is not None:
            self.training_ = replace(self.training_, tokens=known.tokens, fingerprint=known.fingerprint)
        self._record(X, y, more=known is not None)
        return self

    def _learn(self, fitted: FittedCRF) -> None:
        """Take over what was learned; where training diverged, that is the last finite weights, and an error."""
        self._become(fitted)
        if self.training_.reason.startswith(DIVERGED):
            raise TrainingError(
                f"fit: expected an objective and weights that are finite, got others: training {self.stop_reason_}; "
                "the weights before it are kept. Take smaller steps (options={'rate': ...}), scale the values of "
                "features, or raise c2"
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
    def kept_pass_(self) -> Progress | None:
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
            raise InputError(f"features: expected none, for {file.source} brings its own, got some; leave it out")
        if features is not None and not callable(features):
            raise InputError(f"features: expected a function, as {saved.way!r} was, got {features!r:.60}")
        out = cls()
        out._set(saved.settings)
        way = saved.way if features is None else features
        out.features, out.dictionary = way, saved.dictionary
        out.clusters, vectors = list(saved.knowledge.clusters) or None, saved.knowledge.vectors
        with reading(file):
            out.vectors = None if vectors is None else replace(vectors, scale=float(out.vector_scale))
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
