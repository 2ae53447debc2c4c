"""How many states there are: models of several sizes, learned from the same observations and compared by a criterion.

AIC = −2 log P(O) + 2 p and BIC = −2 log P(O) + p log N, with p free parameters and N observations; the lowest is the
best (Akaike 1974, Schwarz 1978). More states always explain the observations better; the second term asks its price.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sklearn.base import clone  # type: ignore[import-untyped]

from tagline.checks import check_choice, check_whole, is_listing, shown_value
from tagline.errors import InputError
from tagline.readers.sources import PathLike

CRITERIA = ("bic", "aic")


@dataclass(frozen=True)
class Candidate:
    """A model of so many states, in numbers."""

    states: int
    log_likelihood: float
    parameters: int
    aic: float
    bic: float
    steps: int
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Models of several sizes, compared.

    Attributes:
        criterion: by which the best was chosen.
        candidates: one a number of states, in their order.
        models: by the number of states, fitted.
    """

    criterion: str
    candidates: tuple[Candidate, ...]
    models: Mapping[int, Any]

    @property
    def best_n_states_(self) -> int:
        """The number of states with the lowest criterion; of equals the first."""
        return min(self.candidates, key=lambda candidate: getattr(candidate, self.criterion)).states

    @property
    def best_(self) -> Any:
        """The `HMM` of that size, fitted."""
        return self.models[self.best_n_states_]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        rows = [asdict(candidate) for candidate in self.candidates]
        return {"criterion": self.criterion, "best": self.best_n_states_, "candidates": rows}

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("", "states", "log P(O)", "parameters", "AIC", "BIC", "steps", "stopped")]
        for c in self.candidates:
            mark = "→" if c.states == self.best_n_states_ else ""
            numbers = (f"{c.log_likelihood:.1f}", str(c.parameters), f"{c.aic:.1f}", f"{c.bic:.1f}", str(c.steps))
            rows.append((mark, str(c.states), *numbers, c.reason))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for mark, *cells, reason in rows:
            aligned = [f"{cell:>{width}}" for cell, width in zip(cells, widths[1:-1], strict=True)]
            lines.append("  ".join([f"{mark:{widths[0]}}", *aligned, reason]).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("states", "log P(O)", "parameters", "AIC", "BIC", "steps"))
        rows = []
        for c in self.candidates:
            cells = (c.states, f"{c.log_likelihood:.1f}", c.parameters, f"{c.aic:.1f}", f"{c.bic:.1f}", c.steps)
            style = ' style="font-weight: bold"' if c.states == self.best_n_states_ else ""
            rows.append(f"<tr{style}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

    def plot(self, path: PathLike | None = None, *, ax: Any = None) -> Any:
        """Draw the criteria by the number of states, the chosen one marked; needs the extra ``plot``.

        Arguments:
            path: of a file to write (.png, .svg or .pdf); None to write none.
            ax: axes of matplotlib to draw into; new ones where left out.

        Returns:
            The axes.
        """
        from tagline.evaluation.plots import plot_criteria

        states = [candidate.states for candidate in self.candidates]
        curves = {name.upper(): [getattr(c, name) for c in self.candidates] for name in CRITERIA}
        return plot_criteria(states, curves, self.criterion.upper(), path, ax=ax)


def select_states(model: Any, X: Any, states: Iterable[int], criterion: str, inputs: Mapping[str, Any]) -> Selection:
    """Fit a copy of an estimator for each number of states; see `HMM.select`.

    Arguments:
        inputs: `lengths` and `groups`, as for `fit`.
    """
    check_choice("criterion", criterion, CRITERIA)
    if not is_listing(states):
        raise InputError("states: expected numbers of states such as range(1, 9), got {}", shown_value(states))
    sizes = list(states)
    for size in sizes:
        check_whole("states", size, 1)
    if not sizes or len(set(sizes)) < len(sizes):
        raise InputError("states: expected numbers of states, each once, got {}", shown_value(sizes))
    if not isinstance(model.emission, str):
        raise InputError("emission: expected the name of a family, as the number of states varies, got parameters")
    models, candidates = {}, []
    for size in sizes:
        fitted = clone(model).set_params(n_states=int(size)).fit(X, **inputs)
        models[int(size)] = fitted
        aic, count = fitted.aic(X, **inputs), fitted.num_free_parameters()
        likelihood = (2 * count - aic) / 2
        facts = fitted.training_
        candidates.append(
            Candidate(int(size), likelihood, count, aic, fitted.bic(X, **inputs), facts.passes, facts.reason)
        )
    return Selection(criterion, tuple(candidates), models)
