"""Do both sides solve the same problem? Asked before a time is reported.

The rival's weights, taken from its model file, go into our objective, which must give the loss of its log, and into our
decoder, which must give its labels. Weights for all pairs are compared with weights for the observed ones: where the
others are 0, both must have one value and one gradient. Children compute; the verdicts are raised in the parent.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np

from feature_crf.cases import AT_ZERO, C2, CASES, LABELS, MARGIN, OPTIMUM, TOKENS, at_zero
from feature_crf.children import Result
from feature_crf.ours import Problem, read
from tagline import chain as engine
from tagline.features import Template, expand
from tagline.features.weights import Scorer, Structure
from tagline.readers import read_columns
from tagline.types import Float64Array, IntArray

AT_ZERO_WITHIN = 0.01
SAME = 1e-5  # relative, of objectives and gradients; the rival's file has 6 decimals of each weight
SAME_LABELS = 0.9999  # with the same weights: ties and float32
LIKE_LABELS = 0.995  # with our own


class DisagreementError(RuntimeError):
    """Answers that differ too much for their times to be compared."""


def require(what: str, got: float, expected: float, relative: float = 0.0, absolute: float = 0.0) -> None:
    """Raise unless two numbers are near each other."""
    if not abs(got - expected) <= absolute + relative * abs(expected):
        raise DisagreementError(f"{what}: expected {expected:.10g}, got {got:.10g}")


def same_problem(case: str, ours: Result, theirs: Result) -> None:
    """Compare numbers of weights, objectives at 0, and on the whole file the numbers that are known."""
    require(f"{case}: weights", ours["weights"], theirs["weights"])
    require(
        f"{case}: objective at 0", ours["at_zero"], at_zero(ours["tokens"], ours["labels"]), absolute=AT_ZERO_WITHIN
    )
    if ours["tokens"] != TOKENS:
        return
    if CASES[case].weights is not None:
        require(f"{case}: weights", ours["weights"], float(CASES[case].weights or 0))
    if ours["labels"] == LABELS:
        require(f"{case}: objective at 0", ours["at_zero"], AT_ZERO, absolute=AT_ZERO_WITHIN)


def same_optimum(tokens: int, loss: float) -> None:
    """Compare where the rival stopped with the optimum that is known of the whole file."""
    if tokens == TOKENS:
        require("python-crfsuite's objective", loss, OPTIMUM, MARGIN)


def same_labels(ours: str, theirs: str, least: float = LIKE_LABELS) -> float:
    """Return the share of tokens that both files label alike, or raise where it is small."""
    pair = [
        [label for row in json.loads(Path(path).read_text(encoding="utf-8")) for label in row]
        for path in (ours, theirs)
    ]
    share = sum(a == b for a, b in zip(*pair, strict=True)) / max(len(pair[0]), 1)
    if share < least:
        raise DisagreementError(f"labels: expected {least:.2%} the same or more, got {share:.2%}")
    return share


def with_rival(case: str, train: str, template: str, model: str, test: str | None = None) -> Result:
    """Return our objective at the weights of the rival's model, and our labels of a file with them."""
    problem = read(case, train, template)
    structure = problem.structure()
    weights = weights_of(problem, structure, model)
    value, _ = problem.likelihood()(weights)
    result: Result = {"objective": value + C2 * float(weights @ weights)}
    if test is not None:
        scorer = Scorer(structure, weights)
        spec, corpus = CASES[case], read_columns(test)
        lines = Template.parse(spec.template(Path(template).read_text(encoding="utf-8")))
        expanded = expand(lines, corpus, (problem.expanded.states, None))  # type: ignore[arg-type]
        names = [problem.labels[label] for label in engine.viterbi(scorer.chain(expanded.features)).labels]
        Path(f"{model}.labels").write_text(
            json.dumps([names[first:last] for first, last in pairwise(corpus.offsets.tolist())]), encoding="utf-8"
        )
        result["labels"] = f"{model}.labels"
    return result


def weights_of(problem: Problem, structure: Structure, model: str) -> Float64Array:
    """Put the weights of a CRFsuite model where ours are."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    info = tagger.info()
    L, states = len(problem.labels), problem.expanded.states
    assert states is not None
    attributes = {name: number for number, name in enumerate(states.names())}
    labels = {label: number for number, label in enumerate(problem.labels)}
    weights = np.zeros(structure.size)
    keys = np.array([attributes[name] * L + labels[label] for name, label in info.state_features], np.int64)
    _put(weights[structure.parts["states"]], _state_keys(structure), keys, list(info.state_features.values()))
    moves = structure.transitions.astype(np.int64)
    keys = np.array([labels[previous] * L + labels[following] for previous, following in info.transitions], np.int64)
    _put(weights[structure.parts["transitions"]], moves[:, 0] * L + moves[:, 1], keys, list(info.transitions.values()))
    return weights


def _put(part: Float64Array, own: IntArray, keys: IntArray, values: list[float]) -> None:
    """Write values into a part of the weights, by keys that ascend in it."""
    where = np.minimum(np.searchsorted(own, keys), len(own) - 1)
    if (own[where] != keys).any():
        raise AssertionError("the rival has weights that we have not")
    part[where] = values


def _state_keys(structure: Structure) -> IntArray:
    rows = np.repeat(np.arange(structure.num_attributes, dtype=np.int64), np.diff(structure.state_offsets))
    return rows * structure.num_labels + structure.state_labels


def dense_and_sparse(train: str, template: str) -> Result:
    """Compare both at random weights of the observed pairs; return the largest relative differences."""
    sparse, dense = read("sparse", train, template), read("dense", train, template)
    observed, everything = sparse.structure(), dense.structure()
    weights = np.random.default_rng(0).normal(0, 0.3, observed.size)
    moves = observed.transitions.astype(np.int64)
    pairs = moves[:, 0] * observed.num_labels + moves[:, 1]
    where = np.concatenate([_state_keys(observed), everything.parts["transitions"].start + pairs])
    spread = np.zeros(everything.size)
    spread[where] = weights
    (value, gradient), (other, others) = sparse.likelihood()(weights), dense.likelihood()(spread)
    scale = float(np.abs(gradient).max())
    return {"value": abs(value - other) / abs(value), "gradient": float(np.abs(gradient - others[where]).max()) / scale}
