"""Golden values of document 004 through the estimator: three problems on boxes and balls, and what the errata say."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tagline import CRF, HMM, chain
from tagline.models.hmm.emissions import Categorical
from tests.chain.golden import GOLDEN, assert_golden

BOXES: Any = GOLDEN["hmm_box_ball_supplement"]
START, MOVES, EMIT, SEEN = (np.array(BOXES["inputs"][name]) for name in ("pi", "A", "B", "O"))
REF: Any = BOXES["ref"]


def boxes(**settings: Any) -> HMM:
    return HMM.from_parameters(START, MOVES, EMIT, **settings)


def test_evaluation() -> None:
    """α, β and P(O)."""
    hmm = boxes()
    assert_golden(hmm.log_likelihood([SEEN]), [REF["log_P_O"]])
    assert_golden(np.exp(hmm.score(SEEN[:, None])), REF["P_O"])
    (one,) = hmm.chains([SEEN])
    assert_golden(np.exp(chain.forward(one)), REF["alpha"])
    assert_golden(np.exp(chain.backward(one)), REF["beta"])


def test_prediction() -> None:
    """Viterbi, γ, ξ, the posterior of every path; and the most probable state of each step is another path."""
    hmm = boxes()
    best, states = hmm.decode(SEEN[:, None])
    assert states.tolist() == REF["best_path (0-based)"] == hmm.predict([SEEN])[0]
    assert_golden(np.exp(best), REF["best_joint"])
    gamma = hmm.predict_proba([SEEN])
    assert_golden(gamma, REF["gamma"])
    (one,) = hmm.chains([SEEN])
    assert_golden(chain.marginals(one, edges=True).edges[1:], REF["xi"])
    assert gamma.argmax(axis=1).tolist() == REF["per-step (gamma) argmax"] != states.tolist()
    found = {"".join(map(str, one.labels)): one.probability for one in hmm.predict_k_best([SEEN], 100)[0]}
    expected = REF["posterior_of_each_path_P(I|O)"]
    assert found.keys() == expected.keys()
    for path, probability in expected.items():
        assert_golden(found[path], probability)


def test_learning_one_step_of_baum_welch() -> None:
    step = REF["baum_welch_one_step"]
    hmm = boxes(warm_start=True, max_iterations=1).fit([SEEN])
    assert_golden(hmm.start_, step["pi"])
    assert_golden(hmm.transitions_, step["A"])
    assert isinstance(hmm.emission_, Categorical)
    assert_golden(hmm.emission_.probabilities, step["B"])
    assert_golden(np.exp(hmm.score([SEEN])), step["P_O_after"])
    assert step["P_O_after"] > REF["P_O"]
    assert_golden(hmm.objective_, REF["log_P_O"])  # where the step began


def test_learning_by_counting() -> None:
    """With known boxes, relative frequencies."""
    y = [[0, 1, 1, 2], [2, 2, 0]]
    hmm = HMM(3, k=0.0, unknown="error").fit([[0, 1, 0, 0], [1, 0, 1]], y)
    assert hmm.start_.tolist() == [0.5, 0.0, 0.5]
    assert hmm.transitions_.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]
    assert isinstance(hmm.emission_, Categorical)
    assert hmm.emission_.probabilities.tolist() == [[0.5, 0.5], [0.5, 0.5], [2 / 3, 1 / 3]]


def test_erratum_004_delta_T_literal() -> None:
    """δ_T comes from δ_(T−1): the literal formula goes one step too far."""
    entry = GOLDEN["erratum_004_delta_T_literal"]
    best, _ = boxes().decode(SEEN[:, None])
    assert_golden(np.exp(best), entry["correct best probability"])
    delta = np.array(entry["delta_T"])
    literal = (delta[:, None] * MOVES).max(axis=0) * EMIT[:, SEEN[-1]]
    assert_golden(literal.max(), entry["literal best"])
    assert literal.max() < np.exp(best)


def test_counterexample_004_hmm_forward_literal() -> None:
    """α_2 is summed over the states before."""
    entry = GOLDEN["counterexample_004_hmm_crf"]["hmm_forward_literal"]
    (one,) = boxes().chains([SEEN])
    assert_golden(np.exp(chain.forward(one)[1]), entry["correct alpha_2"])


def test_counterexample_004_hmm_is_a_crf() -> None:
    """The CRF of an HMM gives every path its posterior, and Z is P(O)."""
    crf = boxes().to_crf()
    found = {"".join(one.labels): one.probability for one in crf.predict_k_best([SEEN], 100)[0]}
    for path, probability in REF["posterior_of_each_path_P(I|O)"].items():
        assert found[path] == pytest.approx(probability, rel=3e-7)  # weights of a CRF are float32
    assert float(crf.log_likelihood([SEEN])[0]) == pytest.approx(REF["log_P_O"], rel=3e-7)


def looking_ahead() -> CRF:
    """A CRF that is no HMM: score 2·[y_1 = x_2], by a feature that looks at the next observation."""
    weights = [
        {"kind": "state", "attribute": f"next={x}", "previous": None, "label": x, "weight": 2.0} for x in ("0", "1")
    ]
    X = [[[f"next={x}"], ["last"]] for x in "01"]
    return CRF().fit(X, [["0", "0"], ["1", "1"]]).with_weights(weights)


def ratio(model: Any, x: Any, y2: Any) -> float:
    """p(0, y_2 | x) / p(1, y_2 | x)."""
    labels = [0, 1] if isinstance(model, HMM) else ["0", "1"]
    logs = [model.log_likelihood([x], [[first, labels[y2]]])[0] for first in labels]
    return float(np.exp(logs[0] - logs[1]))


def test_counterexample_004_crf_is_no_hmm() -> None:
    """The ratio of this CRF depends on x_2; that of an HMM cannot, whatever its parameters."""
    entry = GOLDEN["counterexample_004_hmm_crf"]["crf_not_hmm"]
    crf = looking_ahead()
    assert_golden(ratio(crf, [["next=0"], ["last"]], 0), entry["p(y1=0,y2=0|x=(0,0))/p(1,0|..)"], "float32")
    assert_golden(ratio(crf, [["next=1"], ["last"]], 0), entry["p(0,0|x=(0,1))/p(1,0|..)"], "float32")
    random = np.random.default_rng(4)
    worst = 0.0
    for _ in range(200):
        hmm = HMM.from_parameters(random.dirichlet([1, 1]), random.dirichlet([1, 1], 2), random.dirichlet([1, 1], 2))
        for x1, y2 in product((0, 1), repeat=2):
            both = [ratio(hmm, [x1, x2], y2) for x2 in (0, 1)]
            formula = hmm.start_[0] * hmm.emission_.probabilities[0, x1] * hmm.transitions_[0, y2]  # type: ignore[attr-defined]
            formula /= hmm.start_[1] * hmm.emission_.probabilities[1, x1] * hmm.transitions_[1, y2]  # type: ignore[attr-defined]
            worst = max(worst, abs(np.log(both[0] / both[1])), abs(np.log(both[0] / formula)))
    assert worst < 1e-12
