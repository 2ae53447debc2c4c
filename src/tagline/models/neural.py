"""What the neural taggers share: `fit`, chains for every question, explanations, scikit-learn's manners.

A kind of tagger says how it turns sentences into numbers and what network scores them (`_make`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from tagline.chain import constrain
from tagline.errors import InputError
from tagline.models.answers import SequenceModel, as_sentences, known_labels
from tagline.models.explaining import Explanation, explain_chain
from tagline.models.extraction import tokens_as_corpus
from tagline.models.network import Coder, Network, rows_of
from tagline.models.neural_explaining import inputs_that_told
from tagline.models.neural_fitting import DevScore, Examples, TaggingTask
from tagline.models.neural_inspection import NetworkSummary
from tagline.models.neural_saving import NeuralSaving
from tagline.models.packing import Facts
from tagline.models.targets import (
    LabelledTokens,
    allowed_labels,
    check_sample_weight,
    complete_labels,
    match_lengths,
    numbered,
    read_labels,
    scheme_of,
    sentence_weights,
    settle,
    used_labels,
)
from tagline.nn.heads import CRFHead, Head, SoftmaxHead, Tagger
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.readers.roles import Rules, legal
from tagline.storage import Path
from tagline.training.neural.journal import Epoch
from tagline.training.neural.loop import train
from tagline.training.neural.settings import Descent
from tagline.types import Chain, IntArray

Callback = Callable[[Epoch], bool | None]
Progress = Callable[[int, int, float], None]

HEADS: dict[str, type[CRFHead] | type[SoftmaxHead]] = {"crf": CRFHead, "softmax": SoftmaxHead}

DESCENT = (
    *("epochs", "batch_size", "max_tokens", "optimizer", "learning_rate", "momentum", "weight_decay", "warmup"),
    *("schedule", "clip", "accumulate", "precision", "compile", "patience", "max_seconds"),
)


class NeuralTagger(NeuralSaving, SequenceModel, BaseEstimator):  # type: ignore[misc]
    """An encoder and a CRF, or a softmax, on top: what `BiLSTMCRF` and `TransformerCRF` share."""

    scheme: str | None
    on_illegal: str
    label_weights: Any
    patience: int | None
    random_state: int
    device: str
    verbose: bool | int
    callbacks: Sequence[Callback]
    warm_start: bool

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
        log: Path | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from labelled sentences.

        Arguments:
            X: sentences: a `Corpus`, or lists of tokens.
            y: labels of each sentence; left out where X is a corpus with tags. None for an unknown label, a set for one
                of several.
            X_dev, y_dev: sentences to be scored after each epoch; the best weights by them are kept.
            sample_weight: how much each sentence counts, ``[B]``.
            checkpoint: a file to write the state of training to after each epoch.
            resume: go on from that file where it exists; the numbers are those of a run that was never stopped.
            log: a file to append a line of JSON to after each epoch.
            progress: called with (batches done, of how many, mean loss) a few times a second.

        Ctrl-C ends training: the network keeps the best weights so far, and `stop_reason_` is "interrupted".
        """
        X, dev = as_sentences(X), self._dev(X_dev, y_dev)
        descent = self._descent()
        corpus, labelled = tokens_as_corpus(X), read_labels(X, y)
        match_lengths(corpus.offsets, labelled)
        sizes = check_sample_weight(sample_weight, len(corpus))
        before: Network | None = self.network_ if self.warm_start and hasattr(self, "network_") else None
        scheme = scheme_of(labelled, self.scheme)
        labels, rules = self._labels(labelled, scheme, before)
        labelled, kept, notes = settle(labelled, rules, scheme, labels, self.on_illegal)
        kept = kept[np.diff(labelled.bounds)[kept] > 0]
        if sizes is not None:
            kept = kept[sizes[kept] > 0]
        if not len(kept):
            raise InputError(f"y: expected sentences to learn from, got none; {notes[0] if notes else 'X is empty'}")
        corpus, labelled = corpus.take(kept.tolist()), _taken(labelled, kept)
        labels, rules = self._labels(labelled, scheme, before)  # of what is left and what was repaired
        torch.manual_seed(self.random_state)
        network = before or self._new(corpus, labels, scheme, rules)
        weights = sentence_weights(None if sizes is None else sizes[kept], self.label_weights, labelled, labels)
        tags = np.maximum(numbered(labelled, labels), 0).astype(np.int64)
        sets = allowed_labels(labelled, labels)
        examples = Examples(network.coder.read(corpus), tags, sets, weights, labelled.bounds)
        held = None if dev is None else DevScore(network.coder.read(dev[0]), dev[1])
        task = TaggingTask(network, examples, self._rates(network.tagger), held)
        told: tuple[Callback, ...] = (lambda done: print(done.line(), file=sys.stderr),) if self.verbose else ()
        trained = train(
            task,
            descent,
            callbacks=(*told, *self.callbacks),
            checkpoint=checkpoint,
            resume=resume,
            log=log,
            progress=progress,
        )
        network.tagger.eval()
        self.network_, self.training_log_ = network, trained.history
        last = trained.history[-1].loss if trained.history else float("nan")
        self.training_ = Facts(len(corpus), len(trained.history), last, trained.reason, tuple(notes))
        return self

    # What a kind of tagger says.

    def _make(self, corpus: Corpus, num_labels: int, rules: Rules | None) -> tuple[Coder, Tagger]:
        """What turns sentences into numbers, and the network that is to learn from these."""
        raise NotImplementedError

    def _rates(self, tagger: Tagger) -> Mapping[str, float]:
        """What multiplies the learning rate, by the beginning of the names of parameters."""
        return {}

    # The rest.

    def _descent(self) -> Descent:
        return Descent(**{name: getattr(self, name) for name in DESCENT}, seed=self.random_state)

    def _dev(self, X: Any, y: Any) -> tuple[Corpus, LabelledTokens] | None:
        if X is None and y is None:
            if self.patience is not None:
                raise InputError("patience: expected a dev set to be patient with, got none; pass X_dev and y_dev")
            return None
        X = as_sentences(X)
        if X is None or (y is None and not isinstance(X, Corpus)):
            raise InputError("X_dev, y_dev: expected both or neither, got one")
        corpus, labelled = tokens_as_corpus(X), read_labels(X, y)
        match_lengths(corpus.offsets, labelled)
        return corpus, labelled

    def _labels(
        self, labelled: LabelledTokens, scheme: str | None, before: Network | None
    ) -> tuple[list[str], Rules | None]:
        labels = complete_labels(used_labels(labelled), scheme)
        if not labels:
            raise InputError("y: expected at least one sentence with a known label, got none")
        if before is not None:
            if new := sorted(set(labels) - set(before.labels)):
                raise InputError(
                    f"y: expected labels that the network has, with warm_start, got {', '.join(new)}; fit a new model"
                )
            labels = list(before.labels)
        return labels, None if scheme is None else legal(labels, scheme)

    def _new(self, corpus: Corpus, labels: list[str], scheme: str | None, rules: Rules | None) -> Network:
        coder, tagger = self._make(corpus, len(labels), rules)
        return Network(tuple(labels), scheme, coder, tagger.to(device_of(self.device)))

    @property
    def labels_(self) -> list[str]:  # type: ignore[override]
        """The labels, sorted."""
        return list(self._fitted().labels)

    @property
    def classes_(self) -> list[str]:
        """The labels, under the name that scikit-learn uses."""
        return self.labels_

    @property
    def scheme_name(self) -> str | None:
        """The tag scheme whose rules hold; None for no rules."""
        return self._fitted().scheme

    @property
    def stop_reason_(self) -> str:
        """Why training stopped, in words."""
        self._fitted()
        return self.training_.reason

    @property
    def notes_(self) -> list[str]:
        """What was repaired or dropped."""
        self._fitted()
        return list(self.training_.notes)

    def summary(self) -> NetworkSummary:
        """Return the model in a few numbers."""
        return NetworkSummary.of(self.kind, self._fitted(), self.training_)

    def explain(self, sentence: Any, *, known: Any = None) -> Explanation:
        """Say for each token of a sentence which words made its label win over the runner-up.

        The difference of the emissions is dealt out to the words of the sentence by gradient × input; what is left
        (biases, and what is not linear) is named so. Transitions, start and end stand for themselves.

        Arguments:
            sentence: one, as in X.
            known: labels of this sentence that are known.
        """
        network, X = self._fitted(), as_sentences([sentence])
        corpus = tokens_as_corpus(X)
        words = corpus.tokens[0] if len(corpus) else []
        chains = list(self._chains(X, None if known is None else [known]))
        if not words:
            return Explanation(())
        return explain_chain(chains[0], network.labels, words, inputs_that_told(network, corpus, chains[0]))

    def _chains(self, X: Any, known: Any = None, *, batch_size: int | None = None) -> Iterator[Chain]:  # type: ignore[override]
        network = self._fitted()
        corpus = tokens_as_corpus(as_sentences(X))
        allowed = known_labels(known, network.labels, corpus.offsets)
        done = 0
        for chain in network.chains(network.coder.read(corpus), batch_size):
            N = len(chain.emissions)
            yield chain if allowed is None else constrain(chain, allowed=allowed[done : done + N])
            done += N

    def _fitted(self) -> Network:
        check_is_fitted(self, "network_")
        network: Network = self.network_
        return network

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # sentences are ragged
        tags.input_tags.string = True
        tags.target_tags.required = False  # a corpus brings its tags along
        return tags


def make_head(name: str, size: int, num_labels: int, rules: Rules | None, smoothing: float) -> Head:
    """Return a head by its name, for vectors of this size."""
    if name not in HEADS:
        raise InputError(f"head: expected one of {', '.join(HEADS)}, got {name!r}")
    return HEADS[name](size, num_labels, rules=rules, smoothing=smoothing)


def words_of(corpus: Corpus) -> Column:
    """Return the column of words: the one of that name, or the first."""
    return corpus.column(TOKEN if TOKEN in corpus.columns else corpus.names[0])


def device_of(name: str) -> torch.device:
    """Return where to work: "auto" takes a GPU where PyTorch finds one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f'device: expected "auto", "cpu" or a GPU of this machine, got {name!r} ({error})') from None
    return device


def _taken(labelled: LabelledTokens, kept: IntArray) -> LabelledTokens:
    """The labels of these sentences."""
    rows = rows_of(labelled.bounds, kept)
    bounds = np.concatenate([[0], np.cumsum(np.diff(labelled.bounds)[kept])]).astype(np.int64)
    places = {int(row): place for place, row in enumerate(rows)} if labelled.sets else {}
    sets = {places[n]: some for n, some in labelled.sets.items() if n in places}
    return LabelledTokens(labelled.labels, labelled.ids[rows], sets, bounds)
