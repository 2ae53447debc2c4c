"""`CRFTagger`: what a feature CRF has learned, and all that it answers; `CRF` adds how it is learned.

Sentences become chains here, for the questions of `tagline.models.answers`. `tagline tag` loads a file as this class,
which needs no scikit-learn: to import that takes as long as to tag ten megabytes of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import replace
from itertools import repeat
from typing import Any, ClassVar, Self

import numpy as np

from tagline import storage
from tagline.chain import constrain
from tagline.chain.second_order import PairChain, SecondOrderChain, Triples
from tagline.checks import is_listing
from tagline.errors import InputError
from tagline.features.attributes import Attributes, Features
from tagline.features.documents import COLUMNS, document_columns, document_numbers, document_sizes
from tagline.features.local_scores import LocalScorer
from tagline.features.templates.wording import legend, meanings
from tagline.features.vectors import VectorScorer
from tagline.features.weights import Scorer
from tagline.features.word_scores import NumberedTemplate, WordScorer
from tagline.messages import message
from tagline.models.answers import ChainModel
from tagline.models.contract import Input
from tagline.models.crf.chains import feature_chains, word_chains
from tagline.models.crf.explaining import explain
from tagline.models.crf.extraction import Extraction
from tagline.models.crf.file import SavedCRF, unpack
from tagline.models.crf.parameters import Parameters
from tagline.models.crf.second_order import Pruner, Pruning, SecondOrderQuestions, explain_second_order, triples_of
from tagline.models.explanations import Explanation
from tagline.models.files import TrainingFacts, reading
from tagline.models.known import constrained
from tagline.models.labelled import read_labels
from tagline.models.questions import Questions
from tagline.models.sentences import as_sentences, sized, tokens_as_corpus
from tagline.readers.corpus import TAG, Corpus
from tagline.types import BoolArray, Chain, IntArray

BY_CHARACTER = ("chinese_ner", "segmentation")  # ready-made sets whose tokens are characters
MOST_NAMES = 50_000  # attributes that are looked at for tokens


class CRFTagger(ChainModel):
    """A feature CRF that has been fitted."""

    kind: ClassVar[str] = "crf"
    explains: ClassVar[bool] = True
    scorer_class: ClassVar[type[Scorer]] = Scorer
    parameters_: Parameters
    training_: TrainingFacts
    _extraction: Extraction
    _scorer: Scorer
    _words: WordScorer | None
    _vectors: VectorScorer | None
    _first: CRFTagger | None
    _triples: Triples | None = None
    _pruner: CRFTagger | None = None

    @classmethod
    def from_file(cls, file: storage.ModelFile) -> Self:
        """Make the tagger of a file that was read."""
        saved = unpack(file)
        with reading(file):
            return cls._of(saved)

    @classmethod
    def _of(cls, saved: SavedCRF) -> Self:
        """Make the tagger of what a file holds, and that of a first stage."""
        out, first = cls(), None if saved.first is None else CRFTagger._of(saved.first)
        out._take_over(saved.parameters, saved.extraction(), saved.training, first)
        return out

    def _take_over(
        self,
        parameters: Parameters,
        extraction: Extraction,
        training: TrainingFacts,
        first: CRFTagger | None = None,
    ) -> None:
        """Take over what was learned."""
        self._first = first
        p, template = parameters, extraction.looking
        self.parameters_, self.training_, self._extraction = p, training, extraction
        self._triples = self._pruner = None
        self._questions = Questions
        if p.order == 2:
            self._triples, self._questions = triples_of(p), SecondOrderQuestions
        if p.pruner is not None:
            self._pruner = CRFTagger()
            self._pruner._take_over(p.first_order(), extraction, training)
        structure = p.structure.first_order
        self._scorer = self.scorer_class(structure, p.weights[: structure.size], p.rules)
        self._words = None
        if template is not None and not len(p.structure.edge_pairs):
            numbered = NumberedTemplate(template, self._scorer, p.states, extraction.hash_bits)
            self._words = WordScorer(numbered) if numbered.suits else None
        self._vectors = None
        vectors = extraction.knowledge.vectors
        if template is not None and vectors is not None and p.states is not None and self._words is not None:
            self._vectors = VectorScorer(template.vector_lines, vectors, p.states, p.structure, p.part("states"))

    def _fitted(self) -> Parameters:
        return self.parameters_

    @property
    def labels_(self) -> list[str]:  # type: ignore[override]
        """The labels, sorted."""
        return list(self._fitted().labels)

    @property
    def input_(self) -> Input:
        """The columns that the template looks at; only with a template can the model read words."""
        self._fitted()
        template, dictionary = self._extraction.template, self._extraction.dictionary
        if template is None:
            return Input(
                refusal=message(
                    "expected a model that was trained with a template, got one whose features a program makes"
                )
            )
        matches = dictionary is not None and dictionary.priority == "feature"
        by_character = template.source.removesuffix(".txt") in BY_CHARACTER
        added = matches if self._first is None else len(COLUMNS)
        columns = max(1, template.num_columns - added)
        return Input(columns, template.source, by_character, documents=self._reads_documents)

    @property
    def _reads_documents(self) -> bool:
        """Whether what it says of a sentence depends on the others of its document."""
        template = self._extraction.template
        return self._first is not None or (template is not None and template.num_mentions > 0)

    def known_tokens(self) -> list[str]:
        """Return tokens that attributes of the template's plainest line name; none where names were hashed away."""
        names, template = self._fitted().states, self._extraction.template
        if names is None or template is None:
            return []
        for line in template.states:
            prefix = line.literals[0]
            if line.text == f"{prefix}%x[0,0]":
                return [name.removeprefix(prefix) for name in names.names(MOST_NAMES) if name.startswith(prefix)]
        return []

    def _documented(self, X: Any, documents: Any) -> Any:
        """Return sentences with what their documents say of words: a first stage, and other mentions."""
        self._fitted()
        if not self._reads_documents:
            if documents is None:
                return X
            raise InputError(
                "documents: expected None for a model of one stage that looks at no other mentions, got some; train it "
                "with stages=2 or mentions=2"
            )
        if _is_empty(X):
            return X
        if self._first is not None:
            X, documents = self._first.labelled_documents(X, self.input_.columns, documents)
        return self._extraction.documented(X, documents, known=True)

    def labelled_documents(self, X: Any, width: int, documents: Any) -> tuple[Corpus, IntArray]:
        """Label documents for a second stage: return their first columns with those of labels, and their sizes."""
        corpus = tokens_as_corpus(X, width)
        numbers = document_numbers(corpus, documents)
        sizes = document_sizes(numbers)
        labels = self.predict(corpus, **({"documents": sizes} if self.input_.documents else {}))
        return document_columns(corpus, width, labels, self.parameters_.scheme, numbers), sizes

    def _chains(self, X: Any, edges: Any = None) -> Iterator[Chain]:  # type: ignore[override]
        """Score sentences that have what their documents say of words, by the model without its triples."""
        p, dictionary = self._fitted(), self._extraction.dictionary
        self._extraction.refuse_edges(edges)
        if self._words is None or _is_empty(X):
            chains = feature_chains(self._scorer, self._look_up(X, edges))
        else:
            chains = word_chains(self._words, self._scorer, self._extraction.corpus(X, known=True), self._vectors)
        if dictionary is None or dictionary.priority != "over" or _is_empty(X):
            return chains
        return _bound(chains, dictionary.allowed(tokens_as_corpus(X), p.labels, str(p.scheme)))

    def _scored(  # type: ignore[override]
        self, X: Any, *, known: Any = None, edges: Any = None, documents: Any = None
    ) -> Iterator[Any]:
        X = self._documented(as_sentences(X), documents)
        return (self._first_order if self._triples is None else self._second_order)(X, known, edges)

    def _first_order(self, X: Any, known: Any, edges: Any = None) -> Iterator[Chain]:
        """Score documented sentences, kept to what is known."""
        chains = self._chains(X, edges)
        return chains if known is None else constrained(chains, known, self._names(), sized(X))

    def _second_order(self, X: Any, known: Any, edges: Any = None) -> Iterator[SecondOrderChain]:
        """Score documented sentences, with the labels that the first-order model and what is known leave."""
        assert self._triples is not None
        pruner = Pruner(self._fitted().prune)
        coarse: Iterator[Chain | None] = repeat(None)
        if self._pruner is not None:
            coarse = self._pruner._first_order(X, known, edges)
        for chain, first in zip(self._first_order(X, known, edges), coarse, strict=False):
            left = chain if first is None else constrain(chain, allowed=pruner.allowed(first))
            yield SecondOrderChain(left, self._triples)

    def chains(self, X: Any, *, known: Any = None, **inputs: Any) -> Iterator[Chain]:
        """Score sentences: blocks of them as `Chain` over `labels_`, in their order.

        Of a second-order model, one sentence after the other as `tagline.chain.second_order.PairChain`, a chain over
        pairs of labels.

        Arguments:
            X, known: as for `predict`.
        """
        blocks = self._scored(X, known=known, **inputs)
        if self._triples is None:
            return blocks
        return (PairChain(block, b) for block in blocks for b in range(block.num_sentences))

    def pruning(self, X: Any, y: Any = None, **inputs: Any) -> Pruning:
        """Say how many labels the first-order model leaves to a token, and what that costs.

        Arguments:
            X: sentences, as for `fit`.
            y: their labels, to count how often the right one is pruned; left out where X is a corpus with tags, or
                where they are not known.
        """
        p = self._fitted()
        if self._pruner is None:
            raise InputError("pruning: expected a second-order model with prune above 0, got one that prunes nothing")
        X, pruner = as_sentences(X), Pruner(p.prune)
        kept = [np.zeros((0, len(p.labels)), np.bool_)]
        documented = self._documented(X, inputs.pop("documents", None))
        kept += [pruner.allowed(chain) for chain in self._pruner._chains(documented, inputs.pop("edges", None))]
        gold = y is not None or (isinstance(X, Corpus) and TAG in X.columns)
        if gold:
            labelled = read_labels(X, as_sentences(y))
            numbers = {label: number for number, label in enumerate(p.labels)}
            ids = np.array([*(numbers.get(label, -1) for label in labelled.labels), -1])[labelled.ids]
            left = np.concatenate(kept)
            if len(left) != len(ids):
                raise InputError("y: expected {} labels, one a token, got {}", len(left), len(ids))
            known = labelled.ids >= 0
            pruner.gold_pruned = int((~left[np.arange(len(ids)), ids] | (ids < 0))[known].sum())
        return pruner.report(len(p.labels), gold)

    def _look_up(self, X: Any, edges: Any) -> Features:
        """The attributes of sentences that the model knows."""
        p = self._fitted()
        if _is_empty(X):
            return Features(np.zeros(1, np.int64), Attributes(np.zeros(1, np.int64), np.zeros(0, np.int32)))
        features = self._extraction.look_up(X, (p.states, p.edges), as_sentences(edges)).features
        return features if len(p.structure.edge_pairs) else Features(features.offsets, features.states)

    @property
    def _finishes(self) -> bool:  # type: ignore[override]
        dictionary = self._extraction.dictionary
        return dictionary is not None and dictionary.priority == "under"

    def _finished(self, X: Any, labellings: list[list[str]], known: Any = None) -> list[list[str]]:
        """Add the matches of a dictionary of priority "under" where the model says O, and nothing else is known."""
        dictionary = self._extraction.dictionary
        if dictionary is None or not labellings:
            return labellings
        held = None
        if known is not None:
            rows = ([None] * len(labels) if row is None else row for row, labels in zip(known, labellings, strict=True))
            held = np.array([label is not None for row in rows for label in row], np.bool_)
        filled = dictionary.fill(tokens_as_corpus(X), labellings, str(self.parameters_.scheme), held=held)
        assert isinstance(filled, list)
        return filled

    def explain(  # type: ignore[override]
        self, sentence: Any, *, known: Any = None, edges: Any = None, documents: Any = None
    ) -> Explanation:
        """Say for each token of a sentence which features and transitions made its label win over the runner-up.

        The runner-up is the label, other than the predicted one, with the best labelling through it.

        Arguments:
            sentence: one, as in X.
            known, edges: of this sentence.
            documents: where the model reads documents, the sentences of the one that this sentence is in; it is
                explained where it first stands among them, or behind them where it does not.
        """
        p, X = self._fitted(), as_sentences([sentence])
        edge_rows = None if edges is None else [edges]
        X = self._documented(X, None) if documents is None else self._placed(X, documents)
        features = self._look_up(X, edge_rows)
        words = [str(t) for t in range(features.num_tokens)]
        if self._extraction.way is not None:
            words = tokens_as_corpus(X).tokens[0]
        template = self._extraction.template
        scorer = self._scorer
        if self._triples is not None:
            why = explain_second_order(p, next(self._second_order(X, [known], edge_rows)), features, words)
        else:
            chain = next(self._first_order(X, [known], edge_rows))
            normalisers = scorer.normalisers(features) if isinstance(scorer, LocalScorer) else None
            why = explain(p, chain, features, words, normalisers)
        return why if template is None else replace(why, meanings=meanings(template))

    def _placed(self, X: Any, documents: Any) -> Corpus:
        """Return one sentence with what its document says of its words."""
        width = self.input_.columns
        own, rest = tokens_as_corpus(X, width), tokens_as_corpus(as_sentences(documents), width)
        names = [name for name in own.names if name != TAG][:width]
        sentence = [own[0].columns[name] for name in names]
        if len([name for name in rest.names if name != TAG]) < len(names):
            raise InputError("documents: expected sentences with the columns {}, got others", ", ".join(names))
        rows = [list(other.columns.values())[: len(names)] for other in rest]
        place = rows.index(sentence) if sentence in rows else len(rows)
        if place == len(rows):
            rows.append(sentence)
        whole = Corpus.from_sentences([dict(zip(names, row, strict=True)) for row in rows])
        documented: Corpus = self._documented(whole, [len(rows)])
        return documented.take([place])

    def legend(self, explanation: Explanation, most: int = 5) -> list[str]:
        """Say in words what the template's lines look at that the first `most` terms of each token come from."""
        names = [term.name for token in explanation.tokens for term in token.contributions[:most] if term.name]
        template = self._extraction.template
        return [] if template is None else legend(template, names)


class MEMMTagger(CRFTagger):
    """A maximum-entropy Markov model that has been fitted."""

    kind: ClassVar[str] = "memm"
    scorer_class: ClassVar[type[Scorer]] = LocalScorer


class MaxEntTagger(CRFTagger):
    """A maximum-entropy classifier of tokens that has been fitted; its chains have no weights of transitions."""

    kind: ClassVar[str] = "maxent"


def _is_empty(X: Any) -> bool:
    return is_listing(X) and isinstance(X, Sized) and not len(X)


def _bound(chains: Iterator[Chain], allowed: BoolArray) -> Iterator[Chain]:
    """Forbid what a dictionary does not allow, ``[N, L]``."""
    done = 0
    for chain in chains:
        yield constrain(chain, allowed=allowed[done : done + chain.num_tokens])
        done += chain.num_tokens
