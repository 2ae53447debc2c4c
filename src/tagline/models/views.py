"""What there is to see of a model: its heaviest features and transitions, beside a summary in numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.checks import check_whole, is_listing, shown_value
from tagline.drawing.result_tables import Readable
from tagline.errors import InputError, visible
from tagline.messages import ENGLISH, cells, language, message
from tagline.models.contract import Summary
from tagline.models.provenance import log_line
from tagline.training.certificate import relative_gap

MOST_LETTERS = 80  # of one setting, in the repr of a model


def called(model: Any) -> str:
    """Write how an estimator was made: its settings that are not their defaults, as scikit-learn does, but short."""
    if not hasattr(model, "get_params"):  # what only answers
        return f"{type(model).__name__}()"
    defaults = {name: given.default for name, given in signature(type(model).__init__).parameters.items()}
    settings = model.get_params(deep=False).items()
    changed = [(name, value) for name, value in settings if repr(value) != repr(defaults.get(name))]
    return f"{type(model).__name__}({', '.join(f'{name}={_brief(value)}' for name, value in changed)})"


def _brief(value: Any) -> str:
    """A value on one line; a text of many lines, such as a template, by their number."""
    if isinstance(value, str) and "\n" in value:
        return f"<text of {len(value.splitlines())} lines>"
    text = visible(" ".join(repr(value).split()) if "\n" in repr(value) else repr(value))
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


@dataclass(frozen=True)
class FeatureWeight:
    """A state feature: an attribute together with a label."""

    weight: float
    attribute: str
    label: str

    def __str__(self) -> str:
        return f"{self.weight:+9.4f}  {self.label}  {self.attribute}"


@dataclass(frozen=True)
class TransitionWeight:
    """A pair of labels, one after the other."""

    weight: float
    previous: str
    label: str

    def __str__(self) -> str:
        return f"{self.weight:+9.4f}  {self.previous} → {self.label}"


def chosen_labels(labels: Any, known: Sequence[str]) -> Sequence[Any]:
    """The labels that were asked for, or all."""
    if labels is not None and not is_listing(labels):
        raise InputError("labels: expected a list of labels, or None, got {}", shown_value(labels))
    return list(labels or known) if not isinstance(labels, np.ndarray) else labels.tolist()


def top_places(weights: NDArray[Any], candidates: NDArray[np.int64], n: int, lowest: bool) -> NDArray[np.int64]:
    """Return the n candidates with the largest weights, or the smallest; of equal ones the first."""
    check_whole("n", n, 0, wanted=message("0 or more"))
    order = np.argsort(weights[candidates] if lowest else -weights[candidates], kind="stable")
    return candidates[order[:n]]


def top_transitions(labels: Sequence[str], scores: NDArray[Any], n: int, lowest: bool) -> list[TransitionWeight]:
    """Return the n largest, or smallest, of the finite scores ``[L, L]``."""
    flat = scores.ravel()
    places = top_places(flat, np.flatnonzero(np.isfinite(flat)), n, lowest)
    pairs = [divmod(int(place), len(labels)) for place in places]
    return [TransitionWeight(float(scores[a, b]), labels[a], labels[b]) for a, b in pairs]


@dataclass(frozen=True, repr=False)
class ModelView(Readable):
    """What there is to see of a model.

    Attributes:
        summary: labels, counts, training facts.
        features: for each label the features that speak most for it, or the words that it emits most often.
        transitions, avoided: those with the largest weights, and with the smallest.
        logarithms: whether weights are logarithms of probabilities, which are shown themselves then.
    """

    summary: Summary
    features: dict[str, list[FeatureWeight]] = field(default_factory=dict)
    transitions: list[TransitionWeight] = field(default_factory=list)
    avoided: list[TransitionWeight] = field(default_factory=list)
    logarithms: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return {
            **self.summary.as_dict(),
            "top_features": {
                label: [{"attribute": feature.attribute, "weight": feature.weight} for feature in features]
                for label, features in self.features.items()
            },
            "top_transitions": [asdict(transition) for transition in self.transitions],
            "lowest_transitions": [asdict(transition) for transition in self.avoided],
        }

    def line(self) -> str:
        """Say in one line what there is."""
        return self.summary.line()

    def text(self) -> str:
        """Write it for people."""
        parts = [self.summary.text()]
        for label, features in self.features.items():
            if features:
                title = message("speaks for {}", label)
                if self.logarithms:
                    title = message("probable words of {}", label)
                parts.append(f"\n{title}\n")
                parts += [f"{self._shown(feature.weight)}  {feature.attribute}\n" for feature in features]
        titles = message("transitions most liked"), message("transitions least liked")
        if self.logarithms:
            titles = message("transitions probable"), message("transitions improbable")
        for title, pairs in zip(titles, (self.transitions, self.avoided), strict=True):
            if pairs:
                parts.append(f"\n{title}\n")
                parts += [f"{self._shown(pair.weight)}  {pair.previous} → {pair.label}\n" for pair in pairs]
        return "".join(parts)

    def _shown(self, weight: float) -> str:
        return f"{math.exp(weight):10.6f}" if self.logarithms else f"{weight:+10.4f}"


def training_lines(training: dict[str, Any]) -> list[str]:
    """Write how a model was trained, a line for each fact that is known."""
    lines = []
    for name, value in training.items():
        if name == "user":
            lines += [fact_line("note", f"{key}: {text}") for key, text in value.items()]
        elif name == "log":
            lines.append(fact_line(name, log_line(value)))
        elif name == "dev":
            lines.append(fact_line(name, _scores({key: number for key, number in value.items() if key != "types"})))
            lines += [fact_line("dev", f"{kind}: {_scores(scores)}") for kind, scores in value.get("types", {}).items()]
        elif value not in (None, []) and name != "gap":
            shown = reason_in_words(value) if name == "reason" else value
            lines.append(fact_line("corpus" if name == "fingerprint" else name, shown))
            if name == "objective" and (gap := training.get("gap")) is not None:
                lines.append(fact_line("gap", message("{:.4g}: {}", gap, _proven(gap, value))))
    return lines


_FACTS = {
    "attributes": message("attributes"),
    "clusters": message("clusters"),
    "corpus": message("corpus"),
    "date": message("date"),
    "dev": message("dev"),
    "dictionary": message("dictionary"),
    "emission": message("emission"),
    "endings": message("endings"),
    "features": message("features"),
    "gap": message("gap"),
    "labels": message("labels"),
    "log": message("log"),
    "mentions": message("mentions"),
    "model": message("model"),
    "note": message("note"),
    "notes": message("notes"),
    "objective": message("objective"),
    "parameters": message("parameters"),
    "passes": message("passes"),
    "reason": message("reason"),
    "scheme": message("scheme"),
    "seed": message("seed"),
    "sentences": message("sentences"),
    "stages": message("stages"),
    "tokens": message("tokens"),
    "trigrams": message("trigrams"),
    "vectors": message("vectors"),
    "version": message("version"),
    "weights": message("weights"),
    "words": message("words"),
}


def fact_line(name: str, value: object) -> str:
    """Write a fact of a model under its name: ``labels      4: …``."""
    shown = str(_FACTS.get(name, name))
    return shown + " " * max(2, 12 - cells(shown)) + str(value)


def reason_in_words(reason: str) -> str:
    """Say why training ended, as model files have it; its figures are English alone."""
    known = {
        "callback": message("a callback ended it"),
        "converged": message("converged"),
        "counted": message("counted"),
        "diverged": message("diverged"),
        "epochs": message("all epochs are made"),
        "fell": message("fell"),
        "given": message("given"),
        "interrupted": message("interrupted"),
        "line search failed": message("line search failed"),
        "made of an HMM": message("made of an HMM"),
        "max_iterations": message("the largest number of passes is reached"),
        "passes": message("all passes are made"),
        "patience": message("the dev score no longer rises"),
        "time budget": message("the time is over"),
    }
    word = reason.partition(":")[0].partition(" in pass")[0]
    return known[word] if language() != ENGLISH and word in known else reason


def _proven(gap: float, objective: float) -> str:
    """Say how close an objective is to its optimum at least."""
    within = relative_gap(gap, objective)
    if within is None or math.isinf(within):
        return message("the objective is at most this far from its optimum")
    return message("the objective is proven to be within {:.2g} % of its optimum", 100 * within)


def _scores(numbers: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_number(number)}" for name, number in numbers.items())


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


class ModelSummary(Readable):
    """A model in a few numbers: what the summaries of all kinds, which are dataclasses, have in common."""

    labels: list[str]
    training: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def line(self) -> str:
        """Say in one line what there is."""
        return message("{} labels", len(self.labels))

    def lines(self) -> list[str]:
        """Write a line for each fact but those of training."""
        return [fact_line("labels", f"{len(self.labels)}: {' '.join(self.labels)}")]

    def text(self) -> str:
        """Write a line for each fact."""
        return "\n".join([*self.lines(), *training_lines(self.training)]) + "\n"


@dataclass(frozen=True, repr=False)
class Outline(ModelSummary):
    """What can be said of a model of any kind: its labels, and how it was trained."""

    labels: list[str]
    training: dict[str, Any]
