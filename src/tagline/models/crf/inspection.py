"""What a feature CRF has learned, to be looked at: the heaviest features and transitions, all of them, a summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tagline.checks import check_choice
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.messages import message
from tagline.models.crf.extraction import Extraction
from tagline.models.crf.parameters import Parameters
from tagline.models.crf.tables import weight_rows, with_rows
from tagline.models.files import TrainingFacts
from tagline.models.views import (
    FeatureWeight,
    ModelSummary,
    ModelView,
    TransitionWeight,
    chosen_labels,
    fact_line,
    top_places,
)
from tagline.models.weight_tables import WeightRow, as_row, read_rows, write_rows
from tagline.readers.sources import PathLike

if TYPE_CHECKING:
    from tagline.models.crf.tagger import CRFTagger


@dataclass(frozen=True, repr=False)
class CRFSummary(ModelSummary):
    """A model in a few numbers.

    Attributes:
        labels, scheme: what it tells apart, and the tag scheme whose rules hold.
        features: where features come from, in words.
        attributes: how many state attributes have a name, or a number where they were hashed.
        edge_attributes: those that cross with label pairs.
        weights: how many there are, by kind.
        active: how many weights are not 0.
        largest: the largest weight by size.
        training: objective, reason of the end, notes and version, as far as they are known.
        knowledge: what the model was told beside its training data, by name, in words.
    """

    labels: list[str]
    scheme: str | None
    features: str
    attributes: int
    edge_attributes: int
    weights: dict[str, int]
    active: int
    largest: float
    training: dict[str, Any]
    knowledge: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings; `knowledge` only where there is some."""
        facts = super().as_dict()
        return facts if self.knowledge else {name: value for name, value in facts.items() if name != "knowledge"}

    def line(self) -> str:
        """Say in one line what there is."""
        return message(
            "{} labels ({}), {:,} attributes, {:,} weights, {:,} of them not 0",
            len(self.labels),
            self.scheme or message("no tag scheme"),
            self.attributes,
            sum(self.weights.values()),
            self.active,
        )

    def lines(self) -> list[str]:
        """Write a line for each fact but those of training."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.weights.items() if count)
        attributes: object = self.attributes
        if self.edge_attributes:
            attributes = message("{} and {} of edges", self.attributes, self.edge_attributes)
        weights = message(
            "{} ({}), {} of them not 0, the largest {:.4f}",
            sum(self.weights.values()),
            kinds or message("none"),
            self.active,
            self.largest,
        )
        return [
            *super().lines(),
            fact_line("scheme", self.scheme or message("none: every label may follow every other")),
            fact_line("features", self.features),
            *(fact_line(name, words) for name, words in self.knowledge.items()),
            fact_line("attributes", attributes),
            fact_line("weights", weights),
        ]


class CRFViews:
    """The methods of a fitted CRF that show its weights and take them back."""

    training_: TrainingFacts
    _extraction: Extraction
    _first: CRFTagger | None

    def top_features(self, n: int = 20, label: str | None = None, *, lowest: bool = False) -> list[FeatureWeight]:
        """Return the n state features with the largest weights, the largest first.

        Arguments:
            label: only features of this label.
            lowest: the smallest weights instead, what speaks most against a label.
        """
        p = self._fitted()
        s = p.structure
        weights, candidates = p.part("states"), np.arange(len(s.state_labels))
        if label is not None:
            candidates = np.flatnonzero(s.state_labels == _number_of(p, label))
        chosen = top_places(weights, candidates, n, lowest)
        owners = np.searchsorted(s.state_offsets, chosen, side="right") - 1
        return [
            FeatureWeight(float(weights[q]), p.name_of("states", int(a)), p.labels[s.state_labels[q]])
            for q, a in zip(chosen, owners, strict=True)
        ]

    def top_transitions(self, n: int = 20, *, lowest: bool = False) -> list[TransitionWeight]:
        """Return the n transitions with the largest weights, the largest first; with `lowest` the smallest."""
        p = self._fitted()
        pairs, weights = p.structure.transitions, p.part("transitions")
        chosen = top_places(weights, np.arange(len(pairs)), n, lowest)
        return [TransitionWeight(float(weights[q]), p.labels[pairs[q, 0]], p.labels[pairs[q, 1]]) for q in chosen]

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        """The weight of each (attribute, label), as sklearn-crfsuite has it."""
        p = self._fitted()
        s = p.structure
        owners = np.repeat(np.arange(s.num_attributes), np.diff(s.state_offsets)).tolist()
        names = {a: p.name_of("states", a) for a in dict.fromkeys(owners)}
        rows = zip(owners, s.state_labels.tolist(), p.part("states").tolist(), strict=True)
        return {(names[a], p.labels[label]): weight for a, label, weight in rows}

    @property
    def transition_features_(self) -> dict[tuple[str, str], float]:
        """The weight of each (previous label, label)."""
        p = self._fitted()
        rows = zip(p.structure.transitions.tolist(), p.part("transitions").tolist(), strict=True)
        return {(p.labels[before], p.labels[label]): weight for (before, label), weight in rows}

    @property
    def attributes_(self) -> list[str]:
        """The names of the state attributes, by number; of hashed ones those with weights, as ``#7``."""
        p = self._fitted()
        if p.states is not None:
            return p.states.names()
        return [p.name_of("states", int(a)) for a in np.flatnonzero(np.diff(p.structure.state_offsets))]

    @property
    def num_attributes_(self) -> int:
        """How many state attributes there are."""
        p = self._fitted()
        return len(self.attributes_) if p.states is None else len(p.states)

    def plot_transitions(self, path: PathLike | None = None, *, ax: Any = None) -> Any:
        """Draw the weights of the transitions as a heat map; needs the extra ``plot``.

        Arguments:
            path: of a file to write (.png, .svg or .pdf); None to write none.
            ax: axes of matplotlib to draw into; new ones where left out.

        Returns:
            The axes.
        """
        from tagline.evaluation.plots import plot_transitions

        p = self._fitted()
        return plot_transitions(p.labels, p.matrix(), path, ax=ax)

    def weights_table(self) -> list[WeightRow]:
        """List all weights that are not 0 as rows (kind, attribute, previous, label, weight), float32."""
        return weight_rows(self._fitted())

    def write_weights(self, path: PathLike) -> None:
        """Write the table of weights: JSON lines where the name ends in ``.jsonl`` or ``.json``, else CSV."""
        write_rows(self.weights_table(), path)

    def with_weights(self, table: Iterable[WeightRow | Mapping[str, Any]]) -> Self:
        """Return a copy of the model with the weights of a table; what is not in it is 0.

        A row may be changed, left out, or new, where the model knows its attribute and labels.
        """
        rows = ((message("row {}", n), as_row(row, message("row {}", n))) for n, row in enumerate(table))
        return self._with(with_rows(self._fitted(), rows))

    def apply_edits(self, path: PathLike) -> Self:
        """Return a copy of the model with the weights of a file that `write_weights` wrote and somebody edited."""
        return self._with(with_rows(self._fitted(), read_rows(path)))

    def summary(self) -> CRFSummary:
        """Count labels, attributes and weights, and say how the model was trained."""
        summary = summary_of(self._fitted(), described(self._extraction), self.training_.as_dict())
        return replace(summary, knowledge=told(self._extraction, self._first))

    def view(self, top: int = 5, labels: Sequence[str] | None = None) -> ModelView:
        """Return what speaks most for each label, and which transitions are liked most and least.

        Arguments:
            top: features of each label, and transitions.
            labels: whose features are shown; all when left out.
        """
        p = self._fitted()
        return ModelView(
            self.summary(),
            {
                label: [feature for feature in self.top_features(top, label) if feature.weight > 0]
                for label in chosen_labels(labels, p.labels)
            },
            [pair for pair in self.top_transitions(top) if pair.weight > 0],
            [pair for pair in self.top_transitions(top, lowest=True) if pair.weight < 0],
        )

    def _fitted(self) -> Parameters:
        raise NotImplementedError

    def _with(self, parameters: Parameters) -> Self:
        raise NotImplementedError


def described(extraction: Extraction) -> str:
    """Say in words where features come from."""
    words = message("given by the caller")
    if extraction.template is not None:
        template = extraction.template
        words = message("template {}, {} lines", template.source, len(template.lines))
    elif extraction.function is not None:
        name = getattr(extraction.function, "__qualname__", extraction.function)
        words = message("function {}", name)
    return words if extraction.hash_bits is None else message("{}, hashed to {} bits", words, extraction.hash_bits)


def told(extraction: Extraction, first: CRFTagger | None = None) -> dict[str, str]:
    """Say in words what a model was told beside its training data, and which other sentences it looks at.

    Arguments:
        first: the model of a first stage.
    """
    knowledge, template, words = extraction.knowledge, extraction.template, {}
    if knowledge.clusters:
        words["clusters"] = ", ".join(
            message("{:,} of {:,} words", len(table.names), len(table)) for table in knowledge.clusters
        )
    if (vectors := knowledge.vectors) is not None:
        words["vectors"] = message("{} numbers for each of {:,} words", vectors.size, len(vectors.words))
    words |= phrases_told(extraction.dictionary)
    if template is not None and template.num_mentions:
        words["mentions"] = message("up to {} others of a word in its document", template.num_mentions)
    if first is not None:
        words["stages"] = message("2, the first of {:,} attributes", first.parameters_.structure.num_attributes)
    return words


def phrases_told(dictionary: Dictionary | None) -> dict[str, str]:
    """Say in words which phrases a model was told."""
    if dictionary is None:
        return {}
    return {
        "dictionary": message(
            "{:,} phrases, types {}, {}", len(dictionary), ", ".join(dictionary.types), dictionary.priority
        )
    }


def summary_of(parameters: Parameters, features: str, training: dict[str, Any]) -> CRFSummary:
    """Count what a model has."""
    s, weights = parameters.structure, parameters.weights
    return CRFSummary(
        list(parameters.labels),
        parameters.scheme,
        features,
        s.num_attributes,
        len(s.edge_offsets) - 1,
        {name: part.stop - part.start for name, part in s.parts.items()},
        int(np.count_nonzero(weights)),
        float(np.abs(weights).max(initial=0.0)),
        training,
    )


def _number_of(parameters: Parameters, label: str) -> int:
    check_choice("label", label, parameters.labels)
    return parameters.labels.index(label)
