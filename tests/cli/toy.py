"""A kind of model that the package does not know: each word has the label that it had most often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tagline.models.answers import ChainModel
from tagline.models.files import (
    Packed,
    StoredModel,
    TrainingFacts,
    config_of,
    facts_of,
    labels_of,
    reading,
)
from tagline.models.labelled import prepare, read_labels
from tagline.models.registry import Kind
from tagline.models.sentences import tokens_as_corpus, words_of
from tagline.settings import Setting, Settings, declared
from tagline.storage import ModelFile
from tagline.types import Chain


@declared
class MajoritySettings(Settings):
    """What the toy may be told."""

    certainty: Annotated[float, Setting("How sure the toy is.", least=0, panel="Model")] = 5.0


class MajorityTagger(MajoritySettings, StoredModel, ChainModel, BaseEstimator):
    """Labels of words by majority; unknown words get the label that is most frequent of all."""

    kind: ClassVar[str] = "majority"
    _LEARNED: ClassVar[tuple[str, ...]] = ("words_", "training_")

    def fit(self, X: Any, y: Any = None) -> MajorityTagger:
        lesson, words = prepare(read_labels(X, y), scheme=None), words_of(tokens_as_corpus(X))
        labels, votes = lesson.labelled.ids, {}
        for word, label in zip(words.strings, labels.tolist(), strict=True):
            votes.setdefault(word, Counter())[label] += 1
        self.words_ = {word: count.most_common(1)[0][0] for word, count in votes.items()}
        self.names_, self.usual_ = tuple(lesson.labels), int(np.bincount(labels).argmax())
        self.training_, self.training_log_ = TrainingFacts(len(lesson.sentences), 1, reason="counted"), ()
        return self

    @property
    def labels_(self) -> list[str]:
        check_is_fitted(self, "words_")
        return list(self.names_)

    def known_tokens(self) -> list[str]:
        return list(self.words_)

    def _chains(self, X: Any) -> Iterator[Chain]:
        corpus, L = tokens_as_corpus(X), len(self.labels_)
        numbers = [self.words_.get(word, self.usual_) for word in words_of(corpus).strings]
        yield Chain(self.certainty * np.eye(L)[numbers], np.zeros((L, L)), offsets=corpus.offsets)

    def _packed(self) -> Packed:
        own = {"words": self.words_, "usual": self.usual_}
        return config_of(self.kind, 1, self.names_, own, self._settings(), self.training_), {}

    def _take(self, file: ModelFile) -> None:
        with reading(file, 1, "a majority tagger"):
            self.names_, self.training_, self.training_log_ = labels_of(file), facts_of(file), ()
            self.words_, self.usual_ = file.setting("words", dict), file.setting("usual", int)

    @classmethod
    def from_file(cls, file: ModelFile) -> MajorityTagger:
        out = cls()
        out._set(file.setting("settings", dict))
        out._take(file)
        return out


KIND = Kind(
    "majority",
    f"{MajorityTagger.__module__}:MajorityTagger",
    "the most frequent label of each word: a toy",
    f"{MajorityTagger.__module__}:MajoritySettings",
)
