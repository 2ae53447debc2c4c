"""Are probabilities what they say: of answers given with 0.8, are 8 in 10 right?

Reliability sorts answers into bins of confidence and compares, in each, the mean confidence with the share that is
right. With n_k answers in bin k, ECE = Σ_k (n_k / n)·|accuracy_k − confidence_k| and MCE is the largest gap. Bins are
of equal width, or of equal mass (as many answers in each), which keeps sparse bins from deciding.
Brier = mean squared distance between probabilities and what came true.

Guo et al. (2017), "On Calibration of Modern Neural Networks"; Brier (1950). `temperature.py` repairs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import check_choice, check_whole
from tagline.drawing.result_tables import Readable
from tagline.errors import InputError
from tagline.messages import message
from tagline.types import BoolArray, Float64Array, IntArray

BINNINGS = ("width", "mass")
SUM_TOLERANCE = 1e-3  # rows of float16 were at most 4e-4 off, with 10 to 1,000 labels


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Readable):
    """Confidence against truth, in K bins; empty bins are left out.

    Attributes:
        binning: ``width`` or ``mass``.
        low, high: ``[K]``, the confidences at the ends of each bin.
        count: ``[K]``, int64, answers in each bin.
        confidence: ``[K]``, their mean confidence.
        accuracy: ``[K]``, the share of them that is right.
        brier: mean of (confidence − right)² over all answers.

    >>> from tagline import evaluation
    >>> found = evaluation.reliability([0.9, 0.9, 0.6, 0.6], [True, True, True, False])
    >>> found.confidence.tolist(), found.accuracy.tolist()
    ([0.6, 0.9], [0.5, 1.0])
    """

    binning: str
    low: Float64Array
    high: Float64Array
    count: IntArray
    confidence: Float64Array
    accuracy: Float64Array
    brier: float

    @property
    def num_answers(self) -> int:
        """n, over all bins."""
        return int(self.count.sum())

    @property
    def ece(self) -> float:
        """Expected calibration error: the mean gap, bins weighted by their answers; 0 without answers."""
        gaps = np.abs(self.accuracy - self.confidence)
        return float(gaps @ self.count) / self.num_answers if self.num_answers else 0.0

    @property
    def mce(self) -> float:
        """Maximum calibration error: the largest gap."""
        return float(np.abs(self.accuracy - self.confidence).max()) if len(self.count) else 0.0

    def text(self) -> str:
        """Return the errors, then a table of the bins."""
        lines: list[str] = [
            message(
                "{} answers; ECE: {:.4f}; MCE: {:.4f}; Brier: {:.4f} (bins of equal {})",
                self.num_answers,
                self.ece,
                self.mce,
                self.brier,
                self.binning,
            ),
            message("confidence       answers    mean   right"),
        ]
        for low, high, count, mean, right in zip(
            self.low, self.high, self.count, self.confidence, self.accuracy, strict=True
        ):
            lines.append(f"{low:.3f} to {high:.3f}  {count:7d}  {mean:.4f}  {right:.4f}")
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        arrays = {name: getattr(self, name).tolist() for name in ("low", "high", "count", "confidence", "accuracy")}
        return {"binning": self.binning, "ece": self.ece, "mce": self.mce, "brier": self.brier, "bins": arrays}


def reliability(confidence: ArrayLike, correct: ArrayLike, *, bins: int = 10, binning: str = "width") -> Reliability:
    """Compare the confidence of answers with how often they are right.

    Arguments:
        confidence: ``[M]``, the probability of each answer, 0 to 1; of predicted spans, for instance.
        correct: ``[M]``, whether each is right (`correct_spans` tells it of spans).
        bins: how many, at least 1.
        binning: ``width``, edges at 0, 1/bins, …, 1; or ``mass``, as many answers in each bin (± 1), in the order of
            confidence. Equal confidences that fall on both sides of an edge are split.

    >>> curve = reliability([0.9, 0.9, 0.6, 0.6], [True, True, True, False], bins=2)
    >>> round(curve.ece, 3), curve.count.tolist()
    (0.0, [4])
    """
    p = _probabilities("confidence", confidence, 1)
    right = np.asarray(correct)
    if right.shape != p.shape or (right.size and not np.isin(right, (0, 1)).all()):
        raise InputError(
            "correct: expected {} values, true or false, got {} {}", len(p), right.dtype, list(right.shape)
        )
    check_whole("bins", bins, 1)
    check_choice("binning", binning, BINNINGS)
    order = np.argsort(p, kind="stable")
    p, truth = p[order], right[order].astype(np.float64)
    if binning == "width":
        edges = np.linspace(0, 1, bins + 1)
        cuts = np.concatenate([[0], np.searchsorted(p, edges[1:-1]), [len(p)]])  # a bin holds its lower edge
    else:
        cuts = np.arange(bins + 1) * len(p) // bins
        edges = np.append(p[np.minimum(cuts[:-1], len(p) - 1)], p[-1]) if len(p) else np.zeros(bins + 1)
    used = np.flatnonzero(np.diff(cuts))
    count = np.diff(cuts)[used]
    confidences, accuracies = (
        np.add.reduceat(values, cuts[used]) / count if len(used) else count / 1.0 for values in (p, truth)
    )
    brier = float(np.mean((p - truth) ** 2)) if len(p) else 0.0
    return Reliability(binning, edges[:-1][used], edges[1:][used], count, confidences, accuracies, brier)


def token_reliability(
    probabilities: ArrayLike, gold: ArrayLike, *, bins: int = 10, binning: str = "width"
) -> Reliability:
    """Compare the probability of each token's likeliest label with how often it is the gold one.

    Arguments:
        probabilities: ``[N, L]``, each row a distribution, such as the nodes of `Marginals`.
        gold: ``[N]``, the number of each token's gold label.
        bins, binning: as in `reliability`.

    >>> token_reliability([[0.75, 0.25], [0.25, 0.75]], [0, 1]).ece
    0.25
    """
    p, labels = _distributions(probabilities, gold)
    best = p.argmax(axis=1) if len(p) else np.empty(0, np.int64)
    return reliability(np.minimum(p.max(axis=1, initial=0), 1), best == labels, bins=bins, binning=binning)


def brier_score(probabilities: ArrayLike, gold: ArrayLike) -> float:
    """Return the mean over tokens of Σ_j (p_j − [gold = j])², between 0 and 2.

    Arguments:
        probabilities: ``[N, L]``, each row a distribution.
        gold: ``[N]``, label numbers.

    >>> brier_score([[0.5, 0.5]], [0])
    0.5
    """
    p, labels = _distributions(probabilities, gold)
    if not len(p):
        return 0.0
    # Σ_j p_j² − 2·p_gold + 1, without a one-hot copy of [N, L].
    return float(np.mean(np.einsum("nl,nl->n", p, p) - 2 * p[np.arange(len(p)), labels] + 1))


def gold_labels(gold: ArrayLike, N: int, L: int) -> IntArray:
    """Return label numbers ``[N]``, each below L, or say which is not."""
    labels = np.asarray(gold)
    if labels.size == 0:
        labels = labels.astype(np.int64)
    if labels.shape != (N,) or labels.dtype.kind not in "iu":
        raise InputError("gold: expected {} label numbers, one a token, got {} {}", N, labels.dtype, list(labels.shape))
    wrong: BoolArray = (labels < 0) | (labels >= L)
    if wrong.any():
        n = int(np.flatnonzero(wrong)[0])
        raise InputError("gold[{}]: expected a label from 0 to {}, got {}", n, L - 1, labels[n])
    return labels.astype(np.int64)


def _distributions(probabilities: ArrayLike, gold: ArrayLike) -> tuple[Float64Array, IntArray]:
    p = _probabilities("probabilities", probabilities, 2)
    sums = p.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
    if len(wrong):
        raise InputError("probabilities[{}]: expected a row that sums to 1, got {:.6g}", wrong[0], sums[wrong[0]])
    return p, gold_labels(gold, *p.shape)


def _probabilities(name: str, values: ArrayLike, ndim: int) -> Float64Array:
    p = np.asarray(values, np.float64)
    if p.ndim != ndim:
        shape = "[answers]" if ndim == 1 else "[tokens, labels]"
        raise InputError("{}: expected shape {}, got {}", name, shape, list(p.shape))
    wrong = np.argwhere(~((p >= 0) & (p <= 1 + SUM_TOLERANCE)))  # NaN too
    if len(wrong):
        where = ", ".join(map(str, wrong[0]))
        raise InputError("{}[{}]: expected a probability from 0 to 1, got {}", name, where, p[tuple(wrong[0])])
    return np.minimum(p, 1.0)
