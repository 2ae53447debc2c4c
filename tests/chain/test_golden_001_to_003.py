"""The golden entries doc001 to doc003: worked examples, log-sum-exp, START and END, padded batch, smoothing."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from tagline.chain import naive
from tagline.types import Chain

from .golden import GOLDEN, assert_golden

WORKED: Any = GOLDEN["doc001_worked_example"]


def worked_chain(dtype: str = "float64", mu4: float = 0.5) -> Chain:
    """Document 001's example: three positions, labels 1 and 2 as 0 and 1, a matrix a position."""
    local = WORKED["inputs"]["local_scores"]
    transitions = np.full((3, 2, 2), np.nan)
    transitions[1], transitions[2] = local["pos2[from][to]"], local["pos3[from][to]"]
    transitions[2, :, 1] += mu4 - 0.5  # s4: label 2 at the third position
    return Chain(np.zeros((3, 2), dtype), transitions.astype(dtype), np.array(local["pos1"], dtype))


def one_based(labels: Any) -> list[int]:
    return [int(label) + 1 for label in labels]


def test_doc001_worked_example_decoding(engine: ModuleType, dtype: str) -> None:
    ref, chain = WORKED["ref"], worked_chain(dtype)
    best = engine.viterbi(chain)
    assert one_based(best.labels) == ref["best_path"] == WORKED["doc_printed"]["best_path"]
    assert_golden(best.scores, [ref["best_score"]], dtype)
    ranked = engine.k_best(chain, 100)[0]
    assert_golden(ranked.scores, [path["score"] for path in ref["paths"]], dtype)
    assert_golden(ranked.probabilities, [path["prob"] for path in ref["paths"]], dtype)
    assert sorted(map(one_based, ranked.labels)) == sorted(path["y"] for path in ref["paths"])
    for path in ref["paths"]:
        labels = np.array(path["y"]) - 1
        assert_golden(engine.score(chain, labels), [path["score"]], dtype)
        assert_golden(engine.gradients(chain, labels).log_likelihood, [path["log_prob"]], dtype)
    assert one_based(engine.max_marginal(chain)) == ref["posterior_(max-marginal)_decode"] != ref["best_path"]


def test_doc001_worked_example_delta() -> None:
    """The table of δ is the best score of each beginning."""
    chain = worked_chain()
    for t, row in enumerate(WORKED["ref"]["delta"]):
        for j, expected in enumerate(row):
            transitions = np.array(chain.transitions[: t + 1])
            beginning = Chain(
                np.zeros((t + 1, 2)), transitions, chain.start, [0.0 if i == j else -np.inf for i in (0, 1)]
            )
            assert_golden(naive.viterbi(beginning).scores, [expected])
            assert_golden(naive.viterbi_recomputed(beginning).scores, [expected])


def test_doc001_worked_example_sums(engine: ModuleType, dtype: str) -> None:
    ref, chain = WORKED["ref"], worked_chain(dtype)
    assert_golden(engine.log_partition(chain), [ref["log_Z"]], dtype)
    assert_golden(engine.forward(chain), ref["log_alpha"], dtype)
    assert_golden(engine.backward(chain), ref["log_beta"], dtype)
    assert_golden(engine.entropy(chain), [ref["entropy_nats"]], dtype)
    posterior = engine.marginals(chain, edges=True)
    assert_golden(posterior.nodes, ref["node_marginals[pos][label]"], dtype)
    assert_golden(posterior.edges[1:], ref["edge_marginals[pos2,pos3][from][to]"], dtype)


def test_doc001_worked_example_features(engine: ModuleType, dtype: str) -> None:
    """Expected features, and the gradient of the best path's likelihood for each weight."""
    ref, chain = WORKED["ref"], worked_chain(dtype)

    def features(nodes: Any, edges: Any) -> list[float]:
        transition = [edges[1, 0, 1] + edges[2, 0, 1], edges[1, 0, 0], edges[2, 1, 0], edges[1, 1, 0], edges[2, 1, 1]]
        state = [nodes[0, 0], nodes[0, 1] + nodes[1, 1], nodes[1, 0] + nodes[2, 0], nodes[2, 1]]
        return [*transition, *state]

    counts = engine.expected_counts(chain)
    assert_golden(features(counts.emissions, counts.transitions), ref["expected_global_features"], dtype)
    gradient = engine.gradients(chain, np.array(ref["best_path"]) - 1)
    found = features(gradient.emissions, gradient.transitions)
    assert_golden(found, ref["grad_loglik_of_best_path_wrt_w = F(y*)-E[F]"], dtype)


def test_doc002_log_sum_exp() -> None:
    inputs, ref = GOLDEN["doc002_log_sum_exp"]["inputs"], GOLDEN["doc002_log_sum_exp"]["ref"]
    assert_golden(naive.logsumexp(inputs["column"]), ref["log_sum_exp(9,1,7)"])
    assert_golden(naive.logsumexp(inputs["smat"], axis=0), ref["row"])
    assert_golden(naive.logsumexp(inputs["overflow_column"]), ref["log_sum_exp(1,999,4)"])


def test_doc002_log_sum_exp_as_a_chain(engine: ModuleType, dtype: str) -> None:
    """One token: log Z is the log-sum of its scores. Five tags and ten words make 5^10 labellings."""
    inputs, ref = GOLDEN["doc002_log_sum_exp"]["inputs"], GOLDEN["doc002_log_sum_exp"]["ref"]
    rows = np.array([inputs["column"], inputs["overflow_column"]], dtype)
    chain = Chain(rows, np.zeros((3, 3), dtype), offsets=[0, 1, 2])
    expected = [ref["log_sum_exp(9,1,7)"], ref["log_sum_exp(1,999,4)"]]
    assert_golden(engine.log_partition(chain), expected, dtype)
    every = Chain(np.zeros((10, 5), dtype), np.zeros((5, 5), dtype))
    assert_golden(engine.log_partition(every), [np.log(ref["n_paths_5_tags_10_words"])], dtype)


def test_doc002_004_start_end_crf(engine: ModuleType, dtype: str) -> None:
    """START and END as tags with −10000 give the answers of start and end vectors."""
    inputs, ref = GOLDEN["doc002_004_start_end_crf"]["inputs"], GOLDEN["doc002_004_start_end_crf"]["ref"]
    transitions, frames = np.array(inputs["transitions[from][to]"]), np.array(inputs["frames"])
    form = ref["equivalent_003_form"]
    as_tags = Chain(
        frames.astype(dtype), transitions.astype(dtype), transitions[2].astype(dtype), transitions[:, 3].astype(dtype)
    )
    parts = ("emissions", "transitions[from][to]", "start_transitions", "end_transitions")
    as_vectors = Chain(*(np.array(form[name], dtype) for name in parts))
    for chain in (as_tags, as_vectors):
        assert_golden(engine.log_partition(chain), [ref["log_Z"]], dtype)
        best = engine.viterbi(chain)
        assert best.labels.tolist() == ref["best_path"]
        assert_golden(best.scores, [ref["best_score"]], dtype)
        assert_golden(engine.marginals(chain).nodes[:, :2], ref["node_marginals"], dtype)
        ranked = engine.k_best(chain, 8)[0]
        assert ranked.labels.tolist() == [path["y"] for path in ref["paths"]]
        assert_golden(ranked.scores, [path["score"] for path in ref["paths"]], dtype)
        assert_golden(ranked.probabilities, [path["prob"] for path in ref["paths"]], dtype)


def test_doc003_padded_batch(engine: ModuleType, dtype: str) -> None:
    inputs, ref = GOLDEN["doc003_padded_batch"]["inputs"], GOLDEN["doc003_padded_batch"]["ref"]
    padded, mask = np.array(inputs["emissions(batch,seq,tag)"], dtype), np.array(inputs["mask"], np.bool_)
    parts = ("transitions[from][to]", "start_transitions", "end_transitions")
    transitions, start, end = (np.array(inputs[name], dtype) for name in parts)
    chain = Chain.from_sentences([row[kept] for row, kept in zip(padded, mask, strict=True)], transitions, start, end)
    tags = np.array(inputs["tags"])[mask]
    assert chain.lengths.tolist() == inputs["lengths"]

    rows = ref["per_sequence"]
    assert_golden(engine.log_partition(chain), [row["log_Z"] for row in rows], dtype)
    assert_golden(engine.score(chain, tags), [row["gold_score"] for row in rows], dtype)
    found = engine.gradients(chain, tags)
    assert_golden(-found.log_likelihood, [row["nll"] for row in rows], dtype)
    assert_golden(-found.log_likelihood.sum(), ref["loss_sum"], dtype)
    assert_golden(-found.log_likelihood.mean(), ref["loss_mean_over_sequences"], dtype)
    assert_golden(-found.log_likelihood.sum() / len(tags), ref["loss_token_mean"], dtype)
    slopes = ref["grad_of_SUM_nll"]
    assert_golden(-found.transitions, slopes["transitions[from][to]"], dtype)
    assert_golden(-found.start, slopes["start"], dtype)
    assert_golden(-found.end, slopes["end"], dtype)
    assert_golden(-found.emissions, np.array(slopes["emissions"])[mask], dtype)

    best, posterior = engine.viterbi(chain), engine.marginals(chain, edges=True)
    ranked = engine.k_best(chain, 2)
    for b, row in enumerate(rows):
        assert chain.split(best.labels)[b].tolist() == row["best_path"] == ranked[b].labels[0].tolist()
        assert ranked[b].labels[1].tolist() == row["second_path"]
        assert_golden(ranked[b].scores, [row["best_score"], row["second_score"]], dtype)
        assert_golden(best.scores[b], row["best_score"], dtype)
        assert_golden(chain.split(posterior.nodes)[b], row["node_marginals"], dtype)
        if row["length"] > 1:
            assert_golden(chain.split(posterior.edges)[b][1:], row["edge_marginals"], dtype)


def test_reference_003_label_smoothing(engine: ModuleType, dtype: str) -> None:
    """log Z − (1 − ε) s(y) − ε s̄, whose parts come from the engine, in closed form."""
    entry = GOLDEN["reference_003_label_smoothing"]
    inputs = entry["inputs"]
    parts = ("emissions", "transitions[from][to]", "start", "end")
    emissions, transitions, start, end = (np.array(inputs[name], dtype) for name in parts)
    epsilon, gold = inputs["epsilon"], inputs["gold"]
    steps = len(gold) - 1

    def closed_form(chain: Chain) -> float:
        mean = start.mean() + end.mean() + chain.emissions.mean(axis=1).sum() + steps * transitions.mean()
        log_z, score = engine.log_partition(chain)[0], engine.score(chain, gold)[0]
        return float(log_z - (1 - epsilon) * score - epsilon * mean)

    chain = Chain(emissions, transitions, start, end)
    assert_golden(engine.log_partition(chain), [entry["log_Z"]], dtype)
    assert_golden(-engine.gradients(chain, gold).log_likelihood, [entry["nll"]], dtype)
    loss = closed_form(chain)
    assert_golden(loss, entry["closed_form logZ-(1-eps)s(y)-eps*mean_score"], dtype)
    assert loss >= entry["lower_bound_entropy_of_q"]
    if dtype == "float64":  # 1000.3 keeps four decimals in float32
        shifted = closed_form(Chain(emissions + 1000, transitions, start, end))
        np.testing.assert_allclose(shifted, entry["shift emissions by 1000 -> closed form"], rtol=0, atol=1e-11)
    every = engine.k_best(chain, 3**4)[0]
    assert len(every.scores) == 81
    smoothed = np.full(81, epsilon / 81)
    smoothed[(every.labels == gold).all(axis=1)] += 1 - epsilon
    assert_golden(-(smoothed * np.log(every.probabilities)).sum(), entry["sequence_level_bruteforce"], dtype)
