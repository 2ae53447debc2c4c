"""Doors for our own files: models of every kind that needs no PyTorch, and compiled corpora."""

from __future__ import annotations

import contextlib
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tagline import CRF, HMM, MEMM, Corpus, Dictionary, MaxEnt, SemiCRF, TrigramTagger, load, storage
from tagline import chain as engine
from tagline.errors import TaglineError
from tagline.models.crf.compilation import CompiledCorpus, compile_corpus
from tests.fuzz.doors.base import Door, ensure, largest, one_in
from tests.fuzz.packed import Packed, sealed

WORDS = [["Anna", "sees", "Rome"], ["Bob", "in", "New", "York"], [], ["Bob"], ["Anna", "sees", "Rome"]]
TAGS = [["B-PER", "O", "B-LOC"], ["B-PER", "O", "B-LOC", "I-LOC"], [], ["B-PER"], ["B-PER", "O", "B-LOC"]]
TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0:shape]\nB\nB01:%x[0,0]\n"
ITEMS = [[{"word": word, "length": float(len(word)), "first": t == 0} for t, word in enumerate(x)] for x in WORDS]


def questions(model: Any, X: Any) -> list[Callable[[], Any]]:
    """Everything that is asked of a model that was loaded."""
    return [
        lambda: repr(model),
        lambda: (model.summary().as_dict(), model.summary().text()),
        lambda: model.view(3),
        lambda: model.view(3, model.labels_[:1]),
        lambda: (model.scheme_name, model.input_, model.known_tokens(), model.notes_, model.stop_reason_),
        lambda: model.predict(X),
        lambda: check_probabilities(model, X),
        lambda: model.predict_k_best(X, 3),
        lambda: model.predict_spans(X),
        lambda: model.predict_samples(X, 2, seed=1),
        lambda: model.entropy(X),
        lambda: model.legend(model.explain(X[0])),
        lambda: pickle.loads(pickle.dumps(model)).predict(X[:1]),
    ]


def check_probabilities(model: Any, X: Any) -> None:
    """Raise where probabilities are none."""
    for chain in model.chains(X):
        nodes = engine.marginals(chain).nodes
        ensure(bool(np.isfinite(nodes).all() and (nodes >= 0).all()), "marginals that are no numbers, or below 0")
        if largest(chain) > 1e9:  # differences are lost in rounding
            continue
        ensure(bool((np.abs(nodes.sum(-1) - 1) < 1e-4).all()), "marginals that do not add up to 1")
        best, log_z = engine.viterbi(chain).scores, engine.log_partition(chain)
        ensure(bool((best <= log_z + 1e-6 * (1 + np.abs(log_z))).all()), "a labelling of more than all the probability")
        for paths in engine.k_best(chain, 3):
            ensure(float(paths.probabilities.sum()) < 1 + 1e-6, "labellings of more than all the probability")
            ensure(bool((np.diff(paths.scores) <= 0).all()), "labellings out of order")


class Models(Door):
    """Model files, as `tagline.load` takes them."""

    X: Any = WORDS

    def models(self) -> list[Any]:
        """Return fitted models."""
        raise NotImplementedError

    def valid(self) -> list[bytes]:
        files = []
        for model in self.models():
            model.save(f"{self.scratch}/seed")
            files.append(Path(self.scratch, "seed").read_bytes())
        self.packed = Packed(files)
        return files

    def draw(self, random: Random) -> bytes:
        return self.packed.damaged(random)

    def mended(self, data: bytes) -> bytes:
        return sealed(data)

    def sentences(self, model: Any) -> Any:
        """Return what a model is asked about."""
        return self.X

    def use(self, data: bytes) -> None:
        model = load(self.file(data))
        X = self.sentences(model)
        asked = questions(model, X)
        for number in range(3):
            with contextlib.suppress(TaglineError):
                asked[(zlib.crc32(data) + 5 * number) % len(asked)]()
        if one_in(8, data):
            self.save_and_compare(model, X)

    def save_and_compare(self, model: Any, X: Any) -> None:
        """Write a model that was loaded: what is read again gives the same answers."""
        try:
            model.save(f"{self.scratch}/again")
            again = load(f"{self.scratch}/again")
        finally:
            self.remove("again")
        ensure(again.predict(X) == model.predict(X), "other labels after saving and loading")


class TemplateModels(Models):
    """CRFs with templates: names or hashes, rules, a dictionary."""

    name = "crf"

    def models(self) -> list[Any]:
        places = Dictionary({"Rome": "LOC", "New York": "LOC"})
        return [
            CRF(TEMPLATE, max_iterations=3).fit(WORDS, TAGS),
            CRF(TEMPLATE, hash_bits=5, max_iterations=3, scheme=None).fit(WORDS, TAGS),
            CRF("U0:%x[0,0]\nU1:%x[0,1]\n", dictionary=places, max_iterations=3, start_end=False).fit(WORDS, TAGS),
        ]


class LocalModels(Models):
    """MEMMs and maximum-entropy classifiers."""

    name = "memm"

    def models(self) -> list[Any]:
        return [
            MEMM(TEMPLATE, max_iterations=3).fit(WORDS, TAGS),
            MEMM(TEMPLATE, max_iterations=3, scheme=None, hash_bits=5).fit(WORDS, TAGS),
            MaxEnt("U0:%x[0,0]\n", max_iterations=3).fit(WORDS, TAGS),
        ]


class SegmentModels(Models):
    """Semi-CRFs: all attributes of segments, one alone, a dictionary."""

    name = "semicrf"

    def models(self) -> list[Any]:
        places = Dictionary({"Rome": "LOC", "New York": "LOC"})
        plain, some = "U0:%x[0,0]\n", {"max_iterations": 3, "scheme": "IOB2"}
        return [
            SemiCRF(plain, dictionary=places, **some).fit(WORDS, TAGS),
            SemiCRF(plain, segment_features=("string",), max_length=4, **some).fit(WORDS, TAGS),
        ]


class ItemModels(Models):
    """CRFs of features that users give as dicts."""

    name = "crf-items"
    X = ITEMS

    def models(self) -> list[Any]:
        edges = [[{"e": 1.0}] * len(x) for x in WORDS]
        return [
            CRF(max_iterations=3).fit(ITEMS, TAGS),
            CRF(max_iterations=3, hash_bits=4).fit(ITEMS, TAGS),
            CRF(max_iterations=3, all_possible_transitions=True).fit(ITEMS, TAGS, edges=edges),
        ]


class CountedHMMs(Models):
    """HMMs of words and of integers."""

    name = "hmm"

    def models(self) -> list[Any]:
        return [
            HMM().fit(WORDS, TAGS),
            HMM(scheme=None).fit(WORDS, TAGS),
            HMM(3, max_iterations=2, random_state=0).fit([[0, 1, 2, 0], [1, 1], [2]]),
        ]

    def sentences(self, model: Any) -> Any:
        numbers = getattr(model.parameters_, "symbols", None)
        if numbers is not None and all(isinstance(symbol, int) for symbol in numbers.values):
            return [[0, 1, 2], [1], []]
        return WORDS


class DensityHMMs(Models):
    """HMMs of vectors: every family of emissions."""

    name = "hmm-vectors"

    def models(self) -> list[Any]:
        random = np.random.default_rng(3)
        real = [random.normal(size=(5, 2)), random.normal(size=(4, 2))]
        counts = [random.poisson(3, size=(5, 2)), random.poisson(3, size=(4, 2))]
        bits = [(rows > 0).astype(int) for rows in real]
        some: dict[str, Any] = {"max_iterations": 2, "random_state": 0}
        gaussians = [
            HMM(2, emission="gaussian", emission_options={"covariance": kind}, **some).fit(real)
            for kind in ("full", "diag", "spherical", "tied")
        ]
        return [
            *gaussians,
            HMM(2, emission="mixture", **some).fit(real),
            HMM(2, emission="poisson", **some).fit(counts),
            HMM(2, emission="bernoulli", **some).fit(bits),
            HMM(2, emission="multinomial", **some).fit(counts),
        ]

    def sentences(self, model: Any) -> Any:
        return [np.array([[0, 1], [1, 0], [1, 1]]), np.array([[1, 1]])]


class TrigramModels(Models):
    """Trigram taggers."""

    name = "trigram"

    def models(self) -> list[Any]:
        return [TrigramTagger().fit(WORDS, TAGS), TrigramTagger(capitals=False, rare=1).fit(WORDS, TAGS)]


class CompiledCorpora(Door):
    """Compiled corpora, opened and learned from."""

    name = "compiled"

    def valid(self) -> list[bytes]:
        corpus = Corpus.from_sentences([(x, y) for x, y in zip(WORDS, TAGS, strict=True) if x])
        files = []
        for template, bits in ((TEMPLATE, None), (TEMPLATE, 4), ("U0:%x[0,0]\n", None)):
            compile_corpus([corpus[:2], corpus[2:]], f"{self.scratch}/seed", template, hash_bits=bits)
            files.append(Path(self.scratch, "seed").read_bytes())
        self.packed = Packed(files)
        return files

    def draw(self, random: Random) -> bytes:
        return self.packed.damaged(random)

    def mended(self, data: bytes) -> bytes:
        return sealed(data)

    def use(self, data: bytes) -> None:
        compiled = CompiledCorpus.open(self.file(data))
        repr(compiled), len(compiled), compiled.num_tokens
        bits = storage.read(compiled.path, verify=False).config.get("hash_bits")
        model = CRF(compiled.template, hash_bits=bits, max_iterations=2, scheme=None)
        model.fit(compiled)
        check_probabilities(model, WORDS)


DOORS = (
    TemplateModels,
    LocalModels,
    SegmentModels,
    ItemModels,
    CountedHMMs,
    DensityHMMs,
    TrigramModels,
    CompiledCorpora,
)
