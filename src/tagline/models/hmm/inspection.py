"""What an HMM has learned, to be looked at: what states emit, how they follow one another."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.models.crf.file import Facts
from tagline.models.crf.inspection import FeatureWeight, TransitionWeight
from tagline.models.crf.tables import WeightRow, write_rows
from tagline.models.emissions import Categorical, Emission
from tagline.models.hmm.parameters import HMMParameters
from tagline.readers.sources import PathLike

MOST_NUMBERS = 8  # of one state's parameter that are shown


@dataclass(frozen=True)
class HMMSummary:
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

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return asdict(self)

    def line(self) -> str:
        """Say in one line what there is."""
        known = "" if self.symbols is None else f"{self.symbols:,} symbols, "
        return f"{len(self.labels)} labels ({self.scheme or 'no tag scheme'}), {known}{self.parameters:,} parameters"

    def text(self) -> str:
        """Write a line for each fact."""
        K = len(self.labels)
        lines = [
            f"labels      {K}: {' '.join(self.labels)}",
            f"scheme      {self.scheme or 'none: every label may follow every other'}",
            f"emission    {self.emission}" + ("" if self.symbols is None else f", {self.symbols} symbols"),
            f"parameters  {self.parameters}; {self.forbidden} of {K * K} transitions have probability 0",
        ]
        lines += [f"{name:10}  {value}" for name, value in self.training.items() if value not in (None, [])]
        for label, parameters in self.states.items():
            shown = "  ".join(f"{name} {_shown(value)}" for name, value in parameters.items())
            lines.append(f"state {label}  {shown}")
        return "\n".join(lines) + "\n"


class HMMInspection:
    """The methods of a fitted HMM that show its parameters."""

    training_: Facts

    def top_features(self, n: int = 20, label: Any = None, *, lowest: bool = False) -> list[FeatureWeight]:
        """Return the n symbols with the largest probabilities, `weight` being log p(symbol | state), largest first.

        Arguments:
            label: of this state only.
            lowest: the smallest probabilities above 0 instead.
        """
        p = self._fitted()
        if n < 0:
            raise InputError(f"n: expected 0 or more, got {n}")
        if label is not None and str(label) not in p.labels:
            raise InputError(f"label: expected one of {', '.join(p.labels)}, got {label!r}")
        if not isinstance(p.emission, Categorical) or p.symbols is None:
            return []
        logs = p.emission.log_table()  # [V, K]
        kept = np.isfinite(logs)
        if label is not None:
            kept &= np.arange(p.num_states) == p.labels.index(str(label))
        places = np.flatnonzero(kept)
        order = np.argsort(logs.flat[places] if lowest else -logs.flat[places], kind="stable")[:n]
        found = zip(*np.divmod(places[order], p.num_states), strict=True)
        return [FeatureWeight(float(logs[v, k]), str(p.symbols.values[v]), p.labels[k]) for v, k in found]

    def top_transitions(self, n: int = 20, *, lowest: bool = False) -> list[TransitionWeight]:
        """Return the n transitions with the largest log probabilities, the largest first; or the smallest above −∞."""
        p = self._fitted()
        if n < 0:
            raise InputError(f"n: expected 0 or more, got {n}")
        logs = p.log_transitions.ravel()
        places = np.flatnonzero(np.isfinite(logs))
        order = np.argsort(logs[places] if lowest else -logs[places], kind="stable")[:n]
        return [
            TransitionWeight(float(logs[q]), p.labels[q // p.num_states], p.labels[q % p.num_states])
            for q in places[order]
        ]

    def weights_table(self) -> list[WeightRow]:
        """List log probabilities as rows (kind, attribute, previous, label, weight); those of −∞ are left out."""
        p = self._fitted()
        rows = [
            WeightRow("state", one.attribute, None, one.label, one.weight)
            for one in self.top_features(p.num_states * (0 if p.symbols is None else len(p.symbols)))
        ]
        moves = self.top_transitions(p.num_states**2)
        rows += [WeightRow("transition", None, one.previous, one.label, one.weight) for one in moves]
        starts = zip(p.labels, p.log_start.tolist(), strict=True)
        return rows + [WeightRow("start", None, None, one, weight) for one, weight in starts if np.isfinite(weight)]

    def write_weights(self, path: PathLike) -> None:
        """Write the table of log probabilities: JSON lines where the name ends in ``.jsonl`` or ``.json``, else CSV."""
        write_rows(self.weights_table(), path)

    def plot_transitions(self, path: PathLike) -> None:
        """Draw the probabilities of the transitions as a heat map, saved as PNG; needs the extra ``plot``."""
        from tagline.evaluation.plots import plot_transitions

        p = self._fitted()
        plot_transitions(p.labels, p.transitions, path)

    def summary(self) -> HMMSummary:
        """Count states, symbols and parameters, and say how the model was trained."""
        p = self._fitted()
        return HMMSummary(
            list(p.labels),
            p.scheme,
            _described(p.emission),
            None if p.symbols is None else len(p.symbols),
            p.num_parameters(),
            int((p.transitions == 0).sum()),
            {} if p.symbols is not None else {label: _state(p.emission, k) for k, label in enumerate(p.labels)},
            self.training_.as_dict(),
        )

    def known_tokens(self) -> list[str]:
        """The words that the model has seen; none where emissions are not words."""
        p = self._fitted()
        return [] if p.symbols is None else [symbol for symbol in p.symbols.values if isinstance(symbol, str)]

    def _fitted(self) -> HMMParameters:
        raise NotImplementedError


def _described(emission: Emission) -> str:
    kind = getattr(emission, "covariance", None)
    unseen = getattr(emission, "unseen", None)
    rest = ", some probability kept for unseen symbols" if unseen is not None and unseen.any() else ""
    return emission.family + (f" ({kind} covariance)" if kind else "") + rest


def _state(emission: Emission, k: int) -> dict[str, Any]:
    """The parameters of one state, as plain numbers and lists."""
    one = emission.states([k])
    return {name: np.asarray(getattr(one, name)).tolist() for name in emission.parameters}


def _shown(value: Any) -> str:
    flat = np.ravel(value)
    rest = f" … {flat.size - MOST_NUMBERS} more" if flat.size > MOST_NUMBERS else ""
    return "[" + " ".join(f"{number:.4g}" for number in flat[:MOST_NUMBERS]) + rest + "]"
