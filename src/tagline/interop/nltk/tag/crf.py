"""NLTK's `CRFTagger` over `tagline.interop.pycrfsuite`: the same features, and model files of CRFsuite both ways."""

from __future__ import annotations

import os
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tagline.interop.nltk.tag.api import TaggedSentence, TaggerI, check_sentences, check_tokens, untagged
from tagline.interop.pycrfsuite import Tagger, Trainer
from tagline.messages import message

_DIGIT = re.compile(r"\d")


class CRFTagger(TaggerI):  # type: ignore[misc]
    """A linear-chain CRF over features of words.

    Arguments:
        feature_func: takes the tokens of a sentence and an index, and returns the features of that token as strings;
            left out, they are the word, its last one to three characters, and whether it has a capital, a digit, or
            nothing but punctuation.
        verbose: say how training goes.
        training_opt: options of CRFsuite's L-BFGS, such as ``{"c1": 0.1, "max_iterations": 50}``.

    >>> import tempfile
    >>> data = [[("the", "D"), ("dog", "N"), ("runs", "V")], [("a", "D"), ("cat", "N"), ("sits", "V")]]
    >>> tagger = CRFTagger()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tagger.train(data, f"{folder}/model.crf")
    >>> tagger.tag(["the", "cat", "runs"])
    [('the', 'D'), ('cat', 'N'), ('runs', 'V')]
    """

    def __init__(
        self,
        feature_func: Callable[[Sequence[str], int], list[str]] | None = None,
        verbose: bool = False,
        training_opt: Mapping[str, Any] | None = None,
    ) -> None:
        self._model_file = ""
        self._tagger = Tagger()
        self._feature_func = self._get_features if feature_func is None else feature_func
        self._verbose = verbose
        self._training_options = dict(training_opt or {})
        self._feature_cache: dict[str, tuple[str, ...]] = {}

    def set_model_file(self, model_file: str | os.PathLike[str]) -> None:
        """Take a model that was trained before: by this class, by NLTK, or by CRFsuite with the same features."""
        self._tagger.open(model_file)
        self._model_file = os.fspath(model_file)

    def train(self, train_data: Iterable[TaggedSentence], model_file: str | os.PathLike[str]) -> None:
        """Learn from tagged sentences, write the model to a file and use it."""
        trainer = Trainer(verbose=self._verbose)
        trainer.set_params(self._training_options)
        for number, sentence in enumerate(train_data):
            tokens, tags = untagged(sentence, f"train_data, sentence {number}")
            trainer.append(self._features(tokens), tags)
        trainer.train(model_file)
        self.set_model_file(model_file)

    def tag(self, tokens: Sequence[str]) -> TaggedSentence:
        """Return the tokens of a sentence with their tags."""
        check_tokens(tokens)
        return self.tag_sents([tokens])[0]

    def tag_sents(self, sentences: Iterable[Sequence[str]] | None = None, **kwargs: Any) -> list[TaggedSentence]:
        """Tag each of several sentences."""
        if "sents" in kwargs:
            if sentences is not None:
                raise TypeError(message("tag_sents() got both 'sentences' and 'sents'; give it 'sentences' only"))
            warnings.warn(
                message("tag_sents(sents=...) is deprecated; use sentences="), DeprecationWarning, stacklevel=2
            )
            sentences = kwargs.pop("sents")
        if kwargs or sentences is None:
            wrong = (
                message("unexpected keyword arguments {}", ", ".join(sorted(kwargs)))
                if kwargs
                else message("no sentences")
            )
            raise TypeError(message("tag_sents() expects a list of tokenized sentences, got {}", wrong))
        check_sentences("tag_sents", sentences)
        if not self._model_file:
            raise RuntimeError(message("No model file set; call train() or set_model_file() first."))
        rows = [list(tokens) for tokens in sentences]
        tags = self._tagger.tag_many([self._features(tokens) for tokens in rows])
        return [list(zip(tokens, labels, strict=True)) for tokens, labels in zip(rows, tags, strict=True)]

    def clear_feature_cache(self) -> None:
        """Forget the features of words that were seen; they are kept for as long as the tagger lives."""
        self._feature_cache.clear()

    def _features(self, tokens: Sequence[str]) -> list[list[str]]:
        return [self._feature_func(tokens, number) for number in range(len(tokens))]

    def _get_features(self, tokens: Sequence[str], idx: int) -> list[str]:
        """Return the default features of a token."""
        word = tokens[idx]
        if word not in self._feature_cache:
            self._feature_cache[word] = tuple(_word_features(word))
        return list(self._feature_cache[word])


def _word_features(word: str) -> list[str]:
    if not word:
        return []
    features = ["CAPITALIZATION"] if word[0].isupper() else []
    if _DIGIT.search(word):
        features.append("HAS_NUM")
    if all(unicodedata.category(character).startswith("P") for character in word):
        features.append("PUNCTUATION")
    features += [f"SUF_{word[-size:]}" for size in (1, 2, 3) if len(word) > size]
    return [*features, f"WORD_{word}"]
