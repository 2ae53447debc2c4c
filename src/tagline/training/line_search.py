"""How far to go along a direction: few evaluations, each of them a whole pass over the data.

`wolfe` looks for a step with sufficient decrease and a flatter descent (the Wolfe conditions), by safeguarded cubic
interpolation; a quasi-Newton direction nearly always has them at its first trial. `backtrack` only shortens, until
the objective decreases (Armijo). Near the optimum the decrease drowns in the rounding of the objective, while gradients
are still good: values within `noise` count as equal there, and the slope or the gradient decides (Hager & Zhang 2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

DECREASE = 1e-4  # share of the decrease that the slope promises
CURVATURE = 0.9  # share of the first slope
NOISE = 1e-5  # share of the value; it is about 1e-6 for a float32 likelihood of CoNLL-2000 near its optimum


@dataclass(frozen=True)
class Trial:
    """What one evaluation along a direction found.

    Attributes:
        step: how far along.
        value: of the objective with its penalties; +∞ where it is no number.
        slope: its derivative along the direction.
        decrease: what the (pseudo-)gradient at the start promises for this change of the weights; negative.
        gradient_norm: at the trial.
    """

    step: float
    value: float
    slope: float
    decrease: float = 0.0
    gradient_norm: float = math.inf


Evaluate: TypeAlias = Callable[[float], Trial]


def wolfe(
    evaluate: Evaluate, value: float, slope: float, step: float, *, noise: float = NOISE, most: int = 20
) -> Trial | None:
    """Find a step that satisfies the Wolfe conditions, so that s·y > 0.

    Arguments:
        evaluate: tries a step; the one that is returned was the last to be evaluated.
        value, slope: where the direction starts; the slope is negative.
        step: the first trial.
        noise: of the objective, as a share of its value.
        most: evaluations; one more where only sufficient decrease was found.

    Returns None where no trial decreases the objective.
    """
    slack = noise * abs(value)
    low, before, high = Trial(0.0, value, slope), Trial(0.0, value, slope), None
    for _ in range(most):
        trial = evaluate(step)
        bound = value + DECREASE * step * slope
        if not (math.isfinite(trial.slope) and trial.value <= bound + slack):
            high = trial
        elif trial.slope < CURVATURE * slope:
            low, before = trial, low
        elif trial.value <= bound or trial.slope <= -CURVATURE * slope:
            return trial
        else:
            high = trial
        if high is None:
            step = _beyond(before, low)
            continue
        step = _between(low, high, slack)
        if high.step - low.step <= 1e-12 * high.step:
            break
    return evaluate(low.step) if low.value <= value + DECREASE * low.step * slope < value else None


def _beyond(before: Trial, low: Trial) -> float:
    """Return a step further downhill: where a line through two slopes is 0, at most ten times as far."""
    gap = low.step - before.step
    bend = low.slope - before.slope
    ahead = -gap * low.slope / bend if bend > 0 else math.inf
    return low.step + min(max(ahead, 0.5 * gap), 9 * low.step)


def _between(low: Trial, high: Trial, slack: float) -> float:
    """Guess the minimum between two trials, not too close to either."""
    width = high.step - low.step
    share = 0.25
    if math.isfinite(high.value) and math.isfinite(high.slope):
        if abs(high.value - low.value) > slack:
            share = _cubic(width, low, high)
            if high.value > low.value:  # a parabola through three of the four numbers keeps closer to the lower end
                parabola = -low.slope * width / (2 * (high.value - low.value - low.slope * width))
                share = min(share, (share + parabola) / 2)
        elif high.slope > 0:
            share = low.slope / (low.slope - high.slope)
    return low.step + width * min(max(share, 0.01), 0.9)


def _cubic(width: float, low: Trial, high: Trial) -> float:
    """Return where the cubic through both values and slopes has its minimum, as a share of the way."""
    middle = low.slope + high.slope - 3 * (high.value - low.value) / width
    scale = max(abs(middle), abs(low.slope), abs(high.slope))
    square = (middle / scale) ** 2 - (low.slope / scale) * (high.slope / scale)
    if not square >= 0:
        return 0.5
    root = scale * math.sqrt(square)
    below = high.slope - low.slope + 2 * root
    return 1 - (high.slope + root - middle) / below if below > 0 else 0.5


def backtrack(
    evaluate: Evaluate, value: float, gradient_norm: float, step: float, *, noise: float = NOISE, most: int = 20
) -> Trial | None:
    """Shorten a step until the objective decreases as promised; None where it never does.

    Arguments:
        evaluate: tries a step; the one that is returned was the last to be evaluated.
        value, gradient_norm: where the direction starts.
        step, noise, most: as for `wolfe`.
    """
    slack = noise * abs(value)
    for _ in range(most):
        trial = evaluate(step)
        lower = trial.value < value and trial.value <= value + DECREASE * trial.decrease
        flatter = trial.value <= value + slack and trial.gradient_norm < gradient_norm
        if math.isfinite(trial.gradient_norm) and (lower or flatter):
            return trial
        rise = trial.value - value - trial.decrease
        share = -trial.decrease / (2 * rise) if math.isfinite(rise) and rise > 0 else 0.1
        step *= min(max(share, 0.1), 0.5)
    return None
