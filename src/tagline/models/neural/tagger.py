"""What the neural taggers share: `fit`, chains for every question, explanations, scikit-learn's manners.

A kind of tagger says how it turns sentences into numbers and what network scores them (`_make`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from tagline.checks import check_whole, seed_of
from tagline.errors import InputError, TrainingError
from tagline.messages import message
from tagline.models.answers import ChainModel
from tagline.models.dev_score import check_dev
from tagline.models.explanations import Explanation
from tagline.models.files import Exported, TrainingFacts
from tagline.models.labelled import (
    LabelledTokens,
    Lesson,
    match_lengths,
    prepare,
    read_labels,
    scheme_of,
    used_labels,
    warn_of_forgotten,
)
from tagline.models.networks import NetworkSettings
from tagline.models.neural.explaining import check_size, explain_words
from tagline.models.neural.file import StoredNetwork
from tagline.models.neural.fitting import NetworkDevSet, TaggingTask
from tagline.models.neural.inspection import NetworkViews
from tagline.models.neural.network import Coded, Coder, Network, device_of
from tagline.models.sentences import as_sentences, tokens_as_corpus
from tagline.models.sizes import warn_of_cost
from tagline.nn.heads import Tagger
from tagline.readers.corpus import Corpus
from tagline.readers.rules import Rules
from tagline.settings import check_settings
from tagline.storage import Path
from tagline.training.iteration import Step
from tagline.training.neural.loop import train
from tagline.training.neural.processes import are_several
from tagline.training.neural.settings import Descent
from tagline.training.running.progress import Reporter
from tagline.types import Chain, IntArray

DESCENT = (
    *("epochs", "batch_size", "max_tokens", "optimizer", "learning_rate", "momentum", "weight_decay", "warmup"),
    *("schedule", "clip", "accumulate", "average", "precision", "compile", "patience", "max_seconds"),
)

# Parts of a plan that are of training, not of the network: they may differ from one fit to the next.
MAY_CHANGE = ("dropout", "word_dropout", "smoothing", "freeze_words", "freeze", "checkpointing")


class NeuralTagger(NetworkSettings, NetworkViews, StoredNetwork, ChainModel, BaseEstimator):  # type: ignore[misc]
    """An encoder and a CRF, or a softmax, on top: what `BiLSTMCRF` and `TransformerCRF` share."""

    explains: ClassVar[bool] = True

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_dev: Any = None,
        y_dev: Any = None,
        documents: Any = None,
        documents_dev: Any = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        save_every: float | None = None,
        log: Path | None = None,
        tensorboard: Path | None = None,
        progress: Reporter | None = None,
    ) -> Self:
        """Learn from labelled sentences.

        Arguments:
            X: sentences: a `Corpus`, or lists of tokens.
            y: labels of each sentence; left out where X is a corpus with tags. None for an unknown label, a set for one
                of several.
            X_dev, y_dev: sentences to be scored after each epoch; the best weights by them are kept.
            documents, documents_dev: how many sentences each document has, in order, where a `TransformerCRF` reads
                neighbours as `context`; left out, sentences that begin with -DOCSTART- begin a document.
            sample_weight: how much each sentence counts, ``[B]``.
            checkpoint: a file to write the state of training to after each epoch.
            resume: go on from that file where it exists; the numbers are those of a run that was never stopped.
            save_every: seconds after which it is written within an epoch, too; 0 for after each step.
            log: a file to append a line of JSON to after each epoch.
            tensorboard: a folder for TensorBoard, which must be installed.
            progress: who is told how training goes, a `Reporter`, in the place of what `verbose` shows.

        Ctrl-C ends training: the network keeps the best weights so far, and `stop_reason_` is "interrupted".
        """
        self.check()
        descent, device = self._descent(), device_of(self.device)
        X, y, X_dev = as_sentences(X), as_sentences(y), as_sentences(X_dev)
        dev = self._dev(X_dev, y_dev)
        corpus, labelled = tokens_as_corpus(X), read_labels(X, y)
        match_lengths(corpus.offsets, labelled)
        before: Network | None = self.network_ if self.warm_start and hasattr(self, "network_") else None
        lesson = self._lesson(labelled, sample_weight, before)
        numbers = self._documents(corpus, documents, needed=True)
        corpus = corpus.take(lesson.sentences.tolist())
        if device.type == "cpu" and self.head == "crf":
            warn_of_cost(corpus.num_tokens, len(lesson.labels))
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(descent.seed % 2**64)
            coder, tagger, plan = self._begin(corpus, lesson, before, descent.seed)
        network = Network(tuple(lesson.labels), lesson.scheme, coder, tagger.to(device), plan)
        held = None
        if dev is not None:
            theirs = self._documents(dev[0], documents_dev, needed=True, name="documents_dev")
            held = NetworkDevSet(network, *dev, self._coded(network, dev[0], theirs))
        notes = [*lesson.notes]
        if held is not None and (new := sorted(held.labels - {*lesson.labels})):
            notes.append(message("the dev set has labels that the training data lack, and misses them: {}", _few(new)))
        coded = self._coded(network, corpus, None if numbers is None else numbers[lesson.sentences])
        task = TaggingTask(network, corpus, lesson, self._rates(tagger), held, coded)
        trained = train(
            task,
            descent,
            facts=task.facts(self.kind),
            progress=progress,
            callbacks=self.callbacks,
            verbose=self.verbose,
            checkpoint=checkpoint,
            resume=resume,
            save_every=save_every,
            log=log,
            tensorboard=tensorboard,
        )
        tagger.eval()
        _check_scores(network, corpus, len(trained.history))
        self.network_, self.training_log_ = network, trained.history
        loss = next((done.loss for done in trained.history if done.epoch == trained.best), float("nan"))
        drawn = descent.seed if self.random_state is None else 0
        done = len(trained.history)
        self.training_ = TrainingFacts(len(corpus), done, loss, trained.reason, tuple(notes), seed=drawn)
        self._keep_trained()
        self._record(X, y)
        if dev is not None:
            inputs = {} if documents_dev is None else {"documents": documents_dev}
            self._note_dev(X_dev, y_dev, **inputs)
        return self

    def check(self) -> None:
        """Refuse wrong parameters, as `fit` does before anything else."""
        check_settings(self)
        self._check()
        self._descent()
        device_of(self.device)

    def choices_for(self, corpus: Corpus) -> tuple[dict[str, Any], str]:
        """Return the settings at "auto" that `fit` chooses for a corpus, and why where they are not the usual ones."""
        return {}, ""

    # What a kind of tagger says.

    def _check(self) -> None:
        """Refuse wrong parameters before anything is read."""
        raise NotImplementedError

    def _plan(self, before: Network | None = None) -> dict[str, Any]:
        """What a network is built from, by the estimator's parameters; `before` is what warm_start goes on with."""
        raise NotImplementedError

    def _make(
        self, corpus: Corpus, labels: Sequence[str], rules: Rules | None, seed: int
    ) -> tuple[Coder, Tagger, dict[str, Any]]:
        """What turns sentences into numbers, the network that is to learn from these, and its plan."""
        raise NotImplementedError

    def _rates(self, tagger: Tagger) -> Mapping[str, float]:
        """What multiplies the learning rate, by the beginning of the names of parameters."""
        return {}

    # The rest.

    def _descent(self) -> Descent:
        settings = {name: plain(getattr(self, name)) for name in DESCENT}
        if self.random_state is None and are_several():
            raise InputError("random_state: expected a number for several processes, which plan as one, got None")
        return Descent(**settings, seed=seed_of(self.random_state))

    def _dev(self, X: Any, y: Any) -> tuple[Corpus, LabelledTokens] | None:
        if not check_dev(X, y):
            return None
        corpus, labelled = tokens_as_corpus(X), read_labels(X, y)
        match_lengths(corpus.offsets, labelled)
        if not corpus.num_tokens:
            raise InputError("X_dev: expected at least one token to score, got none; leave it out to train without")
        return corpus, labelled

    def _lesson(self, labelled: LabelledTokens, sample_weight: ArrayLike | None, before: Network | None) -> Lesson:
        """What is learned from; with warm_start, the labels of the network are all there are."""
        scheme = scheme_of(labelled, self.scheme) if before is None or self.scheme != "auto" else before.scheme

        def names(labelled: LabelledTokens) -> list[str]:
            labels = sorted(used_labels(labelled))
            if before is None:
                return labels
            if new := sorted(set(labels) - set(before.labels)):
                raise InputError(
                    "y: expected labels that the network has, with warm_start, got {}; fit a new model", ", ".join(new)
                )
            return list(before.labels) if labels else []

        lesson = prepare(
            labelled,
            scheme=scheme,
            on_illegal=self.on_illegal,
            names=names,
            sample_weight=sample_weight,
            label_weights=self.label_weights,
            skip_empty=True,
        )
        if before is not None:
            warn_of_forgotten(lesson.labelled, before.labels)
        if lesson.labelled.sets and self.smoothing:
            raise InputError("smoothing: expected 0 where labels are unknown or sets, got more")
        return lesson

    def _begin(
        self, corpus: Corpus, lesson: Lesson, before: Network | None, seed: int
    ) -> tuple[Coder, Tagger, dict[str, Any]]:
        """A new network, or one with the weights of the last: a copy, so that a run that fails leaves that as it is."""
        labels, rules = lesson.labels, lesson.rules
        if before is None:
            return self._make(corpus, labels, rules, seed)
        plan = self._plan(before)
        for name, value in plan.items():
            if name not in MAY_CHANGE and value != before.plan[name]:
                raise InputError(
                    "{}: expected {!r}, as it was for the network that warm_start goes on with, got "
                    "{!r}; fit a new model",
                    name,
                    before.plan[name],
                    value,
                )
        plan = {**before.plan, **plan}
        state = {name: value.detach().cpu() for name, value in before.tagger.state_dict().items()}
        return before.coder, self._build(plan, before.coder, len(labels), rules, state), plan

    @property
    def labels_(self) -> list[str]:  # type: ignore[override]
        """The labels, sorted."""
        return list(self._fitted().labels)

    @property
    def scheme_name(self) -> str | None:
        """The tag scheme whose rules hold; None for no rules."""
        return self._fitted().scheme

    @property
    def best_pass_(self) -> Step | None:
        """The epoch with the best dev score, of equals the last; None where there was no dev set."""
        scored = [done for done in self.training_log_ if done.dev_score is not None]
        return max(scored, key=lambda done: (done.dev_score or 0.0, done.epoch), default=None)

    @property
    def kept_pass_(self) -> Step | None:
        """The epoch with the best dev score: a network keeps its weights."""
        return self.best_pass_

    def explain(self, sentence: Any, *, known: Any = None) -> Explanation:  # type: ignore[override]
        """Say for each token of a sentence which words made its label win over the runner-up.

        The difference of the emissions is dealt out to the words of the sentence by integrated gradients; what is left
        (what the network says of nothing) is named so. Transitions, start and end stand for themselves. Each word takes
        gradients of the whole sentence, so that the time grows with the square of the length.

        Arguments:
            sentence: one of up to 256 words, as in X.
            known: labels of this sentence that are known.
        """
        network, X = self._fitted(), as_sentences([sentence])
        corpus = tokens_as_corpus(X)
        words = corpus.tokens[0] if len(corpus) else []
        check_size(len(words))
        chains = list(self.chains(X, known=None if known is None else [known]))
        if not words:
            return Explanation(())
        return explain_words(network, corpus, chains[0])

    def export(self, folder: Path, *, opset: int | None = None, force: bool = False) -> Exported:
        """Write the network as ONNX, with what numbers words and a program that needs onnxruntime and NumPy alone.

        The folder appears whole, or not at all; it has model.onnx, labels.json, a vocabulary or tokenizer, and run.py,
        whose labels are those of `predict`. Where onnxruntime is installed, that is tried on a few sentences. Needs
        ``pip install 'tagline[onnx]'``.

        Arguments:
            folder: a new or an empty one, or one that was exported before.
            opset: the version of ONNX's operators, 18 or newer; the exporter's own when left out.
            force: write into a folder that has other files, too; they stay.
        """
        from tagline.models.neural.export import export_network

        return export_network(self._fitted(), self.kind, folder, self.predict, opset=opset, force=force)

    def _chains(  # type: ignore[override]
        self, X: Any, *, batch_size: int | None = None, documents: Any = None
    ) -> Iterator[Chain]:
        network, corpus = self._fitted(), tokens_as_corpus(X)
        check_whole("batch_size", batch_size, 1, optional=True)
        return network.chains(self._coded(network, corpus, self._documents(corpus, documents)), batch_size)

    def _documents(
        self, corpus: Corpus, documents: Any, *, needed: bool = False, name: str = "documents"
    ) -> IntArray | None:
        """The number of each sentence's document; None where sentences are read alone, as most networks do."""
        if documents is not None:
            raise InputError("{}: expected none, for a {} reads no context, got some", name, type(self).__name__)
        return None

    def _coded(self, network: Network, corpus: Corpus, documents: IntArray | None) -> Coded:
        """Sentences as the network takes them, with their neighbours in these documents."""
        return network.coder.read(corpus)

    def _fitted(self) -> Network:
        check_is_fitted(self, "network_")
        self._refuse_changed()
        network: Network = self.network_
        return network


def _check_scores(network: Network, corpus: Corpus, epochs: int) -> None:
    """Raise where a trained network gives scores that are not finite; the estimator stays as it was then."""
    for value in network.tagger.state_dict().values():
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            break
    else:
        try:
            next(network.chains(network.coder.read(corpus.take([0]))))
            return
        except InputError:
            pass
    raise TrainingError(
        "fit: expected weights and scores that are finite, got others after epoch {}; lower learning_rate, "
        "or raise warmup",
        epochs,
    )


def plain(value: Any) -> Any:
    """Return a number of NumPy's, such as a grid search sets, as Python's own; all else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _few(names: Sequence[str]) -> str:
    """The first of some names."""
    return ", ".join(names[:5]) + (message(" and {} more", len(names) - 5) if len(names) > 5 else "")
