"""What an HMM has learned, to be looked at: what states emit, how they follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagline.checks import check_choice, check_whole, shown_value
from tagline.messages import message
from tagline.models.files import TrainingFacts
from tagline.models.hmm.emissions import Categorical, Emission
from tagline.models.hmm.parameters import HMMParameters
from tagline.models.views import (
    FeatureWeight,
    ModelSummary,
    ModelView,
    TransitionWeight,
    chosen_labels,
    fact_line,
    top_places,
    top_transitions,
)
from tagline.models.weight_tables import WeightRow, write_rows
from tagline.readers.sources import PathLike

MOST_NUMBERS = 8  # of one state's parameter that are shown


@dataclass(frozen=True, repr=False)
class HMMSummary(ModelSummary):
    """A model in a few numbers.

    Attributes:
        labels, scheme: its states, and the tag scheme whose rules hold.
        emission: the family, in words.
        symbols: how many there are; None where emissions have none.
        parameters: how many numbers are free.
        forbidden: transitions of probability 0.
        states: of emissions without symbols, the parameters of each state, by name.
        training: objective, reason of the end, notes and version, as far as they are known.
    """

    labels: list[str]
    scheme: str | None
    emission: str
    symbols: int | None
    parameters: int
    forbidden: int
    states: dict[str, dict[str, Any]]
    training: dict[str, Any]

    def line(self) -> str:
        """Say in one line what there is."""
        known = message("{:,} parameters", self.parameters)
        if self.symbols is not None:
            known = message("{:,} symbols, {}", self.symbols, known)
        return message("{} labels ({}), {}", len(self.labels), self.scheme or message("no tag scheme"), known)

    def lines(self) -> list[str]:
        """Write a line for each fact but those of training and of each state."""
        emission = self.emission
        if self.symbols is not None:
            emission = message("{}, {} symbols", emission, self.symbols)
        parameters = message(
            "{}; {} of {} transitions have probability 0", self.parameters, self.forbidden, len(self.labels) ** 2
        )
        return [
            *super().lines(),
            fact_line("scheme", self.scheme or message("none: every label may follow every other")),
            fact_line("emission", emission),
            fact_line("parameters", parameters),
        ]

    def text(self) -> str:
        """Write a line for each fact."""
        lines = []
        for label, parameters in self.states.items():
            shown = "  ".join(f"{name} {_shown(value)}" for name, value in parameters.items())
            lines.append(f"{message('state {}', label)}  {shown}\n")
        return super().text() + "".join(lines)


class HMMViews:
    """The methods of a fitted HMM that show its parameters."""

    training_: TrainingFacts

    def top_features(self, n: int = 20, label: Any = None, *, lowest: bool = False) -> list[FeatureWeight]:
        """Return the n symbols with the largest probabilities, `weight` being log p(symbol | state), largest first.

        Arguments:
            label: of this state only.
            lowest: the smallest probabilities above 0 instead.
        """
        p = self._fitted()
        if label is not None:
            check_choice("label", shown_value(label) if isinstance(label, int | np.integer) else label, p.labels)
        check_whole("n", n, 0, wanted=message("0 or more"))
        if not isinstance(p.emission, Categorical) or p.symbols is None:
            return []
        logs = p.emission.log_table()  # [V, K]
        shown = np.isfinite(logs)
        if label is not None:
            shown &= np.arange(p.num_states) == p.labels.index(str(label))
        places = top_places(logs.ravel(), np.flatnonzero(shown), n, lowest)
        pairs = zip(*np.divmod(places, p.num_states), strict=True)
        return [FeatureWeight(float(logs[v, k]), str(p.symbols.values[v]), p.labels[k]) for v, k in pairs]

    def top_transitions(self, n: int = 20, *, lowest: bool = False) -> list[TransitionWeight]:
        """Return the n transitions with the largest log probabilities, the largest first; or the smallest above −∞."""
        p = self._fitted()
        return top_transitions(p.labels, p.log_transitions, n, lowest)

    def weights_table(self) -> list[WeightRow]:
        """List log probabilities as rows (kind, attribute, previous, label, weight); those of −∞ are left out."""
        p = self._fitted()
        rows = [
            WeightRow("state", feature.attribute, None, feature.label, feature.weight)
            for feature in self.top_features(p.num_states * (0 if p.symbols is None else len(p.symbols)))
        ]
        pairs = self.top_transitions(p.num_states**2)
        rows += [WeightRow("transition", None, pair.previous, pair.label, pair.weight) for pair in pairs]
        starts = zip(p.labels, p.log_start.tolist(), strict=True)
        return rows + [WeightRow("start", None, None, label, weight) for label, weight in starts if np.isfinite(weight)]

    def write_weights(self, path: PathLike) -> None:
        """Write the table of log probabilities: JSON lines where the name ends in ``.jsonl`` or ``.json``, else CSV."""
        write_rows(self.weights_table(), path)

    def plot_transitions(self, path: PathLike | None = None, *, ax: Any = None) -> Any:
        """Draw the probabilities of the transitions as a heat map; needs the extra ``plot``.

        Arguments:
            path: of a file to write (.png, .svg or .pdf); None to write none.
            ax: axes of matplotlib to draw into; new ones where left out.

        Returns:
            The axes.
        """
        from tagline.evaluation.plots import plot_transitions

        p = self._fitted()
        return plot_transitions(p.labels, p.transitions, path, ax=ax, meaning="probability")

    def plot_states(self, X: Any, path: PathLike | None = None, *, ax: Any = None, **inputs: Any) -> Any:
        """Draw observations with the most probable states as bands of colour; needs the extra ``plot``.

        Arguments:
            X, inputs: observations, as for `predict`.
            path: of a file to write (.png, .svg or .pdf); None to write none.
            ax: axes of matplotlib to draw into; new ones where left out.

        Returns:
            The axes.
        """
        from tagline.drawing.charts import plot_states

        model: Any = self
        p = self._fitted()
        observed = model._observe(X, **{"lengths": None, **inputs})
        found = model.predict(X, **inputs)
        rows = [found] if observed.flat else found
        numbers = {label: k for k, label in enumerate(model.labels_)}
        states = np.array([numbers[state] for row in rows for state in np.asarray(row).tolist()], np.int64)
        symbols = None if p.symbols is None else [str(symbol) for symbol in p.symbols.values]
        names = [str(name) for name in getattr(model, "feature_names_in_", ())]  # of a data frame
        look = {"offsets": observed.offsets, "names": names, "symbols": symbols}
        return plot_states(observed.values, states, p.labels, path, ax=ax, **look)

    def summary(self) -> HMMSummary:
        """Count states, symbols and parameters, and say how the model was trained."""
        p = self._fitted()
        return HMMSummary(
            list(p.labels),
            p.scheme,
            _described(p.emission) + (f" of {', '.join(p.layout.columns)}" if p.layout.columns else ""),
            None if p.symbols is None else len(p.symbols),
            p.num_parameters(),
            int((p.transitions == 0).sum()),
            {} if p.symbols is not None else {label: _state(p.emission, k) for k, label in enumerate(p.labels)},
            self.training_.as_dict(),
        )

    def view(self, top: int = 5, labels: Sequence[str] | None = None) -> ModelView:
        """Return what each state emits most often, and the most and the least probable transitions.

        Arguments:
            top: words of each state, and transitions.
            labels: whose words are shown; all when left out.
        """
        words = {label: self.top_features(top, label) for label in chosen_labels(labels, self._fitted().labels)}
        transitions, avoided = self.top_transitions(top), self.top_transitions(top, lowest=True)
        return ModelView(self.summary(), words, transitions, avoided, logarithms=True)

    def known_tokens(self) -> list[str]:
        """The words that the model has seen; none where emissions are not words."""
        p = self._fitted()
        return [] if p.symbols is None else [symbol for symbol in p.symbols.values if isinstance(symbol, str)]

    def _fitted(self) -> HMMParameters:
        raise NotImplementedError


def _described(emission: Emission) -> str:
    kind = getattr(emission, "covariance", None)
    unseen = getattr(emission, "unseen", None)
    words = emission.family
    if kind:
        words = message("{} ({} covariance)", words, kind)
    if unseen is not None and unseen.any():
        return message("{}, some probability kept for unseen symbols", words)
    return words


def _state(emission: Emission, k: int) -> dict[str, Any]:
    """The parameters of one state, as plain numbers and lists."""
    state = emission.states([k])
    return {name: np.asarray(getattr(state, name)).tolist() for name in emission.parameters}


def _shown(value: Any) -> str:
    flat = np.ravel(value)
    rest = message(" … {} more", flat.size - MOST_NUMBERS) if flat.size > MOST_NUMBERS else ""
    return "[" + " ".join(f"{number:.4g}" for number in flat[:MOST_NUMBERS]) + rest + "]"
