"""The E step over lanes: the sums of one lane, in parts, and sentences that keep their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tagline import HMM
from tagline.errors import NoPathError
from tagline.models.hmm.lanes import cut
from tagline.training import lanes

LENGTHS = [7, 30, 1, 25, 12, 40, 3, 22]


def observations(family: str) -> Any:
    rng = np.random.default_rng(0)
    N = sum(LENGTHS)
    if family == "categorical":
        return rng.integers(0, 5, N)
    if family == "gaussian":
        return rng.normal(size=(N, 2)) + 3 * rng.integers(0, 2, (N, 1))
    return rng.integers(0, 2, (N, 2)) if family == "bernoulli" else rng.poisson(3, (N, 2))


def arrays(hmm: HMM) -> list[Any]:
    p = hmm.parameters_
    return [p.start, p.transitions, *(p.emission.arrays()[name] for name in p.emission.parameters)]


@pytest.mark.parametrize("algorithm", ["em", "viterbi"])
@pytest.mark.parametrize("family", ["categorical", "gaussian", "bernoulli", "poisson", "multinomial"])
def test_lanes_add_up(family: str, algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = observations(family)
    settings: dict[str, Any] = {"emission": family, "algorithm": algorithm, "max_iterations": 5}
    whole = HMM(2, **settings).fit(X, lengths=LENGTHS)
    monkeypatch.setattr(lanes, "LANE_TOKENS", 17)
    assert len(cut(X, np.cumsum([0, *LENGTHS]), None, algorithm)) == 8
    parts = HMM(2, **settings).fit(X, lengths=LENGTHS)
    np.testing.assert_allclose(parts.objective_, whole.objective_, rtol=1e-12)
    for ours, theirs in zip(arrays(parts), arrays(whole), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_tied_states_learn_from_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    X = observations("poisson")
    whole = HMM(3, emission="poisson", tied=[0, 1, 0], max_iterations=5).fit(X, lengths=LENGTHS)
    monkeypatch.setattr(lanes, "LANE_TOKENS", 17)
    parts = HMM(3, emission="poisson", tied=[0, 1, 0], max_iterations=5).fit(X, lengths=LENGTHS)
    for ours, theirs in zip(arrays(parts), arrays(whole), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    assert (parts.lambdas_[0] == parts.lambdas_[2]).all()


def test_a_sentence_without_a_path_keeps_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LANE_TOKENS", 4)
    X = [[0, 0, 0, 0]] * 6 + [[0, 1, 0, 0]] + [[0, 0, 0, 0]]
    start = HMM.from_parameters([1.0, 0.0], np.eye(2), [[1.0, 0.0], [0.0, 1.0]], warm_start=True)
    with pytest.raises(NoPathError, match="sentence 6: "):
        start.fit(X)
