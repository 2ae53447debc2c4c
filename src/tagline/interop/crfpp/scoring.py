"""Sentences to chains by the weights of a CRF++ model file, in CRF++'s own arithmetic.

The weights of a token's features are added up in float32, in the order of the template's lines, and everything else is
float64: so the probabilities of crf_test come out to the last printed digit. Every question goes to the chain engine.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tagline.features.attributes import Attributes
from tagline.features.expansion import expand
from tagline.features.vocabulary import Vocabulary
from tagline.interop.crfpp.column_file import BYTES
from tagline.interop.crfpp.model import CRFPPModel
from tagline.interop.crfpp.templates import bigram_of, template_of, without_returns
from tagline.ragged import blocks_of
from tagline.readers.corpus import Corpus
from tagline.types import Chain, FloatArray

MOST_CELLS = 1 << 22  # scores of a block


class Scoring:
    """The weights of a model file, ready for sentences.

    Arguments:
        model: what the file holds.
        source: its name, for messages.

    Attributes:
        labels: L names, as text of bytes (`tagline.interop.crfpp.column_file.BYTES`).
        template: its lines.
        cost_factor: every score is multiplied by it.
    """

    def __init__(self, model: CRFPPModel, source: str) -> None:
        self.model, self.cost_factor = model, 1.0
        self.labels = [label.decode(BYTES) for label in model.labels]
        self.template = template_of([line.decode(BYTES) for line in model.template], model.xsize, source)
        keys = without_returns([key.decode(BYTES) for key in model.keys], source)
        self._weights = np.asarray(model.weights, np.float32)
        edges = int(model.is_edge.sum())  # B comes before U
        self._edge_names, self._state_names = Vocabulary.of(keys[:edges]), Vocabulary.of(keys[edges:])
        self._edge_ids, self._state_ids = model.ids[:edges], model.ids[edges:]

    def chains(self, corpus: Corpus) -> Iterator[Chain]:
        """Score sentences, block by block."""
        L = len(self.labels)
        each = L * L if self.template.has_edges else L
        for first, last in blocks_of(corpus.offsets, max(1, MOST_CELLS // each)):
            yield self.chain(corpus[first:last])

    def chain(self, corpus: Corpus) -> Chain:
        """Score sentences; where B lines have macros, the transitions are ``[N, L, L]``."""
        L = len(self.labels)
        features = expand(self.template, corpus, (self._state_names, self._edge_names)).features
        emissions = np.zeros((features.num_tokens, L), np.float32)
        self._add(emissions, features.states, self._state_ids)
        transitions = self._bigrams()
        if features.edges is not None:
            transitions = np.repeat(transitions[None], features.num_tokens, axis=0)
            self._add(transitions, features.edges, self._edge_ids)
        ends = np.zeros(L)
        scaled = [self.cost_factor * np.asarray(scores, np.float64) for scores in (emissions, transitions)]
        return Chain(scaled[0], scaled[1], ends, ends, features.offsets)

    def _bigrams(self) -> NDArray[np.float32]:
        """The weights of the first B line without macros, ``[L, L]``."""
        L = len(self.labels)
        bigram = bigram_of(self.template)
        number = -1 if bigram is None else self._edge_names.find(bigram)
        if number < 0:
            return np.zeros((L, L), np.float32)
        begin = int(self._edge_ids[number])
        return self._weights[begin : begin + L * L].reshape(L, L).copy()

    def _add(self, scores: FloatArray, attributes: Attributes, ids: NDArray[np.int32]) -> None:
        """Add the weights of the tokens' attributes, the first of each token first."""
        if not len(ids):
            return
        cells = scores[0].size if len(scores) else 1
        windows = np.lib.stride_tricks.sliding_window_view(self._weights, cells)
        counts = np.diff(attributes.offsets)
        for k in range(int(counts.max(initial=0))):
            tokens = np.flatnonzero(counts > k)
            begins = ids[attributes.ids[attributes.offsets[tokens] + k]]
            scores[tokens] += windows[begins].reshape(len(tokens), *scores.shape[1:])
