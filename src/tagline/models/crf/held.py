"""The dev set of a feature CRF: sentences that are held out in training and scored after each pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagline import chain as engine
from tagline.chain import second_order
from tagline.chain.second_order import SecondOrderChain
from tagline.features.attributes import Features
from tagline.features.weights import Scorer
from tagline.models.crf.chains import feature_chains
from tagline.models.crf.extraction import Extraction
from tagline.models.crf.parameters import Parameters
from tagline.models.crf.raising import kept_labels
from tagline.models.crf.second_order import Pruner, triples_of
from tagline.models.dev_score import DevSet
from tagline.models.labelled import match_lengths, read_labels
from tagline.training.running.checkpoints import checksum
from tagline.types import Float64Array, IntArray

if TYPE_CHECKING:
    from tagline.models.crf.fitting import Sentences


class HeldSentences:
    """A dev set, whose features are looked up once."""

    def __init__(
        self, dev: Sentences, extraction: Extraction, start: Parameters, scorer_class: type[Scorer] = Scorer
    ) -> None:
        labelled = read_labels(dev.X, dev.y)
        features = extraction.look_up(dev.X, (start.states, start.edges), dev.edges).features
        linked = len(start.structure.edge_pairs) > 0
        self._features = features if linked else Features(features.offsets, features.states)
        match_lengths(self._features.offsets, labelled)
        self._set = DevSet(labelled, start.labels)
        structure = start.structure.first_order
        self._scorer = scorer_class(structure, start.weights[: structure.size], start.rules)
        self.begin(start)

    def begin(self, start: Parameters) -> None:
        """Take over what is learned from: its structure, and what prunes it."""
        self._start, self._kept = start, None
        if start.pruner is not None:
            coarse = self._scorer.with_weights(start.pruner)
            self._kept = kept_labels(Pruner(start.prune), coarse, self._features)

    def score(self, weights: Float64Array) -> float:
        """Score weights."""
        size = self._start.structure.first_order.size
        chains = feature_chains(self._scorer.with_weights(weights[:size]), self._features)
        if self._start.order == 1:
            return self._set.score(chains)
        triples, done = triples_of(replace(self._start, weights=weights)), 0
        best: list[IntArray] = []
        for chain in chains:
            if self._kept is not None:
                chain = engine.constrain(chain, allowed=self._kept[done : done + chain.num_tokens])
            best.append(second_order.viterbi(SecondOrderChain(chain, triples)).labels)
            done += chain.num_tokens
        return self._set.score_labels(best)

    def mark(self) -> str:
        """Return a checksum of sentences and labels."""
        features, gold = self._features, self._set.gold
        labels = "\n".join(gold.vocabulary).encode(errors="surrogatepass")
        return checksum(*feature_arrays(features), gold.ids, np.frombuffer(labels, np.uint8))


def feature_arrays(features: Features) -> list[NDArray[Any] | None]:
    """Return the arrays of features, for a checksum."""
    arrays: list[NDArray[Any] | None] = [features.offsets]
    for part in (features.states, features.edges):
        if part is not None:
            arrays += [part.offsets, part.ids, part.values]
    return arrays
