"""The golden entries of an HMM, and counter-examples to mistakes that are often made."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tagline.chain import constrain
from tagline.types import Chain

from .golden import GOLDEN, assert_golden
from .test_golden_001_to_003 import one_based, worked_chain

HMM: Any = GOLDEN["hmm_box_ball_supplement"]


def hmm_chain(dtype: str) -> Chain:
    """An HMM as a chain of log-probabilities."""
    start, transitions, emit = (np.log(np.array(HMM["inputs"][name])).astype(dtype) for name in ("pi", "A", "B"))
    return Chain(emit[:, HMM["inputs"]["O"]].T, transitions, start)


def test_hmm_box_ball_supplement(engine: ModuleType, dtype: str) -> None:
    ref, chain = HMM["ref"], hmm_chain(dtype)
    assert_golden(np.exp(engine.forward(chain)), ref["alpha"], dtype)
    assert_golden(np.exp(engine.backward(chain)), ref["beta"], dtype)
    assert_golden(engine.log_partition(chain), [ref["log_P_O"]], dtype)
    assert_golden(np.exp(engine.log_partition(chain)), [ref["P_O"]], dtype)
    best = engine.viterbi(chain)
    assert best.labels.tolist() == ref["best_path (0-based)"]
    assert_golden(np.exp(best.scores), [ref["best_joint"]], dtype)
    posterior = engine.marginals(chain, edges=True)
    assert_golden(posterior.nodes, ref["gamma"], dtype)
    assert_golden(posterior.edges[1:], ref["xi"], dtype)
    assert engine.max_marginal(chain).tolist() == ref["per-step (gamma) argmax"] != ref["best_path (0-based)"]
    step = ref["baum_welch_one_step"]
    counts = engine.expected_counts(chain)
    assert_golden(counts.start, step["pi"], dtype)
    assert_golden(counts.transitions / counts.emissions[:-1].sum(axis=0)[:, None], step["A"], dtype)


def test_counterexample_004_hmm_crf_posterior_identity(engine: ModuleType, dtype: str) -> None:
    """The HMM's posterior of every path is the CRF's probability of it."""
    chain, posterior = hmm_chain(dtype), HMM["ref"]["posterior_of_each_path_P(I|O)"]
    every = engine.k_best(chain, 100)[0]
    found = {"".join(map(str, labels)): p for labels, p in zip(every.labels.tolist(), every.probabilities, strict=True)}
    assert found.keys() == posterior.keys()
    assert_golden([found[path] for path in posterior], list(posterior.values()), dtype)


def test_counterexample_004_hmm_crf_future_labels_matter(engine: ModuleType, dtype: str) -> None:
    """A feature of the third position changes the labels before it."""
    entry = GOLDEN["counterexample_004_hmm_crf"]["future_labels_matter"]["mu4 (a feature of position 3 only) ->"]
    for mu4, expected in entry.items():
        chain = worked_chain(dtype, float(mu4))
        nodes = engine.marginals(chain).nodes
        assert one_based(engine.viterbi(chain).labels) == expected["best"]
        assert_golden(nodes[1, 1], expected["P(y2=2)"], dtype)
        assert_golden(nodes[0, 0], expected["P(y1=1)"], dtype)
        spans = engine.span_probability(chain, [(0, 1, [1]), (0, 0, [0])])
        assert_golden(spans, [expected["P(y2=2)"], expected["P(y1=1)"]], dtype)


def test_counterexample_004_hmm_crf_not_an_hmm(engine: ModuleType, dtype: str) -> None:
    """Score 2·[y1 = x2]: the odds of y1 depend on the next observation, which no HMM can do."""
    entry = GOLDEN["counterexample_004_hmm_crf"]["crf_not_hmm"]
    names = ("p(y1=0,y2=0|x=(0,0))/p(1,0|..)", "p(0,0|x=(0,1))/p(1,0|..)")
    for second, name in enumerate(names):
        emissions = np.zeros((2, 2), dtype)
        emissions[0, second] = 2.0
        chain = Chain(emissions, np.zeros((2, 2), dtype))
        odds = engine.gradients(chain, [0, 0]).log_likelihood - engine.gradients(chain, [1, 0]).log_likelihood
        assert_golden(np.exp(odds), [entry[name]], dtype)


def test_counterexample_004_hmm_crf_forward_sums_over_the_past(engine: ModuleType, dtype: str) -> None:
    entry = GOLDEN["counterexample_004_hmm_crf"]["hmm_forward_literal"]
    assert_golden(np.exp(engine.forward(hmm_chain(dtype))[1]), entry["correct alpha_2"], dtype)


def test_erratum_004_delta_T_literal(engine: ModuleType, dtype: str) -> None:
    """The last δ is the answer: one more step of the recursion is one too many."""
    entry = GOLDEN["erratum_004_delta_T_literal"]
    best = np.exp(engine.viterbi(hmm_chain(dtype)).scores)
    assert_golden(best, [entry["correct best probability"]], dtype)
    assert best[0] > 2 * entry["literal best"]
    assert_golden(max(entry["delta_T"]), entry["correct best probability"])


def test_label_bias_supplement(engine: ModuleType, dtype: str) -> None:
    """rib and rob: states 1, 2 read r, i and 4, 5 read r, o, state 3 reads b; a match is worth the weight."""
    entry = GOLDEN["label_bias_supplement"]
    train, weight = entry["inputs"]["train"], entry["inputs"]["crf_observation_weight"]
    reads = {1: "r", 2: "i", 3: "b", 4: "r", 5: "o"}
    transitions = np.zeros((6, 6), np.bool_)
    transitions[[1, 2, 4, 5], [2, 3, 5, 3]] = True
    start = np.full(6, -np.inf)
    start[1], start[4] = np.log(train["rib"]), np.log(train["rob"])

    def chain_of(word: str, worth: float) -> Chain:
        emissions = [[worth * (reads.get(state) == letter) for state in range(6)] for letter in word]
        return constrain(
            Chain(np.array(emissions, dtype), np.zeros((6, 6), dtype), start.astype(dtype)), transitions=transitions
        )

    routes = [(0, 0, [1, 2, 3]), (0, 0, [4, 5, 3])]
    for word, expected in entry["ref"]["CRF"].items():
        found = engine.span_probability(chain_of(word, weight), routes)
        assert_golden(found, list(expected.values()), dtype)
        assert_golden(engine.marginals(chain_of(word, weight)).nodes[0, [1, 4]], found, dtype)
        blind = engine.span_probability(chain_of(word, 0.0), routes)  # a MEMM cannot see the middle letter
        assert_golden(blind, list(entry["ref"][f"MEMM P(path|{word})"].values()), dtype)


def test_counterexample_002_004_viterbi(engine: ModuleType, dtype: str) -> None:
    """The best path by maxima, where sums would choose another."""
    entry = GOLDEN["counterexample_002_004_viterbi"]
    transitions, frames = np.array(entry["transitions[from][to] (A,B,<s>,<e>)"]), np.array(entry["frames"])
    real = slice(0, 2)
    parts = (frames[:, real], transitions[real, real], transitions[2, real], transitions[real, 3])
    chain = Chain(*(part.astype(dtype) for part in parts))
    best = engine.viterbi(chain)
    assert best.labels.tolist() == entry["true_best_path"] != entry["doc_path"]
    assert best.scores.tolist() == [entry["true_best_score"]] == [entry["correct_max_viterbi"][0]]
    assert_golden(engine.log_partition(chain), [entry["log_Z"]], dtype)
    for path, score in entry["all_path_scores"].items():
        assert engine.score(chain, [int(path[1]), int(path[4])]).tolist() == [score]
    found = np.exp([engine.gradients(chain, entry[name]).log_likelihood[0] for name in ("doc_path", "true_best_path")])
    assert_golden(found, [entry["prob_doc_path"], entry["prob_best_path"]], dtype)


def test_counterexample_003_convention(engine: ModuleType, dtype: str) -> None:
    """transitions[previous, next] in the score and in the sum: losses are those of a distribution."""
    entry = GOLDEN["counterexample_003_convention"]
    chain = Chain(*(np.array(entry[name], dtype) for name in ("emissions", "transitions", "start", "end")))
    assert_golden(engine.log_partition(chain), [entry["true_logZ_[from,to]"]], dtype)
    losses = entry["true_nll_[from,to]"]
    found = {path: -engine.gradients(chain, [int(path[1]), int(path[4])]).log_likelihood[0] for path in losses}
    for path, loss in losses.items():
        assert_golden(found[path], loss, dtype)
    assert_golden(np.exp([-loss for loss in found.values()]).sum(), 1.0, dtype)
    assert engine.viterbi(chain).labels.tolist() == [0, 1]


def test_counterexample_003_reversed_learning(engine: ModuleType, dtype: str) -> None:
    """The learned transitions lead round the cycle one way or the other; only the first token is known."""
    entry = GOLDEN["counterexample_003_reversed_learning"]
    for learned in entry.values():
        transitions = np.array(learned["transitions"], dtype)
        for decoded in learned["decoded"]:
            chain = Chain(np.zeros((6, 3), dtype), transitions)
            assert engine.viterbi(constrain(chain, known=[decoded[0], *[-1] * 5])).labels.tolist() == decoded
    assert entry["cycle-fixed"]["decoded"] == entry["cycle-fixed"]["gold"]


def test_counterexample_003_mask_hole(engine: ModuleType, dtype: str) -> None:
    """A hole in the mask: the kept tokens stand side by side, and the hidden label has no say.

    The entry states losses only. These scores are the ones that give them: all eight of the document's losses (its
    transition starts at the hidden label y1, its end score is y1's) and the four right ones.
    """
    entry = GOLDEN["counterexample_003_mask_hole"]
    mask = np.array(entry["mask"], np.bool_)
    start, end, transitions = np.array([1.3, 0.0]), np.array([0.0, 0.4]), np.array([[0.5, 0.0], [0.0, 3.0]])
    emissions = np.array([[0.0, 0.0], [77.0, -77.0], [0.0, 0.5]])
    chain = Chain(*(part.astype(dtype) for part in (emissions[mask], transitions, start, end)))
    log_z = float(engine.log_partition(chain)[0])
    for path, loss in entry["correct loss after compaction (y0,y2)"].items():
        labels = [int(path[1]), int(path[4])]
        assert_golden(-engine.gradients(chain, labels).log_likelihood[0], loss, dtype)
    for path, loss in entry["loss by (y0,y1_masked,y2)"].items():
        y0, y1, y2 = int(path[1]), int(path[4]), int(path[7])
        assert_golden(log_z - (start[y0] + transitions[y1, y2] + emissions[2, y2] + end[y1]), loss, dtype)
    assert engine.viterbi(chain).labels.tolist() == entry["decode_compacted"][0]


SCHEMES = {
    "allowed-BIO": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
    "allowed-BIOES": ["O", *(f"{place}-{kind}" for kind in ("PER", "LOC") for place in "BIES")],
}


def scheme_rules(tags: list[str]) -> dict[str, list[Any]]:
    """Rules for `constrain`: what may follow what, begin and end, in BIO or (where there is an E) BIOES."""
    bioes = any(tag.startswith("E") for tag in tags)
    opened = ("B", "I")

    def follows(before: str, tag: str) -> bool:
        inside = before[0] in opened and before[2:] == tag[2:]
        if tag[0] in ("I", "E"):
            return inside
        return not (bioes and before[0] in opened)

    return {
        "transitions": [[follows(before, tag) for tag in tags] for before in tags],
        "start": [tag[0] not in ("I", "E") for tag in tags],
        "end": [not (bioes and tag[0] in opened) for tag in tags],
    }


@pytest.mark.parametrize("scheme", SCHEMES)
def test_reference_tag_scheme_constraints(engine: ModuleType, dtype: str, scheme: str) -> None:
    """What the rules forbid has probability 0, and the rest has some."""
    entry, tags = GOLDEN["reference_tag_scheme_constraints"][scheme], SCHEMES[scheme]
    L = len(tags)
    assert entry["n_tags"] == L
    chain = constrain(Chain(np.zeros((7, L), dtype), np.zeros((L, L), dtype)), **scheme_rules(tags))
    posterior = engine.marginals(chain, edges=True)
    assert (posterior.edges[3] == 0).sum() == entry["forbidden tag->tag"]
    assert {tags[j] for j in np.flatnonzero(posterior.nodes[0] == 0)} == set(entry["forbidden START->"])
    assert {tags[j] for j in np.flatnonzero(posterior.nodes[-1] == 0)} == set(entry["forbidden ->END"])
    legal = engine.k_best(
        constrain(Chain(np.zeros((2, L), dtype), np.zeros((L, L), dtype)), **scheme_rules(tags)), 1000
    )
    words = {(tags[a], tags[b]) for a, b in legal[0].labels.tolist()}
    inside = {(a, b) for a in tags for b in tags if a[0] in "BI" and b[0] in "IE" and a[2:] == b[2:]}
    assert len(words) == len(legal[0].labels)
    assert all(pair in inside or pair[1][0] not in "IE" for pair in words)


def test_counterexample_003_constraints(engine: ModuleType, dtype: str) -> None:
    """No illegal BIO pair is ever decoded however much it is wanted, no legal one is refused."""
    entry, tags = GOLDEN["counterexample_003_constraints"], SCHEMES["allowed-BIO"]
    rules = scheme_rules(tags)
    illegal = {tuple(pair) for pair in entry["illegal BIO transitions"]}
    assert {
        (a, b)
        for a, row in zip(tags, rules["transitions"], strict=False)
        for b, ok in zip(tags, row, strict=False)
        if not ok
    } == illegal

    def decode(*wanted: str) -> list[str]:
        emissions = np.array([[10.0 * (tag == want) for tag in tags] for want in wanted], dtype)
        chain = constrain(Chain(emissions, np.zeros((5, 5), dtype)), **rules)
        return [tags[label] for label in engine.viterbi(chain).labels]

    for before, tag in ((a, b) for a in tags for b in tags if a[0] != "I"):
        found = decode(before, tag)
        assert tuple(found) not in illegal
        assert found == [before, tag] or (before, tag) in illegal
    for before, tag in entry["as decode reads it: LEGAL ones wrongly blocked"]:
        opening = before.replace("I-", "B-")
        assert decode(opening, before, tag) == [opening, before, tag]
    assert decode("I-PER") != ["I-PER"]
    assert len(decode("I-PER")) == 1
