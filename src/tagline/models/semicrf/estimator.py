"""`SemiCRF`: a CRF whose units are segments, a scikit-learn estimator.

p(segmentation | sentence) = exp(w · F) / Z, with features of each token and its tag, of each whole segment and its
label, and of neighbouring labels. `fit` numbers and trains (`fitting`); the questions of `tagline.models.answers` are
asked of `tagline.chain.segments`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from tagline.errors import InputError, TrainingError
from tagline.features.attributes import Attributes, Features
from tagline.messages import message
from tagline.models.answers import ChainModel
from tagline.models.contract import Input
from tagline.models.crf.extraction import Extraction, Way
from tagline.models.crf.fitting import run_of
from tagline.models.crf.inspection import CRFSummary, described, phrases_told
from tagline.models.crf.settings import of_version_1
from tagline.models.crf.tagger import BY_CHARACTER
from tagline.models.dev_score import check_dev
from tagline.models.explanations import Explanation
from tagline.models.files import Packed, StoredModel, reading
from tagline.models.questions import Questions
from tagline.models.semicrf.attributes import SegmentReader
from tagline.models.semicrf.explaining import explain_segments
from tagline.models.semicrf.file import MissingFunction, SavedSemiCRF, pack, unpack
from tagline.models.semicrf.fitting import FittedSemiCRF, fit_semicrf
from tagline.models.semicrf.parameters import Numbered, Parameters
from tagline.models.semicrf.questions import SegmentQuestions, SegmentStates, TaggedSegments
from tagline.models.semicrf.scoring import number, segment_chains
from tagline.models.semicrf.settings import SemiCRFSettings
from tagline.models.semicrf.views import view_segments
from tagline.models.sentences import as_sentences, tokens_as_corpus
from tagline.models.views import ModelView, reason_in_words
from tagline.settings import check_settings, documented
from tagline.storage import ModelFile, Path
from tagline.training.iteration import Step
from tagline.training.run import DIVERGED
from tagline.training.running.checkpoints import SECONDS
from tagline.training.running.progress import Reporter


@documented
class SemiCRF(SemiCRFSettings, StoredModel, ChainModel, BaseEstimator):  # type: ignore[misc]
    """A conditional random field over segments: words, names, phrases are scored as a whole.

    Labels go in and come out as tags of a scheme (IOB2, IOE2, BIOES, BMES …); inside, a sentence is cut into segments,
    those outside of one token each. The objective is Σ over sentences of −log p, plus c1·|w|₁ + c2·|w|².

    Arguments:
        {settings}

    After `fit`: `labels_` (tags), `segment_labels_`, `max_length_`, `parameters_`, `training_log_`, `stop_reason_`,
    `objective_`, `notes_`. Training is by L-BFGS, by OWL-QN where c1 > 0, and begins with a first-order CRF's weights.

    >>> X = [["the", "New", "York", "Times"], ["New", "York", "wins"]]
    >>> y = [["O", "B-ORG", "I-ORG", "I-ORG"], ["B-LOC", "I-LOC", "O"]]
    >>> SemiCRF("U00:%x[0,0]", c2=0.1).fit(X, y).predict([["New", "York", "Times"]])
    [['B-ORG', 'I-ORG', 'I-ORG']]
    """

    kind: ClassVar[str] = "semicrf"
    explains: ClassVar[bool] = True
    finds_spans: ClassVar[bool] = True
    _LEARNED: ClassVar[tuple[str, ...]] = ("parameters_", "training_", "_extraction")
    _TRAINED: ClassVar[Sequence[str]] = (
        *("features", "segment_features", "max_length", "scheme", "c1", "c2", "label_weights"),
        *("min_frequency", "min_segment_frequency"),
    )
    _questions: type[Questions] = SegmentQuestions
    parameters_: Parameters
    training_log_: Sequence[Step]
    _extraction: Extraction

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_dev: Any = None,
        y_dev: Any = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        save_every: float = SECONDS,
        log: Path | None = None,
        tensorboard: Path | None = None,
        progress: Reporter | None = None,
    ) -> SemiCRF:
        """Learn weights from labelled sentences.

        Arguments:
            X: sentences of words: a `Corpus`, or lists of tokens.
            y: tags of each sentence; left out where X is a corpus with tags. None for an unknown tag, a set for one of
                several; then `scheme` must be named.
            X_dev, y_dev: sentences to be scored after each pass.
            sample_weight: how much each sentence counts, ``[B]``.
            checkpoint: a file to write the state of training to, between two passes.
            resume: go on from that file where it exists; the weights are those of a run that was never stopped.
            save_every: seconds between two checkpoints; 0 for after each pass.
            log: a file to append a line of JSON to after each pass.
            tensorboard: a folder for TensorBoard, which must be installed.
            progress: who is told how training goes, a `Reporter`, in the place of what `verbose` shows.

        Ctrl-C ends training: the last complete weights are kept, and `stop_reason_` is "interrupted".
        """
        check_settings(self)
        X, y, X_dev = as_sentences(X), as_sentences(y), as_sentences(X_dev)
        dev = (X_dev, y_dev) if check_dev(X_dev, y_dev) else None
        files: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "save_every": save_every}
        run = run_of(self, **files, log=log, tensorboard=tensorboard, progress=progress)
        self._become(fit_semicrf(self, X, y, run, sample_weight=sample_weight, dev=dev))
        if self.training_.reason.startswith(DIVERGED):
            raise TrainingError(
                "fit: expected an objective and weights that are finite, got others: training {}; the "
                "weights before it are kept. Scale the values of features, or raise c2",
                reason_in_words(self.stop_reason_),
            )
        self._record(X, y)
        if dev is not None:
            self._note_dev(X_dev, y_dev)
        return self

    def _become(self, fitted: FittedSemiCRF) -> None:
        """Take over what was learned, and how."""
        self.parameters_, self._extraction = fitted.parameters, fitted.extraction
        self.training_, self.training_log_ = fitted.training, fitted.history
        self._keep_trained()

    def _fitted(self) -> Parameters:
        check_is_fitted(self, "parameters_")
        self._refuse_changed()
        return self.parameters_

    @property
    def labels_(self) -> list[str]:  # type: ignore[override]
        """The tags, sorted: all that the types can have."""
        return list(self._fitted().labels)

    @property
    def segment_labels_(self) -> list[str]:
        """The labels of segments: types, and "O" for a token outside."""
        return list(self._fitted().tags.types)

    @property
    def max_length_(self) -> int:
        """Tokens of the longest segment."""
        return self._fitted().max_length

    @property
    def objective_(self) -> float:
        """What training reached, with the penalties."""
        self._fitted()
        return self.training_.objective

    @property
    def kept_pass_(self) -> Any:
        """With patience, the pass with the best dev score: its weights were kept."""
        return None if self.patience is None else self.best_pass_

    @property
    def input_(self) -> Input:
        """The columns that the template looks at."""
        self._fitted()
        template = self._extraction.template
        if template is None:
            return Input()
        return Input(
            max(1, template.num_columns), template.source, template.source.removesuffix(".txt") in BY_CHARACTER
        )

    def known_tokens(self) -> list[str]:
        """Return tokens that the model has seen as segments."""
        names = [name for name in self._fitted().names.names if name.startswith("first:")]
        return [name.removeprefix("first:") for name in names]

    def summary(self) -> CRFSummary:
        """Count labels, attributes and weights that are not 0, and say how the model was trained."""
        p = self._fitted()
        weights = {name: int(np.count_nonzero(table)) for name, table in p.tables.named().items()}
        largest = max(float(np.abs(table).max(initial=0.0)) for table in p.tables.named().values())
        words = message(
            "{}; segments of up to {} tokens: {}",
            described(self._extraction),
            p.max_length,
            ", ".join(p.kinds) or message("none"),
        )
        count = len(p.states) + len(p.names.names)
        facts = self.training_.as_dict()
        active, knowledge = sum(weights.values()), phrases_told(self.dictionary)
        return CRFSummary(self._names(), p.scheme, words, count, 0, weights, active, largest, facts, knowledge)

    def view(self, top: int = 5, labels: Sequence[str] | None = None) -> ModelView:
        """Return what speaks most for each tag and each label of segments, and which transitions are liked most.

        Arguments:
            top: features of each tag and label, and transitions.
            labels: whose features are shown; all when left out.
        """
        return view_segments(self._fitted(), self.summary(), top, labels)

    # Sentences to segments.

    def _chains(self, X: Any) -> Iterator[TaggedSegments]:  # type: ignore[override]
        p, numbered = self._fitted(), self._numbered(X)
        for chain in segment_chains(p, numbered):
            yield TaggedSegments(chain, p.tags)

    def _numbered(self, X: Any) -> Numbered:
        p = self._fitted()
        corpus = tokens_as_corpus(X, 1 if self._extraction.template is None else self._extraction.template.num_columns)
        reader = SegmentReader(corpus, p.max_length, p.kinds, self.dictionary)
        if not corpus.num_tokens:
            nothing = Attributes(np.zeros(1, np.int64), np.zeros(0, np.int32))
            return number(p, Features(corpus.offsets, nothing), reader)
        features = self._extraction.look_up(X, (p.states, None)).features
        return number(p, Features(corpus.offsets, features.states), reader)

    def chains(self, X: Any, *, known: Any = None) -> Iterator[SegmentStates]:  # type: ignore[override]
        """Score sentences: a first-order chain over places in segments for each, with the same distribution.

        Arguments:
            X, known: as for `predict`.
        """
        for block in self._scored(X, known=known):
            for b in range(block.num_sentences):
                yield SegmentStates(block.chain, b, block.tags)

    def segment_chains(self, X: Any, *, known: Any = None) -> Iterator[Any]:
        """Score sentences: blocks of them as `tagline.chain.segments.SegmentChain` over `segment_labels_`.

        Arguments:
            X, known: as for `predict`.
        """
        return (block.chain for block in self._scored(X, known=known))

    def explain(self, sentence: Any, *, known: Any = None) -> Explanation:  # type: ignore[override]
        """Say for each token which features of tokens and segments made its tag win over the runner-up.

        Arguments:
            sentence: one, as in X.
            known: tags of this sentence that are known.
        """
        X = as_sentences([sentence])
        block = next(self._scored(X, known=None if known is None else [known]))
        return explain_segments(self._fitted(), self._numbered(X), block, tokens_as_corpus(X).tokens[0])

    # Files.

    @classmethod
    def from_file(cls, file: ModelFile, *, features: Way = None) -> Self:
        """Make the model of a file that was read; see `tagline.load`.

        Arguments:
            features: the function that the model was trained with, where it was trained with one.
        """
        saved, out = unpack(file), cls()
        if features is not None and not isinstance(saved.way, MissingFunction):
            raise InputError("features: expected none, for {} brings its own, got some; leave it out", file.source)
        out._set(of_version_1(saved.settings))
        out.features, out.dictionary = saved.way if features is None else features, saved.dictionary
        with reading(file):
            out._adopt(saved, out.features)
        return out

    def _adopt(self, saved: SavedSemiCRF, way: Way) -> None:
        self._become(FittedSemiCRF(saved.parameters, Extraction(way), saved.training, ()))

    def _settings(self) -> dict[str, Any]:
        """The estimator's settings that may be plain data."""
        code = ("features", "dictionary", "callbacks")
        return {name: value for name, value in super()._settings().items() if name not in code}

    def _packed(self) -> Packed:
        p = self._fitted()
        return pack(SavedSemiCRF(p, self._extraction.way, self.dictionary, self._settings(), self.training_))

    def _take(self, file: ModelFile) -> None:
        saved = unpack(file)
        function = self.__dict__.pop("_function", None)
        self._adopt(saved, saved.way if function is None else function)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy keep: the bytes of the model's file, its function, everything else as it is."""
        state = super().__getstate__()
        if "_file" in state:
            state["_function"] = self._extraction.function
        return dict(state)
