"""The golden entries doc000: forward, backward, Viterbi, gradients, log domain, parameter gradients."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tagline.chain import naive
from tagline.types import Chain

from .golden import GOLDEN, assert_golden

A: Any = GOLDEN["doc000_A"]
LOG_PSI, SEQ = np.array(A["inputs"]["log_psi"]), A["inputs"]["seq"]


@pytest.fixture
def chain(dtype: str) -> Chain:
    return naive.chain_from_log_potentials(LOG_PSI.astype(dtype))


def test_doc000_A_sums(engine: ModuleType, chain: Chain, dtype: str) -> None:
    ref = A["ref"]
    assert_golden(engine.forward(chain), ref["log_alpha"], dtype)
    assert_golden(engine.backward(chain), ref["log_beta"], dtype)
    assert_golden(engine.log_partition(chain), [ref["log_Z"]], dtype)
    assert_golden(engine.score(chain, SEQ), [ref["log_M"]], dtype)
    posterior = engine.marginals(chain, edges=True)
    assert_golden(posterior.nodes, ref["node_marginals"], dtype)
    assert_golden(posterior.edges[1:], ref["edge_marginals"], dtype)


def test_doc000_A_gradient(engine: ModuleType, chain: Chain, dtype: str) -> None:
    ref = A["ref"]
    found = engine.gradients(chain, SEQ)
    assert_golden(found.log_likelihood, [ref["log_p"]], dtype)
    expected = np.array(ref["grad_lnp_wrt_lnpsi"])
    assert_golden(found.transitions[1:], expected[1:], dtype)
    assert_golden(found.start, expected[0, 0], dtype)
    assert not expected[0, 1:].any()
    assert not found.transitions[0].any()


def test_doc000_A_best_paths(engine: ModuleType, chain: Chain, dtype: str) -> None:
    ref = A["ref"]
    best = engine.viterbi(chain)
    assert best.labels.tolist() == ref["viterbi_path"] == A["doc_printed"]["viterbi_path"]
    assert_golden(best.scores, [ref["viterbi_log_score"]], dtype)
    ranked, top = engine.k_best(chain, 5)[0], ref["top5_paths_bruteforce"]
    assert ranked.labels.tolist() == [one["path"] for one in top]
    assert_golden(ranked.scores, [one["log_score"] for one in top], dtype)
    assert_golden(ranked.probabilities, [one["prob"] for one in top], dtype)


def test_doc000_A_linear_forms() -> None:
    ref, psi = A["ref"], np.exp(LOG_PSI)
    assert_golden(naive.forward_linear(psi), ref["alpha"])
    assert_golden(naive.backward_linear(psi), ref["beta"])
    assert_golden(naive.forward_linear(psi)[-1].sum(), ref["Z"])
    assert_golden(naive.probability_linear(SEQ, psi) * 1e8, ref["p"] * 1e8)
    assert_golden(naive.gradient_linear(SEQ, psi), ref["grad_lnp_wrt_psi"])
    recomputed = naive.viterbi_recomputed(naive.chain_from_log_potentials(LOG_PSI))
    assert recomputed.labels.tolist() == ref["viterbi_path"]
    assert_golden(recomputed.scores, [ref["viterbi_log_score"]])
    assert_golden(np.log(ref["viterbi_delta"][-1]).max(), ref["viterbi_log_score"])


def test_doc000_A_printed_digits() -> None:
    printed, psi = A["doc_printed"], np.exp(LOG_PSI)
    alpha, beta = naive.forward_linear(psi), naive.backward_linear(psi)
    assert f"{naive.probability_linear(SEQ, psi):.11e}" == printed["p"]
    assert np.round(alpha[0], 8).tolist() == printed["alpha_first_row"]
    assert np.round(alpha[-1]).tolist() == printed["alpha_last_row"]
    assert np.round(beta[0]).tolist() == printed["beta_first_row"]
    assert np.round(naive.gradient_linear(SEQ, psi)[0, 0], 8).tolist() == printed["grad[0,0,:]"]


def test_doc000_numeric_gradient_check(engine: ModuleType) -> None:
    """With the recommended step no derivative is off; with the document's all of them sit on a grid of 1.8e-5."""
    entry = GOLDEN["doc000_numeric_gradient_check"]
    delta, atol = entry["recommended"]["delta"], entry["recommended"]["atol"]
    psi = np.exp(LOG_PSI)
    exact = naive.gradient_linear(SEQ, psi)

    def log_p(changed: np.ndarray) -> float:
        chain = naive.chain_from_log_potentials(np.log(changed))
        return float((engine.score(chain, SEQ) - engine.log_partition(chain))[0])

    assert_golden(log_p(psi), entry["ln_p"])
    worst = 0.0
    cells = [(0, 0, k) for k in range(5)] + [tuple(cell) for cell in np.argwhere(np.ones((10, 5, 5))) if cell[0] > 0]
    for cell in cells:
        above, below = psi.copy(), psi.copy()
        above[cell] += delta
        below[cell] -= delta
        worst = max(worst, abs((log_p(above) - log_p(below)) / (2 * delta) - exact[cell]))
    assert worst <= atol
    quantum = np.spacing(abs(entry["ln_p"])) / (2 * entry["doc_delta"])
    assert_golden(quantum, entry["quantum_ulp_lnp_over_2delta"])
    assert quantum > min(entry["doc_tolerances"]), "the document's step cannot pass its own tolerance"


def test_doc000_logdomain(engine: ModuleType) -> None:
    """The residuals between the linear and the log forms, as bounds."""
    bounds, psi = GOLDEN["doc000_logdomain"]["use_as_bounds"], np.exp(LOG_PSI)
    chain = naive.chain_from_log_potentials(LOG_PSI)
    alpha, beta = naive.forward_linear(psi), naive.backward_linear(psi)
    log_alpha, log_beta = engine.forward(chain), engine.backward(chain)
    gradient = engine.gradients(chain, SEQ)
    log_p = np.log(naive.probability_linear(SEQ, psi))
    by_log = np.concatenate([np.zeros((1, 5, 5)), gradient.transitions[1:]])
    by_log[0, 0] = gradient.start
    assert np.abs(np.log(alpha) - log_alpha).sum() <= bounds["sum|ln alpha - log_alpha|"]
    assert abs(log_p - gradient.log_likelihood[0]) <= bounds["|ln p - log_p|"]
    assert np.abs(log_beta - np.log(beta)).sum() <= bounds["sum|log_beta - ln beta|"]
    assert np.abs(beta - np.exp(log_beta)).sum() <= bounds["sum|beta-exp(log_beta)|"]
    assert np.abs(naive.gradient_linear(SEQ, psi) - by_log / psi).sum() <= bounds["sum|grad_1-grad_2|"]


def test_doc000_logdomain_logsumexp_cases() -> None:
    for name, expected in GOLDEN["doc000_logdomain"]["logsumexp_cases"].items():
        values = [float(part) for part in name.strip("()").split(",")]
        assert float(naive.logsumexp(values)) == float(expected), name


@pytest.mark.parametrize("entry", ["doc000_param_m7", "doc000_param_m10"])
def test_parameter_gradients_of(entry: str) -> None:
    inputs, ref = GOLDEN[entry]["inputs"], GOLDEN[entry]["ref"]
    found = naive.parameter_gradients(*(inputs[name] for name in ("seq", "x", "W", "P", "S")))
    for gradient, name in zip(found, ("grad_x", "grad_W", "grad_P", "grad_S"), strict=True):
        assert_golden(gradient, ref[name])
    for gradient in found[1:]:
        assert abs(gradient.sum()) <= 1e-12


@pytest.mark.parametrize("entry", ["doc000_param_m7", "doc000_param_m10"])
def test_scores_from_parameters_of(engine: ModuleType, dtype: str, entry: str) -> None:
    inputs, ref = GOLDEN[entry]["inputs"], GOLDEN[entry]["ref"]
    x, W, P, S = (np.array(inputs[name]) for name in ("x", "W", "P", "S"))
    factored = Chain(np.outer(x, W).astype(dtype), P.astype(dtype), S.astype(dtype))
    joined = naive.chain_from_log_potentials(np.array(ref["log_psi"]).astype(dtype))
    for chain in (factored, joined):
        found = engine.gradients(chain, inputs["seq"])
        assert_golden(engine.log_partition(chain), [ref["log_Z"]], dtype)
        assert_golden(found.log_likelihood, [ref["log_p"]], dtype)
        assert_golden(found.start, ref["grad_S"], dtype)
        best = engine.viterbi(chain)
        assert best.labels.tolist() == ref["viterbi_path"]
        assert_golden(best.scores, [ref["viterbi_log_score"]], dtype)
    gradient = engine.gradients(factored, inputs["seq"])
    assert_golden(gradient.transitions, ref["grad_P"], dtype)
    assert_golden(gradient.emissions @ W, ref["grad_x"], dtype)
    assert_golden(gradient.emissions.T @ x, ref["grad_W"], dtype)


def test_counterexample_000_linear_domain(engine: ModuleType) -> None:
    """Where the products of potentials leave float64, the log domain goes on."""
    entry = GOLDEN["counterexample_000_linear_domain"]
    rng = np.random.RandomState(1111)  # one stream for all lengths, in the order of the entry
    for m, row in entry["overflow"].items():
        if row["log_p (log domain)"] is None:
            continue
        log_psi, seq = rng.random_sample((int(m), 5, 5)), rng.choice(5, int(m))
        chain = naive.chain_from_log_potentials(log_psi)
        assert_golden(engine.gradients(chain, seq).log_likelihood, [row["log_p (log domain)"]])
        if row["Z"] == "inf":
            for linear in (naive.forward_linear, naive.backward_linear):
                with pytest.raises(ValueError, match=r"^Z: .*inf"):
                    linear(np.exp(log_psi))
            for question in (naive.probability_linear, naive.gradient_linear):
                with pytest.raises(ValueError, match=r"^Z: .*inf"):
                    question(seq, np.exp(log_psi))
        else:
            np.testing.assert_allclose(naive.forward_linear(np.exp(log_psi))[-1].sum(), float(row["Z"]), rtol=1e-12)
            np.testing.assert_allclose(naive.probability_linear(seq, np.exp(log_psi)), float(row["p"]), rtol=1e-11)


def test_counterexample_000_linear_domain_gradient_and_start_row(engine: ModuleType, dtype: str) -> None:
    entry = GOLDEN["counterexample_000_linear_domain"]
    log_psi = np.zeros((2, 2, 2), dtype)
    log_psi[1, 0, 1] = -1000.0
    gradient = engine.gradients(naive.chain_from_log_potentials(log_psi), [0, 1])
    assert gradient.transitions[1, 0, 1] == entry["gradient_log"]["direct delta-exp(la+lpsi+lb-lZ)"]
    rows, psi = entry["start_row"], np.exp(LOG_PSI)
    assert_golden(naive.forward_linear(psi)[-1].sum(), rows["Z using psi[0,0,:]"])
    assert_golden(psi[0].sum(axis=0) @ naive.backward_linear(psi)[0], rows["Z if all rows of psi[0] are summed"])
